/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests that earlier daemons had begun and not answered. */
#include <linux/fuse.h>
#include <string.h>

#include "fs/base/handover.h"

struct handover_doing *handover_earlier(uint64_t unique)
{
	struct handover_head *h = handover_head();

	for (size_t i = 0; h && i < HANDOVER_EARLIER; i++)
		if (h->earlier[i].unique == unique)
			return &h->earlier[i];
	return NULL;
}

static bool is_valid(const struct handover_doing *d)
{
	return d->unique && d->len <= HANDOVER_REPLY &&
	       (!d->len || d->len >= sizeof(struct fuse_out_header));
}

/* To execute the request again without knowing that it was begun would give another result. */
static bool must_be_known(const struct handover_doing *d)
{
	return d->len || d->opcode == FUSE_WRITE || d->opcode == FUSE_MKDIR ||
	       d->opcode == FUSE_RMDIR;
}

/*
 * Where an earlier daemon's request goes: to the entry that it has already, because it may wait
 * for an answer over any number of daemons; or to a free one; or to one that can be forgotten.
 * NULL: there is none.
 */
static struct handover_doing *place_of(struct handover_head *h, uint64_t unique)
{
	struct handover_doing *e, *free = NULL, *other = NULL;

	for (size_t i = 0; i < HANDOVER_EARLIER; i++) {
		e = &h->earlier[i];
		if (e->unique == unique)
			return e;
		if (!e->unique && !free)
			free = e;
		else if (e->unique && !must_be_known(e) && !other)
			other = e;
	}
	return free ? free : other;
}

/* An entry has its number while it is valid, and its length while it has the reply. */
static void fill_earlier(struct handover_doing *e, const struct handover_doing *d)
{
	if (e->unique != d->unique) {
		__atomic_store_n(&e->unique, 0, __ATOMIC_RELEASE);
		e->opcode = d->opcode;
		e->len = 0;
	}
	memcpy(e->reply, d->reply, d->len);
	__atomic_store_n(&e->len, d->len, __ATOMIC_RELEASE);
	__atomic_store_n(&e->unique, d->unique, __ATOMIC_RELEASE);
}

/* This daemon may be killed at any point, so an entry is copied before it is cleared. */
void handover_move_doing(void)
{
	struct handover_head *h = handover_head();
	struct handover_doing *e;

	for (size_t i = 0; i < HANDOVER_EARLIER; i++)
		if (h->earlier[i].unique && !is_valid(&h->earlier[i]))
			h->earlier[i].unique = 0;
	for (size_t i = 0; i < HANDOVER_THREADS; i++) {
		struct handover_doing *d = &h->doing[i];

		e = is_valid(d) ? place_of(h, d->unique) : NULL;
		if (e && (e->unique != d->unique || d->len))
			fill_earlier(e, d);
		__atomic_store_n(&d->unique, 0, __ATOMIC_RELEASE);
	}
}
