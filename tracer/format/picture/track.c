/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/picture/event_kind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/format/picture/cpu_runs.h"
#include "tracer/session/session.h"

struct tracks {
	struct maker *m;
	const struct track_form *form;
	void *arg;
	struct slices slices;   /* of struct timeline */
	uint32_t numbers;       /* of tracks */
	uint32_t kinds;         /* numbers of event classes */
	struct counters *counters;      /* owned */
	struct processes *processes;    /* owned */
	struct cpu_runs *runs;  /* NULL: no thread was switched to in a run before; owned */
	struct function_kinds *functions;    /* NULL: no event is of a function; owned */
	uint64_t flows;         /* how many have begun */
	uint64_t last;          /* time of the last event */
	bool ended;             /* no event follows */
};

/* ---- tracks and their names ---- */

/* NULL: there are too many, or no memory. */
static struct timeline *find_track(struct tracks *v, int32_t tid)
{
	struct timeline *t = (struct timeline *)slices_find(&v->slices, tid);

	if (v->slices.failed)
		v->m->err = -ENOMEM;
	return t;
}

/* A struct timeline, in the run before a struct run_thread. NULL: it is no thread, or m->err. */
static void *find_thread(struct tracks *v, int64_t tid)
{
	return tid > 0 && tid < SLICE_CPUS ? find_track(v, (int32_t)tid) : NULL;
}

static struct timeline *find_cpu(struct tracks *v, uint32_t cpu)
{
	return find_track(v, SLICE_CPUS + (int32_t)(cpu & 0xfffff));
}

static struct track_process *process_of(struct tracks *v, int32_t pid)
{
	struct track_process *p = processes_find(v->processes, pid);

	if (!p)
		v->m->err = -ENOMEM;
	return p;
}

static void name_process(struct tracks *v, const struct timeline *t)
{
	struct track_process *p = process_of(v, track_pid(t));

	if (p)
		process_learn(p, t->slices.tid, t->name, t->name_len);
}

/* What an event says about a thread. */
static void learn(struct tracks *v, int64_t tid, int64_t pid, struct text name)
{
	struct md_buf text = MD_BUF_INIT;
	struct timeline *t = find_thread(v, tid);

	if (!t)
		return;
	if (pid > 0 && pid < SLICE_CPUS && t->pid != pid) {
		t->pid = (int32_t)pid;
		t->described = false;
		name_process(v, t);
	}
	/* Most names are as before: compare without a copy. */
	if (!name.p || (name.n == t->name_len && !memcmp(name.p, t->name, t->name_len)))
		return;
	md_value_put_text(name.p, name.n, &text);
	timeline_set_name(t, text.data, text.len);
	md_buf_deinit(&text);
	name_process(v, t);
}

static struct text text_of(const struct md_value *values, int i)
{
	struct text text;

	if (i < 0 || !md_value_string(&values[i], &text.p, &text.n))
		return (struct text){ NULL, 0 };
	return text;
}

static void describe(struct tracks *v, struct timeline *t)
{
	struct track_process *p;

	timeline_name(t);
	p = process_of(v, track_pid(t));
	if (!t->known) {
		t->number = v->numbers++;
		t->left_out = t->slices.tid < SLICE_CPUS &&
			      cpu_runs_leave_out(v->runs, t->slices.tid);
	}
	t->known = true;
	if (p && !p->described && v->form->process)
		v->form->process(v->arg, p);
	if (p)
		p->described = true;
	if (!t->described && v->form->describe)
		v->form->describe(v->arg, t);
	t->described = true;
}

/* ---- slices ---- */

static struct timeline *track_of(struct tracks *v, const struct row *r,
				 const struct event_kind *kind)
{
	struct slice_track *t;
	struct track_process *p;
	int64_t pid;
	int32_t tid = slices_thread(&v->slices, &kind->slices, r->occurrence, r->cpu, &pid);

	if (tid)
		learn(v, tid, pid, text_of(r->context, kind->procname));
	if (kind->group >= 0 && r->context[kind->group].p && tid) {
		p = process_of(v, pid > 0 && pid < SLICE_CPUS ? (int32_t)pid : tid);
		if (p)
			process_join(p, &r->context[kind->group]);
	}
	t = slices_track(&v->slices, &kind->slices, r->occurrence, r->cpu, tid, r->time);
	if (!t)
		v->m->err = -ENOMEM;
	return (struct timeline *)t;
}

/* The slice has no end. */
static void show_unended(void *arg, struct slice_track *slices, uint64_t time)
{
	struct tracks *v = arg;
	struct mark k = { .track = (struct timeline *)slices, .time = time,
			  .slice = &slices->open[slices->depth - 1] };

	if (v->ended && v->form->leave)
		v->form->leave(v->arg, &k);
	if (!v->ended && v->form->cut)
		v->form->cut(v->arg, &k);
}

/* The names of the slices of the function that begins. NULL: it has none. */
static struct function_kind *find_function(struct tracks *v, const struct row *r,
					   const struct event_kind *kind)
{
	struct function_kind *k;

	if (!v->functions)
		v->functions = function_kinds_create();
	k = v->functions ? function_kinds_find(v->functions, v->m, r, kind) : NULL;
	if (!k || k->told)
		return k;
	k->told = true;
	k->name.number = k->slice.number = v->kinds++;
	if (v->form->classes)
		v->form->classes(v->arg, r, &k->name, &k->slice);
	return k;
}

static void begin_slice(struct tracks *v, struct mark *k, const struct event_kind *kind)
{
	const struct function_kind *f =
		kind->slices.address.type ? find_function(v, k->row, kind) : NULL;

	if (f) {
		k->name = &f->slice;
		k->event = &f->name;
	}
	k->slice = &k->track->slices.open[k->track->slices.depth - 1];
	if (v->form->begin)
		v->form->begin(v->arg, k);
}

static void end_slice(struct tracks *v, struct mark *k)
{
	k->slice = &k->track->slices.open[k->track->slices.depth];
	if (v->form->end)
		v->form->end(v->arg, k);
}

/* ---- events ---- */

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
	struct timeline *t = find_thread(v, row_number(r->fields, kind->fields[WAKEUP_TID]));

	return t && !t->flow ? t->flow = ++v->flows : 0;
}

static void add_mark(struct tracks *v, struct timeline *t, const struct row *r,
		     const struct event_kind *kind)
{
	struct mark k = { .track = t, .time = r->time, .name = &kind->slice,
			  .event = &kind->name, .row = r };
	enum slice_side side;

	describe(v, t);
	side = slices_take(&v->slices, &t->slices, &kind->slices, r->occurrence, r->time,
			   r->cursor->outage);
	if (side == SLICE_BEGIN)
		begin_slice(v, &k, kind);
	if (side == SLICE_END)
		end_slice(v, &k);
	if (side)
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
	struct timeline *t = find_thread(v, w->next_tid);

	if (!t)
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
	struct timeline *cpu = find_cpu(v, r->cpu);

	learn(v, w.prev_tid, 0, w.prev_name);
	learn(v, w.next_tid, 0, w.next_name);
	slices_switch(&v->slices, r->cpu, w.next_tid);
	if (!cpu)
		return;
	describe(v, cpu);
	w.track = cpu;
	w.was_running = cpu->running;
	w.was_unknown = cpu->unknown;
	w.prev_left_out = w.prev_tid > 0 && cpu_runs_leave_out(v->runs, w.prev_tid);
	cpu->unknown = w.next_tid > 0 &&
		       !cpu_runs_is_known(v->runs, r->cpu, r->time, w.next_tid);
	cpu->running = w.next_tid > 0 && !cpu->unknown;
	end_flow(v, &w);
	if (v->form->switched)
		v->form->switched(v->arg, &w);
}

/* What is known about the row's classes. NULL: m->err. */
static struct event_kind *find_kind(struct tracks *v, const struct row *r)
{
	struct event_kind *k = *r->state;

	if (!k)
		*r->state = k = event_kind_create(r);
	if (!k)
		v->m->err = -ENOMEM;
	return k;
}

void tracks_add(void *tracks, const struct row *r)
{
	struct tracks *v = tracks;
	struct event_kind *k = find_kind(v, r);
	struct timeline *t;

	if (!k)
		return;
	if (!k->told) {
		k->name.number = k->slice.number = v->kinds++;
		if (v->form->classes)
			v->form->classes(v->arg, r, &k->name, &k->slice);
		k->told = true;
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
	t = k->is == KIND_FREQUENCY ? find_cpu(v, r->cpu) : track_of(v, r, k);
	if (t)
		add_mark(v, t, r, k);
}

void tracks_lose(void *tracks, const struct lost *l)
{
	struct tracks *v = tracks;
	struct timeline *t = find_track(v, TRACK_LOSSES + (int32_t)(l->number & 0xfffff));

	if (!t || !v->form->lose)
		return;
	timeline_name_hardware(t, TRACK_LOSSES, "%s %s", l->stream.channel, l->stream.name);
	describe(v, t);
	v->form->lose(v->arg, t, l);
}

/* ---- the run before, where ends may be missing: which begins have no end ---- */

static void note_switch(struct tracks *v, const struct row *r, const struct event_kind *k)
{
	uint64_t next = 0, prev = 0;

	if (!md_access_integer(&k->slices.next, r->occurrence, &next))
		return;
	slices_switch(&v->slices, r->cpu, (int64_t)next);
	if (v->runs && k->slices.prev.type &&
	    md_access_integer(&k->slices.prev, r->occurrence, &prev))
		cpu_runs_switch(v->runs, r->stream, r->cpu, r->time,
				find_thread(v, (int64_t)prev), find_thread(v, (int64_t)next),
				(int64_t)next <= 0);
}

/*
 * The thread of a system call or of an interrupt: only threads in the inclusion sets have these.
 * Other events may happen while the kernel switches from one thread to another.
 */
static void note_thread(struct tracks *v, const struct row *r, const struct event_kind *k)
{
	const struct slice_class *c = &k->slices;
	struct run_thread *t;
	int64_t pid;

	if (!v->runs || !c->tid.type || (!c->is_call && !c->of_cpu))
		return;
	t = find_thread(v, slices_thread(&v->slices, c, r->occurrence, r->cpu, &pid));
	if (t)
		cpu_runs_see(v->runs, r->cpu, t, c->is_call);
}

static void note_row(void *arg, const struct row *r)
{
	struct tracks *v = arg;
	struct event_kind *k = find_kind(v, r);
	struct slice_track *t;
	int64_t pid;
	int32_t tid;

	if (!k)
		return;
	v->last = r->time;
	if (k->slices.is_switch)
		note_switch(v, r, k);
	note_thread(v, r, k);
	if (!k->slices.side && !k->slices.leaves_calls)
		return;
	tid = slices_thread(&v->slices, &k->slices, r->occurrence, r->cpu, &pid);
	t = slices_track(&v->slices, &k->slices, r->occurrence, r->cpu, tid, r->time);
	if (t)
		slices_take(&v->slices, t, &k->slices, r->occurrence, r->time, r->cursor->outage);
}

static void note_loss(void *arg, const struct lost *l)
{
	struct tracks *v = arg;

	if (v->runs)
		cpu_runs_lose(v->runs, l->cursor->stream.class, l->cursor->stream.cpu);
}

static void show_slices(struct tracks *v)
{
	v->slices.track_size = sizeof(struct timeline);
	v->slices.unended = show_unended;
	v->slices.arg = v;
}

static void find_dropped(struct tracks *v)
{
	bool tracked = session_leaves_threads_out(v->m->s),
	     switches = maker_declares(v->m, "sched_switch");

	v->slices.since = maker_since(v->m);
	v->slices.tracked = tracked && maker_declares(v->m, "block_rq_issue");
	if (!v->slices.since && !v->slices.tracked && !switches && !v->m->forgets)
		return;
	v->m->runs = 2;
	v->runs = switches ? cpu_runs_create(tracked) : NULL;
	v->slices.track_size = sizeof(struct run_thread);
	v->slices.unended = NULL;
	v->m->lose = note_loss;
	maker_run(v->m, ROW_CLASSES, note_row, v);
	slices_finish(&v->slices, v->last);
	if ((switches && !v->runs) || (v->runs && !cpu_runs_finish(v->runs, &v->slices)))
		v->m->err = -ENOMEM;
	slices_replay(&v->slices);
	show_slices(v);
}

struct tracks *tracks_begin(struct maker *m, const struct track_form *form, void *arg)
{
	struct tracks *v = calloc(1, sizeof(*v));

	if (v) {
		*v = (struct tracks){ .m = m, .form = form, .arg = arg,
				      .counters = counters_create(),
				      .processes = processes_create() };
		show_slices(v);
		m->outages = &v->slices.outages;
		if (v->counters && v->processes)
			return v;
		tracks_end(v);
	}
	m->err = -ENOMEM;
	return NULL;
}

struct slices_dropped tracks_end(struct tracks *v)
{
	struct slices_dropped dropped;
	struct timeline *t;

	v->ended = true;
	slices_finish(&v->slices, v->last);
	v->m->forgot |= v->slices.forgot;
	dropped = v->slices.dropped;
	for (uint32_t i = 0; i < v->slices.size; i++) {
		t = (struct timeline *)v->slices.table[i];
		/* Switches name threads also after the last event on their track. */
		if (t && t->known && !t->described)
			describe(v, t);
		if (t)
			free(t->note);
	}
	slices_deinit(&v->slices);
	v->m->outages = NULL;
	counters_destroy(v->counters);
	processes_destroy(v->processes);
	cpu_runs_destroy(v->runs);
	function_kinds_destroy(v->functions);
	free(v);
	return dropped;
}

struct slices_dropped tracks_run(struct maker *m, const struct track_form *form, void *arg)
{
	struct tracks *v = tracks_begin(m, form, arg);

	if (!v)
		return (struct slices_dropped){ 0 };
	find_dropped(v);
	m->lose = tracks_lose;
	if (!m->err)
		maker_run(m, form->json ? ROW_JSON : ROW_VALUES, tracks_add, v);
	return tracks_end(v);
}
