/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as a trace of Perfetto: messages of protobuf in the form of its trace.proto. A track has a
 * descriptor before its first event. Switches of CPUs are events of ftrace, from which Perfetto
 * makes its tracks of CPUs.
 *
 * The first packet relates the clocks: times of packets are of CLOCK_REALTIME, those of ftrace's
 * events of CLOCK_BOOTTIME. Losses are a sequence of their own: a packet that says that others were
 * dropped ends the validity of all names of its sequence.
 */
#include "tracer/format/picture/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"

/* What all events of a class have, as fields of protobuf, one after the other. */
struct shape {
	struct md_buf bytes;
	uint32_t *at;           /* offsets of the parts in bytes, and of their end; owned */
	uint8_t *shown;         /* enum row_shown of contexts and fields; owned */
	uint32_t count;         /* parts */
};

/* The numbers of: category and name of the event, and of its slice; names of contexts and fields */
enum { PART_EVENT, PART_SLICE, PART_NAMES };

static void put_text(struct md_buf *out, uint32_t field, struct text text)
{
	size_t at = begin_message(out, field, TEXT_LENGTH);

	md_value_put_text(text.p, text.n, out);
	end_message(out, at, TEXT_LENGTH);
}

/* ---- shapes ---- */

static void put_title(struct perfetto *v, struct md_buf *out, struct text name)
{
	const char *colon = memchr(name.p, ':', name.n);
	struct text category = { name.p, colon ? (size_t)(colon - name.p) : 0 };

	if (colon)
		put_number(out, EVENT_CATEGORY_NUMBER,
			   perfetto_intern(&v->names, INTERNED_CATEGORY, category));
	put_number(out, EVENT_NAME_NUMBER, perfetto_intern(&v->names, INTERNED_EVENT, name));
}

/* The name of a field, or of a context. */
static void put_note_name(struct perfetto *v, struct md_buf *out, struct text name, bool context)
{
	struct md_buf text = MD_BUF_INIT;

	md_buf_puts(&text, context ? "context." : "");
	md_buf_put(&text, name.p, name.n);
	put_number(out, NOTE_NAME_NUMBER,
		   text.failed ? 0
			       : perfetto_intern(&v->names, INTERNED_ANNOTATION,
						 (struct text){ md_buf_str(&text), text.len }));
	out->failed |= text.failed;
	md_buf_deinit(&text);
}

/* A packet with the names that no packet has. */
static void put_names(struct perfetto *v)
{
	struct md_buf *out = &v->m->out, *fresh = &v->names.fresh;
	size_t packet, part;

	out->failed |= fresh->failed;
	if (!fresh->len)
		return;
	packet = begin_packet(v);
	part = begin_message(out, PACKET_INTERNED, EVENT_LENGTH);
	md_buf_put(out, fresh->data, fresh->len);
	end_message(out, part, EVENT_LENGTH);
	end_packet(v, packet);
	md_buf_reset(fresh);
}

static void add_shape(void *arg, const struct row *r, const struct track_name *event,
		      const struct track_name *slice)
{
	uint32_t contexts = r->stream->context_count, i = PART_NAMES;
	struct perfetto *v = arg;
	struct shape *s;

	s = array_room(v->shapes, v->shape_count + 1) ? &v->shapes[v->shape_count] : NULL;
	if (s)
		*s = (struct shape){ .count = PART_NAMES + contexts + r->class->field_count };
	if (s) {
		s->at = calloc(s->count + 1, sizeof(*s->at));
		s->shown = calloc(s->count, 1);
		v->shape_count++;
	}
	if (!s || !s->at || !s->shown) {
		v->m->err = -ENOMEM;
		return;
	}
	put_title(v, &s->bytes, event->plain);
	s->at[PART_SLICE] = (uint32_t)s->bytes.len;
	put_title(v, &s->bytes, slice->plain);
	for (; i < s->count; i++) {
		s->shown[i - PART_NAMES] =
			(uint8_t)row_shown(r->class, row_field(r, i - PART_NAMES));
		s->at[i] = (uint32_t)s->bytes.len;
		put_note_name(v, &s->bytes, r->names[i - PART_NAMES], i - PART_NAMES < contexts);
	}
	s->at[i] = (uint32_t)s->bytes.len;
	v->m->out.failed |= s->bytes.failed;
	put_names(v);
}

static void free_shapes(struct perfetto *v)
{
	for (uint32_t i = 0; i < v->shape_count; i++) {
		md_buf_deinit(&v->shapes[i].bytes);
		free(v->shapes[i].at);
		free(v->shapes[i].shown);
	}
	free(v->shapes);
}

static struct text get_part(const struct shape *s, uint32_t i)
{
	return (struct text){ s->bytes.data + s->at[i], s->at[i + 1] - s->at[i] };
}

/* ---- events ---- */

/*
 * A debug annotation for each member from `first` up to `end`; an enumeration is its label, if it
 * has one. There are `room` bytes at o, also after a value that needs more. NULL: no memory.
 */
static char *put_members(struct perfetto *v, char *o, const struct shape *s, uint32_t first,
			 uint32_t end, const struct md_value *values, size_t room)
{
	struct md_buf *out = &v->m->out;

	for (uint32_t i = first; i < end && o; i++) {
		struct text name = get_part(s, PART_NAMES + i);
		enum row_shown as = s->shown[i];
		char *after = !values[i].p ? o : as ? NULL : put_short(o, name, &values[i]);
		size_t note;

		if (!after) {
			out->len = (size_t)(o - out->data);
			note = begin_message(out, EVENT_ANNOTATION, NOTE_LENGTH);
			md_buf_put(out, name.p, name.n);
			if (as)
				put_shown_value(out, &values[i], as);
			else
				put_value(out, &values[i]);
			end_message(out, note, NOTE_LENGTH);
			after = md_buf_room(out, room);
		}
		o = after;
	}
	return o;
}

/* A time, which nearly always has the high bits of the time before. */
static char *write_time(struct perfetto *v, char *o, uint64_t time)
{
	if (time >> 35 != v->high || !v->high_len) {
		v->high = time >> 35;
		v->high_len = (size_t)(write_varint(v->high_bytes, v->high) - v->high_bytes);
	}
	for (int i = 0; i < 5; i++)
		*o++ = (char)(uint8_t)(time >> 7 * i | 0x80);
	memcpy(o, v->high_bytes, sizeof(v->high_bytes));
	return o + v->high_len;
}

struct open_event {             /* places of contents */
	size_t packet, event;
};

enum title { TITLE_NONE = -1, TITLE_EVENT = PART_EVENT, TITLE_SLICE = PART_SLICE };

/* Begins an event in a packet; with the values of its row, if there is one. */
static struct open_event begin_event(struct perfetto *v, uint64_t type, uint64_t track,
				     const struct mark *k, enum title title)
{
	const struct row *r = type == TYPE_COUNTER ? NULL : k->row;
	const struct shape *s = k->event ? &v->shapes[k->event->number] : NULL;
	struct md_buf *out = &v->m->out;
	struct open_event at = { .packet = begin_packet(v) };
	size_t room = 64 + (s ? s->bytes.len + 16 * (size_t)s->count : 0) +
		      (r ? (size_t)(r->occurrence->end - r->occurrence->context) : 0);
	char *o = md_buf_room(out, room);

	if (!o)
		return at;
	*o++ = PACKET_TIMESTAMP << 3;
	o = write_time(v, o, k->time);
	*o++ = PACKET_TRACK_EVENT << 3 | 2;
	o += EVENT_LENGTH;
	at.event = (size_t)(o - out->data);
	*o++ = EVENT_TYPE << 3;
	*o++ = (char)type;
	*o++ = EVENT_TRACK << 3;
	o = write_varint(o, track);
	if (s && title != TITLE_NONE) {
		struct text name = get_part(s, (uint32_t)title);

		o = mempcpy(o, name.p, name.n);
	}
	if (r) {
		uint32_t contexts = r->stream->context_count;

		o = put_members(v, o, s, contexts, contexts + r->class->field_count, r->context,
				room);
		o = o ? put_members(v, o, s, 0, contexts, r->context, room) : NULL;
	}
	if (o)
		out->len = (size_t)(o - out->data);
	return at;
}

static void end_event(struct perfetto *v, struct open_event at)
{
	end_message(&v->m->out, at.event, EVENT_LENGTH);
	end_packet(v, at.packet);
}

static uint64_t thread_uuid(const struct timeline *t)
{
	return make_uuid(UUID_THREAD, t->slices.tid);
}

static void put_event(struct perfetto *v, uint64_t type, const struct mark *k, enum title title)
{
	end_event(v, begin_event(v, type, thread_uuid(k->track), k, title));
}

static void add_begin(void *arg, const struct mark *k)
{
	put_event(arg, TYPE_BEGIN, k, TITLE_SLICE);
}

static void add_end(void *arg, const struct mark *k)
{
	put_event(arg, TYPE_END, k, TITLE_NONE);
}

/* A note says that the slice ends where another one begins or ends. */
static void add_cut(void *arg, const struct mark *k)
{
	struct perfetto *v = arg;
	struct md_buf *out = &v->m->out;
	struct open_event at = begin_event(v, TYPE_END, thread_uuid(k->track), k, TITLE_NONE);
	size_t note = begin_message(out, EVENT_ANNOTATION, NOTE_LENGTH);

	put_bytes(out, NOTE_NAME, "no end", 6);
	put_number(out, NOTE_BOOL, 1);
	end_message(out, note, NOTE_LENGTH);
	end_event(v, at);
}

static void describe_counter(struct perfetto *v, const struct track_counter *c)
{
	struct md_buf *out = &v->m->out;
	size_t packet = begin_packet(v), track = begin_message(out, PACKET_TRACK, EVENT_LENGTH);

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
	uint64_t n = 0;
	double d;

	if (!c->described)
		describe_counter(v, c);
	c->described = true;
	at = begin_event(v, TYPE_COUNTER, make_uuid(UUID_COUNTER, (int32_t)c->number), k,
			 TITLE_NONE);
	if (md_value_shown_float(value, &d))
		put_double(out, EVENT_COUNTER_DOUBLE, d);
	else if (md_value_integer(value, &n) && !value->type->is_signed && n > INT64_MAX)
		put_double(out, EVENT_COUNTER_DOUBLE, (double)n);
	else
		put_number(out, EVENT_COUNTER, n);
	end_event(v, at);
}

static void add_instant(void *arg, const struct mark *k)
{
	struct open_event at = begin_event(arg, TYPE_INSTANT, thread_uuid(k->track),
					   k, TITLE_EVENT);

	if (k->flow)
		put_fixed(&((struct perfetto *)arg)->m->out, EVENT_FLOW, k->flow);
	end_event(arg, at);
}

/* The end of a flow: an instant of the thread that has been woken. */
static void add_woken(struct perfetto *v, const struct cpu_switch *w)
{
	struct mark k = { .time = w->row->time };
	struct open_event at = begin_event(v, TYPE_INSTANT, thread_uuid(w->thread),
					   &k, TITLE_NONE);

	put_number(&v->m->out, EVENT_NAME_NUMBER, v->woken);
	put_fixed(&v->m->out, EVENT_FLOW_END, w->flow);
	end_event(v, at);
}

static void put_switch(struct perfetto *v, const struct cpu_switch *w)
{
	struct md_buf *out = &v->m->out;
	size_t packet = begin_packet(v), bundle, event, change;

	bundle = begin_message(out, PACKET_FTRACE, NOTE_LENGTH);
	put_number(out, BUNDLE_CPU, w->row->cpu);
	event = begin_message(out, BUNDLE_EVENT, NOTE_LENGTH);
	put_number(out, FTRACE_TIMESTAMP, w->row->time - v->boot);
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
}

/*
 * Perfetto lets a thread run up to the next switch of the CPU. Where it is not known how long, a
 * switch to the idle thread follows at once, and one from it comes before the next switch. What
 * threads do then has a state that the kernel does not have: Perfetto shows it as `?`.
 */
static void add_switch(void *arg, const struct cpu_switch *w)
{
	struct cpu_switch known = *w, gap = *w;

	if (w->was_unknown) {
		gap.prev_tid = gap.prev_prio = gap.prev_state = 0;
		gap.prev_name = (struct text){ "swapper", 7 };
		gap.next_tid = w->prev_tid;
		gap.next_prio = w->prev_prio;
		gap.next_name = w->prev_name;
		put_switch(arg, &gap);
	}
	if (w->prev_left_out)
		known.prev_state = STATE_UNKNOWN;
	put_switch(arg, &known);
	if (w->track->unknown) {
		gap = *w;
		gap.prev_tid = w->next_tid;
		gap.prev_prio = w->next_prio;
		gap.prev_name = w->next_name;
		gap.prev_state = STATE_UNKNOWN;
		gap.next_tid = gap.next_prio = 0;
		gap.next_name = (struct text){ "swapper", 7 };
		put_switch(arg, &gap);
	}
	if (w->flow)
		add_woken(arg, w);
}

/* An event of the track of a loss, in a sequence that has no names. */
static void put_loss(struct perfetto *v, const struct timeline *t, uint64_t type, uint64_t time,
		     const struct md_loss *loss)
{
	struct md_buf *out = &v->m->out;
	size_t packet = begin_packet(v), event, name;

	put_number(out, PACKET_TIMESTAMP, time);
	put_number(out, PACKET_CLOCK, BUILTIN_REALTIME);
	event = begin_message(out, PACKET_TRACK_EVENT, EVENT_LENGTH);
	put_number(out, EVENT_TYPE, type);
	put_number(out, EVENT_TRACK, make_uuid(UUID_THREAD, t->slices.tid));
	if (loss) {
		name = begin_message(out, EVENT_NAME, TEXT_LENGTH);
		md_loss_title(loss, out);
		end_message(out, name, TEXT_LENGTH);
	}
	end_message(out, event, EVENT_LENGTH);
	if (loss)
		put_number(out, PACKET_DROPPED, 1);
	perfetto_end_any(v, packet, SEQUENCE_LOSSES, loss ? CLEARED : NEEDS_STATE);
}

/* A slice with the count as its name, whose first packet says that packets were dropped. */
static void add_lost(void *arg, struct timeline *t, const struct lost *l)
{
	struct perfetto *v = arg;

	put_loss(v, t, TYPE_BEGIN, lost_begin(l), &l->loss);
	put_loss(v, t, TYPE_END, l->loss.to, NULL);
}

void perfetto_make(struct maker *m)
{
	static const struct track_form form = { .classes = add_shape,
						.process = perfetto_describe_process,
						.describe = perfetto_describe, .begin = add_begin,
						.end = add_end, .cut = add_cut,
						.instant = add_instant, .switched = add_switch,
						.counter = add_counter, .lose = add_lost };
	struct perfetto v = { .m = m };

	perfetto_put_first(&v);
	v.woken = perfetto_intern(&v.names, INTERNED_EVENT, (struct text){ "woken", 5 });
	put_names(&v);
	tracks_run(m, &form, &v);
	free_shapes(&v);
	perfetto_names_deinit(&v.names);
}
