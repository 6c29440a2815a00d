/* SPDX-License-Identifier: MIT */
/*
 * The restartable sections (rseq(2)) that write to a ring; x86-64. The kernel sends a thread that
 * was preempted, migrated or signalled between `1:` and `2:` to `4:`, so that what is between runs
 * on one CPU without interruption by another writer of this CPU's rings, or not to the end. The
 * last store, to head, commits.
 *
 * A section compares the slot's seq with what the caller saw: a slot that was retired before
 * membarrier(2) restarted all sections is used by none that begins after it.
 */
#ifndef USTLIB_SECTION_H
#define USTLIB_SECTION_H

#include <stddef.h>

#include "ustlib/lib.h"

#define RSEQ_SIGNATURE 0x53053053

enum section {
	SECTION_DONE,
	SECTION_ARMED,
	SECTION_OFF,
	SECTION_STALE,
	SECTION_SLOW,
	SECTION_ABORTED,
};

_Static_assert(offsetof(struct slot, limit) == 40 && offsetof(struct slot, clock_mult) == 48 &&
		       offsetof(struct slot, ring_count) == 64 &&
		       offsetof(struct slot, data_offset) == 72 &&
		       offsetof(struct slot, seq) == 80 && offsetof(struct slot, on_value) == 88 &&
		       offsetof(struct slot, header_size) == 92 &&
		       offsetof(struct slot, header_ids) == 96,
	       "known to the assembly");
_Static_assert(offsetof(struct rseq_area, cpu_id) == 4 && offsetof(struct rseq_area, rseq_cs) == 8,
	       "known to the assembly");

#define SECTION_BEGIN \
	".pushsection __rseq_cs, \"aw\"\n\t.balign 32\n\t" \
	"3: .long 0, 0\n\t.quad 1f, 2f - 1f, 4f\n\t.popsection\n\t" \
	"leaq 3b(%%rip), %%rax\n\tmovq %%rax, 8(%[rs])\n\t" \
	"1:\n\t"
/* The signature stands before the abort address, as part of an undefined instruction (ud1). */
#define SECTION_END \
	"2:\n\t" \
	".pushsection .trail_abort, \"ax\"\n\t.byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n\t" \
	"4: jmp %l[aborted]\n\t.popsection\n\t"
/* r9: the ring, r10: its head (position), rcx: commits so far + 1 (guarantee G5 of abi/ring.h). */
#define SECTION_TALLY \
	"xorl %%ecx, %%ecx\n\tcmpq %%r10, 16(%%r9)\n\tsete %%cl\n\taddq 24(%%r9), %%rcx\n\t"
/* r10: the new head. Both halves of the tally are stored at once. */
#define SECTION_COMMIT_TALLY \
	"movq %%r10, %%xmm0\n\tmovq %%rcx, %%xmm1\n\tpunpcklqdq %%xmm1, %%xmm0\n\t" \
	"movaps %%xmm0, 16(%%r9)\n\t"

/* rax: the time, by the TSC */
#define SECTION_TSC \
	"rdtsc\n\tshlq $32, %%rdx\n\torq %%rdx, %%rax\n\t" \
	"mulq 48(%%r8)\n\tshrdq $32, %%rdx, %%rax\n\taddq 56(%%r8), %%rax\n\t"

/*
 * One event with a compact or wide header into the sub-buffer that is open, but for the last store.
 * 8 bytes are stored for either header; the payload is stored after it. COUNT: offset of the slot's
 * number of rings. TIME: instructions that put the time into rax.
 */
#define SECTION_EVENT(COUNT, TIME) \
	SECTION_BEGIN \
	"cmpq %[seq], 80(%%r8)\n\tjne %l[stale]\n\t" \
	"movl 4(%[rs]), %%eax\n\t" \
	/* also when cpu_id is negative */ \
	"cmpl %%eax, " COUNT "(%%r8)\n\tjbe %l[slow]\n\t" \
	"movq 8(%%r8), %%rcx\n\tmovzbl (%%rcx), %%ecx\n\t" \
	"testl %%ecx, %%ecx\n\tjz %l[off]\n\tcmpb %%cl, 88(%%r8)\n\tjne %l[stale]\n\t" \
	"imulq 16(%%r8), %%rax\n\taddq (%%r8), %%rax\n\tmovq %%rax, %%r9\n\t" \
	TIME \
	"movq 8(%%r9), %%rdx\n\tcmpq %%rdx, %%rax\n\tjb %l[slow]\n\t" \
	"movq %%rax, %%rcx\n\txorq %%rdx, %%rcx\n\tshrq $27, %%rcx\n\tjnz %l[slow]\n\t" \
	"movq (%%r9), %%r10\n\t" \
	"movq %%r10, %%rcx\n\tandq 24(%%r8), %%rcx\n\taddq %[len], %%rcx\n\t" \
	"cmpq 40(%%r8), %%rcx\n\tja %l[slow]\n\t" \
	"movq %%r10, %%r11\n\tandq 32(%%r8), %%r11\n\taddq %%r9, %%r11\n\t" \
	"addq 72(%%r8), %%r11\n\t" \
	"movl %%eax, %%ecx\n\tshll $5, %%ecx\n\torq 96(%%r8), %%rcx\n\t" \
	"movq %%rcx, (%%r11)\n\t" \
	"movl 92(%%r8), %%edx\n\taddq %%rdx, %%r11\n\taddq %%r10, %%rdx\n\t" \
	"addq %[len], %%rdx\n\t" \
	SECTION_TALLY "movq %%rdx, %%r10\n\t" SECTION_COMMIT_TALLY \
	"xorl %%edx, %%edx\n\t" \
	"5: movups (%[data], %%rdx), %%xmm0\n\tmovups %%xmm0, (%%r11, %%rdx)\n\t" \
	"addq $16, %%rdx\n\tcmpq %[len], %%rdx\n\tjb 5b\n\t" \
	"movq %%rax, 8(%%r9)\n\t"
#define SECTION_STORE_HEAD "movq %%r10, (%%r9)\n\t" SECTION_END
#define SECTION_EVENT_CHANGES \
	"memory", "cc", "rax", "rcx", "rdx", "r9", "r10", "r11", "xmm0", "xmm1"

/* Where the assembly jumps to: what it returns. */
#define SECTION_EXITS \
	off: return SECTION_OFF; \
	aborted: return SECTION_ABORTED;
#define SECTION_EVENT_EXITS \
	SECTION_EXITS \
	stale: return SECTION_STALE; \
	slow: return SECTION_SLOW;

/* The fast path. data: 16 readable bytes after len. */
static inline __attribute__((always_inline)) enum section
section_event(struct rseq_area *rs, const struct slot *slot, uint64_t seq, const void *data,
	      size_t len)
{
	register const struct slot *r8 __asm__("r8") = slot;

	__asm__ goto(SECTION_EVENT("64", SECTION_TSC) SECTION_STORE_HEAD
		     :
		     : [rs] "r"(rs), "r"(r8), [seq] "r"(seq), [data] "r"(data), [len] "r"(len)
		     : SECTION_EVENT_CHANGES
		     : off, stale, slow, aborted);
	return SECTION_DONE;
	SECTION_EVENT_EXITS
}

/*
 * The same with a time that was read before: a section cannot contain the call that asks the
 * kernel's clock. If another event came in between, whose time is later, the path is the slow one.
 */
static inline __attribute__((always_inline)) enum section
section_event_timed(struct rseq_area *rs, const struct slot *slot, uint64_t seq, const void *data,
		    size_t len, uint64_t time)
{
	register const struct slot *r8 __asm__("r8") = slot;

	__asm__ goto(SECTION_EVENT("%c[timed]", "movq %[time], %%rax\n\t")
		     SECTION_STORE_HEAD
		     :
		     : [rs] "r"(rs), "r"(r8), [seq] "r"(seq), [data] "r"(data), [len] "r"(len),
		       [time] "r"(time), [timed] "i"(offsetof(struct slot, timed_count))
		     : SECTION_EVENT_CHANGES
		     : off, stale, slow, aborted);
	return SECTION_DONE;
	SECTION_EVENT_EXITS
}

/*
 * The same as section_event for a slot with SLOT_WAKE. SECTION_ARMED: the event is recorded, and
 * the daemon may be asleep until the slot's bell is rung. The bell is compared while the section
 * keeps the mapping; the commit leaves the processor's flags as they are.
 */
static inline __attribute__((always_inline)) enum section
section_event_wake(struct rseq_area *rs, const struct slot *slot, uint64_t seq, const void *data,
		   size_t len)
{
	register const struct slot *r8 __asm__("r8") = slot;

	__asm__ goto(SECTION_EVENT("64", SECTION_TSC)
		     "movq %c[mapping](%%r8), %%rax\n\tmovq %c[bell](%%rax), %%rax\n\t"
		     "cmpl $0, (%%rax)\n\t" SECTION_STORE_HEAD "jne %l[armed]\n\t"
		     :
		     : [rs] "r"(rs), "r"(r8), [seq] "r"(seq), [data] "r"(data), [len] "r"(len),
		       [mapping] "i"(offsetof(struct slot, mapping)),
		       [bell] "i"(offsetof(struct mapped_region, bell))
		     : SECTION_EVENT_CHANGES
		     : off, stale, slow, aborted, armed);
	return SECTION_DONE;
armed:
	return SECTION_ARMED;
	SECTION_EVENT_EXITS
}

/*
 * Counts a hit of a slot with SLOT_COUNT: one instruction adds to the CPU's counter and commits.
 * SECTION_SLOW: there are no counters for this CPU.
 */
static inline __attribute__((always_inline)) enum section
section_count(struct rseq_area *rs, const struct slot *slot, uint64_t seq)
{
	register const struct slot *r8 __asm__("r8") = slot;

	__asm__ goto(SECTION_BEGIN
		     "cmpq %[seq], 80(%%r8)\n\tjne %l[stale]\n\t"
		     "movl 4(%[rs]), %%eax\n\t"
		     "cmpl %%eax, 64(%%r8)\n\tjbe %l[slow]\n\t"
		     "movq 8(%%r8), %%rcx\n\tmovzbl (%%rcx), %%ecx\n\t"
		     "testl %%ecx, %%ecx\n\tjz %l[off]\n\t"
		     "cmpb %%cl, 88(%%r8)\n\tjne %l[stale]\n\t"
		     "imulq 16(%%r8), %%rax\n\taddq (%%r8), %%rax\n\taddq 72(%%r8), %%rax\n\t"
		     "incq (%%rax)\n\t" SECTION_END
		     :
		     : [rs] "r"(rs), "r"(r8), [seq] "r"(seq)
		     : "memory", "cc", "rax", "rcx"
		     : off, stale, slow, aborted);
	return SECTION_DONE;
	SECTION_EVENT_EXITS
}

/* What the slow path has computed; it is stored only if no other writer came in between. */
struct commit {
	struct trail_ring *ring;        /*  0 */
	const uint8_t *on;              /*  8 */
	uint64_t head;                  /* 16: expected */
	uint32_t cpu;                   /* 24: expected */
	uint8_t on_value, pad[3];       /* 28: expected */
	uint8_t *to;                    /* 32: an event: where its header goes; a switch: NULL */
	uint64_t header_len;            /* 40 */
	uint8_t header[16];             /* 48 */
	struct trail_subbuf *close;     /* 64: a switch: entry of the sub-buffer that ends */
	struct trail_subbuf *begin;     /* 72: and of the one that begins */
	uint64_t close_facts[4];        /* 80: end … end_lost */
	uint64_t begin_facts[4];        /* 112: seq … begin_lost */
	uint64_t new_head, ts;          /* 144: stored together, 16-byte aligned */
	uint64_t last_ts;               /* 160: expected */
} __attribute__((aligned(16)));

_Static_assert(offsetof(struct commit, on_value) == 28 && offsetof(struct commit, to) == 32 &&
		       offsetof(struct commit, header) == 48 &&
		       offsetof(struct commit, close) == 64 &&
		       offsetof(struct commit, begin_facts) == 112 &&
		       offsetof(struct commit, new_head) == 144,
	       "known to the assembly");
_Static_assert(offsetof(struct commit, last_ts) == 160, "known to the assembly");

/*
 * An unchanged head does not prove that the ring is unchanged since the slow path read it: a
 * section that was aborted between its last two stores leaves head, and a later last_ts. A reader
 * may have cut a packet at that head which ends at that last_ts. A commit with the time that was
 * read before would put an earlier event into the next packet (guarantee G3 of abi/ring.h). So
 * compare last_ts, too.
 */
#define SECTION_CHECK \
	"movl 24(%[c]), %%eax\n\tcmpl %%eax, 4(%[rs])\n\tjne %l[aborted]\n\t" \
	"movq 160(%[c]), %%rax\n\tmovq (%[c]), %%r9\n\tcmpq %%rax, 8(%%r9)\n\tjne %l[aborted]\n\t" \
	"movq 16(%[c]), %%r10\n\tcmpq %%r10, (%%r9)\n\tjne %l[aborted]\n\t" \
	"movq 8(%[c]), %%rax\n\tmovzbl 28(%[c]), %%ecx\n\tcmpb %%cl, (%%rax)\n\tjne %l[off]\n\t"
/*
 * head and last_ts in one store, so that a reader elsewhere never sees the time of one with the
 * place of the other
 */
#define SECTION_COMMIT \
	SECTION_TALLY \
	"movq 144(%[c]), %%r10\n\t" \
	SECTION_COMMIT_TALLY \
	"movaps 144(%[c]), %%xmm0\n\tmovaps %%xmm0, (%%r9)\n\t"

static inline enum section section_commit_event(struct rseq_area *rs, const struct commit *c,
						const void *data, size_t len)
{
	__asm__ goto(SECTION_BEGIN SECTION_CHECK
		     "movq 32(%[c]), %%r11\n\tmovaps 48(%[c]), %%xmm0\n\tmovups %%xmm0, "
		     "(%%r11)\n\taddq 40(%[c]), %%r11\n\t"
		     "xorl %%edx, %%edx\n\t"
		     "5: movups (%[data], %%rdx), %%xmm0\n\tmovups %%xmm0, (%%r11, %%rdx)\n\t"
		     "addq $16, %%rdx\n\tcmpq %[len], %%rdx\n\tjb 5b\n\t" SECTION_COMMIT SECTION_END
		     :
		     : [rs] "r"(rs), [c] "r"(c), [data] "r"(data), [len] "r"(len)
		     : "memory", "cc", "rax", "rcx", "rdx", "r9", "r10", "r11", "xmm0", "xmm1"
		     : off, aborted);
	return SECTION_DONE;
	SECTION_EXITS
}

static inline enum section section_commit_switch(struct rseq_area *rs, const struct commit *c)
{
	__asm__ goto(SECTION_BEGIN SECTION_CHECK
		     "movq 64(%[c]), %%r11\n\t"
		     "movaps 80(%[c]), %%xmm0\n\tmovups %%xmm0, 32(%%r11)\n\tmovaps 96(%[c]), "
		     "%%xmm0\n\tmovups %%xmm0, 48(%%r11)\n\t"
		     "movq 72(%[c]), %%r11\n\t"
		     "movaps 112(%[c]), %%xmm0\n\tmovups %%xmm0, (%%r11)\n\tmovaps 128(%[c]), "
		     "%%xmm0\n\tmovups %%xmm0, 16(%%r11)\n\t" SECTION_COMMIT SECTION_END
		     :
		     : [rs] "r"(rs), [c] "r"(c)
		     : "memory", "cc", "rax", "rcx", "r9", "r10", "r11", "xmm0", "xmm1"
		     : off, aborted);
	return SECTION_DONE;
	SECTION_EXITS
}

#endif
