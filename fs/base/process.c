/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/base/process.h"

static bool read_proc(pid_t pid, const char *file, char *buf, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	buf[n] = 0;
	return true;
}

/* The 22nd word of stat; the second is the program's name in parentheses and may hold anything. */
static uint64_t start_of(const char *stat)
{
	const char *p = strrchr(stat, ')');

	for (int word = 2; p && word < 22; word++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	return p ? strtoull(p, NULL, 10) : 0;
}

void process_of(const struct who *who, struct process *out)
{
	char buf[1024], *tgid;

	*out = (struct process){ .pid = who->pid };
	if (!who->pid) {
		out->uid = who->uid;
		return;
	}
	if (read_proc(who->pid, "status", buf, sizeof(buf)) && (tgid = strstr(buf, "\nTgid:")))
		out->pid = (pid_t)strtol(tgid + 6, NULL, 10);
	if (read_proc(out->pid, "stat", buf, sizeof(buf)))
		out->start = start_of(buf);
}

/* Group 65534 stands for groups that the daemon's user namespace does not have. */
#define OVERFLOW_GROUP 65534

struct owner process_owner(const struct who *who)
{
	struct owner owner = { .uid = who->uid, .gid = who->gid };
	char buf[16384], *p, *end;
	unsigned int uid, groups;

	/* Root has all rights. A thread id may be another thread's by now: compare the user. */
	if (!who->uid || !who->pid || !read_proc(who->pid, "status", buf, sizeof(buf)) ||
	    !(p = strstr(buf, "\nUid:")) || sscanf(p, " Uid: %*u %*u %*u %u", &uid) != 1 ||
	    uid != who->uid || !(p = strstr(buf, "\nGroups:")))
		return owner;
	p += strlen("\nGroups:");
	p[strcspn(p, "\n")] = 0;
	for (; groups = (unsigned int)strtoul(p, &end, 10), end != p; p = end)
		if (groups != OVERFLOW_GROUP)
			owner_groups_add(&owner.groups, groups);
	return owner;
}

bool process_elsewhere(const struct who *who)
{
	char path[64], theirs[64], ours[64];
	struct stat root, our_root;
	ssize_t n, m;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)who->pid);
	n = who->pid ? readlink(path, theirs, sizeof(theirs)) : -1;
	m = readlink("/proc/self/ns/mnt", ours, sizeof(ours));
	if (n <= 0 || n != m || memcmp(theirs, ours, (size_t)n) != 0)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/root", (int)who->pid);
	return stat(path, &root) || stat("/proc/self/root", &our_root) ||
	       root.st_dev != our_root.st_dev || root.st_ino != our_root.st_ino;
}

int process_check_paths(const struct who *who, const char *text, struct tr_err *err)
{
	for (const char *p = text + strspn(text, " \t\n"); *p; p += strspn(p, " \t\n")) {
		if (p[strspn(p, "!\"")] == '/' && process_elsewhere(who))
			return tr_fail_at(err, -EACCES, p, 0,
					  "you are in another mount namespace or root directory "
					  "than the daemon");
		p += strcspn(p, " \t\n");
	}
	return 0;
}

bool process_same(const struct process *a, const struct process *b)
{
	return a->pid == b->pid && a->start == b->start && a->uid == b->uid;
}
