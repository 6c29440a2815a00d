/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open directories (file.h). An offset is the number of an entry in the listing that the open has.
 * For the next daemon, the name of the last entry that a reader got is noted: listings are in the
 * order of names, so the reader continues after that name, whatever was made and removed.
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "fs/base/handover.h"
#include "fs/fuse/file.h"
#include "tracer/base/hash.h"

#define ENTRIES_MOST (1u << 24) /* of a listing that is continued */

/* Where the reader of a directory is: after the entry of this name. */
struct listing_place {
	uint64_t hash;          /* of the listing */
	char name[NAME_MAX + 1];        /* "": before all */
};

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

/* The request gets the entries up to number `next`. Caller holds f->lock. */
static void note_listing(struct file *f, uint64_t unique, size_t next)
{
	struct listing_place place = { .hash = f->listed };
	const char *name;

	listing_at(&f->listing, next - 1, &name);
	snprintf(place.name, sizeof(place.name), "%s", name);
	handover_give_place(f->kept, unique, &place,
			    offsetof(struct listing_place, name) + strlen(place.name) + 1, next);
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

/* Entry number i becomes number `from`; with entries before it that are not listed. */
static int shift_entries(struct listing *l, size_t i, size_t from)
{
	struct entry none = { .name = l->names.len };
	struct md_buf entries = MD_BUF_INIT;

	md_buf_putc(&l->names, 0);
	for (size_t n = 0; n < from; n++)
		md_buf_put(&entries, &none, sizeof(none));
	md_buf_put(&entries, l->entries.data + i * sizeof(none),
		   l->entries.len - i * sizeof(none));
	md_buf_deinit(&l->entries);
	l->entries = entries;
	return entries.failed || l->names.failed ? -ENOMEM : 0;
}

/*
 * A fresh listing becomes one whose entry number `from` is what an earlier daemon's reader has not
 * got. -ESTALE: it is not known which that is.
 */
static int resume_listing(struct file *f, size_t from, struct listing *fresh)
{
	const struct handover_file *kept = f->kept;
	uint64_t hash = hash_listing(fresh);
	bool noted = false;
	int rc = -ESTALE;

	for (uint32_t i = 0; i < 2 && rc == -ESTALE; i++) {
		const struct handover_given *g = &kept->given[(kept->which + i) & 1];
		struct listing_place place = { 0 };

		if (g->len <= offsetof(struct listing_place, name) || g->len > sizeof(place))
			continue;
		noted = true;
		memcpy(&place, g->bytes, g->len);
		place.name[NAME_MAX] = 0;
		if (place.hash == hash)
			rc = 0;
		else if (g->end == from && from <= ENTRIES_MOST)
			rc = shift_entries(fresh, after(fresh, place.name), from);
	}
	if (!noted)
		rc = 0;
	if (rc)
		listing_deinit(fresh);
	return rc;
}

/* Makes the listing that a read of entries from number `from` on needs. */
static int list_again(struct file *f, size_t from)
{
	struct listing fresh, old;
	int rc = tree_list(f->node, &f->who, &fresh);
	uint64_t hash;

	if (!rc && from && f->recalled)
		rc = resume_listing(f, from, &fresh);
	if (rc)
		return rc;
	hash = hash_listing(&fresh);
	pthread_mutex_lock(&f->lock);
	old = f->listing;
	f->listing = fresh;
	f->listed = hash;
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
	bool listed;
	size_t i;
	int rc;

	pthread_mutex_lock(&f->lock);
	listed = f->listing.dir != NULL;
	pthread_mutex_unlock(&f->lock);
	rc = from && listed ? 0 : list_again(f, from);
	if (rc)
		return rc;
	pthread_mutex_lock(&f->lock);
	for (i = from; i < listing_count(&f->listing); i++) {
		e = listing_at(&f->listing, i, &name);
		if (e->mode && !add(arg, i, name, e))
			break;
	}
	if (i > from)
		note_listing(f, unique, i);
	pthread_mutex_unlock(&f->lock);
	return 0;
}
