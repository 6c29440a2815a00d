/* SPDX-License-Identifier: GPL-2.0-or-later */
/* triggers/NAME/. Nodes hold no trigger: each call finds it by its name and serial. */
#include <errno.h>
#include <stdio.h>

#include "fs/base/process.h"
#include "fs/base/words.h"
#include "fs/tree/rows.h"
#include "fs/tree/trigger_config.h"
#include "tracer/face/tracer.h"
#include "tracer/trigger/trigger_files.h"

#define PERMISSIONS 07777

static const struct tree_row trigger_row;

struct trigger *trigger_of(const struct node *n)
{
	const struct node *dir = node_up(n, &trigger_row);

	return dir ? trigger_get(fs.tracer, dir->tag) : NULL;
}

static int show_file(const struct node *n, const struct who *who, struct md_buf *out)
{
	struct trigger *trigger = trigger_of(n);

	(void)who;
	if (!trigger)
		return -ENOENT;
	trigger_show(trigger, (enum trigger_file)n->row->arg, out);
	trigger_put(trigger);
	return 0;
}

int check_condition_writer(struct trigger *trigger, const char *condition, const struct who *who,
			   struct tr_err *err)
{
	struct owner writer = process_owner(who);

	return trigger_check_writer(trigger, condition, &writer, process_elsewhere(who), err);
}

static int store_file(const struct node *n, const struct who *who, const char *text, bool replace,
		      struct tr_err *err)
{
	struct trigger *trigger = trigger_of(n);
	int rc = 0;

	if (!trigger)
		return tr_fail(err, -ENOENT, "the trigger was removed");
	if (n->row->arg == TRIGGER_ACTIONS)
		rc = process_check_paths(who, text, err);
	else if (n->row->arg == TRIGGER_CONDITION)
		rc = check_condition_writer(trigger, text, who, err);
	rc = rc ? rc : trigger_store(trigger, (enum trigger_file)n->row->arg, text, replace, err);
	trigger_put(trigger);
	return rc;
}

static uint64_t trigger_change(const struct node *n)
{
	struct trigger *trigger = trigger_of(n);
	struct trigger_info info = { 0 };

	if (trigger)
		trigger_info(trigger, &info);
	trigger_put(trigger);
	return info.change;
}

/* Owner, mode and time of a trigger's directory and of what is in it. */
static int trigger_attr(const struct node *n, const struct who *who, struct stat *st)
{
	struct trigger *trigger = trigger_of(n);
	struct trigger_info info;

	(void)who;
	if (!trigger)
		return -ENOENT;
	trigger_info(trigger, &info);
	trigger_put(trigger);
	st->st_uid = info.uid;
	st->st_gid = info.gid;
	st->st_mode &= S_IFMT | (info.mode & PERMISSIONS);
	st->st_mtim.tv_sec = (time_t)(info.created / 1000000000);
	st->st_mtim.tv_nsec = (long)(info.created % 1000000000);
	st->st_atim = st->st_ctim = st->st_mtim;
	return 0;
}

/* ---- notifications ---- */

static int notifications_open(const struct node *n, void **state)
{
	struct trigger *trigger = trigger_of(n);
	int rc = trigger ? notices_open(trigger, n->row->arg, (struct notices **)state) : -ENOENT;

	trigger_put(trigger);
	return rc;
}

static ssize_t notifications_read(void *state, uint64_t offset, void *buf, size_t size)
{
	(void)offset;
	return notices_read(state, buf, size);
}

static void notifications_close(void *state)
{
	notices_close(state);
}

static void notifications_watch(void *state, const struct notices_watcher *watcher)
{
	notices_watch(state, watcher);
}

static uint64_t notifications_number(void *state)
{
	return notices_number(state);
}

/* What an earlier daemon had for the reader is lost; a line says how many that were. */
static int notifications_resume(void *state, const struct view_place *place)
{
	notices_resume(state, place->number);
	return 0;
}

static const struct view notifications_view = {
	.open = notifications_open, .read = notifications_read, .close = notifications_close,
	.watch = notifications_watch, .streams = true, .silent = true,
	.number = notifications_number, .resume = notifications_resume,
};

/* ---- owner and mode ---- */

static int chmod_trigger(const struct node *n, mode_t mode)
{
	struct trigger *trigger = trigger_of(n);
	int rc = trigger ? trigger_chmod(trigger, mode) : -ENOENT;

	trigger_put(trigger);
	return rc;
}

static int chown_trigger(const struct node *n, uid_t uid, gid_t gid)
{
	struct trigger *trigger = trigger_of(n);
	int rc = trigger ? trigger_chown(trigger, uid, gid) : -ENOENT;

	trigger_put(trigger);
	return rc;
}

static bool top_trigger(const struct node *n, int64_t *made, char *name, size_t size)
{
	struct trigger *trigger = trigger_of(n);
	bool there = trigger;

	trigger_put(trigger);
	*made = (int64_t)n->tag;
	snprintf(name, size, "triggers/%s", n->name);
	return there;
}

/* ---- rows ---- */

static const struct tree_row trigger_rows[] = {
	{ .name = "condition", .mode = S_IFREG | 0666, .show = show_file, .store = store_file,
	  .how = STORE_LINES, .attr = trigger_attr, .arg = TRIGGER_CONDITION },
	{ .name = "actions", .mode = S_IFREG | 0666, .show = show_file, .store = store_file,
	  .how = STORE_LIST, .attr = trigger_attr, .arg = TRIGGER_ACTIONS },
	{ .name = "enabled", .mode = S_IFREG | 0666, .show = show_file, .store = store_file,
	  .attr = trigger_attr, .arg = TRIGGER_ENABLED },
	{ .name = "status", .mode = S_IFREG | 0444, .show = show_file, .change = trigger_change,
	  .attr = trigger_attr, .arg = TRIGGER_STATUS },
	{ .name = "notifications", .mode = S_IFREG | 0444, .view = &notifications_view,
	  .attr = trigger_attr },
	{ .name = "notifications.json", .mode = S_IFREG | 0444, .view = &notifications_view,
	  .attr = trigger_attr, .arg = true },
	{ .name = "config", .mode = S_IFREG | 0666, .show = trigger_config_show,
	  .store = trigger_config_store, .how = STORE_WHOLE, .attr = trigger_attr },
	{ .name = "error", .mode = S_IFREG | 0444, .show = errors_show, .attr = trigger_attr },
	{ 0 }
};

static const struct tree_row trigger_row = {
	.mode = S_IFDIR | 07777, .rows = trigger_rows, .attr = trigger_attr,
	.chmod = chmod_trigger, .chown = chown_trigger, .top = top_trigger,
};

int triggers_find(const struct node *dir, const char *name, const struct who *who,
		  struct found *found)
{
	struct trigger *trigger = trigger_find(fs.tracer, name, who->uid);
	struct trigger_info info;

	(void)dir;
	if (!trigger)
		return -ENOENT;
	trigger_info(trigger, &info);
	trigger_put(trigger);
	*found = (struct found){
		.row = &trigger_row, .tag = info.serial, .salt = (uint64_t)info.created,
	};
	return 0;
}

void triggers_each(const struct node *dir, const struct who *who, struct listing *out)
{
	struct md_buf names = MD_BUF_INIT;
	struct found found;

	triggers_list(fs.tracer, who->uid, &names);
	for (const char *p = names_next(&names, NULL); p; p = names_next(&names, p))
		if (!triggers_find(dir, p, who, &found))
			listing_add(out, p, &trigger_row, found.salt);
	md_buf_deinit(&names);
}

int triggers_make(const struct node *dir, const char *name, const struct who *who,
		  struct tr_err *err)
{
	int rc = words_name(name, TRIGGER_NAME_MAX, err);
	struct owner owner;

	(void)dir;
	if (rc)
		return rc;
	if (fs.uid && who->uid != fs.uid)
		return tr_fail(err, -EPERM, "only user %u can make triggers in this mount",
			       (unsigned)fs.uid);
	owner = process_owner(who);
	return trigger_create(fs.tracer, name, &owner, err);
}

int triggers_remove(const struct node *dir, const char *name, const struct who *who,
		    struct tr_err *err)
{
	(void)dir;
	return trigger_destroy(fs.tracer, name, who->uid, err);
}
