/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings of a tracer, constant while it is open. */
#ifndef TRACER_SESSION_CONFIG_H
#define TRACER_SESSION_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Limits of one user; 0: no limit. */
struct user_limit {
	uid_t uid;
	uint32_t max_sessions;
	uint64_t max_buffers;           /* bytes of buffers, counted when they are made */
	uint64_t max_frozen;            /* bytes in memory that views of the user's sessions hold */
};

#define VERB_WAIT_MS 800

struct tracer_config {
	const char *state_dir;          /* /run/trailfs; made if it is missing */
	uint64_t max_frozen;            /* bytes in memory that all views together may hold */
	uint64_t apps_size;             /* app.h, apps_open(); 0: no file system of its own */
	uint32_t max_sessions;          /* 0: no limit */
	struct user_limit limit;        /* of users that are not the daemon's own nor listed: */
	const struct user_limit *user_limits;
	size_t user_limit_count;
	uint32_t wait_ms;               /* for which a verb waits for files; 0: VERB_WAIT_MS */
	uint32_t relay_timeout_ms;      /* without progress of a relay; 0: LINK_STALL_MS */
	/*
	 * A directory of this user's for the buffers of this user's programs and of the kernel, as
	 * files; NULL: they are in memory that ends with the machine.
	 */
	const char *rings;
	bool ctf2;                      /* new sessions have `ctf_version` 2 */
	/*
	 * Called from any thread, with tracer.lock held, when the status of a session changed (name
	 * NULL: of the applications or the daemon). It must only make a note and return.
	 */
	void (*changed)(void *arg, const char *session);
	void *changed_arg;
	/*
	 * Called from any thread, with any lock, when counters of a trigger's status have changed.
	 */
	void (*counted)(void);
	/*
	 * As `changed`, for a failure that no write caused; created tells sessions of one name
	 * apart ("" and 0: of no session). May be NULL. */
	void (*failed)(void *arg, const char *session, int64_t created, uid_t owner,
		       const char *sentence);
	void *failed_arg;
	/*
	 * Called with a line for the administrator, without a newline; session: the name of the one
	 * that it is about, or NULL. May be NULL. */
	void (*report)(void *arg, const char *session, const char *line);
	void *report_arg;
};

#endif
