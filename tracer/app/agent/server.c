// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/base/facts.h"
#include "tracer/base/rows.h"
#include "tracer/app/agent/server.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tracer/app/agent/agent.h"
#include "tracer/app/agent/port_file.h"
#include "tracer/app/app.h"
#include "tracer/base/os/thread.h"

#define STACK (256 * 1024)
#define LOOK_MS 2000            /* between looks at the port file */
#define REGISTRATION_NS 10000000000u    /* for which an agent may be silent at first */
#define WAIT_NS 1000000000u     /* for which a caller waits for the thread or for agents */

/* ---- calls to the thread ---- */

static void wake_thread(struct agents *a)
{
	uint64_t one = 1;

	/* Cannot fail: the count of an eventfd does not overflow by this. */
	while (write(a->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* agents.lock. Waits for a change. False: it is too late. */
static bool wait_change(struct agents *a, uint64_t deadline)
{
	struct timespec ts = { .tv_sec = (time_t)(deadline / 1000000000),
			       .tv_nsec = (long)(deadline % 1000000000) };

	return pthread_cond_timedwait(&a->changed, &a->lock, &ts) != ETIMEDOUT;
}

static void start_thread(struct agents *a);

const struct tracer_room agent_room = { .size = sizeof(struct agents *) };

static struct agents **place_of(const struct tracer *t)
{
	return tracer_data(t, &agent_room);
}

/* NULL: agents are not served. */
static struct agents *agents_of(const struct tracer *t)
{
	return *place_of(t);
}

void agents_settle(struct session *s)
{
	uint64_t deadline = monotonic_now() + WAIT_NS, number;
	struct agents *a = agents_of(s->tracer);
	char trouble[sizeof(a->trouble)];

	if (!a)
		return;
	start_thread(a);
	pthread_mutex_lock(&a->lock);
	number = ++a->asked;
	wake_thread(a);
	while (a->runs && a->done < number && wait_change(a, deadline))
		;
	memcpy(trouble, a->trouble, sizeof(trouble));
	pthread_mutex_unlock(&a->lock);
	if (trouble[0] && !s->hidden)
		session_failed(s, "%s", trouble);
}

/* agents.lock. The link answers this user's requests for this domain. */
static bool is_shown(const struct agent_link *l, uid_t viewer, enum agent_domain domain)
{
	return l->kind == &agent_kinds[domain] && (!viewer || viewer == l->uid);
}

static bool all_answered(const struct agents *a, uid_t viewer, enum agent_domain domain,
			 uint64_t number)
{
	for (size_t i = 0; i < a->count; i++)
		if (is_shown(a->links[i], viewer, domain) && a->links[i]->list_done < number)
			return false;
	return true;
}

/* Names, one a line. */
static void ask_loggers(struct agents *a, uid_t viewer, enum agent_domain domain,
			struct md_buf *lines)
{
	uint64_t deadline = monotonic_now() + WAIT_NS, number;

	pthread_mutex_lock(&a->lock);
	number = ++a->asked;
	for (size_t i = 0; i < a->count; i++)
		if (is_shown(a->links[i], viewer, domain))
			a->links[i]->list_asked = number;
	wake_thread(a);
	while (!all_answered(a, viewer, domain, number) && wait_change(a, deadline))
		;
	for (size_t i = 0; i < a->count; i++)
		if (is_shown(a->links[i], viewer, domain))
			md_buf_put(lines, a->links[i]->loggers.data, a->links[i]->loggers.len);
	pthread_mutex_unlock(&a->lock);
}

static void add_logger(void *rows, const char *name)
{
	row_word(rows, "name", name);
}

void available_loggers(struct tracer *t, uid_t viewer, enum agent_domain domain, bool json,
		       struct md_buf *out)
{
	struct rows rows = { .out = out, .json = json };
	struct md_buf lines = MD_BUF_INIT;

	if (agents_of(t))
		ask_loggers(agents_of(t), viewer, domain, &lines);
	rows_begin(&rows);
	table_begin(&rows, "loggers", NULL);
	lines_each_sorted(&lines, add_logger, &rows);
	table_end(&rows);
	rows_end(&rows);
	out->failed |= lines.failed;
	md_buf_deinit(&lines);
}

/* ---- the part of a session ---- */

/* tracer.lock. The domains in which the session has rules, one bit each. */
static unsigned int domains_of(const struct session *s)
{
	const struct channel *c;
	unsigned int found = 0;

	cds_list_for_each_entry(c, &s->channels, node)
		for (size_t i = 0; i < AGENT_DOMAINS; i++)
			if (link_serves(s, c, &agent_kinds[i]))
				found |= 1u << i;
	return found;
}

void agents_follow(struct session *s)
{
	unsigned int domains;

	pthread_mutex_lock(&s->tracer->lock);
	domains = domains_of(s);
	pthread_mutex_unlock(&s->tracer->lock);
	if (domains)
		agents_settle(s);
}

/* tracer.lock */
static void session_has_changed(struct session *s)
{
	struct agents *a = agents_of(s->tracer);

	if (!a)
		return;
	if (domains_of(s))
		start_thread(a);
	wake_thread(a);
}

static void session_is_dropped(struct session *s, bool keep)
{
	(void)keep;
	session_has_changed(s);
}

/* Why no program is counted. others: programs of other users or domains that are connected. */
static void advise(unsigned int domains, unsigned int others, struct facts *out)
{
	bool python = domains & 1u << AGENT_PYTHON, java = domains & ~(1u << AGENT_PYTHON);
	char place[PATH_MAX];

	if (port_file_place(place))
		return;
	fact_item(out, "advice",
		  "agents: no program is connected%s:%s%s it runs with "
		  "LD_LIBRARY_PATH=LIBDIR/trail/lttng and finds %s/agent.port%s",
		  others ? ", but those of other users or domains" : "",
		  python ? " a Python program imports lttngust;" : "",
		  java ? " a Java program has the classes org.lttng.ust.agent;" : "", place,
		  python ? ", which Python reads only when the program starts" : "");
}

static void show_status(struct session *s, struct facts *out)
{
	struct agents *a = agents_of(s->tracer);
	unsigned int domains = domains_of(s), n = 0, others = 0;

	if (!a || !domains)
		return;
	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < a->count; i++) {
		const struct agent_link *l = a->links[i];
		bool counts = l->ready && (!s->uid || s->uid == l->uid) &&
			      domains >> (l->kind - agent_kinds) & 1;

		n += counts;
		others += l->ready && !counts;
	}
	fact_number(out, "agents", n);
	fact_number(out, "agent_port", a->port);
	if (a->trouble[0])
		fact_item(out, "problem", "agents: %s", a->trouble);
	else if (!n)
		advise(domains, others, out);
	pthread_mutex_unlock(&a->lock);
}

void agents_show_status(struct session *s, struct md_buf *out)
{
	struct facts lines = { .out = out };

	pthread_mutex_lock(&s->tracer->lock);
	show_status(s, &lines);
	pthread_mutex_unlock(&s->tracer->lock);
}

const struct session_part agent_part = {
	.name = "agents",
	.changed = session_has_changed,
	.drop = session_is_dropped,
	.status = show_status,
};

/* ---- the thread ---- */

static bool is_needed(struct tracer *t)
{
	struct session *s;
	bool needed = false;

	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(s, &t->sessions, node)
		needed = needed || (!s->gone && domains_of(s));
	pthread_mutex_unlock(&t->lock);
	return needed;
}

static void set_state(struct agents *a, uint16_t port, const char *trouble)
{
	bool new;

	pthread_mutex_lock(&a->lock);
	new = strcmp(a->trouble, trouble) != 0;
	a->port = port;
	snprintf(a->trouble, sizeof(a->trouble), "%s", trouble);
	pthread_mutex_unlock(&a->lock);
	if (new && *trouble)
		tracer_report(a->tracer, "agents: %s", trouble);
}

/* Opens or closes the port as the sessions need it. */
static void keep_port(struct agents *a, bool needed)
{
	struct tr_err err = TR_ERR_INIT;

	if (!needed && a->listener >= 0) {
		port_file_close(a->listener, a->last_port);
		a->listener = -1;
	} else if (needed && a->listener < 0) {
		a->listener = port_file_open(&a->last_port, &err);
	} else if (needed) {
		port_file_check(a->last_port, &err);
	}
	set_state(a, a->listener >= 0 ? a->last_port : 0, err.sentence);
}

static bool has_room(const struct agents *a, uid_t uid)
{
	size_t n = 0;

	for (size_t i = 0; i < a->count; i++)
		n += a->links[i]->uid == uid;
	return a->count < LINKS_MAX && (!uid || n < LINKS_OF_USER);
}

static void accept_links(struct agents *a)
{
	for (;;) {
		int fd = accept4(a->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct agent_link *l;

		if (fd < 0) {
			a->full = errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
				  errno == ENOBUFS;
			return;
		}
		l = link_new(fd);
		if (l && !has_room(a, l->uid)) {
			link_free(l);
			l = NULL;
		}
		if (!l)
			continue;
		l->deadline = monotonic_now() + REGISTRATION_NS;
		pthread_mutex_lock(&a->lock);
		a->links[a->count++] = l;
		pthread_mutex_unlock(&a->lock);
	}
}

/* Without a lock. Marks the link as closed if it has ended. */
static void serve_link(struct agents *a, struct agent_link *l)
{
	bool was_new = !l->kind, ok;

	pthread_mutex_lock(&a->lock);
	ok = link_serve(a, l);
	pthread_mutex_unlock(&a->lock);
	if (ok && was_new && l->kind) {
		link_update(a, l);
		pthread_mutex_lock(&a->lock);
		ok = link_serve(a, l);
		pthread_mutex_unlock(&a->lock);
	}
	if (ok && !l->kind && monotonic_now() > l->deadline)
		ok = false;
	if (!ok) {
		pthread_mutex_lock(&a->lock);
		close(l->fd);
		l->fd = -1;
		pthread_mutex_unlock(&a->lock);
	}
}

static void drop_closed(struct agents *a)
{
	size_t kept = 0;

	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < a->count; i++) {
		if (a->links[i]->fd < 0)
			link_free(a->links[i]);
		else
			a->links[kept++] = a->links[i];
	}
	if (kept < a->count)
		pthread_cond_broadcast(&a->changed);
	a->count = kept;
	pthread_mutex_unlock(&a->lock);
}

/* Does what is to be done now. False: the thread must stop. */
static bool work(struct agents *a, bool woken)
{
	uint64_t asked;

	pthread_mutex_lock(&a->lock);
	asked = a->asked;
	pthread_mutex_unlock(&a->lock);
	if (__atomic_load_n(&a->stop, __ATOMIC_ACQUIRE))
		return false;
	keep_port(a, is_needed(a->tracer));
	if (a->listener >= 0)
		accept_links(a);
	for (size_t i = 0; i < a->count; i++) {
		if (woken)
			link_update(a, a->links[i]);
		serve_link(a, a->links[i]);
	}
	drop_closed(a);
	pthread_mutex_lock(&a->lock);
	a->done = asked;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	return true;
}

static void *run(void *arg)
{
	struct agents *a = arg;
	struct pollfd *fds = calloc(LINKS_MAX + 2, sizeof(*fds));
	bool woken = true;

	while (fds && work(a, woken)) {
		nfds_t n = 0;
		uint64_t count;

		fds[n++] = (struct pollfd){ .fd = a->wake, .events = POLLIN };
		fds[n++] = (struct pollfd){ .fd = a->full ? -1 : a->listener, .events = POLLIN };
		for (size_t i = 0; i < a->count; i++)
			fds[n++] = (struct pollfd){ .fd = a->links[i]->fd, .events = POLLIN };
		poll(fds, n, a->listener >= 0 || a->trouble[0] || a->count ? LOOK_MS : -1);
		woken = fds[0].revents && read(a->wake, &count, sizeof(count)) > 0;
	}
	free(fds);
	return NULL;
}

/* Unless it runs. Any lock state but agents.lock. */
static void start_thread(struct agents *a)
{
	pthread_attr_t attr;
	int err = 0;

	pthread_mutex_lock(&a->lock);
	if (!a->runs) {
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, STACK);
		err = pthread_create(&a->thread, &attr, run, a);
		pthread_attr_destroy(&attr);
		a->runs = !err;
	}
	pthread_mutex_unlock(&a->lock);
	if (err)
		tracer_report(a->tracer, "agents are not served: %s", strerror(err));
}

void agents_open(struct tracer *t)
{
	struct agents *a = calloc(1, sizeof(*a));
	bool needed = is_needed(t);

	if (a) {
		*a = (struct agents){ .tracer = t, .listener = -1 };
		a->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	}
	if (!a || a->wake < 0) {
		tracer_report(t, "agents are not served: %s", strerror(a ? errno : ENOMEM));
		free(a);
		return;
	}
	pthread_mutex_init(&a->lock, NULL);
	cond_init_monotonic(&a->changed);
	pthread_mutex_lock(&t->lock);
	*place_of(t) = a;
	if (needed)
		start_thread(a);
	pthread_mutex_unlock(&t->lock);
}

void agents_close(struct tracer *t)
{
	struct agents *a = agents_of(t);

	if (!a)
		return;
	__atomic_store_n(&a->stop, true, __ATOMIC_RELEASE);     /* read by work() */
	wake_thread(a);
	if (a->runs)
		pthread_join(a->thread, NULL);
	*place_of(t) = NULL;
	if (a->listener >= 0)
		port_file_close(a->listener, a->last_port);
	for (size_t i = 0; i < a->count; i++)
		link_free(a->links[i]);
	close(a->wake);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}
