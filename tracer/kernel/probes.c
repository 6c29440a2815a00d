// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dynamic events that rules make: probes (probe/probe.h) and traced functions. A probe exists in
 * the kernel while some channel of this daemon has a rule for it, enabled or not, so that the write
 * of a wrong rule fails. All such channels share it. Whether it is in use is found from the rules.
 *
 * Probes are in a group of this daemon. Their names identify their rules, so the next daemon finds
 * them again and removes those without a rule.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/array.h"
#include "tracer/base/probe/btf_files.h"
#include "tracer/base/probe/probe.h"
#include "tracer/kernel/kernel.h"
#include "tracer/base/rule/hook.h"
#include "tracer/base/rule/kernel_pattern.h"
#include "tracer/kernel/kevent/kevent.h"
#include "tracer/base/os/open_as.h"

/* ---- the table of probes ---- */

const struct event_key *kprobe_key(const struct kernel *k, const char *name)
{
	for (size_t i = 0; i < k->probe_count; i++)
		if (!strcmp(k->probes[i].name, name))
			return k->probes[i].key;
	return NULL;
}

/* Adds a probe to the table, or sets the key of a known one. key NULL: not known yet. */
static int register_probe(struct kernel *k, const char *name, const struct event_key *key)
{
	struct kprobe *p = NULL;
	int ret = -ENOMEM;

	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < k->probe_count && !p; i++)
		if (!strcmp(k->probes[i].name, name))
			p = &k->probes[i];
	if (!p) {
		if (!array_room(k->probes, k->probe_count + 1))
			goto out;
		p = &k->probes[k->probe_count];
		*p = (struct kprobe){ .name = strdup(name) };
		if (!p->name)
			goto out;
		k->probe_count++;
	}
	if (!p->key && key)
		p->key = event_key_dup(key);
	ret = !key ? 0 : !p->key ? -ENOMEM : event_key_compare(p->key, key) ? -EEXIST : 0;
out:
	pthread_mutex_unlock(&k->lock);
	return ret;
}

void kprobe_unregister(struct kernel *k, size_t i)
{
	pthread_mutex_lock(&k->lock);
	free(k->probes[i].name);
	if (k->probes[i].key)
		event_key_deinit(k->probes[i].key);
	free(k->probes[i].key);
	k->probes[i] = k->probes[--k->probe_count];
	pthread_mutex_unlock(&k->lock);
}

void kprobes_free(struct kernel *k)
{
	while (k->probe_count)
		kprobe_unregister(k, k->probe_count - 1);
	free(k->probes);
	k->probes = NULL;
}

/* ---- making probes ---- */

bool kprobe_is_rule(const struct rule *r)
{
	return event_key_is_probe(&r->keys[0]) || r->kind == RULE_FUNCTIONS;
}

void kprobe_plan_deinit(struct kprobe_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct kprobe_planned *p = &plan->items[i];

		if (p->fd >= 0)
			close(p->fd);
		dynamic_events_deinit(&p->events);
		event_key_deinit(&p->key);
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

static int plan_rule(struct kprobe_plan *plan, const struct rule *r, const struct event_key *key)
{
	struct kprobe_planned *p;

	if (!array_room(plan->items, plan->count + 1))
		return -ENOMEM;
	p = &plan->items[plan->count++];
	*p = (struct kprobe_planned){ .text = strdup(r->source),
				      .line = r->line,
				      .optional = r->kind == RULE_HOOK,
				      .waits = r->optional,
				      .fd = -1 };
	return !event_key_copy(key, &p->key) && p->text ? -EAGAIN : -ENOMEM;
}

static int check_function(const struct kernel *k, const char *pattern, struct tr_err *err)
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
			      "cannot read the names of functions: " KSYMS_FILE
			      " hides the addresses (kernel.kptr_restrict)");
	return ret;
}

bool kprobe_is_tracepoint(const struct kevent *e, const char *pattern)
{
	return e->present && e->dump < 0 && kevent_is_tracepoint(e) &&
	       krule_match(EVENT_KEY(pattern), e->key);
}

/* Finds the tracepoint of a rule with extra data, and its format. */
static int find_tracepoint(struct kernel *k, struct dynamic_event *d, struct tr_err *err)
{
	struct md_buf format = MD_BUF_INIT;
	const struct kevent *e = NULL;
	int ret = kernel_refresh(k);

	if (ret)
		return tr_fail(err, ret, "the kernel's events cannot be listed: %s",
			       strerror(-ret));
	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < k->event_count && !e; i++)
		if (kprobe_is_tracepoint(k->events[i], d->symbol))
			e = k->events[i];
	pthread_mutex_unlock(&k->lock);
	if (!e)
		return tr_fail(err, -ENOENT, "no such tracepoint '%.100s'", d->symbol);
	ret = k->ops->format(k->backend, e->system, e->name, &format);
	if (!ret)
		ret = dynamic_event_set_tracepoint(d, e->system, e->name, md_buf_str(&format));
	md_buf_deinit(&format);
	return ret ? tr_fail(err, ret, "the format of '%.100s' cannot be read: %s", d->symbol,
			     strerror(-ret))
		   : 0;
}

static int resolve_events(struct kernel *k, struct kprobe_planned *p, const struct owner *owner,
			  struct btf_files *types, struct tr_err *err)
{
	struct dynamic_event d;
	int ret = dynamic_event_make(&p->key, &d, err);

	if (!ret && d.kind == DYN_EVENT)
		ret = find_tracepoint(k, &d, err);
	if (!ret && dynamic_event_has_file(&d)) {
		p->fd = d.fd = ownerfile_open(owner, d.path, err);
		ret = d.fd < 0 ? d.fd : 0;
	}
	if (!ret)
		return dynamic_events_resolve(&d, &p->key, types, &p->events, err);
	dynamic_event_deinit(&d);
	return ret;
}

/* Maps errors of the kernel to the few that users get. */
static int map_errno(int ret)
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

/* Shows the rule as the user wrote it, unless there is a place in it: that of its extra data. */
static int fail_at_rule(struct tr_err *err, int ret, const char *text, int line)
{
	struct tr_err why = *err;

	if (!*why.text || why.column < 0)
		tr_fail_at(err, ret, text, 0, "%s", why.sentence);
	err->line = line;
	return map_errno(ret);
}

int kprobe_prepare(struct kernel *k, struct kprobe_plan *plan, const struct owner *owner,
		   struct tr_err *err)
{
	struct btf_files types = BTF_FILES_INIT(BTF_FILE);
	int ret = 0;

	for (size_t i = 0; i < plan->count && !ret; i++) {
		struct kprobe_planned *p = &plan->items[i];
		struct tr_err why = TR_ERR_INIT;

		if (p->ready)
			continue;
		ret = krule_is_function(p->key.place)
			      ? check_function(k, p->key.place, &why)
			      : resolve_events(k, p, owner, &types, &why);
		if ((p->optional && ret != -ENOMEM) || (p->waits && ret == -ENOENT) ||
		    rule_fails_alone(p->line, ret)) {
			if (ret != -ENOENT && !p->optional)
				tr_fail(err, ret, "%.120s: %s", p->text, why.sentence);
			p->refused = ret;
			ret = 0;
		}
		p->ready = !ret;
		if (ret)
			ret = fail_at_rule(&why, ret, p->text, p->line);
		if (ret && err)
			*err = why;
	}
	btf_files_deinit(&types);
	return ret;
}

/* Makes one event in the kernel, which may have several places. */
static int make_event(struct kernel *k, const struct dynamic_event_of *e, int *refused,
		      struct tr_err *err)
{
	struct md_buf names = MD_BUF_INIT;
	int ret = k->ops->probe_create(k->backend, k->group, &e->event, &names, err);

	*refused = ret;
	for (size_t at = 0; at < names.len && !ret; at += strlen(names.data + at) + 1) {
		ret = register_probe(k, names.data + at, &e->key);
		if (ret)
			tr_fail(err, ret,
				ret == -EEXIST ? "another rule has an event of the same name"
					       : "out of memory");
	}
	md_buf_deinit(&names);
	return ret;
}

/* Makes the probes for one key, of the rule or of its hooks. As kprobe_make. */
static int make_probes(struct kernel *k, struct kprobe_plan *plan, const struct rule *r,
		       const struct event_key *key, struct tr_err *err)
{
	struct tr_err why = TR_ERR_INIT;
	struct kprobe_planned *p = NULL;
	int ret = 0;

	for (size_t i = 0; i < plan->count && !p; i++)
		if (!event_key_compare(&plan->items[i].key, key))
			p = &plan->items[i];
	if (!p)
		return plan_rule(plan, r, key);
	/* It is known before the first is prepared which rules need it. */
	p->optional = p->optional && r->kind == RULE_HOOK;
	p->waits = p->waits && r->optional;
	if (!p->ready)
		return -EAGAIN;
	if ((p->optional || p->waits) && p->refused)
		return p->refused;
	for (size_t i = 0; i < p->events.count && !ret; i++)
		ret = make_event(k, &p->events.list[i], &p->refused, &why);
	if (ret)
		ret = fail_at_rule(&why, ret, r->source, r->line);
	if (ret && err)
		*err = why;
	return ret;
}

/* A probe that the kernel refuses is no error: rule/hook.h. */
static int make_hooks(struct kernel *k, struct kprobe_plan *plan, const struct rule *r,
		      struct tr_err *err)
{
	bool refused = true, pending = false;
	const struct event_key *key;

	/* Again after a refusal, because it may have chosen another probe. */
	while (refused) {
		refused = false;
		for (size_t at = 0; (key = hook_next_probe(r->pattern, &at));) {
			struct tr_err why = TR_ERR_INIT;
			int ret = make_probes(k, plan, r, key, &why);

			if (ret == -ENOMEM)
				return tr_fail(err, ret, "out of memory");
			pending |= ret == -EAGAIN;
			if (ret && ret != -EAGAIN) {
				hook_refuse(key);
				refused = true;
			}
		}
	}
	return pending ? -EAGAIN : 0;
}

int kprobe_make(struct kernel *k, struct kprobe_plan *plan, const struct rule *r,
		struct tr_err *err)
{
	int ret = 0;

	if (r->kind == RULE_HOOK)
		return make_hooks(k, plan, r, err);
	for (size_t i = 0; i < r->key_count && (!ret || ret == -EAGAIN); i++) {
		int one = make_probes(k, plan, r, &r->keys[i], err);

		ret = one ? one : ret;
	}
	return ret;
}

int kprobe_explain(const struct kprobe_plan *plan, int ret, struct tr_err *err)
{
	for (size_t i = 0; i < plan->count && ret; i++) {
		const struct kprobe_planned *p = &plan->items[i];
		struct tr_err why = TR_ERR_INIT;
		int code = p->refused && p->events.count
				   ? dynamic_event_explain(&p->events.list[0].event, p->refused,
							   &why)
				   : 0;

		if (!why.sentence[0])
			continue;
		ret = fail_at_rule(&why, code, p->text, p->line);
		if (err)
			*err = why;
		break;
	}
	return ret;
}

/* ---- restart of the daemon ---- */

/* The probes that an earlier daemon made for a rule's key, perhaps in another file of its path. */
static void claim_probes(struct kernel *k, const struct event_key *key)
{
	struct dynamic_event d;
	int ret = dynamic_event_make(key, &d, NULL);

	for (size_t i = 0; i < k->probe_count && !ret; i++)
		if (!k->probes[i].key && dynamic_event_made(&d, k->probes[i].name))
			k->probes[i].key = event_key_dup(key);
	dynamic_event_deinit(&d);
}

/* Finds the probes of a rule; makes new ones if the file at its path was replaced. */
static void restore_rule(struct channel *c, const struct rule *r)
{
	struct kernel *k = kernel_of(c->session->tracer);
	struct kprobe_plan plan = { 0 };
	struct tr_err err = TR_ERR_INIT;
	struct owner owner = session_owner(c->session);
	int ret = 0;

	if (r->kind != RULE_HOOK && !event_key_is_probe(&r->keys[0]))
		return;
	for (size_t i = 0; i < r->key_count; i++)
		if (event_key_is_probe(&r->keys[i]))
			claim_probes(k, &r->keys[i]);
	while (!ret && (ret = kprobe_make(k, &plan, r, &err)) == -EAGAIN && kprobe_pending(&plan))
		ret = kprobe_prepare(k, &plan, &owner, &err);
	kprobe_plan_deinit(&plan);
	if (ret && !(ret == -ENOENT && r->optional))
		session_failed(c->session, "channel %s: %s: %s", c->name, r->pattern, err.sentence);
}

void kprobes_restore(struct tracer *t)
{
	struct md_buf names = MD_BUF_INIT;
	struct kernel *k = kernel_of(t);
	struct session *s;
	struct channel *c;

	if (!k || k->ops->probes(k->backend, k->group, &names))
		return;
	if (hooks_wanted())
		kernel_refresh(k);              /* chooses hooks */
	for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1)
		register_probe(k, names.data + at, NULL);
	md_buf_deinit(&names);
	cds_list_for_each_entry(s, &t->sessions, node)
		cds_list_for_each_entry(c, &s->channels, node)
			for (size_t i = 0; c->kernel && session_may_trace_kernel(s) &&
			     i < c->rules.count; i++)
				restore_rule(c, &c->rules.rules[i]);
	/* The list of events is read again later, because it may have unknown probes. */
	kcatalog_free(kernel_of(t));
}
