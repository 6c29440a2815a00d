/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/view/merge_losses.h"

#include "metadata/json.h"

struct md_loss_stream merge_loss_stream(const struct cursor *c)
{
	const struct stream *s = &c->stream;

	return (struct md_loss_stream){ s->channel, s->name, s->trace->path, s->file,
					s->trace->md->uuid, s->class->id, s->instance_id };
}

void merge_put_losses(struct merge *m, struct cursor *c, struct md_text *t, struct md_buf *out)
{
	bool json = text_is_json(m->form);
	const struct md_loss_stream s = merge_loss_stream(c);
	struct md_loss l;

	while (cursor_loss(c, &l)) {
		if (l.kind == MD_LOSS_OVERWRITTEN && !m->gaps)
			continue;
		if (json)
			md_json_loss(t->clock_offset, &l, &s, out);
		else
			md_text_loss(t->clock_offset, &l, &s, out);
	}
}

void merge_end_losses(struct merge *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (cursor_at_mark(m->cursors[i]))
			cursor_end_losses(m->cursors[i]);
}

void merge_put_gaps(struct merge *m, struct md_text *t, struct md_buf *out)
{
	const unsigned int gaps = 1u << MD_LOSS_OVERWRITTEN;

	m->gaps = true;
	for (size_t i = 0; i < m->count; i++) {
		struct losses *l = &m->cursors[i]->losses;
		unsigned int others = l->pending & ~gaps;

		l->pending &= gaps;
		merge_put_losses(m, m->cursors[i], t, out);
		l->pending = others;
	}
	m->gaps = false;
}

void merge_pass_losses(struct merge *m, const struct merge_place *places, size_t count)
{
	for (size_t i = 0; i < m->count; i++)
		for (size_t j = 0; j < count; j++)
			if (places[j].key == m->cursors[i]->stream.region->key &&
			    places[j].ring == m->cursors[i]->stream.ring)
				losses_pass(&m->cursors[i]->losses, &places[j].at.losses);
}

void merge_put_end(struct merge *m, struct md_text *t, struct md_buf *out)
{
	for (size_t i = 0; i < m->count; i++)
		if (!m->cursors[i]->have)
			merge_put_losses(m, m->cursors[i], t, out);
}

uint64_t merge_losses_length(struct merge *m, struct cursor *c, struct md_text *t)
{
	struct md_buf text = MD_BUF_INIT;
	uint64_t n;

	merge_put_losses(m, c, t, &text);
	n = text.len;
	md_buf_deinit(&text);
	return n;
}

void merge_find_outage(struct merge *m, struct cursor *c)
{
	/* What is lost after the last event up to the mark. */
	if (!c->have && cursor_at_mark(c))
		cursor_end_losses(c);
	if (c->losses.pending && c->outage)
		outages_begin(m->outages, c->outage);
}

void merge_watch(struct merge *m, struct outages *o)
{
	m->outages = o;
	for (size_t i = 0; i < m->count; i++) {
		struct cursor *c = m->cursors[i];

		if (!c->outage)
			c->outage = outages_of(o, c->stream.class, c->stream.cpu);
		merge_find_outage(m, c);
	}
}

void merge_end_outage(struct merge *m, struct cursor *c)
{
	if (c->outage)
		outages_end(m->outages, c->outage);
}

void merge_pass_loss(struct merge *m, struct cursor *c)
{
	c->losses.pending = 0;
	merge_end_outage(m, c);
}
