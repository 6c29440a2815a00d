/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader of JSON: each kind of value, what is no JSON, and every text with a byte changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/test.h"
#include "tracer/base/json_read.h"

/* A copy in memory of exactly its size: a sanitizer sees each read beyond it. */
static const struct json *read_copy(struct json_reader *r, const char *text, size_t n, char **copy)
{
	*copy = malloc(n + !n);
	memcpy(*copy, text, n);
	r->line = 1;
	return json_read(r, *copy, n);
}

static bool is_json(const char *text)
{
	struct json_reader r = { .line = 1 };
	char *copy;
	bool is = read_copy(&r, text, strlen(text), &copy) != NULL;

	CHECK(is == !r.why);
	json_free(&r);
	free(copy);
	return is;
}

static void values(void)
{
	static const char text[] =
		" {\"a\": [1, -2, 18446744073709551615, -9223372036854775808, 1.5e-3,\n"
		"18446744073709551616, -0], \"\": {}, \"s\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t"
		"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\xc2\x85\", \"t\": true, \"f\": false,"
		"\"n\": null, \"e\": []} \n";
	struct json_reader r = { .line = 7 };
	const struct json *v = json_read(&r, text, sizeof(text) - 1), *a, *m;

	CHECK(v && v->kind == JSON_OBJECT && v->count == 7 && v->line == 7 && !v->name);
	a = json_member(v, "a");
	CHECK(a && a->kind == JSON_ARRAY && a->count == 7);
	m = a->first;
	CHECK(m->kind == JSON_INTEGER && !m->minus && m->number == 1);
	m = m->next;
	CHECK(m->kind == JSON_INTEGER && m->minus && (int64_t)m->number == -2);
	m = m->next;
	CHECK(m->kind == JSON_INTEGER && !m->minus && m->number == UINT64_MAX);
	m = m->next;
	CHECK(m->kind == JSON_INTEGER && m->minus && (int64_t)m->number == INT64_MIN);
	m = m->next;
	CHECK(m->kind == JSON_NUMBER);
	m = m->next;
	CHECK(m->kind == JSON_NUMBER && m->line == 8);
	m = m->next;
	CHECK(m->kind == JSON_INTEGER && !m->minus && !m->number && !m->next);
	CHECK(json_member(v, "")->kind == JSON_OBJECT && !json_member(v, "")->first);
	CHECK(!strcmp(json_member(v, "s")->text,
		      "\"\\/\b\f\n\r\tA\u00e9\u20ac\U0001f600\xc2\x85"));
	CHECK(json_member(v, "t")->kind == JSON_TRUE && json_member(v, "f")->kind == JSON_FALSE);
	CHECK(json_member(v, "n")->kind == JSON_NULL && json_member(v, "e")->kind == JSON_ARRAY);
	CHECK(!json_member(v, "x") && !json_member(a, "x") && r.line == 9);
	json_free(&r);
}

static void refused(void)
{
	static const char *const texts[] = {
		"", " ", "{", "}", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{\"a\"}",
		"{\"a\":}", "{\"a\" 1}", "{a:1}", "{\"a\":1,}", "{\"a\":1 \"b\":2}",
		"{\"a\":1,\"b\":2,\"a\":3}", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "--1",
		"tru", "nul", "True", "NaN", "\"", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u0000\"",
		"\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\x01\"", "\"\n\"",
		"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xc3\"", "1 2", "{} []", "'a'",
		"/**/1",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		CHECK(!is_json(texts[i]));
	CHECK(is_json("1") && is_json("\"\"") && is_json("-0.0E-7") && is_json("[[]]"));
}

static void deep(void)
{
	char text[600];

	for (unsigned int n = JSON_DEPTH_MAX; n < JSON_DEPTH_MAX + 2; n++) {
		memset(text, '[', n);
		memset(text + n, ']', n);
		text[2 * n] = 0;
		CHECK(is_json(text) == (n == JSON_DEPTH_MAX));
	}
}

/* A text of many values needs more memory than a tree may have. */
static void large(void)
{
	size_t n = JSON_MEMORY_MAX / 16;
	char *text = malloc(n), *copy;
	struct json_reader r = { .line = 1 };

	CHECK(text);
	memset(text, ',', n);
	for (size_t i = 1; i < n; i += 2)
		text[i] = '0';
	text[0] = '[';
	text[n - 1] = ']';
	CHECK(!read_copy(&r, text, n, &copy));
	CHECK(!strcmp(r.why, "the JSON text has too many values"));
	json_free(&r);
	free(text);
	free(copy);
}

/* Each byte of a text is another one, or is the last one. */
static void changed(void)
{
	static const char text[] = "{\"a\": [1, -2.5e3, {\"b\\u00e9\": \"\\ud83d\\ude00\"}], "
				   "\"c\": true, \"d\": null}";
	static const char others[] = "{}[],:\"\\u0-e.9 \n\x80";

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		for (size_t j = 0; j < sizeof(others); j++) {
			char other[sizeof(text)];

			memcpy(other, text, sizeof(text));
			other[i] = others[j];
			is_json(other);
		}
}

int main(void)
{
	CASE(values);
	CASE(refused);
	CASE(deep);
	CASE(large);
	CASE(changed);
	return test_summary();
}
