// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stream groups: what a channel records of one owner. Here are their event ids and switch bytes;
 * the buffers are in buffer.c. Caller holds tracer.lock.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/ctf.h"
#include "tracer/base/array.h"
#include "tracer/session/event_log.h"
#include "tracer/session/session.h"

/* ---- event ids ---- */

static struct event_id *find_id(const struct stream_group *group, uint64_t digest)
{
	for (uint32_t at = 0, i; (i = hash_find(&group->id_table, digest, &at)) != HASH_NONE;)
		if (group->ids[i].digest == digest)
			return &group->ids[i];
	return NULL;
}

static int id_add(struct stream_group *group, uint64_t digest, uint32_t id)
{
	struct event_id *known = find_id(group, digest);

	if (known) {
		known->id = id;
		return 0;
	}
	if (!array_double(group->ids, group->id_table.count) ||
	    !hash_add(&group->id_table, digest))
		return -ENOMEM;
	group->ids[group->id_table.count - 1] = (struct event_id){ digest, id };
	return 0;
}

/* Grows the array of switches to hold an event id. */
static int switch_room(struct stream_group *group, uint32_t id)
{
	uint32_t size = group->switch_size ? group->switch_size : 16;

	while (size <= id)
		size *= 2;
	if (size == group->switch_size)
		return 0;
	if (!array_extend(group->switches, group->switch_size, size))
		return -ENOMEM;
	group->switch_size = size;
	return 0;
}

int group_find_event(const struct stream_group *group, uint64_t digest, uint32_t *id)
{
	const struct event_id *at = find_id(group, digest);

	if (!at)
		return -ENOENT;
	*id = at->id;
	return 0;
}

int group_event(struct stream_group *group, uint64_t digest, struct md_event *e, uint32_t *id)
{
	int err = 0;

	if (!e)
		return -ENOMEM;
	if (group->stream->event_count >= GROUP_EVENTS_MAX) {
		md_event_destroy(e);
		return -ENOSPC;
	}
	e->id = *id = group->stream->event_count;
	if (switch_room(group, *id)) {
		md_event_destroy(e);
		return -ENOMEM;
	}
	/* Write the description before an application gets the id: no buffer has an unknown id. */
	if (group->trace->log_fd >= 0)
		err = eventlog_append(group->trace->log_fd, group->stream->id, e);
	if (!err) {
		pthread_mutex_lock(&group->trace->lock);
		err = md_stream_add(group->stream, e);
		pthread_mutex_unlock(&group->trace->lock);
	}
	if (err) {
		md_event_destroy(e);
		return err;
	}
	return id_add(group, digest, *id);
}

/* Takes back the ids from `first` on, which no application knows yet. */
static void forget_ids(struct stream_group *group, uint32_t first)
{
	struct event_id *ids = group->ids;
	uint32_t count = group->id_table.count;

	/* If memory runs out, some ids are forgotten, and their layouts get new ids. */
	group->ids = NULL;
	hash_deinit(&group->id_table);
	for (uint32_t i = 0; i < count; i++)
		if (ids[i].id < first)
			id_add(group, ids[i].digest, ids[i].id);
	free(ids);
}

/*
 * Assigns ids to new events, which stay at the beginning of events; destroys the others. 0 or
 * -errno.
 */
static int assign_ids(struct stream_group *group, const uint64_t *digests, struct md_event **events,
		      size_t n, size_t *kept)
{
	int err = 0;

	*kept = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t id = group->stream->event_count + (uint32_t)*kept;
		struct md_event *e = events[i];

		if (err || !group_find_event(group, digests[i], &e->id)) {
			md_event_destroy(e);
			continue;
		}
		e->id = id;
		err = id >= GROUP_EVENTS_MAX ? -ENOSPC
		      : switch_room(group, id)  ? -ENOMEM
					     : id_add(group, digests[i], id);
		events[(*kept)++] = e;
	}
	return err;
}

int group_events(struct stream_group *group, const uint64_t *digests, struct md_event **events,
		 size_t n)
{
	uint32_t first = group->stream->event_count;
	size_t added = 0, kept;
	int err = assign_ids(group, digests, events, n, &kept);

	/* As in group_event(): on disk before an application can record them. */
	if (!err && kept && group->trace->log_fd >= 0)
		err = eventlog_append_all(group->trace->log_fd, group->stream->id, events, kept);
	if (!err) {
		pthread_mutex_lock(&group->trace->lock);
		while (!err && added < kept) {
			err = md_stream_add(group->stream, events[added]);
			added += !err;
		}
		pthread_mutex_unlock(&group->trace->lock);
	}
	if (err && kept)
		forget_ids(group, first + (uint32_t)added);
	for (size_t i = added; i < kept; i++)
		md_event_destroy(events[i]);
	return err;
}

int group_event_id(struct stream_group *group, struct md_event *e, uint32_t *id)
{
	uint64_t digest;

	if (!e)
		return -ENOMEM;
	digest = md_event_digest(e);
	if (group_find_event(group, digest, id))
		return group_event(group, digest, e, id);
	md_event_destroy(e);
	return 0;
}

int group_restore(struct stream_group *group, struct md_event *e)
{
	uint64_t digest = md_event_digest(e);
	uint32_t id = e->id;
	int err = id > MD_EVENT_ID_MAX ? -EINVAL : switch_room(group, id);

	if (!err)
		err = md_stream_add(group->stream, e);

	if (err) {
		md_event_destroy(e);
		return err == -ENOMEM ? err : 0;
	}
	return id_add(group, digest, id);
}

/* ---- classes and buffers ---- */

static int set_context(struct md_stream *stream, const struct context_list *l)
{
	struct md_field *fields;
	int err = context_list_fields(l, &fields);

	if (err || !fields)
		return err;
	err = md_stream_set_context(stream, fields, (uint32_t)l->count);
	for (size_t i = 0; err && i < l->count; i++)
		md_field_deinit(&fields[i]);
	if (err)
		free(fields);
	return err;
}

struct stream_group *group_get(struct channel *c, struct trace *t, bool create)
{
	struct stream_group *group;
	bool added;

	cds_list_for_each_entry(group, &c->groups, node)
		if (group->trace == t)
			return group;
	if (!create || !(group = calloc(1, sizeof(*group))))
		return NULL;
	CDS_INIT_LIST_HEAD(&group->buffers);
	group->channel = c;
	group->stream = md_stream_create(c->id, MD_HEADER_COMPACT);
	if (group->stream)
		group->stream->ctf1 = !c->session->is_ctf2;
	pthread_mutex_lock(&t->lock);
	added = group->stream && set_context(group->stream, &c->contexts) == 0 &&
		md_trace_add(t->md, group->stream) == 0;
	pthread_mutex_unlock(&t->lock);
	if (!added) {
		md_stream_destroy(group->stream);
		free(group);
		return NULL;
	}
	group->trace = trace_get(t);
	pthread_mutex_lock(&c->session->tracer->lists_lock);
	cds_list_add_tail(&group->node, &c->groups);
	pthread_mutex_unlock(&c->session->tracer->lists_lock);
	return group;
}

/*
 * Takes the switch byte over that an earlier daemon left in the buffers, if the event is enabled.
 */
static void switch_recall(struct stream_group *group, uint32_t id, uint64_t decision)
{
	struct event_switch *sw = &group->switches[id];
	struct buffer *b;

	sw->known = true;
	cds_list_for_each_entry(b, &group->buffers, node)
		if (!sw->value)
			sw->value = region_switched(b->region, id);
	if (sw->value)
		sw->decision = decision ? decision : 1;
	else    /* a value that a thread is unlikely to have read before */
		sw->value = (uint8_t)(wall_clock() >> 10);
}

/* Gives the byte a new value if the decision changed. True: threads may still use the old value. */
static bool switch_set(struct stream_group *group, uint32_t id, uint64_t decision)
{
	struct event_switch *sw = &group->switches[id];
	struct buffer *b;
	bool was_on;

	if (!sw->known)
		switch_recall(group, id, decision);
	was_on = sw->decision != 0;
	if (decision && decision != sw->decision)
		sw->value = sw->value == UINT8_MAX ? 1 : sw->value + 1;
	cds_list_for_each_entry(b, &group->buffers, node)
		if (region_switched(b->region, id) != (decision ? sw->value : 0))
			region_switch(b->region, id, decision ? sw->value : 0);
	was_on = was_on && sw->decision != decision;
	sw->decision = decision;
	return was_on;
}

static uint64_t decision_of(const struct stream_group *group, uint32_t id)
{
	const struct md_event *e = md_stream_event(group->stream, id);

	return e ? channel_decides(group->channel, e->name, e->loglevel) : 0;
}

/* A byte that went off or changed needs a barrier. */
static void group_switch(struct stream_group *group)
{
	for (uint32_t id = 0; id < group->stream->event_count; id++)
		group->barrier_due |= switch_set(group, id, decision_of(group, id));
}

uint8_t group_switch_on(struct stream_group *group, uint32_t id)
{
	switch_set(group, id, decision_of(group, id));
	return group->switches[id].value;
}

bool group_write_switches(const struct stream_group *group, const struct buffer *b)
{
	bool changed = false;

	for (uint32_t id = 0; id < group->stream->event_count; id++) {
		const struct event_switch *sw = &group->switches[id];
		uint8_t value = sw->decision ? sw->value : 0;

		if (!sw->known || region_switched(b->region, id) == value)
			continue;
		region_switch(b->region, id, value);
		changed = true;
	}
	return changed;
}

bool group_repair(struct stream_group *group, const struct buffer *b)
{
	bool spoiled = region_repair(b->region);

	return group_write_switches(group, b) || spoiled;
}

void group_drop(struct stream_group *group)
{
	struct buffer *b, *next;

	cds_list_for_each_entry_safe(b, next, &group->buffers, node)
		buffer_drop(group, b);
	pthread_mutex_lock(&group->channel->session->tracer->lists_lock);
	cds_list_del(&group->node);
	pthread_mutex_unlock(&group->channel->session->tracer->lists_lock);
	trace_put(group->trace);
	free(group->ids);
	hash_deinit(&group->id_table);
	free(group->switches);
	free(group);
}

void session_switch_bytes(struct session *s)
{
	struct channel *c;
	struct stream_group *group;

	cds_list_for_each_entry(c, &s->channels, node)
		if (!c->kernel)
			cds_list_for_each_entry(group, &c->groups, node)
				group_switch(group);
}

/*
 * One barrier visits each CPU once for all regions of CPU rings, and each region of thread rings.
 * Caller holds tracer.lock.
 */
void session_switch(struct session *s)
{
	struct region *regions[256];
	struct channel *c;
	struct stream_group *group;
	struct buffer *b;
	size_t n = 0;

	session_switch_bytes(s);
	cds_list_for_each_entry(c, &s->channels, node)
		cds_list_for_each_entry(group, &c->groups, node) {
			if (!group->barrier_due)
				continue;
			group->barrier_due = false;
			cds_list_for_each_entry(b, &group->buffers, node) {
				if (n == 256) {
					barrier(regions, n);
					n = 0;
				}
				regions[n++] = b->region;
			}
		}
	if (n)
		barrier(regions, n);
}
