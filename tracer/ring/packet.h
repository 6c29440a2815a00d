/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The headers of the packets that views cut (metadata/ctf.h). Private to tracer/. */
#ifndef TRACER_RING_PACKET_H
#define TRACER_RING_PACKET_H

#include <string.h>

#include "metadata/ctf.h"
#include "tracer/ring/stream.h"

/* An empty packet of the stream at time ts; sizes, number and counter are for the caller to change. */
static inline void packet_init(struct md_packet *p, const struct stream *s, uint64_t ts)
{
	*p = (struct md_packet){
		.magic = MD_CTF_MAGIC, .stream_id = s->class->id, .stream_instance_id = s->instance_id,
		.timestamp_begin = ts, .timestamp_end = ts, .content_size = 8 * MD_PACKET_HEADER,
		.packet_size = 8 * MD_PACKET_HEADER, .cpu_id = s->cpu,
	};
	memcpy(p->uuid, s->trace->md->uuid, sizeof(p->uuid));
}

#endif
