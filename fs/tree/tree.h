/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree/: the name space as tables of rows. A row says everything about one file or directory: its
 * name and mode, and what reading, writing, listing, making and removing mean there. Lookup,
 * readdir, getattr and open derive from it, so that a new file is one row and its functions.
 *
 *	tree.c                  lookup, readdir, getattr, mkdir, rmdir, chmod on any row
 *	listing.c               lists of names
 *	root.c, readme.c        the rows of the mount's root, and its README
 *	apps.c, kernel.c        the rows of apps/ and of available/kernel/
 *	session.c, channel.c    the rows of a session and of a channel (rows.h: shared)
 *	text.c                  the views text and pipe
 *	agent.c                 the rows of the domains of agents
 *	export.c                the rows of export/
 *	map.c                   the rows of a map
 *	session_config.c        the file `config` of a session (session_config.h)
 *	trigger.c               the rows of a trigger
 *	trigger_config.c        the file `config` of a trigger, and triggers.d (trigger_config.h)
 *	tracedir.c              trace/ and snapshots/NAME/ (tracedir.h)
 *	errors.c                the files `error` (errors.h)
 *	node.c                  the nodes that the kernel knows (node.h)
 *	recall.c                the nodes that an earlier daemon of this mount knew (recall.h)
 *
 * Locks: node.c has one for its table, errors.c one for its entries, tracedir.c one for its slots.
 *
 * Permissions are the kernel's work (mount option default_permissions): it checks the modes and
 * owners that tree_attr reports against the credentials of the process itself, at each step of a
 * path and at open. Inside a session the mode of a file is that of its row as far as the session's
 * directory has the bit: chmod g+rx of the session lets the group read everything, g+w lets it also
 * write what can be written.
 */
#ifndef FS_TREE_TREE_H
#define FS_TREE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "fs/base/base.h"
#include "fs/tree/node.h"
#include "metadata/buf.h"
#include "tracer/base/err.h"

/* How what is written to a file is understood (fs/fuse/control.c). */
enum store_how {
	STORE_VALUE,    /* one word: store gets it without quotes */
	/* the same; shown as the words that there are, the one that was chosen in brackets */
	STORE_CHOICE,
	STORE_LINES,    /* lines; comments are blanked */
	/* the same; the two addresses of a relay may come in two writes of an open */
	STORE_PAIR,
	/* as STORE_LINES, and the first write of an open with O_TRUNC replaces the list */
	STORE_LIST,
	STORE_RAW,      /* lines as they are, of any bytes but NUL */
	STORE_WHOLE,    /* all writes of an open together, when it is closed */
};

struct notices_watcher;         /* tracer/trigger/trigger_files.h */
struct view_place;              /* tracer/view/views.h */

/*
 * A file whose reads continue, instead of showing one text: pipe, streams, wait, text. Reads that
 * have to wait are in fs/fuse/waiter.c.
 */
#define VIEW_PARTS 4

struct view {
	int (*open)(const struct node *n, void **state);
	/*
	 * As packet_stream_read of the tracer; one caller at a time. Views that stream ignore the
	 * offset.
	 */
	ssize_t (*read)(void *state, uint64_t offset, void *buf, size_t size);
	/*
	 * In place of a read, if all bytes are there and one copy of them can be spared: sets parts
	 * that are valid until the next call. Their number; 0: call read(). May be NULL.
	 */
	int (*peek)(void *state, uint64_t offset, size_t size, struct iovec parts[VIEW_PARTS]);
	/* After a read was answered: prepares the next one. As read(); may be NULL. */
	void (*ahead)(void *state);
	void (*close)(void *state);
	/* not seekable; a read blocks while there is nothing (-EAGAIN) and can be polled for */
	bool streams;
	/* what it waits for is always announced by the tracer's `changed` */
	bool silent;
	/*
	 * Data come with a call: when read() returned -EAGAIN, hold(arg) and then, without a lock,
	 * serve(arg) are called once there may be some. May be NULL. Called again with hold NULL
	 * before close(): then only the serve(arg) of earlier holds are still called.
	 */
	void (*watch)(void *state, const struct notices_watcher *watcher);
	/* What `resume` has to know besides the bytes that the reader got. May be NULL. */
	uint64_t (*number)(void *state);
	/*
	 * The same; bytes of two eras did not follow each other in the text. May be NULL: there is
	 * one.
	 */
	uint64_t (*era)(void *state);
	/* As pipe_rest of the tracer. May be NULL. */
	size_t (*rest)(void *state, char *buf, size_t size);
	/*
	 * Copies what `resume` gets as the bytes, in place of the last that the reader got; returns
	 * its size, at most `size`. unread: how many bytes of the last read() the reader did not
	 * get yet. May be NULL.
	 */
	size_t (*place)(void *state, size_t unread, void *buf, size_t size);
	/*
	 * Of an open in place of one that a killed daemon had: moves it to where its reader is. 0,
	 * or -ESTALE: it cannot continue there. NULL: it can if the reader has got nothing.
	 */
	int (*resume)(void *state, const struct view_place *place);
};

struct listing;

struct tree_row {
	/* NULL: names are given by find and list of the row above */
	const char *name;
	mode_t mode;
	/* directory: what is always there, ended by a row without mode */
	const struct tree_row *rows;
	int (*find)(const struct node *dir, const char *name, const struct who *who,
		    struct found *found);
	void (*list)(const struct node *dir, const struct who *who, struct listing *out);
	int (*make)(const struct node *dir, const char *name, const struct who *who,
		    struct tr_err *err);
	int (*remove)(const struct node *dir, const char *name, const struct who *who,
		      struct tr_err *err);
	/* of a directory with a mode and an owner of its own; UINT32_MAX leaves a value */
	int (*chmod)(const struct node *n, mode_t mode);
	int (*chown)(const struct node *n, uid_t uid, gid_t gid);
	/*
	 * Of a directory whose file `error` has what failed in it and below: its name there, and
	 * when it was made, which tells apart those of one name. False: it was removed.
	 */
	bool (*top)(const struct node *n, int64_t *made, char *name, size_t size);
	/* changes what tree_attr says */
	int (*attr)(const struct node *n, const struct who *who, struct stat *st);
	bool lasting;   /* what it says stays the same as long as the node exists */
	int (*show)(const struct node *n, const struct who *who, struct md_buf *out);
	/* Made at open, so that stat(2) can say its size until a read at offset 0 renews it. */
	bool sized;
	/* A setting, as `config` has it; NULL: as `show` has it. */
	int (*save)(const struct node *n, const struct who *who, struct md_buf *out);
	int (*store)(const struct node *n, const struct who *who, const char *text, bool replace,
		     struct tr_err *err);
	enum store_how how;
	/* a part of `config` (session_config.h); of a directory: what is below, too */
	bool setting;
	const struct view *view;
	/* A number that grows when a poll for POLLPRI on the file shall be answered. */
	uint64_t (*change)(const struct node *n);
	int arg;                        /* for functions that serve several rows */
};

extern const struct tree_row root_row, session_row;

/* What a directory holds, at one moment. */
struct entry {
	uint64_t ino;
	mode_t mode;            /* the type bits count */
	size_t name;            /* offset in names */
};

struct listing {
	const struct node *dir;
	struct md_buf names;    /* ended by NUL each */
	struct md_buf entries;  /* struct entry each */
	int err;                /* -errno: they cannot be listed */
};

void listing_add(struct listing *l, const char *name, const struct tree_row *row, uint64_t salt);
void listing_add_all(struct listing *l, struct md_buf *names, const struct tree_row *row);
void listing_sort(struct listing *l);   /* by name */
size_t listing_count(const struct listing *l);
const struct entry *listing_at(const struct listing *l, size_t i, const char **name);
void listing_deinit(struct listing *l);

/*
 * Names as the tracer gives them, separated by NUL; whether NUL ends the last one, too, makes no
 * difference. p NULL: the first one. NULL: no more.
 */
const char *names_next(struct md_buf *names, const char *p);
bool names_have(struct md_buf *names, const char *name);

/* Data of the node's view come without an announcement now. */
bool tree_unannounced(const struct node *n);

int tree_find(const struct node *dir, const char *name, const struct who *who, struct found *found);
/* In the order of names. */
int tree_list(const struct node *dir, const struct who *who, struct listing *out);
/* As the process of the request sees it. */
int tree_attr(const struct node *n, const struct who *who, struct stat *st);
/*
 * mkdir and rmdir; they explain what went wrong in the error file. again: a daemon that was killed
 * may have done it.
 */
int tree_make(const struct node *dir, const char *name, const struct who *who, bool again);
int tree_remove(const struct node *dir, const char *name, const struct who *who, bool again);
/* Everything else that changes a directory: -EPERM, and the error file says what to do instead. */
int tree_refuse(const struct node *dir, const char *what, const char *name, const struct who *who);
/* chmod and chown; UINT32_MAX leaves a value. */
int tree_chmod(const struct node *n, mode_t mode, const struct who *who);
int tree_chown(const struct node *n, uid_t uid, gid_t gid, const struct who *who);
/* Whether a write of this number to the file is in effect: session_write_done of the tracer. */
bool tree_write_done(const struct node *n, uint64_t request);
/* The session was removed; what is below its directory only lives on for those who have it open. */
bool tree_gone(const struct node *n);

#endif
