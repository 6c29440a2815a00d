/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/base/context/: contexts, the values that every event of a channel has besides its own
 * fields, and inclusion sets. No lock: the caller protects the lists.
 *
 *   context.h         (this file) a channel's list of contexts, their fields and bytes
 *   kernel_context.h  contexts of the kernel domain
 *   perfcounter.h     names of performance counters
 *   inclusion_set.h   which processes a session records
 */
#ifndef TRACER_CONTEXT_CONTEXT_H
#define TRACER_CONTEXT_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "metadata/buf.h"
#include "metadata/model.h"
#include "tracer/base/base.h"
#include "tracer/base/err.h"

struct context {
	uint32_t kind;          /* enum trail_context */
	bool kernel;            /* of the kernel domain: kernel_context.h has its type */
	uint32_t perf_type;     /* TRAIL_CONTEXT_PERF: perf_event_attr.type and .config */
	uint64_t perf_config;
	char *text;     /* as written: `vpid`, `cgroup`, `perf:thread:NAME`, `$app.provider:name` */
};

struct context_list {
	struct context *items;
	size_t count;
};

/*
 * Applies one write: new = (replace ? empty : a copy of old) + its words; `!name` removes. Adding a
 * context that the list has changes nothing. `probe` checks whether the machine can deliver the
 * context (whether it has the counter, whether the kernel backend records it). On an error `out` is
 * untouched. -EINVAL; -ENOENT: no such context; -EOPNOTSUPP: the machine cannot deliver it; -ENOSPC
 * above TRAIL_CONTEXT_MAX; -ENOMEM.
 */
int context_list_apply(const struct context_list *old, enum domain domain, const char *text,
		       bool replace, bool probe, struct context_list *out, struct tr_err *err);
void context_list_deinit(struct context_list *l);
void context_list_print(const struct context_list *l, struct md_buf *out);      /* one per line */
/* The fields for md_stream_set_context; *out is NULL if there are none. 0 or -ENOMEM. */
int context_list_fields(const struct context_list *l, struct md_field **out);
/* The `provider:name` of a TRAIL_CONTEXT_APP. */
const char *context_app_name(const struct context *c);
/* It is `cgroup`, a TRAIL_CONTEXT_APP whose value the attach reply has. */
bool context_is_cgroup(const struct context *c);
/* names, one per line; only counters of this machine */
struct rows;
void context_available(struct rows *r);

/* The process for which the daemon itself writes an event. */
struct context_values {
	uint32_t pid, tid;      /* 0: unknown */
	uid_t uid;
	gid_t gid;
	char comm[17];          /* padded with NUL */
};
int64_t context_number(uint32_t kind, const struct context_values *v);  /* -1: unknown */
/* Appends the contexts' bytes. A value that is unknown of another process is 0 or absent. */
void context_list_put(const struct context_list *l, const struct context_values *v,
		      struct md_buf *out);

#endif
