/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session/: the model of the tracer. It says what is recorded and into which buffers. It calls the
 * tracing domains (app/, kernel/) and the parts of a session (output/, snapshot/, view/) only
 * through their tables.
 *
 *	tracer ── sessions ── channels ── stream groups ── buffers ── region
 *	   │         └─────── traces ───────────┘
 *	   └───── apps (registration files)
 *
 * A stream group is what one channel records of one owner: the CTF stream class in the owner's
 * trace, its event ids, and its buffers: one region with a ring per CPU, and regions with rings for
 * threads that cannot use those.
 *
 *	session.c       create, find, stop and remove sessions; their status
 *	session_lock.c  the locks and the references that an operation on a session holds
 *	channel.c       channels: create, start and remove them; their rules and contexts
 *	channel_settings.c  the rows of a channel's settings
 *	settings.c      shows and stores settings of sessions and channels
 *	group.c         stream groups: event ids and switch bytes
 *	buffer.c        buffers: create, keep, clear and remove them
 *	trace_form.c    their clock and version of CTF
 *	trace_env.c     traces and the environment that their metadata declares
 *	streams.c       the streams of a session as views and the output see them
 *	decision.c      whether a channel records an event, and the compiled filters
 *	session_file.c  a session in the state directory: writes it
 *	restore.c       reads it
 *	kept.c          what the keeper held for an earlier daemon
 *	hidden.c        sessions that the daemon has for itself
 *	event_log.c     the event descriptions of a trace, in the state directory
 *	quota.c         the share of each user (quota.h, with a lock of its own)
 *	advice.c        the `advice` lines of status
 *	report.c        reports to the program that opened the tracer
 *	part.c          calls the hooks of all tracing domains (domain.h) and parts (part.h)
 *
 * Locks: tracer.lock guards the tables (sessions, applications) and what is in them. session.lock
 * lets one operation at a time change a session, and keeps the session as it is while that
 * operation releases tracer.lock, because it writes to the kernel's tracer. Each function says what
 * its caller holds. base/lock_order.h has the order of all locks. Small files are read under
 * tracer.lists_lock and session.shown_lock, which are held only for a walk or a copy.
 */
#ifndef TRACER_SESSION_SESSION_H
#define TRACER_SESSION_SESSION_H

#include <pthread.h>
#include <urcu/list.h>

#include "tracer/base/facts.h"
#include "tracer/base/hash_table.h"
#include "tracer/base/request.h"
#include "tracer/base/ring/ring.h"
#include "tracer/base/lock_order.h"
#include "tracer/base/setting.h"
#include "tracer/base/os/clock.h"
#include "tracer/base/context/context.h"
#include "tracer/base/keeper/keeper.h"
#include "tracer/session/domain.h"
#include "tracer/session/part.h"
#include "tracer/session/quota.h"
#include "tracer/base/rule/rule.h"
#include "tracer/base/os/state_file.h"
#include "tracer/base/ring/stream.h"
#include "tracer/base/context/inclusion_set.h"
#include "tracer/session/config.h"
#include "tracer/session/forms.h"
#include "tracer/session/sessions.h"
#include "tracer/session/streams.h"
#include "tracer/session/group.h"

/*
 * An operation holds a reference to each object that it uses without tracer.lock, because an rmdir
 * or a verb of another thread can remove the object at any time:
 *
 *	session       References: the list of sessions, each node of the tree (fs/tree/node.h), the
 *	              threads of its output, of its snapshot copies and of a state dump, each view,
 *	              each trace image. After the lock was released and taken again, call
 *	              session_check_alive.
 *	draft         Belongs to the caller of session_draft. Other threads find it in `drafts`,
 *	              with tracer.lock held.
 *	channel       No references: look it up by its name again after session.lock was
 *	              released.
 *	kchannel      References: its channel, and kernel_drain while it reads. kchannel.channel is
 *	              NULL after the channel was removed. It stays while session.lock is held.
 *	group, buffer No references, as channels. Streams (session_streams), cursors and barriers
 *	              refer to the region, the trace and the stream files, which outlive the buffer.
 *	snapshot      References: its session's list, and snapshot_create while it copies
 *	              (snapshot.h).
 *	trace image   References: its snapshot, each slot of the tree (fs/tree/tracedir.c), each
 *	              copy to the output, each read. It refers to its session.
 *	output        Lives as long as its session once it was started. Before that it is used only
 *	              with tracer.lock held.
 *	text engine   Lives as long as its session. Each open of `text` refers to the session.
 *	app           No references: look it up by its name again after the lock was released.
 *	tracer        tracer_close waits until all sessions are freed.
 */
struct tracer {
	uint32_t objects;	/* sessions and drafts that are not freed yet; atomic */
	/*
	 * Guards everything that can be reached from here, except members whose comment names
	 * another lock or says "atomic" or "constant". The holder may write files of the state
	 * directory and run barriers, but does not wait for an application or a user, and does
	 * not write to the kernel's tracer, which may take a second.
	 */
	pthread_mutex_t lock;
	/*
	 * Guards which sessions, channels, stream groups and buffers are in their lists,
	 * session_count, channel.session and channel.kchannel. Who changes these holds
	 * tracer.lock, too; who reads them holds either lock.
	 */
	pthread_mutex_t lists_lock;
	struct tracer_config config;
	char state_dir[256];
	int state_fd, sessions_fd;              /* directories */
	struct keeper *keeper;
	struct clock clock;
	uint32_t cpus;                          /* possible CPUs */
	bool reading;	/* recover.h: change neither the state directory nor buffers */
	char hostname[65];
	unsigned int lane;                      /* TRAIL_LANE_* of this daemon */
	/* of struct session, and aligned as one: a loop makes a pointer to one of the head, too */
	_Alignas(max_align_t) struct cds_list_head sessions, drafts;    /* drafts: staging.c */
	uint32_t session_count;
	struct programs *programs;              /* session/decision.c */
	const struct domain_ops *domains[DOMAINS];      /* session/domain.h; constant */
	/* session/part.h; ends with NULL; constant */
	const struct session_part *const *parts;
	const struct setting *settings;         /* of a session (base/setting.h); constant */
	const struct tracer_room *const *rooms; /* session/part.h; ends with NULL; constant */
	bool keeper_pending;	/* the keeper does not have some buffer yet; atomic */
	bool save_pending;	/* some session could not be saved; atomic */
	uint32_t keeper_passing;                /* buffers that threads are passing to it now */
	int keeper_error;	/* of the last buffer that it did not take; 0: none */
	uint64_t next_serial;                   /* of channels */
	uint64_t last_statedump;                /* number of the last request for a state dump */
	/* Guards the next two, and session.payer, buffer_bytes and frozen (quota.c). */
	pthread_mutex_t shares_lock;
	struct share *shares;
	int64_t frozen;                         /* bytes held by views */
	void *domain_data[DOMAINS];             /* domain_data(); constant */
	max_align_t data[];                     /* of domains and rooms */
};

/*
 * The domain's data in the tracer (session/domain.h); the domain says which lock guards it. Any
 * lock state.
 */
static inline void *domain_data(const struct tracer *t, enum domain domain)
{
	return t->domain_data[domain];
}

/* The clock of its events' times */
enum session_times { TIMES_MONO, TIMES_TAI, TIMES_PLUGIN };

/* What a session shows to readers that do not hold tracer.lock */
struct session_shown {
	struct session_info info;
	bool imported;		/* it has an input */
	bool written;		/* it has an output */
	bool files;		/* views read the files of its output */
	bool follows;		/* readers of a relay follow it: live_period is set */
};

struct session {
	struct cds_list_head node;
	int refs;                               /* atomic */
	struct tracer *tracer;                  /* constant */
	/*
	 * Taken before tracer.lock, by session_lock. Who changes anything below holds both locks;
	 * who reads it holds either. Exceptions are traces, stream groups and buffers, output,
	 * counters, the state dump's two times and the data of parts, which tracer.lock alone
	 * guards, or what the part says.
	 */
	pthread_mutex_t lock;
	char name[201];
	uid_t uid;
	gid_t gid;
	struct owner_groups groups;             /* of the process that made it */
	mode_t mode;
	bool active, gone;
	bool halting;	/* not active, but without the barrier yet: session_apply() has to come */
	bool hidden;	/* of a trigger or a map: not named, counted or saved (hidden.h) */
	bool survives, unclaimed; /* hidden, but saved for the next daemon; it is not claimed yet */
	bool wakes;                             /* applications ring the bell of its regions */
	uint64_t buffers_version;               /* grows with each buffer made or removed; atomic */
	bool draft;	/* staging.c: not in tracer.sessions, and in no file */
	uint64_t starts, change;
	uint64_t clears;        /* how often its rings were cleared; atomic */
	struct requests requests;               /* session_write; tracer.lock alone guards it */
	int64_t created, started;               /* ns since the epoch; started 0: never */
	uint64_t clock_offset;                  /* see view.h; atomic */
	struct md_clock plugin;                 /* freq 0: no application has come yet */
	uint32_t next_channel, next_trace;
	uint64_t statedump;                     /* number of its last request; a start is one */
	uint64_t dump_begun, dump_ended;        /* of the kernel: numbers of the last requests */
	struct track track[TRACK_ATTRS];
	struct cds_list_head channels;          /* struct channel */
	struct trace *traces;
	uid_t payer;	/* the user whose share has the next two (quota.c) */
	uint64_t buffer_bytes;
	int64_t frozen;
	int save_error;         /* of the last session_save: 0, or -errno; atomic */
	uint64_t buffers_refused;	/* not made: the share had no room; atomic */
	uint64_t buffers_lost;	/* the keeper had ended when the daemon started; atomic */
	struct output *output;	/* output/output.h; NULL: events stay in the rings */
	char *input;            /* the directory of its trace; NULL: the session records */
	bool streamed;	/* the output is no directory: views read the rings */
	/* The settings: each line of the file is a member, with what it means. */
#define SETTING(name, kind, member, ...) SETTING_TYPE_##kind member;
#define TEXT_SETTING(name, kind, ...)
#include "tracer/session/session_settings.def"
	bool ending;                            /* its removal has begun: it cannot be started */
	pthread_mutex_t shown_lock;             /* guards the next one */
	struct session_shown shown;             /* as session_publish left it */
	max_align_t data[];                     /* of the parts: session_data() */
};

/* What happens to events that find no room; default: the first start chooses. */
enum loss_mode { LOSS_DEFAULT, LOSS_OVERWRITE, LOSS_DISCARD };

/* What programs did to a channel of the user domain since the last start or clear. */
struct channel_trouble {
	bool spoiled;                   /* one wrote over the header or switches of a buffer: */
	uint32_t spoiler;               /* its user */
	uint32_t unmapped;              /* times that one could not map a buffer, and the last: */
	uint32_t pid;
	int error, unmade;              /* errno of that, and of a buffer that was not made */
	uint64_t bytes;
	char comm[17];
};

#define MAX_AGE_CONSUMED UINT64_MAX     /* when it was read by the output, or cleared */
struct channel {
	struct cds_list_head node;
	struct session *session;
	char name[129];
	bool kernel;                            /* of the kernel domain */
	struct kchannel *kchannel;              /* its kernel buffers; NULL: not started */
	char *adopt;	/* while it is restored: the name of its kernel buffers */
	uint32_t id;                            /* CTF stream class id */
	uint64_t serial;                        /* unique among all channels of the daemon */
	bool started;                           /* geometry is fixed */
	bool filtered;	/* some rule has had a filter since the last clear */
	enum trail_mode mode;                   /* chosen by the first start */
	/* The settings, as in struct session; those of one domain are unused in the other. */
#define SETTING(name, kind, member, ...) SETTING_TYPE_##kind member;
#include "tracer/session/channel_settings.def"
	uint64_t epoch;                         /* grows when all applications must attach again */
	struct context_list contexts;
	/* of a hidden session: names of the fields that applications record; NULL: all; owned */
	char *picks;
	bool counts;    /* of a map: hits are counted, no event is recorded (TRAIL_MODE_COUNT) */
	struct rule_list rules;
	uint64_t told;          /* a hash of what events_again said last; 0: nothing */
	struct cds_list_head groups;            /* struct stream_group */
	struct channel_trouble trouble;         /* app/trouble.c */
};

struct event_id {
	uint64_t digest;                        /* of the event's layout */
	uint32_t id;
};

/* The switch byte of an event id, the same in all buffers of a stream group. */
struct event_switch {
	uint64_t decision;                      /* the decision that value stands for; 0: off */
	uint8_t value;                          /* the last one other than 0; 0: not known */
	bool known;                             /* false: an earlier daemon set it in the buffers */
};

struct buffer {
	struct cds_list_head node;
	struct region *region;
	uint32_t ordinal;                       /* 0: the CPU rings; others: rings for threads */
	uint32_t pid;	/* of the process with these thread rings; 0: the daemon */
	bool kept;	/* the keeper has it, or buffers_keep is passing it */
	bool unusable;	/* a program wrote over its rings: later ones get another buffer */
	struct stream_files **logs;             /* of each ring; NULL: none yet, or no output */
};

struct stream_group {
	struct cds_list_head node;
	struct channel *channel;
	struct trace *trace;                    /* referenced */
	struct md_stream *stream;               /* owned by the trace */
	struct event_id *ids;                   /* owned */
	struct hash_table id_table;             /* of `ids`, by digest */
	uint32_t switch_size;
	struct event_switch *switches;          /* switch_size, by event id */
	struct cds_list_head buffers;           /* struct buffer */
	uint32_t next_ordinal;
	bool full_reported;                     /* that events got no id */
	bool barrier_due;                       /* switch bytes changed, without a barrier */
};

/* user_log.c: the event that records a line written to `log` */
#define LOG_EVENT "trail:log"
#define LOG_EVENT_LEVEL 6       /* info */

/* advice.c: any lock state */
/* Lines `advice FILE: …`, if events of these streams are lost, and `problem` for spoiled rings. */
void streams_advise(const struct stream_set *set, struct facts *out);
/* Default sub-buffers of a kernel channel: bytes and number for each CPU. Any lock state. */
void kernel_default_geometry(uint32_t cpus, uint64_t *subbuf_size, uint32_t *subbuf_count);

/* session.c: caller holds tracer.lock, unless the line says otherwise */
/* A session in no list; NULL: no memory. session_new adds it to tracer.sessions and the quota. */
struct session *session_alloc(struct tracer *t, const char *name, const struct owner *owner);
struct session *session_new(struct tracer *t, const char *name, const struct owner *owner);
/* The same for a session that users do not see. */
struct session *session_new_hidden(struct tracer *t, const char *name, const struct owner *owner);
/* Caller holds one of the session's locks. */
static inline struct owner session_owner(const struct session *s)
{
	return (struct owner){ s->uid, s->gid, s->groups };
}
/* -ENOENT if it was removed or its rmdir has begun. Ask again after the lock was released. */
int session_check_alive(const struct session *s, struct tr_err *err);
/*
 * For operations that change a session: take and release session.lock and tracer.lock. The release
 * publishes the session.
 */
void session_lock(struct session *s);
void session_unlock(struct session *s);
/* Copies what the session shows for readers without tracer.lock. */
void session_publish(struct session *s);
/* What session_publish copied. Any lock state. */
struct session_shown session_shown(struct session *s);
/*
 * All sessions, also hidden ones, each with a reference, so that they can be used without the
 * lock; free the array. None if memory is short. Takes lists_lock.
 */
struct session **sessions_take(struct tracer *t, size_t *count);
void session_changed(struct session *s);
/* The session is active and records events of this user: its owner's, or all users' for root. */
bool session_serves(const struct session *s, uid_t uid);
/* Another process of the same user may be recorded in another way. */
bool session_knows_apart(const struct session *s);
/* The inclusion sets of the user domain have the process, but for track/cgroup. */
bool session_tracks(const struct session *s, uint32_t pid, uid_t uid, gid_t gid);
/*
 * The same of its control groups, by pid in the daemon's PID namespace. *cgroups: what
 * track_read_cgroups() says of it, or NULL; it is read here if the session needs it.
 */
bool session_tracks_cgroup(const struct session *s, uint32_t pid, char **cgroups);
/* The inclusion sets of the kernel domain leave threads out. Takes tracer.lock. */
bool session_leaves_threads_out(struct session *s);
/*
 * Sets the state words of applications, the switch bytes and the kernel's events by the rules. Runs
 * a barrier if it switched an event off or changed its filter. Caller holds session.lock, too;
 * releases tracer.lock while it writes to the kernel.
 */
void session_apply(struct session *s);
/* Caller does not hold tracer.lock. The output is complete when it returns. */
void session_finish(struct session *s);
/* Frees the model of the session; its buffers, kernel buffers and state directory stay. */
void session_forget(struct session *s);
/*
 * Stops and removes the session with all its buffers and its state directory; references keep the
 * struct itself. Caller holds session.lock, too; releases tracer.lock meanwhile.
 */
void session_drop(struct session *s);

/* channel.c: caller holds tracer.lock */
/* -EBUSY if the session shows a trace that was recorded elsewhere: it cannot record. */
int session_check_records(const struct session *s, struct tr_err *err);
/* The note in `status` about a channel with a blocking_timeout. */
#define CHANNEL_BLOCKING_NOTE \
	"only programs with TRAIL_ALLOW_BLOCKING or LTTNG_UST_ALLOW_BLOCKING in their " \
	"environment wait"
struct channel *channel_find(const struct session *s, enum domain domain, const char *name);
int channel_missing(struct tr_err *err, const char *name);      /* -ENOENT with a sentence */
struct channel *channel_new(struct session *s, enum domain domain, const char *name, uint32_t id);
/* Fixes geometry, contexts and loss mode. Caller holds session.lock, too; as session_apply. */
int channel_start(struct channel *c, struct tr_err *err);
/*
 * Removes the channel and its buffers. Its events are off, and a barrier has run since. Caller
 * holds session.lock, too.
 */
void channel_drop(struct channel *c);

/* decision.c: caller holds tracer.lock */
/* A compiled filter, valid until the rules change or the next call; size 0: record every hit. */
struct wanted {
	const void *program;
	size_t size;
};
/* 0: the channel does not record the event; else a digest that changes with filters and epoch. */
uint64_t channel_decides(const struct channel *c, const char *event, int level);
/* For an event with these fields, of a user; with its filter (program NULL: not needed). */
uint64_t event_wanted(struct channel *c, const char *event, int level, const struct filter_event *e,
		      uid_t uid, struct wanted *program);
/*
 * The same for a kernel event, also of an inactive session: it decides on events recorded before.
 */
bool kernel_wanted(struct channel *c, const struct event_key *key, const struct filter_event *e,
		   struct wanted *program);
/* channel.c. A copy of a channel's rules. Without lock. 0, -ENOENT, -ENOMEM. */
int channel_rules(struct session *s, enum domain domain, const char *channel,
		  struct rule_list *out);

void programs_drop(struct tracer *t);           /* frees all compiled filters */

/* channel_settings.c */
extern const struct setting channel_settings[];

/* session_file.c: caller holds tracer.lock, unless the line says otherwise */
/* What cannot be saved is said in `status` and `error`, and tried again by sessions_save_again. */
int session_save(struct session *s);
/* Takes tracer.lock, if there is something to do. False: some session cannot be saved yet. */
bool sessions_save_again(struct tracer *t);
/* The line of `status` and the sentence of `error` if the session could not be saved. No lock. */
void session_save_status(const struct session *s, struct facts *out);
void session_save_trouble(const struct session *s, struct md_buf *out);
/* One line `KEY VALUE` that session_save wrote. An unknown key changes nothing. */
void session_restore_key(struct session *s, const char *key, const char *value);
/* Before session_forget_on_disk removes its directory: no later daemon restores the session. */
void session_unlist_on_disk(struct session *s);
void session_forget_on_disk(struct session *s);
int trace_open_log(struct session *s, struct trace *t);

/* restore.c: no other thread knows the session yet */
int session_restore(struct tracer *t, const char *name);

/* report.c: any thread, with tracer.lock or without */
void tracer_report(struct tracer *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * Reports a failure that no operation of a user returns; `error` of the session has the sentence.
 */
void session_failed(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same outside any session; the user is the one who may read it. */
void tracer_failed(struct tracer *t, uid_t user, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Caller holds tracer.lock. The status of the session has changed; NULL: of the daemon. */
void tracer_changed(struct tracer *t, const char *session);
void tracer_counted(struct tracer *t);

struct ring_counts;
/*
 * streams.c: all regions of the session, each with a reference; free the array. Returns their
 * number; 0: none, or no memory. Takes lists_lock.
 */
size_t session_regions(struct session *s, struct region ***out);
/* The number of the buffers, and the memory in bytes that they take now. Takes lists_lock. */
struct session_buffers { uint64_t number, memory; };
void session_buffers(struct session *s, struct session_buffers *out);
/*
 * session.c: adds the counts of all streams, or nothing if memory is short. Takes lists_lock. It
 * counts only kernel events that domains_drain has moved to the rings.
 */
void session_counts(struct session *s, struct ring_counts *sum);

#endif
