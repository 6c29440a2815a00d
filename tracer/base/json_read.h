/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a JSON text (RFC 8259) as a tree. The text is hostile: its depth and the memory of the tree
 * are limited, strings must be UTF-8 without U+0000, and an object may have a name once only.
 * Numbers are integers of 64 bits; of any other number only its form is checked.
 */
#ifndef TRACER_BASE_JSON_READ_H
#define TRACER_BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 128u
#define JSON_MEMORY_MAX (UINT64_C(256) << 20)   /* bytes of one tree */

enum json_kind {
	JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_STRING, JSON_ARRAY, JSON_OBJECT,
	JSON_INTEGER,           /* from -2^63 to 2^64 - 1 */
	JSON_NUMBER             /* any other */
};

struct json {
	uint8_t kind;           /* enum json_kind */
	bool minus;             /* JSON_INTEGER: it is negative; `number` is its two's complement */
	uint32_t line;          /* that it begins in */
	uint32_t count;         /* JSON_ARRAY, JSON_OBJECT: values in it */
	uint64_t number;        /* JSON_INTEGER */
	const char *text;       /* JSON_STRING: NUL-terminated UTF-8 */
	const char *name;       /* of a member of an object; else NULL */
	const struct json *first;       /* JSON_ARRAY, JSON_OBJECT: the first value in it; NULL */
	const struct json *next;        /* the value after this one; NULL */
};

struct json_reader {
	struct json_memory *memory;
	uint64_t used;          /* bytes of memory */
	const char *p, *end;
	uint32_t line;          /* the current one; the caller sets the line of the first byte */
	unsigned int depth;
	const char *why;        /* what is wrong with the text, in line `line`; NULL: nothing */
};

/*
 * Reads the only value of a text of n bytes, with blanks around it. The tree lives until json_free,
 * and does not refer to the text. NULL: r->why says why; one reader reads one text at a time.
 */
const struct json *json_read(struct json_reader *r, const char *text, size_t n);
void json_free(struct json_reader *r);
/* The member of an object with this name; NULL: there is none, or it is no object. */
const struct json *json_member(const struct json *object, const char *name);

#endif
