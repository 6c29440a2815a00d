// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Snapshots of an earlier daemon. It made their headers, but it may have been killed before it
 * checked that the contents are events. They are checked at the first read, with the session's own
 * classes. Another program may have written them: nothing is trusted.
 */
#include <stdio.h>
#include <string.h>

#include "metadata/ctf.h"
#include "tracer/session/session.h"
#include "tracer/output/snapshot/image.h"

/* one check at a time; the check takes trace.lock and tracer.lock under it */
static pthread_mutex_t checking = PTHREAD_MUTEX_INITIALIZER;

static const struct md_stream *find_class(struct trace *t, uint64_t id)
{
	const struct md_stream *class = NULL;

	if (!t)
		return NULL;
	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < t->md->stream_count && !class; i++)
		if (t->md->streams[i]->id == id)
			class = t->md->streams[i];
	pthread_mutex_unlock(&t->lock);
	return class;
}

static struct content *find_file(struct trace_image *image, const char *path, uint64_t *size)
{
	for (size_t i = 0; i < image->file_count; i++)
		if (!strcmp(image->files[i].path, path)) {
			*size = image->files[i].size;
			return &image->contents[i];
		}
	return NULL;
}

/* Checks again that the headers fit into the files, because headers are written here. */
static void check_stream(struct trace *t, uint8_t *file, uint64_t size, uint8_t *index,
			 uint64_t index_size)
{
	uint64_t entry = sizeof(struct md_index_header), bad = 0, len, good;
	struct md_index_entry e;
	struct md_packet h;

	for (uint64_t at = 0; size - at >= sizeof(h) && index_size - entry >= sizeof(e);
	     entry += sizeof(e)) {
		memcpy(&h, file + at, sizeof(h));
		if (h.packet_size / 8 < sizeof(h) || h.packet_size / 8 > size - at)
			return;
		len = h.packet_size / 8 - sizeof(h);
		/*
		 * A smaller content was checked before, and a packet_seq_num was left out for it.
		 */
		if (h.content_size == h.packet_size) {
			const struct md_stream *class = find_class(t, h.stream_id);

			good = class ? count_valid_events(class, file + at + sizeof(h), len,
						    h.timestamp_begin, h.timestamp_end)
				     : 0;
			h.content_size = 8 * (sizeof(h) + good);
			bad += good < len;
		}
		h.packet_seq_num += bad;
		memcpy(file + at, &h, sizeof(h));
		md_index_entry_set(&e, &h, at);
		memcpy(index + entry, &e, sizeof(e));
		at += h.packet_size / 8;
	}
}

/*
 * Derives the paths of a stream file DIR/NAME and its index DIR/index/NAME.idx from either of them.
 */
static void split_path(const char *path, char *stream, char *index, size_t size)
{
	const char *name = strrchr(path, '/');
	size_t dir, len;

	name = name ? name + 1 : path;
	dir = (size_t)(name - path);
	len = strlen(name);
	if (dir > 6 && !strncmp(name - 6, "index/", 6) && len > 4) {
		dir -= 6;
		len -= 4;
	}
	snprintf(stream, size, "%.*s%.*s", (int)dir, path, (int)len, name);
	snprintf(index, size, "%.*sindex/%.*s.idx", (int)dir, path, (int)len, name);
}

void snapshot_check(struct trace_image *image, size_t i)
{
	uint64_t size = 0, index_size = 0;
	char stream[600], name[600];
	struct content *file, *index;
	struct trace *t;

	split_path(image->files[i].path, stream, name, sizeof(stream));
	file = find_file(image, stream, &size);
	index = find_file(image, name, &index_size);
	pthread_mutex_lock(&checking);
	if (file && index && file->unchecked && index_size >= sizeof(struct md_index_header)) {
		t = image_trace(image, (size_t)(file - image->contents));
		check_stream(t, file->bytes, size, index->bytes, index_size);
		trace_put(t);
		__atomic_store_n(&index->unchecked, false, __ATOMIC_RELEASE);
		__atomic_store_n(&file->unchecked, false, __ATOMIC_RELEASE);
	}
	/* Release: a reader that sees the flag sees the checked bytes. */
	__atomic_store_n(&image->contents[i].unchecked, false, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&checking);
}
