/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/base/base.h"
#include "fs/base/handover.h"
#include "fs/config/config.h"
#include "fs/daemon/daemon.h"
#include "fs/fuse/fuse.h"
#include "fs/tree/errors.h"
#include "fs/tree/node.h"
#include "tracer/face/tracer.h"

extern char **environ;

/* In the environment of the new program: the process that executes it. */
#define EXECUTED "TRAILFS_EXECUTED_BY"

#define MAGIC 0x55505452u       /* "RTPU" */
enum {
	TABLE_FD = 3,           /* of the new program with UPGRADE_TRY: what mount_try takes */
	ANSWER_FD = 4,          /* a pipe for its answer */
	ANSWER_MS = 20000,      /* how long the daemon waits for it */
	ARGUMENTS_MOST = 256,
};

/*
 * What the new program says to the old one. It is read from a program that may be of any version,
 * or another program: a later version may only add to its end.
 */
struct answer {
	uint32_t magic;
	int32_t error;          /* 0: it can continue; -errno */
	char version[32];       /* TRAILFS_VERSION */
	char why[256];          /* a sentence, if it cannot */
};

/* ---- the new program ---- */

/* A daemon with these arguments is what the old one is. Nothing is changed by it. */
static int try_arguments(int argc, char **argv, struct tr_err *err)
{
	struct options o;
	char *mount = NULL;
	int rc;

	rc = options_init(&o);
	if (!rc)
		rc = options_read(&o);
	if (!rc)
		rc = options_parse(&o, argc, argv);
	if (!rc && zone_set(o.zone, fs.zone, sizeof(fs.zone)))
		rc = -EINVAL;
	if (rc) {
		tr_fail(err, rc, "it does not take the options of this daemon");
	} else {
		rc = tracer_state_known(o.state, err);
		mount = rc ? NULL : options_mount(&o);
		if (!rc && !mount)
			rc = -ENOMEM;
		else if (!rc)
			rc = mount_try(TABLE_FD, mount, o.allow_other);
		if (rc == -EPROTO && !err->sentence[0])
			tr_fail(err, rc, "it does not know the state of this daemon's mount, "
				"which is of another version");
	}
	free(mount);
	options_deinit(&o);
	return rc;
}

int upgrade_try(int argc, char **argv)
{
	struct answer a = { .magic = MAGIC };
	struct tr_err err = TR_ERR_INIT;

	/* argv[2] is the program's name in the arguments of the daemon. */
	a.error = try_arguments(argc - 2, argv + 2, &err);
	snprintf(a.version, sizeof(a.version), "%s", TRAILFS_VERSION);
	if (a.error)
		snprintf(a.why, sizeof(a.why), "%s",
			 err.sentence[0] ? err.sentence : strerror(-a.error));
	return write(ANSWER_FD, &a, sizeof(a)) == sizeof(a) ? 0 : 1;
}

bool upgrade_done(void)
{
	const char *by = getenv(EXECUTED);
	bool done = by && atoi(by) == (int)getpid();

	unsetenv(EXECUTED);
	return done;
}

/* ---- the old program ---- */

/* A duplicate above those that the new program gets; the caller closes it. */
static int lift(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, ANSWER_FD + 1);
}

/* argv[1] is UPGRADE_TRY. The pid, or -errno. */
static pid_t start(char **argv, int table, int answer)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t pid;
	int rc;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, table, TABLE_FD);
	posix_spawn_file_actions_adddup2(&files, answer, ANSWER_FD);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attr, &none);
	/* A group of its own, so that what it starts can be ended with it. */
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	rc = posix_spawn(&pid, argv[0], &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return rc ? -rc : pid;
}

/* False: there is none. */
static bool read_answer(int fd, struct answer *a)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	/* One write of less than PIPE_BUF bytes arrives as a whole. */
	if (poll(&p, 1, ANSWER_MS) != 1 || read(fd, a, sizeof(*a)) != sizeof(*a) ||
	    a->magic != MAGIC)
		return false;
	a->version[sizeof(a->version) - 1] = a->why[sizeof(a->why) - 1] = 0;
	return true;
}

/* Asks the program argv[0] whether it can continue. 0 or -errno with a sentence. */
static int ask(char **argv, int table, struct answer *a, struct tr_err *err)
{
	int ends[2], rc, to, from;
	bool answered;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	from = lift(table);
	to = lift(ends[1]);
	pid = from < 0 || to < 0 ? -EMFILE : start(argv, from, to);
	close(ends[1]);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	answered = pid > 0 && read_answer(ends[0], a);
	close(ends[0]);
	if (pid > 0) {
		/* What has not answered by now may be any program. */
		if (!answered)
			kill(-pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (pid < 0)
		rc = tr_fail(err, (int)pid, "%s cannot be executed: %s", argv[0],
			     strerror(-(int)pid));
	else if (!answered)
		rc = tr_fail(err, -ENOEXEC, "%s does not say that it can take over", argv[0]);
	else if (a->error)
		rc = tr_fail(err, -EPROTO, "%s (version %s) cannot take over: %s", argv[0],
			     a->version, a->why);
	else
		rc = 0;
	return rc;
}

/* This process' environment and one more; only the array is to be freed. NULL: no memory. */
static char **add_variable(char *variable)
{
	size_t n = 0;
	char **all;

	while (environ[n])
		n++;
	all = malloc((n + 2) * sizeof(*all));
	if (!all)
		return NULL;
	memcpy(all, environ, n * sizeof(*all));
	all[n] = variable;
	all[n + 1] = NULL;
	return all;
}

/* Returns only if it fails: -errno with a sentence. */
static int execute(char **argv, int table, struct tr_err *err)
{
	char variable[sizeof(EXECUTED) + 16], **variables;
	int rc;

	rc = tracer_hold(fs.tracer, HELD_UPGRADE, table);
	if (rc)
		return tr_fail(err, rc, "the keeper does not answer: %s", strerror(-rc));
	snprintf(variable, sizeof(variable), "%s=%d", EXECUTED, (int)getpid());
	variables = add_variable(variable);
	tracer_freeze(fs.tracer);
	if (variables)
		execve(argv[0], argv, variables);
	rc = variables ? -errno : -ENOMEM;
	tracer_thaw(fs.tracer);
	free(variables);
	tracer_release(fs.tracer, HELD_UPGRADE);
	return tr_fail(err, rc, "%s cannot be executed: %s", argv[0], strerror(-rc));
}

/* Whether the keeper has what the new program needs. 0 or -errno with a sentence. */
static int check_keeper(struct tr_err *err)
{
	int table = tracer_held(fs.tracer, HELD_TABLE);
	int connection = tracer_held(fs.tracer, HELD_CONNECTION);
	int rc = table < 0 ? table : connection < 0 ? connection : 0;

	if (table >= 0)
		close(table);
	if (connection >= 0)
		close(connection);
	if (rc == -ENOENT)
		return tr_fail(err, rc, "the keeper does not have this mount, which would end");
	return rc ? tr_fail(err, rc, "the keeper does not answer: %s", strerror(-rc)) : 0;
}

/* argv of the new program: all[0] = program, all[1] = UPGRADE_TRY, then as restart_arguments. */
static int split(struct md_buf *text, char **all, struct tr_err *err)
{
	size_t count = 2;
	char *at = text->data, *end = at + text->len;

	all[0] = at;
	all[1] = (char *)UPGRADE_TRY;
	for (; at < end && count < ARGUMENTS_MOST; at += strlen(at) + 1)
		all[count++] = at;
	all[count] = NULL;
	return at < end ? tr_fail(err, -E2BIG, "the daemon has too many arguments") : 0;
}

void upgrade(const char *mountpoint, const struct options *o, char **argv, pid_t sender)
{
	const struct who who = { .uid = fs.uid, .gid = fs.gid, .pid = getpid() };
	const struct node *root = node_by_id(NODE_ROOT);
	char *all[ARGUMENTS_MOST + 1];
	struct md_buf text = MD_BUF_INIT;
	struct tr_err err = TR_ERR_INIT;
	struct answer a = { 0 };
	int rc = check_keeper(&err);

	if (!rc && !restart_arguments(&text, mountpoint, o, argv))
		rc = tr_fail(&err, -EINVAL, "the state directory's path cannot be an option");
	if (!rc)
		rc = split(&text, all, &err);
	if (!rc)
		rc = ask(all, handover_fd(), &a, &err);
	if (!rc) {
		say(SAY_INFO, "SIGUSR2 of process %d: %s (version %s) takes over", (int)sender,
		    all[0], a.version);
		rc = execute(all + 2, handover_fd(), &err);
	}
	say(SAY_ERROR, "SIGUSR2 of process %d: no upgrade, this daemon continues: %s", (int)sender,
	    err.sentence[0] ? err.sentence : strerror(-rc));
	errors_result(root, "upgrade", &who, errors_count(), rc, &err);
	md_buf_deinit(&text);
}
