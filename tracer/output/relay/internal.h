/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of tracer/output/relay/ share. Private to the room. */
#ifndef TRACER_RELAY_INTERNAL_H
#define TRACER_RELAY_INTERNAL_H

#include "tracer/base/facts.h"
#include "tracer/output/output.h"
#include "tracer/output/relay/client.h"
#include "tracer/output/relay/relay.h"
#include "tracer/base/ring/packetizer.h"

/* For other threads; guarded by output.lock. */
struct relay_shown {
	bool connected;
	uint32_t minor;
	int64_t since;                  /* connected or not, ns since the epoch */
	char path[RELAY_PATH_MAX];      /* the directory on the relay, as it says it */
	uint64_t connections;           /* that were made since the session's first start */
	uint64_t resent;	/* packets with events that an earlier connection was sent */
};

/* A trace and its metadata on this connection. */
struct relay_trace {
	struct relay_trace *next;
	struct trace *trace;            /* referenced */
	bool added;
	uint64_t id;                    /* of the metadata stream on the relay */
	uint64_t resets;                /* how often its metadata was begun again */
	uint64_t version;               /* of the metadata that the relay has; 0: none */
	uint32_t stream_count;          /* stream classes that it has */
	uint8_t **events;               /* of each, one bit for each event id that it has */
};

/* A stream on this connection; stream_writer.net. */
struct relay_stream {
	struct relay_trace *trace;
	bool added;
	bool begun;                     /* the chunk has its first packet */
	bool asking;                    /* a question about `asked` is outstanding */
	uint64_t id;                    /* on the relay */
	uint64_t number;                /* of the next packet on this connection */
	uint64_t confirmed;             /* packets that the relay has */
	struct packet_position sent;    /* after the last packet that was sent */
	uint64_t sent_bytes;            /* on this connection */
	uint64_t missed;                /* overwritten events, not counted in the ring yet */
	uint64_t sent_before;	/* an earlier connection was sent what is below, in the ring */
	/*
	 * What the outstanding question is about: confirmed, sent, sent_bytes, missed are set to
	 * this.
	 */
	uint64_t asked;
	struct packet_position asked_position;
	uint64_t asked_bytes, asked_missed, confirmed_bytes;
};

struct relay {
	struct relay_url url;
	struct relay_link link;
	struct output *output;
	bool connected;
	bool new_streams;               /* the relay was not told yet that they are complete */
	bool may_clear;
	bool is_ctf2;                   /* the traces on this connection */
	uint64_t unasked;               /* bytes of packets that were sent since link_flush */
	uint64_t retry, delay;          /* when to connect again, and the pause after that, ns */
	int error;                      /* of the last attempt, -errno */
	uint64_t clears;                /* requests to clear that the buffers have seen */
	uint64_t clear_since;           /* the next one waits for the connection, ns; 0: no */
	uint64_t chunk;                 /* on this connection */
	bool rotated;
	uint64_t beacon_at;             /* live: when idle streams say so again, ns */
	char base[RELAY_PATH_MAX];      /* before 2.11: the directory, which each stream names */
	struct relay_trace *traces;
	uint8_t *copy;                  /* of a packet that writers may overwrite */
	size_t copy_size;
	struct relay_shown shown;
};

static inline struct relay *relay_of(const struct output *o)
{
	return o->net;
}

/* sink.c */
/* The connection is unusable: closes it. Returns err, which is -errno. */
int relay_broken(struct relay *r, int err);
/*
 * A clear was requested and the buffers still have what it drops: everything else gives way to it,
 * where nothing is half sent.
 */
bool relay_clear_waits(struct relay *r);
/* readers get to know the new streams. 0 or -errno */
int relay_streams_sent(struct relay *r);

/* packets.c */
struct stream_writer *relay_stream_create(struct output *o, const struct stream *st);
void relay_stream_free(struct stream_writer *writer);
void relay_stream_restore(struct stream_writer *writer);
/* The next packet begins a new connection: the relay has nothing. */
void relay_stream_reset(struct stream_writer *writer);
/* Live: the relay knows all streams that have events, before it gets packets. 0 or -errno. */
int relay_announce(struct output *o);
/* Live, twice in each period: says up to which time streams without new events have none. */
int relay_send_beacons(struct output *o);
int relay_stream_write(struct output *o, struct stream_writer *writer, bool all);
/* The reply to a question whether packets are pending. */
int relay_replied(void *arg, const struct relay_wait *w, uint32_t code);
/* Asks about packets that are not confirmed, and reads replies that are there. 0 or -errno. */
int relay_ask_all(struct output *o);
/*
 * Waits until the relay has all packets of all streams that were sent. 0 or -errno. relay_confirm:
 * returns early if a clear waits.
 */
int relay_confirm(struct output *o);
int relay_confirm_all(struct output *o);

/* metadata.c */
struct relay_trace *relay_trace_of(struct relay *r, struct trace *t);
void relay_traces_free(struct relay *r);
/* new connection; else: new chunk */
void relay_traces_reset(struct relay *r, bool connection);
/* The relay has the metadata of all events that were recorded until now. 0 or -errno. */
int relay_trace_ready(struct relay *r, struct relay_trace *t);
/* Sends the text as metadata packets of a stream, and waits until the relay has them. */
int relay_send_metadata(struct relay_link *l, uint64_t id, const uint8_t uuid[16], const char *text,
			size_t size);
int relay_stream_path(struct relay *r, const struct trace *t, char *out, size_t size);

/* chunk.c */
int relay_rotate(struct output *o);
int relay_clear(struct output *o);
void relay_end(struct output *o);

/* status.c */
/* Replies are due for so long that a relay that works would have sent one. Any thread. */
bool relay_is_silent(const struct relay *r);
void relay_status(const struct output *o, struct facts *out);
const char *relay_trouble(const struct output *o);

#endif
