// SPDX-License-Identifier: GPL-2.0-or-later
/* Settings as data: see setting.h. */
#include "tracer/base/setting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/base.h"

static const char *const bits[] = { "0", "1", NULL };

static const char *const *words_of(const struct setting *row)
{
	return row->kind == SETTING_FLAG ? bits : row->words;
}

const struct setting *setting_find(const struct setting *table, const char *name)
{
	while (table->name && strcmp(table->name, name) != 0)
		table++;
	return table->name ? table : NULL;
}

static uint64_t setting_get(const struct setting *row, const void *object)
{
	const void *member = (const char *)object + row->offset;

	return row->width == sizeof(bool)     ? *(const bool *)member :
	       row->width == sizeof(uint32_t) ? *(const uint32_t *)member :
						*(const uint64_t *)member;
}

void setting_set(const struct setting *row, void *object, uint64_t v)
{
	void *member = (char *)object + row->offset;

	if (row->width == sizeof(bool))
		*(bool *)member = v != 0;
	else if (row->width == sizeof(uint32_t))
		*(uint32_t *)member = (uint32_t)v;
	else
		*(uint64_t *)member = v;
}

/* ---- text ---- */

static void print_value(const struct setting *row, uint64_t v, struct md_buf *out)
{
	if (row->kind <= SETTING_CHOICE)
		md_buf_puts(out, words_of(row)[v]);
	else if (row->kind == SETTING_TIME && row->words && (!v || v == UINT64_MAX))
		md_buf_puts(out, row->words[v != 0]);
	else if (row->kind == SETTING_TIME && v == UINT64_MAX)
		md_buf_puts(out, "inf");
	else
		md_buf_printf(out, "%" PRIu64, v);
}

void setting_show(const struct setting *row, const void *object, struct md_buf *out)
{
	uint64_t v;

	if (row->show) {
		row->show(object, out);
		return;
	}
	v = setting_get(row, object);
	if (row->kind != SETTING_CHOICE)
		print_value(row, v, out);
	for (size_t i = 0; row->kind == SETTING_CHOICE && row->words[i]; i++)
		if (row->words[i][0])
			md_buf_printf(out, i == v ? "%s[%s]" : "%s%s", i ? " " : "", row->words[i]);
	md_buf_putc(out, '\n');
}

static int find_word(const char *const *words, const char *value)
{
	for (int i = 0; words && words[i]; i++)
		if (words[i][0] && !strcmp(words[i], value))
			return i;
	return -1;
}

static void list_words(const char *const *words, struct md_buf *out)
{
	for (; words && *words; words++)
		if (**words)
			md_buf_printf(out, "%s%s", out->len ? ", " : "", *words);
}

static int parse_word(const struct setting *row, const char *value, uint64_t *v,
		      struct tr_err *err)
{
	struct md_buf all = MD_BUF_INIT;
	int i = find_word(words_of(row), value), ret = 0;

	if (i < 0)
		i = find_word(row->also, value);
	if (i < 0) {
		list_words(words_of(row), &all);
		list_words(row->also, &all);
		ret = tr_fail_at(err, -EINVAL, value, 0, "not one of %s", md_buf_str(&all));
		md_buf_deinit(&all);
	} else {
		*v = (uint64_t)i;
	}
	return ret;
}

static int outside(const struct setting *row, const char *sentence, const char *value,
		   struct tr_err *err)
{
	return sentence ? tr_fail_at(err, -EINVAL, value, 0, "%s", sentence)
			: tr_fail_at(err, -EINVAL, value, 0,
				     "must be from %" PRIu64 " to %" PRIu64, row->least, row->most);
}

static int limit(const struct setting *row, const char *value, uint64_t *v, struct tr_err *err)
{
	uint64_t p = row->least;

	if ((row->nonzero && !*v) || (row->most && *v > row->most))
		return outside(row, row->above, value, err);
	while (row->power && p < *v)
		p *= 2;
	if (row->power)
		*v = p;
	return *v && *v < row->least ? outside(row, row->below, value, err) : 0;
}

int setting_parse(const struct setting *row, const char *value, uint64_t *v, struct tr_err *err)
{
	int ret, word;

	if (row->kind <= SETTING_CHOICE)
		return parse_word(row, value, v, err);
	if (row->words && (word = find_word(row->words, value)) >= 0) {
		*v = word ? UINT64_MAX : 0;
		return 0;
	}
	/* A word stands for each end of the range: `inf` is no time, and `below` names them. */
	if (row->words && (units_time(value, v, NULL) < 0 || *v == UINT64_MAX))
		return outside(row, row->below, value, err);
	ret = row->kind == SETTING_SIZE ? units_size(value, v, err) :
	      row->kind == SETTING_TIME ? units_time(value, v, err) : units_count(value, v, err);
	return ret ? ret : limit(row, value, v, err);
}

/* ---- all settings of an object ---- */

void settings_save(const struct setting *table, const void *object, struct md_buf *out)
{
	for (const struct setting *row = table; row->name; row++) {
		if (!row->width)
			continue;
		md_buf_printf(out, "set %s ", row->name);
		print_value(row, setting_get(row, object), out);
		md_buf_putc(out, '\n');
	}
}

void settings_restore(const struct setting *table, void *object, const char *line)
{
	const struct setting *row;
	char name[32];
	uint64_t v;
	int n = 0;

	if (sscanf(line, "%31s %n", name, &n) != 1 || !n)
		return;
	row = setting_find(table, name);
	if (row && row->width && !setting_parse(row, line + n, &v, NULL))
		setting_set(row, object, v);
}

void settings_exchange(const struct setting *table, void *a, void *b)
{
	for (const struct setting *row = table; row->name; row++) {
		uint64_t v = row->width ? setting_get(row, a) : 0;

		if (!row->width)
			continue;
		setting_set(row, a, setting_get(row, b));
		setting_set(row, b, v);
	}
}

static bool has_word(const struct setting *row, uint64_t v)
{
	size_t n = 0;

	while (words_of(row)[n])
		n++;
	return v < n && words_of(row)[v][0];
}

bool settings_restore_former(const struct former_line *lines, const struct setting *table,
			     void *object, const char *key, const char *numbers)
{
	while (lines->key && strcmp(lines->key, key) != 0)
		lines++;
	if (!lines->key)
		return false;
	for (size_t i = 0; lines->settings[i]; i++) {
		const struct setting *row = setting_find(table, lines->settings[i]);
		char *end;
		uint64_t v = strtoull(numbers, &end, 10);

		if (end == numbers)
			break;
		numbers = end;
		if (row->kind <= SETTING_CHOICE ? has_word(row, v) : !limit(row, "", &v, NULL))
			setting_set(row, object, v);
	}
	return true;
}
