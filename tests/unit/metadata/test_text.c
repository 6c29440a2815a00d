/* SPDX-License-Identifier: MIT */
/*
 * Lines of text where the right answer is known; test_babeltrace.c asks babeltrace2 for all the
 * rest.
 */
#include <time.h>

#include "metadata/escape.h"
#include "metadata/text.h"
#include "metadata/number.h"
#include "tests/lib/classes.h"
#include "tests/lib/test.h"

#define OFFSET UINT64_C(1795172223238349640)

static struct md_stream *stream_of(const char *name, struct md_type type)
{
	struct md_stream *s = md_stream_create(0, MD_HEADER_LARGE);
	struct md_event *e = md_event_create(name, 3, 1);

	set_field(&e->fields[0], "a", type);
	CHECK(md_stream_add(s, e) == 0);
	return s;
}

/* The line, and whether it is as long as it was said to be. */
static void put_line(struct md_text *t, const struct md_occurrence *o, const struct md_stream *s,
		     uint32_t cpu, struct md_buf *out)
{
	struct md_text first, counted = *t;
	int64_t longer = md_text_longer(t, o->ts);
	size_t before = out->len, length = md_text_length(&counted, o, s, cpu);

	md_text_event(t, o, s, cpu, out);
	CHECK(length == out->len - before);
	CHECK(counted.last == t->last && counted.any == t->any);
	md_text_init(&first, t->clock_offset, t->hostname);
	CHECK(md_text_length(&first, o, s, cpu) + (uint64_t)longer == length);
}

static void print(struct md_text *t, const struct md_stream *s, uint64_t ts, const void *payload,
		  size_t n, struct md_buf *out)
{
	struct md_buf b = MD_BUF_INIT;
	struct md_decoder d = { .stream = s };
	struct md_occurrence o;

	put_header(s, 0, 0, ts, true, &b);
	md_buf_put(&b, payload, n);
	d.p = (uint8_t *)b.data;
	d.end = d.p + b.len;
	CHECK(md_decoder_next(&d, &o) == 1);
	put_line(t, &o, s, 12, out);
	md_buf_deinit(&b);
}

static void times_and_deltas(void)
{
	static const int32_t one = 1;
	struct md_stream *s = stream_of("p:e", t_s32());
	struct md_buf b = MD_BUF_INIT;
	struct md_text t;

	md_text_init(&t, OFFSET, "vm");
	print(&t, s, 0, &one, 4, &b);
	print(&t, s, 3856, &one, 4, &b);
	print(&t, s, 999999999, &one, 4, &b);
	print(&t, s, 3000000000, &one, 4, &b);
	print(&t, s, 90000000000, &one, 4, &b);
	/*
	 * Back in time: as babeltrace2 has it, a huge unsigned number; and by one: as if it were
	 * the first.
	 */
	print(&t, s, 89999999990, &one, 4, &b);
	print(&t, s, 89999999989, &one, 4, &b);
	md_text_hostname(&t, "");
	print(&t, s, 89999999989, &one, 4, &b);
	print(&t, s, UINT64_MAX - 5, &one, 4, &b);
	CHECK_STR(
		md_buf_str(&b),
		"[10:57:03.238349640] (+?.?????????"
		") vm p:e: { cpu_id = 12 }, { a = 1 }\n"
		"[10:57:03.238353496] (+0.000003856) vm p:e: { cpu_id = 12 }, { a = 1 }\n"
		"[10:57:04.238349639] (+0.999996143) vm p:e: { cpu_id = 12 }, { a = 1 }\n"
		"[10:57:06.238349640] (+2.000000001) vm p:e: { cpu_id = 12 }, { a = 1 }\n"
		"[10:58:33.238349640] (+87.000000000) vm p:e: { cpu_id = 12 }, { a = 1 }\n"
		"[10:58:33.238349630] (+18446744073.709551606) vm p:e: { cpu_id = 12 }, { a = 1 }\n"
		"[10:58:33.238349629] (+?.?????????"
		") vm p:e: { cpu_id = 12 }, { a = 1 }\n"
		"[10:58:33.238349629] (+0.000000000) p:e: { cpu_id = 12 }, { a = 1 }\n"
		"[Error] (+?.?????????"
		") p:e: { cpu_id = 12 }, { a = 1 }\n");
	md_buf_deinit(&b);
	md_stream_destroy(s);
}

static void hostile_names_stay_in_line(void)
{
	struct md_stream *s = stream_of("p:e\n[00:00:00] evil\x1b[2J\xff \xc3\xa9\"\\", t_s32());
	static const int32_t one = 1;
	struct md_buf b = MD_BUF_INIT;
	char host[200];
	struct md_text t;

	memset(host, 'h', sizeof(host));
	host[199] = 0;
	md_text_init(&t, OFFSET, host);
	print(&t, s, 0, &one, 4, &b);
	host[MD_TEXT_HOSTNAME_MAX] = 0;
	CHECK(!strncmp(md_buf_str(&b) + 36, host, strlen(host)));
	CHECK_STR(md_buf_str(&b) + 36 + strlen(host),
		  " p:e_[00:00:00] evil_[2J_ \xc3\xa9\"\\: { cpu_id = 12 }, { a = 1 }\n");
	md_buf_deinit(&b);
	md_stream_destroy(s);
}

/* One turn of this loop is 3000 times longer as text than as data. */
static void long_text_from_few_bytes(void)
{
	struct md_type t = t_struct(101);
	struct md_buf b = MD_BUF_INIT, data = MD_BUF_INIT;
	uint64_t seed = 1;
	struct md_stream *s;
	struct md_text text;
	char name[64];
	int i;

	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "a_long_name_that_holds_nothing_%d", i);
		set_field(&t.members[i], name, t_struct(0));
	}
	set_field(&t.members[100], "s", t_sequence(t_string(), 1));
	s = stream_of("p:e", t_sequence(t, 2));
	md_text_init(&text, OFFSET, "vm");
	put_int(5000, 2, false, &data);
	for (i = 0; i < 5000; i++)
		random_value(&seed, &t.members[100].type, &data);
	print(&text, s, 0, data.data, data.len, &b);
	CHECK(b.len > 5000 * 3000 && b.data[b.len - 1] == '\n' && b.data[b.len - 2] == '}');
	md_buf_deinit(&b);
	md_buf_deinit(&data);
	md_stream_destroy(s);
}

/* Bytes that change between decoding and formatting, as a hostile writer could have them. */
static void bytes_that_change(void)
{
	struct md_type t = t_struct(3);
	struct md_text text;
	struct md_stream *s;
	uint64_t seed = 1;
	int round;

	set_field(&t.members[0], "s", t_string());
	set_field(&t.members[1], "q", t_sequence(t_char(), 4));
	set_field(&t.members[2], "n", t_sequence(t_int(4, true, 2, true), 1));
	s = stream_of("p:e", t_sequence(t, 1));
	md_text_init(&text, OFFSET, "vm");
	for (round = 0; round < 20000; round++) {
		struct md_buf b = MD_BUF_INIT, out = MD_BUF_INIT;
		struct md_decoder d = { .stream = s };
		struct md_occurrence o;
		uint8_t *copy;

		put_header(s, 0, 0, 5, false, &b);
		random_value(&seed, &md_stream_event(s, 0)->fields[0].type, &b);
		copy = malloc(b.len);
		memcpy(copy, b.data, b.len);
		d.p = copy;
		d.end = copy + b.len;
		CHECK(md_decoder_next(&d, &o) == 1);
		for (int i = 0; i < 4; i++)
			copy[below(&seed, b.len)] =
				(uint8_t)(below(&seed, 2) ? rnd(&seed) : below(&seed, 2) * 255);
		md_text_event(&text, &o, s, 0, &out);
		CHECK(out.len && out.data[out.len - 1] == '\n' &&
		      !memchr(out.data, '\n', out.len - 1));
		free(copy);
		md_buf_deinit(&b);
		md_buf_deinit(&out);
	}
	md_stream_destroy(s);
}

static void numbers(void)
{
	uint64_t seed = 7, v;
	char got[80], want[80];
	int i;

	for (i = 0; i < 300000; i++) {
		v = rnd(&seed) >> below(&seed, 64);
		*md_put_u64(got, v) = 0;
		snprintf(want, sizeof(want), "%llu", (unsigned long long)v);
		CHECK_STR(got, want);
		*md_put_s64(got, (int64_t)-v) = 0;
		snprintf(want, sizeof(want), "%lld", (long long)-v);
		CHECK_STR(got, want);
		*md_put9(got, (uint32_t)(v % 1000000000)) = 0;
		snprintf(want, sizeof(want), "%09llu", (unsigned long long)v % 1000000000);
		CHECK_STR(got, want);
	}
	for (v = 0; v < 100000000; v += 1 + (v > 20000 ? below(&seed, 200) : 0)) {
		*md_put8(got, (uint32_t)v) = 0;
		snprintf(want, sizeof(want), "%08llu", (unsigned long long)v);
		CHECK_STR(got, want);
	}
}

static void doubles(void)
{
	uint64_t seed = 3, bits;
	char got[80], want[80];
	double d;
	int i;

	for (i = 0; i < 1000000 && !test_case_failed; i++) {
		bits = random_float(&seed, 8);
		if (i & 1)      /* any mantissa, exponents about one */
			bits = (rnd(&seed) & ~(UINT64_C(0x7ff) << 52)) |
			       (1023 - 70 + below(&seed, 160)) << 52;
		memcpy(&d, &bits, 8);
		if (i % 3 == 0)
			d = (double)(float)d;
		*md_put_double(got, d) = 0;
		snprintf(want, sizeof(want), "%g", d);
		CHECK_STR(got, want);
	}
}

/* The string at p as babeltrace2 shows it, byte by byte. */
static void escape_slowly(const uint8_t *p, struct md_buf *out)
{
	md_buf_putc(out, '"');
	for (; *p; p++) {
		char e = md_escapes[*p];

		if (e)
			md_buf_putc(out, '\\');
		if (e == 'x')
			md_buf_printf(out, "x%02x", *p);
		else
			md_buf_putc(out, e ? e : (char)*p);
	}
	md_buf_putc(out, '"');
}

/* A string is copied in pieces: each length, with an escape at each place, and bytes after it. */
static void strings_of_all_lengths(void)
{
	static const uint8_t specials[] = { 'a', '"', '\n', 0x7f, 0x1b, 0xff };
	struct md_buf want = MD_BUF_INIT;
	uint8_t bytes[128];
	const uint8_t *stop;
	char got[1024];
	int wrong = 0;

	for (size_t len = 0; len < 80; len++)
		for (size_t at = 0; at < 6 * (len + 1); at++) {
			memset(bytes, 'z', sizeof(bytes));
			bytes[at / 6] = specials[at % 6];
			bytes[len] = 0;
			md_buf_reset(&want);
			escape_slowly(bytes, &want);
			/* The event may end with the string, and the packet with the event. */
			for (size_t more = 0; more < 40; more++) {
				const uint8_t *end = bytes + len + 1 + more / 2;
				char *o = md_escape(got, bytes, end, end + more % 2 * 20, &stop);

				wrong += (size_t)(o - got) != want.len || stop != bytes + len ||
					 memcmp(got, want.data, want.len) != 0;
			}
		}
	CHECK(wrong == 0);
	md_buf_deinit(&want);
}

int main(void)
{
	setenv("TZ", "UTC0", 1);
	tzset();
	CASE(times_and_deltas);
	CASE(hostile_names_stay_in_line);
	CASE(long_text_from_few_bytes);
	CASE(bytes_that_change);
	CASE(numbers);
	CASE(strings_of_all_lengths);
	CASE(doubles);
	return test_summary();
}
