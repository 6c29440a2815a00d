/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of files of a trace image: adds and sorts them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/session/session.h"
#include "tracer/output/snapshot/image.h"

bool image_reserve_file(struct trace_image *m)
{
	size_t n = m->file_room ? 2 * m->file_room : 16;

	if (m->file_count < m->file_room)
		return true;
	if (!array_extend(m->files, m->file_room, n) || !array_extend(m->contents, m->file_room, n))
		return false;
	m->file_room = n;
	return true;
}

int image_add_file(struct trace_image *m, enum kind kind, struct source *src, uint64_t size,
		    uint64_t ts, const char *fmt, const char *dir, const char *name)
{
	struct image_file *f = image_reserve_file(m) ? &m->files[m->file_count] : NULL;
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
	f->mtime = (int64_t)(session_clock_offset(m->s) + ts);
	m->contents[m->file_count].kind = kind;
	m->contents[m->file_count].source = src;
	m->file_count++;
	return 0;
}

int image_add_text(struct trace_image *m, struct md_buf *text, uint64_t ts, const char *fmt,
		   const char *dir, const char *name)
{
	int err = text->failed ? -ENOMEM : session_frozen(m->s, (int64_t)text->len);

	if (err) {
		md_buf_deinit(text);
		return err;
	}
	m->frozen += (int64_t)text->len;
	err = image_add_file(m, TEXT, NULL, text->len, ts, fmt, dir, name);
	if (err)
		md_buf_deinit(text);
	else
		m->contents[m->file_count - 1].text = *text;
	return err;
}

int image_add_metadata(struct trace_image *m, struct trace *t, uint64_t ts)
{
	struct md_buf text = MD_BUF_INIT;
	struct md_trace md;
	int err;

	pthread_mutex_lock(&t->lock);
	md = *t->md;
	image_uuid(m, t, md.uuid);
	err = md_metadata_print(&md, false, &text);
	pthread_mutex_unlock(&t->lock);
	if (err) {
		md_buf_deinit(&text);
		return err;
	}
	return image_add_text(m, &text, ts, "%s/%s", t->path, "metadata");
}

/* Whether the trace's directory has the file, but not one of its directories. */
static bool has_file(const struct trace *t, const char *path)
{
	size_t len = strlen(t->path);

	return !strncmp(t->path, path, len) && path[len] == '/' && !strchr(path + len + 1, '/');
}

struct trace *image_trace(const struct trace_image *m, size_t i)
{
	const char *path = m->files[i].path;
	struct trace *t;

	for (size_t k = 0; k < m->source_count; k++)
		if (has_file(m->sources[k].stream.trace, path))
			return trace_get(m->sources[k].stream.trace);
	pthread_mutex_lock(&m->s->tracer->lock);
	for (t = m->s->traces; t && !has_file(t, path);)
		t = t->next;
	if (t)
		trace_get(t);
	pthread_mutex_unlock(&m->s->tracer->lock);
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

int image_sort_files(struct trace_image *m)
{
	struct row *rows = calloc(m->file_count + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < m->file_count; i++) {
		rows[i].file = m->files[i];
		rows[i].content = m->contents[i];
	}
	qsort(rows, m->file_count, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < m->file_count; i++) {
		m->files[i] = rows[i].file;
		m->contents[i] = rows[i].content;
	}
	free(rows);
	return 0;
}

/* Adds the metadata of all traces of the session, which have no streams yet. */
static int add_empty_traces(struct trace_image *m)
{
	struct tracer *tracer = m->s->tracer;
	struct trace *t, **traces;
	size_t n = 0;
	int err = 0;

	pthread_mutex_lock(&tracer->lock);
	for (t = m->s->traces; t; t = t->next)
		n++;
	traces = calloc(n + 1, sizeof(struct trace *));
	for (t = traces ? m->s->traces : NULL, n = 0; t; t = t->next)
		traces[n++] = trace_get(t);
	pthread_mutex_unlock(&tracer->lock);
	if (!traces)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!err)
			err = image_add_metadata(m, traces[i], 0);
		if (!err)
			m->files[m->file_count - 1].mtime = m->s->created;
		trace_put(traces[i]);
	}
	free(traces);
	return err;
}

int image_complete(struct trace_image *m)
{
	bool nothing = !m->file_count && !m->s->tracer->only_unwritten;
	int err = nothing ? add_empty_traces(m) : 0;

	return err ? err : image_sort_files(m);
}

int image_add_files(struct trace_image *m)
{
	uint64_t newest = 0;
	int err = 0;

	for (size_t i = 0; i < m->source_count && !err; i++) {
		struct source *src = &m->sources[i];
		struct trace *t = src->stream.trace;
		uint64_t ts = src->packets[src->count - 1].header.timestamp_end;

		err = image_add_file(m, STREAM, src, src->size, ts, "%s/%s", t->path,
				     src->stream.file);
		if (!err)
			err = image_add_file(m, INDEX, src, source_index_size(src), ts,
					     "%s/index/%s.idx", t->path, src->stream.file);
		newest = ts > newest ? ts : newest;
		if (!err && (i + 1 == m->source_count || m->sources[i + 1].stream.trace != t)) {
			err = image_add_metadata(m, t, newest);
			newest = 0;
		}
	}
	return err ? err : image_complete(m);
}
