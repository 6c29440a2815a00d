/* SPDX-License-Identifier: MIT */
/*
 * The fields of one event as single values, for readers that do not print the event as a whole.
 * They are shown as in json.h; text is without escapes.
 */
#ifndef METADATA_VALUE_H
#define METADATA_VALUE_H

#include "metadata/buf.h"
#include "metadata/model.h"

struct md_value {
	const struct md_type *type;     /* of the field; of a variant that of its option */
	/* its bytes, without a tag, with the length of a sequence; NULL: it has no value */
	const uint8_t *p, *end;
};

/*
 * Cuts the bytes of fields (the contexts or the payload of an occurrence of md_decoder_next) into
 * `count` values. False: the bytes have changed since, and values are not complete.
 */
bool md_values_cut(const struct md_field *fields, uint32_t count, const uint8_t *p,
		   const uint8_t *end, struct md_value *values);

/* Whether it is an integer or an enumeration; then *n is its value with its sign extended. */
bool md_value_integer(const struct md_value *v, uint64_t *n);
/* Whether it is text; then its bytes up to a NUL, which may be no valid UTF-8. */
bool md_value_string(const struct md_value *v, const char **s, size_t *n);
/*
 * Whether it is an array or a sequence of integers of at most 8 bytes; then *n is their number, and
 * md_value_element one of them (i < *n).
 */
bool md_value_integers(const struct md_value *v, uint64_t *n);
uint64_t md_value_element(const struct md_value *v, uint64_t i);

enum md_shown {
	MD_SHOWN_NONE,          /* nothing: a context of an application without a value */
	MD_SHOWN_NUMBER,
	MD_SHOWN_TEXT,          /* a string, the labels of an enumeration, NaN, Infinity */
	MD_SHOWN_JSON,          /* an array or a structure */
};

/*
 * Appends the value. An enumeration is its labels, or a number if it has none. Bytes of text that
 * are not UTF-8 are U+FFFD.
 */
enum md_shown md_value_show(const struct md_value *v, struct md_buf *out);
/* Appends bytes as text up to a NUL in the same way. */
void md_value_put_text(const char *s, size_t n, struct md_buf *out);
/* Appends the value as JSON, as a line of json.h has it. */
void md_value_json(const struct md_value *v, struct md_buf *out);

#endif
