/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Acting for a user: gives the calling thread a user's rights for files, and no others. The other
 * ids of the process stay root's, so that the user cannot signal or trace it.
 */
#ifndef TRACER_OS_CRED_H
#define TRACER_OS_CRED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"

#define OWNER_GROUPS_MAX 256

/*
 * Groups that a process had when it made a session or a trigger: its supplementary groups
 * (credentials(7)), which systemd's SupplementaryGroups=, setpriv(1) and sg(1) set without an entry
 * in the database. More than these are left out.
 */
struct owner_groups {
	uint32_t count;
	gid_t ids[OWNER_GROUPS_MAX];
};

/* A line `groups [GID …]` of the state directory, and what follows the word. */
void owner_groups_print(const struct owner_groups *g, struct md_buf *out);
void owner_groups_parse(struct owner_groups *g, const char *text);
/* Adds a group unless there are too many. */
void owner_groups_add(struct owner_groups *g, gid_t id);

/* Whose rights a session or a trigger has. */
struct owner {
	uid_t uid;
	gid_t gid;
	struct owner_groups groups;
};

struct cred {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t count;
};

/*
 * The owner's ids and groups, and the groups that the databases give the user. 0 or -ENOMEM. May
 * wait for the databases: the caller holds no lock that others wait for.
 */
int cred_of(const struct owner *owner, struct cred *out);
void cred_deinit(struct cred *c);
/*
 * Until cred_leave this thread has these rights for files, and no effective capabilities. 0, or
 * -EPERM and nothing has changed. A daemon that does not run as root keeps its own rights.
 */
int cred_enter(const struct cred *c);
/*
 * cred_of and cred_enter. 0, and the caller ends it with cred_leave and cred_deinit; or -errno with
 * a sentence.
 */
int cred_enter_as(const struct owner *owner, struct cred *out, struct tr_err *err);
void cred_leave(const struct cred *c);

/* Whether cred_of gives the owner the group with this name. Waits as cred_of does. */
bool owner_in_group(const struct owner *owner, const char *group);

#endif
