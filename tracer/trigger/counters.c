// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counters of triggers in the state directory: the file triggers/.counters, with a slot for
 * each trigger, which one write replaces. So a hit is in the file before its actions are executed,
 * and a killed daemon neither forgets hits nor executes `once-after` again. The trigger's own file
 * (trigger_file.c) says which slot it has. A slot that is older than that file counts for nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tracer/trigger/trigger.h"

#define FILE_NAME ".counters"   /* no trigger has such a name */
#define SLOT_SIZE 2048          /* bytes; a slot is in one page, so that a write is whole */

struct counts {
	uint64_t executed, failed;
};

struct slot {
	int64_t created;                /* of the trigger; 0: no trigger */
	uint64_t saves;                 /* of the trigger's file with the same actions */
	uint64_t hits, sent, lost, events_lost;
	int64_t last_hit;
	struct counts actions[ACTIONS_MAX];
};

_Static_assert(sizeof(struct slot) <= SLOT_SIZE, "a slot has room for the counters");

int counters_open(struct triggers *all)
{
	all->counters_fd = openat(all->fd, FILE_NAME,
				  O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return all->counters_fd < 0 ? -errno : 0;
}

void counters_close(struct triggers *all, bool keep)
{
	if (all->counters_fd >= 0)
		close(all->counters_fd);
	if (!keep)
		unlinkat(all->fd, FILE_NAME, 0);
}

bool counters_claim(struct trigger *g, uint64_t number)
{
	uint8_t *used = g->tracer->triggers->slots;

	if (number >= TRIGGERS_MAX || used[number] || g->slot >= 0)
		return false;
	used[number] = true;
	g->slot = (int)number;
	return true;
}

void counters_claim_any(struct trigger *g)
{
	for (uint64_t i = 0; g->slot < 0 && i < TRIGGERS_MAX; i++)
		counters_claim(g, i);
}

void counters_release(struct trigger *g)
{
	if (g->slot >= 0)
		g->tracer->triggers->slots[g->slot] = false;
	g->slot = -1;
}

void counters_save(struct trigger *g)
{
	struct slot s = {
		.created = g->created, .saves = g->saves, .hits = g->hits, .sent = g->sent,
		.lost = g->lost, .events_lost = g->events_lost, .last_hit = g->last_hit,
	};
	size_t size = offsetof(struct slot, actions) + g->action_count * sizeof(s.actions[0]);

	if (g->slot < 0 || g->gone)
		return;
	for (size_t i = 0; i < g->action_count; i++)
		s.actions[i] = (struct counts){ g->actions[i].executed, g->actions[i].failed };
	g->unsaved = pwrite(g->tracer->triggers->counters_fd, &s, size,
			    (off_t)g->slot * SLOT_SIZE) != (ssize_t)size;
}

void counters_restore(struct trigger *g)
{
	size_t size = offsetof(struct slot, actions) + g->action_count * sizeof(struct counts);
	struct slot s;

	if (g->slot < 0 || pread(g->tracer->triggers->counters_fd, &s, size,
				 (off_t)g->slot * SLOT_SIZE) != (ssize_t)size ||
	    s.created != g->created || s.saves != g->saves)
		return;
	g->hits = s.hits;
	g->sent = s.sent;
	g->lost = s.lost;
	g->events_lost = s.events_lost;
	g->last_hit = s.last_hit;
	for (size_t i = 0; i < g->action_count; i++) {
		g->actions[i].executed = s.actions[i].executed;
		g->actions[i].failed = s.actions[i].failed;
	}
}
