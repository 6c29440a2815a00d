/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys of events from text: the place, after \v the label, after \t the extra data. */
#ifndef TESTS_LIB_EVENT_KEY_H
#define TESTS_LIB_EVENT_KEY_H

#include <stdlib.h>
#include <string.h>

#include "tests/lib/test.h"
#include "tracer/base/probe/probe.h"

static inline int parse_key(const char *text, struct event_key *k, struct tr_err *err)
{
	size_t place = strcspn(text, "\v\t"), label = strcspn(text + place, "\t");

	*k = (struct event_key){ .place = strndup(text, place),
				 .label = label ? strndup(text + place + 1, label - 1) : NULL };
	return text[place + label]
		       ? extra_parse(SCAN(text + place + label + 1, 0, err), &k->extra)
		       : 0;
}

static inline struct event_key *key_of(const char *text)
{
	struct event_key *k = malloc(sizeof(*k));

	CHECK(!parse_key(text, k, NULL));
	return k;
}

static inline void key_free(struct event_key *k)
{
	event_key_deinit(k);
	free(k);
}

/* The text of a key; static. */
static inline const char *key_text(const struct event_key *k)
{
	static struct md_buf b;

	md_buf_reset(&b);
	md_buf_puts(&b, k->place);
	md_buf_printf(&b, "%s%s", k->label ? "\v" : "", k->label ? k->label : "");
	md_buf_puts(&b, k->extra.count ? "\t" : "");
	extra_print(&k->extra, &b);
	return md_buf_str(&b);
}

/* dynamic_event_make, of such a text. */
static inline int event_of(const char *text, struct dynamic_event *out, struct tr_err *err)
{
	struct event_key k;
	int ret = parse_key(text, &k, err);

	*out = (struct dynamic_event){ .fd = -1 };
	if (!ret)
		ret = dynamic_event_make(&k, out, err);
	event_key_deinit(&k);
	return ret;
}

#endif
