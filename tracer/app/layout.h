/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layouts: what a registration file declares once and never changes: tracepoints, fields,
 * enumerations and strings. Each start of a program writes the same tables again. A cache keeps the
 * parsed tables, so that the daemon compares bytes and does not parse them again.
 *
 * Two files share a layout only if they have the same owner, equal headers but for the pid, and
 * equal tables, except for those that change (state words, missed hits). A file with a digest says
 * by it what its tables are; of a file without one each byte is compared. A layout is known by the
 * digest that its tables have: a file that claims another one gets a layout of its owner, and
 * changes what its own events mean, not what another file means. So an owner reaches only layouts
 * of its own files.
 *
 * Caller holds tracer.lock (tests: one thread).
 */
#ifndef TRACER_APP_LAYOUT_H
#define TRACER_APP_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <urcu/list.h>

#include "tracer/app/registration.h"

/* Limits of a cache. What registrations use is not evicted, but counts. */
#define LAYOUTS_MAX 4096u               /* in a cache */
#define LAYOUTS_PER_OWNER 512u          /* about: owners share counters by their hash */
#define LAYOUTS_ALIKE 8u /* of one owner with equal headers: each costs a comparison */
#define LAYOUTS_IDLE 256u               /* that no registration uses */
#define LAYOUTS_IDLE_PER_OWNER 32u
#define LAYOUTS_IDLE_BYTES (32u << 20)  /* of their files */
#define LAYOUTS_CHARGE (64u << 20)      /* bytes of what is prepared for their applications */
#define LAYOUTS_CHARGE_PER_OWNER (16u << 20)

struct layouts;
struct selection;

struct layout {
	struct layouts *cache;          /* NULL: of one registration alone */
	struct cds_list_head node;      /* in the cache's bucket */
	struct cds_list_head idle;      /* in the cache's list, the latest last; while users is 0 */
	uint32_t users;                 /* registrations */
	uid_t uid;                      /* owner of the files */
	uint64_t hash;                  /* of the owner and the header */
	struct trail_reg head;          /* pid is 0 */
	uint64_t digest;                /* of the tables; 0: the file has no digest */
	/* the file after the tables that change; NULL without a cache, or with a digest */
	uint8_t *tables;
	size_t tables_size;
	bool reported;                  /* the events that are left out */
	struct registration parsed;     /* owns what registrations share */
	struct selection *selections;   /* app/selection.c */
};

struct layouts *layouts_create(void);
/* No registration may use a layout of the cache any more. NULL is allowed. */
void layouts_destroy(struct layouts *l);
/* How many the cache has, for tests. */
uint32_t layouts_count(const struct layouts *l);

/*
 * Fills r from the layout that the open file of `size` bytes has, if the cache knows it, and takes
 * a reference. 0; -ENOENT: it is not known; or another -errno.
 */
int layout_find(struct layouts *l, struct registration *r, int fd, size_t size);
/*
 * Makes a layout of r, which was parsed from `data` (malloc'd; taken over in any case), and moves
 * the tables of r there. It comes into the cache if one is given and has room for it. 0 or -ENOMEM;
 * r keeps its tables then.
 */
int layout_create(struct layouts *l, struct registration *r, uint8_t *data, size_t size);
void layout_put(struct layout *layout);
/*
 * Counts memory that is kept for later registrations with this layout. False: the owner's share or
 * the cache's is used up, or no later registration can have this layout.
 */
bool layout_charge(struct layout *layout, size_t bytes);
void layout_refund(struct layout *layout, size_t bytes);

#endif
