// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which lines of `control` made a snapshot. If a daemon is killed, the next one gets the writes
 * that were not answered: without this list it would make an unnamed snapshot a second time, and
 * say of a named one that the name is taken. The number of a line is in the session's file before
 * the write is answered. Few writes wait for an answer at one time, so a short list is enough.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tracer/output/snapshot/snapshot.h"
#include "tracer/session/session.h"

#define REQUESTS 32u

struct snapshot_requests {
	uint64_t all[REQUESTS];         /* 0: none */
	uint32_t next;                  /* where the next one goes */
};

/* The index of the number, or REQUESTS. */
static size_t find(const struct snapshot_requests *r, uint64_t request)
{
	size_t i = 0;

	while (i < REQUESTS && (!r || !request || r->all[i] != request))
		i++;
	return i;
}

bool snapshot_request_is_done(const struct session *s, uint64_t request)
{
	return find(s->snapshot_requests, request) < REQUESTS;
}

void snapshot_request_done(struct session *s, uint64_t request)
{
	struct snapshot_requests *r = s->snapshot_requests;

	/* If no memory is left, the next daemon executes a write that is sent again. */
	if (request && !r)
		r = s->snapshot_requests = calloc(1, sizeof(*r));
	if (request && r)
		r->all[r->next++ % REQUESTS] = request;
}

void snapshot_request_undone(struct session *s, uint64_t request)
{
	struct snapshot_requests *r = s->snapshot_requests;
	size_t i = find(r, request);

	if (i < REQUESTS)
		r->all[i] = 0;
}

void snapshot_requests_save(const struct session *s, struct md_buf *out)
{
	const struct snapshot_requests *r = s->snapshot_requests;
	bool some = false;

	for (uint32_t i = 0; r && i < REQUESTS; i++) {
		uint64_t request = r->all[(r->next + i) % REQUESTS];

		if (request)
			md_buf_printf(out, "%s%" PRIx64, some ? " " : "snapshot_requests ",
				      request);
		some = some || request;
	}
	if (some)
		md_buf_putc(out, '\n');
}

void snapshot_requests_restore(struct session *s, const char *value)
{
	char *end;

	for (uint64_t n; (n = strtoull(value, &end, 16)) && end != value; value = end)
		snapshot_request_done(s, n);
}

void snapshot_requests_destroy(struct session *s)
{
	free(s->snapshot_requests);
	s->snapshot_requests = NULL;
}
