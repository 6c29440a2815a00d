/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/* The kernel's numbers of threads, read in PID namespaces. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/kernel/task/program.h"
#include "tracer/kernel/task/task.h"

static bool read_all(struct tasks *t)
{
	struct tr_err err = TR_ERR_INIT;
	int ret = tasks_read(t, &err);

	if (ret)
		printf("# %s\n", err.sentence);
	CHECK(!ret || (ret == -EOPNOTSUPP && strstr(err.sentence, "PID namespace")));
	return !ret;
}

static void *wait_for_end(void *arg)
{
	read(*(int *)arg, arg, 1);
	return NULL;
}

/* In the test's own namespace: each thread, with its process and its name. */
static void own(void)
{
	const struct task *t;
	int pipes[2], end;
	struct tasks all;
	pthread_t thread;
	size_t own = 0;

	CHECK(!pipe(pipes));
	end = pipes[0];
	prctl(PR_SET_NAME, "a fine name");
	CHECK(!pthread_create(&thread, NULL, wait_for_end, &end));
	if (read_all(&all)) {
		t = tasks_find(&all, getpid());
		CHECK(t && t->tid == t->pid && !strcmp(t->comm, "a fine name"));
		CHECK(t && (!tasks_global() || t->tid == getpid()));
		for (size_t i = 0; t && i < all.count; i++)
			own += all.items[i].pid == t->pid;
		CHECK(own == 2);
		for (size_t i = 1; i < all.count; i++)
			CHECK(all.items[i - 1].number < all.items[i].number);
		CHECK(!tasks_find(&all, 0) && !tasks_find(&all, -1));
		CHECK(tasks_translate(&all, -1) == -1);
		tasks_deinit(&all);
	}
	close(pipes[1]);
	pthread_join(thread, NULL);
	close(pipes[0]);
}

/* In a namespace in it, where its process is number 1. Writes what the list has of it. */
static void tell(int to, bool own_proc)
{
	struct tr_err err = TR_ERR_INIT;
	struct task told = { .number = -1 };
	struct tasks all;
	int ret;

	if (own_proc &&
	    (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	     mount("proc", "/proc", "proc", 0, NULL)))
		_exit(77);
	ret = tasks_read(&all, &err);
	if (!ret && own_proc && !tasks_global() && all.count == 1 && tasks_find(&all, 1))
		told = *tasks_find(&all, 1);
	if (ret == -EOPNOTSUPP && strstr(err.sentence, "/proc belongs to another namespace"))
		told.number = -2;
	write(to, &told, sizeof(told));
	_exit(0);
}

/* False: no namespace. */
static bool ask_inside(bool own_proc, struct task *told, pid_t *child)
{
	int pipes[2], status = 0;
	ssize_t n;

	if (pipe(pipes) || unshare(CLONE_NEWPID))
		return false;
	*child = fork();
	if (!*child)
		tell(pipes[1], own_proc);
	close(pipes[1]);
	n = read(pipes[0], told, sizeof(*told));
	close(pipes[0]);
	waitpid(*child, &status, 0);
	return n == sizeof(*told);
}

/* Each in a process of its own: unshare is once for ever. */
static void check_inside(bool own_proc)
{
	struct task told;
	struct tasks outer;
	pid_t helper = fork(), child;
	int status;

	if (helper) {
		waitpid(helper, &status, 0);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
			SKIP("no PID namespace, or no BPF iterators");
		CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
		return;
	}
	if (!read_all(&outer) || !ask_inside(own_proc, &told, &child))
		_exit(77);
	if (!own_proc)
		_exit(told.number != -2);
	/* The child is newer than the list; its maker's list gives what to expect where it can. */
	_exit(told.number != 1 || told.tid != told.pid || (tasks_global() && told.tid != child));
}

static void inside(void)
{
	check_inside(true);
}

static void inside_without_proc(void)
{
	check_inside(false);
}

/* Types that lack something give no program. */
static void lacking(void)
{
	uint8_t *data = calloc(1, 64);
	const struct {
		uint16_t magic;
		uint8_t version, flags;
		uint32_t header, type_at, types, string_at, strings;
	} header = { 0xeb9f, 1, 0, 24, 0, 0, 0, 1 };    /* one string, empty */
	struct task_layout l;
	struct btf *b = NULL;

	memcpy(data, &header, sizeof(header));
	CHECK(!btf_parse(data, 25, NULL, &b) && task_layout_find(b, &l) == -EOPNOTSUPP);
	btf_free(b);
}

int main(void)
{
	CASE(own);
	CASE(inside);
	CASE(inside_without_proc);
	CASE(lacking);
	return test_summary();
}
