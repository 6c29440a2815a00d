/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as CSV (RFC 4180, lines end with a newline alone): time, host, cpu, event, then a column
 * for each name of a context and of a field, in the order in which they first occur. The names are
 * known only after the last event, so the events are read twice.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "metadata/number.h"
#include "tracer/export/export.h"

struct column {
	char *name;             /* "fields.n"; the key of csv.names */
	uint32_t number;
};

/* The columns of the contexts and fields of events with these classes: the row's state. */
struct layout {
	char *event;            /* the cell with the name; part of this allocation */
	size_t event_len;
	uint32_t columns[];
};

struct csv {
	struct maker *m;
	void *names;            /* tree of struct column; owned (tsearch) */
	struct column **columns;        /* by number; elements belong to names */
	const struct md_value **cells;  /* of the current row, by number */
	uint32_t count;
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

/* The numbers of the columns of these fields. False: no memory. */
static bool find_columns(struct csv *v, const char *prefix, const struct text *names,
			 uint32_t count, uint32_t *numbers)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct column *c;

		md_buf_reset(&v->text);
		md_buf_puts(&v->text, prefix);
		md_buf_put(&v->text, names[i].p, names[i].n);
		c = find_column(v, md_buf_str(&v->text));
		if (!c || v->text.failed)
			return false;
		numbers[i] = c->number;
	}
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
	for (size_t i = 0; i < n; i++)
		if (s[i] == '"' || s[i] == ',' || s[i] == '\n' || s[i] == '\r')
			return true;
	/* An empty string is not an absent value. */
	return !n || s[0] == ' ' || s[n - 1] == ' ';
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
	size_t size = sizeof(**l) + count * sizeof((*l)->columns[0]);
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
	l = calloc(1, sizeof(*l) + count * sizeof(l->columns[0]));
	if (!l || !find_columns(v, "context.", r->names, contexts, l->columns) ||
	    !find_columns(v, "fields.", r->names + contexts, r->class->field_count,
			  l->columns + contexts) ||
	    !set_event(v, &l, count, r->class->name)) {
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

static void put_cells(struct csv *v)
{
	struct md_buf *out = &v->m->out;

	for (uint32_t i = 0; i < v->count; i++) {
		size_t at = out->len + 1;

		md_buf_putc(out, ',');
		if (v->cells[i])
			quote_cell(v, out, at, md_value_show(v->cells[i], out));
	}
	md_buf_putc(out, '\n');
}

/* Second run: writes the rows. */
static void add_row(void *arg, const struct row *r)
{
	uint32_t contexts = r->stream->context_count;
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
	memset(v->cells, 0, v->count * sizeof(const struct md_value *));
	for (uint32_t i = 0; i < contexts && !r->torn; i++)
		v->cells[l->columns[i]] = &r->context[i];
	for (uint32_t i = 0; i < r->class->field_count && !r->torn; i++)
		v->cells[l->columns[contexts + i]] = &r->fields[i];
	put_cells(v);
}

void csv_make(struct maker *m)
{
	struct csv v = { .m = m };

	m->runs = 2;
	maker_run(m, ROW_CLASSES, add_columns, &v);
	v.cells = calloc(v.count + 1, sizeof(const struct md_value *));
	if (!v.cells)
		m->err = -ENOMEM;
	md_buf_puts(&m->out, "time,host,cpu,event");
	for (uint32_t i = 0; i < v.count; i++)
		md_buf_printf(&m->out, ",%s", v.columns[i]->name);
	md_buf_putc(&m->out, '\n');
	if (!m->err)
		maker_run(m, ROW_VALUES, add_row, &v);
	tdestroy(v.names, free_column);
	free(v.columns);
	free((void *)v.cells);
	md_buf_deinit(&v.host_cell);
	md_buf_deinit(&v.text);
}
