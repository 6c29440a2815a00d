/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects what `stats` shows: all events that are held. */
#include "tracer/output/outputs.h"
#include "tracer/view/stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/hash.h"
#include "tracer/session/session.h"
#include "tracer/view/merge_losses.h"
#include "tracer/view/view.h"

#define KEPT_MAX 65536u         /* bytes of a text that is kept */

/* What the last read has shown, for a read of the same events. */
struct kept_stats {
	uint64_t state;         /* of the session, see state_of */
	size_t len;
	char text[];
};

/* guards what kept_of() leads to, of all sessions; a leaf */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

/* The session's kept text; NULL there: none. */
static struct kept_stats **kept_of(struct session *s)
{
	return session_data(s, &stats_part);
}

static int take_event(struct stats *st, struct tally_stream *s, const struct cursor *c)
{
	struct tally_event *e = tally_count(&st->tally, s, &c->o);

	if (!e)
		return -ENOMEM;
	if (e->count == 1) {
		int ret = pairs_add_event(st->pairs, s, e);

		if (ret)
			return ret;
	}
	return e->pair ? pairs_take(st->pairs, s, e->pair, c) : 0;
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
static int take_in_order(struct stats *st, struct merge *m, uint64_t limit, bool tracked)
{
	struct cursor *c;
	int ret = 0;

	st->pairs->slices.since = merge_since(m);
	st->pairs->slices.tracked = tracked;
	st->pairs->stacks = st->frames ? st->frames->stacks : NULL;
	merge_watch(m, &st->pairs->slices.outages);
	while (!ret && (c = merge_top(m, limit))) {
		if (merge_in_outage(c))
			merge_pass_loss(m, c);
		ret = take_event(st, &st->tally.streams[m->heap[0].rank], c);
		frames_take(st->frames, c);
		merge_next(m);
	}
	slices_finish(&st->pairs->slices, limit);
	st->partial = m->heap_count;
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
		st->partial = st->partial || c->have;
		cursor_release(c);
	}
	return 0;
}

/*
 * A number that changes with the events that are held, with their losses and with their times.
 * 0: it is not known.
 */
static uint64_t state_of(struct session *s, const struct stats *st, const struct merge *m)
{
	const uint64_t of_session[] = { st->offset, session_chunk(s), st->counts.discarded,
					st->counts.overwritten, st->counts.unfiltered, m->count,
					session_leaves_threads_out(s) };
	uint64_t h = hash_bytes(HASH_START, of_session, sizeof(of_session));

	for (size_t i = 0; i < m->count; i++) {
		const struct cursor *c = m->cursors[i];
		const uint64_t of_stream[] = {
			c->stream.region->key, c->stream.ring, c->mark.head,
			ring_oldest(&c->stream, c->mark.head),
			c->stream.log ? stream_files_first(c->stream.log) : 0,
		};

		if (c->stream.input)
			return 0;
		h = hash_bytes(h, of_stream, sizeof(of_stream));
	}
	return h | 1;
}

/* Adds the kept text, if it is that of this state. */
static bool show_kept(struct session *s, uint64_t state, struct md_buf *out)
{
	const struct kept_stats *k;
	bool found;

	pthread_mutex_lock(&kept_lock);
	k = *kept_of(s);
	found = state && k && k->state == state;
	if (found)
		md_buf_put(out, k->text, k->len);
	pthread_mutex_unlock(&kept_lock);
	return found;
}

static void keep_text(struct session *s, uint64_t state, const char *text, size_t len)
{
	struct kept_stats *k = len <= KEPT_MAX ? malloc(sizeof(*k) + len) : NULL, *old;

	if (k) {
		*k = (struct kept_stats){ .state = state, .len = len };
		memcpy(k->text, text, len);
	}
	pthread_mutex_lock(&kept_lock);
	old = *kept_of(s);
	*kept_of(s) = k;
	pthread_mutex_unlock(&kept_lock);
	free(old);
}

/* Reads the events up to the limit, of a merge that has looked. */
static int take_held(struct stats *st, struct session *s, struct merge *m, uint64_t limit)
{
	int ret = tally_init(&st->tally, m->count);

	for (size_t i = 0; i < m->count && !ret; i++)
		tally_add(&st->tally, &m->cursors[i]->stream);
	if (!ret)
		ret = frames_create(s, m, &st->frames);
	if (!ret)
		ret = have_pairs(m) ? take_in_order(st, m, limit, session_leaves_threads_out(s))
				    : take_streams(st, m, limit);
	if (!ret)
		ret = merge_failed(m);
	tally_sum(&st->tally);
	st->missed = merge_missed(m);
	st->begin = st->tally.first;
	st->end = st->tally.last;
	return ret;
}

/*
 * A stat(2) builds the text to learn its size. It is kept for the read that follows, as long as no
 * event is recorded or overwritten. JSON is not kept: an open makes it, and stat(2) knows its size.
 */
static int show_held(struct stats *st, struct session *s, struct merge *m, bool json,
		     struct md_buf *out)
{
	struct session_info info;
	size_t before = out->len;
	uint64_t limit, state;
	int ret;

	/* Before the look: if the session is inactive now, the look has its last events. */
	session_info(s, &info);
	ret = merge_look_session(m, s, &limit);
	if (!info.active)
		limit = UINT64_MAX;
	session_counts(s, &st->counts);
	state = ret || json ? 0 : state_of(s, st, m);
	if (show_kept(s, state, out))
		return 0;
	if (!ret)
		ret = take_held(st, s, m, limit);
	if (!ret)
		ret = stats_print(st, json, out);
	if (!ret && state && !st->partial && !st->missed && !out->failed)
		keep_text(s, state, out->data + before, out->len - before);
	return ret;
}

int stats_show(struct session *s, bool json, struct md_buf *out)
{
	struct stats st = { .pairs = pairs_create(s), .offset = session_clock_offset(s) };
	struct merge *m = merge_create();
	int ret = m && st.pairs ? show_held(&st, s, m, json, out) : -ENOMEM;

	tally_deinit(&st.tally);
	pairs_destroy(st.pairs);
	frames_destroy(st.frames);
	merge_destroy(m);
	return ret;
}

static void destroy_stats(struct session *s)
{
	free(*kept_of(s));
}

const struct session_part stats_part = { .name = "stats",
					 .size = sizeof(struct kept_stats *),
					 .destroy = destroy_stats };
