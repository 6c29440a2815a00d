/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open files and directories: one struct file for each open(2).
 *
 * A file that shows text keeps the text that a read began with, so that one reader sees one state;
 * a read at offset 0 makes it again. A file of a view hands reads to its waiter. A file of trace/
 * reads from its trace image.
 */
#ifndef FS_FUSE_FILE_H
#define FS_FUSE_FILE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "fs/base/handover.h"
#include "fs/tree/tree.h"

struct fuse_pollhandle;
struct fuse_req;
struct waiter;

struct file {
	uint64_t handle;                /* the kernel's number for it */
	struct handover_file *kept;     /* its entry for the next daemon; NULL: none */
	const struct node *node;        /* referenced (node_hold): the kernel may forget it first */
	struct who who;                 /* the opener */
	int flags;                      /* of open */
	/* of a view, or of a file that can be polled for changes; else NULL */
	struct waiter *waiter;

	/*
	 * Guards the rest: threads of a process may use one open file at once. Never held while the
	 * tracer is called; text for it is taken out, or put in, as a whole.
	 */
	pthread_mutex_t lock;
	struct md_buf shown;            /* text: the contents */
	bool is_shown;
	bool is_fresh;                  /* made at open; the first read does not make it again */
	int64_t since;                  /* chores_clock at open; constant */
	bool recalled;                  /* an earlier daemon showed it: the rest must fit */
	struct listing listing;         /* directory: the same */
	uint64_t listed;                /* hash of its names */
	size_t begins;                  /* entries before this one are not in it */
	struct md_buf tail;             /* control.c: an unfinished line that waits for its rest */
	bool commented;                 /* control.c: a comment was written alone */
	bool wrote;                     /* the first write was applied */
	int failed;                     /* -errno of a write that failed: no more are taken */
	bool lost;                      /* a part of the text is lost with a killed daemon */
	uint64_t taken;                 /* the write that an earlier daemon has added to the tail */
	struct md_buf addresses;        /* control.c: of a pair, what earlier writes have */
	size_t parts;                   /* control.c: bytes of writes that follow each other */
	LIST_ENTRY(file) link;          /* guarded by the lock of the list in file.c */
};

/* unique: the request. */
int file_open(const struct node *n, const struct who *who, int flags, uint64_t unique,
	      struct file **out);
/*
 * The file of a handle. One that an earlier daemon had open is opened again. NULL: that cannot be
 * done, or there is none: ESTALE.
 */
struct file *file_by_handle(uint64_t handle);
/*
 * Files of an earlier daemon's may be open that are not recalled. Those of images of trace/ are at
 * once, because an image ends if no file of it is open; and those of views with `watch`, because
 * only an open gets what comes.
 */
void file_left(void);
/*
 * Recalls the files that are open on this node, because the size of some depends on whether they
 * are open, and on where their readers are: before the attributes of the node are shown.
 */
void file_recall_node(uint64_t node);
/*
 * Programs that copy a file, as web servers do, ask for its size after they opened it, and send as
 * many bytes. Whether this user opened the file just now and its text has a size; then *size is it.
 */
bool file_opened_size(const struct node *n, const struct who *who, off_t *size);
/* The kernel releases a handle; also one that file_by_handle does not find. */
void file_release(uint64_t handle);
/* What the daemon still has open when the mount has gone. */
void file_close_all(void);

/* resume.c: what of an open file is noted for the next daemon, and read back from an earlier one */

/*
 * After handover_take and channel_resume: which opens and reads were answered, and which were not;
 * wakes those who poll. The two functions are those of channel.h.
 */
void file_recall_all(bool (*unanswered)(uint64_t unique), void (*wake)(int fd, uint64_t poll),
		     int fd);
/*
 * Whether something that was written to a file, whose node is not there any more, is not in effect.
 */
bool file_lost(const struct handover_file *kept);
/* f was made of its entry: sets what a reader or writer would find in it. */
void file_resume(struct file *f);
/* An earlier daemon had begun to show its contents, and this one has not. */
bool file_is_recalled(const struct file *f);
/* The state of writes has changed. Caller holds f->lock. */
void file_note_writes(struct file *f);
/* The text that a read began with, and whether the rest of an earlier daemon's is this one. */
void file_note_text(struct file *f, const struct md_buf *text);

/*
 * Answers the request, now or later. cached: the kernel reads for its page cache, on behalf of
 * sendfile(2), splice(2) or a mapping. That is refused but for trace/: pages are shared by all who
 * have a file open, but each open of text has its own place. A program that tried sendfile falls
 * back to read(2).
 */
void file_read(struct file *f, struct fuse_req *req, uint64_t offset, size_t size, bool nonblock,
	       bool cached);
/* 0, or what close(2) shall report. */
int file_flush(struct file *f);
/* The same of a handle that file_by_handle does not find. */
int file_flush_lost(uint64_t handle);
unsigned file_poll(struct file *f, struct fuse_pollhandle *ph);
/*
 * The entries from number `from` on, for this request: calls add until it returns false. from 0
 * lists again.
 */
int file_list(struct file *f, uint64_t unique, size_t from,
	      bool (*add)(void *arg, size_t i, const char *name, const struct entry *e), void *arg);

#endif
