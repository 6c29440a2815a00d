/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trailfs.conf: the options. presets.c reads the sessions that follow them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/config/config.h"
#include "fs/config/inifile.h"

bool options_section(const char *section)
{
	return !strcmp(section, "trailfs") ||
	       (!strncmp(section, "user ", 5) && strcmp(section, "user channel") != 0);
}

static int item(void *options, int line, const char *section, const char *key, const char *value,
		struct tr_err *err)
{
	static const char *const of_sessions[] = { "session",	     "user",   "user channel",
						   "user map",	     "kernel", "kernel channel",
						   "kernel map" };
	int rc;

	(void)line;
	if (!key)
		return 0;
	if (!strcmp(section, "trailfs")) {
		rc = options_set(options, key, value);
		return rc == -ENOENT ? tr_fail(err, -EINVAL, "unknown option '%s'", key) : rc;
	}
	for (size_t i = 0; i < sizeof(of_sessions) / sizeof(of_sessions[0]); i++)
		if (!strcmp(section, of_sessions[i]))
			return 0;
	if (!strncmp(section, "user ", 5)) {
		rc = options_set_user(options, section + 5, key, value);
		return rc == -ENOENT ? tr_fail(err, -EINVAL,
					       "unknown option '%s'; sessions, buffers and frozen "
					       "are options of a user",
					       key)
				     : rc;
	}
	return tr_fail(err, -EINVAL,
		       "unknown section [%s]; options belong to [trailfs] or [user NAME]", section);
}

static int read_file(struct options *o, const char *path)
{
	struct tr_err err = TR_ERR_INIT;
	struct md_buf text = MD_BUF_INIT;
	int rc = inifile_load(path, &text);

	if (rc == -ENOENT || rc == -ENOTDIR) {
		rc = 0;
	} else if (rc == -EACCES) {
		/*
		 * Perhaps not even the directory can be searched: HOME is another user's after su
		 * and in namespaces.
		 */
		say(SAY_WARNING, "%s is not used: %s", path, strerror(EACCES));
		rc = 0;
	} else if (rc) {
		say(SAY_ERROR, "%s: cannot be read: %s", path, strerror(-rc));
	} else {
		rc = inifile_read(md_buf_str(&text), item, o, &err);
		if (rc)
			say(SAY_ERROR, "%s: mistake in line %d%s%s", path, err.line,
			    err.sentence[0] ? ": " : "", err.sentence);
	}
	md_buf_deinit(&text);
	return rc;
}

/* $XDG_CONFIG_HOME, or what stands in for it; NULL: there is none. To be freed. */
static char *own_dir(void)
{
	const char *dir = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char *path = NULL;
	int n = 0;

	if (dir && *dir)
		return strdup(dir);
	if (home && *home)
		n = asprintf(&path, "%s/.config", home);
	return n > 0 ? path : NULL;
}

void options_each_dir(void (*visit)(const char *dir))
{
	char *own = own_dir();

	if (!fs.uid)
		visit("/etc");
	if (own)
		visit(own);
	free(own);
}

int options_read(struct options *o)
{
	char *dir = own_dir(), *path = NULL;
	int rc = read_file(o, "/etc/trailfs.conf");

	if (!rc && dir) {
		rc = asprintf(&path, "%s/trailfs.conf", dir) < 0 ? -ENOMEM : read_file(o, path);
		free(path);
	}
	free(dir);
	return rc;
}
