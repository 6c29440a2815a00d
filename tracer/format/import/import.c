/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/import/import.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"

/* The sentence of this thread, and whether a caller of import_reported has seen it. */
static __thread struct { char text[320]; bool seen; } reported;

void import_report(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reported.text, sizeof(reported.text), fmt, ap);
	va_end(ap);
	reported.seen = false;
}

const char *import_reported(void)
{
	if (reported.seen)
		reported.text[0] = 0;
	reported.seen = true;
	return reported.text;
}

int import_fail(const struct import *im, struct tr_err *err, const struct import_file *f,
		uint64_t offset, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	(void)im;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (err)
		return tr_fail(err, -EINVAL, "%s: offset %llu: %s", f->path,
			       (unsigned long long)offset, text);
	import_report("%s: offset %llu: %s", f->path, (unsigned long long)offset, text);
	return -EINVAL;
}

int import_own(struct import *im, void *p, void (*free_it)(void *p))
{
	if (!array_double(im->owned, im->owned_count)) {
		free_it(p);
		return -ENOMEM;
	}
	im->owned[im->owned_count++] = (struct owned){ p, free_it };
	return 0;
}

struct import_trace *import_add_trace(struct import *im, struct md_trace *md, const char *path,
				      bool kernel)
{
	struct import_trace *t = calloc(1, sizeof(*t));

	if (!t || !array_double(im->traces, im->trace_count)) {
		free(t);
		md_trace_destroy(md);
		return NULL;
	}
	t->md = md;
	t->kernel = kernel;
	t->number = (uint32_t)im->trace_count;
	snprintf(t->path, sizeof(t->path), "%s", path);
	im->traces[im->trace_count++] = t;
	return t;
}

const char *import_file_name(const struct import_file *f)
{
	const char *slash = strrchr(f->path, '/');

	return slash ? slash + 1 : f->path;
}

int import_add_stream(struct import *im, const struct import_trace *t,
		      const struct md_stream *class, uint64_t instance, uint32_t cpu,
		      const struct import_file *file, const struct input *in)
{
	if (!array_double(im->streams, im->stream_count))
		return -ENOMEM;
	im->streams[im->stream_count++] =
		(struct import_stream){ t, class, instance, cpu, file, in };
	return 0;
}

void import_put_header(struct md_buf *out, uint32_t id, uint64_t ts)
{
	struct __attribute__((packed)) {
		uint16_t extended;
		uint32_t id;
		uint64_t ts;
	} header = { 65535, id, ts };

	md_buf_put(out, &header, sizeof(header));
}

void import_deinit(struct import *im)
{
	/* Models first: what reads them is freed with what is owned. */
	for (size_t i = 0; i < im->trace_count; i++) {
		md_trace_destroy(im->traces[i]->md);
		free(im->traces[i]);
	}
	while (im->owned_count)
		im->owned_count--, im->owned[im->owned_count].free(im->owned[im->owned_count].p);
	free(im->owned);
	free(im->traces);
	free(im->streams);
	md_buf_deinit(&im->notes);
}
