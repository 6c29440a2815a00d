/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DOMAIN/maps/NAME/. Nodes hold no map: each call finds it by its name. */
#include <errno.h>
#include <string.h>

#include "fs/base/base.h"
#include "fs/base/process.h"
#include "fs/base/words.h"
#include "fs/tree/rows.h"
#include "tracer/face/tracer.h"

static const char *map_of(const struct node *n)
{
	return node_up(n, &map_row)->name;
}

static int show_file(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	return map_show(n->session, domain_of(n), map_of(n), (enum map_file)n->row->arg, out);
}

static int store_rules(const struct node *n, const struct who *who, const char *text, bool replace,
		       struct tr_err *err)
{
	int rc = domain_refuses(n, who, err);

	if (!rc)
		rc = events_check_writer(n, who, text, err);
	trim_later();
	return rc ? rc : map_store_rules(n->session, domain_of(n), map_of(n), text, replace, err);
}

static int store_setting(const struct node *n, const struct who *who, const char *text,
			 bool replace, struct tr_err *err)
{
	int rc = domain_refuses(n, who, err);

	(void)replace;
	trim_later();
	return rc ? rc : map_store_setting(n->session, domain_of(n), map_of(n),
					   (enum map_file)n->row->arg, text, err);
}

static int store_clear(const struct node *n, const struct who *who, const char *text, bool replace,
		       struct tr_err *err)
{
	(void)who, (void)replace;
	trim_later();
	if (strcmp(text, "1") != 0)
		return tr_fail_at(err, -EINVAL, text, 0, "write 1 to clear the values");
	return map_clear(n->session, domain_of(n), map_of(n));
}

static const struct tree_row rows[] = {
	{ .name = "rules", .mode = S_IFREG | 0666, .show = show_file, .store = store_rules,
	  .how = STORE_LIST, .arg = MAP_RULES, .setting = true },
	{ .name = "values", .mode = S_IFREG | 0444, .show = show_file, .arg = MAP_VALUES },
	{ .name = "values.json", .mode = S_IFREG | 0444, .show = show_file, .arg = MAP_JSON },
	{ .name = "values.sql", .mode = S_IFREG | 0444, .show = show_file, .arg = MAP_SQL },
	{ .name = "buffer_size", .mode = S_IFREG | 0666, .show = show_file,
	  .store = store_setting, .arg = MAP_BUFFER_SIZE, .setting = true },
	{ .name = "max_keys", .mode = S_IFREG | 0666, .show = show_file, .store = store_setting,
	  .arg = MAP_MAX_KEYS, .setting = true },
	{ .name = "clear", .mode = S_IFREG | 0222, .store = store_clear },
	ERROR_ROW,
	{ 0 }
};

const struct tree_row map_row = { .mode = S_IFDIR | 0777, .rows = rows };

int maps_find(const struct node *dir, const char *name, const struct who *who,
	      struct found *found)
{
	(void)who;
	found->row = &map_row;
	return map_exists(dir->session, domain_of(dir), name) ? 0 : -ENOENT;
}

void maps_each(const struct node *dir, const struct who *who, struct listing *out)
{
	struct md_buf names = MD_BUF_INIT;

	(void)who;
	maps_list(dir->session, domain_of(dir), &names);
	listing_add_all(out, &names, &map_row);
	md_buf_deinit(&names);
}

int maps_make(const struct node *dir, const char *name, const struct who *who, struct tr_err *err)
{
	int rc = words_name(name, MAP_NAME_MAX, err);

	if (!rc)
		rc = domain_refuses(dir, who, err);
	return rc ? rc : map_create(dir->session, domain_of(dir), name, err);
}

int maps_remove(const struct node *dir, const char *name, const struct who *who,
		struct tr_err *err)
{
	int rc = domain_refuses(dir, who, err);

	return rc ? rc : map_destroy(dir->session, domain_of(dir), name, err);
}
