/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of a trace of Perfetto: each is in the trace once, with a number that events have in its
 * place (InternedData of interned_data.proto). Private to perfetto.c.
 */
#ifndef TRACER_PICTURE_PERFETTO_NAMES_H
#define TRACER_PICTURE_PERFETTO_NAMES_H

#include "metadata/buf.h"
#include "tracer/base/hash_table.h"
#include "tracer/format/maker/row.h"

/* What a name is of: the fields of InternedData. Each has numbers of its own. */
enum interned { INTERNED_CATEGORY = 1, INTERNED_EVENT, INTERNED_ANNOTATION, INTERNED_KINDS };

struct interned_name {
	size_t at, len;         /* in interned.text */
	enum interned kind;
	uint32_t number;        /* from 1 */
};

/* All zero at first. */
struct perfetto_names {
	struct interned_name *all;      /* owned */
	struct hash_table table;        /* of `all` */
	uint32_t last[INTERNED_KINDS];
	struct md_buf text;
	struct md_buf fresh;    /* entries of InternedData that no packet has yet */
};

/* The number of the name, a new one if it has none. 0: no memory. */
uint32_t perfetto_intern(struct perfetto_names *v, enum interned kind, struct text name);
void perfetto_names_deinit(struct perfetto_names *v);

#endif
