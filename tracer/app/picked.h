/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of which a channel records only some fields (channel.picks): the steps by which an
 * application takes them (abi/pick.h), and the layout that they have then. Caller holds
 * tracer.lock.
 */
#ifndef TRACER_APP_PICKED_H
#define TRACER_APP_PICKED_H

#include "metadata/buf.h"
#include "metadata/model.h"
#include "tracer/app/registration.h"

struct channel;

struct picked {
	bool some;                      /* false: the whole event is recorded */
	uint64_t fields;                /* bits of the event's fields in the type model */
	uint64_t digest;                /* of the layout that is recorded */
};

/*
 * What the channel records of the event. steps: NULL, or gets struct trail_pick_step[]. able: the
 * application can leave fields out. An event without one of the fields is recorded whole: who reads
 * it can say what it has.
 */
struct picked picked_find(const struct channel *c, const struct registration *r, uint32_t event,
			  bool able, struct md_buf *steps);
/* As registration_event(), with the picked fields alone. */
struct md_event *picked_event(const struct picked *p, const struct registration *r,
			      uint32_t event);

#endif
