// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Moves records from the backend's buffers into the rings of a kernel channel. Each record becomes
 * an event of a CTF class, passes the filters, and is written with its own timestamp by the
 * portable writer (abi/ring_write.h). A ring has one writer: the thread that holds kchannel.lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/base/array.h"
#include "tracer/base/context/kernel_context.h"
#include "tracer/kernel/kernel.h"
#include "tracer/kernel/kevent/transcode.h"
#include "tracer/abi/ring_write.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23          /* Linux 5.14 */
#endif

/* How records with one of the kernel's event ids are transcoded. */
struct coder {
	struct kcode *code;             /* NULL: the format is unknown; its records count as lost */
	struct kformat *format;         /* a reference */
	const struct event_key *key;
	uint32_t generation;            /* kchannel.generation of the rules used for the rest */
	uint32_t id;                    /* in the CTF class */
	bool known;                     /* id is valid */
	bool drop;                      /* no enabled rule matches */
	struct ksyms *symbols;
	void *program;                  /* the filter; NULL: accepts all */
	size_t program_size;
};

struct target {
	struct kchannel *kc;
	uint32_t cpu;
	struct event_origin who;                /* of the event that is being written */
	struct ring_writer writer;
	struct trail_ring *ring;
	const uint8_t *contexts;        /* context fields of the next record */
	size_t contexts_len;
	struct record_stack stacks[RECORD_STACKS];
	struct ring_source source;
};

static void coder_free(struct coder *c)
{
	if (!c)
		return;
	kcode_free(c->code);
	kformat_free(c->format);
	ksyms_free(c->symbols);
	free(c->program);
	free(c);
}

void coders_free(struct kchannel *kc)
{
	for (size_t i = 0; i < kc->coder_count; i++)
		coder_free(kc->coders[i]);
	free(kc->coders);
	kc->coders = NULL;
	kc->coder_count = 0;
}

/* ---- coders ---- */

/* Finds the event with an id: reads the formats of all enabled events until one has it. */
static struct kevent *find_event(struct kchannel *kc, uint32_t id)
{
	struct kernel *k = kernel_of(kc->tracer);
	struct kevent *e = kernel_event_by_id(k, id);
	uint8_t *on = NULL;
	size_t n;

	if (e)
		return e;
	pthread_mutex_lock(&kc->tracer->lock);
	n = kc->ever_count;
	on = malloc(n + 1);
	if (on && n)
		memcpy(on, kc->ever, n);
	pthread_mutex_unlock(&kc->tracer->lock);
	for (size_t i = 0; on && i < n; i++)
		if (on[i])
			kformat_free(kernel_format(k, kernel_event(k, i)));
	free(on);
	e = kernel_event_by_id(k, id);
	/* It may have been disabled since. */
	for (size_t i = 0; !e && i < kernel_count(k); i++) {
		kformat_free(kernel_format(k, kernel_event(k, i)));
		e = kernel_event_by_id(k, id);
	}
	return e;
}

/* Contexts that filters can read here. The filter of a probe reads other contexts in the kernel. */
static uint64_t list_known_contexts(const struct kchannel *kc)
{
	uint64_t kinds = 1ull << TRAIL_CONTEXT_PID | 1ull << TRAIL_CONTEXT_TID |
			 1ull << TRAIL_CONTEXT_PPID | 1ull << TRAIL_CONTEXT_PROCNAME |
			 1ull << TRAIL_CONTEXT_CPU_ID;

	/* A program in the kernel has decided with the values of that moment, which are better. */
	for (uint32_t i = 1; i < TRAIL_CONTEXT_ALL && !kernel_of(kc->tracer)->ops->programs; i++)
		if (kstatus_need(i))
			kinds |= 1ull << i;
	for (uint32_t i = 0; i < kc->context_count; i++)
		kinds |= 1ull << kc->contexts[i];
	return kinds;
}

static void take_rules(struct kchannel *kc, struct coder *co)
{
	struct filter_event fields;
	struct wanted wanted;
	void *copy = NULL;

	kformat_filter_event(co->format, &fields);
	fields.partial = kernel_of(kc->tracer)->ops->programs;
	fields.contexts = list_known_contexts(kc);
	co->drop = !kernel_wanted(kc->channel, co->key, &fields, &wanted);
	if (!co->drop && wanted.size) {
		copy = malloc(wanted.size);
		if (!copy) {
			co->drop = true;
			return;
		}
		memcpy(copy, wanted.program, wanted.size);
	}
	free(co->program);
	co->program = copy;
	co->program_size = wanted.size;
}

/* Brings a coder in line with the rules, and gives its event an id in the class at first use. */
static int update_coder(struct kchannel *kc, struct coder *co, uint32_t generation)
{
	struct md_event *e = NULL;
	struct stream_group *group = NULL;
	struct trace *t;
	int ret = 0;

	if (!co->known) {
		e = kformat_event(co->format);
		if (!e)
			return -ENOMEM;
	}
	pthread_mutex_lock(&kc->tracer->lock);
	if (kc->channel) {
		t = kernel_trace(kc->channel->session);
		group = t ? group_get(kc->channel, t, false) : NULL;
	}
	if (!group) {
		ret = -ENOENT;
	} else {
		take_rules(kc, co);
		co->generation = generation;
		if (e && !co->drop) {
			ret = group_event_id(group, e, &co->id);
			e = NULL;
			co->known = !ret;
		}
	}
	pthread_mutex_unlock(&kc->tracer->lock);
	md_event_destroy(e);
	return ret;
}

static struct coder *new_coder(struct kchannel *kc, uint32_t id)
{
	struct coder *co;
	struct kevent *e;

	if (id >= kc->coder_count) {
		size_t n = kc->coder_count ? kc->coder_count : 1024;

		while (n <= id)
			n *= 2;
		if (!array_extend(kc->coders, kc->coder_count, n))
			return NULL;
		kc->coder_count = n;
	}
	e = find_event(kc, id);
	co = calloc(1, sizeof(*co));
	if (co && e)
		co->format = kc->boot ? kernel_boot_format(kernel_of(kc->tracer), e)
				      : kernel_format(kernel_of(kc->tracer), e);
	if (co && co->format) {
		co->key = e->key;
		co->code = kcode_make(co->format);
	}
	if (co && co->code && kcode_has_symbols(co->code)) {
		co->symbols = ksyms_load(KSYMS_FILE);
		kcode_symbols(co->code, co->symbols);
	}
	kc->coders[id] = co;
	return co;
}

static struct coder *get_coder(struct kchannel *kc, uint32_t id)
{
	/* Pairs with the release in kchannel_apply. */
	uint32_t generation = __atomic_load_n(&kc->generation, __ATOMIC_ACQUIRE);
	/*
	 * Pairs with the releases in events.c: a drain that meets an event with a new id sees the
	 * new epoch.
	 */
	uint32_t epoch = __atomic_load_n(&kernel_of(kc->tracer)->epoch, __ATOMIC_ACQUIRE);
	struct coder *co;

	if (kc->epoch != epoch)
		coders_free(kc);
	kc->epoch = epoch;
	co = id < kc->coder_count ? kc->coders[id] : NULL;
	if (!co)
		co = new_coder(kc, id);
	if (!co || !co->code)
		return NULL;
	if (co->generation != generation && update_coder(kc, co, generation))
		return NULL;
	return co;
}

/* ---- one record ---- */

static uint64_t get_event_time(void *arg)
{
	return ((const struct target *)arg)->who.ts;
}

static bool populate_subbuf(void *arg, uint64_t subbuf)
{
	const struct target *to = arg;

	return region_populate(to->kc->region, to->cpu, subbuf);
}

/* Fields for a process id hold a thread id until now: replace it. */
static void put_processes(const struct target *to, const struct kcode *code, uint8_t *payload)
{
	struct kthread is;
	size_t at;
	int32_t tid;

	for (uint32_t i = 0; (at = kcode_process(code, i)) != SIZE_MAX; i++) {
		memcpy(&tid, payload + at, sizeof(tid));
		kernel_thread(to->who.kernel, to->who.ts, tid, &is);
		if (is.pid >= 0)
			memcpy(payload + at, &is.pid, sizeof(is.pid));
	}
}

static bool reserve_payload(struct kchannel *kc, size_t size)
{
	uint8_t *more;

	if (size <= kc->room)
		return true;
	more = realloc(kc->payload, size);
	if (!more)
		return false;
	kc->payload = more;
	kc->room = size;
	return true;
}

static void keep_contexts(void *arg, const uint8_t *bytes, size_t len)
{
	struct target *to = arg;

	to->contexts = bytes;
	to->contexts_len = len;
}

static void keep_stacks(void *arg, const struct record_stack stacks[RECORD_STACKS])
{
	memcpy(((struct target *)arg)->stacks, stacks, RECORD_STACKS * sizeof(*stacks));
}

/* Sets the origin of an event. Returns the size of the contexts in front of the payload. */
static size_t set_origin(struct target *to, uint64_t time, int32_t tid)
{
	const struct kchannel *kc = to->kc;

	to->who = (struct event_origin){ .kernel = kernel_of(kc->tracer),
					 .ts = clock_convert(&kc->clock, time),
					 .tid = tid,
					 .cpu = to->cpu,
					 .kc = kc };
	if (to->contexts &&
	    kcontext_fits(kc->contexts, kc->context_count, to->contexts, to->contexts_len)) {
		to->who.contexts = to->contexts;
		to->who.contexts_len = to->contexts_len;
	}
	memcpy(to->who.stacks, to->stacks, sizeof(to->stacks));
	memset(to->stacks, 0, sizeof(to->stacks));
	to->contexts = NULL;
	return event_origin_size(&to->who, kc);
}

static void write_record(void *arg, uint64_t time, const uint8_t *bytes, size_t len)
{
	static const uint8_t on = 1;
	struct target *to = arg;
	struct kchannel *kc = to->kc;
	struct coder *co = get_coder(kc, krecord_id(bytes));
	struct filter_input in = { .context = event_origin_value, .arg = &to->who };
	size_t head = set_origin(to, time, krecord_pid(bytes));
	enum origin_in in_sets;
	ssize_t n;

	in_sets = co && co->drop ? ORIGIN_OUT : event_origin_is_in(&to->who, kc->only);
	if (in_sets == ORIGIN_OUT)
		return;
	if (in_sets == ORIGIN_UNKNOWN) {
		event_origin_lose(to->ring);
		return;
	}
	if (!co || !co->known || !reserve_payload(kc, kcode_bound(co->code, len) + head + 1)) {
		ring_lost(to->ring, 1);
		return;
	}
	n = kcode_run(co->code, bytes, len, kc->payload + head, kc->room - head);
	if (n < 0) {
		ring_lost(to->ring, 1);
		return;
	}
	/* (The threads of the last boot are not known.) */
	if (!kc->boot)
		put_processes(to, co->code, kc->payload + head);
	in.payload = kc->payload + head;
	in.len = (size_t)n;
	if (co->program && !filter_holds(co->program, co->program_size, &in)) {
		if (to->who.unknown)
			event_origin_lose(to->ring);
		return;
	}
	event_origin_put(&to->who, kc, kc->payload);
	ring_write(&to->writer, &on, 1, co->id, kc->payload, head + (size_t)n);
}

static void count_missed(void *arg, uint64_t events)
{
	source_missed(&((const struct target *)arg)->source, events);
}

static void note_undecided(void *arg)
{
	source_passed_undecided(&((const struct target *)arg)->source);
}

static void note_taken(void *arg, uint64_t records)
{
	source_taken(&((const struct target *)arg)->source, records);
}

/* ---- a channel ---- */

static int drain_cpu(struct kchannel *kc, uint32_t cpu)
{
	const struct region_geometry *geo = &kc->region->geo;
	const struct backend_ops *ops = kernel_of(kc->tracer)->ops;
	struct target to = {
		.kc = kc, .cpu = cpu, .ring = region_ring(kc->region, cpu),
		.source = { .region = kc->region, .ring = cpu,
			    .overwrites = geo->mode == TRAIL_MODE_OVERWRITE,
			    .unfiltered = &kc->unfiltered },
	};
	struct backend_sink sink = { .record = write_record,
				     .contexts = keep_contexts,
				     .stacks = keep_stacks,
				     .missed = count_missed,
				     .undecided = note_undecided,
				     .taken = note_taken,
				     .arg = &to };
	int ret, counted;

	to.writer = (struct ring_writer){
		.ring = to.ring,
		.data = (uint8_t *)region_data(kc->region, cpu),
		.subbuf_size = geo->subbuf_size,
		.subbuf_count = geo->subbuf_count,
		.mode = geo->mode,
		.clock = get_event_time,
		.populate = populate_subbuf,
		.arg = &to,
	};
	/*
	 * Read the counters before the drain: else losses that the buffers mention were counted
	 * twice.
	 */
	counted = ops->lost(kc->bc, cpu, &to.source.counts);
	if (!counted)
		source_begin(&to.source, kc->continues);
	ret = ops->drain(kc->bc, cpu, &sink);
	if (!counted)
		source_end(&to.source);
	return ret;
}

/* Reports once if the kernel does not record although it should. Caller holds tracer.lock. */
static void check_recording(struct kchannel *kc, int recording)
{
	if (recording && kc->error == -ESHUTDOWN)
		kc->error = 0;
	if (recording || kc->error == -ESHUTDOWN || !kc->recording || !kc->channel)
		return;
	kchannel_problem(kc, -ESHUTDOWN,
			 "another program has stopped the recording (tracing_on of instance %s)",
			 kc->name);
}

int kchannel_drain(struct kchannel *kc, int unused)
{
	int ret = 0, one, recording = 1;
	bool was_recording, was_applying;
	uint32_t generation;

	(void)unused;
	if (__atomic_load_n(&kc->drained, __ATOMIC_ACQUIRE))
		return 0;
	pthread_mutex_lock(&kc->tracer->lock);
	was_recording = kc->recording;
	was_applying = kc->applying;
	generation = kc->generation;
	pthread_mutex_unlock(&kc->tracer->lock);
	pthread_mutex_lock(&kc->lock);
	for (uint32_t cpu = 0; kc->bc && cpu < kc->region->geo.ring_count; cpu++) {
		one = drain_cpu(kc, cpu);
		ret = ret ? ret : one;
	}
	kc->continues = false;
	ksampling_drain(kc);
	if (was_recording && kc->bc && kernel_of(kc->tracer)->ops->recording)
		recording = kernel_of(kc->tracer)->ops->recording(kc->bc);
	pthread_mutex_unlock(&kc->lock);
	pthread_mutex_lock(&kc->tracer->lock);
	/* A kchannel_apply that was under way meanwhile may have switched the recording. */
	if (!was_applying && generation == kc->generation) {
		check_recording(kc, recording);
		if (!was_recording && !ret)
			__atomic_store_n(&kc->drained, true, __ATOMIC_RELEASE);
	}
	if (ret && ret != kc->error && kc->channel)
		kchannel_problem(kc, ret, "the kernel's buffers cannot be read: %s",
				 strerror(-ret));
	pthread_mutex_unlock(&kc->tracer->lock);
	return 0;
}

int kchannel_watch(struct kchannel *kc, int epoll)
{
	const struct backend_ops *ops = kernel_of(kc->tracer)->ops;
	int ret;

	pthread_mutex_lock(&kc->lock);
	/* The files of samples wake their thread. */
	ret = ops->watch && kc->bc && !kc->sampling ? ops->watch(kc->bc, epoll) : -EOPNOTSUPP;
	pthread_mutex_unlock(&kc->lock);
	return ret;
}
