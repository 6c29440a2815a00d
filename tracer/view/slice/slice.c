/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/slice/slice.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/hash.h"

/* ---- event classes ---- */

/* System calls that do not return: their entry is an event, and begins no slice. */
static bool never_returns(const struct pair_rule *rule)
{
	static const char *const names[] = { "exit", "exit_group", "rt_sigreturn", "sigreturn",
						"uretprobe" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (rule->name_len == strlen(names[i]) &&
		    !memcmp(rule->name, names[i], rule->name_len))
			return true;
	return false;
}

static bool find_integer(const struct md_stream *stream, const struct md_event *event,
			 const char *name, struct md_route *r)
{
	if (md_route_find(stream, event, name, r) &&
	    (r->type->kind == MD_INT || r->type->kind == MD_ENUM))
		return true;
	*r = (struct md_route){ 0 };
	return false;
}

void slice_class_init(struct slice_class *k, const struct md_stream *stream,
		      const struct md_event *event)
{
	struct md_process process = md_access_process(stream);
	bool of_program = strchr(event->name, ':');
	struct pair_rule *rule = &k->rule;
	uint64_t h;

	*k = (struct slice_class){ 0 };
	md_route_context(stream, process.tid, &k->tid);
	md_route_context(stream, process.pid, &k->pid);
	k->is_switch = !strcmp(event->name, "sched_switch") &&
		       (find_integer(stream, event, "next_tid", &k->next) ||
			find_integer(stream, event, "next_pid", &k->next));
	if (k->is_switch && !find_integer(stream, event, "prev_tid", &k->prev))
		find_integer(stream, event, "prev_pid", &k->prev);
	/* Names of programs' events have a colon. A wakeup is no slice of the thread that wakes. */
	if (!pair_rule_find(event->name, !of_program, rule) ||
	    (rule->by == PAIR_FIELDS && strcmp(rule->name, "block_rq") != 0))
		return;
	k->is_call = *rule->prefix;
	k->leaves_calls = rule->begins && (k->is_call || of_program);
	k->is_request = rule->by == PAIR_FIELDS;
	if ((k->is_call && never_returns(rule)) ||
	    (k->is_request && (!find_integer(stream, event, rule->a, &k->dev) ||
			       !find_integer(stream, event, rule->b, &k->sector))))
		return;
	k->side = rule->begins ? SLICE_BEGIN : SLICE_END;
	k->of_cpu = rule->by == PAIR_CPU;
	h = hash_bytes(HASH_START, rule->prefix, strlen(rule->prefix));
	k->pair = hash_bytes(hash_step(h, rule->words), rule->name, rule->name_len);
	/* Events of lttng_ust_cyg_profile_fast do not say which function ends. */
	if (!strncmp(event->name, "lttng_ust_cyg_profile", 21))
		find_integer(stream, event, "addr", &k->address);
}

/* ---- dropped and forgotten begins ---- */

static void note_lost(struct slices *v, const struct slice_track *t, const struct slice *s)
{
	bool overwritten = s->begin < v->since, tracked = s->is_request && v->tracked;

	if ((!overwritten && !tracked && !s->followed) || v->replay)
		return;
	if (overwritten)
		v->dropped.overwritten++;
	else if (tracked)
		v->dropped.tracked++;
	else
		v->forgot = true;
	if (v->lost_count == SLICE_LOST || !array_double(v->lost, v->lost_count))
		return;
	/* In the second run, dropped requests leave their tracks to others. */
	v->lost[v->lost_count++] = (struct lost_begin){
		s->begin, s->pair, s->is_request ? SLICE_DISKS : t->tid,
		!overwritten && !tracked };
}

static int compare_lost(const void *a, const void *b)
{
	const struct lost_begin *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/*
 * What a run before has found of a slice without an end; NULL: nothing, or it has one. Begins come
 * in the order of time.
 */
static const struct lost_begin *find_lost(struct slices *v, int32_t tid, uint64_t pair,
					  uint64_t time)
{
	if (!v->replay)
		return NULL;
	while (v->lost_at < v->lost_count && v->lost[v->lost_at].time < time)
		v->lost_at++;
	for (uint32_t i = v->lost_at; i < v->lost_count && v->lost[i].time == time; i++)
		if (v->lost[i].tid == tid && v->lost[i].pair == pair)
			return &v->lost[i];
	return NULL;
}

/* ---- open slices ---- */

/* Takes slices away that have no end, down to a depth. */
static void leave_open(struct slices *v, struct slice_track *t, uint32_t depth, uint64_t time)
{
	while (t->depth > depth) {
		const struct slice *s = &t->open[t->depth - 1];

		note_lost(v, t, s);
		if (!s->dropped && v->unended)
			v->unended(v->arg, t, time);
		t->depth--;
	}
}

/* The innermost slices that were forgotten, and that others of their pairs have followed. */
static void leave_forgotten(struct slices *v, struct slice_track *t, uint64_t time)
{
	while (t->depth && t->open[t->depth - 1].forgotten && t->open[t->depth - 1].followed)
		leave_open(v, t, t->depth - 1, time);
}

/* Another slice of the pair begins. Those before the last one are marked already. */
static void follow(struct slices *v, struct slice_track *t, uint64_t pair, uint64_t time)
{
	uint32_t i = t->depth;

	while (i && t->open[i - 1].pair != pair)
		i--;
	if (i)
		t->open[i - 1].followed = true;
	leave_forgotten(v, t, time);
}

/*
 * Takes away the oldest slice that another one of its pair has followed. Pictures, which are told
 * of the innermost slice alone, do not: they know what was forgotten, and have room.
 */
static bool leave_oldest(struct slices *v, struct slice_track *t)
{
	uint32_t i = 0;

	while (i < t->depth && !t->open[i].followed)
		i++;
	if (i == t->depth || v->unended)
		return false;
	note_lost(v, t, &t->open[i]);
	memmove(&t->open[i], &t->open[i + 1], (t->depth - i - 1) * sizeof(*t->open));
	t->depth--;
	return true;
}

static bool have_room(struct slices *v, struct slice_track *t)
{
	uint32_t room = t->room ? 2 * t->room : 8;

	if (t->depth < t->room)
		return true;
	if (room > SLICE_DEPTH)
		return leave_oldest(v, t);
	if (!array_room(t->open, room))
		return false;
	t->room = room;
	return true;
}

static bool push(struct slices *v, struct slice_track *t, const struct slice_class *k,
		 uint64_t pair, uint64_t time, const struct outage *outage)
{
	const struct lost_begin *lost;
	struct slice *s;

	if (!k->address.type)
		follow(v, t, pair, time);
	if (!have_room(v, t)) {
		t->over++;
		return false;
	}
	lost = find_lost(v, t->tid, pair, time);
	s = &t->open[t->depth++];
	*s = (struct slice){ .pair = pair, .begin = time, .is_call = k->is_call,
			     .is_request = k->is_request, .at = { outage, v->outages.now },
			     .dropped = lost && !lost->forgotten,
			     .forgotten = lost && lost->forgotten };
	return !s->dropped;
}

/* Leaves a system call that is open, although its exit is not among the events. */
static void leave_call(struct slices *v, struct slice_track *t, uint64_t time)
{
	uint32_t i = t->depth;

	while (i && !t->open[i - 1].is_call)
		i--;
	if (i)
		leave_open(v, t, i - 1, time);
}

/* False: no slice of this pair is open, or losses keep its begin and the end apart. */
static bool end_slice(struct slices *v, struct slice_track *t, uint64_t pair, uint64_t time,
		      const struct outage *outage)
{
	uint32_t i = t->depth;

	if (t->over) {
		t->over--;
		return false;
	}
	while (i && t->open[i - 1].pair != pair)
		i--;
	if (!i)
		return false;
	if (outage_between(&t->open[i - 1].at, outage)) {
		leave_open(v, t, i - 1, time);
		v->interrupted++;
		return false;
	}
	v->unsure += t->tid < SLICE_CPUS && outage_near(outage);
	leave_open(v, t, i, time);
	t->depth--;
	return true;
}

static uint64_t pair_of(const struct slice_class *k, const struct md_occurrence *o)
{
	uint64_t h = k->pair, n;

	if (k->address.type && md_access_integer(&k->address, o, &n))
		h = hash_step(h, n);
	if (k->is_request && md_access_integer(&k->dev, o, &n))
		h = hash_step(h, n);
	if (k->is_request && md_access_integer(&k->sector, o, &n))
		h = hash_step(h, n);
	return h;
}

bool slices_lost_request(struct slices *v, const struct slice_class *k,
			 const struct md_occurrence *o, uint64_t time)
{
	return find_lost(v, SLICE_DISKS, pair_of(k, o), time);
}

enum slice_side slices_take(struct slices *v, struct slice_track *t, const struct slice_class *k,
			    const struct md_occurrence *o, uint64_t time,
			    const struct outage *outage)
{
	leave_forgotten(v, t, time);
	if (k->leaves_calls)
		leave_call(v, t, time);
	/* While a call waits, its CPU runs other threads. A request without a track is no slice. */
	if (!k->side || (k->is_call && t->tid >= SLICE_CPUS) ||
	    (k->is_request && t->tid < SLICE_DISKS))
		return SLICE_NONE;
	if (k->side == SLICE_END)
		return end_slice(v, t, pair_of(k, o), time, outage) ? SLICE_END : SLICE_NONE;
	if (k->is_request)
		leave_open(v, t, 0, time);
	return push(v, t, k, pair_of(k, o), time, outage) ? SLICE_BEGIN : SLICE_NONE;
}

void slices_finish(struct slices *v, uint64_t time)
{
	for (uint32_t i = 0; i < v->size; i++)
		if (v->table[i])
			leave_open(v, v->table[i], 0, time);
}

static void free_tracks(struct slices *v)
{
	for (uint32_t i = 0; i < v->size; i++) {
		if (v->table[i])
			free(v->table[i]->open);
		free(v->table[i]);
	}
	free(v->table);
	free(v->requests);
	free(v->current);
}

void slices_replay(struct slices *v)
{
	free_tracks(v);
	if (v->lost)
		qsort(v->lost, v->lost_count, sizeof(*v->lost), compare_lost);
	outages_reset(&v->outages);
	*v = (struct slices){ .since = v->since, .tracked = v->tracked, .dropped = v->dropped,
			      .outages = v->outages, .lost = v->lost,
			      .lost_count = v->lost_count, .replay = true, .failed = v->failed };
}

void slices_deinit(struct slices *v)
{
	free_tracks(v);
	outages_deinit(&v->outages);
	free(v->lost);
}
