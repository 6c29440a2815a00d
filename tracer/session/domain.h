/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracing domains: the sources of a channel's events. The user domain (app/) switches tracepoints
 * of applications on, which write into the rings. The kernel domain (kernel/) enables kernel
 * events, and copies the kernel's records into the rings. The model calls a domain only through its
 * row.
 *
 * Locks: each hook says whether the caller holds tracer.lock, or session.lock and tracer.lock
 * ("session locked"); it may release tracer.lock meanwhile if it says so. A hook may be NULL.
 * Builds with sanitizers check it at each call (session/lock_check.h).
 */
#ifndef TRACER_SESSION_DOMAIN_H
#define TRACER_SESSION_DOMAIN_H

#include <stdbool.h>

#include "metadata/buf.h"
#include "tracer/base/facts.h"
#include "tracer/base/rule/rule.h"
#include "tracer/session/lock_check.h"
#include "tracer/session/sessions.h"

struct channel;
struct filter_event;

struct known_event {
	const struct event_key *key;    /* that rules match */
	const char *name;               /* in the trace */
	int level;                      /* of the log */
	bool absent;                    /* it cannot be recorded now */
};

/* State of one write of rules before they can be checked; each domain has its own type. */
struct rule_preparation;

struct domain_ops {
	const char *name;
	size_t size;            /* of the domain's own data in the tracer: domain_data() */

	/* No other thread knows the tracer yet. Fills the data, which is zero. 0 or -errno. */
	int (*create)(struct tracer *t);
	/* No other thread knows the tracer any more. Follows create(), also if that failed. */
	void (*destroy)(struct tracer *t);

	/*
	 * Session locked; may release tracer.lock. Checks new rules against the events that exist:
	 * 0, -ENOENT, -EINVAL, … with a sentence. -EAGAIN: unlock, call prepare_rules, and check
	 * again. *prep begins as NULL; the caller passes it to end_rules.
	 */
	int (*check_rules)(struct session *s, const struct rule_list *rules,
			   struct rule_preparation **prep, struct tr_err *err);
	/*
	 * Session locked; may release tracer.lock. Checks new rules against the settings of their
	 * channel, which exists. 0, or -errno with a sentence.
	 */
	int (*check_channel)(const struct channel *c, const struct rule_list *rules,
			     struct tr_err *err);
	/*
	 * Unlocked: opens the files that the rules name, with the owner's rights. 0 or -errno with
	 * a sentence.
	 */
	int (*prepare_rules)(struct session *s, struct rule_preparation *prep,
			     const struct owner *owner, struct tr_err *err);
	/*
	 * Unlocked. Frees prep and returns ret, with the sentence for a refusal that prep explains
	 * better.
	 */
	int (*end_rules)(struct session *s, struct rule_preparation *prep, int ret,
			 struct tr_err *err);

	/*
	 * The contexts that a channel without contexts gets with its first rules like these; NULL:
	 * none. Any thread.
	 */
	const char *(*rule_contexts)(const struct rule_list *rules);

	/*
	 * Session locked; may release tracer.lock. Calls fn for each event that exists and that one
	 * of the rules matches, until it returns true. fields NULL: its fields are unknown.
	 */
	void (*each_match)(struct session *s, const struct rule_list *rules,
			   bool (*fn)(void *arg, const struct filter_event *fields), void *arg);

	/*
	 * Session locked; may release tracer.lock. A channel starts for the first time, or again.
	 * 0 or -errno with a sentence.
	 */
	int (*start)(struct channel *c, struct tr_err *err);
	/*
	 * Session locked; may release tracer.lock. Brings what is recorded in line with the rules
	 * of all channels. An event that is disabled is off on return.
	 */
	void (*apply)(struct session *s);
	/*
	 * Session locked. Whether halt() takes a millisecond at most, and no event of the domain is
	 * recorded after it.
	 */
	bool (*may_halt)(const struct session *s);
	void (*halt)(struct session *s);
	/* Session locked. Takes what programs that have ended counted as lost. */
	void (*collect)(struct session *s);
	/* Session locked. Programs are to write their state as events. */
	void (*ask_dump)(struct session *s);
	/* Unlocked: takes long. Writes the domain's own state as events, if it is asked for. */
	void (*dump)(struct session *s);
	/*
	 * Locked. 0, or -errno with a sentence if the last apply() could not do all that the
	 * channel's rules ask.
	 */
	int (*applied)(const struct channel *c, struct tr_err *err);
	/*
	 * Unlocked: waits for a writer. Events recorded so far come into the rings, and what
	 * programs that have ended counted as lost.
	 */
	void (*drain)(struct session *s);
	/*
	 * Unlocked. Adds files to an epoll(7) that are readable while drain() has something to do.
	 * How many; -errno: drain() may have work and no file says so. NULL: as -EOPNOTSUPP.
	 */
	int (*watch)(struct session *s, int epoll);
	/*
	 * Locked. Whether an event that began before now may not be complete on some CPU: views
	 * then run a barrier on all CPUs first.
	 */
	bool (*needs_cpu_barrier)(const struct session *s);
	/* Session locked. The channel is being removed. */
	void (*drop)(struct channel *c);
	/* Unlocked. Removes what no rule and no channel needs any more, in all sessions. */
	void (*gc)(struct tracer *t);
	/* Unlocked. Finds out what others changed, before status() reports it. */
	void (*check)(struct session *s);
	/*
	 * Unlocked. Calls fn, which takes no lock, for each event that the session can record now
	 * or could once. What *e points at is valid during the call. 0 or -ENOMEM.
	 */
	int (*list_events)(struct session *s, void (*fn)(void *arg, const struct known_event *e),
			   void *arg);
	/* Locked. Lines `key value` of the session's status. */
	void (*status)(const struct session *s, struct facts *out);
	/* Locked. Lines `key value` of the channel's status. */
	void (*channel_status)(const struct channel *c, struct facts *out);
	/* Locked. Prints one line of the session's file: where the domain has the channel. */
	void (*save)(const struct channel *c, struct md_buf *out);
};

/* The domains of a tracer, by enum domain. */
#define for_each_domain(d, t) \
	for (const struct domain_ops *const *d = (t)->domains; d != (t)->domains + DOMAINS; d++)

/* Each calls one hook of every domain. */
int domains_create(struct tracer *t);           /* 0 or -errno */
void domains_destroy(struct tracer *t);
void domains_apply(struct session *s);          /* session locked; may release tracer.lock */
/* session locked: may_halt() of all, and the hook of each */
bool domains_may_halt(const struct session *s);
void domains_halt(struct session *s);
void domains_collect(struct session *s);
void domains_ask_dump(struct session *s);
void domains_dump(struct session *s);           /* unlocked */
void domains_drain(struct session *s);          /* unlocked */
void domain_drain(struct session *s, enum domain domain); /* unlocked; of one alone */
void domains_check(struct session *s);          /* unlocked */
void domains_gc(struct tracer *t);              /* unlocked */

#endif
