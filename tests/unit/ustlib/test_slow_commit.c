/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail-static */
/*
 * The slow path of the event path against an aborted section: after the slow path has read the
 * clock, a fast section of the same CPU stores last_ts and is aborted before it stores head. A
 * reader may then cut a packet that ends at that last_ts. The slow path must not commit an earlier
 * time. The abort is real: a breakpoint on the store to head raises a signal in the section. And
 * what sections with a time and with a bell return, and where a commit is two stores, that a commit
 * in another epoch may end between them.
 *
 * This program contains slow_path.c, and calls a hook between the slow path's clock and its commit.
 */
#define _GNU_SOURCE
#include "tests/lib/test.h"

#include "ustlib/lib.h"

#ifdef HAVE_SECTIONS
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ustlib/section.h"

static void interrupt(void);

#define section_commit_event(rs, c, data, len) \
	(interrupt(), section_commit_event(rs, c, data, len))
#define section_commit_switch(rs, c) \
	(interrupt(), section_commit_switch(rs, c))
#include "ustlib/slow_path.c"
#undef section_commit_event
#undef section_commit_switch

#define SUBBUF 4096u
#define COUNT 4u
#define DATA 4096u              /* of the data area in the ring */
#define STRIDE (DATA + SUBBUF * COUNT)
#define CPUS 4096u

static struct slot slot;
static struct mapped_region mapping;
static uint8_t on = 1;
static struct trail_ring *interrupted;  /* by the next commit of the slow path */
static struct trail_ring *trapped;
static enum section attempt;
static int traps;

static uint64_t cut_ts, cut_head;       /* where a reader may cut a packet in the meantime */
static bool break_commit;               /* the next commit of the slow path is to be aborted */

struct rseq_section { uint32_t version, flags; uint64_t start, length, abort; };
extern const struct rseq_section __start___rseq_cs[], __stop___rseq_cs[];

/* The store to head, the last instruction of sections, and the breakpoint for it */
#if defined(__x86_64__)
static const uint8_t store_head[] = { 0x4d, 0x89, 0x11 };       /* movq %r10, (%r9) */
static const uint8_t breakpoint[] = { 0xcc };                   /* int3 */
#elif defined(__aarch64__)
static const uint8_t store_head[] = { 0x2d, 0xfd, 0x9f, 0xc8 }; /* stlr x13, [x9] */
static const uint8_t breakpoint[] = { 0x00, 0x00, 0x20, 0xd4 }; /* brk #0 */
#else
static const uint8_t store_head[] = { 0x23, 0xb0, 0xd2, 0x01 }; /* sd t4, 0(t0) */
static const uint8_t breakpoint[] = { 0x73, 0x00, 0x10, 0x00 }; /* ebreak */
#endif

static bool can_break;

/* Puts or removes a breakpoint on the store to head of each section that has it. */
static bool set_breakpoints(bool put)
{
	int found = 0;

	for (const struct rseq_section *s = __start___rseq_cs; s < __stop___rseq_cs; s++) {
		uint8_t *at = (uint8_t *)(uintptr_t)(s->start + s->length) - sizeof(store_head);
		uintptr_t page = (uintptr_t)at & ~(uintptr_t)4095;

		if (memcmp(at, store_head, sizeof(breakpoint)) &&
		    memcmp(at, breakpoint, sizeof(breakpoint)))
			continue;
		can_break = !mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
		if (!can_break)
			return false;
		memcpy(at, put ? breakpoint : store_head, sizeof(breakpoint));
		__builtin___clear_cache((char *)at, (char *)at + sizeof(breakpoint));
		found++;
	}
	return found > 0;
}

static void on_trap(int sig)
{
	(void)sig;
	traps++;
	set_breakpoints(false);
	cut_head = trapped->head;
	cut_ts = trapped->last_ts;
}

/* As write_slot() does it, once */
static enum section event_now(const void *data)
{
#ifdef __x86_64__
	return section_event(rseq_real(), &slot, slot.seq, data, 8);
#else
	return section_event_timed(rseq_real(), &slot, slot.seq, data, 8, slot_clock(0, 0));
#endif
}

/*
 * What a signal handler does here, or a thread that has this CPU for a moment. A preemption may
 * abort the section before the breakpoint: then it runs once more.
 */
static void interrupt(void)
{
	uint8_t data[32] = { 0 };

	if (traps || !interrupted)
		return;
	trapped = interrupted;
	if (break_commit) {
		set_breakpoints(true);
		return;
	}
	interrupted = NULL;
	for (int i = 0; i < 100 && !traps && set_breakpoints(true); i++)
		attempt = event_now(data);
	set_breakpoints(false);
}

static bool begin(void)
{
	uint8_t *rings = mmap(NULL, (size_t)STRIDE * CPUS, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (rings == MAP_FAILED)
		return false;
	sigaction(SIGTRAP, &(struct sigaction){ .sa_handler = on_trap }, NULL);
	interrupted = NULL;
	break_commit = false;
	traps = 0;
	if (mapping.base)
		munmap(mapping.base, (size_t)STRIDE * CPUS);
	attempt = SECTION_DONE;
	mapping = (struct mapped_region){
		.base = rings, .subbuf_size = SUBBUF, .subbuf_count = COUNT, .ring_count = CPUS,
		.ring_stride = STRIDE, .data_offset = DATA, .mode = TRAIL_MODE_OVERWRITE,
		.kind = TRAIL_RINGS_CPU,
	};
	slot = (struct slot){
		.rings = rings,
		.on = &on,
		.ring_stride = STRIDE,
		.subbuf_mask = SUBBUF - 1,
		.data_mask = SUBBUF * COUNT - 1,
		.limit = SUBBUF - TRAIL_HEADER_EXTENDED - TRAIL_SLACK,
		.clock_mult = UINT64_C(1) << 32,
		.ring_count = CPUS,
		.timed_count = CPUS,
		.id = 1,
		.header_size = TRAIL_HEADER_COMPACT,
		.header_ids = 1,
		.data_offset = DATA,
		.seq = 2,
		.on_value = 1,
		.mapping = &mapping,
	};
	return true;
}

/* Keeps the thread on its CPU and records events there, until head has passed `upto`. */
static struct trail_ring *fill(uint64_t upto)
{
	uint8_t data[32] = { 0 };
	struct trail_ring *ring;
	cpu_set_t one;
	int cpu = sched_getcpu();

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) || !rseq_usable)
		return NULL;
	ring = (struct trail_ring *)(slot.rings + (unsigned int)cpu * slot.ring_stride);
	/* An epoch stays open where a preemption hinders the slow path from closing it. */
	for (unsigned int i = 0; ring->head < upto || ring->last_ts & TRAIL_TS_OPEN; i++)
		if (i == upto || !slow_write(&slot, data, 8, 0))
			return NULL;
	return ring;
}

/*
 * Fills the ring up to there, and then records an event whose commit is interrupted. Again, if the
 * section of the interruption left before it came to its breakpoint: another epoch had begun.
 */
static struct trail_ring *interrupted_write(uint64_t upto, size_t len)
{
	uint8_t data[512] = { 0 };
	struct trail_ring *ring = NULL;

	traps = 0;
	for (int i = 0; i < 100 && !traps; i++) {
		if (!begin() || !(ring = fill(upto)))
			return NULL;
		interrupted = ring;
		slow_write(&slot, data, len, 0);
		if (!can_break)
			break;
	}
	return ring;
}

static void check_order(struct trail_ring *ring)
{
	CHECK(traps == 1 && attempt == SECTION_ABORTED);
	CHECK(ring->head > cut_head);
	CHECK(ring->last_ts >= cut_ts);
}

static void an_event_is_not_earlier_than_an_aborted_one(void)
{
	struct trail_ring *ring = interrupted_write(SUBBUF + 100, 8);

	if (!ring)
		SKIP("there is no restartable sequence");
	if (!can_break)
		SKIP("no breakpoint can be set in this program");
	check_order(ring);
}

/* A time that was read before the section: a later event came in between, or none did. */
static void a_time_read_before_is_not_earlier_than_the_last(void)
{
	uint8_t data[32] = { 0 };
	struct trail_ring *ring;
	uint64_t head, ts;

	if (!begin() || !(ring = fill(SUBBUF + 100)))
		SKIP("there is no restartable sequence");
	slot.ring_count = 0;
	head = ring->head;
	ts = ring->last_ts;
	CHECK(section_event(rseq_real(), &slot, slot.seq, data, 8) == SECTION_SLOW);
	for (int i = 0; i < 100 && ring->head == head; i++)
		attempt = section_event_timed(rseq_real(), &slot, slot.seq, data, 8, ts);
	CHECK(attempt == SECTION_DONE && ring->last_ts == ts);
	CHECK(ring->head == head + slot.header_size + 8);
	head = ring->head;
	attempt = SECTION_ABORTED;
	for (int i = 0; i < 100 && attempt == SECTION_ABORTED; i++)
		attempt = section_event_timed(rseq_real(), &slot, slot.seq, data, 8, ts - 1);
	CHECK(attempt == SECTION_SLOW && ring->head == head && ring->last_ts == ts);
	/* Another epoch needs another header. */
	attempt = SECTION_ABORTED;
	for (int i = 0; i < 100 && attempt == SECTION_ABORTED; i++)
		attempt = section_event_timed(rseq_real(), &slot, slot.seq, data, 8,
					      ts + (UINT64_C(1) << TRAIL_EPOCH_SHIFT));
	CHECK(attempt == SECTION_SLOW && ring->head == head);
	CHECK(section_event_timed(rseq_real(), &slot, slot.seq + 1, data, 8, ts) == SECTION_STALE);
}

/* Tries again after an abort, which a preemption may cause. */
static enum section again(struct rseq_area *rs, uint64_t seq, uint64_t ts)
{
	uint8_t data[32] = { 0 };
	enum section r = SECTION_ABORTED;

	for (int i = 0; i < 100 && r == SECTION_ABORTED; i++)
		r = section_event_timed_wake(rs, &slot, seq, data, 8, ts);
	return r;
}

/* The event is recorded in both cases; SECTION_ARMED only if the daemon may be asleep. */
static void an_armed_bell_is_said(void)
{
	uint32_t bell = 0;
	struct trail_ring *ring;
	uint64_t head, ts;

	if (!begin() || !(ring = fill(SUBBUF + 100)))
		SKIP("there is no restartable sequence");
	mapping.bell = &bell;
	head = ring->head;
	ts = ring->last_ts;
	CHECK(again(rseq_real(), slot.seq, ts) == SECTION_DONE);
	CHECK(ring->head == head + slot.header_size + 8);
	bell = TRAIL_BELL_ARMED;
	CHECK(again(rseq_real(), slot.seq, ts) == SECTION_ARMED);
	CHECK(ring->head == head + 2 * (slot.header_size + 8) && bell == TRAIL_BELL_ARMED);
	CHECK(again(rseq_real(), slot.seq, ts - 1) == SECTION_SLOW);
	CHECK(again(rseq_real(), slot.seq + 1, ts) == SECTION_STALE);
	CHECK(ring->head == head + 2 * (slot.header_size + 8));
}

static void a_sub_buffer_does_not_begin_earlier_than_an_aborted_event(void)
{
	const struct trail_subbuf *ends, *begins;
	struct trail_ring *ring = interrupted_write(2 * SUBBUF - 256, 400);

	if (!ring)
		SKIP("there is no restartable sequence");
	if (!can_break)
		SKIP("no breakpoint can be set in this program");
	check_order(ring);
	ends = &ring->side[1];
	begins = &ring->side[2];
	CHECK(begins->seq == 2 && begins->begin_ts >= cut_ts);
	CHECK(ends->end == cut_head && ends->end_ts >= cut_ts && begins->begin_ts >= ends->end_ts);
}

#ifdef TRAIL_STORES_WORDS
/* Lets the last event be of an earlier epoch, and the next one come to its store to head. */
static bool abort_commit(struct trail_ring *ring)
{
	uint8_t data[32] = { 0 };

	interrupted = ring;
	break_commit = true;
	traps = 0;
	ring->last_ts -= UINT64_C(2) << TRAIL_EPOCH_SHIFT;
	return slow_write(&slot, data, 8, 0) && traps;
}

static void the_event_after_an_epoch_that_stayed_open_has_the_whole_time(void)
{
	struct trail_ring *ring;
	uint8_t *data;
	uint64_t head;

	if (!begin() || !(ring = fill(SUBBUF + 100)))
		SKIP("there is no restartable sequence");
	head = ring->head;
	data = (uint8_t *)ring + DATA;
	if (!abort_commit(ring))
		SKIP("no breakpoint can be set in this program");
	CHECK(cut_head == head && cut_ts & TRAIL_TS_OPEN);
	CHECK(data[head & slot.data_mask] == TRAIL_BYTE_EXTENDED);
	CHECK(ring->head == head + TRAIL_HEADER_EXTENDED + 8);
	CHECK((ring->last_ts & ~TRAIL_TS_OPEN) >= (cut_ts & ~TRAIL_TS_OPEN));
}

static void no_short_event_is_written_in_an_open_epoch(void)
{
	uint8_t payload[32] = { 0 }, *data;
	struct trail_ring *ring;
	uint64_t head, ts;

	if (!begin() || !(ring = fill(SUBBUF + 100)))
		SKIP("there is no restartable sequence");
	data = (uint8_t *)ring + DATA;
	head = ring->head;
	ts = ring->last_ts;
	ring->last_ts |= TRAIL_TS_OPEN;
	CHECK(again(rseq_real(), slot.seq, ts) == SECTION_SLOW && ring->head == head);
	CHECK(slow_write(&slot, payload, 8, 0));
	CHECK(data[head & slot.data_mask] == TRAIL_BYTE_EXTENDED);
	/* Until the thread was not interrupted before the epoch is closed */
	for (int i = 0; i < 100 && ring->last_ts & TRAIL_TS_OPEN; i++)
		slow_write(&slot, payload, 8, 0);
	CHECK(!(ring->last_ts & TRAIL_TS_OPEN) && ring->last_ts >= ts);
}
#endif

int main(void)
{
	thread_init();
	thread_rseq();
	CASE(a_time_read_before_is_not_earlier_than_the_last);
	CASE(an_armed_bell_is_said);
	CASE(an_event_is_not_earlier_than_an_aborted_one);
	CASE(a_sub_buffer_does_not_begin_earlier_than_an_aborted_event);
#ifdef TRAIL_STORES_WORDS
	CASE(the_event_after_an_epoch_that_stayed_open_has_the_whole_time);
	CASE(no_short_event_is_written_in_an_open_epoch);
#endif
	return test_summary();
}
#else
int main(void)
{
	puts("1..0 # SKIP this processor has no restartable sections here");
	return 0;
}
#endif
