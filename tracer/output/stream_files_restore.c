/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Continues a stream of an earlier daemon: opens its files again and truncates them to what its
 * checkpoint slot says. Finds the files of the last archives, too, for readers that are in them.
 * Also completes a clear that the earlier daemon did not complete.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/output/directory.h"
#include "tracer/output/output.h"
#include "tracer/base/ring/sealed_file.h"

#define ARCHIVED_FILES 1000     /* of a stream in an archive; of more, none is read again */

/* mode: O_RDWR or O_RDONLY. -ESTALE: it is not the regular file that a daemon made. */
static int open_old_file(int dir, const char *name, int mode, struct stat *st)
{
	int fd = openat(dir, name, mode | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

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
	fd = open_old_file(f.place->fd, f.name, O_RDWR, &st);
	index_fd = open_old_file(f.place->index_fd, index, O_RDWR, &index_st);
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

/* ---- archives: readers of the earlier daemon may be in them ---- */

/* The newest archives' names end with the numbers of their chunks; keeps the last of each. */
static void find_archives(const struct output *o, int archives,
			  char names[ARCHIVED_MOST][sizeof(o->head.archive)])
{
	int copy = dup(archives);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	if (!d && copy >= 0)
		close(copy);
	while (d && (e = readdir(d))) {
		const char *dash = strrchr(e->d_name, '-');
		uint64_t chunk = dash ? strtoull(dash + 1, NULL, 10) : UINT64_MAX;
		size_t len = strlen(e->d_name);

		if (chunk < o->head.chunk && o->head.chunk - chunk <= ARCHIVED_MOST &&
		    len < sizeof(names[0]))
			memcpy(names[o->head.chunk - chunk - 1], e->d_name, len + 1);
	}
	if (d)
		closedir(d);
}

/* Opens the directories of a trace in the last archives. Those that are not there are left out. */
static void open_archived(const struct output *o, struct trace_dir *t)
{
	char names[ARCHIVED_MOST][sizeof(o->head.archive)] = { "" };
	int archives = output_dir_find(o->dir, "archives", o->cred.uid);

	t->sought = true;
	if (archives < 0)
		return;
	find_archives(o, archives, names);
	for (size_t i = 0; i < ARCHIVED_MOST; i++) {
		struct trace_place *p = *names[i] ? calloc(1, sizeof(*p)) : NULL;
		int archive = p ? output_dir_find(archives, names[i], o->cred.uid) : -1;

		if (p) {
			p->refs = 1;
			p->chunk = o->head.chunk - i - 1;
			p->fd = archive < 0 ? -1
					    : output_dir_find(archive, t->trace->path, o->cred.uid);
			p->index_fd = p->fd < 0 ? -1
						: output_dir_find(p->fd, "index", o->cred.uid);
			t->archived[i] = p;
		}
		if (p && p->index_fd < 0) {
			trace_place_put(p);
			t->archived[i] = NULL;
		}
		if (archive >= 0)
			close(archive);
	}
	close(archives);
}

/* Describes a file of an archive, if it is there. */
static bool look_at_archived(const struct stream_writer *writer, struct trace_place *place,
			     uint64_t n, struct stream_file *f)
{
	struct stat st, index_st;
	char index[200];
	int fd, index_fd, len;

	*f = (struct stream_file){ .place = place };
	if (writer->file_size)
		len = snprintf(f->name, sizeof(f->name), "%s_%" PRIu64, writer->st.file, n);
	else
		len = snprintf(f->name, sizeof(f->name), "%s", writer->st.file);
	if (len < 0 || (size_t)len >= sizeof(f->name))
		return false;
	snprintf(index, sizeof(index), "%s.idx", f->name);
	fd = open_old_file(place->fd, f->name, O_RDONLY, &st);
	index_fd = open_old_file(place->index_fd, index, O_RDONLY, &index_st);
	if (fd >= 0 && index_fd >= 0) {
		f->dev = st.st_dev;
		f->ino = st.st_ino;
		f->index_ino = index_st.st_ino;
		f->index_size = (uint64_t)index_st.st_size;
		f->size = writer->sealed ? sealed_plain_size(index_fd, f->index_size)
					 : (uint64_t)st.st_size;
	}
	if (fd >= 0)
		close(fd);
	if (index_fd >= 0)
		close(index_fd);
	return fd >= 0 && index_fd >= 0;
}

/* How many files of the stream an archive has; 0 also if their order is not known. */
static uint64_t count_archived(const struct stream_writer *writer, struct trace_place *place)
{
	struct stream_file f;
	uint64_t n = 0;

	if (!writer->file_size)
		return look_at_archived(writer, place, 0, &f);
	while (n < ARCHIVED_FILES && look_at_archived(writer, place, n, &f))
		n++;
	/* A full set of files was begun again at 0: how often is not known, nor which is oldest. */
	return n >= ARCHIVED_FILES || (writer->file_count && n >= writer->file_count) ? 0 : n;
}

/*
 * Adds the files of the last archives to the stream's list, which is empty. They get the serials
 * below `*next`. raise: no file has that serial yet, and it grows if there are more of them.
 */
static void restore_archived(const struct output *o, struct stream_writer *writer, uint64_t *next,
			     bool raise)
{
	struct trace_dir *t = writer->trace;
	uint64_t counts[ARCHIVED_MOST] = { 0 }, sum = 0, serial;
	struct stream_file f;
	size_t used = 0;        /* archives, the newest first */

	if (!t->sought)
		open_archived(o, t);
	while (used < ARCHIVED_MOST && t->archived[used]) {
		counts[used] = count_archived(writer, t->archived[used]);
		if (!raise && sum + counts[used] >= *next)
			break;
		sum += counts[used++];
	}
	if (*next <= sum)
		*next = sum + 1;
	serial = *next - sum;
	while (used-- > 0)
		for (uint64_t n = 0; n < counts[used]; n++, serial++) {
			f = (struct stream_file){ 0 };
			if (!look_at_archived(writer, t->archived[used], n, &f))
				continue;
			f.serial = serial;
			stream_files_add(writer->st.log, &f);
		}
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
		serial = writer->at.first;
		if (o->head.archives)
			restore_archived(o, writer, &serial, false);
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
	} else if (o->head.archives) {
		restore_archived(o, writer, &next, true);
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
