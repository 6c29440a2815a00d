/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail-static pthread */
/* The rings of threads that come and go, in regions with different numbers of rings. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "ustlib/lib.h"

enum { FEW = 4, SUBBUF = 4096, SUBBUFS = 2, EVENTS = 5 };

static void need(bool what)
{
	if (!what)
		abort();
}

/* What thread_write() needs of a region */
struct rings {
	struct mapped_region mapping;
	struct slot slot;
	uint8_t on;
	size_t stride;
	uint8_t *memory;
};

static void lay_out(struct rings *r, uint32_t count)
{
	size_t data = sizeof(struct trail_ring) + 2 * SUBBUFS * sizeof(struct trail_subbuf);

	data = (data + 63) / 64 * 64;
	*r = (struct rings){ .on = 1, .stride = data + SUBBUF * SUBBUFS };
	r->memory = aligned_alloc(64, count * r->stride);
	need(r->memory);
	memset(r->memory, 0, count * r->stride);
	r->mapping = (struct mapped_region){
		.subbuf_size = SUBBUF, .subbuf_count = SUBBUFS, .ring_count = count,
		.ring_stride = r->stride, .data_offset = data, .mode = TRAIL_MODE_DISCARD,
		.kind = TRAIL_RINGS_THREAD,
	};
	r->slot = (struct slot){
		.rings = r->memory, .on = &r->on, .on_value = 1, .ring_stride = r->stride,
		.data_offset = data, .mapping = &r->mapping, .id = 1,
	};
}

/* The events in ring i: all its commits but one for each sub-buffer that was opened. */
static uint64_t events(const struct rings *r, uint32_t i)
{
	const struct trail_ring *ring = (void *)(r->memory + i * r->stride);
	uint64_t at = ring->head & TRAIL_HEAD_MASK;

	return trail_commits(ring, at, false) - at / SUBBUF;
}

static uint64_t all_events(const struct rings *r)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->mapping.ring_count; i++)
		sum += events(r, i);
	return sum;
}

static uint64_t lost(const struct rings *r)
{
	return ((const struct trail_ring *)(const void *)r->memory)->lost;
}

static struct rings few, many;

/* Where a thread that is begun with it writes its events, and its id */
struct job { const struct rings *to; bool both; pthread_t thread; pid_t id; };

static void record(const struct rings *r)
{
	for (int i = 0; i < EVENTS; i++)
		thread_write(&r->slot, "payload", 8);
}

static void *run(void *arg)
{
	struct job *job = arg;

	job->id = (pid_t)syscall(SYS_gettid);
	if (job->both)
		record(&many);
	record(job->to);
	if (job->both)
		record(&many);
	return NULL;
}

static void begin(struct job *job, void *(*what)(void *))
{
	need(pthread_create(&job->thread, NULL, what, job) == 0);
}

/* (The kernel has a thread for a while after pthread_join().) */
static void end(const struct job *job)
{
	need(pthread_join(job->thread, NULL) == 0);
	while (syscall(SYS_tgkill, getpid(), job->id, 0) == 0)
		usleep(1000);
}

static void run_and_end(const struct rings *to, bool both)
{
	struct job job = { .to = to, .both = both };

	begin(&job, run);
	end(&job);
}

/* More threads than the region has rings, one after the other. */
static void ended_threads(void)
{
	lay_out(&few, FEW);
	for (int i = 0; i < 3 * FEW; i++)
		run_and_end(&few, false);
	CHECK(all_events(&few) == 3 * FEW * EVENTS && lost(&few) == 0);
	free(few.memory);
}

static pthread_barrier_t together;

static void *run_and_wait(void *arg)
{
	run(arg);
	pthread_barrier_wait(&together);
	pthread_barrier_wait(&together);
	return NULL;
}

/*
 * Threads have all rings of the smaller region, so this one has a ring that only the larger one
 * has. Once they have ended, it takes a ring of theirs, and leaves its own to another thread.
 */
static void another_region(void)
{
	struct job others[FEW];

	lay_out(&few, FEW);
	lay_out(&many, TRAIL_THREAD_RINGS);
	need(pthread_barrier_init(&together, NULL, FEW + 1) == 0);
	for (int i = 0; i < FEW; i++) {
		others[i] = (struct job){ .to = &few };
		begin(&others[i], run_and_wait);
	}
	pthread_barrier_wait(&together);
	run_and_end(&few, true);
	CHECK(all_events(&few) == FEW * EVENTS && lost(&few) == EVENTS);
	CHECK(events(&many, FEW) == 2 * EVENTS && lost(&many) == 0);
	record(&many);
	CHECK(events(&many, FEW + 1) == EVENTS);
	pthread_barrier_wait(&together);
	for (int i = 0; i < FEW; i++)
		end(&others[i]);
	record(&few);
	CHECK(all_events(&few) == (FEW + 1) * EVENTS && lost(&few) == EVENTS);
	record(&many);
	CHECK(events(&many, 0) == EVENTS);
	run_and_end(&many, false);
	CHECK(events(&many, FEW + 1) == 2 * EVENTS && lost(&many) == 0);
	free(few.memory);
	free(many.memory);
}

int main(void)
{
	CASE(ended_threads);
	CASE(another_region);
	return test_summary();
}
