// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the instance's buffer and the programs' ring of a CPU, as one in order of time. */
#include "tracer/kernel/programs/bpf.h"

#include <string.h>
#include <time.h>

#include "tracer/base/os/clock.h"
#include "tracer/kernel/kevent/ring_page.h"

/* How long a drain waits for the ends of calls that have just begun. */
enum { WAITS = 20, WAIT_NS = 10000000 };

struct merging {                        /* of the instance's buffer and of the ring of a CPU */
	struct backend_channel *c;
	uint32_t cpu;
	const struct backend_sink *to;
	uint64_t until;                 /* all of the ring's records up to this time were read */
	const struct record_stack *stacks;      /* of the instance's next record */
	int waits;                      /* for the ends of calls */
	/*
	 * The instance has lost a number of events that it does not know: the channel took it from
	 * the counters, which have what the ring has overwritten, too.
	 */
	bool counted;
	int error;
};

/* Reads the ring, if it may have more records up to this time. */
static void read_ring(struct merging *m, uint64_t time)
{
	struct bpf_ring *r = &m->c->bpf->ring;

	if (time <= m->until || m->error)
		return;
	/* (No lock is held while records are passed on: that takes others.) */
	pthread_mutex_lock(&m->c->bpf->lock);
	if (m->cpu < r->cpus) {
		m->error = bpf_ring_collect(r, m->cpu);
		m->until = r->until;
	} else {
		m->until = UINT64_MAX;  /* there is no ring */
	}
	pthread_mutex_unlock(&m->c->bpf->lock);
}

/* The mark of the entry of a call that lacks a text; 0: it is none. */
static uint32_t find_mark(const struct bpf_channel *c, const uint8_t *record, size_t len)
{
	uint32_t id = krecord_id(record), mark;

	if (len < BPF_CALL_FIXED ||
	    !(__atomic_load_n(&c->with_text[id / 8], __ATOMIC_RELAXED) >> id % 8 & 1))
		return 0;
	memcpy(&mark, record + BPF_CALL_MARK, sizeof(mark));
	return mark;
}

/* Whether the call began a moment ago, by the mark, which has the lower bits of the time. */
static bool is_young(const uint8_t *record)
{
	uint32_t mark;

	memcpy(&mark, record + BPF_CALL_MARK, sizeof(mark));
	return (uint32_t)monotonic_now() - mark < WAIT_NS;
}

/*
 * The record of an entry that lacks a text, with the text. This waits for a call that has just
 * begun; the text of one that takes longer stays empty.
 */
static const uint8_t *complete(struct merging *m, const uint8_t *record, size_t *len)
{
	const struct timespec pause = { 0, WAIT_NS / WAITS };
	struct bpf_channel *c = m->c->bpf;
	const uint8_t *whole = bpf_lates_complete(&c->ring, record, len);

	while (!whole) {
		pthread_mutex_lock(&c->lock);
		bpf_lates_search(&c->ring);
		pthread_mutex_unlock(&c->lock);
		whole = bpf_lates_complete(&c->ring, record, len);
		if (whole || m->waits == WAITS || !is_young(record))
			break;
		m->waits++;
		nanosleep(&pause, NULL);
	}
	if (!whole)
		__atomic_add_fetch(&c->unread, 1, __ATOMIC_RELAXED);
	return whole ? whole : record;
}

/* Passes on the programs' records up to this time. */
static void pass_until(struct merging *m, uint64_t time)
{
	struct bpf_ring *r = &m->c->bpf->ring;
	struct bpf_entry e;
	uint32_t mark;
	size_t len;

	while (r->next < r->records.len) {
		const uint8_t *at = (const uint8_t *)r->records.data + r->next;

		memcpy(&e, at, sizeof(e));
		if (e.time > time)
			return;
		at += sizeof(e);
		if (e.missed && !m->counted)
			m->to->missed(m->to->arg, e.missed);
		if (e.contexts && m->to->contexts)
			m->to->contexts(m->to->arg, at, e.contexts);
		at += (e.contexts + 7) & ~(size_t)7;
		len = e.len;
		mark = find_mark(m->c->bpf, at, len);
		if (mark)
			at = complete(m, at, &len);
		if (mark & BPF_MARK_UNDECIDED && m->to->undecided)
			m->to->undecided(m->to->arg);
		m->to->record(m->to->arg, e.time, at, len);
		bpf_ring_control(r, m->cpu)->passed++;
		r->next += bpf_entry_size(&e);
	}
	md_buf_reset(&r->records);
	r->next = 0;
}

static void merge_record(void *arg, uint64_t time, const uint8_t *record, size_t len)
{
	struct merging *m = arg;

	read_ring(m, time);
	pass_until(m, time);
	record = bpf_plain_record(m->c->bpf, record, &len);
	if (m->stacks && m->to->stacks)
		m->to->stacks(m->to->arg, m->stacks);
	m->stacks = NULL;
	m->to->record(m->to->arg, time, record, len);
}

static void merge_stacks(void *arg, const struct record_stack stacks[RECORD_STACKS])
{
	struct merging *m = arg;

	m->stacks = stacks;
}

static void merge_missed(void *arg, uint64_t events)
{
	struct merging *m = arg;

	m->counted |= !events;
	m->to->missed(m->to->arg, events);
}

static void merge_taken(void *arg, uint64_t records)
{
	const struct merging *m = arg;

	if (m->to->taken)
		m->to->taken(m->to->arg, records);
}

int bpf_drain(struct backend_channel *c, uint32_t cpu, const struct backend_sink *sink)
{
	struct merging m = { .c = c, .cpu = cpu, .to = sink };
	const struct backend_sink own = { .record = merge_record, .stacks = merge_stacks,
					  .missed = merge_missed, .taken = merge_taken,
					  .arg = &m };
	int ret;

	bpf_lates_begin(&c->bpf->ring);
	/*
	 * The ring is read before the instance's buffer, so no record that is read later is older
	 * than those which the ring has now.
	 */
	read_ring(&m, UINT64_MAX);
	ret = tracefs_drain(c, cpu, &own);
	pass_until(&m, UINT64_MAX);
	return ret ? ret : m.error;
}
