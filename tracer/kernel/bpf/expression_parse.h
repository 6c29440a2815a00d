/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to expression.c: its words (expression_word.c). */
#ifndef TRACER_KERNEL_BPF_EXPRESSION_PARSE_H
#define TRACER_KERNEL_BPF_EXPRESSION_PARSE_H

#include "tracer/kernel/bpf/expression.h"

struct bpf_parser {
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
	bool raw;               /* may be no address, or one of another type: only for ~> */
};

/* Notes the error, if it is the first one. */
struct operand bpf_parse_fail(struct bpf_parser *s, int error);
void bpf_parse_blanks(struct bpf_parser *s);
bool bpf_parse_accept(struct bpf_parser *s, const char *token);
/* An error if the token is missing. */
void bpf_parse_expect(struct bpf_parser *s, const char *token);
/* The place of a new node. */
int bpf_parse_node(struct bpf_parser *s, struct bpf_node n);
/* A number of this new node; a number or a pointer that it loads. */
struct operand bpf_parse_made(struct bpf_parser *s, struct bpf_node n);
struct operand bpf_parse_load(struct bpf_parser *s, struct bpf_node n, struct btf_type t);
struct operand bpf_parse_number(struct bpf_parser *s);
/* A name, and its length; none is an error. */
const char *bpf_parse_name(struct bpf_parser *s, size_t *len);
struct operand bpf_parse_enumerator(struct bpf_parser *s);
/* After its first quotation mark. */
struct operand bpf_parse_text(struct bpf_parser *s);

#endif
