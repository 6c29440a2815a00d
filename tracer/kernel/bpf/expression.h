/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values that a program computes from the arguments of a tracepoint, as text:
 *
 *	$N              argument N, from 1
 *	current         a pointer to the structure of the thread that runs
 *	jiffies         the kernel's count of its ticks
 *	12, 0xc         a number
 *	NAME            the kernel's enumerator of this name
 *	'text'          a text; one without letters is allowed
 *	P->MEMBER       a member of the structure that a pointer leads to
 *	S.MEMBER        a member of a structure in a structure
 *	MEMBER[2]       an element of an array; without a number the first one
 *	P~>MEMBER       as P->MEMBER, where P may be no address: the value is 0 then
 *	P in S.MEMBER   a pointer to the structure S in which P leads to this member, for ~>
 *	*P              the number that a pointer leads to, which may be no address
 *	top(E)          the highest bit that is set in a byte, alone
 *	swap(E)         a number of 16 bits in the order of networks
 *	pfn(P)          the number of the page whose structure P leads to
 *	rwbs(E)         the letters of flags of a block request, as a text
 *	list(E, 1, 2)   the number at this place, from 0; for any other place the last one
 *	+E              E as C converts a number to another size or sign
 *	E << E, >> & | + - == != C ? E : E, (E)         as in C; also C ? P : P for ~>, and texts
 *	E or E          the second one, if the kernel's types lack the first one
 *
 * Names of members and types of arguments are looked up in the kernel's types (BTF), which are not
 * trusted. No lock: an expression does not change after it was made.
 */
#ifndef TRACER_KERNEL_BPF_EXPRESSION_H
#define TRACER_KERNEL_BPF_EXPRESSION_H

#include "tracer/base/probe/btf.h"
#include "tracer/kernel/bpf/code.h"

/* DEPTH: of parentheses and operators in each other. TEXT: bytes of one in the table. */
enum {
	BPF_EXPRESSION_NODES = 48, BPF_EXPRESSION_DEPTH = 12, BPF_EXPRESSION_TEXT = 30,
	BPF_PAGE_SHIFT = 6,             /* a struct page has 64 bytes */
};

/* Private to expression*.c */
enum bpf_op {
	BPF_OP_CONSTANT, BPF_OP_ARGUMENT, BPF_OP_CURRENT, BPF_OP_JIFFIES,
	BPF_OP_LOAD,                   /* the number or pointer at a + value */
	BPF_OP_SAFE_LOAD,              /* the same, where a + value may be no address */
	BPF_OP_ADDRESS,                /* a + value */
	BPF_OP_TOP, BPF_OP_SWAP,              /* of a */
	BPF_OP_PFN,                    /* of a */
	BPF_OP_RWBS,                   /* of a; size: of the kernel's text; value: see rwbs.c */
	BPF_OP_LIST,                   /* `value` constants from node b on, by a */
	BPF_OP_TEXT,                   /* `size` bytes of the text, from its byte `value` on */
	BPF_OP_SELECT,                 /* a ? b : c */
	/* of a and b */
	BPF_OP_ADD, BPF_OP_SUB, BPF_OP_AND, BPF_OP_OR, BPF_OP_LEFT, BPF_OP_RIGHT, BPF_OP_EQUAL,
	BPF_OP_DIFFERENT,
};

struct bpf_node {
	uint8_t op;                     /* enum bpf_op */
	uint8_t size;                   /* bytes of a number that is loaded */
	bool extend;                    /* the sign of that number is extended */
	int8_t a, b, c;                 /* operands: other nodes */
	int32_t value;                  /* a constant, an offset, an argument */
};

struct bpf_expression {
	const char *text;               /* what was parsed; not owned */
	/* BTF_NUMBER, BTF_POINTER, or BTF_TEXT: its address is the value; size 0: it ends itself */
	struct btf_type type;
	/* The number is a member or an argument as it is: it must fit where it is stored. */
	bool plain;
	bool needs_pages;               /* `pages` must be set before bpf_expression_put */
	uint64_t pages;                 /* of bpf_pages_find */
	int root;
	uint32_t count;
	struct bpf_node nodes[BPF_EXPRESSION_NODES];
};

/*
 * Reads an expression, up to the end of the text or a `;`, for the arguments of a prototype, whose
 * argument 0 a program does not get. The text must live as long as *out. 0; -EINVAL: it is none;
 * -ENOENT: the types lack what it names.
 */
int bpf_expression_parse(const char *text, const struct btf *types, uint32_t proto,
			 struct bpf_expression *out);
/*
 * Register 0 becomes the value; register 6 has the arguments. Changes registers 0 to 5, and the
 * stack below BPF_PLACE_VALUES.
 */
void bpf_expression_put(struct bpf_code *code, const struct bpf_expression *e);
/* Copies a text (BTF_TEXT, size not 0) to this offset from register 8. */
void bpf_expression_copy(struct bpf_code *code, const struct bpf_expression *e, int at);
/*
 * Calls put for each text that the expression may choose: the text itself, or NULL, where register
 * 0 has its address. What put adds to the code runs if this text is chosen.
 */
void bpf_expression_texts(struct bpf_code *code, const struct bpf_expression *e,
			  void (*put)(void *arg, const char *text, uint32_t len), void *arg);

/* ---- rwbs.c ---- */

/* How this kernel makes the letters of rwbs(E). False: in no known way. */
bool bpf_rwbs_find(const struct btf *types, struct bpf_node *n);
/* Register 0, the flags, becomes the letters, the first one in its lowest byte. */
void bpf_rwbs_put(struct bpf_code *code, const struct bpf_node *n);

/* ---- pages.c ---- */

/*
 * Finds the address of the structure of page 0, which the other ones follow: makes a page, and has
 * a program at the tracepoint with this type, mm_page_alloc, note where its structure is. 0 or
 * -errno; -ENOENT: it cannot be found.
 */
int bpf_pages_find(uint32_t type, uint64_t *pages);

enum { BPF_PLACE_VALUES = -136 };

#endif
