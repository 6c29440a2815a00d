/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the trace clock's constants are measured.
 *
 * Rate. The mmap page of any perf event has the kernel's factor for the TSC, exact to 2^-31.
 * Without perf the rate is measured against CLOCK_MONOTONIC_RAW, which the kernel computes with the
 * same factor. The corrections that NTP gave the kernel (adjtimex: frequency and tick, not
 * temporary slews) are added, so that the trace stays near CLOCK_MONOTONIC for days.
 *
 * Base. CLOCK_MONOTONIC is read between two readings of the TSC; the closest pair of many tries is
 * exact to about 10 ns.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "tracer/base/os/clock.h"
#include "tracer/base/os/state_file.h"

enum {
	BRACKETS = 400,         /* tries to read two clocks at once */
	BRACKETS_QUICK = 20,    /* the same where it must not take long */
	MEASURE_NS = 80 * 1000 * 1000,
	CHECK_NS = 5 * 1000 * 1000,
	FILE_MAX = 4096,
};

#define NS_PER_S UINT64_C(1000000000)
/* Valid multipliers of a TSC: 20 MHz to 20 GHz. */
#define MULT_MIN ((UINT64_C(1) << 32) / 20)
#define MULT_MAX ((UINT64_C(1) << 32) * 50)

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

#if defined(__x86_64__)
/* The fences keep the reading in program order. */
static uint64_t tsc(void)
{
	uint64_t t;

	_mm_lfence();
	t = __rdtsc();
	_mm_lfence();
	return t;
}

static bool tsc_is_good(void)
{
	char name[16] = "";
	int fd = open(CLOCKSOURCE, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, name, sizeof(name) - 1);
	close(fd);
	return n > 0 && !strcmp(name, "tsc\n");
}
#else
static uint64_t tsc(void)
{
	return 0;
}

static bool tsc_is_good(void)
{
	return false;
}
#endif

uint64_t clock_now(const struct clock *c)
{
	if (c->stands)
		return c->stands;
	return c->mult ? multiply_shift(tsc(), c->mult) + c->base : read_clock(CLOCK_MONOTONIC);
}

struct pair {
	uint64_t tsc, ns;
};

/* Reads the TSC and a clock at the same instant. */
static struct pair read_pair(clockid_t id, int tries)
{
	struct pair best = { 0, 0 };
	uint64_t width = UINT64_MAX;
	int i;

	for (i = 0; i < tries; i++) {
		uint64_t before = tsc(), ns = read_clock(id), after = tsc();

		if (after - before < width) {
			width = after - before;
			best = (struct pair){ before + width / 2, ns };
		}
	}
	return best;
}

void clock_read_pair(uint64_t *cycles, uint64_t *mono)
{
	struct pair now = read_pair(CLOCK_MONOTONIC, BRACKETS_QUICK);

	*cycles = now.tsc;
	*mono = now.ns;
}

/*
 * Copies the factor from the page, which the kernel may change meanwhile. The fences pair with the
 * kernel's updates of page->lock. False: the page has no factor.
 */
static bool read_page(const volatile struct perf_event_mmap_page *page, uint64_t *mult)
{
	int tries;

	for (tries = 0; tries < 1000; tries++) {
		uint32_t seq = page->lock, time_mult, shift;
		bool given;

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		time_mult = page->time_mult;
		shift = page->time_shift;
		given = page->cap_user_time && page->cap_user_time_zero;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (page->lock != seq || (seq & 1))
			continue;
		if (!given || shift > 63 || !time_mult)
			return false;
		/* ns = cycles * time_mult >> shift */
		*mult = shift <= 32 ? (uint64_t)time_mult << (32 - shift)
				    : (uint64_t)time_mult >> (shift - 32);
		return true;
	}
	return false;
}

static bool rate_of_kernel(uint64_t *mult)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1, .exclude_hv = 1, .disabled = 1,
	};
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	void *page;
	bool ok;

	if (fd < 0)
		return false;
	page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return false;
	ok = read_page(page, mult);
	munmap(page, size);
	return ok;
}

/* Measures the rate for `ns` nanoseconds, exact to about 20 ns. 0: a clock went backwards. */
static uint64_t rate_measured(long ns)
{
	const struct timespec pause = { .tv_nsec = ns };
	struct pair first = read_pair(CLOCK_MONOTONIC_RAW, BRACKETS), last;

	nanosleep(&pause, NULL);
	last = read_pair(CLOCK_MONOTONIC_RAW, BRACKETS);
	if (last.tsc <= first.tsc || last.ns <= first.ns)
		return 0;
	return multiply_divide(last.ns - first.ns, UINT64_C(1) << 32, last.tsc - first.tsc);
}

/* The kernel's factor if a short measurement confirms it, else a measured factor. */
static uint64_t rate(void)
{
	uint64_t mult, seen;

	if (rate_of_kernel(&mult)) {
		seen = rate_measured(CHECK_NS);
		if ((mult > seen ? mult - seen : seen - mult) < seen / 10000)
			return mult;
	}
	return rate_measured(MEASURE_NS);
}

/* How much faster than CLOCK_MONOTONIC_RAW CLOCK_MONOTONIC runs, in units of 2^-32. */
static int64_t rate_by_ntp(void)
{
	struct timex t = { .modes = 0 };
	int64_t tick, freq;

	if (adjtimex(&t) < 0)
		return 0;
	/*
	 * Unit of tick: 1/10000 of the nominal 10000 us; of freq: 2^-16 ppm. The kernel bounds them
	 * at 10 % and 500 ppm.
	 */
	tick = ((int64_t)t.tick - 10000) * (INT64_C(1) << 32) / 10000;
	freq = (int64_t)t.freq * (INT64_C(1) << 16) / 1000000;
	return tick + freq;
}

static uint64_t rate_for_trace(void)
{
	uint64_t mult = rate();
	int64_t faster = rate_by_ntp();

	mult += faster < 0 ? -multiply_shift(mult, -(uint64_t)faster)
			   : multiply_shift(mult, (uint64_t)faster);
	return mult >= MULT_MIN && mult <= MULT_MAX ? mult : 0;
}

uint64_t clock_measure_offset(const struct clock *c, clockid_t id)
{
	uint64_t best = 0, width = UINT64_MAX;
	int i;

	for (i = 0; i < BRACKETS; i++) {
		uint64_t before = clock_now(c), real = read_clock(id),
			 after = clock_now(c);

		if (after - before < width) {
			width = after - before;
			best = real - (before + width / 2);
		}
	}
	return best;
}

static void measure_clock(struct clock *c, bool use_tsc)
{
	c->mult = use_tsc ? rate_for_trace() : 0;
	c->base = 0;
	if (c->mult) {
		struct pair p = read_pair(CLOCK_MONOTONIC, BRACKETS);

		c->base = p.ns - multiply_shift(p.tsc, c->mult);
	}
	c->offset = clock_measure_offset(c, CLOCK_REALTIME);
}

/* "92803caf-990c-4d36-b943-4c149e0cc4e0"; without /proc: all zero. */
static void read_boot_id(char id[37])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	memset(id, 0, 37);
	if (fd >= 0) {
		n = read(fd, id, 36);
		close(fd);
	}
	if (n != 36)
		strcpy(id, "00000000-0000-0000-0000-000000000000");
}

/* The boot id is a UUID and valid as long as the clock; LTTng uses it for the same purpose. */
static bool parse_uuid(const char *text, uint8_t uuid[16])
{
	bool any = false;
	int i;

	for (i = 0; i < 16; i++) {
		unsigned int byte;

		text += *text == '-';
		if (sscanf(text, "%2x", &byte) != 1)
			return false;
		uuid[i] = (uint8_t)byte;
		any |= byte != 0;
		text += 2;
	}
	return any;
}

/*
 * Checks that stored constants are still valid. They are not if the TSC was reset (suspend, a
 * restored virtual machine) or if the kernel found it unstable. In suspend CLOCK_MONOTONIC stops
 * and the TSC may continue, as CLOCK_BOOTTIME does. NTP may have changed the rate by up to 500 ppm.
 */
static bool is_plausible(const struct clock *c)
{
	uint64_t t, low = read_clock(CLOCK_MONOTONIC), high = read_clock(CLOCK_BOOTTIME),
		    slack = NS_PER_S + high / 1000;

	if (!c->mult)
		return !c->base;
	if (c->mult < MULT_MIN || c->mult > MULT_MAX || !tsc_is_good())
		return false;
	t = clock_now(c);
	return t + slack >= low && t <= high + slack;
}

static bool load_constants(struct clock *c, int dir, char boot[37])
{
	struct md_buf text = MD_BUF_INIT;
	bool ok = !state_file_read(dir, "clock", FILE_MAX, &text) &&
		  sscanf(md_buf_str(&text),
			 "boot_id %36s\nmult %" SCNu64 "\nbase %" SCNu64 "\noffset %" SCNu64 "\n",
			 boot, &c->mult, &c->base, &c->offset) == 4;

	md_buf_deinit(&text);
	return ok;
}

static void save_constants(const struct clock *c, int dir, const char *boot_id)
{
	char text[256];
	int n = snprintf(text, sizeof(text),
			 "boot_id %s\nmult %" PRIu64 "\nbase %" PRIu64 "\noffset %" PRIu64 "\n",
			 boot_id, c->mult, c->base, c->offset);

	/* If this fails, the next daemon measures again. */
	state_file_write(dir, "clock", text, (size_t)n);
}

int clock_open(struct clock *c, const char *state_dir)
{
	const char *forced = getenv("TRAILFS_CLOCK");
	bool monotonic = forced && !strcmp(forced, "monotonic");
	int dir = state_dir ? open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	char boot_id[37], boot[37] = "";

	*c = (struct clock){ 0 };
	read_boot_id(boot_id);
	if (dir < 0 || !load_constants(c, dir, boot) || strcmp(boot, boot_id) != 0 ||
	    !is_plausible(c) || (monotonic && c->mult)) {
		measure_clock(c, !monotonic && tsc_is_good());
		if (dir >= 0)
			save_constants(c, dir, boot_id);
	}
	if (!parse_uuid(boot_id, c->uuid) && getrandom(c->uuid, sizeof(c->uuid), 0) < 0)
		memset(c->uuid, 0, sizeof(c->uuid));
	if (dir >= 0)
		close(dir);
	return 0;
}

void clock_recall(struct clock *c, int state_fd)
{
	char boot[37] = "";

	*c = (struct clock){ 0 };
	if (!load_constants(c, state_fd, boot) || !parse_uuid(boot, c->uuid) ||
	    c->offset > INT64_MAX / 2)
		clock_open(c, NULL);
	c->stands = UINT64_MAX / 8;
}

void clock_describe(const struct clock *c, struct md_buf *out)
{
	if (c->mult) {
		/* kHz = 2^32 * 10^6 / mult */
		uint64_t khz = ((UINT64_C(1) << 32) * 1000000 + c->mult / 2) / c->mult;

		md_buf_printf(out, "clock tsc %" PRIu64 ".%03" PRIu64 " MHz\n", khz / 1000,
			      khz % 1000);
	} else if (tsc_is_good()) {
		md_buf_puts(out, "clock monotonic, requested by TRAILFS_CLOCK\n");
	} else {
		md_buf_printf(out, "clock monotonic, because %s\n",
			      access(CLOCKSOURCE, R_OK) && errno == ENOENT
				      ? "/sys, which names the kernel's clocksource, is not mounted"
				      : "the kernel's clocksource is not the TSC");
	}
}

int64_t wall_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}
