/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fs/tree/kept_image.h"
#include "fs/tree/node.h"
#include "fs/tree/recall.h"
#include "fs/tree/tracedir.h"
#include "fs/tree/tree.h"
#include "tracer/base/hash.h"
#include "tracer/face/tracer.h"

#define BUCKETS 1024    /* a power of two */

static struct {
	/* guards both tables, counts and `removed` of all nodes, and next_serial */
	pthread_mutex_t lock;
	struct node *ids[BUCKETS];
	struct node *names[BUCKETS];    /* without those that node_unname took out */
	struct node *root;
	uint64_t next_serial;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };        /* all zero: 16 KiB less in the program */

static struct node *recall(uint64_t id);

static uint64_t mix(uint64_t h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdull;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ull;
	return h ^ h >> 33;
}

static uint64_t hash(uint64_t seed, const char *name)
{
	return mix(hash_string(HASH_START ^ seed, name));
}

uint64_t node_ino(const struct node *parent, const char *name, uint64_t salt)
{
	uint64_t ino = hash(mix(parent->ino + salt), name);

	return ino > NODE_ROOT ? ino : ino + 2;         /* 0 is none and 1 the root */
}

static struct node **id_bucket(uint64_t id)
{
	return &table.ids[id & (BUCKETS - 1)];
}

static struct node **name_bucket(const struct node *parent, const char *name)
{
	return &table.names[hash(parent->id, name) & (BUCKETS - 1)];
}

static struct node *by_id(uint64_t id)
{
	struct node *n = *id_bucket(id);

	while (n && n->id != id)
		n = n->next_id;
	return n;
}

static struct node *by_name(const struct node *parent, const char *name, uint64_t tag)
{
	struct node *n = *name_bucket(parent, name);

	while (n && (n->parent != parent || n->tag != tag || strcmp(n->name, name)))
		n = n->next_name;
	return n;
}

static uint64_t next_id(void)
{
	struct handover_head *h = handover_head();

	/* No id is given that the next daemon could give again. */
	if (h)
		h->next_node = table.next_serial + 1;
	return table.next_serial++;
}

/* id 0: a new one */
static struct node *make_node(struct node *parent, const char *name, const struct found *found,
			      uint64_t id)
{
	size_t len = strlen(name) + 1;
	struct node *n = calloc(1, sizeof(*n) + len);

	if (!n)
		return NULL;
	memcpy(n->name, name, len);
	n->id = id ? id : next_id();
	n->kept = HANDOVER_NONE;
	n->row = found->row;
	n->parent = parent;
	n->index = found->index;
	n->tag = found->tag;
	n->ino = parent ? node_ino(parent, name, found->salt) : NODE_ROOT;
	n->own_session = found->session;
	n->session = found->session ? found->session : parent ? parent->session : NULL;
	n->slot = found->slot;
	n->next_id = *id_bucket(n->id);
	*id_bucket(n->id) = n;
	return n;
}

static void unlink_id(struct node *n)
{
	struct node **p = id_bucket(n->id);

	while (*p != n)
		p = &(*p)->next_id;
	*p = n->next_id;
}

static void unlink_name(struct node *n)
{
	struct node **p = name_bucket(n->parent, n->name);

	while (*p && *p != n)
		p = &(*p)->next_name;
	if (*p)
		*p = n->next_name;
}

/* Puts references without the lock: the last one of a session destroys it in the tracer. */
static void dispose(struct node *n)
{
	session_put(n->own_session);
	slot_put(n->slot);
	free(n);
}

/*
 * Takes n out of the tables if nothing holds it, then its parent in the same way. Returns the nodes
 * to free, chained by next_id. Caller holds the lock.
 */
static struct node *reap(struct node *n)
{
	struct node *dead = NULL;

	while (n && n->parent && !n->lookups && !n->children) {
		struct node *parent = n->parent;

		unlink_id(n);
		unlink_name(n);
		parent->children--;
		n->next_id = dead;
		dead = n;
		n = parent;
	}
	return dead;
}

static void dispose_all(struct node *dead)
{
	while (dead) {
		struct node *next = dead->next_id;

		dispose(dead);
		dead = next;
	}
}

int node_init(const struct tree_row *root)
{
	struct found found = { .row = root };

	table.next_serial = NODE_ROOT;
	table.root = make_node(NULL, "", &found, 0);
	if (!table.root)
		return -1;
	table.root->lookups = 1;
	return 0;
}

void node_deinit(void)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		dispose_all(table.ids[i]);
		table.ids[i] = table.names[i] = NULL;
	}
	table.root = NULL;
}

struct node *node_by_id(uint64_t id)
{
	struct node *n;

	pthread_mutex_lock(&table.lock);
	n = by_id(id);
	pthread_mutex_unlock(&table.lock);
	return n ? n : recall(id);
}

/* Links a node that was made. Caller holds the lock. */
static void add_child(struct node *n)
{
	struct node **bucket = name_bucket(n->parent, n->name);

	n->next_name = *bucket;
	*bucket = n;
	n->parent->children++;
}

static struct recalled what_is(const struct found *found)
{
	struct recalled what = { .salt = found->salt };

	if (found->slot) {
		what.flags = HANDOVER_IMAGE;
		if (slot_settled(found->slot, found->index, &what.salt, &what.size, &what.mtime))
			what.flags |= HANDOVER_SETTLED;
	}
	return what;
}

int node_enter(struct node *parent, const char *name, struct found *found, const struct looker *by,
	       struct node **out)
{
	struct recalled what = what_is(found);
	struct node *n = NULL;
	bool gone;

	pthread_mutex_lock(&table.lock);
	gone = parent->removed || node_removed(parent);
	if (!gone)
		n = by_name(parent, name, found->tag);
	if (!gone && !n) {
		uint32_t kept = recall_name(parent->id, name, &what);
		const struct handover_node *r = handover_node(kept);

		n = make_node(parent, name, found, r ? r->id : 0);
		if (n) {
			add_child(n);
			n->known = n->lookups = r ? r->known : 0;
			n->kept = kept;
			recall_drop(kept);
			*found = (struct found){ 0 };
		}
	}
	if (n) {
		n->lookups++;
		n->known++;
		n->kept = recall_note(n, &what, by);
	}
	pthread_mutex_unlock(&table.lock);
	found_drop(found);
	*out = n;
	return gone ? -ENOENT : n ? 0 : -ENOMEM;
}

/*
 * Makes a node that an earlier daemon knew. found is the one that its name leads to now. Caller
 * holds the lock. NULL: another thread has made it (see by_id), or no memory.
 */
static struct node *make_recalled(struct node *parent, uint64_t id, struct found *found)
{
	uint32_t kept = recall_id(id);
	const struct handover_node *r = handover_node(kept);
	struct node *n = r ? make_node(parent, handover_node_name(r), found, id) : NULL;

	if (!n)
		return NULL;
	add_child(n);
	n->known = n->lookups = r->known;
	n->kept = kept;
	recall_drop(kept);
	*found = (struct found){ 0 };
	return n;
}

/* Looks up what an entry was about, in its parent. -errno: it is gone, or is another one. */
static int find_again(const struct node *parent, const struct handover_node *r, const char *name,
		      struct found *found)
{
	struct who who = { .uid = r->uid, .gid = r->gid, .pid = r->pid };
	int rc = tree_find(parent, name, &who, found);
	struct recalled what;

	if (rc)
		return rc;
	what = what_is(found);
	if (recall_same(r, &what))
		return 0;
	found_drop(found);
	return -ESTALE;
}

/* Parents have smaller ids than their children, so this ends. */
static struct node *recall(uint64_t id)
{
	struct handover_node r;
	struct node *parent, *n;
	char name[NAME_MAX + 1];
	struct found found;
	bool left;

	pthread_mutex_lock(&table.lock);
	n = by_id(id);
	left = !n && recall_copy(id, &r, name) && r.parent < id;
	pthread_mutex_unlock(&table.lock);
	if (n || !left || r.flags & HANDOVER_REMOVED)
		return n;
	parent = node_by_id(r.parent);
	if (!parent || find_again(parent, &r, name, &found))
		return NULL;
	pthread_mutex_lock(&table.lock);
	if (!parent->removed && !node_removed(parent))
		n = make_recalled(parent, id, &found);
	if (!n)
		n = by_id(id);
	pthread_mutex_unlock(&table.lock);
	found_drop(&found);
	return n;
}

bool node_was_image(uint64_t id)
{
	const struct handover_node *r;
	bool image;

	pthread_mutex_lock(&table.lock);
	r = handover_node(recall_id(id));
	image = r && r->flags & HANDOVER_IMAGE;
	pthread_mutex_unlock(&table.lock);
	return image;
}

void node_recall_all(bool (*unanswered)(uint64_t unique))
{
	struct handover_head *h = handover_head();

	pthread_mutex_lock(&table.lock);
	if (h->next_node > table.next_serial)
		table.next_serial = h->next_node;
	recall_begin(unanswered);
	kept_images_recall();
	pthread_mutex_unlock(&table.lock);
}

void node_hold(const struct node *n)
{
	struct node *mine;

	pthread_mutex_lock(&table.lock);
	mine = by_id(n->id);
	if (mine)
		mine->lookups++;
	pthread_mutex_unlock(&table.lock);
}

void node_forget(uint64_t id, uint64_t lookups)
{
	struct node *n, *dead = NULL;

	pthread_mutex_lock(&table.lock);
	n = by_id(id);
	if (n && n != table.root) {
		n->lookups -= lookups < n->lookups ? lookups : n->lookups;
		dead = reap(n);
	}
	pthread_mutex_unlock(&table.lock);
	dispose_all(dead);
}

void node_forgotten(uint64_t id, uint64_t lookups)
{
	struct node *n;

	pthread_mutex_lock(&table.lock);
	n = by_id(id);
	if (n) {
		n->known -= lookups < n->known ? lookups : n->known;
		n->kept = recall_known(n->kept, n->known);
	} else {
		recall_forget(id, lookups);
	}
	pthread_mutex_unlock(&table.lock);
	node_forget(id, lookups);
}

void node_unname(const struct node *parent, const char *name, uint64_t tag)
{
	struct node **p;

	pthread_mutex_lock(&table.lock);
	p = name_bucket(parent, name);
	while (*p) {
		struct node *n = *p;

		if (n->parent == parent && n->tag == tag && !strcmp(n->name, name)) {
			*p = n->next_name;
			n->next_name = NULL;
			n->removed = true;
			recall_removed(n->kept);
		} else {
			p = &n->next_name;
		}
	}
	recall_unname(parent->id, name);
	pthread_mutex_unlock(&table.lock);
}

bool node_removed(const struct node *n)
{
	for (n = n->parent; n; n = n->parent)
		if (n->removed)
			return true;
	return false;
}

static int younger_first(const void *a, const void *b)
{
	const struct node *const *x = a, *const *y = b;

	return (*x)->id < (*y)->id ? 1 : -1;
}

static void copy_name(const struct node *n, struct md_buf *out)
{
	size_t len = strlen(n->name) + 1, size = sizeof(struct node_name) + len;
	struct node_name *to;

	size = (size + 7) & ~(size_t)7;
	to = (struct node_name *)(void *)md_buf_room(out, size);
	if (!to)
		return;
	*to = (struct node_name){ .parent = n->parent->id, .row = n->row, .size = size };
	memcpy(to->name, n->name, len);
	out->len += size;
}

void node_collect(bool (*wanted)(const struct node *n), struct md_buf *out)
{
	struct md_buf nodes = MD_BUF_INIT;
	const struct node **list;
	size_t count;

	pthread_mutex_lock(&table.lock);
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct node *n = table.ids[i]; n; n = n->next_id)
			if (n->parent && wanted(n))
				md_buf_put(&nodes, &n, sizeof(n));
	/* A child is always younger than its parent. */
	list = (const struct node **)(void *)nodes.data;
	count = nodes.len / sizeof(*list);
	if (count)
		qsort(list, count, sizeof(*list), younger_first);
	for (size_t i = 0; i < count; i++)
		copy_name(list[i], out);
	pthread_mutex_unlock(&table.lock);
	md_buf_deinit(&nodes);
}

void node_ids(const struct session *s, struct md_buf *out)
{
	pthread_mutex_lock(&table.lock);
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct node *n = table.ids[i]; n; n = n->next_id)
			if (n->session == s)
				md_buf_put(out, &n->id, sizeof(n->id));
	pthread_mutex_unlock(&table.lock);
}

void found_drop(struct found *found)
{
	session_put(found->session);
	slot_put(found->slot);
	found->session = NULL;
	found->slot = NULL;
}

const struct node *node_up(const struct node *n, const struct tree_row *row)
{
	while (n && n->row != row)
		n = n->parent;
	return n;
}
