/* SPDX-License-Identifier: MIT */
/* The labels of enumerations and flags, as babeltrace2 orders them: see program.h, value.h. */
#include <stdlib.h>
#include <string.h>

#include "metadata/program.h"
#include "metadata/value.h"

static int compare_names(const void *a, const void *b)
{
	const struct md_sorted_mapping *x = a, *y = b;
	int order = strcmp(x->mapping->name, y->mapping->name);

	return order ? order : (x->place > y->place) - (x->place < y->place);
}

static int compare_labels(const void *a, const void *b)
{
	const struct md_sorted_mapping *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

struct md_sorted_mapping *md_sort_mappings(const struct md_type *t)
{
	struct md_sorted_mapping *e = calloc(t->count, sizeof(*e));
	uint32_t i;

	if (!e)
		return NULL;
	for (i = 0; i < t->count; i++) {
		e[i].mapping = &t->mappings[i];
		e[i].place = i;
	}
	qsort(e, t->count, sizeof(*e), compare_names);
	for (i = 0; i < t->count; i++)
		e[i].name = i && !strcmp(e[i].mapping->name, e[i - 1].mapping->name) ? e[i - 1].name
										     : e[i].place;
	qsort(e, t->count, sizeof(*e), compare_labels);
	return e;
}

/* ---- of one value ---- */

/* The place in mappings of the first one with the name of mapping i. */
static uint32_t first_of_name(const struct md_type *t, uint32_t i)
{
	uint32_t first = 0;

	while (first < i && strcmp(t->mappings[first].name, t->mappings[i].name) != 0)
		first++;
	return first;
}

/* Whether one of the bits of a flag is set. */
static bool has_bit(const struct md_mapping *m, uint64_t v)
{
	return (v & UINT64_MAX >> (63 - (m->end & 63))) >> (m->begin & 63) != 0;
}

/* The label of v after the one whose name is first at `after`, in the order of md_sort_mappings. */
static uint32_t next_label(const struct md_type *t, uint64_t v, int64_t after)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct md_mapping *m = &t->mappings[i];
		bool in = t->show == MD_SHOW_FLAGS ? has_bit(m, v)
			  : t->is_signed ? (int64_t)v >= m->begin && (int64_t)v <= m->end
					 : v >= (uint64_t)m->begin && v <= (uint64_t)m->end;
		uint32_t first = in ? first_of_name(t, i) : UINT32_MAX;

		if (first > after && first < found)
			found = first;
	}
	return found;
}

void md_put_labels(const struct md_type *t, uint64_t v,
		   void (*put)(const char *s, size_t n, struct md_buf *out), struct md_buf *out)
{
	int64_t after = -1;
	uint32_t i;

	while ((i = next_label(t, v, after)) != UINT32_MAX) {
		md_buf_puts(out, after >= 0 ? ", " : "");
		put(t->mappings[i].name, strlen(t->mappings[i].name), out);
		after = i;
	}
}

bool md_has_label(const struct md_type *t, uint64_t v)
{
	return next_label(t, v, -1) != UINT32_MAX;
}
