/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mount itself, and the threads that serve it.
 */
#ifndef FS_MOUNT_H
#define FS_MOUNT_H

#include <stdbool.h>
#include <sys/types.h>

struct mount;

/* Mounts at an absolute path. options: for mount(8), comma separated, may be "". NULL: failed, and was said why. */
struct mount *mount_open(const char *path, const char *options, bool allow_other);
/*
 * Waits until the kernel says that no mount of the file system is left in any mount namespace (0), or one of the signals arrives
 * that the caller blocked (its number; *sender: the process that sent it, 0: not known). In the latter case threads still
 * serve until mount_close.
 */
int mount_wait(struct mount *m, int signals, pid_t *sender);
/* The device of the file system as the mount table has it; "": not known. */
const char *mount_device(const struct mount *m);
/* Starts the threads that serve. 0 or -errno. */
int mount_start(struct mount *m);
/* Unmounts, if the mount point still has this file system, and frees m. */
void mount_close(struct mount *m);

#endif
