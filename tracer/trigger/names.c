// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Under which name each user sees a trigger. Names belong to their owners, so that an ordinary user
 * cannot take a name from another. (Root sees a name that one user has, so mkdir of it fails.)
 * And the triggers of the tracer, among which names are looked up.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/base.h"
#include "tracer/trigger/trigger.h"

const struct tracer_room trigger_room = { .size = sizeof(struct triggers *) };

struct triggers *triggers_of(const struct tracer *t)
{
	return *(struct triggers **)tracer_data(t, &trigger_room);
}

void triggers_set(struct tracer *t, struct triggers *all)
{
	*(struct triggers **)tracer_data(t, &trigger_room) = all;
}

struct trigger *trigger_of_owner(const struct triggers *all, const char *name, uid_t uid)
{
	struct trigger *trigger;

	cds_list_for_each_entry(trigger, &all->list, node)
		if (trigger->uid == uid && !strcmp(trigger->name, name))
			return trigger;
	return NULL;
}

static bool sees_all(uid_t viewer)
{
	return !viewer || viewer == geteuid();
}

static bool is_shared(const struct trigger *trigger)
{
	return (trigger->mode & 077) != 0;
}

/* The only trigger of that name, whoever has it. */
static struct trigger *find_only(const struct triggers *all, const char *name)
{
	struct trigger *trigger, *found = NULL;

	cds_list_for_each_entry(trigger, &all->list, node) {
		if (strcmp(trigger->name, name))
			continue;
		if (found)
			return NULL;
		found = trigger;
	}
	return found;
}

/* Whether the name ends with @ and a number: gives the length before that, and the number. */
static bool has_owner(const char *name, size_t *len, uid_t *uid)
{
	const char *at = strrchr(name, '@');
	unsigned long long number;
	char *end;

	if (!at || at == name || at[1] < '0' || at[1] > '9')
		return false;
	number = strtoull(at + 1, &end, 10);
	*len = (size_t)(at - name);
	*uid = (uid_t)number;
	return !*end && number < (uid_t)-1;
}

static struct trigger *find_of_other(const struct triggers *all, const char *name, uid_t viewer)
{
	char base[TRIGGER_NAME_MAX + 1];
	struct trigger *trigger;
	size_t len;
	uid_t uid;

	if (!has_owner(name, &len, &uid) || len >= sizeof(base) || uid == viewer)
		return NULL;
	memcpy(base, name, len);
	base[len] = 0;
	trigger = trigger_of_owner(all, base, uid);
	return trigger && (sees_all(viewer) || is_shared(trigger)) ? trigger : NULL;
}

struct trigger *trigger_seen(const struct triggers *all, const char *name, uid_t viewer)
{
	struct trigger *trigger = trigger_of_owner(all, name, viewer);

	if (!trigger && sees_all(viewer))
		trigger = find_only(all, name);
	return trigger ? trigger : find_of_other(all, name, viewer);
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct trigger *const *)a)->name, (*(struct trigger *const *)b)->name);
}

/* Sorted by name; owned by the caller. NULL: there is none, or no memory. */
static struct trigger **sort_triggers(const struct triggers *all)
{
	struct trigger **list = all->count ? malloc(all->count * sizeof(struct trigger *)) : NULL;
	struct trigger *trigger;
	size_t n = 0;

	if (!list)
		return NULL;
	cds_list_for_each_entry(trigger, &all->list, node)
		list[n++] = trigger;
	qsort(list, n, sizeof(struct trigger *), by_name);
	return list;
}

void triggers_list(struct tracer *t, uid_t viewer, struct md_buf *names)
{
	struct triggers *all = triggers_of(t);
	struct trigger **list;
	bool unique;

	if (!all)
		return;
	pthread_mutex_lock(&all->lock);
	list = sort_triggers(all);
	for (size_t i = 0; list && i < all->count; i++) {
		const struct trigger *trigger = list[i];

		unique = (!i || strcmp(list[i - 1]->name, trigger->name)) &&
			 (i + 1 == all->count || strcmp(list[i + 1]->name, trigger->name));
		if (trigger->uid == viewer || (sees_all(viewer) && unique))
			md_buf_put(names, trigger->name, strlen(trigger->name) + 1);
		else if (sees_all(viewer) || is_shared(trigger))
			md_buf_printf(names, "%s@%u%c", trigger->name, (unsigned int)trigger->uid,
				      0);
	}
	names->failed = names->failed || (all->count && !list);
	pthread_mutex_unlock(&all->lock);
	free(list);
}

int trigger_check_name(const char *name, struct tr_err *err)
{
	int ret = name_check(name, TRIGGER_NAME_MAX, err);
	size_t len;
	uid_t uid;

	if (!ret && has_owner(name, &len, &uid))
		ret = tr_fail_at(err, -EINVAL, name, (int)len,
				 "a name cannot end with @ and a number: so the triggers of other "
				 "users are shown");
	return ret;
}

static bool has_file(const struct triggers *all, const char *file)
{
	struct trigger *trigger;

	cds_list_for_each_entry(trigger, &all->list, node)
		if (!strcmp(trigger->file, file))
			return true;
	return false;
}

int trigger_new_file(const struct triggers *all, const char *name, uid_t uid,
		     char file[TRIGGER_VIEW_MAX + 1])
{
	snprintf(file, TRIGGER_VIEW_MAX + 1, "%s", name);
	/* The user's own number may be taken since a change of owner: any other will do. */
	for (uid_t n = uid; has_file(all, file); n++) {
		if (n == uid + TRIGGERS_MAX)
			return -ENOSPC;
		snprintf(file, TRIGGER_VIEW_MAX + 1, "%s@%u", name, (unsigned int)n);
	}
	return 0;
}
