/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines come from md_json_event: they are valid JSON without blanks, so nothing is checked here
 * but the end of the text.
 */
#include "tracer/export/row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/program.h"

/* The place after the string at p, or end. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\';
	return p < end ? p + 1 : end;
}

/* The place after the value at p, or end. */
static const char *skip_value(const char *p, const char *end)
{
	unsigned int depth = 0;

	for (; p < end; p++) {
		switch (*p) {
		case '"':
			p = skip_string(p, end) - 1;
			break;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			if (!depth)
				return p;
			depth--;
			break;
		case ',':
			if (!depth)
				return p;
			break;
		default:
			break;
		}
	}
	return end;
}

bool json_member(struct json *object, struct json *name, struct json *value)
{
	const char *p = object->p, *end = p + object->n;

	/* `{` or `,` before a member, `}` after the last */
	if (object->n < 5 || p[1] != '"')
		return false;
	name->p = p + 2;
	p = skip_string(p + 1, end);
	name->n = (size_t)(p - 1 - name->p);
	value->p = p < end ? p + 1 : end;
	p = skip_value(value->p, end);
	value->n = (size_t)(p - value->p);
	*object = (struct json){ p, (size_t)(end - p) };
	return true;
}

struct json json_find(struct json object, const char *name)
{
	size_t n = strlen(name);
	struct json key, value;

	while (json_member(&object, &key, &value))
		if (key.n == n && !memcmp(key.p, name, n))
			return value;
	return (struct json){ NULL, 0 };
}

bool json_integer(struct json value, int64_t *result)
{
	char text[24], *end;

	if (value.n && *value.p == '{')
		value = json_find(value, "value");
	if (!value.n || value.n >= sizeof(text))
		return false;
	memcpy(text, value.p, value.n);
	text[value.n] = 0;
	errno = 0;
	*result = strtoll(text, &end, 10);
	return end == text + value.n && !errno;
}

/* The character of the escape at p, which is after the backslash. */
static char read_escape(const char *p, const char *end)
{
	static const char letters[] = "b\bf\fn\nr\rt\t";
	char hex[3] = "";
	const char *l;

	/* The printer writes \u00XX only: control characters, C1 included. */
	if (*p == 'u' && end - p >= 5) {
		memcpy(hex, p + 3, 2);
		return (char)strtoul(hex, NULL, 16);
	}
	l = strchr(letters, *p);
	return l && *l ? l[1] : *p;
}

void json_text(struct json part, struct md_buf *out)
{
	const char *p = part.p, *end = p + part.n, *stop;

	while (p < end) {
		char c;

		stop = memchr(p, '\\', (size_t)(end - p));
		md_buf_put(out, p, (size_t)((stop ? stop : end) - p));
		if (!stop || stop + 1 >= end)
			return;
		c = read_escape(stop + 1, end);
		if ((unsigned char)c >= 0x80)
			md_buf_putc(out, '\xc2');       /* C1 in UTF-8 */
		md_buf_putc(out, c);
		p = stop + (stop[1] == 'u' ? 6 : 2);
	}
}

void json_characters(struct json value, struct md_buf *out)
{
	if (json_is_string(value))
		value = (struct json){ value.p + 1, value.n - 2 };
	json_text(value, out);
}

struct json json_label(const struct md_field *f, struct json value)
{
	struct json label;

	if (!md_type_is_enum(&f->type))
		return value;
	label = json_find(value, "label");
	return json_is_string(label) ? label : json_find(value, "value");
}

void row_parse(struct row *r, const char *line, size_t n)
{
	struct json rest = { line, n }, name, value;
	int64_t number;

	r->host = r->event = r->context = r->fields = (struct json){ NULL, 0 };
	while (json_member(&rest, &name, &value)) {
		/* time, host, cpu, event, context, fields, torn */
		switch (*name.p) {
		case 't':
			if (name.n == 4 && name.p[1] == 'i' && json_integer(value, &number))
				r->time = (uint64_t)number;
			break;
		case 'h':
			r->host = value;
			break;
		case 'e':
			r->event = value;
			break;
		case 'f':
			r->fields = value;
			break;
		default:
			if (name.p[1] == 'o')
				r->context = value;
			else if (json_integer(value, &number))
				r->cpu = (uint32_t)number;
			break;
		}
	}
}
