/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core pthread */
/*
 * Hostile rings: random bytes in the control blocks and in the data of a region, partly while
 * readers are at it. All readers run over them; they must come to an end, within the memory of what
 * a ring can hold. Deterministic but for the timing of the second thread. fuzz_ring [SECONDS
 * [SEED]]
 */
#include "tests/lib/fuzz.h"
#include "tests/lib/fake_writers.h"

#define ROUND_MAX 300            /* seconds: a round that takes longer hangs */
#define LIVE_MOST (UINT64_C(1) << 20)

static struct session *s;
static atomic_bool stop;
static bool live;                /* a thread changes the rings while they are read */

/*
 * What a hostile process does while the daemon reads: heads that jump, side entries and data that
 * change.
 */
static void *disturb(void *arg)
{
	struct fake_writer f = { .state = (uintptr_t)arg };

	while (!stop) {
		const struct region *r = s->regions[fake_random(&f) % FAKE_TRACES];
		uint32_t ring = fake_random(&f) % FAKE_RINGS;
		struct trail_ring *c = region_ring(r, ring);
		uint64_t *word = (uint64_t *)c + fake_random(&f) % (r->data_offset / 8);
		uint8_t *data = (uint8_t *)region_data(r, ring);

		switch (fake_random(&f) % 5) {
		case 0:
			__atomic_store_n(word, *word ^ 1ull << fake_random(&f) % 64,
					 __ATOMIC_RELAXED);
			break;
		case 1:
			__atomic_fetch_add(&c->head, fake_random(&f) % 100000, __ATOMIC_RELAXED);
			break;
		case 2:
			__atomic_store_n(&c->head,
					 (uint64_t)fake_random(&f) << fake_random(&f) % 20,
					 __ATOMIC_RELAXED);
			break;
		case 3:
			__atomic_store_n(&c->cleared, c->head - fake_random(&f) % 40000,
					 __ATOMIC_RELAXED);
			break;
		default:
			__atomic_store_n(data + fake_random(&f) %
							 (r->geo.subbuf_size * r->geo.subbuf_count),
					 (uint8_t)fake_random(&f), __ATOMIC_RELAXED);
			break;
		}
		if (fake_random(&f) % 64 == 0)
			usleep(fake_random(&f) % 50);
	}
	return NULL;
}

static uint64_t bound(void)
{
	/* Every event has 4 bytes of header or more, and its line is shorter than this. */
	const struct region_geometry *g = &s->regions[0]->geo;

	return (uint64_t)FAKE_TRACES * FAKE_RINGS * g->subbuf_size * g->subbuf_count / 4 * 400;
}

/* What is read at once. A ring that another thread changes meanwhile may have no end. */
static uint64_t most(void)
{
	return live && bound() > LIVE_MOST ? LIVE_MOST : bound();
}

static void read_text(struct fake_writer *f)
{
	static char buf[70000];
	struct text_view *v;
	uint64_t at = 0;
	ssize_t n;

	expect(!text_open(s, TEXT_PLAIN, &v), "text_open");
	while ((n = text_read(v, at, buf, 1 + fake_random(f) % sizeof(buf))) > 0 && at < most())
		at += (uint64_t)n;
	expect(n >= 0, "text_read");
	for (int i = 0; i < 10; i++) {
		n = text_read(v, fake_random(f) % (at + 1000), buf,
			      1 + fake_random(f) % sizeof(buf));
		expect(n >= 0, "text_read at");
	}
	text_size(s, TEXT_PLAIN);
	text_close(v);
}

static void read_pipe(void)
{
	static char buf[70000];
	struct packet_stream *p;
	struct pipe_view *v;
	uint64_t at = 0;
	ssize_t n;

	expect(!pipe_open(s, TEXT_PLAIN, &v), "pipe_open");
	while ((n = pipe_read(v, buf, sizeof(buf))) > 0 && at < most())
		at += (uint64_t)n;
	expect(n >= 0 || n == -EAGAIN, "pipe_read");
	pipe_close(v);
	for (size_t i = 0; i < s->set.count; i++) {
		const struct stream *st = &s->set.streams[i];

		expect(!packet_stream_open(s, "channel0", st->trace->owner, st->name, &p),
		       "packet_stream_open");
		for (at = 0; (n = packet_stream_read(p, buf, sizeof(buf))) > 0 && at < most();)
			at += (uint64_t)n;
		expect(n >= 0 || n == -EAGAIN, "packet_stream_read");
		packet_stream_close(p);
	}
}

static void read_moment(void)
{
	static char buf[70000];
	const struct image_file *files;
	struct trace_image *image;
	uint64_t at;
	ssize_t n;

	expect(!image_take(s, &image), "image_take");
	for (size_t i = image_files(image, &files); i-- > 0;) {
		expect(files[i].size < bound(), "file size");
		for (at = 0; (n = image_read(image, i, at, buf, sizeof(buf))) > 0;)
			at += (uint64_t)n;
		expect(!n && at == files[i].size, "image_read");
	}
	image_put(image);
}

static void round_of(uint64_t seed)
{
	struct fake_writer f = { .state = seed * 31 + 7 };
	struct ring_counts c;
	struct fake_threads t;
	pthread_t id;

	alarm(ROUND_MAX);
	live = seed % 2;
	s = fake_session(seed % 4 < 2 ? TRAIL_MODE_DISCARD : TRAIL_MODE_OVERWRITE,
			 4096u << seed % 3, 2u << seed % 4);
	fake_start(s, true);
	fake_threads_run(&t, s, 8, fake_random(&f) % 2000);
	if (seed % 3)
		fake_start(s, false);
	fake_spoil(s, 0, seed);
	fake_spoil(s, 1, seed + 3);
	stop = false;
	if (live && pthread_create(&id, NULL, disturb, (void *)(uintptr_t)seed))
		exit(1);
	for (int i = 0; i < 3; i++) {
		read_text(&f);
		read_pipe();
		read_moment();
		for (size_t k = 0; k < s->set.count; k++)
			ring_counts(&s->set.streams[k], &c);
		if (i == 1)
			fake_clear(s);
	}
	stop = true;
	if (live)
		pthread_join(id, NULL);
	fake_session_destroy(s);
}

int main(int argc, char **argv)
{
	setenv("TZ", "UTC", 1);
	fuzz_rounds(argc, argv, round_of);
	return 0;
}
