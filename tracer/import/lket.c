/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The format LKET of imports: a trace is the files stpd_cpuN of one directory. tracer/export/lket.h
 * has the layout. The events of group 1 in the first DESCRIBED bytes of each file say what other
 * events are called, and which fields they have; others are not valid.
 *
 * A place (struct input_place) is the offset of an event in its file, and the time of the event
 * before, in ns. What a file has after its last whole event is not read.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/base/hash.h"
#include "tracer/import/import.h"
#include "tracer/import/layout.h"

#define MAGIC 0xAEFCDB6Bu
#define HEADER 15u              /* bytes that are known of the header of a file */
#define SIZES 4u                /* bytes of total_size and sys_size */
#define COMMON 24u              /* bytes of the common data */
#define DESCRIBED (1u << 20)
#define PIECE (64u << 10)       /* greater than an event */

enum { REGEVT = 1, SYSTEM_FIELDS = 1, USER_FIELDS = 3, DESCRIPTION = 5 };
enum { TIMING_CYCLES = 1, TIMING_USEC = 2, TIMING_NSEC = 3 };

/* The events of one group and hook. */
struct kind {
	char *name;             /* NULL: not described */
	struct list { struct md_field *fields; uint32_t count; } lists[2];      /* system, user */
	const struct md_event *event;   /* has the fields then; owned by the class */
	uint32_t system;        /* of its fields */
};

struct trace_lket {
	struct import *im;
	struct kind *groups[256];       /* 256 kinds each; NULL: none is described */
	struct md_stream *class;        /* owned by the model */
};

struct file_lket {
	struct input in;
	const struct trace_lket *t;
	const struct import_file *file;
	uint32_t cpu, timebase;
	uint8_t timing;
	bool big_endian;
	uint64_t begin;         /* of the first event */
};

struct event {
	uint64_t time, thread, rest;
	const uint8_t *data, *system_end, *end;
};

static uint64_t get(const struct file_lket *f, const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)p[i] << 8 * (f->big_endian ? n - 1 - i : i);
	return v;
}

static unsigned int group_of(const struct event *e)
{
	return (unsigned int)(e->rest >> 24) & 0xff;
}

static unsigned int hook_of(const struct event *e)
{
	return (unsigned int)(e->rest >> 16) & 0xff;
}

static struct kind *find_kind(const struct trace_lket *t, unsigned int group, unsigned int hook)
{
	return t->groups[group] ? &t->groups[group][hook] : NULL;
}

/* The event at p. Returns its bytes; 0: `n` bytes are not all of it; -1: it is not valid. */
static int split_event(const struct file_lket *f, const uint8_t *p, size_t n, struct event *e)
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
	*e = (struct event){ get(f, p, 8), get(f, p + 8, 8), get(f, p + 16, 8), p + COMMON,
			     p + system, p + total };
	return (int)(SIZES + total);
}

/* ---- descriptions ---- */

/* A name or a list of them. */
static bool is_text(const char *s)
{
	while (*s >= ' ' && *s <= '~')
		s++;
	return !*s;
}

/* A string of an event; moves *p after it. NULL: the event ends before. */
static const char *take_string(const uint8_t **p, const uint8_t *end)
{
	const char *s = (const char *)*p;
	const uint8_t *nul = memchr(*p, 0, (size_t)(end - *p));

	if (nul)
		*p = nul + 1;
	return nul ? s : NULL;
}

/* "INT8" to "UINT64", "STRING". */
static bool set_type(const char *s, size_t n, struct md_type *t)
{
	bool is_signed = n && *s != 'U';
	char *end;
	unsigned long bits;

	if (n == 6 && !memcmp(s, "STRING", n)) {
		t->kind = MD_STRING;
		return true;
	}
	s += !is_signed;
	n -= !is_signed;
	if (n < 4 || memcmp(s, "INT", 3))
		return false;
	bits = strtoul(s + 3, &end, 10);
	if (end != s + n || (bits != 8 && bits != 16 && bits != 32 && bits != 64))
		return false;
	*t = (struct md_type){ .kind = MD_INT, .size = (uint8_t)(bits / 8),
			       .is_signed = is_signed };
	return true;
}

static void free_list(struct list *l)
{
	layout_free_fields(l->fields, l->count);
	*l = (struct list){ 0 };
}

/* Sets the fields of a list from types and names with colons. 0, -EINVAL or -ENOMEM. */
static int set_fields(struct import *im, struct list *l, const char *types, const char *names)
{
	size_t count = 1;

	free_list(l);
	for (const char *p = types; *p; p++)
		count += *p == ':';
	im->used += count * 512;
	if (im->used > LAYOUT_MEMORY_MAX)
		return -EINVAL;
	l->fields = calloc(count, sizeof(*l->fields));
	if (!l->fields)
		return -ENOMEM;
	for (; l->count < count; l->count++) {
		struct md_field *f = &l->fields[l->count];
		size_t type = strcspn(types, ":"), name = strcspn(names, ":");

		if (!name || !set_type(types, type, &f->type))
			return -EINVAL;
		f->name = strndup(names, name);
		if (!f->name)
			return -ENOMEM;
		types += type + (types[type] == ':');
		names += name + (names[name] == ':');
	}
	return 0;
}

/* An event of group 1. 0, -EINVAL or -ENOMEM. */
static int describe(struct trace_lket *t, const struct event *e)
{
	const uint8_t *p = e->data + 2;
	unsigned int hook = hook_of(e);
	const char *first, *second = NULL;
	struct kind *k;

	if (hook != SYSTEM_FIELDS && hook != USER_FIELDS && hook != DESCRIPTION)
		return 0;
	if (e->end - e->data < 2 || !(first = take_string(&p, e->end)) ||
	    (hook != DESCRIPTION && !(second = take_string(&p, e->end))) || !is_text(first) ||
	    (second && !is_text(second)))
		return -EINVAL;
	if (!t->groups[e->data[0]])
		t->groups[e->data[0]] = calloc(256, sizeof(*k));
	k = find_kind(t, e->data[0], e->data[1]);
	if (!k)
		return -ENOMEM;
	if (hook != DESCRIPTION)
		return set_fields(t->im, &k->lists[hook == USER_FIELDS], first, second);
	free(k->name);
	k->name = strdup(first);
	return k->name ? 0 : -ENOMEM;
}

static int read_descriptions(struct trace_lket *t, const struct file_lket *f, struct tr_err *err)
{
	uint64_t left = f->file->size - f->begin;
	size_t n = left < DESCRIBED ? (size_t)left : DESCRIBED, at = 0;
	uint8_t *data = malloc(n + 1);
	int ret = data ? import_read(t->im, err, f->file, f->begin, data, n)
		       : tr_fail(err, -ENOMEM, "out of memory");

	while (!ret) {
		struct event e;
		int size = split_event(f, data + at, n - at, &e);

		/* What is not valid is an error where it is read. */
		if (size <= 0)
			break;
		ret = group_of(&e) == REGEVT ? describe(t, &e) : 0;
		if (ret == -EINVAL)
			import_fail(t->im, err, f->file, f->begin + at,
				    "expected group, hook, and a name, or types (INT8 to INT64, "
				    "UINT8 to UINT64, STRING) and names");
		else if (ret)
			tr_fail(err, ret, "out of memory");
		at += (size_t)size;
	}
	free(data);
	return ret;
}

/* ---- the model ---- */

static int add_event(struct trace_lket *t, unsigned int group, unsigned int hook, struct kind *k,
		     struct tr_err *err)
{
	struct md_event *e;
	uint32_t count = k->lists[0].count + k->lists[1].count;
	char name[32];
	int ret;

	if (!k->name && !count)
		return 0;
	snprintf(name, sizeof(name), "group%u.hook%u", group, hook);
	e = md_event_create(k->name ? k->name : name, MD_LOGLEVEL_NONE, count);
	if (!e)
		return tr_fail(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < count; i++) {
		struct list *l = &k->lists[i >= k->lists[0].count];

		e->fields[i] = l->fields[i - (l == k->lists ? 0 : k->lists[0].count)];
	}
	k->system = k->lists[0].count;
	for (int i = 0; i < 2; i++) {
		free(k->lists[i].fields);
		k->lists[i].fields = NULL;
	}
	k->lists[0].count = k->lists[1].count = 0;
	e->id = group << 8 | hook;
	ret = md_stream_add(t->class, e);
	if (!ret) {
		k->event = e;
		return 0;
	}
	tr_fail(err, ret,
		ret == -ENOMEM ? "out of memory" : "event %.80s: two fields have one name",
		e->name);
	md_event_destroy(e);
	return ret;
}

/* Each event has the numbers of the common data as its context. */
static bool set_contexts(struct md_stream *class)
{
	static const char *const names[] = { "tid", "pid", "ppid" };
	struct md_field *context = calloc(3, sizeof(*context));

	for (int i = 0; i < 3 && context; i++) {
		context[i].type = (struct md_type){ .kind = MD_INT, .size = 4, .is_signed = true };
		context[i].name = strdup(names[i]);
	}
	if (context && context[0].name && context[1].name && context[2].name &&
	    !md_stream_set_context(class, context, 3))
		return true;
	layout_free_fields(context, context ? 3 : 0);
	return false;
}

static struct trace *make_model(struct trace_lket *t, const char *dir, uint64_t hash,
				struct tr_err *err)
{
	uint8_t uuid[16] = { 0 };
	struct md_trace *md;
	int ret = 0;

	/* A reader needs a UUID, which is the same each time. */
	memcpy(uuid, &hash, sizeof(hash));
	md = md_trace_create(uuid);
	t->class = md ? md_stream_create(0, MD_HEADER_LARGE) : NULL;
	if (!t->class || !set_contexts(t->class) || md_trace_add(md, t->class)) {
		md_stream_destroy(t->class);
		md_trace_destroy(md);
		tr_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	for (unsigned int id = 0; id < 65535 && !ret; id++)
		if (t->groups[id >> 8])
			ret = add_event(t, id >> 8, id & 255, &t->groups[id >> 8][id & 255], err);
	if (ret) {
		md_trace_destroy(md);
		return NULL;
	}
	return import_add_trace(t->im, md, dir, true);
}

/* ---- reading ---- */

/* ns; TIMING_CYCLES: the timebase is in kHz. */
static uint64_t time_of(const struct file_lket *f, uint64_t time)
{
	unsigned __int128 ns = time;

	if (f->timing == TIMING_USEC)
		ns *= 1000;
	else if (f->timing == TIMING_CYCLES)
		ns = ns * 1000000 / (f->timebase ? f->timebase : 1);
	return ns > INT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* A field of an event; moves *p after it. False: it ends after `end`. */
static bool put_field(const struct file_lket *f, const struct md_type *t, const uint8_t **p,
		      const uint8_t *end, struct md_buf *out)
{
	const uint8_t *begin = *p;
	uint64_t v;

	if (t->kind == MD_STRING) {
		if (!take_string(p, end))
			return false;
		md_buf_put(out, begin, (size_t)(*p - begin));
		return true;
	}
	if (end - begin < t->size)
		return false;
	v = htole64(get(f, begin, t->size));
	md_buf_put(out, &v, t->size);
	*p += t->size;
	return true;
}

/* What is wrong with the event; NULL: it was appended. *last: the time of the event before. */
static const char *put_event(const struct file_lket *f, const struct event *e, uint64_t *last,
			     struct md_buf *out)
{
	const struct kind *k = find_kind(f->t, group_of(e), hook_of(e));
	uint64_t ns = time_of(f, e->time);
	uint32_t contexts[3] = { htole32((uint32_t)(e->thread >> 32)), htole32((uint32_t)e->thread),
				 htole32((uint32_t)(e->rest >> 32)) };
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
static ssize_t put_events(const struct file_lket *f, uint64_t offset, const uint8_t *data, size_t n,
			  uint64_t *last, struct md_buf *out)
{
	size_t at = 0, before = out->len;

	for (;;) {
		size_t len = out->len;
		const char *why = "expected sizes of an event";
		struct event e;
		int size = split_event(f, data + at, n - at, &e);

		if (!size)
			return (ssize_t)at;
		if (size > 0)
			why = group_of(&e) == REGEVT ? NULL : put_event(f, &e, last, out);
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
	const struct file_lket *f = (const struct file_lket *)in;
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
	struct trace_lket *t = p;

	for (unsigned int g = 0; g < 256; g++) {
		for (unsigned int h = 0; t->groups[g] && h < 256; h++) {
			free(t->groups[g][h].name);
			free_list(&t->groups[g][h].lists[0]);
			free_list(&t->groups[g][h].lists[1]);
		}
		free(t->groups[g]);
	}
	free(t);
}

static int read_header(struct import *im, struct file_lket *f, struct tr_err *err)
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
	struct trace_lket *t = calloc(1, sizeof(*t));
	struct file_lket *files = calloc(im->file_count - first, sizeof(*files));
	uint64_t hash = HASH_START;
	size_t count = 0, dir = 0, n;
	struct trace *trace;
	char path[320];
	int ret = 0;

	if ((files && import_own(im, files, free)) || !t || import_own(im, t, free_trace) || !files)
		return tr_fail(err, -ENOMEM, "out of memory");
	t->im = im;
	is_stpd(&im->files[first], &files->cpu, &dir);
	for (size_t i = first; i < im->file_count && !ret; i++) {
		struct file_lket *f = &files[count];

		f->file = &im->files[i];
		if (!is_stpd(f->file, &f->cpu, &n) || n != dir ||
		    strncmp(f->file->path, im->files[first].path, dir))
			continue;
		f->in.read = read_events;
		f->t = t;
		hash = hash_step(hash_string(hash, f->file->path), f->file->size);
		ret = read_header(im, f, err);
		ret = ret ? ret : read_descriptions(t, f, err);
		count++;
	}
	if (ret)
		return ret;
	snprintf(path, sizeof(path), "%.*s", dir ? (int)dir - 1 : 0, im->files[first].path);
	trace = make_model(t, path, hash, err);
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
