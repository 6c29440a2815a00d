/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of names: what a directory holds, and names as the tracer gives them. */
#include <stdlib.h>
#include <string.h>

#include "fs/tree/tree.h"

void listing_add(struct listing *l, const char *name, const struct tree_row *row, uint64_t salt)
{
	struct entry e = { .ino = node_ino(l->dir, name, salt),
			   .mode = row->mode,
			   .name = l->names.len };

	md_buf_put(&l->names, name, strlen(name) + 1);
	if (!l->names.failed)
		md_buf_put(&l->entries, &e, sizeof(e));
}

const char *names_next(struct md_buf *names, const char *p)
{
	const char *all = md_buf_str(names), *end = all + (names->failed ? 0 : names->len);

	p = p ? p + strlen(p) + 1 : all;
	while (p < end && !*p)
		p++;
	return p < end ? p : NULL;
}

void listing_add_all(struct listing *l, struct md_buf *names, const struct tree_row *row)
{
	for (const char *p = names_next(names, NULL); p; p = names_next(names, p))
		listing_add(l, p, row, 0);
}

bool names_have(struct md_buf *names, const char *name)
{
	for (const char *p = names_next(names, NULL); p; p = names_next(names, p))
		if (!strcmp(p, name))
			return true;
	return false;
}

static int compare_names(const void *a, const void *b, void *names)
{
	const struct entry *x = a, *y = b;

	return strcmp((const char *)names + x->name, (const char *)names + y->name);
}

void listing_sort(struct listing *l)
{
	if (l->entries.len)
		qsort_r(l->entries.data, listing_count(l), sizeof(struct entry), compare_names,
			l->names.data);
}

size_t listing_count(const struct listing *l)
{
	return l->entries.len / sizeof(struct entry);
}

const struct entry *listing_at(const struct listing *l, size_t i, const char **name)
{
	const struct entry *e = (const struct entry *)(const void *)l->entries.data + i;

	*name = l->names.data + e->name;
	return e;
}

void listing_deinit(struct listing *l)
{
	md_buf_deinit(&l->names);
	md_buf_deinit(&l->entries);
}
