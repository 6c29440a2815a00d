// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One agent's connection. All numbers are big-endian. The agent begins with { u32 domain, pid,
 * major, minor }. The daemon sends commands { u64 size, u32 command, u32 version } with size bytes
 * after it, one at a time. The agent's answer begins with a u32, 1 for success. A peer that sends
 * anything else is disconnected.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tracer/app/agent/agent_rule.h"
#include "tracer/app/agent/server.h"
#include "tracer/app/agent/tcp_table.h"

#define REGISTRATION_SIZE 16u
#define PROTOCOL_MAJOR 2u
#define NAME_SIZE 256u
#define SUCCESS 1u
#define PIECE 65536u            /* bytes received at once */

#define CONTEXTS_MAX 256u       /* application contexts for one agent */
#define ALL_LOGGERS "\x02*"     /* the item: ENABLE and the name */

enum command {
	LIST = 1,
	ENABLE = 2, DISABLE = 3,                        /* a logger */
	REGISTERED = 4,
	ENABLE_CONTEXT = 5, DISABLE_CONTEXT = 6,        /* an application context */
};

struct agent_link *link_new(int fd)
{
	struct agent_link *l = calloc(1, sizeof(*l));

	if (!l || !tcp_peer_owner(fd, &l->uid)) {
		close(fd);
		free(l);
		return NULL;
	}
	l->fd = fd;
	l->need = REGISTRATION_SIZE;
	return l;
}

void link_free(struct agent_link *l)
{
	if (l->fd >= 0)
		close(l->fd);
	md_buf_deinit(&l->in);
	md_buf_deinit(&l->wanted);
	md_buf_deinit(&l->enabled);
	md_buf_deinit(&l->loggers);
	free(l);
}

/* ---- what an agent is to enable ---- */

/*
 * A list of items. An item is the command that enables it, as one byte (the next command disables
 * it), a name, and a NUL.
 */
static const char *next_item(const struct md_buf *items, const char *p)
{
	p = p ? p + strlen(p) + 1 : items->data;
	return items->len && p < items->data + items->len ? p : NULL;
}

static bool has_item(const struct md_buf *items, const char *item)
{
	for (const char *p = next_item(items, NULL); p; p = next_item(items, p))
		if (!strcmp(p, item))
			return true;
	return false;
}

/* The first of the items that the others lack; NULL: none. */
static const char *find_missing(const struct md_buf *items, const struct md_buf *others)
{
	for (const char *p = next_item(items, NULL); p; p = next_item(items, p))
		if (!has_item(others, p))
			return p;
	return NULL;
}

static void remove_item(struct md_buf *items, const char *p)
{
	size_t size = strlen(p) + 1, at = (size_t)(p - items->data);

	memmove(items->data + at, p + size, items->len - at - size);
	items->len -= size;
}

/* Agents know a star at the end of a name only. */
static const char *pattern_of_agents(const char *logger)
{
	const char *star = strchr(logger, '*');

	return strchr(logger, '\\') || (star && star[1]) ? "*" : logger;
}

/* What the sessions want of one agent, each item once. */
struct wishes {
	const struct agent_kind *kind;
	struct md_buf loggers, contexts;        /* items */
	size_t logger_count, context_count;
};

static void add_logger(struct wishes *w, const char *name)
{
	char item[LOGGER_MAX + 2];

	snprintf(item, sizeof(item), "%c%s", ENABLE, name);
	if (w->logger_count > ENABLED_MAX || has_item(&w->loggers, item))
		return;
	md_buf_put(&w->loggers, item, strlen(item) + 1);
	w->logger_count++;
}

static void add_context(struct wishes *w, const char *name)
{
	char item[TRAIL_NAME_MAX + 2];

	snprintf(item, sizeof(item), "%c%s", ENABLE_CONTEXT, name);
	if (strlen(name) > TRAIL_NAME_MAX || w->context_count == CONTEXTS_MAX ||
	    has_item(&w->contexts, item))
		return;
	md_buf_put(&w->contexts, item, strlen(item) + 1);
	w->context_count++;
}

static void add_rules(struct wishes *w, const struct channel *c)
{
	struct md_buf contexts = MD_BUF_INIT;
	struct agent_rule rule;

	for (size_t i = 0; i < c->rules.count; i++) {
		const struct rule *r = &c->rules.rules[i];

		if (r->disabled || !agent_rule_read(w->kind, r, &rule))
			continue;
		add_logger(w, pattern_of_agents(rule.logger));
		md_buf_reset(&contexts);
		if (r->filter)
			filter_app_contexts(r->filter, &contexts);
		for (const char *p = next_item(&contexts, NULL); p; p = next_item(&contexts, p))
			add_context(w, p);
	}
	md_buf_deinit(&contexts);
	for (size_t i = 0; i < c->contexts.count; i++)
		if (c->contexts.items[i].kind == TRAIL_CONTEXT_APP)
			add_context(w, context_app_name(&c->contexts.items[i]));
}

bool link_serves(const struct session *s, const struct channel *c, const struct agent_kind *k)
{
	struct agent_rule rule;
	bool found = false;

	if (c->kernel)
		return false;
	for (size_t i = 0; s->hidden && i < c->rules.count && !found; i++)
		found = agent_rule_read(k, &c->rules.rules[i], &rule);
	return found || (c->rules.count && !strcmp(c->name, k->channel));
}

void link_update(struct agents *a, struct agent_link *l)
{
	struct wishes w = { .kind = l->kind };
	struct tracer *t = a->tracer;
	struct session *s;
	struct channel *c;

	if (!l->kind)
		return;
	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(s, &t->sessions, node) {
		if (!session_serves(s, l->uid))
			continue;
		cds_list_for_each_entry(c, &s->channels, node)
			if (c->enabled && link_serves(s, c, l->kind))
				add_rules(&w, c);
	}
	pthread_mutex_unlock(&t->lock);
	/* All loggers: what a rule does not want, its filter rejects. */
	if (w.logger_count > ENABLED_MAX || w.loggers.failed ||
	    has_item(&w.loggers, ALL_LOGGERS)) {
		md_buf_deinit(&w.loggers);
		w.loggers = (struct md_buf)MD_BUF_INIT;
		md_buf_put(&w.loggers, ALL_LOGGERS, sizeof(ALL_LOGGERS));
	}
	/* Python's agent does not know the commands for contexts. */
	if (l->kind->has_contexts)
		md_buf_put(&w.loggers, w.contexts.data, w.contexts.len);
	md_buf_deinit(&w.contexts);
	pthread_mutex_lock(&a->lock);
	if (w.loggers.failed) {
		md_buf_deinit(&w.loggers);
	} else {
		md_buf_deinit(&l->wanted);
		l->wanted = w.loggers;
	}
	pthread_mutex_unlock(&a->lock);
}

/* ---- commands ---- */

struct command_bytes {
	uint32_t size[2], command, version;     /* the header */
	union {
		struct {
			uint32_t level, level_type;     /* 0, 0: any; the filter decides */
			char name[NAME_SIZE];
			uint32_t filter_size;
		} enable;
		char disable[NAME_SIZE];
		char context[2 * sizeof(uint32_t) + TRAIL_NAME_MAX + 1];
	} u;
};

/* Writes PROVIDER:NAME as two texts, each after its length; returns the bytes that it wrote. */
static size_t put_context(const char *name, char *out)
{
	size_t provider = strcspn(name, ":"), i = 0;
	const char *parts[] = { name, name + provider + 1 };

	for (size_t p = 0; p < 2; p++) {
		size_t len = p ? strlen(parts[p]) : provider;
		uint32_t size = htonl((uint32_t)len + 1);

		memcpy(out + i, &size, sizeof(size));
		memcpy(out + i + sizeof(size), parts[p], len);
		out[i + sizeof(size) + len] = 0;
		i += sizeof(size) + len + 1;
	}
	return i;
}

/* The commands are shorter than any socket's buffer: an agent that does not read is broken. */
static bool send_command(struct agent_link *l, enum command command, const char *name)
{
	struct command_bytes c = { .command = htonl(command) };
	size_t size = 0;

	if (command == ENABLE) {
		size = sizeof(c.u.enable);
		memcpy(c.u.enable.name, name, strlen(name));
	} else if (command == DISABLE) {
		size = sizeof(c.u.disable);
		memcpy(c.u.disable, name, strlen(name));
	} else if (command == ENABLE_CONTEXT || command == DISABLE_CONTEXT) {
		size = put_context(name, c.u.context);
	}
	c.size[1] = htonl((uint32_t)size);
	size += offsetof(struct command_bytes, u);
	return send(l->fd, &c, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

static void expect(struct agent_link *l, enum link_state state, size_t need)
{
	l->state = state;
	l->need = need;
}

static bool send_next(struct agent_link *l)
{
	const char *item = find_missing(&l->wanted, &l->enabled);

	if (item) {
		expect(l, LINK_RETURN, 4);
		md_buf_put(&l->enabled, item, strlen(item) + 1);
		return !l->enabled.failed && send_command(l, (enum command)item[0], item + 1);
	}
	item = find_missing(&l->enabled, &l->wanted);
	if (item) {
		bool sent = send_command(l, (enum command)item[0] + 1, item + 1);

		expect(l, LINK_RETURN, 4);
		remove_item(&l->enabled, item);
		return sent;
	}
	if (!l->ready) {
		l->ready = true;
		if (!send_command(l, REGISTERED, NULL))
			return false;
	}
	if (l->list_sent == l->list_asked)
		return true;
	l->list_sent = l->list_asked;
	expect(l, LINK_LIST, 4);
	return send_command(l, LIST, NULL);
}

/* ---- answers ---- */

static uint32_t number_at(const struct agent_link *l, size_t at)
{
	uint32_t n;

	memcpy(&n, l->in.data + at, sizeof(n));
	return ntohl(n);
}

static bool take_registration(struct agent_link *l)
{
	for (size_t i = 0; i < AGENT_DOMAINS; i++)
		if (agent_kinds[i].protocol == number_at(l, 0))
			l->kind = &agent_kinds[i];
	expect(l, LINK_IDLE, 0);
	return l->kind && number_at(l, 8) == PROTOCOL_MAJOR;
}

static bool list_answered(struct agents *a, struct agent_link *l)
{
	l->list_done = l->list_sent;
	pthread_cond_broadcast(&a->changed);
	expect(l, LINK_IDLE, 0);
	return true;
}

static bool take_loggers(struct agents *a, struct agent_link *l)
{
	size_t all = l->in.len;

	for (size_t i = 0; i < a->count; i++)
		all += a->links[i] == l ? 0 : a->links[i]->loggers.len;
	md_buf_reset(&l->loggers);
	for (size_t at = 0; at < l->in.len && all <= ALL_LOGGERS_MAX;) {
		size_t size = strnlen(l->in.data + at, l->in.len - at);

		md_buf_escape(&l->loggers, l->in.data + at, size);
		md_buf_puts(&l->loggers, size ? "\n" : "");
		at += size + 1;
	}
	return !l->loggers.failed && list_answered(a, l);
}

/* Takes what has come as a whole. */
static bool take(struct agents *a, struct agent_link *l)
{
	switch (l->state) {
	case LINK_NEW:
		return take_registration(l);
	case LINK_RETURN:
		expect(l, LINK_IDLE, 0);
		return true;
	case LINK_LIST:
		if (number_at(l, 0) != SUCCESS)
			return list_answered(a, l);
		expect(l, LINK_LIST_SIZE, 8);
		return true;
	case LINK_LIST_SIZE:
		expect(l, LINK_LIST_NAMES, number_at(l, 0));
		md_buf_reset(&l->in);
		return l->need <= LOGGERS_MAX && (l->need || take_loggers(a, l));
	case LINK_LIST_NAMES:
		return take_loggers(a, l);
	case LINK_IDLE:
		break;
	}
	return false;           /* nothing was asked */
}

/* False: the peer has ended, or sent what it should not. *more: there may be more to read. */
static bool receive(struct agents *a, struct agent_link *l, bool *more)
{
	size_t left = l->need ? l->need - l->in.len : 1, want = left < PIECE ? left : PIECE;
	char *room = md_buf_room(&l->in, want);
	ssize_t n = room ? recv(l->fd, room, want, MSG_DONTWAIT) : 0;
	bool ok = true;

	*more = n > 0;
	if (n <= 0)
		return room && n < 0 && (errno == EAGAIN || errno == EINTR);
	l->in.len += (size_t)n;
	if (l->in.len >= l->need) {
		ok = take(a, l);
		md_buf_deinit(&l->in);
		l->in = (struct md_buf)MD_BUF_INIT;
	}
	return ok;
}

bool link_serve(struct agents *a, struct agent_link *l)
{
	bool more = true;

	while (more) {
		bool was_new = !l->kind;

		if (l->state == LINK_IDLE && !was_new && !send_next(l))
			return false;
		if (!receive(a, l, &more))
			return false;
		/* The thread looks for its loggers first. */
		if (was_new && l->kind)
			return true;
	}
	return true;
}
