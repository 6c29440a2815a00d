/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why an event has no value in a map: the sentence beside `missing`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/buf.h"
#include "metadata/name.h"
#include "tracer/base/base.h"
#include "tracer/map/map.h"

/* What the reason is about: an event, and one of the fields that its rule names. */
struct subject {
	const struct md_stream *class;
	const struct md_occurrence *o;
	const char *field;
};

/* The field of the event whose name is nearest; "": none is near. The caller frees it. */
static char *nearest_field(const struct md_event *e, const char *text)
{
	const char **names = calloc(e->field_count + 1u, sizeof(*names));
	struct md_buf all = MD_BUF_INIT;
	const char *near = NULL, *at;
	char *copy;
	size_t len = strcspn(text, ".[");

	for (uint32_t i = 0; i < e->field_count; i++) {
		md_name_field(e->fields[i].name, &all);
		md_buf_putc(&all, 0);
	}
	at = md_buf_str(&all);
	for (uint32_t i = 0; names && !all.failed && i < e->field_count; i++) {
		names[i] = at;
		at += strlen(at) + 1;
	}
	if (names && !all.failed)
		near = nearest(text, len, names, e->field_count);
	/* It may have the field, and not the part of it. */
	if (near && strlen(near) == len && !strncmp(near, text, len))
		near = NULL;
	copy = strdup(near ? near : "");
	free(names);
	md_buf_deinit(&all);
	return copy;
}

static void say_no_field(const struct subject *s, char *out, size_t size)
{
	const struct md_event *e = s->o->event;
	char *near = *s->field == '$' ? NULL : nearest_field(e, s->field);

	if (*s->field == '$')
		snprintf(out, size, "'%.100s' has no context '%.60s'", e->name, s->field);
	else if (near && *near)
		snprintf(out, size, "'%.100s' has no field '%.60s'; did you mean '%.60s'?", e->name,
			 s->field, near);
	else
		snprintf(out, size, "'%.100s' has no field '%.60s'", e->name, s->field);
	free(near);
}

/* False: the event has the value. */
static bool explain_one(const struct subject *s, bool number, char *out, size_t size)
{
	const char *event = s->o->event->name;
	struct map_route route = map_find_route(s->class, s->o->event, s->field);
	struct map_value v;

	if (!route.count) {
		say_no_field(s, out, size);
		return true;
	}
	v = map_read(s->class, s->o, &route);
	if (v.kind == MAP_NOTHING)
		snprintf(out, size, "'%.60s' of '%.100s' has no value of its own", s->field, event);
	else if (number && isnan(map_number(&v)))
		snprintf(out, size, "'%.60s' of '%.100s' is no number", s->field, event);
	else
		return false;
	return true;
}

void map_explain(const struct map_rule *r, const struct md_stream *class,
		 const struct md_occurrence *o, char *out, size_t size)
{
	struct subject s = { class, o, NULL };
	bool found = false;

	for (size_t i = 0; !found && i < r->on_count; i++) {
		s.field = r->on[i].text;
		found = explain_one(&s, false, out, size);
	}
	for (size_t i = 0; !found && i < r->by_count; i++) {
		s.field = r->by[i].text;
		found = explain_one(&s, false, out, size);
	}
	for (size_t i = 0; !found && i < r->op_count; i++) {
		s.field = r->ops[i].field.text;
		found = s.field && explain_one(&s, true, out, size);
	}
	for (char *p = out; found && *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '_';       /* an event's name may have any byte */
}
