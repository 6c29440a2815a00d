/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nodes that the kernel knows at the moment: which row of the tree an inode number stands for,
 * and which objects it is about. A node lives while the kernel remembers it (its lookup count) or a
 * child of it lives.
 *
 * Two nodes never have the same id, in all the time of a mount: a session or channel that is made
 * again under the name of a removed one is another node, and a process whose current directory is
 * the old one stays there. st_ino is another number: it comes from the path, so that it is the same
 * again after the kernel has forgotten the node.
 *
 * A node passed to a function stays valid during that call because the kernel forgets no inode that
 * a request or an open file is about.
 */
#ifndef FS_TREE_NODE_H
#define FS_TREE_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"

struct tree_row;
struct session;
struct slot;
struct who;

#define NODE_ROOT 1

struct node {
	uint64_t id;
	uint64_t ino;                   /* st_ino */
	struct node *parent;            /* NULL: the root */
	const struct tree_row *row;
	/* NULL outside sessions; its node and those below have it */
	struct session *session;
	struct slot *slot;              /* of a file in trace/: its trace image, else NULL */
	size_t index;                   /* its number in the trace image */
	uint64_t tag;                   /* see struct found */

	/* The rest is node.c's own. */
	uint64_t lookups;
	uint64_t known;         /* lookups by the kernel among them */
	uint32_t kept;          /* recall.h: the entry for the next daemon, or HANDOVER_NONE */
	unsigned children;
	bool removed;
	struct node *next_id, *next_name;
	struct session *own_session;    /* the reference of the session's own node */
	char name[];
};

/*
 * What a name in a directory leads to. Owns references until node_enter took them over, or
 * found_drop.
 */
struct found {
	const struct tree_row *row;
	struct session *session;
	struct slot *slot;
	size_t index;
	/* tells apart things that have one name after or beside each other */
	uint64_t tag;
	uint64_t salt;                  /* the same for st_ino: must survive the node */
};

/* Who looks up a name: the request, and the process that it is of. */
struct looker {
	const struct who *who;
	uint64_t unique;        /* of the request */
};

int node_init(const struct tree_row *root);
/* Frees all nodes, whatever the kernel still knows. */
void node_deinit(void);
/*
 * After handover_take: ids mean what they meant to the earlier daemon. unanswered: the kernel does
 * not know the reply to this request, and sends it again.
 */
void node_recall_all(bool (*unanswered)(uint64_t unique));
/* Whether an earlier daemon's node is a file of a trace image. */
bool node_was_image(uint64_t id);
/*
 * NULL if there is none. A node of an earlier daemon is looked up again by its path, if what it was
 * still exists.
 */
struct node *node_by_id(uint64_t id);
/*
 * The node of what was found, made if need be; its lookup count grows by one. Takes what found
 * owns. 0, -ENOMEM, or -ENOENT if the parent was removed since the caller looked: the kernel would
 * keep the name for ever, because the notes about the names in that directory may have been sent.
 */
int node_enter(struct node *parent, const char *name, struct found *found, const struct looker *by,
	       struct node **out);
/* One lookup more, until node_forget: for those who look at a node outside a request about it. */
void node_hold(const struct node *n);
void node_forget(uint64_t id, uint64_t lookups);
/* The same of lookups that the kernel knew: those that node_enter counted. */
void node_forgotten(uint64_t id, uint64_t lookups);
/*
 * What is entered under this name from now on is another node: what it stood for, with this tag,
 * was removed.
 */
void node_unname(const struct node *parent, const char *name, uint64_t tag);

/* One node, copied: for use without the table's lock. */
struct node_name {
	uint64_t parent;
	const struct tree_row *row;
	size_t size;            /* of this struct with the name, to the next one */
	char name[];
};

/*
 * Collects struct node_name of all wanted nodes, children before their parents. wanted must only
 * look at the node.
 */
void node_collect(bool (*wanted)(const struct node *n), struct md_buf *out);
/* The ids of all nodes of a session, uint64_t each. */
void node_ids(const struct session *s, struct md_buf *out);
/* Within wanted: a directory above n was removed. */
bool node_removed(const struct node *n);
void found_drop(struct found *found);
/* The st_ino that a node of this name has or would have. */
uint64_t node_ino(const struct node *parent, const char *name, uint64_t salt);
/* The nearest of n and the nodes above it that stands for this row, or NULL. */
const struct node *node_up(const struct node *n, const struct tree_row *row);

#endif
