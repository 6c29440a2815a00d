/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of a chunk: the directories of its traces move into archives/BEGIN-END-ID, and new
 * packets go into new directories. The checkpoint names the archive before the first directory
 * moves, so that the next daemon can complete the move. No new file is made before all directories
 * have moved.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/timefmt.h"
#include "tracer/output/directory.h"
#include "tracer/output/output.h"
#include "tracer/output/outputs.h"

static const char *const domains[] = { "kernel", "ust" };

/* As LTTng names them: 20261121T054540+0000-20261121T054640+0000-1 */
static void name_archive(struct checkpoint_head *h)
{
	char begin[TIME_TEXT_MAX], end[TIME_TEXT_MAX];

	time_print(h->begin, TIME_FORMAT_TRACE, begin);
	time_print(wall_clock(), TIME_FORMAT_TRACE, end);
	snprintf(h->archive, sizeof(h->archive), "%.20s-%.20s-%" PRIu64, begin, end, h->chunk);
}

/* 1: it exists; 0: it does not; -errno: a disk that fails does not say. */
static int name_exists(int dir, const char *name)
{
	if (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

/* 1: it has moved; 0: there is none. */
static int move_directory(int dir, int to, const char *name)
{
	int there = name_exists(dir, name), taken = there > 0 ? name_exists(to, name) : 0;

	if (there <= 0 || taken)
		return taken > 0 ? -EEXIST : there < 0 ? there : taken;
	return renameat(dir, name, to, name) < 0 ? -errno : 1;
}

/*
 * Moves the directories back. False: the archive may still be there, so the chunk keeps its name.
 * The next rotation, or the next daemon, completes it.
 */
static bool undo_move(const struct output *o, int dir, int archives, int from)
{
	for (size_t i = 0; i < 2 && from >= 0; i++)
		if (name_exists(dir, domains[i]) <= 0)
			renameat(from, domains[i], dir, domains[i]);
	return unlinkat(archives, o->head.archive, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

/*
 * Moves the directories of the domains. One that has moved already is no error. If one cannot be
 * moved, the others move back. *undone: nothing has moved, before the call and after a failure.
 */
static int move_directories(struct output *o, int dir, bool *undone)
{
	int archives = output_dir_sub(dir, "archives", o->cred.uid, o->mode), to, err;

	if (archives < 0)
		return archives;
	to = output_dir_sub(archives, o->head.archive, o->cred.uid, o->mode);
	err = to < 0 ? to : 0;
	for (size_t i = 0; i < 2 && err >= 0; i++)
		err = move_directory(dir, to, domains[i]);
	if (err < 0) {
		*undone = undo_move(o, dir, archives, to);
	} else {
		err = 0;
		syncgroup_fail(o->sync, syncgroup_add_copy(o->sync, dir));
		syncgroup_fail(o->sync, syncgroup_add_copy(o->sync, archives));
		syncgroup_fail(o->sync, syncgroup_add_copy(o->sync, to));
	}
	close(archives);
	if (to >= 0)
		close(to);
	return err;
}

uint64_t session_chunk(struct session *s)
{
	struct output *o = output_if_running(s);
	uint64_t chunk;

	if (!o)
		return 0;
	pthread_mutex_lock(&o->lock);
	chunk = o->chunk;
	pthread_mutex_unlock(&o->lock);
	return chunk;
}

static void publish_chunk(struct output *o)
{
	pthread_mutex_lock(&o->lock);
	o->chunk = o->head.chunk;
	o->archives = o->head.archives;
	o->chunk_bytes = 0;
	memcpy(o->archive, o->head.archive, sizeof(o->archive));
	pthread_mutex_unlock(&o->lock);
}

/* The chunk has moved completely: the next one begins. */
static int next_chunk(struct output *o)
{
	struct checkpoint_head next = o->head;
	int err;

	next.moving = 0;
	next.archives++;
	next.chunk++;
	next.begin = wall_clock();
	err = checkpoint_head_put(o->state, &next);
	if (err)
		return err;
	o->head = next;
	publish_chunk(o);
	return 0;
}

int output_begin_chunk(struct output *o)
{
	/* The relay names its archive itself. */
	return next_chunk(o);
}

int output_finish_rotation(struct output *o, int dir)
{
	bool undone = false;
	int err = move_directories(o, dir, &undone);

	return err ? err : next_chunk(o);
}

/*
 * Makes sure that each trace has its directory in the chunk, even without events, and queues all
 * files for a sync.
 */
static int complete_chunk(struct output *o)
{
	int err = 0;

	for (size_t i = 0; i < o->count && !err; i++) {
		err = trace_dir_ready(o, o->streams[i]->trace);
		err = err ? err : stream_writer_trim(o->streams[i]);
		err = err ? err : stream_writer_sync(o, o->streams[i]);
		output_count_step(o);
	}
	return err;
}

/* Undoes move_directories: the files stay open, and the chunk continues. False as undo_move. */
static bool move_back(struct output *o)
{
	int archives = output_dir_sub(o->dir, "archives", o->cred.uid, o->mode), from;
	bool undone;

	if (archives < 0)
		return false;
	from = output_dir_sub(archives, o->head.archive, o->cred.uid, o->mode);
	undone = undo_move(o, o->dir, archives, from);
	close(archives);
	if (from >= 0)
		close(from);
	return undone;
}

int output_rotate(struct output *o)
{
	struct checkpoint_head before = o->head;
	bool undone = !before.moving;
	int err;

	err = o->dir < 0 ? -ENOENT : cred_enter(&o->cred);
	if (err)
		return err;
	err = complete_chunk(o);
	if (err || !o->count) {
		cred_leave(&o->cred);
		return err;
	}
	/* A rotation that could be neither completed nor undone continues under its name. */
	if (!o->head.moving)
		name_archive(&o->head);
	o->head.moving = 1;
	err = checkpoint_head_put(o->state, &o->head);
	if (!err)
		err = move_directories(o, o->dir, &undone);
	if (!err && (err = next_chunk(o)))
		undone = move_back(o);
	for (struct trace_dir *t = o->traces; t && !err; t = t->next)
		syncgroup_fail(o->sync, trace_dir_sync(o, t));
	cred_leave(&o->cred);
	if (err && undone) {
		o->head = before;
		o->head.moving = 0;
		checkpoint_head_put(o->state, &o->head);
	}
	if (err)
		return err;
	for (size_t i = 0; i < o->count; i++) {
		struct stream_writer *writer = o->streams[i];

		stream_writer_close(writer);
		writer->at.chunk = o->head.chunk;
		writer->at.serial = writer->at.size = writer->at.variant = 0;
		stream_files_chunk(writer->st.log, o->head.chunk);
	}
	for (struct trace_dir *t = o->traces; t; t = t->next)
		trace_dir_leave(t);
	return 0;
}

void output_reset_counts(struct output *o)
{
	pthread_mutex_lock(&o->lock);
	o->bytes = o->packets = o->chunk_bytes = o->pending = 0;
	pthread_mutex_unlock(&o->lock);
}

int output_clear(struct output *o)
{
	struct session *s = o->s;
	bool entered = o->dir >= 0 && cred_enter(&o->cred) == 0;

	/*
	 * The count comes first: if the daemon is killed now, the next one removes the remaining
	 * files.
	 */
	o->head.cleared++;
	o->head.begin = wall_clock();
	checkpoint_head_put(o->state, &o->head);
	pthread_mutex_lock(&s->tracer->lock);
	session_clear_rings(s);
	pthread_mutex_unlock(&s->tracer->lock);
	for (size_t i = 0; i < o->count; i++) {
		struct stream_writer *writer = o->streams[i];
		struct trail_ring *ring = region_ring(writer->st.region, writer->st.ring);
		uint64_t ts;

		if (entered)
			stream_writer_unlink(writer);
		stream_writer_cleared(o, writer);
		writer->at.pos = __atomic_load_n(&ring->cleared, __ATOMIC_RELAXED) &
				 TRAIL_HEAD_MASK;
		writer->at.events = __atomic_load_n(&ring->cleared_events, __ATOMIC_RELAXED);
		ts = __atomic_load_n(&ring->cleared_ts, __ATOMIC_RELAXED);
		writer->at.ts = ts > writer->at.ts ? ts : writer->at.ts;
		checkpoint_slot_put(o->state, writer->slot, &writer->at);
		stream_writer_publish(writer);
	}
	if (entered)
		cred_leave(&o->cred);
	output_reset_counts(o);
	return 0;
}
