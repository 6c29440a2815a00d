// SPDX-License-Identifier: MIT
/*
 * Rings for threads. Without rseq (old kernels, valgrind, other architectures) a process has
 * regions of its own with a ring per thread, and uses the portable writer of
 * tracer/abi/ring_write.h.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ustlib/lib.h"
#include "tracer/abi/ring_write.h"

/* thread ids; claimed and taken over by compare and exchange */
static uint32_t holders[TRAIL_THREAD_RINGS];

/*
 * The rings of this thread: the first for events, another for events of a signal handler that
 * interrupted the writing of an event, and so on. A handler may leave by siglongjmp(3), and the
 * event that it interrupted never ends: so a writer stores where on the stack it is. A writer that
 * finds itself at that place or above knows that the earlier one is gone.
 */
#define NESTED 3

struct own_ring {
	uint32_t ring;          /* index + 1; 0: none yet */
	/* of the writer at work; 0: none. One store takes the ring, one gives it back */
	uintptr_t frame;
	bool torn;              /* the writer before did not end */
};

static __thread struct own_ring own_rings[NESTED] __attribute__((tls_model("initial-exec")));

/* What the earlier writer of the new ring left there is not known. */
static bool claim(struct own_ring *own, uint32_t i, uint32_t old, uint32_t tid)
{
	if (!__atomic_compare_exchange_n(&holders[i], &old, tid, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	if (own->ring)
		__atomic_store_n(&holders[own->ring - 1], 0, __ATOMIC_RELEASE);
	own->ring = i + 1;
	own->torn = true;
	return true;
}

/*
 * Finds a ring for this thread among the first `count`: its own, a free one, or the ring of a
 * thread that has ended. Regions differ in their number of rings, so a thread whose ring only a
 * larger one has leaves it for such a ring.
 */
static bool find_ring(struct own_ring *own, uint32_t count)
{
	uint32_t tid, pid, held;

	if (own->ring && own->ring <= count)
		return true;
	if ((own != own_rings || own->ring) && library_sealed)
		return false;
	if (count > TRAIL_THREAD_RINGS)
		count = TRAIL_THREAD_RINGS;
	tid = (uint32_t)syscall(SYS_gettid);
	pid = (uint32_t)getpid();
	for (uint32_t i = 0; i < count; i++)
		if (__atomic_load_n(&holders[i], __ATOMIC_RELAXED) == 0 && claim(own, i, 0, tid))
			return true;
	for (uint32_t i = 0; i < count; i++) {
		held = __atomic_load_n(&holders[i], __ATOMIC_RELAXED);
		if (syscall(SYS_tgkill, pid, held, 0) < 0 && errno == ESRCH &&
		    claim(own, i, held, tid))
			return true;
	}
	return false;
}

/*
 * True if the writer at that frame has left it. A call is never at the frame of another one that
 * has not returned, nor above it, on the same stack. A handler on an alternate stack says nothing
 * of the thread's other stack; a thread that is not on it any more has left it.
 */
static bool is_gone(uintptr_t writer, uintptr_t here)
{
	bool writer_there, we_there;
	stack_t alternate;
	uintptr_t low, size;

	if (library_sealed || syscall(SYS_sigaltstack, NULL, &alternate) < 0)
		return false;
	low = (uintptr_t)alternate.ss_sp;
	size = alternate.ss_flags & SS_DISABLE ? 0 : alternate.ss_size;
	writer_there = writer - low < size;
	we_there = here - low < size;
	return writer_there == we_there ? here >= writer : writer_there;
}

/* Takes one of the first `count` rings that no writer of this thread uses. NULL: there is none. */
static struct own_ring *take_ring(uintptr_t here, uint32_t count)
{
	for (struct own_ring *own = own_rings; own < own_rings + NESTED; own++) {
		if (own->frame && !is_gone(own->frame, here))
			continue;
		if (!find_ring(own, count))
			return NULL;
		if (own->frame)
			own->torn = true;
		own->frame = here;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		return own;
	}
	return NULL;
}

void thread_rings_forked(void)
{
	for (uint32_t i = 0; i < TRAIL_THREAD_RINGS; i++)
		holders[i] = 0;
	for (int i = 0; i < NESTED; i++)
		own_rings[i] = (struct own_ring){ 0 };
}

struct thread_writer {
	const struct slot *slot;
	uint32_t ring;
	uint64_t began;         /* the wait for room; 0: not yet */
};

static uint64_t writer_clock(void *arg)
{
	const struct thread_writer *w = arg;

	return slot_clock(w->slot->clock_mult, w->slot->clock_base);
}

static bool writer_populate(void *arg, uint64_t subbuf)
{
	const struct thread_writer *w = arg;

	return mapping_populate(w->slot->mapping, w->ring, subbuf);
}

static bool writer_wait(void *arg)
{
	struct thread_writer *w = arg;

	return slot_wait(w->slot, &w->began);
}

__attribute__((noinline)) bool thread_write(const struct slot *slot, const void *data, size_t len)
{
	struct thread_writer writer = { .slot = slot };
	struct ring_writer w = {
		.subbuf_size = slot->mapping->subbuf_size,
		.subbuf_count = slot->mapping->subbuf_count,
		.mode = slot->mapping->mode,
		.clock = writer_clock,
		.populate = writer_populate,
		.wait = writer_wait,
		.arg = &writer,
		.pairs = slot->mapping->pairs,
	};
	struct own_ring *own;
	int saved = errno;
	bool good = true;
	uint8_t on;

	own = take_ring((uintptr_t)__builtin_frame_address(0), slot->mapping->ring_count);
	if (!own) {
		slot_lost(slot, 1);
		goto out;
	}
	writer.ring = own->ring - 1;
	w.whole_time = own->torn;
	w.ring = (struct trail_ring *)(slot->rings + writer.ring * slot->ring_stride);
	w.data = (uint8_t *)w.ring + slot->data_offset;
	good = ring_write(&w, slot->on, slot->on_value, slot->id, data, len);
	if (good) {
		own->torn = false;
	} else {
		on = __atomic_load_n(slot->on, __ATOMIC_RELAXED);
		good = !on || on == slot->on_value;
	}
out:
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (own)
		own->frame = 0;
	errno = saved;
	return good;
}
