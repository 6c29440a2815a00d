/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core trail pthread */
/*
 * fuzz_plan SECONDS [SEED]: a daemon that means harm. An application (this program again) hits its
 * tracepoints without end; the daemon changes its state words all the time and answers with plans
 * that are good, or have some bytes wrong, or are nonsense: regions whose header lies, filter
 * programs of random words, contexts that do not exist, wrong counts, wrong seals, no answer; and
 * writes random numbers into the rings and programs while they are in use. The application has to
 * live, and to end as it would without.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tracer/abi/app.h"
#include "tracer/base/filter/filter.h"
#include "tracer/abi/filter_interp.h"
#include "tracer/base/ring/ring.h"

#include <trail/trail.h>

static char dir[64];
static uint64_t state = 88172645463325252u;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static bool one_in(unsigned int n)
{
	return rnd() % n == 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the application ---- */

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static void *hits(void *arg)
{
	static const char *const words[] = { "", "a", "word", "a word of more than sixteen bytes",
					     "(null)" };
	static char large[70000];
	int n = (int)(intptr_t)arg;

	memset(large, 'l', sizeof(large) - 1);
	while (!stop) {
		unsigned char bytes[20] = { (unsigned char)n };
		double half = n / 2.0;
		const char *word = words[(unsigned int)n % 5];

		TRAIL(fuzz, int, n);
		TRAIL(fuzz, mixed, n, word, half, TRAIL_BYTES(bytes, bytes, (unsigned int)n % 20));
		TRAIL(fuzz, none);
		if (n % 64 == 0)
			TRAIL(fuzz, large, large);
		n++;
	}
	return NULL;
}

static int application(void)
{
	pthread_t t[3];

	signal(SIGTERM, on_term);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, hits, (void *)(intptr_t)i))
			return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}

/* ---- the daemon ---- */

#define REGIONS 4
static struct region *regions[REGIONS];

static struct region *new_region(void)
{
	struct region_geometry geo = {
		.mode = one_in(2) ? TRAIL_MODE_DISCARD : TRAIL_MODE_OVERWRITE,
		.kind = one_in(4) ? TRAIL_RINGS_THREAD : TRAIL_RINGS_CPU,
		.ring_count = 4,
		.subbuf_count = 2u << rnd() % 3,
		.subbuf_size = 4096u << rnd() % 3,
		.switch_count = 64,
		.clock_mult = one_in(4) ? 0 : UINT64_C(1) << 32,
	};
	struct region *r = NULL;

	if (region_create(&geo, rnd() | 1, &r))
		exit(3);
	for (uint32_t id = 0; id < 64; id++)
		region_switch(r, id, (uint8_t)(1 + rnd() % 3));
	return r;
}

static void scribble(uint8_t *at, size_t size, unsigned int times)
{
	while (times--) {
		uint64_t v = one_in(3)   ? rnd()
			     : one_in(2) ? rnd() % 70000
					 : (uint64_t) - (int64_t)(rnd() % 16);
		size_t n = (size_t[]){ 1, 2, 4, 8 }[rnd() % 4];

		if (n <= size)
			memcpy(at + rnd() % (size - n + 1), &v, n);
	}
}

static size_t put_program(uint8_t *to, size_t room)
{
	static const char *const texts[] = {
		"n < 0",
		"n >= 5 && n != 7",
		"word == \"a*\"",
		"word == \"*e*\" || half > 3",
		"bytes[3] == 0",
		"!(n & 3)",
		"$ctx.procname == \"fuzz*\" && $ctx.vtid > 3",
		"$app.x:y == 3 || n > 3",
		"missing == 1 || n << 2 == 8",
	};
	static const char strings[] = "n\0word\0half\0bytes";
	static const struct trail_reg_field fields[] = {
		{ .name = 0, .kind = TRAIL_KIND_INT, .size = 4, .flags = TRAIL_FIELD_SIGNED },
		{ .name = 2, .kind = TRAIL_KIND_STRING },
		{ .name = 7, .kind = TRAIL_KIND_FLOAT, .size = 8 },
		{ .name = 12, .kind = TRAIL_KIND_SEQUENCE, .size = 1, .length = 4 },
	};
	const struct filter_event e = { .fields = fields, .field_count = 4, .strings = strings };
	struct md_buf out = MD_BUF_INIT;
	struct filter *f = NULL;
	struct tr_err err = { 0 };
	size_t n = 0;

	if (one_in(4)) {        /* random words of good shape */
		n = 16 * (2 + rnd() % 12);
		for (size_t i = 0; i < n; i += 16)
			filter_put_word(to + i,
					(struct filter_word){
						.op = (uint8_t)(rnd() % (FILTER_OPS + 1)),
						.flag = (uint8_t)(one_in(3) ? rnd() : rnd() % 4),
						.jump = (uint16_t)(one_in(3) ? 0xfffe + rnd() % 2
									     : rnd() % 4),
						.at = (uint32_t)(rnd() % 64),
						.a = (uint32_t)(one_in(4) ? rnd() : rnd() % 256),
						.b = (uint32_t)(one_in(4) ? rnd() : rnd() % 64) });
		if (!one_in(4))
			filter_put_word(to, (struct filter_word){ .op = FILTER_HEADER,
								  .at = (uint32_t)(n / 16),
								  .a = FILTER_VERSION });
	} else if (filter_parse(SCAN(texts[rnd() % (sizeof(texts) / sizeof(texts[0]))], 0, &err),
				DOMAIN_USER, &f) == 0 &&
		   filter_compile((const struct filter *const *)&f, 1, &e, &out) == 0 &&
		   out.len <= room) {
		n = out.len;
		memcpy(to, out.data, n);
	}
	filter_put(f);
	md_buf_deinit(&out);
	if (n && one_in(3))
		scribble(to, n, 1 + (unsigned int)(rnd() % 4));
	return n;
}

/* A plan of the first regions, as good as it gets. */
static size_t put_plan(uint8_t *plan, size_t room, uint32_t objects, uint32_t region_count)
{
	struct trail_plan *head = (struct trail_plan *)plan;
	struct trail_plan_region *r = (struct trail_plan_region *)(head + 1);
	struct trail_plan_context *c = (struct trail_plan_context *)(r + region_count);
	uint32_t contexts = (uint32_t)(rnd() % 6), slots = 0;
	struct trail_plan_slot *s = (struct trail_plan_slot *)(c + contexts);
	uint8_t *blob;
	size_t used = 0;

	*head = (struct trail_plan){
		.magic = TRAIL_PLAN_MAGIC,
		.version = TRAIL_ABI_VERSION,
		.region_count = region_count,
		.context_count = contexts,
		.statedump = rnd() % 3,
	};
	for (uint32_t i = 0; i < region_count; i++)
		r[i] = (struct trail_plan_region){
			.key = regions[i]->key,
			.size = regions[i]->size,
			.blocking = one_in(2) ? 0 : rnd(),
			.flags = (uint32_t)(rnd() % 2),
			.first_context = 0,
			.context_count = one_in(2) ? contexts : 0,
		};
	for (uint32_t i = 0; i < contexts; i++)
		c[i] = (struct trail_plan_context){
			.kind = 1 + (uint32_t)(rnd() % (TRAIL_CONTEXT_KINDS - 1)),
			.perf_type = (uint32_t)(rnd() % 3),
			.perf_config = rnd() % 8,
		};
	for (uint32_t o = 0; o < objects; o++)
		for (uint32_t e = 0; e < 4; e++)
			for (uint32_t i = 0; i < region_count; i++)
				if (!one_in(3))
					s[slots++] = (struct trail_plan_slot){
						.object = (uint16_t)o,
						.region = (uint16_t)i,
						.event = e,
						.id = (uint32_t)(rnd() % 64),
						.word = (uint32_t)(1 + rnd() % 254),
						.on = (uint8_t)(1 + rnd() % 3),
					};
	head->slot_count = slots;
	blob = (uint8_t *)(s + slots);
	memcpy(blob, "x:y\0\0\0\0", 8);
	used = 8;
	for (uint32_t i = 0; i < slots; i++)
		if (one_in(2)) {
			s[i].program = (uint32_t)used;
			s[i].program_size = (uint32_t)put_program(
				blob + used, (size_t)(plan + room - blob) - used);
			used += s[i].program_size;
		}
	head->blob_size = (uint32_t)used;
	return (size_t)(blob + used - plan);
}

static int attach_reply_fd(const uint8_t *plan, size_t size)
{
	int fd = memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, plan, size) != (ssize_t)size)
		exit(3);
	if (!one_in(20))
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	return fd;
}

static void answer(int conn, uint32_t objects)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * (REGIONS + 1))];
		struct cmsghdr align;
	} control = { 0 };
	static uint8_t plan[1 << 20] __attribute__((aligned(8)));
	uint32_t n = 1 + (uint32_t)(rnd() % REGIONS);
	struct trail_answer a = { .magic = TRAIL_ANSWER_MAGIC, .region_count = n };
	struct iovec iov[] = { { &a, sizeof(a) }, { plan, 0 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 1, .msg_control = control.buf,
			      .msg_controllen = CMSG_SPACE(sizeof(int) * (n + 1)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fds[REGIONS + 1];
	bool within = one_in(2); /* the plan is in the message */
	size_t size;

	for (uint32_t i = 0; i < REGIONS; i++)
		if (one_in(10)) {
			region_put(regions[i]);
			regions[i] = new_region();
			if (one_in(3))  /* the header lies */
				scribble(regions[i]->map, sizeof(struct trail_region),
					 1 + (unsigned int)(rnd() % 3));
		}
	size = put_plan(plan, sizeof(plan), objects, n);
	if (one_in(3))
		scribble(plan,
			 one_in(2)
				 ? size
				 : sizeof(struct trail_plan) + n * sizeof(struct trail_plan_region),
			 1 + (unsigned int)(rnd() % 4));
	a.plan_size = (uint32_t)(one_in(30) ? rnd() : size);
	fds[0] = attach_reply_fd(plan, one_in(30) ? size / 2 : size);
	for (uint32_t i = 0; i < n; i++)
		fds[i + 1] = one_in(60) ? fds[0] : regions[i]->fd;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	if (within) {
		iov[1].iov_len = one_in(30) ? size / 2 : size;
		msg.msg_iovlen = 2;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n);
	}
	c->cmsg_len = CMSG_LEN(sizeof(int) * (n + !within));
	memcpy(CMSG_DATA(c), fds + within, sizeof(int) * (n + !within));
	if (one_in(30))
		scribble((uint8_t *)&a, sizeof(a), 1);
	sendmsg(conn, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fds[0]);
}

/* New state words in all registrations. */
static void change_words(void)
{
	char path[128];
	struct trail_reg reg;
	struct dirent *d;
	DIR *apps;

	snprintf(path, sizeof(path), "%s/apps", dir);
	apps = opendir(path);
	while (apps && (d = readdir(apps))) {
		uint32_t words[64];
		int fd;

		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/apps/%.48s", dir, d->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && pread(fd, &reg, sizeof(reg), 0) == sizeof(reg) &&
		    reg.event_count <= 64) {
			for (uint32_t i = 0; i < reg.event_count; i++)
				words[i] =
					one_in(5) ? 0
						  : (uint32_t)(one_in(9) ? rnd() : 1 + rnd() % 255);
			if (pwrite(fd, words, 4 * reg.event_count, reg.state_offset) < 0)
				exit(3);
		}
		if (fd >= 0)
			close(fd);
	}
	if (apps)
		closedir(apps);
}

/* Random numbers into rings in use: control blocks, switch bytes, events. */
static void disturb(void)
{
	struct region *r = regions[rnd() % REGIONS];

	if (one_in(4))
		region_switch(r, (uint32_t)(rnd() % 64), (uint8_t)(rnd() % 4));
	if (one_in(8))
		scribble((uint8_t *)region_ring(r, (uint32_t)(rnd() % r->geo.ring_count)),
			 r->data_offset, 1);
	if (one_in(4))  /* room again, as a reader would make it */
		__atomic_store_n(&region_ring(r, 0)->consumed, region_ring(r, 0)->head,
				 __ATOMIC_RELEASE);
}

static long serve(int listener, pid_t app, double until)
{
	uint8_t hello[sizeof(struct trail_hello) + TRAIL_OBJECT_MAX * 16];
	long answers = 0;

	/* (At least one answer, however slow the machine is) */
	while (now() < until || (!answers && now() < until + 300)) {
		struct pollfd p = { .fd = listener, .events = POLLIN };
		int conn, status;
		ssize_t n;

		if (waitpid(app, &status, WNOHANG) == app) {
			printf("# the application ended: status 0x%x, after %ld answers\n", status,
			       answers);
			return -1;
		}
		change_words();
		disturb();
		if (poll(&p, 1, 2) <= 0)
			continue;
		conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (conn < 0)
			continue;
		p = (struct pollfd){ .fd = conn, .events = POLLIN };
		n = poll(&p, 1, 20) > 0 ? recv(conn, hello, sizeof(hello), MSG_DONTWAIT) : -1;
		for (int i = 0; one_in(4) && i < 3; i++) {
			const struct trail_answer life = { .magic = TRAIL_ALIVE_MAGIC };

			send(conn, &life, sizeof(life), MSG_NOSIGNAL | MSG_DONTWAIT);
			usleep((useconds_t)(rnd() % 9000));
		}
		if (n >= (ssize_t)sizeof(struct trail_hello) && !one_in(50)) {
			if (one_in(8))
				usleep(15000);  /* late */
			answer(conn, ((struct trail_hello *)hello)->object_count);
			answers++;
		}
		close(conn);
	}
	return answers;
}

static int listen_here(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char path[128];

	snprintf(path, sizeof(path), "%s/apps", dir);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/socket", dir);
	if (mkdir(path, 01777) || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(fd, 64))
		exit(3);
	return fd;
}

static void remove_all(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command))
		printf("# cannot remove %s\n", dir);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	int listener, status = 0;
	long answers;
	pid_t app;

	if (getenv("FUZZ_PLAN_APPLICATION"))
		return application();
	if (argc > 2)
		state = strtoull(argv[2], NULL, 0) | 1;
	else
		state ^= (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid();
	printf("# seed %llu\n", (unsigned long long)state);
	fflush(stdout);
	strcpy(dir, "/tmp/fuzz_plan.XXXXXX");
	if (!mkdtemp(dir))
		return 3;
	listener = listen_here();
	for (int i = 0; i < REGIONS; i++)
		regions[i] = new_region();
	app = fork();
	if (app == 0) {
		setenv("TRAIL_RUNTIME_DIR", dir, 1);
		setenv("FUZZ_PLAN_APPLICATION", "1", 1);
		setenv("TRAIL_ALLOW_BLOCKING", "1", 1);
		execl("/proc/self/exe", argv[0], (char *)NULL);
		_exit(127);
	}
	answers = serve(listener, app, now() + seconds);
	close(listener);
	if (answers >= 0) {
		kill(app, SIGTERM);
		for (int i = 0; i < 20000 && waitpid(app, &status, WNOHANG) == 0; i++) {
			usleep(10000);
			if (i == 19999) {
				printf("# the application does not end\n");
				kill(app, SIGABRT);
				answers = -1;
			}
		}
		if (status)
			printf("# the application ended: status 0x%x\n", status);
	}
	for (int i = 0; i < REGIONS; i++)
		region_put(regions[i]);
	remove_all();
	printf("# %ld answers\n%s\n", answers, answers > 0 && !status ? "ok" : "not ok");
	return answers > 0 && !status ? 0 : 1;
}
