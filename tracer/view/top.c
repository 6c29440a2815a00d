/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collects what `top` shows: the events of the last second; in a session that is not active, of the
 * second before the last event. Only the sub-buffers of that second are read.
 */
#include "tracer/view/stats.h"

#include <errno.h>

#include "tracer/session/streams.h"
#include "tracer/view/cursor.h"

#define SECOND UINT64_C(1000000000)
#define CHUNK 32768u            /* bytes that a cursor copies at a time */
#define LAST_MAX 3u             /* sub-buffers in which the last event is looked for */

/*
 * A place in the ring at or before the first event that is later than `after`: the newest
 * sub-buffer that begins by then, and `back` more.
 */
static struct ring_place find_place(const struct stream *s, uint64_t after, uint64_t back)
{
	uint64_t size = s->region->geo.subbuf_size, k;
	struct ring_piece piece;
	struct ring_mark mark;

	ring_mark(s, &mark);
	for (k = mark.head / size; k * size > ring_oldest(s, mark.head); k--) {
		if (!ring_piece(s, &mark, k, &piece) || piece.begin_ts > after)
			continue;
		if (!back--)
			return (struct ring_place){ .pos = k * size };
	}
	return cursor_oldest(s);
}

/* Counts the events of a ring that are in (begin, end]. 0 or -ENOMEM. */
static int take_recent(struct stats *st, struct tally_stream *s, const struct clock *clock)
{
	/* The clock did not advance: it is not the ring's clock, and may have another unit. */
	struct ring_place at = clock->stands ? cursor_oldest(&s->stream)
					     : find_place(&s->stream, st->begin, 0);
	struct cursor *c = cursor_create(&s->stream, at, CHUNK);
	int ret = c ? 0 : -ENOMEM;

	if (ret)
		return ret;
	cursor_mark(c, false);
	cursor_limit(c, clock_now(clock) + SECOND);     /* as in merge_look */
	while (!ret && cursor_next(c) && c->o.ts <= st->end)
		if (c->o.ts > st->begin && !tally_count(&st->tally, s, &c->o))
			ret = -ENOMEM;
	st->missed += c->missed;
	cursor_destroy(c);
	return ret;
}

/*
 * The time of the last event in the ring; 0: there is none. Of two sub-buffers that follow each
 * other one has an event, unless a program stored something else there: no more than LAST_MAX are
 * looked at, since each look walks to the end of the ring.
 */
static uint64_t find_last(const struct stream *s, const struct clock *clock)
{
	uint64_t last = 0, back = 0, pos = UINT64_MAX;
	struct ring_place at;

	while (!last && back < LAST_MAX && (at = find_place(s, UINT64_MAX, back)).pos != pos) {
		struct cursor *c = cursor_create(s, at, CHUNK);

		if (!c)
			break;
		cursor_mark(c, false);
		cursor_limit(c, clock_now(clock) + SECOND);
		while (cursor_next(c))
			last = c->o.ts;
		cursor_destroy(c);
		pos = at.pos;
		back++;
	}
	return last;
}

/*
 * The time of the oldest event held, if the ring overwrote what came before it: earlier ones are
 * not counted, so the rates are of the time after it.
 */
static uint64_t find_oldest(const struct stream *s)
{
	uint64_t size = s->region->geo.subbuf_size, k;
	struct ring_piece piece;
	struct ring_mark mark;

	ring_mark(s, &mark);
	k = ring_oldest(s, mark.head) / size;
	return k > 1 && ring_piece(s, &mark, k, &piece) ? piece.begin_ts : 0;
}

static int take_second(struct stats *st, struct session *s, struct stream_set *set)
{
	const struct clock *clock = session_clock(s);
	struct session_info info;
	bool runs;
	int ret;

	session_info(s, &info);
	runs = info.active && !clock->stands;
	ret = session_look(s, NULL, set, &st->end);
	if (!ret)
		ret = tally_init(&st->tally, set->count);
	for (size_t i = 0; i < set->count; i++) {
		/* The rings have the newest events, also if they were written to files. */
		stream_files_put(set->streams[i].log);
		set->streams[i].log = NULL;
	}
	if (!runs)
		st->end = 0;
	for (size_t i = 0; i < set->count && !runs; i++) {
		uint64_t last = find_last(&set->streams[i], clock);

		st->end = last > st->end ? last : st->end;
	}
	st->begin = st->end > SECOND ? st->end - SECOND : 0;
	for (size_t i = 0; i < set->count && !clock->stands; i++) {
		uint64_t oldest = find_oldest(&set->streams[i]);

		if (oldest > st->begin && oldest < st->end)
			st->begin = oldest;
	}
	for (size_t i = 0; i < set->count && !ret; i++) {
		tally_add(&st->tally, &set->streams[i]);
		ret = take_recent(st, &st->tally.streams[i], clock);
	}
	tally_sum(&st->tally);
	return ret;
}

int top_show(struct session *s, struct md_buf *out)
{
	struct stats st = { .offset = session_clock_offset(s) };
	struct stream_set set = { 0 };
	int ret = take_second(&st, s, &set);

	if (!ret)
		ret = stats_print(&st, false, out);
	tally_deinit(&st.tally);
	stream_set_deinit(&set);
	return ret;
}
