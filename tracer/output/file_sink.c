/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The row of functions for an output that is a directory. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/output/directory.h"
#include "tracer/output/output.h"

/* Opens the directory of an earlier daemon again. -ESTALE: the path leads to another directory. */
static int reopen_dir(struct output *o)
{
	struct stat st;
	int dir, err;

	if (o->dir >= 0)
		return 0;
	err = cred_enter(&o->cred);
	if (err)
		return err;
	dir = output_dir_open(o->path, o->cred.uid, false, o->mode, NULL);
	err = dir < 0 ? dir : fstat(dir, &st) < 0 ? -errno : 0;
	if (!err && (st.st_dev != o->head.dev || st.st_ino != o->head.ino))
		err = -ESTALE;
	if (!err && o->head.moving)
		err = output_finish_rotation(o, dir);
	/*
	 * Files that the earlier daemon did not sync, in this chunk or an older one, are unknown:
	 * sync the whole file system.
	 */
	if (!err)
		syncgroup_fail(o->sync, syncgroup_add_system_of(o->sync, dir));
	cred_leave(&o->cred);
	if (err) {
		if (dir >= 0)
			close(dir);
		return err;
	}
	pthread_mutex_lock(&o->lock);
	o->inherited = false;
	o->dir = dir;
	pthread_mutex_unlock(&o->lock);
	return 0;
}

static struct stream_writer *add_stream(struct output *o, const struct stream *st)
{
	struct trace_dir *t = trace_dir_of(o, st->trace);

	return t ? stream_writer_create(o, st, t) : NULL;
}

static int restore_stream(struct output *o, struct stream_writer *writer, bool new_slot)
{
	int err = new_slot ? 0 : stream_writer_restore(o, writer);

	writer->trace->early = writer->trace->early || new_slot;
	if (err)
		stream_files_clear(writer->st.log);
	return err;
}

static void remove_stream(struct output *o, struct stream_writer *writer)
{
	(void)o;
	stream_writer_destroy(writer);
}

static int write_packets(struct output *o, struct stream_writer *writer, bool all)
{
	int err = stream_writer_check_files(o, writer);

	err = err ? err : trace_dir_ready(o, writer->trace);
	return err ? err : stream_writer_write(o, writer, all);
}

static int end_pass(struct output *o, bool all)
{
	int err = 0;

	for (struct trace_dir *t = o->traces; t && all && !err; t = t->next)
		if (t->place)
			err = trace_dir_ready(o, t);
	return err;
}

static void sync_files(struct output *o)
{
	for (size_t i = 0; i < o->count; i++)
		syncgroup_fail(o->sync, stream_writer_sync(o, o->streams[i]));
	for (struct trace_dir *t = o->traces; t; t = t->next)
		syncgroup_fail(o->sync, trace_dir_sync(o, t));
}

static void mark_metadata_stale(struct output *o)
{
	for (struct trace_dir *t = o->traces; t; t = t->next)
		t->version = 0;
}

const struct output_sink file_sink = {
	.open = reopen_dir,
	.add = add_stream,
	.restore = restore_stream,
	.remove = remove_stream,
	.begin = trace_dirs_begin,
	.check = stream_writer_check_files,
	.write = write_packets,
	.end_pass = end_pass,
	.sync = sync_files,
	.regenerate = mark_metadata_stale,
	.rotate = output_rotate,
	.clear = output_clear,
};
