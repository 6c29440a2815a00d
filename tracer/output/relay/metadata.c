/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The metadata of a trace on the relay: packets of TSDL text (CTF 1.8.3, section 7.1), or, if the
 * relay knows CTF 2, fragments of CTF 2. It is only ever added to, because live readers have read
 * what was sent: at first all of it, then the stream classes and events that are new.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/ctf.h"
#include "tracer/base/array.h"
#include "tracer/output/relay/internal.h"

#define PIECE 60000                     /* bytes of packets that are sent at once */
#define SEPARATOR '\x1e'               /* of fragments */
#define BITS_SIZE ((MD_EVENT_ID_MAX + 1) / 8)

struct relay_trace *relay_trace_of(struct relay *r, struct trace *t)
{
	struct relay_trace *rt;

	for (rt = r->traces; rt; rt = rt->next)
		if (rt->trace == t)
			return rt;
	rt = calloc(1, sizeof(*rt));
	if (!rt)
		return NULL;
	rt->trace = trace_get(t);
	rt->next = r->traces;
	r->traces = rt;
	return rt;
}

/* The relay has none of its metadata. */
static void forget_sent(struct relay_trace *t)
{
	for (uint32_t i = 0; i < t->stream_count; i++)
		free(t->events[i]);
	free(t->events);
	t->events = NULL;
	t->stream_count = 0;
	t->version = 0;
}

void relay_traces_reset(struct relay *r, bool connection)
{
	for (struct relay_trace *t = r->traces; t; t = t->next) {
		forget_sent(t);
		t->added = t->added && !connection;
	}
}

void relay_traces_free(struct relay *r)
{
	while (r->traces) {
		struct relay_trace *t = r->traces;

		r->traces = t->next;
		forget_sent(t);
		trace_put(t->trace);
		free(t);
	}
}

/* Notes each stream class, so that its events can be noted. Caller holds the trace's lock. */
static int add_streams(struct relay_trace *t, uint32_t count)
{
	if (!array_room(t->events, count))
		return -ENOMEM;
	while (t->stream_count < count) {
		t->events[t->stream_count] = calloc(1, BITS_SIZE);
		if (!t->events[t->stream_count])
			return -ENOMEM;
		t->stream_count++;
	}
	return 0;
}

/*
 * Prints events of the class that the relay does not have; text NULL: only notes that it has them.
 */
static void add_events(uint8_t *sent, const struct md_stream *s, bool is_ctf2, struct md_buf *text)
{
	for (uint32_t id = 0; id <= MD_EVENT_ID_MAX; id++) {
		const struct md_event *e = md_stream_event(s, id);

		if (!e || (sent[id / 8] & 1 << id % 8))
			continue;
		sent[id / 8] |= (uint8_t)(1 << id % 8);
		if (text)
			(is_ctf2 ? md_ctf2_print_event : md_ctf_print_event)(e, s->id, text);
	}
}

/* Prints what the relay does not have. Caller holds the trace's lock. */
static int print_new(struct relay_trace *t, bool is_ctf2, struct md_buf *text)
{
	const struct md_trace *md = t->trace->md;
	uint32_t before = t->stream_count;
	bool whole = !t->version;
	int err = !whole ? 0 : (is_ctf2 ? md_ctf2_print : md_ctf_print)(md, false, text);

	err = err || !md->stream_count ? err : add_streams(t, md->stream_count);
	for (uint32_t i = 0; i < md->stream_count && !err; i++) {
		if (!whole && i >= before && is_ctf2)
			md_ctf2_print_stream(md, md->streams[i], false, text);
		else if (!whole && i >= before)
			md_ctf_print_stream(md->streams[i], text);
		add_events(t->events[i], md->streams[i], is_ctf2, whole ? NULL : text);
	}
	return err ? err : text->failed ? -ENOMEM : 0;
}

/*
 * The size of the next piece: of CTF 2 whole fragments, because a live reader may read between two
 * pieces.
 */
static size_t cut_piece(const char *text, size_t size, bool is_ctf2)
{
	const char *end;

	if (size <= PIECE || !is_ctf2)
		return size < PIECE ? size : PIECE;
	end = memrchr(text + 1, SEPARATOR, PIECE);
	if (!end)
		end = memchr(text + PIECE, SEPARATOR, size - PIECE);
	return end ? (size_t)(end - text) : size;
}

int relay_send_metadata(struct relay_link *l, uint64_t id, const uint8_t uuid[16], const char *text,
			size_t size)
{
	const uint32_t magic = MD_METADATA_MAGIC;
	bool packets = size >= sizeof(magic) && !memcmp(text, &magic, sizeof(magic));
	/* Not in packets: babeltrace2 2.1 reads CTF 2 as text only. */
	bool is_ctf2 = size && text[0] == SEPARATOR;
	struct md_buf piece = MD_BUF_INIT;
	int err = 0;

	for (size_t at = 0, len; at < size && !err; at += len) {
		md_buf_reset(&piece);
		len = cut_piece(text + at, size - at, is_ctf2);
		if (packets || is_ctf2)
			md_buf_put(&piece, text + at, len);
		else
			len = md_metadata_packet(uuid, false, text + at, len, &piece);
		if (piece.failed) {
			err = -ENOMEM;
			break;
		}
		relay_put_metadata(&l->out, id, piece.data, piece.len);
		err = link_flush(l);
	}
	md_buf_deinit(&piece);
	/* Metadata has no reply; that of the next command says that the relay has written it. */
	relay_put_one(&l->out, RELAY_QUIESCENT_CONTROL, id);
	return err ? err : relay_run(l);
}

int relay_stream_path(struct relay *r, const struct trace *t, char *out, size_t size)
{
	const char *slash = r->base[0] ? "/" : "";
	int n = snprintf(out, size, "%s%s%s", r->base, slash, t->path);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static int add_trace(struct relay *r, struct relay_trace *t)
{
	char path[RELAY_PATH_MAX];
	const struct relay_stream_info info = { .channel = "metadata",
						.path = path,
						.chunk = r->chunk };
	int err = relay_stream_path(r, t->trace, path, sizeof(path));

	err = err ? err : relay_add_stream(&r->link, &info, &t->id);
	t->added = !err;
	r->new_streams = r->new_streams || !err;
	return err;
}

int relay_trace_ready(struct relay *r, struct relay_trace *t)
{
	struct md_buf text = MD_BUF_INIT;
	uint64_t version;
	int err = t->added ? 0 : add_trace(r, t);

	if (err)
		return err;
	pthread_mutex_lock(&t->trace->lock);
	version = md_trace_version(t->trace->md);
	if (version != t->version)
		err = print_new(t, r->is_ctf2, &text);
	pthread_mutex_unlock(&t->trace->lock);
	if (!err && text.len)
		err = relay_send_metadata(&r->link, t->id, t->trace->md->uuid, text.data,
					  text.len);
	md_buf_deinit(&text);
	/*
	 * What was noted as sent may not have been: all of it again. (After a failure to send, the
	 * link ends.)
	 */
	if (err)
		forget_sent(t);
	else
		t->version = version;
	return err;
}
