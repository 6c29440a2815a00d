/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The format LKET of imports: a trace is the files stpd_cpuN of one directory.
 * tracer/format/export/lket.h has the layout. The events of group 1 at the begin of each file say
 * what other events are called, and which fields they have (lket_describe.c); others are not valid.
 *
 * A place (struct input_place) is the offset of an event in its file, and the time of the event
 * before, in ns. What a file has after its last whole event is not read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "metadata/number.h"
#include "tracer/abi/wide.h"
#include "tracer/base/hash.h"
#include "tracer/format/import/layout.h"
#include "tracer/format/import/lket.h"

#define MAGIC 0xAEFCDB6Bu
#define HEADER 15u              /* bytes that are known of the header of a file */
#define SIZES 4u                /* bytes of total_size and sys_size */
#define COMMON 24u              /* bytes of the common data */
#define PIECE (64u << 10)       /* greater than an event */

enum { TIMING_CYCLES = 1, TIMING_USEC = 2, TIMING_NSEC = 3 };

static uint64_t get(const struct lket_file *f, const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)p[i] << 8 * (f->big_endian ? n - 1 - i : i);
	return v;
}

int lket_split(const struct lket_file *f, const uint8_t *p, size_t n, struct lket_event *e)
{
	size_t total, system;

	if (n < SIZES)
		return 0;
	total = get(f, p, 2);
	system = get(f, p + 2, 2);
	if (total > INT16_MAX || total < system || system < COMMON)
		return -1;
	if (n < SIZES + total)
		return 0;
	p += SIZES;
	*e = (struct lket_event){ get(f, p, 8), get(f, p + 8, 8), get(f, p + 16, 8), p + COMMON,
				  p + system, p + total };
	return (int)(SIZES + total);
}

/* ---- reading ---- */

/* ns; TIMING_CYCLES: the timebase is in kHz. */
static uint64_t time_of(const struct lket_file *f, uint64_t time)
{
	uint64_t ns = time;

	if (f->timing == TIMING_USEC)
		ns = multiply_divide(time, 1000, 1);
	else if (f->timing == TIMING_CYCLES)
		ns = multiply_divide(time, 1000000, f->timebase ? f->timebase : 1);
	return ns > INT64_MAX ? UINT64_MAX : ns;
}

/* A field of an event; moves *p after it. False: it ends after `end`. */
static bool put_field(const struct lket_file *f, const struct md_type *t, const uint8_t **p,
		      const uint8_t *end, struct md_buf *out)
{
	const uint8_t *begin = *p;
	uint64_t v;

	if (t->kind == MD_STRING) {
		if (!lket_string(p, end))
			return false;
		md_buf_put(out, begin, (size_t)(*p - begin));
		return true;
	}
	if (end - begin < t->size)
		return false;
	v = get(f, begin, t->size);
	md_buf_put(out, (const uint8_t *)&v + md_low_bytes(sizeof(v), t->size), t->size);
	*p += t->size;
	return true;
}

/* What is wrong with the event; NULL: it was appended. *last: the time of the event before. */
static const char *put_event(const struct lket_file *f, const struct lket_event *e, uint64_t *last,
			     struct md_buf *out)
{
	const struct lket_class *k = lket_find_kind(f->t, lket_group(e), lket_hook(e));
	uint64_t ns = time_of(f, e->time);
	uint32_t contexts[3] = { (uint32_t)(e->thread >> 32), (uint32_t)e->thread,
				 (uint32_t)(e->rest >> 32) };
	const uint8_t *p = e->data;

	if (!k || !k->event)
		return "no event describes the group and hook of this one";
	if (ns < *last || ns > INT64_MAX)
		return "the event is earlier than the one before it, or after 2262";
	*last = ns;
	import_put_header(out, k->event->id, ns);
	md_buf_put(out, contexts, sizeof(contexts));
	for (uint32_t i = 0; i < k->event->field_count; i++) {
		if (i == k->system)
			p = e->system_end;
		if (!put_field(f, &k->event->fields[i].type, &p,
			       i < k->system ? e->system_end : e->end, out))
			return "the event is shorter than its fields";
	}
	return NULL;
}

/* Appends the events of a piece. Returns the bytes taken, or -errno, if there is none before. */
static ssize_t put_events(const struct lket_file *f, uint64_t offset, const uint8_t *data, size_t n,
			  uint64_t *last, struct md_buf *out)
{
	size_t at = 0, before = out->len;

	for (;;) {
		size_t len = out->len;
		const char *why = "expected sizes of an event";
		struct lket_event e;
		int size = lket_split(f, data + at, n - at, &e);

		if (!size)
			return (ssize_t)at;
		if (size > 0)
			why = lket_group(&e) == LKET_DESCRIBES ? NULL : put_event(f, &e, last, out);
		if (why) {
			out->len = len;
			return len > before ? (ssize_t)at
					    : import_fail(f->t->im, NULL, f->file, offset + at,
							  "%s", why);
		}
		at += (size_t)size;
	}
}

/* As input.read. */
static int read_events(const struct input *in, struct input_place *at, size_t want,
		       struct md_buf *out, uint32_t *cpu)
{
	const struct lket_file *f = (const struct lket_file *)in;
	uint64_t offset = at->packet ? at->packet : f->begin;
	size_t before = out->len;
	uint8_t *data = malloc(PIECE);
	int ret = data ? 0 : -ENOMEM;
	ssize_t taken = 1;

	*cpu = f->cpu;
	while (!ret && taken && out->len < before + want) {
		uint64_t left = f->file->size - offset;
		size_t n = left < PIECE ? (size_t)left : PIECE;

		ret = import_read(f->t->im, NULL, f->file, offset, data, n);
		taken = ret ? ret : put_events(f, offset, data, n, &at->clock, out);
		if (taken < 0)
			break;
		offset += (uint64_t)taken;
		at->packet = offset;
	}
	free(data);
	if (out->failed)
		return -ENOMEM;
	if (out->len > before && taken < 0 && ret != -ESTALE)
		return 1;       /* the next call fails */
	return ret ? ret : taken < 0 ? (int)taken : out->len > before;
}

/* ---- opening ---- */

static void free_trace(void *p)
{
	struct lket_trace *t = p;

	for (unsigned int g = 0; g < 256; g++) {
		for (unsigned int h = 0; t->groups[g] && h < 256; h++) {
			free(t->groups[g][h].name);
			lket_free_list(&t->groups[g][h].lists[0]);
			lket_free_list(&t->groups[g][h].lists[1]);
		}
		free(t->groups[g]);
	}
	free(t);
}

static int read_header(struct import *im, struct lket_file *f, struct tr_err *err)
{
	uint8_t h[HEADER];
	size_t length;
	int ret = f->file->size < sizeof(h) ? -EINVAL : import_read(im, err, f->file, 0, h, HEADER);

	if (ret && f->file->size >= sizeof(h))
		return ret;
	if (!ret) {
		f->big_endian = h[0] == MAGIC >> 24;
		length = get(f, h + 4, 2);
		f->timing = h[9];
		f->timebase = (uint32_t)get(f, h + 11, 4);
		f->begin = 6 + length;
		if (get(f, h, 4) != MAGIC || length < HEADER - 6 || f->begin > f->file->size)
			ret = -EINVAL;
	}
	if (ret)
		return import_fail(im, err, f->file, 0,
				   "expected the magic number 0xAEFCDB6B and a header of LKET");
	if (f->timing < TIMING_CYCLES || f->timing > TIMING_NSEC)
		return import_fail(im, err, f->file, 9, "expected a timing of 1, 2 or 3, found %u",
				   (unsigned int)f->timing);
	return 0;
}

/* The N of "DIR/stpd_cpuN", and the length of DIR/. False: it is another file. */
static bool is_stpd(const struct import_file *f, uint32_t *cpu, size_t *dir)
{
	const char *name = import_file_name(f);
	char *end;

	if (strncmp(name, "stpd_cpu", 8) || name[8] < '0' || name[8] > '9')
		return false;
	*cpu = (uint32_t)strtoul(name + 8, &end, 10);
	*dir = (size_t)(name - f->path);
	return !*end && f->size;
}

/* Opens the trace whose first file is this. */
static int open_trace(struct import *im, size_t first, struct tr_err *err)
{
	struct lket_trace *t = calloc(1, sizeof(*t));
	struct lket_file *files = calloc(im->file_count - first, sizeof(*files));
	uint64_t hash = HASH_START;
	size_t count = 0, dir = 0, n;
	struct import_trace *trace;
	char path[320];
	int ret = 0;

	if ((files && import_own(im, files, free)) || !t || import_own(im, t, free_trace) || !files)
		return tr_fail(err, -ENOMEM, "out of memory");
	t->im = im;
	is_stpd(&im->files[first], &files->cpu, &dir);
	for (size_t i = first; i < im->file_count && !ret; i++) {
		struct lket_file *f = &files[count];

		f->file = &im->files[i];
		if (!is_stpd(f->file, &f->cpu, &n) || n != dir ||
		    strncmp(f->file->path, im->files[first].path, dir))
			continue;
		f->in.read = read_events;
		f->t = t;
		hash = hash_step(hash_string(hash, f->file->path), f->file->size);
		ret = read_header(im, f, err);
		ret = ret ? ret : lket_describe(t, f, err);
		count++;
	}
	if (ret)
		return ret;
	snprintf(path, sizeof(path), "%.*s", dir ? (int)dir - 1 : 0, im->files[first].path);
	trace = lket_model(t, path, hash, err);
	if (!trace)
		return err->sentence[0] ? -EINVAL : tr_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < count && !ret; i++)
		ret = import_add_stream(im, trace, t->class, i, files[i].cpu, files[i].file,
					&files[i].in);
	return ret ? tr_fail(err, ret, "out of memory") : 0;
}

static int open_traces(struct import *im, struct tr_err *err)
{
	const struct import_file *first = NULL;
	size_t dir = 0, n;
	uint32_t cpu;
	int ret = 0;

	/* Sorted: the files of a directory that begin in the same way are one after the other. */
	for (size_t i = 0; i < im->file_count && !ret; i++) {
		const struct import_file *f = &im->files[i];

		if (!is_stpd(f, &cpu, &n) ||
		    (first && n == dir && !strncmp(f->path, first->path, n)))
			continue;
		first = f;
		dir = n;
		ret = open_trace(im, i, err);
	}
	return ret;
}

const struct import_format lket_format = { "LKET", open_traces };
