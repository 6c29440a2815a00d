/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/import/import.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "tracer/base/array.h"
#include "tracer/base/lexer.h"
#include "tracer/session/session.h"

#define OPEN_FILE_COST 4096u    /* bytes that an open file counts as */
#define OPENING_SECONDS 3       /* waits for another input */

static const struct import_format *const formats[] = { &ctf_format, &ltt_format, &lket_format,
						NULL };

static void let_go(struct import *im)
{
	/* Release and acquire as in trace_put. */
	if (__atomic_sub_fetch(&im->refs, 1, __ATOMIC_ACQ_REL))
		return;
	while (im->owned_count--)
		im->owned[im->owned_count].free(im->owned[im->owned_count].p);
	free(im->owned);
	import_close_files(im);
	region_put(im->region);
	free(im->traces);
	free(im->streams);
	free(im->path);
	md_buf_deinit(&im->notes);
	free(im);
}

void import_put(struct import *im)
{
	if (!im || __atomic_sub_fetch(&im->users, 1, __ATOMIC_ACQ_REL))
		return;
	for (size_t i = 0; i < im->trace_count; i++)
		trace_put(im->traces[i]);
	let_go(im);
}

/* Caller has a user of the import already, or holds tracer.lock while the session shows it. */
static struct import *import_ref(struct import *im)
{
	__atomic_fetch_add(&im->users, 1, __ATOMIC_RELAXED);
	return im;
}

static void release_import(void *im)
{
	let_go(im);
}

int import_fail(const struct import *im, struct tr_err *err, const struct import_file *f,
		uint64_t offset, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (err)
		return tr_fail(err, -EINVAL, "%s: offset %llu: %s", f->path,
			       (unsigned long long)offset, text);
	session_failed(im->s, "%s: offset %llu: %s", f->path, (unsigned long long)offset, text);
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

struct trace *import_add_trace(struct import *im, struct md_trace *md, const char *path,
			       bool kernel)
{
	struct trace *t = calloc(1, sizeof(*t));

	if (!t || !array_double(im->traces, im->trace_count)) {
		free(t);
		md_trace_destroy(md);
		return NULL;
	}
	t->refs = 1;
	t->log_fd = -1;
	t->uid = kernel ? KERNEL_UID : im->s->uid;
	t->word_bits = 64;
	t->md = md;
	snprintf(t->path, sizeof(t->path), "%s", path);
	snprintf(t->owner, sizeof(t->owner), "import");
	lock_init(&t->lock, NULL, LOCK_TRACE);
	im->traces[im->trace_count++] = t;
	return t;
}

const char *import_file_name(const struct import_file *f)
{
	const char *slash = strrchr(f->path, '/');

	return slash ? slash + 1 : f->path;
}

/* "channel0_3" is of the channel "channel0". */
static void channel_of(const char *file, char *out, size_t size)
{
	const char *end = file + strlen(file), *p = end;

	while (p > file && p[-1] >= '0' && p[-1] <= '9')
		p--;
	if (p < end && p - 1 > file && p[-1] == '_')
		end = p - 1;
	snprintf(out, size, "%.*s", (int)(end - file), file);
}

int import_add_stream(struct import *im, struct trace *t, const struct md_stream *class,
		      uint64_t instance, uint32_t cpu, const struct import_file *file,
		      const struct input *in)
{
	const char *name = import_file_name(file);
	struct stream *s;

	if (!array_double(im->streams, im->stream_count))
		return -ENOMEM;
	s = &im->streams[im->stream_count];
	*s = (struct stream){ .trace = t, .ring = (uint32_t)im->stream_count++, .class = class,
			      .instance_id = instance, .cpu = cpu, .input = in };
	channel_of(name, s->channel, sizeof(s->channel));
	snprintf(s->file, sizeof(s->file), "%s", name);
	snprintf(s->name, sizeof(s->name), "%s", name);
	return 0;
}

void import_put_header(struct md_buf *out, uint32_t id, uint64_t ts)
{
	struct __attribute__((packed)) {
		uint16_t extended;
		uint32_t id;
		uint64_t ts;
	} header = { 65535, htole32(id), htole64(ts) };

	md_buf_put(out, &header, sizeof(header));
}

/* ---- opening ---- */

/* Cursors and marks need a ring, and its key as a name: one page of an empty ring each. */
static int make_region(struct import *im)
{
	struct region_geometry geo = { .mode = TRAIL_MODE_DISCARD, .kind = TRAIL_RINGS_CPU,
				       .ring_count = (uint32_t)im->stream_count,
				       .subbuf_count = 2, .subbuf_size = TRAIL_SUBBUF_MIN,
				       .switch_count = 1 };
	uint64_t key;

	if (!im->stream_count)
		return 0;
	if (getrandom(&key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return -EAGAIN;
	return region_create(&geo, key, &im->region);
}

/*
 * One input is opened at a time: that bounds the memory for metadata, and the threads that wait for
 * a file system. Taken without another lock.
 */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static int lock_opening(struct tr_err *err)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += OPENING_SECONDS;
	return pthread_mutex_timedlock(&opening, &until)
		       ? tr_fail(err, -EBUSY, "another input is being opened: try again")
		       : 0;
}

/* Fills the import. Caller holds `opening`. */
static int read_input(struct import *im, const struct owner *owner, struct tr_err *err)
{
	int ret = im->path ? import_open_files(im, owner, err)
			   : tr_fail(err, -ENOMEM, "out of memory");

	for (size_t i = 0; formats[i] && !ret; i++) {
		ret = formats[i]->open(im, err);
		if (!ret && im->trace_count && !im->format)
			im->format = formats[i]->name;
	}
	if (!ret && !im->trace_count)
		ret = tr_fail_at(err, -EINVAL, im->path, -1,
				 "no trace in this directory: expected a file `metadata` of CTF "
				 "1.8 or 2, eventdefs/ and control/ of LTT, or files stpd_cpuN of "
				 "LKET, in it or below it");
	if (!ret && (ret = make_region(im)))
		tr_fail(err, ret, "the streams cannot be opened: %s", strerror(-ret));
	return ret;
}

/* What the owner of the session has of the daemon by this. 0, or -EDQUOT with a sentence. */
static int charge(struct import *im, struct tr_err *err)
{
	int64_t bytes = (int64_t)(im->used + OPEN_FILE_COST * im->file_count);
	int ret = session_frozen(im->s, bytes);

	if (ret)
		return tr_fail(err, ret,
			       ret == -ENOMEM ? "out of memory"
					      : "the types and files of the trace need %lld bytes, "
						"more than the owner's share of frozen memory has",
			       (long long)bytes);
	im->charged = bytes;
	return 0;
}

/*
 * Opens the input. Caller holds no lock, and calls import_drop when the session does not show it.
 */
static int import_open(struct session *s, const char *path, const struct owner *owner,
		       struct import **out, struct tr_err *err)
{
	struct import *im = calloc(1, sizeof(*im));
	int ret;

	if (!im)
		return tr_fail(err, -ENOMEM, "out of memory");
	im->users = im->refs = 1;
	im->s = s;
	im->path = strdup(path);
	ret = lock_opening(err);
	if (!ret) {
		ret = read_input(im, owner, err);
		pthread_mutex_unlock(&opening);
	}
	ret = ret ? ret : charge(im, err);
	if (ret) {
		import_put(im);
		return ret;
	}
	/* Until here, traces do not refer to the import: reading it may have failed. */
	for (size_t i = 0; i < im->trace_count; i++) {
		im->refs++;
		im->traces[i]->import = im;
		im->traces[i]->release = release_import;
	}
	*out = im;
	return 0;
}

/* The session does not show this import any more; views that read it continue. */
static void import_drop(struct import *im)
{
	if (!im)
		return;
	session_frozen(im->s, -im->charged);
	import_put(im);
}

struct import *import_get(struct session *s, int *ret)
{
	struct import *im = NULL, *made = NULL;
	struct tr_err err = TR_ERR_INIT;
	char *path = NULL;
	struct owner owner;

	*ret = 0;
	/* Most sessions have none; their small files are read without tracer.lock. */
	if (!session_shown(s).imported)
		return NULL;
	pthread_mutex_lock(&s->tracer->lock);
	if (s->import)
		im = import_ref(s->import);
	else if (s->input && !(path = strdup(s->input)))
		*ret = -ENOMEM;
	owner = session_owner(s);
	pthread_mutex_unlock(&s->tracer->lock);
	if (!path)
		return im;
	/* After a restart: the first use opens the input. */
	*ret = import_open(s, path, &owner, &made, &err);
	if (*ret) {
		session_failed(s, "input: %s", err.sentence);
	} else {
		pthread_mutex_lock(&s->tracer->lock);
		if (!s->import && s->input && !strcmp(s->input, path)) {
			s->import = made;
			made = NULL;
		}
		im = s->import ? import_ref(s->import) : NULL;
		pthread_mutex_unlock(&s->tracer->lock);
		import_drop(made);
	}
	free(path);
	return im;
}

static int take_streams(struct session *s, struct stream_set *out)
{
	int ret;
	struct import *im = import_get(s, &ret);

	if (!im)
		return ret;
	out->streams = malloc((im->stream_count + 1) * sizeof(*out->streams));
	if (!out->streams) {
		import_put(im);
		return -ENOMEM;
	}
	for (out->count = 0; out->count < im->stream_count; out->count++) {
		struct stream *st = &out->streams[out->count];

		*st = im->streams[out->count];
		trace_get(st->trace);
		st->region = region_get(im->region);
	}
	import_put(im);
	return 1;
}

/* ---- the setting ---- */

/* Caller holds tracer.lock. */
static int may_import(struct session *s, struct tr_err *err)
{
	if (s->gone || s->ending)
		return tr_fail(err, -ENOENT, "the session is gone");
	if (s->starts)
		return tr_fail(err, -EBUSY,
			       "the session was started: make another one for the trace");
	if (!cds_list_empty(&s->channels))
		return tr_fail(err, -EBUSY,
			       "the session has channels: remove them, or make another one for the "
			       "trace");
	return 0;
}

/* Caller holds session.lock and tracer.lock. Takes im and path over. */
static struct import *set_input(struct session *s, struct import *im, char *path)
{
	struct import *old = s->import;

	free(s->input);
	/* Only whether there is one is read without the lock (session_clock_offset). */
	__atomic_store_n(&s->input, path, __ATOMIC_RELAXED);
	s->import = im;
	session_clear_parts(s);
	return old;
}

static int check_path(const char *value, struct tr_err *err)
{
	if (value[0] && value[0] != '/')
		return tr_fail_at(err, -EINVAL, value, 0, "must be an absolute path");
	if (strlen(value) >= PATH_MAX)
		return tr_fail(err, -ENAMETOOLONG, "the path is too long");
	return 0;
}

int input_store(void *session, const char *value, bool replace, struct tr_err *err)
{
	struct session *s = session;
	struct import *im = NULL;
	char *path = NULL;
	struct owner owner;
	int ret = check_path(value, err);

	(void)replace;
	if (ret)
		return ret;
	pthread_mutex_lock(&s->tracer->lock);
	ret = may_import(s, err);
	owner = session_owner(s);
	pthread_mutex_unlock(&s->tracer->lock);
	if (!ret && value[0] && !(path = strdup(value)))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	if (!ret && path)
		ret = import_open(s, path, &owner, &im, err);
	if (ret) {
		free(path);
		return ret;
	}
	session_lock(s);
	ret = may_import(s, err);
	if (!ret) {
		im = set_input(s, im, path);
		path = NULL;
		session_save(s);
		session_changed(s);
	}
	session_unlock(s);
	import_drop(im);
	free(path);
	return ret;
}

void input_show(const void *session, struct md_buf *out)
{
	const struct session *s = session;

	lexer_quote_path(s->input ? s->input : "", out);
}

static void save_input(const struct session *s, struct md_buf *out)
{
	if (s->input)
		md_buf_printf(out, "input %s\n", s->input);
}

static bool restore_line(struct session *s, const char *key, const char *value)
{
	if (strcmp(key, "input"))
		return false;
	free(s->input);
	s->input = strdup(value);
	return true;
}

static void show_status(struct session *s, struct facts *out)
{
	if (!s->input)
		return;
	if (out->json) {
		fact_text(out, "input", "%s", s->input);
	} else {
		md_buf_puts(out->out, "input ");
		lexer_quote_path(s->input, out->out);
	}
	if (!s->import)
		return;
	fact_text(out, "input_format", "%s", s->import->format);
	fact_number(out, "input_streams", s->import->stream_count);
	fact_lines(out, "input_notes", s->import->notes.data, s->import->notes.len);
}

/* Both sessions have one owner: its share has the same as before. */
static void move_charge(struct import *im, struct session *to)
{
	if (!im)
		return;
	session_frozen(im->s, -im->charged);
	im->s = to;
	if (session_frozen(to, im->charged))
		im->charged = 0;
}

static void exchange_inputs(struct session *a, struct session *b)
{
	struct import *im = a->import;
	char *path = a->input;

	a->import = b->import;
	b->import = im;
	__atomic_store_n(&a->input, b->input, __ATOMIC_RELAXED);
	__atomic_store_n(&b->input, path, __ATOMIC_RELAXED);
	move_charge(a->import, a);
	move_charge(b->import, b);
}

static void destroy_input(struct session *s)
{
	import_drop(s->import);
	free(s->input);
}

const struct session_part import_part = {
	.name = "import",
	.save = save_input,
	.restore_line = restore_line,
	.exchange = exchange_inputs,
	.streams = take_streams,
	.status = show_status,
	.destroy = destroy_input,
};
