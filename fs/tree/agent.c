// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jul/, log4j/, log4j2/ and python/ of a session, and available/jul/ and so on: the domains of
 * LTTng's agents. What is in such a directory is of its channel in the user domain. The first rule
 * or context makes the channel; other files are there while it is.
 */
#include <errno.h>
#include <string.h>

#include "fs/base/base.h"
#include "fs/tree/rows.h"
#include "tracer/face/tracer.h"

static int show_events(const struct node *n, const struct who *who, struct md_buf *out)
{
	(void)who;
	return agent_events_show(n->session, (enum agent_domain)n->parent->row->arg, out);
}

static int store_events(const struct node *n, const struct who *who, const char *text,
			bool replace, struct tr_err *err)
{
	(void)who;
	return agent_events_store(n->session, (enum agent_domain)n->parent->row->arg, text, replace,
				  err);
}

static bool has_channel(const struct node *dir)
{
	return channel_exists(dir->session, DOMAIN_USER,
			      agent_channel((enum agent_domain)dir->row->arg));
}

static int show_contexts(const struct node *n, const struct who *who, struct md_buf *out)
{
	return has_channel(n->parent) ? contexts_read(n, who, out) : 0;
}

static int store_contexts(const struct node *n, const struct who *who, const char *text,
			  bool replace, struct tr_err *err)
{
	(void)who;
	return agent_contexts_store(n->session, (enum agent_domain)n->parent->row->arg, text,
				    replace, err);
}

static const struct tree_row rows[] = {
	{ .name = "events",
	  .mode = S_IFREG | 0666,
	  .show = show_events,
	  .store = store_events,
	  .how = STORE_LIST },
	{ .name = "contexts",
	  .mode = S_IFREG | 0666,
	  .show = show_contexts,
	  .store = store_contexts,
	  .how = STORE_LIST },
	ERROR_ROW,
	{ 0 }
};

static bool is_shared(const struct tree_row *r)
{
	static const char *const names[] = { "enabled", "status", "streams" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(r->name, names[i]))
			return true;
	return false;
}

static int find_file(const struct node *dir, const char *name, const struct who *who,
		     struct found *found)
{
	(void)who;
	for (const struct tree_row *r = channel_row.rows; r->mode && has_channel(dir); r++) {
		if (is_shared(r) && !strcmp(r->name, name)) {
			found->row = r;
			return 0;
		}
	}
	return -ENOENT;
}

static void list_files(const struct node *dir, const struct who *who, struct listing *out)
{
	(void)who;
	for (const struct tree_row *r = channel_row.rows; r->mode && has_channel(dir); r++)
		if (is_shared(r))
			listing_add(out, r->name, r, 0);
}

#define DOMAIN_ROW(domain) \
	[domain] = { .mode = S_IFDIR | 0555, .rows = rows, .find = find_file, \
		     .list = list_files, .arg = domain }

static const struct tree_row domain_rows[AGENT_DOMAINS] = {
	DOMAIN_ROW(AGENT_JUL),
	DOMAIN_ROW(AGENT_LOG4J),
	DOMAIN_ROW(AGENT_LOG4J2),
	DOMAIN_ROW(AGENT_PYTHON),
};

const struct tree_row *agent_row(const char *name)
{
	for (int i = 0; i < AGENT_DOMAINS; i++)
		if (!strcmp(agent_domain_name((enum agent_domain)i), name))
			return &domain_rows[i];
	return NULL;
}

void agents_list(struct listing *out)
{
	for (int i = 0; i < AGENT_DOMAINS; i++)
		listing_add(out, agent_domain_name((enum agent_domain)i), &domain_rows[i], 0);
}

const char *agent_channel_of(const struct node *n)
{
	for (; n; n = n->parent)
		if (n->row >= domain_rows && n->row < domain_rows + AGENT_DOMAINS)
			return agent_channel((enum agent_domain)n->row->arg);
	return NULL;
}

/* ---- available/ ---- */

static int show_loggers(const struct node *n, const struct who *who, struct md_buf *out)
{
	available_loggers(fs.tracer, who->uid, (enum agent_domain)n->parent->row->arg, false, out);
	return 0;
}

const struct tree_row available_agent_rows[] = {
	{ .name = "loggers", .mode = S_IFREG | 0444, .show = show_loggers }, { 0 }
};
