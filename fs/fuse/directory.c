/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open directories (file.h). An offset is the number of an entry in the listing that the open has.
 * Listings are in the order of names, so that a reader continues after a name, whatever was made
 * and removed. For the next daemon, the last names before the reader are noted. The kernel may ask
 * for the rest from an earlier one on, because a program's buffer has less room than a reply.
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/base/handover.h"
#include "fs/fuse/file.h"
#include "tracer/base/hash.h"

#define ENTRIES_MOST (1u << 24) /* of a listing that is continued */
#define WINDOW 460u             /* entries that are noted, and entries of one reply */

/* The entries before the place of the reader, for the next daemon. */
struct listing_place {
	uint64_t hash;          /* of the listing */
	uint64_t first;         /* number of the first of them */
	uint64_t count;
	char before[NAME_MAX + 1];      /* the name of the entry before them; "": there is none */
	uint64_t names[WINDOW]; /* hashes; `count` of them are noted */
};
#define PLACE_SIZE(count) (offsetof(struct listing_place, names) + (count) * sizeof(uint64_t))
_Static_assert(PLACE_SIZE(WINDOW) <= HANDOVER_BYTES, "there is room for it");

static uint64_t hash_name(const char *name)
{
	return hash_string(HASH_START, name);
}

static uint64_t hash_listing(const struct listing *l)
{
	uint64_t hash = HASH_START;
	const char *name;

	for (size_t i = 0; i < listing_count(l); i++) {
		listing_at(l, i, &name);
		hash = hash_bytes(hash, name, strlen(name) + 1);
	}
	return hash;
}

/* The request gets entries up to number `next`. Caller holds f->lock. */
static void note_listing(struct file *f, uint64_t unique, size_t next)
{
	struct listing_place place = { .hash = f->listed };
	const char *name = "";

	place.first = next > WINDOW ? next - WINDOW : 0;
	place.first = place.first > f->begins ? place.first : f->begins;
	place.count = next - place.first;
	if (place.first)
		listing_at(&f->listing, place.first - 1, &name);
	snprintf(place.before, sizeof(place.before), "%s", name);
	for (size_t i = 0; i < place.count; i++) {
		listing_at(&f->listing, place.first + i, &name);
		place.names[i] = hash_name(name);
	}
	handover_give_place(f->kept, unique, &place, PLACE_SIZE(place.count), next);
}

/* The first entry whose name is after this one. */
static size_t after(const struct listing *l, const char *last)
{
	size_t i = 0;
	const char *name;

	for (; i < listing_count(l); i++) {
		listing_at(l, i, &name);
		if (strcmp(name, last) > 0)
			break;
	}
	return i;
}

static uint64_t *hash_all(const struct listing *l)
{
	size_t count = listing_count(l);
	uint64_t *all = malloc((count + 1) * sizeof(*all));
	const char *name;

	for (size_t i = 0; all && i < count; i++) {
		listing_at(l, i, &name);
		all[i] = hash_name(name);
	}
	return all;
}

/* A fresh listing, from entry number `first` on, in which noted entries are looked for. */
struct fresh {
	struct listing *listing;
	uint64_t *hashes;       /* of its names */
	size_t first, count;
};

/* The number of the entry of this name, or count. */
static size_t find_entry(const struct fresh *f, uint64_t hash)
{
	size_t i = f->first;

	while (i < f->count && f->hashes[i] != hash)
		i++;
	return i;
}

/*
 * The listing becomes one in which the noted entries have their numbers. Entry number `from` is the
 * one after the last noted one before it that is still there. Those that are not are not listed,
 * nor those before the noted ones, of which the last has its name, for the next note.
 */
static int shift_entries(struct fresh *f, const struct listing_place *place, uint64_t from)
{
	struct listing *l = f->listing;
	const struct entry *all = (const struct entry *)(const void *)l->entries.data;
	struct entry none = { .name = l->names.len }, e;
	struct md_buf entries = MD_BUF_INIT;
	size_t next = f->first, i;

	md_buf_putc(&l->names, 0);
	for (uint64_t n = 0; n < from; n++) {
		i = n < place->first ? f->count : find_entry(f, place->names[n - place->first]);
		next = i < f->count ? i + 1 : next;
		e = i < f->count ? all[i] : none;
		if (n + 1 == place->first && f->first)
			e.name = all[f->first - 1].name;
		md_buf_put(&entries, &e, sizeof(e));
	}
	md_buf_put(&entries, all + next, (f->count - next) * sizeof(*all));
	md_buf_deinit(&l->entries);
	l->entries = entries;
	return entries.failed || l->names.failed ? -ENOMEM : 0;
}

/* Reads a note; false: there is none. */
static bool read_place(const struct handover_given *g, struct listing_place *place)
{
	*place = (struct listing_place){ 0 };
	if (g->len < PLACE_SIZE(0) || g->len > sizeof(*place))
		return false;
	memcpy(place, g->bytes, g->len);
	place->before[NAME_MAX] = 0;
	return place->count <= WINDOW && g->len == PLACE_SIZE(place->count);
}

static bool has_number(const struct listing_place *place, uint64_t from)
{
	return from >= place->first && from - place->first <= place->count && from <= ENTRIES_MOST;
}

/*
 * A fresh listing becomes one whose entry number `from` is what an earlier daemon's reader has not
 * got; *begins: no entry before this number is in it. -ESTALE: it is not known which that is.
 */
static int resume_listing(struct file *f, size_t from, struct listing *fresh, size_t *begins)
{
	uint64_t hash = hash_listing(fresh);
	struct fresh all = { .listing = fresh, .count = listing_count(fresh) };
	bool noted = false;
	int rc = -ESTALE;

	all.hashes = hash_all(fresh);
	for (uint32_t i = 0; i < 2 && rc == -ESTALE && all.hashes; i++) {
		struct listing_place place;

		if (!read_place(&f->kept->given[(f->kept->which + i) & 1], &place))
			continue;
		noted = true;
		if (place.hash == hash) {
			rc = 0;
		} else if (has_number(&place, from)) {
			all.first = after(fresh, place.before);
			rc = shift_entries(&all, &place, from);
			*begins = place.first;
		}
	}
	rc = !all.hashes ? -ENOMEM : noted ? rc : 0;
	free(all.hashes);
	if (rc)
		listing_deinit(fresh);
	return rc;
}

/* Makes the listing that a read of entries from number `from` on needs. */
static int list_again(struct file *f, size_t from)
{
	struct listing fresh, old;
	size_t begins = 0;
	int rc = tree_list(f->node, &f->who, &fresh);
	uint64_t hash;

	if (!rc && from && f->recalled)
		rc = resume_listing(f, from, &fresh, &begins);
	if (rc)
		return rc;
	hash = hash_listing(&fresh);
	pthread_mutex_lock(&f->lock);
	old = f->listing;
	f->listing = fresh;
	f->listed = hash;
	f->begins = begins;
	f->recalled = false;
	pthread_mutex_unlock(&f->lock);
	listing_deinit(&old);
	return 0;
}

int file_list(struct file *f, uint64_t unique, size_t from,
	      bool (*add)(void *arg, size_t i, const char *name, const struct entry *e), void *arg)
{
	const struct entry *e;
	const char *name;
	bool listed, gone;
	size_t i;
	int rc;

	pthread_mutex_lock(&f->lock);
	listed = f->listing.dir != NULL;
	gone = from && from < f->begins;
	pthread_mutex_unlock(&f->lock);
	rc = gone ? -ESTALE : from && listed ? 0 : list_again(f, from);
	if (rc)
		return rc;
	pthread_mutex_lock(&f->lock);
	for (i = from; i < listing_count(&f->listing); i++) {
		e = listing_at(&f->listing, i, &name);
		if (i - from == WINDOW || (e->mode && !add(arg, i, name, e)))
			break;
	}
	if (i > from)
		note_listing(f, unique, i);
	pthread_mutex_unlock(&f->lock);
	return 0;
}
