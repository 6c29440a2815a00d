// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cache of parsed layouts: see app/layout.h. A file without a digest is read in pieces that
 * stay in the processor's cache, and each piece is compared with the copy from which the layout was
 * parsed.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/abi/table_digest.h"
#include "tracer/app/app.h"
#include "tracer/app/layout.h"
#include "tracer/app/parse.h"
#include "tracer/app/selection.h"
#include "tracer/base/hash.h"

#define BUCKETS 1024u   /* a power of two */
#define OWNERS 256u     /* a power of two */
#define PIECE 16384u    /* bytes that are read at once */

struct layouts {
	struct cds_list_head buckets[BUCKETS];
	struct cds_list_head idle;
	uint32_t count, idle_count;
	size_t idle_bytes;
	uint16_t owned[OWNERS];         /* layouts, by a hash of their owners */
	size_t charged[OWNERS];         /* bytes, by the same hash */
	size_t charge;
	uint8_t piece[PIECE];
};

struct layouts *layouts_create(void)
{
	struct layouts *l = calloc(1, sizeof(*l));

	for (uint32_t i = 0; l && i < BUCKETS; i++)
		CDS_INIT_LIST_HEAD(&l->buckets[i]);
	if (l)
		CDS_INIT_LIST_HEAD(&l->idle);
	return l;
}

uint32_t layouts_count(const struct layouts *l)
{
	return l->count;
}

static uint32_t owner_index(uid_t uid)
{
	return (uint32_t)(hash_step(HASH_START, uid) >> 32) & (OWNERS - 1);
}

static void layout_free(struct layout *layout)
{
	selections_drop(layout);
	registration_forget(&layout->parsed);
	free(layout->tables);
	free(layout);
}

static void remove_idle(struct layout *layout)
{
	struct layouts *l = layout->cache;

	cds_list_del(&layout->idle);
	l->idle_count--;
	l->idle_bytes -= layout->parsed.size;
}

static void evict(struct layout *layout)
{
	struct layouts *l = layout->cache;

	remove_idle(layout);
	cds_list_del(&layout->node);
	l->count--;
	l->owned[owner_index(layout->uid)]--;
	layout_free(layout);
}

void layouts_destroy(struct layouts *l)
{
	struct layout *layout, *next;

	if (!l)
		return;
	cds_list_for_each_entry_safe(layout, next, &l->idle, idle)
		evict(layout);
	free(l);
}

/*
 * Where the tables begin that never change. 0: the tables that change lie elsewhere than right
 * after the header, or among the others.
 */
static size_t tables_begin(const struct trail_reg *h)
{
	uint64_t begin = h->state_offset + 4ull * h->event_count;

	if (h->state_offset < sizeof(*h))
		return 0;
	if (h->missed_offset && h->missed_offset < begin)
		return 0;
	if (h->missed_offset)
		begin = h->missed_offset + 8ull * h->event_count;
	if (begin > h->size || h->event_offset < begin || h->field_offset < begin ||
	    h->string_offset < begin || (h->enum_count && h->enum_offset < begin) ||
	    (h->label_count && h->label_offset < begin))
		return 0;
	return (size_t)begin;
}

/* The file's own digest of its tables; 0: it has none. */
static uint64_t claimed_digest(const struct trail_reg *h, const uint8_t after_head[8])
{
	uint64_t digest;

	if (h->digest_offset != sizeof(*h) || h->state_offset < sizeof(*h) + sizeof(digest))
		return 0;
	memcpy(&digest, after_head, sizeof(digest));
	return digest;
}

static uint64_t hash_head(const struct trail_reg *head, uid_t uid)
{
	return hash_step(hash_bytes(HASH_START, head, sizeof(*head)), uid);
}

static bool is_alike(const struct layout *layout, uint64_t hash, const struct trail_reg *head,
		     uid_t uid)
{
	return layout->hash == hash && layout->uid == uid &&
	       !memcmp(&layout->head, head, sizeof(*head));
}

/* Reads the file's tables. 1: they are the layout's; 0: they are not; -errno. */
static int compare_tables(struct layouts *l, const struct layout *layout, int fd)
{
	size_t begin = layout->head.size - layout->tables_size, at = 0, size;
	ssize_t n;

	for (; at < layout->tables_size; at += size) {
		size = layout->tables_size - at < PIECE ? layout->tables_size - at : PIECE;
		do
			n = pread(fd, l->piece, size, (off_t)(begin + at));
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return -errno;
		if ((size_t)n != size || memcmp(l->piece, layout->tables + at, size) != 0)
			return 0;
	}
	return 1;
}

/* 1: the file has the layout's tables; 0: it has others; -errno. claimed: see claimed_digest(). */
static int has_tables(struct layouts *l, const struct layout *layout, int fd, uint64_t claimed)
{
	return claimed ? claimed == layout->digest : compare_tables(l, layout, fd);
}

/* Copies all that registrations share; what is the file's own stays. */
static void use_layout(struct registration *r, struct layout *layout)
{
	struct registration own = *r;

	*r = layout->parsed;
	r->fd = own.fd;
	r->uid = own.uid;
	r->pid = own.pid;
	r->dev = own.dev;
	r->ino = own.ino;
	r->layout = layout;
	layout->users++;
}

int layout_find(struct layouts *l, struct registration *r, int fd, size_t size)
{
	uint8_t begin[sizeof(struct trail_reg) + sizeof(uint64_t)] = { 0 };
	struct trail_reg head;
	struct layout *layout;
	uint64_t hash, claimed;
	uint32_t pid;
	int ret;

	if (!l || pread(fd, begin, sizeof(begin), 0) < (ssize_t)sizeof(head))
		return -ENOENT;
	memcpy(&head, begin, sizeof(head));
	if (head.size != size)
		return -ENOENT;
	claimed = claimed_digest(&head, begin + sizeof(head));
	pid = head.pid;
	head.pid = 0;
	hash = hash_head(&head, r->uid);
	cds_list_for_each_entry(layout, &l->buckets[hash & (BUCKETS - 1)], node) {
		if (!is_alike(layout, hash, &head, r->uid))
			continue;
		ret = has_tables(l, layout, fd, claimed);
		if (ret < 0)
			return ret;
		if (!ret)
			continue;
		if (!layout->users)
			remove_idle(layout);
		r->pid = pid;
		use_layout(r, layout);
		return 0;
	}
	return -ENOENT;
}

/* The layout that was idle for the longest time: of this owner, or of any (NULL). */
static struct layout *find_oldest(struct layouts *l, const uid_t *owner)
{
	struct layout *layout;

	cds_list_for_each_entry(layout, &l->idle, idle)
		if (!owner || layout->uid == *owner)
			return layout;
	return NULL;
}

static uint32_t count_idle(struct layouts *l, uid_t owner)
{
	struct layout *layout;
	uint32_t n = 0;

	cds_list_for_each_entry(layout, &l->idle, idle)
		n += layout->uid == owner;
	return n;
}

static bool has_room(struct layouts *l, const struct layout *new)
{
	struct layout *layout, *oldest, *idle = NULL;
	uint32_t alike = 0;

	cds_list_for_each_entry(layout, &l->buckets[new->hash & (BUCKETS - 1)], node)
		if (is_alike(layout, new->hash, &new->head, new->uid)) {
			alike++;
			idle = layout->users ? idle : layout;
		}
	if (alike >= LAYOUTS_ALIKE) {
		if (!idle)
			return false;
		evict(idle);
	}
	if (l->count >= LAYOUTS_MAX)
		return false;
	if (l->owned[owner_index(new->uid)] < LAYOUTS_PER_OWNER)
		return true;
	oldest = find_oldest(l, &new->uid);
	if (oldest)
		evict(oldest);
	return oldest != NULL;
}

static void add_to_cache(struct layouts *l, struct layout *layout)
{
	layout->cache = l;
	cds_list_add(&layout->node, &l->buckets[layout->hash & (BUCKETS - 1)]);
	l->count++;
	l->owned[owner_index(layout->uid)]++;
}

/*
 * What later files are compared with: the digest that the tables have, whatever the file claims; or
 * the tables, if the file has no digest. Takes the data over.
 */
static void keep_tables(struct layout *layout, uint8_t *data, size_t begin, size_t size)
{
	layout->tables_size = size - begin;
	if (claimed_digest(&layout->head, data + sizeof(layout->head))) {
		layout->digest = trail_table_digest(data + begin, size - begin);
		free(data);
		return;
	}
	memmove(data, data + begin, layout->tables_size);
	layout->tables = data;
	data = realloc(data, layout->tables_size + 1);
	if (data)
		layout->tables = data;
}

int layout_create(struct layouts *l, struct registration *r, uint8_t *data, size_t size)
{
	struct layout *layout = calloc(1, sizeof(*layout));
	size_t begin;

	if (!layout) {
		free(data);
		return -ENOMEM;
	}
	memcpy(&layout->head, data, sizeof(layout->head));
	layout->head.pid = 0;
	layout->uid = r->uid;
	layout->hash = hash_head(&layout->head, r->uid);
	begin = l ? tables_begin(&layout->head) : 0;
	if (begin && has_room(l, layout)) {
		keep_tables(layout, data, begin, size);
		add_to_cache(l, layout);
	} else {
		free(data);
	}
	layout->parsed = *r;
	use_layout(r, layout);
	return 0;
}

void layout_put(struct layout *layout)
{
	struct layouts *l = layout->cache;

	if (--layout->users)
		return;
	if (!l) {
		layout_free(layout);
		return;
	}
	cds_list_add_tail(&layout->idle, &l->idle);
	l->idle_count++;
	l->idle_bytes += layout->parsed.size;
	if (count_idle(l, layout->uid) > LAYOUTS_IDLE_PER_OWNER)
		evict(find_oldest(l, &layout->uid));
	while (l->idle_count > LAYOUTS_IDLE || l->idle_bytes > LAYOUTS_IDLE_BYTES)
		evict(find_oldest(l, NULL));
}

bool layout_charge(struct layout *layout, size_t bytes)
{
	struct layouts *l = layout->cache;
	uint32_t owner = owner_index(layout->uid);

	if (!l || l->charge + bytes > LAYOUTS_CHARGE ||
	    l->charged[owner] + bytes > LAYOUTS_CHARGE_PER_OWNER)
		return false;
	l->charge += bytes;
	l->charged[owner] += bytes;
	return true;
}

void layout_refund(struct layout *layout, size_t bytes)
{
	layout->cache->charge -= bytes;
	layout->cache->charged[owner_index(layout->uid)] -= bytes;
}
