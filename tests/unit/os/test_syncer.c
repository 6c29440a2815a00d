/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * Files on their way to the disk, with an fsync and a syncfs of the test's own, which take as long,
 * and fail, as it wants: each file is synced, by itself or with its file system, or there is an
 * error; and no descriptor stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/base/os/syncer.h"

#define MANY 5000

static struct {
	pthread_mutex_t lock;           /* guards the rest */
	pthread_cond_t changed;
	int may;                        /* how many come through */
	int inside, files, systems;     /* who wait; done so far */
	int error;                      /* of all */
} disk = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static int go_through(int *done)
{
	int error;

	pthread_mutex_lock(&disk.lock);
	disk.inside++;
	pthread_cond_broadcast(&disk.changed);
	while (!disk.may)
		pthread_cond_wait(&disk.changed, &disk.lock);
	disk.may--;
	disk.inside--;
	++*done;
	error = disk.error;
	pthread_mutex_unlock(&disk.lock);
	errno = error;
	return error ? -1 : 0;
}

int fsync(int fd)
{
	(void)fd;
	return go_through(&disk.files);
}

int syncfs(int fd)
{
	(void)fd;
	return go_through(&disk.systems);
}

static void let_through(int n)
{
	pthread_mutex_lock(&disk.lock);
	disk.may = n;
	pthread_cond_broadcast(&disk.changed);
	pthread_mutex_unlock(&disk.lock);
}

static void wait_inside(void)
{
	pthread_mutex_lock(&disk.lock);
	while (!disk.inside)
		pthread_cond_wait(&disk.changed, &disk.lock);
	pthread_mutex_unlock(&disk.lock);
}

static void hold(bool on)
{
	let_through(on ? 0 : 1 << 30);
}

static struct syncgroup *group;
static int file;

static void begin(void)
{
	disk.files = disk.systems = disk.error = 0;
	group = syncgroup_create();
	CHECK(group != NULL && !syncgroup_error(group));
}

static void all_done(void)
{
	struct timespec ms = { 0, 1000000 };

	for (int i = 0; i < 100000 && syncgroup_pending(group); i++)
		nanosleep(&ms, NULL);
	CHECK(syncgroup_pending(group) == 0);
}

static void end(void)
{
	all_done();
	syncgroup_put(group);
	syncer_finish(100);
}

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 2 * MANY; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void each_once(void)
{
	int before = open_files();

	begin();
	for (int i = 0; i < 100; i++)
		syncgroup_add_copy(group, file);
	end();
	CHECK(disk.files == 100 && disk.systems == 0 && !syncgroup_error(group));
	CHECK(open_files() == before);
}

static void more_than_can_wait(void)
{
	int before = open_files(), waiting;

	begin();
	hold(true);
	for (int i = 0; i < MANY; i++)
		syncgroup_add_copy(group, file);
	waiting = open_files() - before;
	CHECK(waiting > 10 && waiting < 1000 && syncgroup_pending(group) == (uint64_t)waiting);
	hold(false);
	all_done();
	CHECK(disk.systems == 1 && disk.files == waiting - 1 && !syncgroup_error(group));
	CHECK(open_files() == before);
	/* There is room again. */
	syncgroup_add_copy(group, file);
	all_done();
	CHECK(disk.files == waiting && disk.systems == 1);
	end();
	CHECK(!syncgroup_error(group) && open_files() == before);
}

static void begun_is_not_for_the_next(void)
{
	int before = open_files();

	begin();
	hold(true);
	for (int i = 0; i < MANY; i++)
		syncgroup_add_copy(group, file);
	/* All but the last one, which is for the whole, go through. */
	let_through((int)syncgroup_pending(group) - 1);
	while (syncgroup_pending(group) > 1)
		sched_yield();
	wait_inside();
	for (int i = 0; i < MANY; i++)
		syncgroup_add_copy(group, file);
	CHECK(syncgroup_pending(group) > 2);
	hold(false);
	end();
	CHECK(disk.systems == 2 && !syncgroup_error(group) && open_files() == before);
}

static void all_of_a_system(void)
{
	int before = open_files();

	begin();
	hold(true);
	syncgroup_add_copy(group, file);
	wait_inside();
	CHECK(!syncgroup_add_system_of(group, file) && !syncgroup_add_system_of(group, file));
	CHECK(syncgroup_pending(group) == 2);
	hold(false);
	end();
	CHECK(disk.files == 1 && disk.systems == 1 && !syncgroup_error(group) &&
	      open_files() == before);
	CHECK(syncgroup_add_system_of(group, -1) == -EBADF);
}

static void another_file_system(void)
{
	int other = open("/proc/self/status", O_RDONLY);

	begin();
	hold(true);
	for (int i = 0; i < MANY; i++)
		syncgroup_add_copy(group, file);
	CHECK(!syncgroup_error(group));
	syncgroup_add_copy(group, other);
	CHECK(syncgroup_error(group) == EAGAIN);
	hold(false);
	end();
	close(other);
}

static void errors(void)
{
	begin();
	CHECK(syncgroup_add(group, -ENOENT) == 0 && syncgroup_add(group, -ESTALE) == 0);
	CHECK(syncgroup_add(group, -EMFILE) == -EMFILE && syncgroup_add_copy(group, -1) == -EBADF);
	CHECK(!syncgroup_error(group) && syncgroup_pending(group) == 0);
	syncgroup_fail(group, 0);
	CHECK(!syncgroup_error(group));
	syncgroup_fail(group, -EMFILE);
	CHECK(syncgroup_error(group) == EMFILE);
	end();
	begin();
	disk.error = EINVAL;
	syncgroup_add_copy(group, file);
	all_done();
	CHECK(!syncgroup_error(group));
	disk.error = EIO;
	syncgroup_add_copy(group, file);
	end();
	CHECK(syncgroup_error(group) == EIO);
	begin();
	hold(true);
	for (int i = 0; i < MANY; i++)
		syncgroup_add_copy(group, file);
	disk.error = ENOSPC;
	hold(false);
	end();
	CHECK(syncgroup_error(group) == ENOSPC);
	syncgroup_add(NULL, dup(file));
	syncgroup_fail(NULL, -EMFILE);
	syncgroup_put(NULL);
	CHECK(syncgroup_pending(NULL) == 0 && syncgroup_error(NULL) == 0);
}

int main(void)
{
	char name[] = "/tmp/trailfs-test-XXXXXX";

	hold(false);
	file = mkstemp(name);
	if (file < 0)
		return 1;
	unlink(name);
	CASE(each_once);
	CASE(more_than_can_wait);
	CASE(begun_is_not_for_the_next);
	CASE(all_of_a_system);
	CASE(another_file_system);
	CASE(errors);
	return test_summary();
}
