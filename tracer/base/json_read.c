/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/json_read.h"

#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"

#define PIECE 65536u            /* bytes of memory that are taken at a time */

struct json_memory { struct json_memory *next; size_t used, size; char data[]; };

static void *fail(struct json_reader *r, const char *why)
{
	if (!r->why)
		r->why = why;
	return NULL;
}

/* Memory of the tree, aligned for a struct json. */
static void *take(struct json_reader *r, size_t n)
{
	struct json_memory *m = r->memory;
	size_t size = n > PIECE ? n : PIECE;

	n = (n + 7) & ~(size_t)7;
	if (!m || m->size - m->used < n) {
		size = n > size ? n : size;
		r->used += size;
		if (r->used > JSON_MEMORY_MAX)
			return fail(r, "the JSON text has too many values");
		m = malloc(sizeof(*m) + size);
		if (!m)
			return fail(r, "out of memory");
		*m = (struct json_memory){ r->memory, 0, size };
		r->memory = m;
	}
	m->used += n;
	return m->data + m->used - n;
}

void json_free(struct json_reader *r)
{
	struct json_memory *m;

	while ((m = r->memory)) {
		r->memory = m->next;
		free(m);
	}
	r->used = 0;
}

/* ---- tokens ---- */

static void skip_blanks(struct json_reader *r)
{
	for (; r->p < r->end; r->p++) {
		if (*r->p == '\n')
			r->line++;
		else if (*r->p != ' ' && *r->p != '\t' && *r->p != '\r')
			break;
	}
}

/* Moves past the character, if it is the next one. */
static bool take_char(struct json_reader *r, char c)
{
	bool is = r->p < r->end && *r->p == c;

	r->p += is;
	return is;
}

static bool is_digit(const struct json_reader *r)
{
	return r->p < r->end && *r->p >= '0' && *r->p <= '9';
}

static bool take_word(struct json_reader *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
		return false;
	r->p += n;
	return true;
}

/* ---- numbers ---- */

static void skip_digits(struct json_reader *r)
{
	if (!is_digit(r))
		fail(r, "expected a digit in a number");
	while (is_digit(r))
		r->p++;
}

/* The digits of an integer. False: it has more than 64 bits. */
static bool read_digits(struct json_reader *r, uint64_t *n)
{
	bool fits = true;

	*n = 0;
	if (take_char(r, '0')) {
		if (is_digit(r))
			fail(r, "a number begins with a 0");
		return true;
	}
	if (!is_digit(r))
		fail(r, "expected a digit in a number");
	for (; is_digit(r); r->p++)
		fits = fits && !__builtin_mul_overflow(*n, 10, n) &&
		       !__builtin_add_overflow(*n, (uint64_t)(*r->p - '0'), n);
	return fits;
}

static void read_number(struct json_reader *r, struct json *v)
{
	bool minus = take_char(r, '-'), whole = read_digits(r, &v->number);

	if (minus && v->number > UINT64_C(1) << 63)
		whole = false;
	if (take_char(r, '.')) {
		skip_digits(r);
		whole = false;
	}
	if (take_char(r, 'e') || take_char(r, 'E')) {
		if (!take_char(r, '+'))
			take_char(r, '-');
		skip_digits(r);
		whole = false;
	}
	v->kind = whole ? JSON_INTEGER : JSON_NUMBER;
	v->minus = whole && minus && v->number;
	if (v->minus)
		v->number = 0 - v->number;
}

/* ---- strings ---- */

static uint32_t read_hex(struct json_reader *r)
{
	uint32_t n = 0;

	for (int i = 0; i < 4; i++, r->p++) {
		char c = r->p < r->end ? *r->p : 0;

		if (c >= '0' && c <= '9')
			n = 16 * n + (uint32_t)(c - '0');
		else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
			n = 16 * n + (uint32_t)((c | 0x20) - 'a') + 10;
		else
			return fail(r, "expected four hexadecimal digits after \\u"), 0;
	}
	return n;
}

/* The code point after `\u`: one of two halves is no character. */
static uint32_t read_code_point(struct json_reader *r)
{
	uint32_t c = read_hex(r), low;

	if (c >= 0xd800 && c < 0xdc00 && take_word(r, "\\u")) {
		low = read_hex(r);
		if (low >= 0xdc00 && low < 0xe000)
			return 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff);
	}
	if (c >= 0xd800 && c < 0xe000)
		fail(r, "a string has a half of a surrogate pair");
	else if (!c)
		fail(r, "a string has the character U+0000");
	return c;
}

static char *put_code_point(char *o, uint32_t c)
{
	int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const unsigned char first[] = { 0, 0xc0, 0xe0, 0xf0 };

	*o++ = (char)(first[more] | c >> 6 * more);
	while (more--)
		*o++ = (char)(0x80 | (c >> 6 * more & 0x3f));
	return o;
}

static char *read_escape(struct json_reader *r, char *o)
{
	static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *letter;

	if (take_char(r, 'u'))
		return put_code_point(o, read_code_point(r));
	letter = r->p < r->end && *r->p ? strchr(letters, *r->p) : NULL;
	if (!letter) {
		fail(r, "a string has an escape that JSON does not have");
		return o;
	}
	r->p++;
	*o++ = values[letter - letters];
	return o;
}

/* One character that is no escape; 0: it is not valid. */
static size_t character(const struct json_reader *r)
{
	const unsigned char *p = (const unsigned char *)r->p;
	size_t n = (size_t)(r->end - r->p);

	if (*p < 0x20)
		return 0;
	/* md_utf8_char does not accept C1, which JSON does. */
	if (n > 1 && p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
		return 2;
	return md_utf8_char(p, n);
}

/* How many bytes the string needs at most: those up to its quote. */
static size_t most_bytes(const struct json_reader *r)
{
	const char *p = r->p;

	while (p < r->end && *p != '"')
		p += *p == '\\' && p + 1 < r->end ? 2 : 1;
	return (size_t)(p - r->p);
}

/* After its first quote. */
static const char *read_string(struct json_reader *r)
{
	char *text = take(r, most_bytes(r) + 1), *o = text;

	while (!r->why && !take_char(r, '"')) {
		size_t n;

		if (r->p >= r->end)
			return fail(r, "expected a quote at the end of a string");
		if (take_char(r, '\\')) {
			o = read_escape(r, o);
			continue;
		}
		n = character(r);
		if (!n)
			return fail(r, "a string has a control character, or is not UTF-8");
		memcpy(o, r->p, n);
		o += n;
		r->p += n;
	}
	if (r->why)
		return NULL;
	*o = 0;
	return text;
}

/* ---- values ---- */

static int compare_names(const void *a, const void *b)
{
	const struct json *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Sorted instead of compared pairwise: an object may have millions of members. */
static void check_names(struct json_reader *r, const struct json *object)
{
	const struct json **list, *m;
	uint32_t n = 0;

	if (r->why || object->count < 2)
		return;
	list = malloc(object->count * sizeof(const struct json *));
	if (!list) {
		fail(r, "out of memory");
		return;
	}
	for (m = object->first; m; m = m->next)
		list[n++] = m;
	qsort(list, n, sizeof(*list), compare_names);
	for (uint32_t i = 1; i < n; i++)
		if (!strcmp(list[i - 1]->name, list[i]->name))
			fail(r, "an object has two members of one name");
	free(list);
}

static struct json *read_value(struct json_reader *r, const char *name);

static const char *read_name(struct json_reader *r)
{
	const char *name = NULL;

	if (take_char(r, '"'))
		name = read_string(r);
	else
		fail(r, "expected the name of a member in quotes");
	skip_blanks(r);
	if (!r->why && !take_char(r, ':'))
		fail(r, "expected ':' after the name of a member");
	return name;
}

/* After `[` or `{` */
static void read_values(struct json_reader *r, struct json *in)
{
	const struct json **last = &in->first;
	bool object = in->kind == JSON_OBJECT;
	char close = object ? '}' : ']';

	if (r->depth++ == JSON_DEPTH_MAX) {
		fail(r, "values are nested more than 128 times");
		return;
	}
	skip_blanks(r);
	while (!r->why && !take_char(r, close)) {
		const char *name;
		struct json *v;

		if (in->count && !take_char(r, ','))
			fail(r, object ? "expected ',' or '}' after a member of an object"
				       : "expected ',' or ']' after a value of an array");
		skip_blanks(r);
		name = object && !r->why ? read_name(r) : NULL;
		v = r->why ? NULL : read_value(r, name);
		if (!v)
			return;
		*last = v;
		last = &v->next;
		in->count++;
		skip_blanks(r);
	}
	r->depth--;
	if (object)
		check_names(r, in);
}

static struct json *read_value(struct json_reader *r, const char *name)
{
	struct json *v = take(r, sizeof(*v));

	if (!v)
		return NULL;
	skip_blanks(r);
	*v = (struct json){ .line = r->line, .name = name };
	if (take_char(r, '"')) {
		v->kind = JSON_STRING;
		v->text = read_string(r);
	} else if (take_char(r, '{')) {
		v->kind = JSON_OBJECT;
		read_values(r, v);
	} else if (take_char(r, '[')) {
		v->kind = JSON_ARRAY;
		read_values(r, v);
	} else if (is_digit(r) || (r->p < r->end && *r->p == '-')) {
		read_number(r, v);
	} else if (take_word(r, "true")) {
		v->kind = JSON_TRUE;
	} else if (take_word(r, "false")) {
		v->kind = JSON_FALSE;
	} else if (!take_word(r, "null")) {
		fail(r, "expected a JSON value");
	}
	return r->why ? NULL : v;
}

const struct json *json_read(struct json_reader *r, const char *text, size_t n)
{
	const struct json *v;

	json_free(r);
	r->p = text;
	r->end = text + n;
	r->depth = 0;
	r->why = NULL;
	v = read_value(r, NULL);
	if (v)
		skip_blanks(r);
	if (v && r->p < r->end)
		return fail(r, "expected the end of the JSON text after its value");
	return v;
}

const struct json *json_member(const struct json *object, const char *name)
{
	const struct json *m = object->kind == JSON_OBJECT ? object->first : NULL;

	while (m && strcmp(m->name, name) != 0)
		m = m->next;
	return m;
}
