// SPDX-License-Identifier: GPL-2.0-only
/*
 * btf VMLINUX [MODULE…] <WANTED: for the build of compiled probes, a program of the machine that
 * builds. Reads what types a kernel and its modules have (BTF, by itself or as a section of an ELF
 * file) and prints those that are wanted as C: lines `struct NAME`, `union NAME`, `enum NAME`,
 * `typedef NAME`, `any NAME` of these, or `constant NAME`, an enumerator. What they hold by value
 * is printed before them if it is wanted too. Names that no BTF has are printed on stderr as they
 * were asked for.
 *
 * Structures are printed packed, with all padding made explicit, and with assertions of their
 * members' places: their layout cannot differ from the kernel's unnoticed, whatever the compiler
 * makes of alignment.
 */
#include <elf.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 40
#define NAME_LEN 128
#define TEXT_LEN 512

struct btf {
	const struct btf *base;         /* NULL: the kernel's own */
	const char *strings;
	unsigned int strings_len, first_string;
	const struct btf_type **types;  /* of id first_id + i */
	unsigned int count, first_id;
};

struct wanted {
	char kind[10], name[NAME_LEN];
	const struct btf *btf;
	unsigned int id;                /* 0: no BTF has it */
	long long value;                /* of a constant */
	bool printed;
};

static struct wanted *wanted;
static unsigned int wanted_count;
static unsigned int pads;

static void *need(void *p)
{
	if (!p) {
		fprintf(stderr, "no memory\n");
		exit(2);
	}
	return p;
}

/* ---- reading ---- */

static char *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	size_t room = 1 << 20, n;
	char *data = need(malloc(room));

	*len = 0;
	while (f && (n = fread(data + *len, 1, room - *len, f)) > 0) {
		*len += n;
		if (*len == room)
			data = need(realloc(data, room *= 2));
	}
	if (f)
		fclose(f);
	return data;
}

/* The section .BTF of an ELF file, or the whole of another file */
static const char *section(const char *data, size_t *len)
{
	const Elf64_Ehdr *elf = (const void *)data;
	const Elf64_Shdr *s, *names;

	if (*len < sizeof(*elf) || memcmp(data, ELFMAG, SELFMAG))
		return data;
	s = (const void *)(data + elf->e_shoff);
	if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_shoff > *len ||
	    elf->e_shnum * sizeof(*s) > *len - elf->e_shoff || elf->e_shstrndx >= elf->e_shnum)
		return NULL;
	names = &s[elf->e_shstrndx];
	for (unsigned int i = 0; i < elf->e_shnum; i++)
		if (names->sh_offset + s[i].sh_name + sizeof(".BTF") <= *len &&
		    !strcmp(data + names->sh_offset + s[i].sh_name, ".BTF") &&
		    s[i].sh_offset <= *len && s[i].sh_size <= *len - s[i].sh_offset) {
			*len = s[i].sh_size;
			return data + s[i].sh_offset;
		}
	return NULL;
}

static size_t type_len(const struct btf_type *t)
{
	static const unsigned char once[NR_BTF_KINDS] = {
		[BTF_KIND_INT] = 4, [BTF_KIND_ARRAY] = sizeof(struct btf_array),
		[BTF_KIND_VAR] = 4, [BTF_KIND_DECL_TAG] = 4,
	};
	static const unsigned char each[NR_BTF_KINDS] = {
		[BTF_KIND_STRUCT] = sizeof(struct btf_member),
		[BTF_KIND_UNION] = sizeof(struct btf_member),
		[BTF_KIND_ENUM] = sizeof(struct btf_enum),
		[BTF_KIND_FUNC_PROTO] = sizeof(struct btf_param),
		[BTF_KIND_DATASEC] = sizeof(struct btf_var_secinfo),
		[BTF_KIND_ENUM64] = sizeof(struct btf_enum64),
	};
	unsigned int kind = BTF_INFO_KIND(t->info);

	return kind && kind < NR_BTF_KINDS
		       ? sizeof(*t) + once[kind] + each[kind] * (size_t)BTF_INFO_VLEN(t->info)
		       : 0;
}

static struct btf *load(const char *path, const struct btf *base)
{
	struct btf *b = need(calloc(1, sizeof(*b)));
	const struct btf_header *h;
	const struct btf_type *t;
	size_t len, room = 1024, n;
	const char *data = section(slurp(path, &len), &len), *at, *end;

	h = (const void *)data;
	if (!data || len < sizeof(*h) || h->magic != BTF_MAGIC || h->hdr_len > len ||
	    (size_t)h->hdr_len + h->type_off + h->type_len > len ||
	    (size_t)h->hdr_len + h->str_off + h->str_len > len || !h->str_len ||
	    data[h->hdr_len + h->str_off + h->str_len - 1])
		return NULL;
	b->base = base;
	b->strings = data + h->hdr_len + h->str_off;
	b->strings_len = h->str_len;
	b->first_string = base ? base->strings_len : 0;
	b->first_id = base ? base->first_id + base->count : 1;
	b->types = need(malloc(room * sizeof(*b->types)));
	at = data + h->hdr_len + h->type_off;
	for (end = at + h->type_len; at < end; at += n) {
		t = (const void *)at;
		n = (size_t)(end - at) < sizeof(*t) ? 0 : type_len(t);
		if (!n || n > (size_t)(end - at))
			return NULL;
		if (b->count == room)
			b->types = need(realloc(b->types, (room *= 2) * sizeof(*b->types)));
		b->types[b->count++] = t;
	}
	return b;
}

/* void for an id that there is not */
static const struct btf_type *type(const struct btf *b, unsigned int id)
{
	static const struct btf_type nothing;

	while (b && id < b->first_id)
		b = b->base;
	return b && id - b->first_id < b->count ? b->types[id - b->first_id] : &nothing;
}

static const char *string(const struct btf *b, unsigned int offset)
{
	while (b->base && offset < b->first_string)
		b = b->base;
	return offset - b->first_string < b->strings_len ? b->strings + (offset - b->first_string)
							 : "";
}

static unsigned int kind(const struct btf_type *t)
{
	return BTF_INFO_KIND(t->info);
}

static bool has_members(const struct btf_type *t)
{
	return kind(t) == BTF_KIND_STRUCT || kind(t) == BTF_KIND_UNION;
}

/* ---- which BTF has which name ---- */

static const char *kind_name(const struct btf_type *t)
{
	switch (kind(t)) {
	case BTF_KIND_STRUCT: return "struct";
	case BTF_KIND_UNION: return "union";
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64: return "enum";
	case BTF_KIND_TYPEDEF: return "typedef";
	default: return "";
	}
}

static void find_constant(struct wanted *w, const struct btf *b)
{
	for (unsigned int i = 0; i < b->count && !w->id; i++) {
		const struct btf_enum *e = (const void *)(b->types[i] + 1);

		for (unsigned int k = 0; !w->id && kind(b->types[i]) == BTF_KIND_ENUM &&
					 k < BTF_INFO_VLEN(b->types[i]->info);
		     k++)
			if (!strcmp(string(b, e[k].name_off), w->name)) {
				w->btf = b;
				w->id = b->first_id + i;
				w->value = e[k].val;
				/* With all the others, which may be asked for next. */
				if (*string(b, b->types[i]->name_off)) {
					strcpy(w->kind, "enum");
					snprintf(w->name, sizeof(w->name), "%s",
						 string(b, b->types[i]->name_off));
				}
			}
	}
}

static void find(struct wanted *w, const struct btf *b)
{
	if (!strcmp(w->kind, "constant")) {
		find_constant(w, b);
		return;
	}
	if (w->id)
		return;
	for (unsigned int i = 0; i < b->count && !w->id; i++) {
		const char *k = kind_name(b->types[i]);

		if (*k && (!strcmp(w->kind, k) || !strcmp(w->kind, "any")) &&
		    !strcmp(string(b, b->types[i]->name_off), w->name)) {
			w->btf = b;
			w->id = b->first_id + i;
			strcpy(w->kind, k);
		}
	}
}

static struct wanted *find_wanted(const char *k, const char *name)
{
	for (unsigned int i = 0; *name && i < wanted_count; i++)
		if (wanted[i].id && !strcmp(wanted[i].kind, k) && !strcmp(wanted[i].name, name))
			return &wanted[i];
	return NULL;
}

/* ---- printing ---- */

static void print(struct wanted *w, unsigned int depth);
static void members(const struct btf *b, const struct btf_type *t, unsigned int depth);

static unsigned long size_of(const struct btf *b, unsigned int id, unsigned int depth)
{
	const struct btf_type *t = type(b, id);
	const struct btf_array *a = (const void *)(t + 1);

	if (depth > DEPTH_MAX)
		return 0;
	switch (kind(t)) {
	case BTF_KIND_PTR: return 8;
	case BTF_KIND_ARRAY: return a->nelems * size_of(b, a->type, depth + 1);
	case BTF_KIND_INT:
	case BTF_KIND_FLOAT:
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64: return t->size;
	default: return kind(t) ? size_of(b, t->type, depth + 1) : 0;
	}
}

static void declare(const struct btf *b, unsigned int id, const char *inner, unsigned int depth);

/* `TYPE *inner`; id: of the type that the pointer has. */
static void declare_pointer(const struct btf *b, unsigned int id, const char *inner,
			    unsigned int depth)
{
	const struct btf_type *t = type(b, id);
	char text[TEXT_LEN];

	while (kind(t) == BTF_KIND_CONST || kind(t) == BTF_KIND_VOLATILE ||
	       kind(t) == BTF_KIND_RESTRICT || kind(t) == BTF_KIND_TYPE_TAG)
		t = type(b, id = t->type);
	/* No probe calls it, or reads a type without a name. */
	if (!kind(t) || kind(t) == BTF_KIND_FUNC_PROTO ||
	    (kind(t) != BTF_KIND_PTR && kind(t) != BTF_KIND_ARRAY && !*string(b, t->name_off))) {
		printf("void *%s", inner);
		return;
	}
	snprintf(text, sizeof(text), kind(t) == BTF_KIND_ARRAY ? "(*%s)" : "*%s", inner);
	declare(b, id, text, depth + 1);
}

/* `TYPE inner` */
static void declare(const struct btf *b, unsigned int id, const char *inner, unsigned int depth)
{
	const struct btf_type *t = type(b, id);
	const struct btf_array *a = (const void *)(t + 1);
	char text[TEXT_LEN];

	if (depth > DEPTH_MAX)
		return;
	switch (kind(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPEDEF:
		printf("%s %s", string(b, t->name_off), inner);
		return;
	case BTF_KIND_FWD:
		printf("%s %s %s", BTF_INFO_KFLAG(t->info) ? "union" : "struct",
		       string(b, t->name_off), inner);
		return;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		if (*string(b, t->name_off)) {
			printf("%s %s %s", kind_name(t), string(b, t->name_off), inner);
		} else if (has_members(t)) {
			printf("%s {\n", kind_name(t));
			members(b, t, depth + 1);
			printf("} __attribute__((packed)) %s", inner);
		} else {
			printf("%s %s", t->size == 8 ? "unsigned long" :
			       t->size == 1 ? "unsigned char" : "unsigned int", inner);
		}
		return;
	case BTF_KIND_PTR:
		declare_pointer(b, t->type, inner, depth);
		return;
	case BTF_KIND_ARRAY:
		snprintf(text, sizeof(text), "%s[%u]", inner, a->nelems);
		declare(b, a->type, text, depth + 1);
		return;
	case 0:
		printf("void %s", inner);
		return;
	default:        /* qualifiers: a reader does not need them */
		declare(b, t->type, inner, depth + 1);
	}
}

static void pad(unsigned long from, unsigned long to)
{
	unsigned long bits;

	if (from % 8 && from < to) {
		bits = 8 - from % 8 < to - from ? 8 - from % 8 : to - from;
		printf("\tunsigned char trail_pad%u : %lu;\n", pads++, bits);
		from += bits;
	}
	if (from + 8 <= to)
		printf("\tunsigned char trail_pad%u[%lu];\n", pads++, (to - from) / 8);
	from += (to - from) / 8 * 8;
	if (from < to)
		printf("\tunsigned char trail_pad%u : %lu;\n", pads++, to - from);
}

static void members(const struct btf *b, const struct btf_type *t, unsigned int depth)
{
	const struct btf_member *m = (const void *)(t + 1);
	unsigned long at = 0, offset, bits;
	char text[TEXT_LEN];

	for (unsigned int i = 0; i < BTF_INFO_VLEN(t->info); i++, m++) {
		offset = BTF_INFO_KFLAG(t->info) ? BTF_MEMBER_BIT_OFFSET(m->offset) : m->offset;
		bits = BTF_INFO_KFLAG(t->info) ? BTF_MEMBER_BITFIELD_SIZE(m->offset) : 0;
		if (kind(t) == BTF_KIND_STRUCT)
			pad(at, offset);
		printf("\t");
		snprintf(text, sizeof(text), bits ? "%s : %lu" : "%s", string(b, m->name_off),
			 bits);
		declare(b, m->type, text, depth);
		printf(";\n");
		at = offset + (bits ? bits : 8 * size_of(b, m->type, 0));
	}
	if (kind(t) == BTF_KIND_STRUCT)
		pad(at, 8ul * t->size);
	else if (t->size)
		printf("\tunsigned char trail_pad%u[%u];\n", pads++, t->size);
}

static void assertions(const struct btf *b, const struct btf_type *t, const char *name)
{
	const struct btf_member *m = (const void *)(t + 1);

	printf("_Static_assert(sizeof(%s %s) == %u, \"%s\");\n", kind_name(t), name, t->size, name);
	for (unsigned int i = 0; i < BTF_INFO_VLEN(t->info); i++, m++) {
		const char *member = string(b, m->name_off);

		if (*member && (!BTF_INFO_KFLAG(t->info) || !BTF_MEMBER_BITFIELD_SIZE(m->offset)))
			printf("_Static_assert(__builtin_offsetof(%s %s, %s) == %u, \"%s\");\n",
			       kind_name(t), name, member,
			       (BTF_INFO_KFLAG(t->info) ? BTF_MEMBER_BIT_OFFSET(m->offset)
							: m->offset) /
				       8,
			       member);
	}
}

static void enumerators(const struct btf *b, const struct btf_type *t)
{
	const struct btf_enum *e = (const void *)(t + 1);
	const struct btf_enum64 *l = (const void *)(t + 1);

	for (unsigned int i = 0; i < BTF_INFO_VLEN(t->info); i++)
		if (kind(t) == BTF_KIND_ENUM)
			printf("\t%s = %d,\n", string(b, e[i].name_off), e[i].val);
		else
			printf("\t%s = %lldLL,\n", string(b, l[i].name_off),
			       (long long)((unsigned long long)l[i].val_hi32 << 32 |
					   l[i].val_lo32));
}

/* What a type needs to be complete, if that is wanted too */
static void before(const struct btf *b, unsigned int id, unsigned int depth)
{
	const struct btf_type *t = type(b, id);
	const struct btf_member *m = (const void *)(t + 1);
	struct wanted *w = find_wanted(kind_name(t), string(b, t->name_off));

	if (depth > DEPTH_MAX)
		return;
	if (w)
		print(w, depth + 1);
	else if (kind(t) == BTF_KIND_ARRAY)
		before(b, ((const struct btf_array *)(t + 1))->type, depth + 1);
	else if (kind(t) == BTF_KIND_PTR || kind(t) == BTF_KIND_TYPEDEF ||
		 kind(t) == BTF_KIND_CONST || kind(t) == BTF_KIND_VOLATILE ||
		 kind(t) == BTF_KIND_TYPE_TAG) {
		/* A pointer needs no more than that there is such a name. */
		if (kind(t) != BTF_KIND_PTR || kind(type(b, t->type)) == BTF_KIND_TYPEDEF)
			before(b, t->type, depth + 1);
	} else if (has_members(t) && !*string(b, t->name_off)) {
		for (unsigned int i = 0; i < BTF_INFO_VLEN(t->info); i++)
			before(b, m[i].type, depth + 1);
	}
}

static void print(struct wanted *w, unsigned int depth)
{
	const struct btf_type *t = type(w->btf, w->id);
	const struct btf_member *m = (const void *)(t + 1);

	if (w->printed || depth > DEPTH_MAX)
		return;
	w->printed = true;
	if (!strcmp(w->kind, "constant")) {
		printf("#ifndef TRAIL_BTF_constant_%s\n#define TRAIL_BTF_constant_%s\nenum { %s = "
		       "%lld };\n#endif\n",
		       w->name, w->name, w->name, w->value);
		return;
	}
	if (has_members(t))
		for (unsigned int i = 0; i < BTF_INFO_VLEN(t->info); i++)
			before(w->btf, m[i].type, depth + 1);
	else if (kind(t) == BTF_KIND_TYPEDEF)
		before(w->btf, t->type, depth + 1);
	/* Other trace headers may want it too. */
	printf("#ifndef TRAIL_BTF_%s_%s\n#define TRAIL_BTF_%s_%s\n", w->kind, w->name, w->kind,
	       w->name);
	if (kind(t) == BTF_KIND_TYPEDEF) {
		printf("typedef ");
		declare(w->btf, t->type, w->name, 0);
		printf(";\n");
	} else {
		printf("%s %s {\n", w->kind, w->name);
		if (has_members(t))
			members(w->btf, t, 0);
		else
			enumerators(w->btf, t);
		printf(has_members(t) ? "} __attribute__((packed));\n" : "};\n");
		if (has_members(t))
			assertions(w->btf, t, w->name);
	}
	printf("#endif\n");
}

int main(int argc, char **argv)
{
	struct btf *b = argc > 1 ? load(argv[1], NULL) : NULL, *split;
	struct wanted w;

	if (!b) {
		fprintf(stderr, "usage: btf VMLINUX [MODULE…] <WANTED\n");
		return 2;
	}
	while (memset(&w, 0, sizeof(w)), scanf("%9s %127s", w.kind, w.name) == 2) {
		wanted = need(realloc(wanted, (wanted_count + 1) * sizeof(*wanted)));
		find(&w, b);
		wanted[wanted_count++] = w;
	}
	for (int i = 2; i < argc; i++) {
		split = load(argv[i], b);
		for (unsigned int k = 0; split && k < wanted_count; k++)
			find(&wanted[k], split);
	}
	for (unsigned int k = 0; k < wanted_count; k++)
		if (wanted[k].id)
			print(&wanted[k], 0);
		else
			fprintf(stderr, "%s %s\n", wanted[k].kind, wanted[k].name);
	return 0;
}
