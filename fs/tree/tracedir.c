/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "fs/base/base.h"
#include "fs/base/process.h"
#include "fs/base/words.h"
#include "fs/tree/kept_image.h"
#include "fs/tree/rows.h"
#include "fs/tree/tracedir.h"
#include "fs/tree/tree.h"
#include "tracer/face/tracer.h"

#define LASTS 2000      /* ms since its last use */
#define SETTLED ((uint64_t)1 << 62)     /* of a salt */

/* For one process: a trace image. Or for all: a snapshot, which lasts until it is removed. */
struct slot {
	/* a reference, so that its address means no other session */
	struct session *session;
	struct process process;
	/* never changes; NULL when over (guarded by the lock) */
	struct trace_image *moment;
	uint64_t serial;
	uint64_t salt;          /* of st_ino */
	uint32_t kept;          /* kept_image.h: its place, or HANDOVER_NONE */
	bool lasts;                     /* a snapshot's */
	enum tracedir_form form;        /* what it shows */

	/* Guarded by the lock below. */
	unsigned refs;                  /* of nodes, of the list, of who looks something up */
	unsigned opens;
	int64_t looked;
	bool over;
	TAILQ_ENTRY(slot) link;
};

static struct {
	pthread_mutex_t adopting;       /* held while an image of an earlier daemon is made */
	/* guards the list and the marked part of all slots; after adopting */
	pthread_mutex_t lock;
	TAILQ_HEAD(, slot) slots;       /* those that are not over */
} trace = {
	.adopting = PTHREAD_MUTEX_INITIALIZER,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.slots = TAILQ_HEAD_INITIALIZER(trace.slots),
};

static const struct tree_row dir_row, file_row;

void slot_put(struct slot *s)
{
	bool last;

	if (!s)
		return;
	pthread_mutex_lock(&trace.lock);
	last = !--s->refs;
	pthread_mutex_unlock(&trace.lock);
	if (!last)
		return;
	if (s->moment) {
		kept_image_drop(s->kept);
		image_put(s->moment);
	}
	session_put(s->session);
	free(s);
	trim_later();
}

/* Takes s off the list, for drop_ended. Caller holds the lock. */
static struct trace_image *end_slot(struct slot *s)
{
	struct trace_image *image = s->moment;

	TAILQ_REMOVE(&trace.slots, s, link);
	s->over = true;
	s->moment = NULL;
	return image;
}

/* After end_slot, without the lock. */
static void drop_ended(struct slot *s, struct trace_image *image)
{
	kept_image_drop(s->kept);
	image_put(image);
	slot_put(s);
}

static bool outlived(const struct slot *s, int64_t now)
{
	return !s->opens && (s->lasts ? image_ended(s->moment) : now - s->looked >= LASTS);
}

/* The process's slot of this session if it lasts, with a reference. Caller holds the lock. */
static struct slot *find_present(struct session *session, enum tracedir_form form,
				 const struct process *p, int64_t now)
{
	struct slot *s;

	TAILQ_FOREACH(s, &trace.slots, link) {
		if (s->lasts || s->session != session || s->form != form ||
		    !process_same(&s->process, p) || outlived(s, now))
			continue;
		s->looked = now;
		s->refs++;
		return s;
	}
	return NULL;
}

/* Takes an image of the session: an earlier daemon's, or as it is now. 0 or -errno. */
static int slot_take(struct slot *s)
{
	static int (*const take[])(struct session *s, struct trace_image **out) = {
		[TRACEDIR_TRACE] = image_take,
		[TRACEDIR_ARCHIVES] = image_take_archives,
		[TRACEDIR_LTT] = image_take_ltt,
		[TRACEDIR_LKET] = image_take_lket,
	};
	struct handover_image what = {
		.serial = kept_image_serial(), .start = s->process.start, .pid = s->process.pid,
		.uid = s->process.uid, .form = s->form };
	struct session_info info;
	int rc;

	session_info(s->session, &info);
	what.created = info.created;
	what.alike = info.active && s->form != TRACEDIR_ARCHIVES ? what.serial : 0;
	rc = kept_image_take(s->session, &what, &s->moment, &s->kept);
	/* Images without recording, and those of archives, may be alike. Serials are < 2^62. */
	s->salt = rc || info.active ? what.serial : SETTLED | info.change;
	s->serial = what.serial;
	if (!rc)
		rc = take[s->form](s->session, &s->moment);
	if (rc)
		return rc < 0 ? rc : 0;
	rc = kept_image_put(&what, s->moment, info.active && s->form == TRACEDIR_TRACE, &s->kept);
	if (rc)
		image_put(s->moment);
	return rc;
}

static struct slot *slot_new(struct session *session, const char *name, enum tracedir_form form,
			     const struct process *p, int *rc)
{
	struct slot *s = calloc(1, sizeof(*s));

	*rc = -ENOMEM;
	if (!s)
		return NULL;
	s->process = *p;
	s->form = form;
	s->refs = 2;            /* the list's and the caller's */
	s->kept = HANDOVER_NONE;
	s->session = session_get(fs.tracer, name);
	/* else it was removed, and perhaps made again, while we came here */
	*rc = s->session == session ? slot_take(s) : -ENOENT;
	if (!*rc)
		return s;
	session_put(s->session);
	free(s);
	return NULL;
}

/* The slot of a snapshot, if there is one, with a new reference. Caller holds the lock. */
static struct slot *slot_of(const struct trace_image *image)
{
	struct slot *s;

	TAILQ_FOREACH(s, &trace.slots, link) {
		if (s->moment == image) {
			s->refs++;
			return s;
		}
	}
	return NULL;
}

/* The slot of the snapshot that n is or is in, with a reference. */
static int look_snapshot(const struct node *n, const struct node *snapshot, struct slot **out)
{
	struct slot *s = calloc(1, sizeof(*s));
	struct trace_image *image;
	int64_t created;
	int rc = s ? snapshot_get(n->session, snapshot->name, &image, &created) : -ENOMEM;

	/* Another snapshot may have this name now. */
	if (!rc && snapshot->tag != (uint64_t)created) {
		image_put(image);
		rc = -ENOENT;
	}
	if (rc) {
		free(s);
		return rc;
	}
	*s = (struct slot){ .moment = image, .serial = (uint64_t)created, .salt = (uint64_t)created,
			    .kept = HANDOVER_NONE, .lasts = true, .refs = 2 };
	pthread_mutex_lock(&trace.lock);
	*out = slot_of(image);
	if (!*out) {
		*out = s;
		TAILQ_INSERT_TAIL(&trace.slots, s, link);
	}
	pthread_mutex_unlock(&trace.lock);
	if (*out != s) {
		image_put(image);
		free(s);
	}
	return 0;
}

static struct slot *find_slot(struct session *session, enum tracedir_form form,
			      const struct process *p)
{
	struct slot *s;

	pthread_mutex_lock(&trace.lock);
	s = find_present(session, form, p, chores_clock());
	pthread_mutex_unlock(&trace.lock);
	return s;
}

/* The process has no slot yet: makes one. *out has a reference. */
static int enter_slot(struct session *session, const char *name, enum tracedir_form form,
		      const struct process *p, struct slot **out)
{
	struct slot *s, *fresh;
	int rc = 0;

	/* Another thread of the process may have made one of an earlier daemon's image. */
	if ((*out = find_slot(session, form, p)))
		return 0;
	fresh = slot_new(session, name, form, p, &rc);
	if (!fresh)
		return rc;
	pthread_mutex_lock(&trace.lock);
	s = find_present(session, form, p, chores_clock());
	/* else another thread of the process has made one, and both must see the same one */
	if (!s) {
		s = fresh;
		s->looked = chores_clock();
		TAILQ_INSERT_TAIL(&trace.slots, s, link);
	}
	pthread_mutex_unlock(&trace.lock);
	if (s != fresh) {
		slot_put(fresh);
		slot_put(fresh);
	} else {
		chores_kick();    /* for tracedir_expire */
	}
	*out = s;
	return 0;
}

/* The trace image of the requesting process: the present one, or a new one. With a reference. */
static int look_up_slot(const struct node *n, const struct who *who, struct slot **out)
{
	const struct node *session = n, *snapshot = node_up(n, &snapshot_row);
	enum tracedir_form form;
	struct process p;
	bool adopting;
	int rc;

	if (snapshot)
		return look_snapshot(n, snapshot, out);
	while (n->row == &dir_row)
		n = n->parent;
	while (!session->own_session)
		session = session->parent;
	form = (enum tracedir_form)n->row->arg;
	process_of(who, &p);
	*out = find_slot(n->session, form, &p);
	if (*out)
		return 0;
	adopting = kept_images_left();
	if (adopting)
		pthread_mutex_lock(&trace.adopting);
	rc = enter_slot(n->session, session->name, form, &p, out);
	if (adopting)
		pthread_mutex_unlock(&trace.adopting);
	return rc;
}

/* A reference to the slot's trace image, or NULL if it is over. */
static struct trace_image *image_of(struct slot *s)
{
	struct trace_image *image;

	pthread_mutex_lock(&trace.lock);
	image = s->moment ? image_get(s->moment) : NULL;
	pthread_mutex_unlock(&trace.lock);
	return image;
}

bool slot_settled(struct slot *s, size_t index, uint64_t *salt, uint64_t *size, int64_t *mtime)
{
	struct trace_image *image = image_of(s);
	bool same = s->lasts || kept_image_continues(s->kept);
	bool settled = image && (same || s->salt & SETTLED);
	const struct image_file *files;

	*salt = same ? s->salt : 0;
	if (settled && index < image_files(image, &files)) {
		*size = files[index].size;
		*mtime = files[index].mtime;
	}
	if (image)
		image_put(image);
	return settled;
}

int slot_open(struct slot *s)
{
	int rc = 0;

	pthread_mutex_lock(&trace.lock);
	if (s->over)
		rc = -ESTALE;
	else
		s->opens++;
	s->looked = chores_clock();
	pthread_mutex_unlock(&trace.lock);
	return rc;
}

void slot_release(struct slot *s)
{
	struct trace_image *image = NULL;
	bool over;

	pthread_mutex_lock(&trace.lock);
	s->opens--;
	over = !s->over && outlived(s, chores_clock());
	if (over)
		image = end_slot(s);
	pthread_mutex_unlock(&trace.lock);
	if (over)
		drop_ended(s, image);
	else
		chores_kick();
}

ssize_t slot_read(struct slot *s, size_t index, uint64_t offset, void *buf, size_t size)
{
	return image_read(s->moment, index, offset, buf, size);        /* open: it stays */
}

int64_t tracedir_expire(int64_t now)
{
	int64_t next = kept_images_expire(now);
	struct slot *s;

	pthread_mutex_lock(&trace.lock);
again:
	TAILQ_FOREACH(s, &trace.slots, link) {
		if (outlived(s, now)) {
			struct trace_image *image = end_slot(s);

			pthread_mutex_unlock(&trace.lock);
			drop_ended(s, image);
			pthread_mutex_lock(&trace.lock);
			goto again;
		}
		if (!s->opens && !s->lasts && (next < 0 || s->looked + LASTS < next))
			next = s->looked + LASTS;
	}
	pthread_mutex_unlock(&trace.lock);
	return next;
}

void tracedir_deinit(void)
{
	struct slot *s;

	while ((s = TAILQ_FIRST(&trace.slots))) {
		struct trace_image *image = end_slot(s);

		drop_ended(s, image);
	}
}

/* ---- rows ---- */

/* The path of a directory below trace/, with a '/' at its end unless it is trace/ itself. */
static void path_of(const struct node *dir, struct md_buf *out)
{
	if (dir->row != &dir_row)
		return;         /* trace/ itself */
	path_of(dir->parent, out);
	md_buf_printf(out, "%s/", dir->name);
}

int tracedir_find(const struct node *dir, const char *name, const struct who *who,
		  struct found *found)
{
	struct md_buf prefix = MD_BUF_INIT, part = MD_BUF_INIT;
	const struct image_file *files;
	struct trace_image *image = NULL;
	struct slot *slot;
	int rc = look_up_slot(dir, who, &slot);

	if (rc)
		return rc;
	path_of(dir, &prefix);
	image = image_of(slot);
	rc = image ? -ENOENT : -ESTALE;
	for (size_t i = 0, n = image ? image_files(image, &files) : 0; rc && i < n; i++) {
		const char *rest = words_step(files[i].path, md_buf_str(&prefix), &part);

		if (!rest || strcmp(md_buf_str(&part), name))
			continue;
		rc = 0;
		if (*rest)
			*found = (struct found){ .row = &dir_row };
		else
			*found = (struct found){ .row = &file_row, .slot = slot, .index = i,
						 .tag = slot->serial, .salt = slot->salt };
	}
	md_buf_deinit(&prefix);
	md_buf_deinit(&part);
	if (image)
		image_put(image);
	if (rc || !found->slot)
		slot_put(slot);
	return rc;
}

void tracedir_list(const struct node *dir, const struct who *who, struct listing *out)
{
	struct md_buf prefix = MD_BUF_INIT, part = MD_BUF_INIT, last = MD_BUF_INIT;
	const struct image_file *files;
	struct trace_image *image;
	struct slot *slot;

	if ((out->err = look_up_slot(dir, who, &slot)))
		return;
	path_of(dir, &prefix);
	image = image_of(slot);
	/* Sorted by path: files of one directory stand together. */
	for (size_t i = 0, n = image ? image_files(image, &files) : 0; i < n; i++) {
		const char *rest = words_step(files[i].path, md_buf_str(&prefix), &part);

		if (!rest || !strcmp(md_buf_str(&part), md_buf_str(&last)))
			continue;
		listing_add(out, md_buf_str(&part), *rest ? &dir_row : &file_row,
			    *rest ? 0 : slot->salt);
		md_buf_reset(&last);
		md_buf_put(&last, part.data, part.len);
	}
	md_buf_deinit(&prefix);
	md_buf_deinit(&part);
	md_buf_deinit(&last);
	if (image)
		image_put(image);
	slot_put(slot);
}

static int file_attr(const struct node *n, const struct who *who, struct stat *st)
{
	struct trace_image *image = image_of(n->slot);
	const struct image_file *files;

	(void)who;
	if (!image)
		return -ESTALE;
	if (n->index < image_files(image, &files)) {
		st->st_size = (off_t)files[n->index].size;
		if (files[n->index].mtime) {
			st->st_mtim.tv_sec = files[n->index].mtime / 1000000000;
			st->st_mtim.tv_nsec = files[n->index].mtime % 1000000000;
			st->st_ctim = st->st_mtim;
		}
	}
	image_put(image);
	return 0;
}

static const struct tree_row dir_row = {
	.mode = S_IFDIR | 0555, .find = tracedir_find, .list = tracedir_list
};
static const struct tree_row file_row = { .mode = S_IFREG | 0444, .attr = file_attr };

/* ---- the directory of a snapshot ---- */

static int snapshot_attr(const struct node *n, const struct who *who, struct stat *st)
{
	(void)who;
	st->st_mtim.tv_sec = (time_t)(n->tag / 1000000000);
	st->st_mtim.tv_nsec = (long)(n->tag % 1000000000);
	st->st_atim = st->st_ctim = st->st_mtim;
	return 0;
}

const struct tree_row snapshot_row = {
	.mode = S_IFDIR | 0555, .find = tracedir_find, .list = tracedir_list, .attr = snapshot_attr
};
