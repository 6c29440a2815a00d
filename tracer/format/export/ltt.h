/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * export/ltt/: what the session holds as a trace directory of LTT 0.7. Private to the room, but for
 * ltt_export_open, whose files (files.h) snapshot/ shows as those of a trace image.
 *
 * Blocks of one size, packed (alignment 0), the byte order of this machine, heartbeats. A cycle is
 * one nanosecond, counted from the epoch. Attributes of definitions that begin with `trail_` say
 * what LTT cannot: docs/trailfs-views.4.
 */
#ifndef TRACER_EXPORT_LTT_H
#define TRACER_EXPORT_LTT_H

#include <sys/types.h>

#include "metadata/model.h"
#include "tracer/format/export/export.h"
#include "tracer/format/export/files.h"

/* ---- ltt.c ---- */

/* Makes all files. 0, -ENOMEM, -EDQUOT or, with more event classes than LTT has ids, -EOVERFLOW. */
int ltt_export_open(struct session *s, struct export_files **out);

/* ---- ltt_ids.c: facilities and the ids of events ---- */

#define LTT_IDS 256u            /* of facilities; of events in one */

/* Events of one provider, or of the kernel, with the same contexts. */
struct ltt_facility_text {
	char *name;             /* owned */
	char *prefix, *context; /* the names of its events begin so; XML of the contexts; owned */
	struct md_buf events;   /* XML */
	size_t begin[LTT_IDS + 1];      /* of each event, and the end, in `events` */
	uint32_t count;
	uint32_t checksum;      /* of the definition; set by ltt_facility_print */
};

/* The ids of events with these two classes. */
struct ltt_shape {
	const struct md_stream *stream;
	const struct md_event *class;
	uint8_t facility, event;
	bool converted;         /* the bytes are not those of the session */
};

struct ltt_ids {
	struct ltt_facility_text *list[LTT_IDS];     /* from 1 on */
	uint32_t count;         /* the first id that is not used */
	struct ltt_shape **shapes;      /* owned, elements too */
	struct hash_table table;        /* of `shapes`, by classes */
	const struct ltt_shape *last;
	struct md_buf context, text, name;      /* scratch */
};

/* The ids of the row's event, new ones if need be. NULL: *err says why. */
const struct ltt_shape *ltt_ids_of(struct ltt_ids *ids, const struct row *r, int *err);
/* Appends the definition and sets the checksum. */
void ltt_facility_print(struct ltt_facility_text *f, struct md_buf *out);
void ltt_ids_deinit(struct ltt_ids *ids);

/* ---- ltt_xml.c ---- */

extern const char ltt_core[];   /* the definition of facility 0 */

/* Appends ` name="value"`. */
void ltt_put_attribute(const char *name, const char *value, struct md_buf *out);
/* Appends the definition of a field. Contexts are marked. */
void ltt_put_field(const struct md_field *f, bool context, struct md_buf *out);
/* Whether the field is a sequence of bytes in LTT, because it has a variant. */
bool ltt_is_bytes(const struct md_type *t);
/* The place after the value at p. The bytes were decoded before: NULL never happens there. */
const uint8_t *ltt_skip(const struct md_type *t, const uint8_t *p, const uint8_t *end);

#endif
