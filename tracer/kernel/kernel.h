/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel domain, behind session/session.h: kernel/kernel.c (the backend, rights),
 * kernel/events.c (which events there are), kernel/probes.c (those that rules make),
 * kernel/channel.c (channels as the backend records them), kernel/drain.c (from there into rings),
 * kernel/thread_events.c (who the threads are that records speak of).
 *
 * A kernel channel is a channel like any other: it has a class in a trace, and a buffer with a ring
 * per CPU. But its events are recorded by the kernel, into buffers of the backend's, and come into
 * the rings only when somebody looks: kernel_drain. So a flight recorder that nobody reads costs
 * the daemon nothing.
 *
 * Locks: kchannel.lock, then tracer.lock, then the follower's (kernel/thread_events.c), then
 * kernel.lock.
 */
#ifndef TRACER_KERNEL_KERNEL_H
#define TRACER_KERNEL_KERNEL_H

#include "tracer/backend/backend.h"
#include "tracer/session/session.h"
#include "tracer/abi/filter_interp.h"
#include "tracer/probe/dynamic_event.h"
#include "tracer/kevent/format.h"
#include "tracer/kernel/thread_table.h"

#define KEVENT_COMPAT "compat_"         /* before the names of system calls of 32-bit programs */
/* of groups of probes; behind it which daemon, 8 hexadecimal digits */
#define KERNEL_GROUP_PREFIX "trailfs_"

struct kevent {                         /* never freed or moved before the end */
	char *system, *name;            /* the kernel's */
	char *key;                      /* what rules are matched with: krule_match */
	char *event;                    /* LTTng's name, as in the trace */
	size_t index;                   /* in kernel.events */
	bool present;                   /* the kernel has it now */
	/* enum kdump_type, if it is of the state dump, which the daemon makes; else -1 */
	int dump;
	struct kformat *format;	/* NULL: not read yet, or not readable; guarded by kernel.lock */
	bool unreadable;
};

/* An event that a rule made. Changed with the tracer's lock and kernel.lock held. */
struct kprobe {
	char *name;                     /* in our group */
	char *pattern;	/* of the rule; NULL: an earlier daemon's that no rule is about */
};

/* The probes that the rules of one write are about, their files open. */
struct kprobe_planned {
	char *pattern, *text;           /* of the rule */
	int line;
	bool ready;
	int refused;                    /* by the kernel: -errno */
	struct dynamic_event event;
};

struct kprobe_plan {
	struct kprobe_planned *items;
	size_t count;
};

struct kernel {
	const struct backend_ops *ops;
	struct backend *backend;
	char suffix[16];	/* of the names of this daemon's channels: which state directory */
	char group[24];                 /* of this daemon's probes */
	/* struct kchannel, to be closed; guarded by the tracer's lock */
	struct cds_list_head dead;
	struct follower *follower;      /* constant; NULL: no memory */
	/*
	 * threads that write a state dump; this and the next two are guarded by the tracer's lock
	 */
	uint32_t dumps;
	bool ending;
	pthread_cond_t dumped;          /* one of them has ended */
	pthread_mutex_t lock;           /* guards the rest */
	struct kevent **events;	/* sorted by system and name but for those that came later */
	size_t event_count;
	struct kevent **by_id;          /* of formats that were read */
	size_t by_id_size;
	char *listed;                   /* what the events were made of */
	struct kprobe *probes;
	size_t probe_count;
	uint32_t epoch;	/* atomic: grows when ids of events may have got another meaning */
};

struct coder;

/* In place of a filter: what the kernel has is not known, so the next apply writes it. */
#define FILTER_UNKNOWN "?"

struct kchannel_filter {                /* as backend_ops.filter takes it */
	char *data;                     /* NULL: none */
	size_t len;
	bool exact;                     /* the rules' filters reject nothing that it lets pass */
};

struct kchannel {
	int refs;                       /* atomic */
	struct tracer *tracer;
	struct cds_list_head dead;
	char name[256];                 /* in the kernel */

	/* Guarded by the tracer's lock. */
	struct channel *channel;        /* NULL: was removed */
	uint8_t *on;                    /* per index of an event: enabled in the kernel */
	struct kchannel_filter *filters;        /* likewise: its filter in the kernel */
	uint8_t *ever;                  /* likewise: was, since it was made */
	size_t on_count;
	bool recording, adopted;
	struct track tracked[TRACK_ATTRS];      /* those of the kernel domain */
	int error;	/* of the last attempt to tell the kernel, or to read from it */
	char problem[160];              /* the same as a sentence, for `status` */
	/* what others changed in the kernel, as a sentence; empty: nothing */
	char changed[320];
	bool track_again;               /* the kernel's set of processes was changed by others */
	size_t next_filter;             /* index of the event whose filter is looked at next */
	char *functions;                /* that are recorded; NULL: not known */

	uint32_t generation;            /* atomic: grows when rules change */
	/* atomic: what the kernel records, and may lose, has events that filters reject here */
	bool unfiltered;
	bool drained;                   /* atomic: nothing is recorded, and all was drained since */

	/* One drain at a time. Guards the rest, and that bc is open. */
	pthread_mutex_t lock;
	struct backend_channel *bc;     /* constant but for its end */
	struct region *region;          /* referenced, constant */
	struct coder **coders;          /* by the kernel's event id */
	size_t coder_count;
	uint32_t epoch;                 /* of the coders */
	uint8_t *payload;
	size_t room;
	uint32_t contexts[TRAIL_CONTEXT_MAX];   /* their kinds */
	uint32_t context_count;
	/* of all of them, in front of each payload, but for callstacks' addresses */
	size_t context_size;
	bool told;                              /* the backend records them */
};

/* The kernel domain, as the model calls it: kernel_domain.c. */
extern const struct domain_ops kernel_domain;

/* kernel/kernel.c */
void kernel_open(struct tracer *t);
void kernel_close(struct tracer *t);
bool kernel_may(const struct tracer *t, uid_t uid);

/* kernel/events.c: they take kernel.lock */
int kernel_refresh(struct kernel *k);           /* the list of events, as it is now */
size_t kernel_count(struct kernel *k);
struct kevent *kernel_event(struct kernel *k, size_t i);
/* to be freed; NULL: cannot be had */
struct kformat *kernel_format(struct kernel *k, struct kevent *e);
bool kevent_is_tracepoint(const struct kevent *e);      /* the kernel's own, and no system call */
bool kevent_is_syscall(const struct kevent *e);
/* an event that was removed */
void kernel_forget(struct kernel *k, const char *system, const char *name);
/* The same, to be freed by the caller: 2300 of them are many to keep. */
int kernel_read_format(struct kernel *k, const struct kevent *e, struct kformat **out);
/* of formats that were read */
struct kevent *kernel_event_by_id(struct kernel *k, uint32_t id);
struct kevent *kernel_find(struct kernel *k, const char *system, const char *name, size_t len);
/*
 * That each new rule means events which are there, and its filter fits one of them. -ENOENT,
 * -EINVAL. Makes the probes that rules are about; -EAGAIN: the plan has to be prepared before. With
 * the tracer's lock held.
 */
int kernel_check_rules(struct kernel *k, const struct rule_list *l, struct kprobe_plan *plan,
		       struct tr_err *err);
void kcatalog_free(struct kernel *k);

/* kernel/probes.c */
bool kprobe_is_rule(const struct rule *r);      /* about an event that it makes */
/* kernel.lock held; NULL: of no rule */
const char *kprobe_pattern(const struct kernel *k, const char *name);
/* as kernel_check_rules */
int kprobe_make(struct kernel *k, struct kprobe_plan *plan, const struct rule *r,
		struct tr_err *err);
bool kprobe_pending(const struct kprobe_plan *plan);   /* something has to be prepared */
/* Opens files, as the owner could, and reads them: without any lock. */
int kprobe_prepare(struct kernel *k, struct kprobe_plan *plan, uid_t owner, struct tr_err *err);
/* What a refusal was about, after kprobe_make failed; likewise. */
int kprobe_explain(const struct kprobe_plan *plan, int ret, struct tr_err *err);
void kprobe_plan_deinit(struct kprobe_plan *plan);
void kprobes_restore(struct tracer *t);         /* before channels are adopted */
void kprobes_free(struct kernel *k);
/* removes probes without rules; without the tracer's lock */
void kernel_probes_gc(struct tracer *t);

/* kernel/channel.c: with the tracer's lock held */
int kchannel_start(struct channel *c, struct tr_err *err);
void kernel_adopt(struct tracer *t);            /* what an earlier daemon left for our sessions */
void kchannel_apply(struct channel *c);         /* the rules, to the kernel */
void kchannel_drop(struct channel *c);          /* to the dead ones */
/*
 * kernel/instance_check.c: compares what the kernel has with what it was told. repair: what differs
 * will be told anew by the caller. With the tracer's lock held.
 */
void kchannel_check(struct kchannel *kc, bool repair);
struct trace *kernel_trace(struct session *s);  /* NULL: no memory */
#define KERNEL_DUMP_RING 1u     /* "pid" of the buffer for the state dump */
/* A channel is recording that has, or had, the event enabled. */
bool kernel_records(struct tracer *t, const char *system, const char *name);
/* removes what a dead daemon left and nobody claimed */
void kernel_leftovers_gc(struct tracer *t);
/* and without */
/* closes the dead ones, and removes what they had in the kernel */
void kernel_channels_gc(struct tracer *t);
void kchannel_put(struct kchannel *kc);
/* Takes down what went wrong, and reports it. With the tracer's lock held; kc has its channel. */
void kchannel_problem(struct kchannel *kc, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* kernel/thread_events.c */
int kernel_follower_make(struct tracer *t);
void kernel_follower_free(struct kernel *k);
/* one kernel channel more, or less; with the tracer's lock held */
void kernel_follow(struct tracer *t, bool on);
/* its channel in the kernel has this name */
bool kernel_follows_by(const struct kernel *k, const char *name);
/*
 * All threads that there are now, for when they are gone. Some 20 us each, once: not with the
 * tracer's lock held.
 */
void kernel_scan(struct tracer *t);
/* Who a thread is at a time of the trace. */
void kernel_thread(struct kernel *k, uint64_t time, int32_t tid, struct kthread *out);

/*
 * Who recorded an event: for contexts, which are looked up when they are first needed.
 */
struct event_origin {
	struct kernel *kernel;
	uint64_t ts;
	int32_t tid;
	uint32_t cpu;
	const struct kchannel *kc;      /* whose contexts are */
	const uint8_t *contexts;        /* that the backend recorded, checked; NULL: none */
	size_t contexts_len;
	bool asked;
	struct kthread is;
};
/* kc->context_size bytes; what is not known is 0 */
void event_origin_put(struct event_origin *w, const struct kchannel *kc, uint8_t *at);
/* struct filter_input.context */
bool event_origin_value(void *who, uint32_t kind, const char *name, struct filter_value *out);

/*
 * kernel/statedump_writer.c: writes the state dump that was last requested, if the session is
 * active and its channels want any, from a thread of its own; waits for it, but not for long.
 * Without the tracer's lock.
 */
void kernel_statedump(struct session *s);
/*
 * A line that was written to `log`, with a NUL: lttng_logger { msg } in the sessions that want it.
 * 0 or -errno. Without the tracer's lock.
 */
int kernel_log(struct tracer *t, const struct log_writer *who, const char *line);
void kernel_statedumps_end(struct tracer *t);   /* none is under way after this, or begins */

/* kernel/drain.c, without the tracer's lock */
void kernel_drain(struct session *s);
/* lines of `status`; with the tracer's lock held */
void kernel_problems(const struct session *s, struct md_buf *out);
void coders_free(struct kchannel *kc);

#endif
