/* SPDX-License-Identifier: MIT */
/*
 * Rows of events (struct md_row) against the same events printed one by one: random events, most of
 * which a row takes, with random limits. Deterministic.
 */
#include <time.h>

#include "metadata/text.h"
#include "tests/lib/classes.h"
#include "tests/lib/test.h"

#define EVENTS 40
#define ROUNDS 3000
#define OFFSET UINT64_C(1795172223238349640)

struct line {
	uint64_t ts;
	size_t end;             /* of the text up to it */
	const uint8_t *after;   /* the next event */
};

struct lines {
	struct line line[EVENTS + 1];
	size_t count;
	struct md_buf text;
};

static struct md_event *plain_event(uint64_t *seed, uint32_t id)
{
	uint32_t n = (uint32_t)below(seed, 5);
	struct md_event *e = md_event_create("p:plain", 3, n);
	char name[8];

	e->id = id;
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		set_field(&e->fields[i], name,
			  below(seed, 3) ? t_int(1 << below(seed, 4), below(seed, 2), 10, false)
					 : t_string());
	}
	return e;
}

static void put_string(uint64_t *seed, struct md_buf *b)
{
	static const char special[] = "\"'?\\\n\x7f\xc3\xa9 ";

	static const uint64_t most[] = { 20, 20, 20, 20, 20, 70, 70, 1500 };

	for (uint64_t n = below(seed, most[below(seed, 8)]); n; n--)
		md_buf_putc(b, below(seed, 1000) ? (char)('a' + below(seed, 26))
						: special[below(seed, sizeof(special) - 1)]);
	md_buf_putc(b, 0);
}

static void put_fields(uint64_t *seed, const struct md_field *f, uint32_t count, struct md_buf *b)
{
	for (uint32_t i = 0; i < count; i++)
		if (f[i].type.kind == MD_STRING)
			put_string(seed, b);
		else
			random_value(seed, &f[i].type, b);
}

static struct md_stream *make_stream(uint64_t *seed)
{
	struct md_stream *s =
		md_stream_create(0, below(seed, 2) ? MD_HEADER_COMPACT : MD_HEADER_LARGE);

	s->no_cpu = below(seed, 16) == 0;
	if (below(seed, 3) == 0) {
		struct md_field *context = calloc(2, sizeof(*context));

		set_field(&context[0], "tid", below(seed, 8) ? t_s32() : t_float(8, false));
		set_field(&context[1], "name", t_string());
		CHECK(md_stream_set_context(s, context, 2) == 0);
	}
	CHECK(md_stream_add(s, plain_event(seed, 0)) == 0);
	CHECK(md_stream_add(s, plain_event(seed, 40)) == 0);
	CHECK(md_stream_add(s, random_event(seed, 2)) == 0);
	return s;
}

static void put_events(uint64_t *seed, const struct md_stream *s, struct md_buf *b)
{
	uint64_t ts = rnd(seed) >> 40, last = 0;

	for (int i = 0; i < EVENTS; i++) {
		const struct md_event *e =
			md_stream_event(s, below(seed, 16) == 0 ? 2 : below(seed, 2) * 40);

		put_header(s, e->id, last, ts, below(seed, 20) == 0, b);
		put_fields(seed, s->context, s->context_count, b);
		put_fields(seed, e->fields, e->field_count, b);
		last = ts;
		ts += below(seed, 3) == 0 ? 0 : rnd(seed) >> (28 + below(seed, 30));
	}
	if (below(seed, 2))
		b->len -= below(seed, b->len < 30 ? b->len : 30);       /* cut off */
}

static void print_singly(const struct md_stream *s, const uint8_t *p, size_t n, struct md_text t,
			 struct lines *l)
{
	struct md_decoder d = { .stream = s, .p = p, .end = p + n };
	struct md_occurrence o;

	while (md_decoder_next(&d, &o) == 1) {
		md_text_event(&t, &o, s, 12, &l->text);
		l->line[l->count++] = (struct line){ o.ts, l->text.len, d.p };
	}
}

/* The row that follows the events printed so far, of which there are *i. */
static void check_row(uint64_t *seed, struct md_text *t, struct md_decoder *d,
		      const struct lines *l, size_t *i, struct md_buf *out)
{
	struct md_row r = { .d = d, .cpu = 12, .until = UINT64_MAX }, counted;
	size_t before = out->len, want = before + below(seed, 2000), length, first = *i;
	struct md_decoder other = *d;
	struct md_text state = *t;

	if (below(seed, 4) == 0)
		r.until = l->line[below(seed, l->count)].ts + below(seed, 2);
	counted = r;
	counted.d = &other;
	length = md_text_lengths(&state, &counted, want - before);
	md_text_events(t, &r, out, want);
	while (*i < l->count && l->line[*i].end <= out->len)
		++*i;
	CHECK(!*i || l->line[*i - 1].end == out->len);
	CHECK(*i == first || l->line[*i - 1].ts < r.until);
	CHECK(d->p == l->line[*i - 1].after && d->ts == l->line[*i - 1].ts);
	/* It ended because the text was long enough, or there was no room for more. */
	CHECK(*i < first + 2 || l->line[*i - 2].end < want);
	CHECK(length >= out->len - before);
	if (length == out->len - before)
		CHECK(state.last == t->last && state.any == t->any && other.p == d->p);
}

static size_t rows, singles;

static void one_round(uint64_t *seed)
{
	struct md_stream *s = make_stream(seed);
	struct md_buf b = MD_BUF_INIT, out = MD_BUF_INIT;
	struct lines l = { .text = MD_BUF_INIT };
	struct md_decoder d = { .stream = s };
	struct md_occurrence o;
	struct md_text t;
	uint8_t *bytes;
	size_t i = 0;

	put_events(seed, s, &b);
	bytes = malloc(b.len + 1);      /* of this size, so that ASan sees a byte too many */
	memcpy(bytes, b.data, b.len);
	bytes = realloc(bytes, b.len);
	d.p = bytes;
	d.end = bytes + b.len;
	md_text_init(&t, below(seed, 8) ? OFFSET : UINT64_MAX - 1000, below(seed, 2) ? "vm" : "");
	print_singly(s, bytes, b.len, t, &l);
	while (md_decoder_next(&d, &o) == 1) {
		md_text_event(&t, &o, s, 12, &out);
		singles++;
		CHECK(out.len == l.line[i++].end);
		if (below(seed, 4) == 0)
			md_buf_room(&out, 300 + below(seed, 5000));
		rows -= i;
		check_row(seed, &t, &d, &l, &i, &out);
		rows += i;
	}
	CHECK(i == l.count && out.len == l.text.len && !memcmp(out.data, l.text.data, out.len));
	free(bytes);
	md_buf_deinit(&b);
	md_buf_deinit(&out);
	md_buf_deinit(&l.text);
	md_stream_destroy(s);
}

/* Enough of the events were printed in rows for this test to say something. */
static void random_rows(void)
{
	uint64_t seed = 7;

	for (int i = 0; i < ROUNDS; i++)
		one_round(&seed);
	CHECK(rows > singles / 2);
}

int main(void)
{
	setenv("TZ", "UTC0", 1);
	tzset();
	CASE(random_rows);
	return test_summary();
}
