/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filters of which only a part can be decided: filter_weaken in filter/tree.h. A part that needs what cannot be had there is given up: of && the
 * others are left, of || nothing is. What is left is never false where the whole is true, failures included:
 *
 * - Where the rest of an && is false or fails, so is, or does, the whole: it comes to that part, or has become false before it.
 * - But that it has become false is no failure. If an || is around it, the || goes on with its next part, while a failure ends everything. So behind
 *   a part that was given up, what may fail is given up too if an || is around.
 * - An || comes to a part of what is left only if all before were false. So were they in the whole, or they failed there.
 */
#include <errno.h>
#include <stdlib.h>

#include "tracer/filter/tree.h"

/* All of it can be had. */
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

static bool weaken(struct filter_info *info, const struct filter_node *n, bool either, bool behind);

static bool weaken_both(struct filter_info *info, const struct filter_node *n, bool either,
			bool behind)
{
	bool left = false, whole;

	for (const struct filter_node *o = n->first; o; o = o->next) {
		whole = is_whole(info, o);
		if (weaken(info, o, either, behind))
			left |= !info[o->id].constant;
		else
			info[o->id] = (struct filter_info){ .type = TYPE_SIGNED, .constant = true, .registers = 1,
							    .value = { .type = FILTER_SIGNED, .i = 1 } };
		behind |= !whole;
	}
	return left;
}

/* either: an || is around; behind: something before was given up. False: n has to be given up. */
static bool weaken(struct filter_info *info, const struct filter_node *n, bool either, bool behind)
{
	if (is_whole(info, n))
		return !(either && behind && info[n->id].fails);
	if (n->kind != NODE_LOGIC)
		return false;
	if (n->op == OP_BOTH)
		return weaken_both(info, n, either, behind);
	for (const struct filter_node *o = n->first; o; o = o->next)
		if (!weaken(info, o, true, behind))
			return false;
	return true;
}

bool filter_weaken(const struct filter *f, struct filter_info *info)
{
	return weaken(info, f->root, false, false);
}

bool filter_is_whole(const struct filter *f, const struct filter_event *e)
{
	struct filter_info *info = calloc(f->node_count, sizeof(*info));
	int ret = info ? filter_bind(f, e, info, NULL) : -ENOMEM;
	bool whole = !ret && is_whole(info, f->root);

	free(info);
	/* Where types clash it is never true, which a program can say. */
	return whole || ret == -EINVAL;
}
