// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A snapshot of an interval. Whole packets outside of it are left out of the plan. A packet that
 * has events of both sides is decoded, and the plan gets the part of it between two events; its
 * times become those of its first and its last event: a reader extends the shorter times of events
 * from them (CTF 1.8, 8.1). The counter of discarded events says how many a whole packet lost, so
 * the snapshot counts all that were lost in a packet of which it has a part.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/decode.h"
#include "tracer/base/ring/reader.h"
#include "tracer/output/snapshot/image.h"
#include "tracer/output/snapshot/snapshot.h"

/* The events of a packet in the interval. */
struct part {
	uint64_t begin, end;    /* bytes [begin, end) of its content */
	uint64_t first_ts, last_ts;
	bool later;             /* an event after the interval follows */
};

static void find_part(const struct packet *p, const struct md_stream *class, const uint8_t *bytes,
		      uint64_t from, uint64_t to, struct part *out)
{
	struct md_decoder d = { .stream = class, .p = bytes, .end = bytes + p->len,
				.ts = p->header.timestamp_begin };
	uint64_t before = d.ts;
	struct md_occurrence o;

	*out = (struct part){ 0 };
	while (md_decoder_next(&d, &o) == 1 && o.ts >= before && o.ts <= p->header.timestamp_end) {
		uint64_t at = (uint64_t)(d.p - bytes);

		before = o.ts;
		out->later = o.ts > to;
		if (out->later)
			return;
		if (o.ts < from)
			out->begin = at;
		else if (out->begin == out->end)
			out->first_ts = o.ts;
		out->end = at;
		out->last_ts = o.ts;
	}
}

/*
 * Cuts a packet to the interval; *later: no later packet has events of it. If a writer overwrote
 * the packet, copying will find that, and leave it out: it stays as it is.
 */
static int cut_packet(struct packet *p, const struct stream *s, uint64_t from, uint64_t to,
		      bool *later)
{
	uint8_t *bytes = malloc(p->len);
	struct part part;

	if (!bytes)
		return -ENOMEM;
	/* A copy: what an application may write to meanwhile is not decoded. */
	memcpy(bytes, packet_content(p, s), p->len);
	if (ring_holds(s, p->subbuf)) {
		find_part(p, s->class, bytes, from, to, &part);
		*later = part.later;
		p->pos += part.begin;
		p->len = part.end - part.begin;
		if (p->len) {
			p->header.timestamp_begin = part.first_ts;
			p->header.timestamp_end = part.last_ts;
		}
		p->header.content_size = p->header.packet_size = 8 * packet_size(p);
	}
	free(bytes);
	return 0;
}

/* The leading packet, not later than ts and before the first that is kept; the file's size. */
static void begin_source(struct source *src, size_t kept, uint64_t ts)
{
	if (kept > 1 && ts >= src->packets[1].header.timestamp_begin)
		ts = just_before(src->packets[1].header.timestamp_begin);
	packet_set_empty(&src->packets[0], &src->stream, ts, src->lost_before);
	src->count = kept;
	src->size = 0;
	for (size_t i = 0; i < kept; i++)
		src->size += packet_size(&src->packets[i]);
}

/* The trailing empty packet: what was lost after the last event, until the snapshot was taken. */
static void end_at(struct packet *p, uint64_t to)
{
	if (to == UINT64_MAX || to <= p->header.timestamp_begin)
		return;
	p->header.timestamp_begin = p->header.timestamp_end = to;
}

/* Packet 0 is the leading empty one. The order of the packets is that of their events. */
static int cut_source(struct source *src, uint64_t from, uint64_t to)
{
	uint64_t ts = src->packets[0].header.timestamp_begin;
	bool later = false;
	size_t kept = 1;
	int err = 0;

	for (size_t i = 1; i < src->count && !err && !later; i++) {
		struct packet *p = &src->packets[i];
		const struct md_packet *h = &p->header;

		if (!p->len) {
			end_at(p, to);
			src->packets[kept++] = *p;
			break;
		}
		later = h->timestamp_begin > to;
		if (later)
			break;
		if (h->timestamp_end >= from &&
		    (h->timestamp_begin < from || h->timestamp_end > to))
			err = cut_packet(p, &src->stream, from, to, &later);
		if (p->len && h->timestamp_end >= from) {
			src->packets[kept++] = *p;
		} else if (!later) {
			src->lost_before = h->events_discarded;
			ts = h->timestamp_end;
		}
	}
	begin_source(src, kept, ts);
	return err;
}

int snapshot_cut(struct trace_image *m, uint64_t from, uint64_t to)
{
	int err = 0;

	for (size_t i = 0; i < m->source_count && !err; i++)
		err = cut_source(&m->sources[i], from, to);
	return err;
}
