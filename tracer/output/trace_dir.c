/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metadata/ctf.h"
#include "tracer/output/directory.h"
#include "tracer/output/output.h"

struct trace_dir *trace_dir_of(struct output *o, struct trace *t)
{
	struct trace_dir *ot;

	for (ot = o->traces; ot; ot = ot->next)
		if (ot->trace == t)
			return ot;
	ot = calloc(1, sizeof(*ot));
	if (!ot)
		return NULL;
	ot->trace = trace_get(t);
	ot->next = o->traces;
	o->traces = ot;
	return ot;
}

void trace_dir_leave(struct trace_dir *t)
{
	trace_place_put(t->place);
	t->place = NULL;
	for (size_t i = 0; i < ARCHIVED_MOST; i++) {
		trace_place_put(t->archived[i]);
		t->archived[i] = NULL;
	}
}

void trace_dir_destroy(struct trace_dir *t)
{
	trace_put(t->trace);
	trace_dir_leave(t);
	free(t);
}

static int make_place(struct output *o, struct trace_dir *t)
{
	struct trace_place *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->refs = 1;
	p->chunk = o->head.chunk;
	p->index_fd = -1;
	p->fd = output_dir_sub(o->dir, t->trace->path, o->cred.uid, o->mode);
	if (p->fd >= 0)
		p->index_fd = output_dir_sub(p->fd, "index", o->cred.uid, o->mode);
	if (p->index_fd < 0) {
		int err = p->fd < 0 ? p->fd : p->index_fd;

		trace_place_put(p);
		return err;
	}
	t->place = p;
	t->version = 0;
	return 0;
}

/*
 * Opens an empty file for the new metadata. If an earlier attempt left one that cannot be removed,
 * this truncates and uses it. O_NONBLOCK: opening a FIFO of that name fails instead of waiting.
 */
static int open_new_metadata(const struct trace_place *p, mode_t mode)
{
	const int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd;

	unlinkat(p->fd, ".metadata", 0);
	fd = openat(p->fd, ".metadata", flags | O_CREAT | O_EXCL, mode);
	if (fd < 0 && errno == EEXIST)
		fd = openat(p->fd, ".metadata", flags | O_TRUNC);
	return fd < 0 ? -errno : fd;
}

/*
 * Replaces the metadata by rename: a reader of the directory sees the old or the new file, never a
 * part.
 */
static int replace_metadata(const struct trace_place *p, mode_t mode, const char *data, size_t len)
{
	int fd = open_new_metadata(p, mode), err = 0;

	if (fd < 0)
		return fd;
	while (len && !err) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno != EINTR)
			err = -errno;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	if (close(fd) < 0 && !err)
		err = -errno;
	if (!err && renameat(p->fd, ".metadata", p->fd, "metadata") < 0)
		err = -errno;
	if (err)
		unlinkat(p->fd, ".metadata", 0);
	return err;
}

int trace_dir_ready(struct output *o, struct trace_dir *t)
{
	struct md_buf text = MD_BUF_INIT;
	uint64_t version;
	int err = t->place ? 0 : make_place(o, t);

	if (err)
		return err;
	pthread_mutex_lock(&t->trace->lock);
	version = md_trace_version(t->trace->md);
	if (version != t->version)
		err = md_metadata_print(t->trace->md, o->s->checksum || o->s->compression, &text);
	pthread_mutex_unlock(&t->trace->lock);
	if (!err && version != t->version)
		err = replace_metadata(t->place, o->mode & 0666, text.data, text.len);
	md_buf_deinit(&text);
	if (!err)
		t->version = version;
	return err;
}

static int expect_trace(struct output *o, struct trace *trace)
{
	struct trace_dir *t = trace ? trace_dir_of(o, trace) : NULL;

	if (!t)
		return -ENOMEM;
	t->early = true;
	return 0;
}

int trace_dirs_expect(struct output *o)
{
	struct session *s = o->s;
	struct trace *kernel = trace_find(s, kernel_trace_key), *user;
	bool per_user = false;
	struct channel *c;
	int err = kernel ? expect_trace(o, kernel) : 0;

	/* With buffers per process, a trace exists only when its process does. */
	cds_list_for_each_entry(c, &s->channels, node)
		per_user = per_user || (!c->kernel && !c->per_process);
	if (err || !per_user)
		return err;
	user = trace_find(s, user_trace_key(s->uid));
	if (!user && (user = trace_new(s, user_trace_key(s->uid), NULL, NULL, 0)))
		/* a failure is not fatal: the verb saves again after the start */
		session_save(s);
	return expect_trace(o, user);
}

int trace_dirs_begin(struct output *o)
{
	int err = 0, one;

	/* In later chunks a directory is made with the first packet, or when the chunk ends. */
	for (struct trace_dir *t = o->traces; t && !o->head.archives; t = t->next) {
		one = t->early && !t->place ? trace_dir_ready(o, t) : 0;
		err = err ? err : one;
	}
	return err;
}

static int open_at(int dir, const char *name, int flags)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | flags);

	return fd < 0 ? -errno : fd;
}

int trace_dir_sync(struct output *o, const struct trace_dir *t)
{
	int at, up, err, one;

	if (!t->place)
		return 0;
	err = syncgroup_add(o->sync, open_at(t->place->fd, "metadata", O_NOFOLLOW | O_NONBLOCK));
	/*
	 * A file needs its directory entry on the disk: sync each directory on the path, wherever
	 * the user has moved them.
	 */
	one = syncgroup_add_copy(o->sync, t->place->index_fd);
	err = err ? err : one;
	at = open_at(t->place->fd, ".", O_DIRECTORY);
	for (const char *p = t->trace->path; p && at >= 0; p = strchr(p + 1, '/')) {
		up = open_at(at, "..", O_DIRECTORY);
		syncgroup_add(o->sync, at);
		at = up;
	}
	one = syncgroup_add(o->sync, at);
	return err ? err : one;
}
