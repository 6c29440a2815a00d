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

/* The groups of the databases. A user without an entry has only `gid`. 0 or -ENOMEM. */
static int look_up_groups(const struct owner *owner, char *space, struct cred *out)
{
	struct passwd user, *u = NULL;
	int n = 64;

	if (getpwuid_r(owner->uid, &user, space, LOOKUP_MAX, &u) || !u) {
		out->groups[0] = owner->gid;
		out->count = 1;
		return 0;
	}
	while (getgrouplist(u->pw_name, owner->gid, out->groups, &n) < 0) {
		gid_t *more;

		if (n <= 0 || n > GROUPS_MAX)
			return -ENOMEM;
		more = realloc(out->groups, (size_t)n * sizeof(gid_t));
		if (!more)
			return -ENOMEM;
		out->groups = more;
	}
	out->count = (size_t)n;
	return 0;
}

static bool has_group(const struct cred *c, gid_t group)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->groups[i] == group)
			return true;
	return false;
}

/* 0 or -ENOMEM. */
static int add_groups(const struct owner_groups *more, struct cred *out)
{
	size_t count = out->count + more->count;
	gid_t *groups = more->count ? realloc(out->groups, count * sizeof(gid_t)) : out->groups;

	if (!groups)
		return -ENOMEM;
	out->groups = groups;
	for (uint32_t i = 0; i < more->count; i++)
		if (!has_group(out, more->ids[i]))
			out->groups[out->count++] = more->ids[i];
	return 0;
}

int cred_of(const struct owner *owner, struct cred *out)
{
	char *space = malloc(LOOKUP_MAX);
	int ret = -ENOMEM;

	*out = (struct cred){ .uid = owner->uid, .gid = owner->gid };
	out->groups = calloc(64, sizeof(gid_t));
	if (space && out->groups)
		ret = look_up_groups(owner, space, out);
	if (!ret)
		ret = add_groups(&owner->groups, out);
	free(space);
	if (ret)
		cred_deinit(out);
	return ret;
}

bool owner_in_group(const struct owner *owner, const char *name)
{
	char *space = malloc(LOOKUP_MAX);
	struct group group, *g = NULL;
	struct cred cred;
	bool found = false;

	if (space && !getgrnam_r(name, &group, space, LOOKUP_MAX, &g) && g &&
	    !cred_of(owner, &cred)) {
		found = has_group(&cred, g->gr_gid);
		cred_deinit(&cred);
	}
	free(space);
	return found;
}

void owner_groups_add(struct owner_groups *g, gid_t id)
{
	if (g->count < OWNER_GROUPS_MAX)
		g->ids[g->count++] = id;
}

void owner_groups_print(const struct owner_groups *g, struct md_buf *out)
{
	md_buf_puts(out, "groups");
	for (uint32_t i = 0; i < g->count; i++)
		md_buf_printf(out, " %u", (unsigned int)g->ids[i]);
	md_buf_putc(out, '\n');
}

void owner_groups_parse(struct owner_groups *g, const char *text)
{
	char *end;

	*g = (struct owner_groups){ 0 };
	for (unsigned long id; id = strtoul(text, &end, 10), end != text; text = end)
		if (id < (gid_t)-1)
			owner_groups_add(g, (gid_t)id);
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

/* On processors of 32 bits, the older call has numbers of 16. */
#ifdef SYS_setgroups32
#define SET_GROUPS SYS_setgroups32
#else
#define SET_GROUPS SYS_setgroups
#endif

/* Changes this thread only: libc's setgroups changes all threads. */
static int set_groups(size_t n, const gid_t *groups)
{
	return syscall(SET_GROUPS, n, groups) < 0 ? -errno : 0;
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

int cred_enter_as(const struct owner *owner, struct cred *out, struct tr_err *err)
{
	int ret = cred_of(owner, out);

	if (ret)
		return tr_fail(err, ret, "out of memory");
	ret = cred_enter(out);
	if (!ret)
		return 0;
	cred_deinit(out);
	return tr_fail(err, ret, "cannot enter the rights of user %u", (unsigned int)owner->uid);
}
