/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a file `status` says, in two forms: lines `key value` for people, and one JSON object for
 * programs (`status.json`). The parts of a session call the functions below; they know the form.
 *
 * A key that may come several times, as `problem`, is an item: in JSON, an array has its items. No
 * lock: facts belong to their caller.
 */
#ifndef TRACER_BASE_FACTS_H
#define TRACER_BASE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "metadata/buf.h"

#define FACT_LISTS_MAX 12u

struct facts {
	struct md_buf *out;
	bool json;
	bool some;                      /* JSON: the object has a member */
	struct fact_list {
		const char *key;        /* constant */
		struct md_buf items;
	} lists[FACT_LISTS_MAX];        /* JSON: those that have items */
};

/* The braces, and the lists; nothing in lines. */
void facts_begin(struct facts *f);
void facts_end(struct facts *f);

void fact_number(struct facts *f, const char *key, uint64_t n);
/* 0 is a time too. Written as `time_print` has it; in JSON ns since the epoch, or null: never. */
void fact_time(struct facts *f, const char *key, bool known, int64_t ns);
void fact_text(struct facts *f, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* One item of a list. key: a constant. */
void fact_item(struct facts *f, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, unless the list has it. */
void fact_item_once(struct facts *f, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* An item that is a JSON value there, and these words in lines. */
void fact_object(struct facts *f, const char *key, const char *words, const char *json);
/* Lines that are shown as they are; in JSON, an array of them. Nothing if there are none. */
void fact_lines(struct facts *f, const char *key, const char *text, size_t len);

#endif
