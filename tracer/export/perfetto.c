/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as a trace of Perfetto: messages of protobuf in the form of its trace.proto. A track has a
 * descriptor before its first event. Switches of CPUs are events of ftrace, from which Perfetto
 * makes its tracks of CPUs.
 */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/hash.h"
#include "tracer/export/track.h"

#define SEQUENCE 1              /* trusted_packet_sequence_id of all packets */
#define COUNTERS_MAX 65536u     /* further counters are shown as instants */

/* Numbers of fields, by message. */
enum { TRACE_PACKET = 1 };
enum { PACKET_FTRACE = 1, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_TRACK_EVENT = 11,
       PACKET_SEQUENCE_FLAGS = 13, PACKET_TRACK = 60 };
enum { TRACK_UUID = 1, TRACK_NAME, TRACK_PROCESS, TRACK_THREAD, TRACK_PARENT, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID, THREAD_NAME = 5 };
enum { EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_CATEGORY = 22, EVENT_NAME,
       EVENT_COUNTER = 30, EVENT_COUNTER_DOUBLE = 44 };
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
	struct md_buf packet, event, part, text;        /* messages being made, one in the other */
	void *counters;         /* tree of uuids that have a descriptor (tsearch); owned */
	uint32_t counter_count;
	bool any;
};

/* ---- protobuf ---- */

static void put_varint(struct md_buf *out, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		md_buf_putc(out, (char)(v | 0x80));
	md_buf_putc(out, (char)v);
}

static void put_number(struct md_buf *out, uint32_t field, uint64_t v)
{
	put_varint(out, field << 3);
	put_varint(out, v);
}

static void put_double(struct md_buf *out, uint32_t field, double d)
{
	uint8_t bytes[8];
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(bits >> 8 * i);
	put_varint(out, field << 3 | 1);
	md_buf_put(out, bytes, sizeof(bytes));
}

static void put_bytes(struct md_buf *out, uint32_t field, const char *p, size_t n)
{
	put_varint(out, field << 3 | 2);
	put_varint(out, n);
	md_buf_put(out, p, n);
}

/* Adds a message that is complete, and empties its buffer. */
static void put_message(struct md_buf *out, uint32_t field, struct md_buf *message)
{
	put_bytes(out, field, message->data, message->len);
	out->failed |= message->failed;
	md_buf_reset(message);
}

/* The characters of a string; of another value its JSON. */
static void put_characters(struct perfetto *v, struct md_buf *out, uint32_t field,
			   struct json value)
{
	json_characters(value, &v->text);
	put_message(out, field, &v->text);
}

/* ---- packets ---- */

static void end_packet(struct perfetto *v)
{
	put_number(&v->packet, PACKET_SEQUENCE, SEQUENCE);
	if (!v->any)
		put_number(&v->packet, PACKET_SEQUENCE_FLAGS, CLEARED);
	v->any = true;
	put_message(&v->m->out, TRACE_PACKET, &v->packet);
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
	put_number(&v->event, TRACK_UUID, make_uuid(UUID_PROCESS, pid_of(t)));
	put_number(&v->part, PROCESS_PID, (uint32_t)pid_of(t));
	if (n)
		put_bytes(&v->part, PROCESS_NAME, name, n);
	put_message(&v->event, TRACK_PROCESS, &v->part);
	put_message(&v->packet, PACKET_TRACK, &v->event);
	end_packet(v);
}

static void describe(void *arg, const struct timeline *t)
{
	struct perfetto *v = arg;

	if (t->pid == TRACK_CPUS)
		describe_process(v, t, "CPUs", 4);
	else if (pid_of(t) == t->tid)
		describe_process(v, t, t->name, t->name_len);
	put_number(&v->event, TRACK_UUID, make_uuid(UUID_THREAD, t->tid));
	put_number(&v->event, TRACK_PARENT, make_uuid(UUID_PROCESS, pid_of(t)));
	put_number(&v->part, THREAD_PID, (uint32_t)pid_of(t));
	put_number(&v->part, THREAD_TID, (uint32_t)t->tid);
	if (t->name_len)
		put_bytes(&v->part, THREAD_NAME, t->name, t->name_len);
	put_message(&v->event, TRACK_THREAD, &v->part);
	put_message(&v->packet, PACKET_TRACK, &v->event);
	end_packet(v);
}

/* ---- events ---- */

static void put_value(struct perfetto *v, struct json value)
{
	char text[40] = "";
	int64_t n;

	if (json_is_string(value)) {
		put_characters(v, &v->part, NOTE_STRING, value);
	} else if (json_integer(value, &n) && *value.p != '{') {
		put_number(&v->part, NOTE_INT, (uint64_t)n);
	} else if (*value.p == '{' || *value.p == '[' || value.n >= sizeof(text)) {
		put_bytes(&v->part, NOTE_JSON, value.p, value.n);
	} else {
		memcpy(text, value.p, value.n);
		if (strpbrk(text, ".e"))
			put_double(&v->part, NOTE_DOUBLE, strtod(text, NULL));
		else
			put_number(&v->part, NOTE_UINT, strtoull(text, NULL, 10));
	}
}

/* A debug annotation for each member; an enumeration is its label, if it has one. */
static void put_members(struct perfetto *v, const char *prefix, const struct md_field *fields,
			uint32_t count, struct json object)
{
	struct json name, value;

	for (uint32_t i = 0; i < count && json_member(&object, &name, &value); i++) {
		value = json_label(&fields[i], value);
		if (*value.p == 'n')
			continue;       /* null */
		md_buf_puts(&v->text, prefix);
		md_buf_put(&v->text, name.p, name.n);
		put_message(&v->part, NOTE_NAME, &v->text);
		put_value(v, value);
		put_message(&v->event, EVENT_ANNOTATION, &v->part);
	}
}

/* What all events have; the event's own name and values, if row is not NULL. */
static void put_event(struct perfetto *v, uint64_t type, uint64_t track, const struct mark *k,
		      bool named)
{
	const struct row *r = k->row;
	struct json event = k->name;
	const char *colon;

	put_number(&v->packet, PACKET_TIMESTAMP, k->time);
	put_number(&v->event, EVENT_TYPE, type);
	put_number(&v->event, EVENT_TRACK, track);
	if (named) {
		json_text(event, &v->text);
		colon = v->text.len ? memchr(v->text.data, ':', v->text.len) : NULL;
		if (colon)
			put_bytes(&v->event, EVENT_CATEGORY, v->text.data,
				  (size_t)(colon - v->text.data));
		put_message(&v->event, EVENT_NAME, &v->text);
	}
	if (r && type != TYPE_COUNTER) {
		put_members(v, "", r->class->fields, r->class->field_count, r->fields);
		put_members(v, "context.", r->stream->context, r->stream->context_count,
			    r->context);
	}
}

static void end_event(struct perfetto *v)
{
	put_message(&v->packet, PACKET_TRACK_EVENT, &v->event);
	end_packet(v);
}

static void add_begin(void *arg, const struct mark *k)
{
	put_event(arg, TYPE_BEGIN, make_uuid(UUID_THREAD, k->track->tid), k, true);
	end_event(arg);
}

static void add_end(void *arg, const struct mark *k)
{
	put_event(arg, TYPE_END, make_uuid(UUID_THREAD, k->track->tid), k, false);
	end_event(arg);
}

static int compare_uuids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The track of a counter: one for each event and process. 0: there are too many. */
static uint64_t find_counter(struct perfetto *v, const struct mark *k)
{
	uint64_t h = hash_step(hash_bytes(HASH_START, k->name.p, k->name.n),
			       (uint32_t)pid_of(k->track)),
		 uuid = (uint64_t)UUID_COUNTER << 40 | (h & 0xffffffffff), *copy;

	if (tfind(&uuid, &v->counters, compare_uuids))
		return uuid;
	copy = v->counter_count < COUNTERS_MAX ? malloc(sizeof(*copy)) : NULL;
	if (!copy)
		return 0;
	*copy = uuid;
	if (!tsearch(copy, &v->counters, compare_uuids)) {
		free(copy);
		return 0;
	}
	v->counter_count++;
	put_number(&v->event, TRACK_UUID, uuid);
	put_number(&v->event, TRACK_PARENT, make_uuid(UUID_PROCESS, pid_of(k->track)));
	json_text(k->name, &v->text);
	put_message(&v->event, TRACK_NAME, &v->text);
	put_message(&v->event, TRACK_COUNTER, &v->part);        /* empty */
	put_message(&v->packet, PACKET_TRACK, &v->event);
	end_packet(v);
	return uuid;
}

static void add_instant(void *arg, const struct mark *k)
{
	struct perfetto *v = arg;
	struct json value = track_counter(k->row);
	uint64_t uuid = value.n ? find_counter(v, k) : 0;
	char text[40] = "";
	int64_t n;

	if (!uuid) {
		put_event(v, TYPE_INSTANT, make_uuid(UUID_THREAD, k->track->tid), k, true);
		end_event(v);
		return;
	}
	put_event(v, TYPE_COUNTER, uuid, k, false);
	/* A float that is no number is a string. */
	memcpy(text, value.p + json_is_string(value),
	       value.n < sizeof(text) ? value.n - json_is_string(value) : 0);
	if (json_integer(value, &n))
		put_number(&v->event, EVENT_COUNTER, (uint64_t)n);
	else
		put_double(&v->event, EVENT_COUNTER_DOUBLE, strtod(text, NULL));
	end_event(v);
}

static void add_switch(void *arg, const struct cpu_switch *w)
{
	struct perfetto *v = arg;
	struct md_buf *out = &v->part;

	if (json_is_string(w->prev_name))
		put_characters(v, out, SWITCH_PREV_COMM, w->prev_name);
	put_number(out, SWITCH_PREV_PID, (uint64_t)w->prev_tid);
	put_number(out, SWITCH_PREV_PRIO, (uint64_t)w->prev_prio);
	put_number(out, SWITCH_PREV_STATE, (uint64_t)w->prev_state);
	if (json_is_string(w->next_name))
		put_characters(v, out, SWITCH_NEXT_COMM, w->next_name);
	put_number(out, SWITCH_NEXT_PID, (uint64_t)w->next_tid);
	put_number(out, SWITCH_NEXT_PRIO, (uint64_t)w->next_prio);
	/* event (a message in `event`) in the bundle (in `text`) in the packet */
	put_number(&v->event, FTRACE_TIMESTAMP, w->row->time);
	put_number(&v->event, FTRACE_PID, (uint64_t)w->prev_tid);
	put_message(&v->event, FTRACE_SWITCH, out);
	put_number(&v->text, BUNDLE_CPU, w->row->cpu);
	put_message(&v->text, BUNDLE_EVENT, &v->event);
	put_message(&v->packet, PACKET_FTRACE, &v->text);
	end_packet(v);
}

void perfetto_make(struct maker *m)
{
	static const struct track_form form = { .describe = describe, .begin = add_begin,
						.end = add_end, .instant = add_instant,
						.switched = add_switch };
	struct perfetto v = { .m = m };

	tracks_run(m, &form, &v);
	tdestroy(v.counters, free);
	md_buf_deinit(&v.packet);
	md_buf_deinit(&v.event);
	md_buf_deinit(&v.part);
	md_buf_deinit(&v.text);
}
