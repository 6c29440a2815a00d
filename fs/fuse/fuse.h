/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuse/: requests of the kernel, from libfuse to the tree and back.
 *
 *	mount.c         the mount, and the threads that serve it
 *	fuse_ops.c      requests become calls of the tree and of file.h, results become replies
 *	reply.c         late replies, and notes to the kernel (reply.h)
 *	channel.c       the connection to the kernel, which outlives the daemon (channel.h)
 *	file.c          open files and directories (file.h)
 *	directory.c     open directories
 *	resume.c        what of them is noted for the next daemon, and read back (file.h)
 *	source.c        opens of views (source.h)
 *	control.c       writes to control files
 *	waiter.c        reads that have nothing to deliver yet, and polls (waiter.h)
 *	prune.c         removed directories are dropped from the kernel's cache
 *
 * Only mount.c, fuse_ops.c and reply.c include libfuse. Locks: waiter.c has one for all waiters,
 * file.c one in each open file and one for their list; none is held while the tree or the tracer is
 * called.
 */
#ifndef FS_FUSE_FUSE_H
#define FS_FUSE_FUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracer/base/keeper/keeper.h"
#include "tracer/face/tracer.h"

struct file;
struct mount;

/* ---- mount.c ---- */

/*
 * Mounts at an absolute path. options: for mount(8), comma separated, may be "". NULL: failed, and
 * the log says why.
 */
struct mount *mount_open(const char *path, const char *options, bool allow_other);
/*
 * Continues with the mount of a daemon that was killed. Owns both descriptors, which that daemon
 * held as HELD_CONNECTION and HELD_TABLE. NULL: it cannot, and the log says why; then mount_open
 * may be tried. Call it when the tree has its root, and before a thread makes notes about nodes.
 */
struct mount *mount_take(int connection, int table, const char *options, bool allow_other);
/*
 * Whether this program could continue with the mount whose HELD_TABLE this is, while its daemon
 * serves; the options are those of mount_take. 0; -EPROTO: it could not, the state is of another
 * version of trailfs or libfuse; or another -errno. Only for a process that does nothing else: it
 * leaves a copy of the table in use.
 */
int mount_try(int table, const char *options, bool allow_other);
/* Names for tracer_hold. */
#define HELD_CONNECTION KEEPER_MOUNT
#define HELD_TABLE KEEPER_HELD "table"
#define HELD_START KEEPER_START
#define HELD_UPGRADE KEEPER_UPGRADE
/* The keeper forgets the mount. */
void mount_forget(struct tracer *t);
/*
 * Waits until the kernel says that no mount of the file system is left in any mount namespace (0),
 * or until one of the signals arrives that the caller blocked (its number; *sender: the process
 * that sent it, 0: not known). Calls chores_do() meanwhile. After a signal the threads still serve
 * until mount_close.
 */
int mount_wait(struct mount *m, int signals, pid_t *sender);
/* The device of the file system as the mount table has it; "": not known. */
const char *mount_device(const struct mount *m);
/* Starts the threads that serve. 0 or -errno. */
int mount_start(struct mount *m);
/*
 * Unmounts, if the mount point still has this file system, and frees m. unmounted: a user has taken
 * the mount away. The keeper has the ended connection then until tracer_close ends the keeper: if
 * this daemon is killed before, the keeper starts one that ends the sessions.
 */
void mount_close(struct mount *m, bool unmounted);

/*
 * ---- control.c: the atomic unit is one write(2). All its lines take effect, or none, before it
 * returns ----
 *
 * The last line of a write needs no newline, unless the write has 512 bytes or more: then tee, cp
 * or a long echo may have cut the line, and it waits for the next write or for close. After a write
 * that failed the open takes no more, because what follows was meant to come after it; each later
 * write gets the same errno, because some programs write again when they close. With STORE_WHOLE
 * the unit is all that was written until close(2), which reports what is wrong with it.
 */

/* Returns size, or -errno; then the error file says why. */
ssize_t control_write(struct file *f, const char *buf, size_t size);
/* Applies a line that waited for its rest. */
int control_finish(struct file *f);

/*
 * ---- prune.c ----
 *
 * The kernel keeps a name and its node as long as it has memory to spare, also of a directory that
 * was removed, or of an application that ended. Each such node keeps its session in the daemon. So
 * the daemon asks the kernel to drop them.
 */

/* A directory was removed, or an application has ended. May be called with any lock held. */
void prune_later(void);
/*
 * Drops the names if prune_later was called, and again while the kernel remembers some of them. A
 * part of chores_do().
 */
int64_t prune(int64_t now);

/*
 * An mkdir or rmdir in progress. The kernel holds the directory's lock until the daemon replies, so
 * a note about a name in that directory would deadlock. On the stack of the thread that serves it,
 * which calls dir_change_begin before, and dir_change_end after the reply.
 */
struct dir_change {
	struct dir_change *next;        /* the next younger one */
	int64_t since;                  /* chores_clock */
};

void dir_change_begin(struct dir_change *c);
void dir_change_end(struct dir_change *c);

#endif
