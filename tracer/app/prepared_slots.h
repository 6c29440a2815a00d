/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The slots of one channel in an attach reply, finished but for what differs between applications:
 * object, region, state word and place of the filters. Applications with the same selection
 * (app/selection.h) and the same buffer share them.
 *
 * Caller holds tracer.lock.
 */
#ifndef TRACER_APP_PREPARED_SLOTS_H
#define TRACER_APP_PREPARED_SLOTS_H

#include "metadata/buf.h"
#include "tracer/abi/app.h"

struct app;
struct buffer;
struct channel;
struct layout;
struct stream_group;

#define PREPARED_PER_SELECTION 4u

struct prepared_slots {
	struct prepared_slots *next;
	uint64_t version;               /* apps.rules_version */
	uint64_t channel;               /* its serial */
	uint64_t region;                /* key of the buffer's region, which is unique */
	bool picks;                     /* applications that can leave fields out */
	bool kept;                      /* false: the caller of prepared_slots_get() destroys it */
	uint32_t count;
	struct trail_plan_slot *slots;  /* by event; `program` is an offset in `programs` */
	struct md_buf programs;
};

/*
 * The slots of the events that the application's selection has in the channel. Gives ids to
 * events that are new to the group. NULL: no memory. Events that cannot be recorded are reported,
 * and left out.
 */
struct prepared_slots *prepared_slots_get(const struct app *a, struct channel *c,
					  struct stream_group *g, const struct buffer *b,
					  bool picks);
void prepared_slots_destroy(struct prepared_slots *p);
/* All of a selection of the layout. */
void prepared_slots_drop(struct layout *layout, struct prepared_slots **list);

/*
 * Counts hits that a process had missed, in a channel that counts them. False: it has no counter
 * for the event.
 */
bool slots_count_missed(const struct channel *c, const struct app *a, struct stream_group *group,
			struct buffer *b, uint32_t event, uint64_t n);

#endif
