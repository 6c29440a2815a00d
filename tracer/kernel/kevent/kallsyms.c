/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/kernel/kevent/kevent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/buf.h"
#include "tracer/base/array.h"
#include "tracer/base/search.h"

#define SYMBOLS_MAX (4u << 20)
#define FAR (1u << 20)          /* bytes: longer than any function */

struct symbol {
	uint64_t address;       /* first, for search_above */
	uint32_t name;          /* in names; grows with the position in the file */
};

struct ksyms {
	struct symbol *symbols; /* sorted by address */
	size_t count;
	struct md_buf names;    /* each with a NUL */
};

/*
 * Parses `ffffffff81000000 T _stext`, for modules followed by `\t[module]`. False: not a function.
 */
static bool parse_line(char *line, uint64_t *address, char **name)
{
	char *end, *p;

	*address = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ')
		return false;
	p = end + 3;
	p[strcspn(p, " \t\n")] = '\0';
	*name = p;
	return *p && strlen(p) <= KSYMS_NAME_MAX;
}

static bool add_symbol(struct ksyms *s, uint64_t address, const char *name)
{
	if (!array_double(s->symbols, s->count))
		return false;
	s->symbols[s->count++] = (struct symbol){ address, (uint32_t)s->names.len };
	md_buf_put(&s->names, name, strlen(name) + 1);
	return !s->names.failed;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

struct ksyms *ksyms_load(const char *path)
{
	FILE *f = fopen(path, "re");
	struct ksyms *s = f ? calloc(1, sizeof(*s)) : NULL;
	char *line = NULL, *name;
	bool good = s != NULL;
	uint64_t address;
	size_t size = 0;

	while (good && s->count < SYMBOLS_MAX && getline(&line, &size, f) >= 0)
		if (parse_line(line, &address, &name) && address)
			good = add_symbol(s, address, name);
	free(line);
	if (f)
		fclose(f);
	if (!good || !s->count) {
		ksyms_free(s);
		return NULL;
	}
	qsort(s->symbols, s->count, sizeof(*s->symbols), compare_addresses);
	return s;
}

void ksyms_free(struct ksyms *s)
{
	if (!s)
		return;
	free(s->symbols);
	md_buf_deinit(&s->names);
	free(s);
}

const char *ksyms_find_at(const struct ksyms *s, uint64_t address, uint64_t *offset)
{
	size_t i = search_above(s->symbols, s->count, sizeof(*s->symbols), address);

	if (!i-- || address - s->symbols[i].address > FAR)
		return NULL;
	while (i && s->symbols[i - 1].address == s->symbols[i].address)
		i--;
	*offset = address - s->symbols[i].address;
	return s->names.data + s->symbols[i].name;
}

const char *ksyms_find(const struct ksyms *s, uint64_t address)
{
	uint64_t offset;
	const char *name = ksyms_find_at(s, address, &offset);

	return name ? name : "";
}

const char *ksyms_first(const struct ksyms *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->names.data + s->symbols[i].name, name))
			return ksyms_find(s, s->symbols[i].address);
	return NULL;
}

bool ksyms_readable(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[1024], *name;
	uint64_t address = 0;

	/* The first symbols of a kernel may be at address 0, but not the first thousand. */
	for (int i = 0; f && !address && i < 1000 && fgets(line, sizeof(line), f); i++)
		if (!parse_line(line, &address, &name))
			address = 0;
	if (f)
		fclose(f);
	return address != 0;
}
