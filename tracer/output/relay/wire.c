/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/output/relay/wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define STREAM_NAME_2_2 264     /* fields of fixed size, before version 2.11 */
#define STREAM_PATH_2_2 4096
#define SESSION_NAME_2_4 255
#define SESSION_HOST_2_4 64

uint32_t relay_get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

uint64_t relay_get_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static void put_u8(struct md_buf *b, uint8_t v)
{
	md_buf_put(b, &v, sizeof(v));
}

static void put_u32(struct md_buf *b, uint32_t v)
{
	v = htobe32(v);
	md_buf_put(b, &v, sizeof(v));
}

static void put_u64(struct md_buf *b, uint64_t v)
{
	v = htobe64(v);
	md_buf_put(b, &v, sizeof(v));
}

/* The text with its NUL. */
static void put_text(struct md_buf *b, const char *s)
{
	md_buf_put(b, s, strlen(s) + 1);
}

/* The text in a field of `size` bytes, the rest of which is zero. The text is shorter than that. */
static void put_field(struct md_buf *b, const char *s, size_t size)
{
	size_t len = strlen(s);
	char *p = md_buf_room(b, size);

	if (!p)
		return;
	memcpy(p, s, len);
	memset(p + len, 0, size - len);
	b->len += size;
}

/* A command's header: circuit (unused), bytes that follow, command, its version (unused). */
static void put_header(struct md_buf *b, enum relay_command c, uint64_t len)
{
	put_u64(b, 0);
	put_u64(b, len);
	put_u32(b, c);
	put_u32(b, 0);
}

void relay_put_none(struct md_buf *b, enum relay_command c)
{
	put_header(b, c, 0);
}

void relay_put_one(struct md_buf *b, enum relay_command c, uint64_t v)
{
	put_header(b, c, 8);
	put_u64(b, v);
}

void relay_put_two(struct md_buf *b, enum relay_command c, uint64_t v, uint64_t w)
{
	put_header(b, c, 16);
	put_u64(b, v);
	put_u64(b, w);
}

void relay_put_version(struct md_buf *b, uint32_t major, uint32_t minor)
{
	put_header(b, RELAY_VERSION, 8);
	put_u32(b, major);
	put_u32(b, minor);
}

static void put_session_2_4(struct md_buf *b, const struct relay_session_info *s)
{
	put_header(b, RELAY_CREATE_SESSION, SESSION_NAME_2_4 + SESSION_HOST_2_4 + 8);
	put_field(b, s->name, SESSION_NAME_2_4);
	put_field(b, s->host, SESSION_HOST_2_4);
	put_u32(b, s->live_timer);
	put_u32(b, s->snapshot);
}

static void put_session_2_11(struct md_buf *b, uint32_t minor, const struct relay_session_info *s)
{
	size_t name = strlen(s->name) + 1, host = strlen(s->host) + 1, path = strlen(s->path) + 1;
	size_t format = minor >= RELAY_MINOR_FORMAT ? 4 : 0;

	put_header(b, RELAY_CREATE_SESSION,
		   12 + 4 + 2 + 16 + 8 + 8 + 9 + format + name + host + path);
	put_u32(b, (uint32_t)name);
	put_u32(b, (uint32_t)host);
	put_u32(b, (uint32_t)path);
	put_u32(b, s->live_timer);
	put_u8(b, s->snapshot);
	put_u8(b, 0);           /* the name does not contain the time of creation */
	md_buf_put(b, s->uuid, sizeof(s->uuid));
	put_u64(b, s->id);
	put_u64(b, s->created);
	put_u8(b, 0);           /* there is no current chunk */
	put_u64(b, 0);
	if (format)
		put_u32(b, s->is_ctf2 ? 2 : 1);
	put_text(b, s->name);
	put_text(b, s->host);
	put_text(b, s->path);
}

int relay_put_session(struct md_buf *b, uint32_t minor, const struct relay_session_info *s)
{
	if (strlen(s->name) >= RELAY_NAME_MAX || strlen(s->host) >= RELAY_HOST_MAX ||
	    strlen(s->path) >= RELAY_PATH_MAX)
		return -ENAMETOOLONG;
	if (minor < RELAY_MINOR_CHUNKS)
		put_session_2_4(b, s);
	else
		put_session_2_11(b, minor, s);
	return 0;
}

int relay_put_stream(struct md_buf *b, uint32_t minor, const struct relay_stream_info *s)
{
	size_t channel = strlen(s->channel) + 1, path = strlen(s->path) + 1;

	if (channel > STREAM_NAME_2_2 || path > STREAM_PATH_2_2)
		return -ENAMETOOLONG;
	if (minor < RELAY_MINOR_CHUNKS) {
		put_header(b, RELAY_ADD_STREAM, STREAM_NAME_2_2 + STREAM_PATH_2_2 + 16);
		put_field(b, s->channel, STREAM_NAME_2_2);
		put_field(b, s->path, STREAM_PATH_2_2);
		put_u64(b, s->file_size);
		put_u64(b, s->file_count);
		return 0;
	}
	put_header(b, RELAY_ADD_STREAM, 8 + 24 + channel + path);
	put_u32(b, (uint32_t)channel);
	put_u32(b, (uint32_t)path);
	put_u64(b, s->file_size);
	put_u64(b, s->file_count);
	put_u64(b, s->chunk);
	put_text(b, s->channel);
	put_text(b, s->path);
	return 0;
}

void relay_put_metadata(struct md_buf *b, uint64_t stream, const void *data, size_t len)
{
	put_header(b, RELAY_SEND_METADATA, 12 + len);
	put_u64(b, stream);
	put_u32(b, 0);          /* no padding */
	md_buf_put(b, data, len);
}

void relay_put_index(struct md_buf *b, uint32_t minor, uint64_t stream, uint64_t number,
		     const struct md_packet *p)
{
	bool long_form = minor >= 8;

	put_header(b, RELAY_SEND_INDEX, long_form ? 80 : 64);
	put_u64(b, stream);
	put_u64(b, number);
	put_u64(b, p->packet_size);
	put_u64(b, p->content_size);
	put_u64(b, p->timestamp_begin);
	put_u64(b, p->timestamp_end);
	put_u64(b, p->events_discarded);
	put_u64(b, p->stream_id);
	if (!long_form)
		return;
	put_u64(b, p->stream_instance_id);
	put_u64(b, p->packet_seq_num);
}

void relay_put_chunk(struct md_buf *b, uint64_t id, uint64_t created, const char *name)
{
	size_t len = name[0] ? strlen(name) + 1 : 0;

	put_header(b, RELAY_CREATE_CHUNK, 20 + len);
	put_u64(b, id);
	put_u64(b, created);
	put_u32(b, (uint32_t)len);
	if (len)
		put_text(b, name);
}

void relay_put_rotation(struct md_buf *b, const uint64_t *chunk, const struct relay_rotation *r,
			uint32_t count)
{
	put_header(b, RELAY_ROTATE_STREAMS, 4 + 9 + UINT64_C(16) * count);
	put_u32(b, count);
	put_u8(b, chunk != NULL);
	put_u64(b, chunk ? *chunk : 0);
	for (uint32_t i = 0; i < count; i++) {
		put_u64(b, r[i].stream);
		put_u64(b, r[i].at);
	}
}

void relay_put_chunk_end(struct md_buf *b, uint64_t id, uint64_t closed, enum relay_chunk_end end)
{
	put_header(b, RELAY_CLOSE_CHUNK, 21);
	put_u64(b, id);
	put_u64(b, closed);
	put_u8(b, 1);
	put_u32(b, end);
}

void relay_set_data_header(uint8_t out[RELAY_DATA_HEADER], uint64_t stream, uint64_t number,
			   uint32_t len)
{
	uint64_t words[3] = { 0, htobe64(stream), htobe64(number) };
	uint32_t halves[2] = { htobe32(len), 0 };

	memcpy(out, words, sizeof(words));
	memcpy(out + sizeof(words), halves, sizeof(halves));
}
