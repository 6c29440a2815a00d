/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
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

static char *program;   /* its absolute path, as it was started */

/*
 * The path that was given to execve(2), and not the file that it named then: after an upgrade the
 * new program is at that path, even if it is a symbolic link to the newest version.
 */
void restart_init(void)
{
	const char *path = (const char *)getauxval(AT_EXECFN);
	char file[PATH_MAX], *cwd = NULL;
	ssize_t n;

	/* A descriptor: such a path means nothing to another process. */
	if (!path || !strncmp(path, "/proc/", 6) || !strncmp(path, "/dev/", 5)) {
		n = readlink("/proc/self/exe", file, sizeof(file) - 1);
		file[n > 0 ? n : 0] = 0;
		program = n > 0 ? strdup(file) : NULL;
	} else if (*path == '/') {
		program = strdup(path);
	} else if ((cwd = getcwd(NULL, 0)) && asprintf(&program, "%s/%s", cwd, path) < 0) {
		program = NULL;
	}
	free(cwd);
}

bool restart_arguments(struct md_buf *to, const char *mountpoint, const struct options *o,
		       char **argv)
{
	char *state = realpath(o->state, NULL);

	if (!state || strchr(state, ',')) {
		free(state);
		return false;
	}
	add(to, program ? program : "/proc/self/exe");
	add(to, mountpoint);
	if (o->foreground)
		add(to, "-f");
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

	if (!o->foreground && o->keeper && restart_arguments(&text, mountpoint, o, argv))
		fd = memfd_create("trailfs-start", MFD_CLOEXEC);
	if (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len ||
	    tracer_hold(fs.tracer, HELD_START, fd))
		tracer_release(fs.tracer, HELD_START);
	if (fd >= 0)
		close(fd);
	md_buf_deinit(&text);
}
