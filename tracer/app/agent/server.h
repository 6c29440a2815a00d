/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread that agents talk to, and their connections. A connection belongs to the user who has
 * its other end, as the kernel says. An agent is asked to enable the loggers that the sessions of
 * its user, and those of root, have rules on, and the application contexts that these record or
 * have in filters; filters of the channel decide on each record.
 */
#ifndef TRACER_AGENT_SERVER_H
#define TRACER_AGENT_SERVER_H

#include <pthread.h>

#include "tracer/app/agent/kind.h"
#include "tracer/session/session.h"

#define LINKS_MAX 1024u         /* connections */
#define LINKS_OF_USER 128u      /* of a user other than root */
#define LOGGERS_MAX (1u << 20)  /* bytes of one agent's list of loggers */
#define ALL_LOGGERS_MAX (16u << 20)     /* of all lists together */
#define ENABLED_MAX 64u         /* names of loggers for one agent; more: all loggers */

/* What an agent sends next. After NEW it sends answers only, one to each command. */
enum link_state { LINK_NEW, LINK_IDLE, LINK_RETURN, LINK_LIST, LINK_LIST_SIZE, LINK_LIST_NAMES };

struct agent_link {
	int fd;                         /* -1: closed */
	uid_t uid;
	uint64_t deadline;               /* of its registration, monotonic_now() */
	const struct agent_kind *kind;  /* NULL: it has not registered */
	enum link_state state;
	size_t need;                    /* bytes of what it sends next */
	struct md_buf in;               /* those that came */
	bool ready;                     /* it was told that its registration is complete */
	struct md_buf wanted, enabled;  /* loggers and contexts: items of link.c */
	/* numbers of requests: the last one, the last that was sent, the last that was answered */
	uint64_t list_asked, list_sent, list_done;
	struct md_buf loggers;          /* the answer: names, one a line */
};

struct agents {
	struct tracer *tracer;
	pthread_t thread;
	int wake;                       /* eventfd */
	bool stop;                      /* atomic */
	int listener;                   /* of the thread; -1: no session has a rule on loggers */
	bool full;                      /* of the thread: no descriptor for a new connection */
	uint16_t last_port;             /* of the thread; 0: none yet */
	/*
	 * Guards what follows. A leaf. The thread alone changes links, with the lock held; it
	 * reads them without.
	 */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool runs;                      /* the thread exists: from the first rule on loggers on */
	uint64_t asked, done;           /* numbers of agents_settle: the last one, the last done */
	uint16_t port;                  /* 0: none */
	char trouble[256];              /* why no, or not all, agents are served; "": they are */
	struct agent_link *links[LINKS_MAX];
	size_t count;
};

/*
 * Any lock state but agents.lock. Waits until the thread has seen the rules as they are now, a
 * second at most, and reports to the session, unless it is hidden, that agents cannot be served.
 */
void agents_settle(struct session *s);
/* The same, if the session has rules on loggers. */
void agents_follow(struct session *s);
/* Without lock. Lines `key value` about the agents for the rules of the session. */
void agents_show_status(struct session *s, struct md_buf *out);

/* ---- link.c: by the thread ---- */

/* NULL: no memory, or the connection's owner is not known. Owns fd in any case. */
struct agent_link *link_new(int fd);
void link_free(struct agent_link *l);
/*
 * tracer.lock. Whether the channel has the rules on loggers of a domain: the one with the domain's
 * name, and in a hidden session, whose maps have a channel for each rule, also another with a rule
 * on the domain's event.
 */
bool link_serves(const struct session *s, const struct channel *c, const struct agent_kind *k);
/* tracer.lock: collects what to enable; replaces l->wanted with agents.lock held. */
void link_update(struct agents *a, struct agent_link *l);
/*
 * agents.lock: receives what has come and sends the next command. False: the agent has ended, or
 * does not follow the protocol.
 */
bool link_serve(struct agents *a, struct agent_link *l);

#endif
