/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process of a trace. Private to symbol/. */
#ifndef TRACER_SYMBOL_PROCESS_H
#define TRACER_SYMBOL_PROCESS_H

#include "tracer/kernel/symbol/object.h"

struct mapping {
	uint64_t from;
	uint64_t start, size;
	int64_t offset;
	uint32_t object;        /* index in symbols.objects */
	bool early;             /* it was known before symbols_settle */
};

struct symbol_process {
	int32_t pid;
	bool asked;             /* the system was asked about it */
	struct mapping *mappings;       /* owned */
	uint32_t count;
	uint64_t last;          /* the latest `from` of its mappings */
	struct functions compiled;      /* by a JIT compiler */
};

/* When the system was booted: ns since the epoch; UINT64_MAX: not known. */
uint64_t boot_time(void);

/*
 * Adds what a running process maps that may be executed, if it is the process of this id at that
 * time, and the functions that its JIT compiler has listed in /tmp/perf-PID.map.
 */
void process_ask(struct symbols *s, struct symbol_process *p, const struct owner *owner, bool here,
		 uint64_t time);

#endif
