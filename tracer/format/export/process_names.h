/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of processes that events of a session have in their contexts, each pair once. */
#ifndef TRACER_EXPORT_PROCESS_NAMES_H
#define TRACER_EXPORT_PROCESS_NAMES_H

#include "tracer/base/hash_table.h"
#include "tracer/format/maker/row.h"

struct process_name {
	uint64_t pid;
	char name[32];          /* cut; not empty */
};

/* All zero at first. */
struct process_names {
	struct process_name *list;      /* owned */
	struct hash_table table;        /* of `list` */
};

/* Which contexts of a stream class have them; -1: none. */
struct process_contexts {
	int pid, name;
};

struct process_contexts process_contexts_find(const struct md_stream *stream);
/* False: no memory. */
bool process_names_add(struct process_names *p, struct process_contexts at, const struct row *r);
void process_names_deinit(struct process_names *p);

#endif
