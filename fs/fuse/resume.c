/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of open files is in the hand-over (fs/base/handover.h): see file.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/base/handover.h"
#include "fs/fuse/file.h"
#include "tracer/base/hash.h"

#define HASHES (HANDOVER_BYTES / sizeof(uint32_t))      /* names of a directory, in order */

void file_recall_all(bool (*unanswered)(uint64_t unique), void (*wake)(int fd, uint64_t poll),
		     int fd)
{
	struct handover_file *f;

	for (uint32_t i = 0; (f = handover_file_used(i)); i++) {
		const struct handover_given *newest = &f->given[f->which & 1];

		if (!f->handle)
			continue;
		/* The kernel does not know this handle: it sends the request to open again. */
		if (f->opening && unanswered(f->opening)) {
			handover_file_free(f);
			continue;
		}
		f->opening = 0;
		if (!(f->state & HANDOVER_SHOWN) && newest->unique && unanswered(newest->unique))
			handover_take_back(f);
		if (f->poll)
			wake(fd, f->poll);
	}
}

void file_resume(struct file *f)
{
	const struct handover_given *g = &f->kept->given[0];
	uint32_t state = f->kept->state;

	f->wrote = state & HANDOVER_WROTE;
	f->commented = state & HANDOVER_COMMENTED;
	f->failed = f->kept->failed < 0 ? f->kept->failed : 0;
	/* What was written without its end is lost. The writer must not take it for done. */
	f->lost = state & HANDOVER_PARTIAL;
	if (f->lost)
		f->failed = -ESTALE;
	f->recalled = true;
	if (!(state & HANDOVER_SHOWN) || f->node->row->view || S_ISDIR(f->node->row->mode))
		return;
	if (!g->more) {
		md_buf_put(&f->shown, g->bytes, g->len);
		f->is_shown = !f->shown.failed;
	}
}

bool file_is_recalled(const struct file *f)
{
	return f->recalled && f->kept->state & HANDOVER_SHOWN;
}

void file_note_writes(struct file *f)
{
	bool partial = f->tail.len || f->addresses.len;
	bool applied = partial && f->node->row->how == STORE_WHOLE && !f->wrote;

	if (!f->kept)
		return;
	/* A text that is in effect is not lost, but another write would have to continue it. */
	f->kept->failed = applied && !f->failed ? -ESTALE : f->failed;
	f->kept->state = (f->kept->state & HANDOVER_SHOWN) |
			 (partial && !applied ? HANDOVER_PARTIAL : 0) |
			 (f->wrote ? HANDOVER_WROTE : 0) |
			 (f->commented ? HANDOVER_COMMENTED : 0);
}

void file_note_text(struct file *f, const struct md_buf *text)
{
	handover_show(f->kept, text->data, text->len);
	f->recalled = false;
}

static uint32_t hash_name(const char *name)
{
	return (uint32_t)hash_string(HASH_START, name);
}

/* The names of a listing as hashes; "" is a name that was removed. */
static uint32_t *hash_all(const struct listing *l, size_t n)
{
	uint32_t *all = malloc((n ? n : 1) * sizeof(*all));
	const char *name;

	for (size_t i = 0; all && i < n; i++) {
		listing_at(l, i, &name);
		all[i] = hash_name(name);
	}
	return all;
}

void file_note_listing(struct file *f, const struct listing *l)
{
	size_t n = listing_count(l);
	uint32_t *all = f->kept ? hash_all(l, n) : NULL;

	if (all)
		handover_show(f->kept, all, n * sizeof(*all));
	f->recalled = false;
	free(all);
}

/* Adds the entry of a hash to *out and takes it from `from`. False: there is none. */
static bool move_entry(const struct listing *from, bool *taken, uint32_t hash, struct listing *out)
{
	struct entry e;
	const char *name;

	for (size_t i = 0; i < listing_count(from); i++) {
		e = *listing_at(from, i, &name);
		if (taken[i] || hash_name(name) != hash)
			continue;
		taken[i] = true;
		e.name = out->names.len;
		md_buf_put(&out->names, name, strlen(name) + 1);
		md_buf_put(&out->entries, &e, sizeof(e));
		return true;
	}
	return false;
}

/* The old order, with holes for names that were removed, then names that are new. */
static int merge_listing(const struct handover_given *g, struct listing *fresh)
{
	size_t count = listing_count(fresh), known = g->len / sizeof(uint32_t);
	struct listing out = { .dir = fresh->dir };
	bool *taken = calloc(count + 1, sizeof(*taken));
	const char *name;
	uint32_t hash;

	for (size_t i = 0; taken && i < known; i++) {
		struct entry hole = { .name = out.names.len };

		memcpy(&hash, g->bytes + i * sizeof(hash), sizeof(hash));
		if (move_entry(fresh, taken, hash, &out))
			continue;
		md_buf_putc(&out.names, 0);
		md_buf_put(&out.entries, &hole, sizeof(hole));
	}
	for (size_t i = 0; taken && i < count; i++) {
		listing_at(fresh, i, &name);
		if (!taken[i])
			move_entry(fresh, taken, hash_name(name), &out);
	}
	if (!taken || out.names.failed || out.entries.failed) {
		free(taken);
		listing_deinit(&out);
		return -ENOMEM;
	}
	free(taken);
	listing_deinit(fresh);
	*fresh = out;
	return 0;
}

int file_resume_listing(struct file *f, struct listing *fresh)
{
	size_t n = listing_count(fresh);
	uint32_t *all = hash_all(fresh, n);
	int rc = all ? 0 : -ENOMEM;

	if (!rc && !handover_shows(f->kept, all, n * sizeof(*all)))
		rc = f->kept->given[0].more ? -ESTALE : merge_listing(&f->kept->given[0], fresh);
	free(all);
	if (rc)
		listing_deinit(fresh);
	return rc;
}
