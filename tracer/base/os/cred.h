/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Acting for a user: gives the calling thread a user's rights for files, and no others. The other
 * ids of the process stay root's, so that the user cannot signal or trace it.
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

/*
 * Looks a user up in the databases; a user without an entry has only this uid and gid. 0 or
 * -ENOMEM.
 */
int cred_of(uid_t uid, gid_t gid, struct cred *out);
void cred_deinit(struct cred *c);
/*
 * Until cred_leave this thread has these rights for files, and no effective capabilities. 0, or
 * -EPERM and nothing has changed. A daemon that does not run as root keeps its own rights.
 */
int cred_enter(const struct cred *c);
void cred_leave(const struct cred *c);

#endif
