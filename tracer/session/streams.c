/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The streams of a session as views and the output find them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tracer/base/array.h"
#include "tracer/session/session.h"
#include "tracer/base/ring/stream_files.h"
#include "tracer/base/ring/reader.h"

/* Readers of a live session must know all CPUs before they get an event of one. */
static bool announced(const struct session_shown *s, const struct buffer *b)
{
	return s->follows && !b->ordinal;
}

static bool used(const struct region *r, uint32_t ring)
{
	const struct trail_ring *tr = region_ring(r, ring);

	/* The kernel's buffer may have lost events of a CPU from which none was ever copied. */
	return region_head(r, ring) || __atomic_load_n(&tr->lost, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&tr->source_overwritten, __ATOMIC_RELAXED);
}

/* files: the stream has a list of the files that the output wrote. */
static int add_stream(struct stream_set *set, const struct stream_group *group, struct buffer *b,
		      uint32_t ring, bool files)
{
	struct stream_files *log = files ? buffer_files(group->channel->session, b, ring) : NULL;
	bool samples = group->channel->kernel && b->pid == KERNEL_SAMPLE_RINGS;
	bool cpus = !b->ordinal || b->region->geo.kind == TRAIL_RINGS_CPU || samples;
	struct stream *st;

	if (!array_double(set->streams, set->count) || (files && !log))
		return -ENOMEM;
	st = &set->streams[set->count++];
	*st = (struct stream){
		.log = log ? stream_files_get(log) : NULL,
		.streamed = group->channel->session->streamed,
		.trace = trace_get(group->trace),
		.region = region_get(b->region),
		.ring = ring,
		.class = group->stream,
		.instance_id = b->ordinal ? (uint64_t)b->ordinal << 16 | ring : ring,
		.cpu = cpus ? ring : 0,
	};
	snprintf(st->channel, sizeof(st->channel), "%s", group->channel->name);
	if (!b->ordinal) {
		snprintf(st->name, sizeof(st->name), "cpu%u", ring);
		snprintf(st->file, sizeof(st->file), "%s_%u", st->channel, ring);
	} else if (cpus) {
		/* Samples, or in the place of one that a program wrote over. */
		snprintf(st->name, sizeof(st->name), samples ? "samples%u" : "cpu%u-%u", ring,
			 b->ordinal);
		snprintf(st->file, sizeof(st->file), "%s_%" PRIu64, st->channel, st->instance_id);
	} else {
		snprintf(st->name, sizeof(st->name),
			 group->channel->kernel ? "statedump"
			 : b->pid            ? "thread-%u-%u"
					     : "log",
			 b->pid, ring);
		snprintf(st->file, sizeof(st->file), "%s_%" PRIu64, st->channel, st->instance_id);
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct stream *x = a, *y = b;
	int c = memcmp(x->trace->md->uuid, y->trace->md->uuid, 16);

	if (!c)
		c = strcmp(x->trace->path, y->trace->path);
	if (!c)
		c = (x->class->id > y->class->id) - (x->class->id < y->class->id);
	return c ? c : (x->instance_id > y->instance_id) - (x->instance_id < y->instance_id);
}

/* all: also streams that never held an event. */
static int take_streams(struct session *s, const char *channel, bool all, struct stream_set *out)
{
	struct session_shown shown = session_shown(s);
	struct channel *c;
	struct stream_group *group;
	struct buffer *b;
	int ret;

	*out = (struct stream_set){ 0 };
	ret = session_part_streams(s, out);
	if (ret) {
		if (ret > 0 && out->count)
			qsort(out->streams, out->count, sizeof(*out->streams), compare);
		return ret > 0 ? 0 : ret;
	}
	pthread_mutex_lock(&s->tracer->lists_lock);
	cds_list_for_each_entry(c, &s->channels, node) {
		if (channel && strcmp(c->name, channel) != 0)
			continue;
		for_each_channel_buffer(c, group, b)
			for (uint32_t i = 0; i < b->region->geo.ring_count && !ret; i++)
				if (all || used(b->region, i) || announced(&shown, b))
					ret = add_stream(out, group, b, i, shown.files);
	}
	pthread_mutex_unlock(&s->tracer->lists_lock);
	if (ret)
		stream_set_deinit(out);
	else if (out->count)
		qsort(out->streams, out->count, sizeof(*out->streams), compare);
	return ret;
}

int session_streams(struct session *s, const char *channel, struct stream_set *out)
{
	return take_streams(s, channel, false, out);
}

int session_rings(struct session *s, struct stream_set *out)
{
	return take_streams(s, NULL, true, out);
}

size_t session_regions(struct session *s, struct region ***out)
{
	struct channel *c;
	struct stream_group *group;
	struct buffer *b;
	size_t n = 0;

	*out = NULL;
	pthread_mutex_lock(&s->tracer->lists_lock);
	for_each_session_buffer(s, c, group, b)
		n++;
	*out = n ? malloc(n * sizeof(**out)) : NULL;
	n = 0;
	for_each_session_buffer(s, c, group, b)
		if (*out)
			(*out)[n++] = region_get(b->region);
	pthread_mutex_unlock(&s->tracer->lists_lock);
	return n;
}

void session_buffers(struct session *s, struct session_buffers *out)
{
	struct region **regions;
	size_t n = session_regions(s, &regions);
	struct stat st;

	*out = (struct session_buffers){ .number = n };
	while (n) {
		if (fstat(regions[--n]->fd, &st) == 0)
			out->memory += (uint64_t)st.st_blocks * 512;
		region_put(regions[n]);
	}
	free(regions);
}

static bool needs_cpu_barrier(struct session *s)
{
	bool needs = false;

	pthread_mutex_lock(&s->tracer->lock);
	for_each_domain(d, s->tracer) needs =
		needs || ((*d)->needs_cpu_barrier && LOCKED(s->tracer, (*d)->needs_cpu_barrier(s)));
	pthread_mutex_unlock(&s->tracer->lock);
	return needs;
}

int session_look(struct session *s, const char *channel, struct stream_set *out, uint64_t *now)
{
	struct region **regions;
	size_t n;

	/*
	 * The order matters: an event older than now is in a region that exists by then, and in its
	 * ring after the barrier. Minus 1 ns: another event may still get this time.
	 */
	*now = clock_now(session_clock(s)) - 1;
	n = session_regions(s, &regions);
	barrier(regions, n);
	while (n)
		region_put(regions[--n]);
	free(regions);
	if (needs_cpu_barrier(s))
		barrier_cpus();
	domains_drain(s);
	n = (size_t)session_streams(s, channel, out);
	/* The times of an imported trace are not this clock's. */
	if (!n && out->count && out->streams[0].input)
		*now = UINT64_MAX;
	return (int)n;
}

/* What a channel has that its streams do not have. 0 or -ENOENT. */
static int show_channel(struct session *s, enum domain domain, const char *channel,
			struct facts *out)
{
	const struct domain_ops *ops = s->tracer->domains[domain];
	const struct channel *c;

	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, domain, channel);
	if (c && c->blocking)
		fact_text(out, "blocking", CHANNEL_BLOCKING_NOTE);
	if (c && ops->channel_status)
		LOCKED(s->tracer, ops->channel_status(c, out));
	pthread_mutex_unlock(&s->tracer->lock);
	return c ? 0 : -ENOENT;
}

static void show_sum(const struct ring_counts *sum, struct facts *out)
{
	fact_number(out, "events_recorded", sum->recorded);
	fact_number(out, "events_discarded", sum->discarded);
	fact_number(out, "events_overwritten", sum->overwritten);
	fact_number(out, "events_unfiltered", sum->unfiltered);
	fact_number(out, "bytes", sum->bytes);
}

static void show_stream(const struct stream *st, const struct ring_counts *c, struct facts *out)
{
	fact_item(out, "stream",
		  "%s/%s recorded %" PRIu64 " discarded %" PRIu64 " overwritten %" PRIu64
		  " bytes %" PRIu64 " resident %" PRIu64,
		  st->trace->owner, st->name, c->recorded, c->discarded, c->overwritten, c->bytes,
		  ring_resident(st));
}

int channel_status(struct session *s, enum domain domain, const char *channel, bool json,
		   struct md_buf *text)
{
	struct stream_set set;
	struct ring_counts sum = { 0 }, *counts;
	struct facts out = { .out = text, .json = json };
	bool kernel = domain == DOMAIN_KERNEL;
	int ret;

	domain_drain(s, domain);
	ret = session_streams(s, channel, &set);
	if (ret)
		return ret;
	counts = calloc(set.count + 1, sizeof(*counts));
	for (size_t i = 0; counts && i < set.count; i++)
		if (kernel == (set.streams[i].trace->uid == KERNEL_UID)) {
			ring_counts(&set.streams[i], &counts[i]);
			ring_counts_add(&sum, &counts[i]);
		}
	facts_begin(&out);
	show_sum(&sum, &out);
	ret = counts ? show_channel(s, domain, channel, &out) : -ENOMEM;
	for (size_t i = 0; counts && i < set.count; i++)
		if (kernel == (set.streams[i].trace->uid == KERNEL_UID))
			show_stream(&set.streams[i], &counts[i], &out);
	facts_end(&out);
	free(counts);
	stream_set_deinit(&set);
	return ret;
}

static bool listed(const struct md_buf *names, const char *name)
{
	for (size_t at = 0; at < names->len; at += strlen(names->data + at) + 1)
		if (!strcmp(names->data + at, name))
			return true;
	return false;
}

/*
 * Lists the names that occur in a set of streams, each once: owners, or the streams of one owner.
 */
static int list_names(struct session *s, const char *channel, const char *owner,
		      struct md_buf *names)
{
	struct stream_set set;
	bool kernel = owner && !strcmp(owner, OWNER_KERNEL);
	int ret = -ENOENT;

	if (kernel)
		domains_drain(s);
	if (channel_exists(s, kernel ? DOMAIN_KERNEL : DOMAIN_USER, channel))
		ret = session_streams(s, channel, &set);
	if (ret)
		return ret;
	for (size_t i = 0; i < set.count; i++) {
		const struct stream *st = &set.streams[i];
		const char *name = owner ? st->name : st->trace->owner;

		if (kernel != (st->trace->uid == KERNEL_UID))
			continue;
		if ((!owner || !strcmp(st->trace->owner, owner)) && !listed(names, name))
			md_buf_put(names, name, strlen(name) + 1);
	}
	stream_set_deinit(&set);
	return 0;
}

int owners_list(struct session *s, const char *channel, struct md_buf *names)
{
	return list_names(s, channel, NULL, names);
}

int owner_streams(struct session *s, const char *channel, const char *owner, struct md_buf *names)
{
	return list_names(s, channel, owner, names);
}

bool session_knows_apart(const struct session *s)
{
	bool apart = s->track[TRACK_VPID].some || s->track[TRACK_VGID].some ||
		     s->track[TRACK_CGROUP].some;
	struct channel *c;

	cds_list_for_each_entry(c, &s->channels, node)
		for (size_t i = 0; i < c->contexts.count; i++)
			apart = apart || context_is_cgroup(&c->contexts.items[i]);
	return apart;
}

bool session_tracks_cgroup(const struct session *s, uint32_t pid, char **cgroups)
{
	const struct track *t = &s->track[TRACK_CGROUP];

	if (!t->some || !t->count)
		return !t->some;
	if (!*cgroups)
		*cgroups = track_read_cgroups(pid);
	return *cgroups && track_has_cgroup(t, *cgroups);
}

bool session_leaves_threads_out(struct session *s)
{
	bool some = false;

	pthread_mutex_lock(&s->tracer->lock);
	for (int i = TRACK_PID; i < TRACK_ATTRS; i++)
		some = some || (i != TRACK_CGROUP && s->track[i].some);
	pthread_mutex_unlock(&s->tracer->lock);
	return some;
}

/* ---- what a channel asks of the files of its streams ---- */

struct periods session_periods(struct session *s, const char *owner, const char *channel)
{
	bool kernel = owner && !strcmp(owner, OWNER_KERNEL);
	struct periods p = { 0 };
	bool first = true;
	struct channel *c;

	pthread_mutex_lock(&s->tracer->lock);
	cds_list_for_each_entry(c, &s->channels, node) {
		if (channel && (c->kernel != kernel || strcmp(c->name, channel) != 0))
			continue;
		p.hold = c->switch_period * 1000;
		if (first || c->read_period * 1000 < p.look)
			p.look = c->read_period * 1000;
		first = false;
	}
	pthread_mutex_unlock(&s->tracer->lock);
	return p;
}

void session_file_limits(struct session *s, bool kernel, const char *channel, uint64_t *size,
			 uint32_t *count)
{
	struct channel *c;

	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, kernel ? DOMAIN_KERNEL : DOMAIN_USER, channel);
	*size = c ? c->file_size : 0;
	*count = c && c->file_size ? c->file_count : 0;
	pthread_mutex_unlock(&s->tracer->lock);
}
