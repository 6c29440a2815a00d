/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: none */
/*
 * hostile STATE_DIR HOW [SECONDS]: an application that means harm. Its tracepoints, where it has
 * any, are evil:tick { n } and evil:word { n, s }. HOW is one of
 *
 *   files       entries of all kinds in the apps directory: garbage, truncated, links, FIFOs,
 *               sockets, directories
 *   mutations   a good registration file with one word made wrong, all words in turn
 *   shrink      good files that are truncated, unlinked or replaced while they are registered
 *   connect     connections that say nothing, too much, or nonsense; hundreds at once
 *   hellos      attaching without end, without taking the answer or the descriptors
 *   ring        attaches, then fills its rings with random bytes, again and again
 *   bells       attaches, then wakes the daemon without events, as often as it can
 */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "evil.h"

static int apps;                /* the apps directory */
static const char *state;
static double until;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/*
 * Writes a registration as the library does: hidden, locked, then renamed. Returns the descriptor,
 * which holds the lock.
 */
static int put_file(const void *data, size_t size, char name[33])
{
	char hidden[40];
	uint8_t id[16];
	int fd;

	evil_random(id, sizeof(id));
	for (int i = 0; i < 16; i++)
		snprintf(name + 2 * i, 3, "%02x", id[i]);
	snprintf(hidden, sizeof(hidden), ".%s", name);
	fd = openat(apps, hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	flock(fd, LOCK_EX | LOCK_NB);
	if (write(fd, data, size) < 0 || renameat(apps, hidden, apps, name)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void drop_file(int fd, const char *name)
{
	unlinkat(apps, name, 0);
	close(fd);
}

static void odd_entry(unsigned int kind, const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd;

	switch (kind) {
	case 0:
		mkfifoat(apps, name, 0600);
		break;
	case 1:
		if (symlinkat("/dev/zero", apps, name))
			return;
		break;
	case 2:
		if (symlinkat("/etc/passwd", apps, name))
			return;
		break;
	case 3:
		mkdirat(apps, name, 0700);
		break;
	case 4:         /* a hard link: two names for one file */
		fd = openat(apps, ".twice", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		close(fd);
		if (linkat(apps, ".twice", apps, name, 0))
			return;
		break;
	case 5:         /* sparse, and much too large */
		fd = openat(apps, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (ftruncate(fd, 1ll << 36) && ftruncate(fd, 1 << 30))
			fd = dup(fd);
		close(fd);
		break;
	case 6:
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%s", apps, name);
		if (bind(fd, (struct sockaddr *)&a, sizeof(a)))
			fd = dup(fd);
		close(fd);
		break;
	default:        /* a good file without a lock */
		fd = openat(apps, name, O_RDWR | O_CREAT | O_CLOEXEC, 0000);
		close(fd);
		break;
	}
}

static void files(void)
{
	uint8_t bytes[8192];
	char name[64];

	while (now() < until) {
		for (unsigned int kind = 0; kind < 8; kind++) {
			snprintf(name, sizeof(name), "%08x%08x%08x%08x", rand(), rand(), rand(),
				 kind);
			odd_entry(kind, name);
		}
		for (size_t size = 0; size <= sizeof(bytes); size = size ? size * 2 : 1) {
			int fd;

			evil_random(bytes, sizeof(bytes));
			fd = put_file(bytes, size, name);
			if (fd >= 0 && rand() % 2)
				drop_file(fd, name);
			else
				close(fd);
		}
		/* names that are none */
		close(openat(apps, "..hidden", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		close(openat(apps, "a b\nc\033[31m", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		snprintf(name, sizeof(name), "%063d", rand());
		close(openat(apps, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		usleep(20000);
	}
}

static void mutations(void)
{
	static const uint32_t values[] = { 0,          1,          7,    0x7fffffff, 0x80000000,
					   0xffffffff, 0xfffffff8, 4096, 65535,      65536 };
	struct evil_file good, bad;
	char name[64];

	evil_file_make(&good);
	for (size_t at = 0; at + 4 <= good.size && now() < until; at += 2) {
		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			int fd;

			bad = good;
			memcpy(bad.bytes + at, &values[v], 4);
			fd = put_file(bad.bytes, bad.size, name);
			usleep(200);
			if (fd >= 0)
				drop_file(fd, name);
		}
	}
	for (size_t size = 0; size < good.size && now() < until; size++) {
		int fd = put_file(good.bytes, size, name);

		usleep(500);
		if (fd >= 0)
			drop_file(fd, name);
	}
}

static void shrink(void)
{
	struct evil_file good;
	char name[64], other[64];

	evil_file_make(&good);
	while (now() < until) {
		int fd = put_file(good.bytes, good.size, name),
		    fd2 = put_file(good.bytes, good.size, other);

		usleep((useconds_t)(rand() % 30000));
		switch (rand() % 5) {
		case 0:
			if (ftruncate(fd, 0))
				perror("ftruncate");
			break;
		case 1:
			if (ftruncate(fd, (off_t)good.size / 2) || ftruncate(fd2, 1ll << 34))
				perror("ftruncate");
			break;
		case 2:
			renameat(apps, name, apps, other);
			break;
		case 3:
			evil_random(good.bytes, 64);
			if (pwrite(fd, good.bytes, good.size, 0) < 0)
				perror("pwrite");
			evil_file_make(&good);
			break;
		default:
			flock(fd, LOCK_UN);
			linkat(apps, other, apps, ".linked", 0);
			break;
		}
		usleep((useconds_t)(rand() % 30000));
		drop_file(fd, name);
		drop_file(fd2, other);
		unlinkat(apps, ".linked", 0);
	}
}

static void say_something(int fd)
{
	static uint8_t bytes[65536];
	struct trail_hello *h = (struct trail_hello *)bytes;
	size_t size = sizeof(bytes);

	evil_random(bytes, 4096);
	switch (rand() % 6) {
	case 0:
		return;
	case 1:
		size = (size_t)rand() % 64;
		break;
	case 2:
		evil_hello_make(h, NULL, 65535);
		break;
	case 3:
		evil_hello_make(h, NULL, 0xffffffff);
		size = sizeof(*h);
		break;
	case 4:
		evil_hello_make(h, NULL, 200);
		size = sizeof(*h) + 200 * 16;
		break;
	default:
		evil_hello_make(h, NULL, 1);
		size = sizeof(*h) + (size_t)(rand() % 16);
		break;
	}
	if (send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EBADF)
		abort();
}

static void connections(void)
{
	enum { MANY = 500 };
	int fds[MANY], n = 0;

	for (int i = 0; i < MANY; i++)
		fds[i] = -1;
	while (now() < until) {
		int i = n++ % MANY;

		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = evil_connect(state);
		if (fds[i] >= 0)
			say_something(fds[i]);
		else
			usleep(1000);
		if (n % MANY == 0 && rand() % 3 == 0)
			for (int j = 0; j < MANY; j++) {
				if (fds[j] >= 0)
					close(fds[j]);
				fds[j] = -1;
			}
	}
}

/* Attaches and gets stuck at each step of it. */
static void hellos(void)
{
	struct evil_file good;
	char name[64];
	int fd;

	evil_file_make(&good);
	fd = put_file(good.bytes, good.size, name);
	usleep(200000);
	while (now() < until) {
		int s = evil_connect(state), step = rand() % 4;
		struct evil_plan plan;

		if (s < 0) {
			usleep(1000);
			continue;
		}
		evil_hello_send(s, name);
		if (step == 1)
			usleep((useconds_t)(rand() % 5000));
		if (step >= 2 && evil_plan_receive(s, &plan) == 0) {
			if (step == 3 && send(s, "\1\1\1\1", 4, MSG_NOSIGNAL) < 0)
				perror("send");
			evil_plan_free(&plan);
		}
		close(s);
	}
	if (fd >= 0)
		drop_file(fd, name);
}

/* Nonsense, and what is nearly sense, in a ring's control block, side table and data. */
static void spoil_ring(struct trail_ring *ring, const struct trail_region *h)
{
	uint64_t size = h->subbuf_size;
	uint32_t n = h->subbuf_count;

	evil_random((uint8_t *)ring + h->data_offset, size * n > 1 << 20 ? 1 << 20 : size * n);
	evil_random(ring->side, 2 * n * sizeof(ring->side[0]));
	switch (rand() % 4) {
	case 0:
		evil_random(ring, sizeof(*ring));
		break;
	case 1:
		ring->head = size * (1 + (uint64_t)rand() % n) + (uint64_t)rand() % size;
		ring->last_ts = (uint64_t)rand() << 20;
		ring->tally = (struct trail_tally){ ring->head, 3 };
		break;
	case 2:
		ring->head = UINT64_MAX;
		ring->consumed = UINT64_MAX - 1;
		break;
	default:
		ring->head = size * 4 * n + 17;
		ring->lost = UINT64_MAX;
		ring->consumed = (uint64_t)rand() << 32;
		break;
	}
}

static void spoil(const struct evil_plan *plan, const struct trail_region *headers)
{
	for (unsigned int r = 0; r < plan->region_count; r++) {
		const struct trail_region *h = &headers[r];

		for (uint32_t i = 0; i < h->ring_count; i++)
			spoil_ring((struct trail_ring *)(plan->maps[r] + h->ring_offset +
							 i * h->ring_stride),
				   h);
		/* The header page and the switch bytes, too: the daemon must not need them. */
		if (rand() % 4 == 0)
			evil_random(plan->maps[r] + 4, 200);
	}
}

/* Rings the bells, armed or not, and arms them again itself. */
static void ring_bells(const struct evil_plan *plan)
{
	for (unsigned int r = 0; r < plan->region_count; r++) {
		const struct trail_region *h = (struct trail_region *)plan->maps[r];
		uint32_t *bell = &((struct trail_ring *)(plan->maps[r] + h->ring_offset))->bell;

		__atomic_store_n(bell, rand() % 3 ? 0 : (uint32_t)rand() % 3, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
}

static int ring(int bells)
{
	static struct trail_region headers[TRAIL_REGION_MAX];
	struct evil_file good;
	struct evil_plan plan;
	int fd, s, error = -1;
	char name[64];

	evil_file_make(&good);
	fd = put_file(good.bytes, good.size, name);
	for (int i = 0; i < 1000 && error; i++) {
		usleep(100000);
		s = evil_connect(state);
		if (s < 0)
			continue;
		evil_hello_send(s, name);
		error = evil_plan_receive(s, &plan);
		if (!error && !plan.region_count) {
			evil_plan_free(&plan);
			error = -EAGAIN;
		}
		if (!error && send(s, "\1", 1, MSG_NOSIGNAL) < 0)
			perror("send");
		close(s);
	}
	if (error) {
		fprintf(stderr, "hostile: no rings: %s\n", strerror(-error));
		return 1;
	}
	printf("attached: %u regions\n", plan.region_count);
	fflush(stdout);
	for (unsigned int i = 0; i < plan.region_count; i++)
		memcpy(&headers[i], plan.maps[i], sizeof(headers[i]));
	while (now() < until) {
		if (bells) {
			ring_bells(&plan);
		} else {
			spoil(&plan, headers);
			usleep(1000);
		}
	}
	evil_plan_free(&plan);
	drop_file(fd, name);
	return 0;
}

static const struct { const char *how; void (*run)(void); } ways[] = {
	{ "files", files }, { "mutations", mutations }, { "shrink", shrink },
	{ "connect", connections }, { "hellos", hellos },
};

int main(int argc, char **argv)
{
	char path[512];

	if (argc < 3)
		return 2;
	state = argv[1];
	until = now() + (argc > 3 ? atof(argv[3]) : 5);
	srand((unsigned int)getpid());
	snprintf(path, sizeof(path), "%s/apps", state);
	apps = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (apps < 0) {
		perror(path);
		return 2;
	}
	if (!strcmp(argv[2], "ring") || !strcmp(argv[2], "bells"))
		return ring(argv[2][0] == 'b');
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[2], ways[i].how)) {
			ways[i].run();
			return 0;
		}
	return 2;
}
