/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Continues a stream of an earlier daemon: opens its files again and truncates them to what its
 * checkpoint slot says. Also completes a clear that the earlier daemon did not complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/output/output.h"
#include "tracer/base/ring/sealed_file.h"

/* Opens a file for writing. -ESTALE: it is not the regular file that a daemon made. */
static int open_old_file(int dir, const char *name, struct stat *st)
{
	int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (!fstat(fd, st) && S_ISREG(st->st_mode) && st->st_nlink == 1)
		return fd;
	close(fd);
	return -ESTALE;
}

/*
 * Adds file `serial` to the stream's list. The current file stays open and is truncated to the size
 * in its checkpoint slot.
 */
static int restore_file(struct output *o, struct stream_writer *writer, uint64_t serial)
{
	bool current = serial == writer->at.serial;
	struct stream_file f = { .serial = serial, .place = writer->trace->place };
	struct stat st = { 0 }, index_st = { 0 };
	char index[200];
	uint64_t stored;
	int fd, index_fd, err = 0;

	stream_writer_file_name(writer, serial, f.name, sizeof(f.name));
	snprintf(index, sizeof(index), "%s.idx", f.name);
	fd = open_old_file(f.place->fd, f.name, &st);
	index_fd = open_old_file(f.place->index_fd, index, &index_st);
	f.dev = st.st_dev;
	f.ino = st.st_ino;
	f.index_ino = index_st.st_ino;
	f.size = current ? writer->at.size : (uint64_t)st.st_size;
	f.index_size = current ? writer->at.index_size : (uint64_t)index_st.st_size;
	if (fd < 0 || index_fd < 0)
		err = fd < 0 ? fd : index_fd;
	else if ((uint64_t)st.st_size < f.size || (uint64_t)index_st.st_size < f.index_size)
		err = -ESTALE;
	else if (current && (st.st_dev != writer->at.dev || st.st_ino != writer->at.ino))
		err = -ESTALE;
	stored = f.size;
	if (!err && writer->sealed)
		f.size = current ? writer->at.plain_size
				 : sealed_plain_size(index_fd, f.index_size);
	if (!err)
		err = stream_files_add(writer->st.log, &f);
	if (!err)
		output_count_written(o, stored, f.size, 0);
	if (!err && current) {
		writer->fd = fd;
		writer->index_fd = index_fd;
		writer->needs_truncate = true;
		return stream_writer_trim(writer);
	}
	if (fd >= 0)
		close(fd);
	if (index_fd >= 0)
		close(index_fd);
	return err;
}

/* The daemon was killed during a clear of this chunk: removes the files that are left. */
static void remove_cleared(struct output *o, struct stream_writer *writer)
{
	struct trace_place *place;
	uint64_t serial = writer->at.first, next = writer->at.serial + 1;
	char name[192], index[200];

	if (!writer->at.serial || writer->at.chunk != o->head.chunk ||
	    trace_dir_ready(o, writer->trace))
		return;
	place = writer->trace->place;
	if (writer->file_count && next - serial > writer->file_count)
		serial = next - writer->file_count;
	for (; serial < next; serial++) {
		stream_writer_file_name(writer, serial, name, sizeof(name));
		snprintf(index, sizeof(index), "%s.idx", name);
		unlinkat(place->index_fd, index, 0);
		unlinkat(place->fd, name, 0);
	}
}

void stream_writer_cleared(struct output *o, struct stream_writer *writer)
{
	writer->at.cleared = o->head.cleared;
	writer->at.serial = writer->at.size = writer->at.variant = 0;
	/*
	 * The archives have earlier packets of this stream: keep its sequence numbers and counters.
	 */
	if (!o->head.archives)
		writer->at.seq = writer->at.lost = 0;
	writer->at.lost_before = writer->at.lost;
}

int stream_writer_restore(struct output *o, struct stream_writer *writer)
{
	struct trail_ring *ring = region_ring(writer->st.region, writer->st.ring);
	uint64_t cleared = __atomic_load_n(&ring->cleared, __ATOMIC_RELAXED) & TRAIL_HEAD_MASK,
		 next = writer->at.serial + 1, serial;
	int err = 0;

	/* A clear had moved the ring's position. */
	if (cleared > writer->at.pos && cleared <= region_head(writer->st.region, writer->st.ring))
		writer->at.pos = cleared;
	if (writer->at.chunk != o->head.chunk || writer->at.cleared != o->head.cleared) {
		writer->at.chunk = o->head.chunk;
		if (writer->at.cleared != o->head.cleared) {
			uint64_t before = writer->at.lost_before, lost = writer->at.lost;

			remove_cleared(o, writer);
			stream_writer_cleared(o, writer);
			/*
			 * The daemon was killed before it cleared the ring: its counter of
			 * discarded events is unchanged.
			 */
			ring_mark(&writer->st, &writer->mark);
			if (before + writer->mark.lost >= lost)
				writer->at.lost_before = before;
		}
		writer->at.serial = writer->at.size = writer->at.variant = 0;
	}
	if (writer->at.serial) {
		err = trace_dir_ready(o, writer->trace);
		serial = writer->file_count && next - writer->at.first > writer->file_count
				 ? next - writer->file_count
				 : writer->at.first;
		for (; !err && serial < next; serial++) {
			int one = restore_file(o, writer, serial);

			/* Older files may be missing: their owner may remove them. */
			if (serial + 1 == next || one == -ENOMEM)
				err = one;
		}
	}
	/* New files must not get the serials of these. */
	pthread_mutex_lock(&writer->st.log->lock);
	if (writer->st.log->next_serial < next)
		writer->st.log->next_serial = next;
	pthread_mutex_unlock(&writer->st.log->lock);
	if (err == -ENOENT || err == -ESTALE)
		err = 0;        /* the next packet begins a new file */
	stream_writer_publish(writer);
	return err;
}
