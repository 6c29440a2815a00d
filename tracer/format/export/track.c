/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/export/event_kind.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"

#define TRACKS_MAX 65536u       /* further threads are shown on the track of their CPU */
#define LANES_MAX 256u          /* block requests at a time that have tracks */
#define DEPTH_MAX 1024u         /* slices that are open at a time on one track */

struct lane {                   /* a track of block requests */
	struct timeline *track;
	uint64_t dev, sector;   /* sector: of the request that is under way */
	bool busy;
};

struct tracks {
	struct maker *m;
	const struct track_form *form;
	void *arg;
	struct timeline **table;   /* by tid, open addressing; elements are owned */
	uint32_t count, size;   /* size: a power of two */
	struct timeline *found; /* by the last search; NULL: none */
	uint32_t kinds;
	struct counters *counters;      /* owned */
	struct lane *lanes;     /* owned */
	uint32_t lane_count;
	uint64_t flows;         /* how many have begun */
	int32_t *current;       /* the thread of each CPU; 0: not known */
	uint32_t cpus;
	uint64_t last;          /* time of the last event */
};

/* ---- the table of tracks ---- */

static struct timeline **place_of(const struct tracks *v, int32_t tid)
{
	uint32_t i = (uint32_t)tid * 2654435761u;

	while (v->table[i & (v->size - 1)] && v->table[i & (v->size - 1)]->tid != tid)
		i++;
	return &v->table[i & (v->size - 1)];
}

static bool grow(struct tracks *v)
{
	struct tracks old = *v;

	v->size = old.size ? 2 * old.size : 64;
	v->table = calloc(v->size, sizeof(*v->table));
	if (!v->table) {
		*v = old;
		return false;
	}
	for (uint32_t i = 0; i < old.size; i++)
		if (old.table[i])
			*place_of(v, old.table[i]->tid) = old.table[i];
	free(old.table);
	return true;
}

static void set_name(struct timeline *t, const char *name, size_t n)
{
	if (n > sizeof(t->name))
		n = sizeof(t->name);
	if (!n || (t->name_len == n && !memcmp(t->name, name, n)))
		return;
	memcpy(t->name, name, n);
	t->name_len = (uint32_t)n;
	t->described = false;
}

/* The track of a thread, a new one if there is none. NULL: there are too many, or no memory. */
static struct timeline *find_track(struct tracks *v, int32_t tid)
{
	struct timeline **at;

	if (v->found && v->found->tid == tid)
		return v->found;
	if (v->count * 2 >= v->size && !grow(v)) {
		v->m->err = -ENOMEM;
		return NULL;
	}
	at = place_of(v, tid);
	if (*at || (v->count >= TRACKS_MAX && tid < TRACK_CPUS))
		return v->found = *at;
	*at = calloc(1, sizeof(**at));
	if (!*at) {
		v->m->err = -ENOMEM;
		return NULL;
	}
	(*at)->tid = tid;
	(*at)->number = v->count++;
	return *at;
}

const char *track_process_name(const struct timeline *t)
{
	return t->pid == TRACK_CPUS ? "CPUs" : t->pid == TRACK_DISKS ? "Block devices"
	       : t->pid == TRACK_LOSSES ? "Losses" : NULL;
}

/* A track of hardware: of the process pid, with this tid. */
__attribute__((format(printf, 4, 5)))
static struct timeline *find_hardware(struct tracks *v, int32_t pid, int32_t tid, const char *fmt,
				      ...)
{
	struct timeline *t = find_track(v, tid);
	char name[TRACK_NAME_MAX];
	va_list args;

	if (t && !t->pid) {
		t->pid = pid;
		va_start(args, fmt);
		set_name(t, name, (size_t)vsnprintf(name, sizeof(name), fmt, args));
		va_end(args);
	}
	return t;
}

static struct timeline *find_cpu(struct tracks *v, uint32_t cpu)
{
	return find_hardware(v, TRACK_CPUS, TRACK_CPUS + (int32_t)(cpu & 0xfffff), "CPU %u", cpu);
}

static struct timeline *find_interrupts(struct tracks *v, uint32_t cpu)
{
	return find_hardware(v, TRACK_CPUS, TRACK_INTERRUPTS + (int32_t)(cpu & 0xfffff),
			     "CPU %u interrupts", cpu);
}

/* The track for a block request: where it began, or one of its device that is free. */
static struct timeline *find_request(struct tracks *v, const struct row *r,
				     const struct event_kind *kind)
{
	const int dev = kind->fields[REQUEST_DEV], sector = kind->fields[REQUEST_SECTOR];
	bool begins = kind->side == PAIR_BEGIN;
	struct lane key = { .busy = begins }, *l;
	uint32_t i = 0;

	if (dev < 0 || sector < 0 || !md_value_integer(&r->fields[dev], &key.dev) ||
	    !md_value_integer(&r->fields[sector], &key.sector))
		return NULL;
	while (i < v->lane_count &&
	       (v->lanes[i].dev != key.dev || v->lanes[i].busy == begins ||
		(!begins && v->lanes[i].sector != key.sector)))
		i++;
	if (i == v->lane_count && begins && i < LANES_MAX) {
		if (!v->lanes && !(v->lanes = calloc(LANES_MAX, sizeof(*v->lanes))))
			return NULL;
		v->lanes[v->lane_count++].track =
			find_hardware(v, TRACK_DISKS, TRACK_DISKS + (int32_t)i, "%u:%u",
				      (unsigned int)(key.dev >> 20),
				      (unsigned int)(key.dev & 0xfffff));
	}
	if (i == v->lane_count)
		return NULL;
	l = &v->lanes[i];
	key.track = l->track;
	*l = key;
	return l->track;
}

/* What an event says about a thread. */
static void learn(struct tracks *v, int64_t tid, int64_t pid, struct text name)
{
	struct md_buf text = MD_BUF_INIT;
	struct timeline *t;

	if (tid <= 0 || tid >= TRACK_CPUS || !(t = find_track(v, (int32_t)tid)))
		return;
	if (pid > 0 && pid < TRACK_CPUS && t->pid != pid) {
		t->pid = (int32_t)pid;
		t->described = false;
	}
	/* Most names are as before: compare without a copy. */
	if (!name.p || (name.n == t->name_len && !memcmp(name.p, t->name, t->name_len)))
		return;
	md_value_put_text(name.p, name.n, &text);
	set_name(t, text.data, text.len);
	md_buf_deinit(&text);
}

static struct text text_of(const struct md_value *values, int i)
{
	struct text text;

	if (i < 0 || !md_value_string(&values[i], &text.p, &text.n))
		return (struct text){ NULL, 0 };
	return text;
}

/* ---- events ---- */

static int32_t *current_of(struct tracks *v, uint32_t cpu)
{
	if (cpu > 0xffff)
		return NULL;
	if (cpu >= v->cpus) {
		if (!array_extend(v->current, v->cpus, cpu + 1))
			return NULL;
		v->cpus = cpu + 1;
	}
	return &v->current[cpu];
}

static struct timeline *track_of(struct tracks *v, const struct row *r,
				 const struct event_kind *kind)
{
	int64_t tid = row_number(r->context, kind->tid), pid = row_number(r->context, kind->pid);
	const int32_t *current = current_of(v, r->cpu);
	struct timeline *t = NULL;

	if (tid < 0)
		tid = current && *current ? *current : pid;
	if (tid > 0 && tid < TRACK_CPUS) {
		learn(v, tid, pid, text_of(r->context, kind->procname));
		t = find_track(v, (int32_t)tid);
	}
	if (kind->of_cpu)
		return find_interrupts(v, r->cpu);
	if (kind->is == KIND_REQUEST && kind->side) {
		struct timeline *request = find_request(v, r, kind);

		t = request ? request : t;
	}
	return t ? t : find_cpu(v, r->cpu);
}

/* The main thread of a process may have no event: the first thread that has one names it. */
static void describe_main(struct tracks *v, const struct timeline *t)
{
	struct timeline *main = find_track(v, t->pid);

	if (!main)
		return;
	/* It may have been described when only its name was known. */
	main->described = main->described && main->pid == t->pid;
	main->pid = t->pid;
	if (!main->name_len)
		set_name(main, t->name, t->name_len);
	if (!main->described && v->form->describe)
		v->form->describe(v->arg, main);
	main->described = true;
}

static void describe(struct tracks *v, struct timeline *t)
{
	if (!t->described && t->pid && t->pid != t->tid && t->pid < TRACK_CPUS)
		describe_main(v, t);
	if (!t->described && v->form->describe)
		v->form->describe(v->arg, t);
	t->described = true;
}

static struct open_slice *push(struct timeline *t)
{
	if (t->depth == t->room) {
		uint32_t room = t->room ? 2 * t->room : 8;

		if (room > DEPTH_MAX || !array_room(t->open, room))
			return NULL;
		t->room = room;
	}
	return &t->open[t->depth++];
}

static void end_slice(struct tracks *v, struct timeline *t, struct mark k)
{
	k.slice = &t->open[t->depth - 1];
	if (v->form->end)
		v->form->end(v->arg, &k);
	t->depth--;
}

/* False: no slice of this pair is open. */
static bool end_pair(struct tracks *v, struct timeline *t, struct mark k, uint64_t pair)
{
	const struct row *row = k.row;
	uint32_t i = t->depth;

	while (i && t->open[i - 1].pair != pair)
		i--;
	if (!i)
		return false;
	k.row = NULL;
	while (t->depth > i)
		end_slice(v, t, k);
	k.row = row;
	end_slice(v, t, k);
	return true;
}

/* Ends a system call that is open, although its exit is not among the events. */
static void end_call(struct tracks *v, struct timeline *t, struct mark k)
{
	uint32_t i = t->depth;

	while (i && !t->open[i - 1].is_call)
		i--;
	k.row = NULL;
	while (i && t->depth >= i)
		end_slice(v, t, k);
}

/* False: none of the event's fields is a counter that can be shown. */
static bool add_counters(struct tracks *v, const struct mark *k, const struct event_kind *kind)
{
	struct track_counter *c;
	bool any = false;

	for (uint32_t i = 0; i < kind->counter_count && v->form->counter; i++) {
		const struct md_value *value = &k->row->fields[kind->counters[i]];

		c = value->p ? counters_find(v->counters, k, kind, kind->counters[i]) : NULL;
		if (!c)
			continue;
		if (!any && v->form->counted)
			v->form->counted(v->arg, k);
		any = true;
		v->form->counter(v->arg, k, c, value);
	}
	return any;
}

/* The number of the flow that begins with the wakeup of a thread; 0: it has been woken before. */
static uint64_t begin_flow(struct tracks *v, const struct row *r, const struct event_kind *kind)
{
	int64_t tid = row_number(r->fields, kind->fields[WAKEUP_TID]);
	struct timeline *t;

	if (tid <= 0 || tid >= TRACK_CPUS || !(t = find_track(v, (int32_t)tid)) || t->flow)
		return 0;
	return t->flow = ++v->flows;
}

static void add_mark(struct tracks *v, struct timeline *t, const struct row *r,
		     const struct event_kind *kind)
{
	struct mark k = { .track = t, .time = r->time, .name = &kind->slice,
			  .event = &kind->name, .row = r };

	if (kind->is == KIND_FREQUENCY)
		k.track = t = find_cpu(v, r->cpu);
	if (!t)
		return;
	describe(v, t);
	if (kind->leaves_calls)
		end_call(v, t, k);
	if (kind->side == PAIR_BEGIN && (k.slice = push(t))) {
		*k.slice = (struct open_slice){ .pair = kind->pair, .begin = r->time,
						.is_call = kind->is_call };
		if (v->form->begin)
			v->form->begin(v->arg, &k);
		return;
	}
	if (kind->side == PAIR_END && end_pair(v, t, k, kind->pair))
		return;
	k.name = &kind->name;
	if (kind->counter_count && add_counters(v, &k, kind))
		return;
	if (kind->is == KIND_WAKEUP)
		k.flow = begin_flow(v, r, kind);
	if (v->form->instant)
		v->form->instant(v->arg, &k);
}

/* The thread that the CPU runs now, which ends the flow that leads to it. */
static void end_flow(struct tracks *v, struct cpu_switch *w)
{
	struct timeline *t;

	if (w->next_tid <= 0 || w->next_tid >= TRACK_CPUS ||
	    !(t = find_track(v, (int32_t)w->next_tid)))
		return;
	w->thread = t;
	w->flow = t->flow;
	t->flow = 0;
	if (w->flow)
		describe(v, t);
}

static void add_switch(struct tracks *v, const struct row *r, const struct event_kind *kind)
{
	const struct md_value *values = r->fields;
	const int *fields = kind->fields;
	struct cpu_switch w = {
		.row = r,
		.event = &kind->name,
		.prev_name = text_of(values, fields[PREV_COMM]),
		.next_name = text_of(values, fields[NEXT_COMM]),
		.prev_tid = row_number(values, fields[PREV_TID]),
		.next_tid = row_number(values, fields[NEXT_TID]),
		.prev_prio = row_number(values, fields[PREV_PRIO]),
		.next_prio = row_number(values, fields[NEXT_PRIO]),
		.prev_state = row_number(values, fields[PREV_STATE]),
	};
	int32_t *current = current_of(v, r->cpu);
	struct timeline *cpu = find_cpu(v, r->cpu);

	learn(v, w.prev_tid, 0, w.prev_name);
	learn(v, w.next_tid, 0, w.next_name);
	if (current)
		*current = w.next_tid > 0 && w.next_tid < TRACK_CPUS ? (int32_t)w.next_tid : 0;
	if (!cpu)
		return;
	describe(v, cpu);
	w.track = cpu;
	w.was_running = cpu->running;
	cpu->running = w.next_tid > 0;
	end_flow(v, &w);
	if (v->form->switched)
		v->form->switched(v->arg, &w);
}

static void add_row(void *arg, const struct row *r)
{
	struct tracks *v = arg;
	struct event_kind *k = *r->state;
	struct timeline *t;

	if (!k) {
		*r->state = k = event_kind_create(r, v->kinds++);
		if (!k) {
			v->m->err = -ENOMEM;
			return;
		}
		if (v->form->classes)
			v->form->classes(v->arg, r, &k->name, &k->slice);
	}
	v->last = r->time;
	if (r->torn)
		return;
	if (k->is == KIND_SWITCH) {
		add_switch(v, r, k);
		return;
	}
	if (k->is == KIND_PROCESS)
		learn(v, row_number(r->fields, k->fields[STATE_TID]),
		      row_number(r->fields, k->fields[STATE_PID]),
		      text_of(r->fields, k->fields[STATE_NAME]));
	t = track_of(v, r, k);
	if (t)
		add_mark(v, t, r, k);
}

static void add_lost(void *arg, const struct lost *l)
{
	struct tracks *v = arg;
	struct timeline *t;

	t = find_hardware(v, TRACK_LOSSES, TRACK_LOSSES + (int32_t)(l->number & 0xfffff), "%s %s",
			  l->stream.channel, l->stream.name);
	if (!t || !v->form->lose)
		return;
	describe(v, t);
	v->form->lose(v->arg, t, l);
}

static void close_open(struct tracks *v, struct timeline *t)
{
	struct mark k = { .track = t, .time = v->last };

	while (v->form->close_open && t->depth)
		end_slice(v, t, k);
}

void tracks_run(struct maker *m, const struct track_form *form, void *arg)
{
	struct tracks v = { .m = m, .form = form, .arg = arg };

	v.counters = counters_create();
	if (!v.counters) {
		m->err = -ENOMEM;
		return;
	}
	m->lose = add_lost;
	maker_run(m, form->json ? ROW_JSON : ROW_VALUES, add_row, &v);
	for (uint32_t i = 0; i < v.size; i++) {
		if (!v.table[i])
			continue;
		close_open(&v, v.table[i]);
		free(v.table[i]->open);
		free(v.table[i]->note);
		free(v.table[i]);
	}
	counters_destroy(v.counters);
	free(v.lanes);
	free(v.table);
	free(v.current);
}
