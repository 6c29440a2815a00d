// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes the kernel's state dump into the channels whose rules take its events, each into a ring of
 * its own, with the time at which the daemon found the state. One thread writes a dump; it ends
 * early when the session stops or requests another dump. Also writes the lines that users write to
 * `log`.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/os/thread.h"
#include "tracer/kernel/statedump/internal.h"
#include "tracer/kernel/kernel.h"
#include "tracer/kernel/statedump/statedump.h"
#include "tracer/kernel/task/task.h"
#include "tracer/abi/ring_write.h"
#include "tracer/session/streams.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23          /* Linux 5.14 */
#endif

#define CONTEXTS_MAX (TRAIL_CONTEXT_MAX * 8 + 128)      /* numeric contexts, and two strings */

struct dump {
	struct kdump_sink sink;
	struct session *session;        /* referenced */
	uint64_t number;                /* of the request */
	struct tasks tasks;             /* where /proc has other numbers than records, else empty */
};

struct target {
	const struct clock *clock;
	const struct region *region;
};

static uint64_t get_time(void *arg)
{
	return clock_now(((const struct target *)arg)->clock);
}

static bool populate_subbuf(void *arg, uint64_t subbuf)
{
	return region_populate(((const struct target *)arg)->region, 0, subbuf);
}

/* Whether the channel records events of this type now. */
static bool wants_type(struct channel *c, enum kdump_type type, struct filter_input *in)
{
	struct kdump_fields fields;
	struct wanted program;
	char key[96];

	if (!c->kchannel || !c->kchannel->recording)
		return false;
	snprintf(key, sizeof(key), "%s:%s", kdump_system(type), kdump_name(type));
	kdump_filter_event(type, &fields);
	return kernel_wanted(c, EVENT_KEY(key), &fields.event, &program) &&
	       (!program.size || !in || filter_holds(program.program, program.size, in));
}

static int write_to_channel(struct channel *c, enum kdump_type type, struct event_origin *who,
		    const void *payload, size_t len)
{
	static const uint8_t on = 1;
	uint8_t bytes[CONTEXTS_MAX + KDUMP_PAYLOAD_MAX];
	struct target to = { .clock = &c->session->tracer->clock };
	struct ring_writer w = { .clock = get_time, .populate = populate_subbuf, .arg = &to };
	struct trace *t = kernel_trace(c->session);
	struct stream_group *group = t ? group_get(c, t, true) : NULL;
	struct buffer *b = NULL;
	size_t head = c->kchannel->context_size;
	uint32_t id;
	int ret = group ? group_buffer(group, TRAIL_RINGS_THREAD, KERNEL_DUMP_RING, &b) : -ENOMEM;

	if (!ret)
		ret = group_event_id(group, kdump_event(type), &id);
	if (ret)
		return ret;
	event_origin_put(who, c->kchannel, bytes);
	memcpy(bytes + head, payload, len);
	to.region = b->region;
	region_write_to(b->region, 0, &w);
	ring_write(&w, &on, 1, id, bytes, head + len);
	return 0;
}

/*
 * Whether the session records this process. An event without a process is recorded unless the set
 * is empty.
 */
static bool is_tracked(const struct track *sets, const struct event_origin *who,
		       const struct tasks *tasks)
{
	const struct track *pids = &sets[TRACK_PID], *cgroups = &sets[TRACK_KERNEL_CGROUP];
	char *text;
	bool in;

	if (!who->tid)
		return (!pids->some || pids->count) && (!cgroups->some || cgroups->count);
	if (!track_has(pids, (uint32_t)tasks_number(tasks, who->is.pid)) || !cgroups->some)
		return track_has(pids, (uint32_t)tasks_number(tasks, who->is.pid));
	text = track_read_cgroups((uint32_t)tasks_number(tasks, who->tid));
	in = text && track_has_cgroup(cgroups, text);
	free(text);
	return in;
}

static int write_event(struct kdump_sink *sink, enum kdump_type type, int32_t tid,
		       const void *payload, size_t len)
{
	struct dump *d = (struct dump *)(void *)sink;
	struct session *s = d->session;
	struct tracer *t = s->tracer;
	struct kernel *k = kernel_of(t);
	struct event_origin who = { .kernel = k, .ts = clock_now(&t->clock), .tid = tid };
	struct filter_input in = {
		.payload = payload, .len = len, .context = event_origin_value, .arg = &who
	};
	int32_t own = tasks_translate(&d->tasks, (int32_t)getpid());
	struct channel *c;
	bool for_us;
	int ret = 0;

	kernel_thread(k, who.ts, tid ? tid : own, &who.is);
	who.asked = true;
	pthread_mutex_lock(&t->lock);
	if (k->ending || s->gone || !s->active || s->statedump != d->number)
		ret = -ECANCELED;
	for_us = is_tracked(s->track, &who, &d->tasks);
	who.tid = tid ? tid : own;
	cds_list_for_each_entry(c, &s->channels, node)
		if (for_us && !ret && wants_type(c, type, &in))
			ret = write_to_channel(c, type, &who, payload, len);
	pthread_mutex_unlock(&t->lock);
	return ret;
}

static void *run_dump(void *arg)
{
	struct dump *d = arg;
	struct tracer *t = d->session->tracer;
	int ret;

	if (!tasks_global())
		tasks_read(&d->tasks, NULL);
	ret = kstatedump(&d->sink);
	tasks_deinit(&d->tasks);
	buffers_keep(t);
	pthread_mutex_lock(&t->lock);
	if (ret && ret != -ECANCELED)
		session_report(d->session, "the kernel's state dump is not complete: %s",
			       strerror(-ret));
	if (d->session->dump_ended < d->number)
		d->session->dump_ended = d->number;
	pthread_mutex_unlock(&t->lock);
	session_put(d->session);
	free(d);
	/* Only now: the thread that waits for dumps == 0 then frees the tracer. */
	pthread_mutex_lock(&t->lock);
	kernel_of(t)->dumps--;
	pthread_cond_broadcast(&kernel_of(t)->dumped);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static int start_dump(struct session *s)
{
	struct dump *d = malloc(sizeof(*d));
	int ret;

	if (!d)
		return -ENOMEM;
	*d = (struct dump){ .sink.event = write_event,
			    .session = session_ref(s),
			    .number = s->statedump };
	ret = thread_start(0, run_dump, d);
	if (ret) {
		session_put(s);         /* not the last reference: the caller has one */
		free(d);
		return ret;
	}
	kernel_of(s->tracer)->dumps++;
	return 0;
}

static bool wants_dump(struct session *s)
{
	struct channel *c;

	cds_list_for_each_entry(c, &s->channels, node)
		for (int i = 0; i < KDUMP_DUMPED; i++)
			if (wants_type(c, (enum kdump_type)i, NULL))
				return true;
	return false;
}

void kernel_statedump(struct session *s)
{
	struct tracer *t = s->tracer;
	struct kernel *k = kernel_of(t);
	uint32_t wait_ms = t->config.wait_ms;
	struct timespec until;
	uint64_t number;
	int ret = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += wait_ms / 1000;
	until.tv_nsec += wait_ms % 1000 * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&t->lock);
	number = s->statedump;
	if (s->active && !s->gone && s->dump_begun != number) {
		s->dump_begun = number;
		if (k && !k->ending && wants_dump(s)) {
			ret = start_dump(s);
			if (ret)
				session_report(s, "no state dump of the kernel: %s",
					       strerror(-ret));
			while (!ret && s->dump_ended < number)
				ret = -pthread_cond_timedwait(&k->dumped, &t->lock, &until);
		}
	}
	pthread_mutex_unlock(&t->lock);
}

/* ---- log ---- */

struct logger {
	struct kdump_sink sink;
	struct tracer *tracer;
	uid_t uid;
	gid_t gid;
	struct tasks tasks;             /* as in struct dump */
};

/* By what is known of the writer's credentials. */
static bool is_writer_tracked(const struct session *s, const struct logger *l,
			   const struct event_origin *who)
{
	return is_tracked(s->track, who, &l->tasks) &&
	       track_has(&s->track[TRACK_KERNEL_UID], l->uid) &&
	       track_has(&s->track[TRACK_KERNEL_GID], l->gid);
}

static int write_log_event(struct kdump_sink *sink, enum kdump_type type, int32_t tid,
			   const void *payload, size_t len)
{
	const struct logger *l = (const struct logger *)(void *)sink;
	struct tracer *t = l->tracer;
	struct kernel *k = kernel_of(t);
	struct event_origin who = { .kernel = k, .ts = clock_now(&t->clock), .tid = tid };
	struct filter_input in = {
		.payload = payload, .len = len, .context = event_origin_value, .arg = &who
	};
	struct session *s;
	struct channel *c;
	int ret = 0;

	kernel_thread(k, who.ts, tid, &who.is);
	who.asked = true;
	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(s, &t->sessions, node)
		cds_list_for_each_entry(c, &s->channels, node)
			if (!ret && session_serves(s, l->uid) && is_writer_tracked(s, l, &who) &&
			    wants_type(c, type, &in))
				ret = write_to_channel(c, type, &who, payload, len);
	pthread_mutex_unlock(&t->lock);
	return ret;
}

int kernel_log(struct tracer *t, const struct log_writer *who, const char *line)
{
	struct logger l = {
		.sink.event = write_log_event, .tracer = t, .uid = who->uid, .gid = who->gid
	};

	int ret;

	if (!kernel_of(t))
		return 0;
	if (!tasks_global())
		tasks_read(&l.tasks, NULL);
	ret = kdump_emit(&l.sink, KDUMP_LOGGER, tasks_translate(&l.tasks, (int32_t)who->tid),
			 line);
	tasks_deinit(&l.tasks);
	return ret;
}

void kernel_statedumps_end(struct tracer *t)
{
	struct kernel *k = kernel_of(t);

	if (!k)
		return;
	pthread_mutex_lock(&t->lock);
	k->ending = true;
	while (k->dumps)
		pthread_cond_wait(&k->dumped, &t->lock);
	pthread_mutex_unlock(&t->lock);
}
