/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fs/base/base.h"
#include "fs/config/config.h"
#include "fs/daemon/daemon.h"
#include "fs/fuse/fuse.h"
#include "tracer/face/tracer.h"

static void add(struct md_buf *to, const char *argument)
{
	md_buf_put(to, argument, strlen(argument) + 1);
}

/* The program's path; after an upgrade, the new program's. */
static void add_program(struct md_buf *to)
{
	static const char gone[] = " (deleted)";
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	size_t len = n > 0 ? (size_t)n : 0;

	if (len > strlen(gone) && !memcmp(path + len - strlen(gone), gone, strlen(gone)))
		len -= strlen(gone);
	path[len] = 0;
	add(to, len ? path : "/proc/self/exe");
}

/*
 * The arguments of this daemon, with absolute paths: the keeper has another current directory.
 * False: that is not possible.
 */
static bool put_arguments(struct md_buf *to, const char *mountpoint, const struct options *o,
			  char **argv)
{
	char *state = realpath(o->state, NULL);

	if (!state || strchr(state, ',')) {
		free(state);
		return false;
	}
	add_program(to);
	add(to, mountpoint);
	for (size_t i = 1; argv[0] && argv[i]; i++) {
		if (strncmp(argv[i], "-o", 2) != 0)
			continue;
		/* This daemon was started by a keeper: it has the last one below already. */
		if (!argv[i][2] && argv[i + 1] && !strncmp(argv[i + 1], "state=", 6) &&
		    !strcmp(argv[i + 1] + 6, state)) {
			i++;
			continue;
		}
		add(to, argv[i]);
		if (!argv[i][2] && argv[i + 1])
			add(to, argv[++i]);
	}
	add(to, "-o");
	md_buf_puts(to, "state=");
	add(to, state);
	free(state);
	return !to->failed;
}

void restart_offer(const char *mountpoint, const struct options *o, char **argv)
{
	struct md_buf text = MD_BUF_INIT;
	int fd = -1;

	if (!o->foreground && o->keeper && put_arguments(&text, mountpoint, o, argv))
		fd = memfd_create("trailfs-start", MFD_CLOEXEC);
	if (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len ||
	    tracer_hold(fs.tracer, HELD_START, fd))
		tracer_release(fs.tracer, HELD_START);
	if (fd >= 0)
		close(fd);
	md_buf_deinit(&text);
}
