/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/os/cred.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GROUPS_MAX 65536
#define LOOKUP_MAX 65536

/* The daemon's own groups, read before the first change. */
static struct {
	pthread_once_t once;
	gid_t *groups;
	int count;
} own = { .once = PTHREAD_ONCE_INIT };

static void save_own_groups(void)
{
	own.count = getgroups(0, NULL);
	own.groups = own.count > 0 ? calloc((size_t)own.count, sizeof(gid_t)) : NULL;
	own.count = own.groups ? getgroups(own.count, own.groups) : 0;
	if (own.count < 0)
		own.count = 0;
}

int cred_of(uid_t uid, gid_t gid, struct cred *out)
{
	char *space = malloc(LOOKUP_MAX);
	struct passwd user, *u = NULL;
	int n = 64;

	*out = (struct cred){ .uid = uid, .gid = gid };
	out->groups = calloc((size_t)n, sizeof(gid_t));
	if (!space || !out->groups)
		goto nomem;
	if (getpwuid_r(uid, &user, space, LOOKUP_MAX, &u) || !u) {
		out->groups[0] = gid;
		out->count = 1;
		free(space);
		return 0;
	}
	while (getgrouplist(u->pw_name, gid, out->groups, &n) < 0) {
		gid_t *more;

		if (n <= 0 || n > GROUPS_MAX)
			goto nomem;
		more = realloc(out->groups, (size_t)n * sizeof(gid_t));
		if (!more)
			goto nomem;
		out->groups = more;
	}
	out->count = (size_t)n;
	free(space);
	return 0;
nomem:
	free(space);
	cred_deinit(out);
	return -ENOMEM;
}

void cred_deinit(struct cred *c)
{
	free(c->groups);
	c->groups = NULL;
	c->count = 0;
}

static bool is_needed(const struct cred *c)
{
	return geteuid() == 0 && c->uid != 0;
}

/* Changes this thread only: libc's setgroups changes all threads. */
static int set_groups(size_t n, const gid_t *groups)
{
	return syscall(SYS_setgroups, n, groups) < 0 ? -errno : 0;
}

/* Effective capabilities: none, or all that are permitted. */
static int set_capabilities(bool on)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	for (int i = 0; i < 2; i++)
		data[i].effective = on ? data[i].permitted : 0;
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

void cred_leave(const struct cred *c)
{
	if (!is_needed(c))
		return;
	set_capabilities(true);
	setfsuid(0);
	setfsgid(getegid());
	set_groups((size_t)own.count, own.groups);
	set_capabilities(true);
}

int cred_enter(const struct cred *c)
{
	if (!is_needed(c))
		return 0;
	pthread_once(&own.once, save_own_groups);
	if (set_groups(c->count, c->groups) < 0)
		return -EPERM;
	setfsgid(c->gid);
	setfsuid(c->uid);
	/* setfsuid and setfsgid report no errors: -1 changes nothing and returns the current id. */
	if ((gid_t)setfsgid((gid_t)-1) == c->gid && (uid_t)setfsuid((uid_t)-1) == c->uid &&
	    !set_capabilities(false))
		return 0;
	cred_leave(c);
	return -EPERM;
}
