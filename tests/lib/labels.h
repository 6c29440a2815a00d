/* SPDX-License-Identifier: MIT */
/* Labels of enumerations in texts of events, for comparisons of babeltrace2's and ours */
#ifndef TESTS_LIB_LABELS_H
#define TESTS_LIB_LABELS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/buf.h"

/* A string in quotes at p. Its length; 0: there is none. */
static size_t quoted(const char *p, const char *end)
{
	const char *q = p + 1;

	if (p == end || *p != '"')
		return 0;
	for (; q < end && *q != '"'; q++)
		q += *q == '\\' && q + 1 < end;
	return q < end ? (size_t)(q - p) + 1 : 0;
}

enum { LABELS_MAX = 16 };

static int compare_labels(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Puts labels of an enumeration at p into `to`, sorted. Their length at p; 0: none are there. */
static size_t sort_labels(const char *p, const char *end, struct md_buf *to)
{
	static const char first[] = "( ", next[] = ", ", last[] = " : container";
	const char *begin = p;
	char *labels[LABELS_MAX];
	size_t count = 0, n;
	bool braces, ends;

	if ((size_t)(end - p) < strlen(first) || memcmp(p, first, strlen(first)))
		return 0;
	p += strlen(first);
	braces = end - p > 1 && !memcmp(p, "{ ", 2);
	p += 2 * braces;
	while (count < LABELS_MAX && (n = quoted(p, end))) {
		labels[count++] = strndup(p, n);
		p += n;
		if ((size_t)(end - p) < strlen(next) || memcmp(p, next, strlen(next)))
			break;
		p += strlen(next);
	}
	braces = braces && end - p > 1 && !memcmp(p, " }", 2);
	p += 2 * braces;
	ends = count && (size_t)(end - p) >= strlen(last) && !memcmp(p, last, strlen(last));
	qsort(labels, count, sizeof(*labels), compare_labels);
	for (size_t i = 0; i < count; i++) {
		if (ends)
			md_buf_puts(to, i ? next : first);
		if (ends)
			md_buf_puts(to, labels[i]);
		free(labels[i]);
	}
	return ends ? (size_t)(p - begin) : 0;
}

/*
 * babeltrace2 2.0 prints the labels of a value in the order of the type, as we do. Later versions
 * print several ones in braces and in another order.
 */
static void sort_all_labels(struct md_buf *b)
{
	const char *p = b->data, *end = b->data + b->len;
	struct md_buf sorted = MD_BUF_INIT;
	size_t n;

	while (p < end) {
		n = sort_labels(p, end, &sorted);
		if (!n)
			md_buf_putc(&sorted, *p);
		p += n ? n : 1;
	}
	md_buf_deinit(b);
	*b = sorted;
}

#endif
