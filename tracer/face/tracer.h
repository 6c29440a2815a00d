/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer: sessions, channels, event rules, applications, and the views of what they recorded.
 * This is all that fs/ uses of it; the tracer does not use FUSE.
 *
 * Errors: functions return 0 (or a count) or -errno, and explain the user's mistakes in a tr_err.
 * Threads: every function may be called from any thread; none waits for an application; none blocks
 * longer than a second. Objects are named by strings and looked up at each call, or held by
 * reference counts (get/put).
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
#include "tracer/base/context/inclusion_set.h"
#include "tracer/base/os/cred.h"
#include "tracer/base/rule/rule.h"

struct tracer;
struct session;

/* Limits of one user; 0: no limit. */
struct user_limit {
	uid_t uid;
	uint32_t max_sessions;
	uint64_t max_buffers;           /* bytes of buffers, counted when they are made */
	uint64_t max_frozen;            /* bytes in memory that views of the user's sessions hold */
};

#define VERB_WAIT_MS 800

struct tracer_config {
	const char *state_dir;          /* /run/trailfs; made if it is missing */
	uint64_t max_frozen;            /* bytes in memory that all views together may hold */
	uint64_t apps_size;             /* app.h, apps_open(); 0: no file system of its own */
	uint32_t max_sessions;          /* 0: no limit */
	struct user_limit limit;        /* of users that are not the daemon's own nor listed: */
	const struct user_limit *user_limits;
	size_t user_limit_count;
	uint32_t wait_ms;               /* for which a verb waits for files; 0: VERB_WAIT_MS */
	uint32_t relay_timeout_ms;      /* without progress of a relay; 0: LINK_STALL_MS */
	/*
	 * Called from any thread, with tracer.lock held, when the status of a session changed (name
	 * NULL: of the applications or the daemon). It must only make a note and return.
	 */
	void (*changed)(void *arg, const char *session);
	void *changed_arg;
	/*
	 * Called from any thread, with any lock, when counters of a trigger's status have changed.
	 */
	void (*counted)(void);
	/*
	 * As `changed`, for a failure that no write caused; created tells sessions of one name
	 * apart ("" and 0: of no session). May be NULL. */
	void (*failed)(void *arg, const char *session, int64_t created, uid_t owner,
		       const char *sentence);
	void *failed_arg;
	/* Called with a line for the administrator, without a newline. May be NULL. */
	void (*report)(void *arg, const char *line);
	void *report_arg;
};

/*
 * Opens the state directory (-EBUSY: another daemon has it), restores what a killed daemon left,
 * and starts the keeper and the thread that serves applications. tracer_close ends this. keep:
 * sessions continue without a daemon; else they end.
 */
int tracer_open(const struct tracer_config *config, struct tracer **out, struct tr_err *err);
void tracer_close(struct tracer *t, bool keep);
/*
 * Stores the caller's text, which says who has the state directory, for another daemon.
 * tracer_announced reads it, also while a daemon has the directory: 0 or -errno; empty if that
 * daemon announced nothing.
 */
void tracer_announce(struct tracer *t, const char *text);
int tracer_announced(const char *state_dir, struct md_buf *out);
/*
 * Appends what a tracer_close without `keep` would destroy, for the log: "2 sessions (a active, b),
 * … and 3 triggers".
 */
void tracer_contents(struct tracer *t, struct md_buf *out);

/* `version`: lines "ctf 1.8", "kernel none …", "clock …". */
void tracer_version(struct tracer *t, struct md_buf *out);
/*
 * The daemon's own counters, lines `key value`: those of all users for root, else the viewer's own.
 */
void tracer_status(struct tracer *t, uid_t viewer, struct md_buf *out);
/*
 * Writes one line of text as the event trail:log { msg } into the sessions of the writer and of
 * root that enabled it. msg needs no NUL; more than 4096 bytes are -EINVAL.
 */
struct log_writer {
	uid_t uid;
	gid_t gid;
	uint32_t pid, tid;      /* 0: unknown */
};
int tracer_log(struct tracer *t, const struct log_writer *who, const char *msg, size_t len,
	       struct tr_err *err);

/* ---- applications ---- */

/* Viewer 0 sees all applications, others see their own. Names are separated by NULs. */
void apps_list(struct tracer *t, uid_t viewer, struct md_buf *names);
enum app_file { APP_COMM, APP_UID, APP_TRACEPOINTS, APP_FIELDS, APP_STATUS };
/* -ENOENT */
int app_show(struct tracer *t, uid_t viewer, const char *pid, enum app_file what,
	     struct md_buf *out);
int app_owner(struct tracer *t, uid_t viewer, const char *pid, uid_t *uid);	/* -ENOENT */
/*
 * available/user/: APP_TRACEPOINTS `provider:name loglevel`, or APP_FIELDS `provider:name { type
 * field; … }`, sorted, each once.
 */
void available_user(struct tracer *t, uid_t viewer, enum app_file what, struct md_buf *out);

/* ---- the domains of LTTng's agents, for loggers of Java and Python ---- */

enum agent_domain { AGENT_JUL, AGENT_LOG4J, AGENT_LOG4J2, AGENT_PYTHON, AGENT_DOMAINS };
const char *agent_domain_name(enum agent_domain domain);
/* The channel of the user domain that records them. The first rule or context makes it. */
const char *agent_channel(enum agent_domain domain);
/*
 * Rules on loggers, LOGGER [loglevel LEVELS] [if FILTER]; as events_show and events_store. Returns
 * when programs that start now find the daemon.
 */
int agent_events_show(struct session *s, enum agent_domain domain, struct md_buf *out);
int agent_events_store(struct session *s, enum agent_domain domain, const char *text, bool replace,
		       struct tr_err *err);
/* As contexts_store, of the domain's channel, which the first write makes. */
int agent_contexts_store(struct session *s, enum agent_domain domain, const char *text,
			 bool replace, struct tr_err *err);
/*
 * Names of loggers, sorted, one a line, of the programs whose agents are connected. Waits for their
 * answers, a second at most.
 */
void available_loggers(struct tracer *t, uid_t viewer, enum agent_domain domain,
		       struct md_buf *out);

/* ---- the kernel domain ---- */

/*
 * Whether there is a backend and the user may use it: root, and members of the group `tracing` if
 * root's daemon serves.
 */
bool kernel_allowed(struct tracer *t, const struct owner *owner);
/* Whether the session has a kernel domain: its owner may trace the kernel. */
bool session_kernel(struct session *s);
/* -EACCES or -EOPNOTSUPP with a sentence if this user may not trace the kernel. */
int kernel_refuses(struct tracer *t, const struct owner *owner, struct tr_err *err);
/*
 * available/kernel/: names, separated by NULs; lists, one name a line; the fields of a tracepoint,
 * one a line.
 */
enum kernel_list {
	KERNEL_TRACEPOINTS,
	KERNEL_SYSCALLS,
	KERNEL_CONTEXTS,
	KERNEL_PROBES,
	KERNEL_GROUPS           /* hooks, with what records each: rule/hook.h */
};
void available_kernel(struct tracer *t, enum kernel_list what, struct md_buf *out);
/* KERNEL_PROBES has lines: the backend is the module */
bool available_kernel_probes(struct tracer *t);
void available_kernel_systems(struct tracer *t, struct md_buf *names);
void available_kernel_events(struct tracer *t, const char *system, struct md_buf *names);
/* event NULL: the system */
bool available_kernel_has(struct tracer *t, const char *system, const char *event);
int available_kernel_fields(struct tracer *t, const char *system, const char *event,
			    struct md_buf *out);

/* ---- sessions ---- */

int session_create(struct tracer *t, const char *name, const struct owner *owner,
		   struct tr_err *err);
int session_destroy(struct tracer *t, const char *name, struct tr_err *err);
struct session *session_get(struct tracer *t, const char *name);       /* NULL: there is none */
void session_put(struct session *s);                                   /* NULL is allowed */
void sessions_list(struct tracer *t, struct md_buf *names);            /* separated by NULs */

/*
 * A draft is a session that other threads do not see: empty, with the owner of s. The functions
 * below fill it like any session. session_become then gives s the contents of the draft and starts
 * it, or fails and changes nothing (-EBUSY: s was started before). The old contents of s are freed.
 */
struct session *session_draft(struct session *s);                      /* NULL: no memory */
void session_draft_drop(struct session *draft);                        /* NULL is allowed */
int session_become(struct session *s, struct session *draft, bool start, struct tr_err *err);

struct session_info {
	uid_t uid;
	gid_t gid;
	struct owner_groups groups;
	mode_t mode;            /* permission bits of the directory; 0700 after mkdir */
	bool active;
	bool gone;              /* removed; only references keep it */
	uint64_t starts;        /* number of starts */
	uint64_t change;        /* grows when `status` changes in more than its counters */
	int64_t created;        /* ns since the epoch */
	uint64_t rotate_size, rotate_period;    /* limits of a chunk: bytes, us; 0: none */
};
void session_info(struct session *s, struct session_info *info);
int session_chmod(struct session *s, mode_t mode);
/* (uid_t)-1, (gid_t)-1: unchanged */
int session_chown(struct session *s, uid_t uid, gid_t gid);

/*
 * Settings, by the names that session_settings.def and channel_settings.def give them. A read gives
 * a text that can be written. saved: as `config` has it. replace: the text is the whole list; for
 * settings that are lists.
 */
int session_show(struct session *s, const char *setting, bool saved, struct md_buf *out);
int session_store(struct session *s, const char *setting, const char *text, bool replace,
		  struct tr_err *err);

/* Text for `control`: the verbs that are accepted now, one a line. */
void session_verbs(struct session *s, struct md_buf *out);
/*
 * Runs the lines of one write to `control` (NUL-terminated): checks all, then runs them in order;
 * the first failure ends it, and err->line is its line. `stop` and `clear` are barriers.
 */
int session_control(struct session *s, const char *text, struct tr_err *err);
/*
 * The first half of `stop`: no event is recorded any more. It waits for no lock and no barrier.
 * 0: session_halted() has to follow, by any thread. -EAGAIN: nothing was done, use `stop`.
 */
int session_halt(struct session *s);
/* The rest of it: what `stop` does and says. May take long. */
int session_halted(struct session *s, struct tr_err *err);
void session_status(struct session *s, struct md_buf *out);

/* Text for `error`: failures since then that still hold. */
void session_troubles(struct session *s, struct md_buf *out);

/*
 * `counts`: a line for each event that was recorded since the first start or the last clear. Takes
 * as long as it takes to walk the events that were recorded since the last call.
 */
int counts_show(struct session *s, struct md_buf *out);
/* `stats`: rates and times of all events that are held, as tables. Walks them all. */
int stats_show(struct session *s, struct md_buf *out);
/* `top`: the rates of the last second; of an inactive session, of its last second. */
int top_show(struct session *s, struct md_buf *out);
/* `DOMAIN/rules`: a line for each event rule, with the events that it matches now, and its hits. */
int rules_show(struct session *s, enum domain domain, struct md_buf *out);

/* ---- maps: events that are aggregated in place of being recorded (map/map.h) ---- */

#define MAP_NAME_MAX 128

void maps_list(struct session *s, enum domain domain, struct md_buf *names);
bool map_exists(struct session *s, enum domain domain, const char *name);
int map_create(struct session *s, enum domain domain, const char *name, struct tr_err *err);
int map_destroy(struct session *s, enum domain domain, const char *name, struct tr_err *err);
enum map_file { MAP_RULES, MAP_VALUES, MAP_JSON, MAP_BUFFER_SIZE, MAP_MAX_KEYS };
/* The values have all events recorded before the call. -ENOENT: there is no such map. */
int map_show(struct session *s, enum domain domain, const char *name, enum map_file what,
	     struct md_buf *out);
/* As events_store. The values begin again. */
int map_store_rules(struct session *s, enum domain domain, const char *name, const char *text,
		    bool replace, struct tr_err *err);
/* MAP_BUFFER_SIZE; MAP_MAX_KEYS: the values begin again. 0 or -errno with a sentence. */
int map_store_setting(struct session *s, enum domain domain, const char *name, enum map_file what,
		      const char *text, struct tr_err *err);
int map_clear(struct session *s, enum domain domain, const char *name);        /* -ENOENT */

/* ---- channels: each domain has its own names ---- */

void channels_list(struct session *s, enum domain domain, struct md_buf *names);
int channel_create(struct session *s, enum domain domain, const char *channel, struct tr_err *err);
int channel_destroy(struct session *s, enum domain domain, const char *channel, struct tr_err *err);
bool channel_exists(struct session *s, enum domain domain, const char *channel);

int channel_show(struct session *s, enum domain domain, const char *channel, const char *setting,
		 struct md_buf *out);
int channel_store(struct session *s, enum domain domain, const char *channel, const char *setting,
		  const char *value, struct tr_err *err);
int channel_status(struct session *s, enum domain domain, const char *channel, struct md_buf *out);

/*
 * Event rules. channel NULL: channel0 of the domain, made by the first write that succeeds. text:
 * the complete lines of one write, of which all or none take effect. replace: the list becomes
 * these lines (an empty text empties it); else they are added, and `!` lines remove. Disabling is a
 * barrier.
 */
int events_show(struct session *s, enum domain domain, const char *channel, struct md_buf *out);
int events_store(struct session *s, enum domain domain, const char *channel, const char *text,
		 bool replace, struct tr_err *err);

/* Contexts: as event rules, but the first start fixes them (-EBUSY). */
int contexts_show(struct session *s, enum domain domain, const char *channel, struct md_buf *out);
int contexts_store(struct session *s, enum domain domain, const char *channel, const char *text,
		   bool replace, struct tr_err *err);
void available_contexts(struct md_buf *out);    /* names, one a line */

/*
 * Inclusion sets: which processes are recorded; written like lists of event rules. Excluding is a
 * barrier for each process. The sets from TRACK_PID on belong to the kernel domain; descendants of
 * TRACK_PID's processes are recorded, too. -EOPNOTSUPP: the backend does not support this
 * attribute, whose set is always `*`.
 */
int track_show(struct session *s, enum track_attr attr, struct md_buf *out);
int track_store(struct session *s, enum track_attr attr, const char *text, bool replace,
		struct tr_err *err);

/* ---- streams/OWNER/cpuN: whole CTF packets, live ---- */

int owners_list(struct session *s, const char *channel, struct md_buf *names);
int owner_streams(struct session *s, const char *channel, const char *owner, struct md_buf *names);
#define OWNER_KERNEL "kernel"   /* owner of the kernel domain's streams */

struct packet_stream;
int packet_stream_open(struct session *s, const char *channel, const char *owner, const char *name,
		       struct packet_stream **out);
/*
 * Copies packet bytes: > 0; 0 at the end (the session is inactive or removed and was active, and
 * all was delivered); -EAGAIN: nothing yet. The next call continues a packet that is larger than
 * the buffer. One caller at a time.
 */
ssize_t packet_stream_read(struct packet_stream *p, void *buf, size_t size);
void packet_stream_close(struct packet_stream *p);

/* ---- text and pipe ---- */

/*
 * The forms of a session's text: as babeltrace2 prints it (`text`), JSON (`export/json`), and both
 * with the names of code addresses (`text.symbols`, `export/json.symbols`).
 */
enum text_form { TEXT_PLAIN, TEXT_JSON, TEXT_SYMBOLS, TEXT_JSON_SYMBOLS, TEXT_FORMS };

static inline bool text_has_symbols(enum text_form form)
{
	return form == TEXT_SYMBOLS || form == TEXT_JSON_SYMBOLS;
}

struct iovec;
struct text_view;
/* One open of `text` or `export/json`: brings the session's text up to date. */
int text_open(struct session *s, enum text_form form, struct text_view **out);
/*
 * Bytes at an offset of the text, counted since the first start or clear. 0: the offset is the end
 * of the text as of the open; the next read moves that end to the present, so a reader that stops
 * at 0 ends and one that reads again follows. If the events at the offset were overwritten, the
 * open continues at the oldest event held, and its offsets are shifted from then on. One caller at
 * a time per view.
 */
ssize_t text_read(struct text_view *v, uint64_t offset, void *buf, size_t size);
/*
 * In place of a text_read that continues the one before, if all its bytes are formatted: sets parts
 * that are valid until the next call for v. Their number; 0: call text_read.
 */
int text_peek(struct text_view *v, uint64_t offset, size_t size, struct iovec *parts, int most);
/*
 * If the last read continued the one before: formats as many bytes for the next read, at most 256
 * KiB, while the reader uses those that it has. As text_read, one caller at a time per view.
 */
void text_ahead(struct text_view *v);
void text_close(struct text_view *v);
/* The size to show: text produced so far. Advances to the present while a view is open. */
uint64_t text_size(struct session *s, enum text_form form);

struct pipe_view;
int pipe_open(struct session *s, enum text_form form, struct pipe_view **out);
ssize_t pipe_read(struct pipe_view *v, void *buf, size_t size);        /* as packet_stream_read */
void pipe_close(struct pipe_view *v);

/* ---- export/: files that are made when they are opened ---- */

#if __has_include(<sqlite3.h>)
#define EXPORT_HAS_SQLITE 1     /* else no file has the form EXPORT_SQLITE */
#endif

enum export_form {
	EXPORT_CSV,
	EXPORT_SQL,
	EXPORT_SQLITE,
	EXPORT_LKET,
	EXPORT_CHROME,
	EXPORT_PERFETTO,
	EXPORT_FLAME,
	EXPORT_PAGE,
	EXPORT_FORMS
};

struct export_view;
/*
 * Makes the file of all events held now. It stays as it is until it is closed. -EDQUOT: it has more
 * bytes than views may hold (max_frozen).
 */
int export_open(struct session *s, enum export_form form, struct export_view **out);
/* Any number of threads. */
ssize_t export_read(struct export_view *v, uint64_t offset, void *buf, size_t size);
uint64_t export_view_size(const struct export_view *v);
void export_close(struct export_view *v);
/* The size of the file that was made last, since the last clear; 0: none. */
uint64_t export_size(struct session *s, enum export_form form);
/* Whether exports have names of code addresses; true if that cannot be said. */
bool export_has_names(struct session *s);

/* ---- trace/: trace images ---- */

struct trace_image;
struct image_file {
	char *path;	/* "ust/uid/0/64-bit/channel0_0", "…/metadata", "…/index/channel0_0.idx" */
	uint64_t size;          /* bytes; constant */
	int64_t mtime;          /* time of its newest event, ns since the epoch */
};
/* Takes an image of metadata and all streams together. */
int image_take(struct session *s, struct trace_image **out);
/* The same for chunks that rotations moved to the archives: paths begin with the archive's name. */
int image_take_archives(struct session *s, struct trace_image **out);
/*
 * The same for export/ltt/: all events as an LTT trace. -EOVERFLOW: it has more event classes than
 * LTT has ids.
 */
int image_take_ltt(struct session *s, struct trace_image **out);
/* The same for export/lket/: LKET's files. -EOVERFLOW: more event classes than it has ids. */
int image_take_lket(struct session *s, struct trace_image **out);
size_t image_files(struct trace_image *m, const struct image_file **files);	/* sorted by path */
/*
 * Reads bytes of file i. The first read of a stream file copies it out of its ring (-EDQUOT beyond
 * max_frozen). Sub-buffers that were overwritten since the image was taken become empty packets of
 * the same size, so the file's size is constant. Any number of threads.
 */
ssize_t image_read(struct trace_image *m, size_t i, uint64_t offset, void *buf, size_t size);
struct trace_image *image_get(struct trace_image *m);
void image_put(struct trace_image *m);
/*
 * Writes the image's files below a directory in LTTng's layout, with the rights of the calling
 * thread. 0 or -errno.
 */
struct image_sink {
	int dir;
	mode_t mode;                                    /* of directories; files get no x */
	/* called after each write with the number of bytes; not 0 ends the save; may be NULL */
	int (*piece)(void *arg, uint64_t bytes);
	/* called for a complete file with a descriptor to own; may be NULL */
	void (*file)(void *arg, int fd);
	/* reads bytes of file i; NULL: image_read */
	ssize_t (*read)(void *arg, size_t i, uint64_t offset, void *buf, size_t size);
	void *arg;
};
int image_save(struct trace_image *m, const struct image_sink *to);

/* ---- snapshots/: trace images that last until they are removed ---- */

#define SNAPSHOT_NAME_MAX 200

/*
 * Copies what the rings hold now; only the newest packets if snapshot_max_size is set. name NULL:
 * snapshot-DATE-TIME-N. -EDQUOT beyond max_frozen.
 */
int snapshot_create(struct session *s, const char *name, struct tr_err *err);
int snapshot_destroy(struct session *s, const char *name, struct tr_err *err);
void snapshots_list(struct session *s, struct md_buf *names);
/* Returns the snapshot's image with a reference; -ENOENT. */
int snapshot_get(struct session *s, const char *name, struct trace_image **out, int64_t *created);
/* Whether it is the image of a snapshot that was removed. */
bool image_ended(const struct trace_image *m);

#endif
