// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/app/agent/tcp_table.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* States of a socket in the tables. */
#define ESTABLISHED 1u
#define LISTENS 10u

struct tcp_line {
	char local[40], remote[40];     /* "0100007F:14E1"; of tcp6: 32 digits before the colon */
	unsigned int state, uid;
	unsigned long inode;            /* 0: no process has the socket */
};

/* Calls fn for each line of both tables until it returns true; returns that. */
static bool find_line(bool (*fn)(const struct tcp_line *l, void *arg), void *arg)
{
	static const char *const tables[] = { "/proc/net/tcp", "/proc/net/tcp6" };
	bool found = false;
	char text[512];

	for (size_t i = 0; i < 2 && !found; i++) {
		FILE *f = fopen(tables[i], "re");
		struct tcp_line l;

		while (f && !found && fgets(text, sizeof(text), f))
			found = sscanf(text, " %*s %39s %39s %x %*s %*s %*s %u %*s %lu", l.local,
				       l.remote, &l.state, &l.uid, &l.inode) == 5 &&
				fn(&l, arg);
		if (f)
			fclose(f);
	}
	return found;
}

/* Whether the text is this address, as IPv4 or as the IPv6 address that stands for it. */
static bool is_address(const char *text, const struct sockaddr_in *a)
{
	char four[24], six[48];

	snprintf(four, sizeof(four), "%08X:%04X", a->sin_addr.s_addr, ntohs(a->sin_port));
	snprintf(six, sizeof(six), "0000000000000000%08X%s", htonl(0xffff), four);
	return !strcmp(text, four) || !strcmp(text, six);
}

struct peer {
	struct sockaddr_in here, there;
	uid_t uid;
};

static bool is_peer(const struct tcp_line *l, void *arg)
{
	struct peer *p = arg;

	/* Sockets that were closed have no inode, and user 0. */
	if (l->state != ESTABLISHED || !l->inode || !is_address(l->local, &p->there) ||
	    !is_address(l->remote, &p->here))
		return false;
	p->uid = l->uid;
	return true;
}

bool tcp_peer_owner(int fd, uid_t *uid)
{
	struct peer p = { .uid = 0 };
	socklen_t a = sizeof(p.here), b = sizeof(p.there);

	if (getsockname(fd, (struct sockaddr *)&p.here, &a) < 0 ||
	    getpeername(fd, (struct sockaddr *)&p.there, &b) < 0 ||
	    p.there.sin_family != AF_INET || !find_line(is_peer, &p))
		return false;
	*uid = p.uid;
	return true;
}

static bool listens(const struct tcp_line *l, void *arg)
{
	const char *colon = strrchr(l->local, ':');
	char port[8];

	snprintf(port, sizeof(port), ":%04X", *(const uint16_t *)arg);
	return l->state == LISTENS && colon && !strcmp(colon, port);
}

bool tcp_port_is_taken(uint16_t port)
{
	return find_line(listens, &port);
}
