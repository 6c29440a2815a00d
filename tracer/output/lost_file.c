/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that another program removes or truncates while they are written. The writer checks this
 * before each batch of packets. The stream continues in a new file with its sequence numbers and
 * counters, so readers see the gap. A truncated file is cut back to whole packets, so that its rest
 * is readable. Directories that were removed are made again.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/output/directory.h"
#include "tracer/output/output.h"
#include "tracer/base/ring/sealed_file.h"

enum damage { DAMAGE_NONE, DAMAGE_CUT, DAMAGE_REMOVED };

static enum damage find_damage(const struct stream_writer *writer)
{
	uint64_t size = writer->spare ? writer->spare : writer->at.size;
	struct stat st, index;

	/* If the file system does not answer, the write that follows returns the error. */
	if (fstat(writer->fd, &st) < 0 || fstat(writer->index_fd, &index) < 0)
		return DAMAGE_NONE;
	if (!st.st_nlink || !index.st_nlink)
		return DAMAGE_REMOVED;
	return (uint64_t)st.st_size < size || (uint64_t)index.st_size < writer->at.index_size
		       ? DAMAGE_CUT
		       : DAMAGE_NONE;
}

/* Truncates the file and its index to the last packet that both have completely. */
static void cut_to_packets(struct stream_writer *writer)
{
	const uint64_t header = sizeof(struct md_index_header);
	struct outend end = stream_files_end(writer->st.log);
	struct stat st = { 0 }, index_st = { 0 };
	struct md_index_entry e;
	struct stream_file f;
	uint64_t entries, size = 0, view_size;
	int fd = -1;

	if (stream_files_find(writer->st.log, writer->at.serial, &f)) {
		fd = f.serial == writer->at.serial ? outfile_open(&f, true) : -1;
		trace_place_put(f.place);
	}
	if (fstat(writer->fd, &st) < 0 || fstat(writer->index_fd, &index_st) < 0)
		st.st_size = 0;
	entries = (uint64_t)index_st.st_size > header
			  ? ((uint64_t)index_st.st_size - header) / sizeof(e)
			  : 0;
	for (; fd >= 0 && entries && !size; entries -= !size) {
		uint64_t packet_end = 0;

		if (pread(fd, &e, sizeof(e), (off_t)(header + (entries - 1) * sizeof(e))) ==
		    (ssize_t)sizeof(e))
			packet_end = be64toh(e.offset) + be64toh(e.packet_size) / 8;
		size = packet_end <= (uint64_t)st.st_size ? packet_end : 0;
	}
	view_size = size && writer->sealed ? sealed_plain_size(fd, header + entries * sizeof(e))
					   : size;
	if (fd >= 0)
		close(fd);
	if (!ftruncate(writer->fd, (off_t)size) &&
	    !ftruncate(writer->index_fd, (off_t)(header + entries * sizeof(e))))
		stream_files_grow(writer->st.log, view_size, header + entries * sizeof(e), &end);
}

/*
 * Makes the output directory again if it was removed. The new descriptor gets the number of the old
 * one, because another thread may have just read that number.
 */
static int make_dir_again(struct output *o)
{
	struct checkpoint_head head = o->head;
	struct stat st;
	int dir, err;

	if (fstat(o->dir, &st) < 0 || st.st_nlink)
		return 0;
	dir = output_dir_open(o->path, o->cred.uid, true, o->mode, NULL);
	if (dir < 0)
		return dir;
	err = fstat(dir, &st) < 0 || dup3(dir, o->dir, O_CLOEXEC) < 0 ? -errno : 0;
	close(dir);
	if (err)
		return err;
	head.dev = st.st_dev;
	head.ino = st.st_ino;
	err = checkpoint_head_put(o->state, &head);
	if (!err)
		o->head = head;
	return err;
}

/*
 * Removed directories are made again with the next file; the metadata is written again in any case.
 */
static int forget_places(struct output *o)
{
	struct stat st;

	for (struct trace_dir *t = o->traces; t; t = t->next) {
		t->version = 0;
		if (t->place && ((!fstat(t->place->fd, &st) && !st.st_nlink) ||
				 (!fstat(t->place->index_fd, &st) && !st.st_nlink))) {
			trace_place_put(t->place);
			t->place = NULL;
		}
	}
	return make_dir_again(o);
}

static void report_lost_file(struct output *o, const char *name, enum damage damage)
{
	pthread_mutex_lock(&o->lock);
	o->lost_files++;
	pthread_mutex_unlock(&o->lock);
	tracer_report(
		o->s->tracer,
		"session %s: output: another program has %s %s; recording continues in a new file",
		o->s->name, damage == DAMAGE_CUT ? "cut" : "removed", name);
	pthread_mutex_lock(&o->s->tracer->lock);
	session_changed(o->s);
	pthread_mutex_unlock(&o->s->tracer->lock);
}

int stream_writer_check_files(struct output *o, struct stream_writer *writer)
{
	enum damage damage = writer->fd < 0 ? DAMAGE_NONE : find_damage(writer);
	struct stream_file old = { 0 };
	char name[192];

	if (damage == DAMAGE_NONE)
		return 0;
	stream_writer_file_name(writer, writer->at.serial, name, sizeof(name));
	if (damage == DAMAGE_CUT)
		cut_to_packets(writer);
	else
		stream_files_drop(writer->st.log, writer->at.serial, &old);
	trace_place_put(old.place);
	/* Do not restore the old size of the file. */
	writer->spare = 0;
	writer->needs_truncate = false;
	stream_writer_close(writer);
	writer->at.size = 0;
	/*
	 * With a size limit, files are numbered: the next file has the next number. Without one it
	 * has the same name, or a variant of it.
	 */
	if (!writer->file_size)
		writer->at.serial = 0;
	report_lost_file(o, name, damage);
	return forget_places(o);
}
