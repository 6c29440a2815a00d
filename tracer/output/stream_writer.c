/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes one stream into its files. A packet is a header made here and a content that pwritev takes
 * directly from the ring. Bytes below the head do not change in discard mode. In overwrite mode
 * they may: a check after the write tells whether they did.
 *
 * The first packet of a stream in a chunk is empty. It carries the counter of discarded events as
 * it was before, so that a reader that adds up differences finds the number discarded in this
 * chunk.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tracer/output/output.h"
#include "tracer/base/ring/packetizer.h"
#include "tracer/session/streams.h"

#define BATCH 16                /* most packets in one write */
#define BATCH_BYTES (1u << 20)  /* a batch ends here: frees space in the ring early */

struct batch {
	struct packetizer cut;                  /* its position is after the last packet */
	struct packet packets[BATCH];
	struct md_sealed_packet heads[BATCH];   /* of sealed packets, */
	void *contents[BATCH];                  /* of these packets, if compressed; owned */
	uint64_t sizes[BATCH];                  /* of the packets in the file */
	struct iovec iov[2 * BATCH + 1];        /* recycle_put needs one more element */
	struct packet_position after[BATCH];    /* the position after each packet */
	uint64_t bytes;
	unsigned int count, iovs;
};

struct stream_writer *stream_writer_create(struct output *o, const struct stream *st,
					   struct trace_dir *t)
{
	struct stream_writer *writer = calloc(1, sizeof(*writer));
	bool kernel = st->trace->uid == KERNEL_UID;

	if (!writer)
		return NULL;
	writer->st = *st;
	trace_get(st->trace);
	region_get(st->region);
	stream_files_get(st->log);
	writer->trace = t;
	writer->fd = writer->index_fd = -1;
	writer->sealed = st->log->sealed;
	writer->at.key = st->region->key;
	writer->at.ring = st->ring;
	writer->at.chunk = o->head.chunk;
	writer->at.cleared = o->head.cleared;
	writer->switch_period =
		session_periods(o->s, kernel ? OWNER_KERNEL : st->trace->owner, st->channel).hold;
	session_file_limits(o->s, kernel, st->channel, &writer->file_size, &writer->file_count);
	stream_files_chunk(st->log, o->head.chunk);
	return writer;
}

static struct outend end_of_files(const struct stream_writer *writer)
{
	return (struct outend){ .pos = writer->at.pos,
				.begin = writer->at.begin,
				.ts = writer->at.ts,
				.seq = writer->at.seq,
				.lost = writer->at.lost,
				.lost_before = writer->at.lost_before };
}

void stream_writer_publish(const struct stream_writer *writer)
{
	struct outend end = end_of_files(writer);

	stream_files_set_end(writer->st.log, &end);
}

void stream_writer_destroy(struct stream_writer *writer)
{
	stream_writer_close(writer);
	trace_put(writer->st.trace);
	region_put(writer->st.region);
	stream_files_put(writer->st.log);
	free(writer);
}

/* ---- packets ---- */

static void set_position(struct checkpoint_slot *slot, const struct packet_position *at)
{
	slot->pos = at->pos;
	slot->events = at->events;
	slot->begin = at->begin;
	slot->ts = at->ts;
	slot->seq = at->seq;
	slot->lost = at->lost;
}

static void batch_init(struct output *o, const struct stream_writer *writer, struct batch *b)
{
	const struct checkpoint_slot *at = &writer->at;

	b->bytes = b->count = b->iovs = 0;
	b->cut = (struct packetizer){
		.stream = &writer->st,
		.mark = writer->mark,
		.base = ring_cleared_lost(&writer->st),
		.max_ts = clock_now(session_clock(o->s)) + 1000000000,
		.at = { .pos = at->pos,
			.events = at->events,
			.begin = at->begin,
			.ts = at->ts,
			.seq = at->seq,
			.lost = at->lost,
			.lost_before = at->lost_before },
	};
}

/*
 * Adds b->packets[b->count], which the caller made. -EFBIG: it needs a new file; an empty packet
 * never does.
 */
static int add_packet(struct output *o, struct stream_writer *writer, struct batch *b)
{
	struct packet *p = &b->packets[b->count];
	struct iovec head = { &p->header, sizeof(p->header) },
		     content = { p->len ? (void *)packet_content(p, &writer->st) : NULL, p->len };
	void **copy = &b->contents[b->count];
	uint64_t size = p->len, at = writer->at.size + b->bytes;

	*copy = NULL;
	if (writer->sealed) {
		head = (struct iovec){ &b->heads[b->count], sizeof(b->heads[0]) };
		seal_packet(o->s, &writer->st, p, &b->heads[b->count], copy, &size);
		content = (struct iovec){ *copy ? *copy : content.iov_base, size };
	}
	size += head.iov_len;
	if (p->len && writer->file_size && at && at + size > writer->file_size) {
		free(*copy);
		return -EFBIG;
	}
	b->iov[b->iovs++] = head;
	if (content.iov_len)
		b->iov[b->iovs++] = content;
	b->bytes += b->sizes[b->count] = size;
	b->after[b->count++] = b->cut.at;
	return 0;
}

static void batch_deinit(struct batch *b)
{
	for (unsigned int i = 0; i < b->count; i++)
		free(b->contents[i]);
}

/*
 * Adds the next packet of the ring. 1; 0: none is ready, but b->cut may have moved; -EFBIG: it
 * needs a new file.
 */
static int add_next_packet(struct output *o, struct stream_writer *writer, struct batch *b,
			   bool all)
{
	struct packetizer before = b->cut;

	if (!packetizer_next(&b->cut, all, &b->packets[b->count]))
		return 0;
	if (!add_packet(o, writer, b))
		return 1;
	b->cut = before;
	return -EFBIG;
}

/* ---- writing ---- */

static void advance_iov(struct iovec **iov, int *count, uint64_t n)
{
	for (; *count && n >= (*iov)->iov_len; ++*iov, --*count)
		n -= (*iov)->iov_len;
	if (*count) {
		(*iov)->iov_base = (char *)(*iov)->iov_base + n;
		(*iov)->iov_len -= n;
	}
}

uint64_t output_put(int fd, struct iovec *iov, int count, uint64_t at, int *err)
{
	uint64_t done = 0;

	while (count) {
		ssize_t n = pwritev(fd, iov, count, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			*err = n ? -errno : -ENOSPC;
			break;
		}
		done += (uint64_t)n;
		advance_iov(&iov, &count, (uint64_t)n);
	}
	return done;
}

/* Frees the space in the ring. The files and the checkpoint have its packets. */
void stream_writer_consume(struct stream_writer *writer, uint64_t missed)
{
	struct trail_ring *ring = region_ring(writer->st.region, writer->st.ring);

	if (missed)
		__atomic_fetch_add(&ring->unwritten, missed, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->consumed_events, writer->at.events, __ATOMIC_RELAXED);
	/*
	 * Pairs with the acquire load of writers before they reuse a sub-buffer: pwritev has read
	 * the bytes.
	 */
	if (__atomic_load_n(&ring->consumed, __ATOMIC_RELAXED) < writer->at.pos)
		__atomic_store_n(&ring->consumed, writer->at.pos, __ATOMIC_RELEASE);
}

/* after: the checkpoint slot with these packets. */
static int write_index(struct stream_writer *writer, const struct batch *b, unsigned int count,
		       const struct checkpoint_slot *after)
{
	struct md_index_entry entries[BATCH + 1] = { 0 };
	struct iovec v = { entries, count * sizeof(entries[0]) };
	uint64_t offset = writer->at.size;
	struct md_packet pad;
	int err = 0;

	for (unsigned int i = 0; i < count; i++) {
		md_index_entry_set(&entries[i], &b->packets[i].header, offset);
		offset += b->sizes[i];
	}
	if (writer->spare) {
		pad = recycle_padding(writer, after);
		md_index_entry_set(&entries[count], &pad, offset);
		v.iov_len += sizeof(entries[0]);
	}
	output_put(writer->index_fd, &v, 1, writer->at.index_size, &err);
	return err;
}

void output_count_written(struct output *o, uint64_t bytes, uint64_t plain, unsigned int packets)
{
	pthread_mutex_lock(&o->lock);
	o->bytes += bytes;
	o->chunk_bytes += bytes;
	o->plain_bytes += plain;
	o->packets += packets;
	pthread_mutex_unlock(&o->lock);
}

/*
 * The number of packets that are completely in the first `done` bytes of the batch and that no
 * writer overwrote before they were written. *whole: their size.
 */
static unsigned int count_written(const struct stream_writer *writer, const struct batch *b,
				  uint64_t done, uint64_t *whole, int *err)
{
	unsigned int count = 0;

	for (*whole = 0; count < b->count && *whole + b->sizes[count] <= done; count++) {
		const struct packet *p = &b->packets[count];

		if (p->gone || (p->subbuf && !b->contents[count] &&
				!ring_holds(&writer->st, p->subbuf))) {
			*err = -EAGAIN;
			break;
		}
		*whole += b->sizes[count];
	}
	return count;
}

/* Writes the batch, or the packets of it that fit on the disk. */
static int write_batch(struct output *o, struct stream_writer *writer, struct batch *b)
{
	struct checkpoint_slot after = writer->at;
	uint64_t done, whole, plain = writer->at.plain_size;
	unsigned int count;
	struct outend end;
	int err = stream_writer_trim(writer), index_err;

	if (err)
		return err;
	set_position(&after, &b->after[b->count - 1]);
	after.size = writer->at.size + b->bytes;
	done = writer->spare ? recycle_put(writer, &after, b->iov, (int)b->iovs, &err) :
	       output_put(writer->fd, b->iov, (int)b->iovs, writer->at.size, &err);
	count = count_written(writer, b, done, &whole, &err);
	if (count)
		set_position(&after, &b->after[count - 1]);
	after.size = writer->at.size + whole;
	for (unsigned int i = 0; i < count; i++)
		after.plain_size += packet_size(&b->packets[i]);
	index_err = count ? write_index(writer, b, count, &after) : 0;
	if (index_err || !count)
		return stream_writer_cut_back(writer, index_err ? index_err : err);
	after.index_size = writer->at.index_size + count * sizeof(struct md_index_entry);
	writer->at = after;
	if (whole < done)
		err = stream_writer_cut_back(writer, err);
	/*
	 * If this fails and the daemon is killed, the next one writes these packets again at the
	 * same place.
	 */
	checkpoint_slot_put(o->state, writer->slot, &writer->at);
	end = end_of_files(writer);
	stream_files_grow(writer->st.log, stream_writer_view_size(writer), writer->at.index_size,
			  &end);
	stream_writer_consume(writer, b->cut.missed);
	output_count_written(o, whole, writer->at.plain_size - plain, count);
	return err;
}

static int stream_writer_open(struct output *o, struct stream_writer *writer)
{
	struct batch b;
	int err;

	if (writer->fd < 0) {
		err = stream_writer_next_file(o, writer);
		if (err)
			return err;
	}
	if (writer->at.size || writer->at.serial != writer->at.first)
		return 0;
	batch_init(o, writer, &b);
	if (!packetizer_lead(&b.cut, &b.packets[0]))
		return 0;
	add_packet(o, writer, &b);
	err = write_batch(o, writer, &b);
	batch_deinit(&b);
	return err;
}

int stream_writer_write(struct output *o, struct stream_writer *writer, bool all)
{
	/* Compressing takes time: each packet makes room in the ring early. */
	bool single = writer->st.region->geo.mode == TRAIL_MODE_OVERWRITE || o->s->compression;
	unsigned int batch = single ? 1 : BATCH;
	uint64_t size = writer->st.region->geo.subbuf_size;
	int err = stream_writer_open(o, writer), more;
	struct batch b;

	/*
	 * In overwrite mode writers may produce packets faster than this loop: it ends after two
	 * laps.
	 */
	for (uint32_t rounds = 0; !err && rounds < 2 * writer->st.region->geo.subbuf_count + BATCH;
	     rounds++) {
		batch_init(o, writer, &b);
		do
			more = add_next_packet(o, writer, &b, all);
		while (more == 1 && b.count < batch && b.bytes < BATCH_BYTES);
		if (more == 0 && all && b.count < BATCH &&
		    packetizer_trail(&b.cut, &b.packets[b.count]))
			add_packet(o, writer, &b);
		if (b.count) {
			err = write_batch(o, writer, &b);
			batch_deinit(&b);
			err = err == -EAGAIN ? 0 : err;
		} else if (more == -EFBIG) {
			err = stream_writer_next_file(o, writer);
		} else if (!ring_holds(&writer->st, writer->mark.head / size)) {
			/*
			 * Writers have overwritten all packets below the mark: continue at their
			 * new position.
			 */
			ring_mark(&writer->st, &writer->mark);
		} else {
			set_position(&writer->at, &b.cut.at);
			stream_writer_publish(writer);
			stream_writer_consume(writer, b.cut.missed);
			break;
		}
	}
	return err;
}

uint64_t stream_writer_pending(const struct stream_writer *writer)
{
	uint64_t head = region_head(writer->st.region, writer->st.ring),
		 oldest = ring_oldest(&writer->st, head), from = writer->at.pos;

	if (from < oldest)
		from = oldest;
	return head > from ? head - from : 0;
}
