// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Copies snapshots to the session's output, by a thread that lives while copies are queued. A copy
 * has another name until it is complete.
 */
#include "tracer/base/timefmt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracer/output/directory.h"
#include "tracer/output/output.h"
#include "tracer/snapshot/snapshot.h"
#include "tracer/session/streams.h"

#define DEPTH_MAX 8             /* levels of directories in a snapshot */

struct snapshot_copy {
	struct snapshot_copy *next;
	struct output *output;
	struct trace_image *image;          /* referenced */
	uint64_t key;                   /* of the snapshot */
	char name[SNAPSHOT_COPY_MAX + 1];
	uint64_t done, total;           /* bytes; atomic */
};

static void destroy_copy(struct snapshot_copy *c)
{
	image_put(c->image);
	free(c);
}

/* ---- one copy, with the owner's rights ---- */

static bool must_quit(struct output *o)
{
	bool quit;

	pthread_mutex_lock(&o->lock);
	quit = o->quit;
	pthread_mutex_unlock(&o->lock);
	return quit;
}

static int count_piece(void *arg, uint64_t bytes)
{
	struct snapshot_copy *c = arg;

	__atomic_fetch_add(&c->done, bytes, __ATOMIC_RELAXED);
	return must_quit(c->output) ? -ECANCELED : 0;
}

static void sync_file(void *arg, int fd)
{
	syncgroup_add(((struct snapshot_copy *)arg)->output->sync, fd);
}

/* Removes copies that were not completed: their names begin with a dot. */
static void remove_incomplete(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (fd >= 0 && !d)
		close(fd);
	while (d && (e = readdir(d)))
		if (e->d_name[0] == '.' && strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			output_dir_remove(dir, e->d_name, DEPTH_MAX);
	if (d)
		closedir(d);
}

static int copy_into(struct output *o, struct snapshot_copy *c, int dir)
{
	struct image_sink to = {
		.mode = o->mode, .piece = count_piece, .file = sync_file, .arg = c
	};
	char name[SNAPSHOT_COPY_MAX + 2];
	int err = 0;

	snprintf(name, sizeof(name), ".%s", c->name);
	if (mkdirat(dir, name, o->mode) < 0)
		return -errno;
	to.dir = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to.dir < 0)
		err = -errno;
	if (!err)
		err = image_save(c->image, &to);
	if (!err && renameat(dir, name, dir, c->name) < 0)
		err = -errno;
	if (to.dir >= 0)
		close(to.dir);
	if (err)
		output_dir_remove(dir, name, DEPTH_MAX);
	else
		syncgroup_fail(o->sync, syncgroup_add_copy(o->sync, dir));
	return err;
}

static int write_copy(struct output *o, struct snapshot_copy *c)
{
	int top, dir, err;

	/* After a restart, the writer opens the output directory at its first write. */
	session_flush(o->s);
	pthread_mutex_lock(&o->lock);
	top = o->dir < 0 ? -1 : fcntl(o->dir, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_unlock(&o->lock);
	if (top < 0)
		return -ENOENT;
	err = cred_enter(&o->cred);
	if (!err) {
		dir = output_dir_sub(top, "snapshots", o->cred.uid, o->mode);
		err = dir < 0 ? dir : 0;
		if (!err) {
			remove_incomplete(dir);
			err = copy_into(o, c, dir);
			close(dir);
		}
		cred_leave(&o->cred);
	}
	close(top);
	return err;
}

/* ---- the thread ---- */

/*
 * Tells the session's file and its readers that the copy is over. The snapshot itself may be
 * removed already.
 */
static void report_copy(struct output *o, const struct snapshot_copy *c, int err)
{
	struct session *s = o->s;
	struct snapshot *sn;

	pthread_mutex_lock(&s->tracer->lock);
	cds_list_for_each_entry(sn, &s->snapshots, node)
		if (sn->key == c->key)
			sn->copy[0] = 0;
	if (err)
		session_failed(s, "snapshot %s cannot be copied to the output: %s", c->name,
			       strerror(-err));
	session_save(s);
	session_changed(s);
	pthread_mutex_unlock(&s->tracer->lock);
}

static struct snapshot_copy *first_copy(struct output *o)
{
	struct snapshot_copy *c;

	pthread_mutex_lock(&o->lock);
	c = o->copies;
	o->copying = c != NULL;
	pthread_mutex_unlock(&o->lock);
	return c;
}

static void *run_copies(void *arg)
{
	struct output *o = arg;
	struct session *s = o->s;
	struct snapshot_copy *c;

	while ((c = first_copy(o))) {
		int err = must_quit(o) ? -ECANCELED : write_copy(o, c);

		if (err != -ECANCELED)
			report_copy(o, c, err);
		pthread_mutex_lock(&o->lock);
		o->copies = c->next;
		if (err != -ECANCELED)
			o->copy_error = err;
		o->copied += !err;
		pthread_cond_broadcast(&o->answered);
		pthread_mutex_unlock(&o->lock);
		destroy_copy(c);
	}
	session_put(s);
	return NULL;
}

/* Starts the thread if it does not run. Caller holds output.lock. */
static int start_thread(struct output *o)
{
	pthread_attr_t attr;
	pthread_t id;
	int err;

	if (o->copying)
		return 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	session_ref(o->s);
	err = -pthread_create(&id, &attr, run_copies, o);
	pthread_attr_destroy(&attr);
	if (err)
		/* the caller has another reference */
		__atomic_fetch_sub(&o->s->refs, 1, __ATOMIC_RELAXED);
	o->copying = !err;
	return err;
}

/*
 * Names the copy NAME-DATE-TIME-N, as LTTng does. A name that the daemon chose has that form
 * already.
 */
static void name_copy(struct session *s, struct snapshot *sn)
{
	char when[TIME_TEXT_MAX];

	if (sn->unnamed) {
		snprintf(sn->copy, sizeof(sn->copy), "%s", sn->name);
		return;
	}
	time_print(sn->created, TIME_FORMAT_NAME, when);
	snprintf(sn->copy, sizeof(sn->copy), "%s-%.15s-%u", sn->name, when, s->next_snapshot++);
}

void snapshot_copy_add(struct session *s, struct snapshot *sn)
{
	const struct image_file *files;
	size_t count = image_files(sn->image, &files);
	struct output *o = s->output;
	struct snapshot_copy *c, **last;
	int err;

	/* Before the first start a snapshot is empty. A relay gets no snapshots. */
	if (!output_runs(s) || s->streamed || !count)
		return;
	if (!sn->copy[0])
		name_copy(s, sn);
	c = calloc(1, sizeof(*c));
	err = c ? 0 : -ENOMEM;
	if (c) {
		c->output = o;
		c->image = image_get(sn->image);
		c->key = sn->key;
		memcpy(c->name, sn->copy, sizeof(c->name));
		for (size_t i = 0; i < count; i++)
			c->total += files[i].size;
		pthread_mutex_lock(&o->lock);
		for (last = &o->copies; *last; last = &(*last)->next)
			;
		*last = c;
		err = start_thread(o);
		if (err)
			*last = NULL;
		pthread_mutex_unlock(&o->lock);
	}
	if (err) {
		session_failed(s, "snapshot %s cannot be copied to the output: %s", sn->copy,
			       strerror(-err));
		sn->copy[0] = 0;
		if (c)
			destroy_copy(c);
	}
}

static bool is_queued(struct output *o, uint64_t key)
{
	const struct snapshot_copy *c;

	pthread_mutex_lock(&o->lock);
	for (c = o->copies; c && c->key != key; c = c->next)
		;
	pthread_mutex_unlock(&o->lock);
	return c != NULL;
}

void snapshot_copies_resume(struct session *s)
{
	struct snapshot *sn;

	/* Each start calls this: skip copies that are queued already. */
	cds_list_for_each_entry(sn, &s->snapshots, node)
		if (sn->image && sn->copy[0] && !is_queued(s->output, sn->key))
			snapshot_copy_add(s, sn);
}

void snapshot_copies_finish(struct session *s, unsigned int ms)
{
	struct output *o = output_if_running(s);
	uint64_t until = output_now() + ms * UINT64_C(1000000);
	struct timespec ts = { (time_t)(until / 1000000000), (long)(until % 1000000000) };

	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	while (o->copies && pthread_cond_timedwait(&o->answered, &o->lock, &ts) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&o->lock);
}

void snapshot_copies_status(struct output *o, struct md_buf *out)
{
	pthread_mutex_lock(&o->lock);
	md_buf_printf(out, "snapshots_copied %" PRIu64 "\n", o->copied);
	if (o->copy_error)
		md_buf_printf(out, "snapshot_error %s\n", strerror(-o->copy_error));
	for (const struct snapshot_copy *c = o->copies; c; c = c->next) {
		uint64_t done = __atomic_load_n(&c->done, __ATOMIC_RELAXED);

		md_buf_printf(out, "pending copy %s %" PRIu64 "%%\n", c->name,
			      c->total ? 100 * done / c->total : 0);
	}
	pthread_mutex_unlock(&o->lock);
}
