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
/*
 * The kernel records into buffers of this size as well, until the daemon copies the events: they
 * are larger, so that they last from one look to the next.
 */
#define KERNEL_SUBBUF_SIZE 262144u

/* The mistake is in this part of the condition's line, and err has columns of the part. */
static int place_error(const struct condition *c, const char *part, int ret, struct tr_err *err)
{
	if (ret && err && err->text[0] && part) {
		snprintf(err->text, sizeof(err->text), "%s", c->text);
		if (err->column >= 0)
			err->column += (int)(part - c->text);
	}
	if (ret && err)
		err->line = 1;
	return ret;
}

static int explain_rule(const struct condition *c, int ret, struct tr_err *err)
{
	return place_error(c, strstr(c->text, c->rule), ret, err);
}

/* Where capture i begins in the line: after the rule and the word `capture`, in order. */
static const char *find_capture_text(const struct condition *c, size_t i)
{
	const char *at = strstr(c->text, c->rule);

	at = at ? strstr(at + strlen(c->rule), "capture") : NULL;
	at = at ? at + strlen("capture") : NULL;
	for (size_t n = 0; at && n <= i; n++) {
		if (n)
			at += strlen(c->captures[n - 1]);
		at = strstr(at, c->captures[n]);
	}
	return at;
}

/* Locked (tracer). */
static int set_contexts(struct channel *ch, const struct condition *c, struct tr_err *err)
{
	int ret = 0;

	for (size_t i = 0; i < c->capture_count && !ret; i++) {
		const char *name = c->captures[i];
		size_t skip = !strncmp(name, "$ctx.", 5) ? 5 : 0;
		struct context_list more = { 0 };

		if (name[0] != '$')
			continue;
		ret = context_list_apply(&ch->contexts, c->domain, name + skip, false, true, &more,
					 err);
		name = ret ? find_capture_text(c, i) : NULL;
		if (ret)
			return place_error(c, name ? name + skip : NULL, ret, err);
		context_list_deinit(&ch->contexts);
		ch->contexts = more;
	}
	return 0;
}

static struct channel *make_channel(struct session *s, const struct condition *c)
{
	struct channel *ch = channel_new(s, c->domain, "channel0", 0);

	if (!ch)
		return NULL;
	ch->loss = TRAIL_MODE_OVERWRITE;
	ch->subbuf_size = c->domain == DOMAIN_KERNEL ? KERNEL_SUBBUF_SIZE : SUBBUF_SIZE;
	ch->subbuf_count = SUBBUF_COUNT;
	return ch;
}

/* Caller holds session.lock and tracer.lock. */
static int start_session(struct session *s, struct channel *ch, bool enabled, struct tr_err *err)
{
	const struct domain_ops *ops = s->tracer->domains[ch->kernel ? DOMAIN_KERNEL : DOMAIN_USER];
	uint64_t bytes = 0;
	int ret;

	if (ch->kernel && channel_room(ch, &bytes))
		return tr_fail(err, -EDQUOT,
			       "no room for its buffers: user %u may have no more bytes of them",
			       s->uid);
	ret = channel_start(ch, err);
	if (ret)
		return ret;
	s->starts = 1;
	s->started = wall_clock();
	s->active = enabled;
	session_apply(s);
	ret = ops->applied ? LOCKED(s->tracer, ops->applied(ch, NULL)) : 0;
	return ret ? tr_fail(err, ret, "the kernel refuses the rule: %s", strerror(-ret)) : 0;
}

/*
 * Caller holds session.lock and tracer.lock. -EAGAIN: call prepare_rules without them, and retry.
 */
static int fill_session(struct session *s, const struct condition *c, bool enabled,
			struct rule_preparation **prep, struct tr_err *err)
{
	const struct domain_ops *ops = s->tracer->domains[c->domain];
	struct rule_list none = { 0 }, rules = { 0 };
	struct channel *ch;
	int ret = rule_list_apply(&none, c->domain, c->rule, true, &rules, err);

	if (!ret)
		ret = SESSION_LOCKED(s, ops->check_rules(s, &rules, prep, err));
	if (ret) {
		rule_list_deinit(&rules);
		return explain_rule(c, ret, err);
	}
	ch = make_channel(s, c);
	if (!ch) {
		rule_list_deinit(&rules);
		return tr_fail(err, -ENOMEM, "out of memory");
	}
	ch->rules = rules;
	ret = set_contexts(ch, c, err);
	return ret ? ret : start_session(s, ch, enabled, err);
}

/* Only the caller knows the session, so no other thread can have removed it. */
static int open_session(struct session *s, const struct condition *c, bool enabled,
			struct tr_err *err)
{
	const struct domain_ops *ops = s->tracer->domains[c->domain];
	struct rule_preparation *prep = NULL;
	int ret;

	do {
		session_lock(s);
		ret = fill_session(s, c, enabled, &prep, err);
		session_unlock(s);
	} while (ret == -EAGAIN && ops->prepare_rules &&
		 (ret = UNLOCKED(s->tracer, ops->prepare_rules(s, prep, s->uid, err))) == 0);
	if (ops->end_rules)
		ret = UNLOCKED(s->tracer, ops->end_rules(s, prep, ret, err));
	/* Errors of prepare_rules and end_rules are about the rule. */
	if (ret && err && strcmp(err->text, c->text) != 0)
		explain_rule(c, ret, err);
	return ret;
}

int event_open(struct tracer *t, uid_t uid, gid_t gid, const struct condition *c, bool enabled,
	       struct session **out, struct tr_err *err)
{
	static uint64_t number;                 /* guarded by tracer.lock */
	struct session *s;
	int ret = c->domain == DOMAIN_KERNEL ? kernel_refuses(t, uid, err) : 0;

	*out = NULL;
	if (ret)
		return ret;
	pthread_mutex_lock(&t->lock);
	s = session_new_hidden(t, PREFIX, ++number, uid, gid);
	pthread_mutex_unlock(&t->lock);
	if (!s)
		return tr_fail(err, -ENOMEM, "out of memory");
	ret = open_session(s, c, enabled, err);
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
	domains_gc(s->tracer);
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
