// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A trigger in the state directory: the file triggers/NAME, or triggers/NAME@UID where another
 * user's trigger has that, written whole at each change of a setting. Later counters are in
 * counters.c. Lines `KEY VALUE`:
 *
 *	name NAME
 *	uid gid mode created enabled hits last_hit sent lost events_lost slot saves
 *	requests [NUMBER …]                             base/request.h
 *	condition TEXT
 *	action BASE EXECUTED FAILED TEXT                one line each, in order
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/array.h"
#include "tracer/base/os/state_file.h"
#include "tracer/trigger/trigger.h"

#define FILE_MAX (8u << 20)     /* bytes: 64 actions of 64 KiB, and a condition */

int trigger_save(struct trigger *trigger)
{
	struct md_buf out = MD_BUF_INIT;
	int ret;

	if (trigger->gone)
		return 0;
	counters_claim_any(trigger);
	trigger->saves++;
	md_buf_printf(&out, "name %s\nuid %u\ngid %u\nmode %u\ncreated %" PRId64 "\nenabled %d\n",
		      trigger->name, trigger->uid, trigger->gid, (unsigned int)trigger->mode,
		      trigger->created, trigger->enabled);
	md_buf_printf(&out,
		      "hits %" PRIu64 "\nlast_hit %" PRId64 "\nsent %" PRIu64 "\nlost %" PRIu64
		      "\nevents_lost %" PRIu64 "\nslot %d\nsaves %" PRIu64 "\n",
		      trigger->hits, trigger->last_hit, trigger->sent, trigger->lost,
		      trigger->events_lost, trigger->slot, trigger->saves);
	owner_groups_print(&trigger->groups, &out);
	/* The file gets the effect of the write and its number at once. */
	requests_add(&trigger->requests, session_write_number());
	requests_print(&trigger->requests, &out);
	if (trigger->condition.text)
		md_buf_printf(&out, "condition %s\n", trigger->condition.text);
	for (size_t i = 0; i < trigger->action_count; i++) {
		const struct action *a = &trigger->actions[i];

		md_buf_printf(&out, "action %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", a->base,
			      a->executed, a->failed, a->text);
	}
	ret = out.failed ? -ENOMEM :
	      state_file_write(triggers_of(trigger->tracer)->fd, trigger->file, out.data, out.len);
	md_buf_deinit(&out);
	trigger->unsaved = ret != 0;
	return ret;
}

void trigger_forget_on_disk(struct trigger *trigger)
{
	unlinkat(triggers_of(trigger->tracer)->fd, trigger->file, 0);
}

static void restore_action(struct trigger *trigger, const char *value)
{
	uint64_t base, executed, failed;
	struct action *list = NULL, *added;
	size_t count = 0;
	int n = 0;

	if (sscanf(value, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %n", &base, &executed, &failed, &n) <
		    3 ||
	    !n || trigger->action_count == ACTIONS_MAX ||
	    actions_parse(value + n, base, &list, &count, NULL))
		return;
	if (count != 1 || !array_room(trigger->actions, trigger->action_count + 1)) {
		actions_free(list, count);
		return;
	}
	added = &trigger->actions[trigger->action_count++];
	*added = list[0];
	added->executed = executed;
	added->failed = failed;
	free(list);
}

static void restore_number(struct trigger *trigger, const char *key, long long v)
{
	if (!strcmp(key, "uid"))
		trigger->uid = (uid_t)v;
	else if (!strcmp(key, "gid"))
		trigger->gid = (gid_t)v;
	else if (!strcmp(key, "mode"))
		trigger->mode = (mode_t)v & 0777;
	else if (!strcmp(key, "created"))
		trigger->created = v;
	else if (!strcmp(key, "enabled"))
		trigger->enabled = v != 0;
	else if (!strcmp(key, "hits"))
		trigger->hits = (uint64_t)v;
	else if (!strcmp(key, "last_hit"))
		trigger->last_hit = v;
	else if (!strcmp(key, "sent"))
		trigger->sent = (uint64_t)v;
	else if (!strcmp(key, "lost"))
		trigger->lost = (uint64_t)v;
	else if (!strcmp(key, "events_lost"))
		trigger->events_lost = (uint64_t)v;
	else if (!strcmp(key, "slot"))
		counters_claim(trigger, (uint64_t)v);
	else if (!strcmp(key, "saves"))
		trigger->saves = (uint64_t)v;
}

static void restore_line(struct trigger *trigger, char *line)
{
	char *value = strchr(line, ' ');

	if (!value)
		return;
	*value++ = 0;
	if (!strcmp(line, "name")) {
		if (!name_check(value, TRIGGER_NAME_MAX, NULL))
			snprintf(trigger->name, sizeof(trigger->name), "%s", value);
	} else if (!strcmp(line, "condition")) {
		condition_deinit(&trigger->condition);
		condition_parse(value, &trigger->condition, NULL);
	} else if (!strcmp(line, "groups")) {
		owner_groups_parse(&trigger->groups, value);
	} else if (!strcmp(line, "requests")) {
		requests_read(&trigger->requests, value);
	} else if (!strcmp(line, "action")) {
		restore_action(trigger, value);
	} else {
		restore_number(trigger, line, strtoll(value, NULL, 10));
	}
}

static int restore_trigger(struct tracer *t, const char *name)
{
	struct md_buf text = MD_BUF_INIT;
	struct trigger *trigger;
	char *line, *save = NULL;
	int ret;

	if (name_check(name, TRIGGER_VIEW_MAX, NULL))
		return 0;               /* a file that was being written */
	ret = state_file_read(triggers_of(t)->fd, name, FILE_MAX, &text);
	if (!ret && !*md_buf_str(&text))
		ret = text.failed ? -ENOMEM : -EBADMSG;
	trigger = ret ? NULL : trigger_new(t, name, name, &(struct owner){ 0 });
	for (line = trigger ? strtok_r(text.data, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		restore_line(trigger, line);
	if (trigger)
		counters_restore(trigger);
	md_buf_deinit(&text);
	return ret ? ret : trigger ? 0 : -ENOMEM;
}

void triggers_restore(struct tracer *t)
{
	int fd = openat(triggers_of(t)->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		ret = d->d_name[0] == '.' ? 0 : restore_trigger(t, d->d_name);
		if (ret)
			tracer_report(t, "trigger %s cannot be restored: %s", d->d_name,
				      strerror(-ret));
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}
