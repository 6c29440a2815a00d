/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the streams of a merge have lost: as lines of text, and as outages for pairs of events. */
#ifndef TRACER_VIEW_MERGE_LOSSES_H
#define TRACER_VIEW_MERGE_LOSSES_H

#include "metadata/loss.h"
#include "tracer/view/merge.h"
#include "tracer/view/slice/outages.h"

/* No event follows: finds what each stream that is at its mark has lost after its last one. */
void merge_end_losses(struct merge *m);
/* Appends lines for the losses before the current event of the cursor. */
void merge_put_losses(struct merge *m, struct cursor *c, struct md_text *t, struct md_buf *out);
/* How long these lines are. The losses are taken. */
uint64_t merge_losses_length(struct merge *m, struct cursor *c, struct md_text *t);
/* Appends lines for what was overwritten before the current events. */
void merge_put_gaps(struct merge *m, struct md_text *t, struct md_buf *out);
/* Appends lines for what merge_end_losses has found. */
void merge_put_end(struct merge *m, struct md_text *t, struct md_buf *out);
/* What describes the stream of a cursor in a loss; valid as long as the cursor. */
struct md_loss_stream merge_loss_stream(const struct cursor *c);
/* The losses up to these places are told. */
void merge_pass_losses(struct merge *m, const struct merge_place *places, size_t count);

/*
 * From now on the merge notes the outages of its streams in *o, which is always the same for a
 * merge; c->outage has the outages of a cursor's stream. Called after each look. Where the cursor
 * on top is in an outage, the caller takes the losses, calls merge_end_outage, and then takes the
 * event.
 */
void merge_watch(struct merge *m, struct outages *o);
/* The cursor has moved past an event. A part of merge_next. */
void merge_find_outage(struct merge *m, struct cursor *c);
void merge_end_outage(struct merge *m, struct cursor *c);
static inline bool merge_in_outage(const struct cursor *c)
{
	return c->outage && c->outage->open;
}
/* Takes the losses before the cursor's event, which are shown nowhere, and ends the outage. */
void merge_pass_loss(struct merge *m, struct cursor *c);

#endif
