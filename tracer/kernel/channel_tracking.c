// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Passes the session's inclusion sets to the kernel: it records only the processes in them. tracefs
 * knows processes alone: users and groups are looked up when an event is read. A control group
 * becomes the threads in it. The kernel adds what these start; pending.c looks for those that join.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/kernel/kernel.h"
#include "tracer/kernel/task/task.h"
#include "tracer/kernel/task/thread_table.h"

#define PID_LIMIT (1u << 22)            /* more than any thread's id */

/* In a PID namespace, where /proc has other numbers than the kernel's records. */
static int list_translated(const struct track *t, uint32_t **out, size_t *count)
{
	struct tasks all;
	uint32_t *tids;
	size_t n = 0;
	int ret = tasks_read(&all, NULL);

	if (ret)
		return ret;
	tids = malloc((all.count + 1) * sizeof(*tids));
	for (size_t i = 0; tids && i < t->count; i++) {
		const struct task *leader = tasks_find(&all, (int32_t)t->ids[i]);

		for (size_t k = 0; leader && leader->tid == leader->pid && k < all.count; k++)
			if (all.items[k].pid == leader->pid)
				tids[n++] = (uint32_t)all.items[k].tid;
	}
	tasks_deinit(&all);
	*out = tids;
	*count = n;
	return tids ? 0 : -ENOMEM;
}

/* Lists the threads of the tracked processes. The kernel adds their descendants itself. */
static int list_processes(const struct track *t, uint32_t **out, size_t *count)
{
	uint32_t *tids = NULL;
	size_t n = 0;
	char path[48];
	struct dirent *d;

	if (t->count && !tasks_global())
		return list_translated(t, out, count);

	for (size_t i = 0; i < t->count; i++) {
		DIR *dir;

		snprintf(path, sizeof(path), "/proc/%u/task", t->ids[i]);
		dir = opendir(path);
		while (dir && (d = readdir(dir))) {
			if (d->d_name[0] == '.')
				continue;
			if (!array_double(tids, n)) {
				closedir(dir);
				free(tids);
				return -ENOMEM;
			}
			tids[n++] = (uint32_t)strtoul(d->d_name, NULL, 10);
		}
		if (dir)
			closedir(dir);
	}
	*out = tids;
	*count = n;
	return 0;
}

/* The threads of control groups; if there is a set of processes, of these alone. */
struct members {
	const struct track *pids, *cgroups;
	struct tasks all;               /* empty if /proc has the kernel's numbers */
	uint32_t *tids;
	size_t count;
	int err;
};

static void add_member(void *arg, int32_t number)
{
	struct members *m = arg;
	struct kthread process;
	char *cgroups;
	bool in;

	if (m->pids->some && !(kthread_read_ids(number, &process) &&
			       track_has(m->pids, (uint32_t)process.pid)))
		return;
	cgroups = track_read_cgroups((uint32_t)number);
	in = cgroups && track_has_cgroup(m->cgroups, cgroups);
	free(cgroups);
	if (in && array_double(m->tids, m->count))
		m->tids[m->count++] = (uint32_t)tasks_translate(&m->all, number);
	else if (in || !cgroups)
		m->err = -ENOMEM;
}

static int compare_tids(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorted by number, each once. Caller frees *out. */
static int list_members(const struct track *sets, uint32_t **out, size_t *count)
{
	struct members m = { .pids = &sets[TRACK_PID], .cgroups = &sets[TRACK_KERNEL_CGROUP] };

	if (m.cgroups->count && !tasks_global())
		m.err = tasks_read(&m.all, NULL);
	if (!m.err && m.cgroups->count)
		kthread_each(add_member, &m);
	tasks_deinit(&m.all);
	if (m.err) {
		free(m.tids);
		return m.err;
	}
	if (m.count)
		qsort(m.tids, m.count, sizeof(*m.tids), compare_tids);
	*out = m.tids;
	*count = m.count;
	return 0;
}

static void set_members(struct kchannel *kc, uint32_t *tids, size_t count)
{
	free(kc->members);
	kc->members = tids;
	kc->member_count = count;
}

static bool is_member(const struct kchannel *kc, uint32_t tid)
{
	return kc->member_count && bsearch(&tid, kc->members, kc->member_count,
					   sizeof(*kc->members), compare_tids);
}

static bool copy_set(struct kchannel *kc, int attr)
{
	struct track copy;

	if (track_copy(&kc->channel->session->track[attr], &copy))
		return false;
	track_deinit(&kc->tracked[attr]);
	kc->tracked[attr] = copy;
	return true;
}

/* The control groups about which the backend itself decides, at present: their number. */
static int pass_groups(struct kchannel *kc, struct kernel *k)
{
	const struct track *sets = kc->channel->session->track;
	bool some = sets[TRACK_KERNEL_CGROUP].some && !sets[TRACK_PID].some;
	int count = k->ops->track_groups
			    ? k->ops->track_groups(kc->bc, some ? &sets[TRACK_KERNEL_CGROUP] : NULL)
			    : 0;

	return count < 0 ? 0 : count;
}

/*
 * Records the threads of groups about which the backend decides, and no others. To the kernel an
 * empty set would mean all threads, so it has one that cannot exist; before Linux 5.16 it refuses
 * that.
 */
static int track_groups_only(struct kchannel *kc, struct kernel *k)
{
	const uint32_t none = PID_LIMIT;

	return k->ops->track(kc->bc, &none, 1);
}

bool kchannel_apply_track(struct kchannel *kc, struct kernel *k)
{
	const struct track *sets = kc->channel->session->track;
	const struct track *pids = &sets[TRACK_PID], *cgroups = &sets[TRACK_KERNEL_CGROUP];
	bool some = pids->some || cgroups->some, at_once = false;
	uint32_t *tids = NULL;
	size_t count = 0;
	int ret = 0;

	if (track_equal(pids, &kc->tracked[TRACK_PID]) &&
	    track_equal(cgroups, &kc->tracked[TRACK_KERNEL_CGROUP]) && !kc->track_again &&
	    (!cgroups->some || kc->recording))
		return (!pids->some || pids->count) && (!cgroups->some || cgroups->count);
	/*
	 * While the set is replaced, the kernel has no set and would record all threads: stop
	 * recording meanwhile.
	 */
	if (kc->recording)
		k->ops->record(kc->bc, false);
	/* Before the list: a thread that joins meanwhile is in the one or the other. */
	at_once = pass_groups(kc, k) > 0;
	ret = cgroups->some ? list_members(sets, &tids, &count)
			    : list_processes(pids, &tids, &count);
	if (!ret && (!some || count))
		ret = k->ops->track(kc->bc, tids, count);
	else if (!ret && at_once)
		at_once = !track_groups_only(kc, k);
	if (ret || !cgroups->some) {
		free(tids);
		tids = NULL;
	}
	set_members(kc, tids, ret ? 0 : count);
	if (!ret && some && !count && !at_once)
		/*
		 * None of the processes exists. An empty set would mean all threads to the kernel.
		 */
		return false;
	kc->track_again = ret != 0;
	if (!ret && (!copy_set(kc, TRACK_PID) || !copy_set(kc, TRACK_KERNEL_CGROUP)))
		kc->track_again = true;
	if (ret)
		kc->refused = ret;
	return !ret;
}

bool kchannel_follow_cgroups(struct kchannel *kc, struct kernel *k)
{
	const struct track *sets = kc->channel->session->track;
	uint32_t *tids, *more;
	size_t count, n = 0;
	int ret, groups;

	if (!sets[TRACK_KERNEL_CGROUP].some)
		return false;
	/* Groups may have been made since, and others with the names of old ones. */
	groups = pass_groups(kc, k);
	if (list_members(sets, &tids, &count))
		return false;
	if (!kc->recording) {
		n = groups != kc->groups;
		kc->groups = groups;
		/* An apply finds the same, unless the kernel has them. */
		for (size_t i = 0; i < count; i++)
			n += !is_member(kc, tids[i]);
		kc->track_again |= n > 0;
		free(tids);
		return n > 0;
	}
	more = calloc(count + 1, sizeof(*more));
	for (size_t i = 0; more && i < count; i++)
		if (!is_member(kc, tids[i]))
			more[n++] = tids[i];
	ret = !more ? -ENOMEM : n ? k->ops->track_more(kc->bc, more, n) : 0;
	free(more);
	if (ret)
		free(tids);     /* the next call tries again */
	else
		set_members(kc, tids, count);
	return false;
}

/* For a kernel that has no such set. */
static int leave_out_others(struct kchannel *kc, int attr, const struct track *t)
{
	struct track copy;
	int ret = track_copy(t, &copy);

	if (ret)
		return ret;
	pthread_mutex_lock(&kc->lock);
	track_deinit(&kc->only[attr]);
	kc->only[attr] = copy;
	pthread_mutex_unlock(&kc->lock);
	return 0;
}

/* The parts of a status that sets, contexts and filters of the channel need. */
static uint32_t find_need(const struct kchannel *kc)
{
	const struct rule_list *rules = &kc->channel->rules;
	const struct track *t = kc->channel->session->track;
	uint64_t named = 0;
	uint32_t need = 0;

	for (int i = TRACK_PID + 1; i < TRACK_IDS; i++)
		need |= t[i].some ? kstatus_need(TRAIL_CONTEXT_UID) : 0;
	for (uint32_t i = 0; i < kc->context_count && !kc->backend_contexts; i++)
		need |= kstatus_need(kc->contexts[i]);
	for (size_t i = 0; i < rules->count; i++)
		if (rules->rules[i].filter && !rules->rules[i].disabled)
			named |= filter_contexts_named(rules->rules[i].filter);
	for (uint32_t kind = 0; kind < 64; kind++)
		need |= named >> kind & 1 ? kstatus_need(kind) : 0;
	return need;
}

bool kchannel_apply_track_attrs(struct kchannel *kc, struct kernel *k)
{
	const struct track *t = kc->channel->session->track;
	struct track copy;
	int ret = 0;

	kc->need = find_need(kc);
	if (!k->ops->track_by)
		kernel_note_need(k, kc->need);
	for (int i = TRACK_PID + 1; i < TRACK_IDS && !ret; i++) {
		if (track_equal(&t[i], &kc->tracked[i]))
			continue;
		ret = k->ops->track_by ? k->ops->track_by(kc->bc, i, &t[i])
				       : leave_out_others(kc, i, &t[i]);
		if (!ret && track_copy(&t[i], &copy) == 0) {
			track_deinit(&kc->tracked[i]);
			kc->tracked[i] = copy;
		}
	}
	if (ret)
		kc->refused = ret;
	return !ret;
}
