/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols of ELF files: see probe/elf_symbol.h. */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/probe/elf_symbol.h"
#include "tracer/base/probe/elf_file.h"
#include "tracer/base/base.h"

enum { NEAR_MAX = 4096 };

/* The symbol to find: a name, and a version if the rule has one. */
struct wanted {
	const char *text;       /* as in the rule, for error sentences */
	char name[1024];
	const char *version;    /* in name's array after the NUL, or NULL */
	bool only_default;      /* the rule has @@ */
	uint64_t add;
};

struct found {
	int rank;               /* 0: nothing found; the highest wins */
	bool many;              /* several values have this rank */
	bool ifunc;
	uint64_t value, size;
};

struct table {                  /* a symbol table that is being searched */
	struct elf_table e;
	const struct elf_section *versions;     /* of dynsym, or NULL */
	int version;            /* index of the wanted version; 0: any; -1: not in the file */
};

static int parse_offset(struct wanted *w, char *plus, struct tr_err *err)
{
	char *end;

	errno = 0;
	w->add = strtoull(plus + 1, &end, 0);
	if (errno || *end || plus[1] < '0' || plus[1] > '9')
		return tr_fail(err, -EINVAL, "'%s' is not an offset", plus + 1);
	*plus = '\0';
	return 0;
}

static int parse_wanted(struct wanted *w, const char *symbol, struct tr_err *err)
{
	char *p;
	int ret;

	memset(w, 0, sizeof(*w));
	w->text = symbol;
	if (!*symbol || strlen(symbol) >= sizeof(w->name))
		return tr_fail(err, -EINVAL,
			       *symbol ? "the symbol's name is too long" : "a symbol is missing");
	strcpy(w->name, symbol);
	p = strrchr(w->name, '+');
	if (p && p != w->name) {
		ret = parse_offset(w, p, err);
		if (ret)
			return ret;
	}
	p = strchr(w->name + 1, '@');
	if (p) {
		*p++ = '\0';
		w->only_default = *p == '@';
		w->version = p + (*p == '@');
	}
	return 0;
}

/*
 * The index of a version's name in the file (SHT_GNU_verdef). Bounded by the section, and each step
 * goes forward.
 */
static int find_version(const struct table *t, const char *version)
{
	const struct elf_section *s = elf_view_section_of(t->e.v, SHT_GNU_verdef);
	uint64_t at = 0;

	for (int i = 0; s && i < 65536 && at < s->size; i++) {
		Elf64_Verdef d;
		Elf64_Verdaux a;

		if (!elf_view_read(t->e.v, s, at, &d, sizeof(d)) ||
		    !elf_view_read(t->e.v, s, at + d.vd_aux, &a, sizeof(a)))
			break;
		if (!strcmp(elf_table_name(&t->e, a.vda_name), version))
			return d.vd_ndx & 0x7fff;
		if (!d.vd_next)
			break;
		at += d.vd_next;
	}
	return -1;
}

/* The rank of a symbol with the wanted name; 0: not usable. */
static int rank_symbol(const struct table *t, const struct elf_symbol *s, bool is_default)
{
	int type = ELF64_ST_TYPE(s->info), bind = ELF64_ST_BIND(s->info);

	if (s->section == SHN_UNDEF ||
	    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
		return 0;
	if (type == STT_NOTYPE && elf_view_offset(t->e.v, s->value, true) < 0)
		return 0;
	return 1 + (type != STT_NOTYPE) * 8 + is_default * 4 +
	       (bind == STB_GLOBAL ? 2 : bind == STB_WEAK);
}

/* Whether the symbol has the wanted name and version; *is_default: it is of the default version. */
static bool match_symbol(const struct table *t, const struct wanted *w, const struct elf_symbol *s,
		    uint64_t index, bool *is_default)
{
	const char *name = elf_table_name(&t->e, s->name), *at;
	size_t len = strlen(w->name);
	uint16_t version = 0;

	*is_default = true;
	if (strncmp(name, w->name, len))
		return false;
	at = name + len;
	if (*at == '@') {               /* .symtab has versions in its names */
		*is_default = at[1] == '@';
		return (!w->version || !strcmp(at + 1 + *is_default, w->version)) &&
		       (*is_default || !w->only_default);
	}
	if (*at)
		return false;
	if (t->versions && elf_view_read(t->e.v, t->versions, index * 2, &version, sizeof(version)))
		*is_default = !(version & 0x8000);
	if (w->version && (t->version < 0 || !t->versions || (version & 0x7fff) != t->version))
		return false;
	return *is_default || !w->only_default;
}

static void consider_symbol(const struct table *t, const struct wanted *w,
			    const struct elf_symbol *s, uint64_t index, struct found *f)
{
	bool is_default;
	int rank;

	if (!match_symbol(t, w, s, index, &is_default))
		return;
	rank = rank_symbol(t, s, is_default);
	if (!rank || rank < f->rank)
		return;
	if (rank == f->rank) {
		f->many |= s->value != f->value;
		return;
	}
	*f = (struct found){ rank, false, ELF64_ST_TYPE(s->info) == STT_GNU_IFUNC, s->value,
			     s->size };
}

struct near {
	const char *names[NEAR_MAX];
	size_t count;
};

/*
 * Collects names with the same first byte and about the same length: the comparison is slow, and a
 * file may have a million symbols.
 */
static void add_near(const struct table *t, const struct wanted *w, const struct elf_symbol *s,
			 struct near *near)
{
	const char *name = elf_table_name(&t->e, s->name);
	size_t n = strnlen(name, 64), want = strlen(w->name);

	if (near->count < NEAR_MAX && s->section != SHN_UNDEF &&
	    ELF64_ST_TYPE(s->info) == STT_FUNC && n + 4 > want && n < want + 16 &&
	    *name == *w->name)
		near->names[near->count++] = name;
}

/* Reads one table, for f, or if near is not NULL, for suggestions. */
static void read_table(const struct table *t, const struct wanted *w, struct found *f,
		       struct near *near)
{
	for (uint64_t i = 0; i < t->e.count; i++) {
		struct elf_symbol s;

		if (!elf_view_symbol(t->e.v, t->e.symbols, i, &s))
			return;
		if (near)
			add_near(t, w, &s, near);
		else
			consider_symbol(t, w, &s, i, f);
	}
}

static int open_table(struct table *t, struct elf_view *v, uint32_t type, const struct wanted *w,
		      struct tr_err *err)
{
	int ret = elf_table_open(&t->e, v, type, err);

	t->versions = NULL;
	t->version = 0;
	if (!ret && type == SHT_DYNSYM) {
		t->versions = elf_view_section_of(v, SHT_GNU_versym);
		t->version = w->version ? find_version(t, w->version) : 0;
	}
	return ret;
}

static int fail_not_found(struct elf_view *v, const struct wanted *w, struct tr_err *err)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	struct near *near = malloc(sizeof(*near));
	const char *best = NULL;
	struct table t;

	for (int i = 0; near && i < 2 && !best; i++) {
		if (open_table(&t, v, types[i], w, NULL))
			continue;
		near->count = 0;
		read_table(&t, w, NULL, near);
		best = nearest(w->name, strlen(w->name), near->names, near->count);
		if (best)
			tr_fail(err, -ENOENT, "the file has no function '%s'; did you mean '%s'?",
				w->text, best);
		elf_table_close(&t.e);
	}
	free(near);
	if (best)
		return -ENOENT;
	if (!elf_view_section_of(v, SHT_SYMTAB))
		return tr_fail(err, -ENOENT,
			       "the file has no function '%s' among the names it exports; the "
			       "others are stripped",
			       w->text);
	return tr_fail(err, -ENOENT, "the file has no function '%s'", w->text);
}

static int set_offset(struct elf_view *v, const struct wanted *w, const struct found *f,
		 uint64_t *offset, struct tr_err *err)
{
	int64_t at;

	if (f->many)
		return tr_fail(err, -ENOTUNIQ,
			       "the file has several functions '%s'; give the address of one as "
			       "nm prints it: 0x%llx",
			       w->text, (unsigned long long)f->value);
	if (f->ifunc)
		return tr_fail(err, -EOPNOTSUPP,
			       "'%s' is selected from several functions at run time: name one of "
			       "those",
			       w->text);
	if (w->add && f->size && w->add >= f->size)
		return tr_fail(err, -EINVAL, "'%s' has only %llu bytes", w->name,
			       (unsigned long long)f->size);
	at = f->value + w->add < f->value ? -1 : elf_view_offset(v, f->value + w->add, true);
	if (at < 0)
		return tr_fail(err, -EINVAL, "'%s' is not in an executable part of the file",
			       w->text);
	*offset = (uint64_t)at;
	return 0;
}

static int find_symbol(struct elf_view *v, const struct wanted *w, struct found *f,
		       struct tr_err *err)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	struct table t;
	int ret;

	for (int i = 0; i < 2 && !f->rank; i++) {
		ret = open_table(&t, v, types[i], w, err);
		if (ret == -ENOENT)
			continue;
		if (ret)
			return ret;
		read_table(&t, w, f, NULL);
		elf_table_close(&t.e);
	}
	return f->rank ? 0 : fail_not_found(v, w, err);
}

int elfsym_resolve(int fd, const char *symbol, uint64_t *offset, struct tr_err *err)
{
	struct found f = { 0 };
	struct elf_view v;
	struct wanted w;
	int ret = parse_wanted(&w, symbol, err);

	if (ret)
		return ret;
	ret = elf_view_open(&v, fd, err);
	if (ret)
		return ret;
	if (!strncmp(w.name, "0x", 2)) {
		char *end;

		errno = 0;
		f.value = strtoull(w.name, &end, 16);
		ret = errno || *end || w.version || !w.name[2]
			      ? tr_fail(err, -EINVAL, "'%s' is not an address", symbol)
			      : 0;
	} else {
		ret = find_symbol(&v, &w, &f, err);
	}
	if (!ret)
		ret = set_offset(&v, &w, &f, offset, err);
	elf_view_close(&v);
	return ret;
}
