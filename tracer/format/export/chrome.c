/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events in the Trace Event Format of Chrome, as one JSON object. Times are microseconds since the
 * first event, with three places: a number of JSON has too few digits for the epoch.
 */
#include <inttypes.h>
#include <string.h>

#include "metadata/json.h"
#include "metadata/number.h"
#include "tracer/format/export/track.h"
#include "tracer/session/session.h"
#include "tracer/view/stack.h"

struct chrome {
	struct maker *m;
	uint64_t start;         /* time of the first event; valid if `any` */
	bool any;
};

static void put(struct md_buf *out, struct text text)
{
	md_buf_put(out, text.p, text.n);
}

/* `{"ph":"B","pid":1,"tid":2,"ts":0.000` */
static struct md_buf *begin_event(struct chrome *v, char phase, int32_t pid, int32_t tid,
				  uint64_t time)
{
	struct md_buf *out = &v->m->out;
	char *o = md_buf_room(out, 128);
	uint64_t ns;

	if (!v->start)
		v->start = time;
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

	return begin_event(v, phase, t->pid ? t->pid : t->tid, t->tid, k->time);
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

/*
 * The fields, with the contexts and the names of code addresses as members `context` and `symbols`.
 * Ends the event.
 */
static void put_args(struct chrome *v, const struct row *r)
{
	struct md_buf *out = &v->m->out;

	if (r) {
		md_buf_puts(out, ",\"args\":");
		md_buf_put(out, r->fields_json.p, r->fields_json.n - 1);
		if (r->context_json.n > 2) {
			md_buf_puts(out,
				    r->fields_json.n > 2 ? ",\"context\":" : "\"context\":");
			put(out, r->context_json);
		}
		put_names(v, r);
		md_buf_putc(out, '}');
	}
	md_buf_putc(out, '}');
}

static void put_metadata(struct chrome *v, const char *what, const struct timeline *t,
			 const char *name, size_t n)
{
	struct md_buf *out = begin_event(v, 'M', t->pid ? t->pid : t->tid, t->tid, v->start);

	md_buf_printf(out, ",\"name\":\"%s\",\"args\":{\"name\":\"", what);
	md_json_escape_put(name, n, out);
	md_buf_puts(out, "\"}}");
}

static void describe(void *arg, const struct timeline *t)
{
	struct chrome *v = arg;

	const char *hardware = track_process_name(t);

	if (hardware)
		put_metadata(v, "process_name", t, hardware, strlen(hardware));
	else if (t->name_len && (!t->pid || t->pid == t->tid))
		put_metadata(v, "process_name", t, t->name, t->name_len);
	if (t->name_len)
		put_metadata(v, "thread_name", t, t->name, t->name_len);
}

static void add_begin(void *arg, const struct mark *k)
{
	struct md_buf *out = begin_mark(arg, 'B', k);

	put_name(out, k->name->json);
	put_args(arg, k->row);
}

static void add_end(void *arg, const struct mark *k)
{
	begin_mark(arg, 'E', k);
	put_args(arg, k->row);
}

/* A flow begins ('s') or ends ('f') in the slice of the thread that the CPU runs. */
static void put_flow(struct chrome *v, char phase, uint32_t cpu, uint64_t time, uint64_t flow)
{
	struct md_buf *out = begin_event(v, phase, TRACK_CPUS,
					 TRACK_CPUS + (int32_t)(cpu & 0xfffff), time);

	md_buf_printf(out, ",\"name\":\"wakeup\",\"cat\":\"wakeup\",\"id\":%" PRIu64 "%s}", flow,
		      phase == 'f' ? ",\"bp\":\"e\"" : "");
}

static void add_instant(void *arg, const struct mark *k)
{
	struct md_buf *out = begin_mark(arg, 'i', k);

	put_name(out, k->name->json);
	md_buf_puts(out, ",\"s\":\"t\"");
	put_args(arg, k->row);
	if (k->flow)
		put_flow(arg, 's', k->row->cpu, k->time, k->flow);
}

static void add_counter(void *arg, const struct mark *k, struct track_counter *c,
			const struct md_value *value)
{
	struct md_buf *out = begin_event(arg, 'C', c->pid, k->track->tid, k->time);

	put_name(out, c->json);
	md_buf_puts(out, ",\"args\":{\"value\":");
	md_value_json(value, out);
	md_buf_puts(out, "}}");
}

/* On the track of a CPU, a slice for each thread that it runs, none while it is idle. */
static void add_switch(void *arg, const struct cpu_switch *w)
{
	struct mark k = { .track = w->track, .time = w->row->time };
	struct md_buf *out;

	if (w->was_running) {
		begin_mark(arg, 'E', &k);
		put_args(arg, NULL);
	}
	if (!w->track->running)
		return;
	out = begin_mark(arg, 'B', &k);
	if (w->next_name.p) {
		md_buf_puts(out, ",\"name\":\"");
		md_json_escape_put(w->next_name.p, w->next_name.n, out);
		md_buf_putc(out, '"');
	}
	put_args(arg, w->row);
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

	if (!v->start)
		v->start = begin;
	begin = begin < v->start ? v->start : begin;
	out = begin_event(v, 'X', t->pid, t->tid, begin);
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
	static const struct track_form form = { .describe = describe, .begin = add_begin,
						.end = add_end, .instant = add_instant,
						.switched = add_switch,
						.counter = add_counter, .lose = add_lost,
						.json = true };
	struct chrome v = { .m = m };

	md_buf_puts(&m->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	maker_names(m, false);
	tracks_run(m, &form, &v);
	md_buf_printf(&m->out, "\n],\"otherData\":{\"start\":\"%" PRIu64 "\"}}\n", v.start);
}
