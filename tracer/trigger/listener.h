/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the thread of listener.c keeps: it alone uses all of this, but for take_hits(), which the
 * thread of kernel_listener.c calls for its own conditions. Private to these, hits.c and bell.c.
 *
 * A region of a condition on events has a bell (tracer/abi/ring.h). The thread arms it, looks at
 * the rings once more, and sleeps. The writer does not issue a barrier between its commit and its
 * load of the bell, so the thread looks a second time one PERIOD later; only then it relies on the
 * bell.
 *
 * An application may ring without an event, or clear a bell and not ring, as often as it can. Each
 * look is paid from two credits of CPU time: the region's, and that of the applications' user. A
 * region without credit is not armed: the thread looks at it when the credit has grown again, so
 * other regions are looked at in time. A region whose events come without its bell is looked at
 * each PERIOD.
 */
#ifndef TRACER_TRIGGER_LISTENER_H
#define TRACER_TRIGGER_LISTENER_H

#include "tracer/trigger/trigger.h"

#define PERIOD UINT64_C(1000000)        /* ns between two looks at a region without a bell */

/* CPU time that may be spent. It grows with time, up to a limit. */
struct credit {
	int64_t ns;
	uint64_t at;                    /* CLOCK_MONOTONIC, ns: when it grew last */
};

/* A region of a trigger's session. */
struct watched {
	struct region *region;          /* of streams[first …] of the trigger; they refer to it */
	size_t first, count;
	struct credit credit;
	uint32_t uid;                   /* of the applications */
	uid_t owner;                    /* of the trigger */
	uint64_t due;                   /* CLOCK_MONOTONIC, ns: look then, if the bell is silent */
	uint64_t last_hit;              /* CLOCK_MONOTONIC, ns; 0: none */
	uint64_t armed;                 /* CLOCK_MONOTONIC, ns: when the bell was; 0: it is not */
	bool relied;                    /* a look without hits, a PERIOD after `armed`, came last */
	bool silent;                    /* events came, and the bell was not rung */
	bool placed;                    /* the thread waits for its bell */
	bool looked, hits;              /* of this round: it was looked at, and had hits */
};

/* A trigger with a condition on events. */
struct listened {
	struct trigger *trigger;        /* referenced */
	struct session *session;        /* referenced */
	uint64_t version;               /* of the condition */
	uint64_t buffers;               /* session.buffers_version when `streams` was taken */
	uid_t owner;                    /* of the trigger */
	struct stream_set streams;      /* of all rings */
	struct watched *regions;        /* owned */
	size_t region_count;
};

/* ---- hits.c ---- */

/* Whether the ring counts hits that were not taken. */
bool stream_has_hits(const struct stream *st);

enum next_hit {
	HIT_NEXT,                       /* the next hit executes an action */
	HIT_LATER,                      /* a later one does */
	HIT_NEVER,
};

/* Locked. What the next hits of the trigger do. */
enum next_hit trigger_expects(const struct trigger *trigger);
/*
 * Without lock. Takes the hits of these streams of the trigger: counts them and executes what is
 * due. Returns how many.
 */
uint64_t take_hits(const struct listened *l, const struct stream_set *set);

/* ---- bell.c ---- */

#define BELLS_MAX 127u                  /* places; the kernel waits for 128 words at once */

struct bells {
	uint32_t *nudge;                /* of this process; not 0: do not sleep */
	uint32_t *words[BELLS_MAX];     /* of regions */
	size_t count;
};

void bell_arm(struct region *r);
void bell_disarm(struct region *r);
bool bell_is_armed(const struct region *r);
void bells_add(struct bells *b, const struct region *r);
/*
 * Sleeps until a bell is rung, or was before the call, or until a time (CLOCK_MONOTONIC, ns).
 * Returns the index of a bell that was rung; -1: another reason. A kernel without futex_waitv(2),
 * that is before Linux 5.16, sleeps for a PERIOD at most.
 */
int bells_wait(const struct bells *b, uint64_t until);
/* Wakes the thread that waits with this nudge. */
void bells_nudge(uint32_t *nudge);

#endif
