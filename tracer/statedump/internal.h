/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the parts of the kernel's state dump: see statedump/statedump.h. */
#ifndef TRACER_STATEDUMP_INTERNAL_H
#define TRACER_STATEDUMP_INTERNAL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracer/statedump/statedump.h"

/* Packs the values, in the order of the event's fields, and hands them over: numbers as uint64_t, texts as const char *. */
int kdump_emit(struct kdump_sink *sink, enum kdump_type type, int32_t tid, ...);
/* What a file of /proc or /sys says, as a string cut at size; its length or -1. */
ssize_t kdump_read(int dir, const char *path, char *text, size_t size);

/* Processes, their namespaces and descriptors */
int kdump_processes(struct kdump_sink *sink);

#endif
