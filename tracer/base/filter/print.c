/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints a filter: filter_print in filter.h. */
#include <string.h>

#include "tracer/base/filter/tree.h"

static void print_string(const struct filter_node *n, struct md_buf *out)
{
	const char *p = n->text, *end = p + n->text_length;

	md_buf_putc(out, '"');
	while (p < end) {
		const char *from = p;

		while (p < end && *p && *p != '*')
			p++;
		md_buf_escape(out, from, (size_t)(p - from));
		if (p < end)
			md_buf_puts(out, *p++ ? "\\*" : "*");
	}
	md_buf_putc(out, '"');
}

static void print_node(const struct filter *f, const struct filter_node *n, struct md_buf *out);

void filter_print_inside(const struct filter *f, const struct filter_node *n, struct md_buf *out)
{
	const struct filter_node *o;

	switch (n->kind) {
	case NODE_NUMBER:
		md_buf_put(out, n->text ? n->text : f->line + n->column, n->length);
		break;
	case NODE_STRING:
		print_string(n, out);
		break;
	case NODE_UNARY:
		md_buf_puts(out, filter_operator_names[n->op]);
		print_node(f, n->first, out);
		break;
	case NODE_BINARY:
	case NODE_LOGIC:
		for (o = n->first; o; o = o->next) {
			print_node(f, o, out);
			if (o->next)
				md_buf_printf(out, " %s ", filter_operator_names[n->op]);
		}
		break;
	default:
		md_buf_put(out, n->text, n->text_length);
	}
}

static void print_node(const struct filter *f, const struct filter_node *n, struct md_buf *out)
{
	md_buf_puts(out, n->parens ? "(" : "");
	filter_print_inside(f, n, out);
	md_buf_puts(out, n->parens ? ")" : "");
}

void filter_print(const struct filter *f, struct md_buf *out)
{
	print_node(f, f->root, out);
}
