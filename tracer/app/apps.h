/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Applications, as the tree shows them: apps/ and available/user/. Any thread. */
#ifndef TRACER_APPS_H
#define TRACER_APPS_H

#include <stdint.h>
#include <sys/types.h>

#include "metadata/buf.h"

struct tracer;

uint32_t apps_count(const struct tracer *t);    /* registrations */
/* Viewer 0 sees all applications, others see their own. Names are separated by NULs. */
void apps_list(struct tracer *t, uid_t viewer, struct md_buf *names);
enum app_file { APP_COMM, APP_UID, APP_TRACEPOINTS, APP_FIELDS, APP_STATUS };
/* -ENOENT */
int app_show(struct tracer *t, uid_t viewer, const char *pid, enum app_file what,
	     struct md_buf *out);
int app_owner(struct tracer *t, uid_t viewer, const char *pid, uid_t *uid);	/* -ENOENT */
/*
 * available/user/: APP_TRACEPOINTS `provider:name loglevel`, or APP_FIELDS `provider:name { type
 * field; … }`, sorted, each once.
 */
void available_user(struct tracer *t, uid_t viewer, enum app_file what, struct md_buf *out);
/* All of available/user/ as a JSON object. */
void available_user_json(struct tracer *t, uid_t viewer, struct md_buf *out);

#endif
