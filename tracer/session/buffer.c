// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The buffers of a session: how they are made, counted for the owner's share, given to the keeper,
 * cleared and removed; and the lists of the files that hold what their rings had.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "tracer/base/ring/reader.h"
#include "tracer/base/ring/stream_files.h"
#include "tracer/session/session.h"

#define BITS32_REGION_MAX (UINT64_C(256) << 20) /* bytes of a buffer of 32-bit applications */
#define BITS32_RINGS_MIN 4u
/* A daemon of 32 bits has the buffers of all programs in its own 3 GB: 8 threads get rings. */
#define BITS32_RINGS_WANTED 8u
#define BITS32_REGION_WANTED (sizeof(void *) == 4 ? UINT64_C(20) << 20 : BITS32_REGION_MAX)
#define UNUSABLE_MAX 8u                 /* buffers that a group gives up */

struct stream_files *buffer_files(const struct session *s, struct buffer *b, uint32_t ring)
{
	if (!b->logs)
		b->logs = calloc(b->region->geo.ring_count, sizeof(*b->logs));
	if (b->logs && !b->logs[ring])
		b->logs[ring] = stream_files_create(b->region->key, ring,
						    s->checksum || s->compression);
	return b->logs ? b->logs[ring] : NULL;
}

static void buffer_forget_files(struct buffer *b)
{
	for (uint32_t i = 0; b->logs && i < b->region->geo.ring_count; i++)
		stream_files_put(b->logs[i]);
	free(b->logs);
	b->logs = NULL;
}

/* Reports the first buffer of the session that could not be made; `status` shows each channel's. */
void channel_refuse_buffer(struct channel *c, int err)
{
	c->trouble.unmade = -err;
	if (!__atomic_fetch_add(&c->session->buffers_refused, 1, __ATOMIC_RELAXED))
		session_failed(
			c->session,
			"channel %s: no buffer, and what it would have recorded is not counted: %s",
			c->name, strerror(-err));
}

static uint64_t random_key(void)
{
	uint64_t key = 0;

	if (getrandom(&key, sizeof(key), GRND_NONBLOCK) != (ssize_t)sizeof(key))
		key = (uint64_t)wall_clock();
	return key ? key : 1;
}

/* A kernel channel has the kernel's buffers as well, of the same size. */
static uint64_t cost(const struct channel *c, uint64_t size)
{
	return c->kernel ? 2 * size : size;
}

static void buffers_changed(struct session *s)
{
	__atomic_fetch_add(&s->buffers_version, 1, __ATOMIC_RELAXED);
	session_buffers_parts(s);
}

struct buffer *group_adopt(struct stream_group *group, struct region *r, uint32_t ordinal,
			   uint32_t pid)
{
	struct buffer *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->region = r;
	b->ordinal = ordinal;
	b->pid = pid;
	if (ordinal >= group->next_ordinal)
		group->next_ordinal = ordinal + 1;
	pthread_mutex_lock(&group->channel->session->tracer->lists_lock);
	cds_list_add_tail(&b->node, &group->buffers);
	pthread_mutex_unlock(&group->channel->session->tracer->lists_lock);
	quota_count_buffer(group->channel->session, (int64_t)cost(group->channel, r->size));
	buffers_changed(group->channel->session);
	return b;
}

void buffer_drop(struct stream_group *group, struct buffer *b)
{
	struct tracer *t = group->channel->session->tracer;
	char name[32];

	snprintf(name, sizeof(name), "%016llx", (unsigned long long)b->region->key);
	if (t->keeper && b->kept && !t->reading)
		keeper_drop(t->keeper, name);
	pthread_mutex_lock(&t->lists_lock);
	cds_list_del(&b->node);
	pthread_mutex_unlock(&t->lists_lock);
	quota_count_buffer(group->channel->session,
			   -(int64_t)cost(group->channel, b->region->size));
	buffer_forget_files(b);
	buffers_changed(group->channel->session);
	if (t->reading)
		region_put(b->region);
	else
		region_retire(b->region);
	free(b);
}

/* One ring for each CPU: also for a kernel channel, into which the daemon copies records. */
static bool per_cpu(const struct channel *c, enum trail_ring_kind kind, uint32_t pid)
{
	return kind == TRAIL_RINGS_CPU || (c->kernel && pid != KERNEL_DUMP_RING);
}

/* Room for the counters of all ids, which get memory one page after the other. */
static void count_geometry(struct region_geometry *geo)
{
	geo->subbuf_count = 2;
	geo->subbuf_size = GROUP_EVENTS_MAX * sizeof(struct trail_counter) / 2;
}

static struct region_geometry geometry(const struct channel *c, enum trail_ring_kind kind,
				       uint32_t pid)
{
	const struct tracer *t = c->session->tracer;
	bool plugin = c->session->times == TIMES_PLUGIN;
	struct region_geometry geo = {
		.mode = c->mode,
		.kind = kind,
		.ring_count = t->cpus,
		.subbuf_count = c->subbuf_count,
		.subbuf_size = c->subbuf_size,
		.switch_count = GROUP_EVENTS_MAX,
		.clock_mult = plugin ? 0 : t->clock.mult,
		.clock_base = plugin ? TRAIL_CLOCK_PLUGIN : t->clock.base,
		.preallocate = c->preallocate,
	};

	if (!per_cpu(c, kind, pid))
		geo.ring_count = pid && !c->kernel ? TRAIL_THREAD_RINGS : 1;
	if (c->counts)
		count_geometry(&geo);
	return geo;
}

int channel_room(struct channel *c, uint64_t *bytes)
{
	struct region_geometry geo =
		geometry(c, c->kernel ? TRAIL_RINGS_THREAD : TRAIL_RINGS_CPU, 0);

	if (cds_list_empty(&c->groups))
		*bytes += cost(c, region_size(&geo));
	return quota_buffer(c->session, *bytes);
}

/* The share has no room for this geometry: choose the smallest one, which discards. */
static int refuse_buffer(struct stream_group *group, struct region_geometry *geo)
{
	struct session *s = group->channel->session;

	if (group->channel->kernel)
		return -EDQUOT;
	if (group->channel->counts) {      /* the map says it */
		__atomic_fetch_add(&s->buffers_refused, 1, __ATOMIC_RELAXED);
		return -EDQUOT;
	}
	if (!__atomic_fetch_add(&s->buffers_refused, 1, __ATOMIC_RELAXED))
		session_failed(s,
			       "channel %s: the limit of buffers of user %u is reached "
			       "(user_buffers); events that do not fit count as discarded",
			       group->channel->name, s->uid);
	geo->mode = TRAIL_MODE_DISCARD;
	geo->subbuf_size = TRAIL_SUBBUF_MIN;
	geo->subbuf_count = 2;
	return quota_buffer(s, region_size(geo));
}

/*
 * A 32-bit application maps the region into 2 to 4 GB of addresses, which it needs itself: fewer
 * threads of it get rings. False: the region is too large even so.
 */
static bool fit_word_size(const struct trace *t, struct region_geometry *geo)
{
	if (t->word_bits != 32)
		return true;
	while (geo->ring_count > BITS32_RINGS_WANTED && region_size(geo) > BITS32_REGION_WANTED)
		geo->ring_count /= 2;
	while (geo->ring_count > BITS32_RINGS_MIN && region_size(geo) > BITS32_REGION_MAX)
		geo->ring_count /= 2;
	return region_size(geo) <= BITS32_REGION_MAX;
}

/*
 * Whether later programs need another buffer than this one, because a program wrote over its rings:
 * what they record there would neither be shown nor counted. *given_up: buffers of which this is
 * known. A program that does it again and again does not fill the memory.
 */
static bool give_up(const struct channel *c, struct buffer *b, uint32_t *given_up)
{
	if (!b->unusable && !c->kernel && *given_up < UNUSABLE_MAX && region_unusable(b->region)) {
		b->unusable = true;
		session_failed(c->session,
			       "channel %s: a program wrote over the counters of its buffer: "
			       "programs that begin now, or after stop and start, get another one",
			       c->name);
	}
	*given_up += b->unusable;
	return b->unusable;
}

int group_buffer(struct stream_group *group, enum trail_ring_kind kind, uint32_t pid,
		 struct buffer **out)
{
	struct channel *c = group->channel;
	struct region_geometry geo = geometry(c, kind, pid);
	struct tracer *t = c->session->tracer;
	uint32_t given_up = 0;
	bool no_cpu_rings = true;       /* no buffer has ordinal 0 */
	struct region *r;
	int err;

	cds_list_for_each_entry(*out, &group->buffers, node) {
		no_cpu_rings &= (*out)->ordinal != 0;
		if ((*out)->region->geo.kind == kind &&
		    (kind == TRAIL_RINGS_CPU || (*out)->pid == pid) &&
		    !give_up(c, *out, &given_up))
			return 0;
	}
	/* Only programs of this user may have a file, which they could truncate (region_file.h). */
	geo.file = c->kernel || group->trace->uid == geteuid();
	err = !fit_word_size(group->trace, &geo) ? -EDQUOT :
	      quota_buffer(c->session, cost(c, region_size(&geo)));
	if (err)
		err = refuse_buffer(group, &geo);
	if (!err)
		err = region_create(&geo, random_key(), &r);
	if (err) {
		if (err != -EDQUOT)
			channel_refuse_buffer(c, err);
		return err;
	}
	*out = group_adopt(group, r,
			   no_cpu_rings && per_cpu(c, kind, pid)
				   ? 0
				   : group->next_ordinal + !group->next_ordinal,
			   pid);
	if (!*out) {
		region_put(r);
		return -ENOMEM;
	}
	/* The group may have events already: of other buffers, or of those that a crash lost. */
	group_write_switches(group, *out);
	__atomic_store_n(&t->keeper_pending, true, __ATOMIC_RELAXED);
	session_save(c->session);
	return 0;
}

static struct buffer *unkept_buffer(struct tracer *t)
{
	struct session *s;
	struct channel *c;
	struct stream_group *group;
	struct buffer *b;

	for_each_buffer(t, s, c, group, b)
		if (!b->kept)
			return b;
	return NULL;
}

/* The buffer of this region, which may have been removed meanwhile: NULL. */
static struct buffer *find_buffer(struct tracer *t, const struct region *r)
{
	struct session *s;
	struct channel *c;
	struct stream_group *group;
	struct buffer *b;

	for_each_buffer(t, s, c, group, b)
		if (b->region == r)
			return b;
	return NULL;
}

/*
 * Passes one buffer, without tracer.lock meanwhile. False: the keeper did not take it, and has to
 * be asked again.
 */
static bool keep_buffer(struct tracer *t, struct buffer *b)
{
	struct region *r = region_get(b->region);
	char name[32];
	int err;

	b->kept = true;
	t->keeper_passing++;
	pthread_mutex_unlock(&t->lock);
	snprintf(name, sizeof(name), "%016llx", (unsigned long long)r->key);
	err = keeper_put(t->keeper, name, r->fd);
	pthread_mutex_lock(&t->lock);
	t->keeper_passing--;
	/* One that has ended is replaced by keeper_guard.c, which reports that. */
	if (err && err != -EPIPE && err != t->keeper_error)
		tracer_report(t, "the keeper did not take a buffer: %s", strerror(-err));
	t->keeper_error = err;
	/* If the session was removed meanwhile, no other call removes it from the keeper. */
	if (region_retired(r))
		keeper_drop(t->keeper, name);
	/* A keeper that only answers late has the request. */
	else if (err && err != -ETIMEDOUT && (b = find_buffer(t, r))) {
		b->kept = false;
		__atomic_store_n(&t->keeper_pending, true, __ATOMIC_RELAXED);
	}
	region_put(r);
	return !err || err == -ETIMEDOUT;
}

void buffers_keep(struct tracer *t)
{
	struct buffer *b = NULL;

	/* No lock: a buffer that this thread made is seen, and who makes another one calls this. */
	if (!__atomic_load_n(&t->keeper_pending, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&t->lock);
	while (t->keeper && t->keeper_pending && (b = unkept_buffer(t)) && keep_buffer(t, b))
		;
	if (!t->keeper || !b)
		__atomic_store_n(&t->keeper_pending, false, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&t->lock);
}

bool buffers_kept(struct tracer *t)
{
	bool kept;

	pthread_mutex_lock(&t->lock);
	kept = !t->keeper_pending && !t->keeper_passing;
	pthread_mutex_unlock(&t->lock);
	return kept;
}

uint64_t session_clears(const struct session *s)
{
	return __atomic_load_n(&s->clears, __ATOMIC_RELAXED);
}

/* Hides all events below the mark. Views read the ring at the same time, without a lock. */
static void clear_ring(struct trail_ring *ring, const struct ring_mark *mark)
{
	uint64_t lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);

	__atomic_store_n(&ring->cleared_events, mark->events, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->cleared_lost, lost, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->cleared_ts, mark->last_ts, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->source_overwritten, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->source_gaps, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->source_unfiltered, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->unwritten, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->consumed_events, mark->events, __ATOMIC_RELAXED);
	/* Pairs with the acquire loads of the views. */
	__atomic_store_n(&ring->cleared, mark->head, __ATOMIC_RELEASE);
	/* Pairs with the writers' acquire load before they use a sub-buffer again. */
	__atomic_store_n(&ring->consumed, mark->head, __ATOMIC_RELEASE);
}

/*
 * The barrier waits until writers have committed the events that they began, so none of these
 * appears after `clear`.
 * Caller holds tracer.lock.
 */
void session_clear_rings(struct session *s)
{
	struct stream stream = { 0 };
	struct ring_mark mark;
	struct channel *c;
	struct stream_group *group;
	struct buffer *b;

	/* First: if the daemon is killed now, the next one still finds what its readers got. */
	__atomic_fetch_add(&s->clears, 1, __ATOMIC_RELAXED);
	session_save(s);
	cds_list_for_each_entry(c, &s->channels, node) {
		c->filtered = rule_list_has_filter(&c->rules);
		c->trouble = (struct channel_trouble){ 0 };
		for_each_channel_buffer(c, group, b) {
			barrier(&b->region, 1);
			for (uint32_t i = 0; i < b->region->geo.ring_count; i++) {
				stream.region = b->region;
				stream.ring = i;
				ring_mark(&stream, &mark);
				clear_ring(region_ring(b->region, i), &mark);
			}
			if (c->counts)
				region_counts_clear(b->region, group->stream->event_count);
		}
	}
	session_clear_parts(s);
}
