/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of the calls by which a thread changes its users, groups or namespaces. Private to
 * thread_events.c, whose lock the caller holds.
 */
#ifndef TRACER_KERNEL_ID_CALLS_H
#define TRACER_KERNEL_ID_CALLS_H

#include "tracer/kernel/kernel.h"

#define ID_CALLS 10u

struct id_call {                /* ids 0: the kernel does not have these events */
	uint32_t entry, exit;           /* ids of the events */
	uint32_t arguments[3], ret;     /* offsets; as many arguments as the call has */
	uint32_t need, need_entry;      /* smallest size of a record of each */
};

struct id_calls { struct id_call list[ID_CALLS]; };

/* Has the channel record those that the kernel has as events. */
void id_calls_enable(struct id_calls *c, struct kernel *k, struct backend_channel *bc);
/* What a record is. ID_CALL_BEGUN sets *out. */
enum id_call_record { ID_CALL_NONE, ID_CALL_BEGUN, ID_CALL_DONE, ID_CALL_FAILED };
enum id_call_record id_calls_read(const struct id_calls *c, const uint8_t *bytes, size_t len,
				  struct kstatus_call *out);

#endif
