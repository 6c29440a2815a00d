/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/picture/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/hash.h"

#define NAMES_MAX (16u << 20)   /* bytes of all names */

/* ---- the grid ---- */

/* Two columns become one. */
static void fold(uint32_t *columns, size_t each)
{
	for (size_t i = 0; i < REPORT_COLUMNS / 2; i++)
		for (size_t k = 0; k < each; k++)
			columns[i * each + k] = columns[2 * i * each + k] +
						columns[(2 * i + 1) * each + k];
	memset(columns + REPORT_COLUMNS / 2 * each, 0,
	       REPORT_COLUMNS / 2 * each * sizeof(*columns));
}

static uint32_t column_of(struct report *v, uint64_t time)
{
	time = time > v->start ? time - v->start : 0;
	while (time / v->step >= REPORT_COLUMNS) {
		for (uint32_t i = 0; i < v->name_count; i++)
			fold(v->by_name[i].columns, 1);
		for (uint32_t i = 0; i < v->kind_count; i++)
			if (v->kinds[i].heat)
				fold(v->kinds[i].heat, REPORT_LEVELS);
		v->step *= 2;
	}
	return (uint32_t)(time / v->step);
}

static uint32_t level_of(uint64_t ns)
{
	unsigned int power;
	uint32_t level;

	if (ns < 2)
		return (uint32_t)ns;
	power = 63 - (unsigned int)__builtin_clzll(ns);
	level = 2 * power + ((ns >> (power - 1)) & 1);
	return level < REPORT_LEVELS ? level : REPORT_LEVELS - 1;
}

/* ---- names ---- */

/* Names that change with each event would fill the memory: the last ones are then left out. */
static size_t keep(struct report *v, const char *s, size_t n, size_t *len)
{
	size_t at = v->names.len;

	*len = at + n < NAMES_MAX ? n : 0;
	md_buf_put(&v->names, s, *len);
	return at;
}

static bool is_named(const struct report *v, size_t name, size_t len, struct text text)
{
	return len == text.n && !memcmp(v->names.data + name, text.p, len);
}

/* The index of the events of this name; what has no room is with the last one. */
static uint32_t find_event(struct report *v, struct text text)
{
	uint32_t i;

	for (i = 0; i < v->name_count; i++)
		if (is_named(v, v->by_name[i].name, v->by_name[i].name_len, text))
			return i;
	if (i == REPORT_KINDS)
		return REPORT_KINDS - 1;
	if (i == REPORT_KINDS - 1)
		text = (struct text){ "others", 6 };
	v->by_name[i].name = keep(v, text.p, text.n, &v->by_name[i].name_len);
	return v->name_count++;
}

static uint32_t find_kind(struct report *v, struct text text)
{
	uint32_t i;

	for (i = 0; i < v->kind_count; i++)
		if (is_named(v, v->kinds[i].name, v->kinds[i].name_len, text))
			return i;
	if (i == REPORT_KINDS)
		return REPORT_KINDS - 1;
	if (i == REPORT_KINDS - 1)
		text = (struct text){ "others", 6 };
	v->kinds[i].name = keep(v, text.p, text.n, &v->kinds[i].name_len);
	return v->kind_count++;
}

static void add_classes(void *arg, const struct row *r, const struct track_name *event,
			const struct track_name *slice)
{
	struct report *v = arg;

	if (event->number >= v->class_count) {
		uint32_t room = 2 * event->number + 64;

		if (!array_extend(v->event_of, v->class_count, room) ||
		    !array_extend(v->kind_of, v->class_count, room)) {
			v->m->err = -ENOMEM;
			return;
		}
		v->class_count = room;
	}
	v->event_of[event->number] = 1 + find_event(v, event->plain);
	if (slice->plain.n)
		v->kind_of[event->number] = 1 + find_kind(v, slice->plain);
	if (!*v->host && r->host)
		snprintf(v->host, sizeof(v->host), "%s", r->host);
	if (v->names.failed)
		v->m->err = -ENOMEM;
}

/* ---- tracks and processes ---- */

struct report_party *report_find(struct report *v, struct report_parties *all, int32_t id)
{
	uint64_t hash = hash_step(HASH_START, (uint32_t)id);

	for (uint32_t at = 0, i; (i = hash_find(&all->table, hash, &at)) != HASH_NONE;)
		if (all->all[i].id == id)
			return &all->all[i];
	if (!array_double(all->all, all->table.count) || !hash_add(&all->table, hash)) {
		v->m->err = -ENOMEM;
		return NULL;
	}
	all->all[all->table.count - 1] = (struct report_party){ .id = id };
	return &all->all[all->table.count - 1];
}

static struct report_party *track_of(struct report *v, const struct timeline *t)
{
	struct report_party *p = report_find(v, &v->tracks, t->slices.tid);

	if (p)
		p->pid = track_pid(t);
	return p;
}

static void describe(void *arg, const struct timeline *t)
{
	struct report *v = arg;
	struct report_party *p = track_of(v, t);

	if (p && t->name_len &&
	    !is_named(v, p->name, p->name_len, (struct text){ t->name, t->name_len }))
		p->name = keep(v, t->name, t->name_len, &p->name_len);
}

static void describe_process(void *arg, const struct track_process *k)
{
	struct report *v = arg;
	struct report_party *p = report_find(v, &v->processes, k->pid);

	if (!p)
		return;
	p->name = keep(v, k->name, k->name_len, &p->name_len);
	p->group = keep(v, k->group, k->group_len, &p->group_len);
}

/* Adds up what the threads of each process have. */
static void sum_processes(struct report *v)
{
	for (uint32_t i = 0; i < v->tracks.table.count && !v->m->err; i++) {
		struct report_party t = v->tracks.all[i], *p;

		if (t.id >= SLICE_CPUS)
			continue;
		p = report_find(v, &v->processes, t.pid);
		if (!p)
			return;
		p->threads++;
		p->events += t.events;
		p->slices += t.slices;
		p->cpu += t.cpu;
		/* Of a process that has no descriptor: its thread ran, and had no event. */
		if (!p->name_len && t.name_len) {
			p->name = t.name;
			p->name_len = t.name_len;
		}
	}
}

/* ---- events ---- */

static void note_pause(struct report_best *best, struct report_pause p)
{
	uint32_t i = best->count;

	if (i == REPORT_BEST && p.ns <= best->all[i - 1].ns)
		return;
	if (i == REPORT_BEST)
		i--;
	else
		best->count++;
	for (; i && best->all[i - 1].ns < p.ns; i--)
		best->all[i] = best->all[i - 1];
	best->all[i] = p;
}

static void begin_at(struct report *v, uint64_t time)
{
	if (!v->begun)
		v->start = v->last = time;
	v->begun = true;
}

static void note_event(struct report *v, const struct timeline *t, uint64_t time, uint32_t class)
{
	struct report_party *p = track_of(v, t);
	uint32_t event;

	if (!p || class >= v->class_count || !v->event_of[class])
		return;
	event = v->event_of[class] - 1;
	begin_at(v, time);
	if (v->events)
		note_pause(&v->pauses, (struct report_pause){ v->last, time - v->last, 0,
							      v->last_event, event });
	if (p->events && p->id < SLICE_CPUS)
		note_pause(&v->thread_pauses,
			   (struct report_pause){ p->last, time - p->last, p->id, p->last_event,
						  event });
	v->by_name[event].count++;
	v->by_name[event].columns[column_of(v, time)]++;
	v->events++;
	p->events++;
	v->last = p->last = time;
	v->last_event = p->last_event = event;
}

static void add_begin(void *arg, const struct mark *k)
{
	struct report *v = arg;
	uint32_t class = k->event->number;

	note_event(v, k->track, k->time, class);
	k->slice->mark = class < v->class_count && v->kind_of[class] ? v->kind_of[class] - 1
								     : REPORT_NONE;
}

static void note_slow(struct report_kind *kind, struct report_slow s)
{
	uint32_t i = kind->slow_count;

	if (i == REPORT_BEST && s.ns <= kind->slowest[i - 1].ns)
		return;
	if (i == REPORT_BEST)
		i--;
	else
		kind->slow_count++;
	for (; i && kind->slowest[i - 1].ns < s.ns; i--)
		kind->slowest[i] = kind->slowest[i - 1];
	kind->slowest[i] = s;
}

static void add_end(void *arg, const struct mark *k)
{
	struct report *v = arg;
	uint64_t begin = k->slice->begin, ns = k->time - begin;
	struct report_kind *kind;
	struct report_party *p;

	note_event(v, k->track, k->time, k->event->number);
	if (k->slice->mark == REPORT_NONE)
		return;
	kind = &v->kinds[k->slice->mark];
	if (!kind->histogram) {
		kind->histogram = calloc(TIMES_INTERVALS, sizeof(*kind->histogram));
		kind->heat = calloc((size_t)REPORT_COLUMNS * REPORT_LEVELS, sizeof(*kind->heat));
		if (!kind->histogram || !kind->heat) {
			v->m->err = -ENOMEM;
			return;
		}
	}
	times_add(&kind->times, ns);
	kind->histogram[times_interval(ns)]++;
	kind->heat[column_of(v, begin) * REPORT_LEVELS + level_of(ns)]++;
	note_slow(kind, (struct report_slow){ begin, ns, k->track->slices.tid });
	p = track_outer(k->track, k->slice) ? NULL : track_of(v, k->track);
	if (p)
		p->slices += ns;
}

static void add_unended(void *arg, const struct mark *k)
{
	struct report *v = arg;

	if (k->slice->mark != REPORT_NONE)
		v->kinds[k->slice->mark].no_end++;
}

static void add_event(void *arg, const struct mark *k)
{
	note_event(arg, k->track, k->time, k->event->number);
}

/* With it, an event with counters is no instant. */
static void add_counter(void *arg, const struct mark *k, struct track_counter *c,
			const struct md_value *value)
{
	(void)arg;
	(void)k;
	(void)c;
	(void)value;
}

static void add_switch(void *arg, const struct cpu_switch *w)
{
	struct report *v = arg;
	uint32_t cpu = (uint32_t)(w->track->slices.tid - SLICE_CPUS);
	uint64_t time = w->row->time;
	struct report_party *p;

	note_event(v, w->track, time, w->event->number);
	if (cpu >= v->cpu_count) {
		if (!array_extend(v->cpus, v->cpu_count, cpu + 1)) {
			v->m->err = -ENOMEM;
			return;
		}
		v->cpu_count = cpu + 1;
	}
	p = v->cpus[cpu].tid ? report_find(v, &v->tracks, v->cpus[cpu].tid) : NULL;
	if (p)
		p->cpu += time - v->cpus[cpu].since;
	/* Of what runs for an unknown time nothing is added. */
	v->cpus[cpu] = (struct report_cpu){
		w->thread && w->track->running ? w->thread->slices.tid : 0, time };
	if (w->thread)
		describe(v, w->thread);
}

static void add_lost(void *arg, struct timeline *t, const struct lost *l)
{
	struct report *v = arg;
	struct report_loss *loss = &v->losses[v->loss_count];
	struct md_buf title = MD_BUF_INIT;

	begin_at(v, lost_begin(l));
	v->lost[l->loss.kind] += l->loss.count;
	v->loss_unknown |= !l->loss.count;
	if (v->loss_count == REPORT_LOSSES) {
		v->loss_more++;
		return;
	}
	v->loss_count++;
	md_loss_title(&l->loss, &title);
	*loss = (struct report_loss){ .begin = lost_begin(l), .end = l->loss.to };
	loss->title = keep(v, md_buf_str(&title), title.len, &loss->title_len);
	loss->stream = keep(v, t->name, t->name_len, &loss->stream_len);
	md_buf_deinit(&title);
}

void report_collect(struct report *v, struct maker *m)
{
	static const struct track_form form = { .classes = add_classes,
						.process = describe_process, .describe = describe,
						.begin = add_begin, .end = add_end,
						.cut = add_unended, .leave = add_unended,
						.instant = add_event, .switched = add_switch,
						.counted = add_event, .counter = add_counter,
						.lose = add_lost };

	*v = (struct report){ .m = m, .step = 64 };
	v->kinds = calloc(REPORT_KINDS, sizeof(*v->kinds));
	v->by_name = calloc(REPORT_KINDS, sizeof(*v->by_name));
	if (!v->kinds || !v->by_name) {
		m->err = -ENOMEM;
		return;
	}
	v->dropped = tracks_run(m, &form, v);
	/* What runs at the end ran up to the last event. */
	for (uint32_t i = 0; i < v->cpu_count && !m->err; i++) {
		struct report_party *p =
			v->cpus[i].tid ? report_find(v, &v->tracks, v->cpus[i].tid) : NULL;

		if (p)
			p->cpu += v->last - v->cpus[i].since;
	}
	sum_processes(v);
	if (v->names.failed)
		m->err = -ENOMEM;
}

void report_deinit(struct report *v)
{
	for (uint32_t i = 0; i < v->kind_count; i++) {
		free(v->kinds[i].histogram);
		free(v->kinds[i].heat);
	}
	free(v->kinds);
	free(v->by_name);
	free(v->event_of);
	free(v->kind_of);
	free(v->tracks.all);
	hash_deinit(&v->tracks.table);
	free(v->processes.all);
	hash_deinit(&v->processes.table);
	free(v->cpus);
	md_buf_deinit(&v->names);
}
