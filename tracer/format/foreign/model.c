/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/foreign/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_BYTES 60u         /* the least that a trace takes */
#define STREAM_BYTES 25u

static uint32_t class_number(const struct md_trace *t, const struct md_stream *class)
{
	uint32_t i = 0;

	while (i < t->stream_count && t->streams[i] != class)
		i++;
	return i;
}

void model_pack(const struct import *im, struct md_buf *out)
{
	struct md_buf notes = MD_BUF_INIT;

	md_pack_string(out, im->format, true);
	md_buf_put(&notes, im->notes.data, im->notes.len);
	md_pack_string(out, md_buf_str(&notes), true);
	md_buf_deinit(&notes);
	md_pack_number(out, im->used, 8);
	md_pack_number(out, im->trace_count, 4);
	for (size_t i = 0; i < im->trace_count; i++) {
		md_pack_string(out, im->traces[i]->path, true);
		md_pack_number(out, im->traces[i]->kernel, 1);
		md_pack_trace(out, im->traces[i]->md);
	}
	md_pack_number(out, im->stream_count, 4);
	for (size_t i = 0; i < im->stream_count; i++) {
		const struct import_stream *s = &im->streams[i];

		md_pack_number(out, s->trace->number, 4);
		md_pack_number(out, class_number(s->trace->md, s->class), 4);
		md_pack_number(out, (uint64_t)(s->file - im->files), 4);
		md_pack_number(out, s->cpu, 4);
		md_pack_number(out, s->instance, 8);
		md_pack_number(out, (s->in->packets != NULL) | (s->in->losses != NULL) << 1, 1);
	}
}

static void *get_list(struct md_unpack *in, uint32_t *count, size_t bytes, size_t size)
{
	void *list;

	*count = (uint32_t)md_unpack_number(in, 4);
	if (in->bad || (size_t)(in->end - in->p) / bytes < *count) {
		in->bad = true;
		*count = 0;
		return NULL;
	}
	list = calloc((size_t)*count + 1, size);
	if (!list) {
		in->no_memory = true;
		*count = 0;
	}
	return list;
}

static void get_stream(struct md_unpack *in, const struct model *m, struct model_stream *s,
		       size_t file_count)
{
	unsigned int flags;

	s->trace = (uint32_t)md_unpack_number(in, 4);
	s->class = (uint32_t)md_unpack_number(in, 4);
	s->file = (uint32_t)md_unpack_number(in, 4);
	s->cpu = (uint32_t)md_unpack_number(in, 4);
	s->instance = md_unpack_number(in, 8);
	flags = (unsigned int)md_unpack_number(in, 1);
	s->packets = flags & 1;
	s->losses = flags & 2;
	if (in->bad || s->trace >= m->trace_count || s->file >= file_count)
		in->bad = true;
	/* Inputs return events with the long header of this kind. */
	else if (s->class >= m->traces[s->trace].md->stream_count ||
		 m->traces[s->trace].md->streams[s->class]->header != MD_HEADER_LARGE)
		in->bad = true;
}

/* Control characters of a hostile text could be commands to a terminal. */
static void clean_text(char *s)
{
	for (; s && *s; s++)
		if ((unsigned char)*s < ' ' && *s != '\n' && *s != '\t')
			*s = '?';
}

int model_unpack(struct model *m, const void *bytes, size_t n, size_t file_count)
{
	struct md_unpack in = { .p = bytes, .whole = true, .room = MODEL_MEMORY_MAX };

	*m = (struct model){ 0 };
	in.end = in.p + n;
	m->format = md_unpack_string(&in);
	m->notes = md_unpack_string(&in);
	clean_text(m->format);
	clean_text(m->notes);
	m->used = md_unpack_number(&in, 8);
	m->traces = get_list(&in, &m->trace_count, TRACE_BYTES, sizeof(*m->traces));
	for (uint32_t i = 0; i < m->trace_count && !in.bad && !in.no_memory; i++) {
		m->traces[i].path = md_unpack_string(&in);
		m->traces[i].kernel = md_unpack_number(&in, 1) != 0;
		m->traces[i].md = md_unpack_trace(&in);
		in.bad |= !m->traces[i].path;
	}
	if (!in.bad && !in.no_memory)
		m->streams = get_list(&in, &m->stream_count, STREAM_BYTES, sizeof(*m->streams));
	for (uint32_t i = 0; i < m->stream_count && !in.bad; i++)
		get_stream(&in, m, &m->streams[i], file_count);
	if (in.no_memory)
		return -ENOMEM;
	return in.bad || in.p != in.end || !m->format || !m->notes || !m->trace_count ? -EBADMSG
										      : 0;
}

void model_deinit(struct model *m)
{
	for (uint32_t i = 0; i < m->trace_count; i++) {
		free(m->traces[i].path);
		md_trace_destroy(m->traces[i].md);
	}
	free(m->traces);
	free(m->streams);
	free(m->format);
	free(m->notes);
	*m = (struct model){ 0 };
}
