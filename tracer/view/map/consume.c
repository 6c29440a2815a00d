// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Takes the events of maps out of their rings, and aggregates them. A thread does it every few
 * milliseconds while a map is live, so that the rings have room. Each look is complete up to its
 * time; what is later stays in the rings for the next look.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/view/map/map.h"
#include "tracer/base/ring/reader.h"
#include "tracer/view/merge_losses.h"

#define PERIOD_MIN UINT64_C(4000000)    /* ns between two rounds, after one with events */
#define PERIOD_MAX UINT64_C(20000000)   /* after rounds without */
#define PERIOD_FAST UINT64_C(50000)     /* after a round in which a ring was FAST_PART full */
#define FAST_PART 8                     /* a ring is full to 1 / FAST_PART */
#define SHARE 2                         /* other rounds may take 1 / SHARE of the time */

/* ---- one event ---- */

struct source {                 /* what a channel of the hidden session is for */
	const struct map_rule *rule;
	struct map_state *state;
	enum map_side side;     /* which event of a pair it has */
};

static struct source source_of(const struct map *m, uint32_t channel)
{
	struct source s = { 0 };

	for (size_t i = 0; i < m->rules.count; i++) {
		const struct map_rule *r = &m->rules.rules[i];
		uint32_t own = map_rule_channels(r);

		if (channel < own)
			return (struct source){
				r, &m->states[i],
				own == 2 && !channel ? MAP_SIDE_FIRST : MAP_SIDE_LAST
			};
		channel -= own;
	}
	return s;
}

/* The shape that was used last comes first. NULL: no memory. */
static const struct map_shape *shape_of(struct map *m, const struct source *of,
					const struct md_stream *class, const struct md_event *e)
{
	struct map_shape **first = &m->shapes[class->id], **at = first, *s;

	while (*at && (*at)->event != e)
		at = &(*at)->next;
	s = *at;
	if (s == *first && s)
		return s;
	if (s)
		*at = s->next;
	else if (!(s = map_make_shape(of->rule, of->side, class, e)))
		return NULL;
	s->next = *first;
	*first = s;
	return s;
}

void map_forget_shapes(struct map *m)
{
	struct map_shape *s;

	for (size_t i = 0; i < MAP_CHANNELS_MAX; i++)
		while ((s = m->shapes[i])) {
			m->shapes[i] = s->next;
			free(s);
		}
	map_outages_forget(m);
}

/* The event has no value that the rule needs. */
static void count_missing(const struct source *of, const struct md_stream *class,
			  const struct md_occurrence *o)
{
	if (!of->state->missing++)
		map_explain(of->rule, of->side, class, o, of->state->reason,
			    sizeof(of->state->reason));
}

/* An event that is no pair, or the second one of a pair that it has made. */
static void add_event(struct map *m, const struct source *of, const struct md_stream *class,
		      const struct map_shape *shape, const struct md_occurrence *o,
		      const struct map_made *made)
{
	struct map_numbers numbers;
	struct map_key key;
	struct map_row *row;

	key.len = 0;
	key.count = key.hex = key.single = 0;
	numbers.real = numbers.wide = 0;
	if (!map_event_key(of->rule, shape, o, made, &key) ||
	    !map_event_numbers(of->rule, shape, o, made, &numbers)) {
		count_missing(of, class, o);
		return;
	}
	row = map_get_row(m, of->rule, of->state, &key);
	if (row) {
		map_row_add(row, of->rule, &numbers);
		map_row_change(&of->state->table, row);
	} else {
		of->state->left_out++;
	}
}

static void take_event(struct map *m, const struct cursor *c)
{
	const struct md_stream *class = c->stream.class;
	const struct md_occurrence *o = &c->o;
	struct source of = source_of(m, class->id);
	struct map_made made = { 0 };
	const struct map_shape *shape;

	if (!of.rule || o->ts <= m->clear_ts)
		return;
	of.state->events++;
	m->journal.changed = true;
	shape = shape_of(m, &of, class, o->event);
	if (!shape) {
		count_missing(&of, class, o);
		return;
	}
	switch (of.rule->pair ? map_pair_event(m, of.rule, of.state, of.side, shape, c, &made)
			      : PAIR_MADE) {
	case PAIR_MISSING:
		count_missing(&of, class, o);
		break;
	case PAIR_WAITS:
		break;
	case PAIR_ALONE:
		of.state->unpaired++;
		break;
	case PAIR_NO_ROOM:
		of.state->left_out++;
		break;
	case PAIR_MADE:
		add_event(m, &of, class, shape, o, &made);
		break;
	}
	free(made.first);
}

/* ---- the rings ---- */

/* How far the cursor has come. */
static struct ring_mark mark_of(const struct cursor *c)
{
	struct ring_place at = cursor_place(c);
	struct ring_mark mark = c->mark;

	mark.head = at.pos;
	mark.last_ts = at.ts;
	return mark;
}

/* The losses of the stream are counted, and the journal will say how far it is taken. */
static void count_stream(struct map *m, const struct cursor *c)
{
	struct ring_mark mark = mark_of(c);
	struct trail_ring *ring = region_ring(c->stream.region, c->stream.ring);
	struct source of = source_of(m, c->stream.class->id);
	uint64_t lost = mark.lost;

	if (c->stream.trace->uid == KERNEL_UID)
		lost += __atomic_exchange_n(&ring->source_overwritten, 0, __ATOMIC_RELAXED);
	if (of.state && lost) {
		of.state->lost = add_saturated(of.state->lost, lost);
		m->journal.changed = true;
	}
	map_journal_pass(m, &c->stream, &mark);
}

/* The journal has the values of the events before it lets go of the events. */
static void pass_streams(struct map *m, const struct merge *merge)
{
	for (size_t i = 0; i < merge->count; i++)
		count_stream(m, merge->cursors[i]);
	map_journal_write(m);
	for (size_t i = 0; i < merge->count; i++) {
		struct ring_mark mark = mark_of(merge->cursors[i]);

		ring_pass(&merge->cursors[i]->stream, &mark);
	}
}

static bool has_pairs(const struct map *m)
{
	for (size_t i = 0; i < m->rules.count; i++)
		if (m->rules.rules[i].pair)
			return true;
	return false;
}

/* Takes what the rings hold up to the limit. */
static void take_events(struct map *m, struct merge *merge, uint64_t limit)
{
	struct cursor *c;

	/* Pairs need the events of all streams in the order of time. */
	if (has_pairs(m)) {
		merge_watch(merge, &m->outages);
		while ((c = merge_top(merge, limit))) {
			if (merge_in_outage(c))
				merge_pass_loss(merge, c);
			take_event(m, c);
			merge_next(merge);
		}
	} else {
		for (size_t i = 0; i < merge->count; i++) {
			c = merge->cursors[i];
			for (bool more = c->have; more && c->o.ts <= limit; more = cursor_next(c))
				take_event(m, c);
		}
	}
}

/* What the daemon aggregated; the counters of applications stay. */
void map_forget_values(struct map *m)
{
	map_journal_drop(m);
	for (size_t i = 0; i < m->rules.count && m->states; i++) {
		map_table_deinit(&m->states[i].table);
		map_pairs_forget(&m->states[i]);
		m->states[i] = (struct map_state){ 0 };
	}
	if (m->bytes)
		session_frozen(m->session, -(int64_t)m->bytes);
	m->bytes = 0;
	m->since = map_kernel_since(m);
	if (!m->since)
		m->since = wall_clock();
	m->clear_ts = clock_now(&m->tracer->clock);
}

void map_check_clear(struct map *m)
{
	uint64_t wanted = __atomic_load_n(&m->wanted, __ATOMIC_ACQUIRE);

	if (wanted == m->cleared)
		return;
	m->cleared = wanted;
	map_forget_values(m);       /* the counters were cleared by then */
	m->clear_ts = wanted;
}

/* One look: takes the events that were recorded before it. Later ones do not keep the caller. */
static void look_once(struct map *m)
{
	struct merge *merge = merge_create();
	bool active = session_shown(m->hidden).info.active;
	uint64_t now;

	map_check_clear(m);
	if (merge && !merge_look_session(merge, m->hidden, &now)) {
		take_events(m, merge, active ? now : UINT64_MAX);
		pass_streams(m, merge);
	}
	merge_destroy(merge);
}

void map_take(struct map *m)
{
	map_check_clear(m);
	if (m->hidden)
		look_once(m);
	map_counters_take(m);
	map_kernel_take(m);
}

void map_reset(struct map *m)
{
	map_forget_values(m);
	map_counters_clear(m);
	map_kernel_clear(m);
}

/* ---- the thread ---- */

/* What the rings of a map hold. */
enum filling { FILLING_EMPTY, FILLING_SOME, FILLING_FAST };

static enum filling look_at_rings(struct map *m)
{
	enum filling filling = FILLING_EMPTY;
	struct stream_set set;

	if (m->domain == DOMAIN_KERNEL)
		domains_drain(m->hidden);
	if (session_streams(m->hidden, NULL, &set))
		return FILLING_EMPTY;
	for (size_t i = 0; i < set.count && filling < FILLING_FAST; i++) {
		const struct stream *s = &set.streams[i];
		const struct region_geometry *g = &s->region->geo;
		const struct trail_ring *ring = region_ring(s->region, s->ring);
		uint64_t held = region_head(s->region, s->ring) -
				__atomic_load_n(&ring->cleared, __ATOMIC_RELAXED);

		if (held > g->subbuf_size * g->subbuf_count / FAST_PART)
			filling = FILLING_FAST;
		else if (held)
			filling = FILLING_SOME;
	}
	stream_set_deinit(&set);
	return filling;
}

/* Takes references to the live maps; free the array. */
static struct map **list_maps(struct maps *all, size_t *count)
{
	struct map *m, **list;
	size_t n = 0;

	*count = 0;
	cds_list_for_each_entry(m, &all->live, live)
		n++;
	list = n ? calloc(n, sizeof(*list)) : NULL;
	if (list)
		cds_list_for_each_entry(m, &all->live, live) {
			__atomic_fetch_add(&m->refs, 1, __ATOMIC_RELAXED);
			list[(*count)++] = m;
		}
	return list;
}

/* Without lock. Returns what the fullest map had. */
static enum filling take_all(struct map **list, size_t count)
{
	enum filling most = FILLING_EMPTY, own;

	for (size_t i = 0; i < count; i++) {
		pthread_mutex_lock(&list[i]->lock);
		own = list[i]->hidden ? look_at_rings(list[i]) : FILLING_EMPTY;
		if (own != FILLING_EMPTY)
			map_take(list[i]);
		pthread_mutex_unlock(&list[i]->lock);
		most = own > most ? own : most;
		map_put(list[i]);
	}
	free(list);
	return most;
}

/*
 * When the next round begins. Where rings fill fast, a pause would lose events: it only lets those
 * who wait for a map's lock have it.
 */
static uint64_t next_round(uint64_t began, enum filling filling, uint64_t *period)
{
	uint64_t now = monotonic_now(), rest = began + (now - began) * SHARE;

	if (filling == FILLING_FAST)
		return now + PERIOD_FAST;
	if (filling == FILLING_SOME)
		*period = PERIOD_MIN;
	else
		*period = 2 * *period < PERIOD_MAX ? 2 * *period : PERIOD_MAX;
	return rest > began + *period ? rest : began + *period;
}

static void *run(void *arg)
{
	struct maps *all = arg;
	uint64_t period = PERIOD_MIN, began, until;
	struct map **list;
	size_t count;
	bool some;

	while (watcher_next(&all->watcher)) {
		pthread_mutex_lock(&all->lock);
		some = !cds_list_empty(&all->live);
		list = list_maps(all, &count);
		pthread_mutex_unlock(&all->lock);
		began = monotonic_now();
		until = next_round(began, take_all(list, count), &period);
		watcher_sleep(&all->watcher, -1, some ? until : WATCHER_NEVER);
	}
	return NULL;
}

void map_set_live(struct map *m, bool live)
{
	struct maps *all = all_maps(m->tracer);
	int ret;

	pthread_mutex_lock(&all->lock);
	if (live && cds_list_empty(&m->live))
		cds_list_add_tail(&m->live, &all->live);
	if (!live)
		cds_list_del_init(&m->live);
	ret = live ? watcher_start(&all->watcher, run, all) : 0;
	watcher_nudge(&all->watcher);
	pthread_mutex_unlock(&all->lock);
	if (ret)
		tracer_report(m->tracer, "no thread for maps: their buffers may overflow: %s",
			      strerror(-ret));
}

static void create_maps(struct tracer *t)
{
	struct maps *all = all_maps(t);

	pthread_mutex_init(&all->lock, NULL);
	CDS_INIT_LIST_HEAD(&all->live);
	CDS_INIT_LIST_HEAD(&all->dead);
}

static void destroy_maps(struct tracer *t)
{
	pthread_mutex_destroy(&all_maps(t)->lock);
}

const struct tracer_room map_room = { sizeof(struct maps), create_maps, destroy_maps };
