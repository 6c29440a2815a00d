/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format LTT 0.x of imports: traces are directories with eventdefs/ and control/. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/format/import/import.h"
#include "tracer/format/import/ltt.h"

struct source;

struct ltt_input {
	struct input in;
	const struct source *source;
	const struct ltt_stream *stream;
};

/* A trace of the import. */
struct source {
	const struct import *im;
	const struct import_file *first;        /* of the import's files that are the trace's */
	struct ltt_file *files; /* the same ones */
	struct ltt_trace *trace;
	struct ltt_input *inputs;
	char dir[1024];         /* below the input: "" or "a/b/" */
};

static void free_source(void *p)
{
	struct source *s = p;

	ltt_close(s->trace);
	free(s->inputs);
	free(s->files);
	free(s);
}

/* As input.read. */
static int read_events(const struct input *in, struct input_place *at, size_t want,
		       struct md_buf *out, uint32_t *cpu)
{
	const struct ltt_input *i = (const struct ltt_input *)in;
	const struct source *s = i->source;
	struct ltt_place place = { at->packet, at->within, at->clock };
	struct tr_err err = TR_ERR_INIT;
	size_t before = out->len;
	int changed, ret = ltt_read(s->trace, i->stream, &place, want, out, &err);

	*cpu = i->stream->cpu;
	/* A file that was changed has other mistakes than those that the reader found. */
	changed = import_read(s->im, NULL, &s->first[i->stream->file - s->files], at->packet, NULL,
			      0);
	if (changed) {
		out->len = before;
		return changed;
	}
	if (ret < 0 && ret != -ENOMEM)
		import_report("%s%s", s->dir, err.sentence);
	if (ret > 0)
		*at = (struct input_place){ place.block, place.within, place.cycles };
	return ret;
}

static int add_streams(struct import *im, struct source *s, struct import_trace *t)
{
	const struct ltt_stream *streams;
	size_t n = ltt_streams(s->trace, &streams);

	s->inputs = calloc(n + 1, sizeof(*s->inputs));
	if (!s->inputs)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		s->inputs[i] = (struct ltt_input){ { .read = read_events }, s,
							  &streams[i] };
		if (import_add_stream(im, t, streams[i].class, i, streams[i].cpu,
				      &s->first[streams[i].file - s->files], &s->inputs[i].in))
			return -ENOMEM;
	}
	return 0;
}

/* Opens the trace of these files, whose paths begin with dir. */
static int open_source(struct import *im, size_t first, size_t count, const char *dir,
		       struct tr_err *err)
{
	struct source *s = calloc(1, sizeof(*s));
	struct ltt_file *files = calloc(count, sizeof(*files));
	struct tr_err why = TR_ERR_INIT;
	struct import_trace *t;
	char path[1024];
	int ret;

	if (!s || !files) {
		free(s);
		free(files);
		return tr_fail(err, -ENOMEM, "out of memory");
	}
	s->im = im;
	s->files = files;
	s->first = &im->files[first];
	snprintf(s->dir, sizeof(s->dir), "%s", dir);
	for (size_t i = 0; i < count; i++)
		files[i] = (struct ltt_file){ s->first[i].path + strlen(dir), s->first[i].fd,
					      s->first[i].size };
	if (import_own(im, s, free_source))
		return tr_fail(err, -ENOMEM, "out of memory");
	ret = ltt_open(files, count, &s->trace, &why);
	if (ret)
		return tr_fail(err, ret, "%s%s", ret == -ENOMEM ? "" : dir, why.sentence);
	ltt_describe(s->trace, &im->notes);
	snprintf(path, sizeof(path), "%.*s", *dir ? (int)strlen(dir) - 1 : 0, dir);
	t = import_add_trace(im, ltt_take_model(s->trace), path, false);
	return t && !add_streams(im, s, t) ? 0 : tr_fail(err, -ENOMEM, "out of memory");
}

/* The length of DIR/ in "DIR/control/FILE"; -1: the path is another one. */
static int length_of_dir(const char *path)
{
	static const char control[] = "control/";
	const char *dir = strrchr(path, '/');

	if (!dir || dir + 1 - path < (int)strlen(control))
		return -1;
	dir -= strlen(control) - 1;
	if (strncmp(dir, control, strlen(control)) || (dir > path && dir[-1] != '/'))
		return -1;
	return (int)(dir - path);
}

/* Opens the trace that has this file in control/, if it is the first one there. */
static int open_with(struct import *im, size_t file, int n, struct tr_err *err)
{
	const struct import_file *files = im->files;
	size_t first = file, end = file;
	bool defined = false;
	char dir[1024];

	/* Sorted: the files below a directory are one after the other. */
	snprintf(dir, sizeof(dir), "%.*s", n, files[file].path);
	while (first && !strncmp(files[first - 1].path, dir, (size_t)n))
		if (length_of_dir(files[--first].path) == n)
			return 0;
	while (end < im->file_count && !strncmp(files[end].path, dir, (size_t)n))
		defined |= !strncmp(files[end++].path + n, "eventdefs/", 10);
	return defined ? open_source(im, first, end - first, dir, err) : 0;
}

static int open_traces(struct import *im, struct tr_err *err)
{
	int ret = 0;

	for (size_t i = 0; i < im->file_count && !ret; i++) {
		int n = length_of_dir(im->files[i].path);

		if (n >= 0)
			ret = open_with(im, i, n, err);
	}
	return ret;
}

const struct import_format ltt_format = { "LTT 0.x", open_traces };
