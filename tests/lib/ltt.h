/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces of LTT in files: prints them as `text` does. */
#ifndef TESTS_LIB_LTT_H
#define TESTS_LIB_LTT_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "metadata/decode.h"
#include "metadata/text.h"
#include "tracer/format/import/ltt.h"

#define LTT_FILES 4096

struct ltt_files {
	struct ltt_file list[LTT_FILES];
	size_t count;
};

static inline void ltt_add_file(struct ltt_files *f, const char *path, int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || f->count == LTT_FILES)
		abort();
	f->list[f->count++] = (struct ltt_file){ strdup(path), fd, (uint64_t)st.st_size };
}

static inline void ltt_close_files(struct ltt_files *f)
{
	while (f->count--) {
		close(f->list[f->count].fd);
		free((char *)f->list[f->count].path);
	}
	f->count = 0;
}

struct ltt_reader {
	const struct ltt_stream *s;
	struct ltt_place at;
	struct md_buf bytes;
	struct md_decoder d;
	struct md_occurrence o;
	uint64_t last;          /* time of the last event */
	bool have;
};

/* Moves to the next event. 0 or -errno; -EBADMSG: the reader's fault. */
static inline int ltt_step(const struct ltt_trace *t, struct ltt_reader *r, struct tr_err *err)
{
	int ret = 1;

	if (r->d.p == r->d.end) {
		md_buf_reset(&r->bytes);
		ret = ltt_read(t, r->s, &r->at, 10000, &r->bytes, err);
		r->d.p = (const uint8_t *)r->bytes.data;
		r->d.end = r->d.p + r->bytes.len;
		r->d.stream = r->s->class;
	}
	if (ret > 0)
		ret = md_decoder_next(&r->d, &r->o);
	r->have = ret == 1;
	if (r->have && r->o.ts < r->last)
		return -EBADMSG;
	r->last = r->have ? r->o.ts : r->last;
	return ret < 0 ? ret : 0;
}

/* Appends the text of all events. 0 or -errno. */
static inline int ltt_print(const struct ltt_trace *t, struct md_buf *out, struct tr_err *err)
{
	const struct ltt_stream *streams;
	size_t n = ltt_streams(t, &streams);
	struct ltt_reader *r = calloc(n + 1, sizeof(*r)), *first;
	const struct md_trace *md = ltt_model(t);
	struct md_text text;
	int ret = 0;

	md_text_init(&text, 0, "");
	for (uint32_t i = 0; i < md->env_count; i++)
		if (!strcmp(md->env[i].name, "hostname"))
			md_text_hostname(&text, md->env[i].value);
	for (size_t i = 0; i < n && !ret; i++) {
		r[i].s = &streams[i];
		ret = ltt_step(t, &r[i], err);
	}
	while (!ret) {
		first = NULL;
		for (size_t i = 0; i < n; i++)
			if (r[i].have && (!first || r[i].o.ts < first->o.ts))
				first = &r[i];
		if (!first)
			break;
		md_text_event(&text, &first->o, first->s->class, first->s->cpu, out);
		ret = ltt_step(t, first, err);
	}
	for (size_t i = 0; i < n; i++)
		md_buf_deinit(&r[i].bytes);
	free(r);
	return ret;
}

#endif
