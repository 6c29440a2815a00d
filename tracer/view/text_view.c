/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One open of `text`, `text.symbols` or `export/json`. It is in one of two states.
 *
 * exact: the byte at `offset` of this open is the byte at `offset + shift` of the engine's text. It
 * is in the engine's tail, or this open formats it again by a run, a merge that begins at a
 * checkpoint.
 *
 * floating: the run met a gap that the engine's text does not have, because events were
 * overwritten. It continues at the oldest event held and counts its own bytes. When it reaches the
 * end of the engine's text, the shift is known and it is exact again. It cannot have more bytes
 * than the engine by then, because it formatted fewer of the same events.
 *
 * While an exact reader reads on, other threads format the stripes of the text that follow the one
 * that the run formats (text_window.h).
 */
#include "tracer/view/text_view.h"
#include "tracer/session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECE (64u << 10)

/* Caller holds the engine's lock. */
static void set_mark(struct text_view *v)
{
	v->mark = v->e->end;
	v->mark_limit = v->e->limit;
	v->ended = false;
}

static void end_run(struct text_view *v)
{
	merge_destroy(v->m);
	v->m = NULL;
	text_window_deinit(&v->window);
	text_stripes_end(&v->stripes);
}

void text_begin(struct text_view *v)
{
	end_run(v);
	v->generation = v->e->generation;
	v->era = v->e->era;
	v->exact = true;
	v->shift = 0 - v->e->base;
	v->floor = v->e->floor;
	set_mark(v);
}

int text_open(struct session *s, enum text_form form, struct text_view **out)
{
	struct text_view *v = calloc(1, sizeof(*v));
	struct text_engine *e = text_engine_of(s, form);
	int err;

	if (!v || !e) {
		free(v);
		return -ENOMEM;
	}
	v->s = session_ref(s);
	v->e = e;
	pthread_mutex_lock(&e->lock);
	e->views++;
	err = text_engine_advance(e, s);
	v->imported = e->m && e->m->count && e->m->cursors[0]->stream.input;
	text_begin(v);
	pthread_mutex_unlock(&e->lock);
	if (err) {
		text_close(v);
		return err;
	}
	*out = v;
	return 0;
}

void text_close(struct text_view *v)
{
	struct session *s;

	if (!v)
		return;
	s = v->s;
	end_run(v);
	pthread_mutex_lock(&v->e->lock);
	if (!--v->e->views)
		text_engine_rest(v->e);
	pthread_mutex_unlock(&v->e->lock);
	free(v);
	session_put(s);
}

/* Whether the text at this offset was in the archives when the file was opened. */
static bool was_archived(const struct text_view *v, uint64_t offset)
{
	return v->exact && is_before(offset + v->shift, v->floor);
}

/* Caller holds the engine's lock. */
static int mark_streams(struct text_view *v, uint64_t limit)
{
	int err = text_engine_mark(v->e, v->s, v->m);

	if (!err)
		v->limit = limit;
	return err;
}

/*
 * Starts a run at a checkpoint of the engine; NULL: at the oldest event held. Its first byte is at
 * `offset` of this open. -ESTALE: the bytes of the checkpoint are gone. Caller holds the engine's
 * lock.
 */
static int start_run(struct text_view *v, const struct text_checkpoint *p, bool older,
		     uint64_t offset, uint64_t limit)
{
	int err;

	merge_destroy(v->m);
	err = text_engine_run(v->e, v->s, p, older, &v->m);
	if (err)
		return err;
	md_text_init(&v->text, session_clock_offset(v->s), "");
	if (p)
		v->text = p->text;
	text_window_clear(&v->window, offset);
	v->missed = 0;
	v->limit = limit;
	v->cut = v->cut || !v->m->count;
	return p && merge_missed(v->m) ? -ESTALE : 0;
}

/* Continues the run at the oldest event held, which is at `offset` of this open from now on. */
static int continue_at_oldest(struct text_view *v, uint64_t offset, uint64_t limit)
{
	int err = start_run(v, NULL, false, offset, limit);

	if (!err)
		v->exact = false;
	return err;
}

/*
 * All text before the mark was overwritten, and the reader continues after the mark: moves the mark
 * there.
 */
static void skip_mark(struct text_view *v, uint64_t offset)
{
	if (is_before(v->mark, offset + v->shift))
		v->mark = offset + v->shift;
}

/*
 * The rings overtook a reader: continues at the first place after `offset` that can be read, and
 * shows no event twice. p: the first checkpoint after it. 1: in the engine's tail.
 */
static int move_forward(struct text_view *v, const struct text_checkpoint *p, uint64_t offset)
{
	struct text_engine *e = v->e;

	for (; p < e->checkpoints + e->checkpoint_count; p++) {
		int err;

		v->shift = p->offset - offset;
		skip_mark(v, offset);
		err = start_run(v, p, false, p->offset - v->shift, v->mark_limit);
		if (err != -ESTALE)
			return err;
	}
	end_run(v);
	/* Both halves of the tail begin with a line. */
	v->shift = text_engine_tail_begin(e) - offset;
	skip_mark(v, offset);
	return 1;
}

/*
 * Moves the run to a place from which it reaches offset. 0; 1: no run is needed; -errno. Exact or
 * floating. Caller holds the engine's lock.
 */
static int position_run(struct text_view *v, uint64_t offset)
{
	struct text_engine *e = v->e;
	const struct text_checkpoint *p =
		v->exact ? text_engine_checkpoint(e, offset + v->shift) : NULL;
	bool ahead = v->m && !is_before(offset, v->window.next);
	int err;

	if (was_archived(v, offset))
		return continue_at_oldest(v, offset, v->mark_limit);
	/* Continue the run unless a checkpoint is closer. */
	if (ahead && (!p || !is_before(v->window.next, p->offset - v->shift)))
		return 0;
	err = p ? start_run(v, p, false, p->offset - v->shift, v->mark_limit) : -ESTALE;
	if (err != -ESTALE)
		return err;
	if (v->exact && offset && offset == v->served)
		return move_forward(v, p ? p + 1 : e->checkpoints, offset);
	return continue_at_oldest(v, offset, v->mark_limit);
}

/* Formats the next piece into the window. 1; 0: the run is at v->limit. */
static int format_piece(struct text_view *v)
{
	struct md_buf *b = text_window_end(&v->window);
	uint64_t missed, rest = v->exact ? v->note - v->window.next : UINT64_MAX;
	size_t before;
	bool more;

	before = b->len;
	if (!rest)
		return 0;
	more = merge_text(v->m, &v->text, v->limit, b, before + (rest < PIECE ? rest : PIECE));
	if (b->failed) {
		end_run(v);
		v->exact = false;
		return -ENOMEM;
	}
	v->window.next += b->len - before;
	if (!more && b->len == before && merge_failed(v->m))
		return merge_failed(v->m);
	missed = merge_missed(v->m);
	if (missed != v->missed) {
		v->missed = missed;
		v->exact = false;
		v->cut = v->cut || merge_retired(v->m);
	}
	return more || b->len > before;
}

/*
 * The run is at its limit. If that is the engine's limit, both are at the same place. 1: format on;
 * 0: at the mark. Caller holds the engine's lock.
 */
static int reach_limit(struct text_view *v)
{
	if (v->limit < v->mark_limit) {
		int err = mark_streams(v, v->mark_limit);

		return err ? err : 1;
	}
	if (!v->exact && v->limit == v->e->limit) {
		/*
		 * Same place, different continuation: the engine may have a copy of events after
		 * the limit that were overwritten since, or may have read more.
		 */
		merge_destroy(v->m);
		v->m = NULL;
		v->shift = text_place_of_run(v->e) - v->window.next;
		v->exact = true;
	}
	return 0;
}

/*
 * Keeps the rest of the line in which a read stopped. If the rings overtake the reader, it
 * continues with another line, not inside this one. Caller holds the engine's lock.
 */
static void keep_line(struct text_view *v, uint64_t offset)
{
	struct md_buf *b;

	text_window_clear(&v->window, offset);
	b = text_window_end(&v->window);
	text_engine_line(v->e, offset + v->shift, b);
	v->window.next = offset + b->len;
}

/*
 * The last read reached the mark: sets a new one that includes all events recorded since. Caller
 * holds the engine's lock.
 */
static int move_mark(struct text_view *v)
{
	int err = text_engine_advance(v->e, v->s);

	if (!err)
		set_mark(v);
	return err;
}

/* The session shows another input: its text is not the rest of this one. */
static int end_replaced(struct text_view *v)
{
	if (!v->replaced)
		session_failed(v->s, "text: the input was replaced; open the file again");
	v->replaced = true;
	return -ESTALE;
}

/*
 * Reads from the engine's tail. The number of bytes; 0: at the end; -EAGAIN: format. Caller holds
 * the engine's lock.
 */
static ssize_t read_tail(struct text_view *v, uint64_t offset, char *buf, size_t size)
{
	struct text_engine *e = v->e;
	ssize_t n;
	int err;

	if (v->ended || __atomic_load_n(&e->wanted, __ATOMIC_ACQUIRE) != e->generation) {
		err = move_mark(v);
		if (err)
			return err;
	}
	if (v->generation != e->generation) {
		if (v->imported)
			return end_replaced(v);
		text_begin(v);
	}
	if (!v->exact || was_archived(v, offset))
		return -EAGAIN;
	/* The reader knows a later end from stat(2). */
	if (is_before(v->mark, offset + v->shift)) {
		err = move_mark(v);
		if (err)
			return err;
	}
	size = text_clip(v, offset, size);
	if (!size)
		return 0;
	n = (ssize_t)text_engine_tail(e, offset + v->shift, buf, size);
	if (!n)
		return -EAGAIN;
	if (v->m)
		end_run(v);
	if (buf[n - 1] == '\n')
		text_window_clear(&v->window, offset + (uint64_t)n);
	else
		keep_line(v, offset + (uint64_t)n);
	return n;
}

static ssize_t read_step(struct text_view *v, uint64_t offset, char *buf, size_t size)
{
	struct text_engine *e = v->e;
	const char *p = NULL;
	uint64_t reached;
	bool was_exact;
	int sought;
	ssize_t n;

	for (;;) {
		n = (ssize_t)text_find_formatted(v, offset, size, &p);
		if (n) {
			memcpy(buf, p, (size_t)n);
			return n;
		}
		pthread_mutex_lock(&e->lock);
		n = read_tail(v, offset, buf, size);
		sought = n == -EAGAIN ? position_run(v, offset) : 0;
		if (n == -EAGAIN && !sought && text_put_note(v))
			sought = 1;
		pthread_mutex_unlock(&e->lock);
		if (sought > 0)
			continue;
		if (sought < 0 || n != -EAGAIN)
			return sought < 0 ? sought : n;
		was_exact = v->exact;
		reached = v->window.next;
		n = format_piece(v);
		if (n < 0)
			return n;
		/*
		 * The run met the gap on its way to the offset, so the text here begins at some
		 * place of a line: continue with the next piece.
		 */
		if (was_exact && !v->exact && is_before(reached, offset))
			text_window_clear(&v->window, offset);
		if (n)
			continue;
		pthread_mutex_lock(&e->lock);
		n = reach_limit(v);
		pthread_mutex_unlock(&e->lock);
		if (n < 0 || (!n && (was_exact || !v->exact) && !is_before(offset, v->window.next)))
			return n;
	}
}

/*
 * All text before the mark was overwritten, and the reader at offset 0 got none of it: it gets the
 * events held now. If writers overtake this run, too, it gets the engine's tail, which is a copy.
 */
static ssize_t read_newer(struct text_view *v, char *buf, size_t size)
{
	struct text_engine *e = v->e;
	ssize_t n;

	pthread_mutex_lock(&e->lock);
	n = move_mark(v);
	n = n ? n : continue_at_oldest(v, 0, v->mark_limit);
	pthread_mutex_unlock(&e->lock);
	n = n ? n : read_step(v, 0, buf, size);
	if (n)
		return n;
	pthread_mutex_lock(&e->lock);
	end_run(v);
	v->exact = true;
	v->shift = text_engine_tail_begin(e);
	if (is_before(v->shift, v->floor))
		v->shift = v->floor;
	set_mark(v);
	n = read_tail(v, 0, buf, size);
	pthread_mutex_unlock(&e->lock);
	return n == -EAGAIN ? 0 : n;
}

/* Whether a read of nothing at this offset is due to overwriting: there was text at the mark. */
static bool was_overtaken(const struct text_view *v, uint64_t offset)
{
	return !offset && !v->ended && !v->cut && (!v->exact || is_before(v->floor, v->mark));
}

ssize_t text_read(struct text_view *v, uint64_t offset, void *buf, size_t size)
{
	bool continues = text_reads_on(v, offset);
	size_t done = 0;
	ssize_t n = v->replaced ? -ESTALE : v->failed;

	v->failed = 0;
	if (!continues)
		text_stripes_end(&v->stripes);
	while (!n && done < size) {
		n = read_step(v, offset + done, (char *)buf + done, size - done);
		if (!n && was_overtaken(v, offset + done))
			n = read_newer(v, buf, size);
		if (n <= 0)
			break;
		done += (size_t)n;
		v->served = offset + done;
		n = 0;
	}
	v->ahead = continues ? done : 0;
	if (!done && !n) {
		v->ended = true;
		n = text_engine_end(v->e, v->s, v->cut);
	}
	return done ? (ssize_t)done : n;
}

void text_ahead(struct text_view *v)
{
	const size_t most = v->ahead < WINDOW_HALF ? v->ahead : WINDOW_HALF;
	int n = 1;

	/* With less than a half ahead, a piece replaces no bytes that were not read. */
	while (n > 0 && v->m && v->window.next - v->served < most &&
	       !text_stripes_have(&v->stripes, v->window.next + v->shift) &&
	       __atomic_load_n(&v->e->wanted, __ATOMIC_ACQUIRE) == v->generation)
		n = format_piece(v);
	v->failed = n < 0 ? n : 0;
}

uint64_t text_era(const struct text_view *v)
{
	return v->era;
}

void text_rewind(struct text_view *v)
{
	pthread_mutex_lock(&v->e->lock);
	end_run(v);
	v->exact = true;
	v->shift = v->floor = 0;
	set_mark(v);
	pthread_mutex_unlock(&v->e->lock);
}

int text_rewind_older(struct text_view *v)
{
	int err;

	text_rewind(v);
	pthread_mutex_lock(&v->e->lock);
	err = start_run(v, NULL, true, 0, v->mark_limit);
	v->exact = false;
	pthread_mutex_unlock(&v->e->lock);
	return err;
}

void text_move(struct text_view *v, uint64_t offset, uint64_t to)
{
	pthread_mutex_lock(&v->e->lock);
	if (v->exact) {
		end_run(v);
		v->shift += to - offset;
		text_engine_set_base(v->e, 0 - v->shift);
	} else {
		v->window.at += offset - to;
		v->window.next += offset - to;
	}
	set_mark(v);
	pthread_mutex_unlock(&v->e->lock);
	v->served = offset;
}
