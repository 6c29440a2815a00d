/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions and channels, as the tree shows them: made, removed, set up, listed. face/tracer.h has
 * the verbs. Any thread.
 */
#ifndef TRACER_SESSIONS_H
#define TRACER_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "metadata/buf.h"
#include "tracer/base/base.h"
#include "tracer/base/err.h"
#include "tracer/base/os/cred.h"
#include "tracer/base/rule/rule.h"

struct tracer;
struct session;

int session_create(struct tracer *t, const char *name, const struct owner *owner,
		   struct tr_err *err);
int session_destroy(struct tracer *t, const char *name, struct tr_err *err);
struct session *session_get(struct tracer *t, const char *name);       /* NULL: there is none */
void session_put(struct session *s);                                   /* NULL is allowed */
void sessions_list(struct tracer *t, struct md_buf *names);            /* separated by NULs */

/*
 * Writes that a daemon may get again after an earlier one was killed. request: a number that no
 * other write has. Between the two calls, a change that the calling thread makes in a session is
 * saved together with the number; session_write_end returns it. session_write_done: a daemon has
 * made the change. (session_control has numbers of its own.)
 */
void session_write_begin(uint64_t request);
uint64_t session_write_end(void);
uint64_t session_write_number(void);    /* of the calling thread; 0: none */
bool session_write_done(struct session *s, uint64_t request);

#define OWNER_KERNEL "kernel"   /* owner of the kernel domain's streams */

/* The process that writes a line to `log`. */
struct log_writer {
	uid_t uid;
	gid_t gid;
	uint32_t pid, tid;      /* 0: unknown */
};

struct session_info {
	uid_t uid;
	gid_t gid;
	struct owner_groups groups;
	mode_t mode;            /* permission bits of the directory; 0700 after mkdir */
	bool active;
	bool gone;              /* removed; only references keep it */
	uint64_t starts;        /* number of starts */
	uint64_t change;        /* grows when `status` changes in more than its counters */
	int64_t created, started;       /* ns since the epoch; started 0: never */
	uint64_t rotate_size, rotate_period;    /* limits of a chunk: bytes, us; 0: none */
};
void session_info(struct session *s, struct session_info *info);
/*
 * How often the events of the session were cleared. Grows before they are, and is kept for the next
 * daemon.
 */
uint64_t session_clears(const struct session *s);
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

/*
 * A view of the session had no room: fills err with the limit, and what is left of it now. Returns
 * -EDQUOT. Any thread, without locks.
 */
int session_no_room(struct session *s, struct tr_err *err);

/* `status`, or with json `status.json`. */
void session_status(struct session *s, bool json, struct md_buf *out);

/* ---- channels: each domain has its own names ---- */

void channels_list(struct session *s, enum domain domain, struct md_buf *names);
int channel_create(struct session *s, enum domain domain, const char *channel, struct tr_err *err);
int channel_destroy(struct session *s, enum domain domain, const char *channel, struct tr_err *err);
bool channel_exists(struct session *s, enum domain domain, const char *channel);

int channel_show(struct session *s, enum domain domain, const char *channel, const char *setting,
		 struct md_buf *out);
int channel_store(struct session *s, enum domain domain, const char *channel, const char *setting,
		  const char *value, struct tr_err *err);
/* `status`, or with json `status.json`. 0 or -ENOENT. */
int channel_status(struct session *s, enum domain domain, const char *channel, bool json,
		   struct md_buf *out);

/*
 * Event rules. channel NULL: channel0 of the domain, made by the first write that succeeds. text:
 * the complete lines of one write, of which all or none take effect. replace: the list becomes
 * these lines (an empty text empties it); else they are added, and `!` lines remove. Disabling is a
 * barrier.
 */
int events_show(struct session *s, enum domain domain, const char *channel, struct md_buf *out);
int events_store(struct session *s, enum domain domain, const char *channel, const char *text,
		 bool replace, struct tr_err *err);
/*
 * Checks and applies the rules that wait for their events (`?`) again. As events_store; -EAGAIN if
 * that fails for one of them: the first such call tells its session why.
 */
int events_again(struct session *s, enum domain domain, const char *channel);

/* Contexts: as event rules, but the first start fixes them (-EBUSY). */
int contexts_show(struct session *s, enum domain domain, const char *channel, struct md_buf *out);
int contexts_store(struct session *s, enum domain domain, const char *channel, const char *text,
		   bool replace, struct tr_err *err);
void available_contexts(struct md_buf *out);    /* names, one a line */

/* Names of `streams/`, and of one of its directories, separated by NULs. */
int owners_list(struct session *s, const char *channel, struct md_buf *names);
int owner_streams(struct session *s, const char *channel, const char *owner, struct md_buf *names);

/*
 * Tells the administrator, as tracer_report (session.h), of a session: `session NAME: …`. Any
 * thread, with tracer.lock or without.
 */
void session_report(const struct session *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
