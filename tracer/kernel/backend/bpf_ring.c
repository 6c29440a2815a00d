// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rings that BPF programs write: one value of an array for each CPU, mapped. A program's memory
 * accesses are checked by the kernel, so nothing that the daemon writes to them can do harm.
 *
 * Programs read CLOCK_MONOTONIC. Where the channel has the TSC, a drain reads both clocks, and
 * converts what was recorded since the drain before as if both had run evenly meanwhile.
 */
#include "tracer/kernel/backend/bpf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracer/base/os/clock.h"
#include "tracer/kernel/kevent/ring_page.h"

/* A record may begin at the last byte of a ring, as far as the kernel's check of a program sees. */
#define SLACK 16384u
/* A value of more bytes is refused before Linux 6.2. */
#define BYTES_MAX (UINT64_C(2) << 20)
#define BYTES_MOST (UINT64_C(256) << 20)
#define TEXT_LEAST 1024u
#define TEXT_MOST 4096u

_Static_assert(BPF_TEXTS_MAX * TEXT_MOST + 3072 <= SLACK, "it holds a record with contexts");

struct bpf_control *bpf_ring_control(const struct bpf_ring *r, uint32_t cpu)
{
	return (struct bpf_control *)(void *)(r->memory + cpu * r->stride);
}

/* The bytes of each value; 0: not known. */
static uint32_t find_value_size(int map)
{
	struct bpf_map_info info;
	union bpf_attr a;

	memset(&info, 0, sizeof(info));
	memset(&a, 0, sizeof(a));
	a.info.bpf_fd = (uint32_t)map;
	a.info.info_len = sizeof(info);
	a.info.info = (uintptr_t)&info;
	return bpf_command(BPF_OBJ_GET_INFO_BY_FD, &a) ? 0 : info.value_size;
}

static void choose_sizes(struct bpf_ring *r, uint64_t bytes)
{
	uint32_t size, count = kring_choose_sizes(bytes, &size);

	r->geo.size = size;
	r->geo.total = (uint64_t)size * count;
	r->stride = BPF_CONTROL + r->geo.total + SLACK;
	r->text_max = size / 16 < TEXT_LEAST ? TEXT_LEAST
		      : size / 16 > TEXT_MOST ? TEXT_MOST
					      : size / 16;
}

static int create_map(const struct bpf_ring *r)
{
	return bpf_map_create(&(struct bpf_map_spec){
		.type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = (uint32_t)r->stride,
		.entries = r->cpus, .flags = BPF_F_MMAPABLE, .name = "trailfs_ring" });
}

static int map_memory(struct bpf_ring *r)
{
	void *at = mmap(NULL, r->cpus * r->stride, PROT_READ | PROT_WRITE, MAP_SHARED, r->map, 0);

	if (at == MAP_FAILED)
		return -errno;
	r->memory = at;
	r->readers = calloc(r->cpus, sizeof(*r->readers));
	r->geo.copy = malloc(r->geo.size);
	if (!r->readers || !r->geo.copy)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < r->cpus; cpu++) {
		r->readers[cpu].ring = &bpf_ring_control(r, cpu)->ring;
		r->readers[cpu].data = r->memory + cpu * r->stride + BPF_CONTROL;
		kring_reader_begin(&r->readers[cpu]);
	}
	return 0;
}

static void begin_rings(struct bpf_ring *r, const char *channel)
{
	for (uint32_t cpu = 0; cpu < r->cpus; cpu++) {
		struct bpf_control *c = bpf_ring_control(r, cpu);

		snprintf(c->channel, sizeof(c->channel), "%s", channel);
		/* The first moment from which times are converted. */
		if (r->tsc)
			clock_read_pair(&c->cycles, &c->mono);
	}
}

int bpf_ring_open(struct bpf_ring *r, int map, const char *channel,
		  const struct backend_geometry *g, struct tr_err *err)
{
	int ret;

	*r = (struct bpf_ring){ .map = map, .cpus = g->cpus, .overwrite = g->overwrite,
				.tsc = g->tsc, .records = MD_BUF_INIT };
	choose_sizes(r, g->bytes < BYTES_MOST ? g->bytes : BYTES_MOST);
	if (map < 0)
		r->map = create_map(r);
	if (r->map < 0 || (map >= 0 && find_value_size(map) != r->stride)) {
		choose_sizes(r, g->bytes < BYTES_MAX ? g->bytes : BYTES_MAX);
		r->map = map < 0 ? create_map(r) : map;
	}
	if (r->map < 0) {
		ret = tr_fail(err, r->map, "the kernel refuses BPF rings of %zu bytes: %s",
			      r->stride, strerror(-r->map));
		bpf_ring_close(r);
		return ret;
	}
	ret = find_value_size(r->map) == r->stride ? map_memory(r) : -EINVAL;
	if (ret) {
		bpf_ring_close(r);
		return tr_fail(err, ret, "the BPF rings cannot be mapped: %s", strerror(-ret));
	}
	if (map < 0)
		begin_rings(r, channel);
	return 0;
}

void bpf_ring_close(struct bpf_ring *r)
{
	if (r->memory)
		munmap(r->memory, r->cpus * r->stride);
	if (r->map >= 0)
		close(r->map);
	free(r->readers);
	free(r->geo.copy);
	md_buf_deinit(&r->records);
	*r = (struct bpf_ring){ .map = -1, .records = MD_BUF_INIT };
}

/* ---- read ---- */

static void add_record(void *arg, uint64_t time, const uint8_t *record, size_t len)
{
	static const uint8_t zeros[8];
	struct bpf_ring *r = arg;
	struct bpf_entry e = { time, (uint32_t)len, r->front_len };

	md_buf_put(&r->records, &e, sizeof(e));
	md_buf_put(&r->records, r->front, r->front_len);
	md_buf_put(&r->records, zeros, -(size_t)r->front_len & 7);
	md_buf_put(&r->records, record, len);
	md_buf_put(&r->records, zeros, -len & 7);
	r->front_len = 0;
}

/* They lie in the copy of the sub-buffer until the record is added. */
static void add_contexts(void *arg, const uint8_t *bytes, size_t len)
{
	struct bpf_ring *r = arg;

	r->front = bytes;
	r->front_len = (uint32_t)len;
}

/* `lost` counts them. */
static void ignore_missed(void *arg, uint64_t events)
{
	(void)arg, (void)events;
}

/* Pairs with the program's loads of `consumed`, before which it may not write. */
static int release_space(void *arg, const struct kring_reader *p)
{
	struct bpf_ring *r = arg;
	struct kring *ring = &bpf_ring_control(r, (uint32_t)(p - r->readers))->ring;

	ring->consumed_events = p->events;
	ring->overwritten = p->overwritten;
	__atomic_store_n(&ring->consumed, p->pos, __ATOMIC_RELEASE);
	return 0;
}

/* Converts the times of the entries from `first` on, which are not later than now. */
static void convert_times(struct bpf_ring *r, struct bpf_control *c, size_t first)
{
	uint64_t cycles, mono, before = c->cycles, began = c->mono;
	struct bpf_entry e;

	clock_read_pair(&cycles, &mono);
	for (size_t at = first; at < r->records.len; at += bpf_entry_size(&e)) {
		memcpy(&e, r->records.data + at, sizeof(e));
		e.time = e.time > began ? e.time - began : 0;
		if (mono > began)
			e.time = (uint64_t)((unsigned __int128)e.time * (cycles - before) /
					    (mono - began));
		e.time += before;
		memcpy(r->records.data + at, &e, sizeof(e));
	}
	c->cycles = r->until = cycles;
	c->mono = mono;
}

int bpf_ring_collect(struct bpf_ring *r, uint32_t cpu)
{
	const struct backend_sink sink = { .record = add_record, .contexts = add_contexts,
					   .missed = ignore_missed, .arg = r };
	struct kring_reader *p = &r->readers[cpu];
	size_t first = r->records.len;
	/* Read before the clocks: what is below it is not later than they say. */
	uint64_t head = __atomic_load_n(&p->ring->head, __ATOMIC_ACQUIRE);
	int ret;

	r->until = monotonic_now();
	ret = kring_drain(&r->geo, p, head, &sink, release_space, r);
	if (r->tsc && !r->records.failed)
		convert_times(r, bpf_ring_control(r, cpu), first);
	return ret ? ret : r->records.failed ? -ENOMEM : 0;
}
