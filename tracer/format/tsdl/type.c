/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/tsdl/tsdl.h"

#include <stdio.h>
#include <string.h>

#include "tracer/base/hash.h"

static uint32_t hash_name(const char *name)
{
	return (uint32_t)hash_string(HASH_START, name);
}

const struct tsdl_type *tsdl_find_type(const struct tsdl_parser *p, const char *name)
{
	uint32_t hash = hash_name(name);

	for (uint32_t i = p->named[hash % TSDL_BUCKETS]; i; i = p->names[i - 1].next)
		if (p->names[i - 1].hash == hash && !strcmp(p->names[i - 1].name, name))
			return p->names[i - 1].type;
	return NULL;
}

void tsdl_name_type(struct tsdl_parser *p, const char *name, const struct tsdl_type *type)
{
	uint32_t hash = hash_name(name), *last = &p->named[hash % TSDL_BUCKETS];

	if (p->failed)
		return;
	if (p->name_count == TSDL_NAMES_MAX) {
		tsdl_fail(p, "more than %u types have names" OWN_LIMIT, TSDL_NAMES_MAX);
		return;
	}
	p->names[p->name_count] = (struct tsdl_name){ tsdl_copy(p, name), type, hash, *last };
	*last = ++p->name_count;
}

void tsdl_forget_names(struct tsdl_parser *p, uint32_t count)
{
	while (p->name_count > count) {
		const struct tsdl_name *n = &p->names[--p->name_count];

		p->named[n->hash % TSDL_BUCKETS] = n->next;
	}
}

struct tsdl_type *tsdl_new_type(struct tsdl_parser *p, enum tsdl_kind kind)
{
	struct tsdl_type *t = tsdl_alloc(p, sizeof(*t));

	if (t)
		*t = (struct tsdl_type){ .kind = (uint8_t)kind, .base = 10, .align = 1,
					 .nodes = 1 };
	return t;
}

void tsdl_contain(struct tsdl_parser *p, struct tsdl_type *t, const struct tsdl_type *inner)
{
	if (p->failed)
		return;
	t->nodes += inner->nodes;
	if (inner->depth >= t->depth)
		t->depth = (uint8_t)(inner->depth + 1);
	if (t->depth > TSDL_DEPTH_MAX)
		tsdl_fail(p, "types are nested more than %u times" OWN_LIMIT, TSDL_DEPTH_MAX);
	else if (t->nodes > TSDL_NODES_MAX)
		tsdl_fail(p, "a type has more than %u parts" OWN_LIMIT, TSDL_NODES_MAX);
	/* What may be missing is aligned when it is read. */
	if (t->kind != TSDL_VARIANT && t->kind != TSDL_OPTIONAL && inner->align > t->align)
		t->align = inner->align;
}

/* ---- enum ---- */

static void read_mapping(struct tsdl_parser *p, struct tsdl_type *t, int64_t *next)
{
	struct tsdl_mapping *m;

	t->mappings = tsdl_grow(p, t->mappings, t->count, sizeof(*m));
	if (!t->mappings)
		return;
	m = &t->mappings[t->count++];
	if (p->token != TOKEN_NAME && p->token != TOKEN_STRING)
		tsdl_fail(p, "expected the name of a value" IN_CTF("4.1.8"));
	m->label = tsdl_copy(p, p->text);
	tsdl_next(p);
	m->begin = m->end = *next;
	if (tsdl_take(p, "=")) {
		m->begin = m->end = tsdl_integer(p);
		if (tsdl_take(p, "..."))
			m->end = tsdl_integer(p);
	}
	*next = (int64_t)((uint64_t)m->end + 1);
	if (t->is_signed ? m->begin > m->end : (uint64_t)m->begin > (uint64_t)m->end)
		tsdl_fail(p, "the range of '%.60s' ends before it begins" IN_CTF("4.1.8"),
			  m->label);
}

/* The type of this name, as the metadata or the language has it. NULL: none. */
static const struct tsdl_type *known_type(struct tsdl_parser *p, const char *name)
{
	const struct tsdl_type *t = tsdl_find_type(p, name);

	return t ? t : tsdl_builtin(p, name);
}

/*
 * The integer type of an enumeration: after its name in CTF 1.8, `enum name : type`; before it in
 * the proposal, `enum <type> name`. Without one it is `int`.
 */
static const struct tsdl_type *read_container(struct tsdl_parser *p, const struct tsdl_type *first)
{
	const struct tsdl_type *t = first;

	if (!t && tsdl_take(p, ":"))
		t = tsdl_type(p);
	else if (!t)
		t = known_type(p, "int");
	if (!p->failed && (!t || t->kind != TSDL_INT))
		tsdl_fail(p, "expected the integer type of the enumeration" IN_CTF("4.1.8"));
	return p->failed ? NULL : t;
}

/* `*` after a name, if they are a part of the name of a type. */
static void read_stars(struct tsdl_parser *p, char *name, size_t size)
{
	char longer[600];

	while (tsdl_is(p, "*") && strlen(name) + 3 < size) {
		snprintf(longer, sizeof(longer), "%.590s *", name);
		if (!tsdl_find_type(p, longer))
			break;
		snprintf(name, size, "%s", longer);
		tsdl_next(p);
	}
}

/* A name of a type after `struct`, `enum` or `variant`; empty if there is none. */
static void read_tag(struct tsdl_parser *p, const char *kind, char *out, size_t size)
{
	*out = 0;
	if (p->token != TOKEN_NAME)
		return;
	snprintf(out, size, "%s %.560s", kind, p->text);
	tsdl_next(p);
	read_stars(p, out, size);
}

/* The type that has this name. */
static const struct tsdl_type *get_named(struct tsdl_parser *p, const char *name)
{
	const struct tsdl_type *t = p->failed ? NULL : known_type(p, name);

	if (!t)
		tsdl_fail(p, "there is no type '%.80s'" IN_CTF("7.3.1"), name);
	return t;
}

const struct tsdl_type *tsdl_structure(struct tsdl_parser *p, const char *name)
{
	char whole[600];

	snprintf(whole, sizeof(whole), "struct %.560s", name);
	return p->failed ? NULL : tsdl_find_type(p, whole);
}

static const struct tsdl_type *read_enum(struct tsdl_parser *p)
{
	const struct tsdl_type *container = NULL;
	struct tsdl_type *t;
	int64_t next = 0;
	char name[600];

	if (tsdl_take(p, "<")) {
		container = tsdl_type(p);
		tsdl_expect(p, ">");
	}
	read_tag(p, "enum", name, sizeof(name));
	if (*name && !container && !tsdl_is(p, "{") && !tsdl_is(p, ":"))
		return get_named(p, name);
	container = read_container(p, container);
	t = tsdl_new_type(p, TSDL_ENUM);
	if (p->failed)
		return NULL;
	*t = *container;
	t->kind = TSDL_ENUM;
	tsdl_expect(p, "{");
	while (!p->failed && !tsdl_is(p, "}")) {
		read_mapping(p, t, &next);
		if (!tsdl_take(p, ","))
			break;
	}
	tsdl_expect(p, "}");
	t->nodes += t->count / 8;
	if (*name)
		tsdl_name_type(p, name, t);
	return t;
}

/* ---- struct and variant ---- */

/* `[8]`, `[length]`, or as in the proposal `[type]`: then a length of this type comes first. */
struct dimension { const char *ref; const struct tsdl_type *length; uint64_t count; };

static const struct tsdl_type *make_array(struct tsdl_parser *p, const struct tsdl_type *element,
					  const struct dimension *d)
{
	struct tsdl_type *t = tsdl_new_type(p, d->ref || d->length ? TSDL_SEQUENCE : TSDL_ARRAY);

	if (!t)
		return NULL;
	t->element = element;
	t->ref = d->ref;
	t->length = d->length;
	t->count = (uint32_t)d->count;
	t->empty = d->ref || (!d->length && !d->count);
	if (element->empty)
		tsdl_fail(p, "the elements of an array may have no bits" OWN_LIMIT);
	if (d->length)
		tsdl_contain(p, t, d->length);
	tsdl_contain(p, t, element);
	return t;
}

/* Whether the structure has a field of the current name, which is a length then, not a type. */
static bool names_field(const struct tsdl_parser *p, const struct tsdl_type *in)
{
	for (uint32_t i = 0; in && i < in->count; i++)
		if (tsdl_is_name(p, in->members[i].name))
			return true;
	return false;
}

static struct dimension read_dimension(struct tsdl_parser *p, const struct tsdl_type *in)
{
	struct dimension d = { .count = p->number };

	if (p->token == TOKEN_NUMBER) {
		tsdl_next(p);
		if (d.count > 1u << 24)
			tsdl_fail(p, "an array has more than 16777216 elements" OWN_LIMIT);
		return d;
	}
	d.count = 0;
	if (p->token == TOKEN_NAME && !names_field(p, in) &&
	    (tsdl_is_name(p, "integer") || known_type(p, p->text) ||
	     tsdl_is_name(p, "unsigned"))) {
		d.length = tsdl_type(p);
		if (!p->failed && d.length->kind != TSDL_INT)
			tsdl_fail(p, "the type of a length must be an integer"
				  IN_PROPOSAL("4.2.3"));
		return d;
	}
	d.ref = tsdl_path(p);
	return d;
}

const struct tsdl_type *tsdl_dimensions(struct tsdl_parser *p, const struct tsdl_type *in,
					const struct tsdl_type *type)
{
	struct dimension d[TSDL_DEPTH_MAX];
	unsigned int n = 0;

	while (!p->failed && tsdl_take(p, "[")) {
		if (n == TSDL_DEPTH_MAX) {
			tsdl_fail(p, "an array has more than %u dimensions" OWN_LIMIT,
				  TSDL_DEPTH_MAX);
			break;
		}
		d[n++] = read_dimension(p, in);
		tsdl_expect(p, "]");
	}
	while (n-- && !p->failed)
		type = make_array(p, type, &d[n]);
	return type;
}

/* `type name:size`, a bit field of C (section 4.1.6), after the colon. */
static const struct tsdl_type *read_bit_field(struct tsdl_parser *p, const struct tsdl_type *type)
{
	int64_t size = tsdl_integer(p);
	struct tsdl_type *t = tsdl_new_type(p, TSDL_INT);

	if (p->failed)
		return NULL;
	*t = *type;
	t->size = (uint8_t)size;
	t->unit = type->size;
	if ((type->kind != TSDL_INT && type->kind != TSDL_ENUM) || size < 1 || size > type->size)
		tsdl_fail(p, "a bit field must have an integer type, and 1 bit to all of them"
			  IN_CTF("4.1.6"));
	return t;
}

static void add_member(struct tsdl_parser *p, struct tsdl_type *t, const char *name,
		       const struct tsdl_type *type)
{
	t->members = tsdl_grow(p, t->members, t->count, sizeof(*t->members));
	if (p->failed)
		return;
	t->members[t->count++] = (struct tsdl_member){ .name = name, .type = type };
	t->empty = t->kind == TSDL_VARIANT ? t->empty || type->empty : t->empty && type->empty;
	tsdl_contain(p, t, type);
}

/* One line of a structure or a variant: one type, one or more names. */
static void read_member(struct tsdl_parser *p, struct tsdl_type *t)
{
	const struct tsdl_type *type, *of;
	const char *name;

	if (tsdl_take_name(p, "typealias")) {
		tsdl_typealias(p);
		return;
	}
	if (tsdl_take_name(p, "typedef")) {
		tsdl_typedef(p);
		return;
	}
	type = tsdl_type(p);
	do {
		if (p->token != TOKEN_NAME)
			tsdl_fail(p, "expected the name of a field" IN_CTF("4.2.1"));
		name = tsdl_copy(p, p->text);
		tsdl_next(p);
		of = tsdl_take(p, ":") ? read_bit_field(p, type) : tsdl_dimensions(p, t, type);
		if (!p->failed)
			add_member(p, t, name, of);
	} while (!p->failed && tsdl_take(p, ","));
	tsdl_expect(p, ";");
}

static void read_body(struct tsdl_parser *p, struct tsdl_type *t)
{
	uint32_t names = p->name_count;

	tsdl_expect(p, "{");
	while (!p->failed && !tsdl_is(p, "}"))
		read_member(p, t);
	tsdl_expect(p, "}");
	tsdl_forget_names(p, names);
}

static const struct tsdl_type *read_struct(struct tsdl_parser *p)
{
	struct tsdl_type *t;
	uint32_t align = 1;
	char name[600];

	read_tag(p, "struct", name, sizeof(name));
	if (*name && !tsdl_is(p, "{"))
		return get_named(p, name);
	t = tsdl_new_type(p, TSDL_STRUCT);
	if (!t)
		return NULL;
	t->empty = true;
	read_body(p, t);
	if (tsdl_take_name(p, "align")) {
		tsdl_expect(p, "(");
		align = tsdl_align(p);
		tsdl_expect(p, ")");
	}
	if (align > t->align)
		t->align = align;
	if (*name)
		tsdl_name_type(p, name, t);
	return t;
}

static const char *read_selector(struct tsdl_parser *p)
{
	const char *path = NULL;

	if (tsdl_take(p, "<")) {
		path = tsdl_path(p);
		tsdl_expect(p, ">");
	}
	return path;
}

static const struct tsdl_type *read_variant(struct tsdl_parser *p)
{
	const char *ref = read_selector(p);
	const struct tsdl_type *of;
	struct tsdl_type *t;
	char name[600];

	read_tag(p, "variant", name, sizeof(name));
	if (!ref)
		ref = read_selector(p);
	t = tsdl_new_type(p, TSDL_VARIANT);
	if (!t)
		return NULL;
	if (*name && !tsdl_is(p, "{")) {
		of = get_named(p, name);
		if (of)
			*t = *of;
	} else {
		read_body(p, t);
		if (*name)
			tsdl_name_type(p, name, t);
	}
	if (p->failed || !ref)
		return t;
	/* The named type may be used with other tags. */
	of = t;
	t = tsdl_new_type(p, TSDL_VARIANT);
	if (t) {
		*t = *of;
		t->ref = ref;
	}
	return t;
}

/* ---- any type ---- */

static bool is_keyword(const struct tsdl_parser *p)
{
	return tsdl_is_name(p, "const");
}

/*
 * A name of one or more words, as `unsigned long`. The last word may be the name of a field: it is
 * if the words with it are not a type.
 */
static const struct tsdl_type *read_words(struct tsdl_parser *p)
{
	char words[600] = "", longer[600];
	const struct tsdl_type *t = NULL, *more;
	size_t n;

	if (p->token != TOKEN_NAME)
		tsdl_fail(p, "expected a type" IN_CTF("C.2"));
	while (!p->failed && p->token == TOKEN_NAME) {
		n = (size_t)snprintf(longer, sizeof(longer), "%s%s%.200s", words,
				     *words ? " " : "", p->text);
		if (n >= sizeof(longer))
			break;
		more = known_type(p, longer);
		/* `unsigned` may be no type of its own. */
		if (t && !more)
			break;
		memcpy(words, longer, n + 1);
		t = more;
		tsdl_next(p);
		read_stars(p, words, sizeof(words));
		t = words[n] ? tsdl_find_type(p, words) : t;
	}
	if (!t)
		tsdl_fail(p, "there is no type '%.80s'" IN_CTF("7.3.1"), words);
	return t;
}

static const struct tsdl_type *read_type(struct tsdl_parser *p)
{
	while (!p->failed && is_keyword(p))
		tsdl_next(p);
	if (p->failed)
		return NULL;
	if (tsdl_take_name(p, "integer"))
		return tsdl_scalar(p, TSDL_INT);
	if (tsdl_take_name(p, "floating_point"))
		return tsdl_scalar(p, TSDL_FLOAT);
	if (tsdl_take_name(p, "string"))
		return tsdl_scalar(p, TSDL_STRING);
	if (tsdl_take_name(p, "enum"))
		return read_enum(p);
	if (tsdl_take_name(p, "struct"))
		return read_struct(p);
	if (tsdl_take_name(p, "variant"))
		return read_variant(p);
	return read_words(p);
}

const struct tsdl_type *tsdl_type(struct tsdl_parser *p)
{
	const struct tsdl_type *t;

	/* A scalar in the innermost structure, and the container of an enumeration in it */
	if (p->nesting == TSDL_DEPTH_MAX + 2) {
		tsdl_fail(p, "types are nested more than %u times" OWN_LIMIT, TSDL_DEPTH_MAX);
		return NULL;
	}
	p->nesting++;
	t = read_type(p);
	p->nesting--;
	return t;
}
