/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nodes of an earlier daemon of this mount, and the entries of the hand-over for those of this
 * one (fs/base/handover.h). Private to the table of nodes: the caller holds
 * its lock.
 *
 * A node that the kernel knows is in one of two places: in the table, or, if an earlier daemon made
 * it and no request was about it since, only here.
 */
#ifndef FS_TREE_RECALL_H
#define FS_TREE_RECALL_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/base/handover.h"
#include "fs/tree/node.h"

/* What tells a thing apart from another of the same path, and is the same in the next daemon. */
struct recalled {
	uint64_t salt, size;
	int64_t mtime;
	uint32_t flags;
};

/* Whether an entry is about this. */
bool recall_same(const struct handover_node *r, const struct recalled *what);

/* Takes all entries of an earlier daemon. */
void recall_begin(bool (*unanswered)(uint64_t unique));
/* The entry of an earlier daemon that is only here, or HANDOVER_NONE. */
uint32_t recall_id(uint64_t id);
uint32_t recall_name(uint64_t parent, const char *name, const struct recalled *what);
bool recall_copy(uint64_t id, struct handover_node *out, char name[NAME_MAX + 1]);
/* It has come into the table. Of HANDOVER_NONE nothing is done, here and below. */
void recall_drop(uint32_t index);
/* The kernel has forgotten some lookups of a node that is only here. */
void recall_forget(uint64_t id, uint64_t lookups);
/* What is only here and has this name was removed. */
void recall_unname(uint64_t parent, const char *name);

/* Writes the entry of a node of the table that the kernel has looked up. Returns its number. */
uint32_t recall_note(const struct node *n, const struct recalled *what, const struct looker *by);
/* The count of the node's lookups is now `known`; 0 frees the entry. Returns its number. */
uint32_t recall_known(uint32_t index, uint64_t known);
void recall_removed(uint32_t index);

#endif
