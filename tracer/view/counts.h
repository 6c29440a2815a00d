/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often each event was recorded since the first start or the last clear.
 *
 * The event path counts the events of a ring, not the events of a kind. So the daemon walks what
 * the rings and the files of the output hold: one cursor for each stream continues where the last
 * call ended, and reads the headers and sizes of the events, not their fields. Events that were
 * overwritten, or whose files were removed, before a call came to them have no name. Their number
 * is exact, because the ring counts all events.
 */
#ifndef TRACER_VIEW_COUNTS_H
#define TRACER_VIEW_COUNTS_H

#include "tracer/base/ring/reader.h"
#include "tracer/view/views.h"

struct event_count {
	enum domain domain;
	const char *channel, *event;    /* copies in counts_table.names */
	int level;                      /* of the event's class, or MD_LOGLEVEL_NONE */
	uint64_t recorded;
};

struct channel_count {
	enum domain domain;
	const char *channel;            /* a copy, as above */
	uint64_t recorded, unnamed;     /* unnamed: of these, not in any event_count */
	uint64_t discarded, overwritten;
	bool filtered;                  /* filters may have rejected events */
};

struct owner_count {            /* of a channel of the user domain */
	const char *channel, *owner;    /* copies, as above; owner: as in streams/ */
	uint64_t recorded, discarded, overwritten;
};

struct counts_table {
	struct event_count *events;     /* by domain, channel and name, each once */
	size_t event_count;
	struct channel_count *channels; /* by domain and name */
	size_t channel_count;
	struct owner_count *owners;     /* in the order of their traces */
	size_t owner_count;
	char **names;                   /* owned */
	size_t name_count;
};

/*
 * Counts what was recorded since the last call. Takes as long as the events that are new: some
 * 10 ns each. 0 or -ENOMEM; the caller calls counts_table_deinit in both cases. Caller holds no
 * lock.
 */
int counts_take(struct session *s, struct counts_table *out);
void counts_table_deinit(struct counts_table *t);

#endif
