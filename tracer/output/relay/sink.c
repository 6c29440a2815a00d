/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/output/relay/relay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "tracer/base/timefmt.h"
#include "tracer/output/relay/internal.h"

#define MS UINT64_C(1000000)
#define RETRY_FIRST (200 * MS)  /* the pause after the first failure; it doubles with each */
#define RETRY_LAST (5000 * MS)
#define CLEAR_MS 400u   /* a relay without progress: the connection is given up for a clear */
#define END_MS 2000u    /* the same at the end of the session */

/* ---- the address ---- */

/* In the form that is shown, and can be written again. */
static char *print_url(const struct relay_url *u)
{
	const char *six = u->ipv6 ? "6" : "", *slash = u->path[0] ? "/" : "";
	const char *open = u->ipv6 ? "[" : "", *close = u->ipv6 ? "]" : "";
	char *text;
	int n;

	if (!strcmp(u->control.host, u->data.host))
		n = asprintf(&text, "net%s://%s%s%s:%u:%u%s%s", six, open, u->control.host, close,
			     u->control.port, u->data.port, slash, u->path);
	else
		n = asprintf(&text, "tcp%s://%s%s%s:%u%s%s tcp%s://%s%s%s:%u", six, open,
			     u->control.host, close, u->control.port, slash, u->path, six, open,
			     u->data.host, close, u->data.port);
	return n < 0 ? NULL : text;
}

bool relay_takes(const char *text)
{
	return relay_url_is(text);
}

int relay_address(const char *text, char **shown, struct tr_err *err)
{
	struct relay_url u;
	int ret = relay_url_parse(text, &u, err);

	*shown = ret ? NULL : print_url(&u);
	return ret || *shown ? ret : -ENOMEM;
}

static int sink_attach(struct output *o, const char *value, struct tr_err *err)
{
	struct relay *r = calloc(1, sizeof(*r));
	char *shown;
	int ret = r ? relay_url_parse(value, &r->url, err) : -ENOMEM;

	shown = ret ? NULL : print_url(&r->url);
	if (!shown) {
		free(r);
		return ret ? ret : -ENOMEM;
	}
	free(o->path);
	o->path = shown;
	o->net = r;
	r->output = o;
	link_init(&r->link);
	return 0;
}

/* Without a path, the directories on the relay have the names of their sessions. */
static bool sink_collides(const struct output *a, const struct output *b)
{
	return relay_of(a)->url.path[0] && !strcmp(a->path, b->path);
}

static void sink_detach(struct output *o)
{
	struct relay *r = relay_of(o);

	link_close(&r->link);
	relay_traces_free(r);
	free(r->copy);
	free(r);
	o->net = NULL;
}

/* ---- connecting ---- */

static bool quits(void *arg)
{
	struct output *o = ((struct relay *)arg)->output;
	bool quit;

	pthread_mutex_lock(&o->lock);
	quit = o->quit;
	pthread_mutex_unlock(&o->lock);
	return quit;
}

static bool is_requested(struct output *o, enum output_request what, uint64_t seen)
{
	bool waits;

	pthread_mutex_lock(&o->lock);
	seen = seen > o->done[what] ? seen : o->done[what];
	waits = o->asked[what] > seen;
	pthread_mutex_unlock(&o->lock);
	return waits;
}

bool relay_clear_waits(struct relay *r)
{
	return is_requested(r->output, OUTPUT_CLEAR, r->clears);
}

/*
 * A clear waits a moment, so that a wait between two packets ends first and the relay can delete
 * its chunk. A connection that is being made has nothing to delete.
 */
static uint32_t patience(void *arg)
{
	struct relay *r = arg;

	if (relay_clear_waits(r)) {
		if (!r->clear_since)
			r->clear_since = monotonic_now();
		if (r->link.begins)
			return 0;
		if (monotonic_now() - r->clear_since > CLEAR_MS * MS)
			return CLEAR_MS;
	}
	return is_requested(r->output, OUTPUT_FINISH, 0) ? END_MS : UINT32_MAX;
}

int relay_broken(struct relay *r, int err)
{
	struct output *o = r->output;

	link_close(&r->link);
	r->delay = !r->delay ? RETRY_FIRST : r->delay < RETRY_LAST / 2 ? 2 * r->delay : RETRY_LAST;
	r->retry = monotonic_now() + r->delay;
	r->error = err;
	pthread_mutex_lock(&o->lock);
	if (r->connected)
		r->shown.since = wall_clock();
	r->shown.connected = false;
	pthread_mutex_unlock(&o->lock);
	r->connected = false;
	return err;
}

/*
 * When the session was created, for the relay, which makes a directory with this time: later than
 * that of each connection before, so that no directory is used twice.
 */
static uint64_t next_time(struct output *o)
{
	uint64_t now = (uint64_t)(wall_clock() / 1000000000);

	now = now > o->head.relay_time ? now : o->head.relay_time + 1;
	o->head.relay_time = now;
	o->head.relay_attempts++;
	checkpoint_head_put(o->state, &o->head);
	return now;
}

static int create_session(struct output *o, char path[RELAY_PATH_MAX])
{
	struct relay *r = relay_of(o);
	struct relay_session_info info = { .name = o->s->name,
					   .host = o->s->tracer->hostname,
					   .path = r->url.path };
	char when[TIME_TEXT_MAX], own[sizeof(r->url.path) + TIME_TEXT_MAX];

	info.is_ctf2 = r->is_ctf2 = o->s->is_ctf2 && r->link.minor >= RELAY_MINOR_FORMAT;
	info.id = info.created = next_time(o);
	info.live_timer = (uint32_t)(o->live_period / 1000);
	time_print((int64_t)info.created * 1000000000, TIME_FORMAT_NAME, when);
	if (r->url.path[0] && (o->head.relay_attempts > 1 || o->head.relay_connections)) {
		snprintf(own, sizeof(own), "%s-%.15s", r->url.path, when);
		info.path = own;
	}
	if (getrandom(info.uuid, sizeof(info.uuid), 0) < 0)
		return -errno;
	info.uuid[0] |= 1;
	r->base[0] = 0;
	if (r->link.minor < RELAY_MINOR_CHUNKS && info.path[0])
		snprintf(r->base, sizeof(r->base), "%s/%s", info.host, info.path);
	else if (r->link.minor < RELAY_MINOR_CHUNKS)
		snprintf(r->base, sizeof(r->base), "%s/%s-%.15s", info.host, info.name, when);
	return relay_create_session(&r->link, &info, path);
}

/* The session, and its first chunk. */
static int set_up(struct output *o, char path[RELAY_PATH_MAX])
{
	struct relay *r = relay_of(o);
	int err = create_session(o, path);

	r->chunk = o->head.chunk;
	r->rotated = r->new_streams = false;
	err = err ? err : relay_allows_clear(&r->link, &r->may_clear);
	if (err || r->link.minor < RELAY_MINOR_CHUNKS)
		return err;
	relay_put_chunk(&r->link.out, r->chunk, (uint64_t)(wall_clock() / 1000000000), "");
	return relay_run(&r->link);
}

static int connect_relay(struct output *o)
{
	struct relay *r = relay_of(o);
	char path[RELAY_PATH_MAX];
	int err;

	r->link.quits = quits;
	r->link.patience = patience;
	r->link.replied = relay_replied;
	r->link.arg = r;
	r->link.begins = true;
	if (o->s->tracer->config.relay_timeout_ms)
		r->link.stall_ms = o->s->tracer->config.relay_timeout_ms;
	err = relay_open(&r->link, &r->url, RELAY_MINOR);
	err = err ? err : set_up(o, path);
	r->link.begins = false;
	if (err)
		return relay_broken(r, err);
	for (size_t i = 0; i < o->count; i++)
		relay_stream_reset(o->streams[i]);
	relay_traces_reset(r, true);
	o->head.relay_connections++;
	checkpoint_head_put(o->state, &o->head);
	r->connected = true;
	r->error = 0;
	pthread_mutex_lock(&o->lock);
	r->shown.connected = true;
	r->shown.since = wall_clock();
	r->shown.minor = r->link.minor;
	r->shown.connections = o->head.relay_connections;
	memcpy(r->shown.path, path[0] ? path : r->base, sizeof(r->shown.path));
	pthread_mutex_unlock(&o->lock);
	return 0;
}

/* ---- what output/ calls ---- */

int relay_streams_sent(struct relay *r)
{
	if (!r->new_streams)
		return 0;
	r->new_streams = false;
	relay_put_none(&r->link.out, RELAY_STREAMS_SENT);
	return relay_run(&r->link);
}

/* A ring is filling: room is worth more than CPU time. */
static bool is_late(const struct output *o)
{
	for (size_t i = 0; i < o->count; i++) {
		const struct region_geometry *g = &o->streams[i]->st.region->geo;

		if (stream_writer_pending(o->streams[i]) > g->subbuf_size * g->subbuf_count / 4)
			return true;
	}
	return false;
}

static int sink_begin(struct output *o)
{
	struct relay *r = relay_of(o);
	int err;

	r->link.prompt = is_late(o);
	err = r->connected ? link_poll(&r->link) : 0;

	if (err)
		return relay_broken(r, err);
	if (!r->connected)
		err = monotonic_now() < r->retry ? r->error : connect_relay(o);
	return err || !o->live_period ? err : relay_announce(o);
}

static int sink_restore(struct output *o, struct stream_writer *writer, bool new_slot)
{
	(void)o, (void)new_slot;
	relay_stream_restore(writer);
	return 0;
}

static int sink_end_pass(struct output *o, bool all)
{
	struct relay *r = relay_of(o);
	int err;

	if (!r->connected)
		return r->error;
	err = relay_streams_sent(r);
	if (err)
		return relay_broken(r, err);
	err = o->live_period ? relay_send_beacons(o) : 0;
	if (err)
		return err;
	return all ? relay_confirm(o) : relay_ask_all(o);
}

/* The relay gets all metadata again. */
static void sink_regenerate(struct output *o)
{
	struct relay *r = relay_of(o);
	int err = 0;

	if (!r->connected || r->link.minor < RELAY_MINOR_RESET)
		return;
	for (struct relay_trace *t = r->traces; t && !err; t = t->next) {
		if (!t->added)
			continue;
		relay_put_two(&r->link.out, RELAY_RESET_METADATA, t->id, ++t->resets);
		err = relay_run(&r->link);
	}
	relay_traces_reset(r, false);
	for (struct relay_trace *t = r->traces; t && !err; t = t->next)
		err = t->added ? relay_trace_ready(r, t) : 0;
	if (err)
		relay_broken(r, err);
}

static void sink_remove(struct output *o, struct stream_writer *writer)
{
	struct relay *r = relay_of(o);
	const struct relay_stream *net = writer->net;
	int err = 0;

	/*
	 * No outstanding reply may name it. A writer that must end says no more to the
	 * relay, so it closes the connection.
	 */
	if (r->connected && net->added) {
		if (!quits(r))
			relay_put_two(&r->link.out, RELAY_CLOSE_STREAM, net->id, net->number - 1);
		err = quits(r) ? -ECANCELED : relay_run(&r->link);
	}
	if (err)
		relay_broken(r, err);
	relay_stream_free(writer);
}

const struct output_sink relay_sink = {
	.takes = relay_takes, .attach = sink_attach, .collides = sink_collides,
	.detach = sink_detach, .begin = sink_begin,
	.add = relay_stream_create, .restore = sink_restore, .write = relay_stream_write,
	.end_pass = sink_end_pass, .regenerate = sink_regenerate, .rotate = relay_rotate,
	.clear = relay_clear, .finish = relay_end, .remove = sink_remove,
	.show = relay_status, .explain = relay_explain, .trouble = relay_trouble,
};
