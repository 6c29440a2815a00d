/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A finished trace, sent over a connection of its own: a session with the snapshot flag, whose
 * packets have no indexes, in a chunk that has the snapshot's name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "tracer/base/timefmt.h"
#include "tracer/output/relay/internal.h"

#define BEGIN_NS (5 * UINT64_C(1000000000))     /* until the relay has made the session */
#define SENDER_STALL_MS 10000u
#define PENDING_PAUSE_MS 2

struct sent_stream {
	uint64_t id;                    /* on the relay */
	uint64_t packets;
};

struct relay_sender {
	struct relay_link link;
	const struct relay_delivery *delivery;
	uint64_t begin_until;           /* ns; 0: the session is made */
	char path[RELAY_PATH_MAX];      /* of the snapshot on the relay */
	char base[RELAY_PATH_MAX];      /* before 2.11: what each stream's path begins with */
	struct sent_stream *streams;
	size_t count;
};

static bool sender_quits(void *arg)
{
	const struct relay_sender *s = arg;

	return (s->begin_until && monotonic_now() > s->begin_until) ||
	       s->delivery->quits(s->delivery->arg);
}

/* Every reply is read by a call: none is outstanding. */
static int no_reply(void *arg, const struct relay_wait *w, uint32_t code)
{
	(void)arg, (void)w, (void)code;
	return -EPROTO;
}

/* ---- the session on the relay ---- */

static int make_session(struct relay_sender *s, const struct relay_url *url)
{
	const struct relay_delivery *d = s->delivery;
	uint64_t now = (uint64_t)(wall_clock() / 1000000000);
	struct relay_session_info info = {
		.name = d->session, .host = d->host, .path = url->path, .snapshot = true,
		.is_ctf2 = d->is_ctf2,
		.id = now, .created = (uint64_t)(d->created / 1000000000),
	};
	bool chunks = s->link.minor >= RELAY_MINOR_CHUNKS;
	char dir[RELAY_PATH_MAX], when[TIME_TEXT_MAX];
	int err, n;

	time_print((int64_t)info.created * 1000000000, TIME_FORMAT_NAME, when);
	if (getrandom(info.uuid, sizeof(info.uuid), 0) < 0)
		return -errno;
	info.uuid[0] |= 1;
	err = relay_create_session(&s->link, &info, dir);
	if (err)
		return err;
	if (!chunks && url->path[0])
		snprintf(dir, sizeof(dir), "%s/%s", d->host, url->path);
	else if (!chunks)
		snprintf(dir, sizeof(dir), "%s/%s-%.15s", d->host, d->session, when);
	n = snprintf(s->path, sizeof(s->path), "%s/%s", dir, d->name);
	if (n < 0 || (size_t)n >= sizeof(s->path))
		return -ENAMETOOLONG;
	if (!chunks) {
		memcpy(s->base, s->path, sizeof(s->base));
		return 0;
	}
	relay_put_chunk(&s->link.out, 0, now, d->name);
	return relay_run(&s->link);
}

int relay_sender_open(const struct relay_delivery *d, struct relay_sender **out)
{
	struct relay_sender *s = calloc(1, sizeof(*s));
	struct relay_url url;
	int err = s ? relay_url_parse(d->url, &url, NULL) : -ENOMEM;

	if (err) {
		free(s);
		return err;
	}
	link_init(&s->link);
	s->delivery = d;
	s->begin_until = monotonic_now() + BEGIN_NS;
	s->link.stall_ms = SENDER_STALL_MS;
	s->link.quits = sender_quits;
	s->link.replied = no_reply;
	s->link.arg = s;
	err = relay_open(&s->link, &url, RELAY_MINOR);
	err = err ? err : make_session(s, &url);
	/* sender_quits ends the set-up for two reasons: its time is over, or the caller quits. */
	if (err == -ECANCELED && !d->quits(d->arg))
		err = -ETIMEDOUT;
	if (err) {
		relay_sender_close(s);
		return err;
	}
	s->begin_until = 0;
	*out = s;
	return 0;
}

const char *relay_sender_path(const struct relay_sender *s)
{
	return s->path;
}

void relay_sender_close(struct relay_sender *s)
{
	link_close(&s->link);
	free(s->streams);
	free(s);
}

/* ---- streams ---- */

int relay_sender_add(struct relay_sender *s, const char *dir, const char *channel, size_t *number)
{
	struct sent_stream *more = realloc(s->streams, (s->count + 1) * sizeof(*more));
	char path[RELAY_PATH_MAX];
	const struct relay_stream_info info = { .channel = channel, .path = path };
	int n = snprintf(path, sizeof(path), "%s%s%s", s->base, s->base[0] ? "/" : "", dir), err;

	if (more)
		s->streams = more;
	if (!more || n < 0 || (size_t)n >= sizeof(path))
		return more ? -ENAMETOOLONG : -ENOMEM;
	more[s->count] = (struct sent_stream){ 0 };
	err = relay_add_stream(&s->link, &info, &more[s->count].id);
	if (!err)
		*number = s->count++;
	return err;
}

int relay_sender_metadata(struct relay_sender *s, size_t number, const uint8_t uuid[16],
			  const char *text, size_t size)
{
	return relay_send_metadata(&s->link, s->streams[number].id, uuid, text, size);
}

int relay_sender_packet(struct relay_sender *s, size_t number, uint64_t size)
{
	struct sent_stream *t = &s->streams[number];
	uint8_t header[RELAY_DATA_HEADER];
	struct iovec v = { header, sizeof(header) };

	if (size > UINT32_MAX)
		return -EFBIG;
	relay_set_data_header(header, t->id, t->packets++, (uint32_t)size);
	return link_send(&s->link, &v, 1);
}

int relay_sender_bytes(struct relay_sender *s, const void *bytes, size_t size)
{
	struct iovec v = { (void *)bytes, size };

	return link_send(&s->link, &v, 1);
}

/* ---- the end ---- */

/* Waits until the relay has all packets of the stream. */
static int confirm_stream(struct relay_sender *s, const struct sent_stream *t)
{
	uint64_t until = monotonic_now() + SENDER_STALL_MS * UINT64_C(1000000);
	uint8_t reply[RELAY_REPLY_CODE];
	int err = 0;

	while (!err && t->packets) {
		relay_put_two(&s->link.out, RELAY_DATA_PENDING, t->id, t->packets - 1);
		err = link_call(&s->link, reply, sizeof(reply));
		if (!err && relay_get_u32(reply) > 1)
			err = -EREMOTEIO;
		if (err || !relay_get_u32(reply))
			break;
		err = monotonic_now() > until ? -ETIMEDOUT : link_pause(&s->link, PENDING_PAUSE_MS);
	}
	return err;
}

int relay_sender_finish(struct relay_sender *s)
{
	uint64_t now = (uint64_t)(wall_clock() / 1000000000);
	int err;

	relay_put_none(&s->link.out, RELAY_STREAMS_SENT);
	err = relay_run(&s->link);
	for (size_t i = 0; i < s->count && !err; i++)
		err = confirm_stream(s, &s->streams[i]);
	for (size_t i = 0; i < s->count && !err; i++) {
		const struct sent_stream *t = &s->streams[i];

		relay_put_two(&s->link.out, RELAY_CLOSE_STREAM, t->id, t->packets - 1);
		err = relay_run(&s->link);
	}
	if (!err && s->link.minor >= RELAY_MINOR_CHUNKS)
		err = relay_close_chunk(&s->link, 0, now, RELAY_CHUNK_STAYS);
	return err;
}
