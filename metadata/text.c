/* SPDX-License-Identifier: MIT */
/* Events as text: see text.h. A compiled program (program.h) formats the fields. */
#include <string.h>
#include <time.h>

#include "metadata/escape.h"
#include "metadata/number.h"
#include "metadata/program.h"
#include "metadata/text.h"

#define NS_PER_SEC 1000000000u

enum {
	HEAD_TEXT = 96 + MD_TEXT_HOSTNAME_MAX,  /* `[…] (+18446744073.709551615) host `, cpu */
	TAIL_TEXT = MD_TEXT_SLACK + 32,         /* for copies in pieces beyond the end; TORN */
};

#define TORN " <torn> }\n"
#define NO_DELTA "(+?.???" "???" "???" ") "     /* in pieces, or it would hold a trigraph */

struct run {
	const struct md_program *program;
	const uint8_t *p, *end, *limit;
	struct md_buf *out;
	size_t per_byte, base;  /* room for a turn of a careful loop, and for the text after it */
	uint8_t tag;            /* of the next variant */
	bool torn;              /* the bytes changed since they were decoded */
};

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
	time_t time = (time_t)second;
	struct tm tm;

	if (!localtime_r(&time, &tm))
		memset(&tm, 0, sizeof(tm));
	md_put2(t->hms, (uint32_t)tm.tm_hour);
	t->hms[2] = ':';
	md_put2(t->hms + 3, (uint32_t)tm.tm_min);
	t->hms[5] = ':';
	md_put2(t->hms + 6, (uint32_t)tm.tm_sec);
	t->second = second;
}

static char *put_string(char *o, const char *s)
{
	size_t n = strlen(s);

	memcpy(o, s, n);
	return o + n;
}

/* Times after the year 2262, which babeltrace2's clock cannot represent. */
static __attribute__((cold, noinline)) char *put_no_time(char *o)
{
	return put_string(o, "[Error] " NO_DELTA);
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
static inline char *put_time(char *o, struct md_text *t, uint64_t ts)
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

/* Most literals are shorter than a piece: one load and one store, no call. */
static inline char *put_literal(char *o, const char *s, size_t n)
{
	memcpy(o, s, MD_TEXT_SLACK);
	if (__builtin_expect(n > MD_TEXT_SLACK, 0))
		memcpy(o + MD_TEXT_SLACK, s + MD_TEXT_SLACK, n - MD_TEXT_SLACK);
	return o + n;
}

/* The step's integer, extended to 64 bits. */
static inline uint64_t load(const struct md_step *s, const uint8_t *p)
{
	uint64_t v = md_load(p, s->size, s->big_endian);
	unsigned int unused = 64 - 8u * s->size;

	return s->is_signed ? (uint64_t)((int64_t)(v << unused) >> unused) : v;
}

static char *put_float(char *o, const struct md_step *s, const uint8_t *p)
{
	uint64_t bits = md_load(p, s->size, s->big_endian);
	uint32_t low = (uint32_t)bits;
	double d;
	float f;

	if (s->size == 4) {
		memcpy(&f, &low, sizeof(f));
		return md_put_double(o, f);
	}
	memcpy(&d, &bits, sizeof(d));
	return md_put_double(o, d);
}

static bool is_in_range(const struct md_label *l, uint64_t v, bool is_signed)
{
	if (is_signed)
		return (int64_t)v >= l->begin && (int64_t)v <= l->end;
	return v >= (uint64_t)l->begin && v <= (uint64_t)l->end;
}

static inline __attribute__((always_inline)) char *
put_enum(char *o, const struct md_program *program, const struct md_step *s, const uint8_t *p)
{
	const struct md_label *l = program->labels + s->labels, *end = l + s->label_count,
			      *shown = NULL;
	uint64_t v = load(s, p);

	*o++ = '(';
	for (; l < end; l++) {
		/* A label is printed once, even if several of its ranges contain the value. */
		if (!is_in_range(l, v, s->is_signed) || (shown && shown->name == l->name))
			continue;
		o = put_string(o, shown ? ", " : " ");
		memcpy(o, program->text + l->text, l->text_len);
		o += l->text_len;
		shown = l;
	}
	o = put_string(o, shown ? " : container = " : " <unknown> : container = ");
	o = md_put_int(o, v, s->size, s->base, s->is_signed);
	*o++ = ' ';
	*o++ = ')';
	return o;
}

static inline size_t left(const struct run *r)
{
	return (size_t)(r->end - r->p);
}

/*
 * Text of at most n bytes. Bytes that change meanwhile can mislead only this function, lengths and
 * loops; each checks at its end that the least bytes of the following steps remain.
 */
static inline char *put_text(struct run *r, const struct md_step *s, uint64_t n, char *o)
{
	const uint8_t *stop;

	if (n > left(r)) {
		r->torn = true;
		return o;
	}
	o = md_escape(o, r->p, r->p + n, r->limit, &stop);
	r->p += n;
	r->torn = left(r) < s->rest;
	return o;
}

static inline char *put_c_string(struct run *r, const struct md_step *s, char *o)
{
	const uint8_t *stop;

	o = md_escape(o, r->p, r->end, r->limit, &stop);
	r->p = stop + (stop < r->end);
	r->torn = left(r) < s->rest;
	return o;
}

static char *put_steps(struct run *r, const struct md_step *s, char *o);

/* Makes room for one more turn, for the remaining bytes, and for the text after the loop. */
static char *more_room(struct run *r, char *o)
{
	r->out->len = (size_t)(o - r->out->data);
	o = md_buf_room(r->out, r->base + r->per_byte * left(r));
	if (!o)
		r->torn = true;
	return o;
}

static char *put_loop(struct run *r, const struct md_step *s, uint64_t n, char *o)
{
	uint64_t i;

	for (i = 0; i < n && !r->torn; i++) {
		if (left(r) < s->body_min) {
			r->torn = true;
			return o;
		}
		if (s->careful) {
			o = more_room(r, o);
			if (!o)
				return NULL;
		}
		memcpy(o, ", [", 3);
		/* The first: ` [`. */
		if (i)
			o += 3;
		else
			o = put_string(o, " [");
		o = md_put_u64(o, i);
		memcpy(o, "] = ", 4);
		o = put_steps(r, s + 1, o + 4);
	}
	if (!r->torn)
		r->torn = left(r) < s->rest;
	return o;
}

/* The tag is read once: see MD_STEP_LENGTH. */
static char *put_tag(struct run *r, const struct md_step *s, char *o)
{
	r->tag = *r->p++;
	__asm__ volatile("" : "+m"(r->tag));
	return put_enum(o, r->program, s, &r->tag);
}

static char *put_variant(struct run *r, const struct md_step *s, char *o)
{
	const struct md_step *option = s + 1;
	uint8_t tag = r->tag;

	if (tag >= s->count) {
		r->torn = true;
		return o;
	}
	while (tag--)
		option += 1 + option->body;
	if (left(r) < option->body_min) {
		r->torn = true;
		return o;
	}
	o = put_steps(r, option + 1, o);
	if (!r->torn)
		r->torn = left(r) < s->rest;
	return o;
}

/* Not inline: it is rare, and would take registers from the other steps. */
static __attribute__((cold, noinline)) char *put_rare(struct run *r, const struct md_step *s,
						      char *o)
{
	return s->op == MD_STEP_TAG ? put_tag(r, s, o) : put_variant(r, s, o);
}

/* Steps whose size is in the data, and tags. */
static inline char *put_variable(struct run *r, const struct md_step *s, uint64_t length, char *o)
{
	uint64_t count = s->by_length ? length : s->count;

	switch (s->op) {
	case MD_STEP_STRING:
		return put_c_string(r, s, o);
	case MD_STEP_TEXT:
		return put_text(r, s, count, o);
	case MD_STEP_LOOP:
		return put_loop(r, s, count, o);
	default:
		return put_rare(r, s, o);
	}
}

/*
 * Formats a list of steps from r->p, which has the least bytes of the list. Returns NULL without
 * memory; stops early, with r->torn set, if the bytes differ from the decoded ones.
 */
static char *put_steps(struct run *r, const struct md_step *s, char *o)
{
	const char *literals = r->program->text;
	/* a copy of r->p in a register; r->p is valid in put_variable */
	const uint8_t *p = r->p;
	uint64_t length = 0;

	for (;; s++) {
		o = put_literal(o, literals + s->literal, s->literal_len);
		switch (s->op) {
#define FIXED(step, bytes, text) \
		case step: \
			o = text; \
			p += (bytes); \
			continue
		FIXED(MD_STEP_U8, 1, md_put_small(o, *p));
		FIXED(MD_STEP_S8, 1, md_put_s32(o, (int8_t)*p));
		FIXED(MD_STEP_U16, 2, md_put_u32(o, md_load16(p)));
		FIXED(MD_STEP_S16, 2, md_put_s32(o, (int16_t)md_load16(p)));
		FIXED(MD_STEP_U32, 4, md_put_u32(o, md_load32(p)));
		FIXED(MD_STEP_S32, 4, md_put_s32(o, (int32_t)md_load32(p)));
		FIXED(MD_STEP_U64, 8, md_put_u64(o, md_load64(p)));
		FIXED(MD_STEP_S64, 8, md_put_s64(o, (int64_t)md_load64(p)));
		FIXED(MD_STEP_INT, s->size,
		      md_put_int(o, load(s, p), s->size, s->base, s->is_signed));
		FIXED(MD_STEP_FLOAT, s->size, put_float(o, s, p));
		FIXED(MD_STEP_ENUM, s->size, put_enum(o, r->program, s, p));
#undef FIXED
		case MD_STEP_LENGTH:
			length = md_load(p, s->size, 0);
			/*
			 * Printed, and used by the next step: the compiler must not read the value
			 * again.
			 */
			__asm__ volatile("" : "+r"(length));
			o = md_put_u64(o, length);
			p += s->size;
			continue;
		case MD_STEP_END:
			r->p = p;
			return o;
		default:
			r->p = p;
			o = put_variable(r, s, length, o);
			if (__builtin_expect(r->torn, 0))
				return o;
			p = r->p;
			s += s->body;   /* of a loop or variant; else 0 */
		}
	}
}

static inline char *put_program(struct run *r, const struct md_program *program, char *o)
{
	r->program = program;
	return put_steps(r, program->steps, o);
}

/* Saturates: md_buf_room fails for an event whose text is too large. */
static size_t most_text(const struct md_program *program, size_t bytes)
{
	uint64_t n;

	if (__builtin_mul_overflow(program->text_per_byte, bytes, &n) ||
	    __builtin_add_overflow(program->text_base, n, &n))
		return SIZE_MAX / 4;
	return n;
}

static char *room(struct md_buf *b, size_t n)
{
	if (__builtin_expect(n <= b->size - b->len && !b->failed, 1))
		return b->data + b->len;
	return md_buf_room(b, n);
}

void md_text_event(struct md_text *t, const struct md_occurrence *e, const struct md_stream *stream,
		   uint32_t cpu, struct md_buf *out)
{
	const struct md_program *program = e->event->program, *context = stream->context_program;
	struct run r = { .limit = e->limit, .out = out, .base = HEAD_TEXT + TAIL_TEXT };
	char *o;

	r.base += most_text(program, (size_t)(e->end - e->payload));
	if (context)
		r.base += most_text(context, (size_t)(e->payload - e->context));
	o = room(out, r.base);
	if (!o)
		return;
	o = put_time(o, t, e->ts);
	if (t->hostname_len) {
		o = put_literal(o, t->hostname, t->hostname_len);
		*o++ = ' ';
	}
	o = put_literal(o, program->text, program->title_len);
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
	if (o && r.torn)
		o = put_string(o, TORN);
	if (o)
		out->len = (size_t)(o - out->data);
}
