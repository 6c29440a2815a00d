/* SPDX-License-Identifier: MIT */
/* Events as text: see text.h. A compiled program (program.h) formats the fields. */
#include <string.h>

#include "metadata/escape.h"
#include "metadata/put.h"
#include "metadata/text.h"
#include "metadata/text_pieces.h"

void md_text_hostname(struct md_text *t, const char *hostname)
{
	size_t n = strlen(hostname);

	if (n > MD_TEXT_HOSTNAME_MAX)
		n = MD_TEXT_HOSTNAME_MAX;
	memset(t->hostname, 0, sizeof(t->hostname));
	memcpy(t->hostname, hostname, n);
	t->hostname_len = (uint8_t)n;
}

void md_text_init(struct md_text *t, uint64_t clock_offset, const char *hostname)
{
	*t = (struct md_text){ .clock_offset = clock_offset, .second = -1 };
	md_text_hostname(t, hostname);
}

static void set_second(struct md_text *t, int64_t second)
{
	md_put_time_of_day(t->hms, second);
	t->second = second;
}

/* Times after the year 2262, which babeltrace2's clock cannot represent. */
static __attribute__((cold, noinline)) char *put_no_time(char *o)
{
	return put_string(o, NO_TIME);
}

/* `(+0.000003856) ` */
static inline char *put_delta(char *o, const struct md_text *t, uint64_t ts)
{
	uint64_t delta = ts - t->last;

	memcpy(o, "(+0.00000", 9);
	/*
	 * babeltrace2 treats a decrease by 1 ns as `none yet`, and prints any other as a huge
	 * unsigned number.
	 */
	if (__builtin_expect(!t->any || delta == UINT64_MAX, 0))
		return put_string(o, NO_DELTA);
	if (__builtin_expect(delta < 10000, 1)) {
		o = md_put4(o + 9, (uint32_t)delta);
	} else if (delta < NS_PER_SEC) {
		o = md_put9(o + 4, (uint32_t)delta);
	} else {
		o = md_put_u64(o + 2, delta / NS_PER_SEC);
		*o++ = '.';
		o = md_put9(o, (uint32_t)(delta % NS_PER_SEC));
	}
	memcpy(o, ") ", 2);
	return o + 2;
}

/* `[12:44:11.814926623] `, and the delta. */
static inline __attribute__((always_inline)) char *put_time(char *o, struct md_text *t, uint64_t ts)
{
	uint64_t ns, rest;

	if (__builtin_expect(__builtin_add_overflow(t->clock_offset, ts, &ns) || ns > INT64_MAX, 0))
		return put_no_time(o);
	/*
	 * Avoids the division while the second is the same; `second` is -1 at first, which no time
	 * has.
	 */
	rest = ns - (uint64_t)t->second * NS_PER_SEC;
	if (__builtin_expect(rest >= NS_PER_SEC, 0)) {
		set_second(t, (int64_t)(ns / NS_PER_SEC));
		rest = ns % NS_PER_SEC;
	}
	*o++ = '[';
	memcpy(o, t->hms, 8);
	o[8] = '.';
	o = md_put9(o + 9, (uint32_t)rest);
	memcpy(o, "] ", 2);
	o = put_delta(o + 2, t, ts);
	t->last = ts;
	t->any = true;
	return o;
}

static inline place put_double(place o, double v)
{
	return md_put_double(o, v);
}

static inline place put_number(place o, uint64_t v, const struct md_step *s)
{
	return md_put_int(o, v, s->bits, s->base, s->is_signed);
}

static inline place put_escaped(place o, const uint8_t *p, const uint8_t *end,
				const uint8_t *limit, const uint8_t **stop)
{
	return md_escape(o, p, end, limit, stop);
}

static inline place put_quote(place o)
{
	*o = '"';
	return o + 1;
}

static inline unsigned int put_plain_piece(place o, const uint8_t *p)
{
	return md_copy_plain(o, p);
}

static inline bool has_room(place o, place full, size_t n)
{
	return full >= o && (size_t)(full - o) >= n;
}

#include "metadata/text_values.inc"
#include "metadata/run_events.inc"

/* Removes n characters at p from a text that ends at o. Returns its new end. */
static __attribute__((noinline)) char *cut_text(char *p, size_t n, char *o)
{
	memmove(p, p + n, (size_t)(o - p) - n);
	return o - n;
}

void md_text_event(struct md_text *t, const struct md_occurrence *e, const struct md_stream *stream,
		   uint32_t cpu, struct md_buf *out)
{
	const struct md_program *program = e->event->program, *context = stream->context_program;
	struct run r = { .limit = e->limit, .out = out, .base = HEAD_TEXT + TAIL_TEXT };
	size_t no_cpu = 0;      /* place after the name, without a CPU */
	char *o;

	r.base += most_text(program, (size_t)(e->end - e->payload));
	if (context)
		r.base += most_text(context, (size_t)(e->payload - e->context));
	o = md_buf_room(out, r.base);
	if (!o)
		return;
	if (!stream->no_time)
		o = put_time(o, t, e->ts);
	if (t->hostname_len) {
		o = put_literal(o, t->hostname, t->hostname_len);
		*o++ = ' ';
	}
	o = put_literal(o, program->text, program->title_len);
	if (!shows_cpu(stream))
		no_cpu = (size_t)((o -= CPU_ID_TEXT) - out->data);
	else
		o = md_put_u32(o, cpu);
	if (context) {
		r.p = e->context;
		r.end = e->payload;
		r.per_byte = context->text_per_byte;
		o = put_program(&r, context, o);
	}
	if (o && !r.torn) {
		r.p = e->payload;
		r.end = e->end;
		r.per_byte = program->text_per_byte;
		o = put_program(&r, program, o);
	}
	if (o && no_cpu)
		o = cut_text(out->data + no_cpu, CPU_END_TEXT, o);
	if (o && e->event->no_fields && !r.torn) {
		size_t n = !shows_cpu(stream) && !context ? NO_PARTS_TEXT : NO_FIELDS_TEXT;

		o = cut_text(o - n - 1, n, o);
	}
	if (o && r.torn)
		o = put_string(o, TORN);
	if (o)
		out->len = (size_t)(o - out->data);
}

void md_text_events(struct md_text *t, const struct md_row *r, struct md_buf *out, size_t want)
{
	char *o = out->data + out->len, *end = out->data + out->size;

	if (out->failed || !out->data || out->len >= want)
		return;
	o = put_row(t, r, o, want < out->size ? out->data + want : end, end);
	out->len = (size_t)(o - out->data);
}
