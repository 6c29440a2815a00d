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

#endif
