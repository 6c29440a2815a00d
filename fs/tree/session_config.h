/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session as an INI file: every row of the tree that is marked as a setting, of the session, its
 * domains and its channels. What is written here is what the files themselves show, and it is read
 * as if it were written to them. So a setting needs nothing but its row.
 *
 *	[session]               snapshot_max_size = 0
 *	[user]                  track/vpid = *
 *	[user channel]          name = channel0, and then its files; each channel has a section
 *	[user map]              name = map0, and its rules
 *	[kernel]                the same
 *	[kernel channel]
 *	[kernel map]
 *
 * Lists have a line for each item. What is not mentioned is as in a new session. `start = yes` in
 * [session] starts it. An active session is saved with `active = yes`: a session that loads this
 * does not start, one that is made at mount from such a file does.
 */
#ifndef FS_TREE_SESSION_CONFIG_H
#define FS_TREE_SESSION_CONFIG_H

#include "fs/tree/tree.h"

#define CONFIG_ACTIVE "active"

/* The row `config` of a session. */
int config_show(const struct node *n, const struct who *who, struct md_buf *out);
int config_store(const struct node *n, const struct who *who, const char *text, bool replace,
		 struct tr_err *err);

/*
 * In pieces: what is loaded takes effect in config_end, or not at all. config_item is an
 * inifile_item.
 */
struct config;
struct config *config_begin(struct session *s, const struct who *who);         /* NULL: no memory */
int config_item(void *config, int line, const char *section, const char *key, const char *value,
		struct tr_err *err);
/* rc: of what was before. Frees it. */
int config_end(struct config *c, int rc, struct tr_err *err);

#endif
