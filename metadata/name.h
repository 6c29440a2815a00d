/* SPDX-License-Identifier: MIT */
/*
 * Names as readers see them. Whoever prints a field or event name, as metadata or as text, takes it from here, so that
 * the two can never differ. tracer/ uses it where it checks what applications say.
 */
#ifndef METADATA_NAME_H
#define METADATA_NAME_H

#include "metadata/buf.h"
#include "metadata/model.h"

/* Length of the valid UTF-8 character at p (n bytes, n > 0), or 0 if there is none. */
size_t md_utf8_char(const unsigned char *p, size_t n);

/*
 * Appends the field's name without CTF's leading underscore: [A-Za-z0-9_]+, every other byte became '_'; never empty,
 * and never one that is a TSDL keyword once the underscore stands before it (_Bool).
 */
void md_name_field(const char *name, struct md_buf *out);
/* The same for a name that gets no underscore before it (env): it does not begin with a digit either. */
void md_name_plain(const char *name, struct md_buf *out);

/* Appends an event name in one line: control bytes and what is not UTF-8 became '_'. */
void md_name_event(const char *name, struct md_buf *out);

/*
 * Returns 0, or -EINVAL if two members of one structure come to the same name, hidden lengths of sequences and tags of
 * variants included (a CTF reader refuses the whole trace then), or -ENOMEM. Does not look into nested structures.
 */
int md_name_check(const struct md_field *fields, uint32_t count);

#endif
