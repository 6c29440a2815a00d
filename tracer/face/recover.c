// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "tracer/face/face.h"
#include "tracer/output/output.h"
#include "tracer/face/recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/session/kept.h"
#include "tracer/session/session.h"
#include "tracer/base/ring/stream_files.h"
#include "tracer/output/checkpoint.h"

#define CHUNK (1u << 20)
#define SLOTS_MAX 100000        /* streams of a session's output */
/* of memory for metadata, indexes and packet headers of everything recovered */
#define SLACK (UINT64_C(256) << 20)

int recovery_open(const char *state_dir,
		  void (*report)(void *arg, const char *session, const char *line), void *arg,
		  struct tracer **out, struct tr_err *err)
{
	struct tracer_config config = {
		.state_dir = state_dir, .max_frozen = SLACK, .report = report, .report_arg = arg
	};
	struct tracer *t = tracer_new(&config);

	if (!t)
		return tr_fail(err, -ENOMEM, "out of memory");
	t->reading = true;
	t->state_fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t->sessions_fd = t->state_fd < 0 ? -1
					 : openat(t->state_fd, "sessions",
						  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (t->sessions_fd < 0) {
		int ret = tr_fail(err, -errno, "%s is no state directory: %s", state_dir,
				  strerror(errno));

		tracer_free(t);
		return ret;
	}
	clock_recall(&t->clock, t->state_fd);
	*out = t;
	return 0;
}

void recovery_close(struct tracer *t)
{
	kept_drop(t);
	tracer_close(t, true);
}

/* Sets how far the output of this ring is, from its checkpoint, which is not trusted. */
static void note_written(struct session *s, const struct checkpoint_slot *slot, bool cleared)
{
	struct outend end = {
		.pos = slot->pos, .begin = slot->begin, .ts = slot->ts, .seq = slot->seq,
		.lost = slot->lost, .lost_before = slot->lost_before,
	};
	struct channel *c;
	struct stream_group *group;
	struct buffer *b;
	struct stream_files *l;

	/* A clear was not completed: the ring's counters were reset. */
	if (cleared)
		end.lost_before = end.lost;
	for_each_session_buffer(s, c, group, b)
		if (b->region->key == slot->key && slot->ring < b->region->geo.ring_count &&
		    (l = buffer_files(s, b, slot->ring)))
			stream_files_set_end(l, &end);
}

static void read_output(struct session *s)
{
	struct checkpoint_head head;
	struct checkpoint_slot slot;
	char path[256];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/output", s->name);
	fd = openat(s->tracer->sessions_fd, path,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && !checkpoint_head_get(fd, &head))
		for (uint32_t i = 0; i < SLOTS_MAX && !checkpoint_slot_get(fd, i, &slot); i++)
			if (slot.name)
				note_written(s, &slot, slot.cleared != head.cleared);
	if (fd >= 0)
		close(fd);
}

size_t recovery_sessions(struct tracer *t, bool only_unwritten)
{
	struct session *s;
	size_t unclaimed;

	output_data(t)->only_unwritten = only_unwritten;
	unclaimed = sessions_restore(t);
	if (only_unwritten)
		cds_list_for_each_entry(s, &t->sessions, node)
			if (s->output && !s->streamed)
				read_output(s);
	return unclaimed;
}

/* ---- buffers ---- */

struct finding {
	struct tracer *t;
	int found;
};

static void take(void *arg, const char *name, int fd)
{
	struct finding *f = arg;
	struct region *r;

	if (!strncmp(name, KEEPER_HELD, strlen(KEEPER_HELD))) {
		close(fd);
		return;
	}
	if (*name == 's') {
		if (kept_add_descriptor(strtoull(name + 1, NULL, 16), fd))
			close(fd);
		return;
	}
	if (region_adopt(fd, &r)) {
		close(fd);
		return;
	}
	if (kept_add(r->key, r)) {
		region_put(r);
		return;
	}
	f->t->config.max_frozen += r->size;
	f->found++;
}

int recovery_keeper(struct tracer *t)
{
	struct finding f = { .t = t };
	struct keeper *k;
	int found, ret = keeper_open(t->state_dir, NULL, &k, &found);

	if (ret)
		return ret;
	ret = keeper_each(k, take, &f);
	keeper_close(k, 0);
	return ret ? ret : f.found;
}

static ssize_t read_at(int fd, void *to, size_t n, off_t at)
{
	ssize_t got;

	do
		got = pread(fd, to, n, at);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/*
 * Copies [from, from + size) of a file to the beginning of another, without holes. Returns the
 * number of bytes, or -errno.
 */
static int64_t copy_range(int from_fd, off_t from, uint64_t size, int to_fd, uint8_t *buf)
{
	off_t at = from, end = from + (off_t)size, data;
	int64_t sum = 0;

	while (at < end) {
		size_t want = end - at < CHUNK ? (size_t)(end - at) : CHUNK;
		ssize_t n;

		/* Not every file system supports this. */
		data = lseek(from_fd, at, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break;
		if (data > at) {
			at = data;
			continue;
		}
		n = read_at(from_fd, buf, want, at);
		if (n <= 0)
			return n ? n : sum;
		if (pwrite(to_fd, buf, (size_t)n, at - from) != n)
			return -ENOSPC;
		sum += n;
		at += n;
	}
	return sum;
}

/* Copies a region into a sealed memfd, so that it cannot change or shrink while it is read. */
static int copy_region(struct tracer *t, int fd, off_t at, uint64_t size, uint8_t *buf)
{
	int to = memfd_create("trail-recover", MFD_CLOEXEC | MFD_ALLOW_SEALING), ret = 0;
	struct region *r = NULL;
	int64_t n;

	if (to < 0 || ftruncate(to, (off_t)size) ||
	    fcntl(to, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		ret = -errno;
	if (!ret) {
		n = copy_range(fd, at, size, to, buf);
		ret = n < 0 ? (int)n : region_adopt(to, &r);
		if (n > 0)      /* the size of the input bounds the size of traces */
			t->config.max_frozen += (uint64_t)n;
	}
	if (ret) {
		if (to >= 0)
			close(to);
		return ret;
	}
	ret = kept_add(r->key, r);
	if (ret)
		region_put(r);
	return ret;
}

/* Finds the next region from *at on. Returns its size; 0: none; -errno. */
static int64_t next_region(int fd, off_t *at, uint8_t *buf)
{
	for (;;) {
		off_t data = lseek(fd, *at, SEEK_DATA);
		ssize_t n;

		if (data < 0 && errno == ENXIO)
			return 0;
		if (data > *at)
			*at = data & ~(off_t)(TRAIL_PAGE - 1);
		n = read_at(fd, buf, CHUNK, *at);
		for (ssize_t i = 0; i + (ssize_t)sizeof(struct trail_region) <= n;
		     i += TRAIL_PAGE) {
			struct trail_region h;
			uint64_t size;

			memcpy(&h, buf + i, sizeof(h));
			size = region_header(&h);
			if (size) {
				*at += i;
				return (int64_t)size;
			}
		}
		if (n <= 0)
			return n;
		*at += CHUNK;
	}
}

static int scan_file(struct tracer *t, int fd)
{
	uint8_t *buf = malloc(CHUNK);
	int found = 0, ret = 0;
	int64_t size;
	off_t at = 0;

	if (!buf)
		return -ENOMEM;
	while (!ret && (size = next_region(fd, &at, buf)) > 0) {
		ret = copy_region(t, fd, at, (uint64_t)size, buf);
		found += !ret;
		/* A region inside another one is the contents of events. */
		at += (off_t)size;
	}
	ret = !ret && size < 0 ? (int)size : ret;
	free(buf);
	return ret ? ret : found;
}

/* All files of the directory. */
static int scan_directory(struct tracer *t, int dir)
{
	int fd, n, copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = 0;
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	struct stat st;

	if (!d)
		found = -errno;
	while (d && found >= 0 && (e = readdir(d))) {
		fd = openat(dir, e->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		n = fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) ? 0 : scan_file(t, fd);
		found = n < 0 ? n : found + n;
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
	return found;
}

int recovery_scan(struct tracer *t, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISDIR(st.st_mode) ? scan_directory(t, fd) : scan_file(t, fd);
}
