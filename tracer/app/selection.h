/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selections: which events of a layout the active sessions record, for applications that the same
 * sessions serve. It is made once after rules changed; all applications of the layout share it, and
 * what has not changed compares as one pointer. A selection also keeps the finished slots of
 * attach replies (app/prepared_slots.h).
 *
 * Caller holds tracer.lock.
 */
#ifndef TRACER_APP_SELECTION_H
#define TRACER_APP_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

struct app;
struct layout;
struct prepared_slots;
struct session;
struct tracer;

#define SELECTIONS_IDLE 4u      /* of a layout, that no application uses */

struct selected {
	uint64_t signature;     /* digest of the channels that record it, and how; never 0 */
	uint32_t event;
};

struct selection {
	struct selection *next;         /* of the same layout, the latest first */
	uint32_t users;
	uint64_t version;               /* apps.rules_version that it is right for */
	struct session **sessions;      /* that serve the applications; only compared */
	uint32_t session_count;
	uint64_t *channels;             /* serials of those that record an event */
	uint32_t channel_count;
	struct selected *events;        /* by event */
	uint32_t count;
	struct prepared_slots *prepared;
};

/* What the rules of now select, with a reference; NULL: no memory. */
struct selection *selection_get(struct tracer *t, struct app *a);
void selection_put(struct selection *s);        /* NULL is allowed */
bool selection_has_channel(const struct selection *s, uint64_t serial);
/* The layout goes; no application uses it. */
void selections_drop(struct layout *layout);

#endif
