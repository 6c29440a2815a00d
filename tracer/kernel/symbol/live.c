/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the system knows about a process of the trace, with the rights of the session's owner. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/os/open_as.h"
#include "tracer/kernel/symbol/code_map.h"
#include "tracer/kernel/symbol/process.h"

#define LINES_MAX 1000000u      /* of a file that is read here */
#define BYTES_MAX ((off_t)64 << 20)
#define LATE 1000000000         /* ns: tolerance of the start of a process, which is in ticks */

uint64_t boot_time(void)
{
	struct timespec now, since;

	if (clock_gettime(CLOCK_REALTIME, &now) || clock_gettime(CLOCK_BOOTTIME, &since))
		return UINT64_MAX;
	return (uint64_t)(now.tv_sec - since.tv_sec) * 1000000000 + (uint64_t)now.tv_nsec -
	       (uint64_t)since.tv_nsec;
}

/* ns since the epoch; 0: not known. */
static uint64_t read_start(int dir)
{
	char text[1024], *p;
	int fd = openat(dir, "stat", O_RDONLY | O_CLOEXEC), field = 2;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	uint64_t ticks, boot = boot_time();

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (p = strrchr(text, ')'); p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || boot == UINT64_MAX)
		return 0;
	ticks = strtoull(p, NULL, 10);
	return boot + ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

struct asked {
	struct symbols *s;
	int32_t pid;
};

static int add_mapping(void *arg, const struct code_mapping *m)
{
	const struct asked *a = arg;

	if (m->offset <= INT64_MAX)
		symbols_add(a->s, &(struct symbol_mapping){
					  .pid = a->pid,
					  .start = m->start,
					  .size = m->size,
					  .offset = (int64_t)m->offset,
					  .path = m->path,
					  .path_len = strlen(m->path),
				  });
	return 0;
}

/* Lines `START SIZE NAME`, both in hexadecimal digits: the form that perf has set. */
static void read_compiled(struct functions *f, FILE *in)
{
	char *line = NULL, *name;
	uint64_t start, length;
	size_t size = 0;

	for (uint32_t i = 0; i < LINES_MAX && getline(&line, &size, in) >= 0; i++) {
		line[strcspn(line, "\n")] = '\0';
		start = strtoull(line, &name, 16);
		length = strtoull(name, &name, 16);
		name += strspn(name, " ");
		if (length && *name && !functions_add(f, start, length, name, 1))
			break;
	}
	free(line);
	functions_sort(f);
}

/* uid: of the process, or the owner's. Others could give wrong names. */
static void ask_compiler(struct symbol_process *p, const struct owner *owner, uid_t uid)
{
	char path[64];
	struct stat st;
	FILE *f = NULL;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)p->pid);
	fd = ownerfile_open(owner, path, NULL);
	if (fd >= 0 && !fstat(fd, &st) && st.st_size <= BYTES_MAX && !file_is_fuse(fd) &&
	    (st.st_uid == 0 || st.st_uid == owner->uid || st.st_uid == uid))
		f = fdopen(fd, "re");
	if (f) {
		read_compiled(&p->compiled, f);
		fclose(f);
	} else if (fd >= 0) {
		close(fd);
	}
}

void process_ask(struct symbols *s, struct symbol_process *p, const struct owner *owner, bool here,
		 uint64_t time)
{
	uid_t uid = owner->uid;
	struct stat st;
	uint64_t start;
	int dir = -1;

	p->asked = true;
	if (!here)
		return;
	dir = code_map_process(p->pid);
	start = dir < 0 ? 0 : read_start(dir);
	/* A user's session has events of that user's processes only. */
	if (start && start <= time + LATE && !fstat(dir, &st) &&
	    (!owner->uid || st.st_uid == owner->uid)) {
		uid = st.st_uid;
		code_maps_read(dir, add_mapping, &(struct asked){ s, p->pid });
	}
	if (dir >= 0)
		close(dir);
	ask_compiler(p, owner, uid);
}
