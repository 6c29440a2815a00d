/* SPDX-License-Identifier: MIT */
/*
 * Random event classes, random and mutated bytes, through the decoder and the formatter.
 * Deterministic: the seed of a round is its number, so a crash at round N repeats with `fuzz_decode
 * SECONDS N`. Build it with -fsanitize=address,undefined.
 */
#include <errno.h>
#include <time.h>

#include "metadata/access.h"
#include "metadata/ctf.h"
#include "metadata/json.h"
#include "metadata/text.h"
#include "tests/lib/classes.h"

static void fail(uint64_t round, const char *what)
{
	printf("not ok - round %llu: %s\n", (unsigned long long)round, what);
	exit(1);
}

static struct md_stream *random_stream(uint64_t *seed)
{
	struct md_stream *s =
		md_stream_create(0, below(seed, 2) ? MD_HEADER_COMPACT : MD_HEADER_LARGE);
	uint32_t i, n = 1 + (uint32_t)below(seed, 4);

	s->no_cpu = below(seed, 4) == 0;
	if (below(seed, 2)) {
		struct md_field *context = calloc(2, sizeof(*context));

		random_fields(seed, context, 2, 0);
		if (md_stream_set_context(s, context, 2))
			return NULL;
	}
	for (i = 0; i < n; i++)
		if (md_stream_add(s, random_event(seed, i * 11)))
			return NULL;
	return s;
}

/* Mostly valid events, then bytes changed, put in and cut off; or noise from the start. */
static void random_input(uint64_t *seed, const struct md_stream *s, struct md_buf *b)
{
	uint64_t i, n = below(seed, 8), at;

	if (below(seed, 8) == 0)
		for (i = below(seed, 200); i; i--)
			md_buf_putc(b, (char)rnd(seed));
	while (n--) {
		uint32_t id = (uint32_t)below(seed, 5) * 11;
		const struct md_event *e = md_stream_event(s, id);

		put_header(s, id, 0, rnd(seed) >> below(seed, 64), below(seed, 4) == 0, b);
		random_values(seed, s->context, s->context_count, b);
		if (e)
			random_values(seed, e->fields, e->field_count, b);
	}
	for (i = below(seed, 6); i && b->len; i--) {
		at = below(seed, b->len);
		b->data[at] = (char)(below(seed, 2) ? rnd(seed) : below(seed, 2) * 255);
	}
	if (b->len && below(seed, 2))
		b->len -= below(seed, b->len);
}

/* The line, as long as it was said to be. */
static void put_line(uint64_t round, struct md_text *t, const struct md_occurrence *o,
		     const struct md_stream *s, uint32_t cpu, struct md_buf *out)
{
	struct md_text first, counted = *t;
	size_t length = md_text_length(&counted, o, s, cpu);
	int64_t longer = md_text_longer(t, o->ts);

	md_text_event(t, o, s, cpu, out);
	if (out->len != length)
		fail(round, "md_text_length is not the length of the line");
	if (counted.last != t->last || counted.any != t->any)
		fail(round, "md_text_length has another last line");
	md_text_init(&first, t->clock_offset, t->hostname);
	if (md_text_length(&first, o, s, cpu) + (uint64_t)longer != length)
		fail(round, "md_text_longer is not the difference");
}

/* Reads nothing outside the event, even if it has changed. */
static void show_values(const struct md_occurrence *o, struct md_buf *out)
{
	struct md_value *v = calloc(o->event->field_count + 1, sizeof(*v));
	struct md_route route;

	if (md_values_cut(o->event->fields, o->event->field_count, o->payload, o->end, v))
		for (uint32_t i = 0; i < o->event->field_count; i++)
			md_value_show(&v[i], out);
	for (uint32_t i = 0; i < o->event->field_count; i++)
		if (md_route_field(o->event, (int)i, &route) && md_access_value(&route, o, v)) {
			md_value_text(v, out);
			md_value_json(v, out);
		}
	free(v);
}

static void decode_all(uint64_t round, uint64_t *seed, const struct md_stream *s,
		       const struct md_buf *b)
{
	struct md_buf out = MD_BUF_INIT;
	/* Of exactly this size, so that ASan sees the first byte too many. */
	uint8_t *copy = malloc(b->len + !b->len);
	struct md_decoder d = { .stream = s, .p = copy, .end = copy + b->len };
	struct md_occurrence o;
	struct md_text text;
	int ret;

	if (b->len)
		memcpy(copy, b->data, b->len);
	md_text_init(&text, rnd(seed) >> below(seed, 64), below(seed, 2) ? "host" : "");
	while ((ret = md_decoder_next(&d, &o)) > 0) {
		if (o.end != d.p || o.end > d.end || o.payload < o.context || o.end < o.payload)
			fail(round, "an occurrence outside its bytes");
		md_buf_reset(&out);
		/* A writer that changes what was decoded. */
		if (below(seed, 4) == 0 && o.end > o.context)
			*(copy + (o.context - copy) + below(seed, (uint64_t)(o.end - o.context))) =
				(uint8_t)rnd(seed);
		put_line(round, &text, &o, s, (uint32_t)(rnd(seed) >> below(seed, 64)), &out);
		if (!out.len || out.failed || out.data[out.len - 1] != '\n' ||
		    memchr(out.data, '\n', out.len - 1))
			fail(round, "an event is not one line");
		md_buf_reset(&out);
		md_json_event(rnd(seed), "ho\"st\xff", &o, s, (uint32_t)rnd(seed), &out);
		if (!out.len || out.failed ||
		    memchr(out.data, '\n', out.len) != out.data + out.len - 1 ||
		    memcmp(out.data + out.len - 2, "}\n", 2) != 0)
			fail(round, "an event is not one line of JSON");
		show_values(&o, &out);
	}
	if (ret && ret != -EAGAIN && ret != -EBADMSG)
		fail(round, "an unknown error");
	free(copy);
	md_buf_deinit(&out);
}

static void one_round(uint64_t round)
{
	uint64_t seed = round * 0x9e3779b97f4a7c15 + 1;
	struct md_stream *s = random_stream(&seed);
	struct md_buf b = MD_BUF_INIT;
	int i;

	if (!s)
		fail(round, "a class was refused");
	for (i = 0; i < 20; i++) {
		md_buf_reset(&b);
		random_input(&seed, s, &b);
		decode_all(round, &seed, s, &b);
	}
	md_buf_deinit(&b);
	md_stream_destroy(s);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atol(argv[1]) : 5);
	uint64_t round = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, first = round;

	do
		one_round(round++);
	while (time(NULL) < end);
	printf("ok - %llu rounds\n", (unsigned long long)(round - first));
	return 0;
}
