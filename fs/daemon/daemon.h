/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon/: the process trailfs, from its start to its end.
 *
 *	main.c          start, service, end
 *	daemon.c        the background, the service manager, the OOM killer
 *	holder.c        which process uses a state directory
 *	stale.c         the mount of a daemon that was killed
 *	restart.c       how the keeper starts the daemon again
 *	upgrade.c       another program takes the place of this one
 *	presets.c       sessions that are made at mount
 *	groups.c        hooks of the kernel, by name
 *	zone.c          the time zone
 *
 * No lock: all functions here are called by the main thread.
 */
#ifndef FS_DAEMON_DAEMON_H
#define FS_DAEMON_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct md_buf;
struct options;
struct tracer;

/* ---- daemon.c ---- */

/*
 * Opens /dev/null as those of the descriptors 0 to 2 that the caller has closed. Otherwise other
 * files got these numbers: lines of the log would be written to them, and daemon_ready would close
 * them. Call it before any file is opened.
 */
void daemon_fill_streams(void);

/*
 * Forks. The parent waits for the child, and ends with an exit status that says whether the child
 * has mounted. Returns 0 in the child, or -errno in the parent if there is no child. Call it before
 * any thread is started: the child has closed all descriptors above 2 that it does not know.
 */
int daemon_begin(void);
/*
 * In place of daemon_begin, for a process that is in the background already, and whose standard
 * error has no reader: messages go to the log.
 */
void daemon_stay(void);
/* The mount works: the parent ends with 0, and the child leaves terminal and directory. */
void daemon_ready(void);

/*
 * Makes the kernel choose other processes first when memory is short: the daemon maps the rings of
 * all sessions and is the largest process, but its end would free little of them. The keeper
 * inherits this: without it the buffers of a dead daemon are lost. Does nothing if the
 * administrator has set another value, or without CAP_SYS_RESOURCE.
 */
void daemon_protect(void);

/*
 * Tells the service manager (systemd, Type=notify) that the tree is mounted. Does nothing without
 * $NOTIFY_SOCKET.
 */
void daemon_notify(void);

/*
 * ---- holder.c: the file that is locked while a daemon uses the state directory has the daemon's
 * process, the device of its file system and its mount point ----
 */

/* Writes the file. path: the mount point. */
void holder_announce(struct tracer *t, const char *path, const char *device);
/*
 * The state directory is in use: logs which process uses it, where its mount can be reached, and
 * what to do.
 */
void holder_say(const char *state_dir);

/*
 * ---- stale.c: the mount of a daemon that was killed stays. While the keeper has its connection,
 * all who use it wait for the next daemon; else every access fails with ENOTCONN ----
 */

/*
 * A killed daemon that had this state directory may be unable to end, and then every access to its
 * mount waits for ever: aborts its FUSE connection, and logs that. Call it before stale_path. Does
 * nothing to a daemon that lives. True: there is such a daemon.
 */
bool stale_abort(const char *state_dir);
/*
 * The absolute path of a mount point, to be freed; also of a mount without a daemon. NULL: errno
 * says why.
 */
char *stale_path(const char *path);
/*
 * What of a mount at this path the keeper of the state directory has. A mount that it has and that
 * cannot be taken over is dead from then on, unless a daemon lives. started: the keeper has started
 * this daemon, or it is an upgraded one; a mount that was taken away stays with the keeper then,
 * which starts another daemon if this one dies before the sessions have ended, and a mount that is
 * at the path no more but has not ended is taken over, too. Before this function, no request may go
 * to the path.
 */
enum stale {
	STALE_NONE,             /* nothing, or what cannot be taken over */
	STALE_STRANGE,          /* a mount whose state is of another version: it is over */
	STALE_ALIVE,            /* the mount: mount_take may take it over */
	STALE_UNMOUNTED,        /* the connection of a mount that was taken away */
};
enum stale stale_look(const char *state_dir, const char *path, bool started);
/* Unmounts a dead mount of trailfs at the path, if there is one, and nothing else. 0 or -errno. */
int stale_unmount(const char *path);

/*
 * ---- restart.c ----
 *
 * Tells the keeper how to start this daemon again if it is killed: with its arguments (argv), on
 * this mount point. In the foreground, or with `-o keeper=0`, the keeper does not start it: who has
 * started it does.
 */
void restart_offer(const char *mountpoint, const struct options *o, char **argv);
/* Notes the path of the program. Call it before the current directory changes. */
void restart_init(void);
/*
 * Appends the program's absolute path and the arguments of this daemon, each ended by a NUL, with
 * absolute paths: who starts it has another current directory. False: that is not possible.
 */
bool restart_arguments(struct md_buf *to, const char *mountpoint, const struct options *o,
		       char **argv);

/*
 * ---- upgrade.c: SIGUSR2. The daemon first starts the program that is at its path now with
 * UPGRADE_TRY, and that program says whether it could continue with this daemon's mount, state
 * directory and arguments. Then the daemon executes it in its own process (execve): pid, terminal
 * and place with the service manager stay. The new program takes the mount from the keeper, as
 * after kill -9 ----
 */

#define UPGRADE_TRY "--try-upgrade"

/*
 * Executes the new program, or logs why not; the reason stands in the root's `error`, too. Returns
 * only in that case. sender: the process that asked for it.
 */
void upgrade(const char *mountpoint, const struct options *o, char **argv, pid_t sender);
/* The main function of the new program with UPGRADE_TRY as its first argument. An exit status. */
int upgrade_try(int argc, char **argv);
/* Whether this process was a daemon before it executed this program. Only the first call says. */
bool upgrade_done(void);

/*
 * ---- presets.c: sessions that are made at mount, from files as `config` has them
 * (fs/tree/session_config.h) ----
 *
 *	/etc/trailfs.conf                       after its section [trailfs]; root's daemon only
 *	/etc/trailfs/sessions.d/NAME.ini        root's daemon only; in the order of their names
 *	$XDG_CONFIG_HOME/trailfs.conf, $XDG_CONFIG_HOME/trailfs/sessions.d/NAME.ini
 *
 * In [session], `name = NAME` begins a session (a file of sessions.d has its own name otherwise),
 * and `start = yes` starts it; so does the `active = yes` of a saved session. A session that an
 * earlier daemon left stays as it is.
 */

/*
 * Makes the sessions. A mistake in one of them is logged and stands in the root's `error`; the
 * others are made. Call it when the tree has its root (node_init), before the mount.
 */
void presets_make(void);

/*
 * ---- groups.c: hooks of the kernel (tracer/base/rule/hook.h), from INI files ----
 *
 *	groups/NAME.ini         in share/trailfs beside the program's bin; for a program that is not
 *	                        installed in data/ of the source tree; else in /usr/share/trailfs
 *	/etc/trailfs/groups.d/NAME.ini          root's daemon only
 *	$XDG_CONFIG_HOME/trailfs/groups.d/NAME.ini
 */

/* Reads the hooks: see hooks_fill_with. A mistake is logged, and ends its file. */
void groups_load(void);

/* ---- zone.c ---- */

/*
 * Sets the time zone of the process (NULL: leaves the one it has) and copies its name. -EINVAL:
 * there is no such zone (libc itself would use UTC). Call it before any thread is started.
 */
int zone_set(const char *zone, char *name, size_t size);

#endif
