/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/text_view.h"
#include "tracer/view/merge_losses.h"
#include "tracer/base/search.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

void text_window_clear(struct text_window *w, uint64_t at)
{
	md_buf_reset(&w->half[0]);
	md_buf_reset(&w->half[1]);
	w->at = w->next = at;
}

void text_window_deinit(struct text_window *w)
{
	md_buf_deinit(&w->half[0]);
	md_buf_deinit(&w->half[1]);
	w->at = w->next = 0;
}

/* As text_stripes_find, in the window. */
static size_t find_in_window(const struct text_window *w, uint64_t offset, const char **p)
{
	const struct md_buf *b = &w->half[!w->now];
	uint64_t from = w->at;

	if (offset - w->at >= w->next - w->at)
		return 0;
	if (offset - from >= b->len) {
		from += b->len;
		b = &w->half[w->now];
	}
	*p = b->data + (offset - from);
	return b->len - (size_t)(offset - from);
}

struct md_buf *text_window_end(struct text_window *w)
{
	if (w->half[w->now].len >= WINDOW_HALF) {
		w->at += w->half[!w->now].len;
		w->now = !w->now;
		md_buf_reset(&w->half[w->now]);
	}
	return &w->half[w->now];
}

/* ---- notes ---- */

/* Puts lines at the end of the text; takes both buffers over. */
static void add_note(struct text_engine *e, struct md_buf *lines, struct merge_place *places)
{
	if (e->note_count == TEXT_NOTES || !lines->len || lines->failed) {
		md_buf_deinit(lines);
		free(places);
		return;
	}
	/* A reader of an offset before it begins there. */
	if (!e->checkpoint_count)
		text_engine_add_checkpoint(e);
	e->notes[e->note_count++] = (struct text_note){ e->end, lines->data, lines->len, places,
							places ? e->m->count : 0 };
	md_buf_put(&e->tail[e->now], lines->data, lines->len);
	e->end += lines->len;
}

void text_engine_note_gaps(struct text_engine *e)
{
	struct md_buf lines = MD_BUF_INIT;

	if (!text_is_json(e->form))
		return;
	merge_put_gaps(e->m, &e->text, &lines);
	add_note(e, &lines, NULL);
}

void text_engine_note_end(struct text_engine *e)
{
	struct md_buf lines = MD_BUF_INIT;
	struct merge_place *places;

	/* A loss without a note gets its line before the next event, as in a run. */
	if (e->note_count == TEXT_NOTES)
		return;
	merge_end_losses(e->m);
	merge_put_end(e->m, &e->text, &lines);
	places = lines.len ? calloc(e->m->count + 1, sizeof(*places)) : NULL;
	if (places)
		merge_places(e->m, places);
	add_note(e, &lines, places);
}

void text_engine_drop_notes(struct text_engine *e)
{
	for (size_t i = 0; i < e->note_count; i++) {
		free(e->notes[i].text);
		free(e->notes[i].places);
	}
	e->note_count = 0;
}

/* The first note at or after the offset, or NULL. */
static const struct text_note *find_note(const struct text_engine *e, uint64_t offset)
{
	for (size_t i = 0; i < e->note_count; i++)
		if (e->notes[i].offset >= offset)
			return &e->notes[i];
	return NULL;
}

uint64_t text_place_of_run(const struct text_engine *e)
{
	const struct text_note *last;

	if (!e->note_count)
		return e->end;
	last = &e->notes[e->note_count - 1];
	return last->offset + last->len == e->end ? last->offset : e->end;
}

bool text_put_note(struct text_view *v)
{
	const struct text_note *n = v->exact ? find_note(v->e, v->window.next + v->shift)
					     : NULL;
	struct md_buf *b;

	v->note = n ? n->offset - v->shift : v->window.next - 1;
	if (!n || v->note != v->window.next)
		return false;
	b = text_window_end(&v->window);
	md_buf_put(b, n->text, n->len);
	v->window.next += n->len;
	if (n->places)
		merge_pass_losses(v->m, n->places, n->count);
	return !b->failed;
}

/* ---- stripes ---- */

#define STRIPE (2u << 20)               /* bytes that are worth a thread */
#define STRIPE_MOST (8u << 20)          /* bytes of one */
#define STRIPE_PIECE (64u << 10)
#define STRIPED_MOST 12                 /* stripes of all readers that are begun and not read */
#define STRIPED_MORE 5                  /* as many of them may go to readers that have one */

static uint32_t striped;                /* atomic: the slots of all readers */

static void *format_stripe(void *arg)
{
	struct text_stripe *c = arg;
	uint64_t size = c->end - c->begin;
	bool more = true;

	/* Acquire: pairs with the release in stop_coming. */
	while (more && c->text.len < size && !__atomic_load_n(&c->stop, __ATOMIC_ACQUIRE)) {
		size_t want = c->text.len + STRIPE_PIECE;

		more = merge_text(c->m, &c->state, c->limit, &c->text, want < size ? want : size);
		/* After a gap it is another text. */
		more = more && !merge_missed(c->m);
	}
	return NULL;
}

/*
 * A slot for one stripe more. A reader that stops to read keeps its slots: others must find some,
 * so what one reader has beyond its first one is limited.
 */
static bool have_slot(struct text_stripes *t)
{
	uint32_t most = t->slots ? STRIPED_MORE : STRIPED_MOST;

	if (t->count < t->slots)
		return true;
	if (__atomic_add_fetch(&striped, 1, __ATOMIC_RELAXED) > most) {
		__atomic_sub_fetch(&striped, 1, __ATOMIC_RELAXED);
		return false;
	}
	t->slots++;
	return true;
}

/* The first checkpoint at or after offset, or NULL. */
static const struct text_checkpoint *checkpoint_after(const struct text_engine *e, uint64_t offset)
{
	size_t i = search_above(e->checkpoints, e->checkpoint_count, sizeof(*e->checkpoints),
				offset - 1);

	return offset && i < e->checkpoint_count ? &e->checkpoints[i] : NULL;
}

static void free_stripe(struct text_stripe *c)
{
	if (!c)
		return;
	merge_destroy(c->m);
	md_buf_deinit(&c->text);
	free(c);
}

/* An empty stripe, in the memory of the spare one if there is one. NULL: no memory. */
static struct text_stripe *make_stripe(struct text_stripes *t)
{
	struct text_stripe *c = t->spare ? t->spare : calloc(1, sizeof(*c));

	t->spare = NULL;
	if (c)
		md_buf_reset(&c->text);
	return c;
}

/* A stripe after the offset. False: there is none, or it cannot be made. Caller holds e->lock. */
static bool begin_stripe(struct text_stripes *t, struct text_engine *e, struct session *s,
			 uint64_t offset, uint64_t mark, uint64_t limit)
{
	const struct text_checkpoint *p = checkpoint_after(e, offset);
	const struct text_checkpoint *q = p ? checkpoint_after(e, p->offset + STRIPE) : NULL;
	const struct text_note *note = p ? find_note(e, p->offset) : NULL;
	struct text_stripe *c;

	if (note && q && note->offset < q->offset)
		return false;
	if (!q || q->offset > mark || q->offset - p->offset > STRIPE_MOST || e->stacks ||
	    !have_slot(t))
		return false;
	c = make_stripe(t);
	if (!c || text_engine_run(e, s, p, false, &c->m)) {
		free_stripe(c);
		return false;
	}
	c->begin = p->offset;
	c->end = q->offset;
	c->state = p->text;
	c->limit = limit;
	if (merge_missed(c->m) || !create_beside(&c->id, format_stripe, c)) {
		free_stripe(c);
		return false;
	}
	t->coming[t->count++] = c;
	return true;
}

void text_stripes_begin(struct text_stripes *t, struct text_engine *e, struct session *s,
			uint64_t offset, uint64_t mark, uint64_t limit, uint32_t generation)
{
	uint64_t after = t->ready && offset < t->ready->end ? t->ready->end : offset;
	size_t most;

	if (!t->cpus)
		t->cpus = cpus_allowed();
	most = t->cpus < DIVISION_MOST ? t->cpus - 1 : DIVISION_MOST - 1;
	if (t->count >= most || t->failed || after > mark || mark - after < 2 * STRIPE ||
	    pthread_mutex_trylock(&e->lock))
		return;
	while (e->generation == generation && t->count < most &&
	       begin_stripe(t, e, s, t->count ? t->coming[t->count - 1]->end : after + STRIPE,
			    mark, limit))
		;
	pthread_mutex_unlock(&e->lock);
}

/* The first of `coming` is ready. False: it is not whole. */
static bool join_stripe(struct text_stripes *t)
{
	struct text_stripe *c = t->coming[0];
	bool whole;

	pthread_join(c->id, NULL);
	memmove(t->coming, t->coming + 1, --t->count * sizeof(*t->coming));
	whole = !c->text.failed && !merge_missed(c->m) && c->text.len == c->end - c->begin;
	merge_destroy(c->m);
	c->m = NULL;
	free_stripe(t->spare);
	t->spare = whole ? t->ready : c;
	if (whole)
		t->ready = c;
	return whole;
}

/* Ends the threads. */
static void stop_coming(struct text_stripes *t)
{
	/* Release: pairs with the acquire in format_stripe. */
	for (size_t i = 0; i < t->count; i++)
		__atomic_store_n(&t->coming[i]->stop, 1, __ATOMIC_RELEASE);
	for (; t->count; t->count--) {
		pthread_join(t->coming[t->count - 1]->id, NULL);
		free_stripe(t->coming[t->count - 1]);
	}
}

size_t text_stripes_find(struct text_stripes *t, uint64_t offset, const char **p)
{
	const struct text_stripe *r;

	while (t->count && offset >= t->coming[0]->begin)
		if (!join_stripe(t)) {
			t->failed = true;
			stop_coming(t);
			return 0;
		}
	r = t->ready;
	if (!r || offset < r->begin || offset >= r->end)
		return 0;
	*p = r->text.data + (offset - r->begin);
	return (size_t)(r->end - offset);
}

bool text_stripes_have(const struct text_stripes *t, uint64_t offset)
{
	return (t->count && offset >= t->coming[0]->begin) ||
	       (t->ready && offset >= t->ready->begin && offset < t->ready->end);
}

void text_stripes_end(struct text_stripes *t)
{
	stop_coming(t);
	free_stripe(t->ready);
	free_stripe(t->spare);
	__atomic_sub_fetch(&striped, (uint32_t)t->slots, __ATOMIC_RELAXED);
	*t = (struct text_stripes){ 0 };
}

/* ---- what an open has formatted ---- */

size_t text_clip(const struct text_view *v, uint64_t offset, size_t size)
{
	uint64_t at = offset + v->shift;

	if (!v->exact)
		return size;
	if (!is_before(at, v->mark))
		return 0;
	return v->mark - at < size ? (size_t)(v->mark - at) : size;
}

size_t text_find_formatted(struct text_view *v, uint64_t offset, size_t size, const char **p)
{
	size_t n = 0;

	/* After a clear the window has the old text. */
	if (__atomic_load_n(&v->e->wanted, __ATOMIC_ACQUIRE) != v->generation)
		return 0;
	size = text_clip(v, offset, size);
	if (size)
		n = find_in_window(&v->window, offset, p);
	if (size && !n && v->exact)
		n = text_stripes_find(&v->stripes, offset + v->shift, p);
	return n < size ? n : size;
}

bool text_reads_on(struct text_view *v, uint64_t offset)
{
	bool on = offset && offset == v->served;

	if (on && v->exact)
		text_stripes_begin(&v->stripes, v->e, v->s, offset + v->shift, v->mark,
				   v->mark_limit, v->generation);
	return on;
}

int text_peek(struct text_view *v, uint64_t offset, size_t size, struct iovec *parts, int most)
{
	const char *p = NULL;
	size_t done = 0, n;
	int count = 0;

	if (v->failed || v->ended || !text_reads_on(v, offset))
		return 0;
	for (; done < size; done += n) {
		n = count < most ? text_find_formatted(v, offset + done, size - done, &p) : 0;
		if (!n)
			return 0;
		parts[count++] = (struct iovec){ (char *)p, n };
	}
	v->served = offset + size;
	v->ahead = size;
	return count;
}
