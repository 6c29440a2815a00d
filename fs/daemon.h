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

/* Tells who started us in the foreground (systemd, Type=notify) that the tree is there. Does nothing without $NOTIFY_SOCKET. */
void daemon_notify(void);

#endif
