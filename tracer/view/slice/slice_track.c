/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/slice/slice.h"

#include <stdlib.h>

#include "tracer/base/array.h"

struct slice_request {          /* a track of block requests */
	struct slice_track *track;
	uint64_t dev, sector;   /* sector: of the request that is under way */
	uint64_t begin;
	bool busy;
};

/* ---- the table of tracks ---- */

static struct slice_track **place_of(const struct slices *v, int32_t tid)
{
	uint32_t i = (uint32_t)tid * 2654435761u;

	while (v->table[i & (v->size - 1)] && v->table[i & (v->size - 1)]->tid != tid)
		i++;
	return &v->table[i & (v->size - 1)];
}

static bool grow(struct slices *v)
{
	struct slices old = *v;

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

struct slice_track *slices_find(struct slices *v, int32_t tid)
{
	struct slice_track **at;

	if (v->found && v->found->tid == tid)
		return v->found;
	if (v->count * 2 >= v->size && !grow(v)) {
		v->failed = true;
		return NULL;
	}
	at = place_of(v, tid);
	if (!*at) {
		if (v->count >= SLICE_THREADS && tid < SLICE_CPUS)
			return NULL;
		*at = calloc(1, v->track_size);
		if (!*at) {
			v->failed = true;
			return NULL;
		}
		(*at)->tid = tid;
		v->count++;
	}
	return v->found = *at;
}

/* ---- which track ---- */

static int32_t *current_of(struct slices *v, uint32_t cpu)
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

void slices_switch(struct slices *v, uint32_t cpu, int64_t tid)
{
	int32_t *current = current_of(v, cpu);

	if (current)
		*current = tid > 0 && tid < SLICE_CPUS ? (int32_t)tid : 0;
}

int32_t slices_thread(struct slices *v, const struct slice_class *k, const struct md_occurrence *o,
		      uint32_t cpu, int64_t *pid)
{
	int64_t tid = -1;
	uint64_t n;

	*pid = k->pid.type && md_access_integer(&k->pid, o, &n) ? (int64_t)n : -1;
	if (k->tid.type && md_access_integer(&k->tid, o, &n))
		tid = (int64_t)n;
	if (tid < 0)
		tid = cpu < v->cpus && v->current[cpu] ? v->current[cpu] : *pid;
	return tid > 0 && tid < SLICE_CPUS ? (int32_t)tid : 0;
}

/*
 * The place of a request: where it began, or one of its device that is free. -1: there is none.
 * *oldest: the index of the request of this device that began first; -1: no request is open.
 */
static int64_t find_request(const struct slices *v, const struct slice_request *key,
			    int64_t *oldest)
{
	int64_t unused = -1;

	*oldest = -1;

	for (uint32_t i = 0; i < v->request_count; i++) {
		const struct slice_request *r = &v->requests[i];

		if (r->dev == key->dev && r->busy && r->sector == key->sector)
			return i;
		if (r->dev == key->dev && !r->busy && unused < 0)
			unused = i;
		if (r->dev == key->dev && r->busy &&
		    (*oldest < 0 || r->begin < v->requests[*oldest].begin))
			*oldest = i;
	}
	return key->busy ? unused : -1;
}

/* NULL: it is an end without a begin, or a begin that is dropped. */
static struct slice_track *track_of_request(struct slices *v, const struct slice_class *k,
					    const struct md_occurrence *o, uint64_t time)
{
	struct slice_request key = { .begin = time, .busy = k->side == SLICE_BEGIN };
	int64_t i, oldest;

	if (!md_access_integer(&k->dev, o, &key.dev) ||
	    !md_access_integer(&k->sector, o, &key.sector) ||
	    (key.busy && slices_lost_request(v, k, o, time)))
		return NULL;
	i = find_request(v, &key, &oldest);
	if (i < 0 && key.busy && v->request_count < SLICE_REQUESTS) {
		if (!v->requests && !(v->requests = calloc(SLICE_REQUESTS, sizeof(key))))
			return NULL;
		i = v->request_count;
		key.track = slices_find(v, SLICE_DISKS + (int32_t)i);
		if (!key.track)
			return NULL;
		key.track->dev = key.dev;
		v->requests[v->request_count++] = key;
	}
	if (i < 0 && key.busy)
		i = oldest;
	if (i < 0)
		return NULL;
	key.track = v->requests[i].track;
	v->requests[i] = key;
	return key.track;
}

struct slice_track *slices_track(struct slices *v, const struct slice_class *k,
				 const struct md_occurrence *o, uint32_t cpu, int32_t tid,
				 uint64_t time)
{
	struct slice_track *t = NULL;

	if (k->of_cpu)
		return slices_find(v, SLICE_INTERRUPTS + (int32_t)(cpu & 0xfffff));
	if (k->is_request && k->side)
		t = track_of_request(v, k, o, time);
	if (!t && tid > 0)
		t = slices_find(v, tid);
	return t ? t : slices_find(v, SLICE_CPUS + (int32_t)(cpu & 0xfffff));
}
