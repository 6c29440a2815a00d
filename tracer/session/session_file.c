// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions in the state directory, so that a daemon that was killed finds them again: sessions/NAME/session, written whole at
 * each change, and sessions/NAME/events-N, the event log of trace N. What the rings hold is with the keeper, under the
 * keys that the session file names.
 *
 *	uid 0                                                   one `key value` per line, then
 *	channel ID ENABLED STARTED PER_PROCESS LOSS MODE SUBBUF_SIZE SUBBUF_COUNT NAME
 *	times BLOCKING SWITCH_PERIOD READ_PERIOD                of the channel before, and so:
 *	files SIZE COUNT
 *	kernel NAME                     it is of the kernel domain; -: it has nothing in the kernel yet
 *	context NAME
 *	rule RULE
 *	track ATTRIBUTE [*] [ID …]
 *	trace INDEX UID PID CREATED UUID COMM
 *	region KEY CHANNEL TRACE ORDINAL PID
 *	KEY VALUE                       of a part (session/part.h)
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "tracer/base/base.h"
#include "tracer/session/session.h"

#define SESSION_FILE_MAX (16u << 20)

static void save_lines(const char *key, struct md_buf *lines, struct md_buf *out)
{
	const char *line, *end;

	for (line = md_buf_str(lines); *line; line = end + (*end == '\n')) {
		end = strchrnul(line, '\n');
		md_buf_printf(out, "%s %.*s\n", key, (int)(end - line), line);
	}
	out->failed = out->failed || lines->failed;
	md_buf_deinit(lines);
}

static void save_channel(const struct channel *c, struct md_buf *out)
{
	struct md_buf rules = MD_BUF_INIT, contexts = MD_BUF_INIT;

	md_buf_printf(out, "channel %u %d %d %d %d %d %" PRIu64 " %u %s\n", c->id, c->enabled, c->started, c->per_process,
		      c->loss, (int)c->mode, c->subbuf_size, c->subbuf_count, c->name);
	md_buf_printf(out, "times %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", c->blocking, c->switch_period, c->read_period);
	md_buf_printf(out, "files %" PRIu64 " %u\n", c->file_size, c->file_count);
	if (c->session->tracer->domains[c->kernel]->save)
		c->session->tracer->domains[c->kernel]->save(c, out);
	context_list_print(&c->contexts, &contexts);
	save_lines("context", &contexts, out);
	rule_list_print(&c->rules, &rules);
	save_lines("rule", &rules, out);
}

static void save_tracks(const struct session *s, struct md_buf *out)
{
	for (int i = 0; i < TRACK_ATTRS; i++) {
		md_buf_printf(out, "track %d ", i);
		track_print(&s->track[i], out, ' ');
		md_buf_putc(out, '\n');
	}
}

static void save_traces(const struct trace *t, struct md_buf *out)
{
	char uuid[37];

	if (!t)
		return;
	save_traces(t->next, out);      /* oldest first: the list is the other way round */
	uuid_unparse_lower(t->md->uuid, uuid);
	md_buf_printf(out, "trace %u %u %u %" PRId64 " %s %s\n", t->index, t->uid, t->pid, t->created, uuid, t->comm);
}

static void save_regions(const struct channel *c, struct md_buf *out)
{
	struct stream_group *cl;
	struct buffer *b;

	cds_list_for_each_entry(cl, &c->groups, node)
		cds_list_for_each_entry(b, &cl->buffers, node)
			md_buf_printf(out, "region %016" PRIx64 " %u %u %u %u\n", b->region->key, c->id, cl->trace->index,
				      b->ordinal, b->pid);
}

static int open_dir(struct session *s, bool create)
{
	int fd;

	if (create && mkdirat(s->tracer->sessions_fd, s->name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(s->tracer->sessions_fd, s->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int session_save(struct session *s)
{
	struct md_buf out = MD_BUF_INIT;
	struct channel *c;
	int dir, err;

	if (s->gone || s->draft)
		return 0;
	md_buf_printf(&out, "uid %u\ngid %u\nmode %u\nactive %d\nstarts %" PRIu64 "\ncreated %" PRId64 "\nstarted %" PRId64 "\n",
		      s->uid, s->gid, s->mode, s->active, s->starts, s->created, s->started);
	md_buf_printf(&out, "next_channel %u\nnext_trace %u\nstatedump %" PRIu64 "\nclock_offset %" PRIu64 "\n",
		      s->next_channel, s->next_trace, s->statedump, s->clock_offset);
	md_buf_printf(&out, "buffers_refused %" PRIu64 "\nbuffers_lost %" PRIu64 "\n", s->buffers_refused, s->buffers_lost);
	save_tracks(s, &out);
	cds_list_for_each_entry(c, &s->channels, node)
		save_channel(c, &out);
	save_traces(s->traces, &out);
	cds_list_for_each_entry(c, &s->channels, node)
		save_regions(c, &out);
	session_save_parts(s, &out);
	dir = open_dir(s, true);
	err = dir < 0 ? dir : out.failed ? -ENOMEM : state_file_write(dir, "session", out.data, out.len);
	if (dir >= 0)
		close(dir);
	md_buf_deinit(&out);
	if (err)
		tracer_report(s->tracer, "session %s cannot be saved: %s", s->name, strerror(-err));
	return err;
}

void session_forget_on_disk(struct session *s)
{
	char path[256];
	int err;

	/*
	 * First the file that makes it a session, by its path: to remove a directory takes a
	 * descriptor, and there may be none.
	 */
	snprintf(path, sizeof(path), "%s/session", s->name);
	unlinkat(s->tracer->sessions_fd, path, 0);
	err = state_file_remove(s->tracer->sessions_fd, s->name);
	if (err)
		tracer_report(s->tracer, "session %s cannot be removed from the state directory: %s", s->name, strerror(-err));
}

int trace_open_log(struct session *s, struct trace *t)
{
	bool reading = s->tracer->reading;
	char name[32];
	int dir = open_dir(s, !reading), err = 0;

	if (dir < 0)
		return dir;
	snprintf(name, sizeof(name), "events-%u", t->index);
	if (!reading) {
		err = eventlog_open(dir, name, &t->log_fd);
	} else {
		t->log_fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		err = t->log_fd < 0 ? -errno : 0;
	}
	close(dir);
	return err;
}

/* ---- reading it back: the file is ours, but it is checked all the same ---- */

struct restore {
	struct tracer *t;
	struct session *s;
	struct channel *channel;        /* that `rule` and `context` lines belong to */
	struct md_buf rules, contexts;
	struct trace *trace;            /* whose event log is being read */
};

static struct channel *channel_by_id(const struct session *s, uint32_t id)
{
	struct channel *c;

	cds_list_for_each_entry(c, &s->channels, node)
		if (c->id == id)
			return c;
	return NULL;
}

static struct trace *trace_by_index(const struct session *s, uint32_t index)
{
	struct trace *t;

	for (t = s->traces; t && t->index != index; t = t->next)
		;
	return t;
}

static void finish_rules(struct restore *r)
{
	struct rule_list none = { 0 };
	struct context_list empty = { 0 };
	enum domain domain = r->channel && r->channel->kernel ? DOMAIN_KERNEL : DOMAIN_USER;

	if (r->channel && r->rules.len)
		rule_list_apply(&none, domain, md_buf_str(&r->rules), true, &r->channel->rules, NULL);
	/* Counters are not looked for again: a trace that has them goes on having them. */
	if (r->channel && r->contexts.len)
		context_list_apply(&empty, domain, md_buf_str(&r->contexts), true, false,
				   &r->channel->contexts, NULL);
	md_buf_reset(&r->rules);
	md_buf_reset(&r->contexts);
	r->channel = NULL;
}

static void restore_times(const struct restore *r, const char *line)
{
	uint64_t blocking, switch_period, read_period;

	if (!r->channel || sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &blocking, &switch_period, &read_period) != 3)
		return;
	r->channel->blocking = blocking;
	r->channel->switch_period = switch_period;
	r->channel->read_period = read_period;
}

static void restore_files(const struct restore *r, const char *line)
{
	uint64_t size;
	uint32_t count;

	if (!r->channel || sscanf(line, "%" SCNu64 " %" SCNu32, &size, &count) != 2)
		return;
	r->channel->file_size = size;
	r->channel->file_count = count;
}

static void restore_track(struct restore *r, const char *line)
{
	struct track none = { 0 }, track;
	int attr, n = 0;

	/* Numbers only: no name is asked for. */
	if (sscanf(line, "%d %n", &attr, &n) != 1 || !n || attr < 0 || attr >= TRACK_ATTRS ||
	    track_apply(&none, attr, line + n, true, &track, NULL))
		return;
	track_deinit(&r->s->track[attr]);
	r->s->track[attr] = track;
}

static void restore_channel(struct restore *r, const char *line)
{
	int enabled, started, per_process, loss, mode, n = 0;
	uint64_t size;
	uint32_t id, count;
	struct channel *c;

	if (sscanf(line, "%u %d %d %d %d %d %" SCNu64 " %u %n", &id, &enabled, &started, &per_process, &loss, &mode, &size,
		   &count, &n) < 8 || !n || name_check(line + n, 128, NULL) || channel_by_id(r->s, id))
		return;
	c = channel_new(r->s, DOMAIN_USER, line + n, id);
	if (!c)
		return;
	c->enabled = enabled;
	c->started = started;
	c->per_process = per_process;
	c->loss = loss >= 0 && loss <= 1 ? loss : -1;
	c->mode = mode ? TRAIL_MODE_OVERWRITE : TRAIL_MODE_DISCARD;
	c->subbuf_size = size;
	c->subbuf_count = count;
	r->channel = c;
}

static int restore_event(void *arg, uint32_t stream_id, struct md_event *e)
{
	struct restore *r = arg;
	struct channel *c = channel_by_id(r->s, stream_id);
	struct stream_group *cl = c ? group_get(c, r->trace, true) : NULL;

	if (cl)
		return group_restore(cl, e);
	md_event_destroy(e);    /* of a channel that was removed */
	return 0;
}

static void restore_trace(struct restore *r, const char *line)
{
	uint32_t index, uid, pid, next = r->s->next_trace;
	char uuid_text[37], comm[17] = "";
	int64_t created;
	uint8_t uuid[16];
	int err;

	if (sscanf(line, "%u %u %u %" SCNd64 " %36s %16s", &index, &uid, &pid, &created, uuid_text, comm) < 5 ||
	    uuid_parse(uuid_text, uuid) < 0 || strchr(comm, '/') || comm[0] == '.')
		return;
	r->trace = trace_new(r->s, uid, pid, comm, uuid, created);
	if (!r->trace)
		return;
	r->trace->index = index;
	r->s->next_trace = index >= next ? index + 1 : next;
	err = trace_open_log(r->s, r->trace);
	if (!err)
		err = eventlog_read(r->trace->log_fd, restore_event, r);
	if (err)
		tracer_report(r->t, "session %s: event log %u: %s", r->s->name, index, strerror(-err));
}

/* Descriptors that the keeper had, by key; those that no session claims are dropped. */
static struct kept { uint64_t key; struct region *region; int snapshot; } *kept;
static size_t kept_count;

static struct region *take_kept(uint64_t key)
{
	for (size_t i = 0; i < kept_count; i++)
		if (kept[i].key == key && kept[i].region) {
			struct region *region = kept[i].region;

			kept[i].region = NULL;
			return region;
		}
	return NULL;
}

static uint64_t written(const struct region *r)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->geo.ring_count; i++)
		sum += region_head(r, i);
	return sum;
}

static int kept_put(uint64_t key, struct region *r, int snapshot)
{
	struct kept *more = realloc(kept, (kept_count + 1) * sizeof(*kept));

	if (!more)
		return -ENOMEM;
	kept = more;
	kept[kept_count++] = (struct kept){ key, r, snapshot };
	return 0;
}

void kept_descriptor_name(uint64_t key, char out[32])
{
	snprintf(out, 32, "s%016" PRIx64, key);
}

int kept_descriptor(uint64_t key)
{
	for (size_t i = 0; i < kept_count; i++)
		if (kept[i].snapshot >= 0 && kept[i].key == key)
			return kept[i].snapshot;
	return -1;
}

void kept_descriptor_taken(uint64_t key)
{
	for (size_t i = 0; i < kept_count; i++)
		if (kept[i].key == key)
			kept[i].snapshot = -1;
}

int kept_add(uint64_t key, struct region *r)
{
	for (size_t i = 0; i < kept_count; i++)
		if (kept[i].key == key && kept[i].region) {
			bool better = written(r) > written(kept[i].region);

			region_put(better ? kept[i].region : r);
			kept[i].region = better ? r : kept[i].region;
			return 0;
		}
	return kept_put(key, r, -1);
}

int kept_add_descriptor(uint64_t key, int fd)
{
	return kept_put(key, NULL, fd);
}

static void keep(void *arg, const char *name, int fd)
{
	struct tracer *t = arg;
	struct region *region;

	if (*name == 's') {
		if (kept_add_descriptor(strtoull(name + 1, NULL, 16), fd))
			close(fd);
	} else if (region_adopt(fd, &region)) {
		tracer_report(t, "the keeper held something that is no buffer: %s", name);
		close(fd);
	} else {
		/* Not what the header says, which applications can write. */
		region->key = strtoull(name, NULL, 16);
		if (kept_add(region->key, region))
			region_put(region);
	}
}

static void restore_region(struct restore *r, const char *line)
{
	uint64_t key;
	uint32_t channel, trace, ordinal, pid;
	struct region *region;
	struct channel *c;
	struct trace *t;
	struct stream_group *cl;
	struct buffer *b;

	if (sscanf(line, "%" SCNx64 " %u %u %u %u", &key, &channel, &trace, &ordinal, &pid) < 5)
		return;
	c = channel_by_id(r->s, channel);
	t = trace_by_index(r->s, trace);
	region = take_kept(key);
	if (!region) {
		r->s->buffers_lost++;
		session_failed(r->s, "a buffer of channel %s is lost, and what was in it", c ? c->name : "?");
	}
	cl = region && c && t ? group_get(c, t, true) : NULL;
	b = cl ? group_adopt(cl, region, ordinal, pid) : NULL;
	if (b)
		b->kept = true;
	else
		region_put(region);
}

static void restore_key(struct session *s, const char *line)
{
	long long v;
	char key[32];

	if (sscanf(line, "%31s %lld", key, &v) != 2)
		return;
	if (!strcmp(key, "uid"))
		quota_move(s, (uid_t)v);
	else if (!strcmp(key, "gid"))
		s->gid = (gid_t)v;
	else if (!strcmp(key, "mode"))
		s->mode = (mode_t)v & 0777;
	else if (!strcmp(key, "active"))
		s->active = v != 0;
	else if (!strcmp(key, "starts"))
		s->starts = (uint64_t)v;
	else if (!strcmp(key, "created"))
		s->created = v;
	else if (!strcmp(key, "started"))
		s->started = v;
	else if (!strcmp(key, "buffers_refused"))
		s->buffers_refused = (uint64_t)v;
	else if (!strcmp(key, "buffers_lost"))
		s->buffers_lost = (uint64_t)v;
	else if (!strcmp(key, "next_channel"))
		s->next_channel = (uint32_t)v;
	else if (!strcmp(key, "next_trace"))
		s->next_trace = (uint32_t)v;
	else if (!strcmp(key, "statedump"))
		s->statedump = (uint64_t)v;
	else if (!strcmp(key, "clock_offset"))
		s->clock_offset = (uint64_t)v;
}

static void restore_kernel(struct restore *r, const char *name)
{
	if (!r->channel)
		return;
	r->channel->kernel = true;
	free(r->channel->adopt);
	r->channel->adopt = strdup(name);
}

static bool restore_part(struct restore *r, const char *line)
{
	size_t len = strcspn(line, " ");
	char key[32];

	if (len >= sizeof(key) || !line[len])
		return false;
	memcpy(key, line, len);
	key[len] = 0;
	return session_restore_part(r->s, key, line + len + 1);
}

static void restore_line(struct restore *r, const char *line)
{
	if (!strncmp(line, "rule ", 5)) {
		md_buf_printf(&r->rules, "%s\n", line + 5);
		return;
	}
	if (!strncmp(line, "context ", 8)) {
		md_buf_printf(&r->contexts, "%s\n", line + 8);
		return;
	}
	if (!strncmp(line, "times ", 6)) {
		restore_times(r, line + 6);
		return;
	}
	if (!strncmp(line, "files ", 6)) {
		restore_files(r, line + 6);
		return;
	}
	if (!strncmp(line, "kernel ", 7)) {
		restore_kernel(r, line + 7);
		return;
	}
	finish_rules(r);
	if (!strncmp(line, "channel ", 8))
		restore_channel(r, line + 8);
	else if (!strncmp(line, "track ", 6))
		restore_track(r, line + 6);
	else if (!strncmp(line, "trace ", 6))
		restore_trace(r, line + 6);
	else if (!strncmp(line, "region ", 7))
		restore_region(r, line + 7);
	else if (!restore_part(r, line))
		restore_key(r->s, line);
}

int session_restore(struct tracer *t, const char *name)
{
	struct restore r = { .t = t };
	struct md_buf text = MD_BUF_INIT;
	char *line, *save = NULL;
	int dir, err;

	if (name_check(name, 200, NULL))
		return -EINVAL;
	dir = openat(t->sessions_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	err = dir < 0 ? -errno : state_file_read(dir, "session", SESSION_FILE_MAX, &text);
	if (dir >= 0)
		close(dir);
	if (!err && !(r.s = session_new(t, name, 0, 0)))
		err = -ENOMEM;
	if (!err) {
		md_buf_str(&text);
		for (line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			restore_line(&r, line);
		finish_rules(&r);
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

void kept_take(struct tracer *t)
{
	int err = t->keeper ? keeper_each(t->keeper, keep, t) : 0;

	if (err)
		tracer_report(t, "the keeper does not answer: %s", strerror(-err));
}

size_t kept_drop(struct tracer *t)
{
	size_t unclaimed = 0;
	char name[32];

	for (size_t i = 0; i < kept_count; i++) {
		if (!kept[i].region && kept[i].snapshot < 0)
			continue;
		unclaimed += kept[i].region != NULL;
		if (kept[i].region)
			snprintf(name, sizeof(name), "%016" PRIx64, kept[i].key);
		else
			kept_descriptor_name(kept[i].key, name);
		if (t->keeper)
			keeper_drop(t->keeper, name);
		region_put(kept[i].region);
		if (kept[i].snapshot >= 0)
			close(kept[i].snapshot);
	}
	free(kept);
	kept = NULL;
	kept_count = 0;
	return unclaimed;
}
