/* SPDX-License-Identifier: GPL-2.0-or-later */
/* apps/PID/: the registered applications, each user's own. */
#include "fs/tree/rows.h"
#include "tracer/face/tracer.h"

static int show(const struct node *n, const struct who *who, struct md_buf *out)
{
	return app_show(fs.tracer, who->uid, n->parent->name, (enum app_file)n->row->arg, out);
}

static int attr(const struct node *n, const struct who *who, struct stat *st)
{
	const struct node *app = node_up(n, &app_row);
	uid_t uid;

	(void)who;
	if (!app_owner(fs.tracer, 0, app->name, &uid))
		st->st_uid = uid;
	return 0;
}

static const struct tree_row app_rows[] = {
	{ .name = "comm", .mode = S_IFREG | 0400, .show = show, .arg = APP_COMM, .attr = attr },
	{ .name = "uid", .mode = S_IFREG | 0400, .show = show, .arg = APP_UID, .attr = attr },
	{ .name = "tracepoints",
	  .mode = S_IFREG | 0400,
	  .show = show,
	  .arg = APP_TRACEPOINTS,
	  .attr = attr },
	{ .name = "fields", .mode = S_IFREG | 0400, .show = show, .arg = APP_FIELDS, .attr = attr },
	{ .name = "status", .mode = S_IFREG | 0400, .show = show, .arg = APP_STATUS, .attr = attr },
	{ 0 }
};

const struct tree_row app_row = { .mode = S_IFDIR | 0500, .rows = app_rows, .attr = attr };

int apps_find(const struct node *dir, const char *name, const struct who *who, struct found *found)
{
	uid_t uid;
	int rc = app_owner(fs.tracer, who->uid, name, &uid);

	(void)dir;
	found->row = &app_row;
	return rc;
}

void apps_each(const struct node *dir, const struct who *who, struct listing *out)
{
	struct md_buf names = MD_BUF_INIT;

	(void)dir;
	apps_list(fs.tracer, who->uid, &names);
	listing_add_all(out, &names, &app_row);
	md_buf_deinit(&names);
}
