/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The setting `output`, its line in the session's file, and the output's row as a part of the
 * session.
 */
#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/base.h"
#include "tracer/base/lexer.h"
#include "tracer/base/timefmt.h"
#include "tracer/output/directory.h"
#include "tracer/output/output.h"

#define LOOKUP_MAX 65536
#define DEFAULT "default"
/* suffixes -2 to -99 of default directories with the same name and second */
#define DEFAULTS_MOST 99

/* The session's output is now that one; NULL: none. */
static void set_output(struct session *s, struct output *o)
{
	s->output = o;
	s->streamed = o && o->net;
}

static int restore_remote(struct session *s, const struct output_sink *sink, const char *value)
{
	struct output *o = NULL;
	int ret = s->output ? -EINVAL : output_create_remote(s, sink, value, &o, NULL);

	if (!ret)
		set_output(s, o);
	return ret;
}

static int restore_output(struct session *s, const char *path, bool by_default)
{
	const struct output_sink *sink = output_sink_of(s->tracer, path);

	/* A program that only reads the buffers does not write files. */
	if (s->tracer->reading && !output_data(s->tracer)->only_unwritten)
		return 0;
	if (sink != &file_sink)
		return restore_remote(s, sink, path);
	if (s->output || output_dir_check(path, NULL))
		return -EINVAL;
	set_output(s, output_create(s, path, -1));
	if (s->output)
		s->output->by_default = by_default;
	return s->output ? 0 : -ENOMEM;
}

static void save_output(const struct session *s, struct md_buf *out)
{
	if (s->output)
		md_buf_printf(out, "output%s %s\n", s->output->by_default ? "_default" : "",
			      s->output->path);
}

/* ---- output ---- */

/* ~/trailfs-traces/NAME-YYYYmmdd-HHMMSS in the owner's home directory */
static int default_path(const char *name, uid_t uid, char *out, size_t size, struct tr_err *err)
{
	char *space = malloc(LOOKUP_MAX), when[TIME_TEXT_MAX];
	struct passwd user, *u = NULL;
	int n = -1;

	time_print(wall_clock(), TIME_FORMAT_NAME, when);
	if (space && getpwuid_r(uid, &user, space, LOOKUP_MAX, &u) == 0 && u)
		n = snprintf(out, size, "%s/trailfs-traces/%s-%s", u->pw_dir, name, when);
	free(space);
	if (n < 0)
		return tr_fail(err, -ENOENT, "user %u has no home directory; write a path",
			       (unsigned int)uid);
	return (size_t)n < size ? 0 : -ENAMETOOLONG;
}

/*
 * -EEXIST if another session writes to the directory of this one, -EBUSY if it writes to the same
 * path on a relay: each would overwrite the other's files. Caller holds tracer.lock, so this
 * does not access the disk.
 */
static int check_unshared(const struct session *s, struct tr_err *err)
{
	const struct output *ours = s->output;
	struct session *other;

	cds_list_for_each_entry(other, &s->tracer->sessions, node) {
		const struct output *o = other != s && output_runs(other) ? other->output : NULL;

		if (o && ours->net && o->sink == ours->sink && o->sink->collides(o, ours))
			return tr_fail_at(err, -EBUSY, ours->path, -1,
					  "session '%s' writes to this path on the relay",
					  other->name);
		if (o && !o->net && !ours->net && o->ino == ours->ino && o->dev == ours->dev)
			return tr_fail(err, -EEXIST, "session '%s' writes to this directory",
				       other->name);
	}
	return 0;
}

/* Translates a value of `output` into a path. */
static int resolve_path(const struct session *s, const char *value, uid_t uid,
			char path[OUTPUT_DIR_PATH_MAX + 1], struct tr_err *err)
{
	int ret;

	value = output_dir_path(value);
	if (!strcmp(value, DEFAULT))
		return default_path(s->name, uid, path, OUTPUT_DIR_PATH_MAX + 1, err);
	ret = value[0] ? output_dir_check(value, err) : 0;
	if (!ret)
		snprintf(path, OUTPUT_DIR_PATH_MAX + 1, "%s", value);
	return ret;
}

/*
 * Makes the output for a value, and its directory; *out is NULL for an empty value. Caller does not
 * hold tracer.lock.
 */
static int make_output(struct session *s, const char *value, const struct output_owner *of,
		       struct output **out, struct tr_err *err)
{
	const struct output_sink *sink = output_sink_of(s->tracer, value);
	char path[OUTPUT_DIR_PATH_MAX + 1];
	int dir, ret;

	*out = NULL;
	if (sink != &file_sink)
		return output_create_remote(s, sink, value, out, err);
	ret = resolve_path(s, value, of->owner.uid, path, err);
	if (ret || !value[0])
		return ret;
	dir = output_dir_make(path, of, false, err);
	if (dir < 0)
		return dir;
	*out = output_create(s, path, dir);
	if (!*out) {
		close(dir);
		return tr_fail(err, -ENOMEM, "out of memory");
	}
	(*out)->by_default = !strcmp(value, DEFAULT);
	return 0;
}

int output_store(void *session, const char *value, bool replace, struct tr_err *err)
{
	struct session *s = session, none = { 0 };
	struct output_owner of;
	int ret;

	(void)replace;
	pthread_mutex_lock(&s->tracer->lock);
	ret = session_may_set(s, err);
	of = output_owner_of(s);
	pthread_mutex_unlock(&s->tracer->lock);
	if (!ret)
		ret = make_output(s, value, &of, &none.output, err);
	if (ret)
		return ret;
	session_lock(s);
	ret = session_may_set(s, err);
	if (!ret) {
		struct output *old = s->output;

		set_output(s, none.output);
		none.output = old;
		session_save(s);
		session_changed(s);
	}
	session_unlock(s);
	output_destroy(&none);
	return ret;
}

/* ---- the first start ---- */

/*
 * Opens a directory without a trace for this path. If a default path has a trace, a number is added
 * to it. Returns a descriptor or -errno.
 */
static int make_unused_dir(char path[OUTPUT_DIR_PATH_MAX + 1], bool by_default,
			   const struct output_owner *of, struct tr_err *err)
{
	struct tr_err why = TR_ERR_INIT;
	char first[OUTPUT_DIR_PATH_MAX + 1];
	int dir = output_dir_make(path, of, true, &why);

	memcpy(first, path, sizeof(first));
	for (int i = 2; dir == -EEXIST && by_default && i <= DEFAULTS_MOST; i++) {
		if ((size_t)snprintf(path, sizeof(first), "%s-%d", first, i) >= sizeof(first))
			break;
		why = (struct tr_err)TR_ERR_INIT;
		dir = output_dir_make(path, of, true, &why);
	}
	if (dir < 0 && err)
		*err = why;
	return dir;
}

/* Takes path and dir over. */
static void set_dir(struct output *o, char *path, int dir, const struct stat *st)
{
	if (o->dir >= 0)
		close(o->dir);
	free(o->path);
	o->path = path;
	o->dir = dir;
	o->dev = st->st_dev;
	o->ino = st->st_ino;
}

/*
 * Before the first start: makes sure that the output's directory exists and has no trace, and that
 * no other session writes to it (else -EEXIST). Caller holds session.lock and tracer.lock, which
 * are released during accesses to the disk.
 */
static int prepare_output(struct session *s, struct tr_err *err)
{
	char before[OUTPUT_DIR_PATH_MAX + 1], path[OUTPUT_DIR_PATH_MAX + 1];
	struct stat st;
	struct output_owner of;
	bool by_default;
	char *copy;
	int dir;

	while (s->output && !s->streamed && !s->starts && !s->output->started) {
		snprintf(before, sizeof(before), "%s", s->output->path);
		memcpy(path, before, sizeof(path));
		by_default = s->output->by_default;
		of = output_owner_of(s);
		session_unlock(s);
		dir = make_unused_dir(path, by_default, &of, err);
		copy = dir < 0 || fstat(dir, &st) ? NULL : strdup(path);
		session_lock(s);
		if (copy && s->output && !s->output->started && !strcmp(s->output->path, before)) {
			set_dir(s->output, copy, dir, &st);
			return s->gone || s->ending ? tr_fail(err, -ENOENT, "the session is gone")
						    : check_unshared(s, err);
		}
		free(copy);
		if (dir < 0)
			return dir;
		close(dir);
		if (!copy)
			return tr_fail(err, -ENOMEM, "out of memory");
	}
	if (s->gone || s->ending)
		return tr_fail(err, -ENOENT, "the session is gone");
	if (s->streamed && (s->checksum || s->compression))
		return tr_fail(err, -EINVAL,
			       "`checksum` and `compress` are for an output directory: a relay "
			       "gets packets as they are");
	return s->streamed && !s->output->started ? check_unshared(s, err) : 0;
}

/* ---- rotation ---- */

/*
 * The thread waits as long as the session is inactive, or until a rotation is due: it must look at
 * the session again after a start, and after a change of the limits of a chunk.
 */
static void wake_writer(struct session *s)
{
	struct output *o = output_runs(s) ? s->output : NULL;

	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	if (o->seen.starts != s->starts || o->seen.rotate_size != s->rotate_size ||
	    o->seen.rotate_period != s->rotate_period) {
		o->wake = true;
		pthread_cond_signal(&o->requested);
	}
	pthread_mutex_unlock(&o->lock);
}

/* Caller holds tracer.lock. A writer of a session that never had a ring sleeps long. */
static void wake_for_buffers(struct session *s)
{
	struct output *o = output_runs(s) ? s->output : NULL;

	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	o->wake = true;
	pthread_cond_signal(&o->requested);
	pthread_mutex_unlock(&o->lock);
}

void output_show(const void *session, struct md_buf *out)
{
	const struct session *s = session;

	lexer_quote_path(s->output ? s->output->path : "", out);
}

/* `config` saves `default` as such, because the next session needs a directory of its own. */
void output_show_saved(const void *session, struct md_buf *out)
{
	const struct session *s = session;

	if (s->output && s->output->by_default)
		md_buf_puts(out, DEFAULT "\n");
	else
		output_show(s, out);
}

static void exchange_outputs(struct session *a, struct session *b)
{
	struct output *o = a->output;

	set_output(a, b->output);
	set_output(b, o);
	if (a->output)
		a->output->s = a;
	if (b->output)
		b->output->s = b;
}

/* ---- the session's part ---- */

static bool restore_line(struct session *s, const char *key, const char *value)
{
	if (!strcmp(key, "output"))
		restore_output(s, value, false);
	else if (!strcmp(key, "output_default"))
		restore_output(s, value, true);
	else
		return false;
	return true;
}

static bool has_output(const struct session *s)
{
	return s->output != NULL;
}

const struct session_part output_part = {
	.name = "output",
	.save = save_output,
	.restore_line = restore_line,
	.exchange = exchange_outputs,
	.prepare = prepare_output,
	.start = output_start,
	.changed = wake_writer,
	.buffers = wake_for_buffers,
	.flush = output_flush,
	.status = output_show_status,
	.stopped = output_stopped,
	.removable = output_removable,
	.has_rings = output_runs,
	.clear_all = output_clear_all,
	.must_finish = has_output,
	.finish = output_finish,
	.suspend = output_suspend,
	.destroy = output_destroy,
};
