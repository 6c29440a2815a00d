/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace as its process describes it to the daemon: bytes. Private to foreign/. */
#ifndef TRACER_FOREIGN_MODEL_H
#define TRACER_FOREIGN_MODEL_H

#include "tracer/base/pack.h"
#include "tracer/format/import/import.h"

#define MODEL_MEMORY_MAX (UINT64_C(512) << 20)  /* bytes that a model may take in the daemon */

struct model_trace { struct md_trace *md; char *path; bool kernel; };

struct model_stream {
	uint32_t trace, class;  /* numbers, in the model and in the trace */
	uint32_t file;          /* in the list of files */
	uint32_t cpu;
	uint64_t instance;
	bool packets, losses;   /* the input has these functions */
};

struct model {
	char *format, *notes;
	uint64_t used;          /* bytes of its types, as the process says */
	struct model_trace *traces;
	uint32_t trace_count;
	struct model_stream *streams;
	uint32_t stream_count;
};

void model_pack(const struct import *im, struct md_buf *out);
/*
 * All numbers are checked against each other, and against file_count. 0; -EBADMSG: they are not a
 * model; -ENOMEM. The caller calls model_deinit in all cases; a trace whose md it has taken is NULL
 * there.
 */
int model_unpack(struct model *m, const void *bytes, size_t n, size_t file_count);
void model_deinit(struct model *m);

#endif
