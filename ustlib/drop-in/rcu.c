// SPDX-License-Identifier: MIT
/*
 * The read side of RCU as compiled call sites use it, also inlined: a thread has a reader, whose
 * counter says how often the thread is inside, and the phase that it entered in. A grace period
 * changes the phase, and waits for the readers that are inside in the old one; twice, because a
 * thread may have read the phase long before it stores it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ustlib/drop-in/drop_in.h"

#define PHASE (1ul << (sizeof(long) << 2))
#define NESTING (PHASE - 1)
#define LOOKS 1000              /* of 100 us each, before a reader's thread is asked for */

struct lttng_ust_urcu_reader {
	unsigned long ctr;              /* known to compiled programs */
	struct lttng_ust_urcu_reader *next;
	int tid;                        /* 0: free */
} __attribute__((aligned(64)));

struct lttng_ust_urcu_gp {
	unsigned long ctr;
} __attribute__((aligned(128)));

/* All exported: compiled programs that define _LGPL_SOURCE read and write them. */
extern struct lttng_ust_urcu_gp lttng_ust_urcu_gp;
extern int lttng_ust_urcu_has_sys_membarrier;
extern __thread struct lttng_ust_urcu_reader *lttng_ust_urcu_reader;
TRAIL_EXPORT struct lttng_ust_urcu_gp lttng_ust_urcu_gp = { 1 };
TRAIL_EXPORT int lttng_ust_urcu_has_sys_membarrier;
TRAIL_EXPORT __thread struct lttng_ust_urcu_reader *lttng_ust_urcu_reader
	__attribute__((tls_model("initial-exec")));

/*
 * Readers are never freed, and only ever added at the head: the list is read without a lock. tid is
 * taken with a compare-and-exchange.
 */
static struct lttng_ust_urcu_reader *readers;
static pthread_key_t at_thread_end;
static bool has_key;

static int own_tid(void)
{
	return (int)syscall(SYS_gettid);
}

static struct lttng_ust_urcu_reader *take_free(int tid)
{
	struct lttng_ust_urcu_reader *r = __atomic_load_n(&readers, __ATOMIC_ACQUIRE);

	for (; r; r = r->next) {
		int none = 0;

		if (__atomic_compare_exchange_n(&r->tid, &none, tid, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return r;
	}
	return NULL;
}

static struct lttng_ust_urcu_reader *add_reader(int tid)
{
	struct lttng_ust_urcu_reader *r, *end;

	r = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r == MAP_FAILED)
		return NULL;
	end = r + 4096 / sizeof(*r) - 1;
	for (struct lttng_ust_urcu_reader *i = r; i < end; i++)
		i->next = i + 1;
	r->tid = tid;
	end->next = __atomic_load_n(&readers, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&readers, &end->next, r, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	return r;
}

/* At a thread's first hit; maybe in a signal handler. */
TRAIL_EXPORT void lttng_ust_urcu_register(void);
TRAIL_EXPORT void lttng_ust_urcu_register(void)
{
	/* If memory is short, threads share one: grace periods do not wait for these. */
	static struct lttng_ust_urcu_reader shared;
	struct lttng_ust_urcu_reader *r;
	int saved = errno, tid = own_tid();
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!lttng_ust_urcu_reader) {
		r = take_free(tid);
		r = r ? r : add_reader(tid);
		if (r && has_key)
			pthread_setspecific(at_thread_end, r);
		lttng_ust_urcu_reader = r ? r : &shared;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
}

TRAIL_EXPORT void lttng_ust_urcu_register_thread(void);
TRAIL_EXPORT void lttng_ust_urcu_register_thread(void)
{
	if (!lttng_ust_urcu_reader)
		lttng_ust_urcu_register();
}

static void end_thread(void *reader)
{
	struct lttng_ust_urcu_reader *r = reader;

	/* A later destructor of the thread may hit a call site, and registers it again. */
	lttng_ust_urcu_reader = NULL;
	__atomic_store_n(&r->ctr, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&r->tid, 0, __ATOMIC_RELEASE);
}

static inline __attribute__((always_inline)) void reader_barrier(void)
{
	if (__builtin_expect(lttng_ust_urcu_has_sys_membarrier, 1))
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	else
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline __attribute__((always_inline)) void enter(void)
{
	struct lttng_ust_urcu_reader *r = lttng_ust_urcu_reader;
	unsigned long ctr;

	if (__builtin_expect(!r, 0)) {
		lttng_ust_urcu_register();
		r = lttng_ust_urcu_reader;
	}
	ctr = r->ctr;
	if (ctr & NESTING) {
		__atomic_store_n(&r->ctr, ctr + 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_store_n(&r->ctr, __atomic_load_n(&lttng_ust_urcu_gp.ctr, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	/* Pairs with writer_barrier(): the site's array is read after the counter is stored. */
	reader_barrier();
}

static inline __attribute__((always_inline)) void leave(void)
{
	struct lttng_ust_urcu_reader *r = lttng_ust_urcu_reader;

	reader_barrier();
	__atomic_store_n(&r->ctr, r->ctr - 1, __ATOMIC_RELAXED);
}

#define EXPORT_READERS(prefix) \
	TRAIL_EXPORT void prefix##_read_lock(void); \
	TRAIL_EXPORT void prefix##_read_lock(void) { enter(); } \
	TRAIL_EXPORT void prefix##_read_unlock(void); \
	TRAIL_EXPORT void prefix##_read_unlock(void) { leave(); }

EXPORT_READERS(lttng_ust_tp_rcu)
EXPORT_READERS(lttng_ust_urcu)

/* Of soname 0 */
TRAIL_EXPORT void tp_rcu_read_lock_bp(void);
TRAIL_EXPORT void tp_rcu_read_lock_bp(void) { enter(); }
TRAIL_EXPORT void tp_rcu_read_unlock_bp(void);
TRAIL_EXPORT void tp_rcu_read_unlock_bp(void) { leave(); }

TRAIL_EXPORT int lttng_ust_urcu_read_ongoing(void);
TRAIL_EXPORT int lttng_ust_urcu_read_ongoing(void)
{
	return lttng_ust_urcu_reader && lttng_ust_urcu_reader->ctr & NESTING;
}

/* ---- grace periods ---- */

static void writer_barrier(void)
{
	if (lttng_ust_urcu_has_sys_membarrier)
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	else
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * A child that was made without fork(3) has readers of threads that are not there. (A number that
 * was given to another thread meanwhile is waited for in vain, as long as that lives.)
 */
static bool is_gone(struct lttng_ust_urcu_reader *r)
{
	int tid = __atomic_load_n(&r->tid, __ATOMIC_ACQUIRE);

	return !tid || (syscall(SYS_tgkill, getpid(), tid, 0) < 0 && errno == ESRCH);
}

/* liburcu's, for readers that are its own; NULL: there are none. Atomic. */
static void (*other_wait)(void);

static void wait_for_old(void)
{
	const struct timespec wait = { .tv_nsec = 100000 };
	struct lttng_ust_urcu_reader *r = __atomic_load_n(&readers, __ATOMIC_ACQUIRE);

	for (; r; r = r->next)
		for (unsigned int look = 1;; look++) {
			unsigned long ctr = __atomic_load_n(&r->ctr, __ATOMIC_ACQUIRE);

			if (!(ctr & NESTING) || !((ctr ^ lttng_ust_urcu_gp.ctr) & PHASE) ||
			    r == lttng_ust_urcu_reader || (look % LOOKS == 0 && is_gone(r)))
				break;
			nanosleep(&wait, NULL);
		}
}

/* Caller holds the drop-in lock. */
void rcu_wait(void)
{
	void (*other)(void);
	int saved = errno;

	for (int i = 0; i < 2; i++) {
		writer_barrier();
		__atomic_store_n(&lttng_ust_urcu_gp.ctr, lttng_ust_urcu_gp.ctr ^ PHASE,
				 __ATOMIC_RELAXED);
		writer_barrier();
		wait_for_old();
	}
	writer_barrier();
	other = __atomic_load_n(&other_wait, __ATOMIC_ACQUIRE);
	if (other)
		other();
	errno = saved;
}

void rcu_look_for_other(void)
{
	void *found = dlsym(RTLD_DEFAULT, "urcu_bp_synchronize_rcu");
	Dl_info info;

	found = found ? found : dlsym(RTLD_DEFAULT, "synchronize_rcu_bp");
	/* It stays loaded. */
	if (found && dladdr(found, &info) &&
	    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE))
		__atomic_store_n((void **)&other_wait, found, __ATOMIC_RELEASE);
}

TRAIL_EXPORT void lttng_ust_urcu_synchronize_rcu(void);
TRAIL_EXPORT void lttng_ust_urcu_synchronize_rcu(void)
{
	drop_in_lock();
	rcu_wait();
	drop_in_unlock();
}

void rcu_init(void)
{
	has_key = pthread_key_create(&at_thread_end, end_thread) == 0;
	lttng_ust_urcu_has_sys_membarrier =
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void rcu_forked(void)
{
	for (struct lttng_ust_urcu_reader *r = readers; r; r = r->next) {
		if (r == lttng_ust_urcu_reader) {
			r->tid = own_tid();
			continue;
		}
		r->ctr = 0;
		r->tid = 0;
	}
}
