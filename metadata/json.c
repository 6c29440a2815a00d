/* SPDX-License-Identifier: MIT */
/* Events as JSON: see json.h. A compiled program (program.h) prints the fields. */
#include "metadata/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "metadata/name.h"
#include "metadata/plain.h"
#include "metadata/put.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define HEAD_JSON 128           /* what precedes the title, without the host; TORN */
#define TAIL_JSON (MD_TEXT_SLACK + 32)
#define TORN ",\"torn\":true}\n"
#define PLAIN_PIECE 16

/* ---- strings ---- */

/* How many of the 16 bytes at p are copied unchanged, from the first on; copies all of them. */
static inline unsigned int copy_plain(char *o, const uint8_t *p)
{
#ifdef __SSE2__
	const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
	/* signed: bytes from 0x80 on are negative */
	__m128i special = _mm_cmplt_epi8(x, _mm_set1_epi8(0x20));

	special = _mm_or_si128(special, _mm_cmpeq_epi8(x, _mm_set1_epi8('"')));
	special = _mm_or_si128(special, _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
	special = _mm_or_si128(special, _mm_cmpeq_epi8(x, _mm_set1_epi8(0x7f)));
	_mm_storeu_si128((__m128i *)(void *)o, x);
	return (unsigned int)__builtin_ctz((unsigned int)_mm_movemask_epi8(special) | 0x10000);
#else
	unsigned int i;

	for (i = 0; i < PLAIN_PIECE && p[i] >= 0x20 && p[i] < 0x7f && p[i] != '"' && p[i] != '\\';
	     i++)
		o[i] = (char)p[i];
	return i;
#endif
}

static char *put_escape(char *o, uint8_t c)
{
	static const char letters[] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
					['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\' };

	*o++ = '\\';
	if (c < sizeof(letters) && letters[c]) {
		*o++ = letters[c];
		return o;
	}
	o = put_string(o, "u00");
	*o++ = "0123456789abcdef"[c >> 4];
	*o++ = "0123456789abcdef"[c & 15];
	return o;
}

/* One character at p, n bytes at most: returns its bytes. */
static size_t put_character(char **o, const uint8_t *p, size_t n)
{
	size_t len;

	if (*p < 0x20 || *p == '"' || *p == '\\' || *p == 0x7f) {
		*o = put_escape(*o, *p);
		return 1;
	}
	if (n > 1 && *p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) {       /* C1 */
		*o = put_escape(*o, p[1]);
		return 2;
	}
	len = md_utf8_char(p, n);
	if (!len) {
		*o = put_string(*o, "\xef\xbf\xbd");
		return 1;
	}
	memcpy(*o, p, len);
	*o += len;
	return len;
}

/* The characters up to a NUL or `end`. Writes at most 6 bytes per byte, and a piece more. */
static char *put_characters(char *o, const uint8_t *p, const uint8_t *end, const uint8_t *limit,
			    const uint8_t **stop)
{
	while (p < end) {
		if (limit - p >= PLAIN_PIECE) {
			unsigned int n = copy_plain(o, p);

			if (n >= (size_t)(end - p)) {
				o += end - p;
				p = end;
				break;
			}
			p += n;
			o += n;
			if (n == PLAIN_PIECE)
				continue;
		}
		if (!*p)
			break;
		p += put_character(&o, p, (size_t)(end - p));
	}
	*stop = p;
	return o;
}

void md_json_escape_put(const char *s, size_t n, struct md_buf *out)
{
	const uint8_t *p = (const uint8_t *)s, *stop;
	char *o = md_buf_room(out, 6 * n + MD_TEXT_SLACK);

	if (!o)
		return;
	if (md_copy_if_plain(o, s, n, '"', '\\'))
		out->len += n;
	else
		out->len += (size_t)(put_characters(o, p, p + n, p + n, &stop) - o);
}

/* ---- values ---- */

static inline char *put_int(char *o, const struct md_step *s, uint64_t v)
{
	return s->is_signed ? md_put_s64(o, (int64_t)v) : md_put_u64(o, v);
}

static const double tens[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6 };

/*
 * How many decimal places a number without a sign has: 0 to 6; -1: more, or it is large. Then its
 * digits are those of *whole. The quotient of two integers that are exact as doubles is the double
 * that its decimal text reads back as.
 */
static inline int count_places(double size, uint64_t *whole)
{
	for (int places = 0; places <= 6 && size < 1e9; places++) {
		double scaled = size * tens[places];

		*whole = (uint64_t)scaled;
		*whole += scaled - (double)*whole > 0.5;
		if ((double)*whole / tens[places] == size)
			return places;
	}
	return -1;
}

/* The shortest of a few precisions that reads back as the same number. */
static void print_exact(double d, bool is_float, char text[40])
{
	int most = is_float ? 9 : 17;

	for (int digits = is_float ? 6 : 15; digits <= most; digits++) {
		snprintf(text, 40, "%.*g", digits, d);
		if (is_float ? strtof(text, NULL) == (float)d : strtod(text, NULL) == d)
			break;
	}
}

double md_json_widen(float f)
{
	double d = (double)f;
	uint64_t whole;
	char text[40];

	if (!isfinite(f) || count_places(fabs(d), &whole) >= 0)
		return d;
	print_exact(d, true, text);
	return strtod(text, NULL);
}

char *md_json_put_double(char *o, double d, bool is_float)
{
	uint64_t whole;
	char text[40];
	int places;

	if (isnan(d))
		return put_string(o, "\"NaN\"");
	if (isinf(d))
		return put_string(o, d < 0 ? "\"-Infinity\"" : "\"Infinity\"");
	places = count_places(fabs(d), &whole);
	if (places < 0) {
		print_exact(d, is_float, text);
		return put_string(o, text);
	}
	if (signbit(d))
		*o++ = '-';
	o = md_put_u64(o, whole / (uint64_t)tens[places]);
	if (!places)
		return o;
	*o++ = '.';
	for (uint64_t rest = whole % (uint64_t)tens[places]; places--;) {
		*o++ = (char)('0' + rest / (uint64_t)tens[places]);
		rest %= (uint64_t)tens[places];
	}
	return o;
}

char *md_json_put_base64(char *o, const uint8_t *p, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
			     (i + 2 < n ? p[i + 2] : 0);

		*o++ = digits[v >> 18];
		*o++ = digits[v >> 12 & 63];
		*o++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
		*o++ = i + 2 < n ? digits[v & 63] : '=';
	}
	return o;
}

static char *put_float(char *o, const struct md_step *s, const uint8_t *p)
{
	return md_json_put_double(o, md_load_float(p, s->size, s->big_endian), s->size == 4);
}

static char *put_enum(char *o, const struct md_program *program, const struct md_step *s,
		      const uint8_t *p)
{
	const struct md_label *l = program->labels + s->labels, *end = l + s->label_count,
			      *shown = NULL;
	uint64_t v = load(s, p);

	o = put_int(put_string(o, "{\"value\":"), s, v);
	o = put_string(o, ",\"label\":");
	for (; l < end; l++) {
		if (!(s->op == MD_STEP_FLAGS ? has_flag(l, v) : is_in_range(l, v, s->is_signed)) ||
		    (shown && shown->name == l->name))
			continue;
		o = put_string(o, shown ? ", " : "\"");
		memcpy(o, program->text + l->text, l->text_len);
		o += l->text_len;
		shown = l;
	}
	return put_string(o, shown ? "\"}" : "null}");
}

static char *put_labels(char *o, const struct md_program *program, const struct md_step *s,
			const uint8_t *p)
{
	return put_enum(o, program, s, p);
}

/* As an enumeration with the labels of all bits */
static char *put_flags(char *o, const struct md_program *program, const struct md_step *s,
		       const uint8_t *p)
{
	return put_enum(o, program, s, p);
}

/* A BLOB, in base64 (RFC 4648) */
static char *put_data(char *o, const uint8_t *p, size_t n)
{
	*o++ = '"';
	o = md_json_put_base64(o, p, n);
	*o++ = '"';
	return o;
}

static inline char *put_escaped(char *o, const uint8_t *p, const uint8_t *end,
				const uint8_t *limit, const uint8_t **stop)
{
	*o++ = '"';
	o = put_characters(o, p, end, limit, stop);
	*o++ = '"';
	return o;
}

static inline char *put_length(char *o, uint64_t n)
{
	(void)n;
	return o;
}

static char *put_tag(char *o, const struct md_program *program, const struct md_step *s,
		     const uint8_t *tag)
{
	(void)program, (void)s, (void)tag;
	return o;
}

static inline char *put_index(char *o, uint64_t i)
{
	*o = ',';
	return o + (i > 0);
}

#include "metadata/run_steps.inc"

/* ---- lines ---- */

/* Publishes a program that a thread has compiled. Returns the one that came first. */
static const struct md_program *publish(struct md_program **slot, struct md_program *made)
{
	struct md_program *first = NULL;

	/* Release: who reads the pointer sees the program complete. Pairs with program_of(). */
	if (__atomic_compare_exchange_n(slot, &first, made, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return made;
	md_program_destroy(made);
	return first;
}

/* NULL: no memory. */
static const struct md_program *program_of(const struct md_event *e, const struct md_stream *s)
{
	/* The program is a cache: it does not change what the event is. */
	struct md_program **slot = (struct md_program **)&e->json, *made;
	const struct md_program *p = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

	if (!p && !md_program_create(e, s, MD_FORM_JSON, &made))
		p = publish(slot, made);
	return p;
}

static const struct md_program *context_of(const struct md_stream *s)
{
	struct md_program **slot = (struct md_program **)&s->context_json, *made;
	const struct md_program *p = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

	if (!p && !md_program_create(NULL, s, MD_FORM_JSON, &made))
		p = publish(slot, made);
	return p;
}

/* `{"time":1795172223238349640,"host":"vm","cpu":0`; no CPU if packets do not name one */
static char *put_head(char *o, uint64_t time, const char *host, const struct md_stream *stream,
		      uint32_t cpu)
{
	const uint8_t *h = (const uint8_t *)host, *end = h + strlen(host), *stop;

	memcpy(o, "{\"time\":", 8);
	o = stream->no_time ? put_string(o + 8, "null") : md_put_u64(o + 8, time);
	if (*host) {
		o = put_string(o, ",\"host\":\"");
		o = put_characters(o, h, end, end, &stop);
		*o++ = '"';
	}
	if (stream->no_cpu)
		return o;
	memcpy(o, ",\"cpu\":", 7);
	return md_put_u32(o + 7, cpu);
}

/* An event that is printed. */
struct line {
	const struct md_occurrence *e;
	const struct md_program *program, *context;     /* context NULL: there are none */
	struct run r;
};

/* Prepares to print an event with `more` bytes before it. Returns the place; NULL: no memory. */
static char *begin_line(struct line *l, const struct md_occurrence *e,
			const struct md_stream *stream, size_t more, struct md_buf *out)
{
	*l = (struct line){ .e = e, .program = program_of(e->event, stream),
			    .r = { .limit = e->limit, .out = out } };
	if (stream->context_count)
		l->context = context_of(stream);
	if (!l->program || (stream->context_count && !l->context)) {
		out->failed = true;
		return NULL;
	}
	l->r.base = HEAD_JSON + more + TAIL_JSON +
		    most_text(l->program, (size_t)(e->end - e->payload));
	if (l->context)
		l->r.base += most_text(l->context, (size_t)(e->payload - e->context));
	return md_buf_room(out, l->r.base);
}

/* Prints the contexts and the fields at o. NULL: no memory; or l->r.torn is set. */
static inline char *put_line(struct line *l, char *o, size_t *context_end)
{
	struct run *r = &l->r;

	if (l->context) {
		r->p = l->e->context;
		r->end = l->e->payload;
		r->per_byte = l->context->text_per_byte;
		o = put_program(r, l->context, o);
	}
	if (o && !r->torn) {
		*context_end = (size_t)(o - r->out->data);
		r->p = l->e->payload;
		r->end = l->e->end;
		r->per_byte = l->program->text_per_byte;
		o = put_program(r, l->program, o);
	}
	return o;
}

void md_json_event(uint64_t clock_offset, const char *host, const struct md_occurrence *e,
		   const struct md_stream *stream, uint32_t cpu, struct md_buf *out)
{
	size_t before = out->len, context_end;
	struct line l;
	char *o = begin_line(&l, e, stream, 6 * strlen(host), out);

	if (!o)
		return;
	o = put_head(o, clock_offset + e->ts, host, stream, cpu);
	o = put_literal(o, l.program->text, l.program->title_len);
	o = put_line(&l, o, &context_end);
	/* An unfinished line would not be JSON. */
	if (o && l.r.torn) {
		o = put_head(out->data + before, clock_offset + e->ts, host, stream, cpu);
		o = put_string(o, TORN);
	}
	out->len = o ? (size_t)(o - out->data) : before;
}

bool md_json_parts(const struct md_occurrence *e, const struct md_stream *stream,
		   struct md_buf *out, struct md_json_parts *parts)
{
	size_t before = out->len, context_end = before, end;
	struct line l;
	char *o = begin_line(&l, e, stream, 0, out);

	o = o ? put_line(&l, o, &context_end) : NULL;
	if (!o || l.r.torn) {
		out->len = before;
		return false;
	}
	end = (size_t)(o - out->data);
	*parts = (struct md_json_parts){
		.context = before + sizeof(",\"context\":") - 1,
		.fields = context_end + sizeof(",\"fields\":") - 1,
		.fields_end = end - 2,  /* before `}` of the line and its newline */
	};
	parts->context_end = l.context ? context_end : parts->context;
	out->len = end;
	return true;
}
