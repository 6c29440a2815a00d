/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The `error` files: the last failures, the newest first, in a directory and what is below it. A
 * session and a trigger have their own, so the root has none of theirs. An entry goes when the
 * next write, mkdir or rmdir of the same user in the same session or trigger, or outside them,
 * succeeds, unless it is newer than the beginning of that. The same text again replaces the earlier
 * entry. Bounded per user and in all, so that no one can make the daemon grow or push out what
 * others need to read.
 */
#ifndef FS_TREE_ERRORS_H
#define FS_TREE_ERRORS_H

#include "fs/tree/tree.h"

/*
 * Takes down how an action on (or in) n ended. rc: 0 or -errno. what: the file's name, or the
 * action's, as the text begins with. since: errors_count() when the action began: what went wrong
 * during a successful action, for instance in the copy of a snapshot that it took, stays. err: the
 * explanation; without a sentence, errno's own text stands in.
 */
void errors_result(const struct node *n, const char *what, const struct who *who, uint64_t since,
		   int rc, const struct tr_err *err);
/*
 * Takes down why n cannot be opened, listed or read: rc is -errno. False: of what is gone or
 * private, and of reads that are to be tried again, nothing is. Success takes nothing away: people
 * read `error` itself.
 */
bool errors_refused(const struct node *n, const struct who *who, int rc);
/*
 * The contents of the error file n, as who may see them: in a session or trigger all, in the root
 * one's own and root's everything.
 */
int errors_show(const struct node *n, const struct who *who, struct md_buf *out);
/*
 * Adds an entry for a failure in a session that no request caused. It belongs to the session's
 * owner. created: as in session_info.
 */
void errors_happened(const char *session, int64_t created, uid_t owner, const char *sentence);
/* How many there were since the daemon began. */
uint64_t errors_count(void);
void errors_deinit(void);

#endif
