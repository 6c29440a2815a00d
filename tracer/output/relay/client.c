/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/output/relay/client.h"

#include <errno.h>
#include <string.h>

static int check_code(const uint8_t *reply)
{
	return relay_get_u32(reply) == RELAY_OK ? 0 : -EREMOTEIO;
}

static int agree_version(struct relay_link *l, uint32_t most)
{
	uint8_t reply[RELAY_REPLY_VERSION];
	uint32_t minor;
	int err;

	relay_put_version(&l->out, RELAY_MAJOR, most);
	err = link_call(l, reply, sizeof(reply));
	if (err)
		return err;
	minor = relay_get_u32(reply + 4);
	if (relay_get_u32(reply) != RELAY_MAJOR || minor < RELAY_MINOR_MIN)
		return -EPROTONOSUPPORT;
	l->minor = minor < most ? minor : most;
	return 0;
}

int relay_open(struct relay_link *l, const struct relay_url *u, uint32_t minor)
{
	int err = 0;

	l->control = link_connect(l, &u->control, u->ipv6);
	if (l->control < 0)
		err = l->control;
	if (!err)
		err = agree_version(l, minor);
	if (!err) {
		l->data = link_connect(l, &u->data, u->ipv6);
		err = l->data < 0 ? l->data : 0;
	}
	if (err)
		link_close(l);
	return err;
}

/* Reads a path of that many bytes, with its NUL. */
static int read_path(struct relay_link *l, uint32_t len, char path[RELAY_PATH_MAX])
{
	int err = len > RELAY_PATH_MAX ? -EPROTO : link_read(l, path, len);

	if (!err && len && path[len - 1])
		err = -EPROTO;
	if (err || !len)
		path[0] = 0;
	return err;
}

int relay_create_session(struct relay_link *l, const struct relay_session_info *s,
			 char path[RELAY_PATH_MAX])
{
	uint8_t reply[RELAY_REPLY_SESSION + 4] = { 0 };
	bool has_path = l->minor >= RELAY_MINOR_CHUNKS;
	int err = relay_put_session(&l->out, l->minor, s);

	path[0] = 0;
	err = err ? err : link_call(l, reply, has_path ? sizeof(reply) : RELAY_REPLY_SESSION);
	if (!err && has_path)
		err = read_path(l, relay_get_u32(reply + RELAY_REPLY_SESSION), path);
	return err ? err : check_code(reply + 8);
}

int relay_add_stream(struct relay_link *l, const struct relay_stream_info *s, uint64_t *id)
{
	uint8_t reply[RELAY_REPLY_STREAM];
	int err = relay_put_stream(&l->out, l->minor, s);

	err = err ? err : link_call(l, reply, sizeof(reply));
	if (err)
		return err;
	*id = relay_get_u64(reply);
	return check_code(reply + 8);
}

int relay_run(struct relay_link *l)
{
	uint8_t reply[RELAY_REPLY_CODE];
	int err = link_call(l, reply, sizeof(reply));

	return err ? err : check_code(reply);
}

int relay_close_chunk(struct relay_link *l, uint64_t id, uint64_t closed, enum relay_chunk_end end)
{
	uint8_t reply[RELAY_REPLY_CHUNK];
	char path[RELAY_PATH_MAX];
	int err;

	relay_put_chunk_end(&l->out, id, closed, end);
	err = link_call(l, reply, sizeof(reply));
	err = err ? err : read_path(l, relay_get_u32(reply + 4), path);
	return err ? err : check_code(reply);
}

int relay_allows_clear(struct relay_link *l, bool *allowed)
{
	uint8_t reply[RELAY_REPLY_CONFIG];
	int err;

	*allowed = false;
	if (l->minor < RELAY_MINOR_CONFIG)
		return 0;
	relay_put_one(&l->out, RELAY_GET_CONFIGURATION, 0);
	err = link_call(l, reply, sizeof(reply));
	err = err ? err : check_code(reply);
	*allowed = !err && (relay_get_u64(reply + 4) & 1);
	return err;
}
