/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keeper's process. It must not fail, so it does little: it holds descriptors and waits in
 * poll. It checks every message.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "tracer/base/array.h"
#include "tracer/base/keeper/keeper.h"
#include "tracer/base/keeper/mounted.h"
#include "tracer/base/keeper/protocol.h"

enum {
	PEERS = 8,              /* connections; usually one daemon, more wait in the backlog */
	SPARE_FDS = 32,         /* of the limit, for the keeper itself */
	/* the keeper ends after this time without descriptor and connection */
	IDLE_MS = 10000,
	/* between two looks whether the daemon is dead but cannot end */
	LOOK_MS = 2000,
};

struct item {
	char *name;
	int fd;
};

struct state {
	const char *dir_path;
	int dir, lock, listener, watch;
	int peers[PEERS];
	size_t peer_count;
	struct item *items;
	size_t item_count, item_max;
	ino_t ino;              /* of the socket's file */
	bool lost;              /* the socket's file was removed: no daemon can connect again */
	bool quit;
	pid_t dead;             /* the daemon that the log has as dead; 0: none */
	int mounter;            /* the peer that has the mount; -1: none */
	struct mounted mounted;
};

static struct item *find_item(struct state *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->item_count; i++)
		if (!strcmp(s->items[i].name, name))
			return &s->items[i];
	return NULL;
}

/* Takes over fd if it returns 0. */
static int put_item(struct state *s, const char *name, int fd)
{
	struct item *item = find_item(s, name);
	char *copy;

	if (!*name)
		return -EINVAL;
	if (fd < 0)
		return -EBADF;
	if (item) {
		close(item->fd);
		item->fd = fd;
		return 0;
	}
	if (s->item_count >= s->item_max)
		return -EMFILE;
	copy = strdup(name);
	if (!copy || !array_room(s->items, s->item_count + 1)) {
		free(copy);
		return -ENOMEM;
	}
	s->items[s->item_count++] = (struct item){ copy, fd };
	return 0;
}

static int drop_item(struct state *s, const char *name)
{
	struct item *item = find_item(s, name);

	if (!item)
		return -ENOENT;
	close(item->fd);
	free(item->name);
	*item = s->items[--s->item_count];
	return 0;
}

/* Drops all whose names begin so. */
static void drop_items(struct state *s, const char *begin)
{
	for (size_t i = s->item_count; i-- > 0;)
		if (!strncmp(s->items[i].name, begin, strlen(begin)))
			drop_item(s, s->items[i].name);
}

/* Also of a mount that was not there. */
static int drop_mount(struct state *s)
{
	mounted_served(&s->mounted);
	drop_items(s, KEEPER_IMAGE);
	return drop_item(s, KEEPER_MOUNT);
}

static void end_keeper(struct state *s)
{
	/* Remove only this keeper's socket: another keeper may have replaced it. */
	struct stat st;

	if (!fstatat(s->dir, KEEPER_SOCKET, &st, AT_SYMLINK_NOFOLLOW) && st.st_ino == s->ino)
		unlinkat(s->dir, KEEPER_SOCKET, 0);
	s->quit = true;
}

/*
 * Serves one packet. False: the peer closed the connection, does not read answers, or sent an
 * invalid packet. A daemon that was killed does not read its answers, but its requests in the queue
 * are served: the next daemon needs those descriptors.
 */
static bool serve_packet(struct state *s, int sock)
{
	struct keeper_packet p;
	struct keeper_msg answer = { .magic = KEEPER_MAGIC };
	const char *name = NULL;
	int fd, send_fd = -1, ret = keeper_receive(sock, &p, &fd);

	/* ECONNRESET: the peer ended with answers unread; the next receive continues. */
	if (ret == -EAGAIN || ret == -ECONNRESET)
		return true;
	if (ret < 0)
		return false;
	answer.op = p.msg.op;
	answer.seq = p.msg.seq;
	switch (p.msg.op) {
	case KEEPER_HELLO:
		break;
	case KEEPER_PUT:
		answer.arg = put_item(s, p.name, fd);
		if (!answer.arg)
			fd = -1;
		if (!answer.arg && !strcmp(p.name, KEEPER_MOUNT)) {
			s->mounter = sock;
			mounted_served(&s->mounted);
		}
		break;
	case KEEPER_DROP:
		answer.arg = strcmp(p.name, KEEPER_MOUNT) ? drop_item(s, p.name) : drop_mount(s);
		break;
	case KEEPER_GET:
		if (p.msg.arg < 0 || (size_t)p.msg.arg >= s->item_count) {
			answer.arg = -ENOENT;
		} else {
			name = s->items[p.msg.arg].name;
			send_fd = s->items[p.msg.arg].fd;
		}
		break;
	case KEEPER_QUIT:
		end_keeper(s);
		break;
	case KEEPER_FIND:
		send_fd = find_item(s, p.name) ? find_item(s, p.name)->fd : -1;
		answer.arg = send_fd < 0 ? -ENOENT : 0;
		break;
	case KEEPER_COMES:
		mounted_awaits(&s->mounted, find_item(s, KEEPER_START) != NULL);
		break;
	default:
		answer.arg = -ENOSYS;
	}
	if (fd >= 0)
		close(fd);
	ret = keeper_send(sock, &answer, name, send_fd);
	return !ret || ret == -EPIPE || ret == -ECONNRESET;
}

static void accept_peer(struct state *s)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	/*
	 * Non-blocking: a peer that does not read its answers is disconnected and delays no other
	 * peer.
	 */
	int sock = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (sock < 0)
		return;
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) ||
	    (peer.uid && peer.uid != geteuid())) {
		close(sock);
		return;
	}
	s->peers[s->peer_count++] = sock;
}

/*
 * Checks whether the socket or its directory was removed: then no daemon can get the descriptors.
 * The kernel says so before it drops the name, and only once: without a link the socket is gone.
 */
static void check_socket(struct state *s)
{
	char events[4096] __attribute__((aligned(8)));
	struct stat st;

	while (read(s->watch, events, sizeof(events)) > 0)
		;
	if (stat(s->dir_path, &st) || fstatat(s->dir, KEEPER_SOCKET, &st, AT_SYMLINK_NOFOLLOW) ||
	    st.st_ino != s->ino || !st.st_nlink)
		s->lost = true;
}

static int item_fd(struct state *s, const char *name)
{
	struct item *item = find_item(s, name);

	return item ? item->fd : -1;
}

/* The mount was taken away, or no daemon serves it: drops what was held for it. */
static void end_mount(struct state *s)
{
	mounted_served(&s->mounted);
	drop_items(s, KEEPER_HELD);
}

/* 0: it is in another PID namespace. */
static pid_t peer_pid(int sock)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) ? 0 : peer.pid;
}

static void close_peer(struct state *s, int sock)
{
	int connection = item_fd(s, KEEPER_MOUNT);
	pid_t pid = peer_pid(sock);

	close(sock);
	if (sock != s->mounter)
		return;
	s->mounter = -1;
	/* An upgraded daemon ends the sessions of a mount that was taken away meanwhile. */
	if (connection >= 0 && !drop_item(s, KEEPER_UPGRADE))
		mounted_replaced(&s->mounted, item_fd(s, KEEPER_START) >= 0, pid);
	else if (connection >= 0 && keeper_mount_ended(connection) && item_fd(s, KEEPER_START) < 0)
		end_mount(s);
	else if (connection >= 0)
		mounted_died(&s->mounted, connection, item_fd(s, KEEPER_START) >= 0, pid);
}

/* Nothing has happened for a while. */
static void look_around(struct state *s)
{
	pid_t pid;
	int ret;

	/* It was time for something else: see serve_mount. */
	if (!s->peer_count && s->item_count)
		return;

	if (!s->peer_count) {
		end_keeper(s);
		return;
	}
	pid = keeper_abort_dead(s->dir_path, &ret);
	if (pid && pid != s->dead && ret != -ENOTCONN)
		syslog(LOG_WARNING,
		       ret ? "process %d was killed and cannot end; its FUSE connection cannot be "
			     "aborted"
			   : "process %d was killed and cannot end: aborted its FUSE connection",
		       (int)pid);
	s->dead = pid;
}

/* How long to wait for a message, in ms; -1: without a limit. */
static int patience(const struct state *s)
{
	int limit = mounted_patience(&s->mounted);

	if (s->peer_count)
		return limit >= 0 && limit < LOOK_MS ? limit : LOOK_MS;
	return s->item_count ? limit : IDLE_MS;
}

/* The mount of a killed daemon. */
static void serve_mount(struct state *s, bool asked)
{
	int connection = item_fd(s, KEEPER_MOUNT);

	if (connection < 0 || s->mounter >= 0)
		return;
	/* It was unmounted, and no daemon may be started to end its sessions: they stay. */
	if (s->mounted.abandoned && keeper_mount_ended(connection)) {
		end_mount(s);
		return;
	}
	if (asked && !mounted_refuse(&s->mounted, connection))
		mounted_left(&s->mounted);
	if (!mounted_work(&s->mounted, connection, item_fd(s, KEEPER_START)))
		end_mount(s);
}

static void serve_peers(struct state *s)
{
	while (!s->quit) {
		struct pollfd p[PEERS + 4];
		size_t peers = s->peer_count, i, kept = 0;
		bool ended;
		int n;

		if (!peers && s->lost)
			return;
		p[0] = (struct pollfd){ .fd = peers < PEERS ? s->listener : -1, .events = POLLIN };
		p[1] = (struct pollfd){ .fd = s->watch, .events = POLLIN };
		/* Before the peers: if it has ended, they have all that it sent. */
		p[2] = (struct pollfd){ .fd = s->mounted.process, .events = POLLIN };
		p[3] = (struct pollfd){ .fd = s->mounted.refusing ? item_fd(s, KEEPER_MOUNT) : -1,
					.events = POLLIN };
		for (i = 0; i < peers; i++)
			p[i + 4] = (struct pollfd){ .fd = s->peers[i], .events = POLLIN };
		n = poll(p, (nfds_t)peers + 4, patience(s));
		if (!n)
			look_around(s);
		serve_mount(s, n > 0 && p[3].revents);
		if (n <= 0)
			continue;
		ended = p[2].revents && p[2].fd == s->mounted.process;
		for (i = 0; i < peers; i++) {
			bool open = !p[i + 4].revents || serve_packet(s, s->peers[i]);

			/* All requests of a daemon that has ended come before the next daemon's. */
			while (open && p[i + 4].revents & POLLHUP)
				open = serve_packet(s, s->peers[i]);
			if (open)
				s->peers[kept++] = s->peers[i];
			else
				close_peer(s, s->peers[i]);
			/* The next round has what the daemon sent before it ended. */
			ended &= !p[i + 4].revents;
		}
		s->peer_count = kept;
		if (ended && item_fd(s, KEEPER_MOUNT) >= 0 && s->mounter < 0)
			mounted_failed(&s->mounted, item_fd(s, KEEPER_MOUNT));
		if (p[1].revents)
			check_socket(s);
		if (p[0].revents)
			accept_peer(s);
	}
}

/* 0 or -errno; -EBUSY: another keeper runs. */
static int listen_at(struct state *s)
{
	struct sockaddr_un addr;
	socklen_t len;
	struct stat st;
	mode_t mask;
	bool listens;

	s->dir = open(s->dir_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	s->lock = openat(s->dir, KEEPER_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->dir < 0 || s->lock < 0)
		return -errno;
	if (flock(s->lock, LOCK_EX | LOCK_NB))
		return -EBUSY;
	/* This keeper holds the lock, so an existing socket belongs to a dead keeper. */
	unlinkat(s->dir, KEEPER_SOCKET, 0);
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	len = keeper_address(s->dir, s->dir_path, &addr);
	/* Daemons that the keeper starts have the umask of the one that started the keeper. */
	mask = umask(0177);
	listens = s->listener >= 0 && !bind(s->listener, (struct sockaddr *)&addr, len) &&
		  !listen(s->listener, 16);
	umask(mask);
	if (!listens || fstatat(s->dir, KEEPER_SOCKET, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	s->ino = st.st_ino;
	s->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	/*
	 * Removing the socket changes its link count, which is IN_ATTRIB. Without inotify the
	 * keeper stays.
	 */
	if (s->watch >= 0)
		inotify_add_watch(s->watch, addr.sun_path,
				  IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF);
	return 0;
}

static void set_signals(void)
{
	static const int ignored[] = { SIGINT, SIGHUP, SIGPIPE, SIGQUIT, SIGTSTP };
	sigset_t none;
	size_t i;

	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static size_t raise_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		return 512;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur <= 2 * SPARE_FDS)
		return SPARE_FDS;
	return r.rlim_cur > INT_MAX ? (size_t)INT_MAX : (size_t)r.rlim_cur - SPARE_FDS;
}

/*
 * Closes inherited descriptors, also the pipe at 3: its end tells keeper_open that the socket
 * listens.
 */
static void close_inherited(const struct state *s)
{
	int own[] = { s->dir, s->lock, s->listener, s->watch }, fd,
	    null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int max = 0;
	size_t i;

	for (fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	for (i = 0; i < 4; i++)
		max = own[i] > max ? own[i] : max;
	for (fd = 3; fd <= max; fd++)
		if (fd != own[0] && fd != own[1] && fd != own[2] && fd != own[3])
			close(fd);
	close_range((unsigned int)max + 1, ~0u, 0);
}

int keeper_main(const char *state_dir)
{
	struct state s = { .dir = -1, .lock = -1, .listener = -1, .watch = -1, .mounter = -1,
			   .mounted.process = -1 };
	int ret;

	prctl(PR_SET_NAME, "trail-keeper");
	openlog("trail-keeper", LOG_PID, LOG_DAEMON);
	set_signals();
	s.item_max = raise_limit();
	s.dir_path = realpath(state_dir, NULL);
	if (!s.dir_path || chdir("/"))
		return 1;
	ret = listen_at(&s);
	if (ret)
		return ret == -EBUSY ? 0 : 1;
	close_inherited(&s);
	serve_peers(&s);
	/* The end of the process releases the descriptors and the lock. */
	return 0;
}
