/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What processes map that may be executed, with the build ids of the files, so that callstacks have
 * names after a process has ended. LTTng's state dump has no such event.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/hash.h"
#include "tracer/kernel/statedump/internal.h"
#include "tracer/kernel/symbol/symbol.h"

#define DEVICES_MAX 256
#define FILES_MAX 4096u         /* a power of two; of further files the build id is read again */
#define ID_TEXT (2 * SYMBOL_ID_MAX + 1)

struct file {
	uint64_t key;           /* of device and inode; 0: free */
	char id[ID_TEXT];
};

struct kdump_files {
	char devices[DEVICES_MAX][16];  /* `MAJOR:MINOR` of local file systems */
	uint32_t count;
	struct file files[FILES_MAX];
};

/*
 * File systems that answer by themselves. A read from others, as those of FUSE, may take forever,
 * and the daemon waits for the dump when it ends.
 */
static bool is_local(const char *type)
{
	static const char *const types[] = { "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs",
					     "tmpfs", "overlay", "squashfs", "erofs" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(type, types[i]))
			return true;
	return false;
}

struct kdump_files *kdump_files_create(void)
{
	struct kdump_files *k = calloc(1, sizeof(*k));
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *dash, device[16], type[32];
	size_t size = 0;

	/* `ID PARENT MAJOR:MINOR ROOT PATH OPTIONS … - TYPE SOURCE OPTIONS` */
	while (k && f && k->count < DEVICES_MAX && getline(&line, &size, f) >= 0) {
		dash = strstr(line, " - ");
		if (dash && sscanf(line, "%*s %*s %15s", device) == 1 &&
		    sscanf(dash, " - %31s", type) == 1 && is_local(type))
			strcpy(k->devices[k->count++], device);
	}
	free(line);
	if (f)
		fclose(f);
	return k;
}

void kdump_files_free(struct kdump_files *k)
{
	free(k);
}

/* The build id of a mapped file as text; "": not known. */
static void read_id(int process, uint64_t start, uint64_t end, char text[ID_TEXT])
{
	uint8_t id[SYMBOL_ID_MAX];
	char path[64];
	size_t n;
	int fd;

	*text = '\0';
	/* The link leads to the mapped file itself, also from another mount namespace. */
	snprintf(path, sizeof(path), "map_files/%" PRIx64 "-%" PRIx64, start, end);
	fd = openat(process, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return;
	n = symbol_build_id(fd, id);
	for (size_t i = 0; i < n; i++)
		sprintf(text + 2 * i, "%02x", id[i]);
	close(fd);
}

const char *kdump_file_id(struct kdump_files *k, int process, uint64_t start, uint64_t end,
			  const char *device, const char *inode)
{
	uint64_t key = hash_string(hash_step(hash_string(HASH_START, device), ' '), inode);
	struct file *f = &k->files[(key >> 20) & (FILES_MAX - 1)];
	bool local = false;

	if (f->key == key)
		return f->id;
	if (process < 0)
		return "";
	for (uint32_t i = 0; i < k->count && !local; i++) {
		/* /proc/PID/maps has hexadecimal digits. */
		unsigned int major, minor, x, y;

		local = sscanf(k->devices[i], "%u:%u", &major, &minor) == 2 &&
			sscanf(device, "%x:%x", &x, &y) == 2 && x == major && y == minor;
	}
	if (!local)
		return "";
	f->key = key;
	read_id(process, start, end, f->id);
	return f->id;
}

static int emit_line(struct kdump_sink *sink, struct kdump_files *k, int process, int32_t pid,
		     char *line)
{
	char permissions[8], device[16], inode[24];
	uint64_t start, end, offset;
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %15s %23s %n", &start, &end,
		   permissions, &offset, device, inode, &at) < 6 ||
	    !strchr(permissions, 'x') || !at ||
	    (line[at] != '/' && strcmp(line + at, "[vdso]") != 0))
		return 0;
	return kdump_emit(sink, KDUMP_PROCESS_MAPPING, pid, (uint64_t)pid, start, end - start,
			  offset,
			  line[at] == '/'
				  ? kdump_file_id(k, process, start, end, device, inode)
				  : "",
			  line + at);
}

int kdump_mappings(struct kdump_sink *sink, struct kdump_files *k, int process, int32_t pid)
{
	int fd = openat(process, "maps", O_RDONLY | O_CLOEXEC), ret = 0;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "re");
	char *line = NULL;
	size_t size = 0;

	while (f && !ret && getline(&line, &size, f) >= 0)
		ret = emit_line(sink, k, process, pid, line);
	free(line);
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return ret;
}
