/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stream that an earlier daemon has written of: its files are found again, and cut to what its
 * slot in the state file says. Also what a clear leaves of a stream, which the earlier daemon may
 * not have finished.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/output/output.h"

/* A file that is there, for writing (wr) or to be told of. */
static int old_file(int dir, const char *name, struct stat *st)
{
	int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (!fstat(fd, st) && S_ISREG(st->st_mode) && st->st_nlink == 1)
		return fd;
	close(fd);
	return -ESTALE;
}

/* Tells the log of file `serial`; the last one is opened and cut to what the state file says. */
static int restore_file(struct output *o, struct stream_writer *os, uint64_t serial)
{
	bool current = serial == os->at.serial;
	struct stream_file f = { .serial = serial, .place = os->trace->place };
	struct stat st = { 0 }, index_st = { 0 };
	char index[200];
	int fd, index_fd, err = 0;

	stream_writer_file_name(os, serial, f.name, sizeof(f.name));
	snprintf(index, sizeof(index), "%s.idx", f.name);
	fd = old_file(f.place->fd, f.name, &st);
	index_fd = old_file(f.place->index_fd, index, &index_st);
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
	if (!err)
		err = stream_files_add(os->st.log, &f);
	if (!err)
		output_written(o, f.size, 0);
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

/* The daemon was killed during a clear of this chunk: what it has not removed is removed now. */
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
	 * The archives have earlier packets of this stream: numbers and counters go on from there.
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

	/* A clear that was under way. */
	if (cleared > os->at.pos && cleared <= region_head(os->st.region, os->st.ring))
		os->at.pos = cleared;
	if (os->at.chunk != o->head.chunk || os->at.cleared != o->head.cleared) {
		os->at.chunk = o->head.chunk;
		if (os->at.cleared != o->head.cleared) {
			uint64_t before = os->at.lost_before, lost = os->at.lost;

			remove_cleared(o, os);
			stream_writer_cleared(o, os);
			/* Killed before the ring was cleared: its counter goes on as it was. */
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

			/* One that is not there any more is nobody's concern but its owner's. */
			if (serial + 1 == next || one == -ENOMEM)
				err = one;
		}
	}
	/* Files that are to come must not be taken for these. */
	pthread_mutex_lock(&os->st.log->lock);
	if (os->st.log->next_serial < next)
		os->st.log->next_serial = next;
	pthread_mutex_unlock(&os->st.log->lock);
	if (err == -ENOENT || err == -ESTALE)
		err = 0;        /* the next packet begins a new file */
	stream_writer_tell(os);
	return err;
}
