/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace/, archives/, export/ltt/, export/lket/ and snapshots/NAME/. All but the last: which trace
 * image a process sees. A slot is one trace image of one session for one process. Its files have
 * nodes, and so inodes and page cache, of their own; the directories above them are the same for
 * all.
 */
#ifndef FS_TREE_TRACEDIR_H
#define FS_TREE_TRACEDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct found;
struct listing;
struct node;
struct slot;
struct who;

/* What a directory shows: the argument of its row. */
enum tracedir_form { TRACEDIR_TRACE, TRACEDIR_ARCHIVES, TRACEDIR_LTT, TRACEDIR_LKET };

/* For the rows of these directories. */
int tracedir_find(const struct node *dir, const char *name, const struct who *who,
		  struct found *found);
void tracedir_list(const struct node *dir, const struct who *who, struct listing *out);

void slot_put(struct slot *s);          /* NULL is allowed */
/*
 * True if another daemon that has this path will find the same bytes: those of a snapshot or of an
 * image that the keeper has (*salt tells which), or of a session that did not record. Sets *size
 * and *mtime then; *salt is 0 else.
 */
bool slot_settled(struct slot *s, size_t index, uint64_t *salt, uint64_t *size, int64_t *mtime);
/*
 * A file of it was opened: the trace image lasts at least until slot_release. -ESTALE: it is over,
 * look the name up again.
 */
int slot_open(struct slot *s);
void slot_release(struct slot *s);
/* Between slot_open and slot_release. */
ssize_t slot_read(struct slot *s, size_t index, uint64_t offset, void *buf, size_t size);

/*
 * Ends trace images that no process has used for two seconds; returns when to be called again, or
 * -1: never.
 */
int64_t tracedir_expire(int64_t now);
void tracedir_deinit(void);

#endif
