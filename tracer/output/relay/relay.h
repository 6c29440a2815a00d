/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An output that is a relay: the session's packets are sent to lttng-relayd, which writes them
 * into files.
 *
 *	relay/url.c       the address, as `output` has it
 *	relay/wire.c      the bytes of commands
 *	relay/link.c      the two sockets: sending, waiting, replies
 *	relay/client.c    commands whose reply must be known
 *	relay/sink.c      connecting again and again; the row of functions that output/ calls
 *	relay/packets.c   the packets of one stream, and what the relay has of them
 *	relay/metadata.c  the metadata of one trace
 *	relay/chunk.c     rotation, clear, the end
 *	relay/sender.c    a snapshot, sent over a connection of its own
 *	relay/status.c    what `status` and `error` say
 *
 * The buffer is the ring. A packet is sent straight from it, and `consumed` moves only when the
 * relay has said that it has the packet and its index (RELAY_DATA_PENDING): until then the writers
 * do not overwrite it. When a connection breaks, what the relay has not confirmed is sent again
 * over the next one, which makes a new session, so a new directory, on the relay. The relay may
 * have had it: then both directories have these packets, and none is missing.
 *
 * All of it runs in the output's thread (output/output.h). No lock is held while it waits for the
 * network. output.lock guards what status.c shows (struct relay_shown).
 */
#ifndef TRACER_RELAY_RELAY_H
#define TRACER_RELAY_RELAY_H

#include "tracer/output/output.h"

extern const struct output_sink relay_sink;

/*
 * Whether the text is the address of a relay; then *shown (the caller frees it) is its usual form.
 * 0, -EINVAL or -ENAMETOOLONG with a sentence, -ENOMEM.
 */
bool relay_takes(const char *text);
int relay_address(const char *text, char **shown, struct tr_err *err);
/* The reason of an error of the functions below. */
const char *relay_explain(int err);

/* ---- sender.c: a snapshot. One thread uses a sender; all return 0 or -errno. ---- */

/* Constant while the sender is used; the caller keeps it. */
struct relay_delivery {
	const char *url;                /* in the form of relay_address */
	const char *session, *host;
	const char *name;               /* of the snapshot: its directory, below the session's */
	int64_t created;                /* the session was, ns since the epoch */
	bool is_ctf2;
	/* Asked ten times a second while the sender waits; true ends it with -ECANCELED. */
	bool (*quits)(void *arg);
	void *arg;
};

struct relay_sender;
/*
 * Connects and makes the session, in 5 s at most, but that looking up the host's name is not
 * cancelled. -ETIMEDOUT; -EREMOTEIO: the relay refused.
 */
int relay_sender_open(const struct relay_delivery *d, struct relay_sender **out);
/* The directory on the relay, as it says it. */
const char *relay_sender_path(const struct relay_sender *s);
/* A new stream in a directory of the trace; "metadata" is one, too. Its number is below. */
int relay_sender_add(struct relay_sender *s, const char *dir, const char *channel, size_t *number);
int relay_sender_metadata(struct relay_sender *s, size_t number, const uint8_t uuid[16],
			  const char *text, size_t size);
/* The next packet of the stream has `size` bytes, which relay_sender_bytes sends, in pieces. */
int relay_sender_packet(struct relay_sender *s, size_t number, uint64_t size);
int relay_sender_bytes(struct relay_sender *s, const void *bytes, size_t size);
/* Waits until the relay has everything, and ends the session. */
int relay_sender_finish(struct relay_sender *s);
void relay_sender_close(struct relay_sender *s);        /* frees it */

#endif
