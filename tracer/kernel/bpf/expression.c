// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/bpf/expression_parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct operand parse_choice(struct bpf_parser *s);

static struct operand parse_argument(struct bpf_parser *s)
{
	struct operand number = bpf_parse_number(s);
	uint32_t n = s->error ? 0 : (uint32_t)s->e->nodes[number.node].value, type;
	struct btf_type t;

	if (s->error)
		return number;
	/* A program gets at most 12 arguments. */
	if (!n || n > 12 || n >= btf_param_count(s->types, s->proto))
		return bpf_parse_fail(s, -ENOENT);
	btf_param(s->types, s->proto, n, &type);
	t = btf_classify(s->types, type);
	if (t.class != BTF_NUMBER && t.class != BTF_POINTER)
		return bpf_parse_fail(s, -ENOENT);
	return bpf_parse_load(s, (struct bpf_node){ .op = BPF_OP_ARGUMENT,
						    .value = 8 * ((int32_t)n - 1) }, t);
}

static struct operand parse_function(struct bpf_parser *s, enum bpf_op op)
{
	struct operand o;

	bpf_parse_expect(s, "(");
	o = parse_choice(s);
	bpf_parse_expect(s, ")");
	if (s->error || o.type.class != BTF_NUMBER)
		return bpf_parse_fail(s, -EINVAL);
	return bpf_parse_made(s, (struct bpf_node){ .op = (uint8_t)op, .a = (int8_t)o.node });
}

static struct operand parse_current(struct bpf_parser *s)
{
	uint32_t task = btf_structure(s->types, "task_struct", strlen("task_struct"));
	struct btf_type t = { .class = BTF_POINTER, .id = task };

	return task ? bpf_parse_load(s, (struct bpf_node){ .op = BPF_OP_CURRENT }, t)
		    : bpf_parse_fail(s, -ENOENT);
}

/* The number of a page: its structure's place among those of all pages. */
static struct operand parse_pfn(struct bpf_parser *s)
{
	uint32_t page = btf_structure(s->types, "page", strlen("page"));
	struct operand o;

	bpf_parse_expect(s, "(");
	o = parse_choice(s);
	bpf_parse_expect(s, ")");
	if (s->error)
		return o;
	if (o.type.class != BTF_POINTER || !page ||
	    btf_structure_size(s->types, page) != 1 << BPF_PAGE_SHIFT)
		return bpf_parse_fail(s, -ENOENT);
	s->e->needs_pages = true;
	return bpf_parse_made(s, (struct bpf_node){ .op = BPF_OP_PFN, .a = (int8_t)o.node });
}

static struct operand parse_rwbs(struct bpf_parser *s)
{
	struct operand o = parse_function(s, BPF_OP_RWBS);

	if (!s->error && !bpf_rwbs_find(s->types, &s->e->nodes[o.node]))
		return bpf_parse_fail(s, -ENOENT);
	return o;
}

/* The constants are nodes one after another. */
static struct operand parse_list(struct bpf_parser *s)
{
	struct bpf_node n = { .op = BPF_OP_LIST };
	struct operand o;
	int32_t first;

	bpf_parse_expect(s, "(");
	o = parse_choice(s);
	first = (int32_t)s->e->count;
	while (!s->error && bpf_parse_accept(s, ",")) {
		bpf_parse_blanks(s);
		bpf_parse_number(s);
	}
	bpf_parse_expect(s, ")");
	n.value = (int32_t)s->e->count - first;
	if (s->error || o.type.class != BTF_NUMBER || !n.value)
		return bpf_parse_fail(s, -EINVAL);
	n.a = (int8_t)o.node;
	n.b = (int8_t)first;
	return bpf_parse_made(s, n);
}

static struct operand parse_word(struct bpf_parser *s)
{
	if (bpf_parse_accept(s, "current"))
		return parse_current(s);
	if (bpf_parse_accept(s, "jiffies"))
		return bpf_parse_made(s, (struct bpf_node){ .op = BPF_OP_JIFFIES });
	if (bpf_parse_accept(s, "top"))
		return parse_function(s, BPF_OP_TOP);
	if (bpf_parse_accept(s, "swap"))
		return parse_function(s, BPF_OP_SWAP);
	if (bpf_parse_accept(s, "pfn"))
		return parse_pfn(s);
	if (bpf_parse_accept(s, "rwbs"))
		return parse_rwbs(s);
	return bpf_parse_accept(s, "list") ? parse_list(s) : bpf_parse_enumerator(s);
}

static struct operand parse_primary(struct bpf_parser *s)
{
	struct operand o;

	bpf_parse_blanks(s);
	if (isalpha((unsigned char)*s->p) || *s->p == '_')
		return parse_word(s);
	if (bpf_parse_accept(s, "'"))
		return bpf_parse_text(s);
	if (bpf_parse_accept(s, "$"))
		return parse_argument(s);
	if (!bpf_parse_accept(s, "("))
		return bpf_parse_number(s);
	o = parse_choice(s);
	bpf_parse_expect(s, ")");
	return o;
}

/* Changes m, an array, to one of its elements. False: it is no array, or has fewer. */
static bool find_element(struct bpf_parser *s, struct btf_member *m)
{
	uint32_t count, size, element = btf_element(s->types, m->type, &count, &size);
	struct operand n = { 0 };
	int32_t at = 0;

	if (bpf_parse_accept(s, "[")) {
		n = bpf_parse_number(s);
		bpf_parse_expect(s, "]");
		at = s->error ? 0 : s->e->nodes[n.node].value;
	}
	/* (The length of one at the end of a structure may not be said.) */
	if (s->error || !element || (at && (uint32_t)at >= count) || size > UINT16_MAX)
		return false;
	m->type = element;
	m->offset += UINT64_C(8) * size * (uint32_t)at;
	return true;
}

/* A bit field: from the 4 bytes that have it. */
static struct operand make_bits(struct bpf_parser *s, struct bpf_node n,
				const struct btf_member *m)
{
	const struct btf_type unit = { .class = BTF_NUMBER, .size = 4 };
	int32_t shift = (int32_t)(m->offset % 32);
	struct operand o;

	if (shift + (int32_t)m->bits > 32 || m->bits > 30 ||
	    __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		return bpf_parse_fail(s, -ENOENT);
	n.value = (int32_t)(m->offset / 32 * 4);
	o = bpf_parse_load(s, n, unit);
	n = (struct bpf_node){ .op = BPF_OP_CONSTANT, .value = shift };
	n = (struct bpf_node){ .op = BPF_OP_RIGHT, .a = (int8_t)o.node,
			       .b = (int8_t)bpf_parse_node(s, n) };
	o = bpf_parse_made(s, n);
	n = (struct bpf_node){ .op = BPF_OP_CONSTANT, .value = (1 << m->bits) - 1 };
	n = (struct bpf_node){ .op = BPF_OP_AND, .a = (int8_t)o.node,
			       .b = (int8_t)bpf_parse_node(s, n) };
	return bpf_parse_made(s, n);
}

/* A member of the structure at o; raw: through a pointer that may be no address. */
static struct operand parse_member(struct bpf_parser *s, struct operand o, uint32_t structure,
				   bool raw)
{
	struct bpf_node n = { .op = raw ? BPF_OP_SAFE_LOAD : BPF_OP_LOAD, .a = (int8_t)o.node };
	struct btf_member m;
	struct btf_type t;
	size_t len;
	const char *name = bpf_parse_name(s, &len);

	if (s->error)
		return o;
	if (!btf_find_member(s->types, structure, name, len, &m) || m.offset / 8 > INT16_MAX)
		return bpf_parse_fail(s, -ENOENT);
	if (m.bits)
		return make_bits(s, n, &m);
	t = btf_classify(s->types, m.type);
	if (t.class == BTF_NONE && find_element(s, &m))
		t = btf_classify(s->types, m.type);
	if (t.class == BTF_NONE || m.offset % 8 || m.offset / 8 > INT16_MAX)
		return bpf_parse_fail(s, -ENOENT);
	n.value = (int32_t)(m.offset / 8);
	if (t.class != BTF_NUMBER && t.class != BTF_POINTER) {
		n.op = BPF_OP_ADDRESS;
		return (struct operand){ bpf_parse_node(s, n), t, false, raw };
	}
	o = bpf_parse_load(s, n, t);
	o.raw = raw && t.class == BTF_POINTER;
	return o;
}

/* The structure that o leads into. */
static struct operand parse_container(struct bpf_parser *s, struct operand o)
{
	struct bpf_node n = { .op = BPF_OP_ADDRESS, .a = (int8_t)o.node };
	struct btf_type t = { .class = BTF_POINTER };
	struct btf_member m;
	const char *name;
	size_t len;

	bpf_parse_blanks(s);
	name = bpf_parse_name(s, &len);
	t.id = btf_structure(s->types, name, len);
	bpf_parse_expect(s, ".");
	name = bpf_parse_name(s, &len);
	if (s->error || o.type.class != BTF_POINTER || !t.id ||
	    !btf_find_member(s->types, t.id, name, len, &m) || m.bits || m.offset / 8 > INT16_MAX)
		return bpf_parse_fail(s, -ENOENT);
	n.value = -(int32_t)(m.offset / 8);
	return (struct operand){ bpf_parse_node(s, n), t, false, true };
}

static struct operand parse_postfix(struct bpf_parser *s)
{
	struct operand o = parse_primary(s);
	struct btf_type t;

	while (!s->error) {
		bool safe = bpf_parse_accept(s, "~>");

		if (safe || bpf_parse_accept(s, "->")) {
			t = btf_classify(s->types, o.type.id);
			if (o.type.class != BTF_POINTER || t.class != BTF_STRUCTURE ||
			    (o.raw && !safe))
				return bpf_parse_fail(s, -ENOENT);
			o = parse_member(s, o, t.id, safe);
		} else if (bpf_parse_accept(s, ".")) {
			if (o.type.class != BTF_STRUCTURE)
				return bpf_parse_fail(s, -ENOENT);
			o = parse_member(s, o, o.type.id, o.raw);
		} else if (bpf_parse_accept(s, "in")) {
			o = parse_container(s, o);
		} else {
			return o;
		}
	}
	return o;
}

static struct operand parse_unary(struct bpf_parser *s)
{
	struct operand o;
	struct btf_type t;

	if (bpf_parse_accept(s, "+")) {
		o = parse_postfix(s);
		o.plain = false;
		return s->error || o.type.class == BTF_NUMBER ? o : bpf_parse_fail(s, -ENOENT);
	}
	if (!bpf_parse_accept(s, "*"))
		return parse_postfix(s);
	o = parse_postfix(s);
	t = btf_classify(s->types, o.type.id);
	if (s->error || o.type.class != BTF_POINTER || t.class != BTF_NUMBER)
		return bpf_parse_fail(s, -ENOENT);
	return bpf_parse_load(s, (struct bpf_node){ .op = BPF_OP_SAFE_LOAD,
						    .a = (int8_t)o.node }, t);
}

/* By precedence, the weakest first. */
static const struct { const char *token; uint8_t op, level; } binary[] = {
	{ "|", BPF_OP_OR, 0 }, { "&", BPF_OP_AND, 1 },
	{ "==", BPF_OP_EQUAL, 2 }, { "!=", BPF_OP_DIFFERENT, 2 },
	{ "<<", BPF_OP_LEFT, 3 }, { ">>", BPF_OP_RIGHT, 3 },
	{ "+", BPF_OP_ADD, 4 }, { "-", BPF_OP_SUB, 4 },
};

enum { LEVELS = 5 };

static int accept_operator(struct bpf_parser *s, int level)
{
	for (size_t i = 0; i < sizeof(binary) / sizeof(*binary); i++)
		if (binary[i].level == level && bpf_parse_accept(s, binary[i].token))
			return binary[i].op;
	return -1;
}

static struct operand parse_binary(struct bpf_parser *s, int level)
{
	struct operand a, b;
	int op;

	if (level == LEVELS)
		return parse_unary(s);
	a = parse_binary(s, level + 1);
	while (!s->error && (op = accept_operator(s, level)) >= 0) {
		b = parse_binary(s, level + 1);
		/* A pointer is only compared. */
		if (s->error || b.type.class != BTF_NUMBER ||
		    (a.type.class != BTF_NUMBER &&
		     (a.type.class != BTF_POINTER ||
		      (op != BPF_OP_EQUAL && op != BPF_OP_DIFFERENT))))
			return bpf_parse_fail(s, -ENOENT);
		a = bpf_parse_made(s, (struct bpf_node){ .op = (uint8_t)op, .a = (int8_t)a.node,
							 .b = (int8_t)b.node });
	}
	return a;
}

/* C ? b : c: pointers to one type, or texts, or both. */
static struct operand join_types(struct bpf_parser *s, struct operand b, struct operand c)
{
	struct operand o = { .type = { .class = BTF_TEXT } };

	if (b.type.class == BTF_NUMBER && c.type.class == BTF_NUMBER) {
		o.type = (struct btf_type){ BTF_NUMBER, 0, 8, true };
	} else if (b.type.class == BTF_POINTER && c.type.class == BTF_POINTER) {
		if (btf_classify(s->types, b.type.id).id != btf_classify(s->types, c.type.id).id)
			bpf_parse_fail(s, -ENOENT);
		o.type = b.type;
		o.raw = true;
	} else if ((b.type.class != BTF_TEXT && b.type.class != BTF_POINTER) ||
		   (c.type.class != BTF_TEXT && c.type.class != BTF_POINTER)) {
		bpf_parse_fail(s, -ENOENT);
	}
	return o;
}

static struct operand parse_select(struct bpf_parser *s)
{
	struct operand a = parse_binary(s, 0), b, c, o;

	if (s->error || !bpf_parse_accept(s, "?"))
		return a;
	b = parse_choice(s);
	bpf_parse_expect(s, ":");
	c = parse_choice(s);
	if (s->error || (a.type.class != BTF_NUMBER && a.type.class != BTF_POINTER))
		return bpf_parse_fail(s, -ENOENT);
	o = join_types(s, b, c);
	o.node = bpf_parse_node(s, (struct bpf_node){ .op = BPF_OP_SELECT, .a = (int8_t)a.node,
						      .b = (int8_t)b.node,
						      .c = (int8_t)c.node });
	return o;
}

/* The end of what the parser is in: of the text, of parentheses, of the first choice. */
static void skip_choice(struct bpf_parser *s)
{
	int open = 0;

	for (; *s->p && *s->p != ';'; s->p++) {
		if (!open && (*s->p == ')' || *s->p == ':' || !strncmp(s->p, " or ", 4)))
			return;
		open += (*s->p == '(' || *s->p == '?') - (*s->p == ')' || *s->p == ':');
	}
}

static struct operand parse_choice(struct bpf_parser *s)
{
	const char *start;
	struct operand o;
	uint32_t count;

	if (++s->depth > BPF_EXPRESSION_DEPTH)
		return bpf_parse_fail(s, -EINVAL);
	do {
		count = s->e->count;
		start = s->p;
		s->error = 0;
		o = parse_select(s);
		if (s->error == -ENOENT) {
			s->e->count = count;
			s->p = start;
			skip_choice(s);
		}
		/* After a choice that the types have, the others are not needed. */
		while (!s->error && bpf_parse_accept(s, "or"))
			skip_choice(s);
	} while (s->error == -ENOENT && bpf_parse_accept(s, "or"));
	s->depth--;
	return o;
}

int bpf_expression_parse(const char *text, const struct btf *types, uint32_t proto,
			 struct bpf_expression *out)
{
	struct bpf_parser s = { .p = text, .types = types, .proto = proto, .e = out };
	struct operand o;

	*out = (struct bpf_expression){ .text = text };
	o = parse_choice(&s);
	bpf_parse_blanks(&s);
	if (!s.error && *s.p && *s.p != ';')
		return -EINVAL;
	if (!s.error && (o.type.class == BTF_STRUCTURE || o.type.class == BTF_NONE))
		return -ENOENT;
	out->root = o.node;
	out->type = o.type;
	/* (What may be no address is read as a text that ends itself.) */
	if (o.raw && o.type.class == BTF_TEXT)
		out->type.size = 0;
	out->plain = o.plain;
	/* It is stored as it is. */
	if (!s.error && o.plain)
		out->nodes[o.node].extend = false;
	return s.error;
}
