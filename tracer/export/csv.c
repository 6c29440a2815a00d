/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as CSV (RFC 4180, lines end with a newline alone): time, host, cpu, event, then a column
 * for each name of a context and of a field, in the order in which they first occur. The names are
 * known only when each event class has occurred, so the events are read twice up to there.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "metadata/number.h"
#include "metadata/program.h"
#include "tracer/export/export.h"

struct column {
	char *name;             /* "fields.n"; the key of csv.names */
	uint32_t number;
};

/* The cells of events with these classes, in the order of the columns: the row's state. */
struct layout {
	char *event;            /* the cell with the name; part of this allocation */
	size_t event_len;
	uint32_t count;
	struct cell {
		uint32_t column, value; /* value: index; those of the fields follow the contexts' */
	} cells[];
};

struct csv {
	struct maker *m;
	void *names;            /* tree of struct column; owned (tsearch) */
	struct column **columns;        /* by number; elements belong to names */
	uint32_t count;
	size_t kinds;           /* event classes that have occurred */
	char host[MD_TEXT_HOSTNAME_MAX + 1];    /* of the last row */
	struct md_buf host_cell, text;          /* text: scratch */
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct column *)a)->name, ((const struct column *)b)->name);
}

static void free_column(void *p)
{
	free(((struct column *)p)->name);
	free(p);
}

/* The column of this name, a new one if there is none. NULL: no memory. */
static const struct column *find_column(struct csv *v, const char *name)
{
	struct column key = { .name = (char *)name }, **found, *c, **columns;

	found = tfind(&key, &v->names, compare_names);
	if (found)
		return *found;
	c = calloc(1, sizeof(*c));
	columns = realloc(v->columns, (v->count + 1) * sizeof(*columns));
	if (columns)
		v->columns = columns;
	if (c)
		c->name = strdup(name);
	if (!columns || !c || !c->name || !tsearch(c, &v->names, compare_names)) {
		if (c)
			free_column(c);
		return NULL;
	}
	c->number = v->count;
	v->columns[v->count++] = c;
	return c;
}

static int compare_cells(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;

	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* The cells of the contexts and fields. False: no memory. */
static bool find_cells(struct csv *v, struct layout *l, const struct text *names, uint32_t contexts,
		       uint32_t count)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct column *c;

		md_buf_reset(&v->text);
		md_buf_puts(&v->text, i < contexts ? "context." : "fields.");
		md_buf_put(&v->text, names[i].p, names[i].n);
		c = find_column(v, md_buf_str(&v->text));
		if (!c || v->text.failed)
			return false;
		l->cells[i] = (struct cell){ c->number, i };
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

/* First run: finds the columns. */
static void add_columns(void *arg, const struct row *r)
{
	uint32_t contexts = r->stream->context_count, count = contexts + r->class->field_count;
	struct csv *v = arg;
	struct layout *l;

	if (*r->state)
		return;
	l = calloc(1, sizeof(*l) + count * sizeof(l->cells[0]));
	if (!l || !find_cells(v, l, r->names, contexts, count) ||
	    !set_event(v, &l, count, r->class->name)) {
		free(l);
		v->m->err = -ENOMEM;
		return;
	}
	*r->state = l;
	v->m->enough = ++v->kinds == v->m->classes;
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

static char *put_commas(struct md_buf *out, uint32_t n)
{
	char *o = md_buf_room(out, n + 24);

	if (o) {
		memset(o, ',', n);
		out->len += n;
		o += n;
	}
	return o;
}

static void put_cells(struct csv *v, const struct layout *l, const struct md_value *values)
{
	struct md_buf *out = &v->m->out;
	uint32_t column = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		const struct md_value *value = &values[l->cells[i].value];
		char *o = put_commas(out, l->cells[i].column + 1 - column);
		size_t at = out->len;
		uint64_t n;

		column = l->cells[i].column + 1;
		if (!o)
			return;
		if (value->type->kind != MD_INT || md_type_is_enum(value->type)) {
			quote_cell(v, out, at, md_value_show(value, out));
			continue;
		}
		md_value_integer(value, &n);
		o = value->type->is_signed ? md_put_s64(o, (int64_t)n) : md_put_u64(o, n);
		out->len = (size_t)(o - out->data);
	}
	put_commas(out, v->count - column);
	md_buf_putc(out, '\n');
}

/* Second run: writes the rows. */
static void add_row(void *arg, const struct row *r)
{
	const struct layout *l = *r->state;
	struct csv *v = arg;
	char *o;

	if (strcmp(r->host, v->host) != 0)
		set_host(v, r->host);
	o = l ? md_buf_room(&v->m->out, 64 + v->host_cell.len + l->event_len) : NULL;
	if (!o)
		return;
	o = md_put_u64(o, r->time);
	*o++ = ',';
	if (v->host_cell.len)
		o = mempcpy(o, v->host_cell.data, v->host_cell.len);
	*o++ = ',';
	if (!r->stream->no_cpu)
		o = md_put_u32(o, r->cpu);
	*o++ = ',';
	o = mempcpy(o, l->event, l->event_len);
	v->m->out.len = (size_t)(o - v->m->out.data);
	if (!r->torn) {
		put_cells(v, l, r->context);
	} else {
		put_commas(&v->m->out, v->count);
		md_buf_putc(&v->m->out, '\n');
	}
}

void csv_make(struct maker *m)
{
	struct csv v = { .m = m };

	m->runs = 2;
	maker_run(m, ROW_CLASSES, add_columns, &v);
	md_buf_puts(&m->out, "time,host,cpu,event");
	for (uint32_t i = 0; i < v.count; i++)
		md_buf_printf(&m->out, ",%s", v.columns[i]->name);
	md_buf_putc(&m->out, '\n');
	if (!m->err)
		maker_run(m, ROW_VALUES, add_row, &v);
	tdestroy(v.names, free_column);
	free(v.columns);
	md_buf_deinit(&v.host_cell);
	md_buf_deinit(&v.text);
}
