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
	struct trigger *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->refs = 1;
	g->tracer = t;
	g->serial = ++t->triggers->next_serial;
	snprintf(g->name, sizeof(g->name), "%s", name);
	snprintf(g->file, sizeof(g->file), "%s", file);
	g->created = wall_clock();
	g->uid = owner->uid;
	g->gid = owner->gid;
	g->groups = owner->groups;
	g->mode = 0700;
	g->enabled = true;
	g->slot = -1;
	lock_init(&g->setting, NULL, LOCK_SETTING);
	CDS_INIT_LIST_HEAD(&g->readers);
	cds_list_add_tail(&g->node, &t->triggers->list);
	t->triggers->count++;
	return g;
}

void trigger_changed(struct trigger *g)
{
	g->change++;
}

static void free_trigger(struct trigger *g)
{
	condition_deinit(&g->condition);
	actions_free(g->actions, g->action_count);
	pthread_mutex_destroy(&g->setting);
	free(g);
}

/* Locked. False: others still have references. */
static bool drop_reference(struct trigger *g)
{
	return --g->refs == 0;
}

void trigger_put(struct trigger *g)
{
	struct triggers *all;
	bool last;

	if (!g)
		return;
	all = g->tracer->triggers;
	pthread_mutex_lock(&all->lock);
	last = drop_reference(g);
	pthread_mutex_unlock(&all->lock);
	if (last)
		free_trigger(g);
}

struct trigger *trigger_find(struct tracer *t, const char *name, uid_t viewer)
{
	struct triggers *all = t->triggers;
	struct trigger *g;

	if (!all)
		return NULL;
	pthread_mutex_lock(&all->lock);
	g = trigger_seen(all, name, viewer);
	if (g)
		g->refs++;
	pthread_mutex_unlock(&all->lock);
	return g;
}

struct trigger *trigger_get(struct tracer *t, uint64_t serial)
{
	struct triggers *all = t->triggers;
	struct trigger *g, *found = NULL;

	if (!all)
		return NULL;
	pthread_mutex_lock(&all->lock);
	cds_list_for_each_entry(g, &all->list, node) {
		if (g->serial == serial) {
			found = g;
			g->refs++;
			break;
		}
	}
	pthread_mutex_unlock(&all->lock);
	return found;
}

uint32_t triggers_count(struct tracer *t)
{
	struct triggers *all = t->triggers;
	uint32_t n;

	if (!all)
		return 0;
	pthread_mutex_lock(&all->lock);
	n = all->count;
	pthread_mutex_unlock(&all->lock);
	return n;
}

void trigger_info(struct trigger *g, struct trigger_info *info)
{
	struct triggers *all = g->tracer->triggers;

	pthread_mutex_lock(&all->lock);
	*info = (struct trigger_info){
		.uid = g->uid, .gid = g->gid, .groups = g->groups, .mode = g->mode,
		.created = g->created, .serial = g->serial, .change = g->change,
	};
	pthread_mutex_unlock(&all->lock);
}

bool trigger_may(const struct trigger *g, const struct session_info *info, bool write)
{
	mode_t wanted = write ? 7 : 5;

	if (!g->uid || g->uid == info->uid)
		return true;
	if (g->gid == info->gid)
		return (info->mode >> 3 & wanted) == wanted;
	return (info->mode & wanted) == wanted;
}

bool trigger_may_now(struct trigger *g, const struct session_info *info, bool write)
{
	bool may;

	pthread_mutex_lock(&g->tracer->triggers->lock);
	may = trigger_may(g, info, write);
	pthread_mutex_unlock(&g->tracer->triggers->lock);
	return may;
}
