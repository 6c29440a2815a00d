/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/maker/row.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/json.h"
#include "metadata/name.h"
#include "tracer/base/array.h"
#include "tracer/base/hash.h"

struct row_kind {
	const struct md_event *class;
	const struct md_stream *stream;
	void *state;
	struct text *names;     /* with their characters; owned */
	uint64_t first, order;  /* of the first event that was noted: its time; order 0: none */
	uint32_t seen;          /* the stream that noted it last */
	bool lent;              /* names and state are of other rows */
};

/* The names of the contexts and fields. NULL: no memory. */
static struct text *list_names(const struct md_event *class, const struct md_stream *stream)
{
	uint32_t contexts = stream->context_count, count = contexts + class->field_count;
	struct md_buf text = MD_BUF_INIT;
	struct text *names;
	size_t at = 0;

	for (uint32_t i = 0; i < count; i++) {
		md_name_put(i < contexts ? &stream->context[i] : &class->fields[i - contexts],
			    &text);
		md_buf_putc(&text, '\0');
	}
	names = text.failed ? NULL : malloc(count * sizeof(*names) + text.len + 1);
	for (uint32_t i = 0; names && i < count; i++) {
		names[i].p = (char *)(names + count) + at;
		names[i].n = strlen(strcpy((char *)(names + count) + at, text.data + at));
		at += names[i].n + 1;
	}
	md_buf_deinit(&text);
	return names;
}

/* What is known about these classes; NULL: no memory. */
static struct row_kind *find_kind(struct event_rows *rows, const struct md_event *class,
				  const struct md_stream *stream)
{
	struct row_kind *k = rows->last;
	struct text *names;
	uint64_t hash;

	/* Most events have the classes of the event before. */
	if (k && k->class == class && k->stream == stream)
		return k;
	hash = hash_step(hash_step(HASH_START, (uintptr_t)class), (uintptr_t)stream);
	for (uint32_t at = 0, i; (i = hash_find(&rows->table, hash, &at)) != HASH_NONE;) {
		k = &rows->kinds[i];
		if (k->class == class && k->stream == stream)
			return rows->last = k;
	}
	names = list_names(class, stream);
	if (!names || !array_double(rows->kinds, rows->table.count) ||
	    !hash_add(&rows->table, hash)) {
		free(names);
		return NULL;
	}
	k = &rows->kinds[rows->table.count - 1];
	*k = (struct row_kind){ .class = class, .stream = stream, .names = names };
	return rows->last = k;
}

int rows_note(struct event_rows *rows, const struct cursor *c, uint32_t stream, uint32_t *count)
{
	struct row_kind *k = find_kind(rows, c->o.event, c->stream.class);

	if (!k)
		return -ENOMEM;
	*count += k->seen != stream;
	k->seen = stream;
	if (!k->order || c->o.ts < k->first) {
		k->first = c->o.ts;
		k->order = ++rows->noted;
	}
	return 0;
}

static int compare_first(const void *a, const void *b)
{
	const struct row_kind *x = *(struct row_kind *const *)a, *y = *(struct row_kind *const *)b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

int rows_classes(struct event_rows *rows, void (*add)(void *arg, const struct row *r), void *arg)
{
	struct row_kind **list = calloc(rows->table.count + 1, sizeof(*list));
	size_t n = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < rows->table.count; i++)
		if (rows->kinds[i].order)
			list[n++] = &rows->kinds[i];
	qsort(list, n, sizeof(*list), compare_first);
	for (size_t i = 0; i < n; i++) {
		const struct row r = { .class = list[i]->class, .stream = list[i]->stream,
				       .names = list[i]->names, .state = &list[i]->state };

		add(arg, &r);
	}
	free(list);
	return 0;
}

static int read_json(struct event_rows *rows, const struct md_occurrence *o, struct row *r)
{
	struct md_json_parts at;
	const char *line;

	md_buf_reset(&rows->json);
	if (!md_json_parts(o, r->stream, &rows->json, &at))
		return rows->json.failed ? -ENOMEM : 0;
	line = rows->json.data;
	r->context_json = (struct text){ line + at.context, at.context_end - at.context };
	r->fields_json = (struct text){ line + at.fields, at.fields_end - at.fields };
	return 0;
}

int rows_read(struct event_rows *rows, const struct cursor *c, enum row_needs needs, struct row *r)
{
	const struct md_occurrence *o = &c->o;
	const struct md_stream *s = c->stream.class;
	size_t count = s->context_count + (size_t)o->event->field_count;
	struct row_kind *kind = find_kind(rows, o->event, s);
	struct md_value *v;

	if (!kind)
		return -ENOMEM;
	*r = (struct row){ .cpu = c->stream.cpu, .host = c->host, .class = o->event, .stream = s,
			   .occurrence = o, .cursor = c, .names = kind->names,
			   .state = &kind->state };
	if (needs == ROW_CLASSES)
		return 0;
	if (count > rows->room) {
		v = realloc(rows->values, 2 * count * sizeof(*v));
		if (!v)
			return -ENOMEM;
		rows->values = v;
		rows->room = 2 * count;
	}
	v = rows->values;
	r->context = v;
	r->fields = v + s->context_count;
	r->torn = !md_values_cut(s->context, s->context_count, o->context, o->payload, v) ||
		  !md_values_cut(o->event->fields, o->event->field_count, o->payload, o->end,
				 v + s->context_count);
	return needs == ROW_JSON && !r->torn ? read_json(rows, o, r) : 0;
}

int rows_lend(const struct event_rows *from, struct event_rows *to)
{
	*to = (struct event_rows){ 0 };
	if (!from->table.count)
		return 0;
	/* As large as array_double() expects it. */
	for (uint32_t i = 0; i < from->table.count; i++)
		if (!array_double(to->kinds, i))
			return -ENOMEM;
	if (!hash_copy(&from->table, &to->table))
		return -ENOMEM;
	for (uint32_t i = 0; i < to->table.count; i++) {
		to->kinds[i] = from->kinds[i];
		to->kinds[i].lent = true;
	}
	return 0;
}

void rows_deinit(struct event_rows *rows)
{
	for (uint32_t i = 0; i < rows->table.count; i++) {
		if (rows->kinds[i].lent)
			continue;
		free(rows->kinds[i].state);
		free(rows->kinds[i].names);
	}
	free(rows->kinds);
	hash_deinit(&rows->table);
	free(rows->values);
	md_buf_deinit(&rows->json);
}

void lost_values(const struct lost *l, struct lost_value values[LOST_VALUES])
{
	bool packets = l->loss.kind == MD_LOSS_PACKETS;
	const struct lost_value list[LOST_VALUES] = {
		{ "events", NULL, packets ? 0 : l->loss.count },
		{ "packets", NULL, packets ? l->loss.count : 0 },
		{ "kind", md_loss_kind_name(l->loss.kind), 0 },
		{ "channel", l->stream.channel, 0 },
		{ "stream", l->stream.name, 0 },
		{ "trace", l->stream.trace, 0 },
		{ "time_from", NULL, l->loss.from },
		{ "time_to", NULL, l->loss.to },
	};

	memcpy(values, list, sizeof(list));
}

/* Integers that system calls and programs have without a base, although they are addresses. */
static bool is_address(const struct md_field *f)
{
	static const char *const names[] = { "addr", "address", "baddr", "brk", "call_site", "ip",
					     "ptr" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (f->type.kind == MD_INT && f->type.size == 8 && !strcmp(f->name, names[i]))
			return true;
	return false;
}

static bool is_hex(const struct md_type *t)
{
	return t && t->kind == MD_INT && t->base == 16;
}

enum row_shown row_shown(const struct md_event *class, const struct md_field *f)
{
	const struct md_type *t = &f->type;

	bool list = (t->kind == MD_ARRAY || t->kind == MD_SEQUENCE) && t->show != MD_SHOW_BLOB;

	if (is_hex(t) || is_address(f) || (list && is_hex(t->element)))
		return ROW_SHOWN_HEX;
	/* The kernel's own form of a device: 12 and 20 bits. */
	if (t->kind == MD_INT && !strcmp(f->name, "dev") && !strchr(class->name, ':'))
		return ROW_SHOWN_DEVICE;
	return ROW_SHOWN_PLAIN;
}

static void put_hex(uint64_t n, const struct md_type *t, struct md_buf *out)
{
	md_buf_printf(out, "\"0x%" PRIx64 "\"", row_unsigned(n, t));
}

void row_put_device(uint64_t dev, struct md_buf *out)
{
	md_buf_printf(out, "%u:%u", (unsigned int)(dev >> 20 & 0xfff),
		      (unsigned int)(dev & 0xfffff));
}

void row_put_shown(const struct md_value *v, enum row_shown shown, struct md_buf *out)
{
	uint64_t n;

	if (shown == ROW_SHOWN_DEVICE && md_value_integer(v, &n)) {
		md_buf_putc(out, '"');
		row_put_device(n, out);
		md_buf_putc(out, '"');
	} else if (shown == ROW_SHOWN_HEX && md_value_integer(v, &n)) {
		put_hex(n, v->type, out);
	} else if (shown == ROW_SHOWN_HEX && md_value_integers(v, &n)) {
		md_buf_putc(out, '[');
		for (uint64_t i = 0; i < n; i++) {
			md_buf_puts(out, i ? "," : "");
			put_hex(md_value_element(v, i), v->type->element, out);
		}
		md_buf_putc(out, ']');
	} else {
		md_value_json(v, out);
	}
}

int row_find(const struct md_field *fields, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(fields[i].name, name))
			return (int)i;
	return -1;
}

int64_t row_number(const struct md_value *values, int i)
{
	uint64_t n;

	return i >= 0 && md_value_integer(&values[i], &n) ? (int64_t)n : -1;
}

/* ---- columns ---- */

static void free_column(struct table_column *c)
{
	free(c->name);
	free(c->shown);
	free(c);
}

static struct table_column *find_column(struct columns *v, const char *name, int type)
{
	uint64_t hash = hash_string(HASH_START, name);
	struct table_column *c;

	for (uint32_t at = 0, i; (i = hash_find(&v->table, hash, &at)) != HASH_NONE;)
		if (!strcmp(v->all[i]->name, name))
			return v->all[i];
	c = array_double(v->all, v->table.count) ? calloc(1, sizeof(*c)) : NULL;
	if (!c)
		return NULL;
	c->number = v->table.count;
	c->type = type;
	c->name = strdup(name);
	if (!c->name || !hash_add(&v->table, hash)) {
		free_column(c);
		return NULL;
	}
	return v->all[c->number] = c;
}

struct table_column *columns_find(struct columns *v, const struct row *r, uint32_t i, int type)
{
	struct table_column *c;

	md_buf_reset(&v->text);
	md_buf_puts(&v->text, i < r->stream->context_count ? "context." : v->bare ? "" : "fields.");
	md_buf_put(&v->text, r->names[i].p, r->names[i].n);
	md_buf_str(&v->text);
	c = v->text.failed ? NULL : find_column(v, v->text.data, type);
	if (c && c->type != type)
		c->type = v->mixed;
	return c;
}

void columns_deinit(struct columns *v)
{
	for (uint32_t i = 0; v->all && i < v->table.count; i++)
		free_column(v->all[i]);
	free(v->all);
	hash_deinit(&v->table);
	md_buf_deinit(&v->text);
}
