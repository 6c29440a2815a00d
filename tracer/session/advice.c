// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines of `status` that say which attribute to write if a session loses events. Also the default
 * size of the kernel's buffers.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/ring/reader.h"
#include "tracer/session/session.h"

#define MIB (1u << 20)
#define LOSSES_MAX 65536u       /* bytes of lines after which no other stream's are added */

/*
 * A ring that was never full discards for other reasons, and so does one that overwrites. (The
 * kernel has a buffer before it.)
 */
static bool was_full(const struct stream *st)
{
	const struct region_geometry *g = &st->region->geo;
	struct ring_mark m;

	ring_mark(st, &m);
	return st->trace->uid == KERNEL_UID ||
	       (g->mode != TRAIL_MODE_OVERWRITE &&
		m.head >= (g->subbuf_count - 1) * g->subbuf_size);
}

/* One line for each channel, because a channel has many streams. */
static void advise(const struct stream *st, const struct ring_counts *c, struct facts *out)
{
	const struct region_geometry *g = &st->region->geo;

	if (c->discarded && !was_full(st))
		fact_item_once(out, "advice",
			       "TRAIL_ATTACH_TIMEOUT: events of user/channels/%s are "
			       "discarded, though its buffers had room: they are larger than a "
			       "sub-buffer, a program could not map the buffers (then a line "
			       "`problem` says so), or began and ended while no daemon ran, or "
			       "the daemon was silent for longer than programs wait (10 ms; this "
			       "variable in their environment sets other milliseconds)",
			       st->channel);
	else
		fact_item_once(out, "advice",
			       "%s/channels/%s/subbuf_count: events are %s: buffers of more "
			       "than %u x %" PRIu64 " bytes per CPU hold more; write it before a "
			       "session's first start",
			       st->trace->uid == KERNEL_UID ? "kernel" : "user", st->channel,
			       c->discarded ? "discarded" : "overwritten", g->subbuf_count,
			       g->subbuf_size);
}

/* Once for each channel and user. */
static void report_spoiled(const struct stream *st, struct facts *out)
{
	fact_item_once(out, "problem",
		       "%s: a program of user %" PRIu32
		       " wrote over the counters of its buffers: they say what cannot be true",
		       st->channel, st->trace->uid);
}

/* What the trace that a session shows says of its own losses. */
static void report_losses(const struct stream_set *set, struct facts *out)
{
	struct md_buf lines = MD_BUF_INIT;
	uint64_t packets = 0;

	for (size_t i = 0; i < set->count; i++) {
		struct input_losses l = stream_losses(&set->streams[i]);

		packets += l.packets;
		if (lines.len < LOSSES_MAX)
			md_buf_puts(&lines, l.lines);
	}
	fact_number(out, "packets_lost", packets);
	fact_lines(out, "losses", lines.data, lines.len);
	md_buf_deinit(&lines);
}

void streams_advise(const struct stream_set *set, struct facts *out)
{
	struct ring_counts c;

	if (set->count && set->streams[0].input) {
		report_losses(set, out);
		return;
	}
	for (size_t i = 0; i < set->count; i++) {
		const struct stream *st = &set->streams[i];

		ring_counts(st, &c);
		/*
		 * A flight recorder of applications overwrites by design. In the kernel, its
		 * buffers may hold only a fraction of a second.
		 */
		if (ring_spoiled(st))
			report_spoiled(st, out);
		if (c.discarded || (c.overwritten && st->trace->uid == KERNEL_UID))
			advise(st, &c, out);
	}
}

/*
 * The kernel makes tens of millions of bytes of events per second and CPU when all system calls are
 * recorded. Its buffers are allocated at the start, so all CPUs' together get a 128th of the
 * memory: from 2 MiB to 64 MiB for each.
 */
void kernel_default_geometry(uint32_t cpus, uint64_t *subbuf_size, uint32_t *subbuf_count)
{
	uint64_t share = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 128 /
			 (cpus ? cpus : 1);
	uint64_t bytes = 2 * MIB;

	while (bytes < 64 * MIB && 2 * bytes <= share)
		bytes *= 2;
	*subbuf_count = bytes < 4 * MIB ? 4 : (uint32_t)(bytes / MIB);
	*subbuf_size = bytes / *subbuf_count;
}
