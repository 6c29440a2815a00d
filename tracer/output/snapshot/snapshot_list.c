// SPDX-License-Identifier: GPL-2.0-or-later
/* What snapshots have in each session: their list, and the data of the files that make them. */
#include <string.h>

#include "tracer/output/snapshot/snapshot.h"

static void create_list(struct session *s)
{
	CDS_INIT_LIST_HEAD(&snapshots_of(s)->list);
}

const struct session_part snapshot_list_part = {
	.name = "list of snapshots",
	.size = sizeof(struct session_snapshots),
	.create = create_list,
};

struct snapshot *snapshot_find(const struct session *s, const char *name)
{
	struct snapshot *sn;

	cds_list_for_each_entry(sn, &snapshots_of(s)->list, node)
		if (!strcmp(sn->name, name))
			return sn;
	return NULL;
}

struct snapshot *snapshot_find_key(const struct session *s, uint64_t key)
{
	struct snapshot *sn;

	cds_list_for_each_entry(sn, &snapshots_of(s)->list, node)
		if (sn->key == key)
			return sn;
	return NULL;
}
