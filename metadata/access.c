/* SPDX-License-Identifier: MIT */
#include "metadata/access.h"

#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "metadata/program.h"

/* ---- names ---- */

/* By the form that readers see. */
static int find_name(const struct md_field *fields, uint32_t count, const char *name, size_t len)
{
	struct md_buf wanted = MD_BUF_INIT, own = MD_BUF_INIT;
	char *copy = strndup(name, len);
	int found = -1;

	if (copy)
		md_name_field(copy, &wanted);
	for (uint32_t i = 0; copy && i < count && found < 0; i++) {
		md_buf_reset(&own);
		md_name_field(fields[i].name, &own);
		if (!wanted.failed && !own.failed &&
		    !strcmp(md_buf_str(&own), md_buf_str(&wanted)))
			found = (int)i;
	}
	free(copy);
	md_buf_deinit(&wanted);
	md_buf_deinit(&own);
	return found;
}

/* ---- routes ---- */

/* Bytes; above MD_FIXED_MAX: that depends on the event. */
static uint64_t fixed_size(const struct md_type *t)
{
	uint64_t sum = 0;

	switch (t->kind) {
	case MD_INT: case MD_ENUM: case MD_FLOAT:
		return t->size;
	case MD_ARRAY:
		return t->count * fixed_size(t->element);
	case MD_STRUCT:
		for (uint32_t i = 0; i < t->count && sum <= MD_FIXED_MAX; i++)
			sum += fixed_size(&t->members[i].type);
		return sum;
	default:
		return MD_FIXED_MAX + 1;
	}
}

/* Passes bytes of fixed size. False: no event is that long. */
static bool pass_bytes(struct md_route *r, uint64_t n)
{
	uint32_t *at = r->count ? &r->hops[r->count - 1].after : &r->at;

	if (n > MD_FIXED_MAX - *at)
		return false;
	*at += (uint32_t)n;
	return true;
}

static bool pass(struct md_route *r, struct md_hop hop)
{
	if (r->count == MD_HOPS_MAX)
		return false;
	r->hops[r->count++] = hop;
	return true;
}

/* Passes the fields before field `index`: one hop from the first one of no fixed size on. */
static bool pass_fields(struct md_route *r, const struct md_field *fields, uint32_t index)
{
	uint64_t size;

	for (uint32_t i = 0; i < index; i++) {
		size = fixed_size(&fields[i].type);
		if (size > MD_FIXED_MAX)
			return pass(r, (struct md_hop){ .fields = fields + i, .skip = index - i });
		if (!pass_bytes(r, size))
			return false;
	}
	return true;
}

static bool pass_elements(struct md_route *r, const struct md_type *t, uint32_t index)
{
	uint64_t size = fixed_size(t->element);

	if (t->kind == MD_ARRAY && index >= t->count)
		return false;
	if (t->kind == MD_ARRAY && size <= MD_FIXED_MAX)
		return pass_bytes(r, index * size);
	return pass(r, (struct md_hop){ .array = t, .skip = index });
}

/* Takes `.member` or `[index]` off the path. False: the type has no such part. */
static bool step(struct md_route *r, const char **path)
{
	const struct md_type *t = r->type;
	unsigned long n;
	char *end;
	size_t len;
	int i;

	if (**path == '[' && (t->kind == MD_ARRAY || t->kind == MD_SEQUENCE)) {
		n = strtoul(*path + 1, &end, 10);
		if (end == *path + 1 || *end != ']' || n > UINT32_MAX)
			return false;
		*path = end + 1;
		r->type = t->element;
		return pass_elements(r, t, (uint32_t)n);
	}
	if (**path != '.' || t->kind != MD_STRUCT)
		return false;
	len = strcspn(++*path, ".[");
	i = find_name(t->members, t->count, *path, len);
	*path += len;
	if (i < 0)
		return false;
	r->type = &t->members[i].type;
	return pass_fields(r, t->members, (uint32_t)i);
}

static bool begin(struct md_route *r, const struct md_field *fields, int index)
{
	if (index < 0 || !pass_fields(r, fields, (uint32_t)index))
		return false;
	r->type = &fields[index].type;
	return true;
}

/* Completes a route, or makes it one to no field. */
static bool finish(struct md_route *r, bool found)
{
	const struct md_type *t = r->type;

	if (!found)
		*r = (struct md_route){ 0 };
	else
		r->quick = !r->count && (t->kind == MD_INT || t->kind == MD_ENUM) &&
			   t->size == 4 && !t->bits && !t->big_endian;
	return found;
}

bool md_route_find(const struct md_stream *s, const struct md_event *e, const char *path,
		   struct md_route *r)
{
	bool context = *path == '$', found;
	const struct md_field *fields = context ? s->context : e->fields;
	uint32_t count = context ? s->context_count : e->field_count;
	size_t len;

	*r = (struct md_route){ .context = context };
	/* $app.PROVIDER:NAME is the whole name of its context. */
	if (!strncmp(path, "$ctx.", 5))
		path += 5;
	len = context ? strlen(path) : strcspn(path, ".[");
	found = begin(r, fields, find_name(fields, count, path, len));
	path += len;
	while (found && *path)
		found = step(r, &path);
	return finish(r, found);
}

bool md_route_context(const struct md_stream *s, int index, struct md_route *r)
{
	*r = (struct md_route){ .context = true };
	return finish(r, begin(r, s->context, index));
}

bool md_route_field(const struct md_event *e, int index, struct md_route *r)
{
	*r = (struct md_route){ 0 };
	return finish(r, begin(r, e->fields, index));
}

/* ---- values ---- */

/* The place after the hop; NULL: it is not in the event. */
static const uint8_t *jump(const struct md_hop *h, const uint8_t *p, const uint8_t *end)
{
	uint64_t n = h->skip;

	if (h->array) {
		p = md_elements(h->array, p, end, &n);
		p = p && h->skip < n ? md_skip_elements(h->array->element, h->skip, p, end) : NULL;
	}
	for (uint32_t i = 0; !h->array && p && i < h->skip; i++)
		p = md_skip(&h->fields[i].type, p, end);
	return p && h->after <= (size_t)(end - p) ? p + h->after : NULL;
}

bool md_access_value(const struct md_route *r, const struct md_occurrence *o, struct md_value *v)
{
	const uint8_t *p = r->context ? o->context : o->payload;
	const uint8_t *end = r->context ? o->payload : o->end;

	if (!r->type || r->at > (size_t)(end - p))
		return false;
	p += r->at;
	for (uint8_t i = 0; p && i < r->count; i++)
		p = jump(&r->hops[i], p, end);
	return p && md_cut(r->type, p, end, v) && v->p;
}

bool md_access_integer_slow(const struct md_route *r, const struct md_occurrence *o, uint64_t *n)
{
	struct md_value v;

	return md_access_value(r, o, &v) && md_value_integer(&v, n);
}

/* ---- processes ---- */

static bool is_number(const struct md_type *t)
{
	return t->kind == MD_INT || t->kind == MD_ENUM;
}

/* The context with this name; -1: there is none. */
static int find_context(const struct md_stream *s, const char *name)
{
	for (uint32_t i = 0; i < s->context_count; i++)
		if (!strcmp(s->context[i].name, name))
			return (int)i;
	return -1;
}

/* The number with the first name, else with the other one; -1: there is none. */
static int find_number(const struct md_stream *s, const char *name, const char *other)
{
	int i = find_context(s, name);

	if (i < 0 || !is_number(&s->context[i].type))
		i = find_context(s, other);
	return i >= 0 && is_number(&s->context[i].type) ? i : -1;
}

struct md_process md_access_process(const struct md_stream *s)
{
	struct md_process p = {
		.pid = find_number(s, "pid", "vpid"), .tid = find_number(s, "tid", "vtid"),
		.ppid = find_number(s, "ppid", "vppid"),
		.name = find_context(s, "procname"),
	};

	p.any = p.pid >= 0 ? p.pid : p.tid;
	return p;
}
