/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer: the thread of an output. It wakes before a ring can fill, or when output.c requests
 * something, and writes the packets of all rings where the sink has its place for them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/kernel/kernel.h"
#include "tracer/output/output.h"
#include "tracer/session/streams.h"

#define MS UINT64_C(1000000)
#define RETRY_PAUSE (200 * MS)        /* after an error */
#define DRAIN_PERIOD (10 * MS)   /* between reads of the kernel's buffers */
#define PAUSE_MIN (MS / 5)
#define PAUSE_MAX (50 * MS)
#define PAUSE_EMPTY (2 * MS)      /* no ring has an event yet */
#define IDLE_AFTER (1000 * MS)        /* since the last event */

static void report_change(struct session *s)
{
	pthread_mutex_lock(&s->tracer->lock);
	session_changed(s);
	pthread_mutex_unlock(&s->tracer->lock);
}

static void note_error(struct output *o, int error)
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
	session_report(o->s,
		       error ? "output: %s; recording continues until the buffers are full"
			     : "output: %s",
		       error ? output_explain(o, error) : "written again");
	report_change(o->s);
}

void output_count_step(struct output *o)
{
	pthread_mutex_lock(&o->lock);
	o->step += o->step < o->steps;
	pthread_mutex_unlock(&o->lock);
}

/* Sets the number of steps of the requests that are being served; 0: none. */
static void set_steps(struct output *o, uint64_t steps)
{
	pthread_mutex_lock(&o->lock);
	o->step = 0;
	o->steps = steps;
	pthread_mutex_unlock(&o->lock);
}

static uint64_t hash_stream_name(const struct stream *st)
{
	uint64_t h = hash_string(HASH_START ^ st->class->id, st->trace->path);

	h = hash_string(hash_step(h, '/'), st->file);
	return h ? h : 1;
}

/* The earlier daemon may have been killed after its checkpoint, before the ring said the same. */
static void catch_up(struct stream_writer *writer)
{
	const struct trail_ring *ring = region_ring(writer->st.region, writer->st.ring);

	if (__atomic_load_n(&ring->consumed, __ATOMIC_RELAXED) < writer->at.pos &&
	    writer->at.pos <= region_head(writer->st.region, writer->st.ring))
		stream_writer_consume(writer, 0);
}

/* Finds the stream's checkpoint slot of an earlier daemon, or takes a new one. */
static int take_slot(struct output *o, struct stream_writer *writer)
{
	uint64_t name = hash_stream_name(&writer->st);
	struct checkpoint_slot old;
	int err;

	for (writer->slot = 0; !(err = checkpoint_slot_get(o->state, writer->slot, &old));
	     writer->slot++) {
		if (old.name != name)
			continue;
		if (old.key == writer->at.key && old.ring == writer->at.ring) {
			writer->at = old;
			catch_up(writer);
			return o->sink->restore(o, writer, false);
		}
		/* The region is lost, but its files exist: continue them with the new region. */
		old.key = writer->at.key;
		old.ring = writer->at.ring;
		old.pos = old.events = 0;
		old.lost_before = old.lost;
		writer->at = old;
		return o->sink->restore(o, writer, false);
	}
	if (err != -ENOENT)
		return err;
	/* No earlier daemon has written this stream. */
	writer->at.name = name;
	err = o->sink->restore(o, writer, true);
	return err ? err : checkpoint_slot_put(o->state, writer->slot, &writer->at);
}

static int add_stream(struct output *o, const struct stream *st)
{
	struct stream_writer *writer = o->sink->add(o, st);
	int err;

	if (!writer)
		return -ENOMEM;
	err = array_room(o->streams, o->count + 1) ? take_slot(o, writer) : -ENOMEM;
	if (err) {
		o->sink->remove(o, writer);
		return err;
	}
	writer->seen = true;
	ring_mark(&writer->st, &writer->mark);
	o->streams[o->count++] = writer;
	return 0;
}

static struct stream_writer *find_stream(struct output *o, const struct stream *st, size_t hint)
{
	for (size_t i = 0; i < o->count; i++) {
		struct stream_writer *writer = o->streams[(hint + i) % o->count];

		if (writer->st.region == st->region && writer->st.ring == st->ring)
			return writer;
	}
	return NULL;
}

/*
 * Adds new streams, removes those of removed channels, and sets the mark of each; only_new: of the
 * new ones. With the owner's rights.
 */
static int mark_streams(struct output *o, const struct stream_set *set, bool only_new)
{
	int err = 0;

	for (size_t i = 0; i < o->count; i++)
		o->streams[i]->seen = false;
	for (size_t i = 0; i < set->count && !err; i++) {
		struct stream_writer *writer = find_stream(o, &set->streams[i], i);

		if (writer)
			writer->seen = true;
		else
			err = add_stream(o, &set->streams[i]);
	}
	/*
	 * Remove streams whose channels were removed: from the list first, which the sink may read.
	 */
	for (size_t i = 0; i < o->count && !err;) {
		struct stream_writer *writer = o->streams[i];

		if (writer->seen) {
			i++;
			continue;
		}
		memmove(&o->streams[i], &o->streams[i + 1],
			(--o->count - i) * sizeof(*o->streams));
		o->sink->remove(o, writer);
	}
	for (size_t i = 0; i < o->count && !only_new; i++)
		ring_mark(&o->streams[i]->st, &o->streams[i]->mark);
	return err;
}

struct pressure {
	unsigned int percent;   /* of the fullest ring */
	uint64_t capacity;      /* of the smallest ring, bytes */
	uint64_t pending;       /* in all rings after the pass, bytes */
	bool some;              /* events were recorded since the last pass */
};

static void measure_pressure(const struct stream_writer *writer, struct pressure *p)
{
	const struct region_geometry *g = &writer->st.region->geo;
	uint64_t capacity = g->subbuf_size * (g->subbuf_count - 1),
		 full = stream_writer_pending(writer);

	if (!p->capacity || capacity < p->capacity)
		p->capacity = capacity;
	if (100 * full / capacity > p->percent)
		p->percent = (unsigned int)(100 * full / capacity);
}

static int write_stream(struct output *o, struct stream_writer *writer, bool all, uint64_t now)
{
	uint64_t size = writer->st.region->geo.subbuf_size, pos = writer->at.pos;
	bool due = all, whole = writer->mark.head / size > (pos > size ? pos : size) / size;

	if (writer->switch_period && now - writer->switched >= writer->switch_period) {
		writer->switched = now;
		due = true;
	}
	if (!whole &&
	    !(due && (writer->mark.head > pos ||
		      writer->at.lost_before + writer->mark.lost > writer->at.lost)))
		return 0;
	return o->sink->write(o, writer, due);
}

/*
 * In a live session, readers must know a stream before they get later events of others: after the
 * marks, the streams of all events up to the marks are taken up, too. Nothing touches files here.
 */
static int look_live(struct output *o, struct stream_set *set)
{
	uint64_t now;
	int err = session_look(o->s, NULL, set, &o->looked);

	err = err ? err : mark_streams(o, set, false);
	stream_set_deinit(set);
	*set = (struct stream_set){ 0 };
	return err ? err : session_look(o->s, NULL, set, &now);
}

/* One pass over all streams. all: up to the last event, not only full sub-buffers. */
static int write_streams(struct output *o, bool all, struct pressure *p)
{
	struct stream_set set = { 0 };
	uint64_t now = monotonic_now();
	int err, one;

	*p = (struct pressure){ 0 };
	if (all || (o->kernel && now - o->drained >= DRAIN_PERIOD)) {
		o->drained = now;
		kernel_drain(o->s);
	}
	err = o->live_period ? look_live(o, &set) : session_streams(o->s, NULL, &set);
	if (!err && o->sink->open)
		err = o->sink->open(o);
	if (err) {
		stream_set_deinit(&set);
		return err;
	}
	err = cred_enter(&o->cred);
	if (!err)
		err = mark_streams(o, &set, o->live_period);
	if (!err)
		err = o->sink->begin(o);
	stream_set_deinit(&set);
	/* A rotation processes each stream a second time, and then moves the directories. */
	set_steps(o, all ? (o->rotates ? 2 : 1) * o->count + 1 : 0);
	for (size_t i = 0; i < o->count; i++) {
		struct stream_writer *writer = o->streams[i];
		uint64_t pos = writer->at.pos;

		if (i)
			output_count_step(o);
		one = all && o->sink->check ? o->sink->check(o, writer) : 0;
		err = err ? err : one;
		measure_pressure(writer, p);
		one = write_stream(o, writer, all, now);
		err = err ? err : one;
		p->some = p->some || writer->at.pos != pos || writer->mark.head > writer->at.pos;
		p->pending += o->net ? 0 : stream_writer_pending(writer);
	}
	one = o->sink->end_pass(o, all);
	err = err ? err : one;
	/* Only now is it known what the relay has. */
	for (size_t i = 0; i < o->count && o->net; i++)
		p->pending += stream_writer_pending(o->streams[i]);
	cred_leave(&o->cred);
	pthread_mutex_lock(&o->lock);
	o->pending = p->pending;
	pthread_mutex_unlock(&o->lock);
	return err;
}

static void clear_output(struct output *o)
{
	int err = o->sink->clear(o);

	pthread_mutex_lock(&o->lock);
	o->clear_error = err;
	pthread_mutex_unlock(&o->lock);
}

static void begin_rotation(struct output *o)
{
	pthread_mutex_lock(&o->lock);
	o->rotations++;
	pthread_mutex_unlock(&o->lock);
	report_change(o->s);
}

/* Serves all requests made so far, in an order that suits all of them. */
static void serve_requests(struct output *o, const bool *asked, struct pressure *p)
{
	bool rotated_once = o->head.archives > 0;
	int err;

	o->rotates = asked[OUTPUT_ROTATE];
	if (asked[OUTPUT_METADATA])
		o->sink->regenerate(o);
	if (asked[OUTPUT_CLEAR])
		clear_output(o);
	err = write_streams(o, true, p);
	note_error(o, err);
	if (asked[OUTPUT_ROTATE] || (asked[OUTPUT_FINISH] && rotated_once && !o->sink->finish)) {
		begin_rotation(o);
		err = o->sink->rotate(o);
		pthread_mutex_lock(&o->lock);
		o->rotate_error = err;
		o->rotating = false;
		pthread_mutex_unlock(&o->lock);
		report_change(o->s);
	}
	if ((asked[OUTPUT_SYNC] || asked[OUTPUT_FINISH]) && o->sink->sync &&
	    !cred_enter(&o->cred)) {
		o->sink->sync(o);
		cred_leave(&o->cred);
	}
	if (asked[OUTPUT_FINISH] && o->sink->finish)
		o->sink->finish(o);
	set_steps(o, 0);
}

/* The time until the next pass, ns: no ring may fill until then. */
static uint64_t next_pause(struct output *o, const struct pressure *p, uint64_t before, bool idle)
{
	uint64_t most, next = before;

	if (o->read_period)
		return o->read_period;
	/* The first ring wakes the writer. It may be full soon after its first use. */
	if (!p->capacity)
		return o->kernel || __atomic_load_n(&o->s->buffers_version, __ATOMIC_RELAXED)
			       ? PAUSE_EMPTY
			       : PAUSE_MAX;
	/*
	 * The time in which a writer at full speed, 750 MB/s, fills the smallest ring, ns; half of
	 * that unless the session is idle.
	 */
	most = p->capacity * 4 / 3 / (idle ? 1 : 2);
	most = most > PAUSE_MAX ? PAUSE_MAX : most < PAUSE_MIN ? PAUSE_MIN : most;
	if (p->percent > 50)
		next = PAUSE_MIN;
	else if (p->percent > 25)
		next = before / 2;
	else if (p->percent < 12)
		next = before + before / 4 + 1000;
	return next > most ? most : next < PAUSE_MIN ? PAUSE_MIN : next;
}

/*
 * Waits until something is requested or `until`. Fills asked; false: no request. Caller holds
 * output.lock.
 */
static bool wait_request(struct output *o, uint64_t until, bool *asked, uint64_t *upto)
{
	struct timespec ts = { (time_t)(until / 1000000000), (long)(until % 1000000000) };
	bool some = false;

	for (;;) {
		for (int i = 0; i < OUTPUT_REQUESTS; i++) {
			asked[i] = o->asked[i] > o->done[i];
			upto[i] = o->asked[i];
			some = some || asked[i];
		}
		if (some || o->quit || o->wake) {
			o->wake = false;
			return some;
		}
		if (until == UINT64_MAX)
			pthread_cond_wait(&o->requested, &o->lock);
		else if (pthread_cond_timedwait(&o->requested, &o->lock, &ts) == ETIMEDOUT)
			return false;
	}
}

/* Requests a rotation if the session's limits ask for one. Caller holds output.lock. */
static void schedule_rotation(struct output *o, uint64_t now, uint64_t *rotate_at,
		     const struct session_info *info)
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

void *output_run(void *arg)
{
	struct output *o = arg;
	uint64_t upto[OUTPUT_REQUESTS], sleep = PAUSE_MIN, active_at = monotonic_now(),
				    rotate_at = UINT64_MAX, until, now;
	bool asked[OUTPUT_REQUESTS], quit = false, some;
	struct session *s = o->s;
	struct session_info info;
	struct pressure p = { 0 };
	int err;

	/*
	 * Run before other busy threads, if permitted: if this thread runs late, events are lost.
	 */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), -10);
	while (!quit) {
		session_info(s, &info);
		now = monotonic_now();
		if (p.some)
			active_at = now;
		sleep = next_pause(o, &p, sleep, now - active_at > IDLE_AFTER);
		pthread_mutex_lock(&o->lock);
		o->seen = info;
		schedule_rotation(o, now, &rotate_at, &info);
		until = o->error ? now + RETRY_PAUSE : info.active ? now + sleep : UINT64_MAX;
		some = wait_request(o, until < rotate_at ? until : rotate_at, asked, upto);
		quit = o->quit;
		pthread_mutex_unlock(&o->lock);
		if (quit)
			break;
		if (some) {
			serve_requests(o, asked, &p);
			quit = asked[OUTPUT_FINISH];
		} else {
			err = write_streams(o, !info.active, &p);
			note_error(o, err);
		}
		pthread_mutex_lock(&o->lock);
		for (int i = 0; i < OUTPUT_REQUESTS; i++)
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
