// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tracer/base/facts.h"
#include "tracer/app/app.h"
#include "tracer/app/trouble.h"

void trouble_spoiled(struct channel *c, uint32_t uid)
{
	if (!c->trouble.spoiled)
		session_failed(c->session,
			       "channel %s: a program of user %" PRIu32
			       " wrote over the header or the switches of its buffer, which were "
			       "restored",
			       c->name, uid);
	c->trouble.spoiled = true;
	c->trouble.spoiler = uid;
	session_changed(c->session);
}

/* The channel of the user's buffer with this key; NULL: there is none. */
static struct channel *find_channel_of(struct tracer *t, uint32_t uid, uint64_t key,
				       uint64_t *bytes)
{
	struct session *s;
	struct channel *c;
	struct stream_group *group;
	struct buffer *b;

	for_each_buffer(t, s, c, group, b)
		if (b->region->key == key && (group->trace->uid == uid || !uid)) {
			*bytes = b->region->size;
			return c->kernel ? NULL : c;
		}
	return NULL;
}

void trouble_unmapped(struct tracer *t, const struct ucred *peer, const char *comm,
		      const struct trail_taken_region *r)
{
	uint32_t pid = (uint32_t)peer->pid;
	uint64_t bytes;
	struct channel *c = find_channel_of(t, peer->uid, r->key, &bytes);
	struct channel_trouble *to = c ? &c->trouble : NULL;

	if (!c)
		return;
	to->unmapped += to->unmapped < UINT32_MAX;
	to->pid = pid;
	to->error = r->error > 0 && r->error < 4096 ? r->error : 0;
	to->bytes = bytes;
	snprintf(to->comm, sizeof(to->comm), "%s", comm);
	if (to->unmapped == 1)
		session_failed(c->session,
			       "channel %s: process %" PRIu32 " cannot map its buffer of %" PRIu64
			       " bytes, its events are discarded: %s",
			       c->name, pid, bytes, strerror(to->error));
	session_changed(c->session);
}

void trouble_show(const struct session *s, struct facts *out)
{
	const struct channel *c;

	cds_list_for_each_entry(c, &s->channels, node) {
		const struct channel_trouble *t = &c->trouble;

		char times[48] = "";

		if (t->unmapped > 1)
			snprintf(times, sizeof(times), "; so it was %" PRIu32 " times in all",
				 t->unmapped);
		if (t->unmapped)
			fact_item(out, "problem",
				  "%s: program %s (pid %" PRIu32
				  ") cannot map its buffer of %" PRIu64
				  " bytes: %s; its events are discarded%s",
				  c->name, *t->comm ? t->comm : "?", t->pid, t->bytes,
				  strerror(t->error), times);
		if (t->unmade)
			fact_item(out, "problem",
				  "%s: a buffer could not be made: %s; what programs would have "
				  "recorded there is not counted",
				  c->name, strerror(t->unmade));
		if (t->spoiled)
			fact_item(out, "problem",
				  "%s: a program of user %" PRIu32
				  " wrote over the header or the switches of its buffer, "
				  "which were restored",
				  c->name, t->spoiler);
	}
}
