/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hidden sessions: the daemon records events for itself, for conditions of triggers and for maps.
 * Users do not see them. They begin when they are opened. Those of maps survive their daemon: they
 * are saved as other sessions, and who opened them claims them by their name. Others are in no
 * file.
 */
#ifndef TRACER_SESSION_HIDDEN_H
#define TRACER_SESSION_HIDDEN_H

#include "tracer/base/facts.h"
#include "tracer/session/session.h"

#define HIDDEN_FIELDS_MAX 64u

struct hidden_channel {
	enum domain domain;
	const char *name;               /* NULL: `channel` and its id */
	const struct rule *rule;        /* the only one */
	const char *const *contexts;    /* words, as the file `contexts` takes them */
	size_t context_count;
	const char *const *fields;      /* NAME…: one of the events that exist must have it */
	size_t field_count;             /* at most HIDDEN_FIELDS_MAX */
	const char *events;             /* what they are, for the error if none has a field */
	bool picks;                     /* applications need record no others */
	enum trail_mode loss;           /* COUNT: of a session that survives; it has no size */
	uint64_t subbuf_size;           /* bytes; also of the kernel's buffers, then */
	uint32_t subbuf_count;
};

struct hidden_spec {
	const char *prefix;             /* of its name; begins with a dot */
	struct owner owner;
	bool wakes;                     /* applications ring the bell of its regions */
	bool active;
	bool survives;                  /* the next daemon finds it: hidden_claim */
	const struct session *tracks;   /* has the same inclusion sets; NULL: all processes */
	const struct hidden_channel *channels;  /* get the ids 0, 1, … */
	size_t channel_count;
};

/* What of a spec was refused. The error's column is one of that text; of a rule, of its source. */
struct hidden_mistake {
	enum { HIDDEN_OTHER, HIDDEN_RULE, HIDDEN_CONTEXT, HIDDEN_FIELD } part;
	size_t channel, context, field; /* indices */
};

/*
 * Opens a hidden session with started channels; *out is referenced. Without lock; may take a
 * second. 0 or -errno; *what (not NULL) is set then.
 */
int hidden_open(struct tracer *t, const struct hidden_spec *spec, struct session **out,
		struct hidden_mistake *what, struct tr_err *err);
/* Checks the rules and contexts of a channel as if it were one of s. Without lock. 0 or -errno. */
int hidden_check(struct session *s, const struct hidden_channel *channel,
		 struct hidden_mistake *what, struct tr_err *err);
/* Removes the session; NULL is allowed. Without lock. */
void hidden_close(struct session *s);
/* Starts or stops recording; NULL is allowed. Without lock. */
void hidden_enable(struct session *s, bool on);
/*
 * Hits and losses of before the call do not count any more. NULL is allowed. Caller holds
 * tracer.lock, and keeps the session as it is.
 */
void hidden_clear(struct session *s);
/* Takes over the inclusion sets of another session. Without lock. */
void hidden_track(struct session *s, struct session *from);
/*
 * Appends the lines that `status` of a session has about its rules: what can record nothing now,
 * and why. NULL is allowed. Without lock; the second one: caller holds tracer.lock.
 */
void hidden_problems(struct session *s, struct md_buf *out);
void hidden_show_problems(struct session *s, struct facts *out);
/* Removes what a killed daemon had and no session has, when this one begins. */
void hidden_forget_old(struct tracer *t);
/*
 * The session of this name that an earlier daemon left, referenced as by hidden_open; NULL: there
 * is none. Without lock.
 */
struct session *hidden_claim(struct tracer *t, const char *name);
/* Closes those that were not claimed. Without lock. */
void hidden_drop_unclaimed(struct tracer *t);

#endif
