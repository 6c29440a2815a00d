/* SPDX-License-Identifier: MIT */
/*
 * Events as text, byte for byte what babeltrace2 2.0's text sink prints by default:
 *
 *   [12:44:11.814926623] (+0.000003856) host my_app:request: { cpu_id = 0 }, { id = 1, path = "/" }
 */
#ifndef METADATA_TEXT_H
#define METADATA_TEXT_H

#include "metadata/buf.h"
#include "metadata/decode.h"
#include "metadata/model.h"

/*
 * A printer keeps what one line takes over from the line before: the time since the last event, and the broken-down
 * second. One per reader; not thread safe. It may be copied by assignment (a checkpoint).
 */
#define MD_TEXT_HOSTNAME_MAX 120        /* HOST_NAME_MAX, and `:procname:(vpid)` */

struct md_text {
	uint64_t clock_offset;          /* ns from the epoch to the clock's zero */
	uint64_t last;                  /* clock value of the last line, valid if `any` */
	bool any;
	int64_t second;                 /* epoch second that hms stands for; -1: none */
	char hms[8];                    /* "12:44:11" */
	uint8_t hostname_len;
	char hostname[MD_TEXT_HOSTNAME_MAX + 1];        /* set by md_text_init and md_text_hostname only */
};

/*
 * What stands after the time: "" leaves it out with its blank. babeltrace2 shows the trace's env: `hostname`, and for a
 * per-process trace `hostname:procname:(vpid)`. Longer ones are cut.
 */
void md_text_hostname(struct md_text *t, const char *hostname);

/*
 * Times are shown in the process's zone (TZ, tzset(3)); localtime_r is called at most once per second of trace time.
 */
void md_text_init(struct md_text *t, uint64_t clock_offset, const char *hostname);

/*
 * Appends one line with its newline. The occurrence must come from md_decoder_next (it relies on that check for
 * bounds). The bytes may change meanwhile (they may lie in memory shared with a stranger): nothing outside
 * [context, limit) is read then either, and it stays one line; only what it says is nonsense.
 * Contexts, when the stream class has them, are printed as `{ … }` between cpu_id and the fields.
 */
void md_text_event(struct md_text *t, const struct md_occurrence *o, const struct md_stream *stream,
		   uint32_t cpu, struct md_buf *out);

#endif
