/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface between the parts of the kernel's state dump. Private to statedump/ and
 * kernel/statedump_writer.c.
 */
#ifndef TRACER_STATEDUMP_INTERNAL_H
#define TRACER_STATEDUMP_INTERNAL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracer/kernel/statedump/statedump.h"
#include "tracer/kernel/symbol/code_map.h"

/*
 * Packs the values in the order of the event's fields, numbers as uint64_t, strings as const char
 * *, and calls the sink.
 */
int kdump_emit(struct kdump_sink *sink, enum kdump_type type, int32_t tid, ...);
/* Reads a file of /proc or /sys as a string, cut at size. Returns its length or -1. */
ssize_t kdump_read(int dir, const char *path, char *text, size_t size);

int kdump_processes(struct kdump_sink *sink);

/* What the dump knows about the files that processes map. NULL: no memory. */
struct kdump_files *kdump_files_create(void);
void kdump_files_free(struct kdump_files *k);
/*
 * Emits what a process maps, with the build id of the file if it is known. process: see
 * code_map_open. k: NULL: no build id. Returns
 * 0 or the sink's value.
 */
int kdump_mapping(struct kdump_sink *sink, struct kdump_files *k, int process, int32_t pid,
		  const struct code_mapping *m);
/* The mappings of a process, of /proc/PID. 0 or the sink's value. */
int kdump_mappings(struct kdump_sink *sink, struct kdump_files *k, int process, int32_t pid);

#endif
