/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * Stacks by the rules of .eh_frame at every instruction of functions that the processor executes
 * step by step, beside what libgcc's unwinder says of the same place.
 */
#include <alloca.h>
#include <execinfo.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/kernel/unwind/unwind.h"

#if __has_attribute(noclone)
#define NOINLINE __attribute__((noinline, noclone))
#else
#define NOINLINE __attribute__((noinline))     /* clang makes no clones */
#endif

#ifdef __x86_64__
#define COPY 65536u
#define TRAP 0x100              /* the flag of RFLAGS for single steps */
#define SHOWN 5

static struct unwinder *u;
static struct unwind_space *space;
static uint64_t top;            /* of the stack */
static long steps, same, shorter, different, none;

static void compare(const ucontext_t *c)
{
	void *theirs[UNWIND_FRAMES_MAX];
	uint64_t ours[UNWIND_FRAMES_MAX];
	const greg_t *g = c->uc_mcontext.gregs;
	struct unwind_input in = { .ip = (uint64_t)g[REG_RIP], .sp = (uint64_t)g[REG_RSP],
				   .bp = (uint64_t)g[REG_RBP],
				   .bx = (uint64_t)g[REG_RBX] };
	int count = backtrace(theirs, UNWIND_FRAMES_MAX), first = 0;
	uint32_t n, i = 0;
	bool cut;

	in.stack = (const uint8_t *)in.sp;
	in.size = top - in.sp < COPY ? top - in.sp : COPY;
	while (first < count && (uint64_t)theirs[first] != in.ip)
		first++;
	steps++;
	n = unwind(space, &in, ours, &cut);
	none += !n;
	while (i < n && first + (int)i < count && (uint64_t)theirs[first + (int)i] == ours[i])
		i++;
	if (i == n && first + (int)n == count) {
		same++;
		return;
	}
	/* libgcc could end early, where this does not. */
	if (first + (int)i == count && i < n) {
		shorter++;
		return;
	}
	if (different++ < SHOWN)
		printf("# at %#lx frame %u of %u is %#lx, and not %p (of %d)%s\n", (long)in.ip, i,
		       n, i < n ? (long)ours[i] : 0L,
		       first + (int)i < count ? theirs[first + (int)i] : NULL, count - first,
		       cut ? ", cut" : "");
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)signal;
	if (info->si_code == TRAP_TRACE)
		compare(c);
	else
		c->uc_mcontext.gregs[REG_EFL] ^= TRAP;
}

/* Begins or ends steps. (Without a change of the stack, which no rule would know.) */
static inline void toggle_steps(void)
{
	__asm__ volatile("int3" ::: "memory");
}

/* ---- what is executed ---- */

static volatile long sink;

static NOINLINE long leaf(long a, long b)
{
	return a * 3 + b;
}

static NOINLINE long recurse(int depth, long a, long b, long c, long d, long e, long f, long g)
{
	volatile long kept[9] = { a, b, c, d, e, f, g };

	if (!depth)
		return leaf(a, g);
	return recurse(depth - 1, b, c, d, e, f, g, a) + kept[depth % 9];
}

static int compare_numbers(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* A stack whose size is known at run time only: its frame is found by the frame pointer. */
static NOINLINE long sized(int n)
{
	char *bytes = alloca((size_t)n);

	memset(bytes, n, (size_t)n);
	return bytes[n / 2] + leaf(n, 1);
}

/* The function aligns its stack frame to 64 bytes itself. */
static NOINLINE long aligned(int n)
{
	__attribute__((aligned(64))) volatile char bytes[128];

	for (int i = 0; i < 128; i++)
		bytes[i] = (char)(i + n);
	return bytes[n & 127] + sized(n);
}

/* A frame of more than a page. */
static NOINLINE long large(int n)
{
	volatile char bytes[40000];

	bytes[n] = (char)n;
	return bytes[n] + leaf(n, 2);
}

static void on_user(int signal)
{
	toggle_steps();
	sink += leaf(signal, 3);
	toggle_steps();
}

static NOINLINE void execute(void)
{
	int numbers[] = { 5, 2, 9, 1, 7, 3 };
	char text[64];
	struct timespec t;

	sink += recurse(20, 1, 2, 3, 4, 5, 6, 7);
	sink += aligned(33) + large(1000);
	qsort(numbers, 6, sizeof(numbers[0]), compare_numbers);
	snprintf(text, sizeof(text), "%d %.3f %s", numbers[0], 1234.5678, "text");
	sink += (long)strtod(text, NULL);
	free(malloc(100000));
	clock_gettime(CLOCK_MONOTONIC, &t);
	sink += getenv("PATH") != NULL;
	sink += strchr(text, 'x') != NULL;
}

static bool make_space(void)
{
	int self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool cut;
	uint64_t out[UNWIND_FRAMES_MAX];
	struct unwind_input in = { .ip = (uint64_t)&leaf, .sp = (uint64_t)&in,
				   .stack = (const uint8_t *)&in, .size = 64 };

	u = unwinder_create();
	space = unwind_space_create();
	unwind_space_read(u, space, self);
	close(self);
	return unwind(space, &in, out, &cut) > 0;
}

static void *run_steps(void *arg)
{
	pthread_attr_t attr;
	void *at;
	size_t size;

	(void)arg;
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &at, &size);
	top = (uint64_t)at + size;
	pthread_attr_destroy(&attr);
	toggle_steps();
	execute();
	toggle_steps();
	raise(SIGUSR1);
	return NULL;
}

static void every_instruction(void)
{
	struct sigaction trap = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct sigaction user = { .sa_handler = on_user };
	void *first[4];
	pthread_t thread;

	if (!make_space())
		SKIP("the files that this program maps cannot be opened by its links in /proc");
	/* It loads libgcc once; not in the handler. */
	backtrace(first, 4);
	sigaction(SIGTRAP, &trap, NULL);
	sigaction(SIGUSR1, &user, NULL);
	/* Of a thread: where its stack ends is known. */
	CHECK(!pthread_create(&thread, NULL, run_steps, NULL));
	pthread_join(thread, NULL);
	printf("# %ld instructions: %ld stacks equal libgcc's, %ld are longer, %ld are different, "
	       "%ld have no rule\n", steps, same, shorter, different, none);
	CHECK(steps > 1000 && same > steps * 9 / 10 && !different);
	unwind_space_free(space);
	unwinder_free(u);
}
#else
static void every_instruction(void)
{
	SKIP("rules are for x86-64");
}
#endif

int main(void)
{
	CASE(every_instruction);
	return test_summary();
}
