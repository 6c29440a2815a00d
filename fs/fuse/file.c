/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "fs/base/base.h"
#include "fs/fuse/file.h"
#include "fs/fuse/fuse.h"
#include "fs/fuse/reply.h"
#include "fs/fuse/waiter.h"
#include "fs/tree/tracedir.h"

#define LASTS 2000              /* ms: for so long stat(2) shows the size that a file had at open */

static struct {
	pthread_mutex_t lock;           /* guards the list; taken before the lock of a file */
	LIST_HEAD(, file) files;        /* the newest first */
} opened = { .lock = PTHREAD_MUTEX_INITIALIZER };

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
	const struct row *r = n->row;

	if (S_ISDIR(r->mode))
		return 0;
	if (reads(flags) && !r->show && !r->view && !n->slot)
		return -EACCES;
	if (writes(flags) && !r->store)
		return -EACCES;
	/* A view may stay open after its session was removed, but cannot be opened then. */
	return r->view && tree_gone(n) ? -ENOENT : 0;
}

static int attach(struct file *f)
{
	const struct row *r = f->node->row;

	if (f->node->slot)
		return slot_open(f->node->slot);
	if (r->view || (r->change && reads(f->flags)))
		return waiter_open(f->node, &f->waiter);
	return 0;
}

static int renew(struct file *f)
{
	const struct row *r = f->node->row;
	struct md_buf text = MD_BUF_INIT, old;
	uint64_t change = r->change ? r->change(f->node) : 0;
	int rc = r->show(f->node, &f->who, &text);

	if (!rc && text.failed)
		rc = -ENOMEM;
	if (rc) {
		md_buf_deinit(&text);
		return rc;
	}
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

int file_open(const struct node *n, const struct who *who, int flags, struct file **out)
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
	rc = attach(f);
	if (rc) {
		node_forget(n->id, 1);
		free(f);
		return rc;
	}
	pthread_mutex_init(&f->lock, NULL);
	f->since = helper_clock();
	/* If it cannot be made now, the first read says why. */
	if (n->row->sized)
		f->is_fresh = !renew(f);
	pthread_mutex_lock(&opened.lock);
	LIST_INSERT_HEAD(&opened.files, f, link);
	pthread_mutex_unlock(&opened.lock);
	*out = f;
	return 0;
}

void file_close(struct file *f)
{
	file_flush(f);          /* a flush may have been skipped when its process was killed */
	pthread_mutex_lock(&opened.lock);
	LIST_REMOVE(f, link);
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
	pthread_mutex_destroy(&f->lock);
	node_forget(f->node->id, 1);
	free(f);
}

bool file_opened_size(const struct node *n, const struct who *who, off_t *size)
{
	int64_t now = helper_clock();
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
	int rc = (offset && is_shown(f)) || take_fresh(f) ? 0 : renew(f);
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

unsigned file_poll(struct file *f, struct fuse_pollhandle *ph)
{
	const struct row *r = f->node->row;

	if (f->waiter && (!r->view || r->view->streams))
		return waiter_poll(f->waiter, ph);
	poll_free(ph);
	return (reads(f->flags) ? POLLIN | POLLRDNORM : 0) |
	       (writes(f->flags) ? POLLOUT | POLLWRNORM : 0);
}

/* ---- directories ---- */

int file_list(struct file *f, size_t from,
	      bool (*add)(void *arg, size_t i, const char *name, const struct entry *e), void *arg)
{
	struct listing fresh, old = { 0 };
	const struct entry *e;
	const char *name;
	bool listed;

	pthread_mutex_lock(&f->lock);
	listed = f->listing.dir != NULL;
	pthread_mutex_unlock(&f->lock);
	if (!from || !listed) {
		int rc = tree_list(f->node, &f->who, &fresh);

		if (rc)
			return rc;
		pthread_mutex_lock(&f->lock);
		old = f->listing;
		f->listing = fresh;
		pthread_mutex_unlock(&f->lock);
		listing_deinit(&old);
	}
	pthread_mutex_lock(&f->lock);
	for (size_t i = from; i < listing_count(&f->listing); i++) {
		e = listing_at(&f->listing, i, &name);
		if (!add(arg, i, name, e))
			break;
	}
	pthread_mutex_unlock(&f->lock);
	return 0;
}
