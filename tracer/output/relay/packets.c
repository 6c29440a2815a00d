/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/output/relay/internal.h"
#include "tracer/session/streams.h"

#define BATCH 16                /* packets that are sent at once */
#define BATCH_BYTES (UINT64_C(1) << 20) /* of a batch; if there is room, an eighth of the ring */
#define CONFIRM_PAUSE_MS 1      /* before the relay is asked again about missing packets */

struct batch {
	struct packetizer cut;                  /* its position is after the last packet */
	struct packet packets[BATCH];
	uint8_t headers[BATCH][RELAY_DATA_HEADER];
	struct iovec iov[3 * BATCH];
	uint64_t bytes;
	uint64_t most;                          /* bytes after which no packet is added */
	int count, iovs;
};

/* ---- a stream's life ---- */

struct stream_writer *relay_stream_create(struct output *o, const struct stream *st)
{
	struct stream_writer *writer = calloc(1, sizeof(*writer));
	struct relay_stream *net = calloc(1, sizeof(*net));
	bool kernel = st->trace->uid == KERNEL_UID;

	if (net)
		net->trace = relay_trace_of(relay_of(o), st->trace);
	if (!writer || !net || !net->trace) {
		free(writer);
		free(net);
		return NULL;
	}
	writer->st = *st;
	writer->st.log = NULL;
	trace_get(st->trace);
	region_get(st->region);
	writer->net = net;
	writer->fd = writer->index_fd = -1;
	writer->at.key = st->region->key;
	writer->at.ring = st->ring;
	writer->switch_period =
		session_periods(o->s, kernel ? OWNER_KERNEL : st->trace->owner, st->channel).hold;
	if (o->live_period &&
	    (!writer->switch_period || o->live_period / 2 < writer->switch_period))
		writer->switch_period = o->live_period / 2;
	session_file_limits(o->s, kernel, st->channel, &writer->file_size, &writer->file_count);
	return writer;
}

static struct packet_position confirmed_position(const struct stream_writer *writer)
{
	const struct checkpoint_slot *at = &writer->at;

	return (struct packet_position){ .pos = at->pos, .events = at->events, .begin = at->begin,
					 .ts = at->ts, .seq = at->seq, .lost = at->lost,
					 .lost_before = at->lost_before };
}

void relay_stream_reset(struct stream_writer *writer)
{
	struct relay_trace *t = writer->net->trace;
	uint64_t sent = writer->net->sent.pos, before = writer->net->sent_before;

	*writer->net = (struct relay_stream){ .trace = t,
					  .sent = confirmed_position(writer),
					  .sent_before = sent > before ? sent : before };
}

void relay_stream_restore(struct stream_writer *writer)
{
	struct trail_ring *ring = region_ring(writer->st.region, writer->st.ring);
	uint64_t cleared = __atomic_load_n(&ring->cleared, __ATOMIC_RELAXED) & TRAIL_HEAD_MASK;

	/* A clear that was under way. */
	if (cleared > writer->at.pos && cleared <= region_head(writer->st.region, writer->st.ring))
		writer->at.pos = cleared;
	relay_stream_reset(writer);
}

void relay_stream_free(struct stream_writer *writer)
{
	trace_put(writer->st.trace);
	region_put(writer->st.region);
	free(writer->net);
	free(writer);
}

/* ---- what the relay has ---- */

/* The relay has all up to this position: it is in the checkpoint, then the writers get room. */
static void confirm(struct output *o, struct stream_writer *writer,
		    const struct packet_position *at, uint64_t missed, uint64_t packets,
		    uint64_t bytes)
{
	struct relay_stream *net = writer->net;

	writer->at.pos = at->pos;
	writer->at.events = at->events;
	writer->at.begin = at->begin;
	writer->at.ts = at->ts;
	writer->at.seq = at->seq;
	writer->at.lost = at->lost;
	net->confirmed += packets;
	net->confirmed_bytes += bytes;
	/* This connection worked: the pauses after it start from the shortest. */
	relay_of(o)->delay = packets ? 0 : relay_of(o)->delay;
	net->missed -= missed;
	/* If this fails, the next daemon sends these packets again. */
	checkpoint_slot_put(o->state, writer->slot, &writer->at);
	stream_writer_consume(writer, missed);
	if (packets)
		output_count_written(o, bytes, bytes, (unsigned int)packets);
}

int relay_replied(void *arg, const struct relay_wait *w, uint32_t code)
{
	struct relay *r = arg;
	struct stream_writer *writer = w->stream;
	struct relay_stream *net;

	if (!writer)
		return code == RELAY_OK ? 0 : -EREMOTEIO;
	net = writer->net;
	net->asking = false;
	if (code > 1)
		return -EREMOTEIO;
	if (code == 0)
		confirm(r->output, writer, &net->asked_position, net->asked_missed,
			net->asked - net->confirmed, net->asked_bytes - net->confirmed_bytes);
	return 0;
}

/*
 * Asks whether the relay has what was sent, unless that is being asked. It answers questions before
 * it reads packets, so one that is busy never has the newest packet: after a no, the question is
 * repeated, and not put about later packets.
 */
static int ask_pending(struct relay *r, struct stream_writer *writer)
{
	struct relay_stream *net = writer->net;
	struct relay_wait w = { .stream = writer, .number = net->number };

	if (net->asking || net->confirmed == net->number)
		return 0;
	net->asking = true;
	if (net->asked <= net->confirmed || net->asked == net->number) {
		net->asked = net->number;
		net->asked_position = net->sent;
		net->asked_bytes = net->sent_bytes;
		net->asked_missed = net->missed;
	}
	relay_put_two(&r->link.out, RELAY_DATA_PENDING, net->id, net->asked - 1);
	return link_expect(&r->link, &w);
}

/* Asks about each stream of which packets are unconfirmed. *left: how many are. */
static int ask_all(struct output *o, size_t *left)
{
	int err = 0;

	*left = 0;
	for (size_t i = 0; i < o->count && !err; i++) {
		*left += o->streams[i]->net->confirmed != o->streams[i]->net->number;
		err = ask_pending(relay_of(o), o->streams[i]);
	}
	return err;
}

int relay_ask_all(struct output *o)
{
	struct relay *r = relay_of(o);
	size_t left;
	int err = ask_all(o, &left);

	r->unasked = 0;
	err = err ? err : link_flush(&r->link);
	err = err ? err : link_poll(&r->link);
	return err ? relay_broken(r, err) : 0;
}

static int confirm_streams(struct output *o, bool gives_way)
{
	struct relay *r = relay_of(o);
	uint64_t since = monotonic_now();
	size_t left, before;
	int err = ask_all(o, &left);

	while (!err && left && !(gives_way && relay_clear_waits(r))) {
		before = left;
		err = r->link.count ? link_wait(&r->link, 100) : 0;
		err = err == -EAGAIN ? 0 : err;
		/*
		 * All were asked, and some not there yet: the relay reads the other connection
		 * first.
		 */
		if (!err && !r->link.count)
			err = link_pause(&r->link, CONFIRM_PAUSE_MS);
		err = err ? err : ask_all(o, &left);
		if (left != before)
			since = monotonic_now();
		else if (!err && monotonic_now() - since > r->link.stall_ms * UINT64_C(1000000))
			err = -ETIMEDOUT;
	}
	return err ? relay_broken(r, err) : 0;
}

int relay_confirm(struct output *o)
{
	return confirm_streams(o, true);
}

int relay_confirm_all(struct output *o)
{
	return confirm_streams(o, false);
}

/* ---- packets ---- */

/*
 * Each send and each question costs the relay and us about as much as 64 KiB of packets. So few are
 * made while there is room.
 */
static uint64_t batch_bytes(const struct relay *r, const struct stream_writer *writer)
{
	const struct region_geometry *g = &writer->st.region->geo;
	uint64_t part = g->subbuf_size * g->subbuf_count / 8;

	return part > BATCH_BYTES && !r->link.prompt ? part : BATCH_BYTES;
}

static void batch_init(struct output *o, const struct stream_writer *writer, struct batch *b)
{
	b->bytes = 0;
	b->most = batch_bytes(relay_of(o), writer);
	b->count = b->iovs = 0;
	b->cut = (struct packetizer){
		.stream = &writer->st, .mark = writer->mark, .base = ring_cleared_lost(&writer->st),
		.max_ts = clock_now(session_clock(o->s)) + 1000000000, .at = writer->net->sent,
	};
}

static bool is_overwritten(const struct stream_writer *writer)
{
	return writer->st.region->geo.mode == TRAIL_MODE_OVERWRITE;
}

/* Adds the packet that was made in b->packets[b->count]. -EAGAIN: it was overwritten meanwhile. */
static int add_packet(struct relay *r, struct stream_writer *writer, struct batch *b)
{
	struct packet *p = &b->packets[b->count];
	const void *content = p->len ? packet_content(p, &writer->st) : NULL;

	if (packet_size(p) > UINT32_MAX)
		return -EFBIG;
	/* What is half sent cannot be taken back: a copy, checked before it is sent. */
	if (p->len && is_overwritten(writer)) {
		if (p->len > r->copy_size) {
			uint8_t *more = realloc(r->copy, p->len);

			if (!more)
				return -ENOMEM;
			r->copy = more;
			r->copy_size = p->len;
		}
		memcpy(r->copy, content, p->len);
		if (!ring_holds(&writer->st, p->subbuf))
			return -EAGAIN;
		content = r->copy;
	}
	/* send_batch fills the header in: the relay may not know the stream yet. */
	b->iov[b->iovs++] = (struct iovec){ b->headers[b->count], RELAY_DATA_HEADER };
	b->iov[b->iovs++] = (struct iovec){ &p->header, sizeof(p->header) };
	if (p->len)
		b->iov[b->iovs++] = (struct iovec){ (void *)content, p->len };
	b->bytes += packet_size(p);
	b->count++;
	return 0;
}

/* Puts the next packets of the ring into the batch. 0 or -errno; -EAGAIN: try again. */
static int fill_batch(struct relay *r, struct stream_writer *writer, struct batch *b, bool all)
{
	int most = is_overwritten(writer) ? 1 : BATCH, err = 0;
	bool more = true;

	if (!writer->net->begun && packetizer_lead(&b->cut, &b->packets[0]))
		return add_packet(r, writer, b);
	while (!err && more && b->count < most && b->bytes < b->most) {
		more = packetizer_next(&b->cut, all, &b->packets[b->count]);
		if (more)
			err = add_packet(r, writer, b);
	}
	if (!err && !more && all && b->count < BATCH &&
	    packetizer_trail(&b->cut, &b->packets[b->count]))
		err = add_packet(r, writer, b);
	return err;
}

/* The relay knows the stream. Before the first packet of it. */
static int add_stream(struct relay *r, struct stream_writer *writer)
{
	char path[RELAY_PATH_MAX];
	/* Of a limited size without a limited number, relays of today cannot make a second file. */
	struct relay_stream_info info = {
		.channel = writer->st.file, .path = path, .chunk = r->chunk,
		.file_size = writer->file_count ? writer->file_size : 0,
		.file_count = writer->file_size ? writer->file_count : 0,
	};
	int err = relay_stream_path(r, writer->st.trace, path, sizeof(path));

	err = err ? err : relay_add_stream(&r->link, &info, &writer->net->id);
	writer->net->added = !err;
	r->new_streams = r->new_streams || !err;
	return err;
}

/* The index of packet `number` of the stream, or a beacon: of the packet that comes next. */
static int send_index(struct relay *r, const struct relay_stream *net, uint64_t number,
		      const struct md_packet *p)
{
	const struct relay_wait w = { 0 };

	relay_put_index(&r->link.out, r->link.minor, net->id, number, p);
	return link_expect(&r->link, &w);
}

/* Counts packets of the batch that an earlier connection was sent, too. */
static void count_resent(struct relay *r, const struct stream_writer *writer, const struct batch *b)
{
	uint64_t resent = 0;

	for (int i = 0; i < b->count; i++)
		resent += b->packets[i].len && b->packets[i].pos < writer->net->sent_before;
	if (!resent)
		return;
	pthread_mutex_lock(&r->output->lock);
	r->shown.resent += resent;
	pthread_mutex_unlock(&r->output->lock);
}

/*
 * Sends the batch. Its indexes and the question whether the relay has it go with those of other
 * streams, at the latest at the end of the pass.
 */
static int send_batch(struct relay *r, struct stream_writer *writer, struct batch *b)
{
	struct relay_stream *net = writer->net;
	int err = net->added ? 0 : add_stream(r, writer);

	if (err)
		return err;
	for (int i = 0; i < b->count; i++)
		relay_set_data_header(b->headers[i], net->id, net->number + (uint64_t)i,
				      (uint32_t)packet_size(&b->packets[i]));
	err = link_send(&r->link, b->iov, b->iovs);
	for (int i = 0; i < b->count && !err; i++)
		err = send_index(r, net, net->number + (uint64_t)i, &b->packets[i].header);
	if (err)
		return err;
	count_resent(r, writer, b);
	net->begun = true;
	net->number += (uint64_t)b->count;
	net->sent = b->cut.at;
	net->sent_bytes += b->bytes;
	net->missed += b->cut.missed;
	r->unasked += b->bytes;
	err = ask_pending(r, writer);
	if (err || (r->unasked < b->most && !r->link.prompt))
		return err;
	r->unasked = 0;
	err = link_flush(&r->link);
	return err ? err : link_poll(&r->link);
}

/* ---- live ---- */

static bool has_unsent(const struct stream_writer *writer)
{
	return writer->mark.head > writer->net->sent.pos ||
	       writer->net->sent.lost_before + writer->mark.lost > writer->net->sent.lost;
}

/* Readers wait for a stream until it has a packet or a beacon, and beacons need a packet before. */
static int send_empty(struct output *o, struct stream_writer *writer)
{
	struct relay *r = relay_of(o);
	struct batch b;
	int err;

	batch_init(o, writer, &b);
	packetizer_add(&b.cut, o->looked, o->looked, b.cut.at.lost, 0, &b.packets[0]);
	err = add_packet(r, writer, &b);
	return err ? err : send_batch(r, writer, &b);
}

int relay_announce(struct output *o)
{
	struct relay *r = relay_of(o);
	int err = 0;

	for (size_t i = 0; i < o->count && !err; i++) {
		struct stream_writer *writer = o->streams[i];

		if (writer->net->added)
			continue;
		err = relay_trace_ready(r, writer->net->trace);
		err = err ? err : add_stream(r, writer);
	}
	err = err ? err : relay_streams_sent(r);
	for (size_t i = 0; i < o->count && !err; i++)
		if (!o->streams[i]->net->number && !has_unsent(o->streams[i]))
			err = send_empty(o, o->streams[i]);
	return err ? relay_broken(r, err) : 0;
}

int relay_send_beacons(struct output *o)
{
	struct relay *r = relay_of(o);
	uint64_t now = monotonic_now();
	int err = 0;

	if (now < r->beacon_at)
		return 0;
	r->beacon_at = now + o->live_period / 2;
	for (size_t i = 0; i < o->count && !err; i++) {
		const struct stream_writer *writer = o->streams[i];
		struct md_packet beacon = { .timestamp_begin = o->looked,
					    .timestamp_end = o->looked,
					    .stream_id = writer->st.class->id,
					    .stream_instance_id = writer->st.instance_id };

		/* A packet that ends later has said more than the beacon would. */
		if (!writer->net->number || has_unsent(writer) || writer->net->sent.ts >= o->looked)
			continue;
		err = send_index(r, writer->net, writer->net->number, &beacon);
	}
	return err ? relay_broken(r, err) : 0;
}

/* ---- writing ---- */

/* Nothing more is to be sent: the position may have moved all the same. */
static void skip(struct output *o, struct stream_writer *writer, const struct batch *b)
{
	struct relay_stream *net = writer->net;

	net->sent = b->cut.at;
	net->missed += b->cut.missed;
	if (net->confirmed == net->number)
		confirm(o, writer, &net->sent, net->missed, 0, 0);
}

/* One batch. 1: there may be more; 0: there is not; -errno. */
static int write_batch(struct output *o, struct stream_writer *writer, bool all)
{
	struct relay *r = relay_of(o);
	uint64_t size = writer->st.region->geo.subbuf_size;
	struct batch b;
	int err;

	batch_init(o, writer, &b);
	err = fill_batch(r, writer, &b, all);
	if (err && err != -EAGAIN)
		return err;
	if (b.count)
		err = send_batch(r, writer, &b);
	else if (!ring_holds(&writer->st, writer->mark.head / size))
		/* The writers have overwritten all that was there at the mark. */
		ring_mark(&writer->st, &writer->mark);
	else if (!err)
		return skip(o, writer, &b), 0;
	return err && err != -EAGAIN ? err : 1;
}

int relay_stream_write(struct output *o, struct stream_writer *writer, bool all)
{
	struct relay *r = relay_of(o);
	int more, err;

	if (!r->connected)
		return r->error;
	err = relay_trace_ready(r, writer->net->trace);
	if (err)
		return relay_broken(r, err);
	/* In overwrite mode there may always be more. */
	for (uint32_t rounds = 2 * writer->st.region->geo.subbuf_count + BATCH; rounds; rounds--) {
		more = relay_clear_waits(r) ? 0 : write_batch(o, writer, all);
		if (more < 0)
			return relay_broken(r, more);
		if (!more)
			break;
	}
	return 0;
}
