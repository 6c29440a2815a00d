/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cursor of a stream of an imported trace. It reads pieces: c->piece has the events from
 * c->from on, and c->next is the place after them. The place of an event is that of its piece, and
 * the number of bytes before the event in the piece.
 */
#include "tracer/ring/input.h"
#include "tracer/view/cursor.h"

#include <errno.h>

void inputcursor_set(struct cursor *c, struct ring_place at)
{
	c->next = (struct input_place){ at.pos, at.file, at.ts };
	c->offset = at.beyond.events;
	c->skip = (struct beyond){ 0 };
}

int inputcursor_fill(struct cursor *c)
{
	const struct input *in = c->stream.input;
	int r;

	if (c->failed)
		return 0;
	c->from = c->next;
	md_buf_reset(&c->piece);
	do {
		r = in->read(in, &c->next, c->chunk + c->offset, &c->piece, &c->stream.cpu);
		if (r <= 0) {
			c->failed = r;
			c->ended = true;
			return 0;
		}
	} while (c->piece.len <= c->offset);
	c->buf = (uint8_t *)c->piece.data;
	c->d.p = c->buf + c->offset;
	c->d.end = c->buf + c->piece.len;
	c->d.ts = 0;            /* times of events are whole */
	c->offset = 0;
	return 1;
}

struct ring_place inputcursor_place(const struct cursor *c)
{
	const uint8_t *p = c->have ? c->event : c->d.p;
	struct ring_place at = { c->from.packet, c->from.clock, c->from.within, { 0 } };

	if (!c->have && c->d.p == c->d.end)     /* the next piece */
		return (struct ring_place){ c->next.packet, c->next.clock, c->next.within,
					    { 0, c->offset } };
	at.beyond.events = (uint64_t)(p - c->buf);
	return at;
}

void inputcursor_release(struct cursor *c)
{
	struct ring_place at = inputcursor_place(c);

	md_buf_deinit(&c->piece);
	c->buf = NULL;
	c->d.p = c->d.end = NULL;
	c->have = false;
	inputcursor_set(c, at);
	c->ended = c->failed;
}
