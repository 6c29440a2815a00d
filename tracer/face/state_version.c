// SPDX-License-Identifier: GPL-2.0-or-later
/* The version of what is in a state directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tracer/base/os/state_file.h"
#include "tracer/face/face.h"

#define VERSION_FILE "version"
#define VERSION_BYTES 64        /* of the file, at most */

/* 0: *version; it is 0 if the file has no number. -errno. */
static int read_version(int dir, unsigned int *version)
{
	struct md_buf text = MD_BUF_INIT;
	int ret = state_file_read(dir, VERSION_FILE, VERSION_BYTES, &text);

	if (!ret && sscanf(md_buf_str(&text), "%u", version) != 1)
		*version = 0;
	md_buf_deinit(&text);
	return ret;
}

/* A directory without the file is new, or of a daemon before versions: its version is 1. */
int state_version_check(int dir, struct tr_err *err)
{
	unsigned int version = 1;
	int ret = read_version(dir, &version);

	if (ret && ret != -ENOENT)
		return tr_fail(err, ret, "the file %s of the state directory cannot be read",
			       VERSION_FILE);
	if (!version || version > STATE_VERSION)
		return tr_fail(err, -EPROTO,
			       "the state directory has version %u, and this trailfs knows "
			       "versions up to %u: start the trailfs that has made it",
			       version, STATE_VERSION);
	return 0;
}

int state_version_note(int dir)
{
	unsigned int version = 0;
	char text[16];
	int n = snprintf(text, sizeof(text), "%u\n", STATE_VERSION);

	/* A directory without room has to do for the next daemon, too. */
	if (!read_version(dir, &version) && version == STATE_VERSION)
		return 0;
	return state_file_write(dir, VERSION_FILE, text, (size_t)n);
}

int tracer_state_known(const char *state_dir, struct tr_err *err)
{
	int dir = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC), ret;

	if (dir < 0)
		return tr_fail(err, -errno, "the state directory %s cannot be opened", state_dir);
	ret = state_version_check(dir, err);
	close(dir);
	return ret;
}
