// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/bpf/expression.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	const char *p;
	const struct btf *types;
	uint32_t proto;
	struct bpf_expression *e;
	int depth, error;
};

struct operand {
	int node;
	struct btf_type type;   /* BTF_STRUCTURE: the node is its address */
	bool plain;
};

static struct operand parse_choice(struct parser *s);

static struct operand fail(struct parser *s, int error)
{
	if (!s->error)
		s->error = error;
	return (struct operand){ 0 };
}

static void skip_blanks(struct parser *s)
{
	while (*s->p == ' ')
		s->p++;
}

static bool accept(struct parser *s, const char *token)
{
	size_t len = strlen(token);

	skip_blanks(s);
	if (strncmp(s->p, token, len))
		return false;
	/* A word ends where a name would. */
	if (isalpha((unsigned char)*token) &&
	    (isalnum((unsigned char)s->p[len]) || s->p[len] == '_'))
		return false;
	s->p += len;
	return true;
}

static void expect(struct parser *s, const char *token)
{
	if (!accept(s, token))
		fail(s, -EINVAL);
}

static int add_node(struct parser *s, struct bpf_node n)
{
	if (s->e->count == BPF_EXPRESSION_NODES) {
		fail(s, -EINVAL);
		return 0;
	}
	s->e->nodes[s->e->count] = n;
	return (int)s->e->count++;
}

static struct operand make_number(struct parser *s, struct bpf_node n)
{
	return (struct operand){ add_node(s, n), { BTF_NUMBER, 0, 8, true }, false };
}

static struct operand parse_number(struct parser *s)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(s->p, &end, 0);
	if (end == s->p || errno || value < 0 || value > INT32_MAX)
		return fail(s, -EINVAL);
	s->p = end;
	return make_number(s, (struct bpf_node){ .op = BPF_OP_CONSTANT, .value = (int32_t)value });
}

/* A number that a program loads has its own size; a pointer has 8 bytes. */
static struct operand make_load(struct parser *s, struct bpf_node n, struct btf_type t)
{
	n.size = t.class == BTF_NUMBER ? (uint8_t)t.size : 8;
	n.extend = t.class == BTF_NUMBER && t.is_signed && t.size < 8;
	return (struct operand){ add_node(s, n), t, t.class == BTF_NUMBER };
}

static struct operand parse_argument(struct parser *s)
{
	struct operand number = parse_number(s);
	uint32_t n = s->error ? 0 : (uint32_t)s->e->nodes[number.node].value, type;
	struct btf_type t;

	if (s->error)
		return number;
	/* A program gets at most 12 arguments. */
	if (!n || n > 12 || n >= btf_param_count(s->types, s->proto))
		return fail(s, -ENOENT);
	btf_param(s->types, s->proto, n, &type);
	t = btf_classify(s->types, type);
	if (t.class != BTF_NUMBER && t.class != BTF_POINTER)
		return fail(s, -ENOENT);
	return make_load(s, (struct bpf_node){ .op = BPF_OP_ARGUMENT,
					       .value = 8 * ((int32_t)n - 1) }, t);
}

static struct operand parse_function(struct parser *s, enum bpf_op op)
{
	struct operand o;

	expect(s, "(");
	o = parse_choice(s);
	expect(s, ")");
	if (s->error || o.type.class != BTF_NUMBER)
		return fail(s, -EINVAL);
	return make_number(s, (struct bpf_node){ .op = (uint8_t)op, .a = (int8_t)o.node });
}

static struct operand parse_current(struct parser *s)
{
	uint32_t task = btf_structure(s->types, "task_struct", strlen("task_struct"));
	struct btf_type t = { .class = BTF_POINTER, .id = task };

	return task ? make_load(s, (struct bpf_node){ .op = BPF_OP_CURRENT }, t) : fail(s, -ENOENT);
}

static struct operand parse_primary(struct parser *s)
{
	struct operand o;

	skip_blanks(s);
	if (accept(s, "$"))
		return parse_argument(s);
	if (accept(s, "current"))
		return parse_current(s);
	if (accept(s, "jiffies"))
		return make_number(s, (struct bpf_node){ .op = BPF_OP_JIFFIES });
	if (accept(s, "top"))
		return parse_function(s, BPF_OP_TOP);
	if (accept(s, "swap"))
		return parse_function(s, BPF_OP_SWAP);
	if (!accept(s, "("))
		return parse_number(s);
	o = parse_choice(s);
	expect(s, ")");
	return o;
}

/* A member of the structure at o; safe: through a pointer that may be no address. */
static struct operand parse_member(struct parser *s, struct operand o, uint32_t structure,
				   bool safe)
{
	struct bpf_node n = { .a = (int8_t)o.node };
	const char *name = s->p;
	struct btf_member m;
	struct btf_type t;
	size_t len = 0;

	while (isalnum((unsigned char)name[len]) || name[len] == '_')
		len++;
	s->p += len;
	if (s->error || !len)
		return fail(s, -EINVAL);
	if (!btf_find_member(s->types, structure, name, len, &m) || m.bits || m.offset % 8 ||
	    m.offset / 8 > INT16_MAX)
		return fail(s, -ENOENT);
	n.value = (int32_t)(m.offset / 8);
	t = btf_classify(s->types, m.type);
	if (t.class == BTF_NONE || (safe && t.class != BTF_NUMBER))
		return fail(s, -ENOENT);
	n.op = safe ? BPF_OP_SAFE_LOAD : BPF_OP_LOAD;
	if (t.class == BTF_NUMBER || t.class == BTF_POINTER)
		return make_load(s, n, t);
	n.op = BPF_OP_ADDRESS;
	return (struct operand){ add_node(s, n), t, false };
}

static struct operand parse_postfix(struct parser *s)
{
	struct operand o = parse_primary(s);
	struct btf_type t;

	while (!s->error) {
		bool safe = accept(s, "~>");

		if (safe || accept(s, "->")) {
			t = btf_classify(s->types, o.type.id);
			if (o.type.class != BTF_POINTER || t.class != BTF_STRUCTURE)
				return fail(s, -ENOENT);
			o = parse_member(s, o, t.id, safe);
		} else if (accept(s, ".")) {
			if (o.type.class != BTF_STRUCTURE)
				return fail(s, -ENOENT);
			o = parse_member(s, o, o.type.id, false);
		} else {
			return o;
		}
	}
	return o;
}

static struct operand parse_unary(struct parser *s)
{
	struct operand o;
	struct btf_type t;

	if (accept(s, "+")) {
		o = parse_postfix(s);
		o.plain = false;
		return s->error || o.type.class == BTF_NUMBER ? o : fail(s, -ENOENT);
	}
	if (!accept(s, "*"))
		return parse_postfix(s);
	o = parse_postfix(s);
	t = btf_classify(s->types, o.type.id);
	if (s->error || o.type.class != BTF_POINTER || t.class != BTF_NUMBER)
		return fail(s, -ENOENT);
	return make_load(s, (struct bpf_node){ .op = BPF_OP_SAFE_LOAD, .a = (int8_t)o.node }, t);
}

/* By precedence, the weakest first. */
static const struct { const char *token; uint8_t op, level; } binary[] = {
	{ "|", BPF_OP_OR, 0 }, { "&", BPF_OP_AND, 1 },
	{ "==", BPF_OP_EQUAL, 2 }, { "!=", BPF_OP_DIFFERENT, 2 },
	{ "<<", BPF_OP_LEFT, 3 }, { ">>", BPF_OP_RIGHT, 3 },
	{ "+", BPF_OP_ADD, 4 }, { "-", BPF_OP_SUB, 4 },
};

enum { LEVELS = 5 };

static int accept_operator(struct parser *s, int level)
{
	for (size_t i = 0; i < sizeof(binary) / sizeof(*binary); i++)
		if (binary[i].level == level && accept(s, binary[i].token))
			return binary[i].op;
	return -1;
}

static struct operand parse_binary(struct parser *s, int level)
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
			return fail(s, -ENOENT);
		a = make_number(s, (struct bpf_node){ .op = (uint8_t)op, .a = (int8_t)a.node,
						      .b = (int8_t)b.node });
	}
	return a;
}

static struct operand parse_select(struct parser *s)
{
	struct operand a = parse_binary(s, 0), b, c;

	if (s->error || !accept(s, "?"))
		return a;
	b = parse_choice(s);
	expect(s, ":");
	c = parse_choice(s);
	if (s->error || b.type.class != BTF_NUMBER || c.type.class != BTF_NUMBER ||
	    (a.type.class != BTF_NUMBER && a.type.class != BTF_POINTER))
		return fail(s, -ENOENT);
	return make_number(s, (struct bpf_node){ .op = BPF_OP_SELECT, .a = (int8_t)a.node,
						 .b = (int8_t)b.node, .c = (int8_t)c.node });
}

/* The end of what the parser is in: of the text, of parentheses, of the first choice. */
static void skip_choice(struct parser *s)
{
	int open = 0;

	for (; *s->p && *s->p != ';'; s->p++) {
		if (!open && (*s->p == ')' || *s->p == ':' || !strncmp(s->p, " or ", 4)))
			return;
		open += (*s->p == '(' || *s->p == '?') - (*s->p == ')' || *s->p == ':');
	}
}

static struct operand parse_choice(struct parser *s)
{
	const char *start;
	struct operand o;
	uint32_t count;

	if (++s->depth > BPF_EXPRESSION_DEPTH)
		return fail(s, -EINVAL);
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
		while (!s->error && accept(s, "or"))
			skip_choice(s);
	} while (s->error == -ENOENT && accept(s, "or"));
	s->depth--;
	return o;
}

int bpf_expression_parse(const char *text, const struct btf *types, uint32_t proto,
			 struct bpf_expression *out)
{
	struct parser s = { .p = text, .types = types, .proto = proto, .e = out };
	struct operand o;

	*out = (struct bpf_expression){ 0 };
	o = parse_choice(&s);
	skip_blanks(&s);
	if (!s.error && *s.p && *s.p != ';')
		return -EINVAL;
	if (!s.error && (o.type.class == BTF_STRUCTURE || o.type.class == BTF_NONE))
		return -ENOENT;
	out->root = o.node;
	out->type = o.type;
	out->plain = o.plain;
	/* It is stored as it is. */
	if (!s.error && o.plain)
		out->nodes[o.node].extend = false;
	return s.error;
}
