/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trigger as an INI file: its row `config`, and the files of triggers.d.
 *
 *	[trigger]
 *	name = crash                            only in triggers.d; else the file's name
 *	condition = session web stopped
 *	actions = notify                        one line each
 *	actions = snapshot web
 *	enabled = 1
 */
#ifndef FS_TRIGGER_CONFIG_H
#define FS_TRIGGER_CONFIG_H

#include "fs/tree/tree.h"

struct trigger;

int trigger_config_show(const struct node *n, const struct who *who, struct md_buf *out);
int trigger_config_store(const struct node *n, const struct who *who, const char *text,
			 bool replace, struct tr_err *err);
/* Makes the triggers of /etc/trailfs/triggers.d and of the user's own directory. At mount. */
void trigger_presets_make(void);

/* Whether the opener may write a trigger's condition: trigger_check_writer. */
int check_condition_writer(struct trigger *trigger, const char *condition, const struct who *who,
			   struct tr_err *err);

#endif
