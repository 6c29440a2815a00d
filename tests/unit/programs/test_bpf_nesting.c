/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * Programs that interrupt each other while they record, and a reader beside them, in both loss
 * modes. Threads make calls with ascending numbers as fast as they can, and timers interrupt them,
 * whose events are recorded as well. No record is invalid, no time goes back on a CPU, no call is
 * there twice, and those that are missing were counted as lost. CALLS: how many (10^6; SOAK: 10^7).
 */
#include <fcntl.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/kernel/kevent/ring_page.h"
#include "tracer/kernel/programs/bpf.h"

enum { THREADS = 3, FIRST = -2000000000, CPUS_MAX = 1024 };

static const char *const interrupts[][2] = {
	{ "irq_vectors", "local_timer_entry" }, { "irq_vectors", "local_timer_exit" },
	{ "timer", "hrtimer_expire_entry" }, { "timer", "hrtimer_expire_exit" },
	{ "timer", "hrtimer_start" }, { "irq", "softirq_entry" }, { "irq", "softirq_exit" },
	{ "sched", "sched_switch" }, { "sched", "sched_waking" }, { "signal", "signal_generate" },
};

static char missing[300];
static struct backend b = { .dir = -1 };
static struct bpf_source call;
static uint16_t ids[16];
static uint32_t id_count;
static long calls = 1000000;

static struct {
	pthread_t thread;
	uint32_t tid;
	uint64_t made, seen;
	uint8_t *bits;                  /* of each number: whether it was read */
} writers[THREADS];

static struct {
	uint64_t records, invalid, back, twice, before[CPUS_MAX];
} got;

static bool done;

static void prepare(void)
{
	struct tr_err err = TR_ERR_INIT;
	struct stat st;

	pthread_mutex_init(&b.lock, NULL);
	if (getenv("SOAK"))
		calls = 10000000;
	if (getenv("CALLS") && atol(getenv("CALLS")) > 0)
		calls = atol(getenv("CALLS"));
	if (bpf_supported(&err)) {
		snprintf(missing, sizeof(missing), "%s", err.sentence);
		return;
	}
	b.dir = open("/sys/kernel/tracing", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	b.texts = tracefs_texts_create("test_bpf");
	if (stat("/proc/self/ns/pid", &st) || st.st_ino != 0xeffffffc)
		strcpy(missing, "in a PID namespace, whose numbers the records do not have");
	else if (b.dir < 0)
		strcpy(missing, "there is no tracefs");
	else if (bpf_source_find(&b, "syscalls", "sys_enter_close", true, &call, NULL))
		strcpy(missing, "programs do not record system calls here");
}

static void nothing(int sig)
{
	(void)sig;
}

static void *write_calls(void *arg)
{
	const struct itimerspec often = { { 0, 500000 }, { 0, 500000 } };
	size_t n = (size_t)(uintptr_t)arg;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;

	__atomic_store_n(&writers[n].tid, (uint32_t)gettid(), __ATOMIC_RELEASE);
	if (!timer_create(CLOCK_MONOTONIC, &event, &timer))
		timer_settime(timer, 0, &often, NULL);
	for (long i = 0; i < calls / THREADS; i++) {
		/* No such descriptor: the number is all that matters. */
		syscall(SYS_close, FIRST + i);
		__atomic_store_n(&writers[n].made, (uint64_t)i + 1, __ATOMIC_RELAXED);
	}
	timer_delete(timer);
	return NULL;
}

static bool is_enabled(uint16_t id)
{
	for (uint32_t i = 0; i < id_count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static void show_invalid(uint32_t cpu, const struct bpf_entry *e, const uint8_t *record)
{
	if (got.invalid++ >= 5)
		return;
	printf("# invalid on CPU %u at %llu: %u bytes:", cpu, (unsigned long long)e->time, e->len);
	for (uint32_t i = 0; i < e->len && i < 64; i++)
		printf(" %02x", record[i]);
	printf("\n");
}

static void check_record(uint32_t cpu, const struct bpf_entry *e, const uint8_t *record)
{
	uint64_t whole;         /* the argument's register */
	int32_t number;
	size_t n = 0;

	got.records++;
	got.back += e->time < got.before[cpu];
	got.before[cpu] = e->time;
	if (!is_enabled(krecord_id(record)) || e->len < KRECORD_HEADER + 4) {
		show_invalid(cpu, e, record);
		return;
	}
	if (krecord_id(record) != (uint16_t)call.id)
		return;
	while (n < THREADS && (int32_t)writers[n].tid != krecord_pid(record))
		n++;
	memcpy(&whole, record + BPF_CALL_FIXED, sizeof(whole));
	number = (int32_t)whole;
	if (n == THREADS || e->len != BPF_CALL_FIXED + 8 || number < FIRST ||
	    (uint64_t)(number - FIRST) > __atomic_load_n(&writers[n].made, __ATOMIC_RELAXED)) {
		show_invalid(cpu, e, record);
		return;
	}
	number -= FIRST;
	got.twice += writers[n].bits[number / 8] >> number % 8 & 1;
	writers[n].bits[number / 8] |= (uint8_t)(1u << number % 8);
	writers[n].seen++;
}

static void read_ring(struct bpf_channel *c, uint32_t cpu)
{
	struct md_buf *r = &c->ring.records;
	struct bpf_entry e;

	md_buf_reset(r);
	CHECK(!bpf_ring_collect(&c->ring, cpu));
	for (size_t at = 0; at < r->len; at += bpf_entry_size(&e)) {
		memcpy(&e, r->data + at, sizeof(e));
		check_record(cpu, &e, (const uint8_t *)r->data + at + sizeof(e));
	}
}

static void read_all(struct bpf_channel *c)
{
	for (uint32_t cpu = 0; cpu < c->ring.cpus && cpu < CPUS_MAX; cpu++)
		read_ring(c, cpu);
}

static void *read_rings(void *arg)
{
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
		read_all(arg);
	return NULL;
}

static void enable_all(struct bpf_channel *c)
{
	struct bpf_source s;
	char key[120];

	c->whole = true;
	CHECK(!bpf_channel_enable(c, "syscalls:sys_enter_close", &call, NULL));
	/*
	 * FIRST and what follows it: calls of others are left out, with descriptors that are open,
	 * and with an address in place of one.
	 */
	CHECK(!bpf_channel_filter(c, "syscalls:sys_enter_close",
				  "fd >= 2294967296 && fd < 2394967296"));
	ids[0] = (uint16_t)call.id;
	id_count = 1;
	for (size_t i = 0; i < sizeof(interrupts) / sizeof(*interrupts); i++) {
		snprintf(key, sizeof(key), "%s:%s", interrupts[i][0], interrupts[i][1]);
		if (bpf_source_find(&b, interrupts[i][0], interrupts[i][1], true, &s, NULL) ||
		    bpf_channel_enable(c, key, &s, NULL))
			continue;
		ids[id_count++] = (uint16_t)s.id;
	}
}

static struct bpf_channel *create(bool overwrite)
{
	const struct backend_geometry g = {
		.bytes = 1 << 18, .cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.by = BACKEND_BPF, .overwrite = overwrite,
	};
	static char name[80];
	struct bpf_channel *c = NULL;

	snprintf(name, sizeof(name), "trailfs-nesting-%d", getpid());
	CHECK(!bpf_channel_create(&b, name, &g, &c));
	return c;
}

/* What the rings say is what was read and what was lost. */
static void check_counts(struct bpf_channel *c)
{
	uint64_t events = 0, nested = 0, lost = bpf_misses(c), made = 0, seen = 0;
	uint64_t overwritten = 0;
	struct source_counts losses;

	for (uint32_t cpu = 0; cpu < c->ring.cpus; cpu++) {
		for (int level = 0; level < BPF_LEVELS; level++) {
			const struct kring *r = c->ring.readers[cpu * BPF_LEVELS + level].ring;

			events += r->events;
			nested += level ? r->events : 0;
		}
		CHECK(!bpf_ring_control(&c->ring, cpu)->levels[0].ring.nest);
		bpf_ring_lost(&c->ring, cpu, &losses);
		overwritten += losses.overwritten;
		lost += losses.discarded + losses.overwritten;
	}
	for (size_t n = 0; n < THREADS; n++) {
		made += writers[n].made;
		seen += writers[n].seen;
	}
	printf("# %llu records, %llu of them in interrupts of programs, %llu lost\n",
	       (unsigned long long)events, (unsigned long long)nested, (unsigned long long)lost);
	CHECK(events == got.records + overwritten);
	CHECK(seen <= made && made - seen <= lost);
	printf("# %llu invalid, %llu back in time, %llu twice\n", (unsigned long long)got.invalid,
	       (unsigned long long)got.back, (unsigned long long)got.twice);
	CHECK(!got.invalid && !got.back && !got.twice);
}

static void run(bool overwrite)
{
	struct bpf_channel *c;
	pthread_t reader;

	if (*missing)
		SKIP(missing);
	signal(SIGUSR1, nothing);
	memset(&got, 0, sizeof(got));
	memset(writers, 0, sizeof(writers));
	for (size_t n = 0; n < THREADS; n++) {
		writers[n].bits = calloc(1, (size_t)calls / 8 + 1);
		CHECK(writers[n].bits);
	}
	done = false;
	c = create(overwrite);
	pthread_mutex_lock(&c->lock);
	enable_all(c);
	c->on = true;
	bpf_channel_set(c);
	for (size_t n = 0; n < THREADS; n++)
		CHECK(!pthread_create(&writers[n].thread, NULL, write_calls, (void *)(uintptr_t)n));
	CHECK(!pthread_create(&reader, NULL, read_rings, c));
	for (size_t n = 0; n < THREADS; n++)
		pthread_join(writers[n].thread, NULL);
	c->on = false;
	bpf_channel_set(c);
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);
	/* A program that has seen that the channel was on ends before this returns. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	read_all(c);
	check_counts(c);
	pthread_mutex_unlock(&c->lock);
	bpf_channel_free(c, true);
	for (size_t n = 0; n < THREADS; n++)
		free(writers[n].bits);
}

static void discards(void)
{
	run(false);
}

static void overwrites(void)
{
	run(true);
}

int main(void)
{
	prepare();
	CASE(discards);
	CASE(overwrites);
	tracefs_texts_destroy(&b);
	if (b.dir >= 0)
		close(b.dir);
	return test_summary();
}
