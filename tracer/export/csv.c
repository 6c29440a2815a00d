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
#include "tracer/export/export.h"

struct column {
	char *name;             /* "fields.n"; the key of csv.names */
	uint32_t number;
};

/* The columns of the members of an event class, or of a stream class's contexts. */
struct layout {
	const void *class;      /* the key of csv.layouts */
	uint32_t count;
	uint32_t columns[];
};

struct csv {
	struct maker *m;
	void *names, *layouts;  /* trees of struct column, struct layout; owned (tsearch) */
	const struct layout *last[2];   /* of the last event: its fields, its contexts */
	struct column **columns;        /* by number; elements belong to names */
	struct json *cells;     /* of the current row, by number */
	uint32_t count;
	struct md_buf text;     /* scratch */
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct column *)a)->name, ((const struct column *)b)->name);
}

static int compare_classes(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct layout *)a)->class,
		  y = (uintptr_t)((const struct layout *)b)->class;

	return x < y ? -1 : x > y;
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

static struct layout *add_layout(struct csv *v, const void *class, const char *prefix,
				 const struct md_field *fields, uint32_t count)
{
	struct layout *l = calloc(1, sizeof(*l) + count * sizeof(l->columns[0]));

	if (!l)
		return NULL;
	l->class = class;
	for (; l->count < count; l->count++) {
		const struct column *c;

		md_buf_reset(&v->text);
		md_buf_puts(&v->text, prefix);
		md_name_field(fields[l->count].name, &v->text);
		c = find_column(v, md_buf_str(&v->text));
		if (!c || v->text.failed)
			goto nomem;
		l->columns[l->count] = c->number;
	}
	if (tsearch(l, &v->layouts, compare_classes))
		return l;
nomem:
	free(l);
	return NULL;
}

/* The layout of a class, from an earlier event. */
static const struct layout *find_layout(struct csv *v, const void *class, int part)
{
	struct layout key = { .class = class }, **found;

	if (v->last[part] && v->last[part]->class == class)
		return v->last[part];
	found = tfind(&key, &v->layouts, compare_classes);
	if (found)
		v->last[part] = *found;
	return found ? *found : NULL;
}

/* First run: finds the columns. */
static void add_columns(void *arg, const struct row *r)
{
	struct csv *v = arg;

	if (!find_layout(v, r->stream, 1) &&
	    !add_layout(v, r->stream, "context.", r->stream->context, r->stream->context_count))
		v->m->err = -ENOMEM;
	if (!find_layout(v, r->class, 0) &&
	    !add_layout(v, r->class, "fields.", r->class->fields, r->class->field_count))
		v->m->err = -ENOMEM;
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

/* null and absent values are empty; arrays and structures are their JSON. */
static void put_cell(struct csv *v, struct json value)
{
	struct md_buf *out = &v->m->out;

	if (!value.n || *value.p == 'n')
		return;
	if (*value.p == '{' || *value.p == '[') {
		put_quoted(out, value.p, value.n);
		return;
	}
	if (!json_is_string(value)) {
		md_buf_put(out, value.p, value.n);
		return;
	}
	md_buf_reset(&v->text);
	json_characters(value, &v->text);
	if (needs_quotes(v->text.data, v->text.len))
		put_quoted(out, v->text.data, v->text.len);
	else
		md_buf_put(out, v->text.data, v->text.len);
	out->failed |= v->text.failed;
}

static void fill_cells(struct csv *v, const void *class, int part, const struct md_field *fields,
		       struct json object)
{
	const struct layout *l = find_layout(v, class, part);
	struct json name, value;

	/* The members of the object are the fields, in their order. */
	for (uint32_t i = 0; l && i < l->count && json_member(&object, &name, &value); i++)
		v->cells[l->columns[i]] = json_label(&fields[i], value);
}

/* Second run: writes the rows. */
static void add_row(void *arg, const struct row *r)
{
	struct csv *v = arg;
	struct md_buf *out = &v->m->out;

	md_buf_printf(out, "%llu,", (unsigned long long)r->time);
	put_cell(v, r->host);
	md_buf_printf(out, ",%u,", r->cpu);
	put_cell(v, r->event);
	memset(v->cells, 0, v->count * sizeof(*v->cells));
	fill_cells(v, r->stream, 1, r->stream->context, r->context);
	fill_cells(v, r->class, 0, r->class->fields, r->fields);
	for (uint32_t i = 0; i < v->count; i++) {
		md_buf_putc(out, ',');
		put_cell(v, v->cells[i]);
	}
	md_buf_putc(out, '\n');
}

void csv_make(struct maker *m)
{
	struct csv v = { .m = m };

	maker_run(m, false, add_columns, &v);
	v.cells = calloc(v.count + 1, sizeof(*v.cells));
	if (!v.cells)
		m->err = -ENOMEM;
	md_buf_puts(&m->out, "time,host,cpu,event");
	for (uint32_t i = 0; i < v.count; i++)
		md_buf_printf(&m->out, ",%s", v.columns[i]->name);
	md_buf_putc(&m->out, '\n');
	if (!m->err)
		maker_run(m, true, add_row, &v);
	tdestroy(v.layouts, free);
	tdestroy(v.names, free_column);
	free(v.columns);
	free(v.cells);
	md_buf_deinit(&v.text);
}
