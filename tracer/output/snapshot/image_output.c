/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace image of a session with an output: it consists of the files of the current chunk. They
 * only grow, so their sizes are fixed and the files are held open; nothing is copied. If the output
 * cannot be written, packets that are only in the ring become one more file, copied at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tracer/format/foreign/foreign.h"
#include "tracer/base/ring/stream_files.h"
#include "tracer/output/snapshot/image.h"

static bool has_unwritten(const struct ring_mark *mark, const struct outend *end)
{
	return mark->head > end->pos || add_saturated(end->lost_before, mark->lost) > end->lost;
}

/* Adds a file with the packets that only the ring has. -ESTALE: they were overwritten. */
static int add_unwritten(struct trace_image *image, const struct stream *st,
			 const struct ring_mark *mark, const struct outend *end, const char *name)
{
	struct image_source *src = image_add_source(image, st);
	struct packetizer cut = {
		.stream = st,
		.mark = *mark,
		.base = ring_cleared_lost(st),
		.max_ts = image->max_ts,
		.at = { .pos = end->pos,
			.begin = end->begin,
			.ts = end->ts,
			.seq = end->seq,
			.lost = end->lost,
			.lost_before = end->lost_before },
	};
	char file[208];
	int err = source_plan(src, &cut, end->serial != 0);

	if (!err)
		err = source_copy(image, src);
	for (size_t i = 0; i < src->count && !err; i++)
		err = src->packets[i].gone ? -ESTALE : 0;
	if (!err && src->count) {
		snprintf(file, sizeof(file), "%s.idx", name);
		err = image_add_file(image, STREAM, src, src->size, 0, "%s/%s", st->trace->path,
				     name);
		if (!err)
			err = image_add_file(image, INDEX, src, source_index_size(src), 0,
					     "%s/index/%s", st->trace->path, file);
	}
	return err;
}

/* Adds a file whose packets are sealed, as if they were not, and its index. */
static int add_sealed_file(struct trace_image *image, const struct stream *st,
			   const struct stream_file *of)
{
	int fd = stream_files_open(st->log, of), index_fd = fd < 0 ? fd : outfile_open(of, true);
	struct md_buf index = MD_BUF_INIT;
	struct sealed_file *f = NULL;
	int err;

	if (index_fd >= 0)
		f = sealed_file_open(fd, index_fd);
	else if (fd >= 0)
		close(fd);
	/* As in add_output_file */
	if (index_fd == -ENOENT || index_fd == -ESTALE)
		return 0;
	if (!f)
		return index_fd < 0 ? index_fd : -ENOMEM;
	err = sealed_file_index(f, of->index_size, &index);
	err = err ? err : image_add_file(image, SEALED, NULL, of->size, 0, "%s/%s", st->trace->path,
					 of->name);
	if (err) {
		md_buf_deinit(&index);
		sealed_file_close(f);
		return err == -EBADMSG ? -EIO : err;
	}
	image->contents[image->file_count - 1].sealed = f;
	return image_add_text(image, &index, 0, "%s/index/%s.idx", st->trace->path, of->name);
}

/* Adds a file of the output, or its index. */
static int add_output_file(struct trace_image *image, const struct stream *st,
			   const struct stream_file *of, bool index)
{
	int fd = index ? outfile_open(of, true) : stream_files_open(st->log, of), err;
	const struct trace *t = st->trace;

	/* The owner removed the file: it does not belong to the recording any more. */
	if (fd == -ENOENT || fd == -ESTALE)
		return 0;
	if (fd < 0)
		return fd;
	err = index ? image_add_file(image, OUTPUT, NULL, of->index_size, 0, "%s/index/%s.idx",
				     t->path, of->name)
		    : image_add_file(image, OUTPUT, NULL, of->size, 0, "%s/%s", t->path, of->name);
	if (err)
		close(fd);
	else
		image->contents[image->file_count - 1].fd = fd;
	return err;
}

static void set_times(struct trace_image *image, size_t from, uint64_t ts)
{
	for (; from < image->file_count; from++)
		image->files[from].mtime = (int64_t)(session_clock_offset(image->s) + ts);
}

/* Adds the files of a stream; with `all` also the packets that only the ring has. */
static int add_output_stream(struct trace_image *image, const struct stream *st, bool all,
		       struct ring_mark *mark)
{
	struct outend end = stream_files_end(st->log);
	struct stream_file of;
	char name[200];
	int err = 0;

	ring_mark(st, mark);
	snprintf(name, sizeof(name), end.serial ? "%s.unwritten" : "%s", st->file);
	for (uint64_t serial = stream_files_first(st->log);
	     !err && stream_files_find(st->log, serial, &of); serial = of.serial + 1) {
		if (of.serial == end.serial) {
			of.size = end.size;
			of.index_size = end.index_size;
		}
		if (of.serial <= end.serial && st->log->sealed) {
			err = add_sealed_file(image, st, &of);
		} else if (of.serial <= end.serial) {
			err = add_output_file(image, st, &of, false);
			if (!err)
				err = add_output_file(image, st, &of, true);
		}
		trace_place_put(of.place);
	}
	return !err && all && has_unwritten(mark, &end) ? add_unwritten(image, st, mark, &end, name)
							: err;
}

int image_plan_output(struct trace_image *image, const struct stream_set *set, bool flushed)
{
	uint64_t newest = 0;
	size_t first = 0;
	int err = 0;

	image->max_ts = clock_now(session_clock(image->s)) + 1000000000;  /* as in merge_look */
	image->sources = calloc(set->count + 1, sizeof(*image->sources));
	if (!image->sources)
		return -ENOMEM;
	for (size_t i = 0; i < set->count && !err; i++) {
		const struct stream *st = &set->streams[i];
		struct ring_mark mark;

		err = add_output_stream(image, st, !flushed, &mark);
		newest = mark.last_ts > newest ? mark.last_ts : newest;
		if (err || (i + 1 < set->count && set->streams[i + 1].trace == st->trace))
			continue;
		err = image_add_metadata(image, st->trace, newest);
		set_times(image, first, newest);
		first = image->file_count;
		newest = 0;
	}
	return err ? err : image_complete(image);
}

int image_plan_import(struct trace_image *image, const struct foreign *im)
{
	int err = 0;

	for (size_t i = 0; i < im->file_count && !err; i++) {
		const struct import_file *f = &im->files[i];
		int fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);

		err = fd < 0 ? -errno
			     : image_add_file(image, OUTPUT, NULL, f->size, 0, "%s%s", f->path, "");
		if (err) {
			if (fd >= 0)
				close(fd);
			break;
		}
		image->contents[image->file_count - 1].fd = fd;
		image->files[image->file_count - 1].mtime =
			(int64_t)f->changed.tv_sec * 1000000000 + f->changed.tv_nsec;
	}
	return err ? err : image_sort_files(image);
}
