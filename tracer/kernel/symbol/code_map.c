// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/symbol/code_map.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define LINES_MAX 1000000u
#define DEVICES_MAX 256
#define VDSO_PAGES 4

struct local_devices {
	struct { uint32_t major, minor; } all[DEVICES_MAX];
	uint32_t count;
};

/* `START-END PERMISSIONS OFFSET MAJOR:MINOR INODE PATH`. False: none that may be executed. */
static bool parse_line(char *line, struct code_mapping *out)
{
	uint64_t end;
	char executable;
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line,
		   "%" SCNx64 "-%" SCNx64 " %*2c%c%*c %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &out->start, &end, &executable, &out->offset, &out->major, &out->minor,
		   &out->inode, &at) < 7 ||
	    executable != 'x' || end <= out->start || !at ||
	    (line[at] != '/' && strcmp(line + at, VDSO_NAME) != 0))
		return false;
	out->size = end - out->start;
	out->path = line + at;
	return true;
}

int code_map_process(int32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return pid > 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

int code_maps_read(int process, int (*fn)(void *arg, const struct code_mapping *m), void *arg)
{
	int fd = openat(process, "maps", O_RDONLY | O_CLOEXEC), ret = 0;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "re");
	struct code_mapping m;
	char *line = NULL;
	size_t size = 0;

	for (uint32_t i = 0; f && !ret && i < LINES_MAX && getline(&line, &size, f) >= 0; i++)
		if (parse_line(line, &m))
			ret = fn(arg, &m);
	free(line);
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return ret;
}

/* A read from another file system may take forever, and the daemon waits for it when it ends. */
static bool is_local(const char *type)
{
	static const char *const types[] = { "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs",
					     "tmpfs", "overlay", "squashfs", "erofs" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(type, types[i]))
			return true;
	return false;
}

struct local_devices *local_devices_read(void)
{
	struct local_devices *l = calloc(1, sizeof(*l));
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *dash, type[32];
	uint32_t major, minor;
	size_t size = 0;

	/* `ID PARENT MAJOR:MINOR ROOT PATH OPTIONS … - TYPE SOURCE OPTIONS` */
	while (l && f && l->count < DEVICES_MAX && getline(&line, &size, f) >= 0) {
		dash = strstr(line, " - ");
		if (!dash || sscanf(line, "%*s %*s %u:%u", &major, &minor) != 2 ||
		    sscanf(dash, " - %31s", type) != 1 || !is_local(type))
			continue;
		l->all[l->count].major = major;
		l->all[l->count++].minor = minor;
	}
	free(line);
	if (f)
		fclose(f);
	return l;
}

/* Opens a file that a process had mapped. Nothing but the root file system is asked. */
static int open_path(const struct code_mapping *m)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
				.resolve = RESOLVE_NO_XDEV };
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
	struct stat st;

	if (root < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, root, m->path + strspn(m->path, "/"), &how, sizeof(how));
	close(root);
	if (fd >= 0 && (fstat(fd, &st) || major(st.st_dev) != m->major ||
			minor(st.st_dev) != m->minor || st.st_ino != m->inode)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int code_map_open(const struct local_devices *l, int process, const struct code_mapping *m)
{
	char path[64];

	for (uint32_t i = 0; i < l->count; i++) {
		if (l->all[i].major != m->major || l->all[i].minor != m->minor)
			continue;
		if (process < 0)
			return open_path(m);
		/* The link leads to the mapped file itself, also from another mount namespace. */
		snprintf(path, sizeof(path), "map_files/%" PRIx64 "-%" PRIx64, m->start,
			 m->start + m->size);
		return openat(process, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	return -1;
}

int code_map_open_vdso(void)
{
	const char *at = (const char *)getauxval(AT_SYSINFO_EHDR);
	size_t size = VDSO_PAGES * (size_t)getpagesize();
	int fd = at ? memfd_create("vdso", MFD_CLOEXEC) : -1;

	/* A write from addresses that are not mapped returns less, or an error. */
	if (fd >= 0 && write(fd, at, size) <= 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}
