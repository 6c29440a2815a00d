/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The packets of a trace of Perfetto, and its tracks. Private to perfetto*.c. */
#ifndef TRACER_PICTURE_PERFETTO_H
#define TRACER_PICTURE_PERFETTO_H

#include "tracer/format/picture/perfetto_names.h"
#include "tracer/format/picture/perfetto_value.h"
#include "tracer/format/picture/track.h"

/* trusted_packet_sequence_id */
enum { SEQUENCE = 1, SEQUENCE_LOSSES };

/* Numbers of fields, by message. */
enum { TRACE_PACKET = 1 };
enum { PACKET_FTRACE = 1, PACKET_CLOCKS = 6, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10,
       PACKET_TRACK_EVENT = 11, PACKET_INTERNED = 12, PACKET_SEQUENCE_FLAGS = 13,
       PACKET_DROPPED = 42, PACKET_CLOCK = 58, PACKET_DEFAULTS = 59, PACKET_TRACK = 60,
       PACKET_FIRST = 87 };
enum { CLOCKS_CLOCK = 1, CLOCK_ID = 1, CLOCK_TIMESTAMP };
enum { BUILTIN_REALTIME = 1, BUILTIN_MONOTONIC = 3, BUILTIN_BOOTTIME = 6 };
enum { TRACK_UUID = 1, TRACK_NAME, TRACK_PROCESS, TRACK_THREAD, TRACK_PARENT, TRACK_COUNTER = 8,
       TRACK_CHILD_ORDER = 11, TRACK_RANK, TRACK_PROCESS_ORDER = 19, TRACK_THREAD_ORDER };
enum { CHILDREN_BY_NAME = 1, ORDER_BY_RANK = 1 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6, PROCESS_LABELS = 8 };
enum { THREAD_PID = 1, THREAD_TID, THREAD_NAME = 5 };
enum { EVENT_CATEGORY_NUMBER = 3, EVENT_TYPE = 9, EVENT_NAME_NUMBER, EVENT_TRACK, EVENT_NAME = 23,
       EVENT_COUNTER = 30, EVENT_COUNTER_DOUBLE = 44, EVENT_FLOW = 47, EVENT_FLOW_END };
enum { TYPE_BEGIN = 1, TYPE_END, TYPE_INSTANT, TYPE_COUNTER };
enum { BUNDLE_CPU = 1, BUNDLE_EVENT };
enum { FTRACE_TIMESTAMP = 1, FTRACE_PID, FTRACE_SWITCH = 4 };
enum { SWITCH_PREV_COMM = 1, SWITCH_PREV_PID, SWITCH_PREV_PRIO, SWITCH_PREV_STATE,
       SWITCH_NEXT_COMM, SWITCH_NEXT_PID, SWITCH_NEXT_PRIO };
#define STATE_UNKNOWN (1 << 30) /* more than the kernel's states have */
enum { CLEARED = 1, NEEDS_STATE };      /* SEQ_… */

/* The kinds of tracks, in the high bits of their uuids. */
enum { UUID_PROCESS = 1, UUID_THREAD, UUID_COUNTER };

struct shape;

struct perfetto {
	struct maker *m;
	struct perfetto_names names;
	uint32_t woken;         /* the number of the name `woken` */
	uint64_t boot;          /* ns from the epoch to the zero of CLOCK_BOOTTIME; modulo 2^64 */
	uint32_t processes;     /* that are described */
	struct shape *shapes;   /* by the number of an event's names; owned */
	uint32_t shape_count;
	uint64_t high;          /* what high_bytes have: a time without its lowest 35 bits */
	char high_bytes[8];
	size_t high_len;
};

/* perfetto_tracks.c */
/* The first packets. */
void perfetto_put_first(struct perfetto *v);
/* Ends a packet of the sequence; flags: SEQ_…. */
void perfetto_end_any(struct perfetto *v, size_t packet, uint64_t sequence, uint64_t flags);
void perfetto_describe_process(void *arg, const struct track_process *p);
void perfetto_describe(void *arg, const struct timeline *t);

static inline size_t begin_packet(struct perfetto *v)
{
	return begin_message(&v->m->out, TRACE_PACKET, PACKET_LENGTH);
}

static inline void end_packet(struct perfetto *v, size_t packet)
{
	perfetto_end_any(v, packet, SEQUENCE, NEEDS_STATE);
}

static inline uint64_t make_uuid(uint64_t kind, int32_t number)
{
	return kind << 40 | (uint32_t)number;
}

#endif
