/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The traces of a session, its stream groups and their buffers: see session.h, which has the
 * structs.
 */
#ifndef TRACER_SESSION_GROUP_H
#define TRACER_SESSION_GROUP_H

#include "tracer/base/ring/ring.h"
#include "tracer/base/ring/stream.h"
#include "tracer/session/sessions.h"

struct buffer;
struct channel;
struct stream_group;

/* trace_env.c: caller holds tracer.lock */
/* Whose events a trace has. pid 0: of all processes of the user that have this word size. */
struct trace_key {
	uint32_t uid, pid;
	uint32_t word_bits;     /* 32 or 64; 64 for the kernel */
};
static const struct trace_key kernel_trace_key = { KERNEL_UID, 0, 64 };

/* The trace of a user's buffers for programs of the daemon's own word size */
static inline struct trace_key user_trace_key(uint32_t uid)
{
	return (struct trace_key){ uid, 0, 8 * sizeof(void *) };
}

/*
 * "pid" of buffers of kernel channels that drain.c does not fill: one ring for the state dump, one
 * for each CPU for samples.
 */
#define KERNEL_DUMP_RING 1u
#define KERNEL_SAMPLE_RINGS 2u

struct trace *trace_find(struct session *s, struct trace_key key);
/* uuid NULL: a new one; created 0: now (ns since the epoch). NULL: no memory. */
struct trace *trace_new(struct session *s, struct trace_key key, const char *comm,
			const uint8_t *uuid, int64_t created);

/* The kernel's trace, with its event log; made if it is missing. NULL: no memory. */
struct trace *kernel_trace(struct session *s);

/* group.c: caller holds tracer.lock */
#define GROUP_EVENTS_MAX 16384u         /* event ids of one group: switch bytes of a buffer */
/*
 * The group of the channel in the trace; create: made if there is none. NULL: none, or no memory.
 */
struct stream_group *group_get(struct channel *c, struct trace *t, bool create);
void group_drop(struct stream_group *group);
/* The id of an event with that digest (md_event_digest): 0 or -ENOENT. */
int group_find_event(const struct stream_group *group, uint64_t digest, uint32_t *id);
/*
 * Adds an event under a new id and writes it to the event log. Takes e over. -ENOSPC, -ENOMEM, I/O.
 */
int group_event(struct stream_group *group, uint64_t digest, struct md_event *e, uint32_t *id);
/*
 * Adds those of many events that are new, and writes them by one write. Takes all of them over. 0
 * or -errno: then none has a new id, or (-ENOMEM) not all have one.
 */
int group_events(struct stream_group *group, const uint64_t *digests, struct md_event **events,
		 size_t n);
/* Finds the event or adds it. Takes e over; e may be NULL: -ENOMEM. */
int group_event_id(struct stream_group *group, struct md_event *e, uint32_t *id);
/* Adds an event with its id from the event log. Takes e over. */
int group_restore(struct stream_group *group, struct md_event *e);
/* Sets the switch byte of one event that is recorded, in all buffers, and returns its value. */
uint8_t group_switch_on(struct stream_group *group, uint32_t id);
/* Sets the switch bytes of a buffer to what was decided. True: one was different. */
bool group_write_switches(const struct stream_group *group, const struct buffer *b);
/*
 * Restores the header and the switch bytes of a buffer, which applications can write over. True:
 * one has.
 */
bool group_repair(struct stream_group *group, const struct buffer *b);
/* Sets all switch bytes of the user domain by the rules; a barrier if any went off or changed. */
void session_switch(struct session *s);
/* The same without the barrier, which the next session_switch() makes up for. */
void session_switch_bytes(struct session *s);

/* buffer.c: caller holds tracer.lock, unless the line says otherwise */
/*
 * All buffers of a channel, of a session, of a tracer. Caller holds tracer.lock or lists_lock. In
 * the body, `break` ends the innermost loop only.
 */
#define for_each_channel_buffer(c, group, b) \
	cds_list_for_each_entry(group, &(c)->groups, node) \
		cds_list_for_each_entry(b, &(group)->buffers, node)
#define for_each_session_buffer(s, c, group, b) \
	cds_list_for_each_entry(c, &(s)->channels, node) for_each_channel_buffer(c, group, b)
#define for_each_buffer(t, s, c, group, b) \
	cds_list_for_each_entry(s, &(t)->sessions, node) for_each_session_buffer(s, c, group, b)

/*
 * The buffer with these rings, made if there is none: 0, -ENOMEM, -EDQUOT, …. If the owner's share
 * has no room for the channel's geometry, the buffer of a user domain channel has the smallest one,
 * and its writers discard and count events that do not fit.
 */
int group_buffer(struct stream_group *group, enum trail_ring_kind kind, uint32_t pid,
		 struct buffer **out);
/* Makes a buffer of an existing region. NULL: no memory. Takes r over if it succeeds. */
struct buffer *group_adopt(struct stream_group *group, struct region *r, uint32_t ordinal,
			   uint32_t pid);
void buffer_drop(struct stream_group *group, struct buffer *b);   /* retires its region */
/*
 * Adds to *bytes the buffers that a start of this channel makes. -EDQUOT: the owner's share has no
 * room for the sum.
 */
int channel_room(struct channel *c, uint64_t *bytes);
/* Reports, once for each session, that a buffer of the channel could not be made: err is -errno. */
void channel_refuse_buffer(struct channel *c, int err);
/*
 * Passes new buffers to the keeper. group_buffer does not: an application waits for its attach
 * reply then, and the keeper process may have to wait for a CPU. If the keeper does not take one, a
 * later call tries again. Takes the lock itself.
 */
void buffers_keep(struct tracer *t);
/* All that there are have been passed, or there is no keeper. Takes the lock itself. */
bool buffers_kept(struct tracer *t);
/*
 * The files of one ring, a new list if there is none; NULL: no memory. The buffer keeps its
 * reference.
 */
struct stream_files *buffer_files(const struct session *s, struct buffer *b, uint32_t ring);
/* `clear`: no view shows events recorded before this call. */
void session_clear_rings(struct session *s);

#endif
