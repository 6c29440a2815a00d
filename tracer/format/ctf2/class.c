/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/format/ctf2/ctf2.h"

/* ---- structures ---- */

static void add_member(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	struct tsdl_member *m;

	ctf2_object(p, v, "name field-class ");
	t->members = tsdl_grow(p, t->members, t->count, sizeof(*t->members));
	if (p->failed)
		return;
	m = &t->members[t->count++];
	*m = (struct tsdl_member){ .name = ctf2_string(p, v, "name", true) };
	m->type = ctf2_class(p, v, "field-class");
	if (p->failed)
		return;
	t->empty = t->empty && m->type->empty;
	tsdl_contain(p, t, m->type);
}

static void read_structure(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	const struct json *list, *m;

	ctf2_object(p, v, "member-classes minimum-alignment ");
	t->kind = TSDL_STRUCT;
	t->empty = true;
	t->align = ctf2_alignment(p, v, "minimum-alignment");
	list = ctf2_get(p, v, "member-classes", JSON_ARRAY, false);
	for (m = list ? list->first : NULL; m && !p->failed; m = m->next)
		add_member(p, m, t);
	ctf2_unique(p, v, t->members, t->count);
}

/* ---- arrays ---- */

static void read_elements(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	t->align = ctf2_alignment(p, v, "minimum-alignment");
	t->element = ctf2_class(p, v, "element-field-class");
	if (p->failed)
		return;
	t->empty = t->at || !t->count || t->element->empty;
	tsdl_contain(p, t, t->element);
}

static void read_static_array(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	uint64_t n;

	ctf2_object(p, v, "element-field-class minimum-alignment length ");
	n = ctf2_number(p, v, "length", CTF2_REQUIRED);
	if (n > CTF2_LENGTH_MAX)
		CTF2_FAIL(p, v, "an array has more than %u elements" OWN_LIMIT2,
			  CTF2_LENGTH_MAX);
	t->kind = TSDL_ARRAY;
	t->count = (uint32_t)n;
	read_elements(p, v, t);
}

static void read_dynamic_array(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	ctf2_object(p, v, "element-field-class minimum-alignment length-field-location ");
	t->kind = TSDL_SEQUENCE;
	t->at = ctf2_location(p, v, "length-field-location");
	read_elements(p, v, t);
}

/* ---- optional fields and variants ---- */

static void read_optional(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	const struct json *ranges;

	ctf2_object(p, v, "field-class selector-field-location selector-field-ranges ");
	t->kind = TSDL_OPTIONAL;
	t->empty = true;
	t->at = ctf2_location(p, v, "selector-field-location");
	ranges = ctf2_get(p, v, "selector-field-ranges", JSON_ARRAY, false);
	if (ranges)
		t->ranges = ctf2_ranges(p, ranges);
	t->element = ctf2_class(p, v, "field-class");
	if (!p->failed)
		tsdl_contain(p, t, t->element);
}

static void add_option(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	const struct json *ranges;
	struct tsdl_member *m;
	char number[16];

	ctf2_object(p, v, "name field-class selector-field-ranges ");
	t->members = tsdl_grow(p, t->members, t->count, sizeof(*t->members));
	if (p->failed)
		return;
	m = &t->members[t->count];
	*m = (struct tsdl_member){ .name = ctf2_string(p, v, "name", false) };
	if (!m->name) {         /* the model has a name for each */
		snprintf(number, sizeof(number), "%u", t->count);
		m->name = tsdl_copy(p, number);
	}
	t->count++;
	ranges = ctf2_get(p, v, "selector-field-ranges", JSON_ARRAY, true);
	if (ranges)
		m->ranges = ctf2_ranges(p, ranges);
	m->type = ctf2_class(p, v, "field-class");
	if (p->failed)
		return;
	t->empty |= m->type->empty;
	tsdl_contain(p, t, m->type);
}

/* In the order of signed and unsigned numbers: large ones are not negative. */
static bool is_below(int64_t a, bool a_negative, int64_t b, bool b_negative)
{
	if (a_negative != b_negative)
		return a_negative;
	return (uint64_t)a < (uint64_t)b;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct tsdl_range *x = a, *y = b;

	return is_below(y->begin, y->negative, x->begin, x->negative) -
	       is_below(x->begin, x->negative, y->begin, y->negative);
}

/* Fails if a value would select two options. */
static void check_ranges(struct tsdl_parser *p, const struct json *v, const struct tsdl_type *t)
{
	struct tsdl_range *all;
	uint32_t n = 0;

	if (p->failed)          /* the members may be gone */
		return;
	for (uint32_t i = 0; i < t->count; i++)
		n += t->members[i].ranges.count;
	all = tsdl_alloc(p, (n + 1) * sizeof(*all));
	if (!all)
		return;
	n = 0;
	for (uint32_t i = 0; i < t->count; i++)
		for (uint32_t j = 0; j < t->members[i].ranges.count; j++)
			all[n++] = t->members[i].ranges.list[j];
	qsort(all, n, sizeof(*all), compare_ranges);
	for (uint32_t i = 1; i < n; i++) {
		const struct tsdl_range *a = &all[i - 1], *b = &all[i];
		bool ends_negative = a->negative && !a->large && a->end < 0;

		if (!is_below(a->end, ends_negative, b->begin, b->negative))
			CTF2_FAIL(p, v, "the ranges of a variant's options overlap"
				  IN_CTF2("5.3.23"));
	}
}

static void read_variant(struct tsdl_parser *p, const struct json *v, struct tsdl_type *t)
{
	const struct json *list, *m;

	ctf2_object(p, v, "options selector-field-location ");
	t->kind = TSDL_VARIANT;
	t->at = ctf2_location(p, v, "selector-field-location");
	list = ctf2_get(p, v, "options", JSON_ARRAY, true);
	for (m = list ? list->first : NULL; m && !p->failed; m = m->next)
		add_option(p, m, t);
	if (list && !list->count)
		CTF2_FAIL(p, list, "a variant has no options" IN_CTF2("5.3.23"));
	ctf2_unique(p, v, t->members, t->count);
	check_ranges(p, v, t);
}

/* ---- any class ---- */

static bool read_compound(struct tsdl_parser *p, const struct json *v, const char *type,
			  struct tsdl_type *t)
{
	if (!strcmp(type, "structure"))
		read_structure(p, v, t);
	else if (!strcmp(type, "static-length-array"))
		read_static_array(p, v, t);
	else if (!strcmp(type, "dynamic-length-array"))
		read_dynamic_array(p, v, t);
	else if (!strcmp(type, "optional"))
		read_optional(p, v, t);
	else if (!strcmp(type, "variant"))
		read_variant(p, v, t);
	else
		return false;
	return true;
}

/* The class that an alias names. */
static const struct tsdl_type *aliased(struct tsdl_parser *p, const struct json *v)
{
	const struct tsdl_type *t = tsdl_find_type(p, v->text);

	if (!t)
		CTF2_FAIL(p, v, "there is no field class alias '%.60s' before this"
			  IN_CTF2("5.5"), v->text);
	return t;
}

const struct tsdl_type *ctf2_class(struct tsdl_parser *p, const struct json *v, const char *name)
{
	const struct json *m = p->failed ? NULL : json_member(v, name), *type;
	struct tsdl_type *t;

	if (!p->failed && !m)
		CTF2_FAIL(p, v, "expected the property '%s'" IN_CTF2("5.3"), name);
	if (p->failed)
		return NULL;
	if (m->kind == JSON_STRING)
		return aliased(p, m);
	if (m->kind != JSON_OBJECT) {
		CTF2_FAIL(p, m, "expected a field class as '%s'" IN_CTF2("5.3"), name);
		return NULL;
	}
	type = ctf2_get(p, m, "type", JSON_STRING, true);
	t = tsdl_new_type(p, TSDL_INT);
	if (!type || !t)
		return NULL;
	if (p->nesting++ > TSDL_DEPTH_MAX)
		CTF2_FAIL(p, m, "field classes are nested more than %u times" OWN_LIMIT2,
			  TSDL_DEPTH_MAX);
	else if (!ctf2_scalar(p, m, type->text, t) && !read_compound(p, m, type->text, t))
		CTF2_FAIL(p, type, "there is no field class '%.60s'" IN_CTF2("5.3"), type->text);
	p->nesting--;
	return p->failed ? NULL : t;
}
