/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tables of rows in different files share.
 */
#ifndef FS_TREE_ROWS_H
#define FS_TREE_ROWS_H

#include "fs/tree/errors.h"
#include "fs/tree/tree.h"

/* readme.c: the file README at the top of the mount */
void readme_print(struct md_buf *out);
/* Prints the file schema.json. */
void schema_print(struct md_buf *out);

#define FORM_JSON 1             /* argument of a row: the file is for programs */
#define FORM_PLAIN 1            /* the same: metrics in the older format */

/* Beside files that can be written: what went wrong with them. */
#define ERROR_ROW { .name = "error", .mode = S_IFREG | 0444, .show = errors_show }

/*
 * A line of tracer/session/session_settings.def and so on as the row of a file, with the functions
 * show_setting and store_setting of the .c file.
 */
#define SETTING_FILE(name_, kind, ...) \
	{ .name = name_, .mode = S_IFREG | 0666, .show = show_setting, .store = store_setting, \
	  .how = HOW_##kind, .setting = true, __VA_ARGS__ },
#define HOW_FLAG STORE_VALUE
#define HOW_CHOICE STORE_CHOICE
#define HOW_SIZE STORE_VALUE
#define HOW_TIME STORE_VALUE
#define HOW_COUNT STORE_VALUE
#define HOW_PATH STORE_LINES
#define HOW_PLACE STORE_PAIR
#define HOW_LIST STORE_LIST

/* The daemon's own status changed. */
void root_changed(void);

/* apps.c, for the directory apps/. */
extern const struct tree_row app_row;
int apps_find(const struct node *dir, const char *name, const struct who *who, struct found *found);
void apps_each(const struct node *dir, const struct who *who, struct listing *out);

/* channel.c, for user/ and kernel/ of a session. */
extern const struct tree_row channel_row, kernel_channel_row;
/* session.c: kernel/, by which the rows below know their domain; user/, for session_config.c. */
extern const struct tree_row kernel_row, user_row;
/* 0, or why this user may not change things in this domain. */
int domain_refuses(const struct node *n, const struct who *who, struct tr_err *err);
/* agent.c: the directory of a session for this domain of agents; NULL: there is none. */
const struct tree_row *agent_row(const char *name);
void agents_list(struct listing *out);
/* The channel of the domain of agents that n is or is in; NULL: n is in none. */
const char *agent_channel_of(const struct node *n);
/* available/jul/ and so on; the argument of the row with these is the domain. */
extern const struct tree_row available_agent_rows[];
/* kernel.c: available/kernel/. */
extern const struct tree_row available_kernel_row, available_kernel_json_row;
int channels_find(const struct node *dir, const char *name, const struct who *who,
		  struct found *found);
void channels_each(const struct node *dir, const struct who *who, struct listing *out);
int channels_make(const struct node *dir, const char *name, const struct who *who,
		  struct tr_err *err);
int channels_remove(const struct node *dir, const char *name, const struct who *who,
		    struct tr_err *err);
/* channel.c: the domain that n is in. */
enum domain domain_of(const struct node *n);
/* map.c, for maps/ of user/ and kernel/. */
extern const struct tree_row map_row;
int maps_find(const struct node *dir, const char *name, const struct who *who,
	      struct found *found);
void maps_each(const struct node *dir, const struct who *who, struct listing *out);
int maps_make(const struct node *dir, const char *name, const struct who *who, struct tr_err *err);
int maps_remove(const struct node *dir, const char *name, const struct who *who,
		struct tr_err *err);
/* `events` of a channel, or of user/ and kernel/ themselves. */
int events_read(const struct node *n, const struct who *who, struct md_buf *out);
int events_write(const struct node *n, const struct who *who, const char *text, bool replace,
		 struct tr_err *err);
/* 0, or why this process may not write these rules, which name files. */
int events_check_writer(const struct node *n, const struct who *who, const char *text,
			struct tr_err *err);
/* `contexts` of the same. */
int contexts_read(const struct node *n, const struct who *who, struct md_buf *out);
int contexts_write(const struct node *n, const struct who *who, const char *text, bool replace,
		   struct tr_err *err);

/* trigger.c, for triggers/. */
int triggers_find(const struct node *dir, const char *name, const struct who *who,
		  struct found *found);
void triggers_each(const struct node *dir, const struct who *who, struct listing *out);
int triggers_make(const struct node *dir, const char *name, const struct who *who,
		  struct tr_err *err);
int triggers_remove(const struct node *dir, const char *name, const struct who *who,
		    struct tr_err *err);
/* The trigger that n is or is in, with a reference; NULL: it was removed. */
struct trigger *trigger_of(const struct node *n);

/* export.c: what is in export/. */
extern const struct tree_row export_rows[];
/* Finds none; for a file that other builds have, `error` says that this one was made without. */
int export_left_out(const struct node *dir, const char *name, const struct who *who,
		    struct found *found);
/*
 * Frees files that only stat(2) has made, after two seconds; returns when to be called again, or
 * -1: never. Any thread.
 */
int64_t export_expire(int64_t now);
/* text.c: `text` and `pipe`; the row's argument is the form. */
extern const struct view text_view, pipe_view, otlp_view;
int text_attr(const struct node *n, const struct who *who, struct stat *st);

/* tracedir.c: a directory in snapshots/. Its tag is the time it was made. */
extern const struct tree_row snapshot_row;
/* session.c: a number that grows with each change of the session's state. */
uint64_t session_change(const struct node *n);

#endif
