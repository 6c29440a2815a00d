/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a daemon lets the next one know of itself: the file that is locked while a daemon uses the state directory has its
 * process, the device of its file system and its mount point.
 */
#ifndef FS_HOLDER_H
#define FS_HOLDER_H

struct tracer;

/* From the mount on; path: the mount point. */
void holder_announce(struct tracer *t, const char *path, const char *device);
/* The state directory is in use: says which process uses it, where that can be reached, and what to do. */
void holder_say(const char *state_dir);

#endif
