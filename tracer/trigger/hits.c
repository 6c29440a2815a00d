// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From what rings count to hits of a trigger. Every hit is counted. Of many hits at once, only some
 * are printed; the others are lost notifications.
 */
#include "tracer/base/ring/reader.h"
#include "tracer/trigger/event.h"
#include "tracer/trigger/listener.h"
#include "tracer/view/merge.h"

#define PRINTED_MAX 256u                /* hits of one look whose actions are executed one by one */
#define DECODED_MAX 16384u              /* events of one look that are decoded */
#define HITS_MAX (UINT64_C(1) << 32)    /* of one look; more is what a hostile writer says */
#define MARKS_MAX 64u                   /* rings whose hits are counted without their events */

struct event_values {
	struct values values;           /* first */
	const struct condition *condition;
	const struct cursor *c;         /* at the event */
};

static void print_event(const struct values *v, bool json, struct md_buf *out)
{
	const struct event_values *e = (const struct event_values *)v;

	captures_print(e->condition, e->c->stream.class, &e->c->o, json, out);
}

/* ---- the rings ---- */

/* Hits of a ring since the last look. */
static uint64_t new_hits(const struct stream *st, const struct ring_mark *m)
{
	const struct trail_ring *ring = region_ring(st->region, st->ring);
	uint64_t seen = __atomic_load_n(&ring->cleared_events, __ATOMIC_RELAXED), n;

	n = m->events > seen ? m->events - seen : 0;
	n = n < HITS_MAX ? n : HITS_MAX;
	if (st->trace->uid == KERNEL_UID)
		return n;               /* the rest was lost before a filter saw it */
	return n + (m->lost < HITS_MAX ? m->lost : HITS_MAX);
}

/* Locked. Counts events that the kernel's buffer, or the daemon, lost since the last look. */
static void count_losses(struct trigger *trigger, const struct stream *st,
			 const struct ring_mark *m)
{
	struct trail_ring *ring = region_ring(st->region, st->ring);
	uint64_t n;

	if (st->trace->uid != KERNEL_UID)
		return;
	n = m->lost + __atomic_exchange_n(&ring->source_overwritten, 0, __ATOMIC_RELAXED);
	if (!n)
		return;
	trigger->events_lost += n;
	trigger->unsaved = true;
	trigger_changed(trigger);
}

bool stream_has_hits(const struct stream *st)
{
	const struct trail_ring *ring = region_ring(st->region, st->ring);

	return region_head(st->region, st->ring) !=
		       __atomic_load_n(&ring->cleared, __ATOMIC_RELAXED) ||
	       ring_lost_total(st) != ring_cleared_lost(st) ||
	       (st->trace->uid == KERNEL_UID &&
		__atomic_load_n(&ring->source_overwritten, __ATOMIC_RELAXED));
}

/* ---- hits ---- */

/* When the event at `ts` of the trigger's ring happened. */
static struct hit_time time_of(const struct listened *l, uint64_t ts)
{
	return (struct hit_time){
		.wall = (int64_t)(session_clock_offset(l->session) + ts), .ts = ts,
		.kernel = l->trigger->condition.domain == DOMAIN_KERNEL,
	};
}

/* An action counts from the event's time in its session: the event has to be looked for there. */
static bool wants_event(const struct trigger *trigger)
{
	for (size_t i = 0; i < trigger->action_count; i++)
		if (trigger->actions[i].snapshot.last || trigger->actions[i].snapshot.after)
			return true;
	return false;
}

enum next_hit trigger_expects(const struct trigger *trigger)
{
	if (trigger_due(trigger))
		return HIT_NEXT;
	for (size_t i = 0; i < trigger->action_count; i++)
		if (!trigger->actions[i].once ||
		    !action_count_due(&trigger->actions[i], trigger->hits))
			return HIT_LATER;
	return HIT_NEVER;
}

/* Of hits whose events are not read: the newest. */
static struct hit_time newest_time(const struct listened *l, const struct merge *m)
{
	uint64_t ts = 0;

	for (size_t i = 0; i < m->count; i++)
		ts = m->cursors[i]->mark.last_ts > ts ? m->cursors[i]->mark.last_ts : ts;
	return time_of(l, ts);
}

/* Locked. The events that the rings hold, in order; returns how many hits they were. */
static uint64_t hit_events(const struct listened *l, struct merge *m, uint64_t most)
{
	struct trigger *trigger = l->trigger;
	struct event_values v = { { print_event }, &trigger->condition, NULL };
	bool wanted = wants_event(trigger);
	uint64_t hits = 0, printed = 0;
	struct hit_time time;
	struct cursor *c;

	while (hits < most && hits < DECODED_MAX && printed < PRINTED_MAX &&
	       (c = merge_top(m, UINT64_MAX))) {
		printed += trigger_due(trigger);
		v.c = c;
		time = time_of(l, c->o.ts);
		time.event = wanted && trigger_due(trigger) ? snapshot_event(&c->o) : 0;
		trigger_hit(trigger, time, &v.values);
		hits++;
		merge_next(m);
	}
	return hits;
}

/* Locked. One of the next n hits executes an action. */
static bool is_due_within(const struct trigger *trigger, uint64_t n)
{
	for (size_t i = 0; i < trigger->action_count; i++)
		if (action_count_due(&trigger->actions[i], trigger->hits + n) !=
		    action_count_due(&trigger->actions[i], trigger->hits))
			return true;
	return false;
}

/* Locked. The condition is still that of the rings. */
static bool is_current(const struct listened *l)
{
	const struct trigger *trigger = l->trigger;

	return trigger->version == l->version && trigger->enabled && !trigger->gone;
}

/*
 * Locked. The only hit of these rings, if no more than its time has to be known: the condition
 * captures nothing, or nothing reads notifications; and no action looks for the event in its
 * session. False: its event has to be read.
 */
static bool take_one(const struct listened *l, const struct stream_set *set,
		     const struct ring_mark *marks)
{
	struct trigger *trigger = l->trigger;
	uint64_t ts = clock_now(&trigger->tracer->clock);

	if ((trigger->condition.capture_count && trigger->reader_count) || wants_event(trigger))
		return false;
	for (size_t i = 0; i < set->count; i++) {
		if (!new_hits(&set->streams[i], &marks[i]))
			continue;
		if (marks[i].lost)
			return false;
		ts = marks[i].last_ts < ts ? marks[i].last_ts : ts;
	}
	trigger_hit(trigger, time_of(l, ts), &no_values);
	return true;
}

/*
 * Locked; releases the lock. Executes what hits have queued. They are in the state directory before
 * an action changes a session. Readers of notifications do not wait for that: the next daemon takes
 * hits that are still in the rings again.
 */
static void execute_hits(struct trigger *trigger)
{
	struct triggers *all = triggers_of(trigger->tracer);

	if (trigger->unsaved && all->runners_due)
		counters_save(trigger);
	pthread_mutex_unlock(&all->lock);
	runners_halt(all);
	notices_serve(all);
	pthread_mutex_lock(&all->lock);
	if (trigger->unsaved)
		counters_save(trigger);
	pthread_mutex_unlock(&all->lock);
	tracer_counted(trigger->tracer);
}

/*
 * Takes the hits of the rings without a look at their events, if they execute no action, or it is
 * only one and nothing wants its values. False: none was taken.
 */
static bool count_hits(const struct listened *l, const struct stream_set *set, uint64_t *hits)
{
	struct trigger *trigger = l->trigger;
	struct ring_mark marks[MARKS_MAX];
	bool counted = true;

	*hits = 0;
	if (set->count > MARKS_MAX)
		return false;
	for (size_t i = 0; i < set->count; i++) {
		ring_mark(&set->streams[i], &marks[i]);
		*hits += new_hits(&set->streams[i], &marks[i]);
	}
	pthread_mutex_lock(&triggers_of(trigger->tracer)->lock);
	if (is_current(l) && is_due_within(trigger, *hits))
		counted = *hits == 1 && take_one(l, set, marks);
	else if (is_current(l) && *hits)
		trigger_hit_many(trigger, *hits, hit_time_now(trigger->tracer));
	if (!counted) {
		pthread_mutex_unlock(&triggers_of(trigger->tracer)->lock);
		return false;
	}
	for (size_t i = 0; is_current(l) && i < set->count; i++)
		count_losses(trigger, &set->streams[i], &marks[i]);
	execute_hits(trigger);
	for (size_t i = 0; i < set->count; i++)
		ring_pass(&set->streams[i], &marks[i]);
	return true;
}

uint64_t take_hits(const struct listened *l, const struct stream_set *set)
{
	struct trigger *trigger = l->trigger;
	struct merge *m;
	uint64_t hits, seen;

	if (count_hits(l, set, &hits))
		return hits;
	m = merge_create();
	if (!m || merge_look(m, set, &trigger->tracer->clock)) {
		merge_destroy(m);
		return 0;               /* no memory: the next look sees the same hits */
	}
	hits = 0;
	for (size_t i = 0; i < m->count; i++)
		hits += new_hits(&m->cursors[i]->stream, &m->cursors[i]->mark);
	pthread_mutex_lock(&triggers_of(trigger->tracer)->lock);
	if (is_current(l) && hits) {
		seen = hit_events(l, m, hits);
		if (hits > seen)
			trigger_hit_many(trigger, hits - seen, newest_time(l, m));
	}
	for (size_t i = 0; is_current(l) && i < m->count; i++)
		count_losses(trigger, &m->cursors[i]->stream, &m->cursors[i]->mark);
	execute_hits(trigger);
	for (size_t i = 0; i < m->count; i++)
		ring_pass(&m->cursors[i]->stream, &m->cursors[i]->mark);
	merge_destroy(m);
	return hits;
}
