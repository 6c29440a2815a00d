/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filters of which only a part can be decided: filter_weaken in filter/tree.h. It removes a part
 * that needs a value which is not readable. Of an && the other operands stay; an || is removed as a
 * whole. The remaining filter is never false where the whole filter is true, failures included:
 *
 * - Where an operand of an && is false or fails, the whole && is false or fails: it reaches that
 * operand, or is false before it. - But to be false is not to fail. Inside an ||, a false operand
 * lets the || continue, while a failure ends the filter. So after a removed part inside an ||, the
 * operands that may fail are removed, too. - An || reaches an operand of the remaining filter only
 * if all operands before it were false. In the whole filter, these were false or failed.
 */
#include <errno.h>
#include <stdlib.h>

#include "tracer/base/filter/tree.h"

/* Whether all values that the node needs are readable. */
static bool is_whole(const struct filter_info *info, const struct filter_node *n)
{
	if (info[n->id].constant || info[n->id].missing)
		return true;
	if (info[n->id].opaque)
		return false;
	for (const struct filter_node *o = n->first; o; o = o->next)
		if (!is_whole(info, o))
			return false;
	return true;
}

static bool weaken_node(struct filter_info *info, const struct filter_node *n, bool either,
			bool after_removed);

static bool weaken_both(struct filter_info *info, const struct filter_node *n, bool either,
			bool after_removed)
{
	bool left = false, whole;

	for (const struct filter_node *o = n->first; o; o = o->next) {
		whole = is_whole(info, o);
		if (weaken_node(info, o, either, after_removed))
			left |= !info[o->id].constant;
		else    /* true */
			info[o->id] = (struct filter_info){
				.type = TYPE_SIGNED, .constant = true, .registers = 1,
				.value = { .type = FILTER_SIGNED, .i = 1 },
			};
		after_removed |= !whole;
	}
	return left;
}

/* either: inside an ||; after_removed: after a removed part. False: the caller has to remove n. */
static bool weaken_node(struct filter_info *info, const struct filter_node *n, bool either,
			bool after_removed)
{
	if (is_whole(info, n))
		return !(either && after_removed && info[n->id].fails);
	if (n->kind != NODE_LOGIC)
		return false;
	if (n->op == OP_BOTH)
		return weaken_both(info, n, either, after_removed);
	for (const struct filter_node *o = n->first; o; o = o->next)
		if (!weaken_node(info, o, true, after_removed))
			return false;
	return true;
}

bool filter_weaken(const struct filter *f, struct filter_info *info)
{
	return weaken_node(info, f->root, false, false);
}

bool filter_is_whole(const struct filter *f, const struct filter_event *e)
{
	struct filter_info *info = calloc(f->node_count, sizeof(*info));
	int ret = info ? filter_bind(f, e, info, NULL) : -ENOMEM;
	bool whole = !ret && is_whole(info, f->root);

	free(info);
	/* A filter whose types clash is never true, which a program can express. */
	return whole || ret == -EINVAL;
}
