/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel domain: sessions record kernel events through a backend (backend/backend.h).
 *
 *	kernel.c              chooses the backend; what can be traced; the last boot
 *	kernel_domain.c       the domain as the model calls it (session/domain.h)
 *	events.c              the kernel's events and their formats
 *	rule_check.c          who may trace; checks new rules against the events
 *	hook_choice.c         which hooks (rule/hook.h) the kernel has, and how
 *	probes.c              dynamic events that rules make
 *	channel.c             channels: start, adopt, remove
 *	channel_rules.c       … what the kernel records for their rules
 *	channel_tracking.c    … and for the session's inclusion sets
 *	instance_check.c      … whether other programs changed that
 *	drain.c               records of the kernel become events in the rings
 *	prompt_drain.c        a thread that drains channels at once, if they need /proc
 *	event_origin.c        contexts: what the thread of an event was
 *	thread_events.c       the follower: births, names and ends of threads
 *	id_calls.c            … and their changes of users, groups and namespaces
 *	counting.c            (counting.h) events of maps that the kernel counts (count/)
 *	sampling.c            samples of what the CPUs execute (sample/)
 *	statedump_writer.c    writes the state dump, and lines of `log`
 *
 * A kernel channel has a class in a trace and a buffer with a ring per CPU, as any channel. The
 * kernel records its events into the backend's buffers. kernel_drain moves them into the rings,
 * when a reader or the output needs them. So a flight recorder that is not read costs the daemon
 * nothing, unless it needs what only /proc knows.
 *
 * Locks: base/lock_order.h has their order. What the kernel has of a channel's rules belongs to the
 * holder of session.lock, who releases tracer.lock while he writes to the kernel.
 */
#ifndef TRACER_KERNEL_KERNEL_H
#define TRACER_KERNEL_KERNEL_H

#include "tracer/base/facts.h"
#include "tracer/base/os/watcher.h"
#include "tracer/kernel/backend/backend.h"
#include "tracer/session/session.h"
#include "tracer/abi/filter_load.h"
#include "tracer/base/probe/probe.h"
#include "tracer/kernel/kevent/kevent.h"
#include "tracer/kernel/task/thread_status.h"
#include "tracer/kernel/task/thread_table.h"
#include "tracer/session/sessions.h"

#define KEVENT_COMPAT "compat_"         /* prefix of the names of 32-bit programs' system calls */
/* Prefix of groups of probes; 8 hexadecimal digits of the daemon follow. */
#define KERNEL_GROUP_PREFIX "trailfs_"

struct kevent {                         /* freed with struct kernel; never moved */
	char *system, *name;            /* in the kernel */
	struct event_key *key;          /* what rules match; never changes, may be replaced */
	char *event;                    /* LTTng's name, as in the trace */
	size_t index;                   /* in kernel.events */
	bool present;                   /* the kernel has it at present */
	/* enum kdump_type of an event of the state dump, which the daemon makes; else -1 */
	int dump;
	struct kformat *format;	/* NULL: not read yet, or not readable; guarded by kernel.lock */
	bool unreadable;
};

/*
 * A dynamic event that a rule made. To change it, hold kernel.lock, and tracer.lock or a count in
 * kernel.rule_writes.
 */
struct kprobe {
	char *name;                     /* in the daemon's group */
	struct event_key *key;  /* NULL: an earlier daemon's probe, and no rule has it */
};

/* The probes for the rules of one write, with their files open. */
struct kprobe_planned {
	struct event_key key;           /* of the rule */
	char *text;                     /* the rule as the user wrote it */
	int line;
	bool ready;
	bool optional;                  /* only rules on hooks need it */
	bool waits;                     /* only rules that wait for their events need it */
	/* -errno of the kernel's refusal; of an optional one also if it cannot be made; or 0 */
	int refused;
	int fd;                         /* of the file of its events; -1: none */
	struct dynamic_events events;   /* if ready; none for functions of the kernel */
};

struct kprobe_plan {
	struct kprobe_planned *items;
	size_t count;
};

struct kernel {
	const struct backend_ops *ops;
	struct backend *backend;
	/* of the names of this daemon's channels: identifies the state directory */
	char suffix[16];
	char group[24];                 /* of this daemon's probes */
	/* struct kchannel that must be closed; guarded by tracer.lock */
	struct cds_list_head dead;
	struct follower *follower;      /* constant; NULL: no memory */
	/*
	 * kernel_format_of, constant. The follower calls no other file of this room by name:
	 * these call it.
	 */
	struct kformat *(*format_of)(struct kernel *k, const char *system, const char *event);
	struct watcher prompt;          /* prompt_drain.c; its lock is tracer.lock */
	struct watcher pending;         /* pending.c; the same */
	/* Number of threads that write a state dump. tracer.lock guards this and the next two. */
	uint32_t dumps;
	bool ending;
	pthread_cond_t dumped;          /* one of these threads has ended */
	/*
	 * Number of writes of rules that are under way; guarded by tracer.lock. Until it is 0, no
	 * probe is removed: its rule may not be in a channel yet.
	 */
	uint32_t rule_writes;
	/* Held while probes are made or removed; who changes probes holds kernel.lock, too. */
	pthread_mutex_t making;
	pthread_mutex_t lock;           /* guards the rest */
	struct kevent **events;	/* sorted by system and name, except those that came later */
	size_t event_count;
	struct kevent **by_id;          /* events whose formats were read */
	size_t by_id_size;
	char *listed;                   /* the list from which the events were made */
	/* Hash of the list for which hooks were chosen; 0: not chosen yet */
	uint64_t hooks_list;
	struct kprobe *probes;
	size_t probe_count;
	uint32_t epoch;	/* atomic; grows when the meaning of an event's id may have changed */
};

/* The domain's data in the tracer; constant once the kernel was opened. */
struct kernel_data {
	struct kernel *kernel;          /* NULL: the kernel cannot be traced */
	char why[256];                  /* the reason, then; "": there was no memory */
};

static inline struct kernel_data *kernel_data(const struct tracer *t)
{
	return domain_data(t, DOMAIN_KERNEL);
}

static inline struct kernel *kernel_of(const struct tracer *t)
{
	return kernel_data(t)->kernel;
}

struct coder;
struct sampling;

/* As a filter: it is unknown what the kernel has, so the next apply writes the filter. */
#define FILTER_UNKNOWN "?"

struct kchannel_filter {                /* as backend_ops.filter takes it */
	char *data;                     /* NULL: none */
	size_t len;
	bool exact;                     /* the rules' filters accept all events that it accepts */
};

struct kchannel {
	int refs;                       /* atomic */
	struct tracer *tracer;
	struct cds_list_head dead;
	char name[256];                 /* in the kernel */
	struct clock clock;             /* of its records; constant */

	/*
	 * Guarded by tracer.lock. Only a holder of session.lock changes the first six and
	 * `changed`.
	 */
	struct channel *channel;        /* NULL: the channel was removed */
	uint8_t *ever;	/* by index of an event: it was enabled since the channel was made */
	size_t ever_count;
	bool recording, adopted;
	bool boot;      /* constant: its records are of the last boot (kernel.c) */
	bool applying;                  /* kchannel_apply is under way, without tracer.lock */
	bool prompt;    /* it records, and prompt_drain.c drains it */
	int error;	/* of the last attempt to configure or read the kernel, or 0 */
	char problem[256];              /* the same as a sentence, for `status` */
	/* What other programs changed in the kernel, as a sentence; "": nothing */
	char changed[320];

	/* Guarded by session.lock: what the kernel has. */
	uint8_t *on;                    /* per index of an event: enabled in the kernel */
	struct kchannel_filter *filters;        /* by index of an event: its filter in the kernel */
	size_t on_count;
	struct track tracked[TRACK_ATTRS];      /* the sets that the kernel has */
	/* Threads of TRACK_KERNEL_CGROUP when they were last listed; sorted */
	uint32_t *members;
	size_t member_count;
	int groups;                     /* groups that the backend decided about, of a look */
	int refused;                    /* the kernel's error in this kchannel_apply, or 0 */
	bool track_again;               /* the kernel has another set of threads */
	/* Adopted: the daemon before may have ended while it replaced the set of threads. */
	bool track_unknown;
	bool filters_changed;           /* the last check says: filters, too */
	uint32_t need;  /* parts of a status (thread_status.h) that the daemon needs of threads */
	size_t next_filter;             /* index of the event whose filter is checked next */
	char *functions;                /* names of the recorded functions; NULL: unknown */

	uint32_t generation;    /* atomic: grows when rules change, while tracer.lock is held */
	/* Atomic. The kernel records, and may lose, events that filters reject in the daemon. */
	bool unfiltered;
	bool drained;	/* atomic; recording is off, and all records were drained since */

	/* Held during a drain. Guards the rest, and keeps bc open. */
	pthread_mutex_t lock;
	struct backend_channel *bc;     /* closed when the channel is removed */
	/* An earlier daemon, which may have been killed, was the last to drain. */
	bool continues;
	/*
	 * NULL: no samples are taken. Only a holder of session.lock changes it, who then need not
	 * hold this lock to read it.
	 */
	struct sampling *sampling;
	/* Sets that the kernel cannot have: the daemon leaves the events of others out. */
	struct track only[TRACK_IDS];
	struct region *region;          /* referenced, constant */
	struct coder **coders;          /* by the kernel's event id */
	size_t coder_count;
	uint32_t epoch;                 /* kernel.epoch for which the coders are valid */
	uint8_t *payload;
	size_t room;
	uint32_t contexts[TRAIL_CONTEXT_MAX];   /* their kinds */
	uint32_t context_count;
	/* Size of all contexts in front of a payload, without the addresses of callstacks */
	size_t context_size;
	bool backend_contexts;                              /* the backend records them */
};

/* The kernel domain, as the model calls it: kernel_domain.c. */
extern const struct domain_ops kernel_domain;

/* ---- kernel.c ---- */

void kernel_open(struct tracer *t);
void kernel_close(struct tracer *t);

/* ---- events.c: these take kernel.lock, unless they say otherwise ---- */

int kernel_refresh(struct kernel *k);           /* reads the list of events again */
size_t kernel_count(struct kernel *k);
struct kevent *kernel_event(struct kernel *k, size_t i);
struct kevent *kernel_find(struct kernel *k, const char *system, const char *name, size_t len);
/* Among the events whose formats were read. */
struct kevent *kernel_event_by_id(struct kernel *k, uint32_t id);
/* The event's format, kept for later calls; caller frees its reference. NULL: unreadable. */
struct kformat *kernel_format(struct kernel *k, struct kevent *e);
/* The same by name; reads the list of events again if it lacks the event. */
struct kformat *kernel_format_of(struct kernel *k, const char *system, const char *event);
/* Reads the format and does not keep it: keeping those of all 2300 events needs much memory. */
int kernel_read_format(struct kernel *k, const struct kevent *e, struct kformat **out);
/* The format of records of the last boot; the caller's reference. NULL: not readable. */
struct kformat *kernel_boot_format(struct kernel *k, const struct kevent *e);
void kernel_forget(struct kernel *k, const char *system, const char *name); /* it was removed */
bool kevent_is_tracepoint(const struct kevent *e);      /* no system call, no event of a rule */
bool kevent_is_syscall(const struct kevent *e);
bool kevent_has_data(const struct kevent *e);   /* of a rule `with data` */
/* Caller holds kernel.lock. name NULL: any event of the system. */
struct kevent *kevent_find(struct kernel *k, const char *system, const char *name, size_t len);
void kevent_load_format(struct kernel *k, struct kevent *e);    /* caller holds kernel.lock */
void kcatalog_free(struct kernel *k);

/* ---- hook_choice.c ---- */

/* Chooses the hooks' alternatives again if the list of events changed. Caller holds kernel.lock. */
void kernel_choose_hooks(struct kernel *k);

/* ---- rule_check.c ---- */

/* The session's owner may trace the kernel. Caller holds one of the session's locks. */
bool session_may_trace_kernel(const struct session *s);
/*
 * Checks that each new rule matches an event, and that its filter fits one of its events. -ENOENT,
 * -EINVAL. Makes the probes for rules that need them; -EAGAIN: the plan must be prepared first.
 * Caller holds session.lock, not tracer.lock, and counts in kernel.rule_writes.
 */
int kernel_check_rules(struct kernel *k, const struct rule_list *l, struct kprobe_plan *plan,
		       struct tr_err *err);

/* ---- probes.c ---- */

bool kprobe_is_rule(const struct rule *r);      /* the rule needs a probe or a traced function */
/* Whether a pattern without extra data means this tracepoint, which can have some. */
bool kprobe_is_tracepoint(const struct kevent *e, const char *pattern);
/* The pattern of a probe's rule; NULL: no rule has it. Caller holds kernel.lock. */
const struct event_key *kprobe_key(const struct kernel *k, const char *name);
/* Makes the probes of one rule, or of its hooks; as kernel_check_rules. */
int kprobe_make(struct kernel *k, struct kprobe_plan *plan, const struct rule *r,
		struct tr_err *err);
bool kprobe_pending(const struct kprobe_plan *plan);   /* a probe must be prepared */
/* Opens the files of the plan with the owner's rights, and reads them. Caller holds no lock. */
int kprobe_prepare(struct kernel *k, struct kprobe_plan *plan, const struct owner *owner,
		   struct tr_err *err);
/* After kprobe_make failed: sets a sentence with the reason. Caller holds no lock. */
int kprobe_explain(const struct kprobe_plan *plan, int ret, struct tr_err *err);
void kprobe_plan_deinit(struct kprobe_plan *plan);
void kprobes_restore(struct tracer *t);         /* before channels are adopted */
void kprobes_free(struct kernel *k);
/* Forgets a probe of the table. Caller holds kernel.making, or no other thread runs. */
void kprobe_unregister(struct kernel *k, size_t i);

/* ---- probes_gc.c ---- */

/* Removes probes without rules. Caller holds neither tracer.lock nor kernel.making. */
void kernel_probes_gc(struct tracer *t);

/* ---- channel.c: caller holds tracer.lock, unless the line says otherwise ---- */

/* Caller holds session.lock, too. Releases tracer.lock while it writes to the kernel. */
int kchannel_start(struct channel *c, struct tr_err *err);
/* Opens the buffers of an earlier daemon. No other thread knows the sessions yet. */
void kernel_adopt(struct tracer *t);
void kchannel_drop(struct channel *c);          /* puts it on the list of dead channels */
/*
 * Makes space for this number of events. 0 or -ENOMEM. Caller holds session.lock, as for the next.
 */
int kchannel_reserve(struct kchannel *kc, size_t count);
/* Sets FILTER_UNKNOWN. Caller holds session.lock. */
void kchannel_forget_filter(struct kchannel_filter *f);
void kchannel_mark_enabled(struct kchannel *kc, size_t index, bool on);
/* Adds the enabled events to `ever`. Caller holds session.lock, too. */
void kchannel_note_enabled(struct kchannel *kc);
/* A recording channel has the event enabled, or had it. */
bool kernel_records(struct tracer *t, const char *system, const char *name);
/* Removes what an earlier daemon left and no session uses. */
void kernel_leftovers_gc(struct tracer *t);
/* Closes dead channels and removes them from the kernel. Caller does not hold tracer.lock. */
void kernel_channels_gc(struct tracer *t);
void kchannel_put(struct kchannel *kc);         /* any thread */
/*
 * Moves what the kernel holds of the last boot into the buffers of a channel that was not started.
 * Caller holds session.lock, not tracer.lock.
 */
int kchannel_take_boot(struct channel *c, const struct backend_boot *boot, struct tr_err *err);

/* The last boot, in kernel.c. Caller does not hold tracer.lock. */

/* -ENOENT: there is nothing. */
int kernel_boot_find(struct tracer *t, struct backend_boot *out);
/* kchannel_take_boot for the kernel channel of a session, which no other thread knows yet. */
int kernel_boot_take(struct session *s, const struct backend_boot *boot, struct tr_err *err);
/* Empties the kernel's memory, and has it record this boot. */
int kernel_boot_record(struct tracer *t, const struct backend_boot *boot);

/* ---- channel_rules.c: caller holds tracer.lock ---- */

/*
 * Passes the channel's rules to the kernel. Caller holds session.lock, too. Releases tracer.lock
 * meanwhile.
 */
void kchannel_apply(struct channel *c);
/* Records an error for `status` and reports it. kc has its channel. */
void kchannel_problem(struct kchannel *kc, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- channel_tracking.c: caller holds session.lock, not tracer.lock ---- */

/* Passes the set of processes to the kernel. False: no process is to be recorded. */
bool kchannel_apply_track(struct kchannel *kc, struct kernel *k);
/*
 * Passes threads that have joined the control groups since the last call to the kernel. True: the
 * rules have to be applied again for that.
 */
bool kchannel_follow_cgroups(struct kchannel *kc, struct kernel *k);
/* Passes the other sets. False: one of them is not in force. */
bool kchannel_apply_track_attrs(struct kchannel *kc, struct kernel *k);

/* ---- instance_check.c ---- */

/*
 * Finds out whether other programs changed the instance. repair: marks what differs, so that the
 * caller writes it again. Caller holds session.lock, not tracer.lock.
 */
void kchannel_check(struct kchannel *kc, bool repair);
/* Finds out what other programs changed, unless session.lock is busy. Caller holds no lock. */
void kernel_check(struct session *s);
/* Lines of `status`. Caller holds tracer.lock. */
void kernel_problems(const struct session *s, struct facts *out);

/* ---- thread_events.c ---- */

int kernel_follower_make(struct tracer *t);
void kernel_follower_free(struct kernel *k);
/* Adds or removes a user, a kernel channel. Caller does not hold tracer.lock. */
void kernel_follow(struct tracer *t, bool on);
/* Whether the follower's channel in the kernel has this name. */
bool kernel_follows_by(const struct kernel *k, const char *name);
/*
 * Asks /proc for all threads, so that they are known when they have ended. Takes about 20 us for
 * each, once. Caller does not hold tracer.lock.
 */
void kernel_scan(struct tracer *t);
/* What the thread was at this time of the trace. */
void kernel_thread(struct kernel *k, uint64_t time, int32_t tid, struct kthread *out);

/* Reads the records about threads up to now; if some were lost, reads the threads again. */
void kernel_follower_read(struct kernel *k);
/* Adds the follower's buffers to an epoll(7). 0 or more; -errno. */
int kernel_follower_watch(struct kernel *k, int epoll);
/* The thread's status at this time (thread_status.h); reads the records up to then before. */
void kernel_status(struct kernel *k, uint64_t time, int32_t tid, uint32_t need,
		   struct kstatus *out);
/*
 * From now on, these parts of all threads' statuses are known. Takes up to 0.2 ms for each thread,
 * once. Caller does not hold tracer.lock.
 */
void kernel_note_need(struct kernel *k, uint32_t need);

/* ---- event_origin.c ---- */

/* The thread that recorded an event, for contexts: it is looked up when one is needed. */
struct event_origin {
	struct kernel *kernel;
	uint64_t ts;
	int32_t tid;
	uint32_t cpu;
	const struct kchannel *kc;      /* its contexts are wanted */
	const uint8_t *contexts;        /* recorded by the backend, checked; NULL: none */
	size_t contexts_len;
	struct record_stack stacks[RECORD_STACKS];      /* else; recorded by the backend */
	bool asked;                     /* `is` is filled */
	struct kthread is;
	uint32_t has;                   /* parts of `status` that are filled */
	struct kstatus status;
	bool unknown;                   /* a filter has asked for something that is not known */
};
/*
 * Whether the inclusion sets (TRACK_IDS of them) have the thread, by what /proc and records say
 * of it. ORIGIN_UNKNOWN: no set is known to be without it, and one may have it or not.
 */
enum origin_in { ORIGIN_OUT, ORIGIN_IN, ORIGIN_UNKNOWN };
enum origin_in event_origin_is_in(struct event_origin *w, const struct track *only);
/* Bytes of all contexts. */
size_t event_origin_size(const struct event_origin *w, const struct kchannel *kc);
/* Writes them; unknown values are 0. */
void event_origin_put(struct event_origin *w, const struct kchannel *kc, uint8_t *at);
/* As struct filter_input.context */
bool event_origin_value(void *who, uint32_t kind, const char *name, struct filter_value *out);
/* An event is left out that may be wanted: it is not known what the thread was. */
void event_origin_lose(struct trail_ring *ring);

/* ---- pending.c ---- */

/*
 * After rules or a set of control groups were changed: has the thread that looks for events for
 * which rules wait, and for threads that join control groups, look if there are such rules or sets.
 * Caller does not hold tracer.lock.
 */
void kernel_pending_update(struct tracer *t);
/* Ends the thread for good. Caller does not hold tracer.lock. */
void kernel_pending_end(struct tracer *t);

/* ---- statedump_writer.c: caller does not hold tracer.lock ---- */

/*
 * Starts a thread that writes the state dump that was last requested, if the session is active and
 * a channel wants it. Waits for it for a limited time.
 */
void kernel_statedump(struct session *s);
/*
 * Writes a line that a user wrote to `log` (with a NUL) as lttng_logger { msg } into the channels
 * that want it. 0 or -errno.
 */
int kernel_log(struct tracer *t, const struct log_writer *who, const char *line);
void kernel_statedumps_end(struct tracer *t);   /* waits for all; none begins any more */

/* ---- drain.c ---- */

/* Moves the kernel's records into the channel's rings. Caller does not hold tracer.lock. 0 */
int kchannel_drain(struct kchannel *kc, int unused);
/* kchannel_drain for a session. kernel_domain.c */
void kernel_drain(struct session *s);
/* Adds the channel's buffers to an epoll(7). Their number, or -errno. */
int kchannel_watch(struct kchannel *kc, int epoll);
void coders_free(struct kchannel *kc);

/* ---- sampling.c: caller holds session.lock, not tracer.lock, or as the line says ---- */

/* Takes the samples that the rules want; none if not active. 0, or -errno with a sentence. */
int ksampling_apply(struct kchannel *kc, bool active, struct tr_err *err);
/* Writes what was sampled, and ends. */
void ksampling_close(struct kchannel *kc);
/* Writes what was sampled so far. Caller holds kc->lock. */
void ksampling_drain(struct kchannel *kc);
/* ksampling_close for all channels. No other thread runs any more. */
void ksampling_end(struct tracer *t);

/* ---- prompt_drain.c ---- */

/* After kchannel.prompt was changed; starts the thread. Caller holds tracer.lock. */
void kernel_prompt_update(struct tracer *t);
/* Ends the thread for good. Caller does not hold tracer.lock. */
void kernel_prompt_end(struct tracer *t);

#endif
