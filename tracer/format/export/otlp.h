/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events in the file format of OpenTelemetry's protocol (OTLP/JSON, lines of TracesData and
 * LogsData): slices are spans, whose parent is the slice around them on their track; other events
 * are log records. Each line has the resources of its records: the environment of their trace and
 * their service.
 *
 * Ids: a field, or else a context, `otel.trace_id`, `otel.span_id`, `otel.service` or
 * `otel.resource` (also with `_` in place of the point, and `$app.otel:trace_id`). A field of the
 * begin is the id of the span itself; a context is the id of the span that the program is in, which
 * becomes the parent. Without them, ids are made of the trace's UUID, the track and the time: the
 * same events have the same ids in each file.
 *
 *	otlp.c          spans and log records; export/otlp.jsonl
 *	otlp_pipe.c     pipe.otlp
 *	otlp_resource.c resources and lines
 *	otlp_text.c     ids, attributes
 *
 * Private to the room. No lock: all belongs to one open.
 */
#ifndef TRACER_EXPORT_OTLP_H
#define TRACER_EXPORT_OTLP_H

#include "tracer/format/export/export.h"
#include "tracer/format/picture/track.h"

struct otlp;

/* NULL: no memory. m: its session, err and out, which gets whole lines. */
struct otlp *otlp_create(struct maker *m);
/* The next event, in the order of time; what is lost before it. */
void otlp_add(void *otlp, const struct row *r);
void otlp_lose(void *otlp, const struct lost *l);
/* Appends the lines of what was added and is complete to m->out. */
void otlp_flush(struct otlp *v);
/* No event follows: the spans that are open have no end. Appends them, and frees all. */
void otlp_end(struct otlp *v);
void otlp_destroy(struct otlp *v);              /* without these spans; NULL is allowed */

/* ---- otlp_text.c: resources and lines ---- */

enum otlp_kind { OTLP_SPANS, OTLP_LOGS, OTLP_KINDS };

struct otlp_resource {
	struct trace *trace;            /* referenced */
	char *service, *attributes;     /* "": not known; owned */
	struct md_buf json;             /* its attributes */
	struct md_buf keys;             /* the attributes' keys, with escapes, each with a NUL */
	struct md_buf records[OTLP_KINDS];      /* that are no lines yet */
};

struct otlp_lines {             /* all zero but m at first */
	struct maker *m;        /* gets the lines in `out` */
	struct otlp_resource **all;     /* owned */
	uint32_t count;
	struct otlp_resource *last;     /* that was asked for */
	size_t bytes;           /* of the records that are no lines yet */
};

/*
 * A new one if there is none. attributes: KEY=VALUE,… with %XX for what is no character of W3C
 * Baggage. NULL: m->err.
 */
struct otlp_resource *otlp_resource_find(struct otlp_lines *v, struct trace *t,
					 const char *service, const char *attributes);
/* A record up to its attributes, which the caller appends before otlp_record_end. */
struct md_buf *otlp_record_begin(struct otlp_lines *v, struct otlp_resource *r,
				 enum otlp_kind kind);
void otlp_record_end(struct otlp_lines *v, struct md_buf *out);
void otlp_lines_flush(struct otlp_lines *v);
void otlp_lines_deinit(struct otlp_lines *v);

/* ---- ids ---- */

struct otlp_ids {               /* all zero: absent */
	uint8_t trace[16], span[8];
};

enum { OTLP_TRACE_ID, OTLP_SPAN_ID, OTLP_SERVICE, OTLP_RESOURCE, OTLP_SPECIALS };

/* The values with a meaning of their own among names of fields or contexts; -1: there is none. */
struct otlp_specials {
	int at[OTLP_SPECIALS];
};

void otlp_find_specials(const struct text *names, uint32_t count, struct otlp_specials *out);
bool otlp_is_special(const struct otlp_specials *s, uint32_t i);
/* The ids among the values, as far as they are valid: text of hexadecimal digits, bytes, or a
 * number. */
void otlp_read_ids(const struct otlp_specials *s, const struct md_value *values,
		   struct otlp_ids *out);
bool otlp_id_is_set(const uint8_t *id, size_t n);
void otlp_put_id(const uint8_t *id, size_t n, struct md_buf *out);
/* Sets an id of n bytes made of the numbers; it is not zero. */
void otlp_make_id(uint8_t *id, size_t n, const uint64_t *numbers, size_t count);

/* ---- attributes, after a comma if `out` has one before ---- */

/* An attribute of a value; the key is PREFIX NAME. Values that are absent have none. */
void otlp_put_value(struct md_buf *out, const char *prefix, struct text name,
		    const struct md_value *value);
/* Appends an attribute: characters, or a number. */
void otlp_put_string(struct md_buf *out, const char *key, const char *s, size_t n);
void otlp_put_number(struct md_buf *out, const char *key, int64_t number);

#endif
