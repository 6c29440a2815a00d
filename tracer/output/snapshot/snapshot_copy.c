// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes one copy of a snapshot: into the directory of the output or of a target, where it has
 * another name until it is complete, or to a relay.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/output/directory.h"
#include "tracer/output/output.h"
#include "tracer/output/relay/relay.h"
#include "tracer/session/streams.h"
#include "tracer/output/snapshot/copies.h"
#include "tracer/output/snapshot/image_cut.h"

#define DEPTH_MAX 8             /* levels of directories in a snapshot */
#define PIECE (256u << 10)

/* A copy while it is made. */
struct making {
	struct snapshot_copy *copy;
	struct image_cut cut;
	struct syncgroup *sync;
	mode_t mode;
};

static int count_piece(void *arg, uint64_t bytes)
{
	struct making *k = arg;

	__atomic_fetch_add(&k->copy->done, bytes, __ATOMIC_RELAXED);
	return snapshot_copy_quits(k->copy) ? -ECANCELED : 0;
}

/* ---- into a directory, with the owner's rights ---- */

static void sync_file(void *arg, int fd)
{
	syncgroup_add(((struct making *)arg)->sync, fd);
}

static ssize_t read_cut(void *arg, size_t i, uint64_t offset, void *buf, size_t size)
{
	return image_cut_read(&((struct making *)arg)->cut, i, offset, buf, size);
}

/* Removes what earlier copies of that name left: names that begin with a dot. */
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

static int copy_into(struct making *k, int dir)
{
	struct image_sink to = {
		.mode = k->mode, .piece = count_piece, .file = sync_file, .read = read_cut, .arg = k
	};
	const char *final = k->copy->name;
	char name[SNAPSHOT_COPY_MAX + 2];
	int err = 0;

	snprintf(name, sizeof(name), ".%s", final);
	/* An earlier daemon may have begun it. */
	output_dir_remove(dir, name, DEPTH_MAX);
	if (mkdirat(dir, name, k->mode) < 0)
		return -errno;
	to.dir = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to.dir < 0)
		err = -errno;
	if (!err)
		err = image_save(k->copy->image, &to);
	if (!err && renameat(dir, name, dir, final) < 0)
		err = -errno;
	if (to.dir >= 0)
		close(to.dir);
	if (err)
		output_dir_remove(dir, name, DEPTH_MAX);
	else
		syncgroup_fail(k->sync, syncgroup_add_copy(k->sync, dir));
	return err;
}

static int copy_to_output(struct making *k)
{
	struct output *o = k->copy->session->output;
	int top, dir, err;

	/* After a restart, the writer opens the output directory at its first write. */
	session_flush(o->s);
	pthread_mutex_lock(&o->lock);
	top = o->dir < 0 ? -1 : fcntl(o->dir, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_unlock(&o->lock);
	if (top < 0)
		return -ENOENT;
	k->mode = o->mode;
	k->sync = o->sync;
	err = cred_enter(&o->cred);
	if (!err) {
		dir = output_dir_sub(top, "snapshots", o->cred.uid, o->mode);
		err = dir < 0 ? dir : 0;
		if (!err) {
			remove_incomplete(dir);
			err = copy_into(k, dir);
			close(dir);
		}
		cred_leave(&o->cred);
	}
	close(top);
	return err;
}

static int copy_to_directory(struct making *k, struct tr_err *err)
{
	struct session *s = k->copy->session;
	struct output_owner of;
	struct cred cred;
	int dir, ret;

	pthread_mutex_lock(&s->tracer->lock);
	of = output_owner_of(s);
	k->sync = snapshots_of(s)->copies->sync;
	pthread_mutex_unlock(&s->tracer->lock);
	k->mode = of.mode;
	dir = output_dir_make(k->copy->target->place, &of, false, err);
	if (dir < 0)
		return dir;
	ret = cred_of(&of.owner, &cred);
	if (!ret) {
		ret = cred_enter(&cred);
		if (!ret) {
			ret = copy_into(k, dir);
			cred_leave(&cred);
		}
		cred_deinit(&cred);
	}
	close(dir);
	return ret;
}

/* ---- to a relay ---- */

/* Splits a path into its directory, which is changed, and the name. */
static const char *split_path(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		return path;
	*slash = 0;
	return slash + 1;
}

static int send_metadata(struct making *k, struct relay_sender *r, size_t i, size_t number)
{
	uint64_t size = image_cut_size(&k->cut, i);
	char *text = malloc(size);
	struct trace *t = image_trace(k->copy->image, i);
	ssize_t n = text ? image_cut_read(&k->cut, i, 0, text, size) : -ENOMEM;
	int err = n < 0 ? (int)n : (uint64_t)n != size || !t ? -EBADMSG : 0;
	uint8_t uuid[16];

	if (!err) {
		image_uuid(k->copy->image, t, uuid);
		err = relay_sender_metadata(r, number, uuid, text, size);
	}
	trace_put(t);
	free(text);
	return err ? err : count_piece(k, size);
}

/* The bytes of one packet of file i. */
static int send_bytes(struct making *k, struct relay_sender *r, size_t i, uint64_t at,
		      uint64_t size, char *buf)
{
	int err = 0;

	while (size && !err) {
		ssize_t n = image_cut_read(&k->cut, i, at, buf, size < PIECE ? size : PIECE);

		if (n <= 0)
			return n < 0 ? (int)n : -EBADMSG;
		err = relay_sender_bytes(r, buf, (size_t)n);
		err = err ? err : count_piece(k, (uint64_t)n);
		at += (uint64_t)n;
		size -= (uint64_t)n;
	}
	return err;
}

static int send_stream(struct making *k, struct relay_sender *r, const struct cut_stream *st,
		       size_t number)
{
	char *buf = malloc(PIECE);
	uint64_t at = 0, size;
	int err = buf ? 0 : -ENOMEM;

	for (size_t n = 0; n < cut_stream_packets(st) && !err; n++, at += size) {
		size = cut_stream_packet_size(st, n);
		err = relay_sender_packet(r, number, size);
		err = err ? err : send_bytes(k, r, st->file, at, size, buf);
	}
	free(buf);
	return err;
}

/* File i, if it is one that the relay gets: an index is its own to make. */
static int send_file(struct making *k, struct relay_sender *r, size_t i, const char *path)
{
	const struct cut_stream *st = image_cut_stream(&k->cut, i);
	char *dir = strdup(path);
	const char *name = dir ? split_path(dir) : "";
	bool metadata = !strcmp(name, "metadata");
	size_t number;
	int err = dir ? 0 : -ENOMEM;

	if (!err && (st || metadata))
		err = relay_sender_add(r, dir, name, &number);
	if (!err && metadata)
		err = send_metadata(k, r, i, number);
	else if (!err && st)
		err = send_stream(k, r, st, number);
	free(dir);
	return err;
}

static int send_files(struct making *k, struct relay_sender *r)
{
	const struct image_file *files;
	size_t count = image_files(k->copy->image, &files);
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = send_file(k, r, i, files[i].path);
	return err ? err : relay_sender_finish(r);
}

static int copy_to_relay(struct making *k, struct tr_err *err)
{
	struct snapshot_copy *c = k->copy;
	struct session *s = c->session;
	const struct relay_delivery d = { .url = c->target->place, .session = s->name,
					  .host = s->tracer->hostname, .name = c->name,
					  .created = s->created, .is_ctf2 = s->is_ctf2,
					  .quits = snapshot_copy_quits, .arg = c };
	struct relay_sender *r = NULL;
	int ret = relay_sender_open(&d, &r);

	if (ret)
		return tr_fail(err, ret, "%s", relay_explain(ret));
	__atomic_store_n(&c->reached, true, __ATOMIC_RELAXED);
	ret = send_files(k, r);
	if (ret)
		tr_fail(err, ret, "%s; the relay may have a part of it, in %.100s",
			relay_explain(ret), relay_sender_path(r));
	relay_sender_close(r);
	return ret;
}

/* Of the files that are copied, for `status`. */
static void set_total(const struct making *k)
{
	const struct image_file *files;
	size_t count = image_files(k->copy->image, &files);
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += image_cut_size(&k->cut, i);
	__atomic_store_n(&k->copy->total, total, __ATOMIC_RELAXED);
}

int snapshot_copy_run(struct snapshot_copy *c, struct tr_err *err)
{
	struct making k = { .copy = c };
	int ret = image_cut_init(&k.cut, c->image, c->target ? c->target->max_size : 0);

	if (ret)
		return tr_fail(err, ret, "%s", strerror(-ret));
	set_total(&k);
	if (!c->target)
		ret = copy_to_output(&k);
	else if (c->target->remote)
		ret = copy_to_relay(&k, err);
	else
		ret = copy_to_directory(&k, err);
	image_cut_deinit(&k.cut);
	if (ret && !err->sentence[0])
		tr_fail(err, ret, "%s", strerror(-ret));
	return ret;
}
