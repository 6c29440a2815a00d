/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An output: its life, and the requests that other threads make to its writer.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/os/thread.h"
#include "tracer/output/directory.h"
#include "tracer/output/output.h"
#include "tracer/session/trace_form.h"
#include "tracer/session/streams.h"

#define MS UINT64_C(1000000)
#define FINISH_MS 10000u        /* for which the end of a session waits at least */
#define SUSPEND_MS 5000u        /* for which the end of a daemon waits that leaves its sessions */

/* ---- requests to the writer ---- */

static unsigned int verb_wait_ms(const struct output *o)
{
	return o->s->tracer->config.wait_ms;
}

static bool wait_done(struct output *o, const bool *done, enum output_request what, uint64_t number,
		     unsigned int ms)
{
	uint64_t until = monotonic_now() + ms * MS;
	struct timespec ts = { (time_t)(until / 1000000000), (long)(until % 1000000000) };

	while (!o->ended && !(done ? *done : o->done[what] >= number))
		if (pthread_cond_timedwait(&o->answered, &o->lock, &ts) == ETIMEDOUT)
			return false;
	return true;
}

/* Requests something and waits for it. False: the time is over, or the writer has ended. */
static bool request_writer(struct output *o, enum output_request what, unsigned int ms)
{
	bool done;

	pthread_mutex_lock(&o->lock);
	o->asked[what]++;
	if (what == OUTPUT_ROTATE)
		o->rotating = true;
	pthread_cond_signal(&o->requested);
	done = wait_done(o, NULL, what, o->asked[what], ms);
	pthread_mutex_unlock(&o->lock);
	return done;
}

struct output *output_if_running(struct session *s)
{
	struct output *o;

	pthread_mutex_lock(&s->tracer->lock);
	o = output_runs(s) ? s->output : NULL;
	pthread_mutex_unlock(&s->tracer->lock);
	return o;
}

bool output_flush(struct session *s)
{
	struct output *o = output_if_running(s);
	bool done;

	/* A relay keeps nothing here: views read the rings. */
	if (!o || o->net)
		return !output_data(s->tracer)->only_unwritten;
	done = request_writer(o, OUTPUT_FLUSH, 300);
	pthread_mutex_lock(&o->lock);
	done = done && !o->error;
	pthread_mutex_unlock(&o->lock);
	return done;
}

int output_stopped(struct session *s, struct tr_err *why)
{
	struct output *o = output_if_running(s);
	int err = 0;

	if (!o || !request_writer(o, OUTPUT_SYNC, verb_wait_ms(o)))
		return 0;
	pthread_mutex_lock(&o->lock);
	if (o->error && o->pending)
		err = tr_fail(why, o->error == -ENOSPC || o->error == -EDQUOT ? o->error : -EIO,
			      "%s", output_explain(o, o->error));
	pthread_mutex_unlock(&o->lock);
	return err;
}

uint64_t output_pending(struct session *s)
{
	struct region **regions;
	size_t n = session_regions(s, &regions);
	uint64_t sum = 0;

	while (n) {
		struct stream st = { .region = regions[--n] };

		for (; st.ring < st.region->geo.ring_count; st.ring++)
			sum += ring_unconsumed(&st);
		region_put(st.region);
	}
	free(regions);
	return sum;
}

int output_removable(struct session *s, struct tr_err *why)
{
	struct output *o = output_if_running(s);
	uint64_t before, after;
	const char *trouble;
	int err;

	if (!o)
		return 0;
	pthread_mutex_lock(&o->lock);
	before = o->bytes;
	pthread_mutex_unlock(&o->lock);
	err = output_stopped(s, why);
	pthread_mutex_lock(&o->lock);
	after = o->bytes;
	trouble = o->sink->trouble ? o->sink->trouble(o) : NULL;
	pthread_mutex_unlock(&o->lock);
	/* A slow relay gets more time when the session ends; a silent one would lose the events. */
	if (err || !o->net || before != after || !output_pending(s))
		return err;
	return tr_fail(why, -EIO, "%s", trouble ? trouble : "the relay confirms nothing");
}

void output_finish(struct session *s)
{
	struct output *o = output_if_running(s);
	uint64_t pending;
	unsigned int ms;
	bool done;

	if (!o)
		return;
	ms = verb_wait_ms(o) > FINISH_MS ? verb_wait_ms(o) : FINISH_MS;
	done = request_writer(o, OUTPUT_FINISH, ms);
	if (!done)
		tracer_report(s->tracer,
			      "session %s: the output could not write all events in %u s", s->name,
			      ms / 1000);
	pthread_mutex_lock(&o->lock);
	o->quit = true;
	pending = o->error ? o->pending : 0;
	pthread_mutex_unlock(&o->lock);
	if (o->net)
		pending = done && !o->error ? 0 : output_pending(s);
	if (pending)
		tracer_report(s->tracer,
			      "session %s: %llu bytes could not be written before it ended",
			      s->name, (unsigned long long)pending);
}

void output_suspend(struct session *s)
{
	struct output *o = output_if_running(s);

	if (!o)
		return;
	/* The next daemon may come after a reboot, which leaves the files alone. */
	request_writer(o, OUTPUT_SYNC, SUSPEND_MS);
	pthread_mutex_lock(&o->lock);
	o->quit = true;
	pthread_cond_signal(&o->requested);
	wait_done(o, &o->ended, 0, 0, SUSPEND_MS);
	pthread_mutex_unlock(&o->lock);
}

int output_clear_all(struct session *s, struct tr_err *err)
{
	struct output *o = output_if_running(s);
	int ret = 0;

	if (o && request_writer(o, OUTPUT_CLEAR, verb_wait_ms(o))) {
		pthread_mutex_lock(&o->lock);
		ret = o->clear_error;
		pthread_mutex_unlock(&o->lock);
	}
	return ret ? tr_fail(err, ret, "the output cannot be cleared: %s", output_explain(o, ret))
		   : 0;
}

/*
 * Each view prints the metadata. Its clock offset is measured once and may be wrong by
 * now: measures it again.
 */
static int run_metadata(struct session *s, const struct verb_line *line, struct tr_err *err)
{
	(void)line, (void)err;
	session_measure_clock(s);
	return 0;
}

static int then_metadata(struct session *s, struct tr_err *err)
{
	struct output *o = output_if_running(s);

	(void)err;
	if (o)
		request_writer(o, OUTPUT_METADATA, verb_wait_ms(o));
	return 0;
}

const struct session_verb metadata_verb = {
	.name = "regenerate metadata", .when_active = true, .when_inactive = true,
	.run = run_metadata, .then = then_metadata,
};

static bool can_rotate(const struct session_shown *s)
{
	return s->written && s->info.starts;
}

static int run_rotate(struct session *s, const struct verb_line *line, struct tr_err *err)
{
	(void)line;
	if (!s->output)
		return tr_fail(err, -EINVAL,
			       "there is no output: only what is written to files is rotated");
	return s->starts ? 0
			 : tr_fail(err, -EINVAL,
				   "the session was never started: there is nothing to rotate");
}

static int then_rotate(struct session *s, struct tr_err *err)
{
	struct output *o = output_if_running(s);
	int ret = 0;

	if (o && request_writer(o, OUTPUT_ROTATE, verb_wait_ms(o))) {
		pthread_mutex_lock(&o->lock);
		ret = o->rotate_error;
		pthread_mutex_unlock(&o->lock);
	}
	return ret ? tr_fail(err, ret, "the chunk cannot be moved to the archives: %s",
			     output_explain(o, ret))
		   : 0;
}

const struct session_verb rotate_verb = {
	.name = "rotate", .when_active = true, .when_inactive = true, .shown = can_rotate,
	.run = run_rotate, .then = then_rotate,
};

/* ---- create, start, destroy ---- */

const struct output_sink *output_sink_of(const struct tracer *t, const char *value)
{
	for (const struct output_sink *const *sink = output_data(t)->sinks; *sink; sink++)
		if ((*sink)->takes(value))
			return *sink;
	return &file_sink;
}

int output_create_remote(struct session *s, const struct output_sink *sink, const char *value,
			 struct output **out, struct tr_err *err)
{
	struct output *o = output_create(s, value, -1);
	struct session none = { .output = o };
	int ret = o ? sink->attach(o, value, err) : -ENOMEM;

	if (!ret) {
		o->sink = sink;
		*out = o;
		return 0;
	}
	output_destroy(&none);
	return ret == -ENOMEM ? tr_fail(err, ret, "out of memory") : ret;
}

const char *output_explain(const struct output *o, int err)
{
	return o->sink->explain ? o->sink->explain(err) : strerror(-err);
}

struct output *output_create(struct session *s, const char *path, int dir)
{
	struct output *o = calloc(1, sizeof(*o));
	struct stat st = { 0 };

	if (!o || !(o->path = strdup(path)) || (dir >= 0 && fstat(dir, &st) < 0)) {
		if (o)
			free(o->path);
		free(o);
		return NULL;
	}
	o->dev = st.st_dev;
	o->ino = st.st_ino;
	o->s = s;
	o->dir = dir;
	o->sink = &file_sink;
	o->state = -1;
	lock_init(&o->lock, NULL, LOCK_OUTPUT);
	cond_init_monotonic(&o->requested);
	cond_init_monotonic(&o->answered);
	return o;
}

static int start_thread(struct output *o)
{
	int err;

	session_ref(o->s);
	err = thread_start(256 * 1024, output_run, o);
	if (err)
		/* the caller has another reference */
		__atomic_fetch_sub(&o->s->refs, 1, __ATOMIC_RELAXED);
	return err;
}

static int open_checkpoint(struct output *o)
{
	struct session *s = o->s;
	int dir = openat(s->tracer->sessions_fd, s->name,
			 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
	    err;

	if (dir < 0)
		return -errno;
	err = checkpoint_open(dir, &o->state);
	close(dir);
	if (err)
		return err;
	if (!checkpoint_head_get(o->state, &o->head)) {
		o->dev = o->head.dev;
		o->ino = o->head.ino;
		return 0;
	}
	if (o->dir < 0 && !o->net)
		return -ENOENT;
	o->head = (struct checkpoint_head){
		.magic = CHECKPOINT_MAGIC, .dev = o->dev, .ino = o->ino, .begin = wall_clock()
	};
	return checkpoint_head_put(o->state, &o->head);
}

int output_start(struct session *s, struct tr_err *err)
{
	struct output *o = s->output;
	struct owner owner = session_owner(s);
	struct channel *c;
	int ret;

	if (!o || o->started)
		return 0;
	cred_deinit(&o->cred);
	ret = cred_of(&owner, &o->cred);
	o->mode = 0700 | (s->mode & 0055);
	if (!ret)
		ret = open_checkpoint(o);
	if (!ret && !o->sync && !(o->sync = syncgroup_create()))
		ret = -ENOMEM;
	if (!ret && o->dir >= 0)
		ret = trace_dirs_expect(o);
	cds_list_for_each_entry(c, &s->channels, node) {
		o->kernel = o->kernel || c->kernel;
		if (c->read_period && (!o->read_period || c->read_period * 1000 < o->read_period))
			o->read_period = c->read_period * 1000;
	}
	o->live_period = s->streamed ? s->live_period * 1000 : 0;
	if (o->live_period && (!o->read_period || o->live_period / 4 < o->read_period))
		o->read_period = o->live_period / 4;
	o->chunk = o->head.chunk;
	o->archives = o->head.archives;
	if (o->head.archives)
		memcpy(o->archive, o->head.archive, sizeof(o->archive));
	/* The thread must open an earlier daemon's directory even if nothing is being recorded. */
	pthread_mutex_lock(&o->lock);
	o->wake = o->dir < 0;
	o->inherited = o->wake && !o->net;
	pthread_mutex_unlock(&o->lock);
	if (!ret)
		ret = start_thread(o);
	o->started = !ret;
	/* The next attempt opens it again. */
	if (ret && o->state >= 0) {
		close(o->state);
		o->state = -1;
	}
	return ret ? tr_fail(err, ret, "the output cannot be started: %s", strerror(-ret)) : 0;
}

bool output_runs(const struct session *s)
{
	return s->output && s->output->started;
}

void output_destroy(struct session *s)
{
	struct output *o = s->output;

	if (!o)
		return;
	for (size_t i = 0; i < o->count; i++)
		o->sink->remove(o, o->streams[i]);
	free(o->streams);
	while (o->traces) {
		struct trace_dir *t = o->traces;

		o->traces = t->next;
		trace_dir_destroy(t);
	}
	if (o->net)
		o->sink->detach(o);
	if (o->dir >= 0)
		close(o->dir);
	if (o->state >= 0)
		close(o->state);
	syncgroup_put(o->sync);
	cred_deinit(&o->cred);
	pthread_cond_destroy(&o->requested);
	pthread_cond_destroy(&o->answered);
	pthread_mutex_destroy(&o->lock);
	free(o->path);
	free(o);
	s->output = NULL;
}
