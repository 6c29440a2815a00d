// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/app/app.h"
#include "tracer/abi/pick.h"
#include "tracer/app/layout.h"
#include "tracer/app/picked.h"
#include "tracer/app/prepared_slots.h"
#include "tracer/app/selection.h"

#define PROGRAMS_MAX (64u << 20)        /* bytes of all filters of one channel */

static size_t size_of(const struct prepared_slots *p)
{
	return sizeof(*p) + p->count * sizeof(*p->slots) + p->programs.size;
}

void prepared_slots_destroy(struct prepared_slots *p)
{
	if (!p)
		return;
	free(p->slots);
	md_buf_deinit(&p->programs);
	free(p);
}

static void remove_first(struct layout *layout, struct prepared_slots **at)
{
	struct prepared_slots *p = *at;

	*at = p->next;
	layout_refund(layout, size_of(p));
	prepared_slots_destroy(p);
}

void prepared_slots_drop(struct layout *layout, struct prepared_slots **list)
{
	while (*list)
		remove_first(layout, list);
}

/*
 * Drops those of earlier rules, and all but the latest. A reply asks for each channel once, in the
 * same order each time: one for each is kept at least.
 */
static void drop_old(struct layout *layout, struct selection *s, uint64_t version)
{
	struct prepared_slots **list = &s->prepared;
	uint32_t n = 0, max = s->channel_count > PREPARED_PER_SELECTION ? s->channel_count
									: PREPARED_PER_SELECTION;

	while (*list)
		if ((*list)->version != version || ++n >= max)
			remove_first(layout, list);
		else
			list = &(*list)->next;
}

/* ---- descriptions ---- */

struct new_events {
	struct stream_group *group;
	bool picks;
	struct md_event **events;
	uint64_t *digests;
	size_t count;
};

/* The events of the selection that the channel wants and has no id for. False: no memory. */
static bool collect_new_events(struct new_events *n, struct channel *c, const struct app *a)
{
	uint32_t id;

	for (uint32_t i = 0; i < a->selection->count; i++) {
		uint32_t event = a->selection->events[i].event;
		struct picked p;

		if (!app_wanted(c, a, event, NULL))
			continue;
		p = picked_find(c, a->file, event, n->picks, NULL);
		if (!group_find_event(n->group, p.digest, &id))
			continue;
		n->digests[n->count] = p.digest;
		n->events[n->count] = picked_event(&p, a->file, event);
		if (!n->events[n->count])
			return false;
		n->count++;
	}
	return true;
}

/*
 * Describes what a channel sees for the first time, all of it by one write: one by one this took
 * most of the time of a first attach. An event for which that failed is tried again, and reported,
 * with its slot.
 */
static void describe_new_events(struct channel *c, const struct app *a, struct stream_group *group,
				bool picks)
{
	size_t max = a->selection->count + 1;
	struct new_events n = {
		.group = group,
		.picks = picks,
		.events = calloc(max, sizeof(*n.events)),
		.digests = calloc(max, sizeof(*n.digests)),
	};

	if (n.events && n.digests && collect_new_events(&n, c, a) && n.count) {
		group_events(n.group, n.digests, n.events, n.count);
		n.count = 0;
	}
	for (size_t i = 0; i < n.count; i++)
		md_event_destroy(n.events[i]);
	free(n.events);
	free(n.digests);
}

/* ---- slots ---- */

/* One event: its id, its filter, and the switch on. -EXFULL: no id is left. */
static int put_slot(struct prepared_slots *p, struct channel *c, const struct app *a,
		    struct stream_group *group, struct region *region, uint32_t event)
{
	struct trail_plan_slot slot = { .event = event };
	struct wanted wanted;
	struct picked picked;
	size_t steps;
	int err = 0;

	if (!app_wanted(c, a, event, &wanted))
		return 0;
	if (p->programs.len + wanted.size > PROGRAMS_MAX)
		return -ENOSPC;
	picked = picked_find(c, a->file, event, p->picks, NULL);
	if (group_find_event(group, picked.digest, &slot.id))
		err = group->stream->event_count >= GROUP_EVENTS_MAX
			      ? -EXFULL
			      : group_event(group, picked.digest,
					    picked_event(&picked, a->file, event), &slot.id);
	if (!err && c->counts)
		err = region_counter_room(region, slot.id);
	if (err)
		return err;
	slot.on = group_switch_on(group, slot.id);
	while (p->programs.len % 8)
		md_buf_putc(&p->programs, 0);
	slot.program = (uint32_t)p->programs.len;
	slot.program_size = (uint32_t)wanted.size;
	md_buf_put(&p->programs, wanted.program, wanted.size);
	steps = p->programs.len;
	if (picked.some) {
		/* Out of memory it has no steps, and the event would have another layout. */
		if (!picked_find(c, a->file, event, true, &p->programs).some)
			return -ENOMEM;
		slot.flags = TRAIL_SLOT_PICK;
		slot.pick = (uint32_t)steps;
		slot.pick_count = (uint16_t)((p->programs.len - steps) /
					     sizeof(struct trail_pick_step));
	}
	if (p->programs.failed)
		return -ENOMEM;
	p->slots[p->count++] = slot;
	return 0;
}

/* No later attempt succeeds: once for all events, which may be thousands. */
static void report_full(struct channel *c, struct stream_group *group)
{
	if (!group->full_reported)
		session_failed(c->session, "channel %s has %u different events, no more can be "
			       "recorded: make another channel for some of the rules", c->name,
			       GROUP_EVENTS_MAX);
	group->full_reported = true;
}

/* False: some event could not be recorded now, so the next application tries again. */
static bool put_slots(struct prepared_slots *p, struct channel *c, const struct app *a,
		      struct stream_group *group, struct region *region)
{
	bool all = true;
	int err;

	for (uint32_t i = 0; i < a->selection->count; i++) {
		uint32_t event = a->selection->events[i].event;

		err = put_slot(p, c, a, group, region, event);
		if (err == -EXFULL) {
			report_full(c, group);
			continue;
		}
		if (err && err != -EDQUOT)
			tracer_report(
				c->session->tracer, "session %s: event %s cannot be recorded: %s",
				c->session->name, a->file->events[event].name, strerror(-err));
		all = all && !err;
	}
	return all;
}

struct prepared_slots *prepared_slots_get(const struct app *a, struct channel *c,
					  struct stream_group *group, const struct buffer *b,
					  bool picks)
{
	uint64_t version = apps_of(c->session->tracer)->rules_version;
	struct layout *layout = a->file->layout;
	struct prepared_slots *p;

	for (p = a->selection->prepared; p; p = p->next)
		if (p->version == version && p->channel == c->serial &&
		    p->region == b->region->key && p->picks == picks)
			return p;
	drop_old(layout, a->selection, version);
	p = calloc(1, sizeof(*p));
	if (p)
		p->slots = calloc(a->selection->count + 1, sizeof(*p->slots));
	if (!p || !p->slots) {
		free(p);
		return NULL;
	}
	p->version = version;
	p->channel = c->serial;
	p->region = b->region->key;
	p->picks = picks;
	if (group->stream->event_count < GROUP_EVENTS_MAX)
		describe_new_events(c, a, group, picks);
	if (put_slots(p, c, a, group, b->region) && layout_charge(layout, size_of(p))) {
		p->kept = true;
		p->next = a->selection->prepared;
		a->selection->prepared = p;
	}
	return p;
}

bool slots_count_missed(const struct channel *c, const struct app *a, struct stream_group *group,
			 struct buffer *b, uint32_t event, uint64_t n)
{
	struct picked p = picked_find(c, a->file, event, false, NULL);
	uint32_t id;

	if (group_find_event(group, p.digest, &id) &&
	    group_event(group, p.digest, picked_event(&p, a->file, event), &id))
		return false;
	if (region_counter_room(b->region, id))
		return false;
	region_count_add(b->region, id, n);
	return true;
}
