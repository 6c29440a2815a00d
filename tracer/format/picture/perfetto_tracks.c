/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/picture/perfetto.h"

#include "tracer/session/session.h"

void perfetto_end_any(struct perfetto *v, size_t packet, uint64_t sequence, uint64_t flags)
{
	struct md_buf *out = &v->m->out;

	put_number(out, PACKET_SEQUENCE, sequence);
	put_number(out, PACKET_SEQUENCE_FLAGS, flags);
	end_message(out, packet, PACKET_LENGTH);
}

static void put_clock(struct md_buf *out, uint64_t id, uint64_t time)
{
	size_t clock = begin_message(out, CLOCKS_CLOCK, NOTE_LENGTH);

	put_number(out, CLOCK_ID, id);
	put_number(out, CLOCK_TIMESTAMP, time);
	end_message(out, clock, NOTE_LENGTH);
}

/*
 * The clocks at one time, and what all packets have. An imported trace does not say how its clock
 * and that of its boot differ: they are then the same.
 */
void perfetto_put_first(struct perfetto *v)
{
	const struct clock *clock = session_clock(v->m->s);
	struct md_buf *out = &v->m->out;
	size_t packet = begin_message(out, TRACE_PACKET, PACKET_LENGTH), part;
	bool known = !v->m->s->input && !clock->stands;
	uint64_t own = known ? clock_now(clock) : 1, time = own + v->m->clock_offset;

	if (known)
		v->boot = v->m->clock_offset - clock_measure_offset(clock, CLOCK_BOOTTIME);
	part = begin_message(out, PACKET_CLOCKS, NOTE_LENGTH);
	put_clock(out, BUILTIN_REALTIME, time);
	put_clock(out, BUILTIN_BOOTTIME, time - v->boot);
	if (known)
		put_clock(out, BUILTIN_MONOTONIC,
			  own + clock_measure_offset(clock, CLOCK_MONOTONIC));
	end_message(out, part, NOTE_LENGTH);
	part = begin_message(out, PACKET_DEFAULTS, NOTE_LENGTH);
	put_number(out, PACKET_CLOCK, BUILTIN_REALTIME);
	end_message(out, part, NOTE_LENGTH);
	put_number(out, PACKET_FIRST, 1);
	perfetto_end_any(v, packet, SEQUENCE, CLEARED);
	/* Without this, processes and threads have no order. */
	packet = begin_message(out, TRACE_PACKET, PACKET_LENGTH);
	part = begin_message(out, PACKET_TRACK, EVENT_LENGTH);
	put_number(out, TRACK_UUID, 0);
	put_number(out, TRACK_PROCESS_ORDER, ORDER_BY_RANK);
	put_number(out, TRACK_THREAD_ORDER, ORDER_BY_RANK);
	end_message(out, part, EVENT_LENGTH);
	perfetto_end_any(v, packet, SEQUENCE, NEEDS_STATE);
}

void perfetto_describe_process(void *arg, const struct track_process *p)
{
	struct perfetto *v = arg;
	struct md_buf *out = &v->m->out;
	size_t packet = begin_packet(v), track = begin_message(out, PACKET_TRACK, EVENT_LENGTH);
	size_t process;

	put_number(out, TRACK_UUID, make_uuid(UUID_PROCESS, p->pid));
	put_number(out, TRACK_CHILD_ORDER, CHILDREN_BY_NAME);
	/* Hardware first, then in the order of the first events. */
	put_number(out, TRACK_RANK, p->pid >= SLICE_CPUS ? (uint32_t)(p->pid - SLICE_CPUS) >> 20
							 : 4 + v->processes++);
	process = begin_message(out, TRACK_PROCESS, NOTE_LENGTH);
	put_number(out, PROCESS_PID, (uint32_t)p->pid);
	if (p->name_len)
		put_bytes(out, PROCESS_NAME, p->name, p->name_len);
	if (p->group_len)
		put_bytes(out, PROCESS_LABELS, p->group, p->group_len);
	end_message(out, process, NOTE_LENGTH);
	end_message(out, track, EVENT_LENGTH);
	end_packet(v, packet);
}

void perfetto_describe(void *arg, const struct timeline *t)
{
	struct perfetto *v = arg;
	struct md_buf *out = &v->m->out;
	size_t packet, track, thread;

	packet = begin_packet(v);
	track = begin_message(out, PACKET_TRACK, EVENT_LENGTH);
	put_number(out, TRACK_UUID, make_uuid(UUID_THREAD, t->slices.tid));
	put_number(out, TRACK_PARENT, make_uuid(UUID_PROCESS, track_pid(t)));
	/* The main thread first, then by number. */
	put_number(out, TRACK_RANK, t->slices.tid == track_pid(t) ? 0 : (uint32_t)t->slices.tid);
	thread = begin_message(out, TRACK_THREAD, NOTE_LENGTH);
	put_number(out, THREAD_PID, (uint32_t)track_pid(t));
	put_number(out, THREAD_TID, (uint32_t)t->slices.tid);
	if (t->name_len)
		put_bytes(out, THREAD_NAME, t->name, t->name_len);
	end_message(out, thread, NOTE_LENGTH);
	end_message(out, track, EVENT_LENGTH);
	end_packet(v, packet);
}
