/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as SQL that MariaDB, MySQL and SQLite accept: a table for each name of an event, with a
 * column for each context and field, in their types, and LKET's (lket.h) if a hook stands for the
 * event. Tables come first, so the events are read
 * twice.
 *
 * What only MariaDB needs is in its comments, which begin with an exclamation mark. Text with a
 * backslash or a control character, which the two read differently, is hexadecimal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "metadata/name.h"
#include "metadata/number.h"
#include "metadata/program.h"
#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/base/hash_table.h"
#include "tracer/format/export/export.h"
#include "tracer/format/export/lket.h"
#include "tracer/format/export/process_names.h"
#include "tracer/format/export/sql_text.h"

#define NAME_MOST 60u           /* characters of a name, without what makes it unique */
#define STATEMENT_MOST 32768u   /* bytes of an INSERT before it ends */

#define TYPE_TEXT "LONGTEXT"

enum { TEXT, FLOAT, INTEGER };  /* types of columns, and INTEGER + 1 … */
static const char *const types[] = {
	[TEXT] = TYPE_TEXT, [FLOAT] = "DOUBLE",
	/* SQLite has no unsigned integers of 64 bits: large ones stay text there. */
	[INTEGER] = "TINYINT UNSIGNED", "SMALLINT UNSIGNED", "INT UNSIGNED",
	"/*!BIGINT UNSIGNED*/", "TINYINT", "SMALLINT", "INT", "BIGINT",
};

/* The columns that each table has first */
static const char *const first_columns[][2] = {
	{ "time", "BIGINT" }, { "host", TYPE_TEXT }, { "cpu", "INT UNSIGNED" }
};
#define COLUMNS_FIRST 3u

struct table {
	char *event;            /* its key; owned */
	char *name;             /* owned */
	bool lket;              /* then it has LKET's columns */
	struct columns columns; /* the others; shown: in SQL */
};

/* Where the values of events with these two classes go: the row's state. */
struct shape {
	struct table *table;
	struct process_contexts process;
	struct lket_common lket;
	uint32_t columns[];     /* of the contexts, then of the fields */
};

struct sql {
	struct maker *m;
	struct table **list;    /* in the order of their first events; owned, elements too */
	struct hash_table tables;       /* of `list`, by event */
	uint32_t most;          /* columns of a table */
	const struct md_value **cells;  /* of the current row, by number */
	const struct table *open;       /* the INSERT that is not ended yet */
	size_t statement;       /* its bytes */
	struct process_names names;
	struct lket_hooks hooks;
	struct lket_entries entries;
	struct md_buf text;     /* scratch */
};

static void free_table(struct table *t)
{
	columns_deinit(&t->columns);
	free(t->event);
	free(t->name);
	free(t);
}

/* ---- names ---- */

/* Appends at most NAME_MOST characters; '_' for those that MariaDB's names cannot have. */
static void put_name(const char *name, struct md_buf *out)
{
	size_t len = strlen(name), n;

	/* SQLite keeps names that begin so for itself. */
	if (!strncasecmp(name, "sqlite_", 7))
		md_buf_putc(out, '_');
	for (size_t at = 0, count = 0; at < len && count < NAME_MOST; at += n, count++) {
		n = md_utf8_char((const unsigned char *)name + at, len - at);
		if (n < 1 || n > 3 || (unsigned char)name[at] < 0x20 || name[at] == 0x7f) {
			md_buf_putc(out, '_');
			n = n ? n : 1;
		} else {
			md_buf_put(out, name + at, n);
		}
	}
	/* MariaDB's names do not end with a blank. */
	if (!out->failed && out->len && out->data[out->len - 1] == ' ')
		out->data[out->len - 1] = '_';
}

/* As both databases compare names: ASCII in any case. */
static bool is_taken(const struct sql *q, const struct table *t, const char *name)
{
	static const char *const used[] = { "trace_header", "table_desc", "appNameMap",
					    "trace_losses" };

	for (uint32_t i = 0; t && i < COLUMNS_FIRST; i++)
		if (!strcasecmp(first_columns[i][0], name))
			return true;
	for (uint32_t i = 0; t && t->lket && i < LKET_COLUMNS; i++)
		if (!strcasecmp(lket_columns[i][0], name))
			return true;
	for (uint32_t i = 0; t && i < t->columns.table.count; i++)
		if (t->columns.all[i]->shown && !strcasecmp(t->columns.all[i]->shown, name))
			return true;
	for (uint32_t i = 0; !t && i < q->tables.count; i++)
		if (!strcasecmp(q->list[i]->name, name))
			return true;
	for (size_t i = 0; !t && i < sizeof(used) / sizeof(used[0]); i++)
		if (!strcasecmp(name, used[i]))
			return true;
	return false;
}

/* A new name of a column of t, or of a table (t NULL). NULL: no memory. */
static char *make_name(struct sql *q, const struct table *t, const char *name)
{
	char *result;

	for (unsigned int number = 1;; number++) {
		md_buf_reset(&q->text);
		put_name(name, &q->text);
		if (number > 1)
			md_buf_printf(&q->text, "_%u", number);
		result = strdup(md_buf_str(&q->text));
		if (!result || q->text.failed || !is_taken(q, t, result))
			break;
		free(result);
	}
	return result;
}

/* ---- tables ---- */

static int type_of(const struct md_type *t)
{
	t = md_type_present(t);         /* a missing value is NULL */
	if (t->kind == MD_FLOAT)
		return FLOAT;
	/* An enumeration is its label. */
	if (t->kind != MD_INT)
		return TEXT;
	return INTEGER + 4 * t->is_signed + __builtin_ctz(md_int_size(t));
}

/* The column of context or field i. NULL: no memory. */
static const struct table_column *find_column(struct sql *q, struct table *t, const struct row *r,
					      uint32_t i)
{
	struct table_column *c =
		columns_find(&t->columns, r, i, type_of(&row_field(r, i)->type));

	if (c && !c->shown)
		c->shown = make_name(q, t, c->name);
	return c && c->shown ? c : NULL;
}

static struct table *find_table(struct sql *q, const char *event, bool lket)
{
	uint64_t hash = hash_string(HASH_START, event);
	struct table *t;

	for (uint32_t at = 0, i; (i = hash_find(&q->tables, hash, &at)) != HASH_NONE;)
		if (!strcmp(q->list[i]->event, event))
			return q->list[i];
	t = array_double(q->list, q->tables.count) ? calloc(1, sizeof(*t)) : NULL;
	if (!t)
		return NULL;
	t->lket = lket;
	t->columns = (struct columns){ .mixed = TEXT, .bare = true };
	t->event = strdup(event);
	t->name = make_name(q, NULL, event);
	if (!t->event || !t->name || !hash_add(&q->tables, hash)) {
		free_table(t);
		return NULL;
	}
	return q->list[q->tables.count - 1] = t;
}

/* First run: finds the tables and columns. */
static void add_shape(void *arg, const struct row *r)
{
	struct sql *q = arg;
	uint32_t count = r->stream->context_count + r->class->field_count, i = 0;
	const struct table_column *column;
	struct shape *s;

	s = calloc(1, sizeof(*s) + count * sizeof(s->columns[0]));
	if (s) {
		s->lket = lket_common_of(&q->hooks, r);
		s->table = find_table(q, r->class->name, s->lket.group);
		s->process = process_contexts_find(r->stream);
		for (; s->table && i < count && (column = find_column(q, s->table, r, i)); i++)
			s->columns[i] = column->number;
	}
	if (!s || !s->table || i < count) {
		free(s);
		q->m->err = -ENOMEM;
		return;
	}
	*r->state = s;
	if (s->table->columns.table.count > q->most)
		q->most = s->table->columns.table.count;
}

/* ---- values ---- */

/* A number that is no integer of 64 bits with a sign: quoted, so that SQLite keeps its digits. */
static bool is_large(const char *s, size_t n)
{
	return n >= 19 && *s != '-' && !memchr(s, '.', n) && !memchr(s, 'e', n) &&
	       (n > 19 || memcmp(s, "9223372036854775807", 19) > 0);
}

/* Puts what is in q->text. */
static void put_cell(struct sql *q, int type, enum md_shown shown)
{
	struct md_buf *out = &q->m->out;
	bool text = type == TEXT;

	out->failed |= q->text.failed;
	if (shown == MD_SHOWN_NONE || (!text && shown == MD_SHOWN_TEXT))
		md_buf_puts(out, "NULL");       /* "NaN" and the like are no numbers of SQL */
	else if (!text && !is_large(q->text.data, q->text.len))
		md_buf_put(out, q->text.data, q->text.len);
	else
		put_text(out, q->text.data, q->text.len);
}

static void put_value(struct sql *q, int type, const struct md_value *value)
{
	uint64_t n;

	if (value && type != TEXT && md_value_integer(value, &n) &&
	    !md_type_is_enum(value->type) && (value->type->is_signed || n <= INT64_MAX)) {
		md_value_show(value, &q->m->out);
		return;
	}
	md_buf_reset(&q->text);
	put_cell(q, type, value ? md_value_show(value, &q->text) : MD_SHOWN_NONE);
}

static void put_host(struct sql *q, const char *host)
{
	md_buf_reset(&q->text);
	md_value_put_text(host, strlen(host), &q->text);
	put_cell(q, TEXT, *host ? MD_SHOWN_TEXT : MD_SHOWN_NONE);
}

static void put_number(struct md_buf *out, uint64_t n)
{
	char *o = md_buf_room(out, 24);

	if (o)
		out->len = (size_t)(md_put_u64(o, n) - out->data);
}

static void end_statement(struct sql *q)
{
	if (q->open)
		md_buf_puts(&q->m->out, ";\n");
	q->open = NULL;
	q->m->whole = q->m->out.len;
}

/* Second run: writes the rows. */
static void add_row(void *arg, const struct row *r)
{
	struct sql *q = arg;
	struct md_buf *out = &q->m->out;
	const struct shape *s = *r->state;
	const struct columns *columns = s ? &s->table->columns : NULL;
	uint32_t count = r->stream->context_count;
	size_t before;

	if (!s)
		return;
	memset(q->cells, 0, columns->table.count * sizeof(const struct md_value *));
	for (uint32_t i = 0; i < count && !r->torn; i++)
		q->cells[s->columns[i]] = &r->context[i];
	for (uint32_t i = 0; i < r->class->field_count && !r->torn; i++)
		q->cells[s->columns[count + i]] = &r->fields[i];
	if (!process_names_add(&q->names, s->process, r))
		q->m->err = -ENOMEM;
	if (q->open != s->table || q->statement > STATEMENT_MOST) {
		end_statement(q);
		md_buf_puts(out, "INSERT INTO ");
		put_quoted_name(out, s->table->name);
		md_buf_puts(out, " VALUES ");
		q->open = s->table;
		q->statement = 0;
	} else {
		md_buf_puts(out, ",\n");
	}
	before = out->len;
	md_buf_putc(out, '(');
	put_number(out, r->time);
	md_buf_putc(out, ',');
	put_host(q, r->host);
	md_buf_putc(out, ',');
	if (r->stream->no_cpu)
		md_buf_puts(out, "NULL");
	else
		put_number(out, r->cpu);
	if (s->table->lket && !lket_common_put(&s->lket, r, &q->entries, out))
		q->m->err = -ENOMEM;
	for (uint32_t i = 0; i < columns->table.count; i++) {
		md_buf_putc(out, ',');
		put_value(q, columns->all[i]->type, q->cells[i]);
	}
	md_buf_putc(out, ')');
	q->statement += out->len - before;
}

/* A row of the table of losses, in the order of lost_values. */
static void add_lost(void *arg, const struct lost *l)
{
	struct lost_value values[LOST_VALUES];
	struct sql *q = arg;
	struct md_buf *out = &q->m->out;

	end_statement(q);
	md_buf_puts(out, "INSERT INTO trace_losses VALUES ");
	lost_values(l, values);
	for (int i = 0; i < LOST_VALUES; i++) {
		md_buf_putc(out, i ? ',' : '(');
		md_buf_reset(&q->text);
		if (values[i].text) {
			md_value_put_text(values[i].text, strlen(values[i].text), &q->text);
			put_text(out, md_buf_str(&q->text), q->text.len);
		} else if (values[i].number) {
			put_number(out, values[i].number);
		} else {
			md_buf_puts(out, "NULL");
		}
	}
	md_buf_puts(out, ");\n");
	q->m->whole = out->len;
}

/* ---- the file ---- */

static void put_column(struct md_buf *out, const char *before, const char *name, const char *type)
{
	md_buf_puts(out, before);
	put_quoted_name(out, name);
	md_buf_printf(out, " %s", type);
}

static void put_tables(struct sql *q)
{
	struct md_buf *out = &q->m->out;

	md_buf_puts(out, "/*!40101 SET NAMES utf8mb4 */;\n"
			 "CREATE TABLE trace_losses (events BIGINT, packets BIGINT, kind LONGTEXT, "
			 "channel LONGTEXT, stream LONGTEXT, trace LONGTEXT, time_from BIGINT, "
			 "time_to BIGINT)/*! CHARACTER SET utf8mb4 */;\n"
			 "CREATE TABLE trace_header (Major_Ver INT, Minor_Ver INT, Big_Endian INT, "
			 "Timing_Method INT, Bits_Width INT);\n"
			 "CREATE TABLE table_desc (table_name LONGTEXT, table_desc LONGTEXT)"
			 "/*! CHARACTER SET utf8mb4 */;\n"
			 "CREATE TABLE appNameMap (pid BIGINT, pname LONGTEXT)"
			 "/*! CHARACTER SET utf8mb4 */;\n");
	for (uint32_t i = 0; i < q->tables.count; i++) {
		const struct table *t = q->list[i];

		md_buf_puts(out, "CREATE TABLE ");
		put_quoted_name(out, t->name);
		for (uint32_t c = 0; c < COLUMNS_FIRST; c++)
			put_column(out, c ? ", " : " (", first_columns[c][0], first_columns[c][1]);
		for (uint32_t c = 0; t->lket && c < LKET_COLUMNS; c++)
			put_column(out, ", ", lket_columns[c][0], lket_columns[c][1]);
		for (uint32_t c = 0; c < t->columns.table.count; c++)
			put_column(out, ", ", t->columns.all[c]->shown,
				   types[t->columns.all[c]->type]);
		md_buf_puts(out, ")/*! CHARACTER SET utf8mb4 */;\n");
	}
	/* LKET's version; sched_clock: nanoseconds */
	md_buf_puts(out, "BEGIN;\nINSERT INTO trace_header VALUES (1,1,0,3,64);\n");
	for (uint32_t i = 0; i < q->tables.count; i++) {
		md_buf_puts(out, "INSERT INTO table_desc VALUES (");
		put_text(out, q->list[i]->name, strlen(q->list[i]->name));
		md_buf_putc(out, ',');
		md_buf_reset(&q->text);
		md_name_event(q->list[i]->event, &q->text);
		put_text(out, md_buf_str(&q->text), q->text.len);
		md_buf_puts(out, ");\n");
	}
}

/* After the last row. */
static void put_process_names(struct sql *q)
{
	struct md_buf *out = &q->m->out;

	for (uint32_t i = 0; i < q->names.table.count; i++) {
		const struct process_name *n = &q->names.list[i];

		md_buf_reset(&q->text);
		md_value_put_text(n->name, strlen(n->name), &q->text);
		md_buf_printf(out, "INSERT INTO appNameMap VALUES (%lld,", (long long)n->pid);
		put_text(out, md_buf_str(&q->text), q->text.len);
		md_buf_puts(out, ");\n");
	}
}

void sql_make(struct maker *m)
{
	struct sql q = { .m = m };

	m->runs = 2;
	m->err = m->err ? m->err : lket_hooks_init(&q.hooks, m->s);
	if (!m->err)
		maker_classes(m, add_shape, &q);
	q.cells = calloc(q.most + 1, sizeof(const struct md_value *));
	if (!q.cells)
		m->err = -ENOMEM;
	put_tables(&q);
	m->lose = add_lost;
	if (!m->err)
		maker_run(m, ROW_VALUES, add_row, &q);
	end_statement(&q);
	put_process_names(&q);
	md_buf_puts(&m->out, "COMMIT;\n");
	m->whole = m->out.len;
	for (uint32_t i = 0; i < q.tables.count; i++)
		free_table(q.list[i]);
	free(q.list);
	hash_deinit(&q.tables);
	free((void *)q.cells);
	lket_entries_deinit(&q.entries);
	lket_hooks_deinit(&q.hooks);
	process_names_deinit(&q.names);
	md_buf_deinit(&q.text);
}
