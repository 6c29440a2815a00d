/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * writer SLOTS INDEX THREADS COUNT [PAUSE [GO]]: emits COUNT events per thread (0: until SIGTERM)
 * and counts them in the slots file.
 *
 * PAUSE: microseconds to sleep after every 64 events; 0: none. GO: a file to wait for after the
 * tracepoint was found to be on, before the threads start. The events are storm:tick { writer,
 * thread, n } and, every eighth, storm:word followed by a string. n counts the thread's events from
 * 1. Prints how often the threads hit a tracepoint. (The slots may have fewer: what is lost while a
 * process attaches is counted, but its arguments are not evaluated.)
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include <trail/trail.h>

#include "slots.h"

struct thread {
	pthread_t id;
	unsigned int writer, thread;
	uint64_t *slot;
	uint64_t attempts;
};

static volatile sig_atomic_t stopping;
static uint64_t limit;
static useconds_t pause_us;

static void on_signal(int sig)
{
	(void)sig;
	stopping = 1;
}

/* The only way an event gets its number: so what was counted was on. */
static uint64_t count(uint64_t *slot)
{
	uint64_t n = *(volatile uint64_t *)slot + 1;

	*(volatile uint64_t *)slot = n;
	return n;
}

static void emit(struct thread *t)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
	/* Never empty: babeltrace2 2.0 shows what the string was before when one is. */
	const char *word = letters + (sizeof(letters) - 2 - *t->slot % 41);

	if (*t->slot % 8 == 7)
		TRAIL(storm, word, TRAIL_FIELD(writer, t->writer), TRAIL_FIELD(thread, t->thread),
		      TRAIL_FIELD(n, count(t->slot)), word);
	else
		TRAIL(storm, tick, TRAIL_FIELD(writer, t->writer), TRAIL_FIELD(thread, t->thread),
		      TRAIL_FIELD(n, count(t->slot)));
}

static void *run(void *arg)
{
	struct thread *t = arg;

	while (!stopping && (!limit || t->attempts < limit)) {
		emit(t);
		t->attempts++;
		if (pause_us && t->attempts % 64 == 0)
			usleep(pause_us);
	}
	return NULL;
}

/*
 * Until the first event is on, which makes the process attach: so no thread has to wait for another
 * one's attaching.
 */
static void wait_until_on(struct thread *t)
{
	while (!stopping && !*t->slot) {
		emit(t);
		if (!*t->slot)
			usleep(1000);
	}
}

int main(int argc, char **argv)
{
	struct thread threads[SLOT_THREADS];
	unsigned int n, writer;
	uint64_t *slots, sum = 0;

	if (argc < 5) {
		fprintf(stderr, "usage: writer SLOTS INDEX THREADS COUNT [PAUSE [GO]]\n");
		return 2;
	}
	signal(SIGTERM, on_signal);
	slots = slots_map(argv[1]);
	writer = (unsigned int)atoi(argv[2]);
	n = (unsigned int)atoi(argv[3]);
	if (n > SLOT_THREADS)
		n = SLOT_THREADS;
	limit = strtoull(argv[4], NULL, 10);
	pause_us = argc > 5 ? (useconds_t)atoi(argv[5]) : 0;
	for (unsigned int i = 0; i < n; i++)
		threads[i] = (struct thread){ .writer = writer,
					      .thread = i,
					      .slot = slot_of(slots, writer, i) };
	wait_until_on(&threads[0]);
	while (argc > 6 && !stopping && access(argv[6], F_OK))
		usleep(2000);
	for (unsigned int i = 0; i < n; i++)
		if (pthread_create(&threads[i].id, NULL, run, &threads[i]))
			return 2;
	for (unsigned int i = 0; i < n; i++) {
		pthread_join(threads[i].id, NULL);
		sum += threads[i].attempts;
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
