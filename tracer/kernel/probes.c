// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events that rules make: probes (probe/dynamic_event.h), and functions to be traced. A probe
 * exists in the kernel as long as some channel of this daemon has a rule about it, enabled or not,
 * so that a mistake is told by the write of the rule; all such channels share it. Which ones are in
 * use is counted from the rules whenever it matters.
 *
 * They are in a group of this daemon's own, under names that say which rule they are of. So the
 * next daemon finds them again, and those that no session of its has a rule for are removed.
 *
 * The end of one: the rule goes, which disables it in the channel's buffers; what they still hold
 * of it is fetched, while its format can be read; then it is removed, and whatever was known about
 * its id is forgotten, which the kernel may give to another event. The kernel empties all buffers
 * that ever had the event when it is removed; so that waits until none of those is recording.
 * Disabled it costs nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/probe/dynamic_event.h"
#include "tracer/kernel/kernel.h"
#include "tracer/rule/kernel_pattern.h"
#include "tracer/kevent/kallsyms.h"
#include "tracer/os/open_as.h"
#include "tracer/ring/reader.h"

/* ---- the table: name in the kernel, and rule ---- */

const char *kprobe_pattern(const struct kernel *k, const char *name)
{
	for (size_t i = 0; i < k->probe_count; i++)
		if (!strcmp(k->probes[i].name, name))
			return k->probes[i].pattern;
	return NULL;
}

/* pattern NULL: not known yet. */
static int note(struct kernel *k, const char *name, const char *pattern)
{
	struct kprobe *more, *p = NULL;
	int ret = -ENOMEM;

	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < k->probe_count && !p; i++)
		if (!strcmp(k->probes[i].name, name))
			p = &k->probes[i];
	if (!p) {
		more = realloc(k->probes, (k->probe_count + 1) * sizeof(*more));
		if (!more)
			goto out;
		k->probes = more;
		p = &more[k->probe_count];
		*p = (struct kprobe){ .name = strdup(name) };
		if (!p->name)
			goto out;
		k->probe_count++;
	}
	if (!p->pattern && pattern)
		p->pattern = strdup(pattern);
	ret = pattern && !p->pattern                        ? -ENOMEM
	      : pattern && strcmp(p->pattern, pattern) != 0 ? -EEXIST
							    : 0;
out:
	pthread_mutex_unlock(&k->lock);
	return ret;
}

static void drop(struct kernel *k, size_t i)
{
	pthread_mutex_lock(&k->lock);
	free(k->probes[i].name);
	free(k->probes[i].pattern);
	k->probes[i] = k->probes[--k->probe_count];
	pthread_mutex_unlock(&k->lock);
}

void kprobes_free(struct kernel *k)
{
	while (k->probe_count)
		drop(k, k->probe_count - 1);
	free(k->probes);
	k->probes = NULL;
}

/* ---- making them ---- */

bool kprobe_is_rule(const struct rule *r)
{
	return dynamic_event_is_rule(r->pattern) || krule_is_function(r->pattern);
}

void kprobe_plan_deinit(struct kprobe_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct kprobe_planned *p = &plan->items[i];

		if (p->event.fd >= 0)
			close(p->event.fd);
		dynamic_event_deinit(&p->event);
		free(p->pattern);
		free(p->text);
	}
	free(plan->items);
	*plan = (struct kprobe_plan){ 0 };
}

bool kprobe_pending(const struct kprobe_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (!plan->items[i].ready)
			return true;
	return false;
}

static int plan_rule(struct kprobe_plan *plan, const struct rule *r)
{
	struct kprobe_planned *more = realloc(plan->items, (plan->count + 1) * sizeof(*more)), *p;

	if (!more)
		return -ENOMEM;
	plan->items = more;
	p = &more[plan->count++];
	*p = (struct kprobe_planned){ .pattern = strdup(r->pattern),
				      .text = strdup(r->text),
				      .line = r->line,
				      .event.fd = -1 };
	return p->pattern && p->text ? -EAGAIN : -ENOMEM;
}

static int function_ready(const struct kernel *k, const char *pattern, struct tr_err *err)
{
	const char *name = pattern + strlen(KRULE_FUNCTION), *first;
	int ret = k->ops->function_check(k->backend, name, err);
	struct ksyms *s;

	if (ret == -ENOENT && (s = ksyms_load(KSYMS_FILE))) {
		first = ksyms_first(s, name);
		if (first && strcmp(first, name) != 0)
			tr_fail(err, ret, "function '%s' is traced under its other name '%s'", name,
				first);
		ksyms_free(s);
	}
	if (!ret && !ksyms_readable(KSYMS_FILE))
		ret = tr_fail(err, -EOPNOTSUPP,
			      "the names of functions cannot be had: " KSYMS_FILE
			      " hides the addresses (kernel.kptr_restrict)");
	return ret;
}

static int event_ready(struct dynamic_event *d, const char *pattern, uid_t owner,
		       struct tr_err *err)
{
	int ret = dynamic_event_parse(pattern, d, err);

	if (ret || !dynamic_event_has_file(d))
		return ret;
	d->fd = ownerfile_open(owner, d->path, err);
	return d->fd < 0 ? d->fd : dynamic_event_resolve(d, err);
}

/* What users are told is one of a few numbers. */
static int plain_errno(int ret)
{
	switch (ret) {
	case -ENOEXEC:
	case -ENOTUNIQ:
	case -EFBIG:
	case -EILSEQ:
	case -ELOOP:
	case -ENOTDIR:
	case -ENAMETOOLONG:
	case -EADDRNOTAVAIL:
		return -EINVAL;
	case -EAGAIN:
	case -EEXIST:
		return -EBUSY;
	default:
		return ret;
	}
}

static int at_rule(struct tr_err *err, int ret, const char *text, int line)
{
	struct tr_err why = *err;

	tr_fail_at(err, ret, text, 0, "%s", why.sentence);
	err->line = line;
	return plain_errno(ret);
}

int kprobe_prepare(struct kernel *k, struct kprobe_plan *plan, uid_t owner, struct tr_err *err)
{
	int ret = 0;

	for (size_t i = 0; i < plan->count && !ret; i++) {
		struct kprobe_planned *p = &plan->items[i];
		struct tr_err why = TR_ERR_INIT;

		if (p->ready)
			continue;
		ret = krule_is_function(p->pattern)
			      ? function_ready(k, p->pattern, &why)
			      : event_ready(&p->event, p->pattern, owner, &why);
		p->ready = !ret;
		if (ret)
			ret = at_rule(&why, ret, p->text, p->line);
		if (ret && err)
			*err = why;
	}
	return ret;
}

int kprobe_make(struct kernel *k, struct kprobe_plan *plan, const struct rule *r,
		struct tr_err *err)
{
	struct md_buf names = MD_BUF_INIT;
	struct tr_err why = TR_ERR_INIT;
	struct kprobe_planned *p = NULL;
	int ret;

	for (size_t i = 0; i < plan->count && !p; i++)
		if (!strcmp(plan->items[i].pattern, r->pattern))
			p = &plan->items[i];
	if (!p)
		return plan_rule(plan, r);
	if (!p->ready)
		return -EAGAIN;
	if (krule_is_function(p->pattern))
		return 0;
	ret = k->ops->probe_create(k->backend, k->group, &p->event, &names, &why);
	p->refused = ret;
	for (size_t at = 0; at < names.len && !ret; at += strlen(names.data + at) + 1) {
		ret = note(k, names.data + at, p->pattern);
		if (ret)
			tr_fail(&why, ret,
				ret == -EEXIST ? "another rule has an event of the same name"
					       : "out of memory");
	}
	md_buf_deinit(&names);
	if (ret)
		ret = at_rule(&why, ret, r->text, r->line);
	if (ret && err)
		*err = why;
	return ret;
}

int kprobe_explain(const struct kprobe_plan *plan, int ret, struct tr_err *err)
{
	for (size_t i = 0; i < plan->count && ret; i++) {
		const struct kprobe_planned *p = &plan->items[i];
		struct tr_err why = TR_ERR_INIT;
		int code = p->refused ? dynamic_event_explain(&p->event, p->refused, &why) : 0;

		if (!why.sentence[0])
			continue;
		ret = at_rule(&why, code, p->text, p->line);
		if (err)
			*err = why;
		break;
	}
	return ret;
}

/* ---- when the daemon begins ---- */

/*
 * Events that an earlier daemon made for the rule, and what is there now under its path, if that is
 * another file.
 */
static void restore(struct channel *c, const struct rule *r)
{
	struct tracer *t = c->session->tracer;
	struct kprobe_plan plan = { 0 };
	struct tr_err err = TR_ERR_INIT;
	struct dynamic_event d;
	int ret;

	if (!dynamic_event_is_rule(r->pattern))
		return;
	ret = dynamic_event_parse(r->pattern, &d, &err);
	for (size_t i = 0; i < t->kernel->probe_count && !ret; i++)
		if (!t->kernel->probes[i].pattern &&
		    dynamic_event_made(&d, t->kernel->probes[i].name))
			t->kernel->probes[i].pattern = strdup(r->pattern);
	dynamic_event_deinit(&d);
	while (!ret && (ret = kprobe_make(t->kernel, &plan, r, &err)) == -EAGAIN &&
	       kprobe_pending(&plan))
		ret = kprobe_prepare(t->kernel, &plan, c->session->uid, &err);
	kprobe_plan_deinit(&plan);
	if (ret)
		session_failed(c->session, "channel %s: %s: %s", c->name, r->pattern, err.sentence);
}

void kprobes_restore(struct tracer *t)
{
	struct md_buf names = MD_BUF_INIT;
	struct session *s;
	struct channel *c;

	if (!t->kernel || t->kernel->ops->probes(t->kernel->backend, t->kernel->group, &names))
		return;
	for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1)
		note(t->kernel, names.data + at, NULL);
	md_buf_deinit(&names);
	cds_list_for_each_entry(s, &t->sessions, node) cds_list_for_each_entry(
		c, &s->channels,
		node) for (size_t i = 0; c->kernel && kernel_may(t, s->uid) && i < c->rules.count;
			   i++) restore(c, &c->rules.rules[i]);
}

/* ---- the end ---- */

static bool has_rule(const struct session *s, const char *pattern)
{
	struct channel *c;

	cds_list_for_each_entry(c, &s->channels, node)
		for (size_t i = 0; c->kernel && i < c->rules.count; i++)
			if (!strcmp(c->rules.rules[i].pattern, pattern))
				return true;
	return false;
}

/* By a rule, or it is too early to remove it. */
static bool is_used(struct tracer *t, const struct kprobe *p)
{
	struct session *s;

	if (kernel_records(t, t->kernel->group, p->name))
		return true;
	cds_list_for_each_entry(s, &t->sessions, node)
		if (p->pattern && has_rule(s, p->pattern))
			return true;
	cds_list_for_each_entry(s, &t->drafts, node)
		if (p->pattern && has_rule(s, p->pattern))
			return true;
	return false;
}

static bool some_unused(struct tracer *t)
{
	bool some = false;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < t->kernel->probe_count; i++)
		some = some || !is_used(t, &t->kernel->probes[i]);
	pthread_mutex_unlock(&t->lock);
	return some;
}

static void drain_all(struct tracer *t)
{
	struct md_buf names = MD_BUF_INIT;

	sessions_list(t, &names);
	for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1) {
		struct session *s = session_get(t, names.data + at);

		if (s)
			kernel_drain(s);
		session_put(s);
	}
	md_buf_deinit(&names);
}

void kernel_probes_gc(struct tracer *t)
{
	struct kernel *k = t->kernel;

	if (!k || !some_unused(t))
		return;
	drain_all(t);
	pthread_mutex_lock(&t->lock);
	/* Some may be in use again, by a rule that came meanwhile. */
	for (size_t i = k->probe_count; i-- > 0;) {
		int ret;

		if (is_used(t, &k->probes[i]))
			continue;
		ret = k->ops->probe_remove(k->backend, k->group, k->probes[i].name);
		if (ret && ret != -ENOENT) {
			tracer_report(t, "the kernel's event %s cannot be removed: %s",
				      k->probes[i].name, strerror(-ret));
			continue;
		}
		kernel_forget(k, k->group, k->probes[i].name);
		drop(k, i);
	}
	pthread_mutex_unlock(&t->lock);
}
