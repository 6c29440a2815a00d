/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A snapshot's image as it is copied: the same files, or with a limit only the newest packets of
 * its streams. A stream that was cut begins with an empty packet, made here, that has the counter
 * of discarded events as it was before all. One thread uses a cut. Private to snapshot/.
 */
#ifndef TRACER_SNAPSHOT_IMAGE_CUT_H
#define TRACER_SNAPSHOT_IMAGE_CUT_H

#include "tracer/output/snapshot/image.h"

#define CUT_HEADS 2             /* packets that are made at most */

struct cut_stream {
	size_t file, index;             /* numbers of its files in the image */
	struct md_index_entry *entries; /* of the image's packets, in host byte order */
	size_t count;
	size_t first;                   /* entries before are left out */
	struct md_packet heads[CUT_HEADS];      /* before the first entry */
	size_t head_count;
};

struct image_cut {
	struct trace_image *image;      /* referenced */
	struct cut_stream *streams;     /* in the order of their files */
	size_t count;
};

/*
 * max: bytes of the stream files together; 0: no limit. 0, -EBADMSG if an index does not fit its
 * stream, -ENOMEM.
 */
int image_cut_init(struct image_cut *c, struct trace_image *image, uint64_t max);
void image_cut_deinit(struct image_cut *c);
/* Of file i of the image; as image_read. */
ssize_t image_cut_read(const struct image_cut *c, size_t i, uint64_t offset, void *buf,
		       size_t size);
uint64_t image_cut_size(const struct image_cut *c, size_t i);
/* The stream of a stream file; NULL: file i is another one. */
const struct cut_stream *image_cut_stream(const struct image_cut *c, size_t i);
size_t cut_stream_packets(const struct cut_stream *st);
uint64_t cut_stream_packet_size(const struct cut_stream *st, size_t n); /* of packet n, bytes */

#endif
