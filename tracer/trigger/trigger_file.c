// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A trigger in the state directory: the file triggers/NAME, or triggers/NAME@UID where another
 * user's trigger has that, written whole at each change of a setting. Later counters are in
 * counters.c. Lines `KEY VALUE`:
 *
 *	name NAME
 *	uid gid mode created enabled hits last_hit sent lost events_lost slot saves
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

int trigger_save(struct trigger *g)
{
	struct md_buf out = MD_BUF_INIT;
	int ret;

	if (g->gone)
		return 0;
	counters_claim_any(g);
	g->saves++;
	md_buf_printf(&out, "name %s\nuid %u\ngid %u\nmode %u\ncreated %" PRId64 "\nenabled %d\n",
		      g->name, g->uid, g->gid, (unsigned int)g->mode, g->created, g->enabled);
	md_buf_printf(&out,
		      "hits %" PRIu64 "\nlast_hit %" PRId64 "\nsent %" PRIu64 "\nlost %" PRIu64
		      "\nevents_lost %" PRIu64 "\nslot %d\nsaves %" PRIu64 "\n",
		      g->hits, g->last_hit, g->sent, g->lost, g->events_lost, g->slot, g->saves);
	owner_groups_print(&g->groups, &out);
	if (g->condition.text)
		md_buf_printf(&out, "condition %s\n", g->condition.text);
	for (size_t i = 0; i < g->action_count; i++) {
		const struct action *a = &g->actions[i];

		md_buf_printf(&out, "action %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", a->base,
			      a->executed, a->failed, a->text);
	}
	ret = out.failed ? -ENOMEM :
	      state_file_write(g->tracer->triggers->fd, g->file, out.data, out.len);
	md_buf_deinit(&out);
	g->unsaved = ret != 0;
	return ret;
}

void trigger_forget_on_disk(struct trigger *g)
{
	unlinkat(g->tracer->triggers->fd, g->file, 0);
}

static void restore_action(struct trigger *g, const char *value)
{
	uint64_t base, executed, failed;
	struct action *list = NULL, *added;
	size_t count = 0;
	int n = 0;

	if (sscanf(value, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %n", &base, &executed, &failed, &n) <
		    3 ||
	    !n || g->action_count == ACTIONS_MAX ||
	    actions_parse(value + n, base, &list, &count, NULL))
		return;
	if (count != 1 || !array_room(g->actions, g->action_count + 1)) {
		actions_free(list, count);
		return;
	}
	added = &g->actions[g->action_count++];
	*added = list[0];
	added->executed = executed;
	added->failed = failed;
	free(list);
}

static void restore_number(struct trigger *g, const char *key, long long v)
{
	if (!strcmp(key, "uid"))
		g->uid = (uid_t)v;
	else if (!strcmp(key, "gid"))
		g->gid = (gid_t)v;
	else if (!strcmp(key, "mode"))
		g->mode = (mode_t)v & 0777;
	else if (!strcmp(key, "created"))
		g->created = v;
	else if (!strcmp(key, "enabled"))
		g->enabled = v != 0;
	else if (!strcmp(key, "hits"))
		g->hits = (uint64_t)v;
	else if (!strcmp(key, "last_hit"))
		g->last_hit = v;
	else if (!strcmp(key, "sent"))
		g->sent = (uint64_t)v;
	else if (!strcmp(key, "lost"))
		g->lost = (uint64_t)v;
	else if (!strcmp(key, "events_lost"))
		g->events_lost = (uint64_t)v;
	else if (!strcmp(key, "slot"))
		counters_claim(g, (uint64_t)v);
	else if (!strcmp(key, "saves"))
		g->saves = (uint64_t)v;
}

static void restore_line(struct trigger *g, char *line)
{
	char *value = strchr(line, ' ');

	if (!value)
		return;
	*value++ = 0;
	if (!strcmp(line, "name")) {
		if (!name_check(value, TRIGGER_NAME_MAX, NULL))
			snprintf(g->name, sizeof(g->name), "%s", value);
	} else if (!strcmp(line, "condition")) {
		condition_deinit(&g->condition);
		condition_parse(value, &g->condition, NULL);
	} else if (!strcmp(line, "groups")) {
		owner_groups_parse(&g->groups, value);
	} else if (!strcmp(line, "action")) {
		restore_action(g, value);
	} else {
		restore_number(g, line, strtoll(value, NULL, 10));
	}
}

static int restore_trigger(struct tracer *t, const char *name)
{
	struct md_buf text = MD_BUF_INIT;
	struct trigger *g;
	char *line, *save = NULL;
	int ret;

	if (name_check(name, TRIGGER_VIEW_MAX, NULL))
		return 0;               /* a file that was being written */
	ret = state_file_read(t->triggers->fd, name, FILE_MAX, &text);
	if (!ret && !*md_buf_str(&text))
		ret = text.failed ? -ENOMEM : -EBADMSG;
	g = ret ? NULL : trigger_new(t, name, name, &(struct owner){ 0 });
	for (line = g ? strtok_r(text.data, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		restore_line(g, line);
	if (g)
		counters_restore(g);
	md_buf_deinit(&text);
	return ret ? ret : g ? 0 : -ENOMEM;
}

void triggers_restore(struct tracer *t)
{
	int fd = openat(t->triggers->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;
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
