/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/cursor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S 1000000000u
#define FILL_TRIES 100000       /* larger than the number of sub-buffers of a ring */

/*
 * The unit of its times, and the host column of text, as babeltrace2 prints it: `hostname`, or
 * `hostname:procname:(vpid)`.
 */
static void set_trace(struct cursor *c, struct trace *t)
{
	const char *host = "", *proc = NULL;
	int64_t vpid = -1;
	int n;

	pthread_mutex_lock(&t->lock);
	if (t->md && t->md->plugin.freq != NS_PER_S)
		c->freq = t->md->plugin.freq;
	for (uint32_t i = 0; t->md && i < t->md->env_count; i++) {
		const struct md_env *e = &t->md->env[i];

		if (e->value && !strcmp(e->name, "hostname"))
			host = e->value;
		else if (e->value && !strcmp(e->name, "procname"))
			proc = e->value;
		else if (!e->value && !strcmp(e->name, "vpid"))
			vpid = e->number;
	}
	n = snprintf(c->host, sizeof(c->host), "%s", host);
	if (proc && n < (int)sizeof(c->host))
		n += snprintf(c->host + n, sizeof(c->host) - (size_t)n, "%s%s", n ? ":" : "", proc);
	if (vpid >= 0 && n < (int)sizeof(c->host))
		snprintf(c->host + n, sizeof(c->host) - (size_t)n, "%s(%lld)", n ? ":" : "",
			 (long long)vpid);
	pthread_mutex_unlock(&t->lock);
}

struct cursor *cursor_create(const struct stream *s, struct ring_place at, size_t chunk)
{
	struct cursor *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->stream = *s;
	trace_get(s->trace);
	region_get(s->region);
	if (s->log)
		stream_files_get(s->log);
	c->fd = -1;
	c->serial = at.file;
	c->pos = at.pos;
	c->d.stream = s->class;
	c->d.ts = at.ts;
	c->skip = at.beyond;
	c->losses.at = at.losses;
	c->losses.counting = at.counted;
	c->d.count = at.events;
	if (s->input)
		inputcursor_set(c, at);
	c->chunk = chunk;
	c->max_ts = s->input ? INT64_MAX : UINT64_MAX;
	set_trace(c, s->trace);
	return c;
}

void cursor_destroy(struct cursor *c)
{
	if (!c)
		return;
	trace_put(c->stream.trace);
	region_put(c->stream.region);
	filecursor_close(c);
	stream_files_put(c->stream.log);
	if (c->stream.input)
		md_buf_deinit(&c->piece);
	else
		free(c->buf);
	free(c);
}

static struct ring_place oldest_in_ring(const struct stream *s)
{
	uint64_t pos = ring_oldest(s, region_head(s->region, s->ring));
	struct ring_place at = { .pos = pos };

	/*
	 * The side entry has the time at the start of a sub-buffer. Elsewhere only a clear begins
	 * the ring.
	 */
	if (pos & (s->region->geo.subbuf_size - 1))
		at.ts = ring_cleared_ts(s);
	return at;
}

struct ring_place cursor_oldest(const struct stream *s)
{
	if (s->input)
		return (struct ring_place){ 0 };
	return s->log ? (struct ring_place){ .file = stream_files_first(s->log) }
		      : oldest_in_ring(s);
}

void cursor_mark(struct cursor *c, bool ahead)
{
	ring_mark(&c->stream, &c->mark);
	c->ahead = ahead;
	inputcursor_look(c);
	if (c->stream.log)
		filecursor_mark(c);
}

bool cursor_at_mark(const struct cursor *c)
{
	if (c->have || c->d.p != c->d.end)
		return false;
	if (c->stream.input)
		return c->ended;
	if (c->stream.log && !c->in_ring)
		return filecursor_at_mark(c) && (!c->ahead || c->last.pos >= c->mark.head);
	return c->pos >= c->mark.head;
}

uint64_t cursor_left(const struct cursor *c)
{
	uint64_t end = c->mark.head, copied = (uint64_t)(c->d.end - c->d.p);

	if (c->stream.input)
		return c->ended ? copied : UINT64_MAX;
	if (c->stream.log && !c->in_ring) {
		if (c->serial < c->last.serial)
			return UINT64_MAX;
		end = c->last.size;
	}
	return copied + (end > c->pos ? end - c->pos : 0);
}

static bool grow_buffer(struct cursor *c, size_t size)
{
	uint8_t *buf;

	if (size <= c->buf_size)
		return true;
	buf = realloc(c->buf, size);
	if (!buf)
		return false;
	c->buf = buf;
	c->buf_size = size;
	return true;
}

/* The first sub-buffer that is not completely read yet. */
static uint64_t first_unread(const struct cursor *c)
{
	const struct stream *s = &c->stream;
	const struct region_geometry *g = &s->region->geo;
	uint64_t k = c->pos / g->subbuf_size;
	const struct trail_subbuf *side =
		&region_ring(s->region, s->ring)->side[k & (2 * g->subbuf_count - 1)];

	if (!k)
		return 1;
	return __atomic_load_n(&side->seq, __ATOMIC_RELAXED) == k &&
	       __atomic_load_n(&side->end, __ATOMIC_RELAXED) == c->pos ? k + 1 : k;
}

/* Moves to the oldest event held, if the cursor is older than that. */
static void move_to_oldest(struct cursor *c)
{
	const struct stream *s = &c->stream;
	uint64_t size = s->region->geo.subbuf_size;
	struct ring_place oldest = oldest_in_ring(s);
	uint64_t first, k = oldest.pos / size;

	if (c->pos >= oldest.pos)
		return;
	/*
	 * At the start of a sub-buffer, overwriting took the older ones: they are missed. Elsewhere
	 * it was a clear, which is no loss.
	 */
	first = first_unread(c);
	if (!(oldest.pos & (size - 1)) && k > first)
		c->missed += k - first;
	c->pos = oldest.pos;
	if (oldest.ts > c->d.ts)
		c->d.ts = oldest.ts;
}

/* Whether the bytes at the cursor left the ring because they are in a file now. */
static bool is_in_files(struct cursor *c)
{
	if (!c->in_ring || c->pos >= oldest_in_ring(&c->stream).pos)
		return false;
	filecursor_mark(c);
	if (c->in_ring)
		return false;
	c->max_ts = UINT64_MAX;	/* newer than the mark: the next look sets the limit */
	return true;
}

/*
 * Tries to copy the next bytes of the ring. As fill_buffer; -EAGAIN: try again, the position may
 * have moved. last: give the sub-buffer up if writers overwrite it once more.
 */
static int copy_piece(struct cursor *c, size_t need, bool last)
{
	const struct stream *s = &c->stream;
	const struct region_geometry *g = &s->region->geo;
	const uint8_t *data = region_data(s->region, s->ring);
	struct ring_piece p;
	uint64_t k, n;

	move_to_oldest(c);
	if (c->pos >= c->mark.head)
		return 0;
	last = last || region_retired(s->region);
	k = c->pos / g->subbuf_size;
	if (!ring_piece(s, &c->mark, k, &p) || (c->pos == p.begin && p.begin_ts > c->max_ts)) {
		/* A hostile writer may move the head back and forth: tries are limited. */
		if (!ring_holds(s, k)) {
			if (!last)
				return -EAGAIN;
			c->missed++;
		}
		c->bad++;
		c->pos = (k + 1) * g->subbuf_size;
		return -EAGAIN;
	}
	if (c->pos >= p.end) {
		if (k == c->mark.head / g->subbuf_size)
			return 0;
		c->pos = (k + 1) * g->subbuf_size;
		return -EAGAIN;
	}
	n = p.end - c->pos;
	if (n > c->chunk && n > need)
		n = need > c->chunk ? need : c->chunk;
	if (!grow_buffer(c, n))
		return -ENOMEM;
	memcpy(c->buf, data + (c->pos & (g->subbuf_size * g->subbuf_count - 1)), n);
	if (!ring_holds(s, k)) {
		if (last) {
			c->missed++;
			c->pos = (k + 1) * g->subbuf_size;
		}
		return -EAGAIN;
	}
	if (c->pos == p.begin && c->in_ring)
		losses_ahead(&c->losses, s, &p, c->last.lost, c->last.lost_before, c->d.ts);
	else if (c->pos == p.begin)
		c->d.count = losses_piece(&c->losses, s, k, &p, c->d.count, c->missed, c->d.ts);
	if (c->pos == p.begin && p.begin_ts > c->d.ts)
		c->d.ts = p.begin_ts;
	c->buf_pos = c->pos;
	c->pos += n;
	c->piece_end = p.end;
	c->d.p = c->buf;
	c->d.end = c->buf + n;
	return 1;
}

/*
 * Copies the next bytes below the mark, at least one; more than `need` at once, for an event that
 * is longer. 1; 0: at the mark; -ENOMEM.
 */
static int fill_buffer(struct cursor *c, size_t need)
{
	int r;

	if (c->stream.input)
		return inputcursor_fill(c);
	if (c->stream.log && !c->in_ring) {
		r = filecursor_fill(c, need);
		if (r || !filecursor_leave(c))
			return r;
	}
	for (unsigned int tries = 0;; tries++) {
		if (is_in_files(c)) {
			r = filecursor_fill(c, need);
			if (r || !filecursor_leave(c))
				return r;
		}
		r = copy_piece(c, need, tries >= FILL_TRIES);
		if (r != -EAGAIN)
			return r;
	}
}

/* The rest of this sub-buffer does not decode: skips it. */
static void skip_rest(struct cursor *c)
{
	if (c->stream.input)
		inputcursor_refuse(c);
	c->bad += !c->stream.input;
	c->pos = c->piece_end;
	c->d.p = c->d.end;
}

/* An event continues after the copied bytes: copies them again from its start, with more bytes. */
static int refill_buffer(struct cursor *c)
{
	size_t have = (size_t)(c->d.end - c->d.p);

	if (c->pos >= c->piece_end) {
		skip_rest(c);
		return 1;
	}
	c->pos -= have;
	c->d.p = c->d.end;
	return fill_buffer(c, have >= c->chunk / 2 ? 2 * have : c->chunk);
}

/*
 * Whether the event was shown before, when it was read from the ring, as far as the cursor can
 * tell.
 */
static bool was_shown(struct cursor *c)
{
	if (!c->skip.events)
		return false;
	if (c->o.ts < c->skip.ts || (c->o.ts == c->skip.ts && c->skipped < c->skip.events)) {
		c->skipped += c->o.ts == c->skip.ts;
		/* The files have all of it before the cursor. */
		if (!c->in_ring) {
			c->skip.events -= c->skipped;
			c->skipped = 0;
		}
		return true;
	}
	/* Some were overwritten before they came into a file. */
	c->missed += c->skipped < c->skip.events;
	c->skip.events = 0;
	return false;
}

/* Rounded as babeltrace2 does it. */
static uint64_t nanoseconds(uint64_t cycles, uint64_t freq)
{
	double ns = 1e9 * (double)cycles / (double)freq;

	return ns < 9.2e18 ? (uint64_t)ns : INT64_MAX;
}

/* Moves past the current event. */
static void pass_event(struct cursor *c)
{
	if (!c->in_ring)
		return;
	c->beyond.events = c->beyond.events && c->beyond.ts == c->o.ts ? c->beyond.events + 1 : 1;
	c->beyond.ts = c->o.ts;
}

/* 1; -EAGAIN: it continues after the copied bytes; -EBADMSG. */
static inline int decode_event(struct cursor *c)
{
	int r;

	c->event = c->d.p;
	c->event_ts = c->d.ts;
	r = md_decoder_next(&c->d, &c->o);
	if (r == 1 && c->o.ts >= c->event_ts && c->o.ts <= c->max_ts)
		return 1;
	c->d.ts = c->event_ts;
	return r == -EAGAIN ? r : -EBADMSG;
}

int cursor_next(struct cursor *c)
{
	int r;

	if (c->have)
		pass_event(c);
	c->have = false;
	for (;;) {
		if (c->d.p == c->d.end) {
			r = fill_buffer(c, c->chunk);
			if (r <= 0)
				return 0;
		}
		r = decode_event(c);
		if (r == 1) {
			if (__builtin_expect(c->freq != 0, 0))
				c->o.ts = nanoseconds(c->o.ts, c->freq);
			if (was_shown(c)) {
				pass_event(c);
				continue;
			}
			c->have = true;
			return 1;
		}
		if (r == -EAGAIN) {
			if (refill_buffer(c) <= 0)
				return 0;
			continue;
		}
		skip_rest(c);
	}
}

bool cursor_loss(struct cursor *c, struct md_loss *out)
{
	bool found = c->losses.pending && losses_take(&c->losses, out);

	if (found && c->freq) {
		out->from = nanoseconds(out->from, c->freq);
		out->to = nanoseconds(out->to, c->freq);
	}
	return found;
}

size_t cursor_take(struct cursor *c, const uint8_t **p, uint64_t *begin_ts, uint64_t *end_ts)
{
	const uint8_t *first, *end;
	int r;

	if (!cursor_next(c))
		return 0;
	first = c->event;
	*begin_ts = c->event_ts;
	end = c->d.p;
	*end_ts = c->d.ts;
	while (c->d.p < c->d.end) {
		r = decode_event(c);
		if (r == 1) {
			end = c->d.p;
			*end_ts = c->o.ts;
			continue;
		}
		if (r == -EAGAIN && c->pos < c->piece_end) {
			c->pos -= (uint64_t)(c->d.end - c->d.p);
			c->d.p = c->d.end;
			break;
		}
		skip_rest(c);
	}
	c->have = false;
	*p = first;
	return (size_t)(end - first);
}

/* The position in the ring or the file that is being read. */
static struct ring_place get_position(const struct cursor *c)
{
	struct ring_place at = { c->pos - (uint64_t)(c->d.end - c->d.p), c->d.ts, c->serial,
				 c->skip, losses_place(&c->losses, false), false, 0 };

	if (!c->have)
		return at;
	at.pos = c->buf_pos + (uint64_t)(c->event - c->buf);
	at.ts = c->event_ts;
	/* The header of its packet says what was lost before the first event. */
	if (c->losses.pending && c->stream.log && !c->in_ring && at.pos == c->content) {
		at.pos -= sizeof(struct md_packet);
		at.losses = losses_place(&c->losses, true);
	}
	return at;
}

struct ring_place cursor_place(const struct cursor *c)
{
	struct ring_place at = get_position(c);

	if (c->stream.input)
		return inputcursor_place(c);
	if (c->in_ring) {
		at = c->left;
		at.losses = losses_place(&c->losses, false);
		at.beyond = c->skip.events ? c->skip : c->beyond;
	}
	return at;
}

void cursor_release(struct cursor *c)
{
	struct ring_place at = get_position(c);

	if (c->stream.input) {
		inputcursor_release(c);
		return;
	}
	c->pos = at.pos;
	c->d.ts = at.ts;
	if (c->have) {
		/* It is read again, and finds its losses again, but for those of writers. */
		c->d.count--;
		c->losses.at = at.losses;
		c->losses.pending &= 1u << MD_LOSS_OVERWRITTEN;
	}
	c->d.p = c->d.end = NULL;
	c->have = false;
	filecursor_close(c);
	free(c->buf);
	c->buf = NULL;
	c->buf_size = 0;
}
