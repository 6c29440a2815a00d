/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trigger/: triggers: a condition, and actions that are executed each time it becomes true. A
 * trigger belongs to no session; a session does not know the triggers that name it.
 *
 *	trigger_files.h  what fs/ sees
 *	trigger.c        one trigger: references, what it is, what its owner may do
 *	trigger_list.c   makes and removes triggers; owner and mode; begins and ends the room
 *	names.c          under which name each user sees a trigger
 *	settings.c       what the files show and take; status
 *	trigger_file.c   a trigger in the state directory
 *	counters.c       … and its counters
 *	condition.c      the text of a condition, parsed
 *	action.c         the text of an action, parsed; rate policies
 *	engine.c         the thread that finds out which conditions became true
 *	watch.c          conditions about what happens to a session: a part of sessions
 *	sample.c         conditions about amounts: buffer, consumed, discarded
 *	fire.c           a hit: which actions are due
 *	event.c          conditions about events: their hidden sessions (event.h)
 *	listener.c       the thread that looks at their rings (listener.h)
 *	bell.c           how applications wake it
 *	kernel_listener.c  the thread for events of the kernel
 *	hits.c           from what rings count to hits
 *	capture.c        captured values
 *	runner.c         executes actions on sessions: one thread for each owner
 *	notices.c        the queues of those who read notifications
 *
 * Locks: triggers.lock guards all that is here, except where a comment says otherwise. It is taken
 * inside tracer.lock; its holder takes no lock of another room, and waits for nothing.
 * trigger.setting lets one operation at a time change the settings of a trigger.
 */
#ifndef TRACER_TRIGGER_TRIGGER_H
#define TRACER_TRIGGER_TRIGGER_H

#include <pthread.h>
#include <urcu/list.h>

#include "tracer/base/os/watcher.h"
#include "tracer/session/session.h"
#include "tracer/trigger/action.h"
#include "tracer/trigger/condition.h"
#include "tracer/trigger/trigger_files.h"

/* of a condition about an amount; the engine's thread only */
struct sample {
	uint64_t due;                   /* CLOCK_MONOTONIC, ns: when to look next; 0: now */
	bool holds;                     /* the condition held at the last look */
};

struct trigger {
	struct cds_list_head node;      /* in triggers.list */
	int refs;
	/*
	 * Held while the condition, `enabled` or the owner changes, because a new session for the
	 * condition is made without triggers.lock. Taken before session.lock; may be held for a
	 * second. Guards no member: who holds it still takes triggers.lock to read or change one.
	 */
	pthread_mutex_t setting;
	struct tracer *tracer;          /* constant */
	uint64_t serial;                /* constant */
	char name[TRIGGER_NAME_MAX + 1];        /* constant; of one owner, no two are equal */
	char file[TRIGGER_VIEW_MAX + 1];        /* constant; in the state directory */
	int64_t created;                /* constant; ns since the epoch */
	uid_t uid;
	gid_t gid;
	struct owner_groups groups;     /* of the process that made it */
	mode_t mode;
	bool enabled, gone;
	bool unsaved;                   /* counters differ from the state directory's */
	int slot;                       /* of counters.c; -1: none */
	uint64_t saves;                 /* how often its file was written */
	struct requests requests;       /* writes that are in effect: session_write_begin */
	uint64_t change;
	struct condition condition;
	uint64_t version;               /* of the condition: grows when it is stored */
	struct action *actions;         /* owned */
	size_t action_count;
	uint64_t actions_version;       /* grows when the list is replaced */
	uint64_t hits;                  /* how often the condition became true */
	int64_t last_hit;               /* ns since the epoch; 0: never */
	/* notifications: lines in queues of readers, lines without room */
	uint64_t sent, lost;
	uint64_t events_lost;           /* by the kernel's buffers: perhaps hits */
	uint32_t queued;                /* hits that wait for the runner */
	struct sample sample;
	struct session *events;         /* of a condition on events; referenced; NULL: none */
	char condition_error[256];      /* why it has none, as a sentence; "": none is missing */
	struct cds_list_head readers;   /* struct notices */
	uint32_t reader_count;
};

struct runner;

#define TRIGGERS_MAX 8192u

struct triggers {
	pthread_mutex_t lock;
	struct cds_list_head list;      /* struct trigger */
	uint32_t count;
	uint64_t next_serial;
	/* the directory `triggers` of the state directory, and a file in it; constant */
	int fd, counters_fd;
	uint8_t slots[TRIGGERS_MAX];    /* in counters_fd: it has a trigger */
	size_t queue_bytes;             /* in the queues of all readers */
	struct cds_list_head ready;     /* struct notices: for notices_serve */
	struct cds_list_head runners;   /* struct runner */
	pthread_cond_t runners_idle;    /* a runner has ended */
	pthread_cond_t runner_work;     /* one of the runners has something to do */
	bool runners_due;               /* for runners_wake */
	bool closing;

	/* The threads below begin when the first trigger needs them. */
	struct tracer *tracer;          /* constant */
	struct watcher engine;          /* engine.c */
	pthread_t listener;             /* listener.c */
	bool listens;
	uint32_t listener_nudge;        /* not 0: it does not sleep; atomic, a futex */
	struct watcher kernel_listener; /* kernel_listener.c */
};

/*
 * Restores what an earlier daemon left, and begins. After the sessions were restored. 0 or -errno:
 * then there are no triggers. Without lock.
 */
int triggers_open(struct tracer *t);
/* Ends all threads. Before sessions go. Without lock. */
void triggers_stop(struct tracer *t);
/* keep: the next daemon finds the triggers again. */
void triggers_close(struct tracer *t, bool keep);
/* What the triggers see of sessions, as a part of them (session/part.h). */
extern const struct session_part trigger_part;

/* names.c: what the room keeps in the tracer. NULL: nothing, not yet or no more. */
extern const struct tracer_room trigger_room;
struct triggers *triggers_of(const struct tracer *t);

/* ---- private to the room ---- */

void triggers_set(struct tracer *t, struct triggers *all);      /* names.c */

/* trigger.c. Locked. file: in the state directory, where no other trigger has it. */
struct trigger *trigger_new(struct tracer *t, const char *name, const char *file,
			    const struct owner *owner);
/* names.c. Locked. */
struct trigger *trigger_of_owner(const struct triggers *all, const char *name, uid_t uid);
/* Under the name that this user sees; NULL: the user sees none. */
struct trigger *trigger_seen(const struct triggers *all, const char *name, uid_t viewer);
/* -EINVAL: no trigger can be made under this name. */
int trigger_check_name(const char *name, struct tr_err *err);
/* A file of the state directory that no trigger has, for a new one. 0 or -ENOSPC. */
int trigger_new_file(const struct triggers *all, const char *name, uid_t uid,
		     char file[TRIGGER_VIEW_MAX + 1]);
void trigger_changed(struct trigger *trigger);
/*
 * Whether the owner, with the trigger's group, may read (write: also change) the session;
 * trigger_may_now() is the same without the lock.
 */
bool trigger_may_now(struct trigger *trigger, const struct session_info *info, bool write);
bool trigger_may(const struct trigger *trigger, const struct session_info *info, bool write);

/* When a condition became true. */
struct hit_time {
	int64_t wall;                   /* ns since the epoch */
	uint64_t ts;                    /* the same moment, as times in rings are */
	uint64_t event;                 /* snapshot_event() of the event; 0: not known, or none */
	bool kernel;                    /* the event is the kernel's */
};
struct hit_time hit_time_now(const struct tracer *t);

/* trigger_file.c. Locked. */
int trigger_save(struct trigger *trigger);
void trigger_forget_on_disk(struct trigger *trigger);
void triggers_restore(struct tracer *t);

/* counters.c. Locked. */
int counters_open(struct triggers *all);        /* 0 or -errno */
void counters_close(struct triggers *all, bool keep);
/* The trigger gets this slot, if it is free and the trigger has none; or any. */
bool counters_claim(struct trigger *trigger, uint64_t number);
void counters_claim_any(struct trigger *trigger);
void counters_release(struct trigger *trigger);
/* After trigger_hit(), before the lock is released: actions on sessions are executed then. */
void counters_save(struct trigger *trigger);
/* After all settings of the trigger were restored. */
void counters_restore(struct trigger *trigger);

/* settings.c. Locked. */
/*
 * A condition on events gets a new session: of another owner, or of this daemon. Caller holds
 * trigger->setting alone.
 */
void trigger_reopen(struct trigger *trigger);

/* engine.c */
void engine_nudge(struct triggers *all);        /* locked */
void engine_stop(struct triggers *all);         /* from then on, no condition is true */

/* watch.c. Without lock: what sessions are like now is no change. */
void watch_begin(struct tracer *t);

/* sample.c. Without lock; by the engine's thread. Sets when to look again (CLOCK_MONOTONIC). */
void sample_look(struct trigger *trigger, uint64_t now);
bool sample_is_for(enum condition_kind kind);
/*
 * Prints a line if the session or channel of the condition does not exist now, or if no channel of
 * an amount is monitored. c->session is not empty. Without lock.
 */
void sample_show_missing(struct tracer *t, const struct condition *c, struct md_buf *out);

/* What a notification says besides time and name. */
struct values {
	void (*print)(const struct values *v, bool json, struct md_buf *out);
};

extern const struct values no_values;   /* fire.c */

/* fire.c. Locked. The condition became true. */
void trigger_hit(struct trigger *trigger, struct hit_time time, const struct values *v);
/* The same n times, with nothing known about them but that they were. */
void trigger_hit_many(struct trigger *trigger, uint64_t n, struct hit_time time);
/* Whether the next hit executes an action. */
bool trigger_due(const struct trigger *trigger);

/* notices.c. Locked. */
void notices_send(struct trigger *trigger, int64_t time, const struct values *v);
void notices_lose(struct trigger *trigger, uint64_t count);   /* for each reader */
/* Without lock, after those: readers that wait get their lines now. */
void notices_serve(struct triggers *all);

/* runner.c */
/* Locked. The runner of the owner continues with action `first` of this hit. False: no room. */
bool runner_add(struct trigger *trigger, uint64_t hit, size_t first, struct hit_time time,
		const struct values *v);
/* The same for this action alone. */
bool runner_add_one(struct trigger *trigger, uint64_t hit, size_t i, struct hit_time time);
/* Without lock, after the two above: the runners begin. */
void runners_wake(struct triggers *all);
/*
 * The same for a thread that holds no lock at all: if the first thing that a runner has to do is a
 * `stop`, the session is halted here, before the runner is awake.
 */
void runners_halt(struct triggers *all);
void runners_start(struct triggers *all);       /* of a new `all`, as runners_end of an old one */
void runners_end(struct triggers *all);
void runners_stop(struct triggers *all);        /* without lock */

#endif
