/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/kernel/statedump/: the kernel's state dump, the state of the system when a recording
 * starts. It is read from /proc and /sys and recorded as LTTng's events, with LTTng's names, fields
 * and values; the mappings are an addition. Processes that end during the dump are left out.
 *
 *   statedump.h   (this file) the events, and the dump
 *   statedump.c   the events; block devices, interrupts, network interfaces, CPUs
 *   processes.c   threads, their namespaces and descriptors
 *   mappings.c    what processes may execute
 *   internal.h    the interface between them
 *
 * No lock; any thread may call these functions.
 *
 * /proc has less than the kernel: `file_table_address` is the process id (readers only compare it;
 * 0 for kernel threads), `fmode` has only the bits for reading (1) and writing (2), `tid` of an
 * interrupt is 0. Uids in nested user namespaces are recorded for the innermost and for the
 * daemon's own. Files that the daemon may not read are left out.
 */
#ifndef TRACER_STATEDUMP_STATEDUMP_H
#define TRACER_STATEDUMP_STATEDUMP_H

#include <stddef.h>
#include <stdint.h>

#include "metadata/model.h"
#include "tracer/base/filter/filter.h"

enum kdump_type {
	KDUMP_START, KDUMP_END, KDUMP_PROCESS_STATE, KDUMP_PROCESS_PID_NS, KDUMP_PROCESS_USER_NS,
	KDUMP_PROCESS_CGROUP_NS, KDUMP_PROCESS_IPC_NS, KDUMP_PROCESS_MNT_NS, KDUMP_PROCESS_NET_NS,
	KDUMP_PROCESS_TIME_NS, KDUMP_PROCESS_UTS_NS, KDUMP_PROCESS_MAPPING,
	KDUMP_FILE_DESCRIPTOR, KDUMP_BLOCK_DEVICE, KDUMP_NETWORK_INTERFACE, KDUMP_INTERRUPT,
	KDUMP_CPU_TOPOLOGY,
	KDUMP_DUMPED,
	/* Not of the dump, but also recorded by the daemon: a line that was written to `log`. */
	KDUMP_LOGGER = KDUMP_DUMPED,
	/* Samples (kernel/sampling.h); in the order of enum sample_kind. */
	KDUMP_SAMPLE_CPU, KDUMP_SAMPLE_CYCLES, KDUMP_SAMPLE_FAULTS,
	KDUMP_TYPES,
};

#define KDUMP_PAYLOAD_MAX 4608          /* maximum: a path and some numbers */

#define KDUMP_FIELDS_MAX 16

struct kdump_sink {
	/*
	 * Records one event: the packed payload of that type, without header and contexts. tid: its
	 * thread, 0: none. The sink takes the time. Another value than 0 ends the dump; kstatedump
	 * returns it.
	 */
	int (*event)(struct kdump_sink *sink, enum kdump_type type, int32_t tid,
		     const void *payload, size_t len);
};

/* The system of the events, as tracepoints have one: "lttng_statedump". */
const char *kdump_system(enum kdump_type type);
/* "lttng_statedump_…", and the type of such a name; -1: none. */
const char *kdump_name(enum kdump_type type);
/* The event's name in the trace. All samples have one. */
const char *kdump_event_name(enum kdump_type type);
int kdump_find(const char *system, const char *name);
/* The event for the model, with id 0. NULL: no memory. */
struct md_event *kdump_event(enum kdump_type type);
/* The event for filters on the payload. */
struct kdump_fields {
	struct trail_reg_field fields[KDUMP_FIELDS_MAX];
	struct filter_event event;
};
void kdump_filter_event(enum kdump_type type, struct kdump_fields *out);

/*
 * Calls the sink for all events, `start` first and `end` last. Takes some 100 us per process, so
 * use a thread of its own. Holds no lock. 0, the sink's value, or -errno if /proc cannot be read.
 */
int kstatedump(struct kdump_sink *sink);

#endif
