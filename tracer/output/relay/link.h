/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two connections to a relay: control (commands and replies) and data (packets). One thread
 * uses a link; nothing here takes a lock. All sockets are non-blocking, and every wait ends: after
 * stall_ms without a byte in either direction (-ETIMEDOUT), or what `patience` allows if that is
 * less, or soon after `quits` says so (-ECANCELED). After an error other than -EAGAIN the link can
 * only be closed.
 *
 * Replies that have only a code are read when they come: a command is sent, a struct relay_wait
 * says what its reply means, and `replied` is called later, in the order of the commands.
 * Everything that the relay sends is checked: bytes that no command asked for end the link
 * (-EPROTO).
 *
 * Private to tracer/output/relay/.
 */
#ifndef TRACER_RELAY_LINK_H
#define TRACER_RELAY_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "metadata/buf.h"
#include "tracer/output/relay/url.h"
#include "tracer/output/relay/wire.h"

#define LINK_CONNECT_MS 5000    /* for one address of a host */
#define LINK_STALL_MS 60000     /* without progress */
#define LINK_WAITS 512          /* replies that may be outstanding */

/* What an outstanding reply is for; the owner's to fill. */
struct relay_wait {
	void *stream;                   /* NULL: only success is expected */
	uint64_t number;                /* of the last packet that the question is about */
};

struct relay_link {
	int control, data;              /* -1: not connected */
	uint32_t minor;                 /* of the protocol that both speak */
	struct md_buf out;              /* commands that were not sent yet */
	struct relay_wait waits[LINK_WAITS];
	uint32_t first, count;          /* of waits: a ring */
	uint8_t in[LINK_WAITS * RELAY_REPLY_CODE];      /* the beginning of their replies */
	uint32_t in_len;
	bool unacknowledged;            /* replies were read, and nothing was sent since */
	bool prompt;                    /* acknowledges replies at once, to get the next ones */
	uint64_t progress;              /* when a byte was last moved, ns */
	/* Since when replies are due and none has come, ns; 0: none is. Other threads read it. */
	uint64_t silent_since;
	uint32_t stall_ms;              /* LINK_STALL_MS, or what the daemon's options say */
	bool begins;                    /* the session is not set up yet: less patience */
	bool (*quits)(void *arg);       /* asked about ten times a second; NULL: never */
	/* How long to wait without progress, ms; asked as often. NULL: stall_ms. */
	uint32_t (*patience)(void *arg);
	/* The reply to a command with a wait. 0, or -errno: the link ends. */
	int (*replied)(void *arg, const struct relay_wait *w, uint32_t code);
	void *arg;
};

void link_init(struct relay_link *l);
void link_close(struct relay_link *l);
/*
 * Connects one socket. Its number, or -errno. Looking up a name can take long and is not cancelled.
 */
int link_connect(struct relay_link *l, const struct relay_address *a, bool ipv6);
/* Sends l->out, which is empty then. */
int link_flush(struct relay_link *l);
/* A command in l->out has a reply that is read later. Makes room for it. */
int link_expect(struct relay_link *l, const struct relay_wait *w);
/* Reads replies that are there. 0 or -errno. */
int link_poll(struct relay_link *l);
/* Waits, at most ms milliseconds, until a reply is there, and reads it. -EAGAIN: none came. */
int link_wait(struct relay_link *l, unsigned int ms);
/* Waits ms milliseconds, if neither side ends the connection. 0 or -errno. */
int link_pause(struct relay_link *l, unsigned int ms);
/* Sends l->out, reads all outstanding replies, and then exactly `size` bytes of a reply. */
int link_call(struct relay_link *l, void *reply, size_t size);
/* Reads exactly `size` more bytes of a reply. */
int link_read(struct relay_link *l, void *to, size_t size);
/* Sends packets on the data connection. Changes iov. */
int link_send(struct relay_link *l, struct iovec *iov, int count);

#endif
