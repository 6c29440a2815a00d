/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of an ELF file whose names match a pattern: see probe/elf_symbol.h. */
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/base.h"
#include "tracer/base/probe/elf_file.h"
#include "tracer/base/probe/elf_symbol.h"

enum { NAME_BYTES_MAX = 1000, MATCHES_MAX = 1 << 18 };
/* Bytes of names times bytes of the pattern: some seconds. */
static const uint64_t comparisons_max = 1ull << 33;

struct match {
	const char *name;       /* in the table; ends with a NUL or a version */
	uint64_t value;
	uint32_t len;
	uint8_t bind;           /* 2: global, 1: weak */
};

struct matches {
	const char *pattern;
	bool returns;
	bool thumb;             /* a function of Thumb instructions was left out */
	struct match *list;
	size_t count;
	uint64_t compared;
};

/*
 * Functions that look at their return address, move it, or are entered without one: the kernel
 * replaces it while a return is awaited.
 */
static bool needs_return_address(const char *name)
{
	static const char *const patterns[] = {
		"_start", "_dl_start*", "*_rt_sigreturn", "*__restore", "*__restore_rt",
		"*setjmp", "*sigsetjmp", "*longjmp", "*getcontext", "*setcontext", "*swapcontext",
		"*__start_context", "*vfork", "_dl_runtime_*", "_dl_tlsdesc_*", "__morestack*",
		"_Unwind_*", "__cxa_throw", "__cxa_rethrow", "*backtrace",
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (glob_match(patterns[i], name))
			return true;
	return false;
}

/*
 * The kernel replaces the return address on the stack, so what walks the stack gets stuck there: an
 * exception ends the program, and Go's runtime aborts when it moves a stack. A rule on one function
 * is its user's choice; a pattern would take functions that throw by accident.
 */
static const char *find_unwinder(struct elf_view *v)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	struct elf_symbol s;
	struct elf_table t;
	const char *found = elf_view_section(v, ".gopclntab") ? "a runtime that moves stacks (Go)"
							       : NULL;

	for (int i = 0; i < 2 && !found; i++) {
		if (elf_table_open(&t, v, types[i], NULL))
			continue;
		for (uint64_t n = 0; n < t.count && !found && elf_view_symbol(v, t.symbols, n, &s);
		     n++) {
			const char *name = elf_table_name(&t, s.name);

			if (begins_with(name, "__gxx_personality_v0") ||
			    begins_with(name, "rust_eh_personality"))
				found = "exceptions";
		}
		elf_table_close(&t);
	}
	return found;
}

/* The length of a name that a rule can have, without a version; 0: none can. */
static uint32_t measure_name(const char *name)
{
	uint32_t n = 0;

	while (n <= NAME_BYTES_MAX && (isalnum((unsigned char)name[n]) || name[n] == '_' ||
				       name[n] == '.' || name[n] == '$'))
		n++;
	return n > NAME_BYTES_MAX || (name[n] && name[n] != '@') || isdigit((unsigned char)*name)
		       ? 0 : n;
}

static bool is_wanted(const struct matches *m, const char *name, uint32_t len)
{
	char text[NAME_BYTES_MAX + 1];

	memcpy(text, name, len);
	text[len] = '\0';
	return glob_match(m->pattern, text) && !(m->returns && needs_return_address(text));
}

static int collect_matches(const struct elf_table *t, struct matches *m)
{
	struct elf_symbol s;

	for (uint64_t i = 0; i < t->count; i++) {
		const char *name;
		uint32_t len;
		uint8_t bind;

		if (!elf_view_symbol(t->v, t->symbols, i, &s))
			break;
		name = elf_table_name(t, s.name);
		bind = ELF64_ST_BIND(s.info);
		if (ELF64_ST_TYPE(s.info) != STT_FUNC || !s.size || s.section == SHN_UNDEF ||
		    !(len = measure_name(name)) || elf_view_offset(t->v, s.value, true) < 0)
			continue;
		m->compared += len * (strlen(m->pattern) + 1);
		if (m->compared > comparisons_max)
			return -EFBIG;
		if (!is_wanted(m, name, len))
			continue;
		if (elf_view_is_thumb(t->v, &s)) {
			m->thumb = true;
			continue;
		}
		if (m->count == MATCHES_MAX)
			return -EFBIG;
		if (!array_double(m->list, m->count))
			return -ENOMEM;
		m->list[m->count++] = (struct match){
			name, s.value, len, bind == STB_GLOBAL ? 2 : bind == STB_WEAK
		};
	}
	return 0;
}

static int compare_names(const struct match *a, const struct match *b)
{
	int c = memcmp(a->name, b->name, a->len < b->len ? a->len : b->len);

	return c ? c : (a->len > b->len) - (a->len < b->len);
}

/* By place; of one place, the best name first. */
static int compare_places(const void *a, const void *b)
{
	const struct match *x = a, *y = b;
	size_t under_x = strspn(x->name, "_"), under_y = strspn(y->name, "_");

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	if (under_x != under_y)
		return under_x < under_y ? -1 : 1;
	return x->bind != y->bind ? y->bind - x->bind : compare_names(x, y);
}

static int compare_by_name(const void *a, const void *b)
{
	const struct match *x = a, *y = b;
	int c = compare_names(x, y);

	return c ? c : (x->value > y->value) - (x->value < y->value);
}

static void keep_one_name(struct matches *m)
{
	size_t kept = 0;

	if (m->count)
		qsort(m->list, m->count, sizeof(*m->list), compare_places);
	for (size_t i = 0; i < m->count; i++)
		if (!kept || m->list[kept - 1].value != m->list[i].value)
			m->list[kept++] = m->list[i];
	m->count = kept;
}

/* There is at least one. */
static int copy_matches(struct elf_view *v, struct matches *m, struct elfsym_functions *out)
{
	out->list = calloc(m->count, sizeof(*out->list));
	if (!out->list)
		return -ENOMEM;
	qsort(m->list, m->count, sizeof(*m->list), compare_by_name);
	for (size_t i = 0; i < m->count; i++) {
		const struct match *at = &m->list[i];
		struct elfsym_function *f = &out->list[out->count++];

		f->name = strndup(at->name, at->len);
		if (!f->name)
			return -ENOMEM;
		f->address = at->value;
		f->offset = (uint64_t)elf_view_offset(v, at->value, true);
		f->shared = (i && !compare_names(at, at - 1)) ||
			    (i + 1 < m->count && !compare_names(at, at + 1));
	}
	return 0;
}

static int find_functions(struct elf_view *v, struct matches *m, size_t max,
			  struct elfsym_functions *out, struct tr_err *err)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	struct elf_table t;
	int ret = 0;

	for (int i = 0; i < 2 && !ret && !out->count; i++) {
		ret = elf_table_open(&t, v, types[i], err);
		if (ret == -ENOENT) {
			ret = 0;
			continue;
		}
		if (ret)
			return ret;
		ret = collect_matches(&t, m);
		keep_one_name(m);
		if (!ret && m->count > max)
			ret = tr_fail(err, -E2BIG, "%zu functions of the file match '%s', and a "
				      "rule has at most %zu: write more of their names", m->count,
				      m->pattern, max);
		else if (ret == -EFBIG)
			tr_fail(err, ret, "too many functions of the file match '%s': write more "
				"of their names", m->pattern);
		else if (!ret && m->count)
			ret = copy_matches(v, m, out);
		elf_table_close(&t);
		m->count = 0;
	}
	if (!ret && !out->count && m->thumb)
		ret = tr_fail(err, -EOPNOTSUPP,
			      "all functions of the file that match '%s' have Thumb instructions, "
			      "which the kernel does not probe",
			      m->pattern);
	else if (!ret && !out->count)
		ret = tr_fail(err, -ENOENT, "the file has no function that matches '%s'%s",
			      m->pattern,
			      elf_view_section_of(v, SHT_SYMTAB)
				      ? ""
				      : " among the names it exports; the others are stripped");
	return ret == -ENOMEM ? tr_fail(err, ret, "no memory for the functions of the file") : ret;
}

int elfsym_functions(int fd, const char *pattern, bool returns, size_t max,
		     struct elfsym_functions *out, struct tr_err *err)
{
	struct matches m = { .pattern = pattern, .returns = returns };
	const char *unwinder;
	struct elf_view v;
	int ret;

	*out = (struct elfsym_functions){ 0 };
	ret = elf_view_open(&v, fd, err);
	if (ret)
		return ret;
	unwinder = returns ? find_unwinder(&v) : NULL;
	ret = unwinder ? tr_fail(err, -EINVAL, "the file has %s: a program may abort where its "
				 "returns are recorded; name each function in a rule of its "
				 "own, or use uprobe:", unwinder)
		       : find_functions(&v, &m, max, out, err);
	free(m.list);
	elf_view_close(&v);
	if (ret)
		elfsym_functions_deinit(out);
	return ret;
}

void elfsym_functions_deinit(struct elfsym_functions *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].name);
	free(f->list);
	*f = (struct elfsym_functions){ 0 };
}
