/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader of LTT traces: both byte orders, stamps of 32 and 64 bits, all alignments, versions
 * 0.3 and 0.7, blocks of different sizes, a torn last block, ids that change, mistakes.
 */
#include "tests/lib/ltt_writer.h"
#include "tests/lib/test.h"

static struct ltt_files files;
static struct tr_err err;

/* The text of the files, or the sentence of the mistake. */
static const char *print_files(struct md_buf *out)
{
	struct ltt_trace *t = NULL;
	int ret;

	md_buf_reset(out);
	err = (struct tr_err)TR_ERR_INIT;
	ret = ltt_open(files.list, files.count, &t, &err);
	if (!ret)
		ret = ltt_print(t, out, &err);
	ltt_close(t);
	return ret ? err.sentence : md_buf_str(out);
}

/* control/facilities_1: `fac` with the id 5, from cycle 5000 on with the id 6, when 5 is `other` */
static void add_loads(struct ltt_form form)
{
	struct ltt_writer w = { .form = form };

	ltt_begin_block(&w);
	ltt_load(&w, 1000, "fac", 5);
	ltt_load(&w, 5000, "other", 5);
	ltt_load(&w, 5000, "fac", 6);
	ltt_end_block(&w, 1024);
	ltt_add_bytes(&files, "control/facilities_1", w.file.data, w.file.len);
	md_buf_deinit(&w.file);
}

static void add_definitions(void)
{
	static const char other[] = "<facility name=other><event name=none/></facility>";
	static const char system[] = "<system uname=\"L\" node=\"old\" cpus=\"2\"/>";

	ltt_add_bytes(&files, "eventdefs/fac.xml", ltt_definition, sizeof(ltt_definition) - 1);
	ltt_add_bytes(&files, "eventdefs/other_12345.xml", other, sizeof(other) - 1);
	ltt_add_bytes(&files, "system.xml", system, sizeof(system) - 1);
}

#define LATER (UINT64_C(5) << 32)

/* cpu_0, in three blocks of different sizes; the last one is cut by `torn` bytes */
static void add_events(struct ltt_form form, size_t torn)
{
	struct ltt_writer w = { .form = form };

	ltt_begin_block(&w);
	ltt_plain(&w, 1000, 5, -5, true);
	ltt_rich(&w, 1500, 5, false);
	ltt_end_block(&w, 512);
	ltt_begin_block(&w);
	ltt_event(&w, 5000, 5, 0);
	ltt_end_event(&w, false);
	ltt_rich(&w, 5001, 6, true);
	w.freq = 3000000000;    /* the first block's counts */
	/* 32 bits overflow five times, with one heartbeat. */
	ltt_beat(&w, LATER);
	ltt_plain(&w, LATER + 1000, 6, 1, false);
	ltt_end_block(&w, 300 + 64 * (size_t)form.align);
	ltt_begin_block(&w);
	ltt_plain(&w, LATER + 2000, 6, 2, true);
	ltt_plain(&w, LATER + 3000, 6, 3, true);
	ltt_end_block(&w, w.file.len - w.block);
	ltt_add_bytes(&files, "cpu_0", w.file.data, w.file.len - torn);
	md_buf_deinit(&w.file);
}

static void put_time(struct md_buf *out, struct ltt_form f, uint64_t cycles, uint64_t last)
{
	uint64_t ns = f.minor == 7 ? 1000000000 + 2 * (cycles - 1000) : 2 * cycles,
		 delta = 2 * (cycles - last);

	md_buf_printf(out, "[00:00:%02u.%09u] (+", (unsigned int)(ns / 1000000000),
		      (unsigned int)(ns % 1000000000));
	if (last)
		md_buf_printf(out, "%u.%09u) old ", (unsigned int)(delta / 1000000000),
			      (unsigned int)(delta % 1000000000));
	else
		md_buf_puts(out, "?.???" "???" "???" ") old ");
}

static void put_plain(struct md_buf *out, int a)
{
	md_buf_printf(out, "fac:plain: { cpu_id = 0 }, { a = %d, b = 7, net = 258, s = \"hi\", "
			   "m = ( \"HIGH\" : container = 4 ) }\n", a);
}

static void put_rich(struct md_buf *out, struct ltt_form f)
{
	md_buf_printf(out, "fac:rich: { cpu_id = 0 }, { p = [ [0] = { x = 1, y = ( \"LOW\" : "
			   "container = 3 ) }, [1] = { x = 2, y = ( \"LOW\" : container = 3 ) } ], "
			   "_q_length = 2, q = [ [0] = 9, [1] = -9 ], "
			   "u = { w = 16909060, c = %d }, f = 1.5, ptr = 0x1234 }\n",
		      f.big_endian ? 1 : 4);
}

static void put_expected(struct md_buf *out, struct ltt_form f, bool torn)
{
	md_buf_reset(out);
	put_time(out, f, 1000, 0);
	put_plain(out, -5);
	put_time(out, f, 1500, 1000);
	put_rich(out, f);
	put_time(out, f, 5000, 1500);
	md_buf_puts(out, "other:none: { cpu_id = 0 }, { }\n");
	put_time(out, f, 5001, 5000);
	put_rich(out, f);
	put_time(out, f, LATER + 1000, 5001);
	put_plain(out, 1);
	put_time(out, f, LATER + 2000, LATER + 1000);
	put_plain(out, 2);
	if (torn)
		return;
	put_time(out, f, LATER + 3000, LATER + 2000);
	put_plain(out, 3);
}

static void forms(void)
{
	struct md_buf got = MD_BUF_INIT, want = MD_BUF_INIT;
	static const uint8_t aligns[] = { 0, 1, 2, 4, 8 };

	for (int i = 0; i < 2 * 2 * 2 * 2 * 2 * 5; i++) {
		struct ltt_form f = { .big_endian = i & 1, .heartbeat = i & 2, .flight = i & 4,
				      .minor = i & 8 ? 3 : 7, .align = aligns[i >> 5] };

		add_definitions();
		add_loads(f);
		add_events(f, i & 16 ? 1 : 0);
		put_expected(&want, f, i & 16);
		CHECK_STR(print_files(&got), md_buf_str(&want));
		ltt_close_files(&files);
	}
	md_buf_deinit(&got);
	md_buf_deinit(&want);
}

/* What a flight recorder has overwritten: the load is later than the first event. */
static void overwritten_load(void)
{
	struct ltt_form f = { .heartbeat = true, .flight = true, .minor = 7 };
	struct md_buf got = MD_BUF_INIT;
	struct ltt_writer w = { .form = f };

	add_definitions();
	add_loads(f);
	ltt_begin_block(&w);
	ltt_plain(&w, 900, 6, 8, true);
	ltt_end_block(&w, 256);
	ltt_add_bytes(&files, "cpu_3", w.file.data, w.file.len);
	CHECK(strstr(print_files(&got), "[00:00:00.999999800]") != NULL);
	CHECK(strstr(md_buf_str(&got), "fac:plain: { cpu_id = 3 }, { a = 8,") != NULL);
	ltt_close_files(&files);
	md_buf_deinit(&w.file);
	md_buf_deinit(&got);
}

/* Numbers of events of the facility core */
enum { FACILITY_LOAD, FACILITY_UNLOAD, TIME_HEARTBEAT, STATE_DUMP_FACILITY_LOAD_PER_TRACE };

/* A facility that was loaded before the state dump; an unload; a heartbeat before all else. */
static void other_core_events(void)
{
	struct ltt_form f = { .heartbeat = true, .minor = 7, .align = 4 };
	const uint32_t values[] = { 12345, 5, 4, 8, 8, 8, 4 };
	struct md_buf got = MD_BUF_INIT;
	struct ltt_writer w = { .form = f }, cpu = { .form = f };

	add_definitions();
	ltt_begin_block(&w);
	ltt_event(&w, 1000, 0, STATE_DUMP_FACILITY_LOAD_PER_TRACE);
	md_buf_put(&w.file, "fac", 4);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		ltt_value(&w, values[i], 4);
	ltt_end_event(&w, true);
	ltt_event(&w, 9000, 0, FACILITY_UNLOAD);
	ltt_value(&w, 5, 4);
	ltt_end_event(&w, true);
	/* It is read only if the size of the unload is known. */
	ltt_load(&w, 10000, "fac", 7);
	ltt_end_block(&w, 512);
	ltt_add_bytes(&files, "control/facilities_0", w.file.data, w.file.len);
	ltt_begin_block(&cpu);
	ltt_beat(&cpu, 1500);
	ltt_plain(&cpu, 2000, 5, 6, true);
	ltt_plain(&cpu, 11000, 7, 8, true);
	ltt_end_block(&cpu, 512);
	ltt_add_bytes(&files, "cpu_0", cpu.file.data, cpu.file.len);
	CHECK(strstr(print_files(&got), "fac:plain: { cpu_id = 0 }, { a = 6,") != NULL);
	CHECK(strstr(md_buf_str(&got), "fac:plain: { cpu_id = 0 }, { a = 8,") != NULL);
	ltt_close_files(&files);
	md_buf_deinit(&w.file);
	md_buf_deinit(&cpu.file);
	md_buf_deinit(&got);
}

/* One byte of cpu_0 is another: the sentence has file, offset and what was expected. */
static void mistakes(void)
{
	static const struct { size_t at; uint8_t value; const char *sentence; } wrong[] = {
		{ 40, 1, "cpu_0: offset 40: expected the magic number 0x00D6B7ED" },
		{ 58, 5, "cpu_0: offset 57: expected version 0.3 or 0.7, found 0.5" },
		{ 61, 3, "cpu_0: offset 61: expected an alignment of 0 to 64, found 3" },
		{ 37, 0, "cpu_0: offset 512: " },
		{ 110, 9, "cpu_0: offset 106: no facility was loaded with the id of this event" },
		{ 111, 7, "cpu_0: offset 106: no facility was loaded with the id of this event" },
		{ 112, 2, "cpu_0: offset 106: the definition of the event does not fit to its "
			  "size" },
		{ 112, 255, "cpu_0: offset " },
	};
	struct ltt_form f = { .heartbeat = true, .minor = 7 };
	struct md_buf got = MD_BUF_INIT;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *text;
		struct ltt_file *cpu;

		add_definitions();
		add_loads(f);
		add_events(f, 0);
		cpu = &files.list[files.count - 1];
		CHECK(pwrite(cpu->fd, &wrong[i].value, 1, (off_t)wrong[i].at) == 1);
		text = print_files(&got);
		if (strncmp(text, wrong[i].sentence, strlen(wrong[i].sentence)) && i != 3)
			CHECK_STR(text, wrong[i].sentence);
		if (i == 3)
			CHECK(!strncmp(text, "cpu_0: offset ", 14));
		ltt_close_files(&files);
	}
	md_buf_deinit(&got);
}

static void bad_definitions(void)
{
	static const struct { const char *text, *sentence; } wrong[] = {
		{ "<facility name=fac><type name=a><struct><field name=f><typeref name=a/></field>"
		  "</struct></type><event name=e><field name=f><typeref name=a/></field></event>"
		  "</facility>", "expected types that are at most 10 deep" },
		{ "<facility name=fac><event name=e><field name=f><int size=3/></field></event>"
		  "</facility>",
		  "expected an integer of 1, 2, 4 or 8 bytes" },
		{ "<facility name=fac><event name=e><field name=\"f><int/></field>",
		  "expected the end of a value in quotes" },
		{ "<facility name=fac><event name=e><field name=f><int/></event>",
		  "expected the end of a tag" },
		{ "<facility name=fac><event name=e>", "expected the end of a tag" },
		{ "<facility name=fac><event name=e><field name=f><typeref name=no/></field>"
		  "</event></facility>",
		  "expected the name of a type of this facility" },
		{ "<facility name=fuc></facility>",
		  "eventdefs/ has no definition of the facility" },
	};
	struct ltt_form f = { .heartbeat = true, .minor = 7 };
	struct md_buf got = MD_BUF_INIT;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ltt_add_bytes(&files, "eventdefs/x.xml", wrong[i].text, strlen(wrong[i].text));
		add_loads(f);
		if (!strstr(print_files(&got), wrong[i].sentence))
			CHECK_STR(err.sentence, wrong[i].sentence);
		ltt_close_files(&files);
	}
	md_buf_deinit(&got);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
	CASE(forms);
	CASE(overwritten_load);
	CASE(other_core_events);
	CASE(mistakes);
	CASE(bad_definitions);
	return test_summary();
}
