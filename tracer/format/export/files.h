/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a directory below export/, which a form makes at once. Their bytes are pieces of one
 * memory file in the order in which the form ended them.
 */
#ifndef TRACER_EXPORT_FILES_H
#define TRACER_EXPORT_FILES_H

#include <sys/types.h>

#include "tracer/format/export/export.h"

struct export_file {
	char path[96];
	uint64_t size;
	uint64_t unit;          /* bytes of each piece but the last */
	uint64_t *pieces;       /* places in the file; owned */
	size_t count;
	struct md_buf block;    /* of the form: what is no piece yet */
	uint64_t begin, last;   /* of the form: times of the events in it */
};

struct export_files {
	struct session *s;      /* referenced */
	struct memory_file file;        /* counts as frozen memory of the session */
	struct export_file **files;     /* owned */
	size_t count;
};

/* ---- for forms ---- */

/* NULL: no memory, in m->err. */
struct export_file *export_file_add(struct maker *m, struct export_files *l, const char *path,
				    uint64_t unit);
/* What was appended to m->out since `begin` is the file's next piece. */
void export_file_piece(struct maker *m, struct export_file *f, size_t begin);
/*
 * Opens a directory: begins m, sets *list, calls make() and ends m. Both may be members of *arg.
 * 0, and the files in *out; or -errno.
 */
int export_files_make(struct session *s, struct maker *m, struct export_files **list,
		      void (*make)(void *arg, const struct stream_set *held), void *arg,
		      struct export_files **out);

/* ---- for readers, after export_files_make ---- */

void export_files_close(struct export_files *l);        /* NULL is allowed */
/* The path and size of file i, or NULL after the last; in the order of paths. */
const char *export_files_path(const struct export_files *l, size_t i, uint64_t *size);
ssize_t export_files_read(const struct export_files *l, size_t i, uint64_t offset, void *buf,
			  size_t size);

#endif
