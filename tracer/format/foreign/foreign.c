/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/foreign/foreign.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/lexer.h"
#include "tracer/format/foreign/child.h"
#include "tracer/format/foreign/streams.h"
#include "tracer/session/session.h"

#define OPEN_FILE_COST 4096u    /* bytes that an open file counts as */
#define OPENING_SECONDS 3       /* waits for another input */

/* The trace that the session shows; NULL: it has no input, or did not open it yet. */
static struct foreign **slot_of(const struct session *s)
{
	return session_data(s, &import_part);
}

static void let_go(struct foreign *f)
{
	/* Release and acquire as in trace_put. */
	if (__atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL))
		return;
	foreign_free_streams(f);
	child_free(f->process);
	foreign_close_files(f);
	free(f->path);
	free(f);
}

void foreign_put(struct foreign *f)
{
	if (!f || __atomic_sub_fetch(&f->users, 1, __ATOMIC_ACQ_REL))
		return;
	for (size_t i = 0; i < f->trace_count; i++)
		trace_put(f->traces[i]);
	let_go(f);
}

/* Caller has a user of it already, or holds tracer.lock while the session shows it. */
static struct foreign *foreign_ref(struct foreign *f)
{
	__atomic_fetch_add(&f->users, 1, __ATOMIC_RELAXED);
	return f;
}

static void release_foreign(void *f)
{
	let_go(f);
}

/* ---- opening ---- */

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

/* Fills it. Caller holds `opening`. */
static int read_input(struct foreign *f, const struct owner *owner, uint64_t *used,
		      struct tr_err *err)
{
	int ret = f->path ? foreign_open_files(f, owner, err)
			  : tr_fail(err, -ENOMEM, "out of memory");

	if (ret)
		return ret;
	f->process = child_new(f->path, f->files, f->file_count, owner);
	if (!f->process)
		return tr_fail(err, -ENOMEM, "out of memory");
	return foreign_make_streams(f, used, err);
}

/* What the owner of the session has of the daemon by this. 0, or -EDQUOT with a sentence. */
static int charge(struct foreign *f, uint64_t used, struct tr_err *err)
{
	int64_t bytes = (int64_t)(used + OPEN_FILE_COST * f->file_count);
	int ret = session_frozen(f->s, bytes);

	if (ret)
		return tr_fail(err, ret,
			       ret == -ENOMEM ? "out of memory"
					      : "the types and files of the trace need %lld bytes, "
						"more than the owner's share of frozen memory has",
			       (long long)bytes);
	f->charged = bytes;
	return 0;
}

/*
 * Opens the input. Caller holds no lock, and calls drop_foreign when the session does not show it.
 */
static int open_foreign(struct session *s, const char *path, const struct owner *owner,
			struct foreign **out, struct tr_err *err)
{
	struct foreign *f = calloc(1, sizeof(*f));
	uint64_t used = 0;
	int ret;

	if (!f)
		return tr_fail(err, -ENOMEM, "out of memory");
	f->users = f->refs = 1;
	f->s = s;
	f->path = strdup(path);
	ret = lock_opening(err);
	if (!ret) {
		ret = read_input(f, owner, &used, err);
		pthread_mutex_unlock(&opening);
	}
	ret = ret ? ret : charge(f, used, err);
	if (ret) {
		foreign_put(f);
		return ret;
	}
	/* Until here, traces do not refer to it: reading it may have failed. */
	for (size_t i = 0; i < f->trace_count; i++) {
		f->refs++;
		f->traces[i]->import = f;
		f->traces[i]->release = release_foreign;
	}
	*out = f;
	return 0;
}

/* The session does not show this import any more; views that read it continue. */
static void drop_foreign(struct foreign *f)
{
	if (!f)
		return;
	session_frozen(f->s, -f->charged);
	foreign_put(f);
}

struct foreign *foreign_get(struct session *s, int *ret)
{
	struct foreign *f = NULL, *made = NULL;
	struct tr_err err = TR_ERR_INIT;
	char *path = NULL;
	struct owner owner;

	*ret = 0;
	/* Most sessions have none; their small files are read without tracer.lock. */
	if (!session_shown(s).imported)
		return NULL;
	pthread_mutex_lock(&s->tracer->lock);
	if (*slot_of(s))
		f = foreign_ref(*slot_of(s));
	else if (s->input && !(path = strdup(s->input)))
		*ret = -ENOMEM;
	owner = session_owner(s);
	pthread_mutex_unlock(&s->tracer->lock);
	if (!path)
		return f;
	/* After a restart: the first use opens the input. */
	*ret = open_foreign(s, path, &owner, &made, &err);
	if (*ret) {
		session_failed(s, "input: %s", err.sentence);
	} else {
		pthread_mutex_lock(&s->tracer->lock);
		if (!*slot_of(s) && s->input && !strcmp(s->input, path)) {
			*slot_of(s) = made;
			made = NULL;
		}
		f = *slot_of(s) ? foreign_ref(*slot_of(s)) : NULL;
		pthread_mutex_unlock(&s->tracer->lock);
		drop_foreign(made);
	}
	free(path);
	return f;
}

static int take_streams(struct session *s, struct stream_set *out)
{
	int ret;
	struct foreign *f = foreign_get(s, &ret);

	if (!f)
		return ret;
	out->streams = malloc((f->stream_count + 1) * sizeof(*out->streams));
	if (!out->streams) {
		foreign_put(f);
		return -ENOMEM;
	}
	for (out->count = 0; out->count < f->stream_count; out->count++) {
		struct stream *st = &out->streams[out->count];

		*st = f->streams[out->count];
		trace_get(st->trace);
		st->region = region_get(f->region);
	}
	foreign_put(f);
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

/* Caller holds session.lock and tracer.lock. Takes f and path over. */
static struct foreign *set_input(struct session *s, struct foreign *f, char *path)
{
	struct foreign *old = *slot_of(s);

	free(s->input);
	/* Only whether there is one is read without the lock (session_clock_offset). */
	__atomic_store_n(&s->input, path, __ATOMIC_RELAXED);
	*slot_of(s) = f;
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
	struct foreign *f = NULL;
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
		ret = open_foreign(s, path, &owner, &f, err);
	if (ret) {
		free(path);
		return ret;
	}
	session_lock(s);
	ret = may_import(s, err);
	if (!ret) {
		f = set_input(s, f, path);
		path = NULL;
		session_save(s);
		session_changed(s);
	}
	session_unlock(s);
	drop_foreign(f);
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
	const struct foreign *f = *slot_of(s);

	if (!s->input)
		return;
	if (out->json) {
		fact_text(out, "input", "%s", s->input);
	} else {
		md_buf_puts(out->out, "input ");
		lexer_quote_path(s->input, out->out);
	}
	if (!f)
		return;
	fact_text(out, "input_format", "%s", f->format);
	fact_number(out, "input_streams", f->stream_count);
	fact_lines(out, "input_notes", f->notes, strlen(f->notes));
}

/* Both sessions have one owner: its share has the same as before. */
static void move_charge(struct foreign *f, struct session *to)
{
	if (!f)
		return;
	session_frozen(f->s, -f->charged);
	f->s = to;
	if (session_frozen(to, f->charged))
		f->charged = 0;
}

static void exchange_inputs(struct session *a, struct session *b)
{
	struct foreign *f = *slot_of(a);
	char *path = a->input;

	*slot_of(a) = *slot_of(b);
	*slot_of(b) = f;
	__atomic_store_n(&a->input, b->input, __ATOMIC_RELAXED);
	__atomic_store_n(&b->input, path, __ATOMIC_RELAXED);
	move_charge(*slot_of(a), a);
	move_charge(*slot_of(b), b);
}

static void destroy_input(struct session *s)
{
	drop_foreign(*slot_of(s));
	free(s->input);
}

const struct session_part import_part = {
	.name = "import",
	.size = sizeof(struct foreign *),
	.save = save_input,
	.restore_line = restore_line,
	.exchange = exchange_inputs,
	.streams = take_streams,
	.status = show_status,
	.destroy = destroy_input,
};
