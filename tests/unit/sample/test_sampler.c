/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/* Records of performance events: their order, whose samples are passed on, and damaged ones. */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/kernel/sample/internal.h"

#define CPUS 2u
#define DATA 8192u              /* bytes of a ring */

static const struct clock no_clock;     /* times of records are times of the trace */
static struct sampler *s;
static bool in_place;                   /* samples stay in their rings, as with copies of stacks */

static void open_rings(void)
{
	s = calloc(1, sizeof(*s) + CPUS * EVENTS * sizeof(s->rings[0]));
	s->clock = &no_clock;
	s->cpus = CPUS;
	for (int i = 0; i < SAMPLE_KINDS; i++)
		s->copies[i] = in_place;
	for (uint32_t i = 0; i < CPUS * EVENTS; i++) {
		struct perf_ring *r = &s->rings[i];

		r->fd = -1;
		r->size = DATA;
		r->mapped = DATA + 4096;
		r->page = mmap(NULL, r->mapped, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		r->data = (const uint8_t *)r->page + 4096;
	}
}

/* As the kernel writes a record, if there is room. */
static void write_record(uint32_t cpu, uint32_t event, const void *record, size_t n)
{
	struct perf_ring *r = ring_of(s, cpu, event);

	if (r->page->data_head + n - r->page->data_tail > DATA)
		return;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)(uintptr_t)r->data)[(r->page->data_head + i) % DATA] =
			((const uint8_t *)record)[i];
	r->page->data_head += n;
}

static void write_sample(uint32_t cpu, uint64_t time, uint32_t pid, uint64_t count)
{
	struct {
		struct perf_sample s;
		uint64_t chain[6];
	} r = { .s = { .header = { PERF_RECORD_SAMPLE, 0, sizeof(r) }, .pid = pid, .tid = pid,
		       .time = time, .cpu = cpu, .count = count },
		.chain = { (uint64_t)PERF_CONTEXT_KERNEL, 1, 2,
			   (uint64_t)PERF_CONTEXT_USER, 3, 4 } };

	write_record(cpu, SAMPLE_CPU, &r, sizeof(r));
}

static void write_fork(uint32_t cpu, uint64_t time, uint32_t pid, uint32_t parent)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, parent, tid, parent_tid;
		uint64_t time;
		struct perf_trailer end;
	} r = { { PERF_RECORD_FORK, 0, sizeof(r) }, pid, parent, pid, parent, time,
		{ .time = time } };

	write_record(cpu, PROCESSES, &r, sizeof(r));
}

static void write_exec(uint64_t time, uint32_t pid)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		char name[8];
		struct perf_trailer end;
	} r = { { PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, sizeof(r) }, pid, pid, "x",
		{ .time = time } };

	write_record(0, PROCESSES, &r, sizeof(r));
}

static void write_mmap(uint64_t time, uint32_t pid, const char *path)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, size, offset;
		uint64_t file[3];
		uint32_t prot, flags;
		char path[16];
		struct perf_trailer end;
	} r = { .header = { PERF_RECORD_MMAP2, 0, sizeof(r) }, .pid = pid, .start = 4096,
		.size = 4096, .end = { .time = time } };

	strcpy(r.path, path);
	write_record(1, PROCESSES, &r, sizeof(r));
}

/* What was passed on, one letter and a number each. */
static char passed[4096];
static uint64_t lost, frames;

static void say(char what, uint64_t n, const char *text)
{
	size_t len = strlen(passed);

	if (len < sizeof(passed) - 64)
		sprintf(passed + len, "%c%llu%.30s ", what, (unsigned long long)n, text);
}

static bool take_wants(void *arg, const struct cpu_sample *c)
{
	(void)arg;
	return c->pid != 99;
}

static void take_sample(void *arg, const struct cpu_sample *c)
{
	(void)arg;
	frames = 0;
	for (uint32_t i = 0; i < c->kernel_count; i++)
		frames = frames * 10 + c->kernel[i];
	for (uint32_t i = 0; i < c->user_count; i++)
		frames = frames * 10 + c->user[i];
	say('s', c->time, "");
}

static void take_mapping(void *arg, int32_t pid, const struct code_mapping *m)
{
	(void)arg;
	say('m', (uint64_t)pid, m->path);
}

static void take_unknown(void *arg, int32_t pid, int32_t parent)
{
	(void)arg, (void)parent;
	say('u', (uint64_t)pid, "");
}

static void take_lost(void *arg, uint32_t cpu, uint64_t samples)
{
	(void)arg;
	CHECK(cpu < CPUS);
	lost += samples;
}

static const struct sampler_sink sink = { take_wants,   take_sample, take_mapping,
					  take_unknown, take_lost,   NULL };

static const char *drain(uint64_t until)
{
	*passed = '\0';
	sampler_drain(s, until, &sink);
	return passed;
}

/* By time over all CPUs; what is later than the limit waits. */
static void order(void)
{
	open_rings();
	write_sample(0, 30, 7, 6);
	write_sample(1, 20, 7, 6);
	write_sample(1, 40, 7, 6);
	CHECK_STR(drain(30), "u7 s20 s30 ");
	CHECK(frames == 1234);
	write_sample(0, 35, 7, 6);
	CHECK_STR(drain(50), "s35 s40 ");
	CHECK_STR(drain(UINT64_MAX), "");
	/* Over the end of the ring, many times. */
	for (uint64_t i = 0; i < 1000; i++) {
		write_sample(0, 100 + i, 7, 6);
		drain(UINT64_MAX);
		CHECK(frames == 1234 && passed[0] == 's');
	}
	sampler_close(s);
}

/* What waits in a ring keeps its room, and its order even if a time is earlier. */
static void waiting(void)
{
	uint64_t size, wrapped = 0;

	in_place = true;
	open_rings();
	write_sample(0, 10, 7, 6);
	size = ring_of(s, 0, SAMPLE_CPU)->page->data_head;
	write_sample(0, 20, 7, 6);
	write_sample(0, 15, 7, 6);
	CHECK_STR(drain(9), "");
	CHECK(ring_of(s, 0, SAMPLE_CPU)->page->data_tail == 0);
	CHECK_STR(drain(10), "u7 s10 ");
	CHECK(ring_of(s, 0, SAMPLE_CPU)->page->data_tail == size);
	CHECK_STR(drain(19), "");
	write_sample(0, 30, 7, 6);
	CHECK_STR(drain(20), "s20 s15 ");
	CHECK(ring_of(s, 0, SAMPLE_CPU)->page->data_tail == 3 * size);
	/* A full ring has a record in two parts. */
	drain(UINT64_MAX);
	for (uint64_t i = 40; i < 500; i++) {
		write_sample(0, i, 7, 6);
		drain(i - 20);
		if (passed[0])
			CHECK(frames == 1234);
		wrapped += passed[0] == 's';
	}
	CHECK(wrapped > 300);
	/* The rings are closed; the records are still passed on. */
	drain(UINT64_MAX);
	write_sample(0, 600, 7, 6);
	write_sample(1, 601, 7, 6);
	CHECK_STR(drain(599), "");
	sampler_keep(s, SAMPLE_CPU, &sink);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		perf_ring_close(ring_of(s, cpu, SAMPLE_CPU));
	CHECK_STR(drain(UINT64_MAX), "s600 s601 ");
	CHECK(!s->count);
	sampler_close(s);
}

/* A birth on another CPU comes before the samples of the child. */
static void tracked(void)
{
	uint32_t ids[] = { 4 };
	struct track only = { .some = true, .ids = ids, .count = 1 }, all = { 0 };

	open_rings();
	CHECK(!sampler_track(s, &only));
	write_sample(0, 11, 5, 6);
	write_sample(0, 12, 6, 6);
	write_sample(0, 13, 4, 6);
	write_sample(0, 14, 99, 6);
	write_fork(1, 10, 5, 4);
	CHECK_STR(drain(UINT64_MAX), "u5 s11 u4 s13 ");
	/* The number belongs to another process now. */
	write_fork(1, 20, 5, 6);
	write_sample(0, 21, 5, 6);
	CHECK_STR(drain(UINT64_MAX), "");
	CHECK(!sampler_track(s, &all));
	write_sample(0, 31, 5, 6);
	CHECK_STR(drain(UINT64_MAX), "u5 s31 ");
	sampler_close(s);
}

static void write_lost(uint64_t time)
{
	struct {
		struct perf_event_header header;
		uint64_t id, lost;
		struct perf_trailer end;
	} r = { { PERF_RECORD_LOST, 0, sizeof(r) }, 0, 3, { .time = time } };

	write_record(0, PROCESSES, &r, sizeof(r));
}

/* After lost births /proc says who made a process; samples of one that has ended are counted. */
static void gap(void)
{
	uint32_t ids[] = { (uint32_t)getpid() };
	struct track only = { .some = true, .ids = ids, .count = 1 };
	pid_t child = fork(), ended;

	if (!child) {
		pause();
		_exit(0);
	}
	ended = fork();
	if (!ended)
		_exit(0);
	CHECK(waitpid(ended, NULL, 0) == ended);
	open_rings();
	lost = 0;
	CHECK(!sampler_track(s, &only));
	/* Mappings of a process that is not tracked are not kept: its space would lack them. */
	write_exec(9, (uint32_t)child);
	write_mmap(10, (uint32_t)child, "/x");
	write_sample(0, 11, (uint32_t)child, 6);
	write_sample(0, 12, (uint32_t)ended, 6);
	CHECK_STR(drain(UINT64_MAX), "");
	CHECK(!lost);
	CHECK(!process_known(&s->processes, child)->space);
	write_lost(13);
	write_sample(0, 14, 1, 6);
	write_sample(0, 15, (uint32_t)ended, 6);
	CHECK_STR(drain(UINT64_MAX), "");
	CHECK(lost == 1);
	write_sample(0, 16, (uint32_t)child, 6);
	drain(UINT64_MAX);
	CHECK(passed[0] == 'u' && strstr(passed, " s16 "));
	/* From then on, births are known again. */
	write_fork(0, 17, 99999999, (uint32_t)child);
	write_sample(0, 18, 99999999, 6);
	CHECK(strstr(drain(UINT64_MAX), "s18 "));
	sampler_close(s);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Mappings come before the next sample that is wanted, each once. */
static void mappings(void)
{
	open_rings();
	write_exec(1, 7);
	write_mmap(2, 7, "/a");
	write_sample(0, 3, 7, 6);
	write_mmap(4, 7, "/libc");
	write_sample(0, 5, 7, 6);
	write_sample(0, 6, 7, 6);
	write_mmap(7, 99, "/b");
	write_sample(0, 8, 99, 6);
	CHECK_STR(drain(UINT64_MAX), "m7/a s3 m7/libc s5 s6 ");
	write_exec(9, 7);
	write_sample(0, 10, 7, 6);
	CHECK_STR(drain(UINT64_MAX), "u7 s10 ");
	sampler_close(s);
}

/* A mapping whose rules were not read yet stays until they are; it is passed on once. */
static void kept_for_stacks(void)
{
	struct sampled_process *p;

	open_rings();
	write_exec(1, 7);
	write_mmap(2, 7, "/a");
	write_sample(0, 3, 7, 6);
	CHECK_STR(drain(UINT64_MAX), "m7/a s3 ");
	p = process_known(&s->processes, 7);
	CHECK(p && p->space && p->maps.len && p->passed == p->maps.len && !p->spaced);
	write_mmap(4, 7, "/b");
	write_sample(0, 5, 7, 6);
	CHECK_STR(drain(UINT64_MAX), "m7/b s5 ");
	p->spaced = p->maps.len;
	write_sample(0, 6, 7, 6);
	CHECK_STR(drain(UINT64_MAX), "s6 ");
	CHECK(!p->maps.len && !p->passed && !p->spaced && p->known);
	sampler_close(s);
}

/* A child that has ended has its parent's space, with what that mapped after its last sample. */
static void space_of_child(void)
{
	static const int32_t maker = 99999998, child = 99999999;
	struct {
		uint64_t registers[5], room, stack, used;
	} rest = { { PERF_SAMPLE_REGS_ABI_64, 0, 0, 0, 4096 }, sizeof(rest.stack), 0,
		   sizeof(rest.stack) };
	struct cpu_sample out = { .pid = child };
	struct sampled_process *p, *parent;

	open_rings();
	s->unwinder = unwinder_create();
	write_exec(1, (uint32_t)maker);
	write_mmap(2, (uint32_t)maker, "/a");
	write_fork(0, 3, (uint32_t)child, (uint32_t)maker);
	write_sample(0, 4, (uint32_t)child, 6);
	drain(UINT64_MAX);
	p = process_known(&s->processes, child);
	parent = process_known(&s->processes, maker);
	CHECK(p && !p->space && parent && parent->space && parent->maps.len && !parent->spaced);
	sampler_unwind(s, p, (const uint8_t *)&rest, sizeof(rest), &out);
	CHECK(p->space && parent->spaced == parent->maps.len);
	sampler_close(s);
}

static void damaged(void)
{
	struct perf_event_header h = { PERF_RECORD_SAMPLE, 0, 0 };
	uint64_t bytes[512], state = 1;

	open_rings();
	lost = 0;
	write_sample(0, 1, 7, 7);               /* more addresses than the record has */
	write_sample(0, 2, 7, UINT64_MAX);
	CHECK_STR(drain(UINT64_MAX), "");
	CHECK(lost == 2);
	write_record(0, SAMPLE_CPU, &h, sizeof(h));
	write_sample(0, 3, 7, 6);
	CHECK_STR(drain(UINT64_MAX), "");       /* no size: where the next one begins is unknown */
	write_sample(0, 4, 7, 6);
	CHECK_STR(drain(UINT64_MAX), "u7 s4 ");
	for (int round = 0; round < 20000; round++) {
		size_t n = 1 + (size_t)(state >> 20) % 20;

		for (size_t i = 0; i < n; i++) {
			state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
			bytes[i] = state >> 60 ? state & UINT64_C(0xffff00ff) : state;
		}
		h = (struct perf_event_header){ 1 + (uint32_t)(state >> 33) % 16, (uint16_t)state,
						(uint16_t)(8 * n) };
		memcpy(bytes, &h, sizeof(h));
		write_record(round & 1, (uint32_t)(state >> 40) % EVENTS, bytes, 8 * n);
		drain(round % 3 ? UINT64_MAX : state);
	}
	sampler_close(s);
}

int main(void)
{
	for (int i = 0; i < 2; i++) {
		in_place = i;
		CASE(order);
		CASE(tracked);
		CASE(gap);
		CASE(mappings);
		CASE(kept_for_stacks);
		CASE(space_of_child);
		CASE(damaged);
	}
	CASE(waiting);
	return test_summary();
}
