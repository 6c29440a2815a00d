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
#include "tracer/kernel/task/thread_table.h"

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

	for (int i = 0; i < 400; i++) {
		char from[16], to[16];

		snprintf(from, sizeof(from), "n%d", i);
		snprintf(to, sizeof(to), "n%d", i + 1);
		kthreads_renamed(k, 1000 + (uint64_t)i, 5, from, to);
	}
	CHECK_STR(at(k, 1399, 5), "-1 n400");
	CHECK_STR(at(k, 1390, 5), "-1 n391");
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

/* "UID EUID SUID" at this time; -1: unknown. */
static const char *users_at(struct kthreads *k, uint64_t time, int32_t tid)
{
	static char text[64];
	static const uint32_t kinds[] = { TRAIL_CONTEXT_UID, TRAIL_CONTEXT_EUID,
					  TRAIL_CONTEXT_SUID };
	struct kthread t;
	int64_t v[3];

	kthreads_at(k, time, tid, &t);
	for (int i = 0; i < 3; i++)
		if (!kstatus_value(&t.status, kinds[i], &v[i]))
			v[i] = -1;
	snprintf(text, sizeof(text), "%d %d %d", (int)v[0], (int)v[1], (int)v[2]);
	return text;
}

static void set(struct kthreads *k, uint64_t time, int32_t tid, struct kstatus_call call)
{
	kthreads_called(k, tid, &call);
	kthreads_returned(k, time, tid, true);
}

/* What follows from calls and births, at the time of each. */
static void users(void)
{
	struct kthreads *k = kthreads_create(KTHREADS_NOTHING);
	struct kthread_question q = { .tid = 7 };
	struct kstatus_call ids = { KSTATUS_USERS, 3, { 1, 2, 3 } };

	kthreads_born(k, 100, 7, 1, 0, "sh");
	CHECK_STR(users_at(k, 100, 7), "-1 -1 -1");
	/* There is nothing to ask here. */
	CHECK(!kthreads_lacks(k, 100, 7, KSTATUS_IDS, 1, &q));
	CHECK(!kthreads_lacking(k, KSTATUS_IDS, &q, 1));
	set(k, 110, 7, ids);
	CHECK_STR(users_at(k, 110, 7), "-1 -1 -1");
	/* What was read counts if the thread did not change. */
	q.is = (struct kstatus){ .have = KSTATUS_IDS | KSTATUS_SAVED, .vpid = 7, .vtid = 7 };
	kthreads_learn(k, &q, 1);
	CHECK_STR(users_at(k, 110, 7), "-1 -1 -1");
	for (q.version = 1; q.version < 20; q.version++)
		kthreads_learn(k, &q, 1);
	CHECK_STR(users_at(k, 110, 7), "0 0 0");
	CHECK_STR(users_at(k, 109, 7), "-1 -1 -1");
	kthreads_born(k, 120, 8, 7, 0, "a");
	set(k, 130, 7, ids);
	kthreads_born(k, 140, 9, 7, 0, "b");
	CHECK_STR(users_at(k, 129, 7), "0 0 0");
	CHECK_STR(users_at(k, 130, 7), "1 2 3");
	CHECK_STR(users_at(k, 150, 8), "0 0 0");
	CHECK_STR(users_at(k, 150, 9), "1 2 3");
	/* A call that fails */
	kthreads_called(k, 9, &(struct kstatus_call){ KSTATUS_USERS, 1, { 5 } });
	kthreads_returned(k, 160, 9, false);
	CHECK_STR(users_at(k, 160, 9), "1 2 3");
	/* setuid: by one who may set all, as it is none of the others; or may be one without. */
	set(k, 170, 9, (struct kstatus_call){ KSTATUS_USERS, 1, { 3 } });
	CHECK_STR(users_at(k, 170, 9), "-1 3 3");
	set(k, 170, 8, (struct kstatus_call){ KSTATUS_USERS, 1, { 3 } });
	CHECK_STR(users_at(k, 170, 8), "3 3 3");
	set(k, 180, 7, (struct kstatus_call){ KSTATUS_USERS, 2, { UINT32_MAX, 3 } });
	CHECK_STR(users_at(k, 180, 7), "1 3 3");
	set(k, 190, 7, (struct kstatus_call){ KSTATUS_USERS, 2, { UINT32_MAX, 1 } });
	CHECK_STR(users_at(k, 190, 7), "1 1 3");
	kthreads_executed(k, 200, 7, 7);
	CHECK_STR(users_at(k, 200, 7), "1 -1 -1");
	/* In a user namespace numbers are others. */
	set(k, 210, 7, (struct kstatus_call){ KSTATUS_UNSHARE, 1, { CLONE_NEWUSER } });
	set(k, 220, 7, ids);
	CHECK_STR(users_at(k, 219, 7), "1 -1 -1");
	CHECK_STR(users_at(k, 220, 7), "-1 -1 -1");
	/* A call that began before its records did */
	kthreads_returned(k, 230, 8, true);
	CHECK_STR(users_at(k, 229, 8), "3 3 3");
	CHECK_STR(users_at(k, 230, 8), "-1 -1 -1");
	set(k, 240, 9, ids);
	CHECK_STR(users_at(k, 240, 9), "1 2 3");
	kthreads_missed(k, 250);
	CHECK_STR(users_at(k, 249, 9), "1 2 3");
	CHECK_STR(users_at(k, 250, 9), "-1 -1 -1");
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
	CASE(users);
	CASE(parents);
	CASE(proc);
	CASE(list);
	return test_summary();
}
