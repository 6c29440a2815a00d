// SPDX-License-Identifier: GPL-2.0-or-later
/* Words of expressions, and the nodes that they become: see expression.h. */
#include "tracer/kernel/bpf/expression_parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct operand bpf_parse_fail(struct bpf_parser *s, int error)
{
	if (!s->error)
		s->error = error;
	return (struct operand){ 0 };
}

void bpf_parse_blanks(struct bpf_parser *s)
{
	while (*s->p == ' ')
		s->p++;
}

bool bpf_parse_accept(struct bpf_parser *s, const char *token)
{
	size_t len = strlen(token);

	bpf_parse_blanks(s);
	if (strncmp(s->p, token, len))
		return false;
	/* A word ends where a name would. */
	if (isalpha((unsigned char)*token) &&
	    (isalnum((unsigned char)s->p[len]) || s->p[len] == '_'))
		return false;
	s->p += len;
	return true;
}

void bpf_parse_expect(struct bpf_parser *s, const char *token)
{
	if (!bpf_parse_accept(s, token))
		bpf_parse_fail(s, -EINVAL);
}

int bpf_parse_node(struct bpf_parser *s, struct bpf_node n)
{
	if (s->e->count == BPF_EXPRESSION_NODES) {
		bpf_parse_fail(s, -EINVAL);
		return 0;
	}
	s->e->nodes[s->e->count] = n;
	return (int)s->e->count++;
}

struct operand bpf_parse_made(struct bpf_parser *s, struct bpf_node n)
{
	return (struct operand){ bpf_parse_node(s, n), { BTF_NUMBER, 0, 8, true }, false, false };
}

struct operand bpf_parse_number(struct bpf_parser *s)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(s->p, &end, 0);
	if (end == s->p || errno || value < 0 || value > INT32_MAX)
		return bpf_parse_fail(s, -EINVAL);
	s->p = end;
	return bpf_parse_made(s, (struct bpf_node){ .op = BPF_OP_CONSTANT,
						    .value = (int32_t)value });
}

/* A number that a program loads has its own size; a pointer has 8 bytes. */
struct operand bpf_parse_load(struct bpf_parser *s, struct bpf_node n, struct btf_type t)
{
	n.size = t.class == BTF_NUMBER ? (uint8_t)t.size : 8;
	n.extend = t.class == BTF_NUMBER && t.is_signed && t.size < 8;
	return (struct operand){ bpf_parse_node(s, n), t, t.class == BTF_NUMBER, false };
}

struct operand bpf_parse_text(struct bpf_parser *s)
{
	size_t len = strcspn(s->p, "'");
	struct bpf_node n = { .op = BPF_OP_TEXT, .value = (int32_t)(s->p - s->e->text),
			      .size = (uint8_t)len };

	if (s->p[len] != '\'' || len > BPF_EXPRESSION_TEXT)
		return bpf_parse_fail(s, -EINVAL);
	s->p += len + 1;
	return (struct operand){ bpf_parse_node(s, n), { .class = BTF_TEXT }, false, false };
}

const char *bpf_parse_name(struct bpf_parser *s, size_t *len)
{
	const char *name = s->p;

	*len = 0;
	while (isalnum((unsigned char)name[*len]) || name[*len] == '_')
		++*len;
	s->p += *len;
	if (!*len)
		bpf_parse_fail(s, -EINVAL);
	return name;
}

struct operand bpf_parse_enumerator(struct bpf_parser *s)
{
	struct bpf_node n = { .op = BPF_OP_CONSTANT };
	size_t len;
	const char *name = bpf_parse_name(s, &len);

	if (s->error || !btf_enumerator(s->types, name, len, &n.value))
		return bpf_parse_fail(s, -ENOENT);
	return bpf_parse_made(s, n);
}
