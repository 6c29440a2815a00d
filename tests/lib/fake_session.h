/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session for tests of the views: what tracer/session/session.c and ring/stream.c do for them, in
 * memory, with rings that threads of the test fill by the portable writer. Include it in one file
 * of a program only.
 *
 * Each writer has a ring of its own. The clock is CLOCK_MONOTONIC in whole steps, so that many
 * events of different rings have the same time.
 */
#ifndef TESTS_UNIT_FAKE_SESSION_H
#define TESTS_UNIT_FAKE_SESSION_H

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tracer/output/outputs.h"
#include "tracer/output/snapshot/image.h"
#include "tracer/base/ring/reader.h"
#include "tracer/base/ring/ring.h"
#include "tracer/abi/ring_write.h"
#include "tracer/format/foreign/foreign.h"
#include "tracer/session/streams.h"
#include "tracer/view/text_index.h"

#define FAKE_TRACES 2
#define FAKE_RINGS 4            /* of each trace */
#define FAKE_EVENTS 40          /* ids 0 … 39: the last ones have extended headers only */
#define FAKE_STEP 2000          /* ns of the clock's steps */

struct session {
	struct clock clock;
	pthread_mutex_t lock;           /* guards the set against clear and adding */
	struct trace *traces[FAKE_TRACES];
	struct region *regions[FAKE_TRACES];
	struct stream_set set;
	size_t visible;                 /* how many of the streams are announced */
	struct text_engine *engine[TEXT_FORMS];
	bool active, gone;
	uint64_t starts;
	atomic_llong frozen;
	int64_t frozen_max;
	bool unflushed;                 /* its output does not get everything into the files */
	int refs;
};

static inline uint64_t fake_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec) / FAKE_STEP * FAKE_STEP;
}

struct trace *trace_get(struct trace *t)
{
	__atomic_fetch_add(&t->refs, 1, __ATOMIC_RELAXED);
	return t;
}

void trace_put(struct trace *t)
{
	if (!t || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL))
		return;
	md_trace_destroy(t->md);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void stream_set_deinit(struct stream_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		trace_put(set->streams[i].trace);
		region_put(set->streams[i].region);
	}
	free(set->streams);
	*set = (struct stream_set){ 0 };
}

int session_streams(struct session *s, const char *channel, struct stream_set *out)
{
	(void)channel;
	pthread_mutex_lock(&s->lock);
	out->count = s->visible;
	out->streams = calloc(s->visible + 1, sizeof(*out->streams));
	for (size_t i = 0; i < s->visible; i++) {
		out->streams[i] = s->set.streams[i];
		trace_get(out->streams[i].trace);
		region_get(out->streams[i].region);
	}
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* What has the time of before the call is committed or fails. */
static inline void fake_barrier(struct session *s)
{
	for (size_t i = 0; i < s->set.count; i++) {
		struct trail_ring *ring =
			region_ring(s->set.streams[i].region, s->set.streams[i].ring);

		__atomic_fetch_add(&ring->head, TRAIL_HEAD_GENERATION, __ATOMIC_SEQ_CST);
	}
}

int session_look(struct session *s, const char *channel, struct stream_set *out, uint64_t *now)
{
	*now = fake_now() - 1;
	fake_barrier(s);
	return session_streams(s, channel, out);
}

int archives_open(struct session *s, struct archives **out)
{
	(void)s;
	*out = NULL;
	return 0;
}

void archives_close(struct archives *a)
{
	(void)a;
}

int archives_each(struct archives *a,
		  int (*fn)(void *arg, const char *path, uint64_t size, int64_t mtime), void *arg)
{
	(void)a, (void)fn, (void)arg;
	return 0;
}

ssize_t archives_read(struct archives *a, const char *path, uint64_t offset, void *buf, size_t size)
{
	(void)a, (void)path, (void)offset, (void)buf, (void)size;
	return -ENOENT;
}

void session_counts(struct session *s, struct ring_counts *sum);
void session_counts(struct session *s, struct ring_counts *sum)
{
	(void)s, (void)sum;
}

uint64_t session_chunk(struct session *s)
{
	(void)s;
	return 0;
}

uint64_t session_clears(const struct session *s)
{
	(void)s;
	return 0;
}

void session_failed(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void session_failed(struct session *s, const char *fmt, ...)
{
	(void)s, (void)fmt;
}

bool session_flush(struct session *s)
{
	return !s->unflushed;
}

/* Of the only part that has some here, the text. */
void *session_data(const struct session *s, const struct session_part *part)
{
	(void)part;
	return (void *)s->engine;
}

struct periods session_periods(struct session *s, const char *owner, const char *channel)
{
	(void)s, (void)owner, (void)channel;
	return (struct periods){ 0 };
}

const struct clock *session_clock(struct session *s)
{
	return &s->clock;
}

uint64_t session_clock_offset(const struct session *s)
{
	return s->clock.offset;
}

struct session *session_ref(struct session *s)
{
	__atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

struct foreign *foreign_get(struct session *s, int *ret)
{
	(void)s;
	*ret = 0;
	return NULL;
}

void foreign_put(struct foreign *f)
{
	(void)f;
}

void session_put(struct session *s)
{
	__atomic_fetch_sub(&s->refs, 1, __ATOMIC_RELAXED);
}

/* What any room keeps in the tracer: nothing is set. */
void *tracer_data(const struct tracer *t, const struct tracer_room *room)
{
	static max_align_t data[64];

	(void)t;
	return room->size <= sizeof(data) ? data : NULL;
}

int session_frozen(struct session *s, int64_t bytes)
{
	if (bytes > 0 && s->frozen + bytes > s->frozen_max)
		return -EDQUOT;
	s->frozen += bytes;
	return 0;
}

void session_info(struct session *s, struct session_info *info)
{
	*info = (struct session_info){ .active = __atomic_load_n(&s->active, __ATOMIC_ACQUIRE),
				       .gone = __atomic_load_n(&s->gone, __ATOMIC_ACQUIRE),
				       .starts = __atomic_load_n(&s->starts, __ATOMIC_ACQUIRE) };
}

/* ---- what the tests do with it ---- */

static inline struct md_stream *fake_class(void)
{
	struct md_stream *class = md_stream_create(0, MD_HEADER_COMPACT);

	for (uint32_t id = 0; id < FAKE_EVENTS; id++) {
		struct md_event *e;
		char name[32];

		snprintf(name, sizeof(name), "fake:event%u", id);
		e = md_event_create(name, (int)(id % 15), 3);
		e->id = id;
		e->fields[0].name = strdup("n");
		e->fields[0].type = (struct md_type){ .kind = MD_INT, .size = 8, .base = 10 };
		e->fields[1].name = strdup("ring");
		e->fields[1].type = (struct md_type){
			.kind = MD_INT, .size = 2, .is_signed = true, .base = 10
		};
		e->fields[2].name = strdup("text");
		e->fields[2].type = (struct md_type){ .kind = MD_STRING };
		if (md_stream_add(class, e))
			abort();
	}
	return class;
}

static inline struct trace *fake_trace(const struct session *s, uint8_t number, uint32_t uid)
{
	uint8_t uuid[16] = { 0xf0, number, 1, 2, 3, 4, 5 };
	struct trace *t = calloc(1, sizeof(*t));

	t->refs = 1;
	pthread_mutex_init(&t->lock, NULL);
	t->md = md_trace_create(uuid);
	t->md->clock_offset = s->clock.offset;
	memcpy(t->md->clock_uuid, s->clock.uuid, 16);
	t->uid = uid;
	snprintf(t->path, sizeof(t->path), "ust/uid/%u/64-bit", uid);
	snprintf(t->owner, sizeof(t->owner), "%u", uid);
	snprintf(t->hostname, sizeof(t->hostname), "vm");
	md_trace_env(t->md, "hostname", "vm", 0);
	md_trace_env(t->md, "domain", "ust", 0);
	md_trace_env(t->md, "tracer_name", "lttng-ust", 0);
	md_trace_env(t->md, "tracer_major", NULL, 2);
	md_trace_env(t->md, "tracer_minor", NULL, 13);
	if (md_trace_add(t->md, fake_class()))
		abort();
	return t;
}

static inline struct session *fake_session(enum trail_mode mode, uint64_t subbuf_size,
					   uint32_t subbuf_count)
{
	struct region_geometry geo = { .mode = mode,
				       .kind = TRAIL_RINGS_THREAD,
				       .ring_count = FAKE_RINGS,
				       .subbuf_count = subbuf_count,
				       .subbuf_size = subbuf_size,
				       .switch_count = FAKE_EVENTS };
	struct session *s = calloc(1, sizeof(*s));
	size_t n = 0;

	pthread_mutex_init(&s->lock, NULL);
	s->refs = 1;
	s->frozen_max = INT64_MAX;
	s->clock.offset = UINT64_C(1795172223238349640);
	s->clock.uuid[0] = 1;
	s->set.streams = calloc(FAKE_TRACES * FAKE_RINGS, sizeof(*s->set.streams));
	for (uint8_t i = 0; i < FAKE_TRACES; i++) {
		s->traces[i] = fake_trace(s, i, i * 1000u);
		if (region_create(&geo, 100u + i, &s->regions[i]))
			abort();
		for (uint32_t id = 0; id < FAKE_EVENTS; id++)
			region_switch(s->regions[i], id, 1);
		for (uint32_t r = 0; r < FAKE_RINGS; r++) {
			struct stream *st = &s->set.streams[n++];

			st->trace = trace_get(s->traces[i]);
			st->region = region_get(s->regions[i]);
			st->ring = r;
			st->class = s->traces[i]->md->streams[0];
			st->instance_id = r + 10u * i;
			st->cpu = r;
			snprintf(st->channel, sizeof(st->channel), "channel0");
			snprintf(st->name, sizeof(st->name), "cpu%u", r);
			snprintf(st->file, sizeof(st->file), "channel0_%u", r);
		}
	}
	s->set.count = s->visible = n;
	return s;
}

static struct session *fake_writers_of;        /* whose writers are ready (fake_writers.h) */

static inline void fake_session_destroy(struct session *s)
{
	for (int i = 0; i < TEXT_FORMS; i++)
		text_engine_destroy(s->engine[i]);
	stream_set_deinit(&s->set);
	for (int i = 0; i < FAKE_TRACES; i++) {
		trace_put(s->traces[i]);
		region_put(s->regions[i]);
	}
	if (s->refs != 1 || s->frozen != 0) {
		printf("# session: %d references, %lld bytes frozen\n", s->refs,
		       (long long)s->frozen);
		abort();
	}
	fake_writers_of = NULL;
	free(s);
}

static inline void fake_start(struct session *s, bool active)
{
	if (active)
		__atomic_fetch_add(&s->starts, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&s->active, active, __ATOMIC_SEQ_CST);
	fake_barrier(s);
}

/* As `clear` does: what was recorded before is gone. */
static inline void fake_clear(struct session *s)
{
	fake_barrier(s);
	for (size_t i = 0; i < s->set.count; i++) {
		const struct stream *st = &s->set.streams[i];
		struct trail_ring *ring = region_ring(st->region, st->ring);
		struct ring_mark m;

		ring_mark(st, &m);
		__atomic_store_n(&ring->cleared_events, m.events, __ATOMIC_RELAXED);
		__atomic_store_n(&ring->cleared_lost, ring->cleared_lost + m.lost,
				 __ATOMIC_RELAXED);
		__atomic_store_n(&ring->cleared_ts, m.last_ts, __ATOMIC_RELAXED);
		__atomic_store_n(&ring->cleared, m.head, __ATOMIC_RELEASE);
		__atomic_store_n(&ring->consumed, m.head, __ATOMIC_RELEASE);
	}
	for (int i = 0; i < TEXT_FORMS; i++)
		text_engine_reset(&s->engine[i]);
}

#endif
