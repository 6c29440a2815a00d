/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of an output for the streams of a fake session: what a moment says is in the rings is
 * written into them, packet by packet, as tracer/output/stream_writer.c would.
 */
#ifndef TESTS_UNIT_FAKE_FILES_H
#define TESTS_UNIT_FAKE_FILES_H

#include <fcntl.h>
#include <sys/stat.h>

#include "metadata/ctf.h"
#include "tests/lib/fake_writers.h"
#include "tracer/base/ring/stream_files.h"

struct fake_file {
	struct stream *st;              /* in the session's set */
	struct trace_place *place;
	struct stream_files *log;
	uint8_t *bytes;                 /* all packets, and their index */
	struct md_index_header *index;
	size_t packets, written;
	size_t each;                    /* packets in a file; 0: all */
	uint64_t serial, size;          /* of the current file */
	int fd, index_fd;
	char name[192];
};

struct fake_files {
	char dir[64];
	struct fake_file file[FAKE_TRACES * FAKE_RINGS];
	size_t count;
};

static inline uint8_t *fake_bytes(struct trace_image *image, const struct stream *st,
				  const char *format, uint64_t *size)
{
	const struct image_file *files;
	uint8_t *bytes = NULL;
	char path[600];

	snprintf(path, sizeof(path), format, st->trace->path, st->file);
	for (size_t i = image_files(image, &files); i-- > 0;)
		if (!strcmp(files[i].path, path)) {
			*size = files[i].size;
			bytes = malloc(files[i].size);
			if (image_read(image, i, 0, bytes, files[i].size) != (ssize_t)files[i].size)
				abort();
		}
	if (!bytes)
		abort();
	return bytes;
}

/* The session's streams have logs from now on; of no file yet. each: as above. */
static inline void fake_files_init(struct fake_files *ff, struct session *s, size_t each)
{
	struct trace_image *image;
	uint64_t size;
	char path[128];

	*ff = (struct fake_files){ .dir = "/tmp/fake-files-XXXXXX", .count = s->set.count };
	if (image_take(s, &image) || !mkdtemp(ff->dir))
		abort();
	for (size_t i = 0; i < ff->count; i++) {
		struct fake_file *f = &ff->file[i];

		*f = (struct fake_file){
			.st = &s->set.streams[i], .fd = -1, .index_fd = -1, .each = each
		};
		f->bytes = fake_bytes(image, f->st, "%s/%s", &size);
		f->index = (struct md_index_header *)fake_bytes(image, f->st, "%s/index/%s.idx",
								&size);
		f->packets = (size - sizeof(*f->index)) / sizeof(struct md_index_entry);
		f->log = f->st->log = stream_files_create(f->st->region->key, f->st->ring, false);
		f->place = calloc(1, sizeof(*f->place));
		f->place->refs = 1;
		snprintf(path, sizeof(path), "%s/%zu", ff->dir, i);
		mkdir(path, 0700);
		f->place->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		mkdirat(f->place->fd, "index", 0700);
		f->place->index_fd =
			openat(f->place->fd, "index", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	image_put(image);
}

static inline void fake_next_file(struct fake_file *f)
{
	struct stream_file of = { .serial = ++f->serial,
				  .place = f->place,
				  .index_size = sizeof(*f->index) };
	struct stat st, index_st;
	char index[200];

	if (f->fd >= 0) {
		close(f->fd);
		close(f->index_fd);
	}
	snprintf(f->name, sizeof(f->name), "%s_%u", f->st->file, (unsigned int)f->serial);
	snprintf(index, sizeof(index), "%s.idx", f->name);
	snprintf(of.name, sizeof(of.name), "%s", f->name);
	f->fd = openat(f->place->fd, f->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	f->index_fd =
		openat(f->place->index_fd, index, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (f->fd < 0 || f->index_fd < 0 || fstat(f->fd, &st) || fstat(f->index_fd, &index_st) ||
	    write(f->index_fd, f->index, sizeof(*f->index)) < 0)
		abort();
	of.dev = st.st_dev;
	of.ino = st.st_ino;
	of.index_ino = index_st.st_ino;
	f->size = 0;
	if (stream_files_add(f->log, &of))
		abort();
}

/* One packet more is in the files. False: all are. */
static inline bool fake_file_write(struct fake_file *f)
{
	const struct md_index_entry *entries = (const struct md_index_entry *)(f->index + 1);
	const struct region_geometry *g = &f->st->region->geo;
	struct md_index_entry e;
	struct md_packet h;
	uint64_t at = 0, content = 0, head = region_head(f->st->region, f->st->ring);
	off_t index_at;

	if (f->written == f->packets)
		return false;
	if (!f->serial || (f->each && f->written % f->each == 0))
		fake_next_file(f);
	for (size_t i = 0;; i++) {
		memcpy(&h, f->bytes + at, sizeof(h));
		content += h.packet_size / 8 > sizeof(h);
		if (i == f->written)
			break;
		at += h.packet_size / 8;
	}
	e = entries[f->written];
	md_index_entry_set(&e, &h, f->size);
	index_at = lseek(f->index_fd, 0, SEEK_END);
	if (pwrite(f->fd, f->bytes + at, h.packet_size / 8, (off_t)f->size) < 0 ||
	    pwrite(f->index_fd, &e, sizeof(e), index_at) < 0)
		abort();
	f->size += h.packet_size / 8;
	f->written++;
	/* In discard mode they are the sub-buffers from the first on. */
	stream_files_grow(f->log, f->size, (uint64_t)index_at + sizeof(e),
			  &(struct outend){ .pos = !content ? g->subbuf_size
						   : (content + 1) * g->subbuf_size < head
							   ? (content + 1) * g->subbuf_size
							   : head,
					    .ts = h.timestamp_end,
					    .seq = h.packet_seq_num + 1,
					    .lost = h.events_discarded });
	return true;
}

static inline void fake_files_deinit(struct fake_files *ff)
{
	char command[128];

	for (size_t i = 0; i < ff->count; i++) {
		struct fake_file *f = &ff->file[i];

		f->st->log = NULL;
		stream_files_put(f->log);
		trace_place_put(f->place);
		if (f->fd >= 0) {
			close(f->fd);
			close(f->index_fd);
		}
		free(f->bytes);
		free(f->index);
	}
	snprintf(command, sizeof(command), "rm -rf %s", ff->dir);
	if (system(command))
		abort();
}

#endif
