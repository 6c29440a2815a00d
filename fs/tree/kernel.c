// SPDX-License-Identifier: GPL-2.0-or-later
/* available/kernel/: the events of the kernel, for users who may trace it. */
#include <errno.h>
#include <string.h>

#include "fs/base/base.h"
#include "fs/base/process.h"
#include "fs/tree/rows.h"
#include "tracer/face/tracer.h"

static bool may(const struct who *who)
{
	struct owner owner = process_owner(who);

	return kernel_allowed(fs.tracer, &owner);
}

static int show_list(const struct node *n, const struct who *who, struct md_buf *out)
{
	if (!may(who))
		return -EACCES;
	available_kernel(fs.tracer, (enum kernel_list)n->row->arg, out);
	return 0;
}

static int show_all(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)n;
	if (!may(who))
		return -EACCES;
	available_kernel_json(fs.tracer, out);
	return 0;
}

static int show_fields(const struct node *n, const struct who *who, struct md_buf *out)
{
	return may(who) ? available_kernel_fields(fs.tracer, n->parent->name, n->name, out)
			: -EACCES;
}

static const struct tree_row event_row = { .mode = S_IFREG | 0444, .show = show_fields };

static int find_event(const struct node *dir, const char *name, const struct who *who,
		      struct found *found)
{
	found->row = &event_row;
	if (!may(who))
		return -EACCES;
	return available_kernel_has(fs.tracer, dir->name, name) ? 0 : -ENOENT;
}

static void list_events(const struct node *dir, const struct who *who, struct listing *out)
{
	struct md_buf names = MD_BUF_INIT;

	if (may(who))
		available_kernel_events(fs.tracer, dir->name, &names);
	listing_add_all(out, &names, &event_row);
	md_buf_deinit(&names);
}

static const struct tree_row system_row = { .mode = S_IFDIR | 0555,
				       .find = find_event,
				       .list = list_events };

static int find_system(const struct node *dir, const char *name, const struct who *who,
		       struct found *found)
{
	(void)dir;
	found->row = &system_row;
	if (!may(who))
		return -EACCES;
	return available_kernel_has(fs.tracer, name, NULL) ? 0 : -ENOENT;
}

static void list_systems(const struct node *dir, const struct who *who, struct listing *out)
{
	struct md_buf names = MD_BUF_INIT;

	(void)dir;
	if (may(who))
		available_kernel_systems(fs.tracer, &names);
	listing_add_all(out, &names, &system_row);
	md_buf_deinit(&names);
}

/* Only where it makes a difference */
static const struct tree_row probes_row = { .mode = S_IFREG | 0444,
				       .show = show_list,
				       .arg = KERNEL_PROBES };

static int find_probes(const struct node *dir, const char *name, const struct who *who,
		       struct found *found)
{
	(void)dir, (void)who;
	found->row = &probes_row;
	return !strcmp(name, "probes") && available_kernel_probes(fs.tracer) ? 0 : -ENOENT;
}

static void list_probes(const struct node *dir, const struct who *who, struct listing *out)
{
	(void)dir, (void)who;
	if (available_kernel_probes(fs.tracer))
		listing_add(out, "probes", &probes_row, 0);
}

static const struct tree_row rows[] = {
	{ .name = "events", .mode = S_IFDIR | 0555, .find = find_system, .list = list_systems },
	{ .name = "tracepoints",
	  .mode = S_IFREG | 0444,
	  .show = show_list,
	  .arg = KERNEL_TRACEPOINTS },
	{ .name = "syscalls", .mode = S_IFREG | 0444, .show = show_list, .arg = KERNEL_SYSCALLS },
	{ .name = "contexts", .mode = S_IFREG | 0444, .show = show_list, .arg = KERNEL_CONTEXTS },
	{ .name = "groups", .mode = S_IFREG | 0444, .show = show_list, .arg = KERNEL_GROUPS },
	{ 0 }
};

/* Not `sized`: a stat(2) must not read the formats of all tracepoints. */
const struct tree_row available_kernel_json_row = { .mode = S_IFREG | 0444, .show = show_all };

const struct tree_row available_kernel_row = {
	.mode = S_IFDIR | 0555, .rows = rows, .find = find_probes, .list = list_probes
};
