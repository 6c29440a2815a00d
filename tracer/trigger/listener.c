// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread that looks at the rings of conditions about events, when an application rings
 * (listener.h says how it sleeps). All it has is its own; triggers.lock guards the list of triggers
 * that it reads, and what take_hits() changes.
 */
#include "tracer/trigger/listener.h"

#include <stdlib.h>
#include <time.h>

#include "tracer/trigger/event.h"

#define BACKSTOP UINT64_C(100000000)    /* ns between two looks at any region */
#define CREDIT_MOST INT64_C(5000000)    /* ns of CPU time that a region or a user may save */
#define REGION_SHARE 25                 /* a region may use 1 / REGION_SHARE of a CPU */
#define USER_SHARE 8                    /* the regions of a user's applications together */
#define USERS 64u                       /* users with the same remainder share a credit */
#define WAKE_COST 5000                  /* ns of CPU time: of a wake-up, besides the looks */
#define BURST 16u                       /* hits of one look; after more, no bell is armed */
#define POLLED_EACH 128u                /* this many regions without a bell cost a PERIOD more */
#define UPDATE_SHARE 20                 /* an update of the list takes 1 / 20 of the time */
#define LOOKED_MAX 256u                 /* streams of one look */

struct listener {
	struct tracer *tracer;
	struct listened *list;          /* owned; in the order of the triggers' serials */
	size_t count;
	struct credit users[USERS];
	struct watched *placed[BELLS_MAX];      /* the regions with `placed` */
	uint32_t places;
	/* regions without a bell that the last round found due, and that this one has so far */
	uint32_t polled, polling;
	/* CPU time of the thread when the last look ended: the next one costs what is used since */
	uint64_t cpu;
	struct stream_set looked;       /* the streams of one look: its array is the next */
	struct stream streams[LOOKED_MAX];
};

/* ---- time and credit ---- */

static void grow_credit(struct credit *c, uint64_t now, unsigned int share)
{
	uint64_t more = (now - c->at) / share;

	if (!c->at || more > (uint64_t)CREDIT_MOST || c->ns + (int64_t)more > CREDIT_MOST)
		c->ns = CREDIT_MOST;
	else
		c->ns += (int64_t)more;
	c->at = now;
}

/* ns until the credit is positive */
static uint64_t missing_credit(const struct credit *c, unsigned int share)
{
	return c->ns > 0 ? 0 : (uint64_t)-c->ns * share + 1;
}

static void pay(struct listener *l, struct watched *w, uint64_t cost)
{
	w->credit.ns -= (int64_t)cost;
	l->users[w->uid % USERS].ns -= (int64_t)cost;
}

/* When the region may be looked at again, if not at once; 0: at once. */
static uint64_t wait_for_credit(struct listener *l, struct watched *w, uint64_t now)
{
	struct credit *user = &l->users[w->uid % USERS];
	uint64_t own, shared;

	grow_credit(&w->credit, now, REGION_SHARE);
	grow_credit(user, now, USER_SHARE);
	own = missing_credit(&w->credit, REGION_SHARE);
	shared = missing_credit(user, USER_SHARE);
	own = own > shared ? own : shared;
	return !own ? 0 : now + (own > PERIOD ? own : PERIOD);
}

/* ---- the list ---- */

static void leave_place(struct listener *l, struct watched *w)
{
	for (uint32_t i = 0; w->placed && i < l->places; i++)
		if (l->placed[i] == w) {
			l->placed[i] = l->placed[--l->places];
			w->placed = false;
		}
}

static void forget_regions(struct listener *l, struct listened *t)
{
	for (size_t i = 0; i < t->region_count; i++) {
		leave_place(l, &t->regions[i]);
		bell_disarm(t->regions[i].region);
	}
	free(t->regions);
	stream_set_deinit(&t->streams);
	t->regions = NULL;
	t->region_count = 0;
}

static void forget_trigger(struct listener *l, struct listened *t)
{
	forget_regions(l, t);
	session_put(t->session);
	trigger_put(t->trigger);
}

/* What is known of the region stays. */
static void recall_region(const struct listened *old, struct watched *w)
{
	for (size_t i = 0; i < old->region_count; i++) {
		const struct watched *o = &old->regions[i];

		if (o->region != w->region)
			continue;
		w->credit = o->credit;
		w->last_hit = o->last_hit;
		w->silent = o->silent;
	}
}

static void add_region(struct listened *t, size_t first)
{
	const struct stream *st = &t->streams.streams[first];

	t->regions[t->region_count++] = (struct watched){
		.region = st->region, .first = first, .uid = st->trace->uid, .owner = t->owner,
	};
}

/* Takes the regions that the trigger's session has now. */
static void take_regions(struct listener *l, struct listened *t)
{
	struct listened old = *t;
	struct stream_set set;
	uint64_t version = __atomic_load_n(&t->session->buffers_version, __ATOMIC_RELAXED);

	if (t->buffers == version || session_rings(t->session, &set))
		return;
	t->regions = calloc(set.count + 1, sizeof(*t->regions));
	if (!t->regions) {
		t->regions = old.regions;
		stream_set_deinit(&set);
		return;                 /* the next round tries again */
	}
	t->buffers = version;
	t->streams = set;
	t->region_count = 0;
	for (size_t i = 0; i < set.count; i++) {
		if (!i || set.streams[i].region != set.streams[i - 1].region)
			add_region(t, i);
		t->regions[t->region_count - 1].count++;
	}
	for (size_t i = 0; i < t->region_count; i++)
		recall_region(&old, &t->regions[i]);
	forget_regions(l, &old);
}

/* Locked. The trigger's condition is on events of applications, and can be true. */
static bool is_listened(const struct trigger *trigger)
{
	return trigger->events && trigger->enabled && !trigger->gone &&
	       trigger->condition.domain == DOMAIN_USER;
}

static bool is_same(const struct listened *t, const struct trigger *trigger)
{
	return t->trigger == trigger && t->session == trigger->events &&
	       t->version == trigger->version;
}

/* Locked. Fills `list` with the triggers that there are; those of before move there. */
static size_t collect_triggers(struct listener *l, struct listened *list)
{
	struct triggers *all = triggers_of(l->tracer);
	size_t n = 0, old = 0;
	struct trigger *trigger;

	cds_list_for_each_entry(trigger, &all->list, node) {
		if (!is_listened(trigger))
			continue;
		while (old < l->count && l->list[old].trigger->serial < trigger->serial)
			old++;
		if (old < l->count && is_same(&l->list[old], trigger)) {
			list[n++] = l->list[old];
			l->list[old++].session = NULL;
			continue;
		}
		trigger->refs++;
		list[n++] = (struct listened){
			.trigger = trigger, .session = session_ref(trigger->events),
			.version = trigger->version, .buffers = UINT64_MAX, .owner = trigger->uid,
		};
	}
	return n;
}

/* Brings the list in line with the triggers and their regions. */
static void update_list(struct listener *l)
{
	struct triggers *all = triggers_of(l->tracer);
	struct listened *list;
	size_t count = 0;

	pthread_mutex_lock(&all->lock);
	list = calloc(all->count + 1, sizeof(*list));
	if (list)
		count = collect_triggers(l, list);
	pthread_mutex_unlock(&all->lock);
	if (list) {
		for (size_t i = 0; i < l->count; i++)
			if (l->list[i].session)
				forget_trigger(l, &l->list[i]);
		free(l->list);
		l->list = list;
		l->count = count;
	}
	for (size_t i = 0; i < l->count; i++)
		take_regions(l, &l->list[i]);
}

/* ---- places in the bells ---- */

static uint32_t places_of(const struct listener *l, uid_t owner)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->places; i++)
		n += l->placed[i]->owner == owner;
	return n;
}

/* Of the owner with the most places: the region without a hit for the longest time. */
static void free_place(struct listener *l)
{
	uint32_t most = 0, victim = 0, n;

	for (uint32_t i = 0; i < l->places; i++) {
		const struct watched *w = l->placed[i], *v = l->placed[victim];

		n = places_of(l, w->owner);
		if (n > most || (n == most && w->last_hit < v->last_hit)) {
			most = n;
			victim = i;
		}
	}
	l->placed[victim]->placed = false;
	l->placed[victim] = l->placed[--l->places];
}

/* A region with hits takes the place of another one. */
static void take_place(struct listener *l, struct watched *w, bool hits)
{
	if (w->placed || w->silent || (l->places == BELLS_MAX && !hits))
		return;
	if (l->places == BELLS_MAX)
		free_place(l);
	w->placed = true;
	l->placed[l->places++] = w;
}

/* ---- looks ---- */

static bool has_hits(const struct listened *t, const struct watched *w)
{
	for (size_t i = w->first; i < w->first + w->count; i++)
		if (stream_has_hits(&t->streams.streams[i]))
			return true;
	return false;
}

/*
 * Decides how the listener hears of the region's next event: by its bell, or at a time. hits: the
 * look before found some.
 */
static void plan_look(struct listener *l, const struct listened *t, struct watched *w, uint64_t now,
		      enum next_hit next, bool hits)
{
	uint64_t later = wait_for_credit(l, w, now);

	if (later || next == HIT_NEVER || (next == HIT_LATER && hits)) {
		bell_disarm(w->region);
		w->armed = 0;
		w->due = later ? later : now + (next == HIT_NEVER ? BACKSTOP : PERIOD);
		return;
	}
	take_place(l, w, hits);
	if (hits || !w->armed || !bell_is_armed(w->region)) {
		bell_arm(w->region);
		/* Not `now`: the actions of the hits may have taken longer than a PERIOD. */
		w->armed = monotonic_now();
		w->relied = false;
		/* An event may have been committed between the look and the arming. */
		w->due = has_hits(t, w) ? 0 : w->armed + PERIOD;
	} else if (w->placed && !w->silent) {
		w->relied = now >= w->armed + PERIOD;
		w->due = w->relied ? now + BACKSTOP : w->armed + PERIOD;
	} else {
		w->due = now + PERIOD * (1 + l->polled / POLLED_EACH);
		l->polling++;
	}
}

/*
 * A region whose armed bell was cleared rings, though an application that was interrupted between
 * an event and the bell rings late, and without hits. A region whose hits come without the bell,
 * which the thread relied on, is silent.
 */
static void judge_bell(struct listener *l, struct watched *w)
{
	if (!w->armed)
		return;
	if (!bell_is_armed(w->region)) {
		w->silent = false;
	} else if (w->hits && w->relied && !w->silent) {
		w->silent = true;
		leave_place(l, w);
	}
}

/* Adds the streams of the region that have hits to l->looked. False: none has. */
static bool collect_streams(struct listener *l, const struct listened *t, const struct watched *w)
{
	size_t before = l->looked.count;

	for (size_t i = w->first; i < w->first + w->count && l->looked.count < LOOKED_MAX; i++)
		if (stream_has_hits(&t->streams.streams[i]))
			l->looked.streams[l->looked.count++] = t->streams.streams[i];
	return l->looked.count > before;
}

static bool is_time(const struct watched *w, uint64_t now)
{
	return w->due <= now || (w->placed && w->armed && !bell_is_armed(w->region));
}

/* Looks at the regions of the trigger whose time it is. */
static void look_at_trigger(struct listener *l, struct listened *t, uint64_t now)
{
	struct triggers *all = triggers_of(l->tracer);
	uint64_t with_hits = 0, hits = 0, cost, cpu;
	enum next_hit next;

	l->looked.count = 0;
	for (size_t i = 0; i < t->region_count; i++) {
		struct watched *w = &t->regions[i];

		w->looked = is_time(w, now);
		w->hits = w->looked && collect_streams(l, t, w);
		if (w->looked)
			judge_bell(l, w);
		if (!w->hits)
			continue;
		w->last_hit = now;
		with_hits++;
	}
	if (with_hits)
		hits = take_hits(t, &l->looked);
	cpu = thread_cpu_time();
	cost = cpu - l->cpu;
	l->cpu = cpu;
	pthread_mutex_lock(&all->lock);
	next = trigger_expects(t->trigger);
	pthread_mutex_unlock(&all->lock);
	/* More come: looks at times find them with less work than bells. */
	if (next == HIT_NEXT && hits > BURST)
		next = HIT_LATER;
	for (size_t i = 0; i < t->region_count; i++) {
		struct watched *w = &t->regions[i];

		if (!w->looked)
			continue;
		if (w->hits || (w->armed && !bell_is_armed(w->region)))
			pay(l, w, WAKE_COST + (with_hits ? cost / with_hits : 0));
		plan_look(l, t, w, now, next, w->hits);
	}
}

/* One round over all regions whose time it is. Returns when the next one has to be. */
static uint64_t look_at_all(struct listener *l)
{
	uint64_t now = monotonic_now(), next = UINT64_MAX;

	l->polling = 0;
	for (size_t i = 0; i < l->count; i++) {
		struct listened *t = &l->list[i];
		bool due = false;

		for (size_t j = 0; j < t->region_count && !due; j++)
			due = is_time(&t->regions[j], now);
		if (due)
			look_at_trigger(l, t, now);
		for (size_t j = 0; j < t->region_count; j++)
			next = t->regions[j].due < next ? t->regions[j].due : next;
	}
	l->polled = l->polling;
	return next;
}

/* ---- the thread ---- */

static void sleep_until(struct listener *l, uint64_t until)
{
	struct watched *waited[BELLS_MAX];
	struct bells bells = { .nudge = &triggers_of(l->tracer)->listener_nudge };
	int rung;

	for (uint32_t i = 0; i < l->places; i++)
		if (l->placed[i]->armed) {
			waited[bells.count] = l->placed[i];
			bells_add(&bells, l->placed[i]->region);
		}
	rung = bells_wait(&bells, until);
	if (rung < 0)
		return;
	/* Also if its bell is not cleared: an application may wake us as often as it can. */
	waited[rung]->due = 0;
	pay(l, waited[rung], WAKE_COST);
}

static bool is_closing(struct triggers *all)
{
	bool closing;

	pthread_mutex_lock(&all->lock);
	closing = all->closing;
	pthread_mutex_unlock(&all->lock);
	return closing;
}

static void *run(void *arg)
{
	struct listener *l = arg;
	struct triggers *all = triggers_of(l->tracer);
	uint64_t updated = 0, took = 0, now, next;
	bool stale = true;

	for (;;) {
		if (__atomic_exchange_n(&all->listener_nudge, 0, __ATOMIC_SEQ_CST)) {
			if (is_closing(all))
				break;
			stale = true;
		}
		now = monotonic_now();
		if (stale && now - updated >= took * UPDATE_SHARE) {
			update_list(l);
			l->cpu = thread_cpu_time();
			updated = monotonic_now();
			took = updated - now;
			stale = false;
		}
		next = look_at_all(l);
		if (stale && updated + took * UPDATE_SHARE < next)
			next = updated + took * UPDATE_SHARE;
		if (next > now)
			sleep_until(l, next);
	}
	for (size_t i = 0; i < l->count; i++)
		forget_trigger(l, &l->list[i]);
	free(l->list);
	free(l);
	return NULL;
}

static void start(struct triggers *all)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (l) {
		l->tracer = all->tracer;
		l->looked.streams = l->streams;
		all->listens = pthread_create(&all->listener, NULL, run, l) == 0;
	}
	if (all->listens)
		return;
	free(l);
	tracer_report(all->tracer, "no thread for triggers: conditions about events are not true "
				   "before the next change of a trigger");
}

void listener_nudge(struct triggers *all)
{
	if (!all->listens && all->count && !all->closing)
		start(all);
	kernel_listener_nudge(all);
	bells_nudge(&all->listener_nudge);
}

/* After engine_stop, which has set `closing`. */
void listener_stop(struct triggers *all)
{
	bells_nudge(&all->listener_nudge);
	if (all->listens)
		pthread_join(all->listener, NULL);
	all->listens = false;
}
