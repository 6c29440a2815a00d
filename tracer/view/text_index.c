/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/output/outputs.h"
#include "tracer/view/text_index.h"
#include "tracer/view/stack.h"
#include "tracer/view/view.h"

#include "tracer/base/search.h"
#include "tracer/session/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SPACING_MIN (256u << 10)
#define SIZE_INTERVAL 5000000u          /* ns between two advances that text_size causes */

/* held while a session's engine is made */
static pthread_mutex_t slot_lock = PTHREAD_MUTEX_INITIALIZER;

/* The session's engines, by form; NULL: no text of that form was opened yet. */
static struct text_engine **engines_of(const struct session *s)
{
	return session_data(s, &text_part);
}

struct text_engine *text_engine_of(struct session *s, enum text_form form)
{
	struct text_engine **slot = &engines_of(s)[form], *e;

	pthread_mutex_lock(&slot_lock);
	e = *slot;
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (e) {
			lock_init(&e->lock, NULL, LOCK_TEXT);
			pthread_mutex_init(&e->shown_lock, NULL);
			e->spacing = SPACING_MIN;
			e->form = form;
			/* Release: a reset that sees the pointer sees a complete engine. */
			__atomic_store_n(slot, e, __ATOMIC_RELEASE);
		}
	}
	pthread_mutex_unlock(&slot_lock);
	return e;
}

static void drop_checkpoints(struct text_engine *e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(e->checkpoints[i].places);
	e->checkpoint_count -= n;
	memmove(e->checkpoints, e->checkpoints + n,
		e->checkpoint_count * sizeof(e->checkpoints[0]));
}

void text_engine_empty(struct text_engine *e)
{
	drop_checkpoints(e, e->checkpoint_count);
	text_engine_drop_notes(e);
	merge_destroy(e->m);
	e->m = NULL;
	md_buf_reset(&e->tail[0]);
	md_buf_reset(&e->tail[1]);
	e->end = e->base = 0;
	e->limit = 0;
	e->floor = 0;
	e->spacing = SPACING_MIN;
}

void text_engine_destroy(struct text_engine *e)
{
	if (!e)
		return;
	text_engine_empty(e);
	md_buf_deinit(&e->tail[0]);
	md_buf_deinit(&e->tail[1]);
	stacks_destroy(e->stacks);
	pthread_mutex_destroy(&e->lock);
	pthread_mutex_destroy(&e->shown_lock);
	free(e);
}

void text_engine_reset(struct text_engine **slot)
{
	/* Acquire: pairs with the release in text_engine_of, which another thread may run. */
	struct text_engine *e = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

	/*
	 * Takes no lock: the caller may hold tracer.lock, which an advance takes under the engine's
	 * lock.
	 */
	if (e)
		__atomic_fetch_add(&e->wanted, 1, __ATOMIC_RELEASE);
}

/* Whether the bytes at the checkpoint's places can still be read. */
static bool is_held(const struct text_engine *e, const struct text_checkpoint *p)
{
	for (size_t i = 0; i < e->m->count; i++) {
		const struct stream *s = &e->m->cursors[i]->stream;
		struct ring_place at = { 0 };

		for (size_t j = 0; j < p->count; j++) {
			size_t k = (i + j) % p->count;

			if (p->places[k].key == s->region->key && p->places[k].ring == s->ring) {
				at = p->places[k].at;
				break;
			}
		}
		if (!cursor_held(s, at))
			return false;
	}
	return true;
}

/* Removes checkpoints whose bytes are gone; if there is none, every other one. */
void text_engine_thin(struct text_engine *e)
{
	size_t gone = 0, n = 0;

	while (gone < e->checkpoint_count && !is_held(e, &e->checkpoints[gone]))
		gone++;
	drop_checkpoints(e, gone);
	if (e->checkpoint_count < TEXT_CHECKPOINTS / 4 && e->spacing > SPACING_MIN)
		e->spacing /= 2;
	if (e->checkpoint_count < TEXT_CHECKPOINTS * 3 / 4)
		return;
	for (size_t i = 0; i < e->checkpoint_count; i++) {
		if (i % 2)
			free(e->checkpoints[i].places);
		else
			e->checkpoints[n++] = e->checkpoints[i];
	}
	e->checkpoint_count = n;
	e->spacing *= 2;
}

/* Whether the text has grown enough for another checkpoint at its end. */
static bool checkpoint_due(const struct text_engine *e)
{
	uint64_t spacing = e->spacing + e->m->count * 1024;

	return !e->checkpoint_count ||
	       e->end - e->checkpoints[e->checkpoint_count - 1].offset >= spacing;
}

/* At the end of the text; if memory is short there is none. */
void text_engine_add_checkpoint(struct text_engine *e)
{
	struct text_checkpoint *p;

	if (e->checkpoint_count == TEXT_CHECKPOINTS)
		text_engine_thin(e);
	p = &e->checkpoints[e->checkpoint_count];
	p->places = malloc((e->m->count + 1) * sizeof(*p->places));
	if (!p->places)
		return;
	merge_places(e->m, p->places);
	p->count = e->m->count;
	p->offset = e->end;
	p->text = e->text;
	e->checkpoint_count++;
}

static void publish_size(struct text_engine *e)
{
	pthread_mutex_lock(&e->shown_lock);
	e->shown = e->base + e->end;
	e->shown_generation = e->generation;
	pthread_mutex_unlock(&e->shown_lock);
}

void text_engine_set_base(struct text_engine *e, uint64_t base)
{
	if ((int64_t)(base - e->base) <= 0)
		return;
	e->base = base;
	publish_size(e);
}

/* The last piece of the text is kept, so it is formatted. Text has more bytes than its events. */
void text_engine_count(struct text_engine *e, uint64_t limit, uint64_t rest)
{
	bool more = true;

	if (e->form != TEXT_PLAIN || merge_left(e->m) <= rest || !merge_top(e->m, limit))
		return;
	/* The pieces that are kept would not be the last ones. */
	md_buf_reset(&e->tail[0]);
	md_buf_reset(&e->tail[1]);
	while (more && merge_left(e->m) > rest) {
		if (checkpoint_due(e))
			text_engine_add_checkpoint(e);
		more = merge_length(e->m, &e->text, limit, &e->end, TEXT_TAIL_HALF / 4);
	}
}

int text_engine_format(struct text_engine *e)
{
	bool more = true;

	while (more) {
		struct md_buf *b = &e->tail[e->now];
		size_t before, n;

		if (b->len >= TEXT_TAIL_HALF) {
			e->now = !e->now;
			b = &e->tail[e->now];
			md_buf_reset(b);
		}
		if (checkpoint_due(e))
			text_engine_add_checkpoint(e);
		before = b->len;
		more = merge_text(e->m, &e->text, e->limit, b, before + TEXT_TAIL_HALF / 4);
		n = b->len - before;
		e->end += n;
		if (b->failed) {
			/* No memory: a line may be missing in the tail; its length counts. */
			md_buf_deinit(&e->tail[0]);
			md_buf_deinit(&e->tail[1]);
			return -ENOMEM;
		}
	}
	return 0;
}

/*
 * `regenerate metadata` changes the offset. Lines keep their lengths, so offsets in the text stay
 * valid.
 */
static void set_clock_offset(struct text_engine *e, uint64_t offset)
{
	if (e->text.clock_offset == offset)
		return;
	e->text.clock_offset = offset;
	for (size_t i = 0; i < e->checkpoint_count; i++)
		e->checkpoints[i].text.clock_offset = offset;
}

/*
 * The text has all events of the chunks before this one, which are in the archives now. A later
 * open does not show them; earlier opens continue through them.
 */
static void begin_chunk(struct text_engine *e, uint64_t chunk)
{
	if (e->chunk == chunk)
		return;
	e->chunk = chunk;
	e->floor = e->end;
	text_engine_add_checkpoint(e);
}

int text_engine_advance(struct text_engine *e, struct session *s)
{
	uint64_t chunk = session_chunk(s);

	/* Acquire: a clear made before the reset is visible. */
	uint32_t wanted = __atomic_load_n(&e->wanted, __ATOMIC_ACQUIRE);
	struct session_info info;
	uint64_t now;
	bool begins;
	int err;

	/* Before the look: if the session is inactive now, the look has its last events. */
	session_info(s, &info);
	if (wanted != e->generation) {
		text_engine_empty(e);
		e->generation = wanted;
	}
	if (text_has_symbols(e->form) && !e->stacks) {
		err = stacks_create(s, &e->stacks);
		if (err)
			return err;
	}
	begins = !e->m;
	if (begins) {
		e->m = merge_create();
		if (!e->m)
			return -ENOMEM;
		e->m->form = e->form;
		e->m->stacks = e->stacks;
		e->chunk = chunk;
		e->era = session_clears(s);
		md_text_init(&e->text, session_clock_offset(s), "");
	}
	set_clock_offset(e, session_clock_offset(s));
	err = merge_look_session(e->m, s, &now);
	if (err)
		return err;
	if (e->m->dropped) {
		/*
		 * Their events cannot be read again: no earlier checkpoint leads to the same text.
		 */
		drop_checkpoints(e, e->checkpoint_count);
		e->m->dropped = false;
	}
	if (now > e->limit)
		e->limit = now;
	if (begins)
		text_engine_note_gaps(e);
	text_engine_parts(e, s);
	text_engine_count(e, e->limit, TEXT_TAIL_HALF);
	err = text_engine_format(e);
	e->failed = merge_failed(e->m);
	if (!err && !info.active)
		text_engine_note_end(e);
	if (!err)
		begin_chunk(e, chunk);
	e->looked = monotonic_now();
	publish_size(e);
	return err;
}

size_t text_engine_tail(const struct text_engine *e, uint64_t offset, void *buf, size_t size)
{
	const struct md_buf *now = &e->tail[e->now], *old = &e->tail[!e->now];
	size_t n = 0, done = 0;
	uint64_t back = e->end - offset;        /* distance from the end */

	if (offset >= e->end || back > now->len + old->len)
		return 0;
	if (back > now->len) {
		n = (size_t)back - now->len;
		done = n < size ? n : size;
		memcpy(buf, old->data + (old->len - n), done);
		back = now->len;
	}
	n = (size_t)back < size - done ? (size_t)back : size - done;
	if (n)
		memcpy((char *)buf + done, now->data + (now->len - (size_t)back), n);
	return done + n;
}

uint64_t text_engine_tail_begin(const struct text_engine *e)
{
	return e->end - e->tail[0].len - e->tail[1].len;
}

void text_engine_line(const struct text_engine *e, uint64_t offset, struct md_buf *b)
{
	char piece[512], *end = NULL;
	size_t n;

	while (!end && (n = text_engine_tail(e, offset, piece, sizeof(piece)))) {
		end = memchr(piece, '\n', n);
		if (end)
			n = (size_t)(end - piece) + 1;
		md_buf_put(b, piece, n);
		offset += n;
	}
}

const struct text_checkpoint *text_engine_checkpoint(const struct text_engine *e, uint64_t offset)
{
	size_t above = search_above(e->checkpoints, e->checkpoint_count, sizeof(*e->checkpoints),
				    offset);

	return above ? &e->checkpoints[above - 1] : NULL;
}

static int look_again(const struct text_engine *e, struct session *s, struct merge *m,
		      const struct stream_set *set)
{
	/* As the engine read up to its limit. */
	m->ahead = e->m && e->m->ahead;
	return merge_look(m, set, session_clock(s));
}

int text_engine_mark(const struct text_engine *e, struct session *s, struct merge *m)
{
	struct stream_set set = { 0 };
	int err = session_streams(s, NULL, &set);

	err = err ? err : look_again(e, s, m, &set);
	stream_set_deinit(&set);
	return err;
}

int text_engine_run(const struct text_engine *e, struct session *s,
		    const struct text_checkpoint *p, bool older, struct merge **m)
{
	struct stream_set set = { 0 };
	int err = session_streams(s, NULL, &set);

	*m = NULL;
	if (err)
		return err;
	*m = p ? merge_create_at(p->places, p->count, &set) : merge_create();
	err = -ENOMEM;
	if (*m) {
		(*m)->s = s;
		(*m)->form = e->form;
		(*m)->stacks = e->stacks;
		(*m)->gaps = !p && text_is_json(e->form);
		(*m)->older = older;
		err = look_again(e, s, *m, &set);
	}
	stream_set_deinit(&set);
	if (err) {
		merge_destroy(*m);
		*m = NULL;
	}
	return err;
}

int text_engine_end(struct text_engine *e, struct session *s, bool cut)
{
	struct session_info info;
	int err;

	pthread_mutex_lock(&e->lock);
	err = e->failed;
	pthread_mutex_unlock(&e->lock);
	if (err || !cut)
		return err;
	session_info(s, &info);
	return info.gone ? -ESTALE : 0;
}

void text_engine_rest(struct text_engine *e)
{
	/* Other names would move the offsets: with the next open, the text begins again. */
	if (e->stacks)
		text_engine_empty(e);
	stacks_destroy(e->stacks);
	e->stacks = NULL;
	if (e->m)
		merge_release(e->m);
	md_buf_deinit(&e->tail[0]);
	md_buf_deinit(&e->tail[1]);
}

uint64_t text_size(struct session *s, enum text_form form)
{
	/* Acquire: pairs with the release in text_engine_of. */
	struct text_engine *e = __atomic_load_n(&engines_of(s)[form], __ATOMIC_ACQUIRE);
	uint64_t size;

	if (!e)
		return 0;
	/* If the lock is taken, another reader is advancing the engine. */
	if (!pthread_mutex_trylock(&e->lock)) {
		if (e->views && monotonic_now() - e->looked >= SIZE_INTERVAL)
			text_engine_advance(e, s);
		pthread_mutex_unlock(&e->lock);
	}
	pthread_mutex_lock(&e->shown_lock);
	size = e->shown_generation == __atomic_load_n(&e->wanted, __ATOMIC_ACQUIRE) ? e->shown : 0;
	pthread_mutex_unlock(&e->shown_lock);
	return size;
}

/* ---- the session's part ---- */

static void clear_text(struct session *s)
{
	for (int form = 0; form < TEXT_FORMS; form++)
		text_engine_reset(&engines_of(s)[form]);
}

static void destroy_text(struct session *s)
{
	for (int form = 0; form < TEXT_FORMS; form++)
		text_engine_destroy(engines_of(s)[form]);
}

const struct session_part text_part = { .name = "text",
					.size = TEXT_FORMS * sizeof(struct text_engine *),
					.clear = clear_text,
					.destroy = destroy_text };
