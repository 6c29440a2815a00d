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

bool counters_claim(struct trigger *trigger, uint64_t number)
{
	uint8_t *used = triggers_of(trigger->tracer)->slots;

	if (number >= TRIGGERS_MAX || used[number] || trigger->slot >= 0)
		return false;
	used[number] = true;
	trigger->slot = (int)number;
	return true;
}

void counters_claim_any(struct trigger *trigger)
{
	for (uint64_t i = 0; trigger->slot < 0 && i < TRIGGERS_MAX; i++)
		counters_claim(trigger, i);
}

void counters_release(struct trigger *trigger)
{
	if (trigger->slot >= 0)
		triggers_of(trigger->tracer)->slots[trigger->slot] = false;
	trigger->slot = -1;
}

void counters_save(struct trigger *trigger)
{
	struct slot s = {
		.created = trigger->created, .saves = trigger->saves, .hits = trigger->hits,
		.sent = trigger->sent, .lost = trigger->lost, .events_lost = trigger->events_lost,
		.last_hit = trigger->last_hit,
	};
	size_t size = offsetof(struct slot, actions) + trigger->action_count * sizeof(s.actions[0]);

	if (trigger->slot < 0 || trigger->gone)
		return;
	for (size_t i = 0; i < trigger->action_count; i++)
		s.actions[i] = (struct counts){ trigger->actions[i].executed,
						trigger->actions[i].failed };
	trigger->unsaved = pwrite(triggers_of(trigger->tracer)->counters_fd, &s, size,
				  (off_t)trigger->slot * SLOT_SIZE) != (ssize_t)size;
}

void counters_restore(struct trigger *trigger)
{
	size_t size = offsetof(struct slot, actions) +
		      trigger->action_count * sizeof(struct counts);
	struct slot s;

	if (trigger->slot < 0 || pread(triggers_of(trigger->tracer)->counters_fd, &s, size,
				       (off_t)trigger->slot * SLOT_SIZE) != (ssize_t)size ||
	    s.created != trigger->created || s.saves != trigger->saves)
		return;
	trigger->hits = s.hits;
	trigger->sent = s.sent;
	trigger->lost = s.lost;
	trigger->events_lost = s.events_lost;
	trigger->last_hit = s.last_hit;
	for (size_t i = 0; i < trigger->action_count; i++) {
		trigger->actions[i].executed = s.actions[i].executed;
		trigger->actions[i].failed = s.actions[i].failed;
	}
}
