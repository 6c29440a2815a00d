/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/base/base.h"
#include "fs/base/words.h"
#include "fs/config/config.h"
#include "fs/config/inifile.h"
#include "fs/daemon/daemon.h"
#include "fs/tree/errors.h"
#include "fs/tree/session_config.h"
#include "tracer/face/tracer.h"

#define NAME_MOST 200

struct presets {
	const char *path;
	bool has_options;               /* trailfs.conf: options_file.c reads its options */
	struct who who;
	char name[NAME_MOST + 1];       /* of the session that is being made; "" none */
	struct config *config;          /* NULL: none, or one that is left alone */
	bool skip;                      /* an earlier daemon left it */
};

static void complain(const struct presets *p, int rc, const struct tr_err *err)
{
	const struct node *root = node_by_id(NODE_ROOT);

	say(SAY_ERROR, "%s:%d: %s", p->path, err->line > 0 ? err->line : 0,
	    err->sentence[0] ? err->sentence : strerror(-rc));
	errors_result(root, p->path, &p->who, errors_count(), rc, err);
}

/* The session of now is complete. rc: what went wrong with it, if anything did. */
static int finish(struct presets *p, int rc, struct tr_err *err)
{
	if (p->config)
		rc = config_end(p->config, rc, err);
	if (rc && p->config)
		session_destroy(fs.tracer, p->name, NULL);
	p->config = NULL;
	p->name[0] = 0;
	p->skip = false;
	return rc;
}

static int begin_session(struct presets *p, const char *name, struct tr_err *err)
{
	int rc = words_name(name, NAME_MOST, err);
	struct owner owner = { .uid = p->who.uid, .gid = p->who.gid };
	struct session *s;

	if (!rc)
		rc = session_create(fs.tracer, name, &owner, err);
	if (rc == -EEXIST) {
		*err = (struct tr_err)TR_ERR_INIT;
		p->skip = true;
		rc = 0;
	}
	if (rc)
		return rc;
	strcpy(p->name, name);
	if (p->skip)
		return 0;
	s = session_get(fs.tracer, name);
	p->config = s ? config_begin(s, &p->who) : NULL;
	session_put(s);
	return p->config ? 0 : tr_fail(err, -ENOMEM, "out of memory");
}

/* The name that a file of sessions.d gives; NULL: none. */
static char *file_name(const char *path)
{
	const char *base = strrchr(path, '/') + 1, *end = strrchr(base, '.');

	return end && !strcmp(end, ".ini") ? strndup(base, (size_t)(end - base)) : NULL;
}

/* What is wrong with one session is said, and the rest of it is passed over. */
static int pass_over(struct presets *p, int line, int rc, struct tr_err *err)
{
	rc = finish(p, rc, err);
	if (rc) {
		err->line = err->line ? err->line : line;
		complain(p, rc, err);
		p->name[0] = '?';
		p->skip = true;
	}
	*err = (struct tr_err)TR_ERR_INIT;
	return 0;
}

static int item(void *presets, int line, const char *section, const char *key, const char *value,
		struct tr_err *err)
{
	struct presets *p = presets;
	char *name;
	int rc;

	if (p->has_options && options_section(section))
		return 0;
	/* The section of a session's name comes before its name. */
	if (!key && !p->name[0] && !strcmp(section, "session"))
		return 0;
	if (key && !strcmp(section, "session") && !strcmp(key, "name")) {
		pass_over(p, line, 0, err);
		rc = begin_session(p, value, err);
		return rc ? pass_over(p, line, rc, err) : 0;
	}
	if (!p->name[0]) {
		name = file_name(p->path);
		rc = name ? begin_session(p, name, err)
			  : tr_fail_at(err, -EINVAL, key ? key : section, 0,
				       "a session begins with its name: [session], name = web");
		free(name);
		if (rc)
			return pass_over(p, line, rc, err);
	}
	/* Saved while it was active: it is so again. */
	if (key && !strcmp(section, "session") && !strcmp(key, CONFIG_ACTIVE))
		key = "start";
	rc = p->skip ? 0 : config_item(p->config, line, section, key, value, err);
	return rc ? pass_over(p, line, rc, err) : 0;
}

static void read_file(const char *path)
{
	/* The daemon itself writes: paths are those that it sees. */
	struct presets p = {
		.path = path,
		.who = { .uid = fs.uid, .gid = fs.gid, .pid = getpid() },
	};
	struct tr_err err = TR_ERR_INIT;
	struct md_buf text = MD_BUF_INIT;
	char *name = file_name(path);
	int rc = inifile_load(path, &text);

	p.has_options = !name;
	free(name);
	if (!rc)
		rc = inifile_read(md_buf_str(&text), item, &p, &err);
	if (rc != -ENOENT && rc != -ENOTDIR && rc != -EACCES)
		pass_over(&p, 0, rc, &err);
	md_buf_deinit(&text);
}

/* trailfs.conf and trailfs/sessions.d below dir. */
static void read_below(const char *dir)
{
	char *path;

	if (asprintf(&path, "%s/trailfs.conf", dir) < 0)
		return;
	read_file(path);
	free(path);
	inifile_each(dir, "trailfs/sessions.d", read_file);
}

void presets_make(void)
{
	options_each_dir(read_below);
}
