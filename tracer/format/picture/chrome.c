/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events in the Trace Event Format of Chrome, as one JSON object. Times are microseconds since the
 * first event, with three places: a number of JSON has too few digits for the epoch.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/json.h"
#include "metadata/number.h"
#include "tracer/base/array.h"
#include "tracer/format/picture/track.h"
#include "tracer/session/session.h"
#include "tracer/view/stack.h"

/* Of an event class: values that people read in another form than JSON has them. */
enum { SHOWN_CONTEXTS = 1, SHOWN_FIELDS = 2 };

struct chrome {
	struct maker *m;
	uint8_t *shown;         /* by the number of the classes; owned */
	uint32_t shown_count;
	uint64_t start;         /* time of the first event; valid if `begun` */
	bool begun, any;        /* any: an event is written */
};

static void put(struct md_buf *out, struct text text)
{
	md_buf_put(out, text.p, text.n);
}

static void begin_at(struct chrome *v, uint64_t time)
{
	if (!v->begun)
		v->start = time;
	v->begun = true;
}

/* `{"ph":"B","pid":1,"tid":2,"ts":0.000` */
static struct md_buf *begin_event(struct chrome *v, char phase, int32_t pid, int32_t tid,
				  uint64_t time)
{
	struct md_buf *out = &v->m->out;
	char *o = md_buf_room(out, 128);
	uint64_t ns;

	if (phase != 'M')
		begin_at(v, time);
	ns = time - v->start;
	if (!o)
		return out;
	o = stpcpy(o, v->any ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
	*o++ = phase;
	o = md_put_s32(stpcpy(o, "\",\"pid\":"), pid);
	o = md_put_s32(stpcpy(o, ",\"tid\":"), tid);
	o = md_put_u64(stpcpy(o, ",\"ts\":"), ns / 1000);
	*o++ = '.';
	*o++ = (char)('0' + ns % 1000 / 100);
	o = md_put2(o, ns % 100);
	out->len = (size_t)(o - out->data);
	v->any = true;
	return out;
}

static struct md_buf *begin_mark(struct chrome *v, char phase, const struct mark *k)
{
	const struct timeline *t = k->track;

	return begin_event(v, phase, track_pid(t), t->slices.tid, k->time);
}

static void put_name(struct md_buf *out, struct text name)
{
	md_buf_puts(out, ",\"name\":\"");
	put(out, name);
	md_buf_putc(out, '"');
}

/* After the contexts, which callstacks are. */
static void put_names(struct chrome *v, const struct row *r)
{
	struct md_buf *out = &v->m->out;
	size_t before = out->len, at;

	if (!v->m->stacks || r->context_json.n <= 2)
		return;
	md_buf_puts(out, ",\"symbols\":");
	at = out->len;
	stacks_put(v->m->stacks, session_clock_offset(v->m->s), r->cursor, STACKS_OBJECT, out);
	if (out->len == at)
		out->len = before;
}

/* Whether a field has the name of one of the members that follow the fields. */
static bool is_member(const struct row *r, const struct md_field *f)
{
	return f >= r->class->fields && f < r->class->fields + r->class->field_count &&
	       (!strcmp(f->name, "context") || !strcmp(f->name, "symbols"));
}

/* The members of an object: values as people read them. */
static void put_members(struct md_buf *out, const struct row *r, const struct md_field *fields,
			uint32_t count, const struct md_value *values, const struct text *names)
{
	const char *between = "{";

	for (uint32_t i = 0; i < count; i++) {
		if (!values[i].p)
			continue;
		md_buf_puts(out, between);
		between = ",";
		md_buf_puts(out, is_member(r, &fields[i]) ? "\"fields." : "\"");
		md_json_escape_put(names[i].p, names[i].n, out);
		md_buf_puts(out, "\":");
		row_put_shown(&values[i], row_shown(r->class, &fields[i]), out);
	}
	md_buf_puts(out, *between == '{' ? "{}" : "}");
}

static bool is_plain(const struct row *r, const struct md_field *fields, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (row_shown(r->class, &fields[i]) != ROW_SHOWN_PLAIN || is_member(r, &fields[i]))
			return false;
	return true;
}

static void add_classes(void *arg, const struct row *r, const struct track_name *event,
			const struct track_name *slice)
{
	struct chrome *v = arg;

	(void)slice;
	if (event->number >= v->shown_count) {
		uint32_t room = 2 * event->number + 64;

		if (!array_extend(v->shown, v->shown_count, room)) {
			v->m->out.failed = true;
			return;
		}
		v->shown_count = room;
	}
	if (!is_plain(r, r->stream->context, r->stream->context_count))
		v->shown[event->number] |= SHOWN_CONTEXTS;
	if (!is_plain(r, r->class->fields, r->class->field_count))
		v->shown[event->number] |= SHOWN_FIELDS;
}

static void put_fields(struct md_buf *out, const struct row *r, unsigned int shown)
{
	uint32_t contexts = r->stream->context_count, n = r->class->field_count;

	if (shown & SHOWN_FIELDS)
		put_members(out, r, r->class->fields, n, r->fields, r->names + contexts);
	else
		put(out, r->fields_json);
}

static void put_contexts(struct md_buf *out, const struct row *r, unsigned int shown)
{
	if (shown & SHOWN_CONTEXTS)
		put_members(out, r, r->stream->context, r->stream->context_count, r->context,
			    r->names);
	else
		put(out, r->context_json);
}

/*
 * The fields, with the contexts and the names of code addresses as members `context` and `symbols`.
 * Ends the event.
 */
static void put_args(struct chrome *v, const struct row *r, const struct track_name *event)
{
	struct md_buf *out = &v->m->out;
	unsigned int shown = r && event->number < v->shown_count ? v->shown[event->number] : 0;

	if (r) {
		md_buf_puts(out, ",\"args\":");
		put_fields(out, r, shown);
		if (!out->failed)
			out->len--;     /* the closing brace */
		if (r->context_json.n > 2) {
			md_buf_puts(out,
				    r->fields_json.n > 2 ? ",\"context\":" : "\"context\":");
			put_contexts(out, r, shown);
		}
		put_names(v, r);
		md_buf_putc(out, '}');
	}
	md_buf_putc(out, '}');
}

static void put_metadata(struct chrome *v, const char *what, int32_t pid, int32_t tid,
			 const char *member, const char *name, size_t n)
{
	struct md_buf *out = begin_event(v, 'M', pid, tid, v->start);

	md_buf_printf(out, ",\"name\":\"%s\",\"args\":{\"%s\":\"", what, member);
	md_json_escape_put(name, n, out);
	md_buf_puts(out, "\"}}");
}

static void describe_process(void *arg, const struct track_process *p)
{
	if (p->name_len)
		put_metadata(arg, "process_name", p->pid, p->pid, "name", p->name, p->name_len);
	if (p->group_len)
		put_metadata(arg, "process_labels", p->pid, p->pid, "labels", p->group,
			     p->group_len);
}

static void describe(void *arg, const struct timeline *t)
{
	if (t->name_len)
		put_metadata(arg, "thread_name", track_pid(t), t->slices.tid, "name", t->name,
			     t->name_len);
}

static void add_begin(void *arg, const struct mark *k)
{
	struct md_buf *out = begin_mark(arg, 'B', k);

	put_name(out, k->name->json);
	put_args(arg, k->row, k->event);
}

static void add_end(void *arg, const struct mark *k)
{
	begin_mark(arg, 'E', k);
	put_args(arg, k->row, k->event);
}

/* The slice ends where another one begins or ends: how long it lasted is not known. */
static void add_cut(void *arg, const struct mark *k)
{
	md_buf_puts(begin_mark(arg, 'E', k), ",\"args\":{\"no end\":true}}");
}

/* A flow begins ('s') or ends ('f') in the slice of the thread that the CPU runs. */
static void put_flow(struct chrome *v, char phase, uint32_t cpu, uint64_t time, uint64_t flow)
{
	struct md_buf *out = begin_event(v, phase, SLICE_CPUS,
					 SLICE_CPUS + (int32_t)(cpu & 0xfffff), time);

	md_buf_printf(out, ",\"name\":\"wakeup\",\"cat\":\"wakeup\",\"id\":%" PRIu64 "%s}", flow,
		      phase == 'f' ? ",\"bp\":\"e\"" : "");
}

static void add_instant(void *arg, const struct mark *k)
{
	struct md_buf *out = begin_mark(arg, 'i', k);

	put_name(out, k->name->json);
	md_buf_puts(out, ",\"s\":\"t\"");
	put_args(arg, k->row, k->event);
	if (k->flow)
		put_flow(arg, 's', k->row->cpu, k->time, k->flow);
}

static void add_counter(void *arg, const struct mark *k, struct track_counter *c,
			const struct md_value *value)
{
	struct md_buf *out = begin_event(arg, 'C', c->pid, k->track->slices.tid, k->time);

	put_name(out, c->json);
	md_buf_puts(out, ",\"args\":{\"value\":");
	md_value_json(value, out);
	md_buf_puts(out, "}}");
}

/*
 * On the track of a CPU, a slice for each thread that it runs, none while it is idle; an instant if
 * it is not known how long the thread runs.
 */
static void add_switch(void *arg, const struct cpu_switch *w)
{
	struct mark k = { .track = w->track, .time = w->row->time };
	struct md_buf *out;

	if (w->was_running) {
		begin_mark(arg, 'E', &k);
		put_args(arg, NULL, NULL);
	}
	if (w->track->unknown) {
		k.name = k.event = w->event;
		k.row = w->row;
		add_instant(arg, &k);
		if (w->flow)
			put_flow(arg, 'f', w->row->cpu, k.time, w->flow);
	}
	if (!w->track->running)
		return;
	out = begin_mark(arg, 'B', &k);
	if (w->next_name.p) {
		md_buf_puts(out, ",\"name\":\"");
		md_json_escape_put(w->next_name.p, w->next_name.n, out);
		md_buf_putc(out, '"');
	}
	put_args(arg, w->row, w->event);
	if (w->flow)
		put_flow(arg, 'f', w->row->cpu, k.time, w->flow);
}

/* A slice on the track of the stream, with the count as its name. */
static void add_lost(void *arg, struct timeline *t, const struct lost *l)
{
	struct lost_value values[LOST_VALUES];
	struct chrome *v = arg;
	uint64_t begin = lost_begin(l), end = l->loss.to;
	struct md_buf *out;

	begin_at(v, begin);
	begin = begin < v->start ? v->start : begin;
	out = begin_event(v, 'X', t->pid, t->slices.tid, begin);
	end = end > begin ? end - begin : 0;
	md_buf_printf(out, ",\"dur\":%" PRIu64 ".%03" PRIu64 ",\"name\":\"", end / 1000,
		      end % 1000);
	md_loss_title(&l->loss, out);
	md_buf_puts(out, "\",\"args\":{");
	lost_values(l, values);
	for (int i = 0; i < LOST_VALUES; i++) {
		md_buf_printf(out, "%s\"%s\":", i ? "," : "", values[i].name);
		if (!values[i].text) {
			md_buf_printf(out, "%" PRIu64, values[i].number);
			continue;
		}
		md_buf_putc(out, '"');
		md_json_escape_put(values[i].text, strlen(values[i].text), out);
		md_buf_putc(out, '"');
	}
	md_buf_puts(out, "}}");
}

void chrome_make(struct maker *m)
{
	static const struct track_form form = { .classes = add_classes,
						.process = describe_process, .describe = describe,
						.begin = add_begin, .end = add_end, .cut = add_cut,
						.instant = add_instant, .switched = add_switch,
						.counter = add_counter, .lose = add_lost,
						.json = true };
	struct chrome v = { .m = m };
	struct slices_dropped dropped;

	md_buf_puts(&m->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	maker_names(m, false);
	dropped = tracks_run(m, &form, &v);
	md_buf_printf(&m->out, "\n],\"otherData\":{\"start\":\"%" PRIu64 "\"", v.start);
	if (dropped.overwritten)
		md_buf_printf(&m->out,
			      ",\"begins without an end, which was overwritten\":\"%" PRIu64 "\"",
			      dropped.overwritten);
	if (dropped.tracked)
		md_buf_printf(&m->out,
			      ",\"begins without an end because of tracking\":\"%" PRIu64 "\"",
			      dropped.tracked);
	md_buf_puts(&m->out, "}}\n");
	free(v.shown);
}
