/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "fs/tree/recall.h"
#include "fs/base/base.h"
#include "tracer/base/hash.h"

#define BUCKETS 4096    /* a power of two */

/* Entries that are only here, in two chains each. */
static struct {
	uint32_t ids[BUCKETS], names[BUCKETS];
	uint32_t next_id[HANDOVER_NODES], next_name[HANDOVER_NODES];
} *left;                /* NULL: there are none */

/* Two files of trace images are the same one only if no event could come between them. */
bool recall_same(const struct handover_node *r, const struct recalled *what)
{
	uint32_t kind = HANDOVER_IMAGE | HANDOVER_SETTLED;

	if (r->flags & HANDOVER_REMOVED || (r->flags & kind) != what->flags ||
	    r->salt != what->salt)
		return false;
	return !(what->flags & HANDOVER_IMAGE) ||
	       (what->flags & HANDOVER_SETTLED && r->size == what->size && r->mtime == what->mtime);
}

static uint32_t *id_chain(uint64_t id)
{
	return &left->ids[id & (BUCKETS - 1)];
}

static uint32_t *name_chain(uint64_t parent, const char *name)
{
	return &left->names[hash_string(HASH_START ^ parent, name) & (BUCKETS - 1)];
}

static void add_left(uint32_t index, const struct handover_node *n)
{
	uint32_t *ids = id_chain(n->id), *names = name_chain(n->parent, handover_node_name(n));

	left->next_id[index] = *ids;
	*ids = index;
	left->next_name[index] = *names;
	*names = index;
}

static void settle(uint32_t index, struct handover_node *n, bool (*unanswered)(uint64_t unique))
{
	/* The kernel will count this lookup when it gets the reply. */
	if (n->looked && unanswered(n->looked)) {
		n->known -= n->known > 0;
		n->looked = 0;
	}
	if (n->known)
		add_left(index, n);
	else
		handover_node_free(index);
}

void recall_begin(bool (*unanswered)(uint64_t unique))
{
	struct handover_node *n;

	left = calloc(1, sizeof(*left));
	if (!left)
		return;         /* all nodes answer ESTALE */
	memset(left->ids, 0xff, sizeof(left->ids));
	memset(left->names, 0xff, sizeof(left->names));
	for (uint32_t i = 0; (n = handover_node_used(i)); i++)
		if (n->id)
			settle(i, n, unanswered);
}

uint32_t recall_id(uint64_t id)
{
	uint32_t i = left ? *id_chain(id) : HANDOVER_NONE;

	while (i != HANDOVER_NONE && handover_node(i)->id != id)
		i = left->next_id[i];
	return i;
}

uint32_t recall_name(uint64_t parent, const char *name, const struct recalled *what)
{
	uint32_t i = left ? *name_chain(parent, name) : HANDOVER_NONE;
	const struct handover_node *r;

	for (; i != HANDOVER_NONE; i = left->next_name[i]) {
		r = handover_node(i);
		if (r->parent == parent && !strcmp(handover_node_name(r), name) &&
		    recall_same(r, what))
			break;
	}
	return i;
}

bool recall_copy(uint64_t id, struct handover_node *out, char name[NAME_MAX + 1])
{
	const struct handover_node *r = handover_node(recall_id(id));

	if (r) {
		*out = *r;
		strcpy(name, handover_node_name(r));
	}
	return r != NULL;
}

static void unchain(uint32_t *chain, const uint32_t *next, uint32_t index)
{
	uint32_t at = *chain;

	if (at == index) {
		*chain = next[index];
		return;
	}
	while (at != HANDOVER_NONE && next[at] != index)
		at = next[at];
	if (at != HANDOVER_NONE)
		((uint32_t *)next)[at] = next[index];
}

void recall_drop(uint32_t index)
{
	const struct handover_node *r = left ? handover_node(index) : NULL;

	if (!r)
		return;
	unchain(id_chain(r->id), left->next_id, index);
	unchain(name_chain(r->parent, handover_node_name(r)), left->next_name, index);
}

void recall_forget(uint64_t id, uint64_t lookups)
{
	uint32_t index = recall_id(id);
	struct handover_node *r = handover_node(index);

	if (!r)
		return;
	r->known -= lookups < r->known ? lookups : r->known;
	if (r->known)
		return;
	recall_drop(index);
	handover_node_free(index);
}

void recall_unname(uint64_t parent, const char *name)
{
	uint32_t i = left ? *name_chain(parent, name) : HANDOVER_NONE;

	for (; i != HANDOVER_NONE; i = left->next_name[i]) {
		struct handover_node *r = handover_node(i);

		if (r->parent == parent && !strcmp(handover_node_name(r), name))
			r->flags |= HANDOVER_REMOVED;
	}
}

uint32_t recall_note(const struct node *n, const struct recalled *what, const struct looker *by)
{
	uint32_t index = n->kept == HANDOVER_NONE ? handover_node_new() : n->kept;
	struct handover_node *r = handover_node(index);

	if (!r)
		return HANDOVER_NONE;
	if (n->kept == HANDOVER_NONE) {
		*r = (struct handover_node){
			.parent = n->parent->id, .salt = what->salt, .size = what->size,
			.mtime = what->mtime, .flags = what->flags, .uid = by->who->uid,
			.gid = by->who->gid, .pid = by->who->pid,
		};
		if (!handover_node_set_name(r, n->name)) {
			handover_node_free(index);
			return HANDOVER_NONE;
		}
	}
	r->looked = by->unique;
	r->known = n->known;
	__atomic_store_n(&r->id, n->id, __ATOMIC_RELEASE);
	return index;
}

uint32_t recall_known(uint32_t index, uint64_t known)
{
	struct handover_node *r = handover_node(index);

	if (r && known) {
		r->known = known;
		return index;
	}
	handover_node_free(index);
	return HANDOVER_NONE;
}

void recall_removed(uint32_t index)
{
	struct handover_node *r = handover_node(index);

	if (r)
		r->flags |= HANDOVER_REMOVED;
}
