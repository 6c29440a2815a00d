/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One open of `text`. It is in one of two states:
 *
 * exact: the byte at `offset` of this open is the byte at `offset + shift` of the engine's text. It
 * is taken from the engine's tail, or formatted again by a run of its own that began at a
 * checkpoint.
 *
 * floating: the run met a gap that the engine's text does not have (what stood there was
 * overwritten), so it goes on at the oldest event held and counts its own bytes. When it has come
 * to the end of the engine's text, the shift is known and it is exact again. It cannot have more
 * bytes than the engine by then: it has formatted fewer of the same events.
 */
#include "tracer/view/text_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_HALF (256u << 10)
#define PIECE (64u << 10)
#define SIZE_INTERVAL 5000000u          /* ns between advances that text_size causes */

struct text_view {
	struct session *s;              /* referenced */
	struct text_engine *e;
	uint32_t generation;
	bool exact;
	uint64_t shift;
	struct merge *m;                /* the run, or NULL */
	struct md_text text;
	uint64_t limit;                 /* events up to here are below the marks of the run */
	uint64_t missed;
	uint64_t served;                /* offset behind what was read last */
	/*
	 * The end of the text for this open: that of the engine's text at the open. A read that
	 * comes to it returns 0, whatever was recorded since; the next read after that 0 sets a new
	 * end. So `cat` ends though recording continues faster than it reads, and `tail -f`
	 * follows. Both belong to one moment: offset in the engine's text, and time of its last
	 * event.
	 */
	uint64_t mark, mark_limit;
	uint64_t floor;                 /* the engine's at the open, offset in its text */
	bool ended;                     /* the last read returned 0 */
	uint64_t next;                  /* offset of what the run formats next */
	struct md_buf window[2];        /* [at, next): window[!now], then window[now] */
	unsigned int now;
	uint64_t at;
};

/* Lock held. */
static void set_mark(struct text_view *v)
{
	v->mark = v->e->end;
	v->mark_limit = v->e->limit;
	v->ended = false;
}

int text_open(struct session *s, struct text_view **out)
{
	struct text_view *v = calloc(1, sizeof(*v));
	struct text_engine *e = text_engine_of(s);
	int err;

	if (!v || !e) {
		free(v);
		return -ENOMEM;
	}
	v->s = session_ref(s);
	v->e = e;
	v->exact = true;
	pthread_mutex_lock(&e->lock);
	e->views++;
	err = text_engine_advance(e, s);
	v->generation = e->generation;
	v->floor = e->floor;
	set_mark(v);
	pthread_mutex_unlock(&e->lock);
	if (err) {
		text_close(v);
		return err;
	}
	*out = v;
	return 0;
}

static void clear_window(struct text_view *v, uint64_t at)
{
	md_buf_reset(&v->window[0]);
	md_buf_reset(&v->window[1]);
	v->at = v->next = at;
}

static void end_run(struct text_view *v)
{
	merge_destroy(v->m);
	v->m = NULL;
	md_buf_deinit(&v->window[0]);
	md_buf_deinit(&v->window[1]);
	v->at = v->next = 0;
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

uint64_t text_size(struct session *s)
{
	/* Acquire: pairs with the release in text_engine_of. */
	struct text_engine *e = __atomic_load_n(session_text(s), __ATOMIC_ACQUIRE);
	struct timespec ts;
	uint64_t size;

	if (!e)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	/* Somebody advancing already is as good. */
	if (!pthread_mutex_trylock(&e->lock)) {
		if (e->views &&
		    (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec - e->looked >=
			    SIZE_INTERVAL)
			text_engine_advance(e, s);
		pthread_mutex_unlock(&e->lock);
	}
	pthread_mutex_lock(&e->shown_lock);
	size = e->shown_generation == __atomic_load_n(&e->wanted, __ATOMIC_ACQUIRE) ? e->shown : 0;
	pthread_mutex_unlock(&e->shown_lock);
	return size;
}

/*
 * Whether offset a is before b. A run may begin before offset 0 of an open whose offsets were
 * shifted; that is a number just below 2^64.
 */
static bool before(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

/* Whether what stands at this offset was in the archives when the reader came. */
static bool archived(const struct text_view *v, uint64_t offset)
{
	return v->exact && before(offset + v->shift, v->floor);
}

/*
 * How many of `size` bytes at this offset are before the mark. A floating run ends there by its
 * limit.
 */
static size_t clip(const struct text_view *v, uint64_t offset, size_t size)
{
	if (!v->exact)
		return size;
	if (!before(offset + v->shift, v->mark))
		return 0;
	return v->mark - (offset + v->shift) < size ? (size_t)(v->mark - (offset + v->shift))
						    : size;
}

static size_t from_window(const struct text_view *v, uint64_t offset, char *buf, size_t size)
{
	const struct md_buf *b = &v->window[!v->now];
	uint64_t from = v->at;

	size = clip(v, offset, size);
	if (!size || offset - v->at >= v->next - v->at)
		return 0;
	if (offset - from >= b->len) {
		from += b->len;
		b = &v->window[v->now];
	}
	if (b->len - (offset - from) < size)
		size = b->len - (size_t)(offset - from);
	memcpy(buf, b->data + (offset - from), size);
	return size;
}

static int look(struct text_view *v, uint64_t limit)
{
	struct stream_set set = { 0 };
	int err = session_streams(v->s, NULL, &set);

	if (err)
		return err;
	/* As the engine came to its limit. */
	v->m->ahead = v->e->m && v->e->m->ahead;
	err = merge_look(v->m, &set, session_clock(v->s));
	stream_set_deinit(&set);
	if (!err)
		v->limit = limit;
	return err;
}

/* The run goes on at the oldest event held, which from now on stands at `offset` of this open. */
static int jump(struct text_view *v, uint64_t offset, uint64_t limit)
{
	merge_destroy(v->m);
	v->m = merge_create();
	if (!v->m)
		return -ENOMEM;
	md_text_init(&v->text, session_clock_offset(v->s), "");
	clear_window(v, offset);
	v->exact = false;
	v->missed = 0;
	return look(v, limit);
}

/* A run from a checkpoint of the engine. -ESTALE: what stood there is not held. */
static int start_at(struct text_view *v, const struct text_checkpoint *p, uint64_t limit)
{
	struct stream_set set = { 0 };
	int err = session_streams(v->s, NULL, &set);

	if (err)
		return err;
	merge_destroy(v->m);
	v->m = merge_create_at(p->places, p->count, &set);
	stream_set_deinit(&set);
	if (!v->m)
		return -ENOMEM;
	v->text = p->text;
	clear_window(v, p->offset - v->shift);
	v->missed = 0;
	err = look(v, limit);
	return err ? err : merge_missed(v->m) ? -ESTALE : 0;
}

/*
 * All before the mark was overwritten, and the reader goes on at a later place: that is its end
 * then.
 */
static void pass_mark(struct text_view *v, uint64_t offset)
{
	if (before(v->mark, offset + v->shift))
		v->mark = offset + v->shift;
}

/*
 * A reader that goes through the text was outrun: it goes on at the first place behind `offset`
 * that can be had, and what it had is not told again. p: the first checkpoint there. 1: at the
 * engine's tail.
 */
static int fall_forward(struct text_view *v, const struct text_checkpoint *p, uint64_t offset)
{
	struct text_engine *e = v->e;

	for (; p < e->checkpoints + e->checkpoint_count; p++) {
		int err;

		v->shift = p->offset - offset;
		pass_mark(v, offset);
		err = start_at(v, p, v->mark_limit);
		if (err != -ESTALE)
			return err;
	}
	end_run(v);
	/* Both halves of the tail begin with a line. */
	v->shift = e->end - e->tail[0].len - e->tail[1].len - offset;
	pass_mark(v, offset);
	return 1;
}

/*
 * Puts the run where it can reach offset. 0; 1: no run is needed; -errno. Lock held; exact or not.
 */
static int seek(struct text_view *v, uint64_t offset)
{
	struct text_engine *e = v->e;
	const struct text_checkpoint *p =
		v->exact ? text_engine_checkpoint(e, offset + v->shift) : NULL;
	bool ahead = v->m && !before(offset, v->next);
	int err;

	if (archived(v, offset))
		return jump(v, offset, v->mark_limit);
	/* Going on is better than going back to a checkpoint before the run. */
	if (ahead && (!p || !before(v->next, p->offset - v->shift)))
		return 0;
	err = p ? start_at(v, p, v->mark_limit) : -ESTALE;
	if (err != -ESTALE)
		return err;
	if (v->exact && offset && offset == v->served)
		return fall_forward(v, p ? p + 1 : e->checkpoints, offset);
	return jump(v, offset, v->mark_limit);
}

/* Formats the next piece into the window. 1; 0: the run is at v->limit. */
static int format(struct text_view *v)
{
	struct md_buf *b = &v->window[v->now];
	uint64_t missed;
	size_t before;
	bool more;

	if (b->len >= WINDOW_HALF) {
		v->at += v->window[!v->now].len;
		v->now = !v->now;
		b = &v->window[v->now];
		md_buf_reset(b);
	}
	before = b->len;
	more = merge_text(v->m, &v->text, v->limit, b, before + PIECE);
	if (b->failed) {
		end_run(v);
		v->exact = false;
		return -ENOMEM;
	}
	v->next += b->len - before;
	missed = merge_missed(v->m);
	if (missed != v->missed) {
		v->missed = missed;
		v->exact = false;
	}
	return more || b->len > before;
}

/*
 * The run is at its limit. If that is the engine's, both are at the same place. 1: go on
 * formatting; 0: at the mark. Lock held.
 */
static int arrive(struct text_view *v)
{
	if (v->limit < v->mark_limit) {
		int err = look(v, v->mark_limit);

		return err ? err : 1;
	}
	if (!v->exact && v->limit == v->e->limit) {
		/*
		 * The same place, but not the same way to go on: of what was overwritten behind the
		 * limit the engine may have a copy, or have read more.
		 */
		merge_destroy(v->m);
		v->m = NULL;
		v->shift = v->e->end - v->next;
		v->exact = true;
	}
	return 0;
}

/*
 * Keeps the rest of the line that a read stopped in: should the rings outrun the reader before it
 * comes again, it goes on with another line, not in the middle of this one. Lock held; the window
 * is empty.
 */
static void keep_line(struct text_view *v, uint64_t offset)
{
	struct md_buf *b = &v->window[v->now];
	char piece[512], *end = NULL;
	size_t n;

	clear_window(v, offset);
	while (!end && (n = text_engine_tail(v->e, v->next + v->shift, piece, sizeof(piece)))) {
		end = memchr(piece, '\n', n);
		if (end)
			n = (size_t)(end - piece) + 1;
		md_buf_put(b, piece, n);
		v->next = offset + b->len;
	}
}

/* The read before came to the mark: sets a new one, with all that was recorded since. Lock held. */
static int move_mark(struct text_view *v)
{
	int err = text_engine_advance(v->e, v->s);

	if (!err)
		set_mark(v);
	return err;
}

/* Under the engine's lock: 0: at the end, > 0: so many bytes were copied, -EAGAIN: format. */
static ssize_t from_engine(struct text_view *v, uint64_t offset, char *buf, size_t size)
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
		end_run(v);
		v->generation = e->generation;
		v->exact = true;
		v->shift = 0;
		v->floor = e->floor;
		set_mark(v);
	}
	if (!v->exact || archived(v, offset))
		return -EAGAIN;
	/* Its user knows of a later end, by stat(2). */
	if (before(v->mark, offset + v->shift)) {
		err = move_mark(v);
		if (err)
			return err;
	}
	size = clip(v, offset, size);
	if (!size)
		return 0;
	n = (ssize_t)text_engine_tail(e, offset + v->shift, buf, size);
	if (!n)
		return -EAGAIN;
	if (v->m)
		end_run(v);
	if (buf[n - 1] == '\n')
		clear_window(v, offset + (uint64_t)n);
	else
		keep_line(v, offset + (uint64_t)n);
	return n;
}

static ssize_t step(struct text_view *v, uint64_t offset, char *buf, size_t size)
{
	struct text_engine *e = v->e;
	uint64_t reached;
	bool was_exact;
	int sought;
	ssize_t n;

	for (;;) {
		/* After a clear the window is of the text before. */
		n = 0;
		if (__atomic_load_n(&e->wanted, __ATOMIC_ACQUIRE) == v->generation)
			n = (ssize_t)from_window(v, offset, buf, size);
		if (n)
			return n;
		pthread_mutex_lock(&e->lock);
		n = from_engine(v, offset, buf, size);
		sought = n == -EAGAIN ? seek(v, offset) : 0;
		pthread_mutex_unlock(&e->lock);
		if (sought > 0)
			continue;
		if (sought < 0 || n != -EAGAIN)
			return sought < 0 ? sought : n;
		was_exact = v->exact;
		reached = v->next;
		n = format(v);
		if (n < 0)
			return n;
		/*
		 * The gap was met on the way to the offset, perhaps in the very piece that came to
		 * it: what stands there now is some place in some line. The text goes on with the
		 * piece behind.
		 */
		if (was_exact && !v->exact && before(reached, offset))
			clear_window(v, offset);
		if (n)
			continue;
		pthread_mutex_lock(&e->lock);
		n = arrive(v);
		pthread_mutex_unlock(&e->lock);
		if (n < 0 || (!n && (was_exact || !v->exact) && !before(offset, v->next)))
			return n;
	}
}

ssize_t text_read(struct text_view *v, uint64_t offset, void *buf, size_t size)
{
	size_t done = 0;
	ssize_t n = 0;

	while (done < size) {
		n = step(v, offset + done, (char *)buf + done, size - done);
		if (n <= 0)
			break;
		done += (size_t)n;
		v->served = offset + done;
	}
	if (!done && !n)
		v->ended = true;
	return done ? (ssize_t)done : n;
}
