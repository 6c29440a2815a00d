/* SPDX-License-Identifier: MIT */
/*
 * The event decoder: walks events in a run of bytes that begins at an event boundary. The bytes may be hostile: nothing
 * outside [p, end) is read, no loop is longer than the bytes, and what does not decode is an error, never a crash.
 */
#ifndef METADATA_DECODE_H
#define METADATA_DECODE_H

#include "metadata/model.h"

struct md_decoder {
	const struct md_stream *stream;
	const uint8_t *p, *end;         /* the next event's header; end of the bytes */
	uint64_t ts;                    /* clock value so far: the packet's timestamp_begin before the first event */
};

struct md_occurrence {                  /* one event as decoded; points into the bytes */
	const struct md_event *event;
	uint64_t ts;                    /* ns, unwrapped */
	const uint8_t *context;         /* event contexts, if the stream class has them */
	const uint8_t *payload;
	const uint8_t *end;             /* first byte after the event */
	const uint8_t *limit;           /* end of the bytes: what may be read (in larger pieces), >= end */
};

/*
 * Reads the event at d->p and steps behind it. Returns 1 and fills o; 0 at the end of the bytes; -EAGAIN if the event
 * goes on behind `end` (d is unchanged: come again with more bytes); -EBADMSG if the bytes are no event (unknown id).
 * 27 and 32 bit stamps are extended from d->ts as CTF says: the first value not below d->ts with those low bits.
 */
int md_decoder_next(struct md_decoder *d, struct md_occurrence *o);

#endif
