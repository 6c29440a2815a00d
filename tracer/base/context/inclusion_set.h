/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inclusion sets: which processes a session records, by one attribute of a process. */
#ifndef TRACER_CONTEXT_INCLUSION_SET_H
#define TRACER_CONTEXT_INCLUSION_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"

/*
 * The attributes. Those from TRACK_PID to TRACK_KERNEL_VGID are of the kernel domain. Session files
 * have these numbers: a new one comes last.
 */
enum track_attr {
	TRACK_VPID, TRACK_VUID, TRACK_VGID,
	TRACK_PID, TRACK_KERNEL_VPID, TRACK_KERNEL_UID, TRACK_KERNEL_VUID,
	TRACK_KERNEL_GID, TRACK_KERNEL_VGID,
	TRACK_CGROUP, TRACK_KERNEL_CGROUP, TRACK_ATTRS,
	TRACK_IDS = TRACK_CGROUP        /* those before it have ids, the others paths */
};

struct track {
	bool some;              /* only what is in the list; else all */
	uint32_t *ids;          /* sorted, each once */
	char **paths;           /* of the attributes from TRACK_IDS on, in place of ids: as ids */
	size_t count;
};

/*
 * Applies one write: numbers, names of users or groups, paths of control groups, `*` for all; `!`
 * before a value removes it. Values that are added to `*` replace it, as with lttng-track(1). attr
 * is enum track_attr. May wait for the user database: the caller holds no lock. -EINVAL, -ENOENT,
 * -ENOSPC, -ENOMEM; `out` is then untouched.
 */
int track_apply(const struct track *old, int attr, const char *text, bool replace,
		struct track *out, struct tr_err *err);
bool track_has(const struct track *t, uint32_t id);
/*
 * The text of /proc/PID/cgroup, which has the process's control group in each hierarchy: "" if
 * there is no such process, NULL if memory is short. The caller frees it.
 */
char *track_read_cgroups(uint32_t pid);
/* Whether the set has one of these control groups, or one that it is below. */
bool track_has_cgroup(const struct track *t, const char *cgroups);
/*
 * One of the paths in such a text, *len bytes: that of version 2, or the longest if that is the
 * root group, as where containers have groups of version 1. NULL: there is none.
 */
const char *track_cgroup_path(const char *cgroups, size_t *len);
bool track_equal(const struct track *a, const struct track *b);
void track_print(const struct track *t, struct md_buf *out, char separator);
int track_copy(const struct track *from, struct track *to);
void track_deinit(struct track *t);

#endif
