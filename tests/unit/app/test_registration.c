/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registration files that change while the daemon looks at them, that no process holds any more,
 * and counters that cannot be true. This program's fstat removes a file before it answers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/lib/regs.h"
#include "tests/lib/test.h"
#include "tracer/app/registration.h"
#include "tracer/base/os/state_file.h"

static char path[300];
static int dir;
static int remove_at;           /* the call of fstat that finds the file removed; 0: none */

int fstat(int fd, struct stat *st)
{
	if (remove_at && !--remove_at)
		unlinkat(dir, "f", 0);
	return fstatat(fd, "", st, AT_EMPTY_PATH);
}

static int begin(void)
{
	const char *tmp = getenv("TMPDIR");
	struct md_buf file = MD_BUF_INIT;
	struct regs regs;
	int fd;

	snprintf(path, sizeof(path), "%s/registration.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(path) != NULL);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	regs_sample(&regs);
	regs_file(&regs, &file);
	fd = regs_save(dir, "f", file.data, file.len);
	CHECK(!flock(fd, LOCK_EX | LOCK_NB));
	md_buf_deinit(&regs.strings);
	md_buf_deinit(&file);
	return fd;
}

static void end(void)
{
	close(dir);
	state_file_remove(AT_FDCWD, path);
}

static int try_open(const char **reason)
{
	struct registration *r = NULL;
	int err = registration_open(NULL, dir, "f", &r, reason);

	if (!err)
		registration_close(r);
	return err;
}

static void a_file_that_is_removed_meanwhile_is_no_bad_one(void)
{
	const char *reason;

	for (int i = 1; i <= 2; i++) {
		int fd = begin();

		remove_at = i;
		CHECK(try_open(&reason) == -ENOENT && !reason && !remove_at);
		close(fd);
		end();
	}
}

static void a_file_that_is_being_named_is_looked_at_again(void)
{
	const char *reason;
	int fd = begin();

	CHECK(!linkat(dir, "f", dir, ".f", 0));
	CHECK(try_open(&reason) == -EAGAIN && !reason);
	CHECK(!unlinkat(dir, ".f", 0));
	CHECK(!try_open(&reason));
	CHECK(!linkat(dir, "f", dir, "other", 0));
	CHECK(try_open(&reason) == -EBADMSG && reason);
	close(fd);
	end();
}

static void a_file_goes_with_its_lock(void)
{
	int fd = begin();

	CHECK(registration_remove_stale(dir, "f", 0) == -EBUSY);
	close(fd);
	CHECK(registration_remove_stale(dir, "f", 3600) == -EAGAIN);
	CHECK(!registration_remove_stale(dir, "f", 0));
	CHECK(registration_remove_stale(dir, "f", 0) == -ENOENT);
	CHECK(!mkdirat(dir, "f", 0700) && registration_remove_stale(dir, "f", 0) == -EINVAL);
	CHECK(!unlinkat(dir, "f", AT_REMOVEDIR) && !symlinkat("/etc/passwd", dir, "f"));
	CHECK(registration_remove_stale(dir, "f", 0) == -EINVAL);
	end();
}

static void missed_events_are_bounded_by_time(void)
{
	struct registration *r = NULL;
	const char *reason;
	struct timespec boot;
	uint64_t first, up;
	int fd = begin();

	CHECK(!registration_open(NULL, dir, "f", &r, &reason));
	clock_gettime(CLOCK_BOOTTIME, &boot);
	up = (uint64_t)(boot.tv_sec + 1) * 1000000000;
	first = r ? registration_most_missed(r) : 0;
	CHECK(first > 0 && first <= up / 4 * (uint64_t)sysconf(_SC_NPROCESSORS_CONF) + 1);
	registration_close(r);
	close(fd);
	end();
}

int main(void)
{
	CASE(a_file_that_is_removed_meanwhile_is_no_bad_one);
	CASE(a_file_that_is_being_named_is_looked_at_again);
	CASE(a_file_goes_with_its_lock);
	CASE(missed_events_are_bounded_by_time);
	return test_summary();
}
