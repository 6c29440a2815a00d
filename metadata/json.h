/* SPDX-License-Identifier: MIT */
/*
 * Events as JSON, one object per line (RFC 8259):
 *
 *   {"time":1795172223238349640,"host":"vm","cpu":0,"event":"my_app:request",
 *    "context":{"vpid":12},"fields":{"id":1,"path":"/"}}
 *
 * time: ns since the epoch. host, cpu: only if known. context: only if the stream class has
 * contexts. Integers are decimal numbers of any size up to 64 bits. A float is a number that reads
 * back as the same float, or "NaN", "Infinity", "-Infinity". An enumeration is
 * {"value":2,"label":"B"}: several labels of one value are one string, with commas; null: it has no
 * label. Named bits are as an enumeration. A BLOB is a string in base64. Arrays and sequences are
 * arrays, or strings if they are text. The value of a context of an application is the value
 * itself; null: none. Strings: bytes that are not UTF-8 are U+FFFD, each
 * one; control characters (C0, DEL, C1) are escapes.
 */
#ifndef METADATA_JSON_H
#define METADATA_JSON_H

#include "metadata/buf.h"
#include "metadata/decode.h"
#include "metadata/model.h"

/*
 * Appends one line with its newline. The occurrence must come from md_decoder_next, and its bytes
 * must not change meanwhile. host: "" for none; it is escaped. If memory is short, out has failed
 * and no part of the line. Any number of threads.
 */
void md_json_event(uint64_t clock_offset, const char *host, const struct md_occurrence *o,
		   const struct md_stream *stream, uint32_t cpu, struct md_buf *out);

/* Offsets in the buffer of the objects of contexts (empty: there are none) and fields. */
struct md_json_parts {
	size_t context, context_end, fields, fields_end;
};

/*
 * Appends the part of a line that has the contexts and the fields. False: the bytes have changed,
 * or there is no memory, and out has failed; out has no part of the line.
 */
bool md_json_parts(const struct md_occurrence *o, const struct md_stream *stream,
		   struct md_buf *out, struct md_json_parts *parts);

/* Writes a finite number as lines have it, or "NaN" and others. Needs room for 40 characters. */
char *md_json_put_double(char *o, double d, bool is_float);
/* The double that these digits of a float mean: 0.1 for 0.1f, not 0.10000000149011612. */
double md_json_widen(float f);

/* Writes bytes as base64 (RFC 4648): 4 characters for each 3 bytes, or fewer bytes at the end. */
char *md_json_put_base64(char *o, const uint8_t *p, size_t n);

/* Appends the string's characters, escaped, without quotes. */
void md_json_escape_put(const char *s, size_t n, struct md_buf *out);

#endif
