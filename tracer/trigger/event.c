// SPDX-License-Identifier: GPL-2.0-or-later
/* The hidden sessions of triggers. */
#include "tracer/trigger/event.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of its directory in the state directory; no session of a user has such a name. */
#define PREFIX ".trigger-"
#define SUBBUF_SIZE 16384u
#define SUBBUF_COUNT 4u

/* The columns of the rule's mistakes are those of the condition's line. */
static int explain(const struct condition *c, int ret, struct tr_err *err)
{
	const char *rule = c->text ? strstr(c->text, c->rule) : NULL;

	if (ret && err && err->text[0] && rule) {
		snprintf(err->text, sizeof(err->text), "%s", c->text);
		if (err->column >= 0)
			err->column += (int)(rule - c->text);
	}
	if (ret && err)
		err->line = 1;
	return ret;
}

/* Locked (tracer). */
static int set_contexts(struct channel *ch, const struct condition *c, struct tr_err *err)
{
	struct context_list none = { 0 };
	struct md_buf lines = MD_BUF_INIT;
	int ret;

	for (size_t i = 0; i < c->capture_count; i++)
		if (c->captures[i][0] == '$')
			md_buf_printf(&lines, "%s\n", !strncmp(c->captures[i], "$ctx.", 5) ?
							      c->captures[i] + 5 : c->captures[i]);
	ret = lines.len ? context_list_apply(&none, DOMAIN_USER, md_buf_str(&lines), true, true,
					     &ch->contexts, err) : 0;
	md_buf_deinit(&lines);
	return ret;
}

/* Caller holds session.lock and tracer.lock. */
static int fill(struct session *s, const struct condition *c, bool enabled, struct tr_err *err)
{
	const struct domain_ops *user = s->tracer->domains[DOMAIN_USER];
	struct channel *ch = channel_new(s, DOMAIN_USER, "channel0", 0);
	struct rule_list none = { 0 };
	struct rule_preparation *prep = NULL;
	int ret;

	if (!ch)
		return tr_fail(err, -ENOMEM, "out of memory");
	ch->loss = TRAIL_MODE_OVERWRITE;
	ch->subbuf_size = SUBBUF_SIZE;
	ch->subbuf_count = SUBBUF_COUNT;
	ret = rule_list_apply(&none, DOMAIN_USER, c->rule, true, &ch->rules, err);
	if (!ret)
		ret = SESSION_LOCKED(s, user->check_rules(s, &ch->rules, &prep, err));
	if (!ret)
		ret = set_contexts(ch, c, err);
	if (!ret)
		ret = channel_start(ch, err);
	if (ret)
		return explain(c, ret, err);
	s->starts = 1;
	s->started = wall_clock();
	s->active = enabled;
	session_apply(s);
	return 0;
}

int event_open(struct tracer *t, uid_t uid, gid_t gid, const struct condition *c, bool enabled,
	       struct session **out, struct tr_err *err)
{
	static uint64_t number;                 /* guarded by tracer.lock */
	struct session *s;
	int ret;

	*out = NULL;
	pthread_mutex_lock(&t->lock);
	s = session_new_hidden(t, PREFIX, ++number, uid, gid);
	pthread_mutex_unlock(&t->lock);
	if (!s)
		return tr_fail(err, -ENOMEM, "out of memory");
	/* Only the caller knows the session, so no other thread can have removed it. */
	session_lock(s);
	ret = fill(s, c, enabled, err);
	session_unlock(s);
	if (ret)
		event_close(s);
	else
		*out = s;
	return ret;
}

void event_close(struct session *s)
{
	if (!s)
		return;
	session_lock(s);
	session_drop(s);
	session_unlock(s);
	session_put(s);
}

void event_enable(struct session *s, bool on)
{
	if (!s)
		return;
	session_lock(s);
	s->active = on && !s->gone;
	session_apply(s);
	session_unlock(s);
}

void events_forget_old(struct tracer *t)
{
	int fd = openat(t->sessions_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (!strncmp(d->d_name, PREFIX, strlen(PREFIX)))
			state_file_remove(t->sessions_fd, d->d_name);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}
