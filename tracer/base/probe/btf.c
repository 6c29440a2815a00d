// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the kernel's types: see btf.h. */
#include "tracer/base/probe/btf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/array.h"

enum {
	MAGIC = 0xeb9f,
	DATA_MAX = 64 << 20,
	TYPES_MAX = 4 << 20,
	CHAIN_MAX = 32,         /* typedefs and qualifiers of one type */
	NESTED_MAX = 16,        /* unnamed structures in each other */
	VISITS_MAX = 65536,     /* members that one search looks at */
};

enum kind {
	K_INT = 1, K_PTR, K_ARRAY, K_STRUCT, K_UNION, K_ENUM, K_FWD, K_TYPEDEF, K_VOLATILE,
	K_CONST, K_RESTRICT, K_FUNC, K_FUNC_PROTO, K_VAR, K_DATASEC, K_FLOAT, K_DECL_TAG,
	K_TYPE_TAG, K_ENUM64,
};

struct btf {
	const struct btf *base; /* of a module's types: the kernel's; it has none */
	uint8_t *data;
	const uint8_t *types;
	const char *strings;    /* the last byte is NUL */
	uint32_t types_len, strings_len;
	uint32_t first;         /* the number of its first type; without a base 0, void */
	uint32_t *at;           /* by type less first: where it begins in types */
	uint32_t count;         /* of types, with void and those of the base */
};

struct record {
	uint32_t name, kind, vlen, size;        /* size: or the type that it is made from */
	bool flag;
	const uint8_t *more;
};

static uint16_t get_u16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Bytes after the 12 that each type has; UINT32_MAX: not a known kind. */
static uint32_t tail_length(uint32_t kind, uint32_t vlen)
{
	static const struct {
		uint8_t fixed, each;
	} tails[] = {
		[K_INT] = { 4, 0 }, [K_PTR] = { 0, 0 }, [K_ARRAY] = { 12, 0 },
		[K_STRUCT] = { 0, 12 }, [K_UNION] = { 0, 12 }, [K_ENUM] = { 0, 8 },
		[K_FUNC_PROTO] = { 0, 8 }, [K_VAR] = { 4, 0 }, [K_DATASEC] = { 0, 12 },
		[K_DECL_TAG] = { 4, 0 }, [K_ENUM64] = { 0, 12 },
	};

	if (!kind || kind >= sizeof(tails) / sizeof(tails[0]))
		return UINT32_MAX;
	return tails[kind].fixed + tails[kind].each * vlen;
}

/* False: void, or no such type. */
static bool get_record(const struct btf *b, uint32_t type, struct record *r)
{
	const uint8_t *p;
	uint32_t info;

	if (type < b->first)
		b = b->base;
	if (!type || type >= b->count)
		return false;
	p = b->types + b->at[type - b->first];
	info = get_u32(p + 4);
	*r = (struct record){ .name = get_u32(p), .kind = info >> 24 & 31, .vlen = info & 0xffff,
			      .size = get_u32(p + 8), .flag = info >> 31, .more = p + 12 };
	return true;
}

static const char *get_name(const struct btf *b, uint32_t at)
{
	if (b->base && at < b->base->strings_len)
		return b->base->strings + at;
	at -= b->base ? b->base->strings_len : 0;
	return at < b->strings_len ? b->strings + at : "";
}

static bool has_name(const struct btf *b, uint32_t at, const char *name, size_t len)
{
	const char *own = get_name(b, at);

	return !strncmp(own, name, len) && !own[len];
}

/* Finds where each type begins. */
static int index_types(struct btf *b)
{
	uint32_t room = 0, info, tail;

	b->first = b->base ? b->base->count : 0;
	b->count = b->base ? b->first : 1;
	for (uint32_t p = 0; p < b->types_len; p += 12 + tail) {
		if (b->types_len - p < 12 || b->count >= TYPES_MAX)
			return -EINVAL;
		info = get_u32(b->types + p + 4);
		tail = tail_length(info >> 24 & 31, info & 0xffff);
		if (tail > b->types_len - p - 12)
			return -EINVAL;
		if (b->count - b->first >= room) {
			room = room ? 2 * room : 4096;
			if (!array_room(b->at, room))
				return -ENOMEM;
		}
		b->at[b->count++ - b->first] = p;
	}
	return 0;
}

static int set_sections(struct btf *b, size_t len)
{
	uint32_t header, type_at, string_at;

	if (len < 24 || get_u16(b->data) != MAGIC || b->data[2] != 1)
		return -EINVAL;
	header = get_u32(b->data + 4);
	type_at = get_u32(b->data + 8);
	b->types_len = get_u32(b->data + 12);
	string_at = get_u32(b->data + 16);
	b->strings_len = get_u32(b->data + 20);
	if (header < 24 || header > len || type_at > len - header || string_at > len - header ||
	    b->types_len > len - header - type_at || b->strings_len > len - header - string_at ||
	    !b->strings_len)
		return -EINVAL;
	b->types = b->data + header + type_at;
	b->strings = (const char *)b->data + header + string_at;
	return b->strings[b->strings_len - 1] ? -EINVAL : 0;
}

int btf_parse(uint8_t *data, size_t len, const struct btf *base, struct btf **out)
{
	struct btf *b = calloc(1, sizeof(*b));
	int ret;

	if (!b) {
		free(data);
		return -ENOMEM;
	}
	b->data = data;
	b->base = base;
	ret = set_sections(b, len);
	if (!ret)
		ret = index_types(b);
	if (ret)
		btf_free(b);
	else
		*out = b;
	return ret;
}

void btf_free(struct btf *b)
{
	if (!b)
		return;
	free(b->at);
	free(b->data);
	free(b);
}

int btf_load(const char *path, const struct btf *base, struct btf **out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t room = 0, len = 0;
	uint8_t *data = NULL;
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	while (n > 0) {
		if (len == room) {
			uint8_t *more = room < DATA_MAX ? realloc(data, room + (8 << 20)) : NULL;

			if (!more) {
				n = room < DATA_MAX ? -ENOMEM : -EFBIG;
				break;
			}
			data = more;
			room += 8 << 20;
		}
		n = read(fd, data + len, room - len);
		n = n < 0 ? -errno : n;
		len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	if (n < 0) {
		free(data);
		return (int)n;
	}
	return btf_parse(data, len, base, out);
}

/* ---- functions ---- */

static bool is_same_proto(const struct btf *b, uint32_t x, uint32_t y)
{
	struct record p, q;

	if (x == y)
		return true;
	return get_record(b, x, &p) && get_record(b, y, &q) && p.vlen == q.vlen &&
	       p.size == q.size && p.kind == q.kind && p.kind == K_FUNC_PROTO &&
	       !memcmp(p.more, q.more, (size_t)p.vlen * 8);
}

uint32_t btf_function(const struct btf *b, const char *name, size_t len)
{
	uint32_t found = 0;
	struct record r;

	for (uint32_t i = b->first ? b->first : 1; i < b->count; i++) {
		if (!get_record(b, i, &r) || r.kind != K_FUNC || !has_name(b, r.name, name, len))
			continue;
		if (found && !is_same_proto(b, found, r.size))
			return 0;
		found = r.size;
	}
	return get_record(b, found, &r) && r.kind == K_FUNC_PROTO ? found : 0;
}

uint32_t btf_function_type(const struct btf *b, const char *name, size_t len)
{
	struct record r;

	for (uint32_t i = b->first ? b->first : 1; i < b->count; i++)
		if (get_record(b, i, &r) && r.kind == K_FUNC && has_name(b, r.name, name, len))
			return i;
	return 0;
}

uint32_t btf_typedef(const struct btf *b, const char *name, size_t len)
{
	struct record r;

	for (uint32_t i = b->first ? b->first : 1; i < b->count; i++)
		if (get_record(b, i, &r) && r.kind == K_TYPEDEF && has_name(b, r.name, name, len))
			return i;
	return 0;
}

uint32_t btf_structure(const struct btf *b, const char *name, size_t len)
{
	struct record r;

	for (uint32_t i = 1; i < b->count; i++)
		if (get_record(b, i, &r) && (r.kind == K_STRUCT || r.kind == K_UNION) &&
		    has_name(b, r.name, name, len))
			return i;
	return 0;
}

bool btf_enumerator(const struct btf *b, const char *name, size_t len, int32_t *value)
{
	struct record r;

	for (uint32_t i = 1; i < b->count; i++) {
		if (!get_record(b, i, &r) || (r.kind != K_ENUM && r.kind != K_ENUM64))
			continue;
		/* One of 64 bits has its upper half after the lower one. */
		for (uint32_t n = 0, each = r.kind == K_ENUM ? 8 : 12; n < r.vlen; n++) {
			const uint8_t *one = r.more + each * n;

			if (!has_name(b, get_u32(one), name, len))
				continue;
			*value = (int32_t)get_u32(one + 4);
			return r.kind == K_ENUM || get_u32(one + 8) == (*value < 0 ? ~0u : 0);
		}
	}
	return false;
}

uint32_t btf_structure_size(const struct btf *b, uint32_t structure)
{
	struct record r;

	return get_record(b, structure, &r) && (r.kind == K_STRUCT || r.kind == K_UNION) ? r.size
											  : 0;
}

uint32_t btf_param_count(const struct btf *b, uint32_t proto)
{
	struct record r;

	return get_record(b, proto, &r) && r.kind == K_FUNC_PROTO ? r.vlen : 0;
}

const char *btf_param(const struct btf *b, uint32_t proto, uint32_t n, uint32_t *type)
{
	struct record r;

	*type = 0;
	if (!get_record(b, proto, &r) || r.kind != K_FUNC_PROTO || n >= r.vlen)
		return "";
	*type = get_u32(r.more + 8 * n + 4);
	return get_name(b, get_u32(r.more + 8 * n));
}

uint32_t btf_returned(const struct btf *b, uint32_t proto)
{
	struct record r;

	return get_record(b, proto, &r) && r.kind == K_FUNC_PROTO ? r.size : 0;
}

/* ---- types ---- */

static bool is_alias(uint32_t kind)
{
	return kind == K_TYPEDEF || kind == K_VOLATILE || kind == K_CONST || kind == K_RESTRICT ||
	       kind == K_TYPE_TAG;
}

/* The type without typedefs and qualifiers. False: void, or a cycle. */
static bool resolve_type(const struct btf *b, uint32_t *type, struct record *r)
{
	for (int i = 0; i < CHAIN_MAX; i++) {
		if (!get_record(b, *type, r))
			return false;
		if (!is_alias(r->kind))
			return true;
		*type = r->size;
	}
	return false;
}

static bool is_char(const struct btf *b, uint32_t type)
{
	struct record r;

	return resolve_type(b, &type, &r) && r.kind == K_INT && r.size == 1;
}

struct btf_type btf_classify(const struct btf *b, uint32_t type)
{
	struct btf_type t = { .class = BTF_NONE };
	struct record r;

	if (!resolve_type(b, &type, &r))
		return t;
	switch (r.kind) {
	case K_INT:
		t.is_signed = get_u32(r.more) >> 24 & 1;
		/* fall through */
	case K_ENUM:
	case K_ENUM64:
		t.size = r.size;
		if (r.kind != K_INT)
			t.is_signed = r.flag;
		if (t.size == 1 || t.size == 2 || t.size == 4 || t.size == 8)
			t.class = BTF_NUMBER;
		break;
	case K_PTR:
		t.class = BTF_POINTER;
		t.id = r.size;
		break;
	case K_STRUCT:
	case K_UNION:
		t.class = BTF_STRUCTURE;
		t.id = type;
		break;
	case K_ARRAY:
		if (is_char(b, get_u32(r.more))) {
			t.class = BTF_TEXT;
			t.size = get_u32(r.more + 8);
		}
		break;
	default:
		break;
	}
	return t;
}

uint32_t btf_element(const struct btf *b, uint32_t type, uint32_t *count, uint32_t *size)
{
	struct record r;
	struct btf_type t;
	uint32_t element;

	if (!resolve_type(b, &type, &r) || r.kind != K_ARRAY)
		return 0;
	element = get_u32(r.more);
	*count = get_u32(r.more + 8);
	t = btf_classify(b, element);
	*size = t.class == BTF_STRUCTURE ? btf_structure_size(b, t.id)
		: t.class == BTF_POINTER ? 8
					 : t.size;
	return t.class == BTF_NONE ? 0 : element;
}

static void get_member(const struct record *r, uint32_t n, struct btf_member *m)
{
	uint32_t offset = get_u32(r->more + 12 * n + 8);

	m->type = get_u32(r->more + 12 * n + 4);
	m->bits = r->flag ? offset >> 24 : 0;
	m->offset = r->flag ? offset & 0xffffff : offset;
}

static bool find_member(const struct btf *b, uint32_t structure, const char *name, size_t len,
			int depth, int *visits, struct btf_member *out)
{
	struct btf_member inner;
	struct record r;

	if (depth > NESTED_MAX || !resolve_type(b, &structure, &r) ||
	    (r.kind != K_STRUCT && r.kind != K_UNION))
		return false;
	for (uint32_t i = 0; i < r.vlen && ++*visits < VISITS_MAX; i++) {
		uint32_t own = get_u32(r.more + 12 * i);

		get_member(&r, i, out);
		if (has_name(b, own, name, len))
			return true;
		if (!*get_name(b, own) &&
		    find_member(b, out->type, name, len, depth + 1, visits, &inner)) {
			inner.offset += out->offset;
			*out = inner;
			return true;
		}
	}
	return false;
}

bool btf_find_member(const struct btf *b, uint32_t structure, const char *name, size_t len,
		     struct btf_member *out)
{
	int visits = 0;

	return len && find_member(b, structure, name, len, 0, &visits, out);
}

static size_t list_members(const struct btf *b, uint32_t structure, const char **names, size_t max,
			   int depth, int *visits)
{
	struct record r;
	size_t n = 0;

	if (depth > NESTED_MAX || !resolve_type(b, &structure, &r) ||
	    (r.kind != K_STRUCT && r.kind != K_UNION))
		return 0;
	for (uint32_t i = 0; i < r.vlen && n < max && ++*visits < VISITS_MAX; i++) {
		const char *name = get_name(b, get_u32(r.more + 12 * i));

		if (*name)
			names[n++] = name;
		else
			n += list_members(b, get_u32(r.more + 12 * i + 4), names + n, max - n,
					  depth + 1, visits);
	}
	return n;
}

size_t btf_member_names(const struct btf *b, uint32_t structure, const char **names, size_t max)
{
	int visits = 0;

	return list_members(b, structure, names, max, 0, &visits);
}
