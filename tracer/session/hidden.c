// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/session/hidden.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct domain_ops *ops_of(const struct tracer *t, const struct hidden_channel *c)
{
	return t->domains[c->domain];
}

/* Caller holds tracer.lock. Adds the channel's contexts to the list. */
static int add_contexts(struct context_list *list, const struct hidden_channel *c,
			struct hidden_mistake *what, struct tr_err *err)
{
	int ret = 0;

	for (size_t i = 0; i < c->context_count && !ret; i++) {
		struct context_list more = { 0 };

		ret = context_list_apply(list, c->domain, c->contexts[i], false, true, &more, err);
		what->part = ret ? HIDDEN_CONTEXT : HIDDEN_OTHER;
		what->context = i;
		if (ret)
			break;
		context_list_deinit(list);
		*list = more;
	}
	return ret;
}

/* Caller holds tracer.lock. Takes the rules over. */
static int add_channel(struct session *s, const struct hidden_channel *c, struct rule_list *rules,
		       struct hidden_mistake *what, struct tr_err *err)
{
	struct channel *ch;
	char number[24];

	snprintf(number, sizeof(number), "channel%zu", what->channel);
	ch = channel_new(s, c->domain, c->name ? c->name : number, (uint32_t)what->channel);
	if (!ch) {
		rule_list_deinit(rules);
		return tr_fail(err, -ENOMEM, "out of memory");
	}
	ch->loss = c->loss;
	ch->subbuf_size = c->subbuf_size;
	ch->subbuf_count = c->subbuf_count;
	ch->rules = *rules;
	return add_contexts(&ch->contexts, c, what, err);
}

/*
 * Caller holds session.lock and tracer.lock. -EAGAIN: call prepare_rules without them, and retry.
 */
static int check_channel(struct session *s, const struct hidden_channel *c, bool add,
			 struct rule_preparation **prep, struct hidden_mistake *what,
			 struct tr_err *err)
{
	struct rule_list none = { 0 }, rules = { 0 };
	struct context_list contexts = { 0 };
	int ret = rule_list_apply(&none, c->domain, c->rules, true, &rules, err);

	if (!ret)
		ret = SESSION_LOCKED(s, ops_of(s->tracer, c)->check_rules(s, &rules, prep, err));
	what->part = ret ? HIDDEN_RULE : HIDDEN_OTHER;
	if (!ret && add)
		return add_channel(s, c, &rules, what, err);
	if (!ret)
		ret = add_contexts(&contexts, c, what, err);
	context_list_deinit(&contexts);
	rule_list_deinit(&rules);
	return ret;
}

/* Without lock. */
static int take_channel(struct session *s, const struct hidden_channel *c, bool add,
			struct hidden_mistake *what, struct tr_err *err)
{
	const struct domain_ops *ops = ops_of(s->tracer, c);
	struct rule_preparation *prep = NULL;
	int ret;

	do {
		session_lock(s);
		ret = check_channel(s, c, add, &prep, what, err);
		session_unlock(s);
	} while (ret == -EAGAIN && ops->prepare_rules &&
		 (ret = UNLOCKED(s->tracer, ops->prepare_rules(s, prep, s->uid, err))) == 0);
	if (ops->end_rules)
		ret = UNLOCKED(s->tracer, ops->end_rules(s, prep, ret, err));
	return ret;
}

int hidden_check(struct session *s, const struct hidden_channel *channel,
		 struct hidden_mistake *what, struct tr_err *err)
{
	*what = (struct hidden_mistake){ 0 };
	return take_channel(s, channel, false, what, err);
}

/* Caller holds session.lock and tracer.lock. */
static int start_channels(struct session *s, bool active, struct tr_err *err)
{
	struct channel *c;
	uint64_t bytes = 0;
	int ret = 0;

	cds_list_for_each_entry(c, &s->channels, node) {
		if (c->kernel && channel_room(c, &bytes))
			return tr_fail(err, -EDQUOT,
				       "no room for its buffers: user %u may have no more bytes "
				       "of them",
				       s->uid);
		ret = ret ? ret : channel_start(c, err);
	}
	if (ret)
		return ret;
	s->starts = 1;
	s->started = wall_clock();
	s->active = active;
	session_apply(s);
	cds_list_for_each_entry(c, &s->channels, node) {
		const struct domain_ops *ops =
			s->tracer->domains[c->kernel ? DOMAIN_KERNEL : DOMAIN_USER];

		if (!ret && ops->applied)
			ret = LOCKED(s->tracer, ops->applied(c, NULL));
	}
	return ret ? tr_fail(err, ret, "the kernel refuses the rule: %s", strerror(-ret)) : 0;
}

/*
 * Caller holds tracer.lock. Sets that cannot be copied stay as they were. Returns whether one
 * changed.
 */
static bool copy_tracks(struct session *s, const struct session *from)
{
	struct track copy;
	bool changed = false;

	for (int i = 0; i < TRACK_ATTRS; i++) {
		if (track_equal(&s->track[i], &from->track[i]) ||
		    track_copy(&from->track[i], &copy))
			continue;
		track_deinit(&s->track[i]);
		s->track[i] = copy;
		changed = true;
	}
	return changed;
}

int hidden_open(struct tracer *t, const struct hidden_spec *spec, struct session **out,
		struct hidden_mistake *what, struct tr_err *err)
{
	static uint64_t number;                 /* guarded by tracer.lock */
	struct session *s;
	int ret = 0;

	*out = NULL;
	*what = (struct hidden_mistake){ 0 };
	pthread_mutex_lock(&t->lock);
	s = session_new_hidden(t, spec->prefix, ++number, spec->uid, spec->gid);
	if (s)
		s->wakes = spec->wakes;
	if (s && spec->tracks)
		copy_tracks(s, spec->tracks);
	pthread_mutex_unlock(&t->lock);
	if (!s)
		return tr_fail(err, -ENOMEM, "out of memory");
	/* Only the caller knows the session, so no other thread can have removed it. */
	for (; what->channel < spec->channel_count && !ret; what->channel += !ret)
		ret = take_channel(s, &spec->channels[what->channel], true, what, err);
	if (!ret) {
		what->part = HIDDEN_OTHER;
		session_lock(s);
		ret = start_channels(s, spec->active, err);
		session_unlock(s);
	}
	if (ret)
		hidden_close(s);
	else
		*out = s;
	return ret;
}

void hidden_close(struct session *s)
{
	if (!s)
		return;
	session_lock(s);
	session_drop(s);
	session_unlock(s);
	domains_gc(s->tracer);
	session_put(s);
}

void hidden_enable(struct session *s, bool on)
{
	if (!s)
		return;
	session_lock(s);
	s->active = on && !s->gone;
	session_apply(s);
	session_unlock(s);
}

void hidden_track(struct session *s, struct session *from)
{
	struct channel *c;

	session_lock(s);
	if (copy_tracks(s, from)) {
		/* Applications that are excluded now must attach again to learn of it. */
		cds_list_for_each_entry(c, &s->channels, node)
			c->epoch++;
		session_apply(s);
	}
	session_unlock(s);
}

void hidden_forget_old(struct tracer *t)
{
	int fd = openat(t->sessions_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	/* No session of a user has a name that begins with a dot. */
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] == '.' && strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			state_file_remove(t->sessions_fd, d->d_name);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}
