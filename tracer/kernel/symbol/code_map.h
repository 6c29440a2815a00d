/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process maps that may be executed: proc(5), /proc/PID/maps and /proc/PID/map_files.
 * Any thread.
 */
#ifndef TRACER_SYMBOL_CODE_MAP_H
#define TRACER_SYMBOL_CODE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#define VDSO_NAME "[vdso]"

/* Part of a file that a process may execute. */
struct code_mapping {
	uint64_t start, size, offset;
	uint32_t major, minor;          /* of the device */
	uint64_t inode;
	const char *path;       /* of the file, or VDSO_NAME */
};

/* Opens the directory /proc/PID. Its descriptor, or -1. */
int code_map_process(int32_t pid);
/*
 * Calls fn for each of them until it returns a value that is not 0, and returns that value.
 * process: a descriptor of the directory /proc/PID. The mapping is valid during the call.
 */
int code_maps_read(int process, int (*fn)(void *arg, const struct code_mapping *m), void *arg);

/* The devices of file systems that answer by themselves. */
struct local_devices;

/* NULL: no memory. */
struct local_devices *local_devices_read(void);
/*
 * Opens the file that a process maps there. process: its directory in /proc, then also a file is
 * found that was removed, or is in another mount namespace; -1: it has ended, then a file is found
 * by its path if it is on the root file system. Returns its descriptor, or -1: its file system may
 * never answer, as those of FUSE, or it cannot be opened.
 */
int code_map_open(const struct local_devices *l, int process, const struct code_mapping *m);
/*
 * The vDSO of the daemon as a file: all programs of this kernel with as many bits have it. Returns
 * its descriptor, or -1.
 */
int code_map_open_vdso(void);

#endif
