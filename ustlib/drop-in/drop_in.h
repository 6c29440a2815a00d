/* SPDX-License-Identifier: MIT */
/*
 * ustlib/drop-in/: LTTng-UST's libraries for programs that were compiled against them (soname 1,
 * and 0). One shared object has the names liblttng-ust.so.1, liblttng-ust-tracepoint.so.1,
 * liblttng-ust-common.so.1, liblttng-ust.so.0 and liblttng-ust-tracepoint.so.0: the functions of
 * the two have other names. It is a program to libtrail, and uses what libtrail exports.
 *
 *	abi.h           the structures of compiled programs
 *	abi0.h          … of those that were compiled with LTTng-UST 2.1 to 2.12 (soname 0)
 *	provider.c      a compiled provider: its events as tracepoints of libtrail, and their hits
 *	provider0.c     the same of soname 0
 *	field.c         the description of a compiled field
 *	tracepoint.c    compiled call sites, connected to probes by name
 *	rcu.c           the read-side of RCU, which call sites enter, and grace periods
 *	watcher.c       the thread that switches call sites when the daemon writes state words
 *	log.c           tracef and tracelog
 *	objects.c       what is loaded: lttng_ust_statedump and lttng_ust_lib
 *	context.c       contexts of the application
 *	compat.c        exported functions that have little to do here
 *
 * A call site tests a word of its own, which the daemon does not know: so a thread copies the
 * state words to the sites (tracepoints_refresh).
 */
#ifndef USTLIB_DROP_IN_H
#define USTLIB_DROP_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRAIL__LIBRARY
#include "trail/trail.h"
#include "trail/log.h"
#include "trail/site.h"
#include "ustlib/drop-in/abi.h"

#define TRAIL_HIDDEN __attribute__((visibility("hidden")))
#define TRAIL_EXPORT __attribute__((visibility("default")))

/* ---- tracepoint.c ---- */

/* Called by the call sites of its name that have its signature. */
struct probe {
	const char *provider, *event, *signature;
	void (*func)(void);
	void *data;
	const unsigned int *word;       /* it is off while the word is 0; NULL: always on */
	char *name;                     /* owned: where the names are; or NULL */
	uint32_t hash;                  /* tracepoint.c's */
	struct probe *next;
};

/*
 * Connects, and disconnects: that returns when no thread is in the probe. Of the list of `count`
 * probes of `stride` bytes.
 */
void TRAIL_HIDDEN probes_add(struct probe *first, size_t count, size_t stride);
void TRAIL_HIDDEN probes_remove(struct probe *first, size_t count, size_t stride);
/* There are call sites of this name, and all of them have another signature. */
bool TRAIL_HIDDEN sites_differ(const char *provider, const char *event, const char *signature);
/* Switches all call sites as the state words say. */
void TRAIL_HIDDEN tracepoints_refresh(void);
/*
 * The drop-in lock guards the lists of modules and probes, and the watcher's thread. Holders call
 * nothing of libtrail, and no probe runs with it held. For constructors, destructors, fork and the
 * watcher; not for signal handlers.
 */
void TRAIL_HIDDEN drop_in_lock(void);
void TRAIL_HIDDEN drop_in_unlock(void);

/* ---- field.c ---- */

/* A provider's memory, freed at once. What is allocated is zeroed; NULL: there is no memory. */
struct memory;
void TRAIL_HIDDEN *memory_alloc(struct memory **m, size_t count, size_t size);
void TRAIL_HIDDEN memory_free(struct memory **m);

/*
 * One field of compiled code as libtrail has it; `before` is the field before, or NULL. False: it
 * is of no type that probes have.
 */
bool TRAIL_HIDDEN field_describe(const struct ust_field *f, const struct ust_field *before,
				 struct trail__field *out, struct memory **m);

/* ---- provider.c ---- */

#define PROVIDER_MAJOR_FIRST 3          /* of the interface to providers: LTTng-UST 2.13 */

/*
 * Makes what an event's probe gets as its `data`; a hit has to call the notifier. NULL: no memory.
 */
typedef void *probe_data(const struct ust_notifier *notifier, struct memory **m);

/*
 * Registers and connects a provider, whose code is where `within` is, as called at ip. data_of
 * NULL: its probes know notifiers. Never NULL: one that cannot be traced gets a handle, too.
 */
struct provider;
struct provider TRAIL_HIDDEN *provider_add(const struct ust_provider_desc *desc, const void *within,
					   probe_data *data_of, void *ip);
void TRAIL_HIDDEN provider_remove(struct provider *p);

/* ---- rcu.c ---- */

void TRAIL_HIDDEN rcu_init(void);
void TRAIL_HIDDEN rcu_forked(void);     /* in a child: the other threads are not here */
/* Waits until each reader that was inside when it was called has left. */
void TRAIL_HIDDEN rcu_wait(void);
/*
 * Call sites of soname 0 may have liburcu's read side inlined: from now on, rcu_wait() waits for
 * its readers, too. For constructors; without the drop-in lock.
 */
void TRAIL_HIDDEN rcu_look_for_other(void);

/* ---- watcher.c ---- */

/* There are other registration files now: starts the thread, or wakes it. */
void TRAIL_HIDDEN watcher_wake(void);
void TRAIL_HIDDEN watcher_poke(void);   /* wakes it, if it runs; async-signal-safe */
void TRAIL_HIDDEN watcher_forked(void); /* in a child, with the drop-in lock held */

/* ---- objects.c ---- */

/* The trace points that it hits. */
void TRAIL_HIDDEN objects_points(struct trail__tp *const **begin, struct trail__tp *const **end);
/*
 * Records what was loaded and unloaded, as called at ip, and the state dump that is due, if a
 * session wants it. For constructors and the watcher; caller does not hold the drop-in lock.
 */
void TRAIL_HIDDEN objects_look(void *ip);

/* ---- log.c ---- */

void TRAIL_HIDDEN log_init(void);
/* Called by tracepoints_refresh(), with the drop-in lock held. */
void TRAIL_HIDDEN log_refresh(void);

#endif
