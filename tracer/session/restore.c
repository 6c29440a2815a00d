// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads a session from the state directory (session_file.c writes it and describes the lines).
 * Every value is checked, although a daemon wrote the file. An invalid line is skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "tracer/base/base.h"
#include "tracer/session/event_log.h"
#include "tracer/session/kept.h"
#include "tracer/session/session.h"

#define SESSION_FILE_MAX (16u << 20)    /* bytes */

struct restore {
	struct tracer *t;
	struct session *s;
	struct channel *channel;        /* of the last `channel` line; NULL: it is complete */
	struct md_buf rules, contexts;  /* its lines so far */
	struct trace *trace;            /* the trace whose event log is being read */
};

static struct channel *find_channel_id(const struct session *s, uint32_t id)
{
	struct channel *c;

	cds_list_for_each_entry(c, &s->channels, node)
		if (c->id == id)
			return c;
	return NULL;
}

static struct trace *find_trace_index(const struct session *s, uint32_t index)
{
	struct trace *t;

	for (t = s->traces; t && t->index != index; t = t->next)
		;
	return t;
}

/* Parses the rules and contexts of the last `channel` line: all its lines were read. */
static void finish_channel(struct restore *r)
{
	struct rule_list none = { 0 };
	struct context_list empty = { 0 };
	struct channel *c = r->channel;
	enum domain domain = c && c->kernel ? DOMAIN_KERNEL : DOMAIN_USER;

	if (c)
		c->filtered = true;     /* the earlier daemon may have had other rules */
	if (c && r->rules.len)
		rule_list_apply(&none, domain, md_buf_str(&r->rules), true, &c->rules, NULL);
	/* Do not ask whether the perf counters exist: the trace declares them already. */
	if (c && r->contexts.len)
		context_list_apply(&empty, domain, md_buf_str(&r->contexts), true, false,
				   &c->contexts, NULL);
	md_buf_reset(&r->rules);
	md_buf_reset(&r->contexts);
	r->channel = NULL;
}

/* Of the session, or of the channel of the last `channel` line */
static void restore_setting(struct restore *r, const char *line)
{
	if (r->channel)
		settings_restore(channel_settings, r->channel, line);
	else
		settings_restore(r->t->settings, r->s, line);
}

/* Lines of numbers, of versions before `set` */
static const struct former_line former_lines[] = {
	{ "times", { "blocking_timeout", "switch_period", "read_period" } },
	{ "monitor", { "monitor_period" } },
	{ "files", { "file_size", "file_count" } },
	{ 0 }
};

static void restore_track(struct restore *r, const char *line)
{
	struct track none = { 0 }, track;
	int attr, n = 0;

	/* The file has numbers only, so this resolves no user or group name. */
	if (sscanf(line, "%d %n", &attr, &n) != 1 || !n || attr < 0 || attr >= TRACK_ATTRS ||
	    track_apply(&none, attr, line + n, true, &track, NULL))
		return;
	track_deinit(&r->s->track[attr]);
	r->s->track[attr] = track;
}

static struct channel *add_channel(struct restore *r, uint32_t id, bool started, int mode,
				   const char *name)
{
	struct channel *c = name_check(name, 128, NULL) || find_channel_id(r->s, id)
				    ? NULL : channel_new(r->s, DOMAIN_USER, name, id);

	if (!c)
		return NULL;
	c->started = started;
	c->counts = mode == TRAIL_MODE_COUNT;
	c->mode = c->counts ? TRAIL_MODE_COUNT
		  : mode    ? TRAIL_MODE_OVERWRITE
			    : TRAIL_MODE_DISCARD;
	r->channel = c;
	return c;
}

static void restore_channel(struct restore *r, const char *line)
{
	int started, mode, n = 0;
	uint32_t id;

	if (sscanf(line, "%u %d %d %n", &id, &started, &mode, &n) == 3 && n)
		add_channel(r, id, started, mode, line + n);
}

/* Of versions that wrote settings into the line of the channel */
static void restore_former_channel(struct restore *r, const char *line)
{
	int enabled, started, per_process, loss, mode, n = 0;
	uint64_t size;
	uint32_t id, count;
	struct channel *c;

	if (sscanf(line, "%u %d %d %d %d %d %" SCNu64 " %u %n", &id, &enabled, &started,
		   &per_process, &loss, &mode, &size, &count, &n) < 8 || !n)
		return;
	c = add_channel(r, id, started, mode, line + n);
	if (!c)
		return;
	c->enabled = enabled;
	c->per_process = per_process;
	c->loss = loss == 0 ? LOSS_DISCARD : loss == 1 ? LOSS_OVERWRITE : LOSS_DEFAULT;
	c->subbuf_size = size;
	c->subbuf_count = count;
}

static int restore_event(void *arg, uint32_t stream_id, struct md_event *e)
{
	struct restore *r = arg;
	struct channel *c = find_channel_id(r->s, stream_id);
	struct stream_group *group = c ? group_get(c, r->trace, true) : NULL;

	if (group)
		return group_restore(group, e);
	md_event_destroy(e);    /* of a channel that was removed */
	return 0;
}

static void restore_trace_of(struct restore *r, const char *line, uint32_t word_bits)
{
	uint32_t index, uid, pid, next = r->s->next_trace;
	char uuid_text[37], comm[17] = "";
	int64_t created;
	uint8_t uuid[16];
	int err;

	if (sscanf(line, "%u %u %u %" SCNd64 " %36s %16s", &index, &uid, &pid, &created, uuid_text,
		   comm) < 5 ||
	    uuid_parse(uuid_text, uuid) < 0 || strchr(comm, '/') || comm[0] == '.')
		return;
	r->trace = trace_new(r->s, (struct trace_key){ uid, pid, word_bits }, comm, uuid, created);
	if (!r->trace)
		return;
	r->trace->index = index;
	r->s->next_trace = index >= next ? index + 1 : next;
	err = trace_open_log(r->s, r->trace);
	if (!err)
		err = eventlog_read(r->trace->log_fd, restore_event, r);
	if (err)
		session_report(r->s, "event log %u: %s", index, strerror(-err));
}

static void restore_trace(struct restore *r, const char *line)
{
	restore_trace_of(r, line, 64);
}

static void restore_trace32(struct restore *r, const char *line)
{
	restore_trace_of(r, line, 32);
}

/*
 * What the line says of the geometry, in place of the region's header, which an application may
 * have written over. Lines of earlier versions have no geometry. NULL: the region is useless.
 */
static struct region *check_region(struct region *region, const char *line)
{
	struct region_geometry g;
	unsigned int mode, kind;
	uint64_t created, key;

	if (sscanf(line,
		   "%" SCNx64 " %*u %*u %*u %*u %u %u %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu32
		   " %" SCNu64 " %" SCNu64 " %" SCNu64, &key, &mode, &kind, &g.ring_count,
		   &g.subbuf_count, &g.subbuf_size, &g.switch_count, &g.clock_mult, &g.clock_base,
		   &created) == 10) {
		g.mode = (enum trail_mode)mode;
		g.kind = (enum trail_ring_kind)kind;
		region_assume(region, &g, created, key);
	}
	if (region->geo.ring_count)
		return region;
	region_put(region);
	return NULL;
}

static void restore_region(struct restore *r, const char *line)
{
	uint64_t key;
	uint32_t channel, trace, ordinal, pid;
	struct region *region;
	struct channel *c;
	struct trace *t;
	struct stream_group *group;
	struct buffer *b;

	if (sscanf(line, "%" SCNx64 " %u %u %u %u", &key, &channel, &trace, &ordinal, &pid) < 5)
		return;
	c = find_channel_id(r->s, channel);
	t = find_trace_index(r->s, trace);
	region = kept_claim(key);
	if (region)
		region = check_region(region, line);
	if (!region) {
		__atomic_fetch_add(&r->s->buffers_lost, 1, __ATOMIC_RELAXED);
		session_failed(r->s, "a buffer of channel %s and its events are lost",
			       c ? c->name : "?");
	}
	if (region && !r->t->reading)
		region_drop_fences(region);
	if (region && c)
		region->preallocated = c->preallocate || region->file;
	group = region && c && t ? group_get(c, t, true) : NULL;
	/* No other thread runs yet, but the parts expect the lock. */
	pthread_mutex_lock(&r->s->tracer->lock);
	b = group ? group_adopt(group, region, ordinal, pid) : NULL;
	pthread_mutex_unlock(&r->s->tracer->lock);
	if (b)
		b->kept = true;
	else
		region_put(region);
}

static void restore_kernel(struct restore *r, const char *name)
{
	if (!r->channel)
		return;
	r->channel->kernel = true;
	free(r->channel->adopt);
	r->channel->adopt = strdup(name);
}

static void restore_rule(struct restore *r, const char *value)
{
	md_buf_printf(&r->rules, "%s\n", value);
}

static void restore_context(struct restore *r, const char *value)
{
	md_buf_printf(&r->contexts, "%s\n", value);
}

static void restore_picks(struct restore *r, const char *value)
{
	size_t len = strlen(value);
	char *names = r->channel ? calloc(1, len + 2) : NULL;

	if (!names)
		return;
	for (size_t i = 0; i < len; i++)
		names[i] = value[i] == ' ' ? 0 : value[i];
	free(r->channel->picks);
	r->channel->picks = names;
}

static void restore_groups(struct restore *r, const char *value)
{
	owner_groups_parse(&r->s->groups, value);
}

static void restore_requests(struct restore *r, const char *value)
{
	requests_read(&r->s->requests, value);
}

/* The kinds of lines; those of a channel refer to the last `channel` line. */
static const struct line_kind {
	const char *key;
	void (*restore)(struct restore *r, const char *value);
	bool of_channel;
} line_kinds[] = {
	{ "rule", restore_rule, true },
	{ "context", restore_context, true },
	{ "set", restore_setting, true },
	{ "kernel", restore_kernel, true },
	{ "picks", restore_picks, true },
	{ "channel_id", restore_channel, false },
	{ "channel", restore_former_channel, false },
	{ "groups", restore_groups, false },
	{ "requests", restore_requests, false },
	{ "snapshot_requests", restore_requests, false },       /* of versions before that */
	{ "track", restore_track, false },
	{ "trace", restore_trace, false },
	{ "trace32", restore_trace32, false },
	{ "region", restore_region, false },
};

static void restore_line(struct restore *r, const char *line)
{
	size_t len = strcspn(line, " ");
	const char *value = line + len + 1;
	char key[32];

	if (len >= sizeof(key) || !line[len])
		return;
	memcpy(key, line, len);
	key[len] = 0;
	for (size_t i = 0; i < sizeof(line_kinds) / sizeof(*line_kinds); i++) {
		if (strcmp(key, line_kinds[i].key) != 0)
			continue;
		if (!line_kinds[i].of_channel)
			finish_channel(r);
		line_kinds[i].restore(r, value);
		return;
	}
	if (r->channel && settings_restore_former(former_lines, channel_settings, r->channel, key,
						  value))
		return;
	finish_channel(r);
	if (!session_restore_part(r->s, key, value))
		session_restore_key(r->s, key, value);
}

/* A session that users do not see, and its name, begin with a dot. */
static struct session *new_session(struct tracer *t, const char *name)
{
	struct owner none = { 0 };
	struct session *s;

	if (*name != '.')
		return session_new(t, name, &none);
	s = session_new_hidden(t, name, &none);
	if (s)
		s->survives = s->unclaimed = true;
	return s;
}

int session_restore(struct tracer *t, const char *name)
{
	struct restore r = { .t = t };
	struct md_buf text = MD_BUF_INIT;
	char *line, *save = NULL;
	int dir, err;

	if (name_check(name + (*name == '.'), 200, NULL))
		return -EINVAL;
	dir = openat(t->sessions_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	err = dir < 0 ? -errno : state_file_read(dir, "session", SESSION_FILE_MAX, &text);
	if (dir >= 0)
		close(dir);
	if (!err && !(r.s = new_session(t, name)))
		err = -ENOMEM;
	if (!err) {
		md_buf_str(&text);
		for (line = strtok_r(text.data, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			restore_line(&r, line);
		finish_channel(&r);
		session_publish(r.s);
	}
	if (!err)
		r.s->dump_begun = r.s->dump_ended = r.s->statedump;
	if (!err && r.s->statedump > t->last_statedump)
		t->last_statedump = r.s->statedump;
	md_buf_deinit(&r.rules);
	md_buf_deinit(&r.contexts);
	md_buf_deinit(&text);
	return err;
}
