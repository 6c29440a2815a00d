// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Passes the session's inclusion sets to the kernel: it records only the processes in them. tracefs
 * knows processes alone: users and groups are looked up when an event is read.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/kernel/kernel.h"
#include "tracer/kernel/task/task.h"

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
static int list_threads(const struct track *t, uint32_t **out, size_t *count)
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

bool kchannel_apply_track(struct kchannel *kc, struct kernel *k)
{
	const struct track *t = &kc->channel->session->track[TRACK_PID];
	struct track copy;
	uint32_t *tids = NULL;
	size_t count = 0;
	int ret = 0;

	if (track_equal(t, &kc->tracked[TRACK_PID]) && !kc->track_again)
		return !t->some || t->count;
	/*
	 * While the set is replaced, the kernel has no set and would record all threads: stop
	 * recording meanwhile.
	 */
	if (kc->recording)
		k->ops->record(kc->bc, false);
	ret = list_threads(t, &tids, &count);
	if (!ret && (!t->some || count))
		ret = k->ops->track(kc->bc, tids, count);
	free(tids);
	if (!ret && t->some && !count)
		/*
		 * None of the processes exists. An empty set would mean all threads to the kernel.
		 */
		return false;
	kc->track_again = ret != 0;
	if (!ret && track_copy(t, &copy) == 0) {
		track_deinit(&kc->tracked[TRACK_PID]);
		kc->tracked[TRACK_PID] = copy;
	}
	if (ret)
		kc->refused = ret;
	return !ret && (!t->some || t->count);
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

	for (int i = TRACK_PID + 1; i < TRACK_ATTRS; i++)
		need |= t[i].some ? kstatus_need(TRAIL_CONTEXT_UID) : 0;
	for (uint32_t i = 0; i < kc->context_count; i++)
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
	for (int i = TRACK_PID + 1; i < TRACK_ATTRS && !ret; i++) {
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
