// SPDX-License-Identifier: GPL-2.0-or-later
/* One trigger: its references, what it is, and what its owner may do. */
#include "tracer/trigger/trigger.h"

#include <stdio.h>
#include <stdlib.h>

struct hit_time hit_time_now(const struct tracer *t)
{
	return (struct hit_time){ .wall = wall_clock(), .ts = clock_now(&t->clock) };
}

struct trigger *trigger_new(struct tracer *t, const char *name, const char *file,
			    const struct owner *owner)
{
	struct trigger *trigger = calloc(1, sizeof(*trigger));

	if (!trigger)
		return NULL;
	trigger->refs = 1;
	trigger->tracer = t;
	trigger->serial = ++triggers_of(t)->next_serial;
	snprintf(trigger->name, sizeof(trigger->name), "%s", name);
	snprintf(trigger->file, sizeof(trigger->file), "%s", file);
	trigger->created = wall_clock();
	trigger->uid = owner->uid;
	trigger->gid = owner->gid;
	trigger->groups = owner->groups;
	trigger->mode = 0700;
	trigger->enabled = true;
	trigger->slot = -1;
	lock_init(&trigger->setting, NULL, LOCK_SETTING);
	CDS_INIT_LIST_HEAD(&trigger->readers);
	cds_list_add_tail(&trigger->node, &triggers_of(t)->list);
	triggers_of(t)->count++;
	return trigger;
}

void trigger_changed(struct trigger *trigger)
{
	trigger->change++;
}

static void free_trigger(struct trigger *trigger)
{
	condition_deinit(&trigger->condition);
	actions_free(trigger->actions, trigger->action_count);
	pthread_mutex_destroy(&trigger->setting);
	free(trigger);
}

/* Locked. False: others still have references. */
static bool drop_reference(struct trigger *trigger)
{
	return --trigger->refs == 0;
}

void trigger_put(struct trigger *trigger)
{
	struct triggers *all;
	bool last;

	if (!trigger)
		return;
	all = triggers_of(trigger->tracer);
	pthread_mutex_lock(&all->lock);
	last = drop_reference(trigger);
	pthread_mutex_unlock(&all->lock);
	if (last)
		free_trigger(trigger);
}

struct trigger *trigger_find(struct tracer *t, const char *name, uid_t viewer)
{
	struct triggers *all = triggers_of(t);
	struct trigger *trigger;

	if (!all)
		return NULL;
	pthread_mutex_lock(&all->lock);
	trigger = trigger_seen(all, name, viewer);
	if (trigger)
		trigger->refs++;
	pthread_mutex_unlock(&all->lock);
	return trigger;
}

struct trigger *trigger_get(struct tracer *t, uint64_t serial)
{
	struct triggers *all = triggers_of(t);
	struct trigger *trigger, *found = NULL;

	if (!all)
		return NULL;
	pthread_mutex_lock(&all->lock);
	cds_list_for_each_entry(trigger, &all->list, node) {
		if (trigger->serial == serial) {
			found = trigger;
			trigger->refs++;
			break;
		}
	}
	pthread_mutex_unlock(&all->lock);
	return found;
}

uint32_t triggers_count(struct tracer *t)
{
	struct triggers *all = triggers_of(t);
	uint32_t n;

	if (!all)
		return 0;
	pthread_mutex_lock(&all->lock);
	n = all->count;
	pthread_mutex_unlock(&all->lock);
	return n;
}

void trigger_info(struct trigger *trigger, struct trigger_info *info)
{
	struct triggers *all = triggers_of(trigger->tracer);

	pthread_mutex_lock(&all->lock);
	*info = (struct trigger_info){
		.uid = trigger->uid, .gid = trigger->gid, .groups = trigger->groups,
		.mode = trigger->mode, .created = trigger->created, .serial = trigger->serial,
		.change = trigger->change,
	};
	pthread_mutex_unlock(&all->lock);
}

bool trigger_may(const struct trigger *trigger, const struct session_info *info, bool write)
{
	mode_t wanted = write ? 7 : 5;

	if (!trigger->uid || trigger->uid == info->uid)
		return true;
	if (trigger->gid == info->gid)
		return (info->mode >> 3 & wanted) == wanted;
	return (info->mode & wanted) == wanted;
}

bool trigger_may_now(struct trigger *trigger, const struct session_info *info, bool write)
{
	bool may;

	pthread_mutex_lock(&triggers_of(trigger->tracer)->lock);
	may = trigger_may(trigger, info, write);
	pthread_mutex_unlock(&triggers_of(trigger->tracer)->lock);
	return may;
}
