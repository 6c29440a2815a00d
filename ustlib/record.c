// SPDX-License-Identifier: MIT
/*
 * The event path. A hit whose event is on comes here with its payload on the stack:
 *
 *	guard		at the call site; trail__ready: is the trace point set up for the present state word? (else attach.c)
 *	fast path	one restartable section (section.h), a handful of nanoseconds
 *	slow path	the clock's epoch changed, the sub-buffer is full, …: work out what to store in C, then commit it in a
 *			short section that checks that it is still true
 *	lost		neither: count it where the reader finds it
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ustlib/lib.h"
#include "tracer/ringwrite.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define TRIES 200               /* aborts of one event before it counts as lost: a single-stepped writer would never end */

uint64_t slot_clock(uint64_t mult, uint64_t base)
{
	struct timespec ts;

#ifdef __x86_64__
	if (mult)
		return (uint64_t)((unsigned __int128)__builtin_ia32_rdtsc() * mult >> 32) + base;
#endif
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * Makes a sub-buffer's memory present before its first use by this process: a store into a page that cannot be had would be a
 * SIGBUS, and one into a page that others made is a fault, which costs more one by one.
 */
bool slot_populate(const struct mapping *m, uint32_t ring, uint64_t subbuf)
{
	uint64_t place = subbuf & (m->subbuf_count - 1), bit = ring * (uint64_t)m->subbuf_count + place;
	uint8_t *at = m->base + m->ring_offset + ring * m->ring_stride + m->data_offset + place * m->subbuf_size;
	int saved = errno;
	bool ok = true;

	if (!m->populate || __atomic_load_n(&m->present[bit / 8], __ATOMIC_RELAXED) & 1u << bit % 8)
		return true;
	ok = syscall(SYS_madvise, at, m->subbuf_size, MADV_POPULATE_WRITE) == 0;
	if (ok)
		__atomic_fetch_or(&m->present[bit / 8], (uint8_t)(1u << bit % 8), __ATOMIC_RELAXED);
	errno = saved;
	return ok;
}

/* In the registration file, where the daemon finds it should the process end before it is accounted for. */
void tp_missed(struct trail__tp *tp)
{
	unsigned long long *missed = __atomic_load_n(&tp->missed, __ATOMIC_RELAXED);

	if (missed)
		__atomic_fetch_add(missed, 1, __ATOMIC_RELAXED);
}

void slot_lost(const struct slot *slot, uint64_t n)
{
	uint32_t ring = 0;
	unsigned int cpu;

	if (slot->mapping->kind == TRAIL_RINGS_CPU && syscall(SYS_getcpu, &cpu, NULL, NULL) == 0 &&
	    cpu < slot->mapping->ring_count)
		ring = cpu;
	ring_lost((struct trail_ring *)(slot->rings + ring * slot->ring_stride), n);
}

#ifdef __x86_64__
#include "ustlib/section.h"

static enum section commit_switch(struct rseq_area *rs, struct commit *c, const struct mapping *m, uint64_t commits)
{
	struct trail_ring *ring = c->ring;
	uint64_t k = c->head / m->subbuf_size, lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);

	c->close = &ring->side[k & (2 * m->subbuf_count - 1)];
	c->begin = &ring->side[(k + 1) & (2 * m->subbuf_count - 1)];
	c->close_facts[0] = c->head;
	c->close_facts[1] = __atomic_load_n(&ring->last_ts, __ATOMIC_RELAXED);
	c->close_facts[2] = commits - k;
	c->close_facts[3] = lost;
	c->begin_facts[0] = k + 1;
	c->begin_facts[1] = c->ts;
	c->begin_facts[2] = commits - k;
	c->begin_facts[3] = lost;
	c->new_head = (k + 1) * m->subbuf_size;
	return section_commit_switch(rs, c);
}

enum room { ROOM_HERE, ROOM_NEXT, ROOM_NONE };

/* Whether the event fits where head is, or after a switch (for which the memory is then present), or not at all. */
static enum room room(const struct slot *slot, struct trail_ring *ring, uint32_t cpu, uint64_t head, size_t len)
{
	const struct mapping *m = slot->mapping;
	uint64_t need = TRAIL_HEADER_EXTENDED + len + TRAIL_SLACK, next = head / m->subbuf_size + 1;

	if (need > m->subbuf_size)
		return ROOM_NONE;
	if (head && (head & slot->subbuf_mask) + need <= m->subbuf_size)
		return ROOM_HERE;
	if (next > ring_limit(ring, m->mode, m->subbuf_size, m->subbuf_count))
		return ROOM_NONE;
	return slot_populate(m, cpu, next) ? ROOM_NEXT : ROOM_NONE;
}

static __attribute__((noinline, cold)) void write_slow(const struct slot *slot, const void *data, size_t len, int tries)
{
	const struct mapping *m = slot->mapping;
	struct rseq_area *rs = rseq_self();
	struct commit c = { .on = slot->on };

	for (; tries < TRIES; tries++) {
		struct trail_ring *ring;
		uint64_t last;
		enum section r;

		c.cpu = __atomic_load_n(&rs->cpu_id, __ATOMIC_RELAXED);
		if (c.cpu >= m->ring_count) {
			if (!thread_rseq() || __atomic_load_n(&rs->cpu_id, __ATOMIC_RELAXED) >= m->ring_count)
				break;
			continue;
		}
		ring = (struct trail_ring *)(slot->rings + c.cpu * slot->ring_stride);
		c.ring = ring;
		c.head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
		last = __atomic_load_n(&ring->last_ts, __ATOMIC_RELAXED);
		if (!__atomic_load_n(slot->on, __ATOMIC_RELAXED))
			return;
		switch (room(slot, ring, c.cpu, c.head, len)) {
		case ROOM_NONE:
			slot_lost(slot, 1);
			return;
		case ROOM_NEXT:
			c.ts = slot_clock(slot->clock_mult, slot->clock_base);
			if (c.ts < last)
				c.ts = last;
			r = commit_switch(rs, &c, m, ring_commits(ring, c.head));
			break;
		default:
			c.ts = slot_clock(slot->clock_mult, slot->clock_base);
			if (c.ts < last)
				c.ts = last;
			c.header_len = ring_put_header(c.header, slot->id, c.ts, slot->id >= TRAIL_ID_EXTENDED ||
						       (c.ts ^ last) >> TRAIL_EPOCH_SHIFT);
			c.to = (uint8_t *)ring + slot->data_offset + (c.head & slot->data_mask);
			c.new_head = c.head + c.header_len + len;
			r = section_commit_event(rs, &c, data, len);
			if (r == SECTION_DONE)
				return;
		}
		if (r == SECTION_OFF)
			return;
	}
	slot_lost(slot, 1);
}

static inline __attribute__((always_inline)) void write_slot(const void *const *pp, const void *data, size_t len)
{
	for (int tries = 0; tries < TRIES; tries++) {
		enum section r = section_event(rseq_self(), pp, data, len);

		if (likely(r == SECTION_DONE) || r == SECTION_OFF)
			return;
		if (r == SECTION_SLOW) {
			const struct slot *slot;

			__atomic_fetch_add(&slot_users, 1, __ATOMIC_SEQ_CST);   /* before the load: see attach.c, reclaim() */
			slot = __atomic_load_n((const struct slot *const *)pp, __ATOMIC_SEQ_CST);
			if (slot) {
				if (slot->mapping->kind == TRAIL_RINGS_THREAD)
					thread_write((struct slot *)slot, data, len);
				else
					write_slow(slot, data, len, tries);
			}
			__atomic_fetch_sub(&slot_users, 1, __ATOMIC_RELEASE);
			return;
		}
	}
	__atomic_fetch_add(&slot_users, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n((const struct slot *const *)pp, __ATOMIC_SEQ_CST))
		slot_lost(*(const struct slot *const *)pp, 1);
	__atomic_fetch_sub(&slot_users, 1, __ATOMIC_RELEASE);
}
#else
static inline void write_slot(const void *const *pp, const void *data, size_t len)
{
	const struct slot *slot;

	__atomic_fetch_add(&slot_users, 1, __ATOMIC_SEQ_CST);
	slot = __atomic_load_n((const struct slot *const *)pp, __ATOMIC_SEQ_CST);
	if (slot)
		thread_write((struct slot *)slot, data, len);
	__atomic_fetch_sub(&slot_users, 1, __ATOMIC_RELEASE);
}
#endif

static __attribute__((noinline)) void record_several(struct trail__tp *tp, const void *data, size_t len)
{
	const struct slots *slots;

	__atomic_fetch_add(&slot_users, 1, __ATOMIC_SEQ_CST);
	slots = __atomic_load_n((const struct slots *const *)&tp->slots, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; slots && i < slots->count; i++) {
		const void *slot = &slots->slot[i];

		write_slot(&slot, data, len);
	}
	__atomic_fetch_sub(&slot_users, 1, __ATOMIC_RELEASE);
}

TRAIL_EXPORT int trail__ready(struct trail__tp *tp)
{
	/* Pairs with the release store of seen in attach.c: what was set up for this state is visible. */
	if (unlikely(__atomic_load_n(&tp->seen, __ATOMIC_ACQUIRE) != __atomic_load_n(tp->state, __ATOMIC_RELAXED)) &&
	    !attach(tp))
		return 0;
	if (__atomic_load_n(&tp->slot, __ATOMIC_RELAXED) || __atomic_load_n(&tp->slots, __ATOMIC_RELAXED))
		return 1;
	if (__atomic_load_n(&attach_failed, __ATOMIC_RELAXED))
		tp_missed(tp);
	return 0;
}

TRAIL_EXPORT void trail__record_at(struct trail__tp *tp, void *data, size_t len, size_t unwritten, const void *ip)
{
	(void)unwritten, (void)ip;
	if (likely(__atomic_load_n(&tp->slot, __ATOMIC_RELAXED) != NULL))
		write_slot(&tp->slot, data, len);
	else
		record_several(tp, data, len);
}

TRAIL_EXPORT void trail__record(struct trail__tp *tp, void *data, size_t len)
{
	trail__record_at(tp, data, len, 0, NULL);
}

/* One event that could not even be put together. */
static void record_lost(struct trail__tp *tp)
{
	const struct slots *slots;

	__atomic_fetch_add(&slot_users, 1, __ATOMIC_SEQ_CST);
	slots = slots_of(tp);
	for (uint32_t i = 0; slots && i < slots->count; i++)
		if (*slots->slot[i].on)
			slot_lost(&slots->slot[i], 1);
	__atomic_fetch_sub(&slot_users, 1, __ATOMIC_RELEASE);
}

static size_t piece_size(const struct trail__piece *p, size_t *string)
{
	const char *s;

	switch (TRAIL__KIND(p->code)) {
	case TRAIL__STRING:
		s = *(const char *const *)p->data;
		*string = strlen(s ? s : "(null)");
		return *string + 1;
	case TRAIL__SEQUENCE_OF:
		return TRAIL__LENGTH(p->code) + (size_t)p->count * TRAIL__SIZE(p->code);
	case TRAIL__ARRAY_OF:
		return (size_t)p->count * TRAIL__SIZE(p->code);
	default:
		return TRAIL__SIZE(p->code);
	}
}

static unsigned char *put_bytes(unsigned char *at, const void *data, size_t n)
{
	if (n)
		memcpy(at, data, n);
	return at + n;
}

/* A string of n bytes when it was measured; it may have become shorter, its NUL is where the reader looks for it. */
static unsigned char *put_measured(unsigned char *at, const char *s, size_t n)
{
	unsigned char *nul;

	memcpy(at, s ? s : "(null)", n);
	at[n] = 0;
	nul = memchr(at, 0, n + 1);
	return nul + 1;
}

static unsigned char *put_piece(unsigned char *at, const struct trail__piece *p, size_t string)
{
	size_t size = TRAIL__SIZE(p->code);
	uint64_t count = p->count;

	switch (TRAIL__KIND(p->code)) {
	case TRAIL__STRING:
		return put_measured(at, *(const char *const *)p->data, string);
	case TRAIL__SEQUENCE_OF:
		at = put_bytes(at, &count, TRAIL__LENGTH(p->code));
		return put_bytes(at, p->data, p->count * size);
	case TRAIL__ARRAY_OF:
		return put_bytes(at, p->data, p->count * size);
	default:
		return put_bytes(at, p->data, size);
	}
}

/* Events too large for the call site's stack buffer: put together in memory of their own. Rare, so it may cost a mapping. */
TRAIL_EXPORT void trail__record_pieces_at(struct trail__tp *tp, const struct trail__piece *pieces, unsigned int count,
					  unsigned int unwritten, const void *ip)
{
	size_t total = TRAIL__HEADROOM + TRAIL__SPARE, strings[TRAIL_EVENT_FIELDS_MAX] = { 0 }, len = 0;
	unsigned char *buffer, *begin, *at;
	int saved = errno;

	if (count > TRAIL_EVENT_FIELDS_MAX || unwritten > count)
		return;
	for (unsigned int i = 0; i < count; i++)
		total += piece_size(&pieces[i], &strings[i]);
	buffer = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED) {
		record_lost(tp);
		errno = saved;
		return;
	}
	begin = at = buffer + TRAIL__HEADROOM;
	for (unsigned int i = 0; i < count; i++) {
		at = put_piece(at, &pieces[i], strings[i]);
		if (i + 1 == count - unwritten)
			len = (size_t)(at - begin);
	}
	trail__record_at(tp, begin, len, (size_t)(at - begin) - len, ip);
	munmap(buffer, total);
	errno = saved;
}

TRAIL_EXPORT void trail__record_pieces(struct trail__tp *tp, const struct trail__piece *pieces, unsigned int count)
{
	trail__record_pieces_at(tp, pieces, count, 0, NULL);
}

#ifdef __x86_64__
#include <emmintrin.h>
#endif

TRAIL_EXPORT unsigned char *trail__put_string(unsigned char *at, unsigned char *end, const char *s)
{
	size_t n;

	if (unlikely(!s))
		s = "(null)";
#ifdef __x86_64__
	/*
	 * Sixteen bytes at a time, tested and stored from one load each, so that a string that changes meanwhile is still
	 * recorded as one. A load does not cross into a page that may not be there. (Without rseq, which valgrind does not
	 * have, bytes behind the NUL are left alone.)
	 */
	while (likely(rseq_usable) && ((uintptr_t)s & 4095) <= 4096 - 16 && end - at >= 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)s);
		unsigned int zero = (unsigned int)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));

		_mm_storeu_si128((__m128i *)at, bytes);
		if (zero)
			return at + __builtin_ctz(zero) + 1;
		at += 16;
		s += 16;
	}
#endif
	if (at >= end)
		return NULL;
	n = strnlen(s, (size_t)(end - at));
	if (n == (size_t)(end - at))
		return NULL;
	return put_measured(at, s, n);
}
