/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as SQL that MariaDB, MySQL and SQLite accept: a table for each name of an event, with a
 * column for each context and field, in their types. Tables come first, so the events are read
 * twice.
 *
 * What only MariaDB needs is in its comments, which begin with an exclamation mark. Names are in
 * backquotes. Text with a backslash or a control character, which the two read differently, is
 * hexadecimal.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "metadata/name.h"
#include "tracer/export/export.h"

#define NAME_MOST 60u           /* characters of a name, without what makes it unique */
#define STATEMENT_MOST 32768u   /* bytes of an INSERT before it ends */
#define TYPE_TEXT "LONGTEXT"

/* The columns that each table has first */
enum { COLUMN_TIME, COLUMN_HOST, COLUMN_CPU, COLUMNS_FIRST };

struct column {
	char *key;              /* of the context or field, with its prefix; owned */
	char *name;             /* in SQL; owned */
	const char *type;
};

struct table {
	char *event;            /* the key of sql.tables; owned */
	char *name;             /* owned */
	struct column *columns; /* owned */
	uint32_t count;
};

/* Where the values of events with these two classes go. */
struct shape {
	const struct md_stream *stream;
	const struct md_event *class;
	struct table *table;
	uint32_t columns[];     /* of the contexts, then of the fields */
};

struct sql {
	struct maker *m;
	void *tables, *shapes;  /* trees of struct table, struct shape; owned (tsearch) */
	struct table **list;    /* the tables in the order of their first events */
	uint32_t table_count;
	uint32_t most;          /* columns of a table */
	struct shape *last;     /* of the last event */
	struct json *cells;     /* of the current row, by number */
	const struct table *open;       /* the INSERT that is not ended yet */
	size_t statement;       /* its bytes */
	struct md_buf text;     /* scratch */
};

static int compare_tables(const void *a, const void *b)
{
	return strcmp(((const struct table *)a)->event, ((const struct table *)b)->event);
}

static int compare_pointers(const void *a, const void *b)
{
	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static int compare_shapes(const void *a, const void *b)
{
	const struct shape *x = a, *y = b;
	int c = compare_pointers(x->class, y->class);

	return c ? c : compare_pointers(x->stream, y->stream);
}

static void free_table(void *p)
{
	struct table *t = p;

	for (uint32_t i = 0; i < t->count; i++) {
		free(t->columns[i].key);
		free(t->columns[i].name);
	}
	free(t->columns);
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
	static const char *const used[] = { "trace_header", "table_desc" };

	for (uint32_t i = 0; t && i < t->count; i++)
		if (!strcasecmp(t->columns[i].name, name))
			return true;
	for (uint32_t i = 0; !t && i < q->table_count; i++)
		if (!strcasecmp(q->list[i]->name, name))
			return true;
	return !t && (!strcasecmp(name, used[0]) || !strcasecmp(name, used[1]));
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

static void put_quoted_name(struct md_buf *out, const char *name)
{
	md_buf_putc(out, '`');
	for (; *name; name++) {
		if (*name == '`')
			md_buf_putc(out, '`');
		md_buf_putc(out, *name);
	}
	md_buf_putc(out, '`');
}

/* ---- tables ---- */

static const char *type_of(const struct md_type *t)
{
	static const char *const types[2][4] = {
		/* SQLite has no unsigned integers of 64 bits: large ones stay text there. */
		{ "TINYINT UNSIGNED", "SMALLINT UNSIGNED", "INT UNSIGNED", "/*!BIGINT UNSIGNED*/" },
		{ "TINYINT", "SMALLINT", "INT", "BIGINT" },
	};

	if (t->kind == MD_FLOAT)
		return "DOUBLE";
	/* An enumeration is its label. */
	if (t->kind != MD_INT)
		return TYPE_TEXT;
	return types[t->is_signed][t->size == 1 ? 0 : t->size == 2 ? 1 : t->size == 4 ? 2 : 3];
}

/* Adds a column; -1: no memory. */
static int64_t add_column(struct sql *q, struct table *t, const char *key, const char *type)
{
	struct column *more = realloc(t->columns, (t->count + 1) * sizeof(*more)), c;

	if (!more)
		return -1;
	t->columns = more;
	c = (struct column){ strdup(key), make_name(q, t, key), type };
	if (!c.key || !c.name) {
		free(c.key);
		free(c.name);
		return -1;
	}
	more[t->count] = c;
	return t->count++;
}

/*
 * The column of a context or a field: that of the same name of another class, or a new one. Classes
 * that differ in its type make it text. -1: no memory.
 */
static int64_t find_column(struct sql *q, struct table *t, const char *prefix,
			   const struct md_field *f)
{
	const char *type = type_of(&f->type);
	struct md_buf key = MD_BUF_INIT;
	int64_t result = -1;

	md_buf_puts(&key, prefix);
	md_name_field(f->name, &key);
	md_buf_str(&key);
	for (uint32_t i = COLUMNS_FIRST; !key.failed && i < t->count && result < 0; i++)
		if (!strcmp(t->columns[i].key, key.data))
			result = i;
	if (result >= 0 && strcmp(t->columns[result].type, type) != 0)
		t->columns[result].type = TYPE_TEXT;
	if (result < 0 && !key.failed)
		result = add_column(q, t, key.data, type);
	md_buf_deinit(&key);
	return result;
}

static struct table *find_table(struct sql *q, const char *event)
{
	struct table key = { .event = (char *)event }, **found, *t, **list;

	found = tfind(&key, &q->tables, compare_tables);
	if (found)
		return *found;
	t = calloc(1, sizeof(*t));
	list = realloc(q->list, (q->table_count + 1) * sizeof(struct table *));
	if (list)
		q->list = list;
	if (t) {
		t->event = strdup(event);
		t->name = make_name(q, NULL, event);
	}
	if (!t || !list || !t->event || !t->name ||
	    add_column(q, t, "time", "BIGINT") < 0 ||
	    add_column(q, t, "host", TYPE_TEXT) < 0 ||
	    add_column(q, t, "cpu", "INT UNSIGNED") < 0 ||
	    !tsearch(t, &q->tables, compare_tables)) {
		if (t)
			free_table(t);
		return NULL;
	}
	q->list[q->table_count++] = t;
	return t;
}

static struct shape *find_shape(struct sql *q, const struct row *r)
{
	struct shape key = { .stream = r->stream, .class = r->class }, **found;

	if (q->last && !compare_shapes(q->last, &key))
		return q->last;
	found = tfind(&key, &q->shapes, compare_shapes);
	if (found)
		q->last = *found;
	return found ? *found : NULL;
}

/* First run: finds the tables and columns. */
static void add_shape(void *arg, const struct row *r)
{
	struct sql *q = arg;
	uint32_t contexts = r->stream->context_count, count = contexts + r->class->field_count;
	struct shape *s;
	int64_t column = 0;

	if (find_shape(q, r))
		return;
	s = calloc(1, sizeof(*s) + count * sizeof(s->columns[0]));
	if (s) {
		*s = (struct shape){ r->stream, r->class, find_table(q, r->class->name) };
		for (uint32_t i = 0; s->table && i < count && column >= 0; i++) {
			column = i < contexts ? find_column(q, s->table, "context.",
							    &r->stream->context[i])
					      : find_column(q, s->table, "",
							    &r->class->fields[i - contexts]);
			s->columns[i] = (uint32_t)column;
		}
	}
	if (!s || !s->table || column < 0 || !tsearch(s, &q->shapes, compare_shapes)) {
		free(s);
		q->m->err = -ENOMEM;
		return;
	}
	q->most = s->table->count > q->most ? s->table->count : q->most;
}

/* ---- values ---- */

static bool is_plain(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f || s[i] == '\\')
			return false;
	return true;
}

static void put_text(struct md_buf *out, const char *s, size_t n)
{
	static const char digits[] = "0123456789ABCDEF";
	bool plain = is_plain(s, n);

	md_buf_puts(out, plain ? "'" : "CAST(X'");
	for (size_t i = 0; i < n; i++) {
		if (!plain)
			md_buf_putc(out, digits[(unsigned char)s[i] >> 4]);
		else if (s[i] == '\'')
			md_buf_putc(out, '\'');
		md_buf_putc(out, plain ? s[i] : digits[s[i] & 15]);
	}
	md_buf_puts(out, plain ? "'" : "' AS CHAR)");
}

/* A number that is no integer of 64 bits with a sign: quoted, so that SQLite keeps its digits. */
static bool is_large(struct json value)
{
	return value.n >= 19 && *value.p != '-' && !memchr(value.p, '.', value.n) &&
	       !memchr(value.p, 'e', value.n) &&
	       (value.n > 19 || memcmp(value.p, "9223372036854775807", 19) > 0);
}

static void put_value(struct sql *q, const struct column *c, struct json value)
{
	struct md_buf *out = &q->m->out;
	bool text = !strcmp(c->type, TYPE_TEXT);

	if (!value.n || *value.p == 'n' || (!text && json_is_string(value))) {
		md_buf_puts(out, "NULL");       /* "NaN" and the like are no numbers of SQL */
		return;
	}
	if (!text && !is_large(value)) {
		md_buf_put(out, value.p, value.n);
		return;
	}
	md_buf_reset(&q->text);
	if (json_is_string(value))
		json_characters(value, &q->text);
	else
		md_buf_put(&q->text, value.p, value.n);
	put_text(out, q->text.data, q->text.len);
	out->failed |= q->text.failed;
}

static void end_statement(struct sql *q)
{
	if (q->open)
		md_buf_puts(&q->m->out, ";\n");
	q->open = NULL;
}

/* Second run: writes the rows. */
static void add_row(void *arg, const struct row *r)
{
	struct sql *q = arg;
	struct md_buf *out = &q->m->out;
	const struct shape *s = find_shape(q, r);
	struct json name, value, contexts = r->context, fields = r->fields;
	uint32_t count = r->stream->context_count;
	size_t before;

	if (!s)
		return;
	memset(q->cells, 0, s->table->count * sizeof(*q->cells));
	q->cells[COLUMN_HOST] = r->host;
	/* The members of the objects are the contexts and fields, in their order. */
	for (uint32_t i = 0; i < count && json_member(&contexts, &name, &value); i++)
		q->cells[s->columns[i]] = json_label(&r->stream->context[i], value);
	for (uint32_t i = 0; i < r->class->field_count && json_member(&fields, &name, &value); i++)
		q->cells[s->columns[count + i]] = json_label(&r->class->fields[i], value);
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
	md_buf_printf(out, "(%llu,", (unsigned long long)r->time);
	put_value(q, &s->table->columns[COLUMN_HOST], r->host);
	md_buf_printf(out, ",%u", r->cpu);
	for (uint32_t i = COLUMNS_FIRST; i < s->table->count; i++) {
		md_buf_putc(out, ',');
		put_value(q, &s->table->columns[i], q->cells[i]);
	}
	md_buf_putc(out, ')');
	q->statement += out->len - before;
}

/* ---- the file ---- */

static void put_tables(struct sql *q)
{
	struct md_buf *out = &q->m->out;

	md_buf_puts(out, "/*!40101 SET NAMES utf8mb4 */;\n"
			 "CREATE TABLE trace_header (Major_Ver INT, Minor_Ver INT, Big_Endian INT, "
			 "Timing_Method INT, Bits_Width INT);\n"
			 "CREATE TABLE table_desc (table_name LONGTEXT, table_desc LONGTEXT)"
			 "/*! CHARACTER SET utf8mb4 */;\n");
	for (uint32_t i = 0; i < q->table_count; i++) {
		const struct table *t = q->list[i];

		md_buf_puts(out, "CREATE TABLE ");
		put_quoted_name(out, t->name);
		for (uint32_t c = 0; c < t->count; c++) {
			md_buf_puts(out, c ? ", " : " (");
			put_quoted_name(out, t->columns[c].name);
			md_buf_printf(out, " %s", t->columns[c].type);
		}
		md_buf_puts(out, ")/*! CHARACTER SET utf8mb4 */;\n");
	}
	/* LKET's version; gettimeofday */
	md_buf_puts(out, "BEGIN;\nINSERT INTO trace_header VALUES (1,1,0,2,64);\n");
	for (uint32_t i = 0; i < q->table_count; i++) {
		md_buf_puts(out, "INSERT INTO table_desc VALUES (");
		put_text(out, q->list[i]->name, strlen(q->list[i]->name));
		md_buf_putc(out, ',');
		md_buf_reset(&q->text);
		md_name_event(q->list[i]->event, &q->text);
		put_text(out, md_buf_str(&q->text), q->text.len);
		md_buf_puts(out, ");\n");
	}
}

void sql_make(struct maker *m)
{
	struct sql q = { .m = m };

	maker_run(m, false, add_shape, &q);
	q.cells = calloc(q.most + COLUMNS_FIRST, sizeof(*q.cells));
	if (!q.cells)
		m->err = -ENOMEM;
	put_tables(&q);
	if (!m->err)
		maker_run(m, true, add_row, &q);
	end_statement(&q);
	md_buf_puts(&m->out, "COMMIT;\n");
	tdestroy(q.shapes, free);
	tdestroy(q.tables, free_table);
	free(q.list);
	free(q.cells);
	md_buf_deinit(&q.text);
}
