// SPDX-License-Identifier: GPL-2.0-or-later
/* `version` and `status` at the top of the tree. */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tracer/app/app.h"
#include "tracer/face/face.h"
#include "tracer/session/session.h"
#include "tracer/kernel/kernel.h"
#include "tracer/base/ring/reader.h"

void tracer_version(struct tracer *t, struct md_buf *out)
{
	md_buf_puts(out, "ctf 1.8\n");
	kernel_describe(t, out);
	clock_describe(&t->clock, out);
}

static uint64_t microseconds(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000000 + (uint64_t)tv.tv_usec;
}

static void show_daemon(struct tracer *t, struct facts *out)
{
	struct rusage usage = { 0 };
	int64_t uptime = wall_clock() - face_data(t)->opened;
	pid_t keeper = t->keeper ? keeper_pid(t->keeper) : 0;

	getrusage(RUSAGE_SELF, &usage);
	fact_number(out, "pid", (uint64_t)getpid());
	/* The pid was loaded before: a keeper to which buffers are still passed is not named. */
	if (keeper > 0 && __atomic_load_n(&face_data(t)->keeper_ready, __ATOMIC_ACQUIRE))
		fact_number(out, "keeper", (uint64_t)keeper);
	else
		fact_text(out, "keeper", "none");
	fact_number(out, "keepers_replaced",
		    __atomic_load_n(&face_data(t)->keepers_replaced, __ATOMIC_RELAXED));
	fact_number(out, "uptime_us", uptime > 0 ? (uint64_t)uptime / 1000 : 0);
	fact_number(out, "cpu_us", microseconds(usage.ru_utime) + microseconds(usage.ru_stime));
	fact_number(out, "cpu_user_us", microseconds(usage.ru_utime));
	fact_number(out, "cpu_system_us", microseconds(usage.ru_stime));
}

/* Sums over the buffers of one session */
struct buffer_sums {
	struct ring_counts counts;
	uint64_t number, memory;                /* memory in bytes */
	uint64_t refused, lost;
};

/*
 * The daemon's own status does not wait for the kernel, which may make or remove buffers at this
 * moment: the status of a session drains those.
 */
static void add_session(struct session *s, struct buffer_sums *sum)
{
	struct session_buffers buffers;

	session_buffers(s, &buffers);
	sum->number += buffers.number;
	sum->memory += buffers.memory;
	sum->refused += __atomic_load_n(&s->buffers_refused, __ATOMIC_RELAXED);
	sum->lost += __atomic_load_n(&s->buffers_lost, __ATOMIC_RELAXED);
	if (!s->hidden)
		session_counts(s, &sum->counts);
}

#define CATCH_UP_NS 250000000

/*
 * Takes references instead of tracer.lock, so it does not wait for changes; only a little, to count
 * what programs that have ended lost.
 */
void tracer_status(struct tracer *t, uid_t viewer, struct facts *out)
{
	struct buffer_sums sum = { 0 };
	struct session **all;
	uint32_t sessions = 0, active = 0;
	size_t count;

	apps_catch_up_until(t, wall_clock() + CATCH_UP_NS);
	all = sessions_take(t, &count);
	for (size_t i = 0; i < count; i++) {
		sessions += !all[i]->hidden;
		active += !all[i]->hidden && session_shown(all[i]).info.active;
		add_session(all[i], &sum);
		session_put(all[i]);
	}
	free(all);
	fact_number(out, "sessions", sessions);
	fact_number(out, "sessions_active", active);
	fact_number(out, "registrations", __atomic_load_n(&apps_of(t)->count, __ATOMIC_RELAXED));
	fact_number(out, "registrations_rejected",
		    __atomic_load_n(&apps_of(t)->rejected, __ATOMIC_RELAXED));
	fact_number(out, "tracepoints_rejected",
		    __atomic_load_n(&apps_of(t)->tracepoints_rejected, __ATOMIC_RELAXED));
	fact_number(out, "buffers", sum.number);
	fact_number(out, "buffer_bytes", sum.memory);
	fact_number(out, "buffers_refused", sum.refused);
	fact_number(out, "buffers_lost", sum.lost);
	fact_number(out, "frozen_bytes", quota_frozen_now(t));
	apps_status(t, out);
	fact_number(out, "events_recorded", sum.counts.recorded);
	fact_number(out, "events_discarded", sum.counts.discarded);
	fact_number(out, "events_overwritten", sum.counts.overwritten);
	fact_number(out, "bytes", sum.counts.bytes);
	show_daemon(t, out);
	quota_show(t, viewer, out);
}
