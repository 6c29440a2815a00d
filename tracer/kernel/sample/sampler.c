// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens and closes the events of a sampler, and reads their rings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/array.h"
#include "tracer/base/os/cpus.h"
#include "tracer/kernel/sample/internal.h"
#include "tracer/kernel/task/task.h"

#define SAMPLE_PAGES 256u       /* of 4 KiB: for samples of a CPU; a power of two */
#define COPY_PAGES_MAX 4096u    /* the same for samples with copies of stacks */
#define COPY_PAGES_ALL 65536u   /* the same of all CPUs together */
#define COPY_SECONDS 2u         /* whose samples fit into such a ring */
#define PROCESS_PAGES 256u      /* for births and mappings */
#define WAKE 65536u             /* bytes in a ring that wake a reader */
#define WAKE_PART 8u            /* the part of a larger ring that does */
#define STACK_COPY 8192u        /* bytes of a program's stack in a sample */
#define CYCLES_LEAST 1000000u   /* samples of fewer cycles are too many for copies */

/* ---- events ---- */

/* Whether samples bring a copy of the program's stack. */
static bool copies_stack(uint32_t event, uint64_t rate)
{
#ifdef __x86_64__
	return event == SAMPLE_CPU || (event == SAMPLE_CYCLES && rate >= CYCLES_LEAST);
#else
	(void)event, (void)rate;
	return false;
#endif
}

static struct perf_event_attr describe_event(uint32_t event, uint64_t rate)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .exclude_idle = 1,
				     .exclude_hv = 1, .wakeup_watermark = WAKE,
				     .sample_period = rate };

	if (copies_stack(event, rate)) {
		a.sample_regs_user = SAMPLE_REGS;
		a.sample_stack_user = STACK_COPY;
	}
	switch (event) {
	case SAMPLE_CPU:
		a.config = PERF_COUNT_SW_CPU_CLOCK;
		a.freq = 1;
		break;
	case SAMPLE_CYCLES:
		a.type = PERF_TYPE_HARDWARE;
		a.config = PERF_COUNT_HW_CPU_CYCLES;
		break;
	case SAMPLE_FAULTS:
		a.config = PERF_COUNT_SW_PAGE_FAULTS;
		break;
	default:
		a.config = PERF_COUNT_SW_DUMMY;
		a.sample_period = 0;
		a.task = a.comm = a.comm_exec = a.mmap = a.mmap2 = 1;
		/*
		 * No build_id: then the kernel marks the records of other programs as if they had
		 * build ids, too, and perf(1) crashes.
		 */
		/* Births and mappings are not of the idle thread. */
		a.exclude_idle = 0;
	}
	return a;
}

static void use_monotonic(struct perf_event_attr *a)
{
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
}

static int explain(enum sample_kind kind, int ret, struct tr_err *err)
{
	if (ret == -EACCES || ret == -EPERM)
		return tr_fail(err, ret, "the kernel does not permit samples: CAP_PERFMON is "
			       "missing, kernel.perf_event_paranoid above 2 leaves them to root, "
			       "or lockdown forbids performance events");
	if (ret == -EMFILE || ret == -ENFILE)
		return tr_fail(err, ret, "samples need two files for each CPU: %s",
			       strerror(-ret));
	if (kind == SAMPLE_CYCLES && (ret == -ENOENT || ret == -EOPNOTSUPP || ret == -ENODEV))
		return tr_fail(err, -EOPNOTSUPP, "this machine counts no cycles, as many virtual "
			       "machines do not; sample:cpu needs no counter");
	if (ret == -ENOSYS || ret == -ENOENT)
		return tr_fail(err, -EOPNOTSUPP, "this kernel has no performance events "
			       "(CONFIG_PERF_EVENTS)");
	return tr_fail(err, ret, "samples of %s cannot be taken: %s", sample_name(kind),
		       strerror(-ret));
}

static int check_namespace(struct tr_err *err)
{
	return tasks_global() ? 0
			      : tr_fail(err, -EOPNOTSUPP,
					"samples have the daemon's numbers of processes, which in "
					"a PID namespace are not those of other records");
}

static int check_kind(enum sample_kind kind, uint64_t rate, struct tr_err *err)
{
	struct perf_event_attr a = describe_event(kind, rate);
	struct perf_ring r;
	int ret = check_namespace(err);

	if (ret)
		return ret;
	ret = perf_ring_open(&a, 0, 8, &r);
	if (ret == -ENODEV && kind != SAMPLE_CYCLES)
		return 0;       /* CPU 0 is off */
	if (ret)
		return explain(kind, ret, err);
	perf_ring_close(&r);
	return 0;
}

int sampler_check_rules(const struct rule_list *l, struct tr_err *err)
{
	const struct rule *other = NULL;
	int ret = 0;

	for (size_t i = 0; i < l->count && !ret; i++) {
		const struct rule *r = &l->rules[i];
		int kind = sample_kind(r->pattern);

		if (kind < 0 || !r->line || r->disabled)
			continue;
		ret = check_kind((enum sample_kind)kind, sample_rate(r), err);
		sample_wanted(l, (enum sample_kind)kind, &other);
		if (!ret && other)
			ret = tr_fail_at(err, -EINVAL, r->text, 0,
					 "a channel takes samples of one kind at one rate: remove "
					 "its other rule on %s first, or use another channel",
					 r->pattern);
		if (ret && err)
			err->line = r->line;
	}
	return ret;
}

static size_t count_pages(const struct sampler *s, uint32_t event, uint64_t rate)
{
	size_t pages = event == PROCESSES ? PROCESS_PAGES : SAMPLE_PAGES;
	uint64_t wanted = rate * STACK_COPY * COPY_SECONDS;

	if (!copies_stack(event, rate))
		return pages;
	while (pages < COPY_PAGES_MAX && pages * s->cpus < COPY_PAGES_ALL &&
	       (event != SAMPLE_CPU || pages * 4096 < wanted))
		pages *= 2;
	return pages;
}

static int open_ring(struct sampler *s, uint32_t cpu, uint32_t event, uint64_t rate)
{
	struct perf_event_attr a = describe_event(event, rate);
	struct perf_ring *r = ring_of(s, cpu, event);
	size_t pages = count_pages(s, event, rate);

	if (!s->time.mult)
		use_monotonic(&a);
	if (pages * 4096 / WAKE_PART > WAKE)
		a.wakeup_watermark = (uint32_t)(pages * 4096 / WAKE_PART);
	return perf_ring_open(&a, (int)cpu, pages, r);
}

/* Finds out whether times of records can be converted to cycles, if the trace clock has these. */
static void find_time(struct sampler *s)
{
	struct perf_event_attr a = describe_event(PROCESSES, 0);
	struct perf_ring r;

	if (!s->clock->mult || perf_ring_open(&a, 0, 1, &r))
		return;
	s->time = perf_ring_time(&r);
	perf_ring_close(&r);
}

/* ---- read ---- */

struct reading {
	struct sampler *s;
	uint32_t cpu, event;
	const struct sampler_sink *sink;
};

/* Whether the records of an event stay in their rings until they are passed on. */
static bool stays(const struct sampler *s, uint32_t event)
{
	return event < SAMPLE_KINDS && s->copies[event];
}

/* False: the record is too short. */
static bool find_record_time(const struct perf_event_header *h, uint64_t *time)
{
	const uint8_t *p = (const uint8_t *)h;

	if (h->type == PERF_RECORD_SAMPLE) {
		if (h->size < sizeof(struct perf_sample))
			return false;
		memcpy(time, p + offsetof(struct perf_sample, time), sizeof(*time));
		return true;
	}
	if (h->size < sizeof(*h) + sizeof(struct perf_trailer))
		return false;
	memcpy(time, p + h->size - sizeof(struct perf_trailer) +
			     offsetof(struct perf_trailer, time),
	       sizeof(*time));
	return true;
}

static uint64_t convert_time(const struct sampler *s, uint64_t time)
{
	return s->time.mult ? clock_convert(s->clock, perf_time_cycles(&s->time, time))
			    : time - s->ahead;
}

static struct perf_event_header *copy_record(const struct perf_event_header *h)
{
	struct perf_event_header *copy = malloc(h->size);

	if (copy)
		memcpy(copy, h, h->size);
	return copy;
}

/* Takes a record over. False: there is no memory. */
static bool add_record(struct reading *r, const struct perf_read *read, uint64_t time)
{
	struct sampler *s = r->s;
	struct perf_ring *ring = ring_of(s, r->cpu, r->event);
	struct record new = { .time = convert_time(s, time), .number = s->number++, .cpu = r->cpu,
			      .event = r->event, .end = read->end };

	if (ring->latest < new.time)
		ring->latest = new.time;
	new.order = ring->latest;
	if (!array_double(s->records, s->count))
		return false;
	if (read->in_ring && stays(s, r->event))
		new.in_ring = read->header;
	else
		new.copy = copy_record(read->header);
	if (!new.in_ring && !new.copy)
		return false;
	s->records[s->count++] = new;
	return true;
}

static void take_record(void *arg, const struct perf_read *read)
{
	const struct perf_event_header *h = read->header;
	struct reading *r = arg;
	uint64_t lost, time;

	if (h->type == PERF_RECORD_LOST && r->event == PROCESSES) {
		process_doubt(&r->s->processes);
		return;
	}
	if (h->type == PERF_RECORD_LOST &&
	    h->size >= sizeof(*h) + 2 * sizeof(lost)) {
		memcpy(&lost, (const uint8_t *)h + sizeof(*h) + sizeof(lost), sizeof(lost));
		r->sink->lost(r->sink->arg, r->cpu, lost);
		return;
	}
	if ((h->type != PERF_RECORD_SAMPLE && h->type != PERF_RECORD_FORK &&
	     h->type != PERF_RECORD_EXIT && h->type != PERF_RECORD_MMAP2 &&
	     h->type != PERF_RECORD_COMM) ||
	    !find_record_time(h, &time))
		return;
	if (!add_record(r, read, time) && h->type == PERF_RECORD_SAMPLE)
		r->sink->lost(r->sink->arg, r->cpu, 1);
}

void sampler_read(struct sampler *s, uint32_t event, const struct sampler_sink *sink)
{
	struct reading r = { .s = s, .event = event, .sink = sink };

	for (; r.cpu < s->cpus; r.cpu++) {
		struct perf_ring *ring = ring_of(s, r.cpu, event);

		if (!ring->page)
			continue;
		perf_ring_read(ring, take_record, &r);
		if (!stays(s, event))
			perf_ring_release(ring, ring->read);
	}
}

void sampler_keep(struct sampler *s, uint32_t event, const struct sampler_sink *sink)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		struct record r = s->records[i];

		if (r.event == event && r.in_ring) {
			r.copy = copy_record(r.in_ring);
			r.in_ring = NULL;
		}
		if (r.copy || r.in_ring)
			s->records[kept++] = r;
		else
			sink->lost(sink->arg, r.cpu, 1);
	}
	s->count = kept;
}

/* ---- open and close ---- */

/* Opens an event on all CPUs that are online, and switches it on. */
static int open_event(struct sampler *s, uint32_t event, uint64_t rate)
{
	size_t opened = 0;
	int ret = 0;

	for (uint32_t cpu = 0; cpu < s->cpus && !ret; cpu++) {
		/* Without the event for processes the CPU was off. */
		if (event != PROCESSES && ring_of(s, cpu, PROCESSES)->fd < 0)
			continue;
		ret = open_ring(s, cpu, event, rate);
		if (!ret)
			ret = perf_ring_enable(ring_of(s, cpu, event), true);
		if (ret == -ENODEV && event == PROCESSES)
			ret = 0;
		else
			opened++;
	}
	return ret || opened ? ret : -ENODEV;
}

static void close_event(struct sampler *s, uint32_t event)
{
	for (uint32_t cpu = 0; cpu < s->cpus; cpu++)
		perf_ring_close(ring_of(s, cpu, event));
}

/* ---- CPUs that come and go ---- */

static bool open_cpu(struct sampler *s, uint32_t cpu)
{
	int ret = 0;

	for (uint32_t n = EVENTS; n-- > 0 && !ret;) {
		if (n != PROCESSES && !s->rates[n])
			continue;
		ret = open_ring(s, cpu, n, n == PROCESSES ? 0 : s->rates[n]);
		if (!ret)
			ret = perf_ring_enable(ring_of(s, cpu, n), true);
	}
	return !ret;
}

/* What its rings have is kept. */
static void close_cpu(struct sampler *s, uint32_t cpu, const struct sampler_sink *sink)
{
	for (uint32_t n = 0; n < EVENTS; n++) {
		if (!ring_of(s, cpu, n)->page)
			continue;
		sampler_read(s, n, sink);
		sampler_keep(s, n, sink);
		perf_ring_close(ring_of(s, cpu, n));
	}
}

bool sampler_follow(struct sampler *s, const struct sampler_sink *sink)
{
	cpu_set_t *now = CPU_ALLOC(s->cpus);
	bool some = now && cpus_read(CPUS_ONLINE, now, s->online_size), opened = false;
	for (uint32_t cpu = 0; some && cpu < s->cpus; cpu++) {
		bool is = CPU_ISSET_S(cpu, s->online_size, now);

		if (is == !!CPU_ISSET_S(cpu, s->online_size, s->online))
			continue;
		CPU_CLR_S(cpu, s->online_size, s->online);
		close_cpu(s, cpu, sink);
		if (!is || !open_cpu(s, cpu))
			continue;
		CPU_SET_S(cpu, s->online_size, s->online);
		/* What processes did there before was not recorded. */
		process_doubt(&s->processes);
		opened = true;
	}
	CPU_FREE(now);
	return opened;
}

int sampler_open(uint32_t cpus, const struct clock *clock, struct sampler **out,
		 struct tr_err *err)
{
	struct sampler *s;
	int ret = check_namespace(err);

	if (ret)
		return ret;
	s = calloc(1, sizeof(*s) + cpus * EVENTS * sizeof(s->rings[0]));
	if (!s)
		return tr_fail(err, -ENOMEM, "out of memory");
	s->clock = clock;
	s->cpus = cpus;
	s->online_size = CPU_ALLOC_SIZE(cpus);
	s->online = CPU_ALLOC(cpus);
	for (uint32_t i = 0; i < cpus * EVENTS; i++)
		s->rings[i].fd = -1;
	/* Without it stacks are shorter. */
	s->unwinder = unwinder_create();
	find_time(s);
	ret = s->online ? open_event(s, PROCESSES, 0) : -ENOMEM;
	if (ret) {
		sampler_close(s);
		return explain(SAMPLE_CPU, ret, err);
	}
	CPU_ZERO_S(s->online_size, s->online);
	for (uint32_t cpu = 0; cpu < cpus; cpu++)
		if (ring_of(s, cpu, PROCESSES)->fd >= 0)
			CPU_SET_S(cpu, s->online_size, s->online);
	*out = s;
	return 0;
}

int sampler_change(struct sampler *s, const uint64_t rates[SAMPLE_KINDS],
		   const struct sampler_sink *sink, struct tr_err *err)
{
	int ret = 0, one;

	sampler_follow(s, sink);
	for (uint32_t n = 0; n < SAMPLE_KINDS; n++) {
		if (s->rates[n] == rates[n])
			continue;
		for (uint32_t cpu = 0; cpu < s->cpus; cpu++)
			if (ring_of(s, cpu, n)->page)
				perf_ring_enable(ring_of(s, cpu, n), false);
		sampler_read(s, n, sink);
		sampler_keep(s, n, sink);
		close_event(s, n);
		s->rates[n] = 0;
		s->copies[n] = copies_stack(n, rates[n]);
		one = rates[n] ? open_event(s, n, rates[n]) : 0;
		if (one) {
			close_event(s, n);
			ret = explain((enum sample_kind)n, one, err);
			continue;
		}
		s->rates[n] = rates[n];
	}
	return ret;
}

int sampler_track(struct sampler *s, const struct track *pids)
{
	process_untrack(&s->processes);
	s->tracks = pids->some;
	for (size_t i = 0; pids->some && i < pids->count; i++) {
		struct sampled_process *p = process_find(&s->processes, (int32_t)pids->ids[i]);

		if (!p)
			return -ENOMEM;
		p->tracked = true;
	}
	return 0;
}

int sampler_watch(const struct sampler *s, int epoll)
{
	struct epoll_event want = { .events = EPOLLIN };
	int n = 0;

	for (uint32_t i = 0; i < s->cpus * EVENTS; i++) {
		if (s->rings[i].fd < 0)
			continue;
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, s->rings[i].fd, &want) && errno != EEXIST)
			return -errno;
		n++;
	}
	return n;
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->cpus * EVENTS; i++)
		perf_ring_close(&s->rings[i]);
	process_table_deinit(&s->processes);
	unwinder_free(s->unwinder);
	CPU_FREE(s->online);
	for (size_t i = 0; i < s->count; i++)
		free(s->records[i].copy);
	free(s->records);
	free(s);
}

