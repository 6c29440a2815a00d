/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/format/ctf2/: the metadata of CTF 2, a sequence of JSON objects (CTF2-SPEC-2.0), as the
 * tree of types that the text of CTF 1.8 becomes (../tsdl/tsdl.h). What reads packets has one
 * form of both.
 *
 *   ctf2.h      (this file)
 *   fragment.c  the sequence and its fragments: traces, clocks, streams, events, aliases
 *   class.c     field classes: structures, arrays, optional fields, variants
 *   scalar.c    field classes of one value
 *   property.c  the properties of JSON objects, ranges, locations of fields
 *
 * The text is hostile. What the specification does not have is refused, extensions too, each with
 * the line and the section of the rule.
 *
 * Locks: none here.
 */
#ifndef TRACER_FORMAT_CTF2_CTF2_H
#define TRACER_FORMAT_CTF2_CTF2_H

#include "tracer/base/json_read.h"
#include "tracer/format/tsdl/tsdl.h"

#define CTF2_MARK '\x1e'        /* precedes each fragment: RFC 7464 */
#define CTF2_LENGTH_MAX (1u << 24)      /* elements or bytes of a static length */

/* As tsdl_parse, for a text that begins with CTF2_MARK. */
int ctf2_parse(struct tsdl *t, const char *text, size_t n, const char *file, struct tr_err *err);

/* ---- for the files of the parser; all do nothing after p->failed is set ---- */

#define CTF2_FAIL(p, at, ...) ((p)->line = (int)(at)->line, tsdl_fail(p, __VA_ARGS__))

/*
 * Fails unless v is an object whose properties all are in `known`, names with a space after each;
 * `type`, `attributes` and `extensions` are always known, and the last one must be empty.
 */
void ctf2_object(struct tsdl_parser *p, const struct json *v, const char *known);
/* The property of this kind; NULL: the object has none, which fails if it is required. */
const struct json *ctf2_get(struct tsdl_parser *p, const struct json *v, const char *name,
			    enum json_kind kind, bool required);
/* A string as it is in the tree. NULL as in ctf2_get. */
const char *ctf2_string(struct tsdl_parser *p, const struct json *v, const char *name,
			bool required);
/* An integer of at least 0; required with CTF2_REQUIRED, else this is its default. */
#define CTF2_REQUIRED UINT64_MAX
uint64_t ctf2_number(struct tsdl_parser *p, const struct json *v, const char *name,
		     uint64_t otherwise);
/* A power of two; 1 if there is none. */
uint32_t ctf2_alignment(struct tsdl_parser *p, const struct json *v, const char *name);
/* Which one of some words, with a NULL after them; `otherwise` (-1: it is required). */
int ctf2_word(struct tsdl_parser *p, const struct json *v, const char *name,
	      const char *const *words, int otherwise);
/* A set of ranges of integers; it has one at least. */
struct tsdl_ranges ctf2_ranges(struct tsdl_parser *p, const struct json *v);
/* The property that says where a length or a selector is. */
const struct tsdl_location *ctf2_location(struct tsdl_parser *p, const struct json *v,
					  const char *name);
/* Fails if two of these names are equal. NULL is no name. */
void ctf2_unique(struct tsdl_parser *p, const struct json *at, const struct tsdl_member *members,
		 uint32_t count);

/* The field class of a property. NULL: failed. */
const struct tsdl_type *ctf2_class(struct tsdl_parser *p, const struct json *v,
				   const char *name);
/* A field class of one value, by its `type`. False: it is none. */
bool ctf2_scalar(struct tsdl_parser *p, const struct json *v, const char *type,
		 struct tsdl_type *t);

#endif
