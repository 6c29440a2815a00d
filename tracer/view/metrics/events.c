// SPDX-License-Identifier: GPL-2.0-or-later
/* The metrics of a session, and of the daemon. */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tracer/app/apps.h"
#include "tracer/base/os/cred.h"
#include "tracer/base/ring/reader.h"
#include "tracer/session/quota.h"
#include "tracer/session/session.h"
#include "tracer/view/counts.h"
#include "tracer/view/metrics/family.h"
#include "tracer/view/metrics/metrics.h"

static const char *const domain_names[DOMAINS] = { [DOMAIN_USER] = "user",
						   [DOMAIN_KERNEL] = "kernel" };

static void put_labels(const struct session *s, const struct channel_count *c, const char *event,
		       struct md_buf *labels)
{
	md_buf_reset(labels);
	label_puts(labels, "session", s->name);
	label_puts(labels, "domain", domain_names[c->domain]);
	label_puts(labels, "channel", c->channel);
	if (event)
		label_puts(labels, "event", event);
}

/*
 * The buffers know how many events of a channel are lost, not which. Events that were gone before
 * they were counted by name have the name "?", as in `counts`.
 */
static int add_events(struct session *s, struct metrics *m)
{
	struct md_buf labels = MD_BUF_INIT;
	struct counts_table t;
	int ret = counts_take(s, &t);
	size_t e = 0;

	for (size_t i = 0; i < t.channel_count && !ret; i++) {
		const struct channel_count *c = &t.channels[i];

		for (; e < t.event_count && t.events[e].channel == c->channel; e++) {
			put_labels(s, c, t.events[e].event, &labels);
			metric_count(m, METRIC_RECORDED, &labels, t.events[e].recorded);
		}
		if (c->unnamed) {
			put_labels(s, c, "?", &labels);
			metric_count(m, METRIC_RECORDED, &labels, c->unnamed);
		}
		put_labels(s, c, NULL, &labels);
		metric_count(m, METRIC_DISCARDED, &labels, c->discarded);
		metric_count(m, METRIC_OVERWRITTEN, &labels, c->overwritten);
	}
	counts_table_deinit(&t);
	md_buf_deinit(&labels);
	return ret;
}

static void add_state(struct session *s, struct metrics *m)
{
	struct session_info info = session_shown(s).info;
	struct session_buffers buffers;
	struct ring_counts counts = { 0 };
	struct md_buf labels = MD_BUF_INIT;

	session_buffers(s, &buffers);
	session_counts(s, &counts);
	label_puts(&labels, "session", s->name);
	metric_count(m, METRIC_ACTIVE, &labels, info.active);
	if (info.started)
		metric_time(m, METRIC_STARTED, "", &labels, (uint64_t)info.started);
	metric_count(m, METRIC_BUFFERS, &labels, buffers.number);
	metric_count(m, METRIC_MEMORY, &labels, buffers.memory);
	metric_count(m, METRIC_HELD, &labels, counts.bytes);
	metric_count(m, METRIC_REFUSED, &labels,
		     __atomic_load_n(&s->buffers_refused, __ATOMIC_RELAXED));
	metric_count(m, METRIC_LOST_BUFFERS, &labels,
		     __atomic_load_n(&s->buffers_lost, __ATOMIC_RELAXED));
	md_buf_deinit(&labels);
}

static int add_session(struct session *s, struct metrics *m)
{
	int ret;

	add_state(s, m);
	ret = add_events(s, m);
	return ret ? ret : maps_metrics(s, m);
}

int session_metrics(struct session *s, bool plain, struct md_buf *out)
{
	struct metrics m = { .plain = plain };
	int ret = add_session(s, &m), end = metrics_finish(&m, out);

	return ret ? ret : end;
}

/* ---- the daemon ---- */

/* Whether the mode of the session's directory lets the viewer read what is in it. */
static bool may_read(const struct session_info *info, const struct owner *viewer)
{
	mode_t need = 0005;

	if (viewer->uid == 0)
		return true;
	if (viewer->uid == info->uid) {
		need = 0500;
	} else {
		bool member = viewer->gid == info->gid;

		for (uint32_t i = 0; i < viewer->groups.count; i++)
			member |= viewer->groups.ids[i] == info->gid;
		if (member)
			need = 0050;
	}
	return (info->mode & need) == need;
}

static uint64_t nanoseconds(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000000000 + (uint64_t)tv.tv_usec * 1000;
}

static void add_daemon(struct tracer *t, uint64_t sessions, uint64_t active, struct metrics *m)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_SELF, &usage);
	metric_count(m, METRIC_SESSIONS, NULL, sessions);
	metric_count(m, METRIC_ACTIVE_SESSIONS, NULL, active);
	metric_count(m, METRIC_APPLICATIONS, NULL, apps_count(t));
	metric_time(m, METRIC_CPU, "_total", NULL,
		    nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime));
	metric_count(m, METRIC_FROZEN, NULL, quota_frozen_now(t));
}

int tracer_metrics(struct tracer *t, const struct owner *viewer, bool plain, struct md_buf *out)
{
	struct metrics m = { .plain = plain };
	uint64_t sessions = 0, active = 0;
	size_t count;
	struct session **all = sessions_take(t, &count);
	int ret = 0, end;

	for (size_t i = 0; i < count; i++) {
		struct session_info info = session_shown(all[i]).info;

		sessions += !all[i]->hidden;
		active += !all[i]->hidden && info.active;
		if (!ret && !all[i]->hidden && !info.gone && may_read(&info, viewer))
			ret = add_session(all[i], &m);
		session_put(all[i]);
	}
	free(all);
	add_daemon(t, sessions, active, &m);
	end = metrics_finish(&m, out);
	return ret ? ret : end;
}
