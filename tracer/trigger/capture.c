// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Captured values. They are taken from the text of the event, which agrees with babeltrace2, so
 * that a value looks the same here and there: { cpu_id = 0 }, { CONTEXTS }, { FIELDS }.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tracer/trigger/event.h"

struct piece {                          /* a part of the text */
	const char *at;
	size_t len;
};

/* The end of a string that begins at p. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\' && p + 1 < end)
			p++;
	return p < end ? p : end - 1;
}

/* Where the value that begins at p ends: at a comma, or a bracket that closes what p is in. */
static const char *end_of_value(const char *p, const char *end)
{
	int depth = 0;

	for (; p < end; p++) {
		if (*p == '"')
			p = skip_string(p, end);
		else if (*p == '{' || *p == '[' || *p == '(')
			depth++;
		else if ((*p == '}' || *p == ']' || *p == ')') && !depth--)
			break;
		else if (*p == ',' && !depth)
			break;
	}
	return p;
}

/* What is inside the brackets of a value; len 0: it has none. */
static struct piece inside(struct piece v)
{
	if (v.len < 2 || (v.at[0] != '{' && v.at[0] != '['))
		return (struct piece){ 0 };
	return (struct piece){ v.at + 1, v.len - 2 };
}

/* Member `NAME = VALUE` of a list by its name, or (name NULL) by its number. */
static bool find_member(struct piece list, const char *name, size_t name_len, size_t number,
			struct piece *value)
{
	const char *p = list.at, *end = list.at + list.len, *stop, *is;

	for (; p < end; p = stop + 1) {
		while (p < end && *p == ' ')
			p++;
		/* An element of an array is called [0], which a value cannot begin with. */
		is = memmem(p, (size_t)(end - p), " = ", 3);
		if (!is)
			return false;
		stop = end_of_value(is + 3, end);
		if (name ? (size_t)(is - p) == name_len && !memcmp(p, name, name_len) : !number--) {
			*value = (struct piece){ is + 3, (size_t)(stop - is - 3) };
			while (value->len && value->at[value->len - 1] == ' ')
				value->len--;
			return true;
		}
	}
	return false;
}

/* field, field.member, field[3].member */
static bool find_path(struct piece list, const char *path, struct piece *value)
{
	size_t len;

	while (*path) {
		len = *path == '[' ? strcspn(path, "]") + 1 : strcspn(path, ".[");
		if (!find_member(list, path, len, 0, value))
			return false;
		path += strnlen(path, len);
		path += *path == '.';
		list = inside(*value);
	}
	return true;
}

/* The groups { … } after the event's name; fewer: len 0. */
static void split(const char *line, struct piece groups[3])
{
	const char *p = strstr(line, ": { cpu_id = "), *end = line + strlen(line), *stop;

	memset(groups, 0, 3 * sizeof(*groups));
	p = p ? p + 2 : end;
	for (size_t i = 0; i < 3 && p < end && *p == '{'; i++) {
		stop = end_of_value(p, end);
		groups[i] = inside((struct piece){ p, (size_t)(stop - p) });
		p = stop;
		while (p < end && (*p == ',' || *p == ' '))
			p++;
	}
}

static void put_json_string(struct piece v, struct md_buf *out)
{
	md_buf_putc(out, '"');
	for (size_t i = 0; i < v.len; i++) {
		unsigned char c = (unsigned char)v.at[i];

		if (c == '"' || c == '\\')
			md_buf_printf(out, "\\%c", c);
		else if (c < 0x20)
			md_buf_printf(out, "\\u%04x", c);
		else
			md_buf_putc(out, (char)c);
	}
	md_buf_putc(out, '"');
}

static bool is_number(struct piece v)
{
	size_t i = v.len && v.at[0] == '-';

	if (i == v.len || !isdigit((unsigned char)v.at[i]) ||
	    (v.at[i] == '0' && i + 1 < v.len && v.at[i + 1] != '.'))
		return false;
	for (; i < v.len; i++)
		if (!isdigit((unsigned char)v.at[i]) && v.at[i] != '.')
			return false;
	return v.at[v.len - 1] != '.';
}

static void put_json(struct piece v, struct md_buf *out)
{
	if (is_number(v)) {
		md_buf_put(out, v.at, v.len);
		return;
	}
	if (v.len >= 2 && v.at[0] == '"')
		v = (struct piece){ v.at + 1, v.len - 2 };
	put_json_string(v, out);
}

void captures_print(const struct condition *c, const char *line, bool json, struct md_buf *out)
{
	struct piece groups[3], value;
	size_t context = 0;

	split(line, groups);
	for (size_t i = 0; i < c->capture_count; i++) {
		const char *name = c->captures[i];
		bool is_context = name[0] == '$', found;

		/* Without contexts, the fields come second. */
		found = is_context ? find_member(groups[1], NULL, 0, context++, &value)
				   : find_path(groups[c->has_contexts ? 2 : 1], name, &value);
		if (!found)
			continue;
		md_buf_puts(out, !out->len ? "" : json ? "," : ", ");
		if (json) {
			put_json_string((struct piece){ name, strlen(name) }, out);
			md_buf_putc(out, ':');
			put_json(value, out);
		} else {
			md_buf_printf(out, "%s = ", name);
			md_buf_put(out, value.at, value.len);
		}
	}
}
