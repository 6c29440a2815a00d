// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of events of a channel. */
#include "tracer/kernel/programs/bpf.h"

#include <string.h>

#include "tracer/base/array.h"

struct bpf_event *bpf_channel_find(struct bpf_channel *c, const char *event)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->events[i].name, event))
			return &c->events[i];
	return NULL;
}

struct bpf_event *bpf_channel_room(struct bpf_channel *c, uint32_t slot, const char *name)
{
	struct bpf_event *e = bpf_channel_find(c, name);

	if (e || strlen(name) >= sizeof(e->name) || !array_room(c->events, c->count + 1))
		return e;
	e = &c->events[c->count++];
	*e = (struct bpf_event){ .slot = slot, .program = -1, .link = -1, .own = -1 };
	strcpy(e->name, name);
	return e;
}
