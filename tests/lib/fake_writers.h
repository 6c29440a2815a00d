/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that write into the rings of a fake session, by the portable writer, and what its text
 * must be. Include it in one file of a program only.
 */
#ifndef TESTS_LIB_FAKE_WRITERS_H
#define TESTS_LIB_FAKE_WRITERS_H

#include "tests/lib/fake_session.h"
#include "tracer/view/views.h"

static inline uint64_t fake_clock(void *arg)
{
	(void)arg;
	return fake_now();
}

static inline bool fake_populate(void *arg, uint64_t subbuf)
{
	const struct ring_writer *w = arg;

	return subbuf > w->subbuf_count ||
	       !madvise(w->data + (subbuf & (w->subbuf_count - 1)) * w->subbuf_size, w->subbuf_size,
			MADV_POPULATE_WRITE);
}

struct fake_writer {
	struct session *s;
	struct ring_writer w;
	const uint8_t *on;
	uint32_t ring;
	uint64_t n, written, lost;
	uint64_t state;                 /* of the random numbers */
};

/* The writer of stream i of the set; there must be one only. */
static inline void fake_writer_init(struct fake_writer *f, struct session *s, size_t i)
{
	const struct stream *st = &s->set.streams[i];
	const struct region *r = st->region;

	*f = (struct fake_writer){
		.s = s, .on = r->map + r->switch_offset, .ring = (uint32_t)i, .state = 12345 + i
	};
	f->w = (struct ring_writer){ .ring = region_ring(r, st->ring),
				     .data = (uint8_t *)region_data(r, st->ring),
				     .subbuf_size = r->geo.subbuf_size,
				     .subbuf_count = r->geo.subbuf_count,
				     .mode = r->geo.mode,
				     .clock = fake_clock,
				     .populate = fake_populate,
				     .arg = &f->w };
}

static inline uint32_t fake_random(struct fake_writer *f)
{
	f->state = f->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(f->state >> 33);
}

/*
 * One event with the writer's next number. No empty strings: babeltrace2 2.0 shows what the field
 * held before for them.
 */
static inline bool fake_write(struct fake_writer *f)
{
	static const char text[] =
		"the quick brown \"fox\" jumps over the lazy dog, and over the \\ lazy dog";
	uint8_t payload[128];
	int16_t ring = (int16_t)f->ring;
	uint32_t id = fake_random(f) % FAKE_EVENTS, len = 1 + fake_random(f) % (sizeof(text) - 2);
	bool ok;

	if (!__atomic_load_n(&f->s->active, __ATOMIC_ACQUIRE))
		return false;
	memcpy(payload, &f->n, 8);
	memcpy(payload + 8, &ring, 2);
	memcpy(payload + 10, text, len);
	payload[10 + len] = 0;
	f->n++;
	ok = ring_write(&f->w, f->on + id, 1, id, payload, 11 + len);
	__atomic_store_n(&f->written, f->written + ok, __ATOMIC_RELAXED);
	__atomic_store_n(&f->lost, f->lost + !ok, __ATOMIC_RELAXED);
	return ok;
}

struct fake_threads {
	pthread_t ids[FAKE_TRACES * FAKE_RINGS];
	size_t count;
	uint64_t events;
};

/* One writer per stream, which continues where the one before it stopped. */
static struct fake_writer fake_writers[FAKE_TRACES * FAKE_RINGS];
static uint64_t fake_events;

static inline void *fake_thread(void *arg)
{
	struct fake_writer *f = arg;

	for (uint64_t i = 0; i < fake_events && __atomic_load_n(&f->s->active, __ATOMIC_ACQUIRE);
	     i++) {
		fake_write(f);
		/* Leave some of the machine to the reader. */
		if (fake_events == UINT64_MAX && i % 500 == 499)
			usleep(500);
	}
	return NULL;
}

/* Waits until the threads have emitted more than this, all together: a machine may be slow. */
static inline void fake_threads_wait(const struct fake_threads *t, uint64_t events)
{
	for (uint64_t sum = 0; sum <= events; usleep(1000)) {
		sum = 0;
		for (size_t i = 0; i < t->count; i++)
			sum += __atomic_load_n(&fake_writers[i].written, __ATOMIC_RELAXED) +
			       __atomic_load_n(&fake_writers[i].lost, __ATOMIC_RELAXED);
	}
}

static inline void fake_threads_more(struct fake_threads *t, size_t count)
{
	for (; t->count < count; t->count++)
		if (pthread_create(&t->ids[t->count], NULL, fake_thread, &fake_writers[t->count]))
			abort();
}

/*
 * Threads that write a number of events each into the first `count` streams, or until the session
 * is stopped.
 */
static inline void fake_threads_start(struct fake_threads *t, struct session *s, size_t count,
				      uint64_t events)
{
	if (fake_writers_of != s)
		for (size_t i = 0; i < s->set.count; i++)
			fake_writer_init(&fake_writers[i], s, i);
	fake_writers_of = s;
	fake_events = events;
	t->count = 0;
	fake_threads_more(t, count);
}

static inline void fake_threads_join(struct fake_threads *t)
{
	for (size_t i = 0; i < t->count; i++)
		pthread_join(t->ids[i], NULL);
}

static inline void fake_threads_run(struct fake_threads *t, struct session *s, size_t count,
				    uint64_t events)
{
	fake_threads_start(t, s, count, events);
	fake_threads_join(t);
}

/* The whole of `text`, as one open reads it. */
static inline void fake_text(struct session *s, struct md_buf *out)
{
	struct text_view *v;
	char buf[10000];
	ssize_t n;

	md_buf_reset(out);
	if (text_open(s, TEXT_PLAIN, &v))
		abort();
	while ((n = text_read(v, out->len, buf, sizeof(buf))) > 0)
		md_buf_put(out, buf, (size_t)n);
	if (n < 0)
		abort();
	text_close(v);
	md_buf_str(out);
}

/*
 * What a hostile application may do to the rings of one of its traces. No process writes meanwhile.
 */
static inline void fake_spoil(struct session *s, int trace, uint64_t seed)
{
	const struct region *r = s->regions[trace];
	struct fake_writer f = { .state = seed * 977 };

	for (uint32_t ring = 0; ring < FAKE_RINGS; ring++) {
		struct trail_ring *c = region_ring(r, ring);
		uint8_t *data = (uint8_t *)region_data(r, ring);
		uint64_t size = r->geo.subbuf_size * r->geo.subbuf_count;

		switch ((seed + ring) % 6) {
		case 0:         /* all of it */
			for (uint64_t i = 0; i < r->data_offset / 4; i++)
				((uint32_t *)c)[i] = fake_random(&f);
			for (uint64_t i = 0; i < size / 4; i++)
				((uint32_t *)data)[i] = fake_random(&f);
			break;
		case 1:         /* some bytes of the events */
			for (int i = 0; i < 20; i++)
				data[fake_random(&f) % size] = (uint8_t)fake_random(&f);
			break;
		case 2:         /* some words of the control block */
			for (int i = 0; i < 10; i++)
				((uint64_t *)c)[fake_random(&f) % (r->data_offset / 8)] ^=
					1ull << fake_random(&f) % 64;
			break;
		case 3:         /* the head */
			c->head += fake_random(&f) % (4 * size);
			break;
		case 4:         /* times and ends in the side table */
			for (int i = 0; i < 6; i++)
				((uint64_t *)
					 c->side)[fake_random(&f) % (16 * r->geo.subbuf_count)] +=
					fake_random(&f) % 9000;
			break;
		default:        /* consumed */
			c->consumed = c->cleared = c->head - fake_random(&f) % size;
			c->cleared_ts = c->last_ts + fake_random(&f);
			break;
		}
	}
}

/*
 * How many lines of events the text has; -1 if one is not whole, or out of place: the numbers of
 * each ring only grow.
 */
static inline int64_t fake_lines(const char *text, size_t len)
{
	long last[FAKE_TRACES * FAKE_RINGS];
	int64_t n = 0;

	memset(last, 0xff, sizeof(last));
	for (const char *end, *line = text; line < text + len; line = end + 1, n++) {
		const char *at;
		long number, ring;
		char *after;

		/*
		 * Not the functions for strings: the sanitizers measure the whole text in each of
		 * them.
		 */
		end = memchr(line, '\n', (size_t)(text + len - line));
		at = end ? memmem(line, (size_t)(end - line), "{ n = ", 6) : NULL;
		if (end && !strncmp(line, "WARNING: Tracer ", 16)) {
			n--;            /* what is lost */
			continue;
		}
		if (*line != '[' || !at)
			goto bad;
		number = strtol(at + 6, &after, 10);
		if (memcmp(after, ", ring = ", 9))
			goto bad;
		ring = strtol(after + 9, &after, 10);
		if (ring < 0 || ring >= FAKE_TRACES * FAKE_RINGS || number <= last[ring])
			goto bad;
		last[ring] = number;
		continue;
bad:
		printf("# line %lld: %.200s\n", (long long)n, line);
		return -1;
	}
	return n;
}

#endif
