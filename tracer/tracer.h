/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer: sessions, channels, event rules, applications, and the views of what they recorded. This is all that fs/ knows
 * of it; it never hears of FUSE.
 *
 * Errors: functions return 0 (or a count) or -errno, and explain the user's mistakes in a tr_err. Threads: every function may be
 * called from any thread; none waits for an application; none blocks longer than a second. Objects are named by strings
 * and looked up at each call, or held by reference counts (get/put).
 */
#ifndef TRACER_TRACER_H
#define TRACER_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "metadata/buf.h"
#include "tracer/base/base.h"
#include "tracer/base/err.h"
#include "tracer/context/inclusion_set.h"
#include "tracer/rule/rule.h"

struct tracer;
struct session;

/* What one user may have; 0: no limit. */
struct user_limit {
	uid_t uid;
	uint32_t max_sessions;
	uint64_t max_buffers;           /* bytes, counted when they are made */
	uint64_t max_frozen;            /* bytes that views of the user's sessions hold */
};

struct tracer_config {
	const char *state_dir;          /* /run/trailfs; made if missing */
	uint64_t max_frozen;            /* bytes that views may hold in memory, all together */
	uint32_t max_sessions;          /* 0: no limit */
	struct user_limit limit;        /* of each user but the daemon's own, and but those that follow */
	const struct user_limit *user_limits;
	size_t user_limit_count;
	/*
	 * Called, from any thread and with the tracer's lock held, when something in the status of a session changed (or
	 * name == NULL: of the applications or the daemon). Must only take a note and return.
	 */
	void (*changed)(void *arg, const char *session);
	void *changed_arg;
	/*
	 * Called as `changed` for what goes wrong in a session without anybody's doing; created tells it from others that had its
	 * name. May be NULL.
	 */
	void (*failed)(void *arg, const char *session, int64_t created, uid_t owner, const char *sentence);
	void *failed_arg;
	/* Called for what the administrator should know (one line, no newline). May be NULL. */
	void (*report)(void *arg, const char *line);
	void *report_arg;
};

/*
 * Opens the state directory (-EBUSY: another daemon has it), takes over what a killed daemon left, starts the keeper and the
 * thread that serves applications. tracer_close stops it: with `keep` sessions go on without a daemon, else they end.
 */
int tracer_open(const struct tracer_config *config, struct tracer **out, struct tr_err *err);
void tracer_close(struct tracer *t, bool keep);
/*
 * Text of the caller's that tells the next daemon who has the state directory. tracer_announced reads it, also while a daemon
 * has the directory: 0 or -errno; empty if that daemon has announced nothing.
 */
void tracer_announce(struct tracer *t, const char *text);
int tracer_announced(const char *state_dir, struct md_buf *out);
/* What a tracer_close without `keep` would destroy, in words, for the log: "2 sessions (a active, b), …". */
void tracer_contents(struct tracer *t, struct md_buf *out);

/* `version`: lines "ctf 1.8", "kernel none …", "clock …". */
void tracer_version(struct tracer *t, struct md_buf *out);
/* The daemon's own counters, `key value` lines; of users all for root, else the viewer's own. */
void tracer_status(struct tracer *t, uid_t viewer, struct md_buf *out);
/*
 * One line of text as the event trail:log { msg } in the sessions of the writer and of root that enabled it.
 * msg needs no NUL; at most 4096 bytes (else -EINVAL).
 */
struct log_writer {
	uid_t uid;
	gid_t gid;
	uint32_t pid, tid;      /* 0: not known */
};
int tracer_log(struct tracer *t, const struct log_writer *who, const char *msg, size_t len, struct tr_err *err);

/* ---- applications ---- */

/* What viewer may see: 0 sees all, others their own. Names are separated by NUL. */
void apps_list(struct tracer *t, uid_t viewer, struct md_buf *names);
enum app_file { APP_COMM, APP_UID, APP_TRACEPOINTS, APP_FIELDS, APP_STATUS };
int app_show(struct tracer *t, uid_t viewer, const char *pid, enum app_file what, struct md_buf *out);  /* -ENOENT */
int app_owner(struct tracer *t, uid_t viewer, const char *pid, uid_t *uid);                                /* -ENOENT */
/*
 * available/user/: APP_TRACEPOINTS `provider:name loglevel`, or APP_FIELDS `provider:name { type field; … }`, sorted, each
 * once.
 */
void available_user(struct tracer *t, uid_t viewer, enum app_file what, struct md_buf *out);

/* ---- the kernel domain ---- */

/* There is a backend, and the user may use it: root, or of the group `tracing` where root's daemon serves. */
bool kernel_allowed(struct tracer *t, uid_t uid);
/* Of a session: it has a kernel domain, because its owner may trace the kernel. */
bool session_kernel(struct session *s);
/* -EACCES or -EOPNOTSUPP, with a sentence, if this user may not do it in this session. */
int kernel_refuses(struct session *s, uid_t uid, struct tr_err *err);
/* available/kernel/: names, separated by NUL; lists, one per line; the fields of a tracepoint, one per line. */
enum kernel_list { KERNEL_TRACEPOINTS, KERNEL_SYSCALLS, KERNEL_CONTEXTS, KERNEL_PROBES };
void available_kernel(struct tracer *t, enum kernel_list what, struct md_buf *out);
bool available_kernel_probes(struct tracer *t);         /* KERNEL_PROBES is not empty: the backend is the module */
void available_kernel_systems(struct tracer *t, struct md_buf *names);
void available_kernel_events(struct tracer *t, const char *system, struct md_buf *names);
bool available_kernel_has(struct tracer *t, const char *system, const char *event);    /* event NULL: the system */
int available_kernel_fields(struct tracer *t, const char *system, const char *event, struct md_buf *out);

/* ---- sessions ---- */

int session_create(struct tracer *t, const char *name, uid_t uid, gid_t gid, struct tr_err *err);
int session_destroy(struct tracer *t, const char *name, struct tr_err *err);
struct session *session_get(struct tracer *t, const char *name);       /* NULL if there is none */
void session_put(struct session *s);                                   /* NULL is allowed */
void sessions_list(struct tracer *t, struct md_buf *names);            /* separated by NUL */

/*
 * A draft is a session that nobody else sees: with the owner of s, and with nothing in it. It is filled by the functions below, as any
 * session is; then session_become makes s what the draft is, and starts it, or fails and changes nothing: -EBUSY if s was
 * started before. What s had goes.
 */
struct session *session_draft(struct session *s);                      /* NULL: no memory */
void session_draft_drop(struct session *draft);                        /* NULL is allowed */
int session_become(struct session *s, struct session *draft, bool start, struct tr_err *err);

struct session_info {
	uid_t uid;
	gid_t gid;
	mode_t mode;            /* permission bits of the directory; 0700 at first */
	bool active;
	bool gone;              /* was destroyed; only references keep it */
	uint64_t starts;        /* how often it was started */
	uint64_t change;        /* grows whenever `status` changes in more than its counters */
	int64_t created;        /* ns since the epoch */
	uint64_t rotate_size, rotate_period;    /* of the output's chunks: bytes, us; 0: none */
};
void session_info(struct session *s, struct session_info *info);
int session_chmod(struct session *s, mode_t mode);
int session_chown(struct session *s, uid_t uid, gid_t gid);            /* (uid_t)-1, (gid_t)-1: leave */

/* Settings; read as what can be written. */
enum session_attr {
	SESSION_SNAPSHOT_MAX_SIZE,      /* bytes of a snapshot's stream files, in all; 0: no limit */
	SESSION_OUTPUT,                 /* where packets are written; fixed by the first start */
	SESSION_OUTPUT_SAVED,           /* the same as `config` has it: `default` if that was written; cannot be stored */
	SESSION_ROTATE_SIZE, SESSION_ROTATE_PERIOD,
};
int session_show(struct session *s, enum session_attr attr, struct md_buf *out);
int session_store(struct session *s, enum session_attr attr, const char *value, struct tr_err *err);

/* Text for `control`: the verbs accepted now, one per line. */
void session_verbs(struct session *s, struct md_buf *out);
/*
 * The lines of one write to `control`, NUL terminated: all are checked, then run in order; the first failure stops.
 * `stop` and `clear` are barriers. err->line says which line.
 */
int session_control(struct session *s, const char *text, struct tr_err *err);
void session_status(struct session *s, struct md_buf *out);

/* What has gone wrong since, and still is: text for `error`. */
void session_troubles(struct session *s, struct md_buf *out);

/* ---- channels: their names are each domain's own ---- */

void channels_list(struct session *s, enum domain domain, struct md_buf *names);
int channel_create(struct session *s, enum domain domain, const char *channel, struct tr_err *err);
int channel_destroy(struct session *s, enum domain domain, const char *channel, struct tr_err *err);
bool channel_exists(struct session *s, enum domain domain, const char *channel);

enum channel_attr {
	CHANNEL_ENABLED, CHANNEL_SUBBUF_SIZE, CHANNEL_SUBBUF_COUNT, CHANNEL_LOSS_MODE, CHANNEL_BUFFERING,
	CHANNEL_BLOCKING_TIMEOUT,       /* how long a hit waits for room, where events are discarded; 0: not at all */
	CHANNEL_SWITCH_PERIOD,          /* how long streams/ may keep back what is in a sub-buffer that is not full; 0: not */
	CHANNEL_READ_PERIOD,            /* how often those who wait for events look for them; 0: as often as the caller does */
	CHANNEL_MONITOR_PERIOD,         /* how often triggers look at its buffers; 0: never */
	CHANNEL_FILE_SIZE, CHANNEL_FILE_COUNT,  /* files of the output: how large, and how many of a stream are kept; 0: no limit */
};
int channel_show(struct session *s, enum domain domain, const char *channel, enum channel_attr attr, struct md_buf *out);
int channel_store(struct session *s, enum domain domain, const char *channel, enum channel_attr attr, const char *value, struct tr_err *err);
int channel_status(struct session *s, enum domain domain, const char *channel, struct md_buf *out);

/*
 * Event rules. channel NULL means channel0 as the domain's shortcut: it is made by the first write that succeeds. text: the complete
 * lines of one write; all or nothing. replace: the list becomes these lines (an empty text empties it); else they are added
 * (and `!` lines remove). Disabling is a barrier.
 */
int events_show(struct session *s, enum domain domain, const char *channel, struct md_buf *out);
int events_store(struct session *s, enum domain domain, const char *channel, const char *text, bool replace, struct tr_err *err);

/* Contexts; as event rules, but that they are fixed by the first start (-EBUSY). */
int contexts_show(struct session *s, enum domain domain, const char *channel, struct md_buf *out);
int contexts_store(struct session *s, enum domain domain, const char *channel, const char *text, bool replace, struct tr_err *err);
void available_contexts(struct md_buf *out);    /* names, one per line */

/*
 * Inclusion sets: which processes are recorded; as lists of event rules. Excluding is a barrier for each process. From TRACK_PID on they are the
 * kernel domain's; what TRACK_PID's processes start is recorded, too. -EOPNOTSUPP: the backend cannot tell by that, it is always `*`.
 */
int track_show(struct session *s, enum track_attr attr, struct md_buf *out);
int track_store(struct session *s, enum track_attr attr, const char *text, bool replace, struct tr_err *err);

/* ---- streams/OWNER/cpuN: whole CTF packets, live ---- */

int owners_list(struct session *s, const char *channel, struct md_buf *names);
int owner_streams(struct session *s, const char *channel, const char *owner, struct md_buf *names);
#define OWNER_KERNEL "kernel"   /* who has the streams of the kernel domain */

struct packet_stream;
int packet_stream_open(struct session *s, const char *channel, const char *owner, const char *name,
		       struct packet_stream **out);
/*
 * Copies out packet bytes: > 0; 0 at the end (the session was active, is inactive and all was delivered, or is gone);
 * -EAGAIN: nothing yet. A packet larger than the buffer goes on with the next call. One caller at a time.
 */
ssize_t packet_stream_read(struct packet_stream *p, void *buf, size_t size);
void packet_stream_close(struct packet_stream *p);

/* ---- text and pipe ---- */

struct text_view;
/* One open of `text`: brings the session's text up to the present. */
int text_open(struct session *s, struct text_view **out);
/*
 * Bytes at an offset of the text (counted since first start or clear). 0: the offset is where the text ended at the open; the
 * next read moves that end to the present, so that a reader that stops at 0 ends, and one that comes again follows. If what stood there is not held
 * any more, the open goes on at the oldest event held: its offsets are shifted from then on. One caller at a time per view.
 */
ssize_t text_read(struct text_view *v, uint64_t offset, void *buf, size_t size);
void text_close(struct text_view *v);
/* The size to show: text produced so far; advances to the present while a view is open. */
uint64_t text_size(struct session *s);

struct pipe_view;
int pipe_open(struct session *s, struct pipe_view **out);
ssize_t pipe_read(struct pipe_view *v, void *buf, size_t size);        /* as packet_stream_read */
void pipe_close(struct pipe_view *v);

/* ---- trace/: moments ---- */

struct trace_image;
struct image_file {
	char *path;             /* "ust/uid/0/64-bit/channel0_0", "…/metadata", "…/index/channel0_0.idx" */
	uint64_t size;          /* bytes; does not change during the moment */
	int64_t mtime;          /* ns since the epoch: time of the newest event in it */
};
/* Freezes metadata and all streams together. */
int image_take(struct session *s, struct trace_image **out);
/* The same of the chunks that rotations have moved away: paths begin with the chunk's name. */
int image_take_archives(struct session *s, struct trace_image **out);
size_t image_files(struct trace_image *m, const struct image_file **files);       /* sorted by path */
/*
 * Bytes of file i. The first read of a stream file copies it out of its ring (-EDQUOT beyond max_frozen); sub-buffers that
 * were overwritten since the moment was taken become empty packets of the same size, so that the size stays true.
 * Any number of threads.
 */
ssize_t image_read(struct trace_image *m, size_t i, uint64_t offset, void *buf, size_t size);
struct trace_image *image_get(struct trace_image *m);
void image_put(struct trace_image *m);
/* Writes its files below a directory, as LTTng lays them out, with the rights of the calling thread. 0 or -errno. */
struct image_sink {
	int dir;
	mode_t mode;                                    /* of directories; files have no x */
	int (*piece)(void *arg, uint64_t bytes);        /* so much more was written; not 0 ends it. May be NULL */
	void (*file)(void *arg, int fd);                /* a file is whole: a descriptor of its own. May be NULL */
	void *arg;
};
int image_save(struct trace_image *m, const struct image_sink *to);

/* ---- snapshots/: moments that last until they are removed ---- */

#define SNAPSHOT_NAME_MAX 200

/*
 * Copies at once what the rings hold; the newest packets, if snapshot_max_size is set. name NULL: snapshot-DATE-TIME-N. -EDQUOT beyond
 * max_frozen.
 */
int snapshot_create(struct session *s, const char *name, struct tr_err *err);
int snapshot_destroy(struct session *s, const char *name, struct tr_err *err);
void snapshots_list(struct session *s, struct md_buf *names);
/* With a reference; -ENOENT. */
int snapshot_get(struct session *s, const char *name, struct trace_image **out, int64_t *created);
/* It was a snapshot's, and that was removed. */
bool image_ended(const struct trace_image *m);

#endif
