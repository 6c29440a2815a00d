// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a session into the state directory, so that a daemon that starts after a crash finds it
 * again (restore.c reads it). The session has a directory there:
 *
 *	sessions/NAME/session           the file below, written whole at each change
 *	sessions/NAME/events-N          the event log of trace N (event_log.c)
 *
 * The keeper holds the buffers, under the keys that the `region` lines name. The file has first one
 * line `KEY VALUE` for each row of session_keys below, then:
 *
 *	set NAME VALUE                  a setting (base/setting.h)
 *	groups [GID …]                  of the process that made it
 *	track ATTRIBUTE [*] [ID …]      an inclusion set
 *	channel_id ID STARTED MODE NAME
 *	set NAME VALUE                  a setting of the channel above, as the next four
 *	picks [FIELD …]                 only these are recorded
 *	kernel NAME                     the channel is of the kernel domain; -: it was never started
 *	context NAME
 *	rule RULE
 *	trace INDEX UID PID CREATED UUID COMM
 *	region KEY CHANNEL TRACE ORDINAL PID
 *	KEY VALUE                       of a part (session/part.h)
 *
 * Lines of earlier versions are in the tables former_lines, here of sessions, there of channels.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "tracer/session/event_log.h"
#include "tracer/session/session.h"

/* The lines `KEY VALUE` of the session itself. */
enum key_type { KEY_UID, KEY_GID, KEY_MODE, KEY_FLAG, KEY_U32, KEY_U64, KEY_S64 };

static const struct session_key {
	const char *name;
	enum key_type type;
	size_t offset;                  /* of the member in struct session */
} session_keys[] = {
	{ "uid", KEY_UID, offsetof(struct session, uid) },
	{ "gid", KEY_GID, offsetof(struct session, gid) },
	{ "mode", KEY_MODE, offsetof(struct session, mode) },
	{ "active", KEY_FLAG, offsetof(struct session, active) },
	{ "starts", KEY_U64, offsetof(struct session, starts) },
	{ "clears", KEY_U64, offsetof(struct session, clears) },
	{ "created", KEY_S64, offsetof(struct session, created) },
	{ "started", KEY_S64, offsetof(struct session, started) },
	{ "next_channel", KEY_U32, offsetof(struct session, next_channel) },
	{ "next_trace", KEY_U32, offsetof(struct session, next_trace) },
	{ "statedump", KEY_U64, offsetof(struct session, statedump) },
	{ "clock_offset", KEY_U64, offsetof(struct session, clock_offset) },
	{ "buffers_refused", KEY_U64, offsetof(struct session, buffers_refused) },
	{ "buffers_lost", KEY_U64, offsetof(struct session, buffers_lost) },
};

static void save_keys(const struct session *s, struct md_buf *out)
{
	for (size_t i = 0; i < sizeof(session_keys) / sizeof(*session_keys); i++) {
		const struct session_key *k = &session_keys[i];
		const void *member = (const char *)s + k->offset;

		if (k->type == KEY_FLAG)
			md_buf_printf(out, "%s %d\n", k->name, *(const bool *)member);
		else if (k->type == KEY_U64)
			md_buf_printf(out, "%s %" PRIu64 "\n", k->name, *(const uint64_t *)member);
		else if (k->type == KEY_S64)
			md_buf_printf(out, "%s %" PRId64 "\n", k->name, *(const int64_t *)member);
		else    /* uid_t, gid_t and mode_t have 32 bits, too */
			md_buf_printf(out, "%s %" PRIu32 "\n", k->name, *(const uint32_t *)member);
	}
}

static void restore_member(struct session *s, const struct session_key *k, long long v)
{
	void *member = (char *)s + k->offset;

	switch (k->type) {
	case KEY_UID:
		quota_move(s, (uid_t)v);        /* sets s->uid */
		break;
	case KEY_MODE:
		s->mode = (mode_t)v & 0777;
		break;
	case KEY_FLAG:
		*(bool *)member = v != 0;
		break;
	case KEY_GID:
	case KEY_U32:
		*(uint32_t *)member = (uint32_t)v;
		break;
	case KEY_U64:
		*(uint64_t *)member = (uint64_t)v;
		break;
	case KEY_S64:
		*(int64_t *)member = v;
		break;
	}
}

/* Numbers, of versions before `set` */
static const struct former_line former_lines[] = {
	{ "clock_is_tai", { "clock" } },
	{ "is_ctf2", { "ctf_version" } },
	{ "in_packets", { "metadata" } },
	{ "checksum", { "checksum" } },
	{ "compression", { "compress" } },
	{ "live", { "live_period" } },
	{ "rotate", { "rotate_size", "rotate_period" } },
	{ "snapshot_max_size", { "snapshot_max_size" } },
	{ 0 }
};

void session_restore_key(struct session *s, const char *key, const char *value)
{
	long long v;

	if (settings_restore_former(former_lines, s->tracer->settings, s, key, value))
		return;
	if (!strcmp(key, "clock_is_plugin") && !strcmp(value, "1"))
		s->times = TIMES_PLUGIN;
	if (sscanf(value, "%lld", &v) != 1)
		return;
	for (size_t i = 0; i < sizeof(session_keys) / sizeof(*session_keys); i++)
		if (!strcmp(key, session_keys[i].name))
			restore_member(s, &session_keys[i], v);
}

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

static void save_picks(const struct channel *c, struct md_buf *out)
{
	if (!c->picks)
		return;
	md_buf_puts(out, "picks");
	for (const char *at = c->picks; *at; at += strlen(at) + 1)
		md_buf_printf(out, " %s", at);
	md_buf_puts(out, *c->picks ? "\n" : " \n");
}

static void save_channel(const struct channel *c, struct md_buf *out)
{
	struct md_buf rules = MD_BUF_INIT, contexts = MD_BUF_INIT;

	md_buf_printf(out, "channel_id %u %d %d %s\n", c->id, c->started, (int)c->mode, c->name);
	settings_save(channel_settings, c, out);
	save_picks(c, out);
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
		/* Older versions do not know these. */
		if (i >= TRACK_IDS && !s->track[i].some)
			continue;
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
	save_traces(t->next, out);      /* the list has the newest first, the file the oldest */
	uuid_unparse_lower(t->md->uuid, uuid);
	md_buf_printf(out, "%s %u %u %u %" PRId64 " %s %s\n",
		      t->word_bits == 32 ? "trace32" : "trace", t->index, t->uid, t->pid,
		      t->created, uuid, t->comm);
}

/* With the geometry, since applications can write over that in the region. */
static void save_region(const struct buffer *b, uint32_t channel, uint32_t trace,
			struct md_buf *out)
{
	const struct region_geometry *g = &b->region->geo;

	md_buf_printf(out, "region %016" PRIx64 " %u %u %u %u", b->region->key, channel, trace,
		      b->ordinal, b->pid);
	md_buf_printf(out, " %u %u %u %u %" PRIu64 " %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		      (unsigned int)g->mode, (unsigned int)g->kind, g->ring_count, g->subbuf_count,
		      g->subbuf_size, g->switch_count, g->clock_mult, g->clock_base,
		      b->region->created);
}

static void save_regions(const struct channel *c, struct md_buf *out)
{
	struct stream_group *group;
	struct buffer *b;

	for_each_channel_buffer(c, group, b)
		save_region(b, c->id, group->trace->index, out);
}

static int open_dir(struct session *s, bool create)
{
	int fd;

	if (create && mkdirat(s->tracer->sessions_fd, s->name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(s->tracer->sessions_fd, s->name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Of the calling thread */
static __thread uint64_t write_now;

void session_write_begin(uint64_t request)
{
	write_now = request;
}

uint64_t session_write_end(void)
{
	uint64_t request = write_now;

	write_now = 0;
	return request;
}

uint64_t session_write_number(void)
{
	return write_now;
}

bool session_write_done(struct session *s, uint64_t request)
{
	bool done;

	pthread_mutex_lock(&s->tracer->lock);
	done = requests_have(&s->requests, request);
	pthread_mutex_unlock(&s->tracer->lock);
	return done;
}

int session_save(struct session *s)
{
	struct md_buf out = MD_BUF_INIT;
	struct channel *c;
	int dir, err;

	if (s->gone || s->draft || (s->hidden && !s->survives))
		return 0;
	/* The file gets the effect of the write and its number at once. */
	requests_add(&s->requests, write_now);
	save_keys(s, &out);
	settings_save(s->tracer->settings, s, &out);
	owner_groups_print(&s->groups, &out);
	save_tracks(s, &out);
	requests_print(&s->requests, &out);
	cds_list_for_each_entry(c, &s->channels, node)
		save_channel(c, &out);
	save_traces(s->traces, &out);
	cds_list_for_each_entry(c, &s->channels, node)
		save_regions(c, &out);
	session_save_parts(s, &out);
	dir = open_dir(s, true);
	err = dir < 0      ? dir
	      : out.failed ? -ENOMEM
			   : state_file_write(dir, "session", out.data, out.len);
	if (dir >= 0)
		close(dir);
	md_buf_deinit(&out);
	if (err && err != s->save_error)
		tracer_report(s->tracer, "session %s cannot be saved: %s", s->name, strerror(-err));
	if (err)
		__atomic_store_n(&s->tracer->save_pending, true, __ATOMIC_RELAXED);
	__atomic_store_n(&s->save_error, err, __ATOMIC_RELAXED);
	return err;
}

bool sessions_save_again(struct tracer *t)
{
	struct session *s;
	bool saved = true;

	if (!__atomic_load_n(&t->save_pending, __ATOMIC_RELAXED))
		return true;
	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(s, &t->sessions, node)
		saved = (!s->save_error || !session_save(s)) && saved;
	__atomic_store_n(&t->save_pending, !saved, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&t->lock);
	return saved;
}

void session_save_status(const struct session *s, struct facts *out)
{
	int err = __atomic_load_n(&s->save_error, __ATOMIC_RELAXED);

	if (err)
		fact_text(out, "unsaved", "%s", strerror(-err));
}

void session_save_trouble(const struct session *s, struct md_buf *out)
{
	int err = __atomic_load_n(&s->save_error, __ATOMIC_RELAXED);

	if (err)
		md_buf_printf(out,
			      "the session cannot be saved in the state directory: %s: if the "
			      "daemon is killed, the next one does not know the last changes\n",
			      strerror(-err));
}

void session_unlist_on_disk(struct session *s)
{
	char path[256];

	/*
	 * By its path: the removal of a directory needs a descriptor, and the process may have none
	 * left.
	 */
	snprintf(path, sizeof(path), "%s/session", s->name);
	unlinkat(s->tracer->sessions_fd, path, 0);
}

void session_forget_on_disk(struct session *s)
{
	int err = state_file_remove(s->tracer->sessions_fd, s->name);

	/* A hidden session has a directory once an application has one of its events. */
	if (err && err != -ENOENT)
		tracer_report(s->tracer,
			      "session %s cannot be removed from the state directory: %s", s->name,
			      strerror(-err));
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
		t->log_fd = openat(dir, name,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		err = t->log_fd < 0 ? -errno : 0;
	}
	close(dir);
	return err;
}
