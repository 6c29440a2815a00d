// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Removes probes without rules. The rule goes, which disables the event in the channel's buffers.
 * Records that are left are drained while the format can be read. Then the probe is removed, and
 * what is known about its id is forgotten, because the kernel may reuse the id. The removal empties
 * all buffers that ever had the event, so it waits until none of them records. A disabled probe
 * costs nothing.
 */
#include <errno.h>
#include <string.h>

#include "tracer/kernel/kernel.h"
#include "tracer/base/rule/rule.h"

static bool has_rule(const struct session *s, const struct event_key *key)
{
	struct channel *c;

	cds_list_for_each_entry(c, &s->channels, node)
		for (size_t i = 0; c->kernel && i < c->rules.count; i++)
			if (rule_names(&c->rules.rules[i], key))
				return true;
	return false;
}

/* A rule has it, or a channel still records. */
static bool is_used(struct tracer *t, const struct kprobe *p)
{
	struct session *s;

	if (kernel_records(t, kernel_of(t)->group, p->name))
		return true;
	cds_list_for_each_entry(s, &t->sessions, node)
		if (p->key && has_rule(s, p->key))
			return true;
	cds_list_for_each_entry(s, &t->drafts, node)
		if (p->key && has_rule(s, p->key))
			return true;
	return false;
}

/* Caller holds kernel.making. */
static bool is_unused(struct tracer *t, const struct kprobe *p)
{
	bool unused;

	pthread_mutex_lock(&t->lock);
	/* While rules are written nothing is removed. The last writer calls this again. */
	unused = !kernel_of(t)->rule_writes && !is_used(t, p);
	pthread_mutex_unlock(&t->lock);
	return unused;
}

static bool has_unused_probe(struct tracer *t)
{
	struct kernel *k = kernel_of(t);
	bool some = false;

	pthread_mutex_lock(&k->making);
	for (size_t i = 0; i < k->probe_count && !some; i++)
		some = is_unused(t, &k->probes[i]);
	pthread_mutex_unlock(&k->making);
	return some;
}

static void drain_sessions(struct tracer *t)
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

/* Caller holds kernel.making. */
static void remove_probe(struct tracer *t, size_t i)
{
	struct kernel *k = kernel_of(t);
	int ret = k->ops->probe_remove(k->backend, k->group, k->probes[i].name);

	if (ret && ret != -ENOENT) {
		tracer_report(t, "the kernel's event %s cannot be removed: %s", k->probes[i].name,
			      strerror(-ret));
		return;
	}
	kernel_forget(k, k->group, k->probes[i].name);
	kprobe_unregister(k, i);
}

void kernel_probes_gc(struct tracer *t)
{
	struct kernel *k = kernel_of(t);

	if (!k || !has_unused_probe(t))
		return;
	drain_sessions(t);
	/* No rule gets a probe of the table meanwhile. */
	pthread_mutex_lock(&k->making);
	for (size_t i = k->probe_count; i-- > 0;)
		if (is_unused(t, &k->probes[i]))
			remove_probe(t, i);
	pthread_mutex_unlock(&k->making);
}
