/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why an event has no value in a map: the sentence beside `missing`, and what to write where events
 * are lost or left out.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "metadata/buf.h"
#include "metadata/name.h"
#include "tracer/base/base.h"
#include "tracer/view/map/map.h"

/* What the reason is about: an event, and one of the fields that its rule names. */
struct subject {
	const struct md_stream *class;
	const struct md_occurrence *o;
	const char *field;
};

static void say_no_field(const struct subject *s, char *out, size_t size)
{
	const struct md_event *e = s->o->event;
	size_t len = strcspn(s->field, ".[");
	struct md_buf names = MD_BUF_INIT;
	const char *near = NULL;

	for (uint32_t i = 0; i < e->field_count; i++) {
		md_name_field(e->fields[i].name, &names);
		md_buf_putc(&names, 0);
	}
	if (!names.failed)
		near = nearest_in(s->field, len, names.data, names.len);
	/* It may have the field, and not the part of it. */
	if (near && strlen(near) == len && !strncmp(near, s->field, len))
		near = NULL;
	snprintf(out, size, "'%.100s' has no field '%.60s'%s%.60s%s", e->name, s->field,
		 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	md_buf_deinit(&names);
}

/* False: the event has the value. */
static bool explain_one(const struct subject *s, bool number, char *out, size_t size)
{
	const char *event = s->o->event->name;
	struct md_route route;
	bool known = md_route_find(s->class, s->o->event, s->field, &route);
	struct map_value v = map_read(s->o, &route);

	if (!known && *s->field == '$')
		snprintf(out, size, "'%.100s' has no context '%.60s'", event, s->field);
	else if (!known)
		say_no_field(s, out, size);
	else if (v.kind == MAP_NOTHING && (number || !map_is_array(s->o, &route)))
		snprintf(out, size, "'%.60s' of '%.100s' is not there, or not a single value",
			 s->field, event);
	else if (number && isnan(map_number(&v)))
		snprintf(out, size, "'%.60s' of '%.100s' is no number", s->field, event);
	else
		return false;
	return true;
}

void map_explain(const struct map_rule *r, enum map_side side, const struct md_stream *class,
		 const struct md_occurrence *o, char *out, size_t size)
{
	bool found = false, first = side == MAP_SIDE_FIRST;
	struct subject s = { class, o, NULL };

	for (size_t i = 0; !found && i < r->on_count; i++) {
		s.field = r->on[side][i].text;
		found = explain_one(&s, false, out, size);
	}
	for (size_t i = 0; !found && i < r->by_count; i++) {
		s.field = map_field_path(&r->by[i]);
		found = r->by[i].first == first && !r->by[i].name &&
			explain_one(&s, false, out, size);
	}
	for (size_t i = 0; !found && i < r->op_count; i++) {
		if (!r->ops[i].field.text || r->ops[i].field.first != first)
			continue;
		s.field = map_field_path(&r->ops[i].field);
		found = explain_one(&s, true, out, size);
	}
	for (char *p = out; found && *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '_';       /* an event's name may have any byte */
}

/* The size of a buffer that a program could not map; 0: each was mapped. */
static uint64_t unmapped_bytes(const struct map *m)
{
	const struct channel *c;

	if (m->hidden)
		cds_list_for_each_entry(c, &m->hidden->channels, node)
			if (c->trouble.unmapped)
				return c->trouble.bytes;
	return 0;
}

void map_advise(const struct map *m, const struct map_rule *r, const struct map_state *st,
		struct md_buf *out)
{
	uint64_t unmapped = st->lost && !r->counts && !r->in_kernel ? unmapped_bytes(m) : 0;

	if (unmapped)
		md_buf_printf(out, "buffer_size: a program has no room for buffers of %" PRIu64
				   " bytes (the line `problem` names it): make them smaller\n",
			      unmapped);
	else if (st->lost && !r->counts && !r->in_kernel)
		md_buf_printf(out, "buffer_size: events came faster than they were taken: buffers "
				   "of more than %" PRIu64 " bytes for each CPU hold more\n",
			      m->buffer_size);
	if (st->left_out)
		md_buf_printf(out, "max_keys: events had keys beyond the first %" PRIu32
				   ", or beyond the memory for them\n",
			      m->max_keys);
}
