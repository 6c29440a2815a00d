/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/output/snapshot/image_cut.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/output/snapshot/snapshot.h"

/* ---- the streams of the image ---- */

/* Reads all of a file's range. */
static int read_whole(struct trace_image *image, size_t i, uint64_t offset, void *buf, size_t size)
{
	char *p = buf;

	while (size) {
		ssize_t n = image_read(image, i, offset, p, size);

		if (n <= 0)
			return n < 0 ? (int)n : -EBADMSG;
		p += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static void entry_to_host(struct md_index_entry *e)
{
	uint64_t words[sizeof(*e) / sizeof(uint64_t)];

	memcpy(words, e, sizeof(*e));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		words[i] = be64toh(words[i]);
	memcpy(e, words, sizeof(*e));
}

/* The packets follow each other and fill the file. */
static bool entries_fit(const struct cut_stream *st, uint64_t size)
{
	uint64_t at = 0;

	for (size_t i = 0; i < st->count; i++) {
		const struct md_index_entry *e = &st->entries[i];

		if (e->offset != at || e->packet_size % 8 || e->packet_size / 8 > size - at ||
		    e->packet_size / 8 < MD_PACKET_HEADER || e->content_size > e->packet_size)
			return false;
		at += e->packet_size / 8;
	}
	return at == size && st->count;
}

static int load_stream(struct image_cut *c, size_t file, size_t index)
{
	struct cut_stream *st = &c->streams[c->count];
	const struct image_file *files;
	uint64_t size;
	int err;

	image_files(c->image, &files);
	size = files[index].size;
	if (size < sizeof(struct md_index_header))
		return -EBADMSG;
	size -= sizeof(struct md_index_header);
	*st = (struct cut_stream){ .file = file, .index = index };
	st->count = size / sizeof(*st->entries);
	st->entries = malloc(size + 1);
	if (!st->entries)
		return -ENOMEM;
	c->count++;
	err = size % sizeof(*st->entries) ? -EBADMSG : 0;
	err = err ? err : read_whole(c->image, index, sizeof(struct md_index_header), st->entries,
				     size);
	for (size_t i = 0; i < st->count && !err; i++)
		entry_to_host(&st->entries[i]);
	return err ? err : entries_fit(st, files[file].size) ? 0 : -EBADMSG;
}

static int compare_path(const void *path, const void *file)
{
	return strcmp(path, ((const struct image_file *)file)->path);
}

/* The index of the file DIR/NAME, DIR/index/NAME.idx; NULL: it has none. */
static const struct image_file *find_index(const struct image_file *files, size_t count,
					   const char *path)
{
	const char *slash = strrchr(path, '/');
	char index[4096];
	int n = snprintf(index, sizeof(index), "%.*s/index/%s.idx", slash ? (int)(slash - path) : 0,
			 path, slash ? slash + 1 : path);

	if (n < 0 || (size_t)n >= sizeof(index))
		return NULL;
	return bsearch(index, files, count, sizeof(*files), compare_path);
}

static int load_streams(struct image_cut *c)
{
	const struct image_file *files, *index;
	size_t count = image_files(c->image, &files);
	int err = 0;

	c->streams = calloc(count + 1, sizeof(*c->streams));
	if (!c->streams)
		return -ENOMEM;
	for (size_t i = 0; i < count && !err; i++)
		if ((index = find_index(files, count, files[i].path)))
			err = load_stream(c, i, (size_t)(index - files));
	return err;
}

/* ---- the limit ---- */

static uint64_t size_of(const struct md_index_entry *e)
{
	return e->packet_size / 8;
}

/* Leaves out packets up to number n, and makes the packets that are there instead. */
static int drop_packets(struct image_cut *c, struct cut_stream *st, size_t n)
{
	const struct md_index_entry *last = &st->entries[n];
	struct md_packet *head = &st->heads[0];
	int err = read_whole(c->image, st->file, last->offset, head, sizeof(*head));

	if (err)
		return err;
	head->content_size = head->packet_size = 8 * MD_PACKET_HEADER;
	head->timestamp_begin = head->timestamp_end =
		n + 1 < st->count ? just_before(last[1].timestamp_begin) : last->timestamp_end;
	head->events_discarded = st->entries[0].events_discarded;
	st->first = n + 1;
	st->head_count = 1;
	/* No packet follows: one more empty packet has the counter. */
	if (st->first == st->count && last->events_discarded > head->events_discarded) {
		st->heads[1] = *head;
		st->heads[1].timestamp_begin++;
		st->heads[1].timestamp_end++;
		st->heads[1].packet_seq_num++;
		st->heads[1].events_discarded = last->events_discarded;
		st->head_count = 2;
	}
	return 0;
}

static int limit(struct image_cut *c, uint64_t max)
{
	struct packet_choice *all;
	uint64_t sum = 0;
	size_t n = 0, kept;
	int err = 0;

	for (size_t i = 0; i < c->count; i++)
		n += c->streams[i].count;
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < c->count; i++)
		for (size_t k = 0; k < c->streams[i].count; k++) {
			const struct md_index_entry *e = &c->streams[i].entries[k];

			if (e->content_size > 8 * MD_PACKET_HEADER)
				all[n++] = (struct packet_choice){ e->timestamp_end, size_of(e), i,
								   k };
			else
				sum += size_of(e);
		}
	kept = snapshot_choose_newest(all, n, sum, max);
	err = n && !kept ? -EFBIG : 0;
	/* Newest first: of a stream, the first one that is left out is the last one left out. */
	for (size_t i = kept; i < n && !err; i++) {
		struct cut_stream *st = &c->streams[all[i].source];

		if (!st->head_count)
			err = drop_packets(c, st, all[i].packet);
	}
	free(all);
	return err;
}

int image_cut_init(struct image_cut *c, struct trace_image *image, uint64_t max)
{
	int err;

	*c = (struct image_cut){ .image = image_get(image) };
	err = load_streams(c);
	err = err || !max ? err : limit(c, max);
	if (err)
		image_cut_deinit(c);
	return err;
}

void image_cut_deinit(struct image_cut *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->streams[i].entries);
	free(c->streams);
	image_put(c->image);
	*c = (struct image_cut){ 0 };
}

/* ---- reading ---- */

const struct cut_stream *image_cut_stream(const struct image_cut *c, size_t i)
{
	for (size_t k = 0; k < c->count; k++)
		if (c->streams[k].file == i)
			return &c->streams[k];
	return NULL;
}

static const struct cut_stream *stream_of_index(const struct image_cut *c, size_t i)
{
	for (size_t k = 0; k < c->count; k++)
		if (c->streams[k].index == i)
			return &c->streams[k];
	return NULL;
}

size_t cut_stream_packets(const struct cut_stream *st)
{
	return st->head_count + st->count - st->first;
}

uint64_t cut_stream_packet_size(const struct cut_stream *st, size_t n)
{
	return n < st->head_count ? MD_PACKET_HEADER
				  : size_of(&st->entries[st->first + n - st->head_count]);
}

/* Where the entries that are kept begin in the image's file. */
static uint64_t kept_from(const struct image_cut *c, const struct cut_stream *st)
{
	const struct image_file *files;

	image_files(c->image, &files);
	return st->first < st->count ? st->entries[st->first].offset : files[st->file].size;
}

uint64_t image_cut_size(const struct image_cut *c, size_t i)
{
	const struct cut_stream *st = image_cut_stream(c, i), *indexed = stream_of_index(c, i);
	const struct image_file *files;

	image_files(c->image, &files);
	if (st)
		return files[i].size - kept_from(c, st) + st->head_count * MD_PACKET_HEADER;
	if (indexed)
		return sizeof(struct md_index_header) +
		       cut_stream_packets(indexed) * sizeof(struct md_index_entry);
	return files[i].size;
}

static ssize_t read_stream(const struct image_cut *c, const struct cut_stream *st, uint64_t offset,
			   void *buf, size_t size)
{
	uint64_t heads = st->head_count * MD_PACKET_HEADER;

	if (offset >= heads)
		return image_read(c->image, st->file, kept_from(c, st) + offset - heads, buf, size);
	size = size < heads - offset ? size : (size_t)(heads - offset);
	memcpy(buf, (const char *)st->heads + offset, size);
	return (ssize_t)size;
}

/* Entry n of the index of the cut stream. */
static struct md_index_entry cut_entry(const struct image_cut *c, const struct cut_stream *st,
				       size_t n)
{
	struct md_index_entry out, *e;

	if (n < st->head_count) {
		md_index_entry_set(&out, &st->heads[n], n * MD_PACKET_HEADER);
		return out;
	}
	e = &st->entries[st->first + n - st->head_count];
	out = *e;
	out.offset = e->offset - kept_from(c, st) + st->head_count * MD_PACKET_HEADER;
	entry_to_host(&out);
	return out;
}

/* A part of one entry at most: the caller reads on. */
static ssize_t read_index(const struct image_cut *c, const struct cut_stream *st, uint64_t offset,
			  void *buf, size_t size)
{
	struct md_index_header header;
	struct md_index_entry e;
	const char *from = (const char *)&header;
	size_t len = sizeof(header), n;

	md_index_header_set(&header);
	if (offset >= sizeof(header)) {
		offset -= sizeof(header);
		n = (size_t)(offset / sizeof(e));
		if (n >= cut_stream_packets(st))
			return 0;
		e = cut_entry(c, st, n);
		offset %= sizeof(e);
		from = (const char *)&e;
		len = sizeof(e);
	}
	size = size < len - offset ? size : (size_t)(len - offset);
	memcpy(buf, from + offset, size);
	return (ssize_t)size;
}

ssize_t image_cut_read(const struct image_cut *c, size_t i, uint64_t offset, void *buf, size_t size)
{
	const struct cut_stream *st = image_cut_stream(c, i), *indexed = stream_of_index(c, i);

	if (st && st->head_count)
		return read_stream(c, st, offset, buf, size);
	if (indexed && indexed->head_count)
		return read_index(c, indexed, offset, buf, size);
	return image_read(c->image, i, offset, buf, size);
}
