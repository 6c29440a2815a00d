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

void stream_writer_file_name(const struct stream_writer *os, uint64_t serial, char *out,
			     size_t size)
{
	uint64_t n = serial - os->at.first;
	int len = snprintf(out, size, os->at.variant ? "%s.%u" : "%s", os->st.file, os->at.variant);

	if (os->file_size && len > 0 && (size_t)len < size)
		snprintf(out + len, size - (size_t)len, "_%" PRIu64,
			 os->file_count ? n % os->file_count : n);
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
static int make_files(struct output *o, struct stream_writer *os, struct stream_file *f,
		      const struct stream_file *old, int *fd, int *index_fd, uint64_t *spare)
{
	struct trace_place *place = f->place;
	char index[200];

	for (;; os->at.variant++) {
		stream_writer_file_name(os, f->serial, f->name, sizeof(f->name));
		*fd = old && !os->sealed && os->st.region->geo.mode == TRAIL_MODE_DISCARD
			      ? recycle_take(old, f->name)
			      : -1;
		*spare = *fd >= 0 ? old->size : 0;
		if (*fd < 0)
			*fd = make_file(place->fd, f->name, o->mode & 0666, old != NULL);
		if (*fd != -EEXIST || os->at.serial || os->at.variant >= VARIANTS)
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

int stream_writer_cut_back(struct stream_writer *os, int err)
{
	os->needs_truncate = ftruncate(os->fd, (off_t)os->at.size) < 0 ||
			     ftruncate(os->index_fd, (off_t)os->at.index_size) < 0;
	os->spare = 0;
	return err || !os->needs_truncate ? err : -errno;
}

int stream_writer_trim(struct stream_writer *os)
{
	return os->needs_truncate ? stream_writer_cut_back(os, 0) : 0;
}

void stream_writer_close(struct stream_writer *os)
{
	if (os->fd >= 0 && os->spare)
		stream_writer_cut_back(os, 0);
	if (os->fd >= 0)
		close(os->fd);
	if (os->index_fd >= 0)
		close(os->index_fd);
	os->fd = os->index_fd = -1;
	os->needs_truncate = false;
}

int stream_writer_next_file(struct output *o, struct stream_writer *os)
{
	struct md_index_header header;
	struct stream_file f = { .serial = os->st.log->next_serial,
				 .place = os->trace->place,
				 .index_size = sizeof(header) },
			   old;
	struct stat st = { 0 }, index_st = { 0 };
	int fd, index_fd, err = stream_writer_trim(os);
	uint64_t spare;
	bool replace;
	ssize_t n;

	if (err)
		return err;
	if (!os->at.serial)
		os->at.first = f.serial;
	replace = os->file_count && f.serial - os->at.first >= os->file_count;
	old = (struct stream_file){ 0 };
	if (replace)
		stream_files_drop(os->st.log, f.serial - os->file_count, &old);
	err = make_files(o, os, &f, replace ? &old : NULL, &fd, &index_fd, &spare);
	trace_place_put(old.place);
	/*
	 * Close the current file. If making the next one failed, do so only if the list of files
	 * has lost the current one already.
	 */
	if (!err || old.serial == os->at.serial)
		stream_writer_close(os);
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
		err = stream_files_add(os->st.log, &f);
	if (err) {
		close(fd);
		close(index_fd);
		return err;
	}
	os->fd = fd;
	os->index_fd = index_fd;
	os->at.serial = f.serial;
	os->at.size = os->at.plain_size = 0;
	os->at.index_size = sizeof(header);
	os->at.dev = st.st_dev;
	os->at.ino = st.st_ino;
	err = checkpoint_slot_put(o->state, os->slot, &os->at);
	/* Only from here on does the file consist of padding. */
	os->spare = spare;
	return !err && spare ? recycle_begin(os) : err;
}

int stream_writer_sync(struct output *o, struct stream_writer *os)
{
	struct stream_file f;
	int err = 0;

	if (os->fd >= 0 && os->spare)
		stream_writer_cut_back(os, 0);
	for (uint64_t serial = stream_files_first(os->st.log);
	     stream_files_find(os->st.log, serial, &f); serial = f.serial + 1) {
		for (int index = 0; index < 2; index++) {
			int one = syncgroup_add(o->sync, outfile_open(&f, index));

			err = err ? err : one;
		}
		trace_place_put(f.place);
	}
	return err;
}

void stream_writer_unlink(struct stream_writer *os)
{
	struct stream_file f;
	char index[200];

	stream_writer_close(os);
	for (uint64_t serial = stream_files_first(os->st.log);
	     stream_files_find(os->st.log, serial, &f); serial = f.serial + 1) {
		snprintf(index, sizeof(index), "%s.idx", f.name);
		unlinkat(f.place->index_fd, index, 0);
		unlinkat(f.place->fd, f.name, 0);
		trace_place_put(f.place);
	}
	stream_files_clear(os->st.log);
}
