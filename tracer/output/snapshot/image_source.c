/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The streams of a trace image: plans their packets when the image is taken, and copies them out of
 * the rings when a file is first read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/output/snapshot/image.h"
#include "tracer/view/cursor.h"

uint64_t source_index_size(const struct image_source *src)
{
	return sizeof(struct md_index_header) +
	       (src->count - src->first) * sizeof(struct md_index_entry);
}

static void plan_packet(struct image_source *src, const struct packet *p)
{
	src->packets[src->count++] = *p;
	src->size += packet_size(p);
}

int source_plan(struct image_source *src, struct packetizer *p, bool in_files)
{
	uint32_t most = src->stream.region->geo.subbuf_count + 2;
	struct packet packet;

	src->packets = calloc(most, sizeof(*src->packets));
	if (!src->packets)
		return -ENOMEM;
	src->seq = p->at.seq;
	if (!in_files && packetizer_lead(p, &packet))
		plan_packet(src, &packet);
	/* A mark has at most as many sub-buffers as the ring. */
	while (src->count + 1 < most && packetizer_next(p, true, &packet))
		plan_packet(src, &packet);
	if (packetizer_trail(p, &packet))
		plan_packet(src, &packet);
	return 0;
}

struct image_source *image_add_source(struct trace_image *image, const struct stream *st)
{
	struct image_source *src = &image->sources[image->source_count++];

	lock_init(&src->lock, NULL, LOCK_SOURCE);
	src->stream = *st;
	src->stream.log = NULL;
	image_uuid(image, st->trace, src->uuid);
	trace_get(st->trace);
	region_get(st->region);
	return src;
}

/*
 * All marks are taken first, close together; then the packets are planned. The metadata is printed
 * later, so it has all events of the streams.
 */
int image_plan_streams(struct trace_image *image, const struct stream_set *set)
{
	struct packetizer *cuts = calloc(set->count + 1, sizeof(*cuts));
	int err = -ENOMEM;

	image->sources = calloc(set->count + 1, sizeof(*image->sources));
	if (!cuts || !image->sources || !image_reserve_file(image))
		goto out;
	for (size_t i = 0; i < set->count; i++) {
		cuts[i].stream = &set->streams[i];
		cuts[i].base = ring_cleared_lost(cuts[i].stream);
		ring_mark(cuts[i].stream, &cuts[i].mark);
	}
	image->max_ts = clock_now(session_clock(image->s)) + 1000000000;  /* as in merge_look */
	err = 0;
	for (size_t i = 0; i < set->count && !err; i++) {
		cuts[i].max_ts = image->max_ts;
		err = source_plan(image_add_source(image, &set->streams[i]), &cuts[i], false);
	}
out:
	free(cuts);
	return err;
}

int image_plan(struct trace_image *image)
{
	struct stream_set set = { 0 };
	uint64_t now;
	int err = session_look(image->s, NULL, &set, &now);

	if (!err)
		err = image_plan_streams(image, &set);
	stream_set_deinit(&set);
	return err;
}

uint64_t count_valid_events(const struct md_stream *class, const uint8_t *bytes, uint64_t len,
		      uint64_t begin_ts, uint64_t end_ts)
{
	struct md_decoder d = { .stream = class, .p = bytes, .end = bytes + len, .ts = begin_ts };
	uint64_t before = d.ts, good = 0;
	struct md_occurrence o;

	while (md_decoder_next(&d, &o) == 1 && o.ts >= before && o.ts <= end_ts) {
		before = o.ts;
		good = (uint64_t)(d.p - bytes);
	}
	return good;
}

void source_packet(const struct image_source *src, size_t i, uint64_t good, uint64_t seq,
		   struct md_packet *h)
{
	*h = src->packets[i].header;
	memcpy(h->uuid, src->uuid, sizeof(h->uuid));
	h->content_size = 8 * (MD_PACKET_HEADER + good);
	h->packet_seq_num = seq;
}

static void write_headers(const struct image_source *src, uint8_t *file, uint8_t *index)
{
	struct md_index_entry *entry =
		(struct md_index_entry *)(index + sizeof(struct md_index_header));
	uint64_t at = 0, seq = src->seq + src->first;

	md_index_header_set((struct md_index_header *)index);
	for (size_t i = src->first; i < src->count; i++) {
		const struct packet *p = &src->packets[i];
		uint64_t good = p->len && !p->gone ? count_valid_events(src->stream.class,
								  file + at + MD_PACKET_HEADER,
								  p->len, p->header.timestamp_begin,
								  p->header.timestamp_end)
						   : 0;
		struct md_packet h;

		seq += good < p->len;
		source_packet(src, i, good, seq++, &h);
		memcpy(file + at, &h, sizeof(h));
		md_index_entry_set(entry++, &h, at);
		at += packet_size(p);
	}
}

/* Copies a sub-buffer after its packet's header; zeros if a writer overwrote it. */
static void copy_subbuf(struct packet *p, const struct stream *s, uint8_t *to)
{
	memcpy(to, packet_content(p, s), p->len);
	p->gone = !ring_holds(s, p->subbuf);
	if (p->gone)
		memset(to, 0, p->len);
}

/* For the next daemon: a reader is about to get bytes of the stream. */
static int note_copy(const struct trace_image *image, const struct image_source *src)
{
	uint64_t one = 1;

	if (image->held < 0)
		return 0;
	return pwrite(image->held, &one, sizeof(one), (off_t)src->note) == sizeof(one) ? 0 : -EIO;
}

/* 0 or -errno. -ESTALE: a reader has got other bytes of an earlier daemon. */
static int copy_packets(const struct trace_image *image, struct image_source *src)
{
	int err = note_copy(image, src);
	uint64_t at = 0;

	for (size_t i = src->first; i < src->count && !err; i++) {
		if (src->packets[i].len)
			copy_subbuf(&src->packets[i], &src->stream,
				    src->data + at + MD_PACKET_HEADER);
		if (src->was_copied && src->packets[i].gone)
			err = -ESTALE;
		at += packet_size(&src->packets[i]);
	}
	return err;
}

int source_copy(struct trace_image *image, struct image_source *src)
{
	int64_t bytes = (int64_t)(src->size + source_index_size(src));
	int err = session_frozen(image->s, bytes);

	if (err)
		return err;
	src->data = malloc((size_t)bytes);
	err = src->data ? copy_packets(image, src) : -ENOMEM;
	if (err) {
		free(src->data);
		src->data = NULL;
		session_frozen(image->s, -bytes);
		return err;
	}
	__atomic_fetch_add(&image->frozen, bytes, __ATOMIC_RELAXED);
	write_headers(src, src->data, src->data + src->size);
	/* Release: a reader that sees the flag sees the data. */
	__atomic_store_n(&src->copied, true, __ATOMIC_RELEASE);
	return 0;
}

void source_check(struct trace_image *image, struct image_source *src)
{
	uint8_t *file = NULL, *index = NULL;

	for (size_t i = 0; i < image->file_count; i++)
		if (image->contents[i].source == src)
			*(image->contents[i].kind == STREAM ? &file : &index) =
				image->contents[i].bytes;
	if (file && index)
		write_headers(src, file, index);
	__atomic_store_n(&src->copied, true, __ATOMIC_RELEASE);         /* as in source_copy */
}
