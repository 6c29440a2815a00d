// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Channels of both domains, with their event rules and contexts. The functions of tracer.h take
 * tracer.lock; callers of those in session.h hold it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/rows.h"
#include "tracer/base/base.h"
#include "tracer/base/hash.h"
#include "tracer/session/session.h"
#include "tracer/base/ring/reader.h"

#define CHANNEL_NAME_MAX 128
#define CHANNELS_MAX 256u       /* of one session: bounds the memory that a user can claim */
#define SHORTCUT "channel0"

struct channel *channel_find(const struct session *s, enum domain domain, const char *name)
{
	struct channel *c;

	cds_list_for_each_entry(c, &s->channels, node)
		if (c->kernel == (domain == DOMAIN_KERNEL) &&
		    !strcmp(c->name, name ? name : SHORTCUT))
			return c;
	return NULL;
}

struct channel *channel_new(struct session *s, enum domain domain, const char *name, uint32_t id)
{
	struct channel *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	CDS_INIT_LIST_HEAD(&c->groups);
	c->session = s;
	c->kernel = domain == DOMAIN_KERNEL;
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->id = id;
	if (id >= s->next_channel)
		s->next_channel = id + 1;
	c->serial = ++s->tracer->next_serial;
	c->enabled = true;
	c->mode = TRAIL_MODE_OVERWRITE;
	c->subbuf_size = 512 * 1024;
	c->subbuf_count = 4;
	c->monitor_period = 1000000;
	if (c->kernel)
		kernel_default_geometry(s->tracer->cpus, &c->subbuf_size, &c->subbuf_count);
	pthread_mutex_lock(&s->tracer->lists_lock);
	cds_list_add_tail(&c->node, &s->channels);
	pthread_mutex_unlock(&s->tracer->lists_lock);
	return c;
}

static const struct domain_ops *domain_ops(const struct session *s, enum domain domain)
{
	return s->tracer->domains[domain];
}

static const struct domain_ops *channel_ops(const struct channel *c)
{
	return domain_ops(c->session, c->kernel ? DOMAIN_KERNEL : DOMAIN_USER);
}

/* Caller holds session.lock and tracer.lock. Fixes the geometry at the first start. */
int channel_start(struct channel *c, struct tr_err *err)
{
	const struct domain_ops *ops = channel_ops(c);
	int ret = 0;

	c->trouble = (struct channel_trouble){ 0 };
	if (c->started)
		return ops->start ? SESSION_LOCKED(c->session, ops->start(c, err)) : 0;
	/*
	 * A channel whose writers may block, or that is written to files, must not overwrite:
	 * default to discard.
	 */
	c->mode = c->loss == LOSS_DISCARD || (c->loss == LOSS_DEFAULT &&
					      (c->blocking || c->session->output))
			  ? TRAIL_MODE_DISCARD : TRAIL_MODE_OVERWRITE;
	if (c->counts)
		c->mode = TRAIL_MODE_COUNT;
	if (c->kernel && c->session->times == TIMES_PLUGIN)
		return tr_fail(err, -EINVAL,
			       "a session whose clock is plugin does not record the kernel");
	if (ops->start)
		ret = SESSION_LOCKED(c->session, ops->start(c, err));
	c->started = !ret;
	return ret;
}

void channel_drop(struct channel *c)
{
	struct stream_group *group, *next;

	if (channel_ops(c)->drop)
		SESSION_LOCKED(c->session, channel_ops(c)->drop(c));
	cds_list_for_each_entry_safe(group, next, &c->groups, node)
		group_drop(group);
	pthread_mutex_lock(&c->session->tracer->lists_lock);
	cds_list_del(&c->node);
	pthread_mutex_unlock(&c->session->tracer->lists_lock);
	free(c->adopt);
	rule_list_deinit(&c->rules);
	context_list_deinit(&c->contexts);
	free(c->picks);
	free(c);
}

static int gone(struct tr_err *err)
{
	return tr_fail(err, -ENOENT, "the session is gone");
}

int channel_missing(struct tr_err *err, const char *name)
{
	return tr_fail(err, -ENOENT, "no channel '%s'", name ? name : SHORTCUT);
}

void channels_list(struct session *s, enum domain domain, struct md_buf *names)
{
	struct channel *c;

	pthread_mutex_lock(&s->tracer->lists_lock);
	cds_list_for_each_entry(c, &s->channels, node)
		if (c->kernel == (domain == DOMAIN_KERNEL))
			md_buf_put(names, c->name, strlen(c->name) + 1);
	pthread_mutex_unlock(&s->tracer->lists_lock);
}

bool channel_exists(struct session *s, enum domain domain, const char *channel)
{
	bool found;

	pthread_mutex_lock(&s->tracer->lists_lock);
	found = channel_find(s, domain, channel) != NULL;
	pthread_mutex_unlock(&s->tracer->lists_lock);
	return found;
}

static uint32_t channel_count(struct session *s)
{
	struct channel *c;
	uint32_t n = 0;

	cds_list_for_each_entry(c, &s->channels, node)
		n++;
	return n;
}

int session_check_records(const struct session *s, struct tr_err *err)
{
	return s->input ? tr_fail(err, -EBUSY,
				  "the session shows the trace in %.150s (see input): it cannot "
				  "record",
				  s->input)
			: 0;
}

int channel_create(struct session *s, enum domain domain, const char *channel, struct tr_err *err)
{
	struct channel *c;
	int ret = name_check(channel, CHANNEL_NAME_MAX, err);

	if (ret)
		return ret;
	session_lock(s);
	if (s->gone)
		ret = gone(err);
	else if ((ret = session_check_records(s, err)))
		;
	else if (channel_find(s, domain, channel))
		ret = tr_fail(err, -EEXIST, "there is a channel '%s' already", channel);
	else if (channel_count(s) >= CHANNELS_MAX)
		ret = tr_fail(err, -ENOSPC, "a session has at most %u channels", CHANNELS_MAX);
	else if (!(c = channel_new(s, domain, channel, s->next_channel)))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	else if ((ret = session_save(s))) {
		channel_drop(c);
		tr_fail(err, ret, "the state directory cannot be written");
	} else {
		session_changed(s);
	}
	session_unlock(s);
	return ret;
}

int channel_destroy(struct session *s, enum domain domain, const char *channel, struct tr_err *err)
{
	struct tr_err why = TR_ERR_INIT;
	struct channel *c;
	int ret = 0;

	session_lock(s);
	c = channel_find(s, domain, channel);
	if (c && session_must_finish(s)) {
		/* Write its events to the output before its buffers are removed. */
		c->enabled = false;
		session_apply(s);
		session_unlock(s);
		domains_drain(s);
		ret = session_removable(s, &why);
		session_lock(s);
		c = channel_find(s, domain, channel);
	}
	if (!c) {
		ret = channel_missing(err, channel);
	} else if (ret) {
		tr_fail(err, ret,
			"channel '%s' is disabled, but what its buffers hold cannot be written: "
			"%s; 'clear' discards it",
			channel, why.sentence);
	} else {
		c->enabled = false;
		session_apply(s);
		channel_drop(c);
		session_save(s);
		session_changed(s);
	}
	session_unlock(s);
	domains_gc(s->tracer);
	return ret;
}

/* ---- rules ---- */

static int show_list(struct session *s, enum domain domain, const char *channel, bool contexts,
		     struct md_buf *out)
{
	struct channel *c;

	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, domain, channel);
	if (c && contexts)
		context_list_print(&c->contexts, out);
	else if (c)
		rule_list_print(&c->rules, out);
	pthread_mutex_unlock(&s->tracer->lock);
	return c || !channel ? 0 : -ENOENT;
}

int channel_rules(struct session *s, enum domain domain, const char *channel,
		  struct rule_list *out)
{
	struct channel *c;
	int ret;

	*out = (struct rule_list){ 0 };
	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, domain, channel);
	ret = c ? rule_list_copy(&c->rules, out) : -ENOENT;
	pthread_mutex_unlock(&s->tracer->lock);
	return ret;
}

int events_show(struct session *s, enum domain domain, const char *channel, struct md_buf *out)
{
	return show_list(s, domain, channel, false, out);
}

int contexts_show(struct session *s, enum domain domain, const char *channel, struct md_buf *out)
{
	return show_list(s, domain, channel, true, out);
}

/*
 * Gives a channel that has no contexts, and was not started, those of its new rules. Caller holds
 * session.lock.
 */
static int add_rule_contexts(struct channel *c, enum domain domain, const struct rule_list *rules,
			     struct tr_err *err)
{
	const struct domain_ops *ops = channel_ops(c);
	const char *names = ops->rule_contexts ? ops->rule_contexts(rules) : NULL;
	struct context_list contexts = { 0 };
	int ret;

	if (!names || c->started || c->contexts.count || ops->rule_contexts(&c->rules))
		return 0;
	ret = context_list_apply(&c->contexts, domain, names, true, true, &contexts, err);
	if (!ret)
		c->contexts = contexts;
	return ret;
}

/* A copy of the rules, in which those that wait for their events are new. */
static int take_again(const struct rule_list *now, enum domain domain, struct rule_list *out,
		      struct tr_err *err)
{
	int ret = rule_list_apply(now, domain, "", false, out, err);

	for (size_t i = 0; !ret && i < out->count; i++)
		out->rules[i].line = out->rules[i].optional ? RULE_AGAIN : 0;
	return ret;
}

/*
 * Caller holds session.lock and tracer.lock. -EAGAIN: call prepare_rules without them, and retry.
 * text NULL: the same rules again.
 */
static int store_rules(struct session *s, enum domain domain, const char *channel, const char *text,
		       bool replace, struct rule_preparation **prep, struct tr_err *err)
{
	struct rule_list none = { 0 }, rules = { 0 };
	struct channel *c = channel_find(s, domain, channel);
	bool fresh = false;
	int ret;

	if (s->gone)
		ret = gone(err);
	else if (!c && channel)
		ret = channel_missing(err, channel);
	else if (!(ret = session_check_records(s, err)))
		ret = text ? rule_list_apply(c ? &c->rules : &none, domain, text, replace, &rules,
					     err)
			   : take_again(c ? &c->rules : &none, domain, &rules, err);
	if (!ret)
		ret = SESSION_LOCKED(s, domain_ops(s, domain)->check_rules(s, &rules, prep, err));
	if (!ret && c && channel_ops(c)->check_channel)
		ret = SESSION_LOCKED(s, channel_ops(c)->check_channel(c, &rules, err));
	if (!ret && !c) {
		c = channel_new(s, domain, SHORTCUT, s->next_channel);
		fresh = c != NULL;
		ret = c ? 0 : tr_fail(err, -ENOMEM, "out of memory");
	}
	if (!ret)
		ret = add_rule_contexts(c, domain, &rules, err);
	if (!ret && s->active)
		ret = channel_start(c, err);
	if (ret) {
		rule_list_deinit(&rules);
		if (fresh)
			channel_drop(c);
		return ret;
	}
	rule_list_deinit(&c->rules);
	c->rules = rules;
	c->filtered |= rule_list_has_filter(&rules);
	session_apply(s);
	if (text) {
		session_save(s);
		session_changed(s);
	}
	return channel_ops(c)->applied ? LOCKED(c->session->tracer, channel_ops(c)->applied(c, err))
				       : 0;
}

/* Whether the sentence is another one than the last of this channel; "": there is none. */
static bool is_news(struct session *s, enum domain domain, const char *channel,
		    const char *sentence)
{
	uint64_t hash = *sentence ? hash_string(HASH_START, sentence) : 0;
	struct channel *c;
	bool news;

	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, domain, channel);
	news = c && c->told != hash;
	if (c)
		c->told = hash;
	pthread_mutex_unlock(&s->tracer->lock);
	return news && hash;
}

int events_again(struct session *s, enum domain domain, const char *channel)
{
	struct tr_err err = TR_ERR_INIT;
	int ret = events_store(s, domain, channel, NULL, false, &err);

	if (ret)
		return ret;
	/* The rules are in force, but for one. */
	if (is_news(s, domain, channel, err.sentence))
		session_failed(s, "channel %s: a rule that waits for its event: %s", channel,
			       err.sentence);
	return *err.sentence ? -EAGAIN : 0;
}

int events_store(struct session *s, enum domain domain, const char *channel, const char *text,
		 bool replace, struct tr_err *err)
{
	const struct domain_ops *ops = domain_ops(s, domain);
	struct rule_preparation *prep = NULL;
	struct owner owner;
	int ret;

	/* The old rules decide on the events recorded so far: drain them first. */
	domain_drain(s, domain);
	do {
		session_lock(s);
		owner = session_owner(s);
		ret = store_rules(s, domain, channel, text, replace, &prep, err);
		session_unlock(s);
	} while (ret == -EAGAIN && ops->prepare_rules &&
		 (ret = UNLOCKED(s->tracer, ops->prepare_rules(s, prep, &owner, err))) == 0);
	if (ops->end_rules)
		ret = UNLOCKED(s->tracer, ops->end_rules(s, prep, ret, err));
	return ret;
}

/* ---- contexts ---- */

int contexts_store(struct session *s, enum domain domain, const char *channel, const char *text,
		   bool replace, struct tr_err *err)
{
	struct context_list none = { 0 }, contexts = { 0 };
	struct channel *c;
	int ret;

	session_lock(s);
	c = channel_find(s, domain, channel);
	if (s->gone)
		ret = gone(err);
	else if (!c && channel)
		ret = channel_missing(err, channel);
	else if (c && c->started)
		ret = tr_fail(err, -EBUSY,
			      "contexts cannot change after the session was first started");
	else if (!(ret = session_check_records(s, err)))
		ret = context_list_apply(c ? &c->contexts : &none, domain, text, replace, true,
					 &contexts, err);
	if (!ret && !c && !(c = channel_new(s, domain, SHORTCUT, s->next_channel)))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	if (ret) {
		context_list_deinit(&contexts);
	} else {
		context_list_deinit(&c->contexts);
		c->contexts = contexts;
		session_save(s);
		session_changed(s);
	}
	session_unlock(s);
	return ret;
}

void available_contexts(struct md_buf *out)
{
	context_available(&(struct rows){ .out = out });
}
