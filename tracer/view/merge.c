/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/json.h"
#include "tracer/view/merge_losses.h"
#include "tracer/view/stack.h"

#define COPIES_MAX (1u << 20)   /* bytes that all cursors of a merge copy at a time, together */
#define CHUNK_MAX 32768u
#define CHUNK_ASKED 131072u     /* of an imported stream: each chunk is an ask of another process */
#define CHUNK_MIN 4096u

struct merge *merge_create(void)
{
	return calloc(1, sizeof(struct merge));
}

void merge_destroy(struct merge *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++)
		cursor_destroy(m->cursors[i]);
	free(m->cursors);
	free(m->heap);
	free(m);
}

static bool comes_before(const struct merge_entry *a, const struct merge_entry *b)
{
	return a->ts < b->ts || (a->ts == b->ts && a->rank < b->rank);
}

/* Moves the entry at i down to its place. */
static void sift_down(struct merge *m, size_t i)
{
	struct merge_entry *heap = m->heap, e = heap[i];
	size_t child;

	while ((child = 2 * i + 1) < m->heap_count) {
		if (child + 1 < m->heap_count && comes_before(&heap[child + 1], &heap[child]))
			child++;
		if (!comes_before(&heap[child], &e))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = e;
}

/*
 * Whether the entry on top is still the first one. Mostly it is: a CPU has many events in a row.
 * Then the heap is not written: reading an entry whole, after its time alone was written, would
 * wait for that write.
 */
static bool is_first(const struct merge *m)
{
	const struct merge_entry *heap = m->heap;

	return (m->heap_count < 2 || comes_before(&heap[0], &heap[1])) &&
	       (m->heap_count < 3 || comes_before(&heap[0], &heap[2]));
}

void merge_next(struct merge *m)
{
	struct merge_entry *top = m->heap;
	int more = cursor_next(top->c);

	if (__builtin_expect(m->outages != NULL, 0))
		merge_find_outage(m, top->c);
	if (more)
		top->ts = top->c->o.ts;
	else if (top->c->failed == -EIO)
		m->heap_count = 0;
	else if (--m->heap_count)
		*top = m->heap[m->heap_count];
	else
		return;
	if (!is_first(m))
		sift_down(m, 0);
}

void merge_skip(struct merge *m)
{
	merge_pass_loss(m, m->heap->c);
	merge_next(m);
}

static size_t choose_chunk(const struct stream *s, size_t streams)
{
	size_t chunk = COPIES_MAX / (streams ? streams : 1);
	size_t most = s->input ? CHUNK_ASKED : CHUNK_MAX;

	return chunk > most ? most : chunk < CHUNK_MIN ? CHUNK_MIN : chunk;
}

static bool is_same_stream(const struct cursor *c, const struct stream *s)
{
	return c->stream.region == s->region && c->stream.ring == s->ring;
}

static void set_uniform(struct merge *m)
{
	m->uniform = true;
	for (size_t i = 1; i < m->count; i++)
		if (strcmp(m->cursors[i]->host, m->cursors[0]->host))
			m->uniform = false;
}

/*
 * Puts the first n of `cursors` back into free places of m->cursors, in any order: the next look
 * sorts them.
 */
static void return_cursors(struct merge *m, struct cursor **cursors, size_t n)
{
	size_t j = 0, count = 0;

	for (size_t i = 0; i < n; i++) {
		while (j < m->count && m->cursors[j])
			j++;
		if (j < m->count)
			m->cursors[j] = cursors[i];
		else
			cursor_destroy(cursors[i]);
	}
	for (j = 0; j < m->count; j++)
		if (m->cursors[j])
			m->cursors[count++] = m->cursors[j];
	m->count = count;
	m->heap_count = 0;
}

/*
 * Makes one cursor for each stream of the set, in its order. Cursors of streams that left the
 * session stay at the end until they are drained.
 */
static int update_cursors(struct merge *m, const struct stream_set *set)
{
	struct cursor **cursors = calloc(set->count + m->count + 1, sizeof(*cursors));
	struct merge_entry *heap = realloc(m->heap, (set->count + m->count + 1) * sizeof(*heap));
	size_t i, j, n = 0;

	if (heap)
		m->heap = heap;
	if (!cursors || !heap)
		goto nomem;
	for (i = 0; i < set->count; i++) {
		const struct stream *s = &set->streams[i];
		struct ring_place at = { 0 };

		for (j = 0; j < m->count && !(m->cursors[j] && is_same_stream(m->cursors[j], s));
		     j++)
			;
		if (j < m->count) {
			cursors[i] = m->cursors[j];
			m->cursors[j] = NULL;
			continue;
		}
		/* No file: the first one of the list, of whatever chunk. */
		if (!m->looked && !(m->older && s->log))
			at = cursor_oldest(s);
		cursors[i] = cursor_create(s, at, choose_chunk(s, set->count));
		if (!cursors[i])
			goto nomem_cursor;
		cursor_begin(cursors[i]);
	}
	n = set->count;
	for (j = 0; j < m->count; j++) {
		if (!m->cursors[j])
			continue;
		m->dropped = true;
		if (cursor_at_mark(m->cursors[j]))
			cursor_destroy(m->cursors[j]);
		else
			cursors[n++] = m->cursors[j];
	}
	free(m->cursors);
	m->cursors = cursors;
	m->count = n;
	set_uniform(m);
	return 0;
nomem_cursor:
	return_cursors(m, cursors, i);
nomem:
	free(cursors);
	return -ENOMEM;
}

static bool has_same_streams(const struct merge *m, const struct stream_set *set)
{
	if (m->count != set->count)
		return false;
	for (size_t i = 0; i < set->count; i++)
		if (!is_same_stream(m->cursors[i], &set->streams[i]))
			return false;
	return true;
}

int merge_look(struct merge *m, const struct stream_set *set, const struct clock *clock)
{
	uint64_t later;
	bool again = false;

	if (!m->looked || !has_same_streams(m, set)) {
		int err = update_cursors(m, set);

		if (err)
			return err;
		m->looked = true;
	}
	for (size_t i = 0; i < m->count; i++) {
		m->cursors[i]->s = m->s;
		cursor_mark(m->cursors[i], m->ahead);
	}
	later = clock_now(clock);
	/*
	 * Clocks of two CPUs may differ a little: one second is far more than that, and short
	 * enough to reject invalid times.
	 */
	later += 1000000000;
	m->heap_count = 0;
	for (size_t i = 0; i < m->count; i++) {
		struct cursor *c = m->cursors[i];

		cursor_limit(c, later);
		if (c->have || cursor_next(c))
			m->heap[m->heap_count++] = (struct merge_entry){ c->o.ts, (uint32_t)i, c };
		again |= c->failed == -EIO;
	}
	/*
	 * The process that reads the trace has failed, and the next look starts another one. The
	 * other streams wait, because the failed stream may have the next event.
	 */
	if (again)
		m->heap_count = 0;
	for (size_t i = m->heap_count / 2; i-- > 0;)
		sift_down(m, i);
	return 0;
}

int merge_look_session(struct merge *m, struct session *s, uint64_t *now)
{
	struct stream_set set = { 0 };
	int err = session_look(s, NULL, &set, now);

	if (err)
		return err;
	m->s = s;
	/* Packets that the files do not have yet are in the rings. */
	m->ahead = !session_flush(s);
	err = merge_look(m, &set, session_clock(s));
	stream_set_deinit(&set);
	return err;
}

struct merge *merge_create_at(const struct merge_place *places, size_t count,
			      const struct stream_set *set)
{
	struct merge *m = merge_create();

	if (!m)
		return NULL;
	m->looked = true;
	m->cursors = calloc(set->count + 1, sizeof(*m->cursors));
	m->heap = calloc(set->count + 1, sizeof(*m->heap));
	if (!m->cursors || !m->heap)
		goto nomem;
	for (size_t i = 0; i < set->count; i++) {
		const struct stream *s = &set->streams[i];
		struct ring_place at = { 0 };
		bool found = false;

		for (size_t j = 0; j < count; j++)
			if (places[j].key == s->region->key && places[j].ring == s->ring) {
				at = places[j].at;
				found = !places[j].fresh;
			}
		m->cursors[i] = cursor_create(s, at, choose_chunk(s, set->count));
		if (!m->cursors[i])
			goto nomem;
		if (!found)
			cursor_begin(m->cursors[i]);
		m->count++;
	}
	set_uniform(m);
	return m;
nomem:
	merge_destroy(m);
	return NULL;
}

/*
 * The row of events after the one on top: it ends where another stream, or the limit, comes first.
 * Its decoder is the cursor's, so merge_next must follow what prints it. False: each event has to
 * be looked at.
 */
static bool find_row(const struct merge *m, uint64_t limit, struct md_row *r)
{
	struct cursor *c = m->heap[0].c;
	uint64_t until = limit < c->max_ts ? limit + 1 : c->max_ts;

	if (c->freq || c->skip.events || c->in_ring)
		return false;
	for (size_t i = 1; i < 3 && i < m->heap_count; i++)
		until = m->heap[i].ts < until ? m->heap[i].ts : until;
	*r = (struct md_row){ &c->d, c->stream.cpu, until };
	return true;
}

bool merge_text(struct merge *m, struct md_text *t, uint64_t limit, struct md_buf *out, size_t want)
{
	bool json = text_is_json(m->form);
	uint64_t missed;
	struct cursor *c;
	struct md_row row;

	if (m->count && m->uniform)
		md_text_hostname(t, m->cursors[0]->host);
	while (out->len < want && !out->failed) {
		c = merge_top(m, limit);
		if (!c)
			return false;
		if (!m->uniform)
			md_text_hostname(t, c->host);
		if (__builtin_expect(c->losses.pending, 0))
			merge_put_losses(m, c, t, out);
		if (json)
			md_json_event(t->clock_offset, t->hostname, &c->o, c->stream.class,
				      c->stream.cpu, out);
		else
			md_text_event(t, &c->o, c->stream.class, c->stream.cpu, out);
		if (m->stacks)
			stacks_put(m->stacks, t->clock_offset, c,
				   json ? STACKS_JSON : STACKS_TEXT, out);
		else if (!json && find_row(m, limit, &row))
			md_text_events(t, &row, out, want);
		missed = c->missed;
		merge_next(m);
		if (c->missed != missed)
			break;
	}
	return true;
}

bool merge_length(struct merge *m, struct md_text *t, uint64_t limit, uint64_t *length,
		  uint64_t want)
{
	uint64_t missed, n = 0;
	struct cursor *c = NULL;
	struct md_row row;

	if (m->count && m->uniform)
		md_text_hostname(t, m->cursors[0]->host);
	while (n < want) {
		c = merge_top(m, limit);
		if (!c)
			break;
		if (!m->uniform)
			md_text_hostname(t, c->host);
		if (__builtin_expect(c->losses.pending, 0))
			n += merge_losses_length(m, c, t);
		n += md_text_length(t, &c->o, c->stream.class, c->stream.cpu);
		if (n < want && find_row(m, limit, &row))
			n += md_text_lengths(t, &row, want - n);
		missed = c->missed;
		merge_next(m);
		if (c->missed != missed)
			break;
	}
	*length += n;
	return c;
}

uint64_t merge_left(const struct merge *m)
{
	uint64_t left = 0, n;

	for (size_t i = 0; i < m->count && left < UINT64_MAX; i++) {
		n = cursor_left(m->cursors[i]);
		left = n < UINT64_MAX - left ? left + n : UINT64_MAX;
	}
	return left;
}

int merge_failed(const struct merge *m)
{
	int failed = 0;

	for (size_t i = 0; i < m->count && !failed; i++)
		failed = m->cursors[i]->failed;
	return failed;
}

bool merge_retired(const struct merge *m)
{
	bool retired = false;

	for (size_t i = 0; i < m->count && !retired; i++)
		retired = m->cursors[i]->stream.region &&
			  region_retired(m->cursors[i]->stream.region);
	return retired;
}

uint64_t merge_missed(const struct merge *m)
{
	uint64_t n = 0;

	for (size_t i = 0; i < m->count; i++)
		n += m->cursors[i]->missed;
	return n;
}

void merge_places(const struct merge *m, struct merge_place *places)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct cursor *c = m->cursors[i];

		places[i] = (struct merge_place){ .key = c->stream.region->key,
						  .ring = c->stream.ring,
						  .at = cursor_place(c) };
	}
}

void merge_release(struct merge *m)
{
	for (size_t i = 0; i < m->count; i++)
		cursor_release(m->cursors[i]);
	m->heap_count = 0;
}
