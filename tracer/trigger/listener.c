// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread that looks at the rings of conditions about events, each millisecond while there is
 * one, and less often if a look takes long: it uses at most a twentieth of a CPU. Every hit is
 * counted. Of many hits at once, only some are printed; the others are lost notifications.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "metadata/text.h"
#include "tracer/ring/reader.h"
#include "tracer/trigger/event.h"
#include "tracer/view/merge.h"

#define PERIOD UINT64_C(1000000)        /* ns between two looks */
#define SHARE 20                        /* a look may take 1 / SHARE of the time */
#define PRINTED_MAX 256u                /* hits of one look whose actions are executed one by one */
#define DECODED_MAX 16384u              /* events of one look that are decoded */
#define HITS_MAX (UINT64_C(1) << 32)    /* of one look; more is what a hostile writer says */

struct event_values {
	struct values values;           /* first */
	const struct condition *condition;
	const char *line;               /* the event's text */
};

static void print_event(const struct values *v, bool json, struct md_buf *out)
{
	const struct event_values *e = (const struct event_values *)v;

	captures_print(e->condition, e->line, json, out);
}

/* ---- the rings ---- */

/* Hits of a ring since the last look. */
static uint64_t new_hits(const struct stream *st, const struct ring_mark *m)
{
	const struct trail_ring *ring = region_ring(st->region, st->ring);
	uint64_t seen = __atomic_load_n(&ring->cleared_events, __ATOMIC_RELAXED), n;

	n = m->events > seen ? m->events - seen : 0;
	n = n < HITS_MAX ? n : HITS_MAX;
	return n + (m->lost < HITS_MAX ? m->lost : HITS_MAX);
}

/* What the mark has was looked at. Only this thread stores these words. */
static void pass_ring(const struct stream *st, const struct ring_mark *m)
{
	struct trail_ring *ring = region_ring(st->region, st->ring);

	__atomic_store_n(&ring->cleared_events, m->events, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->cleared_lost, ring_cleared_lost(st) + m->lost, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->cleared_ts, m->last_ts, __ATOMIC_RELAXED);
	/* Pairs with the acquire in ring_oldest. */
	__atomic_store_n(&ring->cleared, m->head, __ATOMIC_RELEASE);
	/* Pairs with the writers' acquire load before they use a sub-buffer again. */
	__atomic_store_n(&ring->consumed, m->head, __ATOMIC_RELEASE);
}

static bool is_new(const struct stream_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct stream *st = &set->streams[i];
		const struct trail_ring *ring = region_ring(st->region, st->ring);

		if (region_head(st->region, st->ring) !=
		    __atomic_load_n(&ring->cleared, __ATOMIC_RELAXED) ||
		    ring_lost_total(st) != ring_cleared_lost(st))
			return true;
	}
	return false;
}

/* ---- hits ---- */

/* Locked. The events that the rings hold, in order; returns how many hits they were. */
static uint64_t hit_events(struct trigger *g, struct session *s, struct merge *m, uint64_t most)
{
	struct event_values v = { { print_event }, &g->condition, NULL };
	uint64_t offset = session_clock_offset(s), hits = 0, printed = 0;
	struct md_buf line = MD_BUF_INIT;
	struct md_text text;
	struct cursor *c;

	md_text_init(&text, offset, "");
	while (hits < most && hits < DECODED_MAX && printed < PRINTED_MAX &&
	       (c = merge_top(m, UINT64_MAX))) {
		if (trigger_due(g)) {
			md_buf_reset(&line);
			md_text_event(&text, &c->o, c->stream.class, c->stream.cpu, &line);
			v.line = md_buf_str(&line);
			printed++;
		}
		trigger_hit(g, (int64_t)(offset + c->o.ts), &v.values);
		hits++;
		merge_next(m);
	}
	md_buf_deinit(&line);
	return hits;
}

/* Without lock. */
static void take_hits(struct trigger *g, struct session *s, uint64_t version,
		      struct stream_set *set)
{
	struct triggers *all = g->tracer->triggers;
	struct merge *m = merge_create();
	uint64_t hits = 0, seen;

	if (!m || merge_look(m, set, &g->tracer->clock)) {
		merge_destroy(m);
		return;                 /* no memory: the next look sees the same hits */
	}
	for (size_t i = 0; i < m->count; i++)
		hits += new_hits(&m->cursors[i]->stream, &m->cursors[i]->mark);
	pthread_mutex_lock(&all->lock);
	if (g->version == version && g->enabled && !g->gone && hits) {
		seen = hit_events(g, s, m, hits);
		if (hits > seen)
			trigger_hit_many(g, hits - seen, trigger_now());
	}
	pthread_mutex_unlock(&all->lock);
	for (size_t i = 0; i < m->count; i++)
		pass_ring(&m->cursors[i]->stream, &m->cursors[i]->mark);
	merge_destroy(m);
	tracer_changed(g->tracer, g->name);
}

static void look(struct trigger *g, struct session *s, uint64_t version)
{
	struct stream_set set = { 0 };

	if (!session_streams(s, NULL, &set) && is_new(&set))
		take_hits(g, s, version, &set);
	stream_set_deinit(&set);
}

/* ---- the thread ---- */

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Locked; releases the lock while it looks. False: there are no such triggers. */
static bool look_at_all(struct triggers *all)
{
	struct trigger *g, *next;
	bool some = false;

	g = cds_list_empty(&all->list) ? NULL
				       : cds_list_first_entry(&all->list, struct trigger, node);
	if (g)
		g->refs++;
	while (g) {
		if (g->events && g->enabled && !g->gone) {
			struct session *s = session_ref(g->events);
			uint64_t version = g->version;

			some = true;
			pthread_mutex_unlock(&all->lock);
			look(g, s, version);
			session_put(s);
			pthread_mutex_lock(&all->lock);
		}
		/* One that was removed meanwhile is in no list: begin again at the next look. */
		next = g->gone || g->node.next == &all->list ? NULL :
		       cds_list_entry(g->node.next, struct trigger, node);
		if (next)
			next->refs++;
		some = some || g->gone;
		pthread_mutex_unlock(&all->lock);
		trigger_put(g);
		pthread_mutex_lock(&all->lock);
		g = next;
	}
	return some;
}

static void *run(void *arg)
{
	struct triggers *all = ((struct tracer *)arg)->triggers;
	uint64_t began, took, until;
	struct timespec ts;

	pthread_mutex_lock(&all->lock);
	while (!all->closing) {
		all->listener_nudged = false;
		began = now();
		if (!look_at_all(all)) {
			while (!all->listener_nudged && !all->closing)
				pthread_cond_wait(&all->listener_nudge, &all->lock);
			continue;
		}
		took = now() - began;
		until = began + took + (took * SHARE > PERIOD ? took * SHARE : PERIOD);
		ts = (struct timespec){ (time_t)(until / 1000000000), (long)(until % 1000000000) };
		if (!all->closing)
			pthread_cond_timedwait(&all->listener_nudge, &all->lock, &ts);
	}
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

void listener_nudge(struct triggers *all)
{
	all->listener_nudged = true;
	if (all->listens)
		pthread_cond_signal(&all->listener_nudge);
}

void listener_start(struct tracer *t)
{
	struct triggers *all = t->triggers;
	pthread_condattr_t clock;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&all->listener_nudge, &clock);
	pthread_condattr_destroy(&clock);
	all->listens = pthread_create(&all->listener, NULL, run, t) == 0;
	if (!all->listens)
		tracer_report(t, "no thread for triggers: conditions about events are never true");
}

/* After engine_stop, which has set `closing`. */
void listener_stop(struct triggers *all)
{
	pthread_mutex_lock(&all->lock);
	if (all->listens)
		pthread_cond_signal(&all->listener_nudge);
	pthread_mutex_unlock(&all->lock);
	if (all->listens)
		pthread_join(all->listener, NULL);
	all->listens = false;
	pthread_cond_destroy(&all->listener_nudge);
}
