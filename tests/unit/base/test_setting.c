/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings as data: every kind is shown, parsed, saved, restored and exchanged by its row. */
#include <errno.h>
#include <stdint.h>

#include "tests/lib/test.h"
#include "tracer/base/setting.h"

struct object {
	bool flag, format;
	uint32_t scheme, count;
	uint64_t size, period, age;
};

static void show_list(const void *object, struct md_buf *out)
{
	(void)object;
	md_buf_puts(out, "a list\n");
}

#define AT(member) SETTING_MEMBER(object, member)

static const struct setting table[] = {
	{ "flag", SETTING_FLAG, AT(flag) },
	{ "format", SETTING_CHOICE, AT(format), .words = WORDS("text", "packets"),
	  .also = WORDS("t", "p") },
	{ "scheme", SETTING_CHOICE, AT(scheme), .words = WORDS("none", "", "xz") },
	{ "count", SETTING_COUNT, AT(count), .least = 2, .most = 64, .nonzero = true,
	  .power = true },
	{ "size", SETTING_SIZE, AT(size), .most = 4096, .above = "too much" },
	{ "period", SETTING_TIME, AT(period), .least = 10, .below = "too short" },
	{ "age", SETTING_TIME, AT(age), .words = WORDS("off", "read"), .least = 10,
	  .below = "off, read or a time" },
	{ "list", SETTING_LIST, .show = show_list },
	{ 0 }
};

static const char *shown(const char *name, const struct object *o)
{
	static struct md_buf out;

	md_buf_reset(&out);
	setting_show(setting_find(table, name), o, &out);
	return md_buf_str(&out);
}

static const char *refused(const char *name, const char *value)
{
	static struct tr_err err;
	uint64_t v = 7;

	err = (struct tr_err)TR_ERR_INIT;
	CHECK(setting_parse(setting_find(table, name), value, &v, &err) == -EINVAL);
	return err.sentence;
}

static uint64_t parsed(const char *name, const char *value)
{
	uint64_t v = 12345;

	CHECK(!setting_parse(setting_find(table, name), value, &v, NULL));
	return v;
}

static void shows(void)
{
	struct object o = { .flag = true, .scheme = 2, .count = 8, .period = UINT64_MAX };

	CHECK(!setting_find(table, "fla") && !setting_find(table, ""));
	CHECK_STR(shown("flag", &o), "1\n");
	CHECK_STR(shown("format", &o), "[text] packets\n");
	CHECK_STR(shown("scheme", &o), "none [xz]\n");
	CHECK_STR(shown("count", &o), "8\n");
	CHECK_STR(shown("period", &o), "inf\n");
	CHECK_STR(shown("list", &o), "a list\n");
	o.size = UINT64_MAX;
	CHECK_STR(shown("size", &o), "18446744073709551615\n");
}

static void parses(void)
{
	CHECK(parsed("flag", "1") == 1 && parsed("format", "p") == 1);
	CHECK(parsed("scheme", "xz") == 2);
	CHECK_STR(refused("flag", "2"), "not one of 0, 1");
	CHECK_STR(refused("format", "x"), "not one of text, packets, t, p");
	CHECK_STR(refused("scheme", ""), "not one of none, xz");
	CHECK(parsed("count", "1") == 2 && parsed("count", "33") == 64);
	CHECK_STR(refused("count", "0"), "must be from 2 to 64");
	CHECK_STR(refused("count", "65"), "must be from 2 to 64");
	CHECK(parsed("size", "4k") == 4096 && parsed("size", "0") == 0);
	CHECK_STR(refused("size", "4097"), "too much");
	CHECK(parsed("period", "0") == 0 && parsed("period", "inf") == UINT64_MAX);
	CHECK_STR(refused("period", "9us"), "too short");
	CHECK(parsed("age", "off") == 0 && parsed("age", "read") == UINT64_MAX);
	CHECK(parsed("age", "1ms") == 1000);
	CHECK_STR(refused("age", "inf"), "off, read or a time");
	CHECK_STR(refused("age", "written"), "off, read or a time");
	CHECK_STR(refused("age", "9us"), "off, read or a time");
}

static const char *saved(const struct object *o)
{
	static struct md_buf out;

	md_buf_reset(&out);
	settings_save(table, o, &out);
	return md_buf_str(&out);
}

static void restores(void)
{
	static const char all[] = "set flag 1\nset format packets\nset scheme xz\nset count 16\n"
				  "set size 3\nset period inf\nset age off\n";
	static const char *const wrong[] = {
		"flag 2", "flag", "", "format 1", "scheme ", "count 0", "count 65", "size 1T",
		"period 1", "list x", "other 1",
	};
	struct object o = { .flag = true, .format = true, .scheme = 2, .count = 16, .size = 3,
			    .period = UINT64_MAX }, other = { .count = 4 };

	CHECK_STR(saved(&o), all);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		settings_restore(table, &o, wrong[i]);
	CHECK_STR(saved(&o), all);
	settings_exchange(table, &o, &other);
	CHECK_STR(saved(&other), all);
	CHECK(!o.flag && !o.format && !o.scheme && o.count == 4 && !o.size && !o.period);
	settings_restore(table, &o, "flag 1");
	settings_restore(table, &o, "scheme xz");
	settings_restore(table, &o, "period inf");
	CHECK(o.flag && o.scheme == 2 && o.period == UINT64_MAX);
}

static void restores_former_lines(void)
{
	static const struct former_line lines[] = {
		{ "is_packets", { "format" } }, { "numbers", { "count", "size", "period" } },
		{ "xz", { "scheme" } }, { 0 }
	};
	struct object o = { 0 };

	CHECK(!settings_restore_former(lines, table, &o, "format", "1") && !o.format);
	CHECK(settings_restore_former(lines, table, &o, "is_packets", "1") && o.format);
	CHECK(settings_restore_former(lines, table, &o, "is_packets", "2") && o.format);
	CHECK(settings_restore_former(lines, table, &o, "xz", "1") && !o.scheme);
	CHECK(settings_restore_former(lines, table, &o, "xz", "2") && o.scheme == 2);
	CHECK(settings_restore_former(lines, table, &o, "numbers",
				      "4 4097 18446744073709551615"));
	CHECK(o.count == 4 && !o.size && o.period == UINT64_MAX);
	CHECK(settings_restore_former(lines, table, &o, "numbers", "8 x"));
	CHECK(o.count == 8 && !o.size);
}

int main(void)
{
	CASE(shows);
	CASE(parses);
	CASE(restores);
	CASE(restores_former_lines);
	return test_summary();
}
