/* SPDX-License-Identifier: MIT */
/*
 * A loss: events, or packets with an unknown number of events, that a stream does not have. It is
 * known from counters of discarded events and from gaps of sequence numbers (CTF), or from the
 * rings themselves.
 */
#ifndef METADATA_LOSS_H
#define METADATA_LOSS_H

#include <stdint.h>

#include "metadata/buf.h"

enum md_loss_kind {
	MD_LOSS_DISCARDED,      /* events: there was no room for them */
	MD_LOSS_OVERWRITTEN,    /* events: newer ones took their place before they were read */
	MD_LOSS_PACKETS,
	MD_LOSS_KINDS
};

struct md_loss {
	enum md_loss_kind kind;
	uint64_t count;         /* 0: not known */
	uint64_t from, to;      /* of the clock of the stream's events, ns; 0: not known */
};

/* The stream that has the loss. */
struct md_loss_stream {
	const char *channel, *name;     /* "channel0", "cpu0" */
	const char *trace, *file;       /* "ust/uid/0/64-bit", "channel0_0" */
	const uint8_t *uuid;            /* of the trace, 16 bytes */
	uint64_t class_id, instance_id;
};

/* "discarded", "overwritten" or "packets". */
const char *md_loss_kind_name(enum md_loss_kind kind);
/* "12 events lost", "1 packet lost", "events may be lost" */
void md_loss_title(const struct md_loss *l, struct md_buf *out);
/* A line as babeltrace2 prints it, with its newline. Its length depends on no time. */
void md_text_loss(uint64_t clock_offset, const struct md_loss *l, const struct md_loss_stream *s,
		  struct md_buf *out);
/*
 * A line of JSON: {"lost":12,"kind":"discarded","channel":"channel0","stream":"cpu0",
 * "trace":"ust/uid/0/64-bit","from":1795172223238349640,"to":…}. Packets are "lost_packets" in
 * place of "lost". What is not known is null. Times are ns since the epoch.
 */
void md_json_loss(uint64_t clock_offset, const struct md_loss *l, const struct md_loss_stream *s,
		  struct md_buf *out);

#endif
