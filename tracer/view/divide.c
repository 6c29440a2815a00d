/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/divide.h"
#include "tracer/base/ring/input.h"
#include "tracer/view/text_index.h"

#include <sched.h>
#include <stdlib.h>

#define PIECES_MAX (1u << 16)   /* more are not listed: memory is bounded */

struct held_piece {             /* a sub-buffer, or a packet of an imported stream */
	struct ring_place at;
	uint64_t begin_ts, bytes;
	uint64_t before_ts;     /* of the last event before it in the stream */
	size_t stream;          /* index of its cursor */
};

struct held_pieces {
	struct held_piece *list;        /* owned */
	size_t count, room;
	uint64_t bytes;
};

static bool add_piece(struct held_pieces *h, struct held_piece piece)
{
	struct held_piece *more;

	if (h->count == h->room) {
		if (h->room >= PIECES_MAX)
			return false;
		more = realloc(h->list, (2 * h->room + 64) * sizeof(*more));
		if (!more)
			return false;
		h->list = more;
		h->room = 2 * h->room + 64;
	}
	h->list[h->count++] = piece;
	h->bytes += piece.bytes;
	return true;
}

/* Lists what the ring of stream i holds after the cursor's place. False: it is not known. */
static bool list_ring(struct held_pieces *h, const struct cursor *c, size_t i)
{
	const struct stream *s = &c->stream;
	uint64_t size = s->region->geo.subbuf_size, before_ts = 0;
	struct ring_place place = cursor_place(c);
	uint64_t k = ring_oldest(s, c->mark.head) / size, at = place.pos / size;
	struct losses_place losses = place.losses;
	struct ring_piece p;

	for (k = k < at ? at : k; k <= c->mark.head / size; k++) {
		if (!ring_piece(s, &c->mark, k, &p))
			continue;
		if (p.begin == k * size && p.begin != p.end &&
		    (!ring_holds(s, k) ||
		     !add_piece(h, (struct held_piece){ { .pos = p.begin, .losses = losses },
							p.begin_ts, p.end - p.begin, before_ts,
							i })))
			return false;
		before_ts = p.end_ts;
		losses = (struct losses_place){ .known = true, .lost = p.begin_lost };
	}
	return true;
}

/* The packets of an imported stream. */
struct packet_list {
	struct held_pieces *to;
	size_t stream;
	uint64_t first;         /* place of the first packet that is listed */
	uint64_t before_ts;
	struct input_losses losses;
	uint64_t lost;          /* how many of these are before the packet */
};

static bool list_packet(void *arg, const struct input_packet *p)
{
	struct packet_list *l = arg;
	uint64_t before_ts = l->before_ts;

	if (p->begin_ts < before_ts || p->end_ts < p->begin_ts)
		return false;
	l->before_ts = p->end_ts;
	while (l->lost < l->losses.count && l->losses.list[l->lost].packet < p->at.packet)
		l->lost++;
	return p->at.packet < l->first ||
	       add_piece(l->to, (struct held_piece){ { .pos = p->at.packet,
						       .losses = { .known = true,
								   .lost = l->lost } },
						     p->begin_ts, p->bytes, before_ts, l->stream });
}

static bool list_input(struct held_pieces *h, const struct cursor *c, size_t i)
{
	const struct input *in = c->stream.input;
	struct packet_list l = { .to = h, .stream = i, .first = cursor_place(c).pos,
				 .losses = stream_losses(&c->stream) };

	return in->packets && in->packets(in, list_packet, &l);
}

static bool list_pieces(struct held_pieces *h, const struct cursor *c, size_t i, bool inputs)
{
	if (c->stream.input)
		return inputs && list_input(h, c, i);
	/* A ring says where its events of a time are, but only in ns. */
	if (c->stream.log || c->freq)
		return false;
	return list_ring(h, c, i);
}

static int compare_times(const void *a, const void *b)
{
	const struct held_piece *x = a, *y = b;

	return x->begin_ts < y->begin_ts ? -1 : x->begin_ts > y->begin_ts;
}

/* The time at which a sub-buffer begins that has about half of the bytes before it. */
static uint64_t find_middle(struct held_pieces *h)
{
	uint64_t before = 0;
	size_t i = 0;

	qsort(h->list, h->count, sizeof(*h->list), compare_times);
	while (i + 1 < h->count && before + h->list[i].bytes / 2 < h->bytes / 2)
		before += h->list[i++].bytes;
	return h->list[i].begin_ts;
}

/* Where each stream may have events from d->from on. False: no memory. */
static bool set_places(struct division *d, const struct merge *m, const struct held_pieces *h)
{
	d->places = calloc(m->count + 1, sizeof(*d->places));
	if (!d->places)
		return false;
	d->count = m->count;
	merge_places(m, d->places);
	/* By time: the last one that has nothing of that time before it. */
	for (size_t i = 0; i < h->count && h->list[i].begin_ts <= d->from; i++)
		if (h->list[i].before_ts < d->from)
			d->places[h->list[i].stream].at = h->list[i].at;
	return true;
}

bool merge_divide(const struct merge *m, uint64_t least, bool inputs, struct division *d)
{
	struct held_pieces h = { 0 };
	bool done = true;

	*d = (struct division){ 0 };
	for (size_t i = 0; done && i < m->count; i++)
		done = list_pieces(&h, m->cursors[i], i, inputs);
	done = done && h.count > 1 && h.bytes >= least;
	if (done) {
		d->from = find_middle(&h);
		done = d->from && set_places(d, m, &h);
	}
	free(h.list);
	return done;
}

/* ---- the text of a session, counted by two threads: text_index.h ---- */

#define HALVES_MIN (1u << 20)   /* bytes of events that are worth a thread */

/*
 * The engine counts the text of the events before a time, and another thread that of the later ones
 * by an engine of its own.
 */
struct later {
	struct text_engine e;   /* its text begins with the first event of `from` or later */
	uint64_t from;
	struct merge_place *begin;      /* places of e.m there; owned */
	uint64_t first;         /* time of that event; not valid if there is no text */
	int err;
};

static void *run_later(void *arg)
{
	struct later *l = arg;
	struct merge *m = l->e.m;
	struct cursor *c;

	while ((c = merge_top(m, l->e.limit)) && c->o.ts < l->from)
		merge_skip(m);
	l->first = c ? c->o.ts : 0;
	merge_places(m, l->begin);
	/* The time since the line before it is not known: it must not be in the piece kept. */
	if (c) {
		text_engine_add_checkpoint(&l->e);
		merge_length(m, &l->e.text, l->e.limit, &l->e.end, 1);
	}
	text_engine_count(&l->e, l->e.limit, TEXT_TAIL_HALF);
	l->err = text_engine_format(&l->e);
	return NULL;
}

bool have_two_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) > 1;
}

bool create_beside(pthread_t *id, void *(*run)(void *arg), void *arg)
{
	int cpu = sched_getcpu(), err = 0;
	cpu_set_t all, others;
	pthread_attr_t attr;
	bool placed = cpu >= 0 && cpu < CPU_SETSIZE && !sched_getaffinity(0, sizeof(all), &all);

	if (pthread_attr_init(&attr))
		return false;
	if (placed) {
		others = all;
		CPU_CLR(cpu, &others);
		err = pthread_attr_setaffinity_np(&attr, sizeof(others), &others);
	}
	err = err ? err : pthread_create(id, &attr, run, arg);
	/* From there it may move: a real-time program may occupy the other CPU. */
	if (placed && !err)
		pthread_setaffinity_np(*id, sizeof(all), &all);
	pthread_attr_destroy(&attr);
	return !err;
}

/* False: nothing to divide, or no memory. */
static bool begin_later(struct later *l, const struct text_engine *e, struct session *s)
{
	struct stream_set set = { 0 };
	struct division d;

	if (e->form != TEXT_PLAIN || merge_left(e->m) < HALVES_MIN || !have_two_cpus() ||
	    !merge_divide(e->m, HALVES_MIN, true, &d))
		return false;
	*l = (struct later){ .e.form = e->form, .e.limit = e->limit, .from = d.from,
			     .e.spacing = e->spacing, .e.text = e->text };
	l->e.text.any = false;
	if (d.from <= e->limit && !session_streams(s, NULL, &set))
		l->e.m = merge_create_at(d.places, d.count, &set);
	free(d.places);
	if (l->e.m) {
		l->e.m->s = s;
		l->e.m->form = e->form;
		l->e.m->ahead = e->m->ahead;
		l->begin = calloc(set.count + 1, sizeof(*l->begin));
		if (!l->begin || merge_look(l->e.m, &set, session_clock(s))) {
			merge_destroy(l->e.m);
			l->e.m = NULL;
			free(l->begin);
		}
	}
	stream_set_deinit(&set);
	return l->e.m != NULL;
}

/* Whether the later text begins just where the engine is, in each stream. */
static bool is_next(const struct text_engine *e, const struct later *l)
{
	struct merge_place *at = calloc(e->m->count + 1, sizeof(*at));
	bool same = at && e->m->count == l->e.m->count;

	if (same)
		merge_places(e->m, at);
	for (size_t i = 0; same && i < e->m->count; i++)
		same = at[i].key == l->begin[i].key && at[i].ring == l->begin[i].ring &&
		       cursor_same_place(&e->m->cursors[i]->stream, &at[i].at, &l->begin[i].at);
	free(at);
	return same;
}

/* As if the last line before the text were that of e: its times count from there. */
static void set_last_line(struct md_text *t, const struct text_engine *e)
{
	if (t->any)
		return;
	t->any = e->text.any;
	t->last = e->text.last;
}

/* Puts the later text at the end of e's, which ends where it begins. */
static void append_later(struct text_engine *e, struct later *l)
{
	struct text_engine *o = &l->e;
	uint64_t end = e->end;
	/* Its first line was counted as the first of a text. */
	uint64_t longer = o->end ? (uint64_t)md_text_longer(&e->text, l->first) : 0;
	struct merge *m = e->m;

	e->m = o->m;
	o->m = m;
	o->m->dropped = false;
	for (int i = 0; i < 2; i++) {
		struct md_buf tail = e->tail[i];

		e->tail[i] = o->tail[i];
		o->tail[i] = tail;
	}
	e->now = o->now;
	for (size_t i = 0; i < o->checkpoint_count; i++) {
		struct text_checkpoint *p = &o->checkpoints[i];

		if (e->checkpoint_count == TEXT_CHECKPOINTS)
			text_engine_thin(e);
		p->offset += end + (p->offset ? longer : 0);
		set_last_line(&p->text, e);
		e->checkpoints[e->checkpoint_count++] = *p;
	}
	o->checkpoint_count = 0;
	if (o->spacing > e->spacing)
		e->spacing = o->spacing;
	set_last_line(&o->text, e);
	e->text = o->text;
	e->end = end + (o->end ? o->end + longer : 0);
}

/*
 * What was counted is used if it is known to be what one thread would count: the second thread must
 * have begun just where the first one ended.
 */
void text_engine_halves(struct text_engine *e, struct session *s)
{
	struct later *l = malloc(sizeof(*l));
	pthread_t id;

	if (!l || !begin_later(l, e, s)) {
		free(l);
		return;
	}
	if (create_beside(&id, run_later, l)) {
		text_engine_count(e, l->from - 1, 0);
		pthread_join(id, NULL);
		if (!l->err && is_next(e, l))
			append_later(e, l);
	}
	text_engine_empty(&l->e);
	md_buf_deinit(&l->e.tail[0]);
	md_buf_deinit(&l->e.tail[1]);
	free(l->begin);
	free(l);
}
