/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handover.c: what the next daemon must know to serve the same mount, in memory that the keeper
 * holds: which node an inode number means, which file a handle means and how far its reader is, and
 * which requests are with a thread. The daemon writes it as it answers, so that it is right at
 * whatever instruction the daemon is killed.
 *
 * The next daemon checks all that it reads back: the size, the version, that numbers are within
 * their tables and that texts end. What is not valid is as if it was not there: the node or file
 * answers ESTALE.
 *
 * If memory is short, or after handover_end, all functions do nothing and find nothing: then the
 * daemon works, and its mount ends with it.
 *
 * Threads: each entry has one writer at a time: that of a node holds the lock of the table of nodes
 * (fs/tree/node.c), that of a file holds the lock of the list of files (fs/fuse/file.c) to take or
 * free an entry, and what it uses the entry under otherwise; an entry of `doing` is one thread's.
 * A killed process leaves the stores that it made in their order; the compiler keeps the order of
 * those that use __atomic with __ATOMIC_RELEASE. They pair with nothing in this process.
 */
#ifndef FS_BASE_HANDOVER_H
#define FS_BASE_HANDOVER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "fs/base/base.h"

#ifndef HANDOVER_VERSION        /* (tests have a build with another one) */
#define HANDOVER_VERSION 5u
#endif
#define HANDOVER_NODES 65536u   /* nodes that can be handed over; a power of two */
#define HANDOVER_SHORT 44u      /* bytes of a name in its node's entry */
#define HANDOVER_NAMES 4096u    /* names that are longer */
#define HANDOVER_FILES 2048u    /* open files and directories that can be handed over */
#define HANDOVER_THREADS 64u    /* that serve requests */
#define HANDOVER_EARLIER 256u   /* requests of daemons before, a multiple of the threads */
#define HANDOVER_PARKED 4096u   /* reads that wait */
#define HANDOVER_IMAGES 32u     /* images of trace/ that the keeper has */
#define HANDOVER_IMAGES_ALL 256u        /* with those that end with their daemon */
#define HANDOVER_BYTES 4048u    /* of what a file has given last */
#define HANDOVER_TEXTS 16u      /* texts that wait for their rest */
#define HANDOVER_TEXT (256u << 10)      /* bytes of one; a multiple of the size of a page */
#define HANDOVER_REPLY 256u     /* bytes of a reply that is kept */
#define HANDOVER_HEADER 40u     /* bytes of the header of a message (struct fuse_in_header) */
#define HANDOVER_NONE UINT32_MAX

/* A node that the kernel knows. id 0: the entry is free. */
struct handover_node {
	uint64_t id, parent;
	uint64_t known;         /* how often the kernel has looked it up */
	uint64_t salt;          /* struct found; tells apart things of one name */
	uint64_t size;          /* of a file of a trace image */
	int64_t mtime;
	uint64_t looked;        /* the request that `known` has counted last */
	uint32_t uid, gid;      /* of the process that looked it up */
	int32_t pid;
	uint32_t flags;
	uint32_t longer;        /* 0: the name is below; else, less one, the entry for long names */
	char name[HANDOVER_SHORT];
};
#define HANDOVER_REMOVED 1u     /* of flags: the name means another node now */
#define HANDOVER_IMAGE 2u       /* a file of a trace image */
#define HANDOVER_SETTLED 4u     /* an image that the next daemon has, too */

/*
 * What a reader was given. There are two for each file, because a read may have been taken from the
 * file and not delivered: then the reader is at the other one.
 */
struct handover_given {
	uint64_t unique;        /* the request that got the newest of it */
	uint64_t end;           /* bytes given in all, or the offset of the end of `bytes` */
	uint32_t len;
	uint32_t more;          /* 1: the request got, or the text has, more than `bytes` */
	uint64_t number, era;   /* the view's own */
	uint32_t rest;          /* bytes that follow in the line; HANDOVER_NONE: not known */
	uint32_t unused;
	uint8_t bytes[HANDOVER_BYTES];  /* `len`, then `rest` */
};

/* An open file or directory. handle 0: the entry is free. */
struct handover_file {
	uint64_t handle;        /* of this entry: its low half is the number of the entry */
	uint64_t node;
	uint64_t opening;       /* the request that opened it */
	uint64_t poll;          /* the kernel's handle of the last poll; 0: none */
	uint32_t uid, gid;
	int32_t pid, flags;
	uint32_t which;         /* index in `given` of the newest */
	int32_t failed;         /* of a control file: -errno of a write that failed */
	uint32_t state;         /* HANDOVER_… below */
	uint32_t text;          /* 0: none; else, less one, the entry of what was written */
	struct handover_given given[2];
};
#define HANDOVER_WROTE 1u       /* of state: a write was applied */
#define HANDOVER_COMMENTED 2u   /* a comment was written alone */
#define HANDOVER_PARTIAL 4u     /* a text is incomplete; if it has no entry, it is lost */
#define HANDOVER_SHOWN 8u       /* given[0] has a text or listing */
/* of a view: the newest of `given`, which is not `which` any more, was not delivered */
#define HANDOVER_UNDELIVERED 16u

/*
 * What was written to a file and waits for its rest. The entry is free if there is no file of this
 * handle, or it names another entry. There are two parts, so that one is valid at any time.
 */
struct handover_text {
	uint64_t handle;        /* of the file; atomic */
	uint32_t which;         /* index in `parts` of the valid one */
	uint32_t unused;
	struct {
		uint64_t unique;        /* the write that was added last */
		uint32_t half;          /* index in `bytes` */
		uint32_t len, more;     /* bytes of the text, then of what earlier writes had */
	} parts[2];
	_Alignas(4096) uint8_t bytes[2][HANDOVER_TEXT]; /* as mmap(2) aligns the table */
};

/* A request that a thread has. */
struct handover_doing {
	uint64_t unique;        /* 0: none */
	uint32_t opcode;
	uint32_t len;           /* of the reply; 0: there is none yet */
	uint8_t reply[HANDOVER_REPLY];
};

/* An image of trace/, archives/ and the like: kept_image.c. serial 0: the entry is free. */
struct handover_image {
	uint64_t serial;
	int64_t created;        /* of the session, ns since the epoch */
	uint64_t alike;         /* two images with the same number here have the same bytes */
	uint64_t start;         /* of the process that it is for: struct process */
	int32_t pid;
	uint32_t uid;
	uint32_t form;          /* enum tracedir_form */
	uint32_t unused;
};

/* One table for each daemon. */
struct handover_head {
	uint32_t magic, version;
	uint64_t size;
	uint32_t taken;         /* how many daemons have taken it over */
	uint32_t library;       /* version of libfuse */
	uint64_t next_node;     /* no node has this id or a later one */
	uint64_t next_handle;   /* the same, of the high half of handles */
	int64_t born;           /* struct fs */
	uint32_t node_count, file_count, name_count;    /* entries that were ever used */
	uint32_t init_len, init_reply_len;
	uint8_t init[HANDOVER_REPLY];   /* the message by which the kernel began the connection */
	uint8_t init_reply[HANDOVER_REPLY];
	char device[24];        /* of the file system, as the mount table has it */
	char path[PATH_MAX];    /* where it is mounted */
	uint64_t parked[HANDOVER_PARKED];       /* requests; 0: none */
	struct handover_image images[HANDOVER_IMAGES_ALL];
	/*
	 * Of the message that a thread has read last: the kernel itself writes it here, so no
	 * message is with a daemon that is not here.
	 */
	uint64_t reading[HANDOVER_THREADS][HANDOVER_HEADER / 8];
	struct handover_doing doing[HANDOVER_THREADS];
	struct handover_doing earlier[HANDOVER_EARLIER];        /* of killed daemons */
};

/* Makes an empty table. 0 or -errno. */
int handover_begin(const char *path);
/* Takes over that of an earlier daemon. Owns fd if it returns 0. -EPROTO: it is of no use. */
int handover_take(int fd);
/* The same with a copy, so that the daemon whose table it is does not notice. */
int handover_try(int fd);
/*
 * Whether fd is a table of a version that this daemon takes; then copies path and device. Leaves fd
 * open.
 */
bool handover_look(int fd, char path[PATH_MAX], char device[24]);
/* Forgets the table. Nothing may use it any more. */
void handover_end(void);
/* NULL: there is none. */
struct handover_head *handover_head(void);
int handover_fd(void);

/* ---- requests ---- */

/* What an earlier daemon has noted of a request; NULL: none has begun it. */
struct handover_doing *handover_earlier(uint64_t unique);
/*
 * What the threads of the daemon before this one had goes to what is left of earlier daemons.
 * Before a thread serves.
 */
void handover_move_doing(void);

/* ---- nodes; the caller holds the lock of the table of nodes ---- */

/* A free entry, or HANDOVER_NONE: there is no room. The caller sets id last. */
uint32_t handover_node_new(void);
void handover_node_free(uint32_t index);
/* Of an entry from handover_node_new. False: it is too long, or there is no room. */
bool handover_node_set_name(struct handover_node *n, const char *name);
const char *handover_node_name(const struct handover_node *n);
/* NULL if index is HANDOVER_NONE. */
struct handover_node *handover_node(uint32_t index);
/* NULL if no entry from this one on was ever used. An entry without id is free. */
struct handover_node *handover_node_used(uint32_t index);

/* ---- files; the caller holds the lock of the list of files ---- */

/* The entry of a handle, or NULL. */
struct handover_file *handover_file(uint64_t handle);
/* A free entry with a handle of its own; NULL: there is no room. */
struct handover_file *handover_file_new(void);
/* After handover_drop_text. */
void handover_file_free(struct handover_file *f);
/* As handover_node_used. An entry without handle is free. */
struct handover_file *handover_file_used(uint32_t index);

/* Of the bytes that a request gets. */
struct handover_read {
	uint64_t unique;        /* the request */
	uint64_t end;           /* the reader is there after them */
	uint64_t number, era;   /* the view's own */
	const char *rest;       /* of the line; NULL: it is not known */
	size_t rest_len;        /* at most HANDOVER_REST */
};
#define HANDOVER_REST (HANDOVER_BYTES / 2)

/*
 * Adds n bytes, before the reply is sent. If the reader was not at end - n, or the era is another
 * one, what it got before is forgotten. f NULL: does nothing.
 */
void handover_give(struct handover_file *f, const struct handover_read *r, const void *bytes,
		   size_t n);
/*
 * The same for a view that continues from a place, not from bytes: at most HANDOVER_BYTES that
 * stand for them. end: bytes given in all. f NULL: does nothing.
 */
void handover_give_place(struct handover_file *f, uint64_t unique, const void *place, size_t n,
			 uint64_t end);
/* The newest bytes did not reach the reader. */
void handover_take_back(struct handover_file *f);
/* Sets given[0] to a text as a whole, or to its length and a hash. f NULL: does nothing. */
void handover_show(struct handover_file *f, const void *text, size_t n);
/* Whether given[0] of an entry has this text. */
bool handover_shows(const struct handover_file *f, const void *text, size_t n);

/* ---- texts that wait; one caller at a time for each file ---- */

/*
 * Notes two texts in place of what was noted before. unique: the write that was added last. False:
 * there is no room, and nothing is noted.
 */
bool handover_keep_text(struct handover_file *f, uint64_t unique, const struct iovec texts[2]);
/* The same of an earlier daemon; false: there is none. Valid until the next call for the file. */
bool handover_text(const struct handover_file *f, uint64_t *unique, struct iovec texts[2]);
void handover_drop_text(struct handover_file *f);
struct handover_text *handover_texts(void);     /* all entries, or NULL */

/* ---- reads that wait ---- */

/* The place that has it now, for handover_unpark, or HANDOVER_NONE. Any thread. */
uint32_t handover_park(uint64_t unique);
void handover_unpark(uint32_t place);

#endif
