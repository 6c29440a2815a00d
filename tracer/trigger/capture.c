// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Captured values. They are taken from the text of the event, which agrees with babeltrace2, so
 * that a value looks the same here and there: { cpu_id = 0 }, { CONTEXTS }, { FIELDS }. The text
 * may be torn, because an application can change its ring while the text is made: each function
 * stays inside the piece that it gets.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/trigger/event.h"

#define DEPTH_MAX 32            /* of structures and arrays in each other, as JSON */

struct piece {                          /* a part of the text */
	const char *at;
	size_t len;
};

static struct piece piece_of(const char *text)
{
	return (struct piece){ text, strlen(text) };
}

static bool is_equal(struct piece a, struct piece b)
{
	return a.len == b.len && !memcmp(a.at, b.at, a.len);
}

/* ---- find ---- */

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

static struct piece trim(struct piece v)
{
	while (v.len && *v.at == ' ') {
		v.at++;
		v.len--;
	}
	while (v.len && v.at[v.len - 1] == ' ')
		v.len--;
	return v;
}

/* What is inside the brackets of a value; len 0: it has none. */
static struct piece inside(struct piece v)
{
	if (v.len < 2 || (v.at[0] != '{' && v.at[0] != '['))
		return (struct piece){ 0 };
	return trim((struct piece){ v.at + 1, v.len - 2 });
}

/* Takes the first member `NAME = VALUE` off the list. False: there is none. */
static bool next_member(struct piece *list, struct piece *name, struct piece *value)
{
	const char *end = list->at + list->len, *is, *stop;

	/* An element of an array is called [0]. No name has " = ". */
	is = list->len ? memmem(list->at, list->len, " = ", 3) : NULL;
	if (!is)
		return false;
	*name = trim((struct piece){ list->at, (size_t)(is - list->at) });
	stop = end_of_value(is + 3, end);
	*value = trim((struct piece){ is + 3, (size_t)(stop - is - 3) });
	stop += stop < end;
	*list = (struct piece){ stop, (size_t)(end - stop) };
	return true;
}

static bool find_member(struct piece list, struct piece wanted, struct piece *value)
{
	struct piece name;

	while (next_member(&list, &name, value))
		if (is_equal(name, wanted))
			return true;
	return false;
}

/* The same by the name as the application or the kernel has it. */
static bool find_field(struct piece list, const char *name, size_t len, struct piece *value)
{
	struct md_buf text = MD_BUF_INIT;
	char *copy = strndup(name, len);
	bool found = false;

	if (copy) {
		md_name_field(copy, &text);
		found = !text.failed && find_member(list, piece_of(md_buf_str(&text)), value);
	}
	free(copy);
	md_buf_deinit(&text);
	return found;
}

/* field, field.member, field[3].member */
static bool find_path(struct piece list, const char *path, struct piece *value)
{
	size_t len;
	bool found;

	while (*path) {
		len = *path == '[' ? strcspn(path, "]") + 1 : strcspn(path, ".[");
		len = strnlen(path, len);
		found = *path == '[' ? find_member(list, (struct piece){ path, len }, value)
				     : find_field(list, path, len, value);
		if (!found)
			return false;
		path += len;
		path += *path == '.';
		list = inside(*value);
	}
	return true;
}

/* $ctx.NAME, $app.PROVIDER:NAME */
static bool find_context(struct piece list, const char *name, struct piece *value)
{
	bool of_app = strncmp(name, "$ctx.", 5) != 0;

	name += of_app ? 0 : 5;
	if (!find_field(list, name, strlen(name), value))
		return false;
	if (!of_app)
		return true;
	/* The value has any type, and is the only member of a variant; `{ }` if it has no type. */
	*value = inside(*value);
	return value->len && (*value->at != '{' || inside(*value).len);
}

/* The groups { … } after the event's name; fewer: len 0. */
static void split_groups(const char *line, struct piece groups[3])
{
	const char *p = strstr(line, ": { cpu_id = "), *end = line + strlen(line), *stop;

	memset(groups, 0, 3 * sizeof(*groups));
	p = p ? p + 2 : end;
	for (size_t i = 0; i < 3 && p < end && *p == '{'; i++) {
		stop = end_of_value(p, end);
		groups[i] = inside(trim((struct piece){ p, (size_t)(stop - p) }));
		p = stop;
		while (p < end && (*p == ',' || *p == ' '))
			p++;
	}
}

/* ---- JSON ---- */

static unsigned int hex_digit(char c)
{
	return (unsigned int)(isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* The byte that is escaped at p, after the backslash; *len: of the escape. */
static unsigned char unescape(const char *p, size_t room, size_t *len)
{
	static const char letters[] = "abefnrtv", bytes[] = "\a\b\033\f\n\r\t\v";
	const char *letter = *p ? strchr(letters, *p) : NULL;

	*len = 1;
	if (*p == 'x' && room > 2 && isxdigit((unsigned char)p[1]) &&
	    isxdigit((unsigned char)p[2])) {
		*len = 3;
		return (unsigned char)(16 * hex_digit(p[1]) + hex_digit(p[2]));
	}
	return letter ? (unsigned char)bytes[letter - letters] : (unsigned char)*p;
}

static void put_json_byte(unsigned char c, struct md_buf *out)
{
	if (c == '"' || c == '\\')
		md_buf_printf(out, "\\%c", c);
	else if (c < 0x20 || c == 0x7f)
		md_buf_printf(out, "\\u%04x", c);
	else
		md_buf_putc(out, (char)c);
}

/* escaped: the text has babeltrace2's escapes. A byte that is no UTF-8 becomes U+FFFD. */
static void put_json_string(struct piece v, bool escaped, struct md_buf *out)
{
	size_t n;

	md_buf_putc(out, '"');
	for (size_t i = 0; i < v.len; i += n) {
		const unsigned char *p = (const unsigned char *)v.at + i;

		n = 1;
		if (escaped && *p == '\\' && i + 1 < v.len) {
			put_json_byte(unescape(v.at + i + 1, v.len - i - 1, &n), out);
			n++;
		} else if (*p < 0x80) {
			put_json_byte(*p, out);
		} else if ((n = md_utf8_char(p, v.len - i))) {
			md_buf_put(out, p, n);
		} else {
			md_buf_puts(out, "\\ufffd");
			n = 1;
		}
	}
	md_buf_putc(out, '"');
}

static size_t count_digits(const char *p, const char *end)
{
	size_t n = 0;

	while (p + n < end && isdigit((unsigned char)p[n]))
		n++;
	return n;
}

/* Whether JSON has this number; it has no 0x1F, no 007, no inf and no nan. */
static bool is_number(struct piece v)
{
	const char *p = v.at, *end = v.at + v.len;
	size_t n;

	p += p < end && *p == '-';
	n = count_digits(p, end);
	if (!n || (n > 1 && *p == '0'))
		return false;
	p += n;
	if (p < end && *p == '.') {
		n = count_digits(++p, end);
		if (!n)
			return false;
		p += n;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		p += p < end && (*p == '+' || *p == '-');
		n = count_digits(p, end);
		if (!n)
			return false;
		p += n;
	}
	return p == end;
}

static void put_json(struct piece v, unsigned int depth, struct md_buf *out)
{
	bool object = v.len && *v.at == '{', array = v.len && *v.at == '[', first = true;
	struct piece list, name, value;

	if (is_number(v)) {
		md_buf_put(out, v.at, v.len);
	} else if ((object || array) && depth < DEPTH_MAX) {
		md_buf_putc(out, object ? '{' : '[');
		for (list = inside(v); next_member(&list, &name, &value); first = false) {
			if (!first)
				md_buf_putc(out, ',');
			if (object) {
				put_json_string(name, false, out);
				md_buf_putc(out, ':');
			}
			put_json(value, depth + 1, out);
		}
		md_buf_putc(out, object ? '}' : ']');
	} else if (v.len >= 2 && *v.at == '"') {
		put_json_string((struct piece){ v.at + 1, v.len - 2 }, true, out);
	} else {
		put_json_string(v, false, out);
	}
}

void captures_print(const struct condition *c, const char *line, bool json, struct md_buf *out)
{
	struct piece groups[3], value;

	split_groups(line, groups);
	for (size_t i = 0; i < c->capture_count; i++) {
		const char *name = c->captures[i];
		/* Without contexts, the fields come second. */
		bool found = name[0] == '$'
				     ? find_context(groups[1], name, &value)
				     : find_path(groups[c->has_contexts ? 2 : 1], name, &value);

		md_buf_puts(out, !i ? "" : json ? "," : ", ");
		if (json) {
			put_json_string(piece_of(name), false, out);
			md_buf_putc(out, ':');
			if (found)
				put_json(value, 0, out);
			else
				md_buf_puts(out, "null");
		} else {
			md_buf_printf(out, "%s = ", name);
			if (found)
				md_buf_put(out, value.at, value.len);
			else
				md_buf_puts(out, "unavailable");
		}
	}
}
