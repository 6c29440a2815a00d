/* SPDX-License-Identifier: MIT */
/*
 * Decodes events from bytes that begin at an event boundary. The bytes may be hostile: nothing
 * outside [p, end) is read, no loop has more turns than there are bytes, and invalid bytes give an
 * error.
 */
#ifndef METADATA_DECODE_H
#define METADATA_DECODE_H

#include "metadata/model.h"

struct md_decoder {
	const struct md_stream *stream;
	const uint8_t *p, *end;         /* the next event's header; end of the bytes */
	uint64_t ts;                    /* time of the last event; at first the packet's begin */
	uint64_t count;                 /* of events that were decoded; counts on from any value */
};

struct md_occurrence {                  /* one event as decoded; points into the bytes */
	const struct md_event *event;
	uint64_t ts;                    /* ns, unwrapped */
	const uint8_t *context;         /* event contexts, if the stream class has them */
	const uint8_t *payload;
	const uint8_t *end;             /* first byte after the event */
	const uint8_t *limit;           /* end of the readable bytes, >= end */
};

/*
 * Decodes the event at d->p and moves d->p after it. Returns 1 and fills o; 0 at the end of the
 * bytes; -EAGAIN if the event extends beyond `end` (d is unchanged: call again with more bytes);
 * -EBADMSG if the bytes are not an event (unknown id). Times of 27 and 32 bits are extended from
 * d->ts as CTF says: the first value not below d->ts with those low bits.
 */
int md_decoder_next(struct md_decoder *d, struct md_occurrence *o);

#endif
