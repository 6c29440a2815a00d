/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stream of a trace on disk (tracer/format/import/), as views read it: in place of a ring, a
 * cursor has a function that returns events in the form of metadata/decode.h.
 */
#ifndef TRACER_RING_INPUT_H
#define TRACER_RING_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "metadata/loss.h"

/*
 * A place before an event. The format of the trace chooses what the members mean (clock: the value
 * of the trace's clock there). All 0: the beginning of the stream.
 */
struct input_place { uint64_t packet, within, clock; };

/*
 * What the headers of the packets say is missing. `lines`: of text for people, each `loss …` or
 * `warning …` with its newline; they belong to the input.
 */
struct input_losses {
	uint64_t events, packets;
	const char *lines;
	const struct input_loss *list;  /* in the order of the stream */
	size_t count;
};

/* Before the events of the packet with this place. Times are in ns since the epoch. */
struct input_loss { uint64_t packet; struct md_loss loss; };

/* A packet, as its header describes it. Times are in ns since the epoch. */
struct input_packet { struct input_place at; uint64_t begin_ts, end_ts, bytes; };

/* Lives as long as the struct trace of its stream, which owns it. */
struct input {
	/*
	 * Appends whole events from *at on: about `want` bytes, at least one event, and moves *at
	 * after them. Each event has a header of MD_HEADER_LARGE in its long form (id 65535, the
	 * event's id, its time in ns since the epoch), the contexts of the stream class, and its
	 * fields. Times never decrease. The same place gives the same bytes. *cpu: of these events.
	 *
	 * 1; 0: the end of the stream; -ENOMEM; another -errno: the trace is not valid or changed,
	 * and the function has reported where. Events before that place were returned by earlier
	 * calls. Any thread, any number at once; takes no lock.
	 */
	int (*read)(const struct input *in, struct input_place *at, size_t want,
		    struct md_buf *out, uint32_t *cpu);
	/*
	 * Calls add for each packet, in the order of the stream, until it returns false. False: add
	 * did, or a packet does not say when it begins and ends, or it cannot be read (which is not
	 * reported). The events of a packet may be of other times than its header says. NULL: the
	 * format has no such packets. Threads as for read.
	 */
	bool (*packets)(const struct input *in,
			bool (*add)(void *arg, const struct input_packet *p), void *arg);
	/*
	 * The first call reads the headers of all packets, up to one that cannot be read. NULL: the
	 * format counts no losses. Threads as for read.
	 */
	void (*losses)(const struct input *in, struct input_losses *out);
	/*
	 * The bytes that read returned are not valid: ends what returned them, and reports that.
	 * NULL: they are always valid. Threads as for read; takes no lock of the caller's.
	 */
	void (*refuse)(const struct input *in);
};

#endif
