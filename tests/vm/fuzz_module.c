/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * Random calls of /dev/trail, by several processes at once, while what they enable is recorded:
 * only errors may come of them. Runs where the module is loaded (tests/vm); the kernel's own
 * messages are looked at there. fuzz_module [SECONDS]
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tracer/abi/filter_bytecode.h"
#include "tests/vm/event_id.h"
#include "tracer/abi/module.h"
#include "tracer/abi/module_ring.h"

static uint64_t state;

static uint64_t number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Mostly what is nearly right. */
static uint64_t some(void)
{
	static const uint64_t words[] = { 0,          1,         2,        3,          7,
					  8,          16,        4095,     4096,       8192,
					  65535,      65536,     1u << 20, UINT32_MAX, UINT64_MAX,
					  1ull << 63, 1ull << 48 };

	return number() % 4 ? words[number() % (sizeof(words) / sizeof(*words))]
			    : number() >> number() % 64;
}

static void scramble(void *p, size_t n)
{
	uint8_t *at = p;

	for (size_t i = number() % 4; i; i--)
		at[number() % n] = (uint8_t)number();
}

static const char *const events[][2] = {
	{ "sched", "sched_switch" },
	{ "sched", "sched_waking" },
	{ "irq", "softirq_entry" },
	{ "timer", "hrtimer_expire_entry" },
	{ "kmem", "mm_page_alloc" },
	{ "raw_syscalls", "sys_enter" },
	{ "syscalls", "sys_enter_openat" },
	{ "syscalls", "sys_exit_ioctl" },
	{ "none", "such" },
};

static void random_name(char *name)
{
	snprintf(name, 16, "fuzz%d", (int)(number() % 6));
}

static int channel(int device)
{
	struct modabi_channel m = { .subbuf_size = 4096u << number() % 4,
				    .subbuf_count = 2u << number() % 4,
				    .overwrite = number() % 2 };
	static const unsigned long commands[] = { MODABI_CREATE, MODABI_OPEN, MODABI_CREATE,
						  MODABI_OPEN, MODABI_REMOVE };

	random_name(m.name);
	m.tsc = number() % 2;
	if (number() % 8 == 0)
		m.subbuf_size = (uint32_t)some();
	if (number() % 8 == 0)
		m.subbuf_count = (uint32_t)some();
	if (number() % 8 == 0)
		scramble(&m, sizeof(m));
	return ioctl(device, commands[number() % 5], &m);
}

/* What is mapped cannot be written. Maps of other sizes and rights are refused. */
static void map(int fd)
{
	size_t size = number() % 2 ? 4096 + (4096u << number() % 8) : some() & 0xfffff;
	off_t at = (off_t)(number() % 2 ? size * (number() % 4) : some());
	int prot = number() % 4 ? PROT_READ : (int)(number() % 8);
	uint8_t *p = mmap(NULL, size, prot, number() % 8 ? MAP_SHARED : MAP_PRIVATE, fd, at);

	if (p == MAP_FAILED)
		return;
	if (prot & PROT_WRITE || !mprotect(p, 4096, PROT_READ | PROT_WRITE)) {
		printf("a ring could be mapped for writing\n");
		_exit(1);
	}
	if (prot & PROT_READ)
		for (size_t i = 0; i < size; i += 509)
			*(volatile uint8_t *)(p + i);
	if (number() % 4 == 0)
		munmap(p, number() % 2 ? size : 4096);
	else
		munmap(p, size);
}

/* Counters seldom: each is one per CPU. */
static struct modabi_context random_context(void)
{
	struct modabi_context c = { .kind = (uint32_t)(number() % (TRAIL_CONTEXT_ALL + 1)) };

	if (number() % 8 == 0)
		c = (struct modabi_context){ TRAIL_CONTEXT_PERF, (uint32_t)(number() % 6),
					     number() % 16 };
	if (number() % 16 == 0)
		scramble(&c, sizeof(c));
	return c;
}

/*
 * Mostly good ones. What they capture is whatever the fuzzer's own system calls have for arguments.
 */
static void random_call(struct modabi_call *m, const char *name)
{
	static const uint32_t numbers[] = { 257, 16, 1, 9, MODABI_OTHERS, 511, 512 };

	m->nr = numbers[number() % 7];
	m->exit = strstr(name, "exit") != NULL;
	m->compat = number() % 8 == 0;
	m->captures = (uint8_t)(number() % (number() % 8 ? MODABI_CAPTURES_MAX + 1 : 256));
	for (uint32_t i = 0; i < MODABI_CAPTURES_MAX; i++) {
		struct modabi_capture *c = &m->capture[i];

		c->kind = (uint8_t)(1 + number() % 2);
		c->pointer = (uint8_t)(number() % 6);
		c->count = (uint8_t)(number() % 2 ? number() % 6 : MODABI_ONE);
		c->flags = (uint8_t)(number() % 2 ? 0 : number() % 32);
		c->size = (uint16_t)(1 + number() % 256);
		c->max = (uint16_t)(number() % (MODABI_CAPTURED_MAX + 1));
	}
	for (uint32_t i = 0; i < MODABI_CALLS / 64; i++)
		m->known[i] = number();
	if (number() % 16 == 0)
		scramble(m, sizeof(*m));
}

/* ---- programs ---- */

struct told {                           /* shared by all processes */
	uint32_t accepted, refused;     /* atomic */
};

static struct told *told;

/*
 * Words that look like some, or do not. Of most, members that the verifier wants to be small are.
 */
static struct filter_word random_word(void)
{
	struct filter_word w = {
		.op = (uint8_t)(1 + number() % (FILTER_OPS - 1)),
		.flag = (uint8_t)(number() % 4),
		.at = (uint32_t)(number() % 24),
		.jump = (uint16_t)(number() % 3 ? number() % 3 : FILTER_JUMP_FALSE + number() % 2),
		.b = (uint32_t)(number() % 9),
	};
	static const uint32_t lengths[] = {
		0, 0, 4, FILTER_LENGTH_LOC, FILTER_LENGTH_REL_LOC, FILTER_LENGTH_REST
	};

	if (w.op >= FILTER_LOAD_INT && w.op <= FILTER_LOAD_ELEMENT) {
		w.a = FILTER_PLACE(w.op == FILTER_LOAD_STRING ? 0 : 1u << number() % 4,
				   number() % 2, 0, lengths[number() % 6]);
		w.jump = 0;
		w.at = (uint32_t)(number() % 80);
	} else if (w.op == FILTER_CONTEXT || w.op == FILTER_CONSTANT) {
		w.at = w.op == FILTER_CONTEXT ? (uint32_t)(number() % (TRAIL_CONTEXT_ALL + 1))
					      : (uint32_t)(1 + number() % 3);
		w.b = w.op == FILTER_CONTEXT ? 0 : w.b;
		w.jump = 0;
	} else if (w.op >= FILTER_NEGATE && w.op <= FILTER_RIGHT) {
		w.a = (uint32_t)(number() % 3);
		w.jump = 0;
	} else if (w.op <= FILTER_RANGE_64_BE || w.op == FILTER_TEST_STRING ||
		   w.op == FILTER_MATCH) {
		/* The literals follow 16 words at most. */
		w.a = (uint32_t)(number() % 2 ? some() : 256 + number() % 200);
		w.b = (uint32_t)(number() % 2 ? some() : number() % 60 | number() % 4 << 16);
	}
	if (w.op == FILTER_RETURN)
		w.at &= 1;
	if (number() % 8 == 0)
		scramble(&w, sizeof(w));
	return w;
}

static uint32_t random_program(uint8_t *to, uint32_t room)
{
	uint32_t words = 2 + (uint32_t)(number() % (number() % 4 ? 6 : 15)), i, size;

	for (i = 1; i < words; i++)
		filter_put_word(to + FILTER_WORD * i,
				i + 1 < words ? random_word()
					      : (struct filter_word){ .op = FILTER_RETURN,
								      .at = number() % 2 });
	filter_put_word(
		to, (struct filter_word){ .op = FILTER_HEADER, .at = words, .a = FILTER_VERSION });
	size = (uint32_t)(number() % 4 ? 480 : 8 * (number() % (room / 8)));
	for (i *= FILTER_WORD; i < size; i++)
		to[i] = number() % 2 ? "aks/"[number() % 4] : (uint8_t)number();
	if (number() % 4 == 0)
		scramble(to, size + 1);
	return number() % 16 ? size : (uint32_t)some();
}

/* What the module takes, the verifier takes here. */
static void filter(int fd, size_t which)
{
	static uint8_t program[2 * MODABI_PROGRAM_MAX];
	struct modabi_filter m = { .program = (uintptr_t)program };

	strcpy(m.system, events[which][0]);
	strcpy(m.name, events[which][1]);
	m.size = random_program(program, sizeof(program));
	if (number() % 16 == 0)
		m.program = some();
	if (number() % 16 == 0)
		scramble(&m, sizeof(m));
	if (!ioctl(fd, MODABI_FILTER, &m)) {
		if (m.program == (uintptr_t)program && m.size && !filter_verify(program, m.size)) {
			printf("a program was taken that is none\n");
			_exit(1);
		}
		__atomic_fetch_add(&told->accepted, m.size != 0, __ATOMIC_RELAXED);
	} else if (errno == EINVAL) {
		__atomic_fetch_add(&told->refused, 1, __ATOMIC_RELAXED);
	}
}

/* Many of one event, which is recorded if it can be; and things happen. */
static void filters(int fd)
{
	size_t which = number() % (sizeof(events) / sizeof(*events));
	struct modabi_event e = { .on = 1, .id = id_of(events[which][0], events[which][1]) };
	uint32_t on = 1;

	strcpy(e.system, events[which][0]);
	strcpy(e.name, events[which][1]);
	random_call(&e.call, e.name);
	ioctl(fd, MODABI_EVENT, &e);
	ioctl(fd, MODABI_RECORD, &on);
	for (int i = 0; i < 100; i++) {
		filter(fd, which);
		close(open("/nonexistent/name", O_RDONLY));
		usleep(10);
	}
}

static void command(int fd)
{
	union {
		struct modabi_event e;
		struct modabi_enabled n;
		struct modabi_track t;
		struct modabi_consume c;
		struct modabi_contexts x;
		uint32_t on;
	} a;
	struct modabi_context items[4];
	static const unsigned long commands[] = {
		MODABI_RECORD, MODABI_EVENT,   MODABI_ENABLED,
		MODABI_TRACK,  MODABI_CONSUME, MODABI_SET_CONTEXTS
	};
	unsigned long cmd = commands[number() % 6];
	static uint8_t space[65536];
	uint32_t tids[4] = { (uint32_t)getpid(), 1, (uint32_t)some(), 2 };
	size_t which = number() % (sizeof(events) / sizeof(*events));

	memset(&a, 0, sizeof(a));
	if (cmd == MODABI_RECORD) {
		a.on = number() % 2;
	} else if (cmd == MODABI_EVENT) {
		strcpy(a.e.system, events[which][0]);
		strcpy(a.e.name, events[which][1]);
		a.e.id = number() % 8 ? id_of(a.e.system, a.e.name) : (uint32_t)some();
		a.e.on = number() % 3 != 0;
		if (number() % 8)
			random_call(&a.e.call, a.e.name);
	} else if (cmd == MODABI_ENABLED) {
		a.n.buffer = number() % 4 ? (uintptr_t)space : some();
		a.n.size = number() % 4 ? sizeof(space) : some();
	} else if (cmd == MODABI_TRACK) {
		a.t.ids = number() % 4 ? (uintptr_t)tids : some();
		a.t.by = (uint32_t)(number() % (MODABI_TRACK_COUNT + 1));
		a.t.count = number() % 4 ? (uint32_t)(number() % 5) : (uint32_t)some();
		a.t.more = a.t.count && number() % 2;
		a.t.all = !a.t.count;
	} else if (cmd == MODABI_SET_CONTEXTS) {
		for (size_t i = 0; i < 4; i++)
			items[i] = random_context();
		a.x.items = number() % 8 ? (uintptr_t)items : some();
		a.x.count = number() % 8 ? (uint32_t)(number() % 5) : (uint32_t)some();
	} else {
		a.c = (struct modabi_consume){ .consumed = some(),
					       .events = some(),
					       .overwritten = some(),
					       .cpu = (uint32_t)(number() % 4) };
	}
	if (number() % 6 == 0)
		scramble(&a, sizeof(a));
	if (number() % 10 == 0)
		cmd ^= 1ul << number() % 32;
	ioctl(fd, cmd, number() % 20 ? (void *)&a : (void *)(uintptr_t)some());
}

static void one(int device, int *fds, size_t n)
{
	size_t i = number() % n;
	struct modabi_list l = { .buffer = number() % 2 ? (uintptr_t)&l : some(),
				 .size = number() % 2 ? 0 : some() };
	struct modabi_number nr = { .name = "sys_enter_openat" };
	char text[512];

	switch (number() % 12) {
	case 0:
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = channel(device);
		break;
	case 1:
		ioctl(device, MODABI_LIST, &l);
		if (number() % 2)
			scramble(&nr, sizeof(nr));
		ioctl(device, MODABI_NUMBER,
		      number() % 8 ? (void *)&nr : (void *)(uintptr_t)some());
		if (pread(device, text, sizeof(text), (off_t)some()) < 0)
			errno = 0;
		break;
	case 2:
		ioctl(device, number() % 2 ? (unsigned long)some() : MODABI_CREATE,
		      (void *)(uintptr_t)some());
		break;
	case 3:
		if (fds[i] >= 0)
			map(fds[i]);
		break;
	case 4:
	case 5:
		if (fds[i] >= 0)
			filters(fds[i]);
		break;
	default:
		if (fds[i] >= 0)
			command(fds[i]);
	}
}

static int child(int device, int seconds, uint64_t seed)
{
	int fds[4] = { -1, -1, -1, -1 };
	time_t end = time(NULL) + seconds;

	state = seed * 0x9e3779b97f4a7c15u + 1;
	while (time(NULL) < end)
		for (int i = 0; i < 20; i++)
			one(device, fds, 4);
	return 0;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 5, device = open("/dev/trail", O_RDWR | O_CLOEXEC),
	    status, bad = 0;
	struct modabi_channel m = { .reserved = 0 };
	pid_t pid;

	if (device < 0) {
		printf("/dev/trail: %s\n", strerror(errno));
		return 77;
	}
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		return 1;
	for (int i = 0; i < 3; i++) {
		pid = fork();
		if (!pid)
			_exit(child(device, seconds, (uint64_t)time(NULL) * 8 + (uint64_t)i));
		/* One of them dies in the middle of it. */
		if (i == 2 && pid > 0) {
			sleep((unsigned)seconds / 2);
			kill(pid, 9);
		}
	}
	while (wait(&status) > 0)
		bad |= !(WIFEXITED(status) && !WEXITSTATUS(status)) &&
		       !(WIFSIGNALED(status) && WTERMSIG(status) == 9);
	for (int i = 0; i < 6; i++) {
		snprintf(m.name, sizeof(m.name), "fuzz%d", i);
		ioctl(device, MODABI_REMOVE, &m);
	}
	printf("programs: %u taken, %u refused\n", told->accepted, told->refused);
	return bad || !told->accepted || !told->refused;
}
