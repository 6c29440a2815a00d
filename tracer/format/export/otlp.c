/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events as spans and log records of OTLP. */
#include "tracer/format/export/otlp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/json.h"
#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/session/session.h"

/* A span that is open; slice.mark is its index. */
struct span {
	struct otlp_resource *resource;
	struct otlp_ids ids;
	uint8_t parent[8];              /* zero: none */
	uint64_t begin;                 /* ns since the epoch */
	struct md_buf text;             /* name and attributes: "name":"…","attributes":[… */
	uint32_t next;                  /* that is free; 0: none */
};

struct class {                          /* of events: by the number of their name */
	struct otlp_specials context, fields;
};

struct otlp {
	struct maker *m;
	struct tracks *tracks;
	struct class *classes;          /* owned */
	uint32_t class_count;
	struct otlp_lines lines;
	struct md_buf service, attributes;      /* scratch */
	struct span *spans;             /* owned; the first is not used */
	uint32_t span_count, free;
	uint64_t last_begin, same;      /* begins at one time */
};

/* The text of a special value, from a field or else a context, in `to`; "": there is none. */
static const char *special_text(const struct row *r, const struct class *c, int special,
				struct md_buf *to)
{
	const struct md_value *values[] = { r->fields, r->context };
	const struct otlp_specials *specials[] = { &c->fields, &c->context };
	const char *text;
	size_t n;

	md_buf_reset(to);
	for (int i = 0; i < 2 && !to->len; i++) {
		int at = specials[i]->at[special];

		if (at >= 0 && values[i][at].p && md_value_string(&values[i][at], &text, &n))
			md_buf_put(to, text, n);
	}
	return md_buf_str(to);
}

/* The resource of an event. NULL: m->err. */
static struct otlp_resource *resource_of(struct otlp *v, const struct row *r, const struct class *c)
{
	return otlp_resource_find(&v->lines, r->cursor->stream.trace,
				  special_text(r, c, OTLP_SERVICE, &v->service),
				  special_text(r, c, OTLP_RESOURCE, &v->attributes));
}

/* ---- records ---- */

static void put_time(struct md_buf *out, const char *member, uint64_t time)
{
	md_buf_printf(out, "\"%s\":\"%" PRIu64 "\",", member, time);
}

static void put_member_id(struct md_buf *out, const char *member, const uint8_t *id, size_t n)
{
	if (!otlp_id_is_set(id, n))
		return;
	md_buf_printf(out, "\"%s\":\"", member);
	otlp_put_id(id, n, out);
	md_buf_puts(out, "\",");
}

static void put_values(struct md_buf *out, const char *prefix, const struct md_value *values,
		       const struct text *names, uint32_t count, const struct otlp_specials *skip)
{
	for (uint32_t i = 0; i < count; i++)
		if (!otlp_is_special(skip, i))
			otlp_put_value(out, prefix, names[i], &values[i]);
}

/* The fields, with their prefix. */
static void put_fields(struct md_buf *out, const char *prefix, const struct row *r,
		       const struct class *c)
{
	put_values(out, prefix, r->fields, r->names + r->stream->context_count,
		   r->class->field_count, &c->fields);
}

/* What else is known of an event. */
static void put_context(struct md_buf *out, const struct timeline *t, const struct row *r,
			const struct class *c)
{
	int32_t tid = t ? t->slices.tid : 0;

	put_values(out, "context.", r->context, r->names, r->stream->context_count, &c->context);
	if (tid > 0 && tid < SLICE_CPUS)
		otlp_put_number(out, "thread.id", tid);
	if (tid > 0 && tid < SLICE_CPUS && t->name_len)
		otlp_put_string(out, "thread.name", t->name, t->name_len);
	if (t && t->pid > 0 && t->pid < SLICE_CPUS)
		otlp_put_number(out, "process.pid", t->pid);
	if (!r->stream->no_cpu)
		otlp_put_number(out, "cpu.logical_number", r->cpu);
}

static const struct class *class_of(const struct otlp *v, const struct track_name *event)
{
	static const struct class none = { { { -1, -1, -1, -1 } }, { { -1, -1, -1, -1 } } };

	return event && event->number < v->class_count ? &v->classes[event->number] : &none;
}

/* The span of the slice that is the innermost open one around `s`, or before it. */
static const struct span *span_around(const struct otlp *v, const struct timeline *t,
				      struct slice *s)
{
	struct slice *outer = track_outer(t, s);

	return outer && outer->mark ? &v->spans[outer->mark] : NULL;
}

/* ---- logs ---- */

/* LTTng's levels, emerg to debug, as OpenTelemetry's appendix has those of syslog. */
static const struct { uint8_t number; const char *text; } severities[] = {
	{ 21, "EMERG" }, { 19, "ALERT" }, { 18, "CRIT" }, { 17, "ERR" }, { 13, "WARNING" },
	{ 10, "NOTICE" }, { 9, "INFO" }, { 8, "DEBUG_SYSTEM" }, { 8, "DEBUG_PROGRAM" },
	{ 7, "DEBUG_PROCESS" }, { 7, "DEBUG_MODULE" }, { 6, "DEBUG_UNIT" },
	{ 6, "DEBUG_FUNCTION" }, { 5, "DEBUG_LINE" }, { 5, "DEBUG" },
};

static void put_log(struct otlp *v, const struct timeline *t, const struct row *r,
		    const struct track_name *event)
{
	const struct class *c = class_of(v, event);
	struct otlp_resource *resource = resource_of(v, r, c);
	const struct span *around = t ? span_around(v, t, t->slices.open + t->slices.depth) : NULL;
	int level = r->class->loglevel;
	struct otlp_ids ids, more;
	struct md_buf *out;

	if (!resource)
		return;
	otlp_read_ids(&c->fields, r->fields, &ids);
	otlp_read_ids(&c->context, r->context, &more);
	ids = otlp_id_is_set(ids.trace, 16) ? ids : otlp_id_is_set(more.trace, 16) ? more
		: around ? around->ids : (struct otlp_ids){ 0 };
	out = otlp_record_begin(&v->lines, resource, OTLP_LOGS);
	put_time(out, "timeUnixNano", r->time);
	put_time(out, "observedTimeUnixNano", r->time);
	put_member_id(out, "traceId", ids.trace, 16);
	put_member_id(out, "spanId", ids.span, 8);
	if (level >= 0 && level < (int)(sizeof(severities) / sizeof(*severities)))
		md_buf_printf(out, "\"severityNumber\":%u,\"severityText\":\"%s\",",
			      severities[level].number, severities[level].text);
	md_buf_puts(out, "\"eventName\":\"");
	md_buf_put(out, event->json.p, event->json.n);
	md_buf_puts(out, "\",\"body\":{\"stringValue\":\"");
	md_buf_put(out, event->json.p, event->json.n);
	md_buf_puts(out, "\"},\"attributes\":[");
	put_fields(out, "", r, c);
	put_context(out, t, r, c);
	otlp_record_end(&v->lines, out);
}

static void add_instant(void *arg, const struct mark *k)
{
	put_log(arg, k->track, k->row, k->event);
}

static void add_switch(void *arg, const struct cpu_switch *w)
{
	put_log(arg, w->track, w->row, w->event);
}

static void add_loss(void *arg, struct timeline *t, const struct lost *l)
{
	struct lost_value values[LOST_VALUES];
	struct otlp *v = arg;
	struct otlp_resource *resource =
		otlp_resource_find(&v->lines, l->cursor->stream.trace, "", "");
	struct md_buf *out;
	char key[48];

	(void)t;
	if (!resource)
		return;
	out = otlp_record_begin(&v->lines, resource, OTLP_LOGS);
	put_time(out, "timeUnixNano", l->loss.to);
	put_time(out, "observedTimeUnixNano", l->loss.to);
	md_buf_puts(out, "\"severityNumber\":13,\"severityText\":\"WARNING\","
			 "\"eventName\":\"lost\","
			 "\"body\":{\"stringValue\":\"lost\"},\"attributes\":[");
	lost_values(l, values);
	for (int i = 0; i < LOST_VALUES; i++) {
		snprintf(key, sizeof(key), "lost.%s", values[i].name);
		if (values[i].text)
			otlp_put_string(out, key, values[i].text, strlen(values[i].text));
		else if (values[i].number)
			otlp_put_number(out, key, (int64_t)values[i].number);
	}
	otlp_record_end(&v->lines, out);
}

/* ---- spans ---- */

/* The index of a new one; 0: no memory. */
static uint32_t new_span(struct otlp *v)
{
	uint32_t i = v->free, room = v->span_count ? 2 * v->span_count : 64;

	if (i) {
		v->free = v->spans[i].next;
		return i;
	}
	if (room > UINT32_MAX / 4 || !array_extend(v->spans, v->span_count, room)) {
		v->m->err = -ENOMEM;
		return 0;
	}
	for (i = v->span_count ? v->span_count : 1; i < room; i++) {
		v->spans[i].next = v->free;
		v->free = i;
	}
	v->span_count = room;
	return new_span(v);
}

static void free_span(struct otlp *v, struct slice *s)
{
	struct span *span = &v->spans[s->mark];

	md_buf_reset(&span->text);
	span->next = v->free;
	v->free = s->mark;
	s->mark = 0;
}

/* Number of the begin among those at its time. */
static uint64_t count_same(struct otlp *v, uint64_t time)
{
	v->same = time == v->last_begin ? v->same + 1 : 0;
	v->last_begin = time;
	return v->same;
}

/* The ids of a span that begins; around: the span around it, or NULL. */
static void choose_ids(struct otlp *v, struct span *span, const struct mark *k,
		       const struct class *c, const struct span *around)
{
	const struct trace *t = k->row->cursor->stream.trace;
	uint64_t made[] = { hash_bytes(HASH_START, t->md->uuid, 16),
			    (uint64_t)k->track->slices.tid, k->track->slices.dev, k->time,
			    k->track->slices.depth, count_same(v, k->time) };
	const size_t count = sizeof(made) / sizeof(*made);
	struct otlp_ids own, active;

	otlp_read_ids(&c->fields, k->row->fields, &own);
	otlp_read_ids(&c->context, k->row->context, &active);
	if (otlp_id_is_set(own.trace, 16))
		memcpy(span->ids.trace, own.trace, 16);
	else if (around)
		memcpy(span->ids.trace, around->ids.trace, 16);
	else if (otlp_id_is_set(active.trace, 16))
		memcpy(span->ids.trace, active.trace, 16);
	else
		otlp_make_id(span->ids.trace, 16, made, count);
	memcpy(span->ids.span, own.span, 8);
	if (!otlp_id_is_set(own.span, 8))
		otlp_make_id(span->ids.span, 8, made, count);
	/* A parent is in the same trace. */
	memset(span->parent, 0, 8);
	if (around && !memcmp(around->ids.trace, span->ids.trace, 16))
		memcpy(span->parent, around->ids.span, 8);
	else if (!memcmp(active.trace, span->ids.trace, 16) &&
		 memcmp(active.span, span->ids.span, 8))
		memcpy(span->parent, active.span, 8);
}

static void begin_span(void *arg, const struct mark *k)
{
	struct otlp *v = arg;
	const struct class *c = class_of(v, k->event);
	struct otlp_resource *resource = resource_of(v, k->row, c);
	uint32_t i = resource ? new_span(v) : 0;
	struct span *span;

	if (!i)
		return;
	span = &v->spans[i];
	span->resource = resource;
	span->begin = k->time;
	choose_ids(v, span, k, c, span_around(v, k->track, k->slice));
	md_buf_puts(&span->text, "\"name\":\"");
	md_buf_put(&span->text, k->name->json.p, k->name->json.n);
	md_buf_puts(&span->text, "\",\"kind\":1,\"attributes\":[");
	put_fields(&span->text, "", k->row, c);
	put_context(&span->text, k->track, k->row, c);
	v->m->out.failed |= span->text.failed;
	k->slice->mark = i;
}

/* The record of the span up to its attributes, which the caller ends. */
static struct md_buf *put_span(struct otlp *v, const struct span *span, uint64_t end)
{
	struct md_buf *out = otlp_record_begin(&v->lines, span->resource, OTLP_SPANS);

	put_member_id(out, "traceId", span->ids.trace, 16);
	put_member_id(out, "spanId", span->ids.span, 8);
	put_member_id(out, "parentSpanId", span->parent, 8);
	put_time(out, "startTimeUnixNano", span->begin);
	put_time(out, "endTimeUnixNano", end > span->begin ? end : span->begin);
	md_buf_put(out, span->text.data, span->text.len);
	return out;
}

static void end_span(void *arg, const struct mark *k)
{
	struct otlp *v = arg;
	struct md_buf *out;

	/* Its begin was overwritten. */
	if (!k->slice->mark) {
		put_log(v, k->track, k->row, k->event);
		return;
	}
	out = put_span(v, &v->spans[k->slice->mark], k->time);
	put_fields(out, "end.", k->row, class_of(v, k->event));
	free_span(v, k->slice);
	otlp_record_end(&v->lines, out);
}

/* The span has no end: it is shown up to where that is known. */
static void cut_span(void *arg, const struct mark *k)
{
	static const char unfinished[] = "{\"key\":\"unfinished\",\"value\":{\"boolValue\":true}}";
	struct otlp *v = arg;
	struct md_buf *out;

	if (!k->slice->mark)
		return;
	out = put_span(v, &v->spans[k->slice->mark], k->time);
	if (out->len && out->data[out->len - 1] == '}')
		md_buf_putc(out, ',');
	md_buf_puts(out, unfinished);
	free_span(v, k->slice);
	otlp_record_end(&v->lines, out);
}

static void add_classes(void *arg, const struct row *r, const struct track_name *event,
			const struct track_name *slice)
{
	uint32_t contexts = r->stream->context_count, room = 2 * event->number + 64;
	struct otlp *v = arg;
	struct class *c;

	(void)slice;
	if (event->number >= v->class_count) {
		if (!array_extend(v->classes, v->class_count, room)) {
			v->m->err = -ENOMEM;
			return;
		}
		v->class_count = room;
	}
	c = &v->classes[event->number];
	otlp_find_specials(r->names, contexts, &c->context);
	otlp_find_specials(r->names + contexts, r->class->field_count, &c->fields);
}

static const struct track_form form = {
	.classes = add_classes, .begin = begin_span, .end = end_span, .cut = cut_span,
	.leave = cut_span, .instant = add_instant, .switched = add_switch, .lose = add_loss,
};

/* ---- all ---- */

struct otlp *otlp_create(struct maker *m)
{
	struct otlp *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->m = m;
	v->lines.m = m;
	v->tracks = tracks_begin(m, &form, v);
	if (v->tracks)
		return v;
	free(v);
	return NULL;
}

void otlp_add(void *otlp, const struct row *r)
{
	tracks_add(((struct otlp *)otlp)->tracks, r);
}

void otlp_lose(void *otlp, const struct lost *l)
{
	tracks_lose(((struct otlp *)otlp)->tracks, l);
}

void otlp_flush(struct otlp *v)
{
	otlp_lines_flush(&v->lines);
}

void otlp_end(struct otlp *v)
{
	tracks_end(v->tracks);
	v->tracks = NULL;
	otlp_lines_flush(&v->lines);
	otlp_destroy(v);
}

void otlp_destroy(struct otlp *v)
{
	if (!v)
		return;
	if (v->tracks)
		tracks_end(v->tracks);
	for (uint32_t i = 0; i < v->span_count; i++)
		md_buf_deinit(&v->spans[i].text);
	free(v->spans);
	md_buf_deinit(&v->service);
	md_buf_deinit(&v->attributes);
	otlp_lines_deinit(&v->lines);
	free(v->classes);
	free(v);
}

void otlp_make(struct maker *m)
{
	struct otlp *v = otlp_create(m);

	if (!v) {
		m->err = -ENOMEM;
		return;
	}
	m->lose = otlp_lose;
	maker_run(m, ROW_VALUES, otlp_add, v);
	otlp_end(v);
}
