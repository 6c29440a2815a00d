/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as CSV (RFC 4180, lines end with a newline alone): time, host, cpu, event, then a column
 * for each name of a context and of a field, in the order in which they first occur. The names are
 * known only when each event class has occurred, so the events are read twice; first for their
 * classes alone. With callstacks, the last column is `symbols`.
 *
 * A loss is a row with the event `lost`. Its values are in columns `lost.…`, which follow the
 * others if there are losses.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "metadata/number.h"
#include "metadata/plain.h"
#include "metadata/program.h"
#include "tracer/format/export/export.h"
#include "tracer/session/session.h"
#include "tracer/view/stack.h"

/* The cells of events with these classes, in the order of the columns: the row's state. */
struct layout {
	char *event;            /* the cell with the name; part of this allocation */
	size_t event_len;
	uint32_t count;
	struct cell {
		uint32_t column, value; /* value: index; those of the fields follow the contexts' */
		enum cell_is { CELL_OTHER, CELL_U32, CELL_S32, CELL_INTEGER, CELL_STRING } is;
	} cells[];
};

struct csv {
	struct maker *m;
	struct columns columns;
	bool lossy;             /* there are columns for losses */
	uint64_t second;        /* the time of `seconds`; 0: none */
	char seconds[24];       /* its digits before the nanoseconds */
	size_t seconds_len;
	const struct cursor *cursor;    /* of the last row */
	char host[MD_TEXT_HOSTNAME_MAX + 1];    /* of host_cell */
	struct md_buf host_cell, text;          /* text: scratch */
};

static int compare_cells(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;

	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static enum cell_is find_kind(const struct md_type *t)
{
	if (t->kind == MD_STRING)
		return CELL_STRING;
	if (!md_type_is_number(t))
		return CELL_OTHER;
	if (t->size != 4 || t->big_endian || t->bits)
		return CELL_INTEGER;
	return t->is_signed ? CELL_S32 : CELL_U32;
}

/* The cells of the contexts and fields. False: no memory. */
static bool find_cells(struct csv *v, struct layout *l, const struct row *r)
{
	uint32_t count = r->stream->context_count + r->class->field_count, n = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct table_column *c = columns_find(&v->columns, r, i, 0);

		if (!c)
			return false;
		l->cells[i] = (struct cell){ c->number, i, find_kind(&row_field(r, i)->type) };
	}
	qsort(l->cells, count, sizeof(l->cells[0]), compare_cells);
	/* Of two fields with one name, the last one has the cell. */
	for (uint32_t i = 0; i < count; i++)
		if (i + 1 == count || l->cells[i + 1].column != l->cells[i].column)
			l->cells[n++] = l->cells[i];
	l->count = n;
	return true;
}

static void put_quoted(struct md_buf *out, const char *s, size_t n)
{
	const char *quote;

	md_buf_putc(out, '"');
	while ((quote = memchr(s, '"', n))) {
		md_buf_put(out, s, (size_t)(quote + 1 - s));
		md_buf_putc(out, '"');
		n -= (size_t)(quote + 1 - s);
		s = quote + 1;
	}
	md_buf_put(out, s, n);
	md_buf_putc(out, '"');
}

static bool needs_quotes(const char *s, size_t n)
{
	static const bool special[256] = { ['"'] = 1, [','] = 1, ['\n'] = 1, ['\r'] = 1 };
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any |= special[(uint8_t)s[i]];
	/* An empty string is not an absent value. */
	return any || !n || s[0] == ' ' || s[n - 1] == ' ';
}

/* Puts quotes around what follows `at`, if they are needed. */
static void quote_cell(struct csv *v, struct md_buf *out, size_t at, enum md_shown shown)
{
	if (out->failed || shown == MD_SHOWN_NONE || shown == MD_SHOWN_NUMBER ||
	    (shown == MD_SHOWN_TEXT && !needs_quotes(out->data + at, out->len - at)))
		return;
	md_buf_reset(&v->text);
	md_buf_put(&v->text, out->data + at, out->len - at);
	out->len = at;
	put_quoted(out, v->text.data, v->text.len);
	out->failed |= v->text.failed;
}

/* The cell of the event's name. False: no memory. */
static bool set_event(struct csv *v, struct layout **l, uint32_t count, const char *name)
{
	struct md_buf cell = MD_BUF_INIT;
	size_t size = sizeof(**l) + count * sizeof((*l)->cells[0]);
	struct layout *more = NULL;

	md_name_event(name, &cell);
	quote_cell(v, &cell, 0, MD_SHOWN_TEXT);
	if (!cell.failed)
		more = realloc(*l, size + cell.len);
	if (more) {
		more->event = (char *)more + size;
		more->event_len = cell.len;
		memcpy(more->event, cell.data, cell.len);
		*l = more;
	}
	md_buf_deinit(&cell);
	return more;
}

/* The cells of `lost.…` */
static void put_lost(struct csv *v, const struct lost_value *values)
{
	struct md_buf *out = &v->m->out;
	size_t at;

	for (int i = 0; v->lossy && i < LOST_VALUES; i++) {
		md_buf_putc(out, ',');
		at = out->len;
		if (values[i].text) {
			md_value_put_text(values[i].text, strlen(values[i].text), out);
			quote_cell(v, out, at, MD_SHOWN_TEXT);
		} else if (values[i].number) {
			md_buf_printf(out, "%" PRIu64, values[i].number);
		}
	}
}

/* First run: finds the columns. */
static void add_columns(void *arg, const struct row *r)
{
	uint32_t count = r->stream->context_count + r->class->field_count;
	struct csv *v = arg;
	struct layout *l;

	l = calloc(1, sizeof(*l) + count * sizeof(l->cells[0]));
	if (!l || !find_cells(v, l, r) || !set_event(v, &l, count, r->class->name)) {
		free(l);
		v->m->err = -ENOMEM;
		return;
	}
	*r->state = l;
}

static void set_host(struct csv *v, const char *host)
{
	strcpy(v->host, host);
	md_buf_reset(&v->host_cell);
	md_value_put_text(host, strlen(host), &v->host_cell);
	if (*host)
		quote_cell(v, &v->host_cell, 0, MD_SHOWN_TEXT);
	v->m->out.failed |= v->host_cell.failed;
}

static char *put_commas(char *o, uint32_t n)
{
	/* Most cells follow one another: no call. */
	if (n == 1)
		*o = ',';
	else
		memset(o, ',', n);
	return o + n;
}

/* Nanoseconds since the epoch. Most events have the second of the event before. */
static char *put_time(struct csv *v, char *o, uint64_t time)
{
	if (time < 1000000000)
		return md_put_u64(o, time);
	if (!v->second || time < v->second || time - v->second >= 1000000000) {
		v->second = time - time % 1000000000;
		v->seconds_len = (size_t)(md_put_u64(v->seconds, time / 1000000000) - v->seconds);
	}
	memcpy(o, v->seconds, sizeof(v->seconds));
	return md_put9(o + v->seconds_len, (uint32_t)(time - v->second));
}

/* A value of any type; then `room` more bytes. NULL: no memory. */
static char *put_other(struct csv *v, char *o, const struct md_value *value, size_t room)
{
	struct md_buf *out = &v->m->out;
	size_t at = out->len = (size_t)(o - out->data);

	quote_cell(v, out, at, md_value_show(value, out));
	return md_buf_room(out, room);
}

/* Whether the value is a plain string, which needs no quotes; then puts it, and moves *o. */
static bool put_plain(char **o, const struct md_value *value)
{
	const char *s = (const char *)value->p;
	size_t n = (size_t)(value->end - value->p) - 1;

	/* Without its NUL. */
	if (!n || s[0] == ' ' || s[n - 1] == ' ' || !md_copy_if_plain(*o, s, n, '"', ','))
		return false;
	*o += n;
	return true;
}

/* There are `room` bytes at o, also after a value that needs more. NULL: no memory. */
static char *put_cells(struct csv *v, const struct layout *l, const struct md_value *values,
		       size_t room, char *o)
{
	uint32_t column = 0;
	uint64_t n;

	for (uint32_t i = 0; i < l->count && o; i++) {
		const struct md_value *value = &values[l->cells[i].value];
		enum cell_is is = value->p ? l->cells[i].is : CELL_OTHER;

		o = put_commas(o, l->cells[i].column + 1 - column);
		column = l->cells[i].column + 1;
		if (is == CELL_U32) {
			o = md_put_u32(o, md_load32(value->p));
		} else if (is == CELL_S32) {
			o = md_put_s32(o, (int32_t)md_load32(value->p));
		} else if (is == CELL_INTEGER) {
			md_value_integer(value, &n);
			o = value->type->is_signed ? md_put_s64(o, (int64_t)n) : md_put_u64(o, n);
		} else if (is != CELL_STRING || !put_plain(&o, value)) {
			o = put_other(v, o, value, room);
		}
	}
	return o ? put_commas(o, v->columns.table.count - column) : NULL;
}

/* The names of code addresses. NULL: no memory; else there is room for the end of the row. */
static char *put_names(struct csv *v, char *o, const struct row *r)
{
	struct md_buf *out = &v->m->out;
	size_t at;

	*o++ = ',';
	at = out->len = (size_t)(o - out->data);
	stacks_put(v->m->stacks, v->m->clock_offset, r->cursor, STACKS_OBJECT, out);
	if (out->len > at)
		quote_cell(v, out, at, MD_SHOWN_JSON);
	return md_buf_room(out, 1 + LOST_VALUES);
}

/* Second run: writes the rows. */
static void add_row(void *arg, const struct row *r)
{
	const struct layout *l = *r->state;
	struct csv *v = arg;
	size_t room;
	char *o;

	if (!l)
		return;
	if (r->cursor != v->cursor && strcmp(r->host, v->host) != 0)
		set_host(v, r->host);
	v->cursor = r->cursor;
	/* Numbers, and what needs no quotes: not longer than the event. */
	room = 192 + v->host_cell.len + l->event_len + v->columns.table.count +
	       24 * (size_t)l->count + (size_t)(r->occurrence->end - r->occurrence->context);
	o = md_buf_room(&v->m->out, room);
	if (!o)
		return;
	if (!r->stream->no_time)
		o = put_time(v, o, r->time);
	*o++ = ',';
	if (v->host_cell.len)
		o = mempcpy(o, v->host_cell.data, v->host_cell.len);
	*o++ = ',';
	if (!r->stream->no_cpu)
		o = md_put_u32(o, r->cpu);
	*o++ = ',';
	o = mempcpy(o, l->event, l->event_len);
	o = r->torn ? put_commas(o, v->columns.table.count) : put_cells(v, l, r->context, room, o);
	if (!o)
		return;
	if (v->m->stacks)
		o = put_names(v, o, r);
	if (o && v->lossy)
		o = mempcpy(o, ",,,,,,,,", LOST_VALUES);
	if (!o)
		return;
	*o++ = '\n';
	v->m->out.len = (size_t)(o - v->m->out.data);
}

static void add_lost(void *arg, const struct lost *l)
{
	struct lost_value values[LOST_VALUES];
	struct csv *v = arg;
	struct md_buf *out = &v->m->out;

	if (strcmp(l->cursor->host, v->host) != 0)
		set_host(v, l->cursor->host);
	v->cursor = NULL;
	if (l->loss.to)
		md_buf_printf(out, "%" PRIu64, l->loss.to);
	md_buf_putc(out, ',');
	md_buf_put(out, v->host_cell.data, v->host_cell.len);
	md_buf_putc(out, ',');
	if (!l->cursor->stream.class->no_cpu)
		md_buf_printf(out, "%" PRIu32, l->cursor->stream.cpu);
	md_buf_puts(out, ",lost");
	for (uint32_t i = 0; i < v->columns.table.count + (v->m->stacks != NULL); i++)
		md_buf_putc(out, ',');
	lost_values(l, values);
	put_lost(v, values);
	md_buf_putc(out, '\n');
}

void csv_make(struct maker *m)
{
	struct lost_value names[LOST_VALUES];
	struct csv parts[DIVISION_MOST] = { { .m = m } }, *v = parts;
	void *args[DIVISION_MOST];

	m->runs = 2;
	maker_classes(m, add_columns, v);
	md_buf_puts(&m->out, "time,host,cpu,event");
	for (uint32_t i = 0; i < v->columns.table.count; i++) {
		size_t at = m->out.len + 1;

		md_buf_printf(&m->out, ",%s", v->columns.all[i]->name);
		quote_cell(v, &m->out, at, MD_SHOWN_TEXT);
	}
	md_buf_puts(&m->out, maker_names(m, false) ? ",symbols" : "");
	v->lossy = m->lossy;
	lost_values(&(struct lost){ 0 }, names);
	for (int i = 0; v->lossy && i < LOST_VALUES; i++)
		md_buf_printf(&m->out, ",lost.%s", names[i].name);
	md_buf_putc(&m->out, '\n');
	for (size_t i = 0; i <= m->later_count; i++) {
		args[i] = &parts[i];
		if (i)
			parts[i] = (struct csv){ .m = &m->later[i - 1], .lossy = v->lossy,
						 .columns.table.count = v->columns.table.count };
	}
	m->lose = add_lost;
	if (!m->err)
		maker_parts(m, add_row, args);
	columns_deinit(&v->columns);
	for (size_t i = 0; i <= m->later_count; i++) {
		md_buf_deinit(&parts[i].host_cell);
		md_buf_deinit(&parts[i].text);
	}
}
