/* SPDX-License-Identifier: MIT */
/*
 * Events as text, byte for byte as babeltrace2 2.0's text sink prints them by default:
 *
 *   [12:44:11.814926623] (+0.000003856) host my_app:request: { cpu_id = 0 }, { id = 1, path = "/" }
 */
#ifndef METADATA_TEXT_H
#define METADATA_TEXT_H

#include "metadata/buf.h"
#include "metadata/decode.h"
#include "metadata/model.h"

/*
 * The state that a line takes from the previous one: the time of the last event, and the
 * broken-down second. One per reader; not thread safe. It may be copied by assignment (a
 * checkpoint).
 */
#define MD_TEXT_HOSTNAME_MAX 120        /* HOST_NAME_MAX, and `:procname:(vpid)` */

struct md_text {
	uint64_t clock_offset;          /* ns from the epoch to the clock's zero */
	uint64_t last;                  /* clock value of the last line, valid if `any` */
	bool any;
	int64_t second;                 /* epoch second of hms; -1: none */
	char hms[8];                    /* "12:44:11" */
	uint8_t hostname_len;
	char hostname[MD_TEXT_HOSTNAME_MAX + 1];        /* set by md_text_hostname only */
};

/*
 * Sets the text after the time; "" omits it and its blank. babeltrace2 prints the trace's
 * environment: `hostname`, for a per-process trace `hostname:procname:(vpid)`. Longer texts are
 * cut.
 */
void md_text_hostname(struct md_text *t, const char *hostname);

/*
 * Times are local times (TZ, tzset(3)); localtime_r is called at most once per second of trace
 * time.
 */
void md_text_init(struct md_text *t, uint64_t clock_offset, const char *hostname);

/*
 * Appends one line with its newline. The occurrence must come from md_decoder_next, which has
 * checked its bounds. If another process changes the bytes meanwhile, still nothing outside
 * [context, limit) is read, and the text remains one line; only its values are wrong. Contexts of
 * the stream class are printed as `{ … }` between cpu_id and the fields.
 */
void md_text_event(struct md_text *t, const struct md_occurrence *o, const struct md_stream *stream,
		   uint32_t cpu, struct md_buf *out);

/*
 * The length of that line, without writing it. Changes t as md_text_event does, but for the
 * broken-down second.
 */
size_t md_text_length(struct md_text *t, const struct md_occurrence *o,
		      const struct md_stream *stream, uint32_t cpu);

/*
 * Events of one stream that follow each other in the text: nearly all events are in such a row, and
 * it costs less to print them together.
 */
struct md_row {
	struct md_decoder *d;
	uint32_t cpu;
	uint64_t until;         /* of events of this time or later, none is printed */
};

/*
 * Both print the events at d->p as md_decoder_next and md_text_event or md_text_length would, one
 * after the other, until the text has `want` bytes. They end earlier at any event that is not of
 * the most frequent form, and, with md_text_events, when `out` has no room for another one. d is
 * then before the first event that was not printed; it may be the first of all.
 */
void md_text_events(struct md_text *t, const struct md_row *r, struct md_buf *out, size_t want);
size_t md_text_lengths(struct md_text *t, const struct md_row *r, size_t want);

/*
 * How much longer the line at this time is after the last one of t than it is as the first line of
 * a text; it may be negative.
 */
int64_t md_text_longer(const struct md_text *t, uint64_t ts);

#endif
