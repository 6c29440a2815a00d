/* SPDX-License-Identifier: MIT */
/*
 * Names in the form that readers see. Metadata and text both use these functions for names of
 * fields and events, so that they agree. tracer/ uses them to check the names of applications.
 */
#ifndef METADATA_NAME_H
#define METADATA_NAME_H

#include "metadata/buf.h"
#include "metadata/model.h"

/* Length of the valid UTF-8 character at p (n bytes, n > 0); 0: not valid. */
size_t md_utf8_char(const unsigned char *p, size_t n);

/*
 * Appends the field's name without CTF's leading underscore: [A-Za-z0-9_]+, with '_' for each other
 * byte; not empty, and not a TSDL keyword when an underscore precedes it (_Bool).
 */
void md_name_field(const char *name, struct md_buf *out);
/* Appends the field's name; an exact name in one line, as md_name_event has it. */
void md_name_put(const struct md_field *f, struct md_buf *out);
/* The same without the bytes that text omits. */
void md_name_put_text(const struct md_field *f, struct md_buf *out);
/* The same for a name without underscore (env): it does not begin with a digit either. */
void md_name_plain(const char *name, struct md_buf *out);

/* Appends an event name in one line, with '_' for control bytes and invalid UTF-8. */
void md_name_event(const char *name, struct md_buf *out);
/*
 * The same for people who read it on a terminal: with '_' also for the controls of the direction of
 * text, which would move what is beside the name. Metadata and text have these as they are, as
 * babeltrace2 prints them.
 */
void md_name_shown(const char *name, struct md_buf *out);

/*
 * Returns 0; -EINVAL if two members of one structure get the same name, hidden lengths of sequences
 * and tags of variants included (a CTF reader would reject the whole trace); or -ENOMEM. Does not
 * check nested structures.
 */
int md_name_check(const struct md_field *fields, uint32_t count);

#endif
