/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/buf.h"
#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/session/session.h"

#define NONE PAIR_NONE
#define STEPS 64u               /* chosen collisions do not make a search longer */

/* ---- names ---- */

/* False: the event has no number of this name. */
static bool find_field(const struct tally_stream *s, const struct md_event *class,
		       const char *name, struct md_route *r)
{
	return md_route_find(s->stream.class, class, name, r) &&
	       (r->type->kind == MD_INT || r->type->kind == MD_ENUM);
}

/* The number; 0: the event's bytes have changed. */
static uint64_t number_of(const struct md_route *r, const struct md_occurrence *o)
{
	uint64_t n;

	return md_access_integer(r, o, &n) ? n : 0;
}

/* The name of the event's pair, and how it finds the other one. False: it is not of a pair. */
static bool name_pair(const struct tally_stream *s, const struct md_event *class,
		      struct pair_event *e, struct md_buf *name)
{
	struct pair_rule rule;

	if (!pair_rule_find(class->name, !strchr(class->name, ':'), &rule))
		return false;
	e->begins = rule.begins;
	e->words = rule.words;
	e->by = rule.by;
	md_buf_printf(name, "%s%.*s", rule.prefix, (int)rule.name_len, rule.name);
	if (e->slice.side) {
		/* A call may wait: another thread then runs on the CPU. */
		if (rule.by == PAIR_THREAD && !s->tid.type)
			e->by = e->slice.is_call ? PAIR_UNKNOWN : PAIR_CPU;
		return true;
	}
	if (rule.by != PAIR_FIELDS)
		return false;
	if (!find_field(s, class, rule.a, &e->a) ||
	    (rule.b && !find_field(s, class, rule.b, &e->b)))
		e->by = PAIR_UNKNOWN;
	return true;
}

bool pairs_have(const struct stream *s)
{
	bool found = false;
	uint32_t left;

	pthread_mutex_lock(&s->trace->lock);
	left = s->class->event_count;
	pthread_mutex_unlock(&s->trace->lock);
	for (uint32_t id = 0; left && id <= MD_EVENT_ID_MAX && !found; id++) {
		const struct md_event *e = md_stream_event(s->class, id);
		struct pair_rule rule;

		left -= !!e;
		found = e && pair_rule_find(e->name, true, &rule) &&
			(rule.begins || rule.by == PAIR_FIELDS);
	}
	return found;
}

/* The index of the pair with this name; NONE: no room, or no memory. */
static uint32_t find_pair(struct pairs *p, enum domain domain, const struct pair_event *e,
			  const char *name)
{
	struct pair *n;

	for (uint32_t i = 0; i < p->count; i++)
		if (p->all[i].domain == domain && p->all[i].by == e->by &&
		    p->all[i].words == e->words && !strcmp(p->all[i].name, name))
			return i;
	p->more |= p->count == PAIRS_MAX;
	if (p->count == PAIRS_MAX)
		return NONE;
	n = &p->all[p->count];
	*n = (struct pair){
		.domain = domain, .by = e->by, .words = e->words, .name = strdup(name)
	};
	return n->name ? p->count++ : NONE;
}

int pairs_add_event(struct pairs *p, const struct tally_stream *s, struct tally_event *e)
{
	struct md_buf name = MD_BUF_INIT;
	struct pair_event *n = calloc(1, sizeof(*n));
	bool failed = !n;

	if (n) {
		slice_class_init(&n->slice, s->stream.class, e->class);
		n->pair = NONE;
	}
	if (n && name_pair(s, e->class, n, &name)) {
		n->pair = find_pair(p, s->domain, n, md_buf_str(&name));
		failed = name.failed || (n->pair == NONE && !p->more);
	}
	if (n && (n->pair != NONE || n->slice.leaves_calls)) {
		n->next = p->events;
		p->events = n;
		e->pair = n;
		n = NULL;
	}
	free(n);
	md_buf_deinit(&name);
	return failed ? -ENOMEM : 0;
}

/* ---- functions ---- */

/* The pair of the function at the event's address; NONE: there is no room, or no memory. */
static uint32_t find_function(struct pairs *p, const struct tally_stream *s,
			      const struct pair_event *e, const struct cursor *c)
{
	const struct function_name *f;
	uint64_t address;

	if (!p->functions && !p->stacks && !stacks_create(p->session, &p->own_stacks))
		p->stacks = p->own_stacks;
	if (!p->functions)
		p->functions = function_names_create();
	if (!p->functions || !md_access_integer(&e->slice.address, &c->o, &address))
		return NONE;
	f = function_names_find(p->functions, p->stacks, session_clock_offset(p->session), c,
				address);
	if (!f)
		return NONE;
	if (f->number >= p->function_count) {
		uint32_t room = 2 * f->number + 64;

		if (!array_extend(p->of_function, p->function_count, room))
			return NONE;
		p->function_count = room;
	}
	if (!p->of_function[f->number])
		p->of_function[f->number] = find_pair(p, s->domain, e, f->name) + 1;
	return p->of_function[f->number] - 1;
}

/* ---- events ---- */

static void add_process_time(struct pairs *p, uint32_t pair, uint32_t process, uint64_t ns)
{
	uint64_t h = hash_step(hash_step(HASH_START, pair), process);
	struct pair_process *n = &p->processes[0];
	uint32_t i = (uint32_t)(h ^ h >> 32), steps = 0;

	for (; steps < STEPS; steps++, i++) {
		n = &p->processes[i % PAIRS_PROCESSES];
		if (!n->times.count || (n->pair == pair && n->process == process))
			break;
	}
	if (steps == STEPS || (!n->times.count && p->process_count == PAIRS_PROCESSES / 2)) {
		p->left_out++;
		return;
	}
	p->process_count += !n->times.count;
	n->pair = pair;
	n->process = process;
	times_add(&n->times, ns);
}

static int add_pair_time(struct pairs *p, const struct tally_stream *s,
			 const struct pair_event *e, uint32_t pair, uint64_t ns)
{
	struct pair *n = &p->all[pair];

	if (!n->histogram && !(n->histogram = calloc(TIMES_INTERVALS, sizeof(*n->histogram))))
		return -ENOMEM;
	n->histogram[times_interval(ns)]++;
	times_add(&n->times, ns);
	if (e->by == PAIR_THREAD && s->process != TALLY_NO_PROCESS)
		add_process_time(p, pair, s->process, ns);
	return 0;
}

/* An event whose pair has the same fields. */
static int take_fields(struct pairs *p, const struct tally_stream *s, const struct pair_event *e,
		       const struct cursor *c)
{
	const struct md_occurrence *o = &c->o;
	struct pair_open key = { .trace = s->stream.trace, .ts = o->ts, .pair = e->pair,
				 .at = { c->outage, p->slices.outages.now } };
	struct pair *n = &p->all[e->pair];
	struct pair_end end;

	n->begun += e->begins;
	n->ended += !e->begins;
	if (e->by == PAIR_UNKNOWN)
		return 0;
	key.a = number_of(&e->a, o);
	key.b = e->b.type ? number_of(&e->b, o) : 0;
	/* A thread that is woken twice has been waiting since the second time. */
	if (!pair_open_take(&p->wakeups, &key, e->begins, false, &end))
		return 0;
	p->slices.interrupted += end.interrupted;
	return end.interrupted ? 0 : add_pair_time(p, s, e, e->pair, end.ns);
}

int pairs_take(struct pairs *p, const struct tally_stream *s, const struct pair_event *e,
	       const struct cursor *c)
{
	const struct slice_class *k = &e->slice;
	uint32_t cpu = s->stream.cpu, pair = e->pair;
	const struct md_occurrence *o = &c->o;
	enum slice_side side;
	struct slice_track *t;
	int64_t pid;

	if (k->is_switch)
		slices_switch(&p->slices, cpu, (int64_t)number_of(&k->next, o));
	if (!k->side && !k->leaves_calls)
		return take_fields(p, s, e, c);
	t = slices_track(&p->slices, k, o, cpu, slices_thread(&p->slices, k, o, cpu, &pid),
			 o->ts);
	if (!t)
		return -ENOMEM;
	side = slices_take(&p->slices, t, k, o, o->ts, c->outage);
	if (side == SLICE_END)
		pair = t->open[t->depth].mark;
	else if (k->address.type)
		pair = find_function(p, s, e, c);
	if (side == SLICE_BEGIN)
		t->open[t->depth - 1].mark = pair;
	if (pair == NONE)
		return 0;
	p->all[pair].begun += e->begins;
	p->all[pair].ended += !e->begins;
	p->all[pair].of_threads |= t->tid < SLICE_CPUS;
	return side == SLICE_END ? add_pair_time(p, s, e, pair, o->ts - t->open[t->depth].begin)
				 : 0;
}

struct pairs *pairs_create(struct session *s)
{
	struct pairs *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->session = s;
	p->slices.track_size = sizeof(struct slice_track);
	pair_open_init(&p->wakeups);
	return p;
}

void pairs_destroy(struct pairs *p)
{
	struct pair_event *e;

	if (!p)
		return;
	while ((e = p->events)) {
		p->events = e->next;
		free(e);
	}
	for (uint32_t i = 0; i < p->count; i++) {
		free(p->all[i].name);
		free(p->all[i].histogram);
	}
	slices_deinit(&p->slices);
	function_names_destroy(p->functions);
	stacks_destroy(p->own_stacks);
	free(p->of_function);
	free(p);
}
