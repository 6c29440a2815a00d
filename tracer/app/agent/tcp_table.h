/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's tables of TCP sockets, /proc/net/tcp and tcp6. No lock, any thread. */
#ifndef TRACER_AGENT_TCP_TABLE_H
#define TRACER_AGENT_TCP_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The user who has the other end of an IPv4 connection within this machine. False: it is closed,
 * or not in the tables.
 */
bool tcp_peer_owner(int fd, uid_t *uid);
/* Whether a socket listens on this port of 127.0.0.1 or of any address. */
bool tcp_port_is_taken(uint16_t port);

#endif
