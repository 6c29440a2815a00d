/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Acting for a user: what one thread does with files is done with that user's rights, and no others. The process stays root's:
 * the user cannot send it signals. Private to tracer/.
 */
#ifndef TRACER_OS_CRED_H
#define TRACER_OS_CRED_H

#include <sys/types.h>

struct cred {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t count;
};

/* Rights of a user as the user and group databases have them; who is not in there has just that uid and gid. */
int cred_of(uid_t uid, gid_t gid, struct cred *out);
void cred_deinit(struct cred *c);
/*
 * From here to cred_leave this thread has these rights for files, and no capabilities. -EPERM if that cannot be had: nothing has
 * changed then. A daemon that is not root's has its user's rights only, and changes nothing.
 */
int cred_enter(const struct cred *c);
void cred_leave(const struct cred *c);

#endif
