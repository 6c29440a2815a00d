// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/format/export/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/session/session.h"

struct export_file *export_file_add(struct maker *m, struct export_files *l, const char *path,
				    uint64_t unit)
{
	struct export_file *f = array_room(l->files, l->count + 1) ? calloc(1, sizeof(*f)) : NULL;

	if (!f) {
		m->err = -ENOMEM;
		return NULL;
	}
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->unit = unit;
	l->files[l->count++] = f;
	return f;
}

void export_file_piece(struct maker *m, struct export_file *f, size_t begin)
{
	if (!array_double(f->pieces, f->count)) {
		m->err = -ENOMEM;
		return;
	}
	f->pieces[f->count++] = m->file.size + begin;
	f->size += m->out.len - begin;
}

static int compare_files(const void *a, const void *b)
{
	return strcmp((*(struct export_file *const *)a)->path,
		      (*(struct export_file *const *)b)->path);
}

int export_files_make(struct session *s, struct maker *m, struct export_files **list,
		      void (*make)(void *arg, const struct stream_set *held), void *arg,
		      struct export_files **out)
{
	struct export_files *l = calloc(1, sizeof(*l));
	struct stream_set held;

	if (!l)
		return -ENOMEM;
	*list = l;
	maker_begin(m, &held, s);
	if (!m->err)
		make(arg, &held);
	maker_end(m, &held);
	*l = (struct export_files){ m->s, m->file, l->files, l->count };
	for (size_t i = 0; i < l->count; i++)
		md_buf_deinit(&l->files[i]->block);
	if (m->err) {
		export_files_close(l);
		return m->err;
	}
	if (l->count)
		qsort(l->files, l->count, sizeof(struct export_file *), compare_files);
	*out = l;
	return 0;
}

void export_files_close(struct export_files *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->count; i++) {
		free(l->files[i]->pieces);
		free(l->files[i]);
	}
	free(l->files);
	session_frozen(l->s, -(int64_t)l->file.size);
	memory_file_deinit(&l->file);
	session_put(l->s);
	free(l);
}

const char *export_files_path(const struct export_files *l, size_t i, uint64_t *size)
{
	if (i >= l->count)
		return NULL;
	*size = l->files[i]->size;
	return l->files[i]->path;
}

ssize_t export_files_read(const struct export_files *l, size_t i, uint64_t offset, void *buf,
			  size_t size)
{
	const struct export_file *f = l->files[i];
	size_t done = 0;

	if (offset >= f->size)
		return 0;
	size = size < f->size - offset ? size : (size_t)(f->size - offset);
	while (done < size) {
		uint64_t at = offset % f->unit, rest = f->unit - at;
		size_t n = memory_file_read(&l->file, f->pieces[offset / f->unit] + at,
					    (char *)buf + done,
					    rest < size - done ? (size_t)rest : size - done);

		if (!n)
			break;
		done += n;
		offset += n;
	}
	return (ssize_t)done;
}
