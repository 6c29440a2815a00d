/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/base/keeper/: a small process that holds the memfds of all regions under names, so that a
 * killed daemon loses no buffer even when no application has it mapped. The daemon starts the
 * keeper in a session of its own. The keeper outlives a killed daemon and ends on request. It
 * serves one daemon at a time on a Unix socket (`keeper` in the state directory, mode 0600,
 * SOCK_SEQPACKET); it accepts only peers with its own uid or root.
 *
 *   keeper.h     (this file) the daemon's calls, and the main function of the keeper
 *   client.c     the daemon's end; one lock in struct keeper, held for one request and its answer
 *   server.c     the keeper's process; one thread, no lock
 *   mounted.c    the mount of a daemon that was killed, and the start of the next daemon
 *   dead.c       the connection of a daemon that was killed and cannot end
 *   protocol.h   the messages and the sockets' address
 *
 * Any thread may call these functions, except where one thread is required below.
 */
#ifndef TRACER_KEEPER_KEEPER_H
#define TRACER_KEEPER_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct keeper;                  /* the daemon's end of the connection */

/* Names of what is no part of a session begin with this. */
#define KEEPER_HELD "mount."
/*
 * Names that the keeper knows, of a daemon's mount: /dev/fuse, and a file with the arguments to
 * start the daemon with, each ended by a NUL, first the program's path. What it does with them when
 * the daemon is killed is in mounted.h.
 */
#define KEEPER_MOUNT "mount.fuse"
#define KEEPER_START "mount.start"
/*
 * The daemon that has the mount replaces its program by another one (execve). The end of its
 * connection is not its death: the keeper waits until the new program comes.
 */
#define KEEPER_UPGRADE "mount.upgrade"
/* Names of images of trace/ begin with this. They end with the mount. */
#define KEEPER_IMAGE "mount.image."
/*
 * Names of BPF programs and of their memory begin with this. The backend of the kernel domain finds
 * its own by their names.
 */
#define KEEPER_PROGRAMS "bpf."
/* In the environment of a daemon that the keeper has started. */
#define KEEPER_STARTED "TRAILFS_STARTED_BY_KEEPER"

/*
 * Connects to the keeper of state_dir. If there is none and exe is not NULL, starts one: exe
 * (usually "/proc/self/exe") with argv {"trail-keeper", "--keeper", STATE_DIR}, detached by setsid
 * and a double fork, without the daemon's descriptors, cwd /. *found: whether a keeper was running
 * before.
 */
int keeper_open(const char *state_dir, const char *exe, struct keeper **out, int *found);
/*
 * Gives the keeper a duplicate of fd under a name of up to 250 bytes; replaces the one of that
 * name.
 * 0 or -errno. -ETIMEDOUT: no answer for half a second; the keeper gets the request when it runs
 * again. Until it has answered, keeper_put and keeper_drop do not wait and return 0, or -EAGAIN if
 * there is no room for a request any more. -EPIPE: the keeper has ended.
 */
int keeper_put(struct keeper *k, const char *name, int fd);
int keeper_drop(struct keeper *k, const char *name);
/* This process will take the mount that the keeper has: the keeper waits longer for it. */
int keeper_announce(struct keeper *k);
/* Calls fn for every descriptor that the keeper holds; fn owns fd (close-on-exec). */
int keeper_each(struct keeper *k, void (*fn)(void *arg, const char *name, int fd), void *arg);
/*
 * The descriptor that the keeper holds under this name, close-on-exec; the caller owns it. -ENOENT:
 * there is none; another -errno as of keeper_put, but -ETIMEDOUT after 15 s: a keeper may be late
 * because the machine is busy.
 */
int keeper_find(struct keeper *k, const char *name);
/* The keeper's process; 0: it has ended. What was stored before keeper_replace is seen with it. */
pid_t keeper_pid(const struct keeper *k);
/* poll(2) says POLLHUP when the keeper has ended. The keeper's; valid until keeper_replace. */
int keeper_connection(const struct keeper *k);
/*
 * After that: starts a new keeper, which holds nothing. 0 or -errno: there is none, until a later
 * call starts one. The thread that uses keeper_connection.
 */
int keeper_replace(struct keeper *k);
/* Frees k (may be NULL). quit: the keeper drops everything and ends. */
void keeper_close(struct keeper *k, int quit);

/*
 * A killed daemon keeps /dev/fuse open while one of its threads waits in the kernel, for a disk
 * that hangs or for a lock of a directory. Until then all who use the tree wait for its answers.
 * This function aborts the connection of such a daemon, so that they get ENOTCONN. It finds the
 * daemon by what it announced in the state directory: its pid and the device of its file system.
 * A daemon that ends within 10 seconds is left alone, and so is a connection that is not mounted
 * there any more.
 *
 * Returns the pid of the dead daemon, *result: 0, -ENOTCONN if its file system is not mounted any
 * more, or another -errno if its connection cannot be aborted; or 0 if there is no such daemon. A
 * daemon is dead if its main thread is a zombie, and it still holds the lock of the state
 * directory, and another thread of it waits in the kernel.
 */
pid_t keeper_abort_dead(const char *state_dir, int *result);
/* Whether the kernel has ended a FUSE connection: its mount was taken away. -1: no. */
bool keeper_mount_ended(int connection);
/*
 * The process that announced itself and holds the lock of the state directory. ENDS: a signal has
 * killed it, and the kernel frees what it had, which may take seconds. UNKNOWN: there is none, or
 * it is in another pid namespace, so that its number says nothing here.
 */
enum keeper_daemon { KEEPER_DAEMON_UNKNOWN, KEEPER_DAEMON_LIVES, KEEPER_DAEMON_ENDS };
enum keeper_daemon keeper_find_daemon(const char *state_dir);

/*
 * The main function of the keeper, called by the daemon's main for argv[1] = "--keeper". Returns an
 * exit status.
 */
int keeper_main(const char *state_dir);

#endif
