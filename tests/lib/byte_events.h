/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types of an imported stream whose events have one field, a byte. */
#ifndef TESTS_LIB_BYTE_EVENTS_H
#define TESTS_LIB_BYTE_EVENTS_H

#include <string.h>

#include "metadata/model.h"
#include "tests/lib/test.h"

/* The caller destroys the trace, which owns the class. */
static inline struct md_trace *make_types(struct md_stream **class)
{
	static const uint8_t uuid[16];
	struct md_trace *md = md_trace_create(uuid);
	struct md_event *e = md_event_create("ev", -1, 1);

	*class = md_stream_create(0, MD_HEADER_LARGE);
	e->fields[0].name = strdup("a");
	e->fields[0].type = (struct md_type){ .kind = MD_INT, .size = 1, .base = 10 };
	CHECK(md_stream_add(*class, e) == 0);
	CHECK(md_trace_add(md, *class) == 0);
	return md;
}

#endif
