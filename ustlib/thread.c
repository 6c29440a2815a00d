// SPDX-License-Identifier: MIT
/*
 * Threads: where their rseq area is, and what those do that have none (old kernels, valgrind, other architectures): such a
 * process gets regions of its own with a ring per thread, and the portable writer of tracer/abi/ring_write.h.
 *
 * And children that have their parent's thread-local storage: vfork(2), clone(2) with CLONE_VM but no CLONE_SETTLS. The
 * kernel does not tell such a child's restartable sections from its parent's, so it must not enter one: rseq_self()
 * leads it to an area whose cpu_id is -1, and every slow path asks who it is.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ustlib/lib.h"
#include "tracer/abi/ring_write.h"

#define RSEQ_SIGNATURE 0x53053053

/* glibc 2.35 and later register every thread and say where. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static __thread struct rseq_area own_area __attribute__((tls_model("initial-exec"))) = { .cpu_id = (uint32_t)-1 };
static __thread struct rseq_area no_area __attribute__((tls_model("initial-exec"))) = { .cpu_id = (uint32_t)-1 };
static bool by_libc;

__thread struct thread_state thread_state;
ptrdiff_t rseq_offset;
bool rseq_usable;

static bool register_self(void)
{
	int saved = errno;
	bool ok = own_area.cpu_id != (uint32_t)-1;

#ifdef SYS_rseq
	ok = ok || syscall(SYS_rseq, &own_area, sizeof(own_area), 0, RSEQ_SIGNATURE) == 0;
#endif
	errno = saved;
	return ok;
}

void thread_init(void)
{
#ifdef __x86_64__
	const char *wanted = secure_getenv("TRAIL_RSEQ");

	/* Sections say where they are before they find that there is nothing for them: not over the thread's own things. */
	rseq_offset = (char *)&own_area - (char *)__builtin_thread_pointer();
	if (wanted && !strcmp(wanted, "0"))
		return;
	if (&__rseq_size && __rseq_size > 0) {
		rseq_offset = __rseq_offset;
		by_libc = rseq_usable = true;
		return;
	}
	rseq_usable = register_self();
#endif
}

bool thread_rseq(void)
{
	return rseq_usable && !by_libc && !attach_sealed && register_self();
}

static uint32_t self(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

void thread_share(void)
{
	int saved = errno;

	if (!thread_state.owner) {
		thread_state.owner = self();
		thread_state.shift = (char *)&no_area - (char *)rseq_real();
	}
	errno = saved;
}

void thread_unshare(void)
{
	int saved = errno;

	if (thread_state.owner == self())
		thread_state.owner = 0, thread_state.shift = 0;
	errno = saved;
}

void thread_mark_forked(void)
{
	register_abandon();
	thread_state.owner = 0;
	thread_state.forked = true;
	thread_state.shift = (char *)&no_area - (char *)rseq_real();
}

bool thread_is_foreign(void)
{
	bool foreign;
	int saved = errno;

	if (likely(!thread_state.owner))
		return false;
	foreign = thread_state.owner != self();
	errno = saved;
	return foreign;
}

/* ---- rings for threads ---- */

static uint32_t holders[TRAIL_THREAD_RINGS];    /* thread ids; claimed and taken over by compare and exchange */
static __thread uint32_t my_ring __attribute__((tls_model("initial-exec")));    /* index + 1 */
static __thread bool writing __attribute__((tls_model("initial-exec")));        /* a signal handler must not nest */

static bool claim(uint32_t i, uint32_t old, uint32_t tid)
{
	if (!__atomic_compare_exchange_n(&holders[i], &old, tid, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	my_ring = i + 1;
	return true;
}

/* Finds this thread a ring: its own, a free one, or that of a thread that has ended. */
static bool own_ring(void)
{
	uint32_t tid, pid, held;

	if (my_ring)
		return true;
	tid = self();
	pid = (uint32_t)getpid();
	for (uint32_t i = 0; i < TRAIL_THREAD_RINGS; i++)
		if (__atomic_load_n(&holders[i], __ATOMIC_RELAXED) == 0 && claim(i, 0, tid))
			return true;
	for (uint32_t i = 0; i < TRAIL_THREAD_RINGS; i++) {
		held = __atomic_load_n(&holders[i], __ATOMIC_RELAXED);
		if (syscall(SYS_tgkill, pid, held, 0) < 0 && errno == ESRCH && claim(i, held, tid))
			return true;
	}
	return false;
}

void thread_forked(void)
{
	thread_state = (struct thread_state){ .holds = thread_state.holds };
	for (uint32_t i = 0; i < TRAIL_THREAD_RINGS; i++)
		holders[i] = 0;
	my_ring = 0;
	writing = false;
}

static uint64_t writer_clock(void *arg)
{
	const struct slot *slot = arg;

	return slot_clock(slot->clock_mult, slot->clock_base);
}

static bool writer_populate(void *arg, uint64_t subbuf)
{
	const struct slot *slot = arg;

	return slot_populate(slot->mapping, my_ring - 1, subbuf);
}

bool thread_write(const struct slot *slot, const void *data, size_t len)
{
	struct ring_writer w = {
		.subbuf_size = slot->mapping->subbuf_size, .subbuf_count = slot->mapping->subbuf_count,
		.mode = slot->mapping->mode, .clock = writer_clock, .populate = writer_populate, .arg = (void *)slot,
	};
	int saved = errno;
	bool good;
	uint8_t on;

	if (writing || !own_ring() || my_ring > slot->mapping->ring_count) {
		slot_lost(slot, 1);
		errno = saved;
		return true;
	}
	writing = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w.ring = (struct trail_ring *)(slot->rings + (my_ring - 1) * slot->ring_stride);
	w.data = (uint8_t *)w.ring + slot->data_offset;
	good = ring_write(&w, slot->on, slot->on_value, slot->id, data, len);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	writing = false;
	if (!good) {
		on = __atomic_load_n(slot->on, __ATOMIC_RELAXED);
		good = !on || on == slot->on_value;
	}
	errno = saved;
	return good;
}
