/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The binary form of event classes, for event logs (tracer/session/event_log.h) and for what one
 * process tells another (tracer/format/foreign/). Numbers are little endian. A type is its scalar
 * members, and then the members of its kind.
 *
 * The form of logs must never change. The whole form has members that only imported traces use, and
 * longer strings; both its ends are one executable.
 *
 * The reader trusts nothing: the bytes may be of another version, of a broken disk, or of a process
 * that a hostile trace has taken over. What it returns is not checked any further than its form;
 * md_stream_add and md_stream_set_context check types.
 */
#ifndef TRACER_BASE_PACK_H
#define TRACER_BASE_PACK_H

#include "metadata/buf.h"
#include "metadata/model.h"

/* A shortage of memory sets b->failed in all of these. */
void md_pack_number(struct md_buf *b, uint64_t n, int bytes);
/* NULL is allowed. Cut to 65,534 bytes, unless it is of the whole form. */
void md_pack_string(struct md_buf *b, const char *s, bool whole);
/* Id, level, name, EMF URI and fields. */
void md_pack_event(struct md_buf *b, const struct md_event *e, bool whole);
/* A trace with its environment, stream classes and events, in the whole form. */
void md_pack_trace(struct md_buf *b, const struct md_trace *t);

struct md_unpack {
	const uint8_t *p, *end;
	bool whole;
	bool bad;               /* sticky: all later reads return 0 */
	bool no_memory;
	size_t room;            /* bytes that may be allocated; more are bad */
};

uint64_t md_unpack_number(struct md_unpack *in, int bytes);
/* From malloc(). NULL: there is none, or in->bad, or in->no_memory. */
char *md_unpack_string(struct md_unpack *in);
/* NULL: in->bad, or no memory. */
struct md_event *md_unpack_event(struct md_unpack *in);
struct md_trace *md_unpack_trace(struct md_unpack *in);

#endif
