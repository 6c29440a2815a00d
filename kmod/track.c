// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whom a channel records: threads by a bit for each id there may be, and attributes of the current
 * task by sorted lists. What a tracked thread starts is tracked, and an id is forgotten when its
 * thread is freed, before it is used again. Nothing else is followed: attributes are those of the
 * moment.
 */
#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/user_namespace.h>
#include <linux/vmalloc.h>

#include "kmod/trail.h"

/* ---- in the probe ---- */

static u32 attribute(enum modabi_track_by by)
{
	const struct cred *cred = current_cred();

	switch (by) {
	case MODABI_TRACK_VPID:
		return task_tgid_vnr(current);
	case MODABI_TRACK_UID:
		return __kuid_val(cred->uid);
	case MODABI_TRACK_VUID:
		return from_kuid_munged(cred->user_ns, cred->uid);
	case MODABI_TRACK_GID:
		return __kgid_val(cred->gid);
	case MODABI_TRACK_VGID:
		return from_kgid_munged(cred->user_ns, cred->gid);
	default:
		return 0;
	}
}

static bool has(const struct trail_ids *s, u32 id)
{
	u32 from = 0, to = s->count;

	while (from < to) {
		u32 mid = from + (to - from) / 2;

		if (s->ids[mid] == id)
			return true;
		if (s->ids[mid] < id)
			from = mid + 1;
		else
			to = mid;
	}
	return false;
}

bool trail_is_tracked(const struct trail_tracked *t)
{
	if (t->tids && !test_bit(current->pid, t->tids))
		return false;
	for (int by = MODABI_TRACK_TID + 1; by < MODABI_TRACK_COUNT; by++)
		if (t->sets[by] && !has(t->sets[by], attribute(by)))
			return false;
	return true;
}
EXPORT_SYMBOL_GPL(trail_is_tracked);

/* ---- threads ---- */

static void forked(void *data, struct task_struct *parent, struct task_struct *child)
{
	struct trail_channel *c = data;
	struct trail_tracked *t;

	compat_probe_begins();
	t = rcu_dereference_sched(c->tracked);
	if (t && t->tids && test_bit(parent->pid, t->tids))
		set_bit(child->pid, t->tids);
	compat_probe_ends();
}

static void freed(void *data, struct task_struct *task)
{
	struct trail_channel *c = data;
	struct trail_tracked *t;

	compat_probe_begins();
	t = rcu_dereference_sched(c->tracked);
	if (t && t->tids)
		clear_bit(task->pid, t->tids);
	compat_probe_ends();
}

static int follow(struct trail_channel *c, bool on)
{
	struct tracepoint *fork = trail_tracepoint("sched_process_fork"),
			  *end = trail_tracepoint("sched_process_free");
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

/* ---- switching ---- */

/* Probes may be using the set. */
static int add_tids(const u32 *ids, u32 count, unsigned long *set)
{
	for (u32 i = 0; i < count; i++)
		if (ids[i] >= PID_MAX_LIMIT)
			return -EINVAL;
	for (u32 i = 0; i < count; i++)
		set_bit(ids[i], set);
	return 0;
}

static int make_tids(const u32 *ids, u32 count, unsigned long **out)
{
	*out = vzalloc(BITS_TO_LONGS(PID_MAX_LIMIT) * sizeof(long));
	return *out ? add_tids(ids, count, *out) : -ENOMEM;
}

static int compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

static int make_set(const u32 *ids, u32 count, struct trail_ids **out)
{
	*out = kvmalloc(struct_size(*out, ids, count), GFP_KERNEL);
	if (!*out)
		return -ENOMEM;
	(*out)->count = count;
	if (count)
		memcpy((*out)->ids, ids, array_size(count, sizeof(*ids)));
	sort((*out)->ids, count, sizeof(*ids), compare, NULL);
	return 0;
}

static bool tracks_any(const struct trail_tracked *t)
{
	for (int by = 0; by < MODABI_TRACK_COUNT; by++)
		if (t->sets[by])
			return true;
	return t->tids;
}

/* The old one, once no probe uses it any more. */
static struct trail_tracked *replace(struct trail_channel *c, struct trail_tracked *t)
{
	struct trail_tracked *old =
		rcu_dereference_protected(c->tracked, lockdep_is_held(&trail_lock));

	rcu_assign_pointer(c->tracked, t);
	if (old)
		compat_wait_for_probes();
	return old;
}

int trail_track(struct trail_channel *c, enum modabi_track_by by, const u32 *ids, u32 count,
		bool all)
{
	const struct trail_tracked *now =
		rcu_dereference_protected(c->tracked, lockdep_is_held(&trail_lock));
	bool threads = by == MODABI_TRACK_TID;
	struct trail_tracked *t = kzalloc(sizeof(*t), GFP_KERNEL), *old;
	int ret = 0;

	if (!t)
		return -ENOMEM;
	if (now)
		*t = *now;
	t->sets[by] = NULL;
	if (threads)
		t->tids = NULL;
	if (!all)
		ret = threads ? make_tids(ids, count, &t->tids)
			      : make_set(ids, count, &t->sets[by]);
	if (!ret && threads && !all)
		ret = follow(c, true);
	if (ret) {
		if (threads)
			vfree(t->tids);
		kfree(t);
		return ret;
	}
	if (!tracks_any(t)) {
		kfree(t);
		t = NULL;
	}
	old = replace(c, t);
	if (old && threads)
		vfree(old->tids);
	if (old)
		kvfree(old->sets[by]);
	kfree(old);
	return threads && all ? follow(c, false) : 0;
}

int trail_track_more(struct trail_channel *c, const u32 *tids, u32 count)
{
	const struct trail_tracked *now =
		rcu_dereference_protected(c->tracked, lockdep_is_held(&trail_lock));

	return now && now->tids ? add_tids(tids, count, now->tids) : -EINVAL;
}

void trail_track_end(struct trail_channel *c)
{
	struct trail_tracked *old;

	follow(c, false);
	old = replace(c, NULL);
	if (!old)
		return;
	for (int by = 0; by < MODABI_TRACK_COUNT; by++)
		kvfree(old->sets[by]);
	vfree(old->tids);
	kfree(old);
}
