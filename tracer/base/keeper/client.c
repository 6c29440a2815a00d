/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's end of the keeper's connection. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/array.h"
#include "tracer/base/keeper/keeper.h"
#include "tracer/base/keeper/protocol.h"
#include "tracer/base/os/clock.h"

struct keeper {
	pthread_mutex_t lock;   /* guards all that is not constant: one request at a time */
	char *state_dir, *exe;  /* constant; to start a successor. exe NULL: never start one */
	int sock;
	pid_t pid;              /* 0: it has ended. Atomic, written with the lock held */
	uint32_t seq;
	int patience;           /* ms to wait for an answer */
	/*
	 * Requests without an answer yet. Not 0 between two requests if the keeper missed the
	 * deadline, for example because it is stopped. Then requests are sent without waiting for
	 * answers: the keeper serves them in order when it runs again.
	 */
	unsigned int unanswered;
};

enum {
	ANSWER_MS = 500,        /* no operation but keeper_find blocks longer than a second */
	START_MS = 10000,       /* mounting may wait: without the keeper there are no buffers */
	/* for a descriptor: who takes a late keeper for one that has lost it ends a mount */
	FIND_MS = 15000,
	START_PAUSE_MS = 10,
	STARTS = 50,            /* attempts, while new keepers end at once */
};

static int64_t now_ms(void)
{
	return (int64_t)(monotonic_now() / 1000000);
}

/* Marks the keeper as ended. Who polls the connection sees that, and calls keeper_replace. */
static int lose_connection(struct keeper *k)
{
	__atomic_store_n(&k->pid, 0, __ATOMIC_RELAXED);
	return -EPIPE;
}

/* Receives the next answer before the deadline. 0 or -errno; the caller owns *got. */
static int receive_answer(struct keeper *k, int64_t deadline, struct keeper_packet *answer,
			  int *got)
{
	int ret = -EAGAIN;

	while (ret == -EAGAIN) {
		struct pollfd p = { .fd = k->sock, .events = POLLIN };
		int64_t left = deadline - now_ms();

		if (poll(&p, 1, left < 0 ? 0 : (int)left) == 0)
			return -ETIMEDOUT;
		ret = keeper_receive(k->sock, answer, got);
	}
	if (ret == -ECONNRESET || ret == -ENOTCONN || ret == -EPIPE)
		return lose_connection(k);
	if (k->unanswered)
		k->unanswered--;
	return ret < 0 ? ret : 0;
}

static int send_request(struct keeper *k, uint32_t op, int32_t arg, const char *name, int fd)
{
	struct keeper_msg msg = { KEEPER_MAGIC, op, ++k->seq, arg };
	int ret = keeper_send(k->sock, &msg, name, fd);

	if (ret == -ECONNRESET || ret == -ENOTCONN || ret == -EPIPE)
		return lose_connection(k);
	/* -EAGAIN: the socket's queue is full, because the keeper has not run for a long time. */
	k->unanswered += !ret;
	return ret;
}

/*
 * Sends a request and waits for its answer: answer->msg.arg is the keeper's 0 or -errno. Caller
 * holds k->lock.
 */
static int request_answer(struct keeper *k, uint32_t op, int32_t arg, const char *name, int fd,
			  struct keeper_packet *answer, int *got)
{
	int64_t deadline = now_ms() + k->patience;
	int ret = send_request(k, op, arg, name, fd);

	*got = -1;
	while (!ret) {
		ret = receive_answer(k, deadline, answer, got);
		if (ret || answer->msg.seq == k->seq)
			break;
		/*
		 * The answer to an earlier request that timed out: drop it and wait for the next.
		 */
		if (*got >= 0)
			close(*got);
		*got = -1;
	}
	return ret;
}

/* True if answers to earlier requests are missing, after receiving those that have arrived. */
static bool is_late(struct keeper *k)
{
	struct keeper_packet answer;
	int got;

	while (k->unanswered && !receive_answer(k, 0, &answer, &got))
		if (got >= 0)
			close(got);
	return k->unanswered != 0;
}

static int request_status(struct keeper *k, uint32_t op, const char *name, int fd)
{
	struct keeper_packet answer = { .msg.arg = 0 };
	int got = -1, ret;

	if (name && (!*name || strlen(name) > KEEPER_NAME_MAX))
		return -EINVAL;
	pthread_mutex_lock(&k->lock);
	if (!k->pid)
		ret = -EPIPE;
	else if (is_late(k))
		ret = send_request(k, op, 0, name, fd);
	else
		ret = request_answer(k, op, 0, name, fd, &answer, &got);
	pthread_mutex_unlock(&k->lock);
	if (ret)
		return ret;
	if (got >= 0)
		close(got);
	return answer.msg.arg;
}

int keeper_put(struct keeper *k, const char *name, int fd)
{
	return fd < 0 ? -EBADF : request_status(k, KEEPER_PUT, name, fd);
}

int keeper_drop(struct keeper *k, const char *name)
{
	return request_status(k, KEEPER_DROP, name, -1);
}

int keeper_announce(struct keeper *k)
{
	return request_status(k, KEEPER_COMES, KEEPER_MOUNT, -1);
}

static int find_once(struct keeper *k, const char *name)
{
	struct keeper_packet answer = { .msg.arg = 0 };
	int fd = -1, ret = -EPIPE;

	if (!*name || strlen(name) > KEEPER_NAME_MAX)
		return -EINVAL;
	pthread_mutex_lock(&k->lock);
	if (k->pid && is_late(k))
		ret = -ETIMEDOUT;
	else if (k->pid)
		ret = request_answer(k, KEEPER_FIND, 0, name, -1, &answer, &fd);
	pthread_mutex_unlock(&k->lock);
	if (ret || answer.msg.arg) {
		if (fd >= 0)
			close(fd);
		return ret ? ret : answer.msg.arg;
	}
	return fd >= 0 ? fd : -EBADMSG;
}

int keeper_find(struct keeper *k, const char *name)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	int64_t until = now_ms() + FIND_MS;
	int ret;

	while ((ret = find_once(k, name)) == -ETIMEDOUT && now_ms() < until)
		nanosleep(&pause, NULL);
	return ret;
}

struct held {
	char *name;
	int fd;
};

/*
 * Gets all descriptors before fn is called: fn may put and drop, which changes the keeper's
 * indices.
 */
static int get_all_held(struct keeper *k, struct held **all, size_t *count)
{
	for (;;) {
		struct keeper_packet answer;
		struct held one = { NULL, -1 };
		int ret =
			request_answer(k, KEEPER_GET, (int32_t)*count, NULL, -1, &answer, &one.fd);

		if (ret || answer.msg.arg || one.fd < 0) {
			if (one.fd >= 0)
				close(one.fd);
			return ret                         ? ret
			       : answer.msg.arg == -ENOENT ? 0
			       : answer.msg.arg            ? answer.msg.arg
							   : -EBADMSG;
		}
		one.name = strdup(answer.name);
		if (!one.name || !array_room(*all, *count + 1)) {
			free(one.name);
			close(one.fd);
			return -ENOMEM;
		}
		(*all)[(*count)++] = one;
	}
}

int keeper_each(struct keeper *k, void (*fn)(void *arg, const char *name, int fd), void *arg)
{
	struct held *all = NULL;
	size_t count = 0, i;
	int ret;

	pthread_mutex_lock(&k->lock);
	k->patience = START_MS;
	ret = get_all_held(k, &all, &count);
	k->patience = ANSWER_MS;
	pthread_mutex_unlock(&k->lock);
	for (i = 0; i < count; i++) {
		if (ret)
			close(all[i].fd);
		else
			fn(arg, all[i].name, all[i].fd);
		free(all[i].name);
	}
	free(all);
	return ret;
}

pid_t keeper_pid(const struct keeper *k)
{
	return __atomic_load_n(&k->pid, __ATOMIC_ACQUIRE);
}

static void free_keeper(struct keeper *k)
{
	pthread_mutex_destroy(&k->lock);
	free(k->state_dir);
	free(k->exe);
	free(k);
}

void keeper_close(struct keeper *k, int quit)
{
	if (!k)
		return;
	if (quit)
		request_status(k, KEEPER_QUIT, NULL, -1);
	close(k->sock);
	free_keeper(k);
}

int keeper_connection(const struct keeper *k)
{
	return k->sock;
}

int keeper_replace(struct keeper *k)
{
	struct keeper *fresh;
	int found, ret;

	pthread_mutex_lock(&k->lock);
	lose_connection(k);
	pthread_mutex_unlock(&k->lock);
	ret = keeper_open(k->state_dir, k->exe, &fresh, &found);
	if (ret)
		return ret;
	pthread_mutex_lock(&k->lock);
	close(k->sock);
	k->sock = fresh->sock;
	k->seq = fresh->seq;
	k->unanswered = 0;
	/* Release: pairs with keeper_pid(), so that what was stored before is seen with the pid. */
	__atomic_store_n(&k->pid, fresh->pid, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&k->lock);
	free_keeper(fresh);
	return 0;
}

static int connect_keeper(int dir, const char *state_dir, struct keeper **out)
{
	struct sockaddr_un addr;
	socklen_t addr_len = keeper_address(dir, state_dir, &addr);
	struct timeval limit = { .tv_sec = 1 };
	struct ucred peer;
	socklen_t len = sizeof(peer);
	struct keeper *k = calloc(1, sizeof(*k));
	int ret;

	if (!k)
		return -ENOMEM;
	k->patience = START_MS;
	pthread_mutex_init(&k->lock, NULL);
	k->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (k->sock < 0) {
		ret = -errno;
		goto no_socket;
	}
	/* connect to a full backlog waits for SO_SNDTIMEO. */
	setsockopt(k->sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(k->sock, (struct sockaddr *)&addr, addr_len) ||
	    getsockopt(k->sock, SOL_SOCKET, SO_PEERCRED, &peer, &len)) {
		ret = -errno;
		goto no_peer;
	}
	/* Another user who bound the socket would get the descriptors: refuse. */
	if (peer.uid && peer.uid != geteuid()) {
		ret = -EACCES;
		goto no_peer;
	}
	k->pid = peer.pid;
	ret = request_status(k, KEEPER_HELLO, NULL, -1);
	if (ret)
		goto no_peer;
	k->patience = ANSWER_MS;
	*out = k;
	return 0;
no_peer:
	close(k->sock);
no_socket:
	free_keeper(k);
	return ret;
}

/*
 * Closes all descriptors; 0 to 2 become /dev/null and 3 becomes `ready`. After fork:
 * async-signal-safe calls only.
 */
static void close_all_but(int ready)
{
	int fd, null = open("/dev/null", O_RDWR);

	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	/* dup2 of a descriptor on itself leaves it close-on-exec. */
	if (ready == 3)
		fcntl(3, F_SETFD, 0);
	else
		dup2(ready, 3);
	if (!close_range(4, ~0u, 0))
		return;
	for (fd = 4; fd < 65536; fd++)
		close(fd);
}

static void become_keeper(const char *state_dir, const char *exe, int ready)
{
	char name[] = "trail-keeper", verb[] = "--keeper";
	char *argv[] = { name, verb, (char *)state_dir, NULL };

	setsid();
	/*
	 * Second fork: a process that is no session leader never gets a terminal. Init adopts it.
	 */
	if (fork())
		_exit(0);
	close_all_but(ready);
	execv(exe, argv);
	_exit(127);
}

/*
 * Starts a keeper and waits until it listens or has ended: both close the last copy of the pipe's
 * write end.
 */
static int start_keeper(const char *state_dir, const char *exe, int64_t deadline)
{
	int ends[2], status;
	int64_t left = deadline - now_ms();
	struct pollfd p = { 0 };
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	child = fork();
	if (!child)
		become_keeper(state_dir, exe, ends[1]);
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	p.fd = ends[0];
	poll(&p, 1, left < 0 ? 0 : (int)left);
	close(ends[0]);
	return 0;
}

int keeper_open(const char *state_dir, const char *exe, struct keeper **out, int *found)
{
	const struct timespec pause = { .tv_nsec = START_PAUSE_MS * 1000000L };
	int64_t deadline = now_ms() + START_MS;
	char *path = realpath(state_dir, NULL);
	int dir, ret, starts = 0;

	if (!path)
		return -errno;
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		ret = -errno;
		free(path);
		return ret;
	}
	*found = 1;
	while ((ret = connect_keeper(dir, path, out))) {
		if (ret != -ENOENT && ret != -ECONNREFUSED && ret != -EPIPE)
			break;
		if (!exe || now_ms() >= deadline || starts++ == STARTS)
			break;
		/*
		 * A keeper that is ending may still hold the lock; the new one then exits: try
		 * again.
		 */
		if (!*found)
			nanosleep(&pause, NULL);
		*found = 0;
		ret = start_keeper(path, exe, deadline);
		if (ret)
			break;
	}
	close(dir);
	if (!ret) {
		(*out)->exe = exe ? strdup(exe) : NULL;
		(*out)->state_dir = path;
		return 0;
	}
	free(path);
	return ret;
}
