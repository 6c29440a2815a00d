/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inclusion sets: which processes a session records, by one attribute of a process. */
#ifndef TRACER_CONTEXT_INCLUSION_SET_H
#define TRACER_CONTEXT_INCLUSION_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"

/* The attributes. Those from TRACK_PID on are of the kernel domain. */
enum track_attr {
	TRACK_VPID, TRACK_VUID, TRACK_VGID,
	TRACK_PID, TRACK_KERNEL_VPID, TRACK_KERNEL_UID, TRACK_KERNEL_VUID,
	TRACK_KERNEL_GID, TRACK_KERNEL_VGID, TRACK_ATTRS
};

struct track {
	bool some;              /* only the ids in the list; else all */
	uint32_t *ids;          /* sorted, each once */
	size_t count;
};

/*
 * Applies one write: numbers, names of users or groups, `*` for all; `!` before a value removes it.
 * Values that are added to `*` replace it, as with lttng-track(1). attr is enum track_attr. May
 * wait for the user database: the caller holds no lock. -EINVAL, -ENOENT, -ENOSPC, -ENOMEM; `out`
 * is then untouched.
 */
int track_apply(const struct track *old, int attr, const char *text, bool replace,
		struct track *out, struct tr_err *err);
bool track_has(const struct track *t, uint32_t id);
bool track_equal(const struct track *a, const struct track *b);
void track_print(const struct track *t, struct md_buf *out, char separator);
int track_copy(const struct track *from, struct track *to);
void track_deinit(struct track *t);

#endif
