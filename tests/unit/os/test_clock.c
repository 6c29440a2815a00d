/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/base/os/clock.h"
#include "tracer/base/os/state_file.h"

static char dir[300];

static void new_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/clock.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(dir) != NULL);
}

static int64_t now(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* How far the clock is ahead of a system clock: the tightest of many looks. */
static int64_t ahead(const struct clock *c, clockid_t id)
{
	int64_t best = 0, width = INT64_MAX;
	int i;

	for (i = 0; i < 1000; i++) {
		int64_t before = (int64_t)clock_now(c), other = now(id),
			after = (int64_t)clock_now(c);

		if (after - before < width) {
			width = after - before;
			best = before + width / 2 - other;
		}
	}
	return best;
}

static void runs_with_the_system(void)
{
	struct clock c;
	struct md_buf text = MD_BUF_INIT;
	int64_t begin, first, last, real, took = INT64_MAX;
	uint64_t a, b;
	int i;

	/* The quickest of some: other programs may have the CPU meanwhile. */
	for (i = 0; i < 20 && took >= 500000000; i++) {
		begin = now(CLOCK_MONOTONIC);
		CHECK(!clock_open(&c, NULL));
		took = now(CLOCK_MONOTONIC) - begin;
	}
	CHECK(took < 500000000);
	first = ahead(&c, CLOCK_MONOTONIC);
	real = ahead(&c, CLOCK_REALTIME) + (int64_t)c.offset;
	usleep(1000000);
	last = ahead(&c, CLOCK_MONOTONIC);
	clock_describe(&c, &text);
	printf("# %s# opened in %.3f ms; ahead of CLOCK_MONOTONIC by %lld ns, one second later by "
	       "%lld ns; of "
	       "CLOCK_REALTIME by %lld ns\n",
	       md_buf_str(&text), (double)took / 1e6, (long long)first, (long long)last,
	       (long long)real);
	md_buf_deinit(&text);
	CHECK(llabs(first) < 20000 && llabs(real) < 20000);
	/* 1 ppm of a second is 1000 ns; a virtual machine or a slew of NTP may do worse. */
	CHECK(llabs(last - first) < 20000);
	for (i = 0, a = clock_now(&c); i < 100000; i++, a = b) {
		b = clock_now(&c);
		CHECK(b >= a);
	}
}

static void second_open_is_identical(void)
{
	struct clock a, b;
	struct stat st;
	int d;

	new_dir();
	CHECK(!clock_open(&a, dir) && !clock_open(&b, dir));
	CHECK(!memcmp(&a, &b, sizeof(a)));
	d = open(dir, O_PATH | O_DIRECTORY);
	CHECK(!fstatat(d, "clock", &st, 0) && (st.st_mode & 0777) == 0600);
	close(d);
	state_file_remove(AT_FDCWD, dir);
}

/*
 * A measurement may well come out the same to the nanosecond: what tells is that the file was
 * written anew.
 */
static bool measured_after(const char *text)
{
	struct clock a, b, c;
	char now_there[512] = "";
	int d = open(dir, O_PATH | O_DIRECTORY), fd;

	CHECK(!clock_open(&a, dir));
	CHECK(!state_file_write(d, "clock", text, strlen(text)));
	CHECK(!clock_open(&b, dir));
	fd = openat(d, "clock", O_RDONLY);
	CHECK(fd >= 0 && read(fd, now_there, sizeof(now_there) - 1) > 0);
	close(fd);
	close(d);
	CHECK(!memcmp(a.uuid, b.uuid, 16));
	CHECK(llabs(ahead(&b, CLOCK_MONOTONIC)) < 50000);
	CHECK(!clock_open(&c, dir) && !memcmp(&b, &c, sizeof(b)));
	return strcmp(now_there, text);
}

static void bad_files_are_measured_anew(void)
{
	char text[256], boot[40] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY);
	struct clock c;

	if (fd < 0 || read(fd, boot, 36) != 36)
		SKIP("no boot id");
	close(fd);
	new_dir();
	CHECK(measured_after(""));
	CHECK(measured_after("boot_id x\nmult 1\nbase 1\noffset 1\n"));
	CHECK(measured_after(
		"boot_id 01234567-0123-0123-0123-012345678901\nmult 0\nbase 0\noffset 1\n"));
	/* Of this boot, but no such clock is running. */
	snprintf(text, sizeof(text),
		 "boot_id %s\nmult 1717986918\nbase 4611686018427387904\noffset 1\n", boot);
	CHECK(measured_after(text));
	snprintf(text, sizeof(text), "boot_id %s\nmult 1\nbase 0\noffset 1\n", boot);
	CHECK(measured_after(text));
	CHECK(!clock_open(&c, "/no/such/directory") && c.offset);
	state_file_remove(AT_FDCWD, dir);
}

static void monotonic_when_forced(void)
{
	struct clock a, b;
	struct md_buf text = MD_BUF_INIT;

	new_dir();
	CHECK(!clock_open(&a, dir));
	setenv("TRAILFS_CLOCK", "monotonic", 1);
	CHECK(!clock_open(&a, dir) && !a.mult && !a.base);
	CHECK(!clock_open(&b, dir) && !memcmp(&a, &b, sizeof(a)));
	CHECK(llabs(ahead(&a, CLOCK_MONOTONIC)) < 50000000);
	clock_describe(&a, &text);
	CHECK(!strncmp(md_buf_str(&text), "clock monotonic", 15));
	/* The file of this boot continues to count without being forced. */
	unsetenv("TRAILFS_CLOCK");
	CHECK(!clock_open(&b, dir) && !memcmp(&a, &b, sizeof(a)));
	md_buf_deinit(&text);
	state_file_remove(AT_FDCWD, dir);
}

int main(void)
{
	CASE(runs_with_the_system);
	CASE(second_open_is_identical);
	CASE(bad_files_are_measured_anew);
	CASE(monotonic_when_forced);
	return test_summary();
}
