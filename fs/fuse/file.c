/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "fs/base/base.h"
#include "fs/base/handover.h"
#include "fs/fuse/file.h"
#include "fs/fuse/fuse.h"
#include "fs/fuse/reply.h"
#include "fs/fuse/waiter.h"
#include "fs/tree/errors.h"
#include "fs/tree/tracedir.h"

#define LASTS 2000              /* ms: for so long stat(2) shows the size that a file had at open */

/*
 * A handle of a file that the hand-over has no entry for: it has the number of the daemon, so that
 * the next daemon does not take it for one of its own, and the address.
 */
#define UNKEPT (UINT64_C(1) << 63)
#define ADDRESS_BITS 48

static struct {
	/*
	 * guards the list, the array, and which entries of the hand-over are used; taken before
	 * the lock of a file
	 */
	pthread_mutex_t lock;
	pthread_cond_t recalled;        /* a file has been recalled, or cannot be */
	LIST_HEAD(, file) files;        /* the newest first */
	struct file *kept[HANDOVER_FILES];      /* by the entry of the hand-over */
	bool recalling[HANDOVER_FILES];
	/* Some of an earlier daemon's may not be recalled yet. Atomic. */
	bool left;
} opened = { .lock = PTHREAD_MUTEX_INITIALIZER, .recalled = PTHREAD_COND_INITIALIZER };

static bool reads(int flags)
{
	return (flags & O_ACCMODE) != O_WRONLY;
}

static bool writes(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY;
}

/*
 * The kernel checks modes, but not for root. Root cannot read a file that has nothing to show,
 * either.
 */
static int check(const struct node *n, int flags)
{
	const struct tree_row *r = n->row;

	if (S_ISDIR(r->mode))
		return 0;
	if (reads(flags) && !r->show && !r->view && !n->slot)
		return -EACCES;
	if (writes(flags) && !r->store)
		return -EACCES;
	/* A view may stay open after its session was removed, but cannot be opened then. */
	return r->view && tree_gone(n) ? -ENOENT : 0;
}

static int attach(struct file *f, bool recalled)
{
	const struct tree_row *r = f->node->row;

	if (f->node->slot)
		return slot_open(f->node->slot);
	if (r->view || (r->change && reads(f->flags)))
		return waiter_open(f->node, f->kept, recalled, &f->waiter);
	return 0;
}

static uint64_t address_handle(const struct file *f)
{
	const struct handover_head *h = handover_head();

	return UNKEPT | (uint64_t)((h ? h->taken : 0) & 0x7fff) << ADDRESS_BITS | (uintptr_t)f;
}

/* Takes an entry of the hand-over, if there is one left. */
static void keep(struct file *f, uint64_t unique)
{
	pthread_mutex_lock(&opened.lock);
	f->kept = handover_file_new();
	if (f->kept) {
		f->kept->opening = unique;
		f->kept->uid = f->who.uid;
		f->kept->gid = f->who.gid;
		f->kept->pid = f->who.pid;
		f->kept->flags = f->flags;
		f->kept->node = f->node->id;
	}
	pthread_mutex_unlock(&opened.lock);
	f->handle = f->kept ? f->kept->handle : address_handle(f);
}

static uint32_t index_of(uint64_t handle)
{
	return (uint32_t)(handle & UINT32_MAX) % HANDOVER_FILES;
}

static void list_file(struct file *f)
{
	LIST_INSERT_HEAD(&opened.files, f, link);
	if (f->kept)
		opened.kept[index_of(f->handle)] = f;
}

/* The entry is free from here on. Caller holds the lock. */
static void unkeep(struct file *f)
{
	if (f->kept && opened.kept[index_of(f->handle)] == f)
		opened.kept[index_of(f->handle)] = NULL;
	handover_drop_text(f->kept);
	handover_file_free(f->kept);
	f->kept = NULL;
}

static void free_file(struct file *f)
{
	pthread_mutex_destroy(&f->lock);
	node_forget(f->node->id, 1);
	free(f);
}

/* offset: of the read that needs it */
static int renew(struct file *f, uint64_t offset)
{
	const struct tree_row *r = f->node->row;
	struct md_buf text = MD_BUF_INIT, old;
	uint64_t change = r->change ? r->change(f->node) : 0;
	int rc = r->show(f->node, &f->who, &text);

	if (!rc && text.failed)
		rc = -ENOMEM;
	if (!rc && offset && file_is_recalled(f) && !handover_shows(f->kept, text.data, text.len))
		rc = -ESTALE;
	if (rc) {
		md_buf_deinit(&text);
		return rc;
	}
	file_note_text(f, &text);
	if (f->waiter)
		waiter_seen(f->waiter, change);
	pthread_mutex_lock(&f->lock);
	old = f->shown;
	f->shown = text;
	f->is_shown = true;
	pthread_mutex_unlock(&f->lock);
	md_buf_deinit(&old);
	return 0;
}

int file_open(const struct node *n, const struct who *who, int flags, uint64_t unique,
	      struct file **out)
{
	int rc = check(n, flags);
	struct file *f;

	if (rc)
		return rc;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	node_hold(n);
	f->node = n;
	f->who = *who;
	f->flags = flags;
	pthread_mutex_init(&f->lock, NULL);
	keep(f, unique);
	rc = attach(f, false);
	f->since = chores_clock();
	/* If it cannot be made now, the first read says why. */
	if (!rc && n->row->sized)
		f->is_fresh = !renew(f, 0);
	pthread_mutex_lock(&opened.lock);
	if (rc)
		unkeep(f);
	else
		list_file(f);
	pthread_mutex_unlock(&opened.lock);
	if (rc) {
		free_file(f);
		return rc;
	}
	*out = f;
	return 0;
}

/* The file of an entry that an earlier daemon has left, or NULL. */
static struct file *recall(struct handover_file *kept)
{
	const struct node *n = node_by_id(kept->node);
	struct file *f = n ? calloc(1, sizeof(*f)) : NULL;

	if (!f)
		return NULL;
	node_hold(n);
	f->node = n;
	f->who = (struct who){ .uid = kept->uid, .gid = kept->gid, .pid = kept->pid };
	f->flags = kept->flags;
	f->kept = kept;
	f->handle = kept->handle;
	pthread_mutex_init(&f->lock, NULL);
	if (attach(f, true)) {
		free_file(f);
		return NULL;
	}
	file_resume(f);
	return f;
}

struct file *file_by_handle(uint64_t handle)
{
	struct file *f = (struct file *)(uintptr_t)(handle & ((UINT64_C(1) << ADDRESS_BITS) - 1));
	uint32_t index = index_of(handle);
	struct handover_file *kept;

	if (handle & UNKEPT)
		return address_handle(f) == handle ? f : NULL;
	pthread_mutex_lock(&opened.lock);
	while (opened.recalling[index])
		pthread_cond_wait(&opened.recalled, &opened.lock);
	f = opened.kept[index];
	kept = handover_file(handle);
	if (f && f->handle != handle)
		f = NULL;
	if (!f && kept && !opened.kept[index]) {
		opened.recalling[index] = true;
		pthread_mutex_unlock(&opened.lock);
		f = recall(kept);
		pthread_mutex_lock(&opened.lock);
		if (f)
			list_file(f);
		opened.recalling[index] = false;
		pthread_cond_broadcast(&opened.recalled);
	}
	pthread_mutex_unlock(&opened.lock);
	return f;
}

/* Whether the data of the node come with a call, which an open has to be there for. */
static bool is_watched(uint64_t node)
{
	const struct node *n = node_by_id(node);

	return n && n->row->view && n->row->view->watch;
}

void file_left(void)
{
	const struct handover_file *kept;

	__atomic_store_n(&opened.left, true, __ATOMIC_RELAXED);
	for (uint32_t i = 0; (kept = handover_file_used(i)); i++)
		if (kept->handle && (node_was_image(kept->node) || is_watched(kept->node)))
			file_by_handle(kept->handle);
}

void file_recall_node(uint64_t node)
{
	const struct handover_file *kept;
	bool left = false;

	if (!__atomic_load_n(&opened.left, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&opened.lock);
	for (uint32_t i = 0; (kept = handover_file_used(i)); i++) {
		uint64_t handle = kept->handle;

		if (!handle || opened.kept[i])
			continue;
		left = true;
		if (kept->node != node)
			continue;
		pthread_mutex_unlock(&opened.lock);
		file_by_handle(handle);
		pthread_mutex_lock(&opened.lock);
	}
	if (!left)
		__atomic_store_n(&opened.left, false, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&opened.lock);
}

static void file_close(struct file *f)
{
	file_flush(f);          /* a flush may have been skipped when its process was killed */
	pthread_mutex_lock(&opened.lock);
	LIST_REMOVE(f, link);
	unkeep(f);
	pthread_mutex_unlock(&opened.lock);
	if (f->node->slot)
		slot_release(f->node->slot);
	if (f->waiter)
		waiter_close(f->waiter);
	if (f->node->row->view || f->node->slot)
		trim_later();
	md_buf_deinit(&f->shown);
	md_buf_deinit(&f->tail);
	md_buf_deinit(&f->addresses);
	listing_deinit(&f->listing);
	free_file(f);
}

/* An earlier daemon's that was not used since: nothing was opened for it here. */
static bool drop_entry(uint64_t handle)
{
	struct handover_file *kept;
	bool dropped = false;

	pthread_mutex_lock(&opened.lock);
	kept = handover_file(handle);
	if (kept && !opened.kept[index_of(handle)]) {
		handover_drop_text(kept);
		handover_file_free(kept);
		dropped = true;
	}
	pthread_mutex_unlock(&opened.lock);
	return dropped;
}

void file_release(uint64_t handle)
{
	struct file *f = drop_entry(handle) ? NULL : file_by_handle(handle);

	if (f)
		file_close(f);
}

bool file_opened_size(const struct node *n, const struct who *who, off_t *size)
{
	int64_t now = chores_clock();
	struct file *f;
	bool yes = false;

	pthread_mutex_lock(&opened.lock);
	LIST_FOREACH(f, &opened.files, link)
		if (f->node == n && f->who.uid == who->uid)
			break;
	if (f && now - f->since < LASTS) {
		pthread_mutex_lock(&f->lock);
		yes = f->is_shown;
		if (yes)
			*size = (off_t)f->shown.len;
		pthread_mutex_unlock(&f->lock);
	}
	pthread_mutex_unlock(&opened.lock);
	return yes;
}

void file_close_all(void)
{
	struct file *f;

	while ((f = LIST_FIRST(&opened.files))) {
		/* no close came, so its last line is not complete */
		md_buf_reset(&f->tail);
		f->wrote = false;
		file_close(f);
	}
}

/* ---- text ---- */

static bool is_shown(struct file *f)
{
	bool yes;

	pthread_mutex_lock(&f->lock);
	yes = f->is_shown;
	pthread_mutex_unlock(&f->lock);
	return yes;
}

/* Whether the text that was made at open is to be read for the first time. */
static bool take_fresh(struct file *f)
{
	bool yes;

	pthread_mutex_lock(&f->lock);
	yes = f->is_fresh;
	f->is_fresh = false;
	pthread_mutex_unlock(&f->lock);
	return yes;
}

static void read_text(struct file *f, struct fuse_req *req, uint64_t offset, size_t size)
{
	/* A reader that got all of it, of an earlier daemon, asks for more. */
	bool ended = offset && !is_shown(f) && file_is_recalled(f) &&
		     offset >= f->kept->given[0].end;
	bool shown = (offset && is_shown(f)) || take_fresh(f);
	int rc = ended || shown ? 0 : renew(f, offset);
	char *buf = NULL;
	size_t n = 0;

	pthread_mutex_lock(&f->lock);
	if (!rc && offset < f->shown.len) {
		n = f->shown.len - offset < size ? f->shown.len - offset : size;
		buf = malloc(n);
		if (buf)
			memcpy(buf, f->shown.data + offset, n);
		else
			rc = -ENOMEM;
	}
	pthread_mutex_unlock(&f->lock);
	if (rc)
		reply_error(req, -rc);
	else
		reply_data(req, buf, n);
	free(buf);
}

static void read_moment(struct file *f, struct fuse_req *req, uint64_t offset, size_t size)
{
	char *buf = malloc(size ? size : 1);
	ssize_t n = buf ? slot_read(f->node->slot, f->node->index, offset, buf, size) : -ENOMEM;

	if (n < 0)
		errors_refused(f->node, &f->who, (int)n);
	if (n < 0)
		reply_error(req, (int)-n);
	else
		reply_data(req, buf, (size_t)n);
	free(buf);
}

void file_read(struct file *f, struct fuse_req *req, uint64_t offset, size_t size, bool nonblock,
	       bool cached)
{
	if (f->node->slot)
		read_moment(f, req, offset, size);
	else if (cached)
		reply_error(req, EINVAL);
	else if (f->node->row->view)
		waiter_read(f->waiter, req, offset, size, nonblock);
	else
		read_text(f, req, offset, size);
}

int file_flush(struct file *f)
{
	return writes(f->flags) ? control_finish(f) : 0;
}

int file_flush_lost(uint64_t handle)
{
	const struct handover_file *kept;
	int rc = -ESTALE;

	pthread_mutex_lock(&opened.lock);
	kept = handover_file(handle);
	if (kept)
		rc = file_lost(kept) ? -ESTALE : 0;
	pthread_mutex_unlock(&opened.lock);
	return rc;
}

unsigned file_poll(struct file *f, struct fuse_pollhandle *ph)
{
	const struct tree_row *r = f->node->row;

	if (f->waiter && (!r->view || r->view->streams))
		return waiter_poll(f->waiter, ph);
	poll_free(ph);
	return (reads(f->flags) ? POLLIN | POLLRDNORM : 0) |
	       (writes(f->flags) ? POLLOUT | POLLWRNORM : 0);
}
