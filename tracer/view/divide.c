/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/divide.h"
#include "tracer/abi/wide.h"
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
		     !add_piece(h, (struct held_piece){ { .pos = p.begin, .losses = losses,
							  .counted = true,
							  .events = p.begin_events },
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

/*
 * The times at which sub-buffers begin that have about 1 / count, 2 / count … of the bytes before
 * them. d->count gets the number of parts: fewer if times would be equal.
 */
static void find_times(struct division *d, struct held_pieces *h, size_t count)
{
	uint64_t before = 0, target;
	size_t i = 0;

	qsort(h->list, h->count, sizeof(*h->list), compare_times);
	d->count = 1;
	for (size_t k = 1; k < count; k++) {
		target = multiply_divide(h->bytes, k, count);
		while (i + 1 < h->count && before + h->list[i].bytes / 2 < target)
			before += h->list[i++].bytes;
		if (h->list[i].begin_ts > d->parts[d->count - 1].from)
			d->parts[d->count++].from = h->list[i].begin_ts;
	}
}

/* Where each stream may have events from p->from on. False: no memory. */
static bool set_places(struct division_part *p, const struct merge *m, const struct held_pieces *h)
{
	p->places = calloc(m->count + 1, sizeof(*p->places));
	if (!p->places)
		return false;
	merge_places(m, p->places);
	/* By time: the last one that has nothing of that time before it. */
	for (size_t i = 0; i < h->count && h->list[i].begin_ts <= p->from; i++)
		if (h->list[i].before_ts < p->from)
			p->places[h->list[i].stream] = (struct merge_place){
				.key = p->places[h->list[i].stream].key,
				.ring = p->places[h->list[i].stream].ring,
				.at = h->list[i].at,
			};
	return true;
}

void merge_divide(const struct merge *m, uint64_t least, bool inputs, struct division *d)
{
	struct held_pieces h = { 0 };
	size_t most = cpus_allowed();
	bool known = most > 1;

	*d = (struct division){ .count = 1, .streams = m->count };
	most = most < DIVISION_MOST ? most : DIVISION_MOST;
	for (size_t i = 0; known && i < m->count; i++)
		known = list_pieces(&h, m->cursors[i], i, inputs);
	if (known && h.count > 1)
		find_times(d, &h, h.bytes / least < most ? h.bytes / least + 1 : most);
	for (size_t i = 1; i < d->count; i++)
		if (!set_places(&d->parts[i], m, &h))
			division_cut(d, i);
	free(h.list);
}

void division_cut(struct division *d, size_t count)
{
	while (d->count > count)
		free(d->parts[--d->count].places);
}

void division_before(struct division *d, uint64_t limit)
{
	while (d->count > 1 && d->parts[d->count - 1].from > limit)
		division_cut(d, d->count - 1);
}

/* ---- threads ---- */

size_t cpus_allowed(void)
{
	cpu_set_t set;

	/* More CPUs than the set has room for: enough. */
	return sched_getaffinity(0, sizeof(set), &set) ? DIVISION_MOST : (size_t)CPU_COUNT(&set);
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

struct part_thread {
	void (*run)(void *arg, size_t part);
	void *arg;
	size_t part;
	pthread_t id;
	bool runs;
};

static void *run_thread(void *arg)
{
	const struct part_thread *t = arg;

	t->run(t->arg, t->part);
	return NULL;
}

void division_run(size_t count, void (*run)(void *arg, size_t part), void *arg)
{
	struct part_thread threads[DIVISION_MOST];

	for (size_t i = 1; i < count; i++) {
		threads[i] = (struct part_thread){ .run = run, .arg = arg, .part = i };
		threads[i].runs = create_beside(&threads[i].id, run_thread, &threads[i]);
	}
	run(arg, 0);
	for (size_t i = 1; i < count; i++) {
		if (threads[i].runs)
			pthread_join(threads[i].id, NULL);
		else
			run(arg, i);
	}
}

/* ---- the text of a session, counted by several threads: text_index.h ---- */

#define PART_LEAST (1u << 20)   /* bytes of events that are worth a thread */

/* A thread counts the text of the events of a part of the time, by an engine of its own. */
struct text_part {
	struct text_engine e;   /* its text begins with the first event of `from` or later */
	uint64_t from;
	struct merge_place *begin;      /* places of e.m there; owned */
	uint64_t first;         /* time of that event; not valid if there is no text */
	int err;
};

struct text_parts {
	struct text_engine *e;  /* counts the first part */
	uint64_t limit;         /* of that part */
	size_t count;           /* with that */
	struct text_part *part[DIVISION_MOST];  /* owned; [0] is NULL */
};

static void count_part(struct text_part *p)
{
	struct merge *m = p->e.m;
	struct cursor *c;

	while ((c = merge_top(m, p->e.limit)) && c->o.ts < p->from)
		merge_skip(m);
	p->first = c ? c->o.ts : 0;
	merge_places(m, p->begin);
	/* The time since the line before it is not known: it must not be in the piece kept. */
	if (c) {
		text_engine_add_checkpoint(&p->e);
		merge_length(m, &p->e.text, p->e.limit, &p->e.end, 1);
	}
	text_engine_count(&p->e, p->e.limit, TEXT_TAIL_HALF);
	p->err = text_engine_format(&p->e);
}

static void run_part(void *arg, size_t i)
{
	struct text_parts *all = arg;

	if (i)
		count_part(all->part[i]);
	else
		text_engine_count(all->e, all->limit, 0);
}

static void free_part(struct text_part *p)
{
	text_engine_empty(&p->e);
	md_buf_deinit(&p->e.tail[0]);
	md_buf_deinit(&p->e.tail[1]);
	free(p->begin);
	free(p);
}

/* The part from d's part i on, up to the limit. NULL: no memory, or the streams cannot be read. */
static struct text_part *create_part(const struct text_engine *e, struct session *s,
				     const struct stream_set *set, const struct division *d,
				     size_t i)
{
	struct text_part *p = malloc(sizeof(*p));

	if (!p)
		return NULL;
	*p = (struct text_part){ .e.form = e->form, .e.spacing = e->spacing, .e.text = e->text,
				 .e.limit = i + 1 < d->count ? d->parts[i + 1].from - 1 : e->limit,
				 .from = d->parts[i].from };
	p->e.text.any = false;
	p->e.m = merge_create_at(d->parts[i].places, d->streams, set);
	p->begin = calloc(set->count + 1, sizeof(*p->begin));
	if (p->e.m) {
		p->e.m->s = s;
		p->e.m->form = e->form;
		p->e.m->ahead = e->m->ahead;
	}
	if (!p->e.m || !p->begin || merge_look(p->e.m, set, session_clock(s))) {
		free_part(p);
		return NULL;
	}
	return p;
}

/* Makes the parts. Fewer than two: nothing to divide, or no memory. */
static void create_parts(struct text_parts *all, struct text_engine *e, struct session *s)
{
	struct stream_set set = { 0 };
	struct division d;

	*all = (struct text_parts){ .e = e, .count = 1 };
	if (e->form != TEXT_PLAIN || merge_left(e->m) < PART_LEAST)
		return;
	merge_divide(e->m, PART_LEAST, true, &d);
	division_before(&d, e->limit);
	if (d.count > 1 && session_streams(s, NULL, &set))
		division_cut(&d, 1);
	all->limit = d.count > 1 ? d.parts[1].from - 1 : 0;
	for (; all->count < d.count; all->count++) {
		all->part[all->count] = create_part(e, s, &set, &d, all->count);
		if (!all->part[all->count])
			break;
	}
	division_cut(&d, 1);
	stream_set_deinit(&set);
}

/* Whether the part begins just where the engine is, in each stream. */
static bool is_next(const struct text_engine *e, const struct text_part *p)
{
	struct merge_place *at = calloc(e->m->count + 1, sizeof(*at));
	bool same = at && e->m->count == p->e.m->count;

	if (same)
		merge_places(e->m, at);
	for (size_t i = 0; same && i < e->m->count; i++)
		same = at[i].key == p->begin[i].key && at[i].ring == p->begin[i].ring &&
		       cursor_same_place(&e->m->cursors[i]->stream, &at[i].at, &p->begin[i].at);
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

/* Puts the text of the part at the end of e's, which ends where it begins. */
static void append_part(struct text_engine *e, struct text_part *p)
{
	struct text_engine *o = &p->e;
	uint64_t end = e->end;
	/* Its first line was counted as the first of a text. */
	uint64_t longer = o->end ? (uint64_t)md_text_longer(&e->text, p->first) : 0;
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
		struct text_checkpoint *c = &o->checkpoints[i];

		if (e->checkpoint_count == TEXT_CHECKPOINTS)
			text_engine_thin(e);
		c->offset += end + (c->offset ? longer : 0);
		set_last_line(&c->text, e);
		e->checkpoints[e->checkpoint_count++] = *c;
	}
	o->checkpoint_count = 0;
	if (o->spacing > e->spacing)
		e->spacing = o->spacing;
	set_last_line(&o->text, e);
	e->text = o->text;
	e->end = end + (o->end ? o->end + longer : 0);
}

/*
 * A part that was counted is used if it is known to be what one thread would count: its thread must
 * have begun just where the one before it ended.
 */
void text_engine_parts(struct text_engine *e, struct session *s)
{
	struct text_parts all;
	bool used = true;

	create_parts(&all, e, s);
	if (all.count > 1)
		division_run(all.count, run_part, &all);
	for (size_t i = 1; i < all.count; i++) {
		used = used && !all.part[i]->err && is_next(e, all.part[i]);
		if (used)
			append_part(e, all.part[i]);
		free_part(all.part[i]);
	}
}
