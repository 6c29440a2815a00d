// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Says who may trace the kernel, and checks new rules of kernel channels against the kernel's
 * events.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/base.h"
#include "tracer/kernel/available.h"
#include "tracer/kernel/filter_check.h"
#include "tracer/kernel/kernel.h"
#include "tracer/base/rule/hook.h"
#include "tracer/base/rule/kernel_pattern.h"
#include "tracer/kernel/sample/sampler.h"

#define GROUP "tracing"         /* besides root, its members may trace the kernel */

bool kernel_allowed(struct tracer *t, const struct owner *owner)
{
	if (!kernel_of(t))
		return false;
	return owner->uid == geteuid() || owner->uid == 0 ||
	       (geteuid() == 0 && owner_in_group(owner, GROUP));
}

bool session_may_trace_kernel(const struct session *s)
{
	struct owner owner = session_owner(s);

	return kernel_allowed(s->tracer, &owner);
}

bool session_kernel(struct session *s)
{
	struct owner owner;

	pthread_mutex_lock(&s->tracer->lock);
	owner = session_owner(s);
	pthread_mutex_unlock(&s->tracer->lock);
	return kernel_allowed(s->tracer, &owner);
}

int kernel_refuses(struct tracer *t, const struct owner *owner, struct tr_err *err)
{
	if (!kernel_of(t))
		return tr_fail(err, -EOPNOTSUPP, "the kernel cannot be traced: %s",
			       kernel_data(t)->why);
	if (kernel_allowed(t, owner))
		return 0;
	return tr_fail(err, -EACCES,
		       "the kernel is traced by root and by members of the group '" GROUP "'");
}

/* The nearest of the tracepoints' systems and the words that begin other rules. */
static const char *suggest_system(struct kernel *k, const char *word, size_t len)
{
	static const char *const kinds[] = {
		"syscall", "kprobe", "kretprobe", "uprobe", "uretprobe", "usdt", "kcall", "ucall",
		"sample",
	};
	size_t n = 0, count = sizeof(kinds) / sizeof(kinds[0]);
	const char **names = malloc((k->event_count + count) * sizeof(*names)), *near;

	if (!names)
		return NULL;
	for (size_t i = 0; i < k->event_count; i++)
		if (kevent_is_tracepoint(k->events[i]) &&
		    (!n || strcmp(names[n - 1], k->events[i]->system) != 0))
			names[n++] = k->events[i]->system;
	memcpy(names + n, kinds, sizeof(kinds));
	near = nearest(word, len, names, n + count);
	free(names);
	return near;
}

/* system NULL: among all systems. */
static const char *suggest_event(struct kernel *k, const char *system, const char *prefix,
			      const char *word)
{
	const char **names = malloc((k->event_count + 1) * sizeof(*names)), *near;
	size_t n = 0, skip = strlen(prefix);

	if (!names)
		return NULL;
	for (size_t i = 0; i < k->event_count; i++) {
		const struct kevent *e = k->events[i];

		if (system ? !strcmp(e->system, system) && !strncmp(e->name, prefix, skip)
			   : kevent_is_tracepoint(e))
			names[n++] = e->name + skip;
	}
	near = nearest(word, strlen(word), names, n);
	free(names);
	return near;
}

static int fail_no_such(const struct rule *r, const char *what, const char *word, int len,
		   const char *near, struct tr_err *err)
{
	int column = (int)(word - r->pattern), ret;

	if (near)
		ret = tr_fail_at(err, -ENOENT, r->text, column,
				 "no such %s '%.*s'; did you mean '%s'?", what, len, word, near);
	else
		ret = tr_fail_at(err, -ENOENT, r->text, column, "no such %s '%.*s'", what, len,
				 word);
	if (err)
		err->line = r->line;
	return ret;
}

static int fail_no_system(struct kernel *k, const struct rule *r, const char *system,
			  struct tr_err *err)
{
	const char *near = suggest_system(k, system, strlen(system));
	const char *and = near ? ", did you mean '" : "";

	if (err)
		err->line = r->line;
	return tr_fail_at(err, -ENOENT, r->text, 0,
			  "the kernel has no system '%s'%s%s%s; rules on events of programs belong "
			  "in user/events",
			  system, and, near ? near : "", near ? "'?" : "");
}

/*
 * The kernel's and LTTng's names of system calls, with or without a system: `sys_enter_openat`.
 * False: no such name.
 */
static bool explain_syscall(struct kernel *k, const struct rule *r, struct tr_err *err)
{
	static const struct {
		const char *prefix, *rule;
	} kinds[] = {
		{ "sys_enter_", "entry:" }, { "sys_exit_", "exit:" },
		{ "syscall_entry_", "entry:" }, { "syscall_exit_", "exit:" }, { "sys_", "" },
	};
	const char *name = strchr(r->pattern, ':'), *near;

	name = name ? name + 1 : r->pattern;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strncmp(name, kinds[i].prefix, strlen(kinds[i].prefix)) != 0)
			continue;
		near = suggest_event(k, "syscalls", "sys_enter_", name + strlen(kinds[i].prefix));
		if (!near)
			return false;
		if (err)
			err->line = r->line;
		tr_fail_at(err, -ENOENT, r->text, 0,
			   "system calls have rules of their own: did you mean 'syscall:%s%s'?",
			   kinds[i].rule, near);
		return true;
	}
	return false;
}

/* Sets a sentence that says why no event matches the rule. */
static int explain_no_match(struct kernel *k, const struct rule *r, struct tr_err *err)
{
	const char *p = r->pattern, *colon = strchr(p, ':'), *word;
	char system[128];

	if (r->kind == RULE_HOOK) {
		int ret = hook_explain(p, r->text, err);

		if (err)
			err->line = r->line;
		return ret;
	}
	if (r->kind == RULE_PROBE || r->kind == RULE_CALL || r->kind == RULE_FUNCTIONS)
		return fail_no_such(r, "event", p, (int)strlen(p), NULL, err);
	if (r->kind == RULE_SYSCALLS) {
		word = krule_syscall_name(p);
		return fail_no_such(r, "system call", word, (int)strlen(word),
			       suggest_event(k, "syscalls", "sys_enter_", word), err);
	}
	if (explain_syscall(k, r, err))
		return -ENOENT;
	if (!colon) {
		word = suggest_event(k, "syscalls", "sys_enter_", p);
		if (word && !strcmp(word, p)) {
			if (err)
				err->line = r->line;
			return tr_fail_at(err, -ENOENT, r->text, 0,
					  "no such tracepoint; the system call is syscall:%s", p);
		}
		return fail_no_such(r, "tracepoint", p, (int)strlen(p),
				    suggest_event(k, NULL, "", p), err);
	}
	snprintf(system, sizeof(system), "%.*s", (int)(colon - p), p);
	if (!strchr(system, '*') && !kevent_find(k, system, NULL, 0))
		return fail_no_system(k, r, system, err);
	if (!strcmp(system, "syscalls")) {
		if (err)
			err->line = r->line;
		return tr_fail_at(err, -ENOENT, r->text, 0,
				  "no such tracepoint; a rule for a system call is syscall:NAME");
	}
	return fail_no_such(r, "tracepoint", colon + 1, (int)strlen(colon + 1),
		       suggest_event(k, system, "", colon + 1), err);
}

/* -EOPNOTSUPP if the rule asks for bytes that the kernel does not record. */
static int check_data(struct kernel *k, const struct rule *r, struct tr_err *err)
{
	static const char trail_ko[] = "trail.ko does not record the bytes that a system call is "
				       "given; without it, Linux 6.19 and later do";
	static const char this_kernel[] = "this kernel does not record the bytes that a system "
					  "call is given; Linux 6.19 and later do, with event "
					  "probes";
	const char *name = krule_syscall_name(r->pattern);
	bool some = false;

	for (size_t i = 0; i < k->event_count; i++) {
		const struct kevent *e = k->events[i];

		if (e->present && krule_match(&r->keys[0], e->key))
			return 0;
		some |= e->present && kevent_has_data(e);
	}
	if (err)
		err->line = r->line;
	if (some)
		return tr_fail_at(err, -EOPNOTSUPP, r->text, 0,
				  "the kernel records no bytes that '%.60s' is given", name);
	return tr_fail_at(err, -EOPNOTSUPP, r->text, 0,
			  k->ops->programs ? trail_ko : this_kernel);
}

/* Whether the kernel has the system call of the rule, with data or without. */
static bool has_call(struct kernel *k, const struct rule *r)
{
	const char *word = krule_syscall_name(r->pattern);
	const char *near = suggest_event(k, "syscalls", "sys_enter_", word);

	return near && !strcmp(near, word);
}

/* No event matches the rule. 0: one may come. */
static int check_absent(struct kernel *k, const struct rule *r, struct tr_err *err)
{
	static const char system[] = "user_events:";

	if (!strncmp(r->pattern, system, strlen(system)) && k->ops->has_user_events &&
	    !k->ops->has_user_events(k->backend)) {
		if (err)
			err->line = r->line;
		return tr_fail_at(err, -EOPNOTSUPP, r->text, 0,
				  "this kernel has no events that programs define (user_events; "
				  "Linux 6.4, if it was built with them)");
	}
	/* The kernel gets no further system calls later. */
	return r->optional && r->kind != RULE_SYSCALLS ? 0 : explain_no_match(k, r, err);
}

static int check_rule(struct kernel *k, const struct rule *r, struct tr_err *err)
{
	int ret = kfilter_check_types(k, r, err);

	if (ret == -ENOENT)
		ret = check_absent(k, r, err);
	if (r->data && (!ret || (ret == -ENOENT && has_call(k, r))))
		ret = check_data(k, r, err);
	return ret || !r->filter ? ret : kfilter_check_fields(k, r, BACKEND_AUTO, err);
}

/* Checks that a rule with extra data, but for those of probes, is for one tracepoint. */
static int check_tracepoint(struct kernel *k, const struct rule *r, struct tr_err *err)
{
	size_t matches = 0;
	int ret = 0;

	if (r->kind != RULE_EVENTS || !r->keys[0].extra.count)
		return 0;
	ret = kernel_refresh(k);
	if (ret)
		return tr_fail(err, ret, "the kernel's events cannot be listed: %s",
			       strerror(-ret));
	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < k->event_count; i++)
		matches += kprobe_is_tracepoint(k->events[i], r->pattern);
	if (!matches)
		ret = explain_no_match(k, r, err);
	pthread_mutex_unlock(&k->lock);
	if (matches > 1) {
		ret = tr_fail_at(err, -EINVAL, r->text, 0,
				 "extra data is for one tracepoint: %zu have this name; write "
				 "SYSTEM:NAME", matches);
		if (err)
			err->line = r->line;
	}
	return ret;
}

/* Makes the probes of new rules. One call requests the preparation of all that need it. */
static int make_probes(struct kernel *k, const struct rule_list *l, struct kprobe_plan *plan,
		       struct tr_err *err)
{
	struct tr_err why;
	int ret = 0, one;

	for (size_t i = 0; i < l->count && (!ret || ret == -EAGAIN); i++) {
		if (!l->rules[i].line)
			continue;
		if (l->rules[i].kind != RULE_HOOK && !kprobe_is_rule(&l->rules[i]))
			continue;
		why = (struct tr_err)TR_ERR_INIT;
		one = check_tracepoint(k, &l->rules[i], &why);
		if (!one)
			one = kprobe_make(k, plan, &l->rules[i], &why);
		if (one == -ENOENT && l->rules[i].optional)
			continue;       /* pending.c does it again */
		if (*why.sentence && err)
			*err = why;
		if (rule_fails_alone(l->rules[i].line, one))
			one = 0;
		ret = one ? one : ret;
	}
	return ret;
}

int kernel_check_rules(struct kernel *k, const struct rule_list *l, struct kprobe_plan *plan,
		       struct tr_err *err)
{
	int ret = hooks_wanted() ? kernel_refresh(k) : 0;

	if (ret)
		return tr_fail(err, ret, "the kernel's events cannot be listed: %s",
			       strerror(-ret));
	pthread_mutex_lock(&k->making);
	ret = make_probes(k, l, plan, err);
	pthread_mutex_unlock(&k->making);
	if (ret)
		return ret;
	ret = kernel_refresh(k);
	if (ret)
		return tr_fail(err, ret, "the kernel's events cannot be listed: %s",
			       strerror(-ret));
	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < l->count && !ret; i++) {
		if (l->rules[i].line)
			ret = check_rule(k, &l->rules[i], err);
		if (rule_fails_alone(l->rules[i].line, ret))
			ret = 0;
	}
	pthread_mutex_unlock(&k->lock);
	return ret ? ret : sampler_check_rules(l, err);
}
