/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * trail.ko: channels (channel.c), what is recorded into them (event.c, syscall.c, counter.c,
 * track.c, filter.c), and the device (main.c). Each file calls only files before it in this list:
 * callstack, tracepoint, counter, context, filter, track, syscall, event, channel, main.
 *
 * Locks: trail_lock guards the list of channels, what each records, and compiled probes. Probes
 * take no lock. What they use, attachments and rings, is freed after the probes were unregistered
 * and a grace period of tracepoints went by.
 */
#ifndef KMOD_TRAIL_H
#define KMOD_TRAIL_H

#include <linux/bitmap.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/trace_events.h>

#include "kmod/compat.h"
#include "kmod/ringcore.h"
#include "tracer/abi/module.h"

struct cpu_ring {                     /* of one CPU */
	struct kring *control;          /* NULL: none, filter.c has the record */
	u8 *data;
};

struct trail_ids {
	u32 count;
	u32 ids[];                      /* sorted */
};

/* freed, and what is not in the next one, after a grace period */
struct trail_tracked {
	unsigned long *tids;            /* a bit for each; NULL: all */
	struct trail_ids *sets[MODABI_TRACK_COUNT];     /* NULL: all */
};

struct trail_channel {
	/* read by probes */
	struct cpu_ring __percpu *rings;
	struct kring_geometry geometry;
	bool recording;
	struct trail_tracked __rcu *tracked;    /* NULL: all tasks are recorded */
	/* NULL: none; set once, stays as long as the channel */
	struct trail_contexts *contexts;

	struct list_head reservation;   /* while it has rings; guarded by a lock in channel.c */

	/* guarded by trail_lock */
	/* the list's, descriptors', and perf counters' that are being closed */
	struct kref ref;
	void (*release)(struct kref *ref);      /* frees the channel; constant */
	struct list_head node;
	bool removed;
	bool following;                 /* forks: track.c */
	struct list_head attached;      /* struct trail_attach */
	struct list_head dying;         /* struct trail_attach; probes may still be using them */
	unsigned int dying_count;
	struct trail_syscalls *syscalls;
	char name[MODABI_NAME_MAX];
	u32 subbuf_count;
	u64 stride;
};

/* One event that a channel records. */
struct trail_attach {
	struct trail_channel *channel;  /* constant, as is id */
	u32 id;
	struct list_head node;
	enum modabi_how how;
	const struct trail_probe *probe;
	struct tracepoint *tp;          /* registered there; NULL: its module is not loaded */
	struct trail_counter *counter;
	struct modabi_call call;        /* constant */
	struct trail_filter __rcu *filter;      /* read by probes; NULL: all is recorded */
	char system[64], name[128];
};

static inline void trail_channel_get(struct trail_channel *c)
{
	kref_get(&c->ref);
}

static inline void trail_channel_put(struct trail_channel *c)
{
	kref_put(&c->ref, c->release);
}

/* A compiled probe: kmod/probe/probe.h makes them. */
struct trail_probe {
	const char *system, *name;
	void *func;
};

/* Those of one module. */
struct trail_probes {
	struct module *owner;
	const struct trail_probe *const *probes;
	unsigned int count;
	struct list_head node;
};

int trail_probes_add(struct trail_probes *p);
void trail_probes_remove(struct trail_probes *p);

extern struct mutex trail_lock;
extern struct list_head trail_channels;

/* channel.c */
int trail_channel_create(const struct modabi_channel *m);
int trail_channel_open(struct modabi_channel *m);       /* a descriptor */
int trail_channel_remove(const char *name);
void trail_channels_end(void);

/* event.c */
int trail_event_set(struct trail_channel *c, struct modabi_event *e);
int trail_event_filter(struct trail_channel *c, const struct modabi_filter *m);
/* all; a grace period of tracepoints must follow, and then: */
void trail_events_off(struct trail_channel *c);
void trail_events_free(struct trail_channel *c);       /* those that are off */
int trail_enabled_text(struct trail_channel *c, char **text, size_t *len);
int trail_compiled_text(char **text, size_t *len);
unsigned int trail_compiled_count(void);
int trail_events_init(void);
void trail_events_exit(void);

/* tracepoint.c: of the kernel itself; NULL: there is none */
struct tracepoint *trail_tracepoint(const char *name);

/* counter.c: events by the kernel's performance counters */
struct trail_counter *trail_counter_open(struct trail_attach *a);       /* or an error pointer */
void trail_counter_close(struct trail_counter *k);      /* no record after this */
/* waits for those that are still being taken apart */
void trail_counters_flush(void);
/* Counts on all CPUs, for a context. */
struct trail_counter *trail_counter_for_context(u32 type, u64 config);
u64 trail_counter_value(struct trail_counter *k);       /* on this CPU; preemption is off */

/* syscall.c */
int trail_syscall_on(struct trail_attach *a);
void trail_syscall_off(struct trail_attach *a);
int trail_syscall_number(const char *event);            /* sys_enter_NAME; -ENOENT */
void trail_syscalls_free(struct trail_channel *c);
int trail_syscalls_init(void);
void trail_syscalls_exit(void);

/* track.c */
int trail_track(struct trail_channel *c, enum modabi_track_by by, const u32 *ids, u32 count,
		bool all);
int trail_track_more(struct trail_channel *c, const u32 *tids, u32 count);
void trail_track_end(struct trail_channel *c);

/* context.c */
int trail_contexts_set(struct trail_channel *c, const struct modabi_context *items, u32 count);
void trail_contexts_free(struct trail_contexts *x);     /* no probe uses them; NULL is allowed */

/* filter.c */
int trail_filter_set(struct trail_attach *a, const struct modabi_filter *m);
void trail_filter_free(struct trail_attach *a); /* when no probe uses it any more */
void trail_filters_exit(void);

/* ---- in probes ---- */

/*
 * The common fields of a record, as tracefs has them: type, flags, preempt_count and pid in one
 * store.
 */
static __always_inline void trail_common(struct trace_entry *ent, u32 id)
{
	BUILD_BUG_ON(sizeof(*ent) != sizeof(u64) ||
		     offsetof(struct trace_entry, preempt_count) != 3 ||
		     offsetof(struct trace_entry, pid) != 4);
#ifdef __BIG_ENDIAN
	WRITE_ONCE(*(u64 *)ent, (u64)id << 48 | (u64)(preempt_count() & 0xff) << 32 | current->pid);
#else
	WRITE_ONCE(*(u64 *)ent, id | (u64)(preempt_count() & 0xff) << 24 | (u64)current->pid << 32);
#endif
}

bool trail_is_tracked(const struct trail_tracked *t);  /* the current task */

static __always_inline bool trail_wanted(const struct trail_channel *c)
{
	const struct trail_tracked *t;

	/* Who sees that it records sees its contexts. */
	if (!smp_load_acquire(&c->recording))
		return false;
	t = rcu_dereference_sched(c->tracked);
	return likely(!t) || trail_is_tracked(t);
}

/*
 * Where a probe was called from: how often preemption was switched off since, and how many
 * functions outside of trail.ko stand between.
 */
struct trail_site {
	u8 preempts, frames;
};

/* context.c: trail_enter with the channel's contexts in front. */
void *trail_enter_contexts(struct trail_channel *c, struct cpu_ring *ring, u32 len,
			   struct trail_site site);
/* Of any channel. False: it is not a number, or one of a counter. */
bool trail_context_number(u32 kind, struct trail_site site, s64 *value);

/* Preemption is off from a successful enter to leave. */
static __always_inline void *trail_enter(struct trail_channel *c, struct cpu_ring **ring, u32 len,
					 struct trail_site site)
{
	*ring = this_cpu_ptr(c->rings);
	if (unlikely(c->contexts))
		return trail_enter_contexts(c, *ring, len, site);
	return kring_enter((*ring)->control, (*ring)->data, &c->geometry, len);
}

/* In registers. */
struct trail_place {
	void *record;                   /* NULL: there is none */
	struct cpu_ring *ring;
};

/* filter.c. A record of an attachment with a filter is made aside, and decided on at its end. */
struct trail_place trail_filtered_begin(struct trail_attach *a, const struct trail_filter *f,
					u32 len, struct trail_site site);
void trail_filtered_end(struct cpu_ring *ring);
/* False: it does not hold, as the record's first len bytes and contexts tell. */
bool trail_filter_may_hold(const struct trail_filter *f, const void *record, u32 len);
bool trail_filter_holds(const struct trail_filter *f, const void *record, u32 len,
			struct trail_site site);

/* Before the whole record is there: whether it has to be made. */
static __always_inline bool trail_may_pass(const struct trail_attach *a, const void *record,
					   u32 len)
{
	const struct trail_filter *f = rcu_dereference_sched(a->filter);

	return likely(!f) || trail_filter_may_hold(f, record, len);
}

/* The same for a record that the caller has made. */
static __always_inline bool trail_passes(const struct trail_attach *a, const void *record, u32 len,
					 struct trail_site site)
{
	const struct trail_filter *f = rcu_dereference_sched(a->filter);

	return likely(!f) || trail_filter_holds(f, record, len, site);
}

/*
 * Room for a record: in the ring, or aside if a filter is to decide on it first. Preemption is off
 * from a successful open to close.
 */
static __always_inline struct trail_place trail_open(struct trail_attach *a, u32 len,
						     struct trail_site site)
{
	const struct trail_filter *f = rcu_dereference_sched(a->filter);
	struct trail_place p;

	if (unlikely(f))
		return trail_filtered_begin(a, f, len, site);
	p.record = trail_enter(a->channel, &p.ring, len, site);
	return p;
}

static __always_inline void trail_close(struct cpu_ring *ring)
{
	if (unlikely(!ring->control))
		trail_filtered_end(ring);
	else
		kring_leave(ring->control);
}

/* For compiled probes, which may be in other modules. */
struct trail_place trail_begin(struct trail_attach *a, u32 len);
void trail_end(struct cpu_ring *ring);

static __always_inline void trail_copy_string(char *to, const char *from, unsigned int size)
{
	strscpy(to, from, size);
}

#endif
