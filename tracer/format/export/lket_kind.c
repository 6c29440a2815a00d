// SPDX-License-Identifier: GPL-2.0-or-later
/* What LKET's files say of each event: see lket.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "metadata/number.h"
#include "tracer/base/array.h"
#include "tracer/format/export/lket.h"

#define GROUP_FIRST 128u        /* of kinds without a hook; LKET's groups are below */

static const char *const types[2][4] = { { "UINT8", "UINT16", "UINT32", "UINT64" },
					 { "INT8", "INT16", "INT32", "INT64" } };
static const char type_string[] = "STRING";

unsigned int lket_type_size(const char *type)
{
	size_t n = strcspn(type, "0123456789");

	return type[n] ? (unsigned int)atoi(type + n) / 8 : 0;
}

/* The constant of this name: columns do not own their types. */
static const char *find_type(const char *text, size_t len)
{
	for (int sign = 0; sign < 2; sign++)
		for (int i = 0; i < 4; i++)
			if (strlen(types[sign][i]) == len && !memcmp(types[sign][i], text, len))
				return types[sign][i];
	return type_string;
}

static const char *type_of(const struct md_type *t)
{
	if (t->kind != MD_INT && t->kind != MD_ENUM)
		return type_string;
	return types[t->is_signed][__builtin_ctz(md_int_size(t))];
}

/* ---- kinds ---- */

/* The index of a new column; -1: no memory. */
static int32_t add_column(struct lket_kind *k, const char *name, size_t len, const char *type)
{
	char *copy = strndup(name, len);

	if (!copy || !array_room(k->columns, k->count + 1)) {
		free(copy);
		return -1;
	}
	for (char *p = copy; *p; p++)
		*p = *p == ':' ? '_' : *p;
	k->columns[k->count] = (struct lket_column){ copy, type };
	return (int32_t)k->count++;
}

/* The fields that LKET's hook has: `fd:INT64 count:INT64`. False: no memory. */
static bool add_system(struct lket_kind *k, const char *fields)
{
	for (const char *p = fields; p && *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " "), name = strcspn(p, ": ");

		if (name < n &&
		    add_column(k, p, name, find_type(p + name + 1, n - name - 1)) < 0)
			return false;
		p += n;
	}
	k->system = k->count;
	return true;
}

static void free_kind(struct lket_kind *k)
{
	for (uint32_t i = 0; i < k->count; i++)
		free(k->columns[i].name);
	free(k->columns);
	free(k->name);
	free(k);
}

static struct lket_kind *add_kind(struct lket_kinds *all, const struct hook *h, const char *name,
				  int *err)
{
	struct lket_kind *k;

	*err = -ENOMEM;
	k = array_room(all->list, all->count + 1) ? calloc(1, sizeof(*k)) : NULL;
	if (!k)
		return NULL;
	k->name = strdup(name);
	if (!k->name || (h && !add_system(k, h->fields))) {
		free_kind(k);
		return NULL;
	}
	if (h) {
		k->group = (uint8_t)h->group;
		k->hook = (uint8_t)h->id;
	} else {
		/* Hooks are counted from 1. */
		all->next = all->next ? all->next + 1 : GROUP_FIRST << 8 | 1;
		all->next |= !(all->next & 0xff);
		k->group = (uint8_t)(all->next >> 8);
		k->hook = (uint8_t)all->next;
	}
	if (all->next >> 16) {
		free_kind(k);
		*err = -EOVERFLOW;
		return NULL;
	}
	return all->list[all->count++] = k;
}

static struct lket_kind *find_kind(struct lket_kinds *all, const struct md_event *class, int *err)
{
	const struct hook *h = lket_find_hook(class);
	struct md_buf text = MD_BUF_INIT;
	struct lket_kind *found = NULL;
	/* Hooks of users may have no numbers, or those of another. */
	bool numbered = h && h->group && h->group < GROUP_FIRST && h->id && h->id < 256;
	const char *name;

	if (!h)
		md_name_event(class->name, &text);
	name = h ? h->name : md_buf_str(&text);
	for (size_t i = 0; i < all->count && !found; i++) {
		if (!strcmp(all->list[i]->name, name))
			found = all->list[i];
		else if (numbered && all->list[i]->group == h->group && all->list[i]->hook == h->id)
			numbered = false;
	}
	if (!found)
		found = add_kind(all, numbered ? h : NULL, name, err);
	md_buf_deinit(&text);
	return found;
}

void lket_kinds_deinit(struct lket_kinds *k)
{
	for (size_t i = 0; i < k->count; i++)
		free_kind(k->list[i]);
	free(k->list);
}

/* ---- shapes ---- */

/* Whether a field of an event is what LKET calls so. */
static bool is_called(const char *lket, const char *field)
{
	static const char *const others[][2] = {
		{ "return", "ret" },           { "prev_pid", "prev_tid" },
		{ "next_pid", "next_tid" },    { "new_tid", "child_tid" },
		{ "new_pid", "child_pid" },    { "new_process_name", "filename" },
		{ "process_name", "name" },    { "netdev_name", "name" },
		{ "data_length", "len" },      { "memory_address", "address" },
		{ "buf_addr", "buf" },         { "buff_addr", "buf" },
		{ "vector_addr", "vec" },      { "offset", "pos" },
		{ "operation", "cmd" },        { "sigset", "nset" },
	};

	if (!strcmp(lket, field))
		return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(lket, others[i][0]) && !strcmp(field, others[i][1]))
			return true;
	return false;
}

/* The system column of a field that has none yet, else a user column; -1: no memory. */
static int32_t find_column(struct lket_kind *k, const struct lket_shape *s, const char *name,
			   const struct md_type *type, bool field)
{
	const char *own = type_of(type);

	for (uint32_t i = 0; i < k->system && field; i++)
		if ((i >= s->count || s->from[i] < 0) && is_called(k->columns[i].name, name) &&
		    (own != type_string || k->columns[i].type == type_string))
			return (int32_t)i;
	for (uint32_t i = k->system; i < k->count; i++)
		if (!strcmp(k->columns[i].name, name)) {
			if (k->columns[i].type != own)
				k->columns[i].type = type_string;
			return (int32_t)i;
		}
	return add_column(k, name, strlen(name), own);
}

/* Finds the columns of contexts and fields. False: no memory. */
static bool fill_shape(struct lket_kind *k, struct lket_shape *s, const struct row *r)
{
	uint32_t contexts = r->stream->context_count, count = contexts + r->class->field_count;
	struct md_buf name = MD_BUF_INIT;
	bool good = true;

	for (uint32_t i = 0; i < count && good; i++) {
		const struct md_field *f = i < contexts ? &r->stream->context[i]
							: &r->class->fields[i - contexts];
		int32_t column;

		if ((int)i == s->tid || (int)i == s->pid || (int)i == s->ppid)
			continue;
		md_buf_reset(&name);
		md_buf_puts(&name, i < contexts ? "context." : "");
		md_name_field(f->name, &name);
		column = find_column(k, s, md_buf_str(&name), &f->type, i >= contexts);
		good = column >= 0 && !name.failed;
		if (good) {
			s->from[column] = (int32_t)i;
			s->count = (uint32_t)column >= s->count ? (uint32_t)column + 1 : s->count;
		}
	}
	md_buf_deinit(&name);
	return good;
}

static int find_context(const struct row *r, const char *kernel, const char *user)
{
	int i = row_find(r->stream->context, r->stream->context_count, kernel);

	return i >= 0 ? i : row_find(r->stream->context, r->stream->context_count, user);
}

const struct lket_shape *lket_shape_of(struct lket_kinds *all, const struct row *r, int *err)
{
	struct lket_kind *k = *r->state ? NULL : find_kind(all, r->class, err);
	struct lket_shape *s;
	size_t room;

	if (*r->state || !k)
		return *r->state;
	room = k->count + (size_t)r->stream->context_count + r->class->field_count;
	s = malloc(sizeof(*s) + room * sizeof(s->from[0]));
	*err = -ENOMEM;
	if (!s)
		return NULL;
	*s = (struct lket_shape){ k, find_context(r, "tid", "vtid"), find_context(r, "pid", "vpid"),
				  find_context(r, "ppid", "vppid"), 0 };
	memset(s->from, 0xff, room * sizeof(s->from[0]));       /* -1 */
	if (!fill_shape(k, s, r)) {
		free(s);
		return NULL;
	}
	*err = 0;
	return *r->state = s;
}
