/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of the relay protocol (LTTng's, versions 2.4 to 2.15): commands that a producer of
 * traces sends to lttng-relayd, and the replies. All integers are big endian. Nothing here does
 * I/O. Private to tracer/output/relay/.
 *
 * A relay_put_* function appends one whole command to the buffer. Memory shortage sets the
 * buffer's `failed`.
 */
#ifndef TRACER_RELAY_WIRE_H
#define TRACER_RELAY_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "metadata/ctf.h"

#define RELAY_MAJOR 2
#define RELAY_MINOR 15          /* the latest that is spoken */
#define RELAY_MINOR_MIN 4       /* the first with indexes and names of sessions */
#define RELAY_MINOR_RESET 8     /* the first that can begin metadata again */
#define RELAY_MINOR_CHUNKS 11   /* the first with trace chunks */
#define RELAY_MINOR_CONFIG 12   /* the first that says whether `clear` is allowed */
#define RELAY_MINOR_FORMAT 15   /* the first that takes traces of CTF 2 */
#define RELAY_OK 10             /* the code of success in a reply */

enum relay_command {
	RELAY_ADD_STREAM = 1, RELAY_CREATE_SESSION = 2, RELAY_VERSION = 5, RELAY_SEND_METADATA = 6,
	RELAY_CLOSE_STREAM = 7, RELAY_DATA_PENDING = 8, RELAY_QUIESCENT_CONTROL = 9,
	RELAY_SEND_INDEX = 13, RELAY_STREAMS_SENT = 16, RELAY_RESET_METADATA = 17,
	RELAY_ROTATE_STREAMS = 18, RELAY_CREATE_CHUNK = 19, RELAY_CLOSE_CHUNK = 20,
	RELAY_GET_CONFIGURATION = 22,
};

/* What RELAY_CLOSE_CHUNK does with the closed chunk. */
enum relay_chunk_end { RELAY_CHUNK_ARCHIVE = 0, RELAY_CHUNK_STAYS = 1, RELAY_CHUNK_DELETE = 2 };

#define RELAY_HEADER 24         /* bytes of a command's header */
#define RELAY_DATA_HEADER 32    /* bytes before each packet on the data connection */
#define RELAY_PATH_MAX 4096     /* bytes of a path in a reply, with its NUL */
#define RELAY_HOST_MAX 64       /* bytes of a host name, with its NUL */
#define RELAY_NAME_MAX 255      /* bytes of a session's name, with its NUL */

/* Sizes of replies, bytes. A session's and a closed chunk's are followed by a path. */
#define RELAY_REPLY_CODE 4
#define RELAY_REPLY_VERSION 8
#define RELAY_REPLY_SESSION 12  /* + 4, the length of the path, from RELAY_MINOR_CHUNKS on */
#define RELAY_REPLY_STREAM 12
#define RELAY_REPLY_CHUNK 8
#define RELAY_REPLY_CONFIG 12

struct relay_session_info {
	const char *name, *host;
	const char *path;               /* below the host's directory; "": NAME-CREATED */
	uint32_t live_timer;            /* us; 0: not a live session */
	bool snapshot;
	bool is_ctf2;                   /* from RELAY_MINOR_FORMAT on */
	uint8_t uuid[16];               /* of the sender; not all zero */
	uint64_t id;                    /* of the session, for the sender */
	uint64_t created;               /* seconds since the epoch */
};

struct relay_stream_info {
	/* path: of the trace, below the chunk (before 2.11: below the output directory) */
	const char *channel, *path;
	uint64_t file_size, file_count; /* 0: no limit */
	uint64_t chunk;
};

struct relay_rotation {
	uint64_t stream;                /* as the relay numbers it */
	uint64_t at;                    /* packet_seq_num of the first packet of the new chunk */
};

void relay_put_version(struct md_buf *b, uint32_t major, uint32_t minor);
/* -ENAMETOOLONG: a name is longer than this version allows; nothing was appended. */
int relay_put_session(struct md_buf *b, uint32_t minor, const struct relay_session_info *s);
int relay_put_stream(struct md_buf *b, uint32_t minor, const struct relay_stream_info *s);
/* A command without an argument, with one, with two. */
void relay_put_none(struct md_buf *b, enum relay_command c);
void relay_put_one(struct md_buf *b, enum relay_command c, uint64_t v);
void relay_put_two(struct md_buf *b, enum relay_command c, uint64_t v, uint64_t w);
void relay_put_metadata(struct md_buf *b, uint64_t stream, const void *data, size_t len);
/* The index of a packet; number: its number on this connection. */
void relay_put_index(struct md_buf *b, uint32_t minor, uint64_t stream, uint64_t number,
		     const struct md_packet *p);
/* name: of the chunk's directory, below the session's; "": the relay chooses it. */
void relay_put_chunk(struct md_buf *b, uint64_t id, uint64_t created, const char *name);
/* chunk: where the streams continue; NULL: nowhere. */
void relay_put_rotation(struct md_buf *b, const uint64_t *chunk, const struct relay_rotation *r,
			uint32_t count);
void relay_put_chunk_end(struct md_buf *b, uint64_t id, uint64_t closed, enum relay_chunk_end end);

/* What is sent before a packet of len bytes on the data connection. */
void relay_set_data_header(uint8_t out[RELAY_DATA_HEADER], uint64_t stream, uint64_t number,
			   uint32_t len);

uint32_t relay_get_u32(const uint8_t *p);
uint64_t relay_get_u64(const uint8_t *p);

#endif
