/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A merge of two imported streams, of which the reading of one fails once: the events up to that
 * place are shown, and the next look shows the others in the order of their times.
 */
#include "tests/lib/byte_events.h"
#include "tests/lib/fake_session.h"
#include "tests/lib/test.h"
#include "tracer/view/merge.h"

#define PIECES 4u
#define NONE UINT64_MAX

struct source {
	struct input in;
	const char *times;      /* a digit for the time of each event */
	uint64_t fails;         /* the piece of which a read fails; or NONE */
	int why;
};

/* Each piece has an event, whose value is its time. */
static int read_piece(const struct input *in, struct input_place *at, size_t want,
		      struct md_buf *out, uint32_t *cpu)
{
	struct source *s = (struct source *)in;
	uint64_t ts;

	(void)want;
	if (at->packet == s->fails) {
		s->fails = s->why == -EIO ? NONE : s->fails;
		return s->why;
	}
	if (at->packet == PIECES)
		return 0;
	ts = (uint64_t)s->times[at->packet];
	md_buf_put(out, "\xff\xff\0\0\0\0", 6);
	md_buf_put(out, &ts, sizeof(ts));
	md_buf_putc(out, s->times[at->packet++]);
	*cpu = 0;
	return 1;
}

static const char *look(struct merge *m, const struct stream_set *set, const struct clock *clock)
{
	static char got[2 * PIECES + 1];
	struct cursor *c;
	size_t n = 0;

	CHECK(merge_look(m, set, clock) == 0);
	for (; n < 2 * PIECES && (c = merge_top(m, UINT64_MAX)); merge_next(m))
		got[n++] = (char)*c->o.payload;
	got[n] = 0;
	return got;
}

static void shown(uint64_t fails, int why, const char *first, const char *second)
{
	struct source sources[2] = { { { .read = read_piece }, "1357", fails, why },
				     { { .read = read_piece }, "2468", NONE, 0 } };
	struct trace t = { .refs = 100, .log_fd = -1 };
	struct region_geometry geo = { .mode = TRAIL_MODE_DISCARD, .kind = TRAIL_RINGS_CPU,
				       .ring_count = 2, .subbuf_count = 2,
				       .subbuf_size = TRAIL_SUBBUF_MIN, .switch_count = 1 };
	struct stream streams[2] = { { .trace = &t, .input = &sources[0].in },
				     { .trace = &t, .input = &sources[1].in, .ring = 1 } };
	struct stream_set set = { .streams = streams, .count = 2 };
	struct session *s = fake_session(TRAIL_MODE_DISCARD, 16384, 8);
	struct merge *m = merge_create();

	lock_init(&t.lock, NULL, LOCK_TRACE);
	t.md = make_types((struct md_stream **)&streams[0].class);
	streams[1].class = streams[0].class;
	CHECK(region_create(&geo, 1, &streams[0].region) == 0);
	streams[1].region = streams[0].region;
	CHECK_STR(look(m, &set, &s->clock), first);
	CHECK(merge_failed(m) == why);
	CHECK_STR(look(m, &set, &s->clock), second);
	CHECK(merge_failed(m) == (why == -EIO ? 0 : why));
	merge_destroy(m);
	region_put(streams[0].region);
	md_trace_destroy(t.md);
	pthread_mutex_destroy(&t.lock);
	fake_session_destroy(s);
}

static void none(void)
{
	shown(NONE, 0, "12345678", "");
}

static void the_first_event(void)
{
	shown(0, -EIO, "", "12345678");
}

static void a_later_event(void)
{
	shown(2, -EIO, "123", "45678");
}

/* The other stream is shown to its end. */
static void for_ever(void)
{
	shown(2, -EINVAL, "123468", "");
}

int main(void)
{
	CASE(none);
	CASE(the_first_event);
	CASE(a_later_event);
	CASE(for_ever);
	return test_summary();
}
