/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/hash.h"
#include "tracer/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracer/kernel/kernel.h"
#include "tracer/output/directory.h"
#include "tracer/session/streams.h"

#define MS UINT64_C(1000000)
#define AGAIN (200 * MS)        /* until the next attempt after one that failed */
#define KERNEL_LOOK (10 * MS)   /* between looks at the kernel's buffers */
#define LOOK_MIN (MS / 5)
#define LOOK_MAX (50 * MS)
#define LOOK_NONE (2 * MS)      /* while there is nothing to look at */
#define IDLE (1000 * MS)        /* so long without an event */

uint64_t output_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void tell_change(struct session *s)
{
	pthread_mutex_lock(&s->tracer->lock);
	session_changed(s);
	pthread_mutex_unlock(&s->tracer->lock);
}

static void output_note(struct output *o, int error)
{
	bool changed;

	pthread_mutex_lock(&o->lock);
	changed = o->error != error;
	o->error = error;
	if (changed)
		o->error_since = wall_clock();
	pthread_mutex_unlock(&o->lock);
	if (!changed)
		return;
	tracer_report(o->s->tracer, error ? "session %s: output: %s; recording goes on as far as the buffers hold" :
		      "session %s: output: %s", o->s->name, error ? strerror(-error) : "written again");
	tell_change(o->s);
}

void output_step(struct output *o)
{
	pthread_mutex_lock(&o->lock);
	o->step += o->step < o->steps;
	pthread_mutex_unlock(&o->lock);
}

/* What was asked for has so many; 0: it is done. */
static void set_steps(struct output *o, uint64_t steps)
{
	pthread_mutex_lock(&o->lock);
	o->step = 0;
	o->steps = steps;
	pthread_mutex_unlock(&o->lock);
}

/* ---- streams ---- */

static uint64_t digest(const struct stream *st)
{
	uint64_t h = hash_string(HASH_START ^ st->class->id, st->trace->path);

	h = hash_string(hash_step(h, '/'), st->file);
	return h ? h : 1;
}

/* Its slot in the state file: the one that an earlier daemon had for it, or a new one. */
static int take_slot(struct output *o, struct stream_writer *os)
{
	uint64_t name = digest(&os->st);
	struct checkpoint_slot old;
	int err;

	for (os->slot = 0; !(err = checkpoint_slot_get(o->state, os->slot, &old)); os->slot++) {
		if (old.name != name)
			continue;
		if (old.key == os->at.key && old.ring == os->at.ring) {
			os->at = old;
			return stream_writer_restore(o, os);
		}
		/* The region is lost; what was written of it is not. */
		old.key = os->at.key;
		old.ring = os->at.ring;
		old.pos = old.events = 0;
		old.lost_before = old.lost;
		os->at = old;
		return stream_writer_restore(o, os);
	}
	os->at.name = name;
	/* No daemon has written anything of this stream yet. */
	os->trace->early = os->trace->early || err == -ENOENT;
	return err == -ENOENT ? checkpoint_slot_put(o->state, os->slot, &os->at) : err;
}

static int add_stream(struct output *o, const struct stream *st)
{
	struct trace_dir *t = trace_dir_of(o, st->trace);
	struct stream_writer *os = t ? stream_writer_create(o, st, t) : NULL, **more;
	int err;

	if (!os)
		return -ENOMEM;
	more = realloc(o->streams, (o->count + 1) * sizeof(*more));
	if (more)
		o->streams = more;
	err = more ? take_slot(o, os) : -ENOMEM;
	if (err) {
		stream_files_clear(os->st.log);
		stream_writer_destroy(os);
		return err;
	}
	os->seen = true;
	o->streams[o->count++] = os;
	return 0;
}

static struct stream_writer *find_stream(struct output *o, const struct stream *st, size_t hint)
{
	for (size_t i = 0; i < o->count; i++) {
		struct stream_writer *os = o->streams[(hint + i) % o->count];

		if (os->st.region == st->region && os->st.ring == st->ring)
			return os;
	}
	return NULL;
}

/* Takes up new streams and marks how far each one goes now. With the owner's rights. */
static int look(struct output *o, const struct stream_set *set)
{
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < o->count; i++)
		o->streams[i]->seen = false;
	for (size_t i = 0; i < set->count && !err; i++) {
		struct stream_writer *os = find_stream(o, &set->streams[i], i);

		if (os)
			os->seen = true;
		else
			err = add_stream(o, &set->streams[i]);
	}
	/* Of channels that were removed. */
	for (size_t i = 0; i < o->count; i++) {
		if (o->streams[i]->seen || err)
			o->streams[n++] = o->streams[i];
		else
			stream_writer_destroy(o->streams[i]);
	}
	o->count = n;
	for (size_t i = 0; i < o->count; i++)
		ring_mark(&o->streams[i]->st, &o->streams[i]->mark);
	return err;
}

/* ---- a pass over all streams ---- */

struct pressure {
	unsigned int percent;   /* how full the fullest ring was */
	uint64_t capacity;      /* of the smallest, bytes */
	uint64_t pending;       /* in all, after the pass */
	bool some;              /* something was recorded since the last pass */
};

static void feel(const struct stream_writer *os, struct pressure *p)
{
	const struct region_geometry *g = &os->st.region->geo;
	uint64_t capacity = g->subbuf_size * (g->subbuf_count - 1), full = stream_writer_pending(os);

	if (!p->capacity || capacity < p->capacity)
		p->capacity = capacity;
	if (100 * full / capacity > p->percent)
		p->percent = (unsigned int)(100 * full / capacity);
}

static int pass_stream(struct output *o, struct stream_writer *os, bool all, uint64_t now)
{
	uint64_t size = os->st.region->geo.subbuf_size, pos = os->at.pos;
	bool due = all, whole = os->mark.head / size > (pos > size ? pos : size) / size;
	int err;

	if (os->hold && now - os->took >= os->hold) {
		os->took = now;
		due = true;
	}
	if (!whole && !(due && (os->mark.head > pos || os->at.lost_before + os->mark.lost > os->at.lost)))
		return 0;
	err = stream_writer_check(o, os);
	err = err ? err : trace_dir_ready(o, os->trace);
	return err ? err : stream_writer_write(o, os, due);
}

static int open_dir(struct output *o);

/* all: to the last event, not only what sub-buffers are complete. */
static int pass(struct output *o, bool all, struct pressure *p)
{
	struct stream_set set = { 0 };
	uint64_t now = output_now();
	int err, one;

	*p = (struct pressure){ 0 };
	if (all || (o->kernel && now - o->drained >= KERNEL_LOOK)) {
		o->drained = now;
		kernel_drain(o->s);
	}
	err = session_streams(o->s, NULL, &set);
	if (!err)
		err = open_dir(o);
	if (err) {
		stream_set_deinit(&set);
		return err;
	}
	err = cred_enter(&o->cred);
	if (!err)
		err = look(o, &set);
	if (!err)
		err = trace_dirs_begin(o);
	stream_set_deinit(&set);
	/* (A rotation takes each stream in hand once more, and then moves them.) */
	set_steps(o, all ? (o->rotates ? 2 : 1) * o->count + 1 : 0);
	for (size_t i = 0; i < o->count; i++) {
		struct stream_writer *os = o->streams[i];
		uint64_t pos = os->at.pos;

		if (i)
			output_step(o);
		one = all ? stream_writer_check(o, os) : 0;
		err = err ? err : one;
		feel(os, p);
		one = pass_stream(o, os, all, now);
		err = err ? err : one;
		p->some = p->some || os->at.pos != pos || os->mark.head > os->at.pos;
		p->pending += stream_writer_pending(os);
	}
	for (struct trace_dir *t = o->traces; t && all && !err; t = t->next)
		if (t->place)
			err = trace_dir_ready(o, t);
	cred_leave(&o->cred);
	pthread_mutex_lock(&o->lock);
	o->pending = p->pending;
	pthread_mutex_unlock(&o->lock);
	return err;
}

/* ---- the thread ---- */

/* After a restart the directory is looked for again; it must be the same. */
static int open_dir(struct output *o)
{
	struct stat st;
	int dir, err;

	if (o->dir >= 0)
		return 0;
	err = cred_enter(&o->cred);
	if (err)
		return err;
	dir = output_dir_open(o->path, o->cred.uid, false, o->mode, NULL);
	err = dir < 0 ? dir : fstat(dir, &st) < 0 ? -errno : 0;
	if (!err && (st.st_dev != o->head.dev || st.st_ino != o->head.ino))
		err = -ESTALE;
	if (!err && o->head.moving)
		err = output_finish_rotation(o, dir);
	/* What the earlier daemon had not synced when it ended, of this chunk or an older one, nobody knows. */
	if (!err)
		syncgroup_fail(o->sync, syncgroup_add_system_of(o->sync, dir));
	cred_leave(&o->cred);
	if (err) {
		if (dir >= 0)
			close(dir);
		return err;
	}
	pthread_mutex_lock(&o->lock);
	o->inherited = false;
	o->dir = dir;
	pthread_mutex_unlock(&o->lock);
	return 0;
}

static void sync_all(struct output *o)
{
	if (cred_enter(&o->cred))
		return;
	for (size_t i = 0; i < o->count; i++)
		syncgroup_fail(o->sync, stream_writer_sync(o, o->streams[i]));
	for (struct trace_dir *t = o->traces; t; t = t->next)
		syncgroup_fail(o->sync, trace_dir_sync(o, t));
	cred_leave(&o->cred);
}

static void regenerate(struct output *o)
{
	for (struct trace_dir *t = o->traces; t; t = t->next)
		t->version = 0;
}

/* All that was asked for until now, in an order that serves all. */
static void serve(struct output *o, const bool *asked, struct pressure *p)
{
	bool rotated_once = o->head.archives > 0;
	int err;

	o->rotates = asked[OUTPUT_ROTATE];
	if (asked[OUTPUT_METADATA])
		regenerate(o);
	if (asked[OUTPUT_CLEAR])
		output_clear(o);
	err = pass(o, true, p);
	output_note(o, err);
	if (asked[OUTPUT_ROTATE] || (asked[OUTPUT_FINISH] && rotated_once)) {
		err = output_rotate(o);
		pthread_mutex_lock(&o->lock);
		o->rotate_error = err;
		o->rotating = false;
		pthread_mutex_unlock(&o->lock);
		tell_change(o->s);
	}
	if (asked[OUTPUT_SYNC] || asked[OUTPUT_FINISH])
		sync_all(o);
	set_steps(o, 0);
}

/* How long until the next look, so that no ring fills until then; it only matters how full they were this time. */
static uint64_t pause_of(struct output *o, const struct pressure *p, uint64_t before, bool idle)
{
	uint64_t most, next = before;

	if (o->look)
		return o->look;
	if (!p->capacity)
		return LOOK_NONE;
	/* ns: until a writer at full speed, 750 MB/s, has filled it; half of that while there are any. */
	most = p->capacity * 4 / 3 / (idle ? 1 : 2);
	most = most > LOOK_MAX ? LOOK_MAX : most < LOOK_MIN ? LOOK_MIN : most;
	if (p->percent > 50)
		next = LOOK_MIN;
	else if (p->percent > 25)
		next = before / 2;
	else if (p->percent < 12)
		next = before + before / 4 + 1000;
	return next > most ? most : next < LOOK_MIN ? LOOK_MIN : next;
}

/* With the lock: waits until something is asked for, or the time. Fills asked; false: nothing was. */
static bool wait_asked(struct output *o, uint64_t until, bool *asked, uint64_t *upto)
{
	struct timespec ts = { (time_t)(until / 1000000000), (long)(until % 1000000000) };
	bool some = false;

	for (;;) {
		for (int i = 0; i < OUTPUT_ASKS; i++) {
			asked[i] = o->asked[i] > o->done[i];
			upto[i] = o->asked[i];
			some = some || asked[i];
		}
		if (some || o->quit || o->nudged) {
			o->nudged = false;
			return some;
		}
		if (until == UINT64_MAX)
			pthread_cond_wait(&o->asking, &o->lock);
		else if (pthread_cond_timedwait(&o->asking, &o->lock, &ts) == ETIMEDOUT)
			return false;
	}
}

/* A rotation that the schedule wants: then it is as if somebody had asked for it. With the lock. */
static void schedule(struct output *o, uint64_t now, uint64_t *rotate_at, const struct session_info *info)
{
	bool due = info->rotate_size && o->chunk_bytes >= info->rotate_size;
	uint64_t period = info->rotate_period * 1000;

	if (!period || !info->active)
		*rotate_at = UINT64_MAX;
	else if (*rotate_at == UINT64_MAX || *rotate_at > now + period)
		*rotate_at = now + period;
	else if (now >= *rotate_at) {
		*rotate_at = now + period;
		due = true;
	}
	if (due && o->asked[OUTPUT_ROTATE] == o->done[OUTPUT_ROTATE]) {
		o->asked[OUTPUT_ROTATE]++;
		o->rotating = true;
	}
}

static void *run(void *arg)
{
	struct output *o = arg;
	uint64_t upto[OUTPUT_ASKS], sleep = LOOK_MIN, active_at = output_now(), rotate_at = UINT64_MAX, until, now;
	bool asked[OUTPUT_ASKS], quit = false, some;
	struct session *s = o->s;
	struct session_info info;
	struct pressure p = { 0 };
	int err;

	/* Before other busy threads: when it comes too late, events are lost. Not everybody may. */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), -10);
	while (!quit) {
		session_info(s, &info);
		now = output_now();
		if (p.some)
			active_at = now;
		sleep = pause_of(o, &p, sleep, now - active_at > IDLE);
		pthread_mutex_lock(&o->lock);
		schedule(o, now, &rotate_at, &info);
		until = o->error ? now + AGAIN : info.active ? now + sleep : UINT64_MAX;
		some = wait_asked(o, until < rotate_at ? until : rotate_at, asked, upto);
		quit = o->quit;
		pthread_mutex_unlock(&o->lock);
		if (quit)
			break;
		if (some) {
			serve(o, asked, &p);
			quit = asked[OUTPUT_FINISH];
		} else {
			err = pass(o, !info.active, &p);
			output_note(o, err);
		}
		pthread_mutex_lock(&o->lock);
		for (int i = 0; i < OUTPUT_ASKS; i++)
			o->done[i] = asked[i] && some ? upto[i] : o->done[i];
		o->ended = quit;
		pthread_cond_broadcast(&o->answered);
		pthread_mutex_unlock(&o->lock);
	}
	pthread_mutex_lock(&o->lock);
	o->ended = true;
	pthread_cond_broadcast(&o->answered);
	pthread_mutex_unlock(&o->lock);
	session_put(s);
	return NULL;
}

/* ---- what others ask of it ---- */

static bool wait_for(struct output *o, const bool *done, enum output_ask what, uint64_t number, unsigned int ms)
{
	uint64_t until = output_now() + ms * MS;
	struct timespec ts = { (time_t)(until / 1000000000), (long)(until % 1000000000) };

	while (!o->ended && !(done ? *done : o->done[what] >= number))
		if (pthread_cond_timedwait(&o->answered, &o->lock, &ts) == ETIMEDOUT)
			return false;
	return true;
}

/* True: it was done, or tried. */
static bool ask(struct output *o, enum output_ask what, unsigned int ms)
{
	bool done;

	pthread_mutex_lock(&o->lock);
	o->asked[what]++;
	if (what == OUTPUT_ROTATE)
		o->rotating = true;
	pthread_cond_signal(&o->asking);
	done = wait_for(o, NULL, what, o->asked[what], ms);
	pthread_mutex_unlock(&o->lock);
	return done;
}

/* The session's output if its thread runs. It stays while the session is referenced. */
static struct output *running(struct session *s)
{
	struct output *o;

	pthread_mutex_lock(&s->tracer->lock);
	o = output_runs(s) ? s->output : NULL;
	pthread_mutex_unlock(&s->tracer->lock);
	return o;
}

bool output_flush(struct session *s)
{
	struct output *o = running(s);
	bool done;

	if (!o)
		return !s->tracer->only_unwritten;
	done = ask(o, OUTPUT_FLUSH, 300);
	pthread_mutex_lock(&o->lock);
	done = done && !o->error;
	pthread_mutex_unlock(&o->lock);
	return done;
}

int output_stopped(struct session *s)
{
	struct output *o = running(s);
	int err = 0;

	if (!o || !ask(o, OUTPUT_SYNC, 800))
		return 0;
	pthread_mutex_lock(&o->lock);
	if (o->error && o->pending)
		err = o->error == -ENOSPC || o->error == -EDQUOT ? o->error : -EIO;
	pthread_mutex_unlock(&o->lock);
	return err;
}

void output_finish(struct session *s)
{
	struct output *o = running(s);
	uint64_t pending;

	if (!o)
		return;
	if (!ask(o, OUTPUT_FINISH, 10000))
		tracer_report(s->tracer, "session %s: the output does not take what is left", s->name);
	pthread_mutex_lock(&o->lock);
	o->quit = true;
	pending = o->error ? o->pending : 0;
	pthread_mutex_unlock(&o->lock);
	if (pending)
		tracer_report(s->tracer, "session %s: %llu bytes could not be written before it ended", s->name,
			      (unsigned long long)pending);
}

void output_suspend(struct session *s)
{
	struct output *o = running(s);

	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	o->quit = true;
	pthread_cond_signal(&o->asking);
	wait_for(o, &o->ended, 0, 0, 5000);
	pthread_mutex_unlock(&o->lock);
}

int output_clear_verb(struct session *s, struct tr_err *err)
{
	struct output *o = running(s);

	(void)err;
	if (o)
		ask(o, OUTPUT_CLEAR, 800);
	return 0;
}

int output_metadata_verb(struct session *s, struct tr_err *err)
{
	struct output *o = running(s);

	(void)err;
	if (o)
		ask(o, OUTPUT_METADATA, 800);
	return 0;
}

int output_rotate_verb(struct session *s, struct tr_err *err)
{
	struct output *o = running(s);
	int ret = 0;

	if (o && ask(o, OUTPUT_ROTATE, 800)) {
		pthread_mutex_lock(&o->lock);
		ret = o->rotate_error;
		pthread_mutex_unlock(&o->lock);
	}
	return ret ? tr_fail(err, ret, "the chunk cannot be moved to the archives: %s", strerror(-ret)) : 0;
}

/* ---- its life: with the tracer's lock ---- */

static int start_thread(struct output *o)
{
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	session_ref(o->s);
	err = -pthread_create(&o->thread, &attr, run, o);
	pthread_attr_destroy(&attr);
	if (err)
		__atomic_fetch_sub(&o->s->refs, 1, __ATOMIC_RELAXED);   /* the caller has another */
	return err;
}

static int open_state(struct output *o)
{
	struct session *s = o->s;
	int dir = openat(s->tracer->sessions_fd, s->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err;

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
	if (o->dir < 0)
		return -ENOENT;
	o->head = (struct checkpoint_head){ .magic = CHECKPOINT_MAGIC, .dev = o->dev, .ino = o->ino, .begin = wall_clock() };
	return checkpoint_head_put(o->state, &o->head);
}

int output_start(struct session *s, struct tr_err *err)
{
	struct output *o = s->output;
	struct channel *c;
	int ret;

	if (!o || o->started)
		return 0;
	cred_deinit(&o->cred);
	ret = cred_of(s->uid, s->gid, &o->cred);
	o->mode = 0700 | (s->mode & 0055);
	if (!ret)
		ret = open_state(o);
	if (!ret && !o->sync && !(o->sync = syncgroup_create()))
		ret = -ENOMEM;
	if (!ret && o->dir >= 0)
		ret = trace_dirs_expect(o);
	cds_list_for_each_entry(c, &s->channels, node) {
		o->kernel = o->kernel || c->kernel;
		if (c->read_period && (!o->look || c->read_period * 1000 < o->look))
			o->look = c->read_period * 1000;
	}
	o->chunk = o->head.chunk;
	o->archives = o->head.archives;
	if (o->head.archives)
		memcpy(o->archive, o->head.archive, sizeof(o->archive));
	/* An earlier daemon's is looked at, whether anything is recorded now or not. */
	pthread_mutex_lock(&o->lock);
	o->inherited = o->nudged = o->dir < 0;
	pthread_mutex_unlock(&o->lock);
	if (!ret)
		ret = start_thread(o);
	o->started = !ret;
	return ret ? tr_fail(err, ret, "the output cannot be begun: %s", strerror(-ret)) : 0;
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
		stream_writer_destroy(o->streams[i]);
	free(o->streams);
	while (o->traces) {
		struct trace_dir *t = o->traces;

		o->traces = t->next;
		trace_dir_destroy(t);
	}
	if (o->dir >= 0)
		close(o->dir);
	if (o->state >= 0)
		close(o->state);
	syncgroup_put(o->sync);
	cred_deinit(&o->cred);
	pthread_cond_destroy(&o->asking);
	pthread_cond_destroy(&o->answered);
	pthread_mutex_destroy(&o->lock);
	free(o->path);
	free(o);
	s->output = NULL;
}
