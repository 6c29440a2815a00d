/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/base/base.h"
#include "fs/config/config.h"
#include "fs/config/inifile.h"
#include "fs/daemon/daemon.h"
#include "tracer/base/rule/hook.h"

static int item(void *section, int line, const char *name, const char *key, const char *value,
		struct tr_err *err)
{
	(void)line;
	return hook_item(section, name, key, value, err);
}

static void read_file(const char *path)
{
	struct hook_section section = { 0 };
	struct tr_err err = TR_ERR_INIT;
	struct md_buf text = MD_BUF_INIT;
	int rc = inifile_load(path, &text);

	if (!rc)
		rc = inifile_read(md_buf_str(&text), item, &section, &err);
	if (rc && rc != -ENOENT && rc != -EACCES)
		say(SAY_ERROR, "%s:%d: %s", path, err.line > 0 ? err.line : 0,
		    err.sentence[0] ? err.sentence : strerror(-rc));
	md_buf_deinit(&text);
}

static void read_below(const char *dir)
{
	inifile_each(dir, "trailfs/groups.d", read_file);
}

/* The directory that has groups/. The program is in bin/, or in a build directory. */
static const char *find_data(char path[PATH_MAX])
{
	static const char *const places[] = { "/../share/trailfs", "/../data" };
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 64);
	char *name = NULL;

	if (n > 0) {
		path[n] = '\0';
		name = strrchr(path, '/');
	}
	for (size_t i = 0; name && i < sizeof(places) / sizeof(places[0]); i++) {
		sprintf(name, "%s/groups", places[i]);
		if (!access(path, R_OK)) {
			*strrchr(path, '/') = '\0';
			return path;
		}
	}
	return "/usr/share/trailfs";
}

void groups_load(void)
{
	char path[PATH_MAX];

	inifile_each(find_data(path), "groups", read_file);
	options_each_dir(read_below);
}
