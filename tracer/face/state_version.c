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

/* A directory without the file is new, or of a daemon before versions: its version is 1. */
int state_version_check(int dir, struct tr_err *err)
{
	struct md_buf text = MD_BUF_INIT;
	unsigned int version = 1;
	int ret = state_file_read(dir, VERSION_FILE, VERSION_BYTES, &text);

	if (!ret && sscanf(md_buf_str(&text), "%u", &version) != 1)
		version = 0;
	md_buf_deinit(&text);
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
	char text[16];
	int n = snprintf(text, sizeof(text), "%u\n", STATE_VERSION);

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
