// SPDX-License-Identifier: MIT
/*
 * The constructor, and exported functions of LTTng-UST that have little to do here: libtrail sees
 * fork(2) and changes of users by itself.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ustlib/drop-in/drop_in.h"

static void before_fork(void) { drop_in_lock(); }
static void after_fork(void) { drop_in_unlock(); }

static void in_child(void)
{
	rcu_forked();
	watcher_forked();
	drop_in_unlock();
}

/*
 * libtrail's handlers of fork(2) are there first: so in a child they have run when these run.
 * Constructors of providers run after this one, or register without having been initialised.
 */
static __attribute__((constructor(101))) void initialise(void)
{
	rcu_init();
	log_init();
	tracepoints_refresh();
	pthread_atfork(before_fork, after_fork, in_child);
	watcher_wake();
}

#define NOTHING(name) \
	TRAIL_EXPORT void name(void); \
	TRAIL_EXPORT void name(void) {}

/* libtrail does it, or there is nothing to do. */
NOTHING(init_usterr)
NOTHING(lttng_ust_init_thread)
NOTHING(lttng_ust_common_ctor)
NOTHING(lttng_ust_common_alloc_tls)
NOTHING(lttng_ust_tp_init)
NOTHING(lttng_ust_tp_exit)
NOTHING(lttng_ust_tp_probe_prune_release_queue)
NOTHING(lttng_ust_libc_wrapper_malloc_ctor)
NOTHING(__tracepoint_probe_prune_release_queue)
NOTHING(tracepoint_probe_update_all)
NOTHING(init_tracepoint)
NOTHING(exit_tracepoint)
NOTHING(lttng_ust_lock_fd_tracker)
NOTHING(lttng_ust_unlock_fd_tracker)
NOTHING(lttng_ust_urcu_before_fork)
NOTHING(lttng_ust_urcu_after_fork_parent)
NOTHING(lttng_ust_urcu_after_fork_child)

/* The handlers of fork(2) do what these did for LTTng-UST. */
#define FORK(name) \
	TRAIL_EXPORT void name(sigset_t *signals); \
	TRAIL_EXPORT void name(sigset_t *signals) { (void)signals; }
FORK(lttng_ust_before_fork)
FORK(lttng_ust_after_fork_parent)
FORK(lttng_ust_after_fork_child)
FORK(ust_before_fork)
FORK(ust_after_fork_parent)
FORK(ust_after_fork_child)

#define IDENTITY(name) \
	TRAIL_EXPORT void name(void); \
	TRAIL_EXPORT void name(void) { trail__identity_changed(); }
IDENTITY(lttng_ust_after_setuid)
IDENTITY(lttng_ust_after_setgid)
IDENTITY(lttng_ust_after_seteuid)
IDENTITY(lttng_ust_after_setegid)
IDENTITY(lttng_ust_after_setreuid)
IDENTITY(lttng_ust_after_setregid)
IDENTITY(lttng_ust_after_setresuid)
IDENTITY(lttng_ust_after_setresgid)
IDENTITY(lttng_ust_after_setns)
IDENTITY(lttng_ust_after_unshare)
IDENTITY(lttng_ust_context_procname_reset)
IDENTITY(ust_after_setuid)
IDENTITY(ust_after_setgid)
IDENTITY(ust_after_seteuid)
IDENTITY(ust_after_setegid)
IDENTITY(ust_after_setreuid)
IDENTITY(ust_after_setregid)
IDENTITY(ust_after_setresuid)
IDENTITY(ust_after_setresgid)
IDENTITY(ust_after_setns)
IDENTITY(ust_after_unshare)
IDENTITY(lttng_context_procname_reset)

/* Programs that end with threads inside call sites ask for this. */
static int no_destructors;

TRAIL_EXPORT void lttng_ust_tp_disable_destructors(void);
TRAIL_EXPORT void lttng_ust_tp_disable_destructors(void)
{
	__atomic_store_n(&no_destructors, 1, __ATOMIC_RELAXED);
}

TRAIL_EXPORT int lttng_ust_tp_get_destructors_state(void);
TRAIL_EXPORT int lttng_ust_tp_get_destructors_state(void)
{
	return !__atomic_load_n(&no_destructors, __ATOMIC_RELAXED);
}

/* Of soname 0 */
TRAIL_EXPORT int tp_get_destructors_state(void);
TRAIL_EXPORT int tp_get_destructors_state(void) { return lttng_ust_tp_get_destructors_state(); }
TRAIL_EXPORT void tp_disable_destructors(void);
TRAIL_EXPORT void tp_disable_destructors(void) { lttng_ust_tp_disable_destructors(); }
extern int __tracepoints__disable_destructors;
TRAIL_EXPORT int __tracepoints__disable_destructors;

TRAIL_EXPORT const char *lttng_ust_strerror(int code);
TRAIL_EXPORT const char *lttng_ust_strerror(int code)
{
	return strerror(code < 0 ? -code : code);
}

/* ---- descriptors: there are none to protect, the watcher's are in a table of its own ---- */

TRAIL_EXPORT int lttng_ust_add_fd_to_tracker(int fd);
TRAIL_EXPORT int lttng_ust_add_fd_to_tracker(int fd) { return fd; }
TRAIL_EXPORT void lttng_ust_delete_fd_from_tracker(int fd);
TRAIL_EXPORT void lttng_ust_delete_fd_from_tracker(int fd) { (void)fd; }

TRAIL_EXPORT int lttng_ust_safe_close_fd(int fd, int (*close_fd)(int));
TRAIL_EXPORT int lttng_ust_safe_close_fd(int fd, int (*close_fd)(int)) { return close_fd(fd); }

TRAIL_EXPORT int lttng_ust_safe_fclose_stream(FILE *f, int (*close_stream)(FILE *));
TRAIL_EXPORT int lttng_ust_safe_fclose_stream(FILE *f, int (*close_stream)(FILE *))
{
	return close_stream(f);
}

TRAIL_EXPORT int lttng_ust_safe_closefrom_fd(int low, int (*close_fd)(int));
TRAIL_EXPORT int lttng_ust_safe_closefrom_fd(int low, int (*close_fd)(int))
{
	long end = sysconf(_SC_OPEN_MAX);

	for (int fd = low; fd >= 0 && fd < end; fd++)
		close_fd(fd);
	return 0;
}

/* ---- cancellation, which may be disabled several times over ---- */

static __thread struct {
	int depth, before;
} cancel;

TRAIL_EXPORT int lttng_ust_cancelstate_disable_push(void);
TRAIL_EXPORT int lttng_ust_cancelstate_disable_push(void)
{
	if (cancel.depth++ == 0)
		return pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel.before) ? -1 : 0;
	return 0;
}

TRAIL_EXPORT int lttng_ust_cancelstate_disable_pop(void);
TRAIL_EXPORT int lttng_ust_cancelstate_disable_pop(void)
{
	if (!cancel.depth)
		return -1;
	if (--cancel.depth == 0)
		return pthread_setcancelstate(cancel.before, NULL) ? -1 : 0;
	return 0;
}

/* ---- pointers that RCU protects ---- */

TRAIL_EXPORT void *lttng_ust_tp_rcu_dereference_sym(void *p);
TRAIL_EXPORT void *lttng_ust_tp_rcu_dereference_sym(void *p) { return p; }
TRAIL_EXPORT void *tp_rcu_dereference_sym_bp(void *p);
TRAIL_EXPORT void *tp_rcu_dereference_sym_bp(void *p) { return p; }
TRAIL_EXPORT void *lttng_ust_rcu_dereference_sym(void *p);
TRAIL_EXPORT void *lttng_ust_rcu_dereference_sym(void *p) { return p; }

TRAIL_EXPORT void *lttng_ust_rcu_set_pointer_sym(void **p, void *v);
TRAIL_EXPORT void *lttng_ust_rcu_set_pointer_sym(void **p, void *v)
{
	__atomic_store_n(p, v, __ATOMIC_SEQ_CST);
	return v;
}

TRAIL_EXPORT void *lttng_ust_rcu_xchg_pointer_sym(void **p, void *v);
TRAIL_EXPORT void *lttng_ust_rcu_xchg_pointer_sym(void **p, void *v)
{
	return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
}

TRAIL_EXPORT void *lttng_ust_rcu_cmpxchg_pointer_sym(void **p, void *old, void *new);
TRAIL_EXPORT void *lttng_ust_rcu_cmpxchg_pointer_sym(void **p, void *old, void *new)
{
	__atomic_compare_exchange_n(p, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}
