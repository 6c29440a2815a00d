/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which events are pairs by their names: the rule of stats and of the exports with slices. Maps
 * have pairs that the user names, which find each other as those of stats do (pair_open.h).
 */
#ifndef TRACER_SLICE_PAIR_RULE_H
#define TRACER_SLICE_PAIR_RULE_H

#include <stdbool.h>
#include <stddef.h>

/* What the two events of a pair have in common. UNKNOWN: it is not recorded. */
enum pair_by { PAIR_THREAD, PAIR_CPU, PAIR_FIELDS, PAIR_UNKNOWN };

struct pair_rule {
	const char *prefix;     /* of the pair's name: "syscall:" or "compat_syscall:"; else "" */
	const char *name;       /* the rest, name_len bytes: of the event's name, or constant */
	size_t name_len;
	enum pair_by by;
	bool begins;
	unsigned int words;     /* 0: begin and end, 1: entry and exit */
	const char *a, *b;      /* PAIR_FIELDS: names of fields; b may be NULL */
};

/* The rule of events with this name. kernel: it may be one of the kernel. False: it is no pair. */
bool pair_rule_find(const char *event, bool kernel, struct pair_rule *rule);

#endif
