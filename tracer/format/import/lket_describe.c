/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the events of LKET's files are called, and which fields they have. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/format/import/layout.h"
#include "tracer/format/import/lket.h"

#define DESCRIBED (1u << 20)    /* bytes of each file that may describe events */

enum { SYSTEM_FIELDS = 1, USER_FIELDS = 3, DESCRIPTION = 5 };

/* ---- descriptions ---- */

/* A name or a list of them. */
static bool is_text(const char *s)
{
	while (*s >= ' ' && *s <= '~')
		s++;
	return !*s;
}

const char *lket_string(const uint8_t **p, const uint8_t *end)
{
	const char *s = (const char *)*p;
	const uint8_t *nul = memchr(*p, 0, (size_t)(end - *p));

	if (nul)
		*p = nul + 1;
	return nul ? s : NULL;
}

/* "INT8" to "UINT64", "STRING". */
static bool set_type(const char *s, size_t n, struct md_type *t)
{
	bool is_signed = n && *s != 'U';
	char *end;
	unsigned long bits;

	if (n == 6 && !memcmp(s, "STRING", n)) {
		t->kind = MD_STRING;
		return true;
	}
	s += !is_signed;
	n -= !is_signed;
	if (n < 4 || memcmp(s, "INT", 3))
		return false;
	bits = strtoul(s + 3, &end, 10);
	if (end != s + n || (bits != 8 && bits != 16 && bits != 32 && bits != 64))
		return false;
	*t = (struct md_type){ .kind = MD_INT, .size = (uint8_t)(bits / 8),
			       .is_signed = is_signed };
	return true;
}

void lket_free_list(struct lket_list *l)
{
	layout_free_fields(l->fields, l->count);
	*l = (struct lket_list){ 0 };
}

/* Sets the fields of a list from types and names with colons. 0, -EINVAL or -ENOMEM. */
static int set_fields(struct import *im, struct lket_list *l, const char *types, const char *names)
{
	size_t count = 1;

	lket_free_list(l);
	for (const char *p = types; *p; p++)
		count += *p == ':';
	im->used += count * 512;
	if (im->used > LAYOUT_MEMORY_MAX)
		return -EINVAL;
	l->fields = calloc(count, sizeof(*l->fields));
	if (!l->fields)
		return -ENOMEM;
	for (; l->count < count; l->count++) {
		struct md_field *f = &l->fields[l->count];
		size_t type = strcspn(types, ":"), name = strcspn(names, ":");

		if (!name || !set_type(types, type, &f->type))
			return -EINVAL;
		f->name = strndup(names, name);
		if (!f->name)
			return -ENOMEM;
		types += type + (types[type] == ':');
		names += name + (names[name] == ':');
	}
	return 0;
}

/* An event of group 1. 0, -EINVAL or -ENOMEM. */
static int describe(struct lket_trace *t, const struct lket_event *e)
{
	const uint8_t *p = e->data + 2;
	unsigned int hook = lket_hook(e);
	const char *first, *second = NULL;
	struct lket_class *k;

	if (hook != SYSTEM_FIELDS && hook != USER_FIELDS && hook != DESCRIPTION)
		return 0;
	if (e->end - e->data < 2 || !(first = lket_string(&p, e->end)) ||
	    (hook != DESCRIPTION && !(second = lket_string(&p, e->end))) || !is_text(first) ||
	    (second && !is_text(second)))
		return -EINVAL;
	if (!t->groups[e->data[0]])
		t->groups[e->data[0]] = calloc(256, sizeof(*k));
	k = lket_find_kind(t, e->data[0], e->data[1]);
	if (!k)
		return -ENOMEM;
	if (hook != DESCRIPTION)
		return set_fields(t->im, &k->lists[hook == USER_FIELDS], first, second);
	free(k->name);
	k->name = strdup(first);
	return k->name ? 0 : -ENOMEM;
}

int lket_describe(struct lket_trace *t, const struct lket_file *f, struct tr_err *err)
{
	uint64_t left = f->file->size - f->begin;
	size_t n = left < DESCRIBED ? (size_t)left : DESCRIBED, at = 0;
	uint8_t *data = malloc(n + 1);
	int ret = data ? import_read(t->im, err, f->file, f->begin, data, n)
		       : tr_fail(err, -ENOMEM, "out of memory");

	while (!ret) {
		struct lket_event e;
		int size = lket_split(f, data + at, n - at, &e);

		/* What is not valid is an error where it is read. */
		if (size <= 0)
			break;
		ret = lket_group(&e) == LKET_DESCRIBES ? describe(t, &e) : 0;
		if (ret == -EINVAL)
			import_fail(t->im, err, f->file, f->begin + at,
				    "expected group, hook, and a name, or types (INT8 to INT64, "
				    "UINT8 to UINT64, STRING) and names");
		else if (ret)
			tr_fail(err, ret, "out of memory");
		at += (size_t)size;
	}
	free(data);
	return ret;
}

/* ---- the model ---- */

static int add_event(struct lket_trace *t, unsigned int group, unsigned int hook,
		     struct lket_class *k, struct tr_err *err)
{
	struct md_event *e;
	uint32_t count = k->lists[0].count + k->lists[1].count;
	char name[32];
	int ret;

	if (!k->name && !count)
		return 0;
	snprintf(name, sizeof(name), "group%u.hook%u", group, hook);
	e = md_event_create(k->name ? k->name : name, MD_LOGLEVEL_NONE, count);
	if (!e)
		return tr_fail(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < count; i++) {
		struct lket_list *l = &k->lists[i >= k->lists[0].count];

		e->fields[i] = l->fields[i - (l == k->lists ? 0 : k->lists[0].count)];
	}
	k->system = k->lists[0].count;
	for (int i = 0; i < 2; i++) {
		free(k->lists[i].fields);
		k->lists[i].fields = NULL;
	}
	k->lists[0].count = k->lists[1].count = 0;
	e->id = group << 8 | hook;
	ret = md_stream_add(t->class, e);
	if (!ret) {
		k->event = e;
		return 0;
	}
	tr_fail(err, ret,
		ret == -ENOMEM ? "out of memory" : "event %.80s: two fields have one name",
		e->name);
	md_event_destroy(e);
	return ret;
}

/* Each event has the numbers of the common data as its context. */
static bool set_contexts(struct md_stream *class)
{
	static const char *const names[] = { "tid", "pid", "ppid" };
	struct md_field *context = calloc(3, sizeof(*context));

	for (int i = 0; i < 3 && context; i++) {
		context[i].type = (struct md_type){ .kind = MD_INT, .size = 4, .is_signed = true };
		context[i].name = strdup(names[i]);
	}
	if (context && context[0].name && context[1].name && context[2].name &&
	    !md_stream_set_context(class, context, 3))
		return true;
	layout_free_fields(context, context ? 3 : 0);
	return false;
}

struct import_trace *lket_model(struct lket_trace *t, const char *dir, uint64_t hash,
				struct tr_err *err)
{
	uint8_t uuid[16] = { 0 };
	struct md_trace *md;
	int ret = 0;

	/* A reader needs a UUID, which is the same each time. */
	memcpy(uuid, &hash, sizeof(hash));
	md = md_trace_create(uuid);
	t->class = md ? md_stream_create(0, MD_HEADER_LARGE) : NULL;
	if (!t->class || !set_contexts(t->class) || md_trace_add(md, t->class)) {
		md_stream_destroy(t->class);
		md_trace_destroy(md);
		tr_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	t->class->ctf1 = true;  /* text as of a recording */
	for (unsigned int id = 0; id < 65535 && !ret; id++)
		if (t->groups[id >> 8])
			ret = add_event(t, id >> 8, id & 255, &t->groups[id >> 8][id & 255], err);
	if (ret) {
		md_trace_destroy(md);
		return NULL;
	}
	return import_add_trace(t->im, md, dir, true);
}
