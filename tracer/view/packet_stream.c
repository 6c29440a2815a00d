/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One open of `streams/OWNER/cpuN`: the ring as CTF packets, from the oldest event held at the
 * open. A packet ends where the ring ends at that time. Packets are numbered in this open, with a
 * gap where sub-buffers were overwritten before they were read. The stream begins with an empty
 * packet, so that readers know how many events the first packet with events discarded, and ends
 * with one if events were discarded after the last packet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/hash.h"
#include "tracer/view/cursor.h"
#include "tracer/base/ring/packetizer.h"
#include "tracer/session/streams.h"
#include "tracer/view/views.h"

#define CHUNK (64u << 10)

/* What the packets in `out` depend on besides the ring: from this, they are cut alike again. */
struct cut {
	struct ring_place from;
	struct ring_mark mark;
	uint64_t max_ts;
	struct packet_position at;
	/* The trailing packet alone, with this time and the ring's losses; 0: the others. */
	uint64_t trail, lost;
	bool begun, ended;
};

/* Where a reader is, for another daemon. */
struct stream_place {
	uint64_t key, ring;     /* of the region */
	struct cut cut;
	uint64_t base, looked, took, starts;
	uint64_t len, taken;    /* of `out`; 0: all of it was read */
	uint64_t hash;          /* of `out` */
	bool active;
};

struct packet_stream {
	struct session *s;      /* referenced */
	struct cursor *c;
	struct cut begin;       /* of `out` */
	struct md_buf out;      /* packets not read yet are out[taken …] */
	size_t taken;
	uint64_t hash;          /* of `out`, if is_hashed: once, however many reads it takes */
	bool is_hashed;
	/* makes headers; the cursor has the content, and limits its size */
	struct packetizer cut;
	uint64_t missed;        /* cursor.missed, as numbered so far */
	struct periods periods; /* of the channel */
	/* Times of the last look, and of the last look that took a partial sub-buffer. */
	uint64_t looked;
	uint64_t took;
	uint64_t starts;        /* session.starts at the open */
	bool active;            /* the session was active during the open */
	bool begun, ended;      /* the leading and the trailing empty packet are written */
};

int packet_stream_open(struct session *s, const char *channel, const char *owner, const char *name,
		       struct packet_stream **out)
{
	struct stream_set set = { 0 };
	struct packet_stream *p;
	struct session_info info;
	int err;
	uint64_t now;

	/* A look drains the kernel's events into the rings. */
	err = strcmp(owner, OWNER_KERNEL) ? session_streams(s, channel, &set)
					  : session_look(s, channel, &set, &now);
	if (err)
		return err;
	err = -ENOMEM;
	p = calloc(1, sizeof(*p));
	if (!p)
		goto out_set;
	err = -ENOENT;
	for (size_t i = 0; i < set.count; i++) {
		struct stream st = set.streams[i];

		if (strcmp(st.trace->owner, owner) || strcmp(st.name, name))
			continue;
		/* Read the ring itself, also if its packets were written to files. */
		st.log = NULL;
		p->cut.base = ring_cleared_lost(&st);
		p->c = cursor_create(&st, cursor_oldest(&st), CHUNK);
		err = p->c ? 0 : -ENOMEM;
		if (p->c)
			p->cut.stream = &p->c->stream;
		break;
	}
	if (err) {
		free(p);
		goto out_set;
	}
	p->s = session_ref(s);
	p->periods = session_periods(s, owner, channel);
	session_info(s, &info);
	p->starts = info.starts;
	p->active = info.active;
	*out = p;
out_set:
	stream_set_deinit(&set);
	return err;
}

void packet_stream_close(struct packet_stream *p)
{
	struct session *s;

	if (!p)
		return;
	s = p->s;
	cursor_destroy(p->c);
	md_buf_deinit(&p->out);
	free(p);
	session_put(s);
}

/* content: NULL of an empty packet */
static void put_packet(struct packet_stream *p, const struct packet *packet, const uint8_t *content)
{
	md_buf_put(&p->out, &packet->header, sizeof(packet->header));
	if (content)
		md_buf_put(&p->out, content, packet->len);
}

/* The ring's counter of discarded events for a packet whose content ends at pos. */
static uint64_t count_lost(const struct cursor *c, uint64_t pos)
{
	struct ring_piece piece;
	uint64_t k = (pos ? pos - 1 : 0) / c->stream.region->geo.subbuf_size;

	if (!ring_piece(&c->stream, &c->mark, k, &piece) || !ring_holds(&c->stream, k))
		return 0;
	return pos == piece.end ? piece.end_lost : piece.begin_lost;
}

/* Writes the leading empty packet, before events from this time on. */
static void put_lead(struct packet_stream *p, uint64_t ts)
{
	struct packet packet;

	if (p->begun)
		return;
	p->begun = true;
	p->missed = p->c->missed;
	packetizer_add(&p->cut, just_before(ts), just_before(ts), 0, 0, &packet);
	put_packet(p, &packet, NULL);
}

/* Cuts the next packets up to the mark. */
static void cut_packets(struct packet_stream *p)
{
	uint64_t from, to, lost;
	struct packet packet;
	const uint8_t *bytes;
	size_t n;

	while (p->out.len < CHUNK && (n = cursor_take(p->c, &bytes, &from, &to))) {
		put_lead(p, from);
		lost = count_lost(p->c, cursor_place(p->c).pos);
		p->cut.at.seq += p->c->missed - p->missed;
		p->missed = p->c->missed;
		packetizer_add(&p->cut, from, to, lost > p->cut.base ? lost - p->cut.base : 0, n,
			       &packet);
		put_packet(p, &packet, bytes);
	}
}

/* Writes the trailing empty packet if events were discarded after the last packet. */
static void put_trail(struct packet_stream *p, uint64_t ts, uint64_t lost)
{
	struct packet packet;

	if (p->ended)
		return;
	p->ended = true;
	p->cut.mark.lost = lost > p->cut.base ? lost - p->cut.base : 0;
	p->cut.mark.last_ts = p->cut.max_ts = ts;
	if (p->cut.mark.lost > p->cut.at.lost)
		put_lead(p, ts);
	if (packetizer_trail(&p->cut, &packet))
		put_packet(p, &packet, NULL);
}

/*
 * Takes a mark: at each switch_period up to the last event, else up to the end of full sub-buffers.
 */
static void set_mark(struct packet_stream *p, uint64_t now, bool all)
{
	uint64_t size = p->c->stream.region->geo.subbuf_size;

	cursor_mark(p->c, false);
	if (all || !p->took || now - p->took >= p->periods.hold)
		p->took = now;
	else
		p->c->mark.head &= ~(size - 1);
}

static struct cut cut_here(const struct packet_stream *p)
{
	return (struct cut){ .from = cursor_place(p->c), .mark = p->c->mark,
			     .max_ts = p->c->max_ts, .at = p->cut.at, .begun = p->begun,
			     .ended = p->ended };
}

/*
 * Cuts new packets into the empty `out`. 1; 0: no more packets will come; -EAGAIN: none yet;
 * -errno.
 */
static int cut_more(struct packet_stream *p)
{
	struct stream_set set = { 0 };
	struct session_info info;
	uint64_t now;
	int err;

	p->begin = cut_here(p);
	cut_packets(p);
	if (p->out.len)
		return 1;
	/*
	 * Ask before the look: if the session is inactive now, this look returns its last events.
	 */
	session_info(p->s, &info);
	p->active |= info.active || info.starts != p->starts;
	now = monotonic_now();
	if (info.active && p->looked && now - p->looked < p->periods.look)
		return -EAGAIN;
	p->looked = now;
	err = session_look(p->s, NULL, &set, &now);
	if (err)
		return err;
	stream_set_deinit(&set);
	set_mark(p, p->looked, !info.active);
	now = clock_now(session_clock(p->s));
	cursor_limit(p->c, now + 1000000000);   /* as in merge_look */
	p->begin = cut_here(p);
	cut_packets(p);
	if (p->out.failed)
		return -ENOMEM;
	if (p->out.len)
		return 1;
	if (!info.gone && (!p->active || info.active)) {
		p->ended = false;
		cursor_release(p->c);
		return -EAGAIN;
	}
	/* A clock that does not run says nothing of the losses after the last event. */
	p->begin = cut_here(p);
	p->begin.trail = session_clock(p->s)->stands ? p->c->mark.last_ts : now;
	p->begin.lost = ring_lost_total(&p->c->stream);
	put_trail(p, p->begin.trail, p->begin.lost);
	return p->out.len ? 1 : 0;
}

ssize_t packet_stream_read(struct packet_stream *p, void *buf, size_t size)
{
	size_t n;
	int err;

	if (p->taken == p->out.len) {
		md_buf_reset(&p->out);
		p->taken = 0;
		p->is_hashed = false;
		err = cut_more(p);
		if (err <= 0)
			return err;
	}
	n = p->out.len - p->taken;
	if (n > size)
		n = size;
	memcpy(buf, p->out.data + p->taken, n);
	p->taken += n;
	return (ssize_t)n;
}

/* ---- for the next daemon ---- */

size_t packet_stream_place(struct packet_stream *p, size_t unread, void *buf, size_t size)
{
	const struct stream *s = &p->c->stream;
	size_t taken = p->taken - unread;       /* a read() gives bytes of one `out` */
	struct stream_place place;

	if (size < sizeof(place))
		return 0;
	memset(&place, 0, sizeof(place));
	place.key = s->region->key;
	place.ring = s->ring;
	place.base = p->cut.base;
	place.looked = p->looked;
	place.took = p->took;
	place.starts = p->starts;
	place.active = p->active;
	if (taken < p->out.len) {
		place.cut = p->begin;
		place.len = p->out.len;
		place.taken = taken;
		if (!p->is_hashed)
			p->hash = hash_bytes(HASH_START, p->out.data, p->out.len);
		p->is_hashed = true;
		place.hash = p->hash;
	} else {
		place.cut = cut_here(p);
	}
	memcpy(buf, &place, sizeof(place));
	return sizeof(place);
}

/* Cuts again what the reader has a part of. */
static int cut_again(struct packet_stream *p, const struct stream_place *place)
{
	if (place->cut.trail)
		put_trail(p, place->cut.trail, place->cut.lost);
	else
		cut_packets(p);
	if (p->out.failed)
		return -ENOMEM;
	if (p->out.len != place->len || place->taken > place->len ||
	    hash_bytes(HASH_START, p->out.data, p->out.len) != place->hash)
		return -ESTALE;
	p->taken = place->taken;
	return 0;
}

int packet_stream_resume(struct packet_stream *p, const void *bytes, size_t len)
{
	struct stream_place place;
	struct cursor *c;

	if (!len)
		return 0;
	if (len != sizeof(place))
		return -ESTALE;
	memcpy(&place, bytes, sizeof(place));
	if (place.key != p->c->stream.region->key || place.ring != p->c->stream.ring)
		return -ESTALE;
	c = cursor_create(&p->c->stream, place.cut.from, CHUNK);
	if (!c)
		return -ENOMEM;
	c->mark = place.cut.mark;
	c->max_ts = place.cut.max_ts;
	cursor_destroy(p->c);
	p->c = c;
	p->cut.stream = &c->stream;
	p->cut.base = place.base;
	p->cut.at = place.cut.at;
	p->missed = 0;
	p->begun = place.cut.begun;
	p->ended = place.cut.ended;
	p->looked = place.looked;
	p->took = place.took;
	p->starts = place.starts;
	p->active = place.active;
	p->begin = place.cut;
	return place.len ? cut_again(p, &place) : 0;
}
