/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/maker/maker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/session/session.h"
#include "tracer/view/merge_losses.h"
#include "tracer/view/stack.h"

#define PIECE (256u << 10)
#define EVENTS_A_SHOW 8192u     /* between two values of *maker.done */

void maker_write(struct maker *m)
{
	uint64_t before = m->file.size;

	if (m->write) {
		m->write(m);
		return;
	}
	if (m->out.failed)
		m->err = -ENOMEM;
	if (!m->err && m->out.len)
		m->err = session_frozen(m->s, (int64_t)m->out.len);
	if (m->err)
		return;
	m->err = memory_file_add(&m->file, m->out.data, m->out.len);
	if (m->err) {
		/* What was added counts already. */
		session_frozen(m->s, -(int64_t)(before + m->out.len - m->file.size));
		return;
	}
	md_buf_reset(&m->out);
}

/* Says how far the file is: the run is at `part` (0 to 1) of its events. */
static void show_done(const struct maker *m, double part)
{
	unsigned int runs = m->runs ? m->runs : 1;

	/* Only a number to show: no other memory depends on it. */
	if (m->done)
		__atomic_store_n(m->done, 1 + (uint32_t)(100 * (m->run + part) / runs),
				 __ATOMIC_RELAXED);
}

/* How far a run is that began at the time `first`, and is at `now`. */
static double part_of(const struct maker *m, uint64_t first, uint64_t now)
{
	return m->limit > first ? (double)(now - first) / (double)(m->limit - first) : 0;
}

/* A merge at the places where the events of a later part begin. */
static struct merge *merge_later(const struct maker *m)
{
	struct stream_set set = { 0 };
	struct merge *merge = NULL;

	if (!session_streams(m->s, NULL, &set))
		merge = merge_create_at(m->places, m->place_count, &set);
	stream_set_deinit(&set);
	return merge;
}

/* The events that are held, for a run. NULL: m->err. */
static struct merge *begin_run(struct maker *m)
{
	struct merge *merge = m->places ? merge_later(m) : merge_create();
	uint64_t now;

	if (!merge) {
		m->err = -ENOMEM;
		return NULL;
	}
	m->err = merge_look_session(merge, m->s, &now);
	/* A second run has the same events as the first. */
	if (!m->limit)
		m->limit = now;
	return merge;
}

uint64_t maker_since(struct maker *m)
{
	struct merge *merge = begin_run(m);
	uint64_t since = merge && !m->err ? merge_since(merge) : 0;

	merge_destroy(merge);
	return since ? m->clock_offset + since : 0;
}

static bool declares(const struct stream *s, const char *event)
{
	bool found = false;
	uint32_t left;

	pthread_mutex_lock(&s->trace->lock);
	left = s->class->event_count;
	pthread_mutex_unlock(&s->trace->lock);
	for (uint32_t id = 0; left && id <= MD_EVENT_ID_MAX && !found; id++) {
		const struct md_event *e = md_stream_event(s->class, id);

		left -= !!e;
		found = e && !strcmp(e->name, event);
	}
	return found;
}

bool maker_declares(struct maker *m, const char *event)
{
	struct merge *merge = begin_run(m);
	const struct md_stream *last = NULL;
	bool found = false;

	for (size_t i = 0; merge && !m->err && i < merge->count && !found; i++) {
		const struct stream *s = &merge->cursors[i]->stream;

		found = s->class != last && declares(s, event);
		last = s->class;
	}
	merge_destroy(merge);
	return found;
}

static void end_run(struct maker *m, struct merge *merge)
{
	if (!m->err)
		m->err = merge_failed(merge);
	m->run++;
	merge_destroy(merge);
}

void maker_losses(struct maker *m, struct merge *merge, uint32_t number, uint64_t last,
		  void *arg)
{
	struct cursor *c = merge->cursors[number];
	struct lost l = { .cursor = c, .number = number };

	while (cursor_loss(c, &l.loss)) {
		l.stream = merge_loss_stream(c);
		l.loss.to = l.loss.to && l.loss.to < last ? last : l.loss.to;
		l.loss.from += l.loss.from ? m->clock_offset : 0;
		l.loss.to += l.loss.to ? m->clock_offset : 0;
		if (m->lose && !m->err)
			m->lose(arg, &l);
	}
	merge_end_outage(merge, c);
}

/* The run ends where the streams do. */
static void tell_last(struct maker *m, struct merge *merge, uint64_t last, void *arg)
{
	merge_end_losses(merge);
	for (uint32_t i = 0; i < merge->count; i++)
		if (!merge->cursors[i]->have)
			maker_losses(m, merge, i, last, arg);
}

/* Events of the ring below the first one that the cursor has not given, nor told as a loss. */
static int64_t given(const struct cursor *c)
{
	bool lost = c->losses.pending & 1u << MD_LOSS_OVERWRITTEN;

	return (int64_t)(c->d.count - c->have -
			 (lost ? c->losses.of[MD_LOSS_OVERWRITTEN].count : 0));
}

/* The part has its first event of the stream. */
static void begin_stream(struct begun *b, struct cursor *c)
{
	if (!b->alone)
		c->losses.pending &= ~(1u << MD_LOSS_OVERWRITTEN);
	b->known = true;
	b->events = given(c);
}

static void run_merge(struct maker *m, struct merge *merge, enum row_needs needs,
		      void (*add)(void *arg, const struct row *r), void *arg)
{
	uint64_t count = 0, first = 0, last = 0;
	struct cursor *c;
	struct row r;

	if (!m->err && m->outages)
		merge_watch(merge, m->outages);
	while (!m->err && (c = merge_top(merge, m->limit))) {
		if (c->o.ts < m->from) {
			merge_skip(merge);
			continue;
		}
		if (m->begun && !m->begun[merge->heap[0].rank].known)
			begin_stream(&m->begun[merge->heap[0].rank], c);
		if (c->losses.pending)
			maker_losses(m, merge, merge->heap[0].rank, 0, arg);
		m->err = m->err ? m->err : rows_read(&m->rows, c, needs, &r);
		if (m->err)
			break;
		r.time = m->clock_offset + c->o.ts;
		first = count ? first : c->o.ts;
		last = c->o.ts;
		if (count++ % EVENTS_A_SHOW == 0)
			show_done(m, part_of(m, first, c->o.ts));
		add(arg, &r);
		if (m->out.len >= PIECE || m->out.failed)
			maker_write(m);
		merge_next(merge);
	}
	if (!m->err && !m->continued)
		tell_last(m, merge, last, arg);
}

void maker_run(struct maker *m, enum row_needs needs, void (*add)(void *arg, const struct row *r),
	       void *arg)
{
	struct merge *merge = begin_run(m);

	run_merge(m, merge, needs, add, arg);
	if (merge)
		end_run(m, merge);
}

/* ---- parts ---- */

#define PART_LEAST (256u << 10) /* bytes of events that are worth a thread */
#define LOST_MAX (INT64_C(1) << 48)     /* a larger difference of two counts is not valid */

static void free_parts(struct maker *m)
{
	for (size_t i = 0; i < m->later_count; i++) {
		md_buf_deinit(&m->later[i].out);
		rows_deinit(&m->later[i].rows);
		free(m->later[i].places);
	}
	free(m->later);
	m->later = NULL;
	m->later_count = 0;
}

/*
 * The merge that was divided has read no event: a stream that the part does not begin further on
 * begins as in the first part, and its losses are told by the part that has its first event.
 */
static struct merge_place *begin_fresh(struct division_part *part, size_t streams)
{
	struct merge_place *places = part->places;

	for (size_t i = 0; i < streams; i++)
		places[i].fresh = !places[i].at.counted;
	part->places = NULL;
	return places;
}

/* Makes m->later, if the session's rings have events for several threads. 0 or -ENOMEM. */
static int divide(struct maker *m, const struct merge *merge)
{
	struct division d;
	int ret = 0;

	merge_divide(merge, PART_LEAST, false, &d);
	division_before(&d, m->limit);
	m->later = d.count > 1 ? calloc(d.count - 1, sizeof(*m->later)) : NULL;
	if (d.count > 1 && !m->later)
		ret = -ENOMEM;
	for (size_t i = 1; i < d.count && !ret; i++) {
		bool last = i + 1 == d.count;

		m->later[m->later_count++] = (struct maker){
			.s = m->s, .limit = last ? m->limit : d.parts[i + 1].from - 1,
			.from = d.parts[i].from, .clock_offset = m->clock_offset,
			.places = begin_fresh(&d.parts[i], d.streams), .place_count = d.streams,
			.continued = !last,
		};
	}
	division_cut(&d, 1);
	return ret;
}

struct part_run {
	struct maker *m;
	void (*add)(void *arg, const struct row *r);
	void *const *args;      /* of each part */
};

static struct maker *part_of_run(const struct part_run *run, size_t i)
{
	return i ? &run->m->later[i - 1] : run->m;
}

/* Whether no part before this one has events of the stream. */
static bool is_alone(const struct maker *m, const struct stream *s)
{
	for (size_t i = 0; i < m->place_count; i++)
		if (m->places[i].key == s->region->key && m->places[i].ring == s->ring)
			return m->places[i].fresh;
	return true;
}

static void run_part(void *arg, size_t i)
{
	const struct part_run *run = arg;
	struct maker *m = part_of_run(run, i);

	m->merge = begin_run(m);
	m->begun = m->merge ? calloc(m->merge->count + 1, sizeof(*m->begun)) : NULL;
	if (!m->err && !m->begun)
		m->err = -ENOMEM;
	for (size_t j = 0; !m->err && j < m->merge->count; j++)
		m->begun[j].alone = is_alone(m, &m->merge->cursors[j]->stream);
	run_merge(m, m->merge, ROW_VALUES, run->add, run->args[i]);
	if (i)
		maker_write(m);
}

/* The index of the stream in the part; -1: it did not have the stream yet. */
static int find_stream(const struct maker *m, const struct stream *s)
{
	for (size_t i = 0; i < m->merge->count; i++) {
		const struct stream *own = &m->merge->cursors[i]->stream;

		if (own->region == s->region && own->ring == s->ring)
			return (int)i;
	}
	return -1;
}

/*
 * Events that were overwritten before a thread read them, between the last one of a part and the
 * first one of a later part: only both together say how many these are. `next` follows m; last:
 * it is the last one.
 */
static void tell_between(struct maker *m, struct maker *next, bool last, void *arg)
{
	for (uint32_t i = 0; i < m->merge->count; i++) {
		struct cursor *c = m->merge->cursors[i];
		int j = find_stream(next, &c->stream);
		struct begun *b = j >= 0 ? &next->begun[j] : NULL;
		int64_t has = m->from && !m->begun[i].known ? m->begun[i].events : given(c), lost;
		uint64_t since = c->have ? c->event_ts : c->d.ts;

		if (b && !b->known) {
			/* The part has none of its events: what is before it ends further on. */
			b->events = has;
			lost = last && !b->alone ? given(next->merge->cursors[j]) - has : 0;
		} else {
			lost = b ? b->events - has : 0;
		}
		if (lost <= 0 || lost > LOST_MAX)
			continue;
		c->losses.pending = 1u << MD_LOSS_OVERWRITTEN;
		c->losses.of[MD_LOSS_OVERWRITTEN] = (struct md_loss){
			MD_LOSS_OVERWRITTEN, (uint64_t)lost, since,
			since < next->from ? next->from : since,
		};
		maker_losses(m, m->merge, i, 0, arg);
	}
}

/* Runs all parts. Each has its rows. */
static void run_parts(struct maker *m, struct part_run *run)
{
	uint64_t limit = m->limit;

	m->limit = m->later[0].from - 1;
	m->continued = true;
	division_run(1 + m->later_count, run_part, run);
	m->limit = limit;
	m->continued = false;
	for (size_t i = 0; i < m->later_count; i++)
		m->err = m->err ? m->err : m->later[i].err;
	for (size_t i = 0; i < m->later_count && !m->err; i++) {
		tell_between(part_of_run(run, i), &m->later[i], i + 1 == m->later_count,
			     run->args[i]);
		if (i)
			maker_write(&m->later[i - 1]);
	}
	for (size_t i = 0; i <= m->later_count; i++) {
		struct maker *part = part_of_run(run, i);

		if (part->merge)
			end_run(part, part->merge);
		free(part->begun);
		m->err = m->err ? m->err : part->err;
		if (i)
			m->rest[i - 1] = part->file;
	}
	m->merge = NULL;
	m->begun = NULL;
}

void maker_parts(struct maker *m, void (*add)(void *arg, const struct row *r), void *const *args)
{
	struct part_run run = { m, add, args };

	/* Names of code addresses are looked up by one thread. */
	if (m->stacks || !m->later_count) {
		maker_run(m, ROW_VALUES, add, args[0]);
		return;
	}
	for (size_t i = 0; i < m->later_count && !m->err; i++) {
		m->later[i].lose = m->lose;
		m->err = rows_lend(&m->rows, &m->later[i].rows);
	}
	if (!m->err)
		run_parts(m, &run);
}

/* ---- event classes ---- */

/* How many event classes the stream has, at most. */
static uint32_t count_classes(const struct stream *s)
{
	uint32_t n;

	/* An imported trace may describe more of them later. */
	if (s->input)
		return UINT32_MAX;
	pthread_mutex_lock(&s->trace->lock);
	n = s->class->event_count;
	pthread_mutex_unlock(&s->trace->lock);
	return n;
}

/* Whether a stream that has looked, and of which nothing was read, has losses. */
static bool have_losses(const struct merge *merge)
{
	bool found = false;

	for (size_t i = 0; i < merge->count && !found; i++) {
		const struct cursor *c = merge->cursors[i];
		struct input_losses l = stream_losses(&c->stream);
		struct ring_counts counts;

		ring_counts(&c->stream, &counts);
		found = counts.discarded || counts.overwritten || l.count || c->losses.pending;
	}
	return found;
}

/* Notes the classes of the events of stream i, which is `part` of them all. */
static void note_stream(struct maker *m, struct cursor *c, uint32_t i, double part)
{
	uint32_t classes = count_classes(&c->stream), noted = 0;
	const struct md_event *last = NULL;
	uint64_t count = 0, first = c->o.ts;
	bool more = c->have;

	for (; more && noted < classes && c->o.ts <= m->limit && !m->err; more = cursor_next(c)) {
		if (count++ % EVENTS_A_SHOW == 0)
			show_done(m, part * (i + part_of(m, first, c->o.ts)));
		if (c->o.event != last)
			m->err = rows_note(&m->rows, c, i + 1, &noted);
		last = c->o.event;
		m->lossy |= c->losses.pending != 0;
	}
	cursor_release(c);
}

void maker_classes(struct maker *m, void (*add)(void *arg, const struct row *r), void *arg)
{
	struct merge *merge = begin_run(m);
	struct session_info info;

	if (!m->err)
		m->err = divide(m, merge);
	/* Stream by stream: faster than in the order of time. */
	session_info(m->s, &info);
	if (!m->err)
		m->lossy = info.active || have_losses(merge);
	for (size_t i = 0; !m->err && i < merge->count; i++)
		note_stream(m, merge->cursors[i], (uint32_t)i, 1 / (double)merge->count);
	if (!m->err)
		m->err = rows_classes(&m->rows, add, arg);
	if (merge)
		end_run(m, merge);
}

void maker_begin(struct maker *m, struct stream_set *held, struct session *s)
{
	*m = (struct maker){ .s = session_ref(s), .clock_offset = session_clock_offset(s) };
	*held = (struct stream_set){ 0 };
	/* Between two runs, no event class is freed. */
	m->err = session_streams(s, NULL, held);
}

void maker_end(struct maker *m, struct stream_set *held)
{
	struct stream_set now = { 0 };

	maker_write(m);
	m->err = m->err ? m->err : session_streams(m->s, NULL, &now);
	m->replaced = !m->err && stream_set_replaced(held, &now);
	m->err = m->replaced ? -ESTALE : m->err;
	stream_set_deinit(&now);
	stream_set_deinit(held);
	free_parts(m);
	md_buf_deinit(&m->out);
	rows_deinit(&m->rows);
	stacks_destroy(m->stacks);
}
