/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Into the background: the process that was started returns when the one in the background has mounted or failed, with an exit
 * status that tells.
 */
#ifndef FS_DAEMON_H
#define FS_DAEMON_H

/* Forks; only the child returns (0), or -errno in the parent if there is none. Before any thread is started. */
int daemon_begin(void);
/* The mount works: the parent ends with 0, and the child leaves terminal and directory. */
void daemon_ready(void);

/*
 * Makes the kernel choose other processes first when memory ends: the daemon maps the rings of all sessions and is the largest process, but
 * its end would free little of them. The keeper inherits this: without it the buffers of a dead daemon are gone. Leaves alone what the
 * administrator has set. Does nothing without CAP_SYS_RESOURCE.
 */
void daemon_protect(void);

/* Tells who started us in the foreground (systemd, Type=notify) that the tree is there. Does nothing without $NOTIFY_SOCKET. */
void daemon_notify(void);

#endif
