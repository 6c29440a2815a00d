/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The packetizer cuts a ring into CTF packets, for views, snapshots and output. It takes no lock
 * and copies no event: from a stream, a mark and a position it describes the next packet. The
 * caller copies the content and then checks with ring_holds that no writer overwrote it.
 *
 * A stream consists of a leading empty packet, one packet for each sub-buffer (or for the part of
 * it that is not in an earlier packet), and a trailing empty packet if events were discarded after
 * the last one. The leading packet has the counter of discarded events as it was before, so that
 * the differences of the counter add up to what `status` shows.
 *
 * Readers sort the packets of a stream by timestamp_begin: times only grow, and an empty packet
 * never begins at the same time as the packet before or after it. The ring may be hostile: all
 * positions and times are clamped.
 */
#ifndef TRACER_RING_PACKETIZER_H
#define TRACER_RING_PACKETIZER_H

#include <string.h>

#include "metadata/ctf.h"
#include "tracer/base/ring/reader.h"

/* The state after a packet. All zero: no packet yet. */
struct packet_position {
	uint64_t pos;           /* in the ring: all events below are in earlier packets */
	uint64_t events;        /* committed below pos since the ring began */
	uint64_t begin, ts;     /* timestamps of the last packet; begin is 0: none yet */
	uint64_t seq;           /* packet_seq_num of the next packet */
	uint64_t lost;          /* events_discarded of the last packet */
	uint64_t lost_before;   /* events discarded in an earlier region of the stream */
};

struct packetizer {
	const struct stream *stream;    /* the caller keeps it */
	struct ring_mark mark;          /* no packet goes beyond it */
	/* value of the ring's counter of discarded events that counts as 0 */
	uint64_t base;
	uint64_t max_ts;                /* no event below the mark is later, ns */
	struct packet_position at;
	/* events that were overwritten before they came into a packet */
	uint64_t missed;
};

struct packet {
	uint64_t subbuf;        /* number of its sub-buffer; 0: an empty packet */
	uint64_t pos, len;      /* of its content in the ring, bytes */
	bool gone;              /* for the caller: overwritten before it was copied */
	struct md_packet header;
};

/*
 * The next packet up to the mark. all: includes the sub-buffer that writers are filling. False: no
 * packet (yet).
 */
bool packetizer_next(struct packetizer *p, bool all, struct packet *out);
/*
 * The leading empty packet, just before the first event. False: an earlier packet leaves no time
 * for it.
 */
bool packetizer_lead(struct packetizer *p, struct packet *out);
/* The trailing empty packet. False: no event was discarded after the last packet. */
bool packetizer_trail(struct packetizer *p, struct packet *out);
/*
 * A packet of len bytes whose content the caller has. lost: events_discarded; a smaller value than
 * before means unchanged.
 */
void packetizer_add(struct packetizer *p, uint64_t begin, uint64_t end, uint64_t lost, uint64_t len,
		    struct packet *out);

/* An empty packet outside the sequence, at time ts, ns. */
void packet_set_empty(struct packet *p, const struct stream *s, uint64_t ts, uint64_t lost);

/*
 * The header of an empty packet of the stream at time ts; the caller sets sizes, number and
 * counter.
 */
static inline void packet_init(struct md_packet *p, const struct stream *s, uint64_t ts)
{
	*p = (struct md_packet){
		.magic = MD_CTF_MAGIC,
		.stream_id = s->class->id,
		.stream_instance_id = s->instance_id,
		.timestamp_begin = ts,
		.timestamp_end = ts,
		.content_size = 8 * MD_PACKET_HEADER,
		.packet_size = 8 * MD_PACKET_HEADER,
		.cpu_id = s->cpu,
	};
	memcpy(p->uuid, s->trace->md->uuid, sizeof(p->uuid));
}

/* Bytes with the header. */
static inline uint64_t packet_size(const struct packet *p)
{
	return MD_PACKET_HEADER + p->len;
}

/* The content in the ring: check ring_holds(s, p->subbuf) after reading it. */
static inline const uint8_t *packet_content(const struct packet *p, const struct stream *s)
{
	const struct region_geometry *g = &s->region->geo;

	return region_data(s->region, s->ring) + (p->pos & (g->subbuf_size * g->subbuf_count - 1));
}

/* A time for a packet that precedes one that begins at ts. */
static inline uint64_t just_before(uint64_t ts)
{
	return ts ? ts - 1 : 0;
}

#endif
