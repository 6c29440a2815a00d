// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The inclusion sets of a session: the processes that it records. context/inclusion_set.h has the
 * sets themselves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/app/app.h"
#include "tracer/face/face.h"
#include "tracer/kernel/kernel.h"
#include "tracer/kernel/task/task.h"

/* An attribute that the backend does not support: its set is always `*`. */
static int store_all(enum track_attr attr, const char *text, bool replace, struct tr_err *err)
{
	static const char *const names[TRACK_ATTRS] = {
		[TRACK_KERNEL_VPID] = "vpid", [TRACK_KERNEL_UID] = "uid",
		[TRACK_KERNEL_VUID] = "vuid", [TRACK_KERNEL_GID] = "gid",
		[TRACK_KERNEL_VGID] = "vgid",
	};
	bool all = !replace;

	for (int line = 1; *text; line++) {
		size_t len = strcspn(text, "\n"), at = strspn(text, " \t"),
		       word = strcspn(text + at, " \t\n");
		bool star = word == 1 && text[at] == '*' &&
			    at + 1 + strspn(text + at + 1, " \t") == len;

		if (*text != '#' && at < len && !star) {
			if (err)
				err->line = line;
			return tr_fail_at(
				err, -EOPNOTSUPP, text, (int)at,
				"neither tracefs nor /proc has the %s of the process: that needs "
				"the kernel module trail.ko; there are pid, vpid, uid and gid",
				names[attr]);
		}
		all = all || star;
		text += len + (text[len] == '\n');
	}
	return all ? 0
		   : tr_fail(err, -EOPNOTSUPP,
			     "the set cannot be emptied: %s needs the kernel module trail.ko; "
			     "there is track/pid",
			     names[attr]);
}

int track_show(struct session *s, enum track_attr attr, struct md_buf *out)
{
	pthread_mutex_lock(&s->tracer->lock);
	track_print(&s->track[attr], out, '\n');
	pthread_mutex_unlock(&s->tracer->lock);
	return 0;
}

/*
 * All processes of a user share buffers and switch bytes. So if some are excluded, a new epoch
 * makes all of them attach again; excluded ones then get no buffers.
 */
static void put_set(struct session *s, enum track_attr attr, struct track *new)
{
	struct track old = s->track[attr];
	struct tracer *t = s->tracer;
	/* attach replies differ then: put_channel in app/attach_reply.c */
	bool excluded = attr == TRACK_VPID && new->some != old.some;
	struct channel *c;
	struct app *a;

	cds_list_for_each_entry(a, &apps_of(t)->list, node) {
		bool before = session_wants(s, a);

		/* It may have been moved to another control group. */
		if (attr == TRACK_CGROUP && !a->shared)
			app_forget_cgroups(a);
		s->track[attr] = *new;
		excluded = excluded || (before && !session_wants(s, a));
		s->track[attr] = old;
	}
	s->track[attr] = *new;
	track_deinit(&old);
	cds_list_for_each_entry(c, &s->channels, node)
		c->epoch += excluded;
	session_apply(s);
	session_save(s);
	session_changed(s);
}

/* Whether processes of these numbers can be found in the kernel: not in each PID namespace. */
static int check_numbers(const struct track *set, enum track_attr attr, struct tr_err *err)
{
	struct tasks all;
	int ret;

	if ((attr != TRACK_PID && attr != TRACK_KERNEL_CGROUP) || !set->count || tasks_global())
		return 0;
	ret = tasks_read(&all, err);
	tasks_deinit(&all);
	return ret;
}

int track_store(struct session *s, enum track_attr attr, const char *text, bool replace,
		struct tr_err *err)
{
	struct tracer *t = s->tracer;
	struct track old, new;
	int ret = -EAGAIN;

	if ((attr == TRACK_KERNEL_VUID || attr == TRACK_KERNEL_VGID || !kernel_of(t)) &&
	    attr > TRACK_PID && attr < TRACK_IDS && !(kernel_of(t) && kernel_of(t)->ops->track_by))
		return store_all(attr, text, replace, err);
	/*
	 * Names are looked up without the lock, which may take a while. Look up again if another
	 * thread changed the set meanwhile.
	 */
	while (ret == -EAGAIN) {
		pthread_mutex_lock(&t->lock);
		ret = track_copy(&s->track[attr], &old);
		pthread_mutex_unlock(&t->lock);
		if (ret)
			return tr_fail(err, ret, "out of memory");
		ret = track_apply(&old, attr, text, replace, &new, err);
		if (!ret && (ret = check_numbers(&new, attr, err)))
			track_deinit(&new);
		if (!ret) {
			session_lock(s);
			if (s->gone)
				ret = tr_fail(err, -ENOENT, "the session is gone");
			else if (!track_equal(&old, &s->track[attr]))
				ret = -EAGAIN;
			else
				put_set(s, attr, &new);
			session_unlock(s);
			if (ret)
				track_deinit(&new);
			else
				session_follow_parts(s);
			if (!ret && attr == TRACK_KERNEL_CGROUP)
				kernel_pending_update(t);
		}
		track_deinit(&old);
	}
	return ret;
}
