// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples of a kernel channel (rules `sample:…`). The daemon reads them from the rings of its
 * performance events (sample/), and writes them into a buffer of the channel with a ring for each
 * CPU, beside the one that drain.c fills: so neither has to wait for the other's records. A thread
 * reads the rings before they are full.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tracer/abi/ring_write.h"
#include "tracer/kernel/kernel.h"
#include "tracer/kernel/sample/sampler.h"
#include "tracer/kernel/statedump/internal.h"

#define STACKS_MAX 65536u       /* bytes of the addresses of a sample: the size of a record */
#define FIXED_MAX 128u          /* of its other fields */
#define CONTEXTS_MAX (TRAIL_CONTEXT_MAX * 8 + 128)
#define NICE (-10)
#define CPUS_PERIOD 1000000000  /* ns between two looks for CPUs that came or went */
#define PAUSE 2000000           /* ns between two reads by the thread, at least */

struct sampling {
	struct kdump_sink dump;         /* writes mappings; constant, as the next five */
	struct kchannel *kc;            /* which has this */
	struct region *region;          /* referenced */
	int epoll;                      /* readable: there are samples */
	struct watcher watcher;         /* its lock is kc->lock */
	uint32_t mapping_id;
	bool names;             /* mappings are recorded; a map would take each as a hit */
	/* Guarded by session.lock: */
	uint64_t rates[SAMPLE_KINDS];
	struct track tracked;
	/* Guarded by kc->lock: */
	struct sampler *sampler;
	struct track only[TRACK_IDS]; /* sets of others than processes */
	struct {
		bool wanted;
		uint32_t id;
		void *program;          /* the filter; NULL: accepts all; owned */
		size_t size;
	} kinds[SAMPLE_KINDS];
	struct kdump_files *files;
	struct event_origin who;        /* of the current sample */
	size_t len;                     /* of its bytes: contexts and payload */
	uint8_t bytes[CONTEXTS_MAX + FIXED_MAX + STACKS_MAX];
};

static enum kdump_type type_of(int kind)
{
	return (enum kdump_type)(KDUMP_SAMPLE_CPU + kind);
}

/* ---- events ---- */

static uint64_t get_time(void *arg)
{
	return ((const struct sampling *)arg)->who.ts;
}

static bool populate_subbuf(void *arg, uint64_t subbuf)
{
	const struct sampling *p = arg;

	return region_populate(p->region, p->who.cpu, subbuf);
}

/* Writes an event with the time and on the CPU of the current sample. */
static void write_event(struct sampling *p, uint32_t id, const void *bytes, size_t len)
{
	static const uint8_t on = 1;
	struct ring_writer w = { .clock = get_time, .populate = populate_subbuf, .arg = p };

	region_write_to(p->region, p->who.cpu, &w);
	ring_write(&w, &on, 1, id, bytes, len);
}

static uint8_t *put(uint8_t *to, const void *from, size_t n)
{
	if (n)
		memcpy(to, from, n);
	return to + n;
}

static uint8_t *put_stack(uint8_t *to, const uint64_t *addresses, uint32_t count)
{
	to = put(to, &count, sizeof(count));
	return put(to, addresses, count * sizeof(*addresses));
}

static void put_sample(struct sampling *p, const struct cpu_sample *s)
{
	const char *name = sample_name(s->kind);
	uint8_t *to = p->bytes + p->kc->context_size;

	to = put(to, name, strlen(name) + 1);
	to = put(to, &s->pid, sizeof(s->pid));
	to = put(to, &s->tid, sizeof(s->tid));
	if (s->kind == SAMPLE_FAULTS)
		to = put(to, &s->address, sizeof(s->address));
	to = put_stack(to, s->kernel, s->kernel_count);
	to = put_stack(to, s->user, s->user_count);
	p->len = (size_t)(to - p->bytes);
}

/* Whether the sample is to be recorded; then p->bytes has it. */
static bool wants_sample(void *arg, const struct cpu_sample *s)
{
	struct sampling *p = arg;
	size_t head = p->kc->context_size;
	struct filter_input in = { .context = event_origin_value, .arg = &p->who };
	enum origin_in in_sets;

	if (!p->kinds[s->kind].wanted || s->cpu >= p->region->geo.ring_count ||
	    ((size_t)s->kernel_count + s->user_count) * sizeof(uint64_t) > STACKS_MAX)
		return false;
	p->who = (struct event_origin){ .kernel = kernel_of(p->kc->tracer), .ts = s->time,
					.tid = s->tid, .cpu = s->cpu, .kc = p->kc };
	in_sets = event_origin_is_in(&p->who, p->only);
	if (in_sets == ORIGIN_UNKNOWN)
		event_origin_lose(region_ring(p->region, s->cpu));
	if (in_sets != ORIGIN_IN)
		return false;
	put_sample(p, s);
	in.payload = p->bytes + head;
	in.len = p->len - head;
	if (p->kinds[s->kind].program &&
	    !filter_holds(p->kinds[s->kind].program, p->kinds[s->kind].size, &in)) {
		if (p->who.unknown)
			event_origin_lose(region_ring(p->region, s->cpu));
		return false;
	}
	event_origin_put(&p->who, p->kc, p->bytes);
	return true;
}

static void write_sample(void *arg, const struct cpu_sample *s)
{
	struct sampling *p = arg;

	/* The stack may be longer than the one that was wanted. */
	put_sample(p, s);
	write_event(p, p->kinds[s->kind].id, p->bytes, p->len);
}

static void count_lost(void *arg, uint32_t cpu, uint64_t samples)
{
	struct sampling *p = arg;

	if (cpu < p->region->geo.ring_count)
		ring_lost(region_ring(p->region, cpu), samples);
}

/* ---- mappings, which name the addresses after the process has ended ---- */

static int write_mapping(struct kdump_sink *sink, enum kdump_type type, int32_t tid,
			 const void *payload, size_t len)
{
	struct sampling *p = (struct sampling *)(void *)sink;
	uint8_t bytes[CONTEXTS_MAX + KDUMP_PAYLOAD_MAX];
	size_t head = p->kc->context_size;

	(void)type, (void)tid;
	event_origin_put(&p->who, p->kc, bytes);
	memcpy(bytes + head, payload, len);
	write_event(p, p->mapping_id, bytes, head + len);
	return 0;
}

static bool have_files(struct sampling *p)
{
	if (!p->files)
		p->files = kdump_files_create();
	return p->files != NULL;
}

static void record_mapping(void *arg, int32_t pid, const struct code_mapping *m)
{
	struct sampling *p = arg;
	int dir;

	if (!p->names || (*m->path != '/' && strcmp(m->path, VDSO_NAME) != 0))
		return;
	dir = code_map_process(pid);
	have_files(p);
	kdump_mapping(&p->dump, p->files, dir, pid, m);
	if (dir >= 0)
		close(dir);
}

static void record_mappings(void *arg, int32_t pid, int32_t parent)
{
	struct sampling *p = arg;
	int dir = p->names ? code_map_process(pid) : -1;

	/* A child that ended and executed nothing had the mappings of its parent. */
	if (p->names && dir < 0 && parent)
		dir = code_map_process(parent);
	if (dir >= 0 && have_files(p))
		kdump_mappings(&p->dump, p->files, dir, pid);
	if (dir >= 0)
		close(dir);
}

/* ---- drain; caller holds kc->lock ---- */

static bool take_rule(struct sampling *p, int kind)
{
	struct kdump_fields fields;
	struct wanted program;
	char key[32];

	snprintf(key, sizeof(key), SAMPLE_RULE "%s", sample_name((enum sample_kind)kind));
	kdump_filter_event(type_of(kind), &fields);
	free(p->kinds[kind].program);
	p->kinds[kind].program = NULL;
	if (!kernel_wanted(p->kc->channel, EVENT_KEY(key), &fields.event, &program))
		return false;
	if (!program.size)
		return true;
	p->kinds[kind].program = malloc(program.size);
	if (!p->kinds[kind].program)
		return false;
	memcpy(p->kinds[kind].program, program.program, program.size);
	p->kinds[kind].size = program.size;
	return true;
}

/* Which samples the channel's rules want now. False: the channel was removed. */
static bool take_rules(struct sampling *p)
{
	struct tracer *t = p->kc->tracer;
	bool exists;

	pthread_mutex_lock(&t->lock);
	exists = p->kc->channel != NULL;
	for (int i = 0; exists && i < SAMPLE_KINDS; i++)
		p->kinds[i].wanted = take_rule(p, i);
	pthread_mutex_unlock(&t->lock);
	return exists;
}

static struct sampler_sink sink_of(struct sampling *p)
{
	return (struct sampler_sink){ .wants = wants_sample, .sample = write_sample,
				      .mapping = record_mapping, .unknown = record_mappings,
				      .lost = count_lost, .arg = p };
}

static void drain(struct sampling *p, uint64_t until)
{
	struct sampler_sink sink = sink_of(p);

	if (take_rules(p))
		sampler_drain(p->sampler, until, &sink);
}

void ksampling_drain(struct kchannel *kc)
{
	if (kc->sampling)
		drain(kc->sampling, clock_now(&kc->clock));
}

/* ---- the thread ---- */

static void follow_cpus(struct sampling *p)
{
	struct sampler_sink sink = sink_of(p);

	if (sampler_follow(p->sampler, &sink))
		sampler_watch(p->sampler, p->epoll);
}

static void *run(void *arg)
{
	struct sampling *p = arg;
	const struct timespec pause = { .tv_nsec = PAUSE };
	uint64_t due = monotonic_now() + CPUS_PERIOD;

	/* Of this thread alone. If it is not permitted, more samples are lost on a busy machine. */
	setpriority(PRIO_PROCESS, 0, NICE);
	watcher_sleep(&p->watcher, p->epoll, due);
	while (watcher_next(&p->watcher)) {
		pthread_mutex_lock(&p->kc->lock);
		if (monotonic_now() >= due) {
			follow_cpus(p);
			due = monotonic_now() + CPUS_PERIOD;
		}
		drain(p, clock_now(&p->kc->clock));
		pthread_mutex_unlock(&p->kc->lock);
		nanosleep(&pause, NULL);
		watcher_sleep(&p->watcher, p->epoll, due);
	}
	return NULL;
}

static int start_thread(struct sampling *p)
{
	int ret;

	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll < 0)
		return -errno;
	pthread_mutex_lock(&p->kc->lock);
	ret = watcher_start(&p->watcher, run, p);
	pthread_mutex_unlock(&p->kc->lock);
	return ret;
}

/* ---- open and close; caller holds session.lock ---- */

static void free_sampling(struct sampling *p)
{
	sampler_close(p->sampler);
	if (p->epoll >= 0)
		close(p->epoll);
	for (int i = 0; i < TRACK_IDS; i++)
		track_deinit(&p->only[i]);
	track_deinit(&p->tracked);
	for (int i = 0; i < SAMPLE_KINDS; i++)
		free(p->kinds[i].program);
	kdump_files_free(p->files);
	if (p->region)
		region_put(p->region);
	free(p);
}

/* The buffer of samples, and the id of mappings. */
static int make_buffer(struct sampling *p)
{
	struct channel *c = p->kc->channel;
	struct tracer *t = p->kc->tracer;
	struct stream_group *group;
	struct trace *trace;
	struct buffer *b;
	int ret;

	pthread_mutex_lock(&t->lock);
	trace = kernel_trace(c->session);
	group = trace ? group_get(c, trace, true) : NULL;
	ret = group ? group_buffer(group, TRAIL_RINGS_THREAD, KERNEL_SAMPLE_RINGS, &b) : -ENOMEM;
	if (!ret)
		p->region = region_get(b->region);
	p->names = !c->session->hidden;
	if (!ret && p->names)
		ret = group_event_id(group, kdump_event(KDUMP_PROCESS_MAPPING), &p->mapping_id);
	pthread_mutex_unlock(&t->lock);
	return ret;
}

/* The ids of the events that are wanted now. Caller holds kc->lock, too. */
static int make_ids(struct sampling *p, const uint64_t *rates)
{
	struct tracer *t = p->kc->tracer;
	struct stream_group *group;
	int ret = 0;

	pthread_mutex_lock(&t->lock);
	group = group_get(p->kc->channel, kernel_trace(p->kc->channel->session), false);
	for (int i = 0; i < SAMPLE_KINDS && !ret; i++)
		if (rates[i])
			ret = group ? group_event_id(group, kdump_event(type_of(i)),
						     &p->kinds[i].id)
				    : -ENOMEM;
	pthread_mutex_unlock(&t->lock);
	return ret;
}

static int open_sampling(struct kchannel *kc, struct tr_err *err)
{
	struct sampling *p = calloc(1, sizeof(*p));
	int ret;

	if (!p)
		return tr_fail(err, -ENOMEM, "out of memory");
	p->kc = kc;
	p->dump.event = write_mapping;
	p->epoll = -1;
	ret = make_buffer(p);
	if (ret)
		tr_fail(err, ret, "no buffer for samples: %s", strerror(-ret));
	else
		ret = sampler_open(kc->tracer->cpus, &kc->clock, &p->sampler, err);
	if (!ret && (ret = start_thread(p)))
		tr_fail(err, ret, "no thread for samples: %s", strerror(-ret));
	if (ret) {
		free_sampling(p);
		return ret;
	}
	pthread_mutex_lock(&kc->lock);
	kc->sampling = p;
	pthread_mutex_unlock(&kc->lock);
	return 0;
}

void ksampling_close(struct kchannel *kc)
{
	static const uint64_t none[SAMPLE_KINDS];
	struct sampling *p = kc->sampling;
	struct sampler_sink sink;

	if (!p)
		return;
	pthread_mutex_lock(&kc->lock);
	sink = sink_of(p);
	sampler_change(p->sampler, none, &sink, NULL);
	drain(p, UINT64_MAX);
	kc->sampling = NULL;
	pthread_mutex_unlock(&kc->lock);
	watcher_end(&p->watcher, &kc->lock);
	free_sampling(p);
}

/* Which processes, users and groups. Caller holds kc->lock, too. */
static int take_sets(struct sampling *p)
{
	const struct track *sets = p->kc->channel->session->track;
	struct sampler_sink sink = sink_of(p);
	struct track copy;
	int ret = 0;

	for (int i = TRACK_PID + 1; i < TRACK_IDS && !ret; i++) {
		ret = track_copy(&sets[i], &copy);
		if (ret)
			break;
		track_deinit(&p->only[i]);
		p->only[i] = copy;
	}
	if (ret || track_equal(&sets[TRACK_PID], &p->tracked))
		return ret;
	/* A birth before now does not take a process out of the new set. */
	sampler_drain(p->sampler, clock_now(&p->kc->clock), &sink);
	ret = sampler_track(p->sampler, &sets[TRACK_PID]);
	if (!ret && !(ret = track_copy(&sets[TRACK_PID], &copy))) {
		track_deinit(&p->tracked);
		p->tracked = copy;
	}
	return ret;
}

int ksampling_apply(struct kchannel *kc, bool active, struct tr_err *err)
{
	uint64_t rates[SAMPLE_KINDS] = { 0 };
	struct sampler_sink sink;
	bool any = false;
	int ret = 0;

	for (int i = 0; active && i < SAMPLE_KINDS; i++) {
		rates[i] = sample_wanted(&kc->channel->rules, (enum sample_kind)i, NULL);
		any |= rates[i] != 0;
	}
	if (!any) {
		ksampling_close(kc);
		return 0;
	}
	if (kc->channel->session->track[TRACK_KERNEL_CGROUP].some)
		return tr_fail(err, -EOPNOTSUPP, "samples cannot be chosen by track/cgroup");
	if (!kc->sampling)
		ret = open_sampling(kc, err);
	if (ret)
		return ret;
	pthread_mutex_lock(&kc->lock);
	sink = sink_of(kc->sampling);
	ret = take_sets(kc->sampling);
	if (ret)
		tr_fail(err, ret, "the sets of processes, users and groups: %s", strerror(-ret));
	else if (memcmp(rates, kc->sampling->rates, sizeof(rates)) &&
		 (ret = make_ids(kc->sampling, rates)))
		tr_fail(err, ret, "the events of samples: %s", strerror(-ret));
	else if (memcmp(rates, kc->sampling->rates, sizeof(rates))) {
		ret = sampler_change(kc->sampling->sampler, rates, &sink, err);
		if (!ret)
			memcpy(kc->sampling->rates, rates, sizeof(rates));
		if (sampler_watch(kc->sampling->sampler, kc->sampling->epoll) < 0 && !ret)
			ret = tr_fail(err, -EMFILE, "the thread for samples cannot wait for them");
	}
	pthread_mutex_unlock(&kc->lock);
	return ret;
}

void ksampling_end(struct tracer *t)
{
	struct session *s;
	struct channel *c;

	cds_list_for_each_entry(s, &t->sessions, node)
		cds_list_for_each_entry(c, &s->channels, node)
			if (c->kchannel)
				ksampling_close(c->kchannel);
}
