// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a channel records: events with compiled probes, which are put on their tracepoints by name,
 * and all others. Each attachment is a registration of its own with the tracepoint, so that
 * channels know nothing of each other.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "kmod/trail.h"

#define EVENTS_MAX 20000                /* of a channel */
/* Attachments per grace period. One period for each would take a minute for all events. */
#define DYING_MAX 1000

struct traced_module {                  /* a loaded module that has tracepoints */
	struct list_head node;
	struct module *mod;
};

/* guarded by trail_lock */
static LIST_HEAD(all_probes);           /* struct trail_probes */
static LIST_HEAD(traced_modules);

/* ---- in the probe ---- */

struct trail_place trail_begin(struct trail_attach *a, u32 len)
{
	/* Preemption was switched off once, by the tracepoint or the probe that it called. */
	return trail_open(a, len, (struct trail_site){ .preempts = 1, .frames = 1 });
}
EXPORT_SYMBOL_GPL(trail_begin);

void trail_end(struct cpu_ring *ring)
{
	trail_close(ring);
}
EXPORT_SYMBOL_GPL(trail_end);

/* ---- tracepoints ---- */

static struct tracepoint *find_in(const struct module *mod, const char *name)
{
	for (unsigned int i = 0; i < mod->num_tracepoints; i++) {
		struct tracepoint *tp = tracepoint_ptr_deref(&mod->tracepoints_ptrs[i]);

		if (!strcmp(tp->name, name))
			return tp;
	}
	return NULL;
}

static struct tracepoint *find_tracepoint(const char *name)
{
	struct tracepoint *tp = trail_tracepoint(name);
	struct traced_module *m;

	list_for_each_entry(m, &traced_modules, node)
		if (!tp)
			tp = find_in(m->mod, name);
	return tp;
}

static int attach(struct trail_attach *a, struct tracepoint *tp)
{
	int ret = tracepoint_probe_register(tp, a->probe->func, a);

	if (!ret)
		a->tp = tp;
	return ret;
}

static void detach(struct trail_attach *a)
{
	if (a->tp)
		tracepoint_probe_unregister(a->tp, a->probe->func, a);
	a->tp = NULL;
}

static void module_comes(struct module *mod)
{
	struct traced_module *m = kzalloc(sizeof(*m), GFP_KERNEL);
	struct trail_channel *c;
	struct trail_attach *a;
	struct tracepoint *tp;

	if (!m)
		return;         /* its events are not found */
	m->mod = mod;
	list_add_tail(&m->node, &traced_modules);
	list_for_each_entry(c, &trail_channels, node)
		list_for_each_entry(a, &c->attached, node) {
			tp = a->probe && !a->tp ? find_in(mod, a->probe->name) : NULL;
			if (tp)
				attach(a, tp);
		}
}

static void module_goes(struct module *mod)
{
	struct traced_module *m, *next;
	struct trail_channel *c;
	struct trail_attach *a;

	list_for_each_entry(c, &trail_channels, node)
		list_for_each_entry(a, &c->attached, node)
			if (a->tp && find_in(mod, a->probe->name) == a->tp)
				detach(a);
	list_for_each_entry_safe(m, next, &traced_modules, node)
		if (m->mod == mod) {
			list_del(&m->node);
			kfree(m);
		}
}

static int module_changes(struct notifier_block *nb, unsigned long state, void *data)
{
	struct tp_module *tm = data;

	mutex_lock(&trail_lock);
	if (state == MODULE_STATE_COMING)
		module_comes(tm->mod);
	else if (state == MODULE_STATE_GOING)
		module_goes(tm->mod);
	mutex_unlock(&trail_lock);
	return NOTIFY_OK;
}

static struct notifier_block notifier = { .notifier_call = module_changes };

/* ---- compiled probes ---- */

static const struct trail_probe *find_probe(const char *system, const char *name)
{
	struct trail_probes *p;

	list_for_each_entry(p, &all_probes, node)
		for (unsigned int i = 0; i < p->count; i++)
			if (!strcmp(p->probes[i]->name, name) &&
			    !strcmp(p->probes[i]->system, system))
				return p->probes[i];
	return NULL;
}

/* Channels that recorded them before they were removed do so again. */
int trail_probes_add(struct trail_probes *p)
{
	struct trail_channel *c;
	struct trail_attach *a;
	struct tracepoint *tp;

	mutex_lock(&trail_lock);
	list_add_tail(&p->node, &all_probes);
	list_for_each_entry(c, &trail_channels, node)
		list_for_each_entry(a, &c->attached, node) {
			if (a->how != MODABI_COMPILED || a->probe)
				continue;
			a->probe = find_probe(a->system, a->name);
			tp = a->probe ? find_tracepoint(a->name) : NULL;
			if (tp)
				attach(a, tp);
		}
	mutex_unlock(&trail_lock);
	return 0;
}
EXPORT_SYMBOL_GPL(trail_probes_add);

static bool is_of(const struct trail_probes *p, const struct trail_probe *probe)
{
	for (unsigned int i = 0; i < p->count; i++)
		if (p->probes[i] == probe)
			return true;
	return false;
}

/* Channels that record them go without. */
void trail_probes_remove(struct trail_probes *p)
{
	struct trail_channel *c;
	struct trail_attach *a;

	mutex_lock(&trail_lock);
	list_del(&p->node);
	list_for_each_entry(c, &trail_channels, node)
		list_for_each_entry(a, &c->attached, node)
			if (a->probe && is_of(p, a->probe)) {
				detach(a);
				a->probe = NULL;
			}
	mutex_unlock(&trail_lock);
	compat_wait_for_probes();
}
EXPORT_SYMBOL_GPL(trail_probes_remove);

unsigned int trail_compiled_count(void)
{
	struct trail_probes *p;
	unsigned int n = 0;

	list_for_each_entry(p, &all_probes, node)
		n += p->count;
	return n;
}

/* ---- switching ---- */

static struct trail_attach *find_attached(struct trail_channel *c, const char *system,
					  const char *name)
{
	struct trail_attach *a;

	list_for_each_entry(a, &c->attached, node)
		if (!strcmp(a->name, name) && !strcmp(a->system, system))
			return a;
	return NULL;
}

static int switch_on(struct trail_attach *a)
{
	struct tracepoint *tp;

	if (!strcmp(a->system, "syscalls")) {
		a->how = MODABI_SYSCALL;
		return trail_syscall_on(a);
	}
	a->probe = find_probe(a->system, a->name);
	if (a->probe) {
		a->how = MODABI_COMPILED;
		tp = find_tracepoint(a->name);
		return tp ? attach(a, tp) : -ENOENT;
	}
	a->how = MODABI_PERF;
	a->counter = trail_counter_open(a);
	return PTR_ERR_OR_ZERO(a->counter);
}

static void switch_off(struct trail_attach *a)
{
	if (a->how == MODABI_SYSCALL)
		trail_syscall_off(a);
	else if (a->how == MODABI_PERF && a->counter)
		trail_counter_close(a->counter);
	else if (a->probe)
		detach(a);
}

static void retire(struct trail_attach *a)
{
	switch_off(a);
	list_move(&a->node, &a->channel->dying);
	a->channel->dying_count++;
}

static int add(struct trail_channel *c, struct modabi_event *e)
{
	struct trail_attach *a, *each;
	unsigned int n = 0;
	int ret;

	list_for_each_entry(each, &c->attached, node)
		n++;
	if (n >= EVENTS_MAX)
		return -ENOSPC;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return -ENOMEM;
	a->channel = c;
	a->id = e->id;
	strscpy(a->system, e->system, sizeof(a->system));
	strscpy(a->name, e->name, sizeof(a->name));
	a->call = e->call;
	ret = switch_on(a);
	if (ret) {
		kfree(a);
		return ret;
	}
	e->how = a->how;
	list_add_tail(&a->node, &c->attached);
	return 0;
}

int trail_event_set(struct trail_channel *c, struct modabi_event *e)
{
	struct trail_attach *a;

	if (e->reserved || e->on > 1 || !e->id || e->id > U16_MAX ||
	    strnlen(e->system, sizeof(e->system)) == sizeof(e->system) ||
	    strnlen(e->name, sizeof(e->name)) == sizeof(e->name))
		return -EINVAL;
	a = find_attached(c, e->system, e->name);
	if (!e->on == !a) {
		e->how = a ? a->how : 0;
		return 0;
	}
	if (e->on)
		return add(c, e);
	e->how = a->how;
	retire(a);
	if (c->dying_count >= DYING_MAX) {
		compat_wait_for_probes();
		trail_events_free(c);
	}
	return 0;
}

int trail_event_filter(struct trail_channel *c, const struct modabi_filter *m)
{
	struct trail_attach *a;

	if (m->reserved || strnlen(m->system, sizeof(m->system)) == sizeof(m->system) ||
	    strnlen(m->name, sizeof(m->name)) == sizeof(m->name))
		return -EINVAL;
	a = find_attached(c, m->system, m->name);
	return a ? trail_filter_set(a, m) : -ENOENT;
}

void trail_events_off(struct trail_channel *c)
{
	struct trail_attach *a, *next;

	list_for_each_entry_safe(a, next, &c->attached, node)
		retire(a);
}

void trail_events_free(struct trail_channel *c)
{
	struct trail_attach *a, *next;

	list_for_each_entry_safe(a, next, &c->dying, node) {
		trail_filter_free(a);
		kfree(a);
	}
	INIT_LIST_HEAD(&c->dying);
	c->dying_count = 0;
}

/* ---- texts ---- */

static size_t put_line(char *to, const char *system, const char *name)
{
	return sprintf(to, "%s:%s\n", system, name);
}

int trail_enabled_text(struct trail_channel *c, char **text, size_t *len)
{
	struct trail_attach *a;
	size_t size = 1;

	list_for_each_entry(a, &c->attached, node)
		size += strlen(a->system) + strlen(a->name) + 2;
	*text = kvmalloc(size, GFP_KERNEL);
	if (!*text)
		return -ENOMEM;
	*len = 0;
	list_for_each_entry(a, &c->attached, node)
		*len += put_line(*text + *len, a->system, a->name);
	return 0;
}

int trail_compiled_text(char **text, size_t *len)
{
	struct trail_probes *p;
	size_t size = 1;

	mutex_lock(&trail_lock);
	list_for_each_entry(p, &all_probes, node)
		for (unsigned int i = 0; i < p->count; i++)
			size += strlen(p->probes[i]->system) + strlen(p->probes[i]->name) + 2;
	*text = kvmalloc(size, GFP_KERNEL);
	*len = 0;
	if (*text)
		list_for_each_entry(p, &all_probes, node)
			for (unsigned int i = 0; i < p->count; i++)
				*len += put_line(*text + *len, p->probes[i]->system,
						 p->probes[i]->name);
	mutex_unlock(&trail_lock);
	return *text ? 0 : -ENOMEM;
}

int trail_events_init(void)
{
	return register_tracepoint_module_notifier(&notifier);
}

void trail_events_exit(void)
{
	struct traced_module *m, *next;

	unregister_tracepoint_module_notifier(&notifier);
	list_for_each_entry_safe(m, next, &traced_modules, node) {
		list_del(&m->node);
		kfree(m);
	}
}
