// SPDX-License-Identifier: GPL-2.0-or-later
/* `version` and `status` at the top of the tree. */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/session/session.h"
#include "tracer/kernel/kernel.h"
#include "tracer/ring/reader.h"

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
	if (keeper > 0)
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

/*
 * All sessions, referenced, so that their rings can be read without the lock. NULL: none, or no
 * memory.
 */
static struct session **list_sessions(struct tracer *t, size_t *count)
{
	struct session *s, **all;

	*count = 0;
	pthread_mutex_lock(&t->lock);
	all = calloc(t->session_count + 1, sizeof(*all));
	if (all)
		cds_list_for_each_entry(s, &t->sessions, node)
			if (!s->hidden)
				all[(*count)++] = session_ref(s);
	pthread_mutex_unlock(&t->lock);
	return all;
}

/*
 * The daemon's own status does not wait for the kernel, which may make or remove buffers at this
 * moment: the status of a session drains those.
 */
static void show_events(struct tracer *t, struct md_buf *out)
{
	struct ring_counts sum = { 0 };
	struct session **all;
	size_t count;

	all = list_sessions(t, &count);
	for (size_t i = 0; i < count; i++) {
		session_counts(all[i], &sum);
		session_put(all[i]);
	}
	free(all);
	md_buf_printf(out,
		      "events_recorded %" PRIu64 "\nevents_discarded %" PRIu64
		      "\nevents_overwritten %" PRIu64 "\nbytes %" PRIu64 "\n",
		      sum.recorded, sum.discarded, sum.overwritten, sum.bytes);
}

void tracer_status(struct tracer *t, uid_t viewer, struct md_buf *out)
{
	uint64_t memory = 0, refused = 0, lost = 0;
	uint32_t buffers = 0, active = 0;
	struct session *s;
	struct channel *c;
	struct stream_group *cl;
	struct buffer *b;

	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(s, &t->sessions, node) {
		active += s->active && !s->hidden;
		refused += s->buffers_refused;
		lost += s->buffers_lost;
		cds_list_for_each_entry(c, &s->channels, node)
			cds_list_for_each_entry(cl, &c->groups, node)
				cds_list_for_each_entry(b, &cl->buffers, node) {
					struct stat st;

					buffers++;
					if (fstat(b->region->fd, &st) == 0)
						memory += (uint64_t)st.st_blocks * 512;
				}
	}
	md_buf_printf(out,
		      "sessions %u\nsessions_active %u\nregistrations %u\nregistrations_rejected "
		      "%u\nbuffers %u\n"
		      "buffer_bytes %" PRIu64 "\nbuffers_refused %" PRIu64 "\nbuffers_lost %" PRIu64
		      "\nfrozen_bytes %" PRIu64 "\n",
		      t->session_count, active, t->app_count, t->rejected, buffers, memory, refused,
		      lost, quota_frozen_now(t));
	pthread_mutex_unlock(&t->lock);
	show_events(t, out);
	show_daemon(t, out);
	quota_show(t, viewer, out);
}
