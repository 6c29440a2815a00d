/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core trail pthread */
/* TIMEOUT: 150 */
/*
 * The ring under torture, without the mount: processes with threads that are moved between CPUs,
 * interrupted by signals that trace, stopped, forked and killed with SIGKILL, while a reader
 * follows. For each loss mode, it must hold that
 *
 *	- events found + overwritten + discarded = events emitted, up to the one event in flight of
 *	  each killed thread;
 *	- no event is found twice, each has the contents that its number asks for;
 *	- the numbers of one thread grow with time: time never goes back, in no stream.
 *
 * Usage: torture_ring [SECONDS]; the daemon's part of the program runs the tracer itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <trail/trail.h>

#include "tests/lib/state_dir.h"
#include "tracer/face/tracer.h"

#define WRITERS 4
#define THREADS 3
/* A lane: the events of one thread of one life of a writer, or of its signal handler */
#define LANES_MAX 4096
#define TEXT "0123456789abcdefghijklmnopqrstuvwxyz"

struct lane {
	uint64_t begun, done;   /* events entered, events left */
	uint64_t last;          /* found: the highest number so far, + 1 */
	uint64_t found;
};

static struct shared {
	uint32_t next_lane, stop;
	struct lane lanes[LANES_MAX];
} *shared;

static uint64_t kills, failures;
static __thread uint32_t signal_lane __attribute__((tls_model("initial-exec")));

static uint32_t new_lane(void)
{
	return __atomic_fetch_add(&shared->next_lane, 1, __ATOMIC_RELAXED);
}

static void emit(uint32_t lane)
{
	struct lane *l;
	uint64_t number;

	if (lane >= LANES_MAX)
		return;
	l = &shared->lanes[lane];
	number = __atomic_fetch_add(&l->begun, 1, __ATOMIC_RELAXED);
	if (number & 1) {
		unsigned int n = (unsigned int)(number % sizeof(TEXT));

		TRAIL(torture, text, lane, number, TRAIL_TEXT(text, TEXT, n));
	} else {
		TRAIL(torture, number, lane, number, TRAIL_FIELD(check, number * 2654435761u));
	}
	__atomic_fetch_add(&l->done, 1, __ATOMIC_RELAXED);
}

static void on_signal(int sig)
{
	(void)sig;
	if (signal_lane)
		emit(signal_lane - 1);
}

static void *writer_thread(void *arg)
{
	uint32_t lane = new_lane();
	unsigned int seed = (unsigned int)getpid() * 31 + (unsigned int)(uintptr_t)arg;
	cpu_set_t cpus;

	signal_lane = new_lane() + 1;
	while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) {
		for (int i = 0; i < 2000; i++)
			emit(lane);
		CPU_ZERO(&cpus);
		CPU_SET((unsigned int)rand_r(&seed) % (unsigned int)sysconf(_SC_NPROCESSORS_ONLN),
			&cpus);
		sched_setaffinity(0, sizeof(cpus), &cpus);
		if (rand_r(&seed) % 64 == 0)
			usleep(100);
	}
	signal_lane = 0;
	return NULL;
}

static int writer(void)
{
	struct itimerval every = { { 0, 100 }, { 0, 100 } };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t threads[THREADS];
	pid_t child;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, writer_thread, (void *)i);
	/* A child that traces on its own, of a process with threads. */
	child = fork();
	if (child == 0) {
		uint32_t lane = new_lane();

		for (int i = 0; i < 5000; i++)
			emit(lane);
		_exit(0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (child > 0)
		waitpid(child, NULL, 0);
	return 0;
}

/* ---- the reader ---- */

static void complain(const char *what, const char *line)
{
	if (failures++ < 10)
		printf("not ok: %s: %s\n", what, line);
}

static bool tells_loss(const char *line)
{
	return !strncmp(line, "WARNING: Tracer ", 16);
}

static void check_line(const char *line, bool count)
{
	const char *p = strstr(line, "{ lane = ");
	uint32_t lane;
	uint64_t number, check;
	char text[64] = "", want[sizeof(TEXT)];
	struct lane *l;
	int n;

	if (!p || sscanf(p, "{ lane = %" SCNu32 ", number = %" SCNu64, &lane, &number) != 2 ||
	    lane >= LANES_MAX) {
		complain("no such event", line);
		return;
	}
	l = &shared->lanes[lane];
	if (number & 1) {
		n = (int)(number % sizeof(TEXT));
		snprintf(want, sizeof(want), "%.*s", n, TEXT);
		if (sscanf(strstr(p, "number"),
			   "number = %*u, _text_length = %d, text = \"%63[^\"]", &n, text) < 1 ||
		    n != (int)(number % sizeof(TEXT)) || strcmp(text, want) != 0)
			complain("wrong contents", line);
	} else if (sscanf(strstr(p, "check"), "check = %" SCNu64, &check) != 1 ||
		   check != number * 2654435761u) {
		complain("wrong contents", line);
	}
	if (!count)
		return;
	if (number < l->last)
		complain("twice, or out of order", line);
	l->last = number + 1;
	l->found++;
}

static uint64_t check_text(struct session *s)
{
	static char buf[1 << 16];
	struct text_view *view;
	size_t have = 0;
	uint64_t offset = 0, lines = 0;
	ssize_t n;
	char *line, *end;

	if (text_open(s, TEXT_PLAIN, &view)) {
		complain("text", "cannot be opened");
		return 0;
	}
	while ((n = text_read(view, offset, buf + have, sizeof(buf) - 1 - have)) > 0) {
		offset += (uint64_t)n;
		have += (size_t)n;
		buf[have] = 0;
		for (line = buf; (end = memchr(line, '\n', have - (size_t)(line - buf)));
		     line = end + 1) {
			*end = 0;
			if (!tells_loss(line)) {
				check_line(line, true);
				lines++;
			}
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
	}
	text_close(view);
	return lines;
}

/* Follows while it is written: what comes must be whole. */
static void *live_reader(void *arg)
{
	struct session *s = arg;
	struct pipe_view *pipe;
	char *buf = malloc(1 << 18), *line, *end, *save;
	ssize_t n;

	if (!buf || pipe_open(s, TEXT_PLAIN, &pipe))
		return NULL;
	while ((n = pipe_read(pipe, buf, (1 << 18) - 1)) != 0) {
		if (n < 0) {
			usleep(20000);
			continue;
		}
		buf[n] = 0;
		/* the first and the last line of a read may be cut */
		line = strchr(buf, '\n');
		end = strrchr(buf, '\n');
		if (!line || line == end)
			continue;
		*end = 0;
		for (line = strtok_r(line + 1, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			if (!tells_loss(line))
				check_line(line, false);
	}
	pipe_close(pipe);
	free(buf);
	return NULL;
}

/* ---- the ordeal ---- */

static int life[2];     /* a pipe: writers and their children have its writing end */

/*
 * A writer has a process group of its own: if a group of which one process is stopped becomes
 * orphaned, the kernel sends SIGHUP to all of it. In a guest whose init is the test's shell, the
 * end of a killed writer's child, whose parent init then is, did that to timeout(1) and the test.
 */
static pid_t start_writer(const char *self)
{
	pid_t pid = fork();

	if (pid == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(life[1], 10);
		execl(self, self, "--writer", (char *)NULL);
		_exit(127);
	}
	return pid;
}

static void ordeal(const char *self, double seconds)
{
	pid_t pids[WRITERS];
	struct timespec now, begin;
	unsigned int seed = 1;

	if (pipe2(life, O_CLOEXEC))
		exit(2);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < WRITERS; i++)
		pids[i] = start_writer(self);
	do {
		int i = rand_r(&seed) % (WRITERS - 1);  /* the last one lives on */

		usleep(8000 + (unsigned int)rand_r(&seed) % 20000);
		if (rand_r(&seed) % 4 == 0) {
			kill(pids[i], SIGSTOP);
			usleep(2000);
			kill(pids[i], SIGCONT);
		} else if (shared->next_lane < LANES_MAX - 64) {
			kill(pids[i], SIGKILL);
			waitpid(pids[i], NULL, 0);
			kills++;
			pids[i] = start_writer(self);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 <
		 seconds);
	__atomic_store_n(&shared->stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < WRITERS; i++)
		waitpid(pids[i], NULL, 0);
	/* Children of the killed live on until they have emitted all. */
	close(life[1]);
	while (read(life[0], &seed, 1) > 0)
		;
	close(life[0]);
}

static uint64_t value(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p ? strtoull(p + strlen(key), NULL, 10) : UINT64_MAX;
}

static void control(struct session *s, const char *verb)
{
	struct tr_err err = TR_ERR_INIT;

	if (session_control(s, verb, 0, &err))
		complain(verb, err.sentence);
}

static void round_of(struct tracer *t, const char *self, const char *mode, double seconds)
{
	struct tr_err err = TR_ERR_INIT;
	struct md_buf status = MD_BUF_INIT;
	uint64_t begun = 0, done = 0, lines, recorded, discarded, overwritten;
	struct session *s;
	pthread_t reader;

	memset(shared, 0, sizeof(*shared));
	kills = 0;
	if (session_create(t, mode, &(struct owner){ 0 }, &err) || !(s = session_get(t, mode)))
		exit(2);
	channel_create(s, DOMAIN_USER, "channel0", &err);
	channel_store(s, DOMAIN_USER, "channel0", "loss_mode", mode, &err);
	channel_store(s, DOMAIN_USER, "channel0", "subbuf_size", "64k", &err);
	channel_store(s, DOMAIN_USER, "channel0", "subbuf_count",
		      strcmp(mode, "discard") ? "8" : "512", &err);
	events_store(s, DOMAIN_USER, NULL, "torture:*\n", true, &err);
	control(s, "start\n");
	pthread_create(&reader, NULL, live_reader, s);
	ordeal(self, seconds);
	control(s, "stop\n");
	pthread_join(reader, NULL);
	lines = check_text(s);
	session_status(s, false, &status);
	recorded = value(md_buf_str(&status), "events_recorded ");
	discarded = value(md_buf_str(&status), "events_discarded ");
	overwritten = value(md_buf_str(&status), "events_overwritten ");
	for (uint32_t i = 0; i < shared->next_lane && i < LANES_MAX; i++) {
		begun += shared->lanes[i].begun;
		done += shared->lanes[i].done;
	}
	printf("%s: emitted %" PRIu64 " (%" PRIu64 " in flight when killed), recorded %" PRIu64
	       ", discarded %" PRIu64 ", overwritten %" PRIu64 ", found %" PRIu64 ", kills %" PRIu64
	       "\n",
	       mode, begun, begun - done, recorded, discarded, overwritten, lines, kills);
	if (recorded + discarded > begun || recorded + discarded < done)
		complain("the sum is wrong", mode);
	if (lines + overwritten != recorded)
		complain("found and recorded differ", mode);
	md_buf_deinit(&status);
	session_put(s);
	session_destroy(t, mode, &err);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	struct tracer_config config = { 0 };
	struct tr_err err = TR_ERR_INIT;
	char path[160], self[256] = "";
	struct tracer *t;
	int fd;
	int helped;

	if (tracer_helper(argc, argv, &helped))
		return helped;
	snprintf(path, sizeof(path), "/proc/self/exe");
	if (readlink(path, self, sizeof(self) - 1) < 0)
		return 2;
	fd = argc > 1 && !strcmp(argv[1], "--writer") ? 9 : memfd_create("torture", 0);
	if (fd != 9 && (ftruncate(fd, sizeof(*shared)) < 0 || dup2(fd, 9) < 0))
		return 2;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, 9, 0);
	if (shared == MAP_FAILED)
		return 2;
	if (argc > 1 && !strcmp(argv[1], "--writer"))
		return writer();

	if (!make_state_dir("torture", &config))
		return 2;
	if (tracer_open(&config, &t, &err)) {
		printf("not ok: %s\n", err.sentence);
		return 1;
	}
	round_of(t, self, "overwrite", seconds / 2);
	round_of(t, self, "discard", seconds / 2);
	tracer_close(t, false);
	printf("%s\n", failures ? "not ok" : "ok");
	return failures != 0;
}
