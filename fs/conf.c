/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trailfs.conf */
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/options.h"

struct reading {
	struct options *options;
	const char *path;
	int rc;
};

/* Returns 0 for a mistake, as inih wants it. */
static int line(void *reading, const char *section, const char *name, const char *value)
{
	struct reading *r = reading;
	int rc;

	if (strcmp(section, "trailfs")) {
		say(SAY_ERROR, "%s: unknown section [%s]; options belong to [trailfs]", r->path, section);
		rc = -EINVAL;
	} else {
		rc = options_set(r->options, name, value);
		if (rc == -ENOENT)
			say(SAY_ERROR, "%s: unknown option '%s'", r->path, name);
	}
	if (rc && !r->rc)
		r->rc = rc;
	return !rc;
}

static int read_file(struct options *o, const char *path)
{
	struct reading r = { .options = o, .path = path };
	int n;

	if (access(path, R_OK)) {
		/* Perhaps not even the directory can be searched: HOME is another user's after su and in namespaces. */
		if (errno != ENOENT && errno != ENOTDIR)
			say(SAY_WARNING, "%s is not used: %s", path, strerror(errno));
		return 0;
	}
	n = ini_parse(path, line, &r);
	if (n > 0)
		say(SAY_ERROR, "%s: mistake in line %d", path, n);
	else if (n < 0)
		say(SAY_ERROR, "%s: cannot be read", path);
	return n ? -EINVAL : r.rc;
}

int options_read(struct options *o)
{
	const char *dir = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char *path = NULL;
	int rc = read_file(o, "/etc/trailfs.conf"), n = 0;

	if (rc)
		return rc;
	if (dir && *dir)
		n = asprintf(&path, "%s/trailfs.conf", dir);
	else if (home && *home)
		n = asprintf(&path, "%s/.config/trailfs.conf", home);
	if (n > 0)
		rc = read_file(o, path);
	if (n > 0)
		free(path);
	return n < 0 ? -ENOMEM : rc;
}
