// SPDX-License-Identifier: GPL-2.0-or-later
/* The room as a whole: makes and removes triggers, owner and mode; begins and ends. */
#include "tracer/session/hidden.h"
#include "tracer/trigger/event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIGGERS_OF_USER_MAX 1024u      /* of each user but the daemon's own */

/* Without lock. */
static void announce(struct tracer *t, const char *name)
{
	tracer_changed(t, name);
}

static uint32_t count_of(struct triggers *all, uid_t uid)
{
	struct trigger *trigger;
	uint32_t n = 0;

	cds_list_for_each_entry(trigger, &all->list, node)
		n += trigger->uid == uid;
	return n;
}

/* Locked. */
static int check_room(struct triggers *all, const char *name, uid_t uid, struct tr_err *err)
{
	if (trigger_of_owner(all, name, uid))
		return tr_fail(err, -EEXIST, "there is a trigger '%s' already", name);
	if (all->count >= TRIGGERS_MAX)
		return tr_fail(err, -ENOSPC, "no more than %u triggers", TRIGGERS_MAX);
	if (uid != geteuid() && count_of(all, uid) >= TRIGGERS_OF_USER_MAX)
		return tr_fail(err, -EDQUOT, "no more than %u triggers of one user",
			       TRIGGERS_OF_USER_MAX);
	return 0;
}

/* Locked. The caller puts the list's reference. */
static void unlink_trigger(struct trigger *trigger)
{
	trigger->gone = true;
	counters_release(trigger);
	cds_list_del(&trigger->node);
	triggers_of(trigger->tracer)->count--;
}

int trigger_create(struct tracer *t, const char *name, const struct owner *owner,
		   struct tr_err *err)
{
	struct triggers *all = triggers_of(t);
	char file[TRIGGER_VIEW_MAX + 1];
	struct trigger *trigger = NULL;
	int ret = trigger_check_name(name, err);

	if (!ret && !all)
		ret = tr_fail(err, -EIO, "triggers cannot be made: the state directory has none");
	if (ret)
		return ret;
	pthread_mutex_lock(&all->lock);
	ret = check_room(all, name, owner->uid, err);
	if (!ret && (ret = trigger_new_file(all, name, owner->uid, file)))
		tr_fail(err, ret, "the state directory has too many triggers '%s'", name);
	if (!ret && !(trigger = trigger_new(t, name, file, owner)))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	if (!ret && (ret = trigger_save(trigger))) {
		tr_fail(err, ret, "the state directory cannot be written");
		unlink_trigger(trigger);
	}
	pthread_mutex_unlock(&all->lock);
	if (ret)
		trigger_put(trigger);
	else
		announce(t, NULL);
	return ret;
}

int trigger_destroy(struct tracer *t, const char *name, uid_t viewer, struct tr_err *err)
{
	struct triggers *all = triggers_of(t);
	struct session *events = NULL;
	struct trigger *trigger = NULL;

	if (all) {
		pthread_mutex_lock(&all->lock);
		trigger = trigger_seen(all, name, viewer);
		if (trigger) {
			events = trigger->events;
			trigger->events = NULL;
			unlink_trigger(trigger);
			trigger_forget_on_disk(trigger);
			trigger_changed(trigger);
			engine_nudge(all);
			listener_nudge(all);
		}
		pthread_mutex_unlock(&all->lock);
	}
	if (!trigger)
		return tr_fail(err, -ENOENT, "no trigger '%s'", name);
	hidden_close(events);
	trigger_put(trigger);
	announce(t, NULL);
	return 0;
}

static int set_rights(struct trigger *trigger, mode_t mode, uid_t uid, gid_t gid)
{
	struct triggers *all = triggers_of(trigger->tracer);
	bool moves = false;
	int ret = 0;

	pthread_mutex_lock(&trigger->setting);
	pthread_mutex_lock(&all->lock);
	if (trigger->gone) {
		ret = -ENOENT;
	} else if (uid != (uid_t)-1 && uid != trigger->uid &&
		   trigger_of_owner(all, trigger->name, uid)) {
		ret = -EEXIST;
	} else {
		moves = uid != (uid_t)-1 && uid != trigger->uid;
		if (moves)
			trigger->groups = (struct owner_groups){ 0 };
		trigger->mode = mode == (mode_t)-1 ? trigger->mode : mode & 0777;
		trigger->uid = uid == (uid_t)-1 ? trigger->uid : uid;
		trigger->gid = gid == (gid_t)-1 ? trigger->gid : gid;
		trigger_changed(trigger);
		trigger_save(trigger);
	}
	pthread_mutex_unlock(&all->lock);
	if (moves)
		trigger_reopen(trigger);
	pthread_mutex_unlock(&trigger->setting);
	return ret;
}

int trigger_chmod(struct trigger *trigger, mode_t mode)
{
	return set_rights(trigger, mode, (uid_t)-1, (gid_t)-1);
}

int trigger_chown(struct trigger *trigger, uid_t uid, gid_t gid)
{
	return set_rights(trigger, (mode_t)-1, uid, gid);
}

/* ---- the room as a whole ---- */

static int open_directory(struct tracer *t)
{
	int fd;

	if (mkdirat(t->state_fd, "triggers", 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(t->state_fd, "triggers", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The triggers that were restored; no other thread makes or removes any yet. */
static void reopen_all(struct tracer *t)
{
	struct trigger *trigger;

	cds_list_for_each_entry(trigger, &triggers_of(t)->list, node) {
		pthread_mutex_lock(&trigger->setting);
		trigger_reopen(trigger);
		pthread_mutex_unlock(&trigger->setting);
	}
}

int triggers_open(struct tracer *t)
{
	struct triggers *all;
	int fd = open_directory(t);

	if (fd < 0)
		return fd;
	all = calloc(1, sizeof(*all));
	if (!all) {
		close(fd);
		return -ENOMEM;
	}
	all->fd = fd;
	all->tracer = t;
	if (counters_open(all))
		tracer_report(t, "the counters of triggers cannot be kept: %s", strerror(errno));
	lock_init(&all->lock, NULL, LOCK_TRIGGERS);
	CDS_INIT_LIST_HEAD(&all->list);
	CDS_INIT_LIST_HEAD(&all->ready);
	runners_start(all);
	triggers_set(t, all);
	triggers_restore(t);
	watch_begin(t);
	pthread_mutex_lock(&all->lock);
	if (all->count)
		engine_nudge(all);
	pthread_mutex_unlock(&all->lock);
	reopen_all(t);
	return 0;
}

void triggers_stop(struct tracer *t)
{
	struct trigger *trigger;

	if (!triggers_of(t))
		return;
	engine_stop(triggers_of(t));
	listener_stop(triggers_of(t));
	kernel_listener_stop(triggers_of(t));
	runners_stop(triggers_of(t));
	notices_serve(triggers_of(t));
	cds_list_for_each_entry(trigger, &triggers_of(t)->list, node) {
		hidden_close(trigger->events);
		trigger->events = NULL;
	}
}

void triggers_close(struct tracer *t, bool keep)
{
	struct triggers *all = triggers_of(t);
	struct trigger *trigger, *next;

	if (!all)
		return;
	cds_list_for_each_entry_safe(trigger, next, &all->list, node) {
		if (keep)
			trigger_save(trigger);
		else
			trigger_forget_on_disk(trigger);
		unlink_trigger(trigger);
		trigger_put(trigger);
	}
	triggers_set(t, NULL);
	runners_end(all);
	counters_close(all, keep);
	pthread_mutex_destroy(&all->lock);
	close(all->fd);
	if (!keep)
		unlinkat(t->state_fd, "triggers", AT_REMOVEDIR);
	free(all);
}
