/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of files of a trace image: adds and sorts them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/session/session.h"
#include "tracer/output/output.h"
#include "tracer/output/snapshot/image.h"

bool image_reserve_file(struct trace_image *image)
{
	size_t n = image->file_room ? 2 * image->file_room : 16;

	if (image->file_count < image->file_room)
		return true;
	if (!array_extend(image->files, image->file_room, n) ||
	    !array_extend(image->contents, image->file_room, n))
		return false;
	image->file_room = n;
	return true;
}

int image_add_file(struct trace_image *image, enum kind kind, struct image_source *src,
		   uint64_t size, uint64_t ts, const char *fmt, const char *dir, const char *name)
{
	struct image_file *f = image_reserve_file(image) ? &image->files[image->file_count] : NULL;
	struct md_buf path = MD_BUF_INIT;

	if (!f)
		return -ENOMEM;

	md_buf_printf(&path, fmt, dir, name);
	md_buf_str(&path);
	if (path.failed) {
		md_buf_deinit(&path);
		return -ENOMEM;
	}
	f->path = path.data;
	f->size = size;
	f->mtime = (int64_t)(session_clock_offset(image->s) + ts);
	image->contents[image->file_count].kind = kind;
	image->contents[image->file_count].source = src;
	image->file_count++;
	return 0;
}

int image_add_text(struct trace_image *image, struct md_buf *text, uint64_t ts, const char *fmt,
		   const char *dir, const char *name)
{
	int err = text->failed ? -ENOMEM : session_frozen(image->s, (int64_t)text->len);

	if (err) {
		md_buf_deinit(text);
		return err;
	}
	image->frozen += (int64_t)text->len;
	err = image_add_file(image, TEXT, NULL, text->len, ts, fmt, dir, name);
	if (err)
		md_buf_deinit(text);
	else
		image->contents[image->file_count - 1].text = *text;
	return err;
}

int image_add_metadata(struct trace_image *image, struct trace *t, uint64_t ts)
{
	struct md_buf text = MD_BUF_INIT;
	struct md_trace md;
	int err;

	pthread_mutex_lock(&t->lock);
	md = *t->md;
	image_uuid(image, t, md.uuid);
	err = md_metadata_print(&md, false, &text);
	pthread_mutex_unlock(&t->lock);
	if (err) {
		md_buf_deinit(&text);
		return err;
	}
	return image_add_text(image, &text, ts, "%s/%s", t->path, "metadata");
}

/* Whether the trace's directory has the file, but not one of its directories. */
static bool has_file(const struct trace *t, const char *path)
{
	size_t len = strlen(t->path);

	return !strncmp(t->path, path, len) && path[len] == '/' && !strchr(path + len + 1, '/');
}

struct trace *image_trace(const struct trace_image *image, size_t i)
{
	const char *path = image->files[i].path;
	struct trace *t;

	for (size_t k = 0; k < image->source_count; k++)
		if (has_file(image->sources[k].stream.trace, path))
			return trace_get(image->sources[k].stream.trace);
	pthread_mutex_lock(&image->s->tracer->lock);
	for (t = image->s->traces; t && !has_file(t, path);)
		t = t->next;
	if (t)
		trace_get(t);
	pthread_mutex_unlock(&image->s->tracer->lock);
	return t;
}

struct row {
	struct image_file file;
	struct content content;
};

static int compare_rows(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->file.path, ((const struct row *)b)->file.path);
}

int image_sort_files(struct trace_image *image)
{
	struct row *rows = calloc(image->file_count + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < image->file_count; i++) {
		rows[i].file = image->files[i];
		rows[i].content = image->contents[i];
	}
	qsort(rows, image->file_count, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < image->file_count; i++) {
		image->files[i] = rows[i].file;
		image->contents[i] = rows[i].content;
	}
	free(rows);
	return 0;
}

/* Adds the metadata of all traces of the session, which have no streams yet. */
static int add_empty_traces(struct trace_image *image)
{
	struct tracer *tracer = image->s->tracer;
	struct trace *t, **traces;
	size_t n = 0;
	int err = 0;

	pthread_mutex_lock(&tracer->lock);
	for (t = image->s->traces; t; t = t->next)
		n++;
	traces = calloc(n + 1, sizeof(struct trace *));
	for (t = traces ? image->s->traces : NULL, n = 0; t; t = t->next)
		traces[n++] = trace_get(t);
	pthread_mutex_unlock(&tracer->lock);
	if (!traces)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!err)
			err = image_add_metadata(image, traces[i], 0);
		if (!err)
			image->files[image->file_count - 1].mtime = image->s->created;
		trace_put(traces[i]);
	}
	free(traces);
	return err;
}

int image_complete(struct trace_image *image)
{
	bool nothing = !image->file_count && !output_data(image->s->tracer)->only_unwritten;
	int err = nothing ? add_empty_traces(image) : 0;

	return err ? err : image_sort_files(image);
}

int image_add_files(struct trace_image *image)
{
	uint64_t newest = 0;
	int err = 0;

	for (size_t i = 0; i < image->source_count && !err; i++) {
		struct image_source *src = &image->sources[i];
		struct trace *t = src->stream.trace;
		uint64_t ts = src->packets[src->count - 1].header.timestamp_end;

		err = image_add_file(image, STREAM, src, src->size, ts, "%s/%s", t->path,
				     src->stream.file);
		if (!err)
			err = image_add_file(image, INDEX, src, source_index_size(src), ts,
					     "%s/index/%s.idx", t->path, src->stream.file);
		newest = ts > newest ? ts : newest;
		if (!err &&
		    (i + 1 == image->source_count || image->sources[i + 1].stream.trace != t)) {
			err = image_add_metadata(image, t, newest);
			newest = 0;
		}
	}
	return err ? err : image_complete(image);
}
