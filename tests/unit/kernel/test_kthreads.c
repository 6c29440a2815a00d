/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/* Who threads are at which time: from what the kernel told, and from /proc. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/kernel/task/task.h"
#include "tracer/kernel/thread_table.h"

#define NO_THREAD 2147000000     /* more than any thread id */

/* "PID NAME" */
static const char *at(struct kthreads *k, uint64_t time, int32_t tid)
{
	static char text[64];
	struct kthread t;

	kthreads_at(k, time, tid, &t);
	snprintf(text, sizeof(text), "%d %.16s", t.pid, t.comm);
	return text;
}

static void lives(void)
{
	struct kthreads *k = kthreads_create(KTHREADS_NOTHING);

	CHECK_STR(at(k, 5, NO_THREAD), "-1 ");
	CHECK_STR(at(k, 5, 0), "0 ");
	kthreads_born(k, 100, 7, 1, 0, "sh");
	kthreads_renamed(k, 200, 7, "sh", "a program whose name is long");
	kthreads_born(k, 250, 8, 7, CLONE_THREAD, "worker");
	kthreads_ended(k, 300, 7, "a program whose");
	CHECK_STR(at(k, 99, 7), "-1 ");
	CHECK_STR(at(k, 100, 7), "7 sh");
	CHECK_STR(at(k, 199, 7), "7 sh");
	CHECK_STR(at(k, 200, 7), "7 a program whose");
	/* It still runs a little after it said that it ends. */
	CHECK_STR(at(k, 305, 7), "7 a program whose");
	CHECK_STR(at(k, 250, 8), "7 worker");
	/* The number's next life. */
	kthreads_born(k, 400, 7, 8, CLONE_THREAD, "second");
	CHECK_STR(at(k, 399, 7), "7 a program whose");
	CHECK_STR(at(k, 400, 7), "7 second");
	kthreads_destroy(k);
}

/* Who was there before: names are known by the first change, or the end. */
static void before(void)
{
	struct kthreads *k = kthreads_create(KTHREADS_NOTHING);

	kthreads_renamed(k, 200, 7, "old", "new");
	kthreads_ended(k, 200, 8, "last");
	CHECK_STR(at(k, 1, 7), "-1 old");
	CHECK_STR(at(k, 200, 7), "-1 new");
	CHECK_STR(at(k, 1, 8), "-1 last");
	/* Asked for too early; then it turns out that it was not born yet. */
	CHECK_STR(at(k, 150, 9), "-1 ");
	kthreads_born(k, 140, 9, 1, 0, "late");
	CHECK_STR(at(k, 150, 9), "9 late");
	CHECK_STR(at(k, 139, 9), "-1 ");
	/* A little out of order: still in the order told. */
	kthreads_renamed(k, 130, 9, "late", "later");
	CHECK_STR(at(k, 150, 9), "9 later");
	kthreads_destroy(k);
}

static void many(void)
{
	struct kthreads *k = kthreads_create(KTHREADS_NOTHING);

	for (int i = 0; i < 100; i++) {
		char from[16], to[16];

		snprintf(from, sizeof(from), "n%d", i);
		snprintf(to, sizeof(to), "n%d", i + 1);
		kthreads_renamed(k, 1000 + (uint64_t)i, 5, from, to);
	}
	CHECK_STR(at(k, 1099, 5), "-1 n100");
	CHECK_STR(at(k, 1090, 5), "-1 n91");
	CHECK_STR(at(k, 1000, 5), "-1 ");
	/* Ends are remembered for a while, then the entry goes. */
	for (int i = 0; i < 20000; i++) {
		kthreads_born(k, 2000 + (uint64_t)i, 100 + i, 1, 0, "x");
		kthreads_ended(k, 2001 + (uint64_t)i, 100 + i, "x");
	}
	CHECK_STR(at(k, 50000, 100), "-1 ");
	CHECK_STR(at(k, 50000, 20099), "20099 x");
	for (int i = 0; i < 300000; i++)
		kthreads_born(k, 60000, 30000 + i, 1, 0, "y");
	CHECK_STR(at(k, 60000, 329999), "329999 y");
	kthreads_destroy(k);
}

static int32_t ppid_at(struct kthreads *k, uint64_t time, int32_t tid)
{
	struct kthread t;

	kthreads_at(k, time, tid, &t);
	return t.ppid;
}

/* Parents: by births; of what was there before, and of orphans, by /proc. */
static void parents(void)
{
	struct kthreads *k = kthreads_create(KTHREADS_PROC);
	int32_t self = (int32_t)getpid(), child;
	int pipes[2];
	char byte;

	CHECK(ppid_at(k, 1, self) == (int32_t)getppid());
	CHECK(ppid_at(k, 1, NO_THREAD) == -1 && ppid_at(k, 1, 0) == 0);
	kthreads_born(k, 100, NO_THREAD - 1, self, 0, "child");
	CHECK(ppid_at(k, 100, NO_THREAD - 1) == self && ppid_at(k, 99, NO_THREAD - 1) == -1);
	kthreads_born(k, 110, NO_THREAD - 2, NO_THREAD - 1, CLONE_THREAD, "thread");
	CHECK(ppid_at(k, 110, NO_THREAD - 2) == self);
	kthreads_born(k, 120, NO_THREAD - 3, NO_THREAD - 2, 0, "grandchild");
	CHECK(ppid_at(k, 120, NO_THREAD - 3) == NO_THREAD - 1);
	kthreads_born(k, 130, NO_THREAD - 4, NO_THREAD - 2, CLONE_PARENT, "brother");
	CHECK(ppid_at(k, 130, NO_THREAD - 4) == self);
	/* Its parent ends, and it does not exist: the parent remains. */
	kthreads_ended(k, 140, NO_THREAD - 1, "child");
	CHECK(ppid_at(k, 150, NO_THREAD - 3) == NO_THREAD - 1);
	/* One that exists has another parent by now. */
	CHECK(pipe(pipes) == 0);
	child = fork();
	if (!child) {
		CHECK(read(pipes[0], &byte, 1) == 1);
		_exit(0);
	}
	kthreads_born(k, 160, NO_THREAD - 5, self, 0, "parent");
	kthreads_born(k, 170, child, NO_THREAD - 5, 0, "orphan");
	CHECK(ppid_at(k, 175, child) == NO_THREAD - 5);
	kthreads_ended(k, 180, NO_THREAD - 5, "parent");
	CHECK(ppid_at(k, 179, child) == NO_THREAD - 5 && ppid_at(k, 185, child) == self);
	CHECK(ppid_at(k, 179, child) == NO_THREAD - 5);
	CHECK(write(pipes[1], "x", 1) == 1 && waitpid(child, NULL, 0) == child);
	kthreads_destroy(k);
}

static int32_t thread_id;
static pthread_barrier_t turn;

static void *thread(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "ask me\nnow");
	thread_id = (int32_t)syscall(SYS_gettid);
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	prctl(PR_SET_NAME, "renamed");
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	return NULL;
}

static void ask(enum kthreads_source source)
{
	struct kthreads *k = kthreads_create(source), *scanned = kthreads_create(source);
	char want[64], after[64];
	pthread_t t;

	pthread_barrier_init(&turn, NULL, 2);
	CHECK(pthread_create(&t, NULL, thread, NULL) == 0);
	pthread_barrier_wait(&turn);
	snprintf(want, sizeof(want), "%d ask me\nnow", (int)getpid());
	snprintf(after, sizeof(after), "%d renamed", (int)getpid());
	CHECK_STR(at(k, 1, thread_id), want);
	CHECK(!kthreads_scan(scanned, NULL));
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	/* Asked once, unless something may have been missed; what was before that stays. */
	CHECK_STR(at(k, 1, thread_id), want);
	kthreads_missed(k, 50);
	CHECK_STR(at(k, 49, thread_id), want);
	CHECK_STR(at(k, 50, thread_id), after);
	pthread_barrier_wait(&turn);
	pthread_join(t, NULL);
	CHECK_STR(at(scanned, 1, thread_id), want);
	/* Who made the thread is not known, but it can be asked itself. */
	kthreads_born(k, 10, (int32_t)getpid(), NO_THREAD, CLONE_THREAD, "main");
	snprintf(want, sizeof(want), "%d main", (int)getpid());
	CHECK_STR(at(k, 10, (int32_t)getpid()), want);
	pthread_barrier_destroy(&turn);
	kthreads_destroy(k);
	kthreads_destroy(scanned);
}

static void proc(void)
{
	ask(KTHREADS_PROC);
}

static void list(void)
{
	struct tasks tasks;
	int ret = tasks_read(&tasks, NULL);

	tasks_deinit(&tasks);
	if (ret || !tasks_global())
		SKIP("no list of threads here, or with other numbers");
	ask(KTHREADS_LIST);
}

int main(void)
{
	CASE(lives);
	CASE(before);
	CASE(many);
	CASE(parents);
	CASE(proc);
	CASE(list);
	return test_summary();
}
