// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The moment of a snapshot that an event causes. A trigger sees the event in a ring of its own,
 * with another time than the session has: each recording of an event reads the clock, and between
 * two of them a program may be interrupted, or get memory for a sub-buffer. So the event is looked
 * for in the session's rings, by its name and its fields.
 *
 * A program records an event for triggers last: the session's event is the latest one that is not
 * later. The kernel records it in any order: there it is the nearest one.
 */
#include <stdlib.h>
#include <string.h>

#include "metadata/decode.h"
#include "tracer/base/hash.h"
#include "tracer/base/ring/reader.h"
#include "tracer/output/snapshot/image.h"
#include "tracer/output/snapshot/snapshot.h"

#define BEFORE UINT64_C(100000000)      /* ns: a thread may be preempted between two recordings */
#define AFTER UINT64_C(1000000)

struct search {
	const struct snapshot_request *request;
	uint64_t found, distance;
};

uint64_t snapshot_event(const struct md_occurrence *o)
{
	uint64_t h = hash_string(HASH_START, o->event->name);

	h = hash_bytes(h, o->payload, (size_t)(o->end - o->payload));
	return h ? h : 1;
}

static void judge(struct search *f, const struct md_occurrence *o)
{
	uint64_t at = f->request->at, distance = o->ts > at ? o->ts - at : at - o->ts;

	if ((o->ts > at && !f->request->kernel) || distance > f->distance ||
	    snapshot_event(o) != f->request->event)
		return;
	f->distance = distance;
	f->found = o->ts;
}

static void look_at_packet(struct search *f, const struct packet *p, const struct stream *s)
{
	uint8_t *bytes = malloc(p->len);
	struct md_decoder d = { .stream = s->class, .p = bytes, .ts = p->header.timestamp_begin };
	uint64_t last = f->request->at + AFTER;
	struct md_occurrence o;

	if (!bytes)
		return;
	/* A copy: what an application may write to meanwhile is not decoded. */
	memcpy(bytes, packet_content(p, s), p->len);
	d.end = bytes + p->len;
	if (ring_holds(s, p->subbuf))
		while (md_decoder_next(&d, &o) == 1 && o.ts <= last)
			judge(f, &o);
	free(bytes);
}

uint64_t snapshot_event_time(struct session *s, const struct snapshot_request *r)
{
	struct search f = { .request = r, .found = r->at, .distance = BEFORE };
	struct trace_image *image = image_new(s);

	if (!image || image_plan(image)) {
		image_put(image);
		return r->at;
	}
	for (size_t i = 0; i < image->source_count; i++) {
		const struct image_source *src = &image->sources[i];

		if ((src->stream.trace->uid == KERNEL_UID) != r->kernel)
			continue;
		for (size_t k = 0; k < src->count; k++) {
			const struct packet *p = &src->packets[k];

			if (p->len && p->header.timestamp_end + BEFORE >= r->at &&
			    p->header.timestamp_begin <= r->at + AFTER)
				look_at_packet(&f, p, &src->stream);
		}
	}
	image_put(image);
	return f.found;
}
