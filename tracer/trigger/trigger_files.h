/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files below triggers/ are made of: all that fs/ sees of this room.
 *
 * Functions return 0 or -errno and explain mistakes in a tr_err. Any thread; none waits for an
 * application or for an action. A trigger is referenced (trigger_get, trigger_put).
 */
#ifndef TRACER_TRIGGER_TRIGGER_FILES_H
#define TRACER_TRIGGER_TRIGGER_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"
#include "tracer/base/os/cred.h"

struct notices;
struct tracer;
struct trigger;

#define TRIGGER_NAME_MAX 200    /* bytes */
#define TRIGGER_VIEW_MAX 211    /* bytes; of the name that a user sees: NAME or NAME@UID */

/*
 * Each user has names of his own. A user sees his triggers under their names, and those of others
 * that are shared by their mode as NAME@UID. Root and the daemon's user see all triggers: one of
 * another user as NAME, if no other trigger has this name, else as NAME@UID.
 */

/*
 * -EEXIST: this owner has it already; -ENAMETOOLONG, -EINVAL; -EDQUOT and -ENOSPC: the user, the
 * daemon has too many.
 */
int trigger_create(struct tracer *t, const char *name, const struct owner *owner,
		   struct tr_err *err);
/*
 * Removes the one that the viewer sees under this name. Actions that have begun end by themselves.
 * -ENOENT.
 */
int trigger_destroy(struct tracer *t, const char *name, uid_t viewer, struct tr_err *err);
/* The one that the viewer sees under this name. NULL: there is none. */
struct trigger *trigger_find(struct tracer *t, const char *name, uid_t viewer);
/* serial: of trigger_info. NULL: it was removed. */
struct trigger *trigger_get(struct tracer *t, uint64_t serial);
void trigger_put(struct trigger *trigger);                    /* NULL is allowed */
/* The names that the viewer sees, separated by NUL. */
void triggers_list(struct tracer *t, uid_t viewer, struct md_buf *names);
uint32_t triggers_count(struct tracer *t);

struct trigger_info {
	uid_t uid;
	gid_t gid;
	struct owner_groups groups;
	mode_t mode;            /* permission bits of the directory; 0700 at first */
	int64_t created;        /* ns since the epoch */
	uint64_t serial;        /* unique in the life of a daemon */
	uint64_t change;        /* grows with each change of `status` */
};
void trigger_info(struct trigger *trigger, struct trigger_info *info);
int trigger_chmod(struct trigger *trigger, mode_t mode);
/* (uid_t)-1, (gid_t)-1: leave. -EEXIST: the new owner has a trigger of this name. */
int trigger_chown(struct trigger *trigger, uid_t uid, gid_t gid);

enum trigger_file { TRIGGER_CONDITION, TRIGGER_ACTIONS, TRIGGER_ENABLED, TRIGGER_STATUS };
/* The text of a file, in a form that trigger_store accepts (but for TRIGGER_STATUS). */
void trigger_show(struct trigger *trigger, enum trigger_file what, struct md_buf *out);
/*
 * What one write has for a file. TRIGGER_ACTIONS: replace: these lines become the list, else they
 * are added. All or nothing.
 */
int trigger_store(struct trigger *trigger, enum trigger_file what, const char *text, bool replace,
		  struct tr_err *err);
/* As session_write_done, of the three files. */
bool trigger_write_done(struct trigger *trigger, uint64_t request);
/*
 * Whether this user may write the condition. elsewhere: a path in it may mean another file to the
 * writer than to the daemon. -EACCES or -EOPNOTSUPP; a text with another mistake is no error here.
 */
int trigger_check_writer(struct trigger *trigger, const char *condition, const struct owner *writer,
			 bool elsewhere, struct tr_err *err);
/* All three at once. A mistake is in `*wrong`. */
int trigger_load(struct trigger *trigger, const char *condition, const char *actions, bool enabled,
		 enum trigger_file *wrong, struct tr_err *err);

/*
 * One open of `notifications`: a queue of lines, from its open on. -EMFILE: there are too many.
 * notices_read: bytes, of whole lines if one fits; 0 at the end (the trigger was removed), -EAGAIN.
 * One caller at a time.
 */
int notices_open(struct trigger *trigger, bool json, struct notices **out);
ssize_t notices_read(struct notices *n, void *buf, size_t size);
/* For the next daemon: how many notifications of the trigger the reader knows of, also as lost. */
uint64_t notices_number(struct notices *n);
/* A new open whose reader had `number` by notices_number: later notifications count as lost. */
void notices_resume(struct notices *n, uint64_t number);
/*
 * hold() is called with triggers.lock held when an empty queue gets something to read; it keeps the
 * open file. serve() is called after that without a lock, and ends what hold() began. hold NULL: it
 * is not called any more; serve() still ends what was begun.
 */
struct notices_watcher {
	void (*hold)(void *arg);
	void (*serve)(void *arg);
	void *arg;
};
void notices_watch(struct notices *n, const struct notices_watcher *watcher);
void notices_close(struct notices *n);

#endif
