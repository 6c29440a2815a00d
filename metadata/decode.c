/* SPDX-License-Identifier: MIT */
/* The event decoder: see decode.h. */
#include <errno.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "metadata/decode.h"
#include "metadata/event_header.h"
#include "metadata/program.h"

/* Longer than any trace: a length of this size is not valid, and more bytes would not help. */
#define ABSURD (UINT64_C(1) << 40)

/*
 * Each skips something at p and returns the place after it, or NULL with *error: -EAGAIN if it
 * extends beyond `end`, or -EBADMSG.
 */
static inline const uint8_t *skip_bytes(const uint8_t *p, const uint8_t *end, uint64_t n,
					int *error)
{
	if (n <= (size_t)(end - p))
		return p + n;
	*error = n > ABSURD ? -EBADMSG : -EAGAIN;
	return NULL;
}

static inline const uint8_t *skip_string(const uint8_t *p, const uint8_t *end, int *error)
{
	const uint8_t *nul;
#ifdef __SSE2__
	/* Most strings are short: look at the first bytes without a call. */
	for (int i = 0; i < 2 && end - p >= 16; i++, p += 16) {
		__m128i piece = _mm_loadu_si128((const __m128i *)(const void *)p);
		int zero = _mm_movemask_epi8(_mm_cmpeq_epi8(piece, _mm_setzero_si128()));

		if (zero)
			return p + __builtin_ctz((unsigned int)zero) + 1;
	}
#endif
	nul = memchr(p, 0, (size_t)(end - p));
	if (nul)
		return nul + 1;
	*error = -EAGAIN;
	return NULL;
}

static const uint8_t *read_length(const uint8_t *p, const uint8_t *end, unsigned int size,
				  uint64_t *n, int *error)
{
	if (size > (size_t)(end - p)) {
		*error = -EAGAIN;
		return NULL;
	}
	*n = md_load_field(p, size, 0);
	return p + size;
}

static const uint8_t *skip_sequence(const uint8_t *p, const uint8_t *end, const struct md_walk *w,
				    int *error)
{
	uint64_t n;

	p = read_length(p, end, w->length_size, &n, error);
	if (!p)
		return NULL;
	if (__builtin_mul_overflow(n, w->bytes, &n))
		n = UINT64_MAX;
	return skip_bytes(p, end, n, error);
}

static const uint8_t *walk_steps(const uint8_t *p, const uint8_t *end, const struct md_walk *w,
			   int *error);

/*
 * Each turn consumes at least a byte (check.c makes sure), so the bytes bound the loop whatever the
 * count.
 */
static const uint8_t *walk_loop(const uint8_t *p, const uint8_t *end, const struct md_walk *w,
				int *error)
{
	uint64_t n = w->bytes;

	if (w->length_size)
		p = read_length(p, end, w->length_size, &n, error);
	if (p && n > ABSURD) {
		*error = -EBADMSG;
		return NULL;
	}
	while (p && n--)
		p = walk_steps(p, end, w + 1, error);
	return p;
}

static const uint8_t *walk_variant(const uint8_t *p, const uint8_t *end, const struct md_walk *w,
				   int *error)
{
	const struct md_walk *option = w + 1;
	uint64_t tag;

	p = read_length(p, end, 1, &tag, error);
	if (!p)
		return NULL;
	if (tag >= w->bytes) {
		*error = -EBADMSG;
		return NULL;
	}
	while (tag--)
		option += 1 + option->body;
	return walk_steps(p, end, option + 1, error);
}

static const uint8_t *walk_steps(const uint8_t *p, const uint8_t *end, const struct md_walk *w,
			   int *error)
{
	for (; p; w++) {
		p = skip_bytes(p, end, w->before, error);
		if (!p)
			break;
		switch (w->op) {
		case MD_WALK_STRING:
			p = skip_string(p, end, error);
			break;
		case MD_WALK_SEQUENCE:
			p = skip_sequence(p, end, w, error);
			break;
		case MD_WALK_LOOP:
			p = walk_loop(p, end, w, error);
			w += w->body;
			break;
		case MD_WALK_VARIANT:
			p = walk_variant(p, end, w, error);
			w += w->body;
			break;
		default:
			return p;
		}
	}
	return NULL;
}

static inline const uint8_t *walk_program(const uint8_t *p, const uint8_t *end,
				 const struct md_program *program, int *error)
{
	if (program->min > (size_t)(end - p)) {
		*error = -EAGAIN;
		return NULL;
	}
	return program->fixed ? p + program->min : walk_steps(p, end, program->walk, error);
}

int md_decoder_next(struct md_decoder *d, struct md_occurrence *o)
{
	const uint8_t *p = d->p, *const end = d->end, *context;
	const struct md_stream *s = d->stream;
	const struct md_event *e;
	int error = -EAGAIN;
	struct event_header h;

	if (p >= end)
		return 0;
	p = read_event_header(s, p, end, d->ts, &h);
	if (!p)
		return -EAGAIN;
	e = md_stream_lookup(s, h.id);
	if (!e)
		return -EBADMSG;
	context = p;
	if (s->context_program) {
		p = walk_program(p, end, s->context_program, &error);
		if (!p)
			return error;
	}
	o->payload = p;
	p = walk_program(p, end, e->program, &error);
	if (!p)
		return error;
	o->context = context;
	o->event = e;
	o->ts = h.ts;
	o->end = p;
	o->limit = end;
	d->p = p;
	d->ts = h.ts;
	d->count++;
	return 1;
}
