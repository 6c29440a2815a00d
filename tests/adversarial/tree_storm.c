/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * tree_storm MOUNTPOINT SECONDS SEED OUTPUTS UID UID NAME: does everything with everything in a
 * mounted tree, all at once.
 *
 * 16 workers (8 processes of 2 threads: 4 of the caller's, 2 of each UID) make and remove sessions,
 * channels and snapshots of few names, write verbs, rules, settings and configurations, read and
 * poll all files, hold some of them open, and walk the directories. OUTPUTS/UID is where the
 * sessions of a user write; NAME begins the names of all sessions. Which operation comes next is
 * random, by SEED; how operations of two workers meet is not.
 *
 * Errors are expected, except those that only a dead daemon gives. Prints how often each operation
 * succeeded. The exit status is 0, 1 if the daemon died, 3 if an operation did not return.
 */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/adversarial/tree_storm.h"
#include "tests/adversarial/tree_storm_changes.h"

/* ---- what workers do: one function for each row of the table at the end ---- */

static void a_file(char *path, size_t size)
{
	static const char *const of_mount[] = {
		"status",
		"version",
		"error",
		"README",
		"available/user/tracepoints",
		"available/user/fields",
		"available/user/contexts",
		"available/kernel/contexts",
	};
	static const char *const of_sessions[] = {
		"status",
		"status",
		"error",
		"config",
		"control",
		"text",
		"text",
		"text",
		"pipe",
		"pipe",
		"wait",
		"output",
		"rotate_size",
		"user/events",
		"user/contexts",
		"kernel/events",
		"user/track/vpid",
		"user/channels/channel0/status",
		"user/channels/channel0/events",
		"user/channels/channel0/streams/0/cpu0",
		"user/channels/channel0/streams/54321/cpu0",
		"user/channels/a/status",
		"user/channels/channel0/streams/0/cpu1",
		"user/channels/channel0/streams/0/log",
		"kernel/channels/channel0/streams/cpu0",
		"trace/ust/uid/0/64-bit/metadata",
		"trace/ust/uid/0/64-bit/channel0_0",
		"snapshots/x/ust/uid/0/64-bit/metadata",
		"snapshots/x/ust/uid/0/64-bit/channel0_0",
	};
	char session[400];

	if (!pick(8)) {
		snprintf(path, size, "%s/%s", mnt, ONE_OF(of_mount));
		return;
	}
	session_path(session, sizeof(session));
	snprintf(path, size, "%s/%s", session, ONE_OF(of_sessions));
}

static void read_file(void)
{
	char path[600];

	a_file(path, sizeof(path));
	get(path);
}

/* Opens a file and leaves it open, in place of one that was. */
static void hold(void)
{
	char path[600];
	int fd, old;

	a_file(path, sizeof(path));
	begin("open %s", path);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	went(fd);
	old = __atomic_exchange_n(&held[pick(HELD)], fd, __ATOMIC_RELAXED);
	begin("close");
	if (old >= 0)
		close(old);
}

/* Something with one that is open; the other thread may do so too, or close it. */
static void touch(void)
{
	int fd = __atomic_load_n(&held[pick(HELD)], __ATOMIC_RELAXED);
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLPRI };
	char buf[4096];
	struct stat st;

	if (fd < 0)
		return;
	begin("read, poll or fstat of an open file");
	switch (pick(5)) {
	case 0:
		went((int)pread(fd, buf, sizeof(buf), 0));
		break;
	case 1:
		went(poll(&p, 1, (int)pick(3)));
		break;
	case 2:
		went(fstat(fd, &st));
		break;
	default:
		went(take(fd) ? 0 : -1);
	}
}

static void no_work(int sig)
{
	(void)sig;
}

/* A read that blocks until a signal comes. */
static void blocked_read(void)
{
	struct sigevent to = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	struct itimerspec when = { .it_value.tv_nsec = 1000000 + pick(5000000),
				   .it_interval.tv_nsec = 5000000 };
	static const char *const files[] = { "pipe", "wait",
					     "user/channels/channel0/streams/0/cpu0" };
	char session[400], path[500], buf[4096];
	timer_t timer;
	int fd;

	session_path(session, sizeof(session));
	snprintf(path, sizeof(path), "%s/%s", session, ONE_OF(files));
	begin("blocking read of %s", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!went(fd))
		return;
	to._sigev_un._tid = (int)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &to, &timer) == 0) {
		timer_settime(timer, 0, &when, NULL);
		for (int i = 0; i < 4 && read(fd, buf, sizeof(buf)) > 0; i++)
			;
		timer_delete(timer);
	}
	close(fd);
}

static void walk(const char *dir, int depth)
{
	DIR *d = opendir(dir);
	char path[1000];
	struct dirent *e;
	struct stat st;

	went(d ? 0 : -1);
	while (d && (e = readdir(d)) && time(NULL) < end) {
		if (e->d_name[0] == '.' || pick(3) == 0 ||
		    snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= (int)sizeof(path))
			continue;
		if (lstat(path, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth)
			walk(path, depth - 1);
		else if (S_ISREG(st.st_mode) && (st.st_mode & 0444) && pick(2))
			get(path);
	}
	if (d)
		closedir(d);
}

static void walk_some(void)
{
	static const char *const dirs[] = {
		"",           "/trace",    "/trace",         "/snapshots",
		"/snapshots", "/archives", "/user/channels", "/kernel"
	};
	char session[400], path[500];

	session_path(session, sizeof(session));
	snprintf(path, sizeof(path), "%s%s", session, ONE_OF(dirs));
	begin("walk through %s", path);
	walk(path, 5);
}

static void say(void)
{
	char path[300], text[300];

	snprintf(path, sizeof(path), "%s/log", mnt);
	memset(text, 'a' + (int)pick(26), sizeof(text));
	for (unsigned int n = 1 + pick(20); n; n--) {
		text[pick(200)] = '\n';
		text[201 + pick(90)] = 0;
		put(path, text, 0);
		memset(text, 'a', sizeof(text));
	}
}

static void rights(void)
{
	static const mode_t modes[] = { 0700, 0750, 0770, 0777 };
	char path[400];

	session_path(path, sizeof(path));
	begin("chmod or chown %s", path);
	if (pick(2))
		went(chmod(path, ONE_OF(modes)));
	else
		went(chown(path, ONE_OF(users), (gid_t)-1));
}

static void refused(void)
{
	char path[400], to[500];
	struct statvfs st;

	session_path(path, sizeof(path));
	snprintf(to, sizeof(to), "%s/x", path);
	begin("rename, unlink, create, statvfs in %s", path);
	went(rename(path, to));
	went(unlink(to));
	went(statvfs(path, &st));
	went(symlink("/", to));
}

static const struct operation {
	const char *name;
	void (*run)(void);
	unsigned int weight;
} operations[] = {
	{ "make_session", make_session, 8 },
	{ "drop_session", drop_session, 2 },
	{ "replace_session", replace_session, 2 },
	{ "duel", duel, 8 },
	{ "snapshots", snapshots, 16 },
	{ "channels", channels, 6 },
	{ "verbs", verbs, 16 },
	{ "rules", rules, 8 },
	{ "settings", settings, 10 },
	{ "configure", configure, 4 },
	{ "read_file", read_file, 24 },
	{ "hold", hold, 12 },
	{ "touch", touch, 24 },
	{ "blocked_read", blocked_read, 3 },
	{ "walk", walk_some, 6 },
	{ "say", say, 4 },
	{ "rights", rights, 2 },
	{ "refused", refused, 1 },
};

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

/* ---- workers ---- */

struct job { uint64_t seed; int number; };

static void *work(void *arg)
{
	const struct job *job = arg;
	unsigned int sum = 0, at;

	seed = job->seed;
	note = &board->notes[job->number];
	for (size_t i = 0; i < OPERATIONS; i++)
		sum += operations[i].weight;
	while (time(NULL) < end && !__atomic_load_n(&board->dead, __ATOMIC_RELAXED)) {
		size_t i = 0;

		for (at = pick(sum); at >= operations[i].weight; i++)
			at -= operations[i].weight;
		tally = &board->tallies[i];
		operations[i].run();
	}
	begin("%s", "");
	return NULL;
}

static int be_process(int number, uint64_t from)
{
	struct sigaction act = { .sa_handler = no_work };
	struct job jobs[THREADS];
	pthread_t threads[THREADS];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGUSR1, &act, NULL);
	user = users[number < PROCESSES / 2 ? 0 : 1 + number % 2];
	if (user != users[0] && (setgid(user) || setuid(user)))
		return 2;
	for (int i = 0; i < HELD; i++)
		held[i] = -1;
	for (int i = 0; i < THREADS; i++) {
		jobs[i] = (struct job){
			(from + 1) * 0x9e3779b97f4a7c15u +
				(uint64_t)(number * THREADS + i) * 0xbf58476d1ce4e5b9u + 1,
			number * THREADS + i
		};
		if (pthread_create(&threads[i], NULL, work, &jobs[i]))
			return 2;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* Waits for all processes. False: some have not ended in time. */
static bool wait_all(int count)
{
	struct timespec pause = { .tv_nsec = 50000000 };
	int status;

	while (count && time(NULL) < end + GRACE) {
		if (waitpid(-1, &status, WNOHANG) > 0)
			count--;
		else
			nanosleep(&pause, NULL);
	}
	return !count;
}

static int report(bool ended)
{
	uint64_t all = 0;

	for (size_t i = 0; i < OPERATIONS; i++) {
		const struct tally *t = &board->tallies[i];

		printf("%s %llu of %llu\n", operations[i].name, (unsigned long long)t->good,
		       (unsigned long long)(t->good + t->bad));
		all += t->good + t->bad;
	}
	printf("operations %llu\n", (unsigned long long)all);
	if (board->dead) {
		printf("the daemon is dead: %s\n", strerror(board->dead));
		return 1;
	}
	for (int i = 0; !ended && i < PROCESSES * THREADS; i++)
		if (board->notes[i].what[0])
			printf("worker %d does not return from: %s\n", i, board->notes[i].what);
	return ended ? 0 : 3;
}

int main(int argc, char **argv)
{
	uint64_t from;
	pid_t pid;
	int status;

	if (argc != 8) {
		fprintf(stderr, "usage: tree_storm MOUNTPOINT SECONDS SEED OUTPUTS UID UID NAME\n");
		return 2;
	}
	mnt = argv[1];
	end = time(NULL) + atoi(argv[2]);
	from = strtoull(argv[3], NULL, 0);
	outputs = argv[4];
	users[0] = getuid();
	users[1] = (uid_t)atoi(argv[5]);
	users[2] = (uid_t)atoi(argv[6]);
	mark = argv[7];
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (board == MAP_FAILED)
		return 2;
	for (int i = 0; i < PROCESSES; i++) {
		pid = fork();
		if (pid < 0)
			return 2;
		if (!pid) {
			status = be_process(i, from);
			fflush(stdout);
			_exit(status);
		}
	}
	return report(wait_all(PROCESSES));
}
