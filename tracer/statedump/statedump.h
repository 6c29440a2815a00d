/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's state dump: what there is when a recording starts, read from /proc and /sys, as the events that LTTng has for
 * it, with its names, fields and values. Processes come and go meanwhile: who has gone is left out.
 *
 * Where /proc knows less than the kernel: `file_table_address` is the process id (equal for those who share the table, which is all readers
 * use it for; 0 for kernel threads), `fmode` has only the bits for reading (1) and writing (2), `tid` of an interrupt is 0. Uids
 * of nested user namespaces are given for the innermost and the daemon's own. What the daemon may not read is left out.
 */
#ifndef TRACER_STATEDUMP_STATEDUMP_H
#define TRACER_STATEDUMP_STATEDUMP_H

#include <stddef.h>
#include <stdint.h>

#include "metadata/model.h"
#include "tracer/filter/filter.h"

enum kdump_type {
	KDUMP_START, KDUMP_END, KDUMP_PROCESS_STATE, KDUMP_PROCESS_PID_NS, KDUMP_PROCESS_USER_NS, KDUMP_PROCESS_CGROUP_NS, KDUMP_PROCESS_IPC_NS,
	KDUMP_PROCESS_MNT_NS, KDUMP_PROCESS_NET_NS, KDUMP_PROCESS_TIME_NS, KDUMP_PROCESS_UTS_NS, KDUMP_FILE_DESCRIPTOR, KDUMP_BLOCK_DEVICE,
	KDUMP_NETWORK_INTERFACE, KDUMP_INTERRUPT, KDUMP_CPU_TOPOLOGY,
	KDUMP_DUMPED,
	KDUMP_LOGGER = KDUMP_DUMPED,    /* no part of the dump, but made by the daemon, too: a line that was written to `log` */
	KDUMP_TYPES,
};

#define KDUMP_PAYLOAD_MAX 4608          /* no payload is longer: a path and some numbers */

#define KDUMP_FIELDS_MAX 16

struct kdump_sink {
	/*
	 * One event: the packed payload of that type, without header and contexts. tid is whose event it is (0: nobody's). The time is the caller's.
	 * Anything but 0 ends the dump and is what kstatedump returns.
	 */
	int (*event)(struct kdump_sink *sink, enum kdump_type type, int32_t tid, const void *payload, size_t len);
};

/* Their system, where tracepoints have one: "lttng_statedump" */
const char *kdump_system(enum kdump_type type);
/* "lttng_statedump_…", and back; -1: none of these */
const char *kdump_name(enum kdump_type type);
int kdump_find(const char *system, const char *name);
/* The event for the model, with id 0; NULL if memory ran out. */
struct md_event *kdump_event(enum kdump_type type);
/* The same for filters on the payload. */
struct kdump_fields {
	struct trail_reg_field fields[KDUMP_FIELDS_MAX];
	struct filter_event event;
};
void kdump_filter_event(enum kdump_type type, struct kdump_fields *out);

/*
 * Calls the sink for everything, `start` first and `end` last. Takes some 100 us per process: not for a thread that others wait for. Holds no
 * lock. 0, the sink's answer, or -errno if /proc cannot be read.
 */
int kstatedump(struct kdump_sink *sink);

#endif
