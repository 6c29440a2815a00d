/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as Parquet: the columns of csv.c with the types of their values. A column in which fields
 * of several types meet is text, as people read it.
 *
 * Parquet has timestamps in nanoseconds, but engines do not: DuckDB cuts those of UTC to
 * microseconds, and Spark refuses them. So `time` is in microseconds, for conditions and groups,
 * and `time_ns` is the exact time as an integer.
 */
#include "tracer/format/parquet/parquet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "metadata/program.h"
#include "tracer/format/export/export.h"
#include "tracer/view/stack.h"

enum { TIME, TIME_NS, HOST, CPU, EVENT, COMMON };        /* the columns before those of names */

struct shape {                  /* of events with these classes: the row's state */
	uint32_t count;
	uint32_t column[];      /* of each context and field; of the columns of names */
};

struct table {
	struct maker *m;
	struct parquet *file;
	struct columns columns;
	uint32_t first_lost;    /* of the columns of losses; 0: there are none */
	struct md_buf event, text;      /* scratch */
};

static enum parquet_type type_of(const struct md_type *t)
{
	t = md_type_present(t);
	if (t->kind == MD_FLOAT)
		return t->size == 4 ? PARQUET_FLOAT : PARQUET_DOUBLE;
	if (!md_type_is_number(t))
		return PARQUET_TEXT;
	return !t->is_signed && t->size == 8 && !t->bits ? PARQUET_UINT : PARQUET_INT;
}

/* First run: finds the columns and their types. */
static void add_columns(void *arg, const struct row *r)
{
	uint32_t count = r->stream->context_count + r->class->field_count;
	struct shape *s = calloc(1, sizeof(*s) + count * sizeof(s->column[0]));
	struct table *v = arg;

	for (uint32_t i = 0; s && i < count; i++) {
		const struct table_column *c =
			columns_find(&v->columns, r, i, type_of(&row_field(r, i)->type));

		if (!c) {
			free(s);
			s = NULL;
			break;
		}
		s->column[s->count++] = c->number;
	}
	if (!s)
		v->m->err = -ENOMEM;
	*r->state = s;
}

static void add_column(struct table *v, const char *name, enum parquet_type type)
{
	if (!v->m->err && parquet_add_column(v->file, name, type) < 0)
		v->m->err = -ENOMEM;
}

static void begin_file(struct table *v)
{
	static const struct { const char *name; enum parquet_type type; } common[COMMON] = {
		[TIME] = { "time", PARQUET_TIME }, [TIME_NS] = { "time_ns", PARQUET_NS },
		[HOST] = { "host", PARQUET_TEXT },
		[CPU] = { "cpu", PARQUET_INT }, [EVENT] = { "event", PARQUET_TEXT },
	};
	const struct lost none = { .stream = { .channel = "", .name = "", .trace = "" } };
	struct lost_value names[LOST_VALUES];
	char name[48];

	for (int i = 0; i < COMMON; i++)
		add_column(v, common[i].name, common[i].type);
	for (uint32_t i = 0; i < v->columns.table.count; i++)
		add_column(v, v->columns.all[i]->name,
			   (enum parquet_type)v->columns.all[i]->type);
	if (!v->m->lossy)
		return;
	v->first_lost = COMMON + v->columns.table.count;
	lost_values(&none, names);
	for (int i = 0; i < LOST_VALUES; i++) {
		snprintf(name, sizeof(name), "lost.%s", names[i].name);
		add_column(v, name, names[i].text ? PARQUET_TEXT : PARQUET_INT);
	}
}

static void put_time(struct table *v, uint64_t ns)
{
	parquet_put_number(v->file, TIME, ns / 1000);
	parquet_put_number(v->file, TIME_NS, ns);
}

static void put_text(struct table *v, uint32_t column, const char *s)
{
	md_buf_reset(&v->text);
	md_value_put_text(s, strlen(s), &v->text);
	parquet_put_text(v->file, column, v->text.data, v->text.len);
}

static void put_value(struct table *v, uint32_t column, enum parquet_type type,
		      const struct md_value *value)
{
	uint64_t n;
	double d;

	if (type == PARQUET_FLOAT || type == PARQUET_DOUBLE) {
		if (!md_value_float(value, &d))
			return;
		if (type == PARQUET_FLOAT)
			parquet_put_float(v->file, column, (float)d);
		else
			parquet_put_double(v->file, column, d);
		return;
	}
	if (type != PARQUET_TEXT) {
		if (md_value_integer(value, &n))
			parquet_put_number(v->file, column, n);
		return;
	}
	md_buf_reset(&v->text);
	if (md_value_show(value, &v->text) != MD_SHOWN_NONE)
		parquet_put_text(v->file, column, v->text.data, v->text.len);
	v->m->out.failed |= v->text.failed;
}

/* Of two fields with one name, the last one has the cell. */
static bool is_last(const struct shape *s, uint32_t i)
{
	for (uint32_t k = i + 1; k < s->count; k++)
		if (s->column[k] == s->column[i])
			return false;
	return true;
}

/* Second run: writes the rows. */
static void add_row(void *arg, const struct row *r)
{
	const struct shape *s = *r->state;
	struct table *v = arg;

	if (!s)
		return;
	if (!r->stream->no_time)
		put_time(v, r->time);
	if (*r->host)
		put_text(v, HOST, r->host);
	if (!r->stream->no_cpu)
		parquet_put_number(v->file, CPU, r->cpu);
	md_buf_reset(&v->event);
	md_name_event(r->class->name, &v->event);
	parquet_put_text(v->file, EVENT, v->event.data, v->event.len);
	for (uint32_t i = 0; !r->torn && i < s->count; i++) {
		const struct md_value *value = i < r->stream->context_count
			? &r->context[i] : &r->fields[i - r->stream->context_count];

		if (value->p && is_last(s, i))
			put_value(v, COMMON + s->column[i],
				  (enum parquet_type)v->columns.all[s->column[i]]->type, value);
	}
	parquet_end_row(v->file);
}

static void add_lost(void *arg, const struct lost *l)
{
	struct lost_value values[LOST_VALUES];
	struct table *v = arg;

	if (!v->first_lost)
		return;
	if (l->loss.to)
		put_time(v, l->loss.to);
	if (*l->cursor->host)
		put_text(v, HOST, l->cursor->host);
	if (!l->cursor->stream.class->no_cpu)
		parquet_put_number(v->file, CPU, l->cursor->stream.cpu);
	put_text(v, EVENT, "lost");
	lost_values(l, values);
	for (uint32_t i = 0; i < LOST_VALUES; i++) {
		if (values[i].text)
			put_text(v, v->first_lost + i, values[i].text);
		else if (values[i].number)
			parquet_put_number(v->file, v->first_lost + i, values[i].number);
	}
	parquet_end_row(v->file);
}

void parquet_make(struct maker *m)
{
	struct table v = { .m = m, .columns.mixed = PARQUET_TEXT };
	int err;

	m->runs = 2;
	maker_classes(m, add_columns, &v);
	v.file = m->err ? NULL : parquet_create(&m->out);
	if (!v.file) {
		m->err = m->err ? m->err : -ENOMEM;
	} else {
		begin_file(&v);
		m->lose = add_lost;
		/* One run: a file has one list of row groups. */
		if (!m->err)
			maker_run(m, ROW_VALUES, add_row, &v);
		err = parquet_end(v.file);
		m->err = m->err ? m->err : err;
	}
	parquet_destroy(v.file);
	columns_deinit(&v.columns);
	md_buf_deinit(&v.event);
	md_buf_deinit(&v.text);
}
