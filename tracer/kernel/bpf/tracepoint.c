// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/bpf/tracepoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/probe/event_field.h"

static const struct known {
	const char *name;               /* SYSTEM:EVENT */
	const char *fields;             /* NAME = EXPRESSION; … */
} known[] = {
#define EVENT(name, fields) { name, fields },
#include "tracer/kernel/bpf/tracepoints.def"
#undef EVENT
};

static const struct known *find_known(const char *system, const char *event)
{
	size_t len = strlen(system);

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(known[i].name, system, len) && known[i].name[len] == ':' &&
		    !strcmp(known[i].name + len + 1, event))
			return &known[i];
	return NULL;
}

/* The expression of a field; NULL: the table has none. */
static const char *find_expression(const char *fields, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = fields; *p; p += *p == ';') {
		p += strspn(p, " ");
		if (!strncmp(p, name, len) && !strncmp(p + len, " = ", 3))
			return p + len + 3;
		p += strcspn(p, ";");
	}
	return NULL;
}

uint32_t bpf_tracepoint_type(const struct btf *types, const char *name, uint32_t *proto)
{
	char text[EVENT_FIELD_WORD_MAX * 2];
	int len = snprintf(text, sizeof(text), "btf_trace_%s", name);
	uint32_t type = len < (int)sizeof(text) ? btf_typedef(types, text, (size_t)len) : 0;
	struct btf_type t = btf_classify(types, type);

	*proto = t.class == BTF_POINTER ? t.id : 0;
	return *proto && btf_param_count(types, *proto) ? type : 0;
}

/* Whether the value is what the field has. */
static bool agrees(const struct bpf_field *f, bool is_signed)
{
	const struct btf_type *t = &f->value.type;

	switch (f->kind) {
	case BPF_FIELD_TEXT:
		/* (A number has the letters, in their order.) */
		return t->class == BTF_TEXT || t->class == BTF_POINTER ||
		       (t->class == BTF_NUMBER && !f->value.plain && f->size >= 8);
	case BPF_FIELD_STRING:
		return t->class == BTF_TEXT || t->class == BTF_POINTER;
	case BPF_FIELD_USER_STRING:
		return t->class == BTF_NUMBER || t->class == BTF_POINTER;
	default:
		if (t->class == BTF_POINTER)
			return f->size == 8;
		return t->class == BTF_NUMBER &&
		       (!f->value.plain || (t->size == f->size && t->is_signed == is_signed));
	}
}

static int add(struct bpf_tracepoint *t, const struct btf *types, uint32_t proto,
	       const struct bpf_field *like, bool is_signed, const char *expression)
{
	struct bpf_field *f = &t->fields[t->count];

	if (t->count == BPF_TRACEPOINT_FIELDS)
		return -ENOENT;
	*f = *like;
	if (bpf_expression_parse(expression, types, proto, &f->value) || !agrees(f, is_signed))
		return -ENOENT;
	t->count++;
	t->needs_pages |= f->value.needs_pages;
	t->strings += f->kind == BPF_FIELD_STRING || f->kind == BPF_FIELD_USER_STRING;
	return 0;
}

int bpf_tracepoint_add(struct bpf_tracepoint *t, const struct btf *types, uint32_t proto,
		       const struct bpf_field *like, const char *expression)
{
	return add(t, types, proto, like, false, expression);
}

/* False: no program makes such a field. */
static bool set_kind(const struct event_field *from, struct bpf_field *f)
{
	bool is_string = !strcmp(from->type, "__data_loc char[]");

	f->kind = is_string ? BPF_FIELD_STRING : from->is_text ? BPF_FIELD_TEXT : BPF_FIELD_NUMBER;
	f->size = (uint8_t)from->size;
	f->offset = (uint16_t)from->offset;
	if (from->size > 64 || from->offset > INT16_MAX || from->is_array)
		return false;
	return from->is_text || from->size == 1 || from->size == 2 || from->size == 4 ||
	       from->size == 8;
}

/* An array, 8 bytes at a time, and less at its end: NAME.0 = the first ones, NAME.1 = the next … */
static int add_array(struct bpf_tracepoint *t, const struct btf *types, uint32_t proto,
		     const struct event_field *from, const char *fields)
{
	struct bpf_field f = { .kind = BPF_FIELD_NUMBER };
	char name[EVENT_FIELD_WORD_MAX + 12];
	const char *expression;
	int ret = 0;

	for (unsigned int at = 0; at < from->size && !ret; at += f.size) {
		unsigned int rest = from->size - at;

		f.size = rest >= 8 ? 8 : rest >= 4 ? 4 : rest >= 2 ? 2 : 1;
		f.offset = (uint16_t)(from->offset + at);
		snprintf(name, sizeof(name), "%s.%u", from->name, at / 8);
		expression = find_expression(fields, name);
		ret = expression ? add(t, types, proto, &f, false, expression) : -ENOENT;
	}
	return ret;
}

static int add_fields(struct bpf_tracepoint *t, const struct btf *types, uint32_t proto,
		      const char *fields, const char *format)
{
	struct event_field from;
	const char *expression;
	struct bpf_field f;
	int ret = 0;

	while (!ret && (format = event_field_next(format, &from))) {
		memset(&f, 0, sizeof(f));
		expression = find_expression(fields, from.name);
		if (from.is_array && from.offset <= 256 && from.size <= 64)
			ret = add_array(t, types, proto, &from, fields);
		else if (expression && set_kind(&from, &f))
			ret = add(t, types, proto, &f, from.is_signed, expression);
		else
			ret = -ENOENT;
	}
	return ret;
}

bool bpf_tracepoint_known(const char *system, const char *event)
{
	return find_known(system, event);
}

int bpf_tracepoint_find(const struct btf *types, const char *system, const char *event,
			const char *format, struct bpf_tracepoint **out)
{
	const struct known *k = find_known(system, event);
	struct bpf_tracepoint *t;
	uint32_t proto;
	int ret;

	if (!k)
		return -ENOENT;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->hook = (struct bpf_hook){ bpf_tracepoint_type(types, event, &proto), BPF_TRACE_RAW_TP };
	ret = t->hook.type ? add_fields(t, types, proto, k->fields, format) : -ENOENT;
	if (ret)
		free(t);
	else
		*out = t;
	return ret;
}

const struct bpf_field *bpf_tracepoint_number(const struct bpf_tracepoint *t, uint32_t offset)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->fields[i].kind == BPF_FIELD_NUMBER && t->fields[i].offset == offset)
			return &t->fields[i];
	return NULL;
}

void bpf_tracepoint_set_pages(struct bpf_tracepoint *t, uint64_t pages)
{
	for (uint32_t i = 0; i < t->count; i++)
		t->fields[i].value.pages = pages;
}
