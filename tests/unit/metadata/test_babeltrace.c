/* SPDX-License-Identifier: MIT */
/*
 * The oracle: writes real CTF traces, lets babeltrace2 print them, and requires our text to be the
 * same byte for byte. Then Python's JSON parser must read the same values from our JSON.
 * TEST_SEEDS in the environment says how many random traces there are (default
 * 60).
 */
#include "tests/unit/metadata/trace_writer.h"

static struct md_event *kinds_event(void)
{
	static const int sizes[] = { 1, 2, 4, 8 }, bases[] = { 2, 8, 10, 16 };
	struct md_event *e = md_event_create("all:kinds", 6, 64 + 12);
	struct md_field *f = e->fields;
	struct md_type t;
	char name[32];
	int i;

	for (i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "i%d", i);
		set_field(f++, name, t_int(sizes[i & 3], i >> 2 & 1, bases[i >> 3 & 3], i >> 5));
	}
	set_field(f++, "f", t_float(4, false));
	set_field(f++, "d", t_float(8, true));
	set_field(f++, "s", t_string());
	set_field(f++, "text", t_array(t_char(), 6));
	set_field(f++, "seq", t_sequence(t_int(2, true, 10, true), 8));
	set_field(f++, "seqtext", t_sequence(t_char(), 1));
	set_field(f++, "matrix", t_array(t_array(t_s32(), 2), 3));
	t = t_enum(t_int(4, true, 10, false), 5);
	set_mapping(&t, 0, "RED", 0, 0);
	set_mapping(&t, 1, "GREEN", -5, 5);
	set_mapping(&t, 2, "BLUE", 4, 100);
	set_mapping(&t, 3, "RED", 4, 5);
	set_mapping(&t, 4, "LOW", INT32_MIN, INT32_MIN);
	set_field(f++, "e", t);
	t = t_enum(t_int(8, false, 16, false), 1);
	set_mapping(&t, 0, "MAX", -1, -1);
	set_field(f++, "big", t);
	t = t_struct(2);
	set_field(&t.members[0], "x", t_s32());
	set_field(&t.members[1], "deep", t_struct(1));
	set_field(t.members[1].type.members, "s", t_sequence(t_string(), 2));
	set_field(f++, "st", t_sequence(t, 4));
	set_field(f++, "none", t_struct(0));
	set_field(f++, "noenum", t_enum(t_int(1, false, 10, false), 0));
	e->emf_uri = strdup("http://a/\"b\"");
	return e;
}

static void kinds(enum md_header header)
{
	struct md_event *empty = md_event_create("all:empty", MD_LOGLEVEL_NONE, 0);
	struct md_event *e = kinds_event();
	uint64_t seed = 5, ts = 1000000000, i;
	struct writer w;

	writer_init(&w, header);
	e->id = 1;
	empty->id = 300;
	CHECK(md_stream_add(w.stream, e) == 0);
	CHECK(md_stream_add(w.stream, empty) == 0);
	for (i = 0; i < 400; i++) {
		if (i % 50 == 0)
			begin_packet(&w, ts);
		add_event(&w, i % 5 ? 1 : 300, ts, i % 7 == 0);   /* 300: a wide header, too */
		if (i % 5)
			random_values(&seed, e->fields, e->field_count, &w.file);
		/* From steps within the compact stamp to ones beyond the large header's. */
		ts += below(&seed, 2) ? below(&seed, 1000) : rnd(&seed) >> (30 + below(&seed, 34));
		if (i % 50 == 49)
			end_packet(&w);
	}
	writer_finish(&w);
}

static void compact_header(void)
{
	kinds(MD_HEADER_COMPACT);
}

static void large_header(void)
{
	kinds(MD_HEADER_LARGE);
}

static void every_byte_in_strings(void)
{
	struct md_event *e = md_event_create("all:bytes", 3, 3);
	struct writer w;
	int c, n;

	writer_init(&w, MD_HEADER_COMPACT);
	set_field(&e->fields[0], "s", t_string());
	set_field(&e->fields[1], "t", t_array(t_char(), 20));
	set_field(&e->fields[2], "long", t_string());
	CHECK(md_stream_add(w.stream, e) == 0);
	begin_packet(&w, 0);
	for (c = 1; c < 256; c++) {
		add_event(&w, 0, (uint64_t)c, false);
		md_buf_printf(&w.file, "%c", c);
		md_buf_putc(&w.file, 0);
		for (n = 0; n < 20; n++)
			md_buf_putc(&w.file, (char)(n && n == c % 20 && c & 1 ? 0 : n ? c + n : c));
		for (n = 0; n < c; n++)
			md_buf_putc(&w.file, (char)(n % 17 == c % 17 ? c : 'a' + n % 26));
		md_buf_putc(&w.file, 0);
	}
	end_packet(&w);
	writer_finish(&w);
}

/* Only as many as babeltrace2 has fresh strings for: see random_value. */
static void empty_strings(void)
{
	struct md_event *e = md_event_create("all:empties", 3, 4);
	struct writer w;
	int i;

	writer_init(&w, MD_HEADER_COMPACT);
	set_field(&e->fields[0], "s", t_string());
	set_field(&e->fields[1], "t", t_array(t_char(), 3));
	set_field(&e->fields[2], "q", t_sequence(t_char(), 2));
	set_field(&e->fields[3], "n", t_sequence(t_string(), 1));
	CHECK(md_stream_add(w.stream, e) == 0);
	begin_packet(&w, 0);
	for (i = 0; i < 5; i++) {
		add_event(&w, 0, (uint64_t)i, false);
		md_buf_put(&w.file, "\0" "\0xy" "\0\0" "\0", 7);
	}
	end_packet(&w);
	writer_finish(&w);
}

/* Bit fields of all sizes, in bytes that they share, with other fields between them */
static void bit_fields(void)
{
	struct md_event *e = md_event_create("all:bits", 3, 140);
	unsigned int used = 0, bytes = 0;
	uint64_t seed = 11;
	struct writer w;

	writer_init(&w, MD_HEADER_COMPACT);
	for (unsigned int i = 0; i < e->field_count; i++) {
		unsigned int bits = i % 20 == 19 ? 0 : 1 + (i * 37 + i / 64) % 64,
			     begin = used + bits > 64 ? 0 : used;
		struct md_type t = { .kind = MD_INT, .size = 1, .base = 10, .is_signed = i % 3 };
		char name[16];

		if (bits) {
			t.bits = (uint8_t)bits;
			t.shift = (uint8_t)begin;
			t.size = (uint8_t)((begin + bits + 7) / 8 - (begin != 0));
		}
		used = bits ? (begin + bits) % 8 : 0;
		bytes += t.size;
		snprintf(name, sizeof(name), "f%u", i);
		set_field(&e->fields[i], name, t);
	}
	CHECK(md_stream_add(w.stream, e) == 0);
	begin_packet(&w, 0);
	for (int i = 0; i < 50; i++) {
		add_event(&w, 0, (uint64_t)i, false);
		for (unsigned int n = 0; n < bytes; n++)
			md_buf_putc(&w.file, (char)below(&seed, 256));
	}
	end_packet(&w);
	writer_finish(&w);
}

static void contexts(void)
{
	struct md_field *context = calloc(4, sizeof(*context));
	struct md_event *e = md_event_create("all:context", 3, 1),
			*empty = md_event_create("all:empty", 3, 0);
	uint64_t seed = 9, i;
	struct writer w;

	writer_init(&w, MD_HEADER_LARGE);
	set_field(&context[0], "vpid", t_s32());
	set_field(&context[1], "procname", t_array(t_char(), 17));
	set_field(&context[2], "perf:thread:cycles", t_sequence(t_int(8, false, 10, false), 4));
	set_field(&context[3], "st", t_struct(0));
	CHECK(md_stream_set_context(w.stream, context, 4) == 0);
	set_field(&e->fields[0], "a", t_s32());
	empty->id = 1;
	CHECK(md_stream_add(w.stream, e) == 0);
	CHECK(md_stream_add(w.stream, empty) == 0);
	begin_packet(&w, 0);
	for (i = 0; i < 20; i++) {
		add_event(&w, i & 1, i * 300000000, false);
		random_values(&seed, context, 4, &w.file);
		if (!(i & 1))
			random_values(&seed, e->fields, 1, &w.file);
	}
	end_packet(&w);
	writer_finish(&w);
}

/* One event per number of options: each tag once, and the longest list of them. */
static void application_contexts(void)
{
	struct md_field *context = calloc(3, sizeof(*context));
	struct md_event *e = md_event_create("all:context", 3, 2);
	struct md_type many = t_variant(MD_OPTION_MAX);
	uint64_t seed = 11, i;
	struct writer w;
	char name[32];

	writer_init(&w, MD_HEADER_LARGE);
	set_field(&context[0], "$app.my_provider:size", (struct md_type){ 0 });
	CHECK(md_type_dynamic(&context[0].type) == 0);
	set_field(&context[1], "vpid", t_s32());
	set_field(&context[2], "$app.my_provider:other-one", (struct md_type){ 0 });
	CHECK(md_type_dynamic(&context[2].type) == 0 && context[2].type.count == 12);
	CHECK(md_stream_set_context(w.stream, context, 3) == 0);
	for (i = 0; i < MD_OPTION_MAX; i++) {
		snprintf(name, sizeof(name), "option%d", (int)i);
		set_field(&many.members[i], name, i % 3 ? t_s32() : t_struct(0));
	}
	set_field(&e->fields[0], "many", many);
	set_field(&e->fields[1], "a", t_s32());
	CHECK(md_stream_add(w.stream, e) == 0);
	begin_packet(&w, 0);
	for (i = 0; i < 3 * MD_OPTION_MAX; i++) {
		add_event(&w, 0, i * 1000, false);
		md_buf_putc(&w.file, (char)(i % 12));
		random_value(&seed, &context[0].type.members[i % 12].type, &w.file);
		random_values(&seed, context + 1, 2, &w.file);
		md_buf_putc(&w.file, (char)(i % MD_OPTION_MAX));
		random_value(&seed, &many.members[i % MD_OPTION_MAX].type, &w.file);
		put_int(i, 4, false, &w.file);
	}
	end_packet(&w);
	CHECK(strstr(md_buf_str(&w.text),
		     " _app_my_provider_size_tag = ( \"_none\" : container = 0 ), "
		     "_app_my_provider_size = { { } }, vpid = "));
	CHECK(strstr(md_buf_str(&w.text),
		     "_app_my_provider_other_one_tag = ( \"_string\" : container = 11 ), "
		     "_app_my_provider_other_one = { \""));
	writer_finish(&w);
}

static const int64_t *enum_values(int size, bool is_signed)
{
	static const int64_t s1[] = { -128, -127, -2, -1, 0, 1, 126, 127, 50 },
			     u1[] = { 0, 1, 127, 128, 254, 255, 2, 3, 50 },
			     s8[] = { INT64_MIN, INT64_MIN + 1, -2,        -1, 0,
				      1,         INT64_MAX - 1, INT64_MAX, 50 },
			     u8[] = { 0, 1, INT64_MAX, INT64_MIN, -2, -1, 2, 3, 50 };

	return size == 1 ? is_signed ? s1 : u1 : is_signed ? s8 : u8;
}

/*
 * The ends of what each container holds, ranges that overlap, labels said twice, values that have
 * none.
 */
static void enumerations(void)
{
	struct md_event *e = md_event_create("all:enums", 3, 16);
	struct writer w;
	int i, k;

	writer_init(&w, MD_HEADER_COMPACT);
	for (i = 0; i < 16; i++) {
		struct md_type t = t_enum(
			t_int(i & 1 ? 8 : 1, i >> 1 & 1, i >> 2 & 1 ? 16 : 10, i >> 3 & 1), 7);
		const int64_t *v = enum_values(t.size, t.is_signed);
		char name[8];

		set_mapping(&t, 0, "lowest", v[0], v[0]);
		set_mapping(&t, 1, "low \"half\"", v[0], v[3]);
		set_mapping(&t, 2, "back\\slash", v[2], v[4]);
		set_mapping(&t, 3, "twice", v[1], v[1]);
		set_mapping(&t, 4, "twice", v[5], v[5]);
		set_mapping(&t, 5, "?" "?/", v[7], v[7]);
		set_mapping(&t, 6, "_none", v[3], v[3]);
		snprintf(name, sizeof(name), "e%d", i);
		set_field(&e->fields[i], name, t);
	}
	CHECK(md_stream_add(w.stream, e) == 0);
	begin_packet(&w, 0);
	for (k = 0; k < 9; k++) {
		add_event(&w, 0, (uint64_t)k, false);
		for (i = 0; i < 16; i++) {
			const struct md_type *t = &e->fields[i].type;

			put_int((uint64_t)enum_values(t->size, t->is_signed)[k], t->size,
				t->big_endian, &w.file);
		}
	}
	end_packet(&w);
	CHECK(strstr(md_buf_str(&w.text), "( <unknown> : container = 50 )"));
	writer_finish(&w);
}

static double scale(double d, int exponent)
{
	for (; exponent > 0; exponent--)
		d *= 10;
	for (; exponent < 0; exponent++)
		d /= 10;
	return d;
}

/* Whether a float's text in JSON reads back as the same bits. */
static bool is_exact(const char *text, uint64_t bits, int size)
{
	double d = strtod(text, NULL);
	float f = strtof(text, NULL);
	uint64_t got;
	uint32_t low;

	if (*text == '"')       /* "NaN", "Infinity" */
		return true;
	if (size == 8) {
		memcpy(&got, &d, sizeof(d));
		return got == bits;
	}
	memcpy(&low, &f, sizeof(f));
	return low == bits;
}

static void read_back(const struct writer *w)
{
	const uint8_t *p = (const uint8_t *)w->file.data + w->packet + MD_PACKET_HEADER;
	const char *line = w->json.data;
	uint64_t bits[2], wrong = 0;

	for (int i = 0; i < 20000; i++, p += 12) {
		p += *p == TRAIL_BYTE_EXTENDED ? 13 : 4;
		bits[0] = md_load_field(p, 8, 0);
		bits[1] = md_load_field(p + 8, 4, 0);
		line = strstr(line, "\"d\":");
		if (!line)
			break;
		wrong += !is_exact(line + 4, bits[0], 8);
		line = strstr(line, "\"f\":");
		wrong += !is_exact(line + 4, bits[1], 4);
	}
	CHECK(line && !wrong);
}

/* Every %g form, and where its rounding is hard. */
static void floats(void)
{
	struct md_event *e = md_event_create("all:floats", 3, 2);
	uint64_t seed = 3, i, bits;
	struct writer w;
	double d;
	float f;

	writer_init(&w, MD_HEADER_COMPACT);
	set_field(&e->fields[0], "d", t_float(8, false));
	set_field(&e->fields[1], "f", t_float(4, false));
	CHECK(md_stream_add(w.stream, e) == 0);
	begin_packet(&w, 0);
	for (i = 0; i < 20000; i++) {
		add_event(&w, 0, i, false);
		/* Six digits and a half: a tie, or next to one. */
		d = scale((double)(100000 + below(&seed, 900000)) + 0.5,
			  (int)below(&seed, 45) - 25);
		memcpy(&bits, &d, 8);
		bits += i % 3 ? below(&seed, 3) - 1 : 0;
		if (i % 5 == 0)
			bits = random_float(&seed, 8);
		put_int(bits, 8, false, &w.file);
		f = (float)d;
		md_buf_put(&w.file, &f, 4);
	}
	end_packet(&w);
	read_back(&w);
	writer_finish(&w);
}

static void random_trace(uint64_t seed)
{
	uint32_t n = 1 + (uint32_t)below(&seed, 8), i, j, id;
	const struct md_event *e;
	uint64_t ts = rnd(&seed) >> 8;
	struct writer w;

	writer_init(&w, below(&seed, 2) ? MD_HEADER_COMPACT : MD_HEADER_LARGE);
	if (below(&seed, 2)) {
		struct md_field *context = calloc(3, sizeof(*context));

		random_fields(&seed, context, 3, 1);
		CHECK(md_stream_set_context(w.stream, context, 3) == 0);
	}
	for (i = 0; i < n; i++)
		CHECK(md_stream_add(w.stream, random_event(&seed, i * 7)) == 0);
	for (i = 0; i < 3; i++) {
		begin_packet(&w, ts);
		for (j = 0; j < 40; j++) {
			id = (uint32_t)below(&seed, n) * 7;
			e = md_stream_event(w.stream, id);
			add_event(&w, id, ts, below(&seed, 10) == 0);
			random_values(&seed, w.stream->context, w.stream->context_count, &w.file);
			random_values(&seed, e->fields, e->field_count, &w.file);
			ts += rnd(&seed) >> (24 + below(&seed, 40));
		}
		end_packet(&w);
	}
	writer_finish(&w);
}

static void random_traces(void)
{
	const char *count = getenv("TEST_SEEDS");
	uint64_t n = count ? strtoull(count, NULL, 10) : 60, seed;

	for (seed = 1; seed <= n && !test_case_failed; seed++) {
		random_trace(seed);
		if (test_case_failed)
			printf("# seed %llu, see %s\n", (unsigned long long)seed, dir);
	}
}

/* What all traces had is in two files for Python. */
static void json_values(void)
{
	char command[256], out[2048] = "";
	FILE *f;

	if (system("python3 -c 'import json' >/dev/null 2>&1")) {
		printf("# no python3: JSON is not compared\n");
		return;
	}
	write_file("text", &all_text);
	write_file("json", &all_json);
	snprintf(command, sizeof(command), "python3 tests/lib/judge_json.py %s/text %s/json 2>&1",
		 dir, dir);
	f = popen(command, "r");
	CHECK(f && fread(out, 1, sizeof(out) - 1, f) > 0);
	CHECK(f && pclose(f) == 0);
	printf("# %s\n", out);
	CHECK(strtol(out, NULL, 10) > 20000);
}

int main(void)
{
	char command[192];

	if (system("babeltrace2 --version >/dev/null 2>&1")) {
		printf("1..0 # SKIP babeltrace2 is not installed\n");
		return 77;
	}
	snprintf(dir, sizeof(dir), "/tmp/trailfs-test-XXXXXX");
	if (!mkdtemp(dir)) {
		printf("1..0 # SKIP no temporary directory: %s\n", strerror(errno));
		return 77;
	}
	CASE(compact_header);
	CASE(large_header);
	CASE(every_byte_in_strings);
	CASE(empty_strings);
	CASE(bit_fields);
	CASE(contexts);
	CASE(application_contexts);
	CASE(enumerations);
	CASE(floats);
	CASE(random_traces);
	CASE(json_values);
	md_buf_deinit(&all_text);
	md_buf_deinit(&all_json);
	snprintf(command, sizeof(command), "rm -rf %s %s.err", dir, dir);
	if (!test_failed && system(command))
		printf("# %s stays\n", dir);
	return test_summary();
}
