/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail pthread */
/*
 * rseq_load THREADS COUNT: threads emit COUNT events each, while a timer's signals emit events
 * wherever they come, another thread moves them from CPU to CPU, and they take their restartable
 * sequences (rseq(2)) from the kernel and give them back, as checkpoints do. Prints the numbers of
 * both kinds of events. For tests/vm/rseq.sh.
 *
 * With OWN_AREA the program has the threads' areas, as some allocators do, by the environment:
 * RSEQ=v2: it registers them with all of the kernel's fields, and tells libraries where they are,
 * as the newest C libraries do. RSEQ=hidden: it registers them with the size that all kernels know,
 * and tells no library.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <trail/trail.h>

#ifdef __aarch64__
#define SIGNATURE 0xd428bc00
#elif defined(__riscv)
#define SIGNATURE 0xf1401073
#else
#define SIGNATURE 0x53053053
#endif
#define UNREGISTER 1
#define THREADS_MAX 16

static atomic_ulong ticks, signals;
static atomic_int left;
static pid_t tids[THREADS_MAX];
static unsigned long count;
static struct area *(*own_area)(uint32_t *len);

struct area {                           /* struct rseq, and room for what is new in it */
	uint32_t cpu_id_start, cpu_id;
	uint64_t cs;
	uint32_t flags, node_id, mm_cid, rest[9];
};

#ifdef OWN_AREA
static __thread struct area area __attribute__((aligned(64), tls_model("initial-exec")));
static uint32_t area_len;
/* What libtrail asks the C library for */
ptrdiff_t __rseq_offset;
unsigned int __rseq_size;

static struct area *get_area(uint32_t *len)
{
	*len = area_len;
	return &area;
}

/* (glibc 2.41 registers a thread at the place that this program tells libraries.) */
static void register_area(void)
{
	area.cpu_id = (uint32_t)-1;
	if (syscall(SYS_rseq, &area, area_len, 0, SIGNATURE))
		_exit(77);
}

/* Before any library's constructor */
static void begin(int argc, char **argv, char **env)
{
	bool v2 = false;

	(void)argc, (void)argv;
	for (; *env; env++)
		v2 = v2 || !strcmp(*env, "RSEQ=v2");
	area.cpu_id = (uint32_t)-1;
	area_len = v2 ? sizeof(area) : 32;
	if (syscall(SYS_rseq, &area, area_len, 0, SIGNATURE)) {
		area_len = 32;  /* Linux before 6.3 takes no more */
		if (syscall(SYS_rseq, &area, area_len, 0, SIGNATURE))
			abort();
	}
	if (v2) {
		__rseq_offset = (char *)&area - (char *)__builtin_thread_pointer();
		__rseq_size = area_len > 32 ? 33 : 32;
	}
	own_area = get_area;
}

__attribute__((section(".preinit_array"), used)) static void (*const at_begin)(int, char **,
									       char **) = begin;
#else
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static struct area *get_area(uint32_t *len)
{
	*len = 32;
	return (struct area *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

__attribute__((constructor)) static void begin(void)
{
	if (&__rseq_size && __rseq_size)
		own_area = get_area;
}
#endif

static void on_timer(int signal)
{
	unsigned long n = atomic_fetch_add(&signals, 1);

	(void)signal;
	TRAIL(rseq, in_signal, n);
}

static void give_back_and_take(void)
{
	uint32_t len;
	struct area *a = own_area(&len);

	if (syscall(SYS_rseq, a, len, UNREGISTER, SIGNATURE) ||
	    syscall(SYS_rseq, a, len, 0, SIGNATURE)) {
		perror("rseq");
		abort();
	}
}

static void *emit(void *arg)
{
	pid_t *tid = arg;
	int thread = (int)(tid - tids);
	sigset_t all, before;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	pthread_sigmask(SIG_SETMASK, &all, &before);
#ifdef OWN_AREA
	register_area();
#endif
	*tid = (pid_t)syscall(SYS_gettid);
	pthread_sigmask(SIG_UNBLOCK, &all, NULL);
	for (unsigned long i = 0; i < count; i++) {
		TRAIL(rseq, tick, thread, i);
		atomic_fetch_add(&ticks, 1);
		if (own_area && i % 500 == 499) {
			pthread_sigmask(SIG_SETMASK, &all, NULL);
			give_back_and_take();
			pthread_sigmask(SIG_UNBLOCK, &all, NULL);
		}
	}
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	atomic_fetch_sub(&left, 1);
	return NULL;
}

/* Moves the threads until they have ended. */
static void drive(int threads)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), cpu = 0;
	cpu_set_t set;

	while (atomic_load(&left))
		for (int i = 0; i < threads; i++) {
			CPU_ZERO(&set);
			CPU_SET(cpu++ % cpus, &set);
			if (tids[i])
				sched_setaffinity(tids[i], sizeof(set), &set);
			usleep(200);
		}
}

int main(int argc, char **argv)
{
	struct itimerval every = { { 0, 400 }, { 0, 400 } }, never = { { 0, 0 }, { 0, 0 } };
	pthread_t ids[THREADS_MAX];
	int threads = argc > 2 ? atoi(argv[1]) : 0;
	sigset_t timer;

	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	count = strtoul(argv[2], NULL, 10);
	atomic_store(&left, threads);
	signal(SIGALRM, on_timer);
	/* The threads get the signals. */
	sigemptyset(&timer);
	sigaddset(&timer, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &timer, NULL);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, emit, &tids[i]))
			return 1;
	setitimer(ITIMER_REAL, &every, NULL);
	drive(threads);
	setitimer(ITIMER_REAL, &never, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("%lu %lu\n", atomic_load(&ticks), atomic_load(&signals));
	return 0;
}
