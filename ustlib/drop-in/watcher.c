// SPDX-License-Identifier: MIT
/*
 * The thread that copies state words to call sites, and records what is loaded when that is due.
 * It waits for writes to the registration files with inotify(7), in a table of descriptors of its
 * own: a program that closes all descriptors, or counts them, does not meet the thread's. A signal
 * that only this thread gets, and that it blocks as all others, says that there are new files, or
 * that a dump is due. Without inotify the thread looks ten times a second.
 */
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ustlib/drop-in/drop_in.h"

#define WAKE SIGURG             /* ignored by default, and by debuggers */
#define LOOK_MS 100
#define STACK (256 * 1024)

static bool started;            /* guarded by the drop-in lock */
static int thread;              /* atomic; its id; 0: it does not run yet */

static void wake_mask(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, WAKE);
}

/* Reads all that is there. */
static void drain(int fd)
{
	char buffer[4096] __attribute__((aligned(8)));

	while (read(fd, buffer, sizeof(buffer)) > 0)
		;
}

static void look_at_all(void)
{
	tracepoints_refresh();
	objects_look(NULL);
}

static void watch(int files, int signals)
{
	struct pollfd fds[] = { { .fd = files, .events = POLLIN },
				{ .fd = signals, .events = POLLIN } };

	for (;;) {
		/* Watches first: what is written after the refresh is an event. */
		bool all = trail__watch_words(files);

		look_at_all();
		poll(fds, 2, all ? -1 : LOOK_MS);
		drain(files);
		drain(signals);
	}
}

static void look(void)
{
	const struct timespec wait = { .tv_nsec = LOOK_MS * 1000000l };
	sigset_t set;

	wake_mask(&set);
	for (;;) {
		look_at_all();
		sigtimedwait(&set, NULL, &wait);
	}
}

static void *run(void *unused)
{
	int files, signals;
	sigset_t set;

	(void)unused;
	prctl(PR_SET_NAME, "trail-watcher");
	/* Pairs with watcher_poke: what is due before it sees 0 is seen by the first look. */
	__atomic_store_n(&thread, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	/* A table of its own, without the program's descriptors. */
	if (syscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) < 0)
		look();
	trail__files_are_private();
	wake_mask(&set);
	files = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (files < 0 || signals < 0)
		look();
	watch(files, signals);
	return NULL;
}

/* Caller holds the drop-in lock. Without a thread, call sites stay as they are. */
static void start(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t id;
	int ret;

	if (pthread_attr_init(&attr))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	ret = pthread_create(&id, &attr, run, NULL);
	if (ret) {
		/* Large thread-local storage may need more. */
		pthread_attr_destroy(&attr);
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		ret = pthread_create(&id, &attr, run, NULL);
	}
	started = ret == 0;
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void watcher_wake(void)
{
	drop_in_lock();
	if (!started)
		start();
	else
		watcher_poke();
	drop_in_unlock();
}

void watcher_poke(void)
{
	int id = __atomic_load_n(&thread, __ATOMIC_SEQ_CST);

	if (id)         /* else it will look at all files when it begins */
		syscall(SYS_tgkill, getpid(), id, WAKE);
}

void watcher_forked(void)
{
	__atomic_store_n(&thread, 0, __ATOMIC_SEQ_CST);
	if (started)
		start();
}
