/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/base/process.h"
#include "fs/base/words.h"
#include "fs/config/config.h"
#include "fs/config/inifile.h"
#include "fs/tree/errors.h"
#include "fs/tree/rows.h"
#include "fs/tree/trigger_config.h"
#include "tracer/face/tracer.h"
#include "tracer/trigger/trigger_files.h"

/* What a file says, until it is read to its end. */
struct trigger_ini {
	char name[NAME_MAX + 1];        /* "": none was given */
	bool takes_name;
	char *condition;
	int condition_line;
	struct md_buf actions;          /* lines */
	struct md_buf action_lines;     /* int each: their numbers in the file */
	bool enabled;
};

static void add_lines(struct md_buf *out, const char *key, struct md_buf *lines)
{
	const char *line = md_buf_str(lines), *end;

	for (; *line; line = end + (*end == '\n')) {
		end = strchrnul(line, '\n');
		md_buf_printf(out, "%s = %.*s\n", key, (int)(end - line), line);
	}
	out->failed = out->failed || lines->failed;
	md_buf_deinit(lines);
}

int trigger_config_show(const struct node *n, const struct who *who, struct md_buf *out)
{
	static const char *const keys[] = {
		[TRIGGER_CONDITION] = "condition", [TRIGGER_ACTIONS] = "actions",
		[TRIGGER_ENABLED] = "enabled",
	};
	struct trigger *trigger = trigger_of(n);

	(void)who;
	if (!trigger)
		return -ENOENT;
	md_buf_puts(out, "[trigger]\n");
	for (int i = TRIGGER_CONDITION; i <= TRIGGER_ENABLED; i++) {
		struct md_buf lines = MD_BUF_INIT;

		trigger_show(trigger, (enum trigger_file)i, &lines);
		add_lines(out, keys[i], &lines);
	}
	trigger_put(trigger);
	return 0;
}

static int take_enabled(struct trigger_ini *ini, const char *value, struct tr_err *err)
{
	if (!strcmp(value, "1") || !strcmp(value, "yes"))
		ini->enabled = true;
	else if (!strcmp(value, "0") || !strcmp(value, "no"))
		ini->enabled = false;
	else
		return tr_fail_at(err, -EINVAL, value, 0, "not one of 0, 1");
	return 0;
}

static int take_condition(struct trigger_ini *ini, int line, const char *value, struct tr_err *err)
{
	if (ini->condition)
		return tr_fail_at(err, -EINVAL, value, 0, "a trigger has one condition");
	ini->condition = strdup(value);
	ini->condition_line = line;
	return ini->condition ? 0 : -ENOMEM;
}

static int item(void *arg, int line, const char *section, const char *key, const char *value,
		struct tr_err *err)
{
	struct trigger_ini *ini = arg;
	int rc;

	if (strcmp(section, "trigger") != 0)
		return tr_fail_at(err, -EINVAL, section, 0, "no such section; there is [trigger]");
	if (!key)
		return 0;
	if (!strcmp(key, "condition"))
		return take_condition(ini, line, value, err);
	if (!strcmp(key, "enabled"))
		return take_enabled(ini, value, err);
	if (!strcmp(key, "actions")) {
		md_buf_printf(&ini->actions, "%s\n", value);
		md_buf_put(&ini->action_lines, &line, sizeof(line));
		return ini->actions.failed || ini->action_lines.failed ? -ENOMEM : 0;
	}
	if (!strcmp(key, "name") && ini->takes_name) {
		rc = words_name(value, TRIGGER_NAME_MAX, err);
		if (!rc)
			snprintf(ini->name, sizeof(ini->name), "%s", value);
		return rc;
	}
	return tr_fail_at(err, -EINVAL, key, 0,
			  "no such key; there are condition, actions, enabled");
}

static void deinit(struct trigger_ini *ini)
{
	free(ini->condition);
	md_buf_deinit(&ini->actions);
	md_buf_deinit(&ini->action_lines);
}

/* A mistake in line err->line of the condition or the actions: which line of the file that is. */
static int file_line(const struct trigger_ini *ini, enum trigger_file wrong, int line)
{
	const int *lines = (const int *)(const void *)ini->action_lines.data;
	size_t n = ini->action_lines.len / sizeof(*lines);

	if (wrong == TRIGGER_CONDITION)
		return ini->condition_line;
	return line > 0 && (size_t)line <= n ? lines[line - 1] : 0;
}

static int load(struct trigger *trigger, struct trigger_ini *ini, struct tr_err *err)
{
	enum trigger_file wrong;
	int rc = trigger_load(trigger, ini->condition ? ini->condition : "",
			      md_buf_str(&ini->actions), ini->enabled, &wrong, err);

	if (rc)
		err->line = file_line(ini, wrong, err->line);
	return rc;
}

int trigger_config_store(const struct node *n, const struct who *who, const char *text,
			 bool replace, struct tr_err *err)
{
	struct trigger_ini ini = { .enabled = true };
	struct trigger *trigger = trigger_of(n);
	int rc = trigger ? inifile_read(text, item, &ini, err) :
		     tr_fail(err, -ENOENT, "the trigger was removed");

	(void)replace;
	if (!rc && ini.condition)
		rc = check_condition_writer(trigger, ini.condition, who, err);
	if (rc && ini.condition && !err->line)
		err->line = ini.condition_line;
	if (!rc)
		rc = load(trigger, &ini, err);
	trigger_put(trigger);
	deinit(&ini);
	return rc;
}

/* ---- triggers.d ---- */

static void complain(const char *path, const struct who *who, int rc, const struct tr_err *err)
{
	say(SAY_ERROR, "%s:%d: %s", path, err->line > 0 ? err->line : 0,
	    err->sentence[0] ? err->sentence : strerror(-rc));
	errors_result(node_by_id(NODE_ROOT), path, who, errors_count(), rc, err);
}

/* Makes the trigger; one that an earlier daemon left stays as it is. */
static int make(struct trigger_ini *ini, const struct who *who, struct tr_err *err)
{
	struct owner owner = { .uid = who->uid, .gid = who->gid };
	struct trigger *trigger;
	int rc = trigger_create(fs.tracer, ini->name, &owner, err);

	if (rc == -EEXIST) {
		*err = (struct tr_err)TR_ERR_INIT;
		return 0;
	}
	if (rc)
		return rc;
	trigger = trigger_find(fs.tracer, ini->name, owner.uid);
	rc = trigger ? load(trigger, ini, err) : -ENOENT;
	trigger_put(trigger);
	if (rc)
		trigger_destroy(fs.tracer, ini->name, owner.uid, NULL);
	return rc;
}

static void read_file(const char *path)
{
	const char *base = strrchr(path, '/') + 1;
	struct trigger_ini ini = { .enabled = true, .takes_name = true };
	/* The daemon itself: paths are those that it sees. */
	struct who who = { .uid = fs.uid, .gid = fs.gid, .pid = getpid() };
	struct tr_err err = TR_ERR_INIT;
	struct md_buf text = MD_BUF_INIT;
	int rc = inifile_load(path, &text);

	snprintf(ini.name, sizeof(ini.name), "%.*s", (int)(strlen(base) - strlen(".ini")), base);
	if (!rc)
		rc = inifile_read(md_buf_str(&text), item, &ini, &err);
	if (!rc)
		rc = words_name(ini.name, TRIGGER_NAME_MAX, &err);
	if (!rc)
		rc = make(&ini, &who, &err);
	if (rc && rc != -ENOENT && rc != -EACCES)
		complain(path, &who, rc, &err);
	deinit(&ini);
	md_buf_deinit(&text);
}

static void read_below(const char *dir)
{
	inifile_each(dir, "trailfs/triggers.d", read_file);
}

void trigger_presets_make(void)
{
	options_each_dir(read_below);
}
