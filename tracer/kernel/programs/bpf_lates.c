// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the end of calls has read of texts (KREC_LATE, see bpf_late.c), until the drain comes to the
 * entries. Most are in the ring of the entry's CPU. A thread that changed the CPU during the call
 * has written to another ring, which is then read ahead, without taking anything out of it.
 */
#include "tracer/kernel/programs/bpf.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/kernel/kevent/ring_page.h"

/* A drain begins with no more than this, of texts whose entries did not come. */
enum { KEEP_MOST = 16384, KEEP_BYTES = 4 << 20 };
enum { HEADS = 4096 };

struct late {
	uint32_t thread, mark, next;    /* next: index + 1 */
	uint32_t len;
	size_t at;                      /* in bytes */
	bool used;
};

struct bpf_lates {
	uint32_t heads[HEADS];          /* index + 1, by mark */
	struct late *all;
	size_t count, unused;
	struct md_buf bytes;
	struct md_buf whole;            /* a record that was completed */
	struct kring_reader *ahead;     /* of each CPU, of the first level */
};

static uint32_t load_word(const uint8_t *from)
{
	uint32_t word;

	memcpy(&word, from, sizeof(word));
	return word;
}

static struct bpf_lates *get_lates(struct bpf_ring *r)
{
	struct bpf_lates *l = r->lates;

	if (l)
		return l;
	l = calloc(1, sizeof(*l));
	if (l)
		l->ahead = calloc(r->cpus, sizeof(*l->ahead));
	if (!l || !l->ahead) {
		free(l);
		return NULL;
	}
	l->bytes = l->whole = (struct md_buf)MD_BUF_INIT;
	return r->lates = l;
}

void bpf_lates_free(struct bpf_ring *r)
{
	struct bpf_lates *l = r->lates;

	if (!l)
		return;
	md_buf_deinit(&l->bytes);
	md_buf_deinit(&l->whole);
	free(l->all);
	free(l->ahead);
	free(l);
	r->lates = NULL;
}

void bpf_lates_begin(struct bpf_ring *r)
{
	struct bpf_lates *l = r->lates;

	if (!l || !l->count ||
	    (l->unused && l->count < KEEP_MOST && l->bytes.len < KEEP_BYTES))
		return;
	memset(l->heads, 0, sizeof(l->heads));
	l->count = l->unused = 0;
	md_buf_reset(&l->bytes);
}

/* Of consecutive times: the low bits are as good as random, but the lowest, which is set. */
static uint32_t *find_head(struct bpf_lates *l, uint32_t mark)
{
	return &l->heads[(mark * UINT32_C(0x9e3779b1)) >> 20];
}

static struct late *find(struct bpf_lates *l, uint32_t thread, uint32_t mark)
{
	for (uint32_t i = *find_head(l, mark); i; i = l->all[i - 1].next)
		if (l->all[i - 1].thread == thread && l->all[i - 1].mark == mark)
			return &l->all[i - 1];
	return NULL;
}

void bpf_lates_add(struct bpf_ring *r, const uint8_t *record, size_t len)
{
	struct bpf_lates *l = get_lates(r);
	uint32_t thread, mark;
	struct late *new;

	if (!l || len < BPF_CALL_FIXED || len > UINT32_MAX)
		return;
	thread = (uint32_t)krecord_pid(record);
	mark = load_word(record + BPF_CALL_MARK);
	if (find(l, thread, mark) || !array_room(l->all, l->count + 1))
		return;
	new = &l->all[l->count++];
	*new = (struct late){ .thread = thread, .mark = mark, .len = (uint32_t)len,
			      .at = l->bytes.len, .next = *find_head(l, mark) };
	*find_head(l, mark) = (uint32_t)l->count;
	l->unused++;
	md_buf_put(&l->bytes, record, len);
}

const uint8_t *bpf_lates_complete(struct bpf_ring *r, const uint8_t *record, size_t *len)
{
	struct bpf_lates *l = r->lates;
	struct late *late;
	const uint8_t *from;
	uint32_t places;

	if (!l || l->bytes.failed)
		return NULL;
	late = find(l, (uint32_t)krecord_pid(record), load_word(record + BPF_CALL_MARK));
	if (!late)
		return NULL;
	l->unused -= !late->used;
	late->used = true;
	from = (const uint8_t *)l->bytes.data + late->at;
	places = load_word(from + BPF_CALL_PLACES);
	if (krecord_id(from) != krecord_id(record) || places > late->len || places > *len)
		return NULL;
	md_buf_reset(&l->whole);
	md_buf_put(&l->whole, record, places);
	md_buf_put(&l->whole, from + places, late->len - places);
	if (l->whole.failed)
		return NULL;
	*len = l->whole.len;
	return (const uint8_t *)l->whole.data;
}

/* ---- reading ahead ---- */

static void keep_late(void *arg, const uint8_t *record, size_t len)
{
	bpf_lates_add(arg, record, len);
}

static void ignore_record(void *arg, uint64_t time, const uint8_t *record, size_t len)
{
	(void)arg, (void)time, (void)record, (void)len;
}

static void ignore_missed(void *arg, uint64_t events)
{
	(void)arg, (void)events;
}

static int keep_space(void *arg, const struct kring_reader *p)
{
	(void)arg, (void)p;
	return 0;
}

void bpf_lates_search(struct bpf_ring *r)
{
	const struct backend_sink sink = { .record = ignore_record, .late = keep_late,
					   .missed = ignore_missed, .arg = r };
	struct bpf_lates *l = get_lates(r);

	for (uint32_t cpu = 0; l && cpu < r->cpus; cpu++) {
		const struct kring_reader *p = bpf_ring_reader(r, cpu, 0);
		uint64_t head = __atomic_load_n(&p->ring->head, __ATOMIC_ACQUIRE);

		if (!l->ahead[cpu].ring || l->ahead[cpu].pos < p->pos)
			l->ahead[cpu] = *p;
		/* (A damaged ring is the matter of the drain that reads it.) */
		kring_drain(&r->geo, &l->ahead[cpu], head, &sink, keep_space, NULL);
	}
}
