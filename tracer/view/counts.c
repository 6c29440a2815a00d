/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/counts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/lock_order.h"
#include "tracer/session/session.h"
#include "tracer/view/cursor.h"
#include "tracer/view/view.h"

#define CHUNK 32768u            /* bytes that a cursor copies at a time */

struct stream_count {           /* of one ring */
	struct cursor *c;
	uint64_t *by_id;        /* events counted, by event id */
	uint32_t size;          /* of by_id */
	uint64_t counted;       /* the sum of by_id */
};

struct counts {
	uint32_t wanted;        /* atomic; generation that the last clear requested */
	pthread_mutex_t lock;   /* guards the rest; session_look is called under it */
	uint32_t generation;
	struct stream_count *streams;
	size_t count;
};

/* held while the counts of a session are made */
static pthread_mutex_t slot_lock = PTHREAD_MUTEX_INITIALIZER;

static struct counts *counts_of(struct session *s)
{
	struct counts **slot = session_data(s, &counts_part), *n;

	pthread_mutex_lock(&slot_lock);
	n = *slot;
	if (!n && (n = calloc(1, sizeof(*n)))) {
		lock_init(&n->lock, NULL, LOCK_COUNTS);
		/* Release: a clear that sees the pointer sees complete counts. */
		__atomic_store_n(slot, n, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&slot_lock);
	return n;
}

static void deinit_stream(struct stream_count *s)
{
	cursor_destroy(s->c);
	free(s->by_id);
}

static void reset_counts(struct counts *n)
{
	for (size_t i = 0; i < n->count; i++)
		deinit_stream(&n->streams[i]);
	free(n->streams);
	n->streams = NULL;
	n->count = 0;
}

/* ---- counting ---- */

static bool is_same_ring(const struct stream_count *n, const struct stream *s)
{
	return n->c && n->c->stream.region == s->region && n->c->stream.ring == s->ring;
}

/* Makes one stream_count for each stream of the set, in its order. Drops those of others. */
static int update_streams(struct counts *n, const struct stream_set *set)
{
	struct stream_count *streams = calloc(set->count + 1, sizeof(*streams));
	int ret = streams ? 0 : -ENOMEM;

	for (size_t i = 0; i < set->count && !ret; i++) {
		size_t j = 0;

		while (j < n->count && !is_same_ring(&n->streams[j], &set->streams[i]))
			j++;
		if (j < n->count) {
			streams[i] = n->streams[j];
			n->streams[j] = (struct stream_count){ 0 };
			continue;
		}
		streams[i].c = cursor_create(&set->streams[i], (struct ring_place){ 0 }, CHUNK);
		if (!streams[i].c)
			ret = -ENOMEM;
	}
	reset_counts(n);
	n->streams = streams;
	n->count = streams ? set->count : 0;
	return ret;
}

static bool grow_ids(struct stream_count *n, uint32_t id)
{
	uint32_t size = n->size ? n->size : 32;

	while (size <= id)
		size *= 2;
	if (!array_extend(n->by_id, n->size, size))
		return false;
	n->size = size;
	return true;
}

/* Counts the events up to a new mark. 0 or -ENOMEM. */
static int count_stream(struct stream_count *n, const struct clock *clock)
{
	struct cursor *c = n->c;

	/* Through the files of an output into the ring: all that is below the mark. */
	cursor_mark(c, true);
	/* More than the clocks of two CPUs differ by, as for a merge. */
	cursor_limit(c, clock_now(clock) + 1000000000);
	while (cursor_next(c)) {
		uint32_t id = c->o.event->id;

		if (id >= n->size && !grow_ids(n, id))
			return -ENOMEM;
		n->by_id[id]++;
		n->counted++;
	}
	cursor_release(c);
	return c->failed;
}

static int advance_counts(struct counts *n, struct session *s)
{
	/* Acquire: a clear made before the request is visible. */
	uint32_t wanted = __atomic_load_n(&n->wanted, __ATOMIC_ACQUIRE);
	struct stream_set set = { 0 };
	uint64_t now;
	int ret;

	if (wanted != n->generation) {
		reset_counts(n);
		n->generation = wanted;
	}
	ret = session_look(s, NULL, &set, &now);
	if (!ret)
		ret = update_streams(n, &set);
	stream_set_deinit(&set);
	for (size_t i = 0; i < n->count && !ret; i++)
		ret = count_stream(&n->streams[i], session_clock(s));
	/* A failure may have left cursors at different events: begin again at the next call. */
	if (ret)
		reset_counts(n);
	return ret;
}

/* ---- the table ---- */

static int compare_events(const void *a, const void *b)
{
	const struct event_count *x = a, *y = b;
	int c = (x->domain > y->domain) - (x->domain < y->domain);

	if (!c)
		c = strcmp(x->channel, y->channel);
	return c ? c : strcmp(x->event, y->event);
}

static int compare_channels(const void *a, const void *b)
{
	const struct channel_count *x = a, *y = b;
	int c = (x->domain > y->domain) - (x->domain < y->domain);

	return c ? c : strcmp(x->channel, y->channel);
}

/* A copy that the table owns. NULL: no memory. */
static const char *keep_name(struct counts_table *t, const char *name)
{
	if (!array_double(t->names, t->name_count))
		return NULL;
	t->names[t->name_count] = strdup(name);
	return t->names[t->name_count] ? t->names[t->name_count++] : NULL;
}

static int add_event(struct counts_table *t, const struct channel_count *of,
		     const struct md_event *e, uint64_t recorded)
{
	struct event_count *added;

	if (!array_double(t->events, t->event_count))
		return -ENOMEM;
	added = &t->events[t->event_count];
	*added = (struct event_count){ of->domain, of->channel, keep_name(t, e->name), e->loglevel,
				       recorded };
	if (!added->event)
		return -ENOMEM;
	t->event_count++;
	return 0;
}

static struct channel_count *find_channel(struct counts_table *t, const struct stream *s)
{
	enum domain domain = s->trace->uid == KERNEL_UID ? DOMAIN_KERNEL : DOMAIN_USER;
	struct channel_count *c;

	for (size_t i = 0; i < t->channel_count; i++)
		if (t->channels[i].domain == domain &&
		    !strcmp(t->channels[i].channel, s->channel))
			return &t->channels[i];
	if (!array_room(t->channels, t->channel_count + 1))
		return NULL;
	c = &t->channels[t->channel_count];
	*c = (struct channel_count){ .domain = domain, .channel = keep_name(t, s->channel) };
	if (!c->channel)
		return NULL;
	t->channel_count++;
	return c;
}

static struct owner_count *find_owner(struct counts_table *t, const struct stream *s)
{
	struct owner_count *o;

	for (size_t i = t->owner_count; i > 0; i--)
		if (!strcmp(t->owners[i - 1].owner, s->trace->owner) &&
		    !strcmp(t->owners[i - 1].channel, s->channel))
			return &t->owners[i - 1];
	if (!array_double(t->owners, t->owner_count))
		return NULL;
	o = &t->owners[t->owner_count];
	*o = (struct owner_count){ .channel = keep_name(t, s->channel) };
	o->owner = o->channel ? keep_name(t, s->trace->owner) : NULL;
	if (!o->owner)
		return NULL;
	t->owner_count++;
	return o;
}

/* 0 or -ENOMEM. */
static int add_owner(struct counts_table *t, const struct stream *s, uint64_t recorded,
		     const struct ring_counts *ring)
{
	struct owner_count *o;

	if (s->trace->uid == KERNEL_UID)
		return 0;
	o = find_owner(t, s);
	if (!o)
		return -ENOMEM;
	o->recorded = add_saturated(o->recorded, recorded);
	o->discarded = add_saturated(o->discarded, ring->discarded);
	o->overwritten = add_saturated(o->overwritten, ring->overwritten);
	return 0;
}

/* Adds what was counted of one ring, and the ring's own counters. 0 or -ENOMEM. */
static int add_stream(struct counts_table *t, const struct stream_count *n)
{
	const struct stream *s = &n->c->stream;
	struct channel_count *of = find_channel(t, s);
	struct ring_counts ring;
	uint64_t recorded;
	int ret = of ? 0 : -ENOMEM;

	if (ret)
		return ret;
	ring_counts(s, &ring);
	recorded = add_saturated(ring_recorded(s, &n->c->mark), ring.source);
	if (recorded < n->counted)      /* a clear, or a hostile writer */
		recorded = n->counted;
	of->recorded = add_saturated(of->recorded, recorded);
	of->unnamed = add_saturated(of->unnamed, recorded - n->counted);
	of->discarded = add_saturated(of->discarded, ring.discarded);
	of->overwritten = add_saturated(of->overwritten, ring.overwritten);
	ret = add_owner(t, s, recorded, &ring);
	for (uint32_t id = 0; id < n->size && !ret; id++)
		if (n->by_id[id])
			ret = add_event(t, of, md_stream_event(s->class, id), n->by_id[id]);
	return ret;
}

static void set_filtered(struct counts_table *t, struct session *s)
{
	pthread_mutex_lock(&s->tracer->lock);
	for (size_t i = 0; i < t->channel_count; i++) {
		struct channel_count *n = &t->channels[i];
		const struct channel *c = channel_find(s, n->domain, n->channel);

		n->filtered = !c || c->filtered;
	}
	pthread_mutex_unlock(&s->tracer->lock);
}

/* Sorts the table, and adds up the events with one name in one channel. */
static void sort_table(struct counts_table *t)
{
	size_t n = 0;

	if (t->channel_count)
		qsort(t->channels, t->channel_count, sizeof(*t->channels), compare_channels);
	if (t->event_count)
		qsort(t->events, t->event_count, sizeof(*t->events), compare_events);
	for (size_t i = 0; i < t->event_count; i++) {
		if (n && !compare_events(&t->events[n - 1], &t->events[i]))
			t->events[n - 1].recorded += t->events[i].recorded;
		else
			t->events[n++] = t->events[i];
	}
	t->event_count = n;
}

int counts_take(struct session *s, struct counts_table *out)
{
	struct counts *n = counts_of(s);
	int ret;

	*out = (struct counts_table){ 0 };
	if (!n)
		return -ENOMEM;
	pthread_mutex_lock(&n->lock);
	ret = advance_counts(n, s);
	for (size_t i = 0; i < n->count && !ret; i++)
		ret = add_stream(out, &n->streams[i]);
	pthread_mutex_unlock(&n->lock);
	set_filtered(out, s);
	sort_table(out);
	return ret;
}

void counts_table_deinit(struct counts_table *t)
{
	while (t->name_count)
		free(t->names[--t->name_count]);
	free(t->names);
	free(t->events);
	free(t->channels);
	free(t->owners);
	*t = (struct counts_table){ 0 };
}

/* ---- the session's part ---- */

/* Takes no lock of the counts: the caller holds tracer.lock. */
static void clear_counts(struct session *s)
{
	/* Acquire: pairs with the release in counts_of, which another thread may run. */
	struct counts **slot = session_data(s, &counts_part),
		      *n = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

	if (n)
		__atomic_fetch_add(&n->wanted, 1, __ATOMIC_RELEASE);
}

static void destroy_counts(struct session *s)
{
	struct counts *n = *(struct counts **)session_data(s, &counts_part);

	if (!n)
		return;
	reset_counts(n);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

const struct session_part counts_part = { .name = "counts",
					  .size = sizeof(struct counts *),
					  .clear = clear_counts,
					  .destroy = destroy_counts };
