/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of one stream in the current chunk, each with its index: makes, truncates, closes,
 * syncs and removes them. stream_writer.c writes the packets.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/output/output.h"

#define VARIANTS 1000           /* of a file's name */

void stream_writer_file_name(const struct stream_writer *writer, uint64_t serial, char *out,
			     size_t size)
{
	uint64_t n = serial - writer->at.first;
	int len = snprintf(out, size, writer->at.variant ? "%s.%u" : "%s", writer->st.file,
			   writer->at.variant);

	if (writer->file_size && len > 0 && (size_t)len < size)
		snprintf(out + len, size - (size_t)len, "_%" PRIu64,
			 writer->file_count ? n % writer->file_count : n);
}

/* replace: an existing file of this name is an older file of the stream. */
static int make_file(int dir, const char *name, mode_t mode, bool replace)
{
	struct stat st;
	int fd;

	if (replace ||
	    (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) && !st.st_size))
		unlinkat(dir, name, 0);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	return fd < 0 ? -errno : fd;
}

/*
 * Makes the stream file and its index. If a file of a removed channel has the name, a variant of
 * the name is used. old: the file that this one replaces, or NULL; *spare: its size if it is filled
 * again, else 0.
 */
static int make_files(struct output *o, struct stream_writer *writer, struct stream_file *f,
		      const struct stream_file *old, int *fd, int *index_fd, uint64_t *spare)
{
	struct trace_place *place = f->place;
	char index[200];

	for (;; writer->at.variant++) {
		stream_writer_file_name(writer, f->serial, f->name, sizeof(f->name));
		*fd = old && !writer->sealed && writer->st.region->geo.mode == TRAIL_MODE_DISCARD
			      ? recycle_take(old, f->name)
			      : -1;
		*spare = *fd >= 0 ? old->size : 0;
		if (*fd < 0)
			*fd = make_file(place->fd, f->name, o->mode & 0666, old != NULL);
		if (*fd != -EEXIST || writer->at.serial || writer->at.variant >= VARIANTS)
			break;
	}
	if (*fd < 0)
		return *fd;
	snprintf(index, sizeof(index), "%s.idx", f->name);
	unlinkat(place->index_fd, index, 0);
	*index_fd = make_file(place->index_fd, index, o->mode & 0666, true);
	if (*index_fd >= 0)
		return 0;
	close(*fd);
	return *index_fd;
}

int stream_writer_cut_back(struct stream_writer *writer, int err)
{
	writer->needs_truncate = ftruncate(writer->fd, (off_t)writer->at.size) < 0 ||
			     ftruncate(writer->index_fd, (off_t)writer->at.index_size) < 0;
	writer->spare = 0;
	return err || !writer->needs_truncate ? err : -errno;
}

int stream_writer_trim(struct stream_writer *writer)
{
	return writer->needs_truncate ? stream_writer_cut_back(writer, 0) : 0;
}

void stream_writer_close(struct stream_writer *writer)
{
	if (writer->fd >= 0 && writer->spare)
		stream_writer_cut_back(writer, 0);
	if (writer->fd >= 0)
		close(writer->fd);
	if (writer->index_fd >= 0)
		close(writer->index_fd);
	writer->fd = writer->index_fd = -1;
	writer->needs_truncate = false;
}

int stream_writer_next_file(struct output *o, struct stream_writer *writer)
{
	struct md_index_header header;
	struct stream_file f = { .serial = writer->st.log->next_serial,
				 .place = writer->trace->place,
				 .index_size = sizeof(header) },
			   old;
	struct stat st = { 0 }, index_st = { 0 };
	int fd, index_fd, err = stream_writer_trim(writer);
	uint64_t spare;
	bool replace;
	ssize_t n;

	if (err)
		return err;
	if (!writer->at.serial)
		writer->at.first = f.serial;
	replace = writer->file_count && f.serial - writer->at.first >= writer->file_count;
	old = (struct stream_file){ 0 };
	if (replace)
		stream_files_drop(writer->st.log, f.serial - writer->file_count, &old);
	err = make_files(o, writer, &f, replace ? &old : NULL, &fd, &index_fd, &spare);
	trace_place_put(old.place);
	/*
	 * Close the current file. If making the next one failed, do so only if the list of files
	 * has lost the current one already.
	 */
	if (!err || old.serial == writer->at.serial)
		stream_writer_close(writer);
	if (err)
		return err;
	md_index_header_set(&header);
	if (fstat(fd, &st) < 0 || fstat(index_fd, &index_st) < 0)
		err = -errno;
	else if ((n = pwrite(index_fd, &header, sizeof(header), 0)) != (ssize_t)sizeof(header))
		err = n < 0 ? -errno : -ENOSPC;
	f.dev = st.st_dev;
	f.ino = st.st_ino;
	f.index_ino = index_st.st_ino;
	if (!err)
		err = stream_files_add(writer->st.log, &f);
	if (err) {
		close(fd);
		close(index_fd);
		return err;
	}
	writer->fd = fd;
	writer->index_fd = index_fd;
	writer->at.serial = f.serial;
	writer->at.size = writer->at.plain_size = 0;
	writer->at.index_size = sizeof(header);
	writer->at.dev = st.st_dev;
	writer->at.ino = st.st_ino;
	err = checkpoint_slot_put(o->state, writer->slot, &writer->at);
	/* Only from here on does the file consist of padding. */
	writer->spare = spare;
	return !err && spare ? recycle_begin(writer) : err;
}

int stream_writer_sync(struct output *o, struct stream_writer *writer)
{
	struct stream_file f;
	int err = 0;

	if (writer->fd >= 0 && writer->spare)
		stream_writer_cut_back(writer, 0);
	for (uint64_t serial = stream_files_first(writer->st.log);
	     stream_files_find(writer->st.log, serial, &f); serial = f.serial + 1) {
		for (int index = 0; index < 2; index++) {
			int one = syncgroup_add(o->sync, outfile_open(&f, index));

			err = err ? err : one;
		}
		trace_place_put(f.place);
	}
	return err;
}

void stream_writer_unlink(struct stream_writer *writer)
{
	struct stream_file f;
	char index[200];

	stream_writer_close(writer);
	for (uint64_t serial = stream_files_first(writer->st.log);
	     stream_files_find(writer->st.log, serial, &f); serial = f.serial + 1) {
		snprintf(index, sizeof(index), "%s.idx", f.name);
		unlinkat(f.place->index_fd, index, 0);
		unlinkat(f.place->fd, f.name, 0);
		trace_place_put(f.place);
	}
	stream_files_clear(writer->st.log);
}
