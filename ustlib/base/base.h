/* SPDX-License-Identifier: MIT */
/*
 * ustlib/base/: what every part of libtrail uses. It knows neither objects nor slots.
 *
 *	environment.c   variables of the environment; messages for LTTNG_UST_DEBUG
 *	lock.c          the registration lock
 *	thread.c        rseq areas, children with their parent's thread-local storage
 *	file_lock.c     the locks of registration files
 *	arena.c         memory that is never freed
 */
#ifndef USTLIB_BASE_H
#define USTLIB_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracer/abi/app.h"
#include "tracer/abi/ring.h"
#define TRAIL__LIBRARY
#include "trail/trail.h"

#define TRAIL_HIDDEN __attribute__((visibility("hidden")))
#define TRAIL_EXPORT __attribute__((visibility("default")))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define LANES 2

/*
 * lock.c: the registration lock, which only (un)register, fork and attach take. Holders keep it for
 * 250 ms at most.
 */
bool TRAIL_HIDDEN objects_trylock(void);
void TRAIL_HIDDEN objects_unlock(void);
/* only for constructors, destructors and fork; may be nested; sleeps, never spins */
void TRAIL_HIDDEN objects_lock(void);
/*
 * Sleeps until the lock may be free, or a moment (now_us) has come. False: it is not free, or this
 * thread must not sleep: it holds the lock itself, or trail_seal() was called. Async-signal-safe.
 */
bool TRAIL_HIDDEN objects_wait(int64_t until);
/* a full wait was in vain: objects_wait() fails till it is free */
void TRAIL_HIDDEN objects_stuck(void);
/* waits for the threads that were about to sleep when library_sealed was set */
void TRAIL_HIDDEN objects_waiters_gone(void);
/* in a child: the other threads are not here */
void TRAIL_HIDDEN objects_forked(void);
/* in a child that was forked without the lock held */
void TRAIL_HIDDEN objects_abandon(void);
int64_t TRAIL_HIDDEN now_us(void);                      /* CLOCK_MONOTONIC */
struct object;
extern TRAIL_HIDDEN struct object *objects;     /* the loaded ones; guarded by the lock */
/* trail_seal(): no system calls any more. Atomic; set once, with the lock held */
extern TRAIL_HIDDEN bool library_sealed;

/* environment.c */
extern TRAIL_HIDDEN char runtime_dir[LANES][92];        /* where the lanes' daemons are */
/* how long the daemon may be silent: TRAIL_ATTACH_TIMEOUT */
extern TRAIL_HIDDEN int attach_ms;
/* how long a wait may take in all, while the daemon shows that it lives */
int64_t TRAIL_HIDDEN attach_total_us(void);
/* Sets runtime_dir, for the effective user. */
void TRAIL_HIDDEN environment_set_dirs(void);
void TRAIL_HIDDEN environment_read(void);       /* after that */
/* A line to standard error if LTTNG_UST_DEBUG is set. Keeps errno. */
void TRAIL_HIDDEN debug_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* arena.c: with the registration lock held. Zeroed, never freed; NULL when memory ran out. */
void TRAIL_HIDDEN *arena_alloc(size_t size);

/* Restartable sections (section.h) write to rings of CPUs; else threads have rings. */
#if defined(__x86_64__) || (defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) || \
	(defined(__riscv) && __riscv_xlen == 64)
#define HAVE_SECTIONS
#endif
#if defined(__x86_64__)
#define RSEQ_SIGNATURE 0x53053053
#elif defined(__aarch64__)
#define RSEQ_SIGNATURE 0xd428bc00
#else
#define RSEQ_SIGNATURE 0xf1401073
#endif

/* thread.c */
struct rseq_area {                      /* linux/rseq.h, the part that is used */
	uint32_t cpu_id_start;
	uint32_t cpu_id;
	uint64_t rseq_cs;
	uint32_t flags;
	uint32_t pad[3];
} __attribute__((aligned(32)));
/*
 * This thread may be two: a child of vfork(2) or clone(2) has its parent's thread pointer and with
 * it all thread-local storage. `shift` then leads to an area that has no CPU, and `owner` is the
 * thread that may write.
 */
struct thread_state {
	ptrdiff_t shift;                /* of rseq_self() from the area that the kernel knows */
	uint32_t owner;                 /* 0: this thread is one */
	/* by other means than fork(3): to be made good at the next hit */
	bool forked;
	bool holds;                     /* the registration lock */
	bool private_files;             /* a table of descriptors of its own */
	struct {
		/* reading it would be SIGSEGV: `shift` keeps the fast path away */
		bool without_tsc;
		uint64_t tsc;           /* when it was last read, */
		uint64_t then;          /* and CLOCK_MONOTONIC at that time, ns */
	} clock;
};
extern TRAIL_HIDDEN __thread struct thread_state thread_state
	__attribute__((tls_model("initial-exec")));
extern TRAIL_HIDDEN ptrdiff_t rseq_offset;      /* of this thread's area from the thread pointer */
extern TRAIL_HIDDEN bool rseq_usable;           /* false: rings for threads */
void TRAIL_HIDDEN thread_init(void);            /* from the constructor */
bool TRAIL_HIDDEN thread_rseq(void);            /* makes sure that this thread is registered */
void TRAIL_HIDDEN thread_forked(void);
/* a child on the same thread pointer is about to be made */
void TRAIL_HIDDEN thread_share(void);
void TRAIL_HIDDEN thread_unshare(void);         /* and is gone, or was not made */
void TRAIL_HIDDEN thread_mark_forked(void);
/* before the calling thread gives up the right to read the TSC */
void TRAIL_HIDDEN thread_lose_tsc(void);
void TRAIL_HIDDEN thread_regain_tsc(void);
/*
 * For a thread without TSC: ns since *tsc was read. Async-signal-safe; no system call after
 * trail_seal().
 */
uint64_t TRAIL_HIDDEN thread_clock(uint64_t *tsc);
struct timespec;
/*
 * struct timespec as the kernel's first calls have it. That of a C library for 32 bits may have
 * seconds of 64.
 */
struct old_timespec { long sec, nsec; };

void TRAIL_HIDDEN thread_now(struct timespec *ts);      /* CLOCK_MONOTONIC, for any thread */
bool TRAIL_HIDDEN thread_is_foreign(void);      /* such a child: writes nothing */

/*
 * Moves a descriptor that stays open to a high number: a program that closes 0, 1 and 2 relies on
 * the next open(2) to return 0. Returns the new number, never 0 to 2, or -1 if there is none; fd is
 * closed then. Async-signal-safe.
 */
int TRAIL_HIDDEN fd_move_up(int fd);

static inline struct rseq_area *rseq_real(void)
{
	return (struct rseq_area *)((char *)__builtin_thread_pointer() + rseq_offset);
}

static inline struct rseq_area *rseq_self(void)
{
	return (struct rseq_area *)((char *)__builtin_thread_pointer() + rseq_offset +
				    thread_state.shift);
}

/*
 * file_lock.c: the flock(2) of a registration file, by which the daemon sees that the process
 * lives. A mapping keeps a file open, and so its lock. One of overlayfs keeps the file below open,
 * which is not locked: there a descriptor stays, with a number that programs do not expect to get.
 */
struct file_lock {
	int fd;                         /* 0: none */
	dev_t dev;                      /* of its file: the program may have another one there */
	ino_t ino;
};

/* Takes fd, whose file is locked and mapped. What l kept before is dropped. Callers serialize. */
void TRAIL_HIDDEN file_lock_keep(struct file_lock *l, int fd);
void TRAIL_HIDDEN file_lock_drop(struct file_lock *l);

#endif
