/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cursor over an imported stream whose process gives bytes that are no events: the events before
 * them are shown, the process is refused once, and the next look reads from the bad event on.
 */

#include "tests/lib/byte_events.h"
#include "tests/lib/fake_session.h"
#include "tests/lib/test.h"
#include "tracer/view/cursor.h"

#define EVENTS 5u

static uint64_t times[EVENTS];
static int refusals;
static size_t cut;              /* bytes of the last event that are missing */

/* All events are in one piece. */
static int read_piece(const struct input *in, struct input_place *at, size_t want,
		      struct md_buf *out, uint32_t *cpu)
{
	(void)in, (void)want;
	if (at->packet)
		return 0;
	for (uint32_t i = 0; i < EVENTS; i++) {
		md_buf_put(out, "\xff\xff\0\0\0\0", 6);
		md_buf_put(out, &times[i], sizeof(times[i]));
		md_buf_putc(out, (char)('a' + i));
	}
	out->len -= cut;
	at->packet = 1;
	*cpu = 0;
	return 1;
}

static void refuse(const struct input *in)
{
	(void)in;
	refusals++;
}

static const struct input input = { .read = read_piece, .refuse = refuse };

/* The letters of the events that a look at the stream shows. */
static const char *look(struct cursor *c)
{
	static char got[EVENTS + 1];
	size_t n = 0;

	cursor_mark(c, false);
	cursor_limit(c, UINT64_MAX);
	while (n < EVENTS && cursor_next(c))
		got[n++] = (char)*c->o.payload;
	got[n] = 0;
	return got;
}

static void shown(uint64_t bad, size_t bytes, const char *want, int times_refused,
		  const char *want_again)
{
	struct trace t = { .refs = 2, .log_fd = -1 };
	struct region_geometry geo = { .mode = TRAIL_MODE_DISCARD, .kind = TRAIL_RINGS_CPU,
				       .ring_count = 1, .subbuf_count = 2,
				       .subbuf_size = TRAIL_SUBBUF_MIN, .switch_count = 1 };
	struct stream s = { .trace = &t, .input = &input };
	struct cursor *c;

	for (uint32_t i = 0; i < EVENTS; i++)
		times[i] = 1000 + i;
	times[2] = bad;
	cut = bytes;
	refusals = 0;
	lock_init(&t.lock, NULL, LOCK_TRACE);
	t.md = make_types((struct md_stream **)&s.class);
	CHECK(region_create(&geo, 1, &s.region) == 0);
	c = cursor_create(&s, (struct ring_place){ 0 }, 4096);
	CHECK_STR(look(c), want);
	CHECK(refusals == times_refused);
	times[2] = 1002;        /* Another process reads the trace as it is. */
	cut = 0;
	CHECK_STR(look(c), want_again);
	CHECK(refusals == times_refused);
	cursor_destroy(c);
	region_put(s.region);
	md_trace_destroy(t.md);
	pthread_mutex_destroy(&t.lock);
}

static void valid(void)
{
	shown(1002, 0, "abcde", 0, "");
}

static void earlier_than_before(void)
{
	shown(1, 0, "ab", 1, "cde");
}

static void after_all_times(void)
{
	shown(UINT64_MAX, 0, "ab", 1, "cde");
}

static void ends_too_early(void)
{
	shown(1002, 1, "abcd", 1, "e");
}

int main(void)
{
	CASE(valid);
	CASE(earlier_than_before);
	CASE(after_all_times);
	CASE(ends_too_early);
	return test_summary();
}
