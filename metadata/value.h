/* SPDX-License-Identifier: MIT */
/*
 * The fields of one event as single values, for readers that do not print the event as a whole.
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
/* Whether it is a floating point number; then *d is its value. */
bool md_value_float(const struct md_value *v, double *d);
/* The same; of a float of 32 bits the double that json.h has the digits of. */
bool md_value_shown_float(const struct md_value *v, double *d);
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
	MD_SHOWN_JSON,          /* an array, a structure, true or false */
};

/*
 * Appends the value alone, without quotes and escapes. An enumeration is its labels, or a number if
 * it has none. Bytes of text that are not UTF-8 are U+FFFD. The rest is as in json.h.
 */
enum md_shown md_value_show(const struct md_value *v, struct md_buf *out);
/* Appends bytes as text up to a NUL in the same way. */
void md_value_put_text(const char *s, size_t n, struct md_buf *out);
/* Appends the value as a line of text.h has it: in quotes, with the base of an integer. */
void md_value_text(const struct md_value *v, struct md_buf *out);
/* Appends the value as a line of json.h has it. */
void md_value_json(const struct md_value *v, struct md_buf *out);

/* What value.c needs: whether a number has a label, as an enumeration or as flags; and … */
bool md_has_label(const struct md_type *t, uint64_t v);
/* Appends the labels of v, in the order of md_sort_mappings, with a comma between two. */
void md_put_labels(const struct md_type *t, uint64_t v,
		   void (*put)(const char *s, size_t n, struct md_buf *out), struct md_buf *out);

/*
 * What access.c needs. Each returns the place after something at p; NULL: it extends beyond `end`.
 * md_elements: of the length of an array or sequence, whose number of elements it sets.
 */
const uint8_t *md_skip(const struct md_type *t, const uint8_t *p, const uint8_t *end);
const uint8_t *md_elements(const struct md_type *t, const uint8_t *p, const uint8_t *end,
			   uint64_t *n);
const uint8_t *md_skip_elements(const struct md_type *element, uint64_t n, const uint8_t *p,
				const uint8_t *end);
/* Sets *v to the value. */
const uint8_t *md_cut(const struct md_type *t, const uint8_t *p, const uint8_t *end,
		      struct md_value *v);

#endif
