// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What users put into the directory of registrations, which all may write, and is none; and how
 * much room the directory has.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tracer/app/app.h"

/* Below that, registrations of usual programs do not fit. */
#define ROOM_LEAST (64 * 1024u)

/* The names that the library gives its files: 32 hex digits, and first with a point before them. */
static bool is_registered_name(const char *name)
{
	name += *name == '.';
	return strlen(name) == 32 && strspn(name, "0123456789abcdef") == 32;
}

bool app_junk(struct tracer *t, int dir, const char *name)
{
	struct stat st;
	int ret;

	/* The system's directory belongs to root's daemon. */
	if (t->lane != TRAIL_LANE_ROOT && dir != t->apps_fds[0])
		return false;
	if (!strcmp(name, ".") || !strcmp(name, "..") ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    (S_ISREG(st.st_mode) && is_registered_name(name)))
		return false;
	ret = registration_remove_junk(dir, name);
	if (!ret)
		junk_count(t);
	else if (ret == -EAGAIN)
		t->rescan_pending = true;
	return true;
}

void app_created(struct tracer *t, const char *name)
{
	for (int i = 0; i < 2; i++)
		if (t->apps_fds[i] >= 0)
			app_junk(t, t->apps_fds[i], name);
}

void apps_status(const struct tracer *t, struct md_buf *out)
{
	struct statvfs fs;
	uint64_t room;

	md_buf_printf(out, "apps_removed %" PRIu64 "\n", junk_removed(t));
	if (t->apps_fds[0] < 0 || fstatvfs(t->apps_fds[0], &fs))
		return;
	room = (uint64_t)fs.f_bavail * fs.f_frsize;
	md_buf_printf(out, "apps_free_bytes %" PRIu64 "\n", room);
	if (room < ROOM_LEAST || (fs.f_files && !fs.f_favail))
		md_buf_printf(out,
			      "problem %s/apps: its file system is full: programs that start now "
			      "cannot register, and what they do is not counted\n",
			      t->state_dir);
}
