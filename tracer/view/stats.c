/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects what `stats` shows: all events that are held. */
#include "tracer/view/stats.h"

#include <errno.h>

#include "tracer/session/session.h"
#include "tracer/view/merge.h"

static int take_event(struct stats *st, struct tally_stream *s, const struct md_occurrence *o)
{
	struct tally_event *e = tally_count(&st->tally, s, o);

	if (!e)
		return -ENOMEM;
	if (e->count == 1) {
		int ret = pairs_add_event(st->pairs, s, e);

		if (ret)
			return ret;
	}
	return e->pair ? pairs_take(st->pairs, s, e->pair, o) : 0;
}

static bool have_pairs(const struct merge *m)
{
	const struct md_stream *last = NULL;
	bool found = false;

	for (size_t i = 0; i < m->count && !found; i++) {
		const struct stream *s = &m->cursors[i]->stream;

		found = s->class != last && pairs_have(s);
		last = s->class;
	}
	return found;
}

/* Pairs need the events of all streams in the order of time. */
static int take_in_order(struct stats *st, struct merge *m, uint64_t limit)
{
	struct cursor *c;
	int ret = 0;

	while (!ret && (c = merge_top(m, limit))) {
		ret = take_event(st, &st->tally.streams[m->heap[0].rank], &c->o);
		frames_take(st->frames, c);
		merge_next(m);
	}
	return ret;
}

static int take_streams(struct stats *st, struct merge *m, uint64_t limit)
{
	for (size_t i = 0; i < m->count; i++) {
		struct cursor *c = m->cursors[i];

		for (bool more = c->have; more && c->o.ts <= limit; more = cursor_next(c)) {
			if (!tally_count(&st->tally, &st->tally.streams[i], &c->o))
				return -ENOMEM;
			frames_take(st->frames, c);
		}
		cursor_release(c);
	}
	return 0;
}

static int take_held(struct stats *st, struct session *s, struct merge *m)
{
	struct session_info info;
	uint64_t limit;
	int ret;

	/* Before the look: if the session is inactive now, the look has its last events. */
	session_info(s, &info);
	ret = merge_look_session(m, s, &limit);
	if (!info.active)
		limit = UINT64_MAX;
	if (!ret)
		ret = tally_init(&st->tally, m->count);
	for (size_t i = 0; i < m->count && !ret; i++)
		tally_add(&st->tally, &m->cursors[i]->stream);
	if (!ret)
		ret = frames_create(s, m, &st->frames);
	if (!ret)
		ret = have_pairs(m) ? take_in_order(st, m, limit) : take_streams(st, m, limit);
	if (!ret)
		ret = merge_failed(m);
	tally_sum(&st->tally);
	st->missed = merge_missed(m);
	st->begin = st->tally.first;
	st->end = st->tally.last;
	return ret;
}

int stats_show(struct session *s, struct md_buf *out)
{
	struct stats st = { .pairs = pairs_create(), .offset = session_clock_offset(s) };
	struct merge *m = merge_create();
	int ret = m && st.pairs ? take_held(&st, s, m) : -ENOMEM;

	session_counts(s, &st.counts);
	if (!ret)
		ret = stats_print(&st, out);
	tally_deinit(&st.tally);
	pairs_destroy(st.pairs);
	frames_destroy(st.frames);
	merge_destroy(m);
	return ret;
}
