/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/base/mounttable.h"

#define NAMESPACE_SIZE 64

/* The kernel writes space, tab, newline and backslash as three octal digits. */
static void decode_octal(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && isdigit(from[1]) && isdigit(from[2]) && isdigit(from[3])) {
			*to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
}

/* ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG…] - TYPE SOURCE OPTIONS */
static bool parse_line(char *line, struct mount_entry *out)
{
	char *rest = line, *word[5], *type;

	for (size_t i = 0; i < 5; i++)
		if (!(word[i] = strsep(&rest, " ")))
			return false;
	type = rest ? strstr(rest, " - ") : NULL;
	if (!type)
		return false;
	type += 3;
	type[strcspn(type, " \n")] = 0;
	decode_octal(word[4]);
	snprintf(out->type, sizeof(out->type), "%s", type);
	snprintf(out->device, sizeof(out->device), "%s", word[2]);
	snprintf(out->point, sizeof(out->point), "%s", word[4]);
	return true;
}

static bool find_entry(pid_t pid, const char *point, const char *type, const char *device,
		       struct mount_entry *out)
{
	char path[48] = "/proc/self/mountinfo", *line = NULL;
	struct mount_entry e;
	bool found = false;
	size_t size = 0;
	FILE *table;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	table = fopen(path, "re");
	while (table && getline(&line, &size, table) > 0) {
		if (!parse_line(line, &e) || (point && strcmp(e.point, point) != 0) ||
		    (type && strcmp(e.type, type) != 0) ||
		    (device && strcmp(e.device, device) != 0))
			continue;
		*out = e;
		found = true;
	}
	if (table)
		fclose(table);
	free(line);
	return found;
}

bool mounttable_find(pid_t pid, const char *point, const char *device, struct mount_entry *out)
{
	return find_entry(pid, point, NULL, device, out);
}

/* The mount namespace of a process, as text; false: we may not look at it. */
static bool read_namespace(const char *pid, char out[NAMESPACE_SIZE])
{
	char path[300];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/ns/mnt", pid);
	n = readlink(path, out, NAMESPACE_SIZE - 1);
	out[n > 0 ? n : 0] = 0;
	return n > 0;
}

/*
 * The daemon and its keeper stay where the daemon was started; neither lets a user look at the
 * tree.
 */
static bool serves_tree(pid_t pid, pid_t daemon)
{
	char path[48], comm[20] = "";
	FILE *f;

	if (pid == daemon)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f && !fgets(comm, sizeof(comm), f))
		comm[0] = 0;
	if (f)
		fclose(f);
	return !strcmp(comm, "trail-keeper\n");
}

pid_t mounttable_elsewhere(const char *type, const char *device, pid_t daemon,
			   struct mount_entry *out)
{
	char own[NAMESPACE_SIZE], last[NAMESPACE_SIZE] = "", theirs[NAMESPACE_SIZE];
	DIR *proc = opendir("/proc");
	struct mount_entry e;
	struct dirent *d;
	pid_t found = 0;

	if (!read_namespace("self", own))
		own[0] = 0;
	while (proc && (!found || found == daemon) && (d = readdir(proc))) {
		pid_t pid = isdigit((unsigned char)d->d_name[0]) ? (pid_t)atoi(d->d_name) : 0;

		/*
		 * Processes that follow each other mostly share a namespace: look at its table
		 * once.
		 */
		if (!pid || !read_namespace(d->d_name, theirs) || !strcmp(theirs, own) ||
		    !strcmp(theirs, last))
			continue;
		if (find_entry(pid, NULL, type, device, &e)) {
			found = serves_tree(pid, daemon) ? daemon : pid;
			*out = e;
		} else {
			memcpy(last, theirs, sizeof(last));
		}
	}
	if (proc)
		closedir(proc);
	return found;
}
