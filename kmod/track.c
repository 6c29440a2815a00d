// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which threads a channel records: a bit for each id there may be. What a tracked thread starts is tracked, and an id is forgotten when its
 * thread is freed, before it is used again.
 */
#include <linux/rcupdate.h>
#include <linux/vmalloc.h>

#include "kmod/trail.h"

static void forked(void *data, struct task_struct *parent, struct task_struct *child)
{
	struct trail_channel *c = data;
	struct trail_tracked *t = rcu_dereference_sched(c->tracked);

	if (t && test_bit(parent->pid, t->tids))
		set_bit(child->pid, t->tids);
}

static void freed(void *data, struct task_struct *task)
{
	struct trail_channel *c = data;
	struct trail_tracked *t = rcu_dereference_sched(c->tracked);

	if (t)
		clear_bit(task->pid, t->tids);
}

static int follow(struct trail_channel *c, bool on)
{
	struct tracepoint *fork = trail_tracepoint("sched_process_fork"), *end = trail_tracepoint("sched_process_free");
	int ret;

	if (c->following == on)
		return 0;
	if (!fork || !end)
		return on ? -EOPNOTSUPP : 0;
	if (!on) {
		tracepoint_probe_unregister(fork, forked, c);
		tracepoint_probe_unregister(end, freed, c);
		c->following = false;
		return 0;
	}
	ret = tracepoint_probe_register(fork, forked, c);
	if (ret)
		return ret;
	ret = tracepoint_probe_register(end, freed, c);
	if (ret)
		tracepoint_probe_unregister(fork, forked, c);
	c->following = !ret;
	return ret;
}

static void replace(struct trail_channel *c, struct trail_tracked *t)
{
	struct trail_tracked *old = rcu_dereference_protected(c->tracked, lockdep_is_held(&trail_lock));

	rcu_assign_pointer(c->tracked, t);
	if (old) {
		tracepoint_synchronize_unregister();
		vfree(old);
	}
}

int trail_track(struct trail_channel *c, const u32 *tids, u32 count, bool all)
{
	struct trail_tracked *t = NULL;
	int ret;

	for (u32 i = 0; i < count; i++)
		if (tids[i] >= PID_MAX_LIMIT)
			return -EINVAL;
	if (!all) {
		t = vzalloc(sizeof(*t));
		if (!t)
			return -ENOMEM;
	}
	for (u32 i = 0; i < count; i++)
		set_bit(tids[i], t->tids);
	ret = all ? 0 : follow(c, true);
	if (ret) {
		vfree(t);
		return ret;
	}
	replace(c, t);
	return all ? follow(c, false) : 0;
}

void trail_track_end(struct trail_channel *c)
{
	follow(c, false);
	replace(c, NULL);
}
