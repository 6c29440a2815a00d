// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions: life, control verbs, status, and what the views ask of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tracer/core.h"
#include "tracer/kernel.h"
#include "tracer/nearest.h"
#include "tracer/reader.h"

#define SESSION_NAME_MAX 200

struct session *session_find(struct tracer *t, const char *name)
{
	struct session *s;

	cds_list_for_each_entry(s, &t->sessions, node)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

struct session *session_new(struct tracer *t, const char *name, uid_t uid, gid_t gid)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->refs = 1;            /* the list's */
	s->tracer = t;
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->uid = uid;
	s->gid = gid;
	s->mode = 0700;
	s->created = wall_clock();
	CDS_INIT_LIST_HEAD(&s->channels);
	cds_list_add_tail(&s->node, &t->sessions);
	t->session_count++;
	return s;
}

struct session *session_ref(struct session *s)
{
	__atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void session_put(struct session *s)
{
	/* Release and acquire: the last one frees what all have finished with. */
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
		return;
	text_engine_destroy(s->text);
	for (int i = 0; i < TRACK_ATTRS; i++)
		track_deinit(&s->track[i]);
	while (s->traces) {
		struct trace *t = s->traces;

		s->traces = t->next;
		trace_put(t);
	}
	free(s);
}

struct session *session_get(struct tracer *t, const char *name)
{
	struct session *s;

	pthread_mutex_lock(&t->lock);
	s = session_find(t, name);
	if (s)
		session_ref(s);
	pthread_mutex_unlock(&t->lock);
	return s;
}

void session_changed(struct session *s)
{
	s->change++;
	tracer_changed(s->tracer, s->name);
}

bool session_serves(const struct session *s, uid_t uid)
{
	return s->active && !s->gone && (s->uid == 0 || s->uid == uid);
}

bool session_tracks(const struct session *s, uint32_t pid, uid_t uid, gid_t gid)
{
	return track_has(&s->track[TRACK_VPID], pid) && track_has(&s->track[TRACK_VUID], uid) &&
	       track_has(&s->track[TRACK_VGID], gid);
}

bool session_wants(const struct session *s, const struct app *a)
{
	return session_serves(s, a->file->uid) && session_tracks(s, a->file->pid, a->file->uid, a->gid);
}

/* The file that tells applications that begin while a session is active to ask at their first hit. */
static void mark_active(struct tracer *t)
{
	struct session *s;
	bool active = false;
	int fd;

	cds_list_for_each_entry(s, &t->sessions, node)
		active = active || s->active;
	if (!active) {
		unlinkat(t->state_fd, "active", 0);
		return;
	}
	fd = openat(t->state_fd, "active", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
}

/*
 * State words first: from then on each hit asks, and waits for the lock. Then the switch bytes, so that hits which are past
 * their words find that what they know is old, and the barrier for those that are past the bytes.
 */
void session_apply(struct session *s)
{
	struct region *regions[256];
	struct channel *c;
	struct class *cl;
	struct buffer *b;
	struct app *a;
	size_t n = 0;

	mark_active(s->tracer);
	cds_list_for_each_entry(a, &s->tracer->apps, node)
		app_apply(s->tracer, a, false);
	cds_list_for_each_entry(c, &s->channels, node)
		cds_list_for_each_entry(cl, &c->classes, node) {
			if (c->kernel || !class_switch(cl))
				continue;
			/* Regions of CPU rings need one visit in all, those of thread rings one each. */
			cds_list_for_each_entry(b, &cl->buffers, node) {
				if (n == 256) {
					barrier(regions, n);
					n = 0;
				}
				regions[n++] = b->region;
			}
		}
	if (n)
		barrier(regions, n);
	cds_list_for_each_entry(c, &s->channels, node)
		kchannel_apply(c);
}

void session_drop(struct session *s)
{
	struct channel *c, *next;

	s->gone = true;
	s->active = false;
	session_apply(s);
	cds_list_for_each_entry_safe(c, next, &s->channels, node)
		channel_drop(c);
	/* Views may hold on to the traces; nothing is added to them any more. */
	for (struct trace *t = s->traces; t; t = t->next) {
		if (t->log_fd >= 0)
			close(t->log_fd);
		t->log_fd = -1;
	}
	cds_list_del(&s->node);
	s->tracer->session_count--;
}

int session_create(struct tracer *t, const char *name, uid_t uid, gid_t gid, struct tr_err *err)
{
	struct session *s;
	int ret = name_check(name, SESSION_NAME_MAX, err);

	if (ret)
		return ret;
	pthread_mutex_lock(&t->lock);
	if (session_find(t, name))
		ret = tr_fail(err, -EEXIST, "there is a session '%s' already", name);
	else if (t->config.max_sessions && t->session_count >= t->config.max_sessions)
		ret = tr_fail(err, -ENOSPC, "no more than %u sessions", t->config.max_sessions);
	else if (!(s = session_new(t, name, uid, gid)))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	else if ((ret = session_save(s))) {
		tr_fail(err, ret, "the state directory cannot be written");
		session_drop(s);
		session_put(s);
	} else {
		tracer_changed(t, NULL);
	}
	pthread_mutex_unlock(&t->lock);
	return ret;
}

int session_destroy(struct tracer *t, const char *name, struct tr_err *err)
{
	struct session *s;
	int ret = 0;

	pthread_mutex_lock(&t->lock);
	s = session_find(t, name);
	if (s) {
		session_drop(s);
		session_unsave(s);
		session_changed(s);
		tracer_changed(t, NULL);
	} else {
		ret = tr_fail(err, -ENOENT, "no session '%s'", name);
	}
	pthread_mutex_unlock(&t->lock);
	kernel_bury(t);
	session_put(s);
	return ret;
}

void sessions_list(struct tracer *t, struct md_buf *names)
{
	struct session *s;

	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(s, &t->sessions, node)
		md_buf_put(names, s->name, strlen(s->name) + 1);
	pthread_mutex_unlock(&t->lock);
}

void session_info(struct session *s, struct session_info *info)
{
	pthread_mutex_lock(&s->tracer->lock);
	*info = (struct session_info){
		.uid = s->uid, .gid = s->gid, .mode = s->mode, .active = s->active, .gone = s->gone, .starts = s->starts,
		.change = s->change, .created = s->created,
	};
	pthread_mutex_unlock(&s->tracer->lock);
}

static int set_rights(struct session *s, mode_t mode, uid_t uid, gid_t gid)
{
	struct channel *c;
	int ret = 0;

	pthread_mutex_lock(&s->tracer->lock);
	if (s->gone) {
		ret = -ENOENT;
	} else {
		s->mode = mode == (mode_t)-1 ? s->mode : mode & 0777;
		s->uid = uid == (uid_t)-1 ? s->uid : uid;
		s->gid = gid == (gid_t)-1 ? s->gid : gid;
		if (uid != (uid_t)-1) {
			/* Whose events it was for, and is not any more, must ask again to find out. */
			cds_list_for_each_entry(c, &s->channels, node)
				c->epoch++;
			session_apply(s);
		}
		session_save(s);
		session_changed(s);
	}
	pthread_mutex_unlock(&s->tracer->lock);
	return ret;
}

int session_chmod(struct session *s, mode_t mode)
{
	return set_rights(s, mode, (uid_t)-1, (gid_t)-1);
}

int session_chown(struct session *s, uid_t uid, gid_t gid)
{
	return set_rights(s, (mode_t)-1, uid, gid);
}

/* ---- control ---- */

/* A number that no session had before, not even one of an earlier daemon. */
static void request_statedump(struct session *s)
{
	uint64_t now = (uint64_t)wall_clock(), *last = &s->tracer->last_statedump;

	*last = now > *last ? now : *last + 1;
	s->statedump = *last;
}

static int verb_start(struct session *s, struct tr_err *err)
{
	struct channel *c;
	int ret = 0;

	if (s->active)
		return tr_fail(err, -EBUSY, "the session is active already");
	if (cds_list_empty(&s->channels))
		return tr_fail(err, -EINVAL, "nothing to record: write an event rule to user/events first");
	cds_list_for_each_entry(c, &s->channels, node)
		if (!ret && (!c->kernel || s->tracer->kernel))
			ret = channel_start(c, err);
	if (ret)
		return ret;
	s->active = true;
	if (!s->starts++)
		text_engine_reset(s->text);
	s->started = wall_clock();
	request_statedump(s);
	session_apply(s);
	return 0;
}

static int verb_statedump(struct session *s, struct tr_err *err)
{
	struct app *a;

	if (!s->active)
		return tr_fail(err, -EBUSY, "the session is not active; its start asks for a state dump");
	request_statedump(s);
	cds_list_for_each_entry(a, &s->tracer->apps, node)
		if (session_wants(s, a))
			app_apply(s->tracer, a, true);
	return 0;
}

static int verb_stop(struct session *s, struct tr_err *err)
{
	if (!s->active)
		return tr_fail(err, -EBUSY, "the session is not active");
	apps_reap(s->tracer);
	s->active = false;
	session_apply(s);
	return 0;
}

/* What was recorded so far goes; what is in flight is let through first, so that it cannot turn up afterwards. */
static int verb_clear(struct session *s, struct tr_err *err)
{
	struct stream stream = { 0 };
	struct ring_mark mark;
	struct channel *c;
	struct class *cl;
	struct buffer *b;

	(void)err;
	cds_list_for_each_entry(c, &s->channels, node)
		cds_list_for_each_entry(cl, &c->classes, node)
			cds_list_for_each_entry(b, &cl->buffers, node) {
				barrier(&b->region, 1);
				for (uint32_t i = 0; i < b->region->geo.ring_count; i++) {
					struct trail_ring *ring = region_ring(b->region, i);

					stream.region = b->region;
					stream.ring = i;
					ring_mark(&stream, &mark);
					ring->cleared_events = mark.events;
					ring->cleared_lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);
					ring->cleared_ts = mark.last_ts;
					__atomic_store_n(&ring->source_overwritten, 0, __ATOMIC_RELAXED);
					/* Pairs with the writers' acquire load before they use a sub-buffer again. */
					__atomic_store_n(&ring->consumed, mark.head, __ATOMIC_RELEASE);
				}
			}
	text_engine_reset(s->text);
	return 0;
}

static const struct verb {
	const char *name;
	int (*run)(struct session *s, struct tr_err *err);
	bool when_active, when_inactive;
} verbs[] = {
	{ "start", verb_start, false, true },
	{ "stop", verb_stop, true, false },
	{ "clear", verb_clear, true, true },
	{ "regenerate statedump", verb_statedump, true, false },
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

void session_verbs(struct session *s, struct md_buf *out)
{
	pthread_mutex_lock(&s->tracer->lock);
	for (size_t i = 0; i < VERBS; i++)
		if (s->active ? verbs[i].when_active : verbs[i].when_inactive)
			md_buf_printf(out, "%s\n", verbs[i].name);
	pthread_mutex_unlock(&s->tracer->lock);
}

static int no_verb(const char *line, size_t len, size_t from, const char *words, size_t n, struct tr_err *err)
{
	const char *names[VERBS], *near;
	char text[128];

	for (size_t i = 0; i < VERBS; i++)
		names[i] = verbs[i].name;
	near = nearest(words, n, names, VERBS);
	snprintf(text, sizeof(text), "%.*s", (int)(len < 100 ? len : 100), line);
	if (near)
		return tr_fail_at(err, -EINVAL, text, (int)(from < 100 ? from : 100), "not a verb; did you mean '%s'?", near);
	return tr_fail_at(err, -EINVAL, text, (int)(from < 100 ? from : 100),
			  "not a verb: start, stop, clear and regenerate statedump are");
}

/* One line of a write: its verb, NULL for an empty line or a comment. *next is where the next line begins. */
static int parse_verb(const char *line, const struct verb **verb, const char **next, struct tr_err *err)
{
	size_t len = strcspn(line, "\n"), from = strspn(line, " \t\r"), n = 0;
	char words[64] = "";

	*next = line + len + (line[len] == '\n');
	*verb = NULL;
	if (from >= len || line[0] == '#')
		return 0;
	/* With one blank between words and none behind them. */
	for (size_t i = from; i < len && n + 2 < sizeof(words); i++) {
		bool blank = strchr(" \t\r", line[i]) != NULL;

		if (!blank && i > from && strchr(" \t\r", line[i - 1]))
			words[n++] = ' ';
		if (!blank)
			words[n++] = line[i];
	}
	for (size_t i = 0; i < VERBS && !*verb; i++)
		if (strlen(verbs[i].name) == n && !memcmp(verbs[i].name, words, n))
			*verb = &verbs[i];
	return *verb ? 0 : no_verb(line, len, from, words, n, err);
}

/* The kernel's events of until now, into the rings; for that the lock is let go. */
static int drain_before(struct session *s, struct tr_err *err)
{
	pthread_mutex_unlock(&s->tracer->lock);
	kernel_drain(s);
	pthread_mutex_lock(&s->tracer->lock);
	return s->gone ? tr_fail(err, -ENOENT, "the session is gone") : 0;
}

int session_control(struct session *s, const char *text, struct tr_err *err)
{
	const struct verb *verb;
	const char *at, *next;
	int ret = 0, line = 0;
	bool stopped;

	for (at = text; *at && !ret; at = next) {
		line++;
		ret = parse_verb(at, &verb, &next, err);
	}
	if (!ret) {
		pthread_mutex_lock(&s->tracer->lock);
		line = 0;
		if (s->gone)
			ret = tr_fail(err, -ENOENT, "the session is gone");
		for (at = text; *at && !ret; at = next) {
			line++;
			parse_verb(at, &verb, &next, NULL);
			if (verb && verb->run == verb_clear)
				ret = drain_before(s, err);
			if (verb && !ret)
				ret = verb->run(s, err);
			if (verb && !ret) {
				session_save(s);
				session_changed(s);
			}
		}
		stopped = !s->active;
		pthread_mutex_unlock(&s->tracer->lock);
		if (stopped)
			kernel_drain(s);
		buffers_keep(s->tracer);
	}
	if (ret && err)
		err->line = line;
	return ret;
}

void session_status(struct session *s, struct md_buf *out)
{
	struct ring_counts sum = { 0 }, c;
	struct stream_set set = { 0 };
	char started[40] = "never";
	struct tm tm;

	kernel_drain(s);
	if (session_streams(s, NULL, &set) == 0)
		for (size_t i = 0; i < set.count; i++) {
			ring_counts(&set.streams[i], &c);
			sum.recorded += c.recorded;
			sum.discarded += c.discarded;
			sum.overwritten += c.overwritten;
			sum.bytes += c.bytes;
		}
	pthread_mutex_lock(&s->tracer->lock);
	if (s->started) {
		time_t sec = (time_t)(s->started / 1000000000);

		if (localtime_r(&sec, &tm))
			strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%S%z", &tm);
	}
	md_buf_printf(out, "state %s\nowner %u\nstarted %s\nevents_recorded %" PRIu64 "\nevents_discarded %" PRIu64
		      "\nevents_overwritten %" PRIu64 "\nbytes %" PRIu64 "\nstreams %zu\n",
		      s->gone ? "gone" : s->active ? "active" : "inactive", s->uid, started, sum.recorded, sum.discarded,
		      sum.overwritten, sum.bytes, set.count);
	pthread_mutex_unlock(&s->tracer->lock);
	stream_set_deinit(&set);
}

/* ---- streams, and what else the views ask ---- */

static bool used(const struct region *r, uint32_t ring)
{
	return region_head(r, ring) || __atomic_load_n(&region_ring(r, ring)->lost, __ATOMIC_RELAXED);
}

static int add_stream(struct stream_set *set, const struct class *cl, const struct buffer *b, uint32_t ring)
{
	struct stream *st;

	if ((set->count & (set->count - 1)) == 0) {
		size_t room = set->count ? 2 * set->count : 1;

		st = realloc(set->streams, room * sizeof(*st));
		if (!st)
			return -ENOMEM;
		set->streams = st;
	}
	st = &set->streams[set->count++];
	*st = (struct stream){
		.trace = trace_get(cl->trace), .region = region_get(b->region), .ring = ring, .class = cl->stream,
		.instance_id = b->ordinal ? (uint64_t)b->ordinal << 16 | ring : ring, .cpu = b->ordinal ? 0 : ring,
	};
	snprintf(st->channel, sizeof(st->channel), "%s", cl->channel->name);
	if (!b->ordinal) {
		snprintf(st->name, sizeof(st->name), "cpu%u", ring);
		snprintf(st->file, sizeof(st->file), "%s_%u", st->channel, ring);
	} else {
		snprintf(st->name, sizeof(st->name), b->pid ? "thread-%u-%u" : "log", b->pid, ring);
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

int session_streams(struct session *s, const char *channel, struct stream_set *out)
{
	struct channel *c;
	struct class *cl;
	struct buffer *b;
	int ret = 0;

	*out = (struct stream_set){ 0 };
	pthread_mutex_lock(&s->tracer->lock);
	cds_list_for_each_entry(c, &s->channels, node) {
		if (channel && strcmp(c->name, channel) != 0)
			continue;
		cds_list_for_each_entry(cl, &c->classes, node)
			cds_list_for_each_entry(b, &cl->buffers, node)
				for (uint32_t i = 0; i < b->region->geo.ring_count && !ret; i++)
					if (used(b->region, i))
						ret = add_stream(out, cl, b, i);
	}
	pthread_mutex_unlock(&s->tracer->lock);
	if (ret)
		stream_set_deinit(out);
	else if (out->count)
		qsort(out->streams, out->count, sizeof(*out->streams), compare);
	return ret;
}

/* All regions of a session, referenced: so that the barrier can be passed without the lock. */
static size_t session_regions(struct session *s, struct region ***out)
{
	struct channel *c;
	struct class *cl;
	struct buffer *b;
	size_t n = 0;

	*out = NULL;
	pthread_mutex_lock(&s->tracer->lock);
	cds_list_for_each_entry(c, &s->channels, node)
		cds_list_for_each_entry(cl, &c->classes, node)
			cds_list_for_each_entry(b, &cl->buffers, node)
				n++;
	*out = n ? malloc(n * sizeof(**out)) : NULL;
	n = 0;
	cds_list_for_each_entry(c, &s->channels, node)
		cds_list_for_each_entry(cl, &c->classes, node)
			cds_list_for_each_entry(b, &cl->buffers, node)
				if (*out)
					(*out)[n++] = region_get(b->region);
	pthread_mutex_unlock(&s->tracer->lock);
	return n;
}

static bool session_records_kernel(struct session *s)
{
	struct channel *c;
	bool some = false;

	pthread_mutex_lock(&s->tracer->lock);
	cds_list_for_each_entry(c, &s->channels, node)
		some = some || (c->kchannel && c->kchannel->recording);
	pthread_mutex_unlock(&s->tracer->lock);
	return some;
}

int session_look(struct session *s, const char *channel, struct stream_set *out, uint64_t *now)
{
	struct region **regions;
	size_t n;

	/*
	 * In this order: what is older than now is in a region that exists by then, and in its ring after the barrier. Less one,
	 * because an event of this very nanosecond may still come.
	 */
	*now = clock_now(&s->tracer->clock) - 1;
	n = session_regions(s, &regions);
	barrier(regions, n);
	while (n)
		region_put(regions[--n]);
	free(regions);
	if (session_records_kernel(s))
		barrier_cpus();
	kernel_drain(s);
	return session_streams(s, channel, out);
}

struct text_engine **session_text(struct session *s)
{
	return &s->text;
}

const struct clock *session_clock(struct session *s)
{
	return &s->tracer->clock;
}

int session_frozen(struct session *s, int64_t bytes)
{
	struct tracer *t = s->tracer;
	int64_t sum = __atomic_add_fetch(&t->frozen, bytes, __ATOMIC_RELAXED);

	if (bytes <= 0 || !t->config.max_frozen || sum <= (int64_t)t->config.max_frozen)
		return 0;
	__atomic_fetch_sub(&t->frozen, bytes, __ATOMIC_RELAXED);
	return -EDQUOT;
}
