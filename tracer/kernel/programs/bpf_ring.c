// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rings that BPF programs write: one value of an array for each CPU, mapped, with a ring for
 * each level of programs that interrupt each other. A program's memory accesses are checked by the
 * kernel, so nothing that the daemon writes to them can do harm.
 *
 * Programs read CLOCK_MONOTONIC. Where the channel has the TSC, a drain reads both clocks after the
 * heads of the rings, and converts what is below these as if both had run evenly since the drain
 * before. What is recorded between the heads and the clocks is read by the next drain, and is
 * earlier than the moment from which that one converts.
 */
#include "tracer/kernel/programs/bpf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tracer/abi/wide.h"
#include "tracer/base/os/clock.h"
#include "tracer/kernel/kevent/ring_page.h"

/* A record may begin at the last byte of a ring, as far as the kernel's check of a program sees. */
#define SLACK 16384u
/* A value of more bytes is refused before Linux 6.2. */
#define BYTES_MAX (UINT64_C(2) << 20)
#define BYTES_MOST (UINT64_C(256) << 20)
/* What happens while a program of some 100 ns runs is little. */
#define NESTED_SHARE 16u
#define NESTED_LEAST 65536u
#define NESTED_COUNT 4u                 /* sub-buffers */
#define PAGE 4096u
#define QUIET_TRIES 2000                /* looks for a moment without a program */
#define TEXT_LEAST 1024u
#define TEXT_MOST 4096u

_Static_assert(BPF_TEXTS_MAX * TEXT_MOST + 3072 <= SLACK, "it holds a record with contexts");

struct bpf_control *bpf_ring_control(const struct bpf_ring *r, uint32_t cpu)
{
	return (struct bpf_control *)(void *)(r->memory + cpu * r->stride);
}

static const struct kring_shape *get_shape(const struct bpf_ring *r, uint32_t level)
{
	return level ? &r->nested : &r->geo;
}

/*
 * The map's name has the layout of what is in it, for the daemon that takes it over: count it up
 * when struct bpf_control, struct kring, or what programs do with them changes.
 */
static const char ring_name[] = "trailfs_ring.6";

/* The bytes of each value; 0: not known, or of another layout. */
static uint32_t find_value_size(int map)
{
	struct bpf_map_info info;
	union bpf_attr a;

	memset(&info, 0, sizeof(info));
	memset(&a, 0, sizeof(a));
	a.info.bpf_fd = (uint32_t)map;
	a.info.info_len = sizeof(info);
	a.info.info = (uintptr_t)&info;
	if (bpf_command(BPF_OBJ_GET_INFO_BY_FD, &a) || info.type != BPF_MAP_TYPE_ARRAY ||
	    strcmp(info.name, ring_name))
		return 0;
	return info.value_size;
}

static void choose_sizes(struct bpf_ring *r, uint64_t bytes)
{
	uint32_t size, count = kring_choose_sizes(bytes, &size);

	r->geo.size = size;
	r->geo.total = (uint64_t)size * count;
	r->nested.total = r->geo.total / NESTED_SHARE;
	if (r->nested.total < NESTED_LEAST)
		r->nested.total = NESTED_LEAST;
	r->nested.size = r->nested.total / NESTED_COUNT;
	r->nested_at = BPF_CONTROL + r->geo.total + SLACK;
	r->nested_stride = r->nested.total + SLACK;
	r->stride = r->nested_at + (BPF_LEVELS - 1) * r->nested_stride;
	r->stride = (r->stride + PAGE - 1) & ~(size_t)(PAGE - 1);
	r->text_max = size / 16 < TEXT_LEAST ? TEXT_LEAST
		      : size / 16 > TEXT_MOST ? TEXT_MOST
					      : size / 16;
}

static int create_map(const struct bpf_ring *r)
{
	return bpf_map_create(&(struct bpf_map_spec){
		.type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = (uint32_t)r->stride,
		.entries = r->cpus, .flags = BPF_F_MMAPABLE, .name = ring_name });
}

static int map_memory(struct bpf_ring *r)
{
	void *at = mmap(NULL, r->cpus * r->stride, PROT_READ | PROT_WRITE, MAP_SHARED, r->map, 0);

	if (at == MAP_FAILED)
		return -errno;
	r->memory = at;
	r->readers = calloc((size_t)r->cpus * BPF_LEVELS, sizeof(*r->readers));
	r->geo.copy = malloc(r->geo.size > r->nested.size ? r->geo.size : r->nested.size);
	r->nested.copy = r->geo.copy;
	if (!r->readers || !r->geo.copy)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < r->cpus; cpu++)
		for (uint32_t level = 0; level < BPF_LEVELS; level++) {
			struct kring_reader *p = bpf_ring_reader(r, cpu, level);

			p->ring = &bpf_ring_control(r, cpu)->levels[level].ring;
			p->data = r->memory + cpu * r->stride +
				  (level ? r->nested_at + (level - 1) * r->nested_stride
					 : BPF_CONTROL);
			kring_reader_begin(p);
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

/*
 * Counts the events that a killed daemon had in its memory: it moves the reader's position before
 * it gives the events to the channel. No drain runs yet.
 */
static void count_dropped(struct bpf_ring *r)
{
	for (uint32_t cpu = 0; cpu < r->cpus; cpu++) {
		struct bpf_control *c = bpf_ring_control(r, cpu);
		uint64_t read = 0;

		for (uint32_t level = 0; level < BPF_LEVELS; level++)
			read += bpf_ring_reader(r, cpu, level)->events -
				bpf_ring_reader(r, cpu, level)->overwritten;
		if (read > c->passed + c->dropped)
			c->dropped = read - c->passed;
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
		ret = tr_fail(err, r->map, "the kernel refuses BPF rings of %zu bytes: %s%s",
			      r->stride, strerror(-r->map),
			      r->map == -EPERM && !bpf_kernel_since(5, 11)
				      ? "; before Linux 5.11 they count as locked memory, which "
					"CAP_SYS_RESOURCE or `ulimit -l` permits"
				      : "");
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
	else
		count_dropped(r);
	return 0;
}

void bpf_ring_close(struct bpf_ring *r)
{
	if (r->memory)
		munmap(r->memory, r->cpus * r->stride);
	if (r->map >= 0)
		close(r->map);
	bpf_lates_free(r);
	free(r->readers);
	free(r->geo.copy);
	md_buf_deinit(&r->records);
	for (uint32_t level = 0; level < BPF_LEVELS; level++)
		md_buf_deinit(&r->levels[level]);
	*r = (struct bpf_ring){ .map = -1, .records = MD_BUF_INIT };
}

/* ---- read ---- */

static void add_record(void *arg, uint64_t time, const uint8_t *record, size_t len)
{
	static const uint8_t zeros[8];
	struct bpf_ring *r = arg;
	struct bpf_entry e = { time, r->missed, (uint32_t)len, r->front_len };

	md_buf_put(r->filling, &e, sizeof(e));
	md_buf_put(r->filling, r->front, r->front_len);
	md_buf_put(r->filling, zeros, -(size_t)r->front_len & 7);
	md_buf_put(r->filling, record, len);
	md_buf_put(r->filling, zeros, -len & 7);
	r->front_len = 0;
	r->missed = 0;
}

/* They lie in the copy of the sub-buffer until the record is added. */
static void add_contexts(void *arg, const uint8_t *bytes, size_t len)
{
	struct bpf_ring *r = arg;

	r->front = bytes;
	r->front_len = (uint32_t)len;
}

static void add_late(void *arg, const uint8_t *record, size_t len)
{
	bpf_lates_add(arg, record, len);
}

static void add_missed(void *arg, uint64_t events)
{
	struct bpf_ring *r = arg;

	r->missed += events;
}

/* Pairs with the program's loads of `consumed`, before which it may not write. */
static int release_space(void *arg, const struct kring_reader *p)
{
	struct bpf_ring *r = arg;
	uint32_t n = (uint32_t)(p - r->readers);
	struct kring *ring = &bpf_ring_control(r, n / BPF_LEVELS)->levels[n % BPF_LEVELS].ring;

	ring->consumed_events = p->events;
	ring->overwritten = p->overwritten;
	__atomic_store_n(&ring->consumed, p->pos, __ATOMIC_RELEASE);
	return 0;
}

struct moment { uint64_t cycles, mono; };       /* the same one by the TSC and CLOCK_MONOTONIC */

/* Converts the times of the entries from `first` on; now: after their heads were read. */
static void convert_times(struct bpf_ring *r, struct bpf_control *c, size_t first,
			  const struct moment *now)
{
	struct bpf_entry e;

	for (size_t at = first; at < r->records.len; at += bpf_entry_size(&e)) {
		bool earlier;
		uint64_t n;

		memcpy(&e, r->records.data + at, sizeof(e));
		earlier = e.time < c->mono;
		n = earlier ? c->mono - e.time : e.time - c->mono;
		if (now->mono > c->mono)
			n = multiply_divide(n, now->cycles - c->cycles, now->mono - c->mono);
		e.time = earlier ? c->cycles - n : c->cycles + n;
		memcpy(r->records.data + at, &e, sizeof(e));
	}
	c->cycles = now->cycles;
	c->mono = now->mono;
}

static bool read_heads(const struct bpf_ring *r, uint32_t cpu, uint64_t heads[BPF_LEVELS])
{
	bool nested = false;

	/* The first one first: what interrupts a program later is later than all below its head. */
	for (uint32_t level = 0; level < BPF_LEVELS; level++) {
		const struct kring_reader *p = bpf_ring_reader(r, cpu, level);

		heads[level] = __atomic_load_n(&p->ring->head, __ATOMIC_ACQUIRE);
		nested |= level && heads[level] != p->pos;
	}
	return nested;
}

/*
 * The heads of a CPU's rings at a moment when no program runs there: a record of a program that was
 * interrupted is older than those of what interrupted it, but is complete later. True: some of
 * these have records; else the other rings do not matter.
 */
static bool find_heads(const struct bpf_ring *r, uint32_t cpu, uint64_t heads[BPF_LEVELS])
{
	const struct timespec pause = { 0, 50000 };
	uint64_t again[BPF_LEVELS];
	const uint32_t *nest = &bpf_ring_reader(r, cpu, 0)->ring->nest;

	/* A program takes less than a microsecond; its CPU may be one that stands still. */
	for (int tries = 0; tries < QUIET_TRIES; tries++) {
		if (!read_heads(r, cpu, heads))
			return false;
		if (!__atomic_load_n(nest, __ATOMIC_ACQUIRE)) {
			read_heads(r, cpu, again);
			if (!memcmp(heads, again, sizeof(again)))
				return true;
		}
		if (tries > QUIET_TRIES / 2)
			nanosleep(&pause, NULL);
	}
	return true;
}

/* Joins the entries of all levels, in order of time, after those that are in `records`. */
static void merge_levels(struct bpf_ring *r)
{
	size_t at[BPF_LEVELS] = { 0 };
	struct bpf_entry e, first = { 0 };
	int from;

	for (;;) {
		from = -1;
		for (int level = 0; level < BPF_LEVELS; level++) {
			if (at[level] >= r->levels[level].len)
				continue;
			memcpy(&e, r->levels[level].data + at[level], sizeof(e));
			if (from < 0 || e.time < first.time) {
				from = level;
				first = e;
			}
		}
		if (from < 0)
			return;
		md_buf_put(&r->records, r->levels[from].data + at[from], bpf_entry_size(&first));
		at[from] += bpf_entry_size(&first);
	}
}

static int collect_level(struct bpf_ring *r, uint32_t cpu, uint32_t level, uint64_t head,
			 struct md_buf *to)
{
	const struct backend_sink sink = { .record = add_record, .contexts = add_contexts,
					   .late = add_late, .missed = add_missed, .arg = r };
	int ret;

	r->filling = to;
	/* (Where no record follows, `lost` counts them.) */
	r->missed = 0;
	ret = kring_drain(get_shape(r, level), bpf_ring_reader(r, cpu, level), head, &sink,
			  release_space, r);
	return ret ? ret : to->failed ? -ENOMEM : 0;
}

int bpf_ring_collect(struct bpf_ring *r, uint32_t cpu)
{
	size_t first = r->records.len;
	uint64_t heads[BPF_LEVELS];
	struct moment now;
	bool nested;
	int ret = 0, one;

	/* Before the heads: what is recorded up to then is below them. */
	if (r->tsc)
		clock_read_pair(&r->until, &now.mono);
	else
		r->until = monotonic_now();
	nested = find_heads(r, cpu, heads);
	if (r->tsc)
		clock_read_pair(&now.cycles, &now.mono);
	for (uint32_t level = 0; level < (nested ? BPF_LEVELS : 1); level++) {
		md_buf_reset(&r->levels[level]);
		one = collect_level(r, cpu, level, heads[level],
				    nested ? &r->levels[level] : &r->records);
		ret = ret ? ret : one;
	}
	if (nested)
		merge_levels(r);
	if (r->tsc && !r->records.failed)
		convert_times(r, bpf_ring_control(r, cpu), first, &now);
	return ret ? ret : r->records.failed ? -ENOMEM : 0;
}

void bpf_ring_lost(const struct bpf_ring *r, uint32_t cpu, struct source_counts *losses)
{
	struct source_counts own;

	*losses = (struct source_counts){
		.discarded = __atomic_load_n(&bpf_ring_control(r, cpu)->deep, __ATOMIC_RELAXED) +
			     bpf_ring_control(r, cpu)->dropped,
	};
	for (uint32_t level = 0; level < BPF_LEVELS; level++) {
		kring_lost(get_shape(r, level), bpf_ring_reader(r, cpu, level), &own);
		losses->overwritten += own.overwritten;
		losses->discarded += own.discarded;
	}
	losses->undecided = __atomic_load_n(&bpf_ring_control(r, cpu)->undecided, __ATOMIC_RELAXED);
}
