// SPDX-License-Identifier: MIT
/*
 * Threads: the place of their rseq area. Without rseq (old kernels, valgrind, other architectures)
 * a process has regions of its own with a ring per thread, and uses the portable writer of
 * tracer/abi/ring_write.h.
 *
 * And children that have their parent's thread-local storage: vfork(2), clone(2) with CLONE_VM but
 * no CLONE_SETTLS. The kernel does not tell such a child's restartable sections from its parent's,
 * so it must not enter one: rseq_self() leads it to an area whose cpu_id is -1, and every slow path
 * asks who it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ustlib/lib.h"
#include "tracer/abi/ring_write.h"
#include "trail/site.h"

#define RSEQ_SIGNATURE 0x53053053

/* glibc 2.35 and later register every thread and export the place. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static __thread struct rseq_area own_area
	__attribute__((tls_model("initial-exec"))) = { .cpu_id = (uint32_t)-1 };
static __thread struct rseq_area no_area
	__attribute__((tls_model("initial-exec"))) = { .cpu_id = (uint32_t)-1 };
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

	/*
	 * Sections say where they are before they find that there is nothing for them: not over the
	 * thread's own things.
	 */
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

/* Sections of this thread then read a CPU of -1 before they read the TSC, and leave. */
static void leave_fast_path(void)
{
	thread_state.shift = (char *)&no_area - (char *)rseq_real();
}

void thread_share(void)
{
	int saved = errno;

	if (!thread_state.owner) {
		thread_state.owner = self();
		leave_fast_path();
	}
	errno = saved;
}

void thread_unshare(void)
{
	int saved = errno;

	if (thread_state.owner == self()) {
		thread_state.owner = 0;
		if (!thread_state.clock.without_tsc)
			thread_state.shift = 0;
	}
	errno = saved;
}

void thread_mark_forked(void)
{
	register_abandon();
	thread_state.owner = 0;
	thread_state.forked = true;
	leave_fast_path();
}

/* ---- descriptors ---- */

#define HIGH_FD_MIN 512

TRAIL_EXPORT void trail__files_are_private(void)
{
	thread_state.private_files = true;
}

int fd_move_up(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD_MIN);

	if (high < 0) /* RLIMIT_NOFILE may be below */
		high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (high < 0 && fd > 2)
		return fd;
	close(fd);
	return high;
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

/* ---- threads that may not read the TSC ---- */

static uint64_t nanoseconds(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000u + (uint64_t)ts->tv_nsec;
}

void thread_lose_tsc(void)
{
	struct timespec ts;

#if defined(__x86_64__) || defined(__i386__)
	if (thread_state.clock.without_tsc)
		return;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	thread_state.clock.tsc = __builtin_ia32_rdtsc();
	thread_state.clock.then = nanoseconds(&ts);
	thread_state.clock.without_tsc = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	leave_fast_path();
#else
	(void)ts;
#endif
}

void thread_regain_tsc(void)
{
	if (!thread_state.clock.without_tsc)
		return;
	thread_state.shift = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread_state.clock.without_tsc = false;
}

void thread_now(struct timespec *ts)
{
	/* The vDSO reads the TSC. */
	if (thread_state.clock.without_tsc)
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, ts);
	else
		clock_gettime(CLOCK_MONOTONIC, ts);
}

uint64_t thread_clock(uint64_t *tsc)
{
	struct timespec ts;
	uint64_t now;

	/*
	 * The coarse clock is a load from the vDSO; any other may be a system call there, or read
	 * the TSC.
	 */
	if (attach_sealed)
		clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	else
		thread_now(&ts);
	now = nanoseconds(&ts);
	*tsc = thread_state.clock.tsc;
	return now > thread_state.clock.then ? now - thread_state.clock.then : 0;
}

/* ---- rings for threads ---- */

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

static bool claim(struct own_ring *own, uint32_t i, uint32_t old, uint32_t tid)
{
	if (!__atomic_compare_exchange_n(&holders[i], &old, tid, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	own->ring = i + 1;
	return true;
}

/* Returns a ring for this thread: its own, a free one, or that of a thread that has ended. */
static bool find_ring(struct own_ring *own)
{
	uint32_t tid, pid, held;

	if (own->ring)
		return true;
	if (own != own_rings && attach_sealed)
		return false;
	tid = self();
	pid = (uint32_t)getpid();
	for (uint32_t i = 0; i < TRAIL_THREAD_RINGS; i++)
		if (__atomic_load_n(&holders[i], __ATOMIC_RELAXED) == 0 && claim(own, i, 0, tid))
			return true;
	for (uint32_t i = 0; i < TRAIL_THREAD_RINGS; i++) {
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

	if (attach_sealed || syscall(SYS_sigaltstack, NULL, &alternate) < 0)
		return false;
	low = (uintptr_t)alternate.ss_sp;
	size = alternate.ss_flags & SS_DISABLE ? 0 : alternate.ss_size;
	writer_there = writer - low < size;
	we_there = here - low < size;
	return writer_there == we_there ? here >= writer : writer_there;
}

/* Takes a ring that no writer of this thread uses. NULL: there is none. */
static struct own_ring *take_ring(uintptr_t here)
{
	for (struct own_ring *own = own_rings; own < own_rings + NESTED; own++) {
		if (own->frame && !is_gone(own->frame, here))
			continue;
		if (!find_ring(own))
			return NULL;
		if (own->frame)
			own->torn = true;
		own->frame = here;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		return own;
	}
	return NULL;
}

void thread_forked(void)
{
	thread_state =
		(struct thread_state){ .holds = thread_state.holds, .clock = thread_state.clock };
	if (thread_state.clock.without_tsc)
		leave_fast_path();
	for (uint32_t i = 0; i < TRAIL_THREAD_RINGS; i++)
		holders[i] = 0;
	for (int i = 0; i < NESTED; i++)
		own_rings[i] = (struct own_ring){ 0 };
}

struct thread_writer {
	const struct slot *slot;
	uint32_t ring;
};

static uint64_t writer_clock(void *arg)
{
	const struct thread_writer *w = arg;

	return slot_clock(w->slot->clock_mult, w->slot->clock_base);
}

static bool writer_populate(void *arg, uint64_t subbuf)
{
	const struct thread_writer *w = arg;

	return slot_populate(w->slot->mapping, w->ring, subbuf);
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
		.arg = &writer,
	};
	struct own_ring *own;
	int saved = errno;
	bool good = true;
	uint8_t on;

	own = take_ring((uintptr_t)__builtin_frame_address(0));
	if (!own || own->ring > slot->mapping->ring_count) {
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
