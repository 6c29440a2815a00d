/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of a map:
 *
 *   EVENT-RULE [by FIELD,…] [OPERATOR,…]
 *   pair EVENT-RULE EVENT-RULE on FIELD[=FIELD],… [by FIELD,…] [OPERATOR,…]
 *
 * In `on A=B`, A is of the first event and B of the second. Fields after `by` and of operators are
 * of the second event, first.FIELD of the first one. Among the fields after `by`, $event and
 * $provider are the event's name and its provider. EVENT-RULE is a rule as in `events`, with its
 * filter. OPERATOR is count, sum, min, max, avg, hist, topk or lhist; `sum ms` and `sum(ms)` are
 * the same. topk(K), without a field, shows only K keys. The rule `increments` has no event:
 * actions of triggers add to its keys.
 */
#ifndef TRACER_MAP_RULES_H
#define TRACER_MAP_RULES_H

#include "metadata/buf.h"
#include "tracer/base/base.h"
#include "tracer/base/rule/rule.h"

#define MAP_RULES_MAX 16u
#define MAP_FIELDS_MAX 8u               /* of `by`, and of `on` */
#define MAP_OPERATORS_MAX 8u
#define MAP_LHIST_MAX 1000u             /* intervals */
#define MAP_TOP_MAX 100u                /* values */

enum map_name { MAP_NO_NAME, MAP_NAME_EVENT, MAP_NAME_PROVIDER };

struct map_field {
	/* "path", "a.b[3].c", "$ctx.NAME", "$app.PROVIDER:NAME", "$event", "$provider"; owned */
	char *text;
	int column;             /* in the rule */
	enum map_name name;     /* of the event: no field */
	bool first;             /* of the first event of a pair: the text begins with FIRST */
};

#define MAP_FIRST "first."

/* As the event has it. */
static inline const char *map_field_path(const struct map_field *f)
{
	return f->text + (f->first ? sizeof(MAP_FIRST) - 1 : 0);
}

enum map_operator { MAP_COUNT, MAP_SUM, MAP_MIN, MAP_MAX, MAP_AVG, MAP_HIST, MAP_LHIST, MAP_TOPK };

struct map_op {
	enum map_operator kind;
	char *label;            /* "sum(ms)"; owned */
	struct map_field field; /* text NULL: MAP_COUNT, or the latency of a pair */
	int64_t from, to, step; /* MAP_LHIST */
	uint32_t slots;         /* of its numbers in a row of the table */
};

struct map_rule {
	char *text;             /* with single blanks around it removed; owned */
	struct rule events[2];  /* [1] of a pair only */
	int columns[2];         /* where these begin in the text */
	bool pair;
	struct map_field on[2][MAP_FIELDS_MAX]; /* of each event */
	struct map_field by[MAP_FIELDS_MAX];
	bool has_first;         /* a field of the first event is a key or an operator's */
	size_t on_count, by_count;
	struct map_op ops[MAP_OPERATORS_MAX];
	size_t op_count;        /* not 0 */
	uint32_t shown;         /* topk(K): only this many keys are shown; 0: all */
	bool counts;            /* applications count the hits, and record no event */
	bool in_kernel;         /* the kernel counts the events: in_kernel.c */
	bool increments;        /* it has no event */
};

/* Of the hidden session that records its events. */
static inline uint32_t map_rule_channels(const struct map_rule *r)
{
	return r->counts || r->increments || r->in_kernel ? 0 : r->pair ? 2 : 1;
}

struct map_rules {
	struct map_rule *rules; /* owned */
	size_t count;
};

/*
 * Applies one write: new = (replace ? nothing : old) + lines; `!RULE` removes the rule with this
 * text; lines that begin with # are skipped. 0; -EINVAL, -ENOENT, -ENOSPC (more than MAP_RULES_MAX)
 * with a sentence and the place; -ENOMEM. On an error *out is not set.
 */
int map_rules_apply(const struct map_rules *old, enum domain domain, const char *lines,
		    bool replace, struct map_rules *out, struct tr_err *err);
void map_rules_deinit(struct map_rules *r);
void map_rules_print(const struct map_rules *r, struct md_buf *out);    /* one per line */

#endif
