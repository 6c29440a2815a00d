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

static void show_daemon(struct tracer *t, struct md_buf *out)
{
	struct rusage usage = { 0 };
	int64_t uptime = wall_clock() - t->opened;
	pid_t keeper = t->keeper ? keeper_pid(t->keeper) : 0;

	getrusage(RUSAGE_SELF, &usage);
	md_buf_printf(out, "pid %d\n", (int)getpid());
	/* The pid was loaded before: a keeper to which buffers are still passed is not named. */
	if (keeper > 0 && __atomic_load_n(&t->keeper_ready, __ATOMIC_ACQUIRE))
		md_buf_printf(out, "keeper %d\n", (int)keeper);
	else
		md_buf_puts(out, "keeper none\n");
	md_buf_printf(out, "keepers_replaced %u\n",
		      __atomic_load_n(&t->keepers_replaced, __ATOMIC_RELAXED));
	md_buf_printf(out,
		      "uptime_us %" PRId64 "\ncpu_us %" PRIu64 "\ncpu_user_us %" PRIu64
		      "\ncpu_system_us %" PRIu64 "\n",
		      uptime > 0 ? uptime / 1000 : 0,
		      microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
		      microseconds(usage.ru_utime), microseconds(usage.ru_stime));
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
void tracer_status(struct tracer *t, uid_t viewer, struct md_buf *out)
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
	md_buf_printf(out,
		      "sessions %u\nsessions_active %u\nregistrations %u\n"
		      "registrations_rejected %u\ntracepoints_rejected %u\n"
		      "buffers %" PRIu64 "\nbuffer_bytes %" PRIu64
		      "\nbuffers_refused %" PRIu64 "\nbuffers_lost %" PRIu64
		      "\nfrozen_bytes %" PRIu64 "\n",
		      sessions, active, __atomic_load_n(&t->app_count, __ATOMIC_RELAXED),
		      __atomic_load_n(&t->rejected, __ATOMIC_RELAXED),
		      __atomic_load_n(&t->tracepoints_rejected, __ATOMIC_RELAXED), sum.number,
		      sum.memory, sum.refused, sum.lost, quota_frozen_now(t));
	apps_status(t, out);
	md_buf_printf(out,
		      "events_recorded %" PRIu64 "\nevents_discarded %" PRIu64
		      "\nevents_overwritten %" PRIu64 "\nbytes %" PRIu64 "\n",
		      sum.counts.recorded, sum.counts.discarded, sum.counts.overwritten,
		      sum.counts.bytes);
	show_daemon(t, out);
	quota_show(t, viewer, out);
}
