/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/picture/cpu_runs.h"

#include <stdlib.h>

#include "tracer/base/array.h"

#define CPUS_MAX 65536u         /* further CPUs: no run of theirs is known */

struct running {                /* what a CPU runs */
	struct run_thread *thread;      /* NULL: none, or not known */
	uint64_t since;
	const struct md_stream *stream; /* of the switch; NULL: the CPU had none */
};

struct run {
	uint64_t time;          /* when it begins */
	uint32_t cpu;
};

struct cpu_runs {
	bool tracked;
	struct running *cpus;   /* owned */
	uint32_t cpu_count;
	struct run *unknown;    /* in the second run by time; owned */
	uint32_t unknown_count, at;     /* at: the first that may still come */
	uint64_t end;           /* from this time on no run is known; UINT64_MAX: there is none */
	int32_t *in_sets;       /* threads, by number; owned */
	size_t in_sets_count;
};

struct cpu_runs *cpu_runs_create(bool tracked)
{
	struct cpu_runs *v = calloc(1, sizeof(*v));

	if (v) {
		v->tracked = tracked;
		v->end = UINT64_MAX;
	}
	return v;
}

void cpu_runs_destroy(struct cpu_runs *v)
{
	if (!v)
		return;
	free(v->cpus);
	free(v->unknown);
	free(v->in_sets);
	free(v);
}

/* ---- the first run ---- */

static struct running *find_cpu(struct cpu_runs *v, uint32_t cpu)
{
	if (cpu >= CPUS_MAX)
		return NULL;
	if (cpu >= v->cpu_count) {
		if (!array_extend(v->cpus, v->cpu_count, cpu + 1))
			return NULL;
		v->cpu_count = cpu + 1;
	}
	return &v->cpus[cpu];
}

static void note_unknown(struct cpu_runs *v, uint32_t cpu, uint64_t time)
{
	if (v->unknown_count < RUNS_MAX && array_double(v->unknown, v->unknown_count))
		v->unknown[v->unknown_count++] = (struct run){ time, cpu };
	else if (time < v->end)
		v->end = time;
}

/* What the CPU runs has ended. known: at this time. */
static void end_run(struct cpu_runs *v, uint32_t cpu, bool known)
{
	struct running *r = cpu < v->cpu_count ? &v->cpus[cpu] : NULL;

	if (!r || !r->thread)
		return;
	if (!known)
		note_unknown(v, cpu, r->since);
	r->thread->cpu = 0;
	r->thread = NULL;
}

/* The thread is on this CPU: on another one it has ended before. */
static void end_elsewhere(struct cpu_runs *v, const struct run_thread *thread, uint32_t cpu)
{
	if (thread && thread->cpu && thread->cpu - 1 != cpu)
		end_run(v, thread->cpu - 1, false);
}

void cpu_runs_switch(struct cpu_runs *v, const struct md_stream *stream, uint32_t cpu,
		     uint64_t time, struct run_thread *prev, struct run_thread *next, bool idle)
{
	struct running *r = find_cpu(v, cpu);

	end_elsewhere(v, prev, cpu);
	end_elsewhere(v, next, cpu);
	if (prev && idle)
		prev->in_sets = true;
	if (!r) {
		note_unknown(v, cpu, time);
		return;
	}
	end_run(v, cpu, r->thread == prev);
	*r = (struct running){ .thread = next, .since = time, .stream = stream };
	if (next)
		next->cpu = cpu + 1;
	else if (!idle)
		note_unknown(v, cpu, time);
}

void cpu_runs_see(struct cpu_runs *v, uint32_t cpu, struct run_thread *thread, bool call)
{
	thread->in_sets = true;
	if (!call)
		return;
	end_elsewhere(v, thread, cpu);
	if (cpu < v->cpu_count && v->cpus[cpu].thread != thread)
		end_run(v, cpu, false);
}

void cpu_runs_lose(struct cpu_runs *v, const struct md_stream *stream, uint32_t cpu)
{
	if (cpu < v->cpu_count && v->cpus[cpu].stream == stream)
		end_run(v, cpu, false);
}

static int compare_runs(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

static int compare_threads(const void *a, const void *b)
{
	const int32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

bool cpu_runs_finish(struct cpu_runs *v, const struct slices *threads)
{
	if (v->unknown)
		qsort(v->unknown, v->unknown_count, sizeof(*v->unknown), compare_runs);
	for (uint32_t i = 0; v->tracked && i < threads->size; i++) {
		const struct run_thread *t = (const struct run_thread *)threads->table[i];

		if (!t || !t->in_sets)
			continue;
		if (!array_double(v->in_sets, v->in_sets_count))
			return false;
		v->in_sets[v->in_sets_count++] = t->slices.tid;
	}
	if (v->in_sets)
		qsort(v->in_sets, v->in_sets_count, sizeof(*v->in_sets), compare_threads);
	return true;
}

/* ---- the second run ---- */

bool cpu_runs_leave_out(const struct cpu_runs *v, int64_t tid)
{
	int32_t key = tid > 0 && tid < SLICE_CPUS ? (int32_t)tid : 0;

	return v && v->tracked && !(v->in_sets && bsearch(&key, v->in_sets, v->in_sets_count,
							  sizeof(*v->in_sets), compare_threads));
}

bool cpu_runs_is_known(struct cpu_runs *v, uint32_t cpu, uint64_t time, int64_t tid)
{
	if (!v)
		return true;
	while (v->at < v->unknown_count && v->unknown[v->at].time < time)
		v->at++;
	for (uint32_t i = v->at; i < v->unknown_count && v->unknown[i].time == time; i++)
		if (v->unknown[i].cpu == cpu)
			return false;
	return time < v->end && !cpu_runs_leave_out(v, tid);
}
