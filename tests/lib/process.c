/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * process WHAT: what processes do that tracers stumble over; each says with its events p:n { who, n
 * } what it did, and on standard output how many there should be: `WHO COUNT` lines. who: 0 itself,
 * 1 a child, 2 what must not be seen; `lost`: how many are to count as discarded.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trail/trail.h>

static volatile long stop;

static void hit(int who, int times)
{
	for (int n = 0; n < times; n++)
		TRAIL(p, n, who, n);
}

static void say(int who, long count)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "%d %ld\n", who, count);

	if (write(1, line, (size_t)n) != n)
		_exit(1);
}

static void say_lost(long count)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "lost %ld\n", count);

	if (write(1, line, (size_t)n) != n)
		_exit(1);
}

static int reap(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, __WALL) < 0)
		exit(2);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void *beside(void *arg)
{
	long *n = arg;

	while (!stop) {
		hit(0, 1);
		++*n;
		usleep(20);
	}
	return NULL;
}

/* A child on our stack and our thread pointer, while another thread records. */
static int do_vfork(void)
{
	long other = 0;
	pthread_t t;

	hit(0, 1);
	pthread_create(&t, NULL, beside, &other);
	for (int i = 0; i < 300; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			hit(2, 50);
			_exit(7);
		}
		hit(0, 10);
		if (reap(pid) != 7)
			return 3;
	}
	stop = 1;
	pthread_join(t, NULL);
	say(0, 1 + 3000 + other);
	say_lost(300 * 50);
	return 0;
}

static int shared_child(void *arg)
{
	(void)arg;
	hit(2, 5000);
	return 7;
}

static int forked_child(void *arg)
{
	(void)arg;
	hit(1, 500);
	return 7;
}

static char stack[65536] __attribute__((aligned(16)));

static int do_clone_vm(void)
{
	pid_t pid;

	hit(0, 1);
	for (int i = 0; i < 20; i++) {
		pid = clone(shared_child, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
		hit(0, 1000);
		if (reap(pid) != 7)
			return 3;
	}
	hit(0, 1000);
	say(0, 21001);
	say_lost(20 * 5000);
	return 0;
}

static int do_clone_fork(void)
{
	hit(0, 1);
	for (int i = 0; i < 20; i++)
		if (reap(clone(forked_child, stack + sizeof(stack), SIGCHLD, NULL)) != 7)
			return 3;
	hit(0, 1);
	say(0, 2);
	say(1, 10000);
	return 0;
}

static int do_strange_fork(void)
{
	extern pid_t _Fork(void) __attribute__((weak));

	hit(0, 1);
	for (int i = 0; i < 20 && _Fork; i++) {
		pid_t pid = _Fork();

		if (pid == 0) {
			hit(1, 500);
			_exit(7);
		}
		if (reap(pid) != 7)
			return 3;
	}
	say(0, 1);
	say(1, _Fork ? 10000 : 0);
	return 0;
}

/* A child for each event: as many as PROCESS_CHILDREN says. */
static int do_storm(void)
{
	const char *number = getenv("PROCESS_CHILDREN");
	int running = 0, children = number ? atoi(number) : 1000;

	hit(0, 1);
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			TRAIL(p, n, TRAIL_FIELD(who, 1), TRAIL_FIELD(n, i));
			_exit(7);
		}
		if (pid < 0)
			return 3;
		for (running++; running == 50 || (running && i == children - 1); running--)
			if (reap(-1) != 7)
				return 3;
	}
	return 0;
}

static int do_setuid(void)
{
	hit(0, 10);
	if (setuid(65534))
		return 77;
	hit(0, 20);
	say(0, 30);
	return 0;
}

static int do_close(void)
{
	hit(0, 10);
	for (int fd = 0; fd < 1024; fd++)
		if (fd != 1)
			close(fd);
	hit(0, 20);
	if (open("/dev/null", O_RDONLY) != 0)   /* the smallest number is free */
		return 4;
	say(0, 30);
	return 0;
}

static int do_chroot(void)
{
	char dir[] = "/tmp/process.XXXXXX";

	hit(0, 10);
	if (!mkdtemp(dir) || chroot(dir) || chdir("/"))
		return 77;
	hit(0, 20);
	say(0, 30);
	return 0;
}

static volatile long in_handler;

static void on_signal(int sig)
{
	(void)sig;
	hit(1, 1);
	in_handler++;
}

static int do_signal(void)
{
	const struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };

	/* The buffer holds all events of a machine that delivers few signals, too. */
	const long most = 400000;

	signal(SIGALRM, on_signal);
	setitimer(ITIMER_REAL, &often, NULL);
	while (in_handler < 500 && stop < most) {
		hit(0, 1);
		stop++;
		for (volatile int i = 0; i < 300; i++)
			;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	say(0, stop);
	say(1, in_handler);
	return 0;
}

static int do_kill(void)
{
	say(0, 5);
	hit(0, 5);
	kill(getpid(), SIGKILL);
	return 3;
}

static int do_exit(void)
{
	say(0, 5);
	hit(0, 5);
	_exit(0);
}

static int do_exec(char **argv)
{
	hit(0, 5);
	execl("/proc/self/exe", argv[0], "exec2", (char *)NULL);
	return 3;
}

static int do_daemon(void)
{
	say(0, 2);
	say(1, 5);
	hit(0, 2);
	if (daemon(0, 0))
		return 3;
	hit(1, 5);
	_exit(0);
}

static void last_words(void *arg)
{
	(void)arg;
	hit(1, 1);
}

static void *thread_with_end(void *key)
{
	pthread_setspecific(*(pthread_key_t *)key, key);
	hit(0, 1);
	return NULL;
}

/* From constructors and destructors of the program, and of its threads. */
static int constructed;

static void __attribute__((constructor)) at_the_beginning(void)
{
	if (getenv("PROCESS_ENDS"))
		hit(0, 3), constructed = 1;
}

static void __attribute__((destructor)) at_the_end(void)
{
	if (constructed)
		hit(0, 4);
}

static int do_ends(void)
{
	pthread_key_t key;
	pthread_t t;

	pthread_key_create(&key, last_words);
	for (int i = 0; i < 10; i++) {
		pthread_create(&t, NULL, thread_with_end, &key);
		pthread_join(t, NULL);
	}
	say(0, 17);
	say(1, 10);
	return 0;
}

static void *on_small_stack(void *arg)
{
	static char text[9000];

	memset(text, 'x', sizeof(text) - 1);
	for (int n = 0; n < 100; n++) {
		TRAIL(p, n, TRAIL_FIELD(who, 0), n);
		TRAIL(p, text, TRAIL_FIELD(who, 1), text);
	}
	return arg;
}

static int do_small(void)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, 65536))
		return 77;
	for (int i = 0; i < 5; i++) {
		if (pthread_create(&t, &attr, on_small_stack, NULL))
			return 3;
		pthread_join(t, NULL);
	}
	say(0, 500);
	say(1, 500);
	return 0;
}

/* Up to the sub-buffer, and beyond: `2` is to be discarded. */
static int do_large(void)
{
	static unsigned char bytes[1 << 20];

	for (size_t n = 1000; n <= 4000; n += 1000)
		TRAIL(p, large, TRAIL_FIELD(who, 0), TRAIL_BYTES(b, bytes, n));
	TRAIL(p, large, TRAIL_FIELD(who, 2), TRAIL_BYTES(b, bytes, 4096));
	TRAIL(p, large, TRAIL_FIELD(who, 2), TRAIL_BYTES(b, bytes, sizeof(bytes)));
	say(0, 4);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	static const struct { const char *name; int (*run)(void);
	} all[] = {
		{ "vfork", do_vfork },
		{ "clone_vm", do_clone_vm },
		{ "clone_fork", do_clone_fork },
		{ "strange_fork", do_strange_fork },
		{ "storm", do_storm },
		{ "setuid", do_setuid },
		{ "close", do_close },
		{ "chroot", do_chroot },
		{ "signal", do_signal },
		{ "kill", do_kill },
		{ "exit", do_exit },
		{ "daemon", do_daemon },
		{ "ends", do_ends },
		{ "small", do_small },
		{ "large", do_large },
	};

	if (!strcmp(what, "exec"))
		return do_exec(argv);
	if (!strcmp(what, "exec2")) {
		hit(0, 5);
		say(0, 10);
		return 0;
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(what, all[i].name))
			return all[i].run();
	return 2;
}
