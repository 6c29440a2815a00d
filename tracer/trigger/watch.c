// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Conditions about what happens to a session. The model calls the hooks with tracer.lock held after
 * each change, so no start and no stop is missed, however short the session lives.
 */
#include <stdio.h>
#include <string.h>

#include "tracer/output/output.h"
#include "tracer/trigger/event.h"

/* What the triggers have seen of a session; compared with what it is after each change. */
struct session_seen {
	uint64_t starts;
	bool active;
	uint64_t rotations, archives;           /* of the output: begun, completed */
};

struct session_values {
	struct values values;           /* first */
	const char *archive;            /* NULL: none */
};

static void print_values(const struct values *v, bool json, struct md_buf *out)
{
	const char *archive = ((const struct session_values *)v)->archive;

	if (archive && archive[0])
		md_buf_printf(out, json ? "\"archive\":\"%s\"" : "archive = \"%s\"", archive);
}

/* The condition is true for this session. Caller holds tracer.lock. */
static void post(struct session *s, enum condition_kind kind, const char *archive)
{
	const struct session_info info = { .uid = s->uid, .gid = s->gid, .mode = s->mode };
	const struct session_values v = { { print_values }, archive };
	struct triggers *all = triggers_of(s->tracer);
	struct trigger *trigger;
	bool hit = false;

	pthread_mutex_lock(&all->lock);
	cds_list_for_each_entry(trigger, &all->list, node) {
		if (all->closing || !trigger->enabled || trigger->condition.kind != kind ||
		    strcmp(trigger->condition.session, s->name) != 0 ||
		    !trigger_may(trigger, &info, false))
			continue;
		trigger_hit(trigger, hit_time_now(s->tracer), &v.values);
		counters_save(trigger);
		hit = true;
	}
	if (hit)
		engine_nudge(all);
	pthread_mutex_unlock(&all->lock);
	runners_wake(all);
	if (hit)
		tracer_changed(s->tracer, s->name);
}

/* What can be seen of the session now. Caller holds tracer.lock. */
static struct session_seen look(const struct session *s, char archive[64])
{
	struct session_seen now = { .starts = s->starts, .active = s->active };

	archive[0] = 0;
	if (!s->output)
		return now;
	pthread_mutex_lock(&s->output->lock);
	now.rotations = s->output->rotations;
	now.archives = s->output->archives;
	snprintf(archive, 64, "%s", s->output->archive);
	pthread_mutex_unlock(&s->output->lock);
	return now;
}

static void session_has_changed(struct session *s)
{
	struct session_seen *seen = session_data(s, &trigger_part), before = *seen, now;
	char archive[64];

	if (!triggers_of(s->tracer))
		return;
	now = look(s, archive);
	*seen = now;
	if (before.active && (!now.active || now.starts != before.starts))
		post(s, CONDITION_SESSION_STOPPED, NULL);
	if (now.starts > before.starts)
		post(s, CONDITION_SESSION_STARTED, NULL);
	if (now.rotations > before.rotations)
		post(s, CONDITION_ROTATION_ONGOING, NULL);
	if (now.archives > before.archives)
		post(s, CONDITION_ROTATION_COMPLETED, archive);
}

static void session_goes(struct session *s, bool keep)
{
	if (keep || s->draft || !triggers_of(s->tracer))
		return;
	session_has_changed(s);
	post(s, CONDITION_SESSION_DESTROYED, NULL);
}

void watch_begin(struct tracer *t)
{
	struct session *s;
	char archive[64];

	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(s, &t->sessions, node)
		*(struct session_seen *)session_data(s, &trigger_part) = look(s, archive);
	pthread_mutex_unlock(&t->lock);
}

/* The listener looks at the buffers that the session has now. */
static void buffers_have_changed(struct session *s)
{
	struct triggers *all = triggers_of(s->tracer);

	if (!s->hidden || !all)
		return;
	pthread_mutex_lock(&all->lock);
	listener_nudge(all);
	pthread_mutex_unlock(&all->lock);
}

const struct session_part trigger_part = {
	.name = "triggers", .size = sizeof(struct session_seen),
	.changed = session_has_changed, .buffers = buffers_have_changed, .drop = session_goes,
};
