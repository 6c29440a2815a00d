/* SPDX-License-Identifier: MIT */
/*
 * Reaches single fields of events. A path is compiled once for an event class: to a constant place
 * where only fields of fixed size are before the field, else to hops over fields of other sizes.
 *
 * A path is `field`, `field.member`, `field[3].member`, `$ctx.NAME` or `$app.PROVIDER:NAME`; names
 * are those that readers see (name.h), or the program's own.
 *
 * The bytes of an event may be hostile, and may change at any time: nothing outside the event is
 * read.
 */
#ifndef METADATA_ACCESS_H
#define METADATA_ACCESS_H

#include "metadata/decode.h"
#include "metadata/number.h"
#include "metadata/value.h"

#define MD_HOPS_MAX 8u

struct md_hop {                 /* over what has no fixed size */
	const struct md_field *fields;  /* over `skip` of these; NULL: over elements */
	const struct md_type *array;    /* an array or a sequence, over `skip` elements */
	uint32_t skip;
	uint32_t after;         /* bytes of fixed size after them */
};

/* Belongs to one event class, or to the contexts of one stream class; valid as long as these. */
struct md_route {
	const struct md_type *type;     /* of the field; NULL: the class does not have it */
	bool context;           /* among the contexts, not the event's own fields */
	bool quick;             /* an integer of 4 bytes at a constant place */
	uint8_t count;          /* of hops; 0: the place is constant */
	uint32_t at;            /* bytes before the first hop, or before the field */
	struct md_hop hops[MD_HOPS_MAX];
};

/* False: the class has no such field, and the route leads to none. */
bool md_route_find(const struct md_stream *s, const struct md_event *e, const char *path,
		   struct md_route *r);
/* To a context, or to a field of the event, by its index; -1: to none. */
bool md_route_context(const struct md_stream *s, int index, struct md_route *r);
bool md_route_field(const struct md_event *e, int index, struct md_route *r);

/* False: the event does not have it. The value is valid as long as the bytes. */
bool md_access_value(const struct md_route *r, const struct md_occurrence *o, struct md_value *v);
/* False: the event does not have it, or it is neither an integer nor an enumeration. */
bool md_access_integer_slow(const struct md_route *r, const struct md_occurrence *o, uint64_t *n);

static inline bool md_access_integer(const struct md_route *r, const struct md_occurrence *o,
				     uint64_t *n)
{
	const uint8_t *p = r->context ? o->context : o->payload;
	const uint8_t *end = r->context ? o->payload : o->end;

	if (!r->quick || (size_t)(end - p) < r->at + UINT64_C(4))
		return md_access_integer_slow(r, o, n);
	*n = md_load32(p + r->at);
	if (r->type->is_signed)
		*n = (uint64_t)(int64_t)(int32_t)*n;
	return true;
}

/*
 * Which contexts say whose event it is: the index of each; -1: no context does. The kernel's
 * numbers come before those of a PID namespace.
 */
struct md_process {
	int pid;                /* pid, else vpid */
	int tid;                /* tid, else vtid */
	int ppid;               /* ppid, else vppid */
	int name;               /* procname: text */
	int any;                /* pid, or, as some traces have no other number, tid */
};

struct md_process md_access_process(const struct md_stream *s);

#endif
