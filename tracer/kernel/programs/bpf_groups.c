// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The control groups whose threads a channel's programs record. The kernel itself says whether the
 * thread that runs is in a group of version 2, or in one below it: so a thread that was moved into
 * a group is recorded from its next event on.
 */
#include "tracer/kernel/programs/bpf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/context/inclusion_set.h"

enum { GROUPS_MAX = 16 };       /* more are found in /proc */

/* The directory of all groups of version 2; -1: there is none. */
static int open_root(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096], place[1024];
	int fd = -1;

	while (f && fd < 0 && fgets(line, sizeof(line), f))
		if (strstr(line, " - cgroup2 ") &&
		    sscanf(line, "%*s %*s %*s / %1023s", place) == 1)
			fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f)
		fclose(f);
	return fd;
}

static int open_group(int root, const char *path)
{
	if (strstr(path, "/../") || (strlen(path) > 2 && !strcmp(path + strlen(path) - 3, "/..")))
		return -1;
	path += strspn(path, "/");
	return openat(root, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int bpf_groups_make(void)
{
	return bpf_map_create(&(struct bpf_map_spec){ .type = BPF_MAP_TYPE_CGROUP_ARRAY,
						      .key_size = 4, .value_size = 4,
						      .entries = GROUPS_MAX,
						      .name = "trailfs_groups" });
}

/* Opens the groups that exist, GROUPS_MAX at most. Returns their number. */
static int open_groups(const struct track *set, int *fds)
{
	int root = set ? open_root() : -1, count = 0;

	for (size_t i = 0; root >= 0 && i < set->count && count < GROUPS_MAX; i++) {
		fds[count] = open_group(root, set->paths[i]);
		count += fds[count] >= 0;
	}
	if (root >= 0)
		close(root);
	return count;
}

int bpf_groups_set(int map, const struct track *set, int before)
{
	int fds[GROUPS_MAX], count = open_groups(set, fds), ret = 0;

	/* A group that moves to another place is in both meanwhile, and so programs find it. */
	for (int n = 0; n < count; n++) {
		uint32_t i = (uint32_t)(count > before ? count - 1 - n : n);

		ret = ret ? ret : bpf_map_set(map, &i, &fds[i]);
		close(fds[i]);
	}
	/* Programs look no further than to the first free place. */
	for (uint32_t i = (uint32_t)count; i < GROUPS_MAX; i++)
		bpf_map_remove(map, &i);
	return ret ? ret : count;
}

void bpf_groups_check(struct bpf_code *c, int map, int in)
{
	int none = bpf_label(c);

	for (int i = 0; i < GROUPS_MAX; i++) {
		bpf_set_map(c, BPF_REG_1, map);
		bpf_set(c, BPF_REG_2, i);
		bpf_call(c, BPF_FUNC_current_task_under_cgroup);
		bpf_jump_if(c, BPF_JEQ, BPF_REG_0, 1, in);
		bpf_jump_if(c, BPF_JNE, BPF_REG_0, 0, none);
	}
	bpf_here(c, none);
}
