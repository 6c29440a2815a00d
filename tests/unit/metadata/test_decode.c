/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "metadata/decode.h"
#include "tests/lib/classes.h"
#include "tests/lib/test.h"

static struct md_stream *stream_of(enum md_header header, struct md_type type, uint32_t id)
{
	struct md_stream *s = md_stream_create(0, header);
	struct md_event *e = md_event_create("p:e", 3, 1);

	e->id = id;
	set_field(&e->fields[0], "a", type);
	CHECK(md_stream_add(s, e) == 0);
	return s;
}

static struct md_decoder over(const struct md_stream *s, const struct md_buf *b, size_t n)
{
	const uint8_t *p = (const uint8_t *)b->data;

	return (struct md_decoder){ .stream = s, .p = p, .end = p + n };
}

/* Every cut of one event must say "more", change nothing, and the whole must decode. */
static void cut_everywhere(const struct md_stream *s, const struct md_buf *b, size_t payload)
{
	struct md_occurrence o;
	size_t n;

	for (n = 0; n < b->len; n++) {
		/* A copy of its own, so that ASan sees one byte too many. */
		uint8_t *copy = malloc(n + 1);
		struct md_decoder d = { .stream = s, .p = copy, .end = copy + n, .ts = 5 };

		memcpy(copy, b->data, n);
		CHECK(md_decoder_next(&d, &o) == (n ? -EAGAIN : 0));
		CHECK(d.p == copy && d.ts == 5);
		free(copy);
	}
	{
		struct md_decoder d = over(s, b, b->len);

		CHECK(md_decoder_next(&d, &o) == 1);
		CHECK(o.payload == (uint8_t *)b->data + payload && o.context <= o.payload);
		CHECK(o.end == d.p && d.p == d.end && o.limit == d.end);
		CHECK(md_decoder_next(&d, &o) == 0);
	}
}

static void headers(void)
{
	static const struct {
		enum md_header header;
		uint32_t id;
		bool extended;
		size_t size;
	} c[] = {
		{ MD_HEADER_COMPACT, 0, false, 4 },   { MD_HEADER_COMPACT, 29, false, 4 },
		{ MD_HEADER_COMPACT, 30, false, 6 },  { MD_HEADER_COMPACT, 31, false, 6 },
		{ MD_HEADER_COMPACT, 65535, false, 6 },
		{ MD_HEADER_COMPACT, 30, true, 13 },  { MD_HEADER_COMPACT, 31, true, 13 },
		{ MD_HEADER_LARGE, 65534, false, 6 }, { MD_HEADER_LARGE, 65535, false, 14 },
		{ MD_HEADER_LARGE, 3, true, 14 },
	};
	struct md_occurrence o;
	size_t i;

	for (i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct md_stream *s = stream_of(c[i].header, t_s32(), c[i].id);
		struct md_buf b = MD_BUF_INIT;
		struct md_decoder d;

		put_header(s, c[i].id, 0, 77, c[i].extended, &b);
		put_int(1, 4, false, &b);
		cut_everywhere(s, &b, c[i].size);
		d = over(s, &b, b.len);
		CHECK(md_decoder_next(&d, &o) == 1 && o.ts == 77 && o.event->id == c[i].id);
		md_buf_deinit(&b);
		md_stream_destroy(s);
	}
}

static void sizes(void)
{
	struct md_stream *s = stream_of(MD_HEADER_COMPACT, t_string(), 0);
	struct md_type t = t_struct(2);
	struct md_buf b = MD_BUF_INIT;

	put_header(s, 0, 0, 1, false, &b);
	md_buf_put(&b, "a string that is longer than sixteen bytes", 43);
	cut_everywhere(s, &b, 4);
	md_stream_destroy(s);
	md_buf_reset(&b);
	set_field(&t.members[0], "s", t_string());
	set_field(&t.members[1], "q", t_sequence(t_int(8, false, 10, false), 1));
	s = stream_of(MD_HEADER_COMPACT, t_sequence(t, 2), 0);
	put_header(s, 0, 0, 1, false, &b);
	put_int(2, 2, false, &b);
	md_buf_put(&b, "ab\0" "\002" "0123456789abcdef" "\0" "\0", 22);
	cut_everywhere(s, &b, 4);
	md_stream_destroy(s);
	md_buf_deinit(&b);
}

/*
 * Every option of a variant before and after bytes that are something else; and tags that none
 * has.
 */
static void variants(void)
{
	struct md_field *context = calloc(2, sizeof(*context));
	struct md_stream *s = md_stream_create(0, MD_HEADER_COMPACT);
	struct md_event *e = md_event_create("p:e", 3, 1);
	struct md_buf b = MD_BUF_INIT;
	struct md_occurrence o;
	uint64_t seed = 3;
	unsigned int tag;

	set_field(&context[0], "dynamic", (struct md_type){ 0 });
	CHECK(md_type_dynamic(&context[0].type) == 0);
	set_field(&context[1], "s", t_string());
	CHECK(md_stream_set_context(s, context, 2) == 0);
	set_field(&e->fields[0], "a", t_s32());
	CHECK(md_stream_add(s, e) == 0);
	for (tag = 0; tag < 256; tag++) {
		size_t payload;

		md_buf_reset(&b);
		put_header(s, 0, 0, 1, false, &b);
		md_buf_putc(&b, (char)tag);
		if (tag < 12)
			random_value(&seed, &context[0].type.members[tag].type, &b);
		md_buf_put(&b, "abc", 4);
		payload = b.len;
		put_int(42, 4, false, &b);
		if (tag < 12) {
			cut_everywhere(s, &b, payload);
		} else {
			struct md_decoder d = over(s, &b, b.len);

			CHECK(md_decoder_next(&d, &o) == -EBADMSG);
		}
	}
	md_buf_deinit(&b);
	md_stream_destroy(s);
}

/* The value below which nothing may fall, and a stamp with fewer bits. */
static void stamps_are_extended(void)
{
	struct md_stream *s = stream_of(MD_HEADER_COMPACT, t_int(1, false, 10, false), 0);
	uint64_t seed = 1, ts = 0, last = 0;
	struct md_occurrence o;
	int i;

	for (i = 0; i < 2000; i++) {
		struct md_buf b = MD_BUF_INIT;
		struct md_decoder d;

		ts = last +
		     (below(&seed, 3) ? rnd(&seed) >> 37 : (UINT64_C(1) << 27) - below(&seed, 2));
		put_header(s, 0, last, ts, false, &b);
		md_buf_putc(&b, 0);
		d = over(s, &b, b.len);
		d.ts = last;
		CHECK(md_decoder_next(&d, &o) == 1 && o.ts == ts && d.ts == ts);
		last = ts;
		md_buf_deinit(&b);
	}
	md_stream_destroy(s);
}

static void what_is_no_event(void)
{
	struct md_stream *s = stream_of(MD_HEADER_COMPACT, t_sequence(t_s32(), 8), 2);
	static const int place = MD_HOST_IS_BIG ? 3 : 0;        /* of the id in the first byte */
	const uint8_t unknown[13] = { (uint8_t)(3 << place) };
	const uint8_t unknown_long[13] = { (uint8_t)(31 << place), 0, 0, 1 };
	static const uint64_t one = 1;
	uint8_t absurd[12] = { (uint8_t)(2 << place) };
	struct md_decoder d = { .stream = s, .p = unknown, .end = unknown + 13 };
	struct md_occurrence o;

	CHECK(md_decoder_next(&d, &o) == -EBADMSG);
	d.p = unknown_long;
	d.end = unknown_long + 13;
	CHECK(md_decoder_next(&d, &o) == -EBADMSG);
	/* A length whose bytes wrap around 64 bits, and one that only is not there yet. */
	memset(absurd + 4, 0x40, 8);
	d.p = absurd;
	d.end = absurd + 12;
	CHECK(md_decoder_next(&d, &o) == -EBADMSG);
	memcpy(absurd + 4, &one, sizeof(one));
	CHECK(md_decoder_next(&d, &o) == -EAGAIN);
	md_stream_destroy(s);
}

int main(void)
{
	CASE(headers);
	CASE(sizes);
	CASE(variants);
	CASE(stamps_are_extended);
	CASE(what_is_no_event);
	return test_summary();
}
