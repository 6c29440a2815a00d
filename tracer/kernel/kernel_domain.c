// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel domain's row for the model: session/domain.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/rule/hook.h"
#include "tracer/kernel/filter_check.h"
#include "tracer/kernel/kernel.h"

struct rule_preparation {
	struct kprobe_plan plan;
	bool counted;                   /* in kernel.rule_writes */
};

static int check_rules(struct session *s, const struct rule_list *rules,
		       struct rule_preparation **prep, struct tr_err *err)
{
	int ret;

	if (!kernel_of(s->tracer))
		return tr_fail(err, -EOPNOTSUPP, "the kernel cannot be traced: %s",
			       kernel_data(s->tracer)->why);
	if (!*prep && !(*prep = calloc(1, sizeof(**prep))))
		return tr_fail(err, -ENOMEM, "out of memory");
	if (!(*prep)->counted)
		kernel_of(s->tracer)->rule_writes++;
	(*prep)->counted = true;
	pthread_mutex_unlock(&s->tracer->lock);
	ret = kernel_check_rules(kernel_of(s->tracer), rules, &(*prep)->plan, err);
	pthread_mutex_lock(&s->tracer->lock);
	return ret;
}

static int check_channel(const struct channel *c, const struct rule_list *rules,
			 struct tr_err *err)
{
	struct tracer *t = c->session->tracer;
	int ret;

	pthread_mutex_unlock(&t->lock);
	ret = kernel_check_texts(kernel_of(t), rules, true, (enum backend_choice)c->backend, err);
	pthread_mutex_lock(&t->lock);
	return ret;
}

static void each_match(struct session *s, const struct rule_list *rules,
		       bool (*fn)(void *arg, const struct filter_event *fields), void *arg)
{
	if (!kernel_of(s->tracer))
		return;
	pthread_mutex_unlock(&s->tracer->lock);
	kernel_each_match(kernel_of(s->tracer), rules, fn, arg);
	pthread_mutex_lock(&s->tracer->lock);
}

static int prepare_rules(struct session *s, struct rule_preparation *prep,
			 const struct owner *owner, struct tr_err *err)
{
	if (!prep || !kprobe_pending(&prep->plan))
		return -EAGAIN;
	return kprobe_prepare(kernel_of(s->tracer), &prep->plan, owner, err);
}

static int end_rules(struct session *s, struct rule_preparation *prep, int ret, struct tr_err *err)
{
	if (prep) {
		ret = kprobe_explain(&prep->plan, ret, err);
		kprobe_plan_deinit(&prep->plan);
		pthread_mutex_lock(&s->tracer->lock);
		kernel_of(s->tracer)->rule_writes -= prep->counted;
		pthread_mutex_unlock(&s->tracer->lock);
		free(prep);
	}
	kernel_scan(s->tracer);
	buffers_keep(s->tracer);
	kernel_probes_gc(s->tracer);
	kernel_pending_update(s->tracer);
	return ret;
}

static void apply_rules(struct session *s)
{
	struct channel *c;

	if (s->active) {
		cds_list_for_each_entry(c, &s->channels, node)
			kchannel_apply(c);
		return;
	}
	/*
	 * The last one first: the kernel waits for a grace period, about 15 ms, for each event that
	 * two channels have and the first of them gives up.
	 */
	cds_list_for_each_entry_reverse(c, &s->channels, node)
		kchannel_apply(c);
}

static int applied(const struct channel *c, struct tr_err *err)
{
	int error = c->kchannel ? c->kchannel->error : 0;

	return error ? tr_fail(err, error, "the rules are saved, but %s", c->kchannel->problem)
		     : 0;
}

/* Switching the kernel's events off may take a second. */
static bool may_halt(const struct session *s)
{
	const struct channel *c;

	cds_list_for_each_entry(c, &s->channels, node)
		if (c->kernel)
			return false;
	return true;
}

static void dump_state(struct session *s)
{
	kernel_scan(s->tracer);
	kernel_statedump(s);
}

static bool is_recording(const struct session *s)
{
	const struct channel *c;

	cds_list_for_each_entry(c, &s->channels, node)
		if (c->kchannel && c->kchannel->recording)
			return true;
	return false;
}

static void remove_unused(struct tracer *t)
{
	kernel_channels_gc(t);
	kernel_probes_gc(t);
}

static int list_events(struct session *s, void (*fn)(void *arg, const struct known_event *e),
		       void *arg)
{
	struct kernel *k = kernel_of(s->tracer);

	/* If the kernel's events cannot be listed now, those of the last time are shown. */
	if (!k || kernel_refresh(k) == -ENOMEM)
		return 0;
	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < k->event_count; i++) {
		const struct kevent *e = k->events[i];

		fn(arg, &(struct known_event){ .key = e->key, .name = e->event,
					       .absent = !e->present });
	}
	pthread_mutex_unlock(&k->lock);
	return 0;
}

static void save_channel(const struct channel *c, struct md_buf *out)
{
	md_buf_printf(out, "kernel %s\n", c->kchannel ? c->kchannel->name : "-");
}

/* Calls `visit` for each channel, referenced. The sum of what it returns, or the first -errno. */
static int visit_channels(struct session *s, int (*visit)(struct kchannel *kc, int arg), int arg)
{
	struct kchannel **all = NULL;
	struct channel *c;
	size_t n = 0;
	int sum = 0, one;

	pthread_mutex_lock(&s->tracer->lists_lock);
	cds_list_for_each_entry(c, &s->channels, node)
		n += c->kchannel != NULL;
	all = n ? calloc(n, sizeof(*all)) : NULL;
	n = 0;
	cds_list_for_each_entry(c, &s->channels, node)
		if (all && c->kchannel) {
			all[n++] = c->kchannel;
			__atomic_fetch_add(&c->kchannel->refs, 1, __ATOMIC_RELAXED);
		}
	pthread_mutex_unlock(&s->tracer->lists_lock);
	for (size_t i = 0; all && i < n; i++) {
		one = visit(all[i], arg);
		sum = sum < 0 || one < 0 ? (sum < 0 ? sum : one) : sum + one;
		kchannel_put(all[i]);
	}
	free(all);
	return sum;
}

void kernel_drain(struct session *s)
{
	visit_channels(s, kchannel_drain, 0);
}

static int kernel_watch(struct session *s, int epoll)
{
	return visit_channels(s, kchannel_watch, epoll);
}

/* The data that LKET has with every event of a hook; whose a sample is */
static const char *rule_contexts(const struct rule_list *rules)
{
	for (size_t i = 0; i < rules->count; i++) {
		if (rules->rules[i].kind == RULE_HOOK)
			return "tid pid ppid";
		if (rules->rules[i].kind == RULE_SAMPLES)
			return "procname pid tid";
	}
	return NULL;
}

static bool has_only_samples(const struct rule_list *l)
{
	bool some = false;

	for (size_t i = 0; i < l->count; i++) {
		if (!l->rules[i].disabled && l->rules[i].kind != RULE_SAMPLES)
			return false;
		some |= !l->rules[i].disabled;
	}
	return some;
}

static void channel_problems(const struct channel *c, struct facts *out)
{
	const struct kernel *k = kernel_of(c->session->tracer);

	if (has_only_samples(&c->rules)) {
		/* The backend records nothing of it. */
		fact_text(out, "backend", "performance events");
		return;
	}
	if (k && k->ops->note && c->kchannel && c->kchannel->bc)
		k->ops->note(c->kchannel->bc, out);
}

const struct domain_ops kernel_domain = {
	.size = sizeof(struct kernel_data),
	.name = "kernel",
	.check_rules = check_rules,
	.check_channel = check_channel,
	.rule_contexts = rule_contexts,
	.each_match = each_match,
	.prepare_rules = prepare_rules,
	.end_rules = end_rules,
	.start = kchannel_start,
	.apply = apply_rules,
	.may_halt = may_halt,
	.dump = dump_state,
	.applied = applied,
	.drain = kernel_drain,
	.watch = kernel_watch,
	.needs_cpu_barrier = is_recording,
	.drop = kchannel_drop,
	.check = kernel_check,
	.gc = remove_unused,
	.list_events = list_events,
	.status = kernel_problems,
	.channel_status = channel_problems,
	.save = save_channel,
};
