// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A snapshot of an interval. Whole packets outside of it are left out of the plan. A packet that
 * has events of both sides is decoded, and the plan gets the part of it between two events; its
 * times become those of its first and its last event: a reader extends the shorter times of events
 * from them (CTF 1.8, 8.1).
 *
 * The counter of discarded events in a packet says how many were lost between its last event and
 * the beginning of the next packet (base/ring/losses.h), and no more is known of their times. The
 * snapshot counts all of them if this time touches the interval: it may count some that were lost
 * shortly before or after it, and leaves out none that was lost in it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/decode.h"
#include "tracer/base/hash.h"
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
static void begin_source(struct image_source *src, size_t kept, uint64_t ts)
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

/* The counter of discarded events at the beginning of sub-buffer k. False: it is not known. */
static bool read_begin(const struct stream *st, const struct ring_mark *m, uint64_t k,
		       uint64_t *begin_ts, uint64_t *lost)
{
	uint64_t base = ring_cleared_lost(st);
	struct ring_piece piece;

	if (!ring_piece(st, m, k, &piece))
		return false;
	*begin_ts = piece.begin_ts;
	*lost = piece.begin_lost > base ? piece.begin_lost - base : 0;
	return true;
}

/*
 * The counter at the beginning of the oldest packet, *begin, and before the losses of the interval.
 * The ring knows the counters of as many overwritten sub-buffers as it has; what was lost before
 * them may be of an interval that began earlier still.
 */
static uint64_t lost_before(const struct image_source *src, uint64_t from, uint64_t *begin)
{
	uint64_t k = src->packets[1].subbuf, ts, lost;
	struct ring_mark m;

	*begin = src->packets[0].header.events_discarded;
	if (src->count < 2 || !src->packets[1].len)
		return *begin;
	ring_mark(&src->stream, &m);
	if (!read_begin(&src->stream, &m, k, &ts, &lost))
		return *begin;
	*begin = lost;
	while (ts >= from)
		if (!--k || !read_begin(&src->stream, &m, k, &ts, &lost))
			return src->packets[0].header.events_discarded;
	return lost;
}

/*
 * Whether the losses that packet i counts may be of the interval, though its events are before it.
 * What follows the newest events counts itself.
 */
static bool loses_within(const struct image_source *src, size_t i, uint64_t from)
{
	return i + 1 < src->count && src->packets[i + 1].len &&
	       src->packets[i + 1].header.timestamp_begin >= from;
}

/* Packet 0 is the leading empty one. The order of the packets is that of their events. */
static int cut_source(struct image_source *src, uint64_t from, uint64_t to)
{
	uint64_t ts = src->packets[0].header.timestamp_begin, lost, next;
	bool later = false;
	size_t kept = 1;
	int err = 0;

	src->lost_before = lost_before(src, from, &lost);
	for (size_t i = 1; i < src->count && !err && !later; i++, lost = next) {
		struct packet *p = &src->packets[i];
		const struct md_packet *h = &p->header;

		next = h->events_discarded;
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
		if (later)      /* its losses come after its last event */
			p->header.events_discarded = next = lost;
		if (p->len && h->timestamp_end >= from) {
			src->packets[kept++] = *p;
		} else if (!later) {
			ts = h->timestamp_end;
			if (!loses_within(src, i, from))
				src->lost_before = next;
		}
	}
	/* No packet is left that counts them. */
	if (kept == 1 && src->count > 1 && lost > src->lost_before) {
		packet_set_empty(&src->packets[1], &src->stream, to, lost);
		kept = 2;
	}
	begin_source(src, kept, ts);
	return err;
}

int snapshot_cut(struct trace_image *image, uint64_t from, uint64_t to)
{
	int err = 0;

	for (size_t i = 0; i < image->source_count && !err; i++)
		err = cut_source(&image->sources[i], from, to);
	return err;
}

/* ---- the time of an event ---- */

/*
 * The moment of a snapshot that an event causes. A trigger sees the event in a ring of its own,
 * with another time than the session has: each recording of an event reads the clock, and between
 * two of them a program may be interrupted, or get memory for a sub-buffer. So the event is looked
 * for in the session's rings, by its name and its fields.
 *
 * A program records an event for triggers last: the session's event is the latest one that is not
 * later. The kernel records it in any order: there it is the nearest one.
 */

#define NEAR UINT64_C(100000000)        /* ns: a thread may be preempted between two recordings */

struct search {
	const struct snapshot_request *request;
	uint64_t found, distance;
};

uint64_t snapshot_event(const struct md_occurrence *o)
{
	uint64_t h = hash_string(HASH_START, o->event->name);

	h = hash_bytes(h, o->payload, (size_t)(o->end - o->payload));
	return h ? h : 1;
}

/* No event after that is the one: the kernel's session may have recorded it after the trigger. */
static uint64_t last_time(const struct snapshot_request *r)
{
	return r->at + (r->kernel ? NEAR : 0);
}

static void judge(struct search *f, const struct md_occurrence *o)
{
	uint64_t at = f->request->at, distance = o->ts > at ? o->ts - at : at - o->ts;

	if (distance > f->distance || snapshot_event(o) != f->request->event)
		return;
	f->distance = distance;
	f->found = o->ts;
}

static void look_at_packet(struct search *f, const struct packet *p, const struct stream *s)
{
	uint8_t *bytes = malloc(p->len);
	struct md_decoder d = { .stream = s->class, .p = bytes, .ts = p->header.timestamp_begin };
	uint64_t last = last_time(f->request);
	struct md_occurrence o;

	if (!bytes)
		return;
	/* A copy: what an application may write to meanwhile is not decoded. */
	memcpy(bytes, packet_content(p, s), p->len);
	d.end = bytes + p->len;
	if (ring_holds(s, p->subbuf))
		while (md_decoder_next(&d, &o) == 1 && o.ts <= last)
			judge(f, &o);
	free(bytes);
}

uint64_t snapshot_event_time(struct session *s, const struct snapshot_request *r)
{
	struct search f = { .request = r, .found = r->at, .distance = NEAR };
	struct trace_image *image = image_new(s);

	if (!image || image_plan(image)) {
		image_put(image);
		return r->at;
	}
	for (size_t i = 0; i < image->source_count; i++) {
		const struct image_source *src = &image->sources[i];

		if ((src->stream.trace->uid == KERNEL_UID) != r->kernel)
			continue;
		for (size_t k = 0; k < src->count; k++) {
			const struct packet *p = &src->packets[k];

			if (p->len && p->header.timestamp_end + NEAR >= r->at &&
			    p->header.timestamp_begin <= last_time(r))
				look_at_packet(&f, p, &src->stream);
		}
	}
	image_put(image);
	return f.found;
}
