/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel domain, as the tree shows it: who may trace it, and available/kernel/. Any thread. */
#ifndef TRACER_AVAILABLE_H
#define TRACER_AVAILABLE_H

#include <stdbool.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"
#include "tracer/base/os/cred.h"

struct tracer;
struct session;

bool kernel_is_open(const struct tracer *t);    /* there is a backend */
/*
 * Whether there is a backend and the user may use it: root, and members of the group `tracing` if
 * root's daemon serves.
 */
bool kernel_allowed(struct tracer *t, const struct owner *owner);
/* Whether the session has a kernel domain: its owner may trace the kernel. */
bool session_kernel(struct session *s);
/* -EACCES or -EOPNOTSUPP with a sentence if this user may not trace the kernel. */
int kernel_refuses(struct tracer *t, const struct owner *owner, struct tr_err *err);
/*
 * available/kernel/: names, separated by NULs; lists, one name a line; the fields of a tracepoint,
 * one a line.
 */
enum kernel_list {
	KERNEL_TRACEPOINTS,
	KERNEL_SYSCALLS,
	KERNEL_CONTEXTS,
	KERNEL_PROBES,
	KERNEL_GROUPS           /* hooks, with what records each: rule/hook.h */
};
void available_kernel(struct tracer *t, enum kernel_list what, struct md_buf *out);
/* All of it as a JSON object, with the fields of tracepoints. Reads as many files as these. */
void available_kernel_json(struct tracer *t, struct md_buf *out);
/* KERNEL_PROBES has lines: the backend is the module */
bool available_kernel_probes(struct tracer *t);
void available_kernel_systems(struct tracer *t, struct md_buf *names);
void available_kernel_events(struct tracer *t, const char *system, struct md_buf *names);
/* event NULL: the system */
bool available_kernel_has(struct tracer *t, const char *system, const char *event);
int available_kernel_fields(struct tracer *t, const char *system, const char *event,
			    struct md_buf *out);

/* Gives the tracer's keeper what the backend wants to be held, after a keeper was replaced. */
void kernel_keep(struct tracer *t);
/* Appends the line `kernel` of `version`. */
void kernel_describe(struct tracer *t, struct md_buf *out);

#endif
