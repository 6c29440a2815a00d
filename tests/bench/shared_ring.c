/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: pthread */
/*
 * What the ring of a CPU is worth beside one ring for all CPUs: threads, each on a CPU of its own,
 * read the clock, reserve 32 bytes, write and commit them; in a ring of their own with plain
 * instructions, as a restartable sequence does it, and in one ring with atomic ones. Prints
 * `own1`, `shared1`, `own2` and `shared2`, with the least and the median of ns of thread CPU time.
 */
#include "tests/bench/bench.h"

#define EVENTS 2000000
#define RUNS 9
#define SIZE (32u << 20)
#define EVENT 32u
#define BARRIER() __asm__ volatile("" : : : "memory")

struct ring {
	_Alignas(128) uint64_t head;
	_Alignas(128) uint64_t committed[8];
	unsigned char *bytes;
};

static struct ring rings[2];
static bool shared;
static pthread_barrier_t gate;
static double ns[2];

static uint64_t now(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return (uint64_t)thread_ns();
#endif
}

static void write_event(struct ring *r, uint64_t at)
{
	unsigned char event[EVENT] = { 1 };
	uint64_t ts = now();

	memcpy(event, &ts, sizeof(ts));
	memcpy(r->bytes + at % SIZE, event, EVENT);
}

static void *run(void *arg)
{
	int cpu = *(int *)arg;
	struct ring *r = &rings[shared ? 0 : cpu];
	uint64_t at;
	double begin;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	pthread_barrier_wait(&gate);
	begin = thread_ns();
	for (int i = 0; i < EVENTS; i++) {
		if (shared) {
			at = __atomic_fetch_add(&r->head, EVENT, __ATOMIC_RELAXED);
			write_event(r, at);
			__atomic_fetch_add(&r->committed[at / (SIZE / 8) % 8], EVENT,
					   __ATOMIC_RELEASE);
		} else {
			at = r->head;
			r->head += EVENT;
			BARRIER();
			write_event(r, at);
			BARRIER();
			r->committed[at / (SIZE / 8) % 8] += EVENT;
		}
	}
	ns[cpu] = (thread_ns() - begin) / EVENTS;
	return NULL;
}

static void measure(int threads)
{
	int cpus[2] = { 0, 1 };
	double all[RUNS];
	pthread_t ids[2];

	for (int k = 0; k < RUNS; k++) {
		pthread_barrier_init(&gate, NULL, (unsigned int)threads);
		for (int i = 0; i < threads; i++)
			if (pthread_create(&ids[i], NULL, run, &cpus[i]))
				exit(1);
		for (int i = 0; i < threads; i++)
			pthread_join(ids[i], NULL);
		pthread_barrier_destroy(&gate);
		all[k] = threads == 1 ? ns[0] : (ns[0] + ns[1]) / 2;
	}
	qsort(all, RUNS, sizeof(all[0]), compare);
	printf("%s%d %.2f %.2f\n", shared ? "shared" : "own", threads, all[0], all[RUNS / 2]);
}

int main(void)
{
	for (int i = 0; i < 2; i++) {
		rings[i].bytes = aligned_alloc(4096, SIZE);
		if (!rings[i].bytes)
			return 1;
		memset(rings[i].bytes, 1, SIZE);
	}
	for (int threads = 1; threads <= 2; threads++) {
		if (threads > (int)sysconf(_SC_NPROCESSORS_ONLN))
			break;
		shared = false;
		measure(threads);
		shared = true;
		measure(threads);
	}
	return 0;
}
