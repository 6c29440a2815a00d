/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of a trace chunk on the relay: the next one is made, all streams move there, and the old
 * one is closed, which archives or deletes it.
 */
#include <errno.h>
#include <stdlib.h>

#include "tracer/output/relay/internal.h"

static uint64_t now_seconds(void)
{
	return (uint64_t)(wall_clock() / 1000000000);
}

/* Moves all streams to a chunk; NULL: to none. All packets that were sent are confirmed. */
static int rotate_streams(struct output *o, const uint64_t *chunk)
{
	struct relay *r = relay_of(o);
	struct relay_rotation *all;
	uint32_t count = 0, most = (uint32_t)o->count;
	int err;

	for (struct relay_trace *t = r->traces; t; t = t->next)
		most++;
	all = calloc(most ? most : 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < o->count; i++)
		if (o->streams[i]->net->added)
			all[count++] = (struct relay_rotation){ o->streams[i]->net->id,
								o->streams[i]->net->sent.seq };
	for (struct relay_trace *t = r->traces; t; t = t->next)
		if (t->added)
			all[count++] = (struct relay_rotation){ t->id, 0 };
	relay_put_rotation(&r->link.out, chunk, all, count);
	free(all);
	err = relay_run(&r->link);
	return err;
}

/* The streams of the traces continue in a new chunk, which has no metadata yet. */
static int send_metadata(struct output *o)
{
	struct relay *r = relay_of(o);
	int err = 0;

	relay_traces_reset(r, false);
	for (struct relay_trace *t = r->traces; t && !err; t = t->next)
		err = t->added ? relay_trace_ready(r, t) : 0;
	return err;
}

/* The current chunk ends like that, and the next one begins. */
static int next_chunk(struct output *o, enum relay_chunk_end end)
{
	struct relay *r = relay_of(o);
	uint64_t next = r->chunk + 1;
	int err = relay_confirm_all(o);

	if (err)
		return err;
	relay_put_chunk(&r->link.out, next, now_seconds(), "");
	err = relay_run(&r->link);
	err = err ? err : rotate_streams(o, &next);
	err = err ? err : relay_close_chunk(&r->link, r->chunk, now_seconds(), end);
	if (err)
		return relay_broken(r, err);
	r->chunk = next;
	for (size_t i = 0; i < o->count; i++)
		o->streams[i]->net->begun = false;
	err = send_metadata(o);
	return err ? relay_broken(r, err) : 0;
}

/* The relay has a trace, so that readers accept the chunk. */
static bool has_trace(const struct relay *r)
{
	const struct relay_trace *t = r->traces;

	while (t && !t->added)
		t = t->next;
	return t;
}

int relay_rotate(struct output *o)
{
	struct relay *r = relay_of(o);
	int err;

	if (!r->connected)
		return r->error ? r->error : -ENOTCONN;
	if (r->link.minor < RELAY_MINOR_CHUNKS)
		return -EOPNOTSUPP;
	/* As in a directory, a chunk without a stream continues. */
	if (!has_trace(r))
		return 0;
	err = next_chunk(o, RELAY_CHUNK_ARCHIVE);
	if (err)
		return err;
	r->rotated = true;
	return output_begin_chunk(o);
}

/*
 * The stream continues with what is recorded after the clear. What was sent and is not confirmed
 * counts as read: the relay drops it, or nothing of it is sent again.
 */
static void clear_stream(struct output *o, struct stream_writer *writer)
{
	struct trail_ring *ring = region_ring(writer->st.region, writer->st.ring);
	uint64_t ts = __atomic_load_n(&ring->cleared_ts, __ATOMIC_RELAXED);

	if (relay_of(o)->connected) {
		writer->at.begin = writer->net->sent.begin;
		writer->at.ts = writer->net->sent.ts;
		writer->at.seq = writer->net->sent.seq;
		writer->at.lost = writer->net->sent.lost;
	}
	writer->at.pos = __atomic_load_n(&ring->cleared, __ATOMIC_RELAXED) & TRAIL_HEAD_MASK;
	writer->at.events = __atomic_load_n(&ring->cleared_events, __ATOMIC_RELAXED);
	writer->at.ts = ts > writer->at.ts ? ts : writer->at.ts;
	writer->at.lost_before = writer->at.lost;
	checkpoint_slot_put(o->state, writer->slot, &writer->at);
	writer->net->sent.pos = writer->at.pos;
	writer->net->sent.events = writer->at.events;
	writer->net->sent.ts = writer->at.ts;
	writer->net->sent.lost_before = writer->at.lost_before;
	writer->net->missed = writer->net->asked_missed = 0;
	writer->net->asked_position = writer->net->sent;
}

static void clear_buffers(struct output *o)
{
	struct session *s = o->s;

	o->head.cleared++;
	checkpoint_head_put(o->state, &o->head);
	pthread_mutex_lock(&o->lock);
	relay_of(o)->clears = o->asked[OUTPUT_CLEAR];
	pthread_mutex_unlock(&o->lock);
	relay_of(o)->clear_since = 0;
	pthread_mutex_lock(&s->tracer->lock);
	session_clear_rings(s);
	pthread_mutex_unlock(&s->tracer->lock);
	for (size_t i = 0; i < o->count; i++)
		clear_stream(o, o->streams[i]);
	output_reset_counts(o);
}

/*
 * The buffers are cleared first, whatever the relay does. A relay that is gone or silent keeps what
 * it has, as after any connection that breaks: that is no error of a clear.
 */
int relay_clear(struct output *o)
{
	struct relay *r = relay_of(o);
	int err = 0;

	if (r->connected && !r->may_clear) {
		if (!relay_is_silent(r))
			return -EPERM;
		relay_broken(r, -ETIMEDOUT);
	}
	clear_buffers(o);
	/* Packets that are on their way belong to what is deleted. */
	if (r->connected && o->count)
		err = next_chunk(o, RELAY_CHUNK_DELETE);
	output_reset_counts(o);
	return err == -EREMOTEIO || err == -EPROTO ? err : 0;
}

void relay_end(struct output *o)
{
	struct relay *r = relay_of(o);
	bool chunks = r->connected && r->link.minor >= RELAY_MINOR_CHUNKS;
	int err = r->connected ? relay_confirm_all(o) : -ENOTCONN;

	if (!err && chunks && r->rotated)
		err = rotate_streams(o, NULL);
	for (size_t i = 0; i < o->count && !err; i++) {
		const struct relay_stream *net = o->streams[i]->net;

		if (!net->added)
			continue;
		relay_put_two(&r->link.out, RELAY_CLOSE_STREAM, net->id, net->number - 1);
		err = relay_run(&r->link);
	}
	for (struct relay_trace *t = r->traces; t && !err; t = t->next) {
		if (!t->added)
			continue;
		relay_put_two(&r->link.out, RELAY_CLOSE_STREAM, t->id, UINT64_MAX);
		err = relay_run(&r->link);
	}
	if (!err && chunks)
		err = relay_close_chunk(&r->link, r->chunk, now_seconds(),
					r->rotated ? RELAY_CHUNK_ARCHIVE : RELAY_CHUNK_STAYS);
	relay_broken(r, err);
}
