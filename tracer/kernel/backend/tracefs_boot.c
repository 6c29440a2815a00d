// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An instance whose memory outlives a boot: the kernel's command line makes it
 * (`reserve_mem=…:NAME trace_instance=INSTANCE^traceoff@NAME`, Linux 6.12). The kernel
 * empties it when an event is enabled, or the clock changes, for the first time in a boot.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/kernel/backend/tracefs.h"

/* The number that the file begins with, or that follows `key`; 0: there is none. */
static uint64_t read_number(int dir, const char *path, const char *key)
{
	struct md_buf text = MD_BUF_INIT;
	const char *at = NULL;
	uint64_t n;

	if (tracefs_read(dir, path, 4096, &text) > 0)
		at = key ? strstr(md_buf_str(&text), key) : md_buf_str(&text);
	n = at ? strtoull(at + (key ? strlen(key) : 0), NULL, 10) : 0;
	md_buf_deinit(&text);
	return n;
}

static void look_at_instance(const struct backend *b, struct backend_boot *out)
{
	char path[400];
	uint64_t events;

	snprintf(path, sizeof(path), "instances/%s/buffer_size_kb", out->name);
	out->bytes = 1024 * read_number(b->dir, path, NULL);
	snprintf(path, sizeof(path), "instances/%s/tracing_on", out->name);
	out->recording = read_number(b->dir, path, NULL) != 0;
	out->events = 0;
	out->lacks_first = false;
	for (unsigned int cpu = 0; cpu < 8192; cpu++) {
		snprintf(path, sizeof(path), "instances/%s/per_cpu/cpu%u/stats", out->name, cpu);
		if (faccessat(b->dir, path, F_OK, 0))
			break;
		events = read_number(b->dir, path, "entries: ");
		if (!cpu)
			out->lacks_first = !events;
		out->events += events;
	}
	out->lacks_first &= out->events != 0;
}

int tracefs_boot_find(const struct backend *b, struct backend_boot *out)
{
	int fd = openat(b->dir, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	char path[300];
	bool found = false;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -ENOENT;
	}
	while ((d = readdir(dir))) {
		/* Only such an instance has this file. */
		snprintf(path, sizeof(path), "%.255s/last_boot_info", d->d_name);
		if (d->d_name[0] == '.' || faccessat(fd, path, F_OK, 0) ||
		    (found && strcmp(d->d_name, out->name) > 0))
			continue;
		found = true;
		snprintf(out->name, sizeof(out->name), "%s", d->d_name);
	}
	closedir(dir);
	if (!found)
		return -ENOENT;
	look_at_instance(b, out);
	return 0;
}

int tracefs_boot_record(const struct backend *b, const char *name)
{
	char path[400];
	int ret;

	/* This empties the buffers. */
	snprintf(path, sizeof(path), "instances/%s/trace_clock", name);
	ret = tracefs_write(b->dir, path, "mono", false);
	snprintf(path, sizeof(path), "instances/%s/tracing_on", name);
	return ret ? ret : tracefs_write(b->dir, path, "1", false);
}
