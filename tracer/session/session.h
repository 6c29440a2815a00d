/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer's state, private to the files that keep it: tracer.c, session.c, channel.c, session/group.c, app.c, app/attach_reply.c, app/attach_server.c, session/session_file.c.
 *
 *	tracer ── sessions ── channels ── classes ── buffers ── region        what is recorded, and into what
 *	   │         └─────── traces ───────┘
 *	   └───── apps (registration files)                                   who records
 *
 * A class is what one channel records of one owner: the CTF stream class in that owner's trace, its event ids, and the buffers:
 * one region with a ring per CPU, and more with rings for threads that cannot use those.
 */
#ifndef TRACER_SESSION_SESSION_H
#define TRACER_SESSION_SESSION_H

#include <pthread.h>
#include <urcu/list.h>

#include "tracer/ring/barrier.h"
#include "tracer/os/clock.h"
#include "tracer/context/context.h"
#include "tracer/keeper/keeper.h"
#include "tracer/session/domain.h"
#include "tracer/session/part.h"
#include "tracer/session/quota.h"
#include "tracer/rule/rule.h"
#include "tracer/os/state_file.h"
#include "tracer/ring/stream.h"
#include "tracer/context/inclusion_set.h"
#include "tracer/tracer.h"
#include "tracer/session/streams.h"

/*
 * An operation has a reference to whatever it uses while it does not hold tracer.lock, because an
 * rmdir or a verb of another thread ends objects at any time:
 *
 *	session       References: the list of sessions, each node of the tree (fs/node.h), the threads of
 *	              its output, of its snapshot copies and of a state dump, each view, each moment.
 *	              After the lock was released, ask session_check_alive when it is held again.
 *	draft         Belongs to the caller of session_draft. Others find it in `drafts`, under the lock.
 *	channel       No references: look it up by its name again after the lock was released.
 *	kchannel      References: its channel, and kernel_drain while it reads. kchannel.channel is
 *	              NULL after the channel was removed.
 *	class, buffer No references, as channels. Streams (session_streams), cursors and barriers refer
 *	              to the region, the trace and the outlog instead, which outlive the buffer.
 *	snapshot      References: its session's list, and snapshot_create while it copies (snapshot.h).
 *	moment        References: its snapshot, each slot of the tree (fs/tracedir.c), each copy to the
 *	              output, each read. It refers to its session.
 *	output        Lives as long as its session, once it was started. Before that it is used under
 *	              the lock alone.
 *	text engine   Lives as long as its session. Each open of `text` refers to that.
 *	app           No references: look it up by its name again after the lock was released.
 *	tracer        Lives as long as a session does (tracer_close).
 */
struct app;
struct apptable;
struct kernel;
struct server;

struct tracer {
	uint32_t objects;                       /* sessions and drafts that are not freed yet; atomic */
	/*
	 * Guards everything that can be reached from here, but for what has its own sentence. Held while files of the state
	 * directory are written and during barriers; never while waiting for an application or a user.
	 */
	pthread_mutex_t lock;
	struct tracer_config config;
	char state_dir[256];
	int state_fd, sessions_fd;              /* directories */
	int apps_fds[2];                        /* a user's daemon has the system's too; -1: none */
	int lock_fd;                            /* flocked: one daemon per state directory */
	struct keeper *keeper;
	struct keeper_guard *keeper_guard;      /* keeper_guard.h; NULL: does not run */
	uint32_t keepers_replaced;              /* how often another keeper took the place of one that had ended; atomic */
	struct clock clock;
	uint32_t cpus;                          /* possible CPUs */
	bool reading;                           /* recover.h: neither the state directory nor what is in buffers is changed */
	bool only_unwritten;                              /* … and moments have only what outputs do not have */
	char hostname[65];
	unsigned int lane;                      /* TRAIL_LANE_* of this daemon */
	struct cds_list_head sessions;          /* struct session */
	uint32_t session_count;
	struct cds_list_head drafts;            /* struct session, too: staging.c */
	struct cds_list_head apps;              /* struct app */
	uint32_t app_count;
	struct apptable *apptable;
	struct programs *programs;              /* session/decision.c */
	struct cds_list_head retries;           /* struct app */
	const struct domain_ops *domains[DOMAINS];      /* session/domain.h; constant */
	const struct session_part *const *parts;        /* session/part.h; ends with NULL; constant */
	struct cds_list_head dead_snapshots;    /* snapshot/snapshot.c */
	bool keeper_pending;                            /* some buffer is not with the keeper yet */
	bool rescan_pending;                            /* some registration could not be opened for want of descriptors or memory */
	uint32_t rejected;                      /* registration files that were no good, for status */
	uint64_t next_serial;                   /* of channels */
	uint64_t last_statedump;                /* number of the last request for a state dump */
	pthread_mutex_t shares_lock;            /* guards the next two, and what sessions have of it: session/quota.h */
	struct share *shares;
	int64_t frozen;                         /* bytes held by views */
	int64_t opened;                         /* when; wall clock */
	struct server *server;                  /* app/attach_server.c */
	struct kernel *kernel;                  /* kernel/kernel.h; NULL: cannot be traced */
	char no_kernel[256];                    /* why not */
};

/* What the user set of a session itself: with the channels and the inclusion sets, all that `config` tells. */
struct session_settings {
	uint64_t snapshot_max_size;             /* bytes; 0: no limit */
};

struct session {
	struct cds_list_head node;
	int refs;                               /* atomic */
	struct tracer *tracer;
	char name[201];
	uid_t uid;
	gid_t gid;
	mode_t mode;
	bool active, gone;
	bool draft;                             /* staging.c: in no list and in no file */
	uint64_t starts, change;
	int64_t created, started;               /* ns since the epoch; started 0: never */
	uint64_t clock_offset;                  /* see view.h; atomic */
	uint32_t next_channel, next_trace;
	uint64_t statedump;                     /* number of its last request; a start is one */
	uint64_t dump_begun, dump_ended;        /* the kernel's: number of the last request for which that was so */
	struct session_settings settings;
	struct track track[TRACK_ATTRS];
	struct cds_list_head channels;          /* struct channel */
	struct cds_list_head snapshots;         /* struct snapshot */
	uint32_t next_snapshot;                 /* number in the name of the next one without a name */
	struct trace *traces;
	struct text_engine *text;
	uid_t payer;                            /* whose share these count for: session/quota.c */
	uint64_t buffer_bytes;
	int64_t frozen;
	uint64_t buffers_refused;               /* there was no room for them in that */
	uint64_t buffers_lost;                  /* when the keeper was killed, too */
	struct output *output;                  /* output/output.h; NULL: the rings are all there is */
	uint64_t rotate_size, rotate_period;    /* bytes, us; 0: not by itself */
	bool ending;                            /* is about to go: nothing can be started any more */
};

struct channel {
	struct cds_list_head node;
	struct session *session;
	char name[129];
	bool kernel;                            /* of the kernel domain */
	struct kchannel *kchannel;              /* what the kernel has for it; NULL: not started */
	char *adopt;                            /* while it is restored: the name of that */
	uint32_t id;                            /* CTF stream class id */
	uint64_t serial;                        /* unique among all channels of the daemon */
	bool enabled;
	bool started;                           /* geometry is fixed */
	bool per_process;
	int loss;                               /* -1 default, or enum trail_mode */
	enum trail_mode mode;                   /* what it was at the first start */
	uint64_t subbuf_size;
	uint32_t subbuf_count;
	uint64_t blocking;                      /* us that a hit waits for room; UINT64_MAX: for ever */
	uint64_t switch_period, read_period;    /* us; see CHANNEL_* in tracer.h */
	uint64_t file_size;                     /* bytes; 0: one file per stream */
	uint32_t file_count;                    /* 0: no limit */
	uint64_t epoch;                         /* grows when whoever attached has to ask again, whatever the rules say */
	struct context_list contexts;
	struct rule_list rules;
	struct cds_list_head groups;           /* struct stream_group */
};

struct event_id {
	uint64_t digest;                        /* 0: free place */
	uint32_t id;
};

/* The switch byte of an event id, the same in all buffers of a class. */
struct event_switch {
	uint64_t decision;                      /* that the value is for (channel_decides); 0: off */
	uint8_t value;                          /* the last that was not 0; 0: not known */
	bool known;                             /* false: an earlier daemon's, in the buffers */
};

struct buffer {
	struct cds_list_head node;
	struct region *region;
	uint32_t ordinal;                       /* 0: the CPU rings; others: rings for threads */
	uint32_t pid;                           /* thread rings: whose (0: the daemon's own) */
	bool kept;                              /* the keeper has it, or is about to */
	struct stream_files **logs;                   /* of each ring, if the session has an output; NULL: not yet */
};

struct stream_group {
	struct cds_list_head node;
	struct channel *channel;
	struct trace *trace;                    /* referenced */
	struct md_stream *stream;               /* owned by the trace */
	struct event_id *ids;                   /* open addressing, id_size a power of two */
	uint32_t id_size, id_count;
	struct event_switch *switches;          /* switch_size, by event id */
	uint32_t switch_size;
	struct cds_list_head buffers;           /* struct buffer */
	uint32_t next_ordinal;
};

/* tracer.c */
struct tracer *tracer_new(const struct tracer_config *config);
void tracer_free(struct tracer *t);
size_t sessions_restore(struct tracer *t);      /* all that are in the state directory; returns as kept_drop */

/* user_log.c: the event that each line written to `log` becomes */
#define LOG_EVENT "trail:log"
#define LOG_EVENT_LEVEL 6       /* info */

/* advice.c, without the lock */
void session_advice(struct session *s, struct md_buf *out);     /* lines `advice FILE: …`, if events are lost */
void kernel_default_geometry(uint32_t cpus, uint64_t *subbuf_size, uint32_t *subbuf_count);

/* session.c: all with the lock held */
struct session *session_alloc(struct tracer *t, const char *name, uid_t uid, gid_t gid);      /* in no list yet */
struct session *session_new(struct tracer *t, const char *name, uid_t uid, gid_t gid);
/* -ENOENT if it was removed or its rmdir has begun. Ask again after the lock was released. */
int session_check_alive(const struct session *s, struct tr_err *err);
void session_changed(struct session *s);
bool session_serves(const struct session *s, uid_t uid);        /* active, and for the user's events */
bool session_tracks(const struct session *s, uint32_t pid, uid_t uid, gid_t gid);
/* Brings state words and switches (with a barrier if any went off or changed) in line with the rules. */
void session_apply(struct session *s);
void session_finish(struct session *s);        /* without the lock: its output is complete when it returns */
void session_forget(struct session *s);         /* frees what it has here; buffers and state directory stay as they are */
void session_drop(struct session *s);           /* frees all it has; not the session itself, which has references */

/* verbs.c: with the lock held */
int session_start(struct session *s, struct tr_err *err);

/* buffer.c: with the lock held */
/* The files of one ring, made if there is no list yet; NULL: no memory. The buffer keeps its reference. */
struct stream_files *buffer_files(struct buffer *b, uint32_t ring);
void buffer_forget_files(struct buffer *b);
void session_clear_rings(struct session *s);    /* `clear`: events up to now are in no view any more */

/* channel.c */
/* What `status` says of a channel with a blocking_timeout */
#define CHANNEL_BLOCKING_NOTE "only programs with TRAIL_ALLOW_BLOCKING or LTTNG_UST_ALLOW_BLOCKING in their environment wait"
struct channel *channel_find(const struct session *s, enum domain domain, const char *name);
struct channel *channel_new(struct session *s, enum domain domain, const char *name, uint32_t id);
int channel_start(struct channel *c, struct tr_err *err);       /* fixes geometry, contexts and loss mode */
void channel_drop(struct channel *c);           /* switches are off, the barrier was passed */
/*
 * What the channel's rules say of an event: 0: not recorded; else a digest that is another one when filters or
 * the epoch have changed.
 */
uint64_t channel_decides(const struct channel *c, const char *event, int level);

/* session/group.c */
struct trace *trace_find(struct session *s, uint32_t uid, uint32_t pid);
struct trace *trace_new(struct session *s, uint32_t uid, uint32_t pid, const char *comm, const uint8_t *uuid, int64_t created);
struct stream_group *group_get(struct channel *c, struct trace *t, bool create);
/* Reports, once in a session, that a buffer of the channel could not be made: err is -errno. */
void channel_refuse_buffer(struct channel *c, int err);
/* The id of an event in a class; a new one is written to the event log. Takes e over. -errno: ENOSPC, ENOMEM, I/O. */
int group_event(struct stream_group *cl, uint64_t digest, struct md_event *e, uint32_t *id);
int group_find_event(const struct stream_group *cl, uint64_t digest, uint32_t *id);
/*
 * Gives ids to many events and describes them on disk by one write; owns all of them, skips what it has. 0 or -errno: then
 * none has an id that it had not before, or (-ENOMEM) not all have.
 */
int group_events(struct stream_group *cl, const uint64_t *digests, struct md_event **events, size_t n);
/* Its id, the one that it has or a new one. Takes e over; NULL: -ENOMEM, so that who makes it need not look. */
int group_event_id(struct stream_group *cl, struct md_event *e, uint32_t *id);
int group_restore(struct stream_group *cl, struct md_event *e);        /* from the event log; takes e over */
/*
 * The buffer of these rings, made if need be: -ENOMEM, -EDQUOT, …. If the owner's share has no room for it, it is the smallest there can be,
 * which discards and counts what does not fit; but not for the kernel's events.
 */
int group_buffer(struct stream_group *cl, enum trail_ring_kind kind, uint32_t pid, struct buffer **out);
/* Whether the owner's share has room for the buffers that a start of this channel asks for; *bytes is the sum so far. */
int channel_room(struct channel *c, uint64_t *bytes);
struct buffer *group_adopt(struct stream_group *cl, struct region *r, uint32_t ordinal, uint32_t pid);
/*
 * Gives new buffers to the keeper. Apart from making them, because the keeper is another process that may have to wait for
 * a CPU, and an application that waits for its answer must not. Takes the lock itself.
 */
void buffers_keep(struct tracer *t);
/* Sets all switch bytes by the rules. True: some went off or changed, so a barrier is needed. */
uint8_t group_switch_on(struct stream_group *cl, uint32_t id);         /* of an event that is wanted: its value, set in all buffers */
void group_drop(struct stream_group *cl);
/* Sets the switch bytes of all events of the user domain by the rules, with a barrier if any went off or changed. */
void session_switch(struct session *s);

/* session/decision.c */
struct wanted {                                 /* the program that decides at each hit; size 0: all are recorded */
	const void *program;                    /* until the rules change, or the next call */
	size_t size;
};
/* The channel's decision on an event of these fields, of a user; as app_wanted. */
uint64_t event_wanted(struct channel *c, const char *event, int level, const struct filter_event *e, uid_t uid,
		      struct wanted *program);
/* The same of the kernel's events, whether the session is active or not: what was recorded is to be decided on. */
bool kernel_wanted(struct channel *c, const char *key, const struct filter_event *e, struct wanted *program);
/* New rules against the events that are registered: -EINVAL if types clash in all that a rule takes. */
void programs_drop(struct tracer *t);

/* session/session_file.c */
int session_save(struct session *s);
int session_restore(struct tracer *t, const char *name);
void session_forget_on_disk(struct session *s);
int trace_open_log(struct session *s, struct trace *t);
/* One more that session_restore may have; of two with one key that in which more was written. Takes r over if it returns 0. */
int kept_add(uint64_t key, struct region *r);
/* The same for a descriptor of a part of a session. Takes fd over if it returns 0. */
int kept_add_descriptor(uint64_t key, int fd);
/* A descriptor that the keeper held for a part of a session, by its key: it stays the list's until it is taken; -1: none. */
int kept_descriptor(uint64_t key);
void kept_descriptor_taken(uint64_t key);
void kept_descriptor_name(uint64_t key, char out[32]);  /* its name in the keeper */
void kept_take(struct tracer *t);               /* what the keeper holds, for session_restore */
size_t kept_drop(struct tracer *t);             /* what no session claimed; how many */

/* kernel/kernel.c */
void kernel_describe(struct tracer *t, struct md_buf *out);      /* a line of `version` */

void tracer_report(struct tracer *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tracer_changed(struct tracer *t, const char *session);
/* What goes wrong in a session without anybody's doing, into its `error` file. */
void session_failed(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct ring_counts;
/* Sums over all streams; the number of streams, or -errno. Takes the lock itself. */
ssize_t session_counts(struct session *s, struct ring_counts *sum);

#endif
