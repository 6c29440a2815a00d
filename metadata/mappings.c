/* SPDX-License-Identifier: MIT */
/* The mappings of an enumeration in the order in which babeltrace2 prints labels: see program.h. */
#include <stdlib.h>
#include <string.h>

#include "metadata/program.h"

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
