/* SPDX-License-Identifier: MIT */
/* The lengths of lines: the code that text.c includes, with pieces that are counted only. */
#include <string.h>

#include "metadata/escape.h"
#include "metadata/run.h"
#include "metadata/text.h"
#include "metadata/text_pieces.h"

typedef size_t place;   /* characters before it in the line */

static const uint64_t powers[] = {
	0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000,
	100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
	10000000000000000, 100000000000000000, 1000000000000000000, 10000000000000000000u,
};

/* Decimal digits: those that as many bits have at least, and one more from a power of ten on. */
static inline size_t count_digits(uint64_t v)
{
	/* 1233 / 4096 is log10(2), near enough for 64 bits. */
	unsigned int n = (64 - (unsigned int)__builtin_clzll(v | 1)) * 1233 >> 12;

	return n + (v >= powers[n]);
}

static inline place put_literal(place o, const char *s, size_t n)
{
	(void)s;
	return o + n;
}

static inline place put_bytes(place o, const char *s, size_t n)
{
	(void)s;
	return o + n;
}

static inline place put_string(place o, const char *s)
{
	return o + strlen(s);
}

static inline place put_u64(place o, uint64_t v)
{
	return o + count_digits(v);
}

static inline place put_s64(place o, int64_t v)
{
	return o + (v < 0) + count_digits(v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

static inline place put_u8(place o, uint8_t v)
{
	return put_u64(o, v);
}

static inline place put_u32(place o, uint32_t v)
{
	return put_u64(o, v);
}

static inline place put_s32(place o, int32_t v)
{
	return put_s64(o, v);
}

static place put_double(place o, double v)
{
	char text[40];

	return o + (size_t)(md_put_double(text, v) - text);
}

static inline place put_number(place o, uint64_t v, const struct md_step *s)
{
	char text[80];

	if (s->base == 10)
		return s->is_signed ? put_s64(o, (int64_t)v) : put_u64(o, v);
	return o + (size_t)(md_put_int(text, v, s->bits, s->base, s->is_signed) - text);
}

static inline place put_escaped(place o, const uint8_t *p, const uint8_t *end,
				const uint8_t *limit, const uint8_t **stop)
{
	return o + md_escape_length(p, end, limit, stop);
}

static inline place put_quote(place o)
{
	return o + 1;
}

static inline unsigned int put_plain_piece(place o, const uint8_t *p)
{
	char unused[MD_PIECE];

	(void)o;
	return md_copy_plain(unused, p);
}

static inline bool has_room(place o, place full, size_t n)
{
	(void)o, (void)full, (void)n;
	return true;
}

static inline place more_room(struct run *r, place o)
{
	(void)r;
	return o;
}

#include "metadata/text_values.inc"

/* Of put_delta in text.c */
static size_t delta_length(const struct md_text *t, uint64_t ts)
{
	uint64_t delta = ts - t->last;

	if (!t->any || delta == UINT64_MAX)
		return sizeof(NO_DELTA) - 1;
	return sizeof("(+.123456789) ") - 1 + count_digits(delta / NS_PER_SEC);
}

static bool has_time(const struct md_text *t, uint64_t ts)
{
	uint64_t ns;

	return !__builtin_add_overflow(t->clock_offset, ts, &ns) && ns <= INT64_MAX;
}

/* Of put_time in text.c */
static inline size_t time_length(struct md_text *t, uint64_t ts)
{
	size_t n;

	if (__builtin_expect(!has_time(t, ts), 0))
		return sizeof(NO_TIME) - 1;
	n = sizeof("[12:44:11.814926623] ") - 1;
	/* Nearly all are less than ten seconds after the one before. */
	if (__builtin_expect(t->any && ts - t->last < 10 * (uint64_t)NS_PER_SEC, 1))
		n += sizeof("(+0.123456789) ") - 1;
	else
		n += delta_length(t, ts);
	t->last = ts;
	t->any = true;
	return n;
}

static inline place put_time(place o, struct md_text *t, uint64_t ts)
{
	return o + time_length(t, ts);
}

#include "metadata/run_events.inc"

int64_t md_text_longer(const struct md_text *t, uint64_t ts)
{
	return has_time(t, ts) ? (int64_t)delta_length(t, ts) - (int64_t)(sizeof(NO_DELTA) - 1) : 0;
}

size_t md_text_length(struct md_text *t, const struct md_occurrence *e,
		      const struct md_stream *stream, uint32_t cpu)
{
	const struct md_program *program = e->event->program, *context = stream->context_program;
	struct run r = { .limit = e->limit };
	size_t n = program->title_len + (stream->no_time ? 0 : time_length(t, e->ts));

	if (t->hostname_len)
		n += t->hostname_len + 1u;
	if (!shows_cpu(stream))
		n -= CPU_ID_TEXT + CPU_END_TEXT;
	else
		n = put_u32(n, cpu);
	if (context) {
		r.p = e->context;
		r.end = e->payload;
		n = put_program(&r, context, n);
	}
	if (!r.torn) {
		r.p = e->payload;
		r.end = e->end;
		n = put_program(&r, program, n);
	}
	if (r.torn)
		return n + sizeof(TORN) - 1;
	if (e->event->no_fields)
		n -= !shows_cpu(stream) && !context ? NO_PARTS_TEXT : NO_FIELDS_TEXT;
	return n;
}

size_t md_text_lengths(struct md_text *t, const struct md_row *r, size_t want)
{
	return put_row(t, r, 0, want, SIZE_MAX);
}
