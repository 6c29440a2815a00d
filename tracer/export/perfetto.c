/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as a trace of Perfetto: messages of protobuf in the form of its trace.proto. A track has a
 * descriptor before its first event. Switches of CPUs are events of ftrace, from which Perfetto
 * makes its tracks of CPUs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/program.h"
#include "tracer/export/track.h"

#define SEQUENCE 1              /* trusted_packet_sequence_id of all packets */

/* Numbers of fields, by message. */
enum { TRACE_PACKET = 1 };
enum { PACKET_FTRACE = 1, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_TRACK_EVENT = 11,
       PACKET_SEQUENCE_FLAGS = 13, PACKET_TRACK = 60 };
enum { TRACK_UUID = 1, TRACK_NAME, TRACK_PROCESS, TRACK_THREAD, TRACK_PARENT, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID, THREAD_NAME = 5 };
enum { EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_CATEGORY = 22, EVENT_NAME,
       EVENT_COUNTER = 30, EVENT_COUNTER_DOUBLE = 44, EVENT_FLOW = 47, EVENT_FLOW_END };
enum { TYPE_BEGIN = 1, TYPE_END, TYPE_INSTANT, TYPE_COUNTER };
enum { NOTE_UINT = 3, NOTE_INT, NOTE_DOUBLE, NOTE_STRING, NOTE_JSON = 9, NOTE_NAME };
enum { BUNDLE_CPU = 1, BUNDLE_EVENT };
enum { FTRACE_TIMESTAMP = 1, FTRACE_PID, FTRACE_SWITCH = 4 };
enum { SWITCH_PREV_COMM = 1, SWITCH_PREV_PID, SWITCH_PREV_PRIO, SWITCH_PREV_STATE,
       SWITCH_NEXT_COMM, SWITCH_NEXT_PID, SWITCH_NEXT_PRIO };
enum { CLEARED = 1 };           /* SEQ_INCREMENTAL_STATE_CLEARED */

/* The kinds of tracks, in the high bits of their uuids. */
enum { UUID_PROCESS = 1, UUID_THREAD, UUID_COUNTER };

struct perfetto {
	struct maker *m;
	bool any;
};

/* ---- protobuf ---- */

static inline char *write_varint(char *o, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*o++ = (char)(v | 0x80);
	*o++ = (char)v;
	return o;
}

static void put_number(struct md_buf *out, uint32_t field, uint64_t v)
{
	char *o = md_buf_room(out, 16);

	if (o)
		out->len = (size_t)(write_varint(write_varint(o, field << 3), v) - out->data);
}

/* Eight bytes, the lowest first */
static void put_fixed(struct md_buf *out, uint32_t field, uint64_t bits)
{
	char *o = md_buf_room(out, 16);

	if (!o)
		return;
	o = write_varint(o, field << 3 | 1);
	for (int i = 0; i < 8; i++)
		*o++ = (char)(uint8_t)(bits >> 8 * i);
	out->len = (size_t)(o - out->data);
}

static void put_double(struct md_buf *out, uint32_t field, double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	put_fixed(out, field, bits);
}

static void put_bytes(struct md_buf *out, uint32_t field, const char *p, size_t n)
{
	char *o = md_buf_room(out, 16 + n);

	if (!o)
		return;
	o = write_varint(write_varint(o, field << 3 | 2), n);
	out->len = (size_t)((char *)mempcpy(o, p, n) - out->data);
}

/*
 * Begins a message or a string whose length is not known yet: leaves `size` bytes for its length.
 * Returns the place of its contents, for end_message.
 */
static size_t begin_message(struct md_buf *out, uint32_t field, size_t size)
{
	char *o = md_buf_room(out, 16);

	if (o)
		out->len = (size_t)(write_varint(o, field << 3 | 2) - out->data) + size;
	return out->len;
}

/* A length that is shorter than its place gets bytes without value: protobuf allows them. */
static void end_message(struct md_buf *out, size_t at, size_t size)
{
	char length[10];
	size_t need, n = out->len - at;
	char *start;

	if (!md_buf_room(out, sizeof(length)))
		return;
	start = out->data + at - size;
	if (n >> 7 * size == 0) {
		for (; size > 1; size--, n >>= 7)
			*start++ = (char)(n | 0x80);
		*start = (char)n;
		return;
	}
	need = (size_t)(write_varint(length, n) - length);
	if (need != size)
		memmove(start + need, start + size, n);
	memcpy(start, length, need);
	out->len += need - size;
}

/* The bytes that the lengths of most messages have */
enum { PACKET_LENGTH = 2, EVENT_LENGTH = 2, NOTE_LENGTH = 1, TEXT_LENGTH = 1 };

static void put_text(struct md_buf *out, uint32_t field, struct text text)
{
	size_t at = begin_message(out, field, TEXT_LENGTH);

	md_value_put_text(text.p, text.n, out);
	end_message(out, at, TEXT_LENGTH);
}

/* ---- packets ---- */

static size_t begin_packet(struct perfetto *v)
{
	return begin_message(&v->m->out, TRACE_PACKET, PACKET_LENGTH);
}

static void end_packet(struct perfetto *v, size_t packet)
{
	struct md_buf *out = &v->m->out;

	put_number(out, PACKET_SEQUENCE, SEQUENCE);
	if (!v->any)
		put_number(out, PACKET_SEQUENCE_FLAGS, CLEARED);
	v->any = true;
	end_message(out, packet, PACKET_LENGTH);
}

static uint64_t make_uuid(uint64_t kind, int32_t number)
{
	return kind << 40 | (uint32_t)number;
}

static int32_t pid_of(const struct timeline *t)
{
	return t->pid ? t->pid : t->tid;
}

static void describe_process(struct perfetto *v, const struct timeline *t, const char *name,
			     size_t n)
{
	struct md_buf *out = &v->m->out;
	size_t packet = begin_packet(v), track, process;

	track = begin_message(out, PACKET_TRACK, EVENT_LENGTH);
	put_number(out, TRACK_UUID, make_uuid(UUID_PROCESS, pid_of(t)));
	process = begin_message(out, TRACK_PROCESS, NOTE_LENGTH);
	put_number(out, PROCESS_PID, (uint32_t)pid_of(t));
	if (n)
		put_bytes(out, PROCESS_NAME, name, n);
	end_message(out, process, NOTE_LENGTH);
	end_message(out, track, EVENT_LENGTH);
	end_packet(v, packet);
}

static void describe(void *arg, const struct timeline *t)
{
	struct perfetto *v = arg;
	struct md_buf *out = &v->m->out;
	size_t packet, track, thread;

	const char *hardware = track_process_name(t);

	if (hardware)
		describe_process(v, t, hardware, strlen(hardware));
	else if (pid_of(t) == t->tid)
		describe_process(v, t, t->name, t->name_len);
	packet = begin_packet(v);
	track = begin_message(out, PACKET_TRACK, EVENT_LENGTH);
	put_number(out, TRACK_UUID, make_uuid(UUID_THREAD, t->tid));
	put_number(out, TRACK_PARENT, make_uuid(UUID_PROCESS, pid_of(t)));
	thread = begin_message(out, TRACK_THREAD, NOTE_LENGTH);
	put_number(out, THREAD_PID, (uint32_t)pid_of(t));
	put_number(out, THREAD_TID, (uint32_t)t->tid);
	if (t->name_len)
		put_bytes(out, THREAD_NAME, t->name, t->name_len);
	end_message(out, thread, NOTE_LENGTH);
	end_message(out, track, EVENT_LENGTH);
	end_packet(v, packet);
}

/* ---- events ---- */

/* Replaces what follows `begin` by the number that is there as text from `at` on. */
static void put_shown(struct md_buf *out, size_t begin, size_t at, uint32_t field,
		      uint32_t field_double)
{
	const char *text = md_buf_str(out) + (out->failed ? 0 : at);
	long long n;
	double d;
	char *end;

	errno = 0;
	n = strtoll(text, &end, 10);
	d = *end || errno ? strtod(text, NULL) : 0;
	out->len = begin;
	if (*end || errno)
		put_double(out, field_double, d);
	else
		put_number(out, field, (uint64_t)n);
}

static void put_value(struct md_buf *out, const struct md_value *value)
{
	size_t begin = out->len, at;
	enum md_shown shown;
	uint64_t n = 0;
	bool integer = md_value_integer(value, &n);

	at = begin_message(out, NOTE_STRING, TEXT_LENGTH);
	shown = integer && !md_type_is_enum(value->type) ? MD_SHOWN_NUMBER
							 : md_value_show(value, out);
	if (out->failed)
		return;
	if (shown == MD_SHOWN_JSON)
		out->data[begin] = (char)(NOTE_JSON << 3 | 2);
	if (shown != MD_SHOWN_NUMBER) {
		end_message(out, at, TEXT_LENGTH);
	} else if (integer) {
		out->len = begin;
		/* The largest integers have no sign. */
		put_number(out, !value->type->is_signed && n > INT64_MAX ? NOTE_UINT : NOTE_INT, n);
	} else {
		put_shown(out, begin, at, NOTE_INT, NOTE_DOUBLE);
	}
}

/* An annotation with an integer, at once. False: its length needs more than a byte. */
static bool put_integer(struct md_buf *out, struct text prefix, struct text name,
			const struct md_value *value)
{
	size_t n = prefix.n + name.n;
	char *o = n < 100 ? md_buf_room(out, n + 32) : NULL, *length;
	uint64_t number;

	if (!o || !md_value_integer(value, &number))
		return false;
	*o++ = EVENT_ANNOTATION << 3 | 2;
	length = o++;
	*o++ = NOTE_NAME << 3 | 2;
	*o++ = (char)n;
	o = mempcpy(mempcpy(o, prefix.p, prefix.n), name.p, name.n);
	/* The largest integers have no sign. */
	*o++ = (!value->type->is_signed && number > INT64_MAX ? NOTE_UINT : NOTE_INT) << 3;
	o = write_varint(o, number);
	*length = (char)(o - length - 1);
	out->len = (size_t)(o - out->data);
	return true;
}

/* A debug annotation for each member; an enumeration is its label, if it has one. */
static void put_members(struct md_buf *out, struct text prefix, const struct text *names,
			uint32_t count, const struct md_value *values)
{
	size_t note, name;

	for (uint32_t i = 0; i < count; i++) {
		if (!values[i].p ||
		    (values[i].type->kind == MD_INT && !md_type_is_enum(values[i].type) &&
		     put_integer(out, prefix, names[i], &values[i])))
			continue;
		note = begin_message(out, EVENT_ANNOTATION, NOTE_LENGTH);
		name = begin_message(out, NOTE_NAME, TEXT_LENGTH);
		md_buf_put(out, prefix.p, prefix.n);
		md_buf_put(out, names[i].p, names[i].n);
		end_message(out, name, TEXT_LENGTH);
		put_value(out, &values[i]);
		end_message(out, note, NOTE_LENGTH);
	}
}

struct open_event {             /* places of contents */
	size_t packet, event;
};

/* Begins an event in a packet; with its own name and values, if row is not NULL. */
static struct open_event begin_event(struct perfetto *v, uint64_t type, uint64_t track,
				const struct mark *k, bool named)
{
	struct md_buf *out = &v->m->out;
	struct open_event at = { .packet = begin_packet(v) };
	const struct row *r = k->row;
	const char *colon;

	put_number(out, PACKET_TIMESTAMP, k->time);
	at.event = begin_message(out, PACKET_TRACK_EVENT, EVENT_LENGTH);
	put_number(out, EVENT_TYPE, type);
	put_number(out, EVENT_TRACK, track);
	if (named) {
		struct text name = k->name->plain;

		colon = memchr(name.p, ':', name.n);
		if (colon)
			put_bytes(out, EVENT_CATEGORY, name.p, (size_t)(colon - name.p));
		put_bytes(out, EVENT_NAME, name.p, name.n);
	}
	if (r && type != TYPE_COUNTER) {
		uint32_t contexts = r->stream->context_count;

		put_members(out, (struct text){ "", 0 }, r->names + contexts,
			    r->class->field_count, r->fields);
		put_members(out, (struct text){ "context.", 8 }, r->names, contexts, r->context);
	}
	return at;
}

static void end_event(struct perfetto *v, struct open_event at)
{
	end_message(&v->m->out, at.event, EVENT_LENGTH);
	end_packet(v, at.packet);
}

static void put_event(struct perfetto *v, uint64_t type, const struct mark *k, bool named)
{
	end_event(v, begin_event(v, type, make_uuid(UUID_THREAD, k->track->tid), k, named));
}

static void add_begin(void *arg, const struct mark *k)
{
	put_event(arg, TYPE_BEGIN, k, true);
}

static void add_end(void *arg, const struct mark *k)
{
	put_event(arg, TYPE_END, k, false);
}

static void describe_counter(struct perfetto *v, const struct track_counter *c)
{
	struct md_buf *out = &v->m->out;
	size_t packet = begin_packet(v), track;

	track = begin_message(out, PACKET_TRACK, EVENT_LENGTH);
	put_number(out, TRACK_UUID, make_uuid(UUID_COUNTER, (int32_t)c->number));
	put_number(out, TRACK_PARENT, make_uuid(UUID_PROCESS, c->pid));
	put_bytes(out, TRACK_NAME, c->plain.p, c->plain.n);
	put_bytes(out, TRACK_COUNTER, "", 0);
	end_message(out, track, EVENT_LENGTH);
	end_packet(v, packet);
}

static void add_counter(void *arg, const struct mark *k, struct track_counter *c,
			const struct md_value *value)
{
	struct perfetto *v = arg;
	struct md_buf *out = &v->m->out;
	struct open_event at;
	size_t shown;
	uint64_t n;

	if (!c->described)
		describe_counter(v, c);
	c->described = true;
	at = begin_event(v, TYPE_COUNTER, make_uuid(UUID_COUNTER, (int32_t)c->number), k, false);
	shown = out->len;
	if (md_value_integer(value, &n) && (value->type->is_signed || n <= INT64_MAX)) {
		put_number(out, EVENT_COUNTER, n);
	} else {
		md_value_show(value, out);
		put_shown(out, shown, shown, EVENT_COUNTER, EVENT_COUNTER_DOUBLE);
	}
	end_event(v, at);
}

static void add_instant(void *arg, const struct mark *k)
{
	struct open_event at = begin_event(arg, TYPE_INSTANT, make_uuid(UUID_THREAD, k->track->tid),
					   k, true);

	if (k->flow)
		put_fixed(&((struct perfetto *)arg)->m->out, EVENT_FLOW, k->flow);
	end_event(arg, at);
}

/* The end of a flow: an instant of the thread that has been woken. */
static void add_woken(struct perfetto *v, const struct cpu_switch *w)
{
	static const struct track_name name = { .plain = { "woken", 5 } };
	struct mark k = { .time = w->row->time, .name = &name };
	struct open_event at = begin_event(v, TYPE_INSTANT, make_uuid(UUID_THREAD, w->thread->tid),
					   &k, true);

	put_fixed(&v->m->out, EVENT_FLOW_END, w->flow);
	end_event(v, at);
}

static void add_switch(void *arg, const struct cpu_switch *w)
{
	struct perfetto *v = arg;
	struct md_buf *out = &v->m->out;
	size_t packet = begin_packet(v), bundle, event, change;

	bundle = begin_message(out, PACKET_FTRACE, NOTE_LENGTH);
	put_number(out, BUNDLE_CPU, w->row->cpu);
	event = begin_message(out, BUNDLE_EVENT, NOTE_LENGTH);
	put_number(out, FTRACE_TIMESTAMP, w->row->time);
	put_number(out, FTRACE_PID, (uint64_t)w->prev_tid);
	change = begin_message(out, FTRACE_SWITCH, NOTE_LENGTH);
	if (w->prev_name.p)
		put_text(out, SWITCH_PREV_COMM, w->prev_name);
	put_number(out, SWITCH_PREV_PID, (uint64_t)w->prev_tid);
	put_number(out, SWITCH_PREV_PRIO, (uint64_t)w->prev_prio);
	put_number(out, SWITCH_PREV_STATE, (uint64_t)w->prev_state);
	if (w->next_name.p)
		put_text(out, SWITCH_NEXT_COMM, w->next_name);
	put_number(out, SWITCH_NEXT_PID, (uint64_t)w->next_tid);
	put_number(out, SWITCH_NEXT_PRIO, (uint64_t)w->next_prio);
	end_message(out, change, NOTE_LENGTH);
	end_message(out, event, NOTE_LENGTH);
	end_message(out, bundle, NOTE_LENGTH);
	end_packet(v, packet);
	if (w->flow)
		add_woken(v, w);
}

void perfetto_make(struct maker *m)
{
	static const struct track_form form = { .describe = describe, .begin = add_begin,
						.end = add_end, .instant = add_instant,
						.switched = add_switch, .counter = add_counter };
	struct perfetto v = { .m = m };

	tracks_run(m, &form, &v);
}
