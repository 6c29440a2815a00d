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
static int restore_file(struct output *o, struct stream_writer *os, uint64_t serial)
{
	bool current = serial == os->at.serial;
	struct stream_file f = { .serial = serial, .place = os->trace->place };
	struct stat st = { 0 }, index_st = { 0 };
	char index[200];
	uint64_t stored;
	int fd, index_fd, err = 0;

	stream_writer_file_name(os, serial, f.name, sizeof(f.name));
	snprintf(index, sizeof(index), "%s.idx", f.name);
	fd = open_old_file(f.place->fd, f.name, &st);
	index_fd = open_old_file(f.place->index_fd, index, &index_st);
	f.dev = st.st_dev;
	f.ino = st.st_ino;
	f.index_ino = index_st.st_ino;
	f.size = current ? os->at.size : (uint64_t)st.st_size;
	f.index_size = current ? os->at.index_size : (uint64_t)index_st.st_size;
	if (fd < 0 || index_fd < 0)
		err = fd < 0 ? fd : index_fd;
	else if ((uint64_t)st.st_size < f.size || (uint64_t)index_st.st_size < f.index_size)
		err = -ESTALE;
	else if (current && (st.st_dev != os->at.dev || st.st_ino != os->at.ino))
		err = -ESTALE;
	stored = f.size;
	if (!err && os->sealed)
		f.size = current ? os->at.plain_size : sealed_plain_size(index_fd, f.index_size);
	if (!err)
		err = stream_files_add(os->st.log, &f);
	if (!err)
		output_count_written(o, stored, f.size, 0);
	if (!err && current) {
		os->fd = fd;
		os->index_fd = index_fd;
		os->needs_truncate = true;
		return stream_writer_trim(os);
	}
	if (fd >= 0)
		close(fd);
	if (index_fd >= 0)
		close(index_fd);
	return err;
}

/* The daemon was killed during a clear of this chunk: removes the files that are left. */
static void remove_cleared(struct output *o, struct stream_writer *os)
{
	struct trace_place *place;
	uint64_t serial = os->at.first, next = os->at.serial + 1;
	char name[192], index[200];

	if (!os->at.serial || os->at.chunk != o->head.chunk || trace_dir_ready(o, os->trace))
		return;
	place = os->trace->place;
	if (os->file_count && next - serial > os->file_count)
		serial = next - os->file_count;
	for (; serial < next; serial++) {
		stream_writer_file_name(os, serial, name, sizeof(name));
		snprintf(index, sizeof(index), "%s.idx", name);
		unlinkat(place->index_fd, index, 0);
		unlinkat(place->fd, name, 0);
	}
}

void stream_writer_cleared(struct output *o, struct stream_writer *os)
{
	os->at.cleared = o->head.cleared;
	os->at.serial = os->at.size = os->at.variant = 0;
	/*
	 * The archives have earlier packets of this stream: keep its sequence numbers and counters.
	 */
	if (!o->head.archives)
		os->at.seq = os->at.lost = 0;
	os->at.lost_before = os->at.lost;
}

int stream_writer_restore(struct output *o, struct stream_writer *os)
{
	struct trail_ring *ring = region_ring(os->st.region, os->st.ring);
	uint64_t cleared = __atomic_load_n(&ring->cleared, __ATOMIC_RELAXED) & TRAIL_HEAD_MASK,
		 next = os->at.serial + 1, serial;
	int err = 0;

	/* A clear had moved the ring's position. */
	if (cleared > os->at.pos && cleared <= region_head(os->st.region, os->st.ring))
		os->at.pos = cleared;
	if (os->at.chunk != o->head.chunk || os->at.cleared != o->head.cleared) {
		os->at.chunk = o->head.chunk;
		if (os->at.cleared != o->head.cleared) {
			uint64_t before = os->at.lost_before, lost = os->at.lost;

			remove_cleared(o, os);
			stream_writer_cleared(o, os);
			/*
			 * The daemon was killed before it cleared the ring: its counter of
			 * discarded events is unchanged.
			 */
			ring_mark(&os->st, &os->mark);
			if (before + os->mark.lost >= lost)
				os->at.lost_before = before;
		}
		os->at.serial = os->at.size = os->at.variant = 0;
	}
	if (os->at.serial) {
		err = trace_dir_ready(o, os->trace);
		serial = os->file_count && next - os->at.first > os->file_count
				 ? next - os->file_count
				 : os->at.first;
		for (; !err && serial < next; serial++) {
			int one = restore_file(o, os, serial);

			/* Older files may be missing: their owner may remove them. */
			if (serial + 1 == next || one == -ENOMEM)
				err = one;
		}
	}
	/* New files must not get the serials of these. */
	pthread_mutex_lock(&os->st.log->lock);
	if (os->st.log->next_serial < next)
		os->st.log->next_serial = next;
	pthread_mutex_unlock(&os->st.log->lock);
	if (err == -ENOENT || err == -ESTALE)
		err = 0;        /* the next packet begins a new file */
	stream_writer_publish(os);
	return err;
}
