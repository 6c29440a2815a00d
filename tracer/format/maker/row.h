/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One event as an export needs it: its fields as values, or as JSON too. What a form knows about an
 * event class is in the row's state, which the form makes when it sees the class first.
 */
#ifndef TRACER_MAKER_ROW_H
#define TRACER_MAKER_ROW_H

#include "metadata/buf.h"
#include "metadata/loss.h"
#include "metadata/program.h"
#include "metadata/value.h"
#include "tracer/base/hash_table.h"
#include "tracer/view/cursor.h"

struct text {                   /* characters, without a NUL; p NULL: absent */
	const char *p;
	size_t n;
};

enum row_needs { ROW_CLASSES, ROW_VALUES, ROW_JSON };   /* each has what those before it have */

struct row {
	uint64_t time;          /* ns since the epoch */
	uint32_t cpu;
	const char *host;       /* "": not known */
	const struct md_event *class;
	const struct md_stream *stream; /* its class: the fields of the context */
	const struct md_occurrence *occurrence; /* as it was decoded */
	const struct cursor *cursor;    /* at the event */
	/* As many as the classes have; the bytes of a torn event have changed: it has no values. */
	const struct md_value *context, *fields;
	bool torn;
	const struct text *names;       /* as readers see them: of the contexts, then the fields */
	struct text context_json, fields_json;  /* objects; no contexts: absent */
	/* Of the form, for this pair of classes; at first NULL; freed with free(). */
	void **state;
};

/* What a stream has lost before its next event, or at the end of the file. */
struct lost {
	struct md_loss loss;    /* times in ns since the epoch; 0: not known */
	struct md_loss_stream stream;
	const struct cursor *cursor;    /* of the stream */
	uint32_t number;        /* of the stream in this file */
};

/* A loss as named values: columns of the forms that are tables. */
#define LOST_VALUES 8
struct lost_value {
	const char *name;
	const char *text;       /* NULL: it is the number */
	uint64_t number;        /* 0: not known, or does not apply */
};

void lost_values(const struct lost *l, struct lost_value values[LOST_VALUES]);
/* When the loss began, as far as it is known. */
static inline uint64_t lost_begin(const struct lost *l)
{
	return l->loss.from && l->loss.from < l->loss.to ? l->loss.from : l->loss.to;
}

/*
 * The columns of a table: one for each name of a context and of a field. All zero at first, but for
 * what the form says.
 */
struct table_column {
	char *name;             /* "context.n", "fields.n" */
	char *shown;            /* of the form, at first NULL; owned */
	uint32_t number;        /* from 0, in the order in which they are found */
	int type;               /* of the form */
};

struct columns {
	int mixed;              /* the type of a column in which fields of several types meet */
	bool bare;              /* names of fields have no "fields." */
	struct table_column **all;      /* by number; owned, elements too */
	struct hash_table table;        /* of `all`, by name */
	struct md_buf text;     /* scratch */
};

/* The column of name i of the row, which has that type; maybe a new one. NULL: no memory. */
struct table_column *columns_find(struct columns *v, const struct row *r, uint32_t i, int type);
void columns_deinit(struct columns *v);

/* What makes rows of events. All zero at first. */
struct event_rows {
	struct row_kind *kinds; /* owned */
	struct hash_table table;        /* of `kinds`, by classes */
	struct row_kind *last;  /* that was asked for; NULL: none */
	uint64_t noted;         /* by rows_note */
	struct md_value *values;        /* of the current row; owned */
	size_t room;            /* of values */
	struct md_buf json;     /* of the current row */
};

/* The row of the cursor's current event, until the next call. 0 or -ENOMEM. */
int rows_read(struct event_rows *rows, const struct cursor *c, enum row_needs needs, struct row *r);
/*
 * Notes that the cursor's current event has its classes. Events with one time count in the order of
 * the calls. stream: a number of the cursor, not 0; counts its classes. 0 or -ENOMEM.
 */
int rows_note(struct event_rows *rows, const struct cursor *c, uint32_t stream, uint32_t *count);
/*
 * Calls add() for the classes that were noted, in the order of their first events; the row has
 * class, stream, names and state. 0 or -ENOMEM.
 */
int rows_classes(struct event_rows *rows, void (*add)(void *arg, const struct row *r), void *arg);
/*
 * Makes other rows, for another thread, with the states of these, which neither changes until the
 * others end. 0 or -ENOMEM.
 */
int rows_lend(const struct event_rows *from, struct event_rows *to);
void rows_deinit(struct event_rows *rows);

/* The index of the field of this name; -1: there is none. */
int row_find(const struct md_field *fields, uint32_t count, const char *name);

/* How people read a value, where that is not how json.h has it. */
enum row_shown {
	ROW_SHOWN_PLAIN,
	ROW_SHOWN_HEX,          /* an address: an integer with base 16, or an array of such */
	ROW_SHOWN_DEVICE,       /* `dev` of the kernel: MAJOR:MINOR */
};

/* Field i of the contexts and the fields after them. */
static inline const struct md_field *row_field(const struct row *r, uint32_t i)
{
	uint32_t contexts = r->stream->context_count;

	return i < contexts ? &r->stream->context[i] : &r->class->fields[i - contexts];
}

/* A hexadecimal integer of this type: as many bits as it has; a sign is not shown. */
static inline uint64_t row_unsigned(uint64_t n, const struct md_type *t)
{
	uint8_t bits = md_shown_bits(t);

	return bits < 64 ? n & ((UINT64_C(1) << bits) - 1) : n;
}

enum row_shown row_shown(const struct md_event *class, const struct md_field *f);
/* Appends MAJOR:MINOR. */
void row_put_device(uint64_t dev, struct md_buf *out);
/* Appends the value in that form: `"0x7f12"`, `["0x1","0x2"]`, `"8:1"`; a plain one as json.h. */
void row_put_shown(const struct md_value *v, enum row_shown shown, struct md_buf *out);

/* The integer with this index; -1: there is none. */
int64_t row_number(const struct md_value *values, int i);

#endif
