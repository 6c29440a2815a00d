// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The memory of a snapshot: a memfd with its files. An image that is not published yet belongs to
 * one thread, so no lock is taken here.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tracer/base/ring/reader.h"
#include "tracer/session/session.h"
#include "tracer/output/snapshot/image.h"
#include "tracer/output/snapshot/snapshot.h"
#include "tracer/view/cursor.h"

#define MAGIC UINT64_C(0x746f687370616e53)

/*
 * The memfd: this header, the files, `count` struct entry, and their paths, each with its NUL.
 * Between the files there may be unused space, which occupies no memory.
 */
struct header {
	uint64_t magic;
	uint64_t size;          /* of the memfd, bytes */
	uint64_t count;
	uint64_t entries;       /* offset of the entries */
};

struct entry {
	uint64_t path;          /* its offset */
	uint64_t offset, size;  /* of the contents */
	int64_t mtime;
};

static int compare_choices(const void *a, const void *b)
{
	const struct packet_choice *x = a, *y = b;

	if (x->end_ts != y->end_ts)
		return x->end_ts < y->end_ts ? 1 : -1;
	if (x->source != y->source)
		return x->source < y->source ? 1 : -1;
	return x->packet < y->packet ? 1 : -1;
}

size_t snapshot_choose_newest(struct packet_choice *all, size_t n, uint64_t sum, uint64_t max)
{
	size_t kept = 0;

	qsort(all, n, sizeof(*all), compare_choices);
	for (; kept < n && sum + all[kept].size <= max; kept++)
		sum += all[kept].size;
	return kept;
}

/* Leaves out packets up to number n; packet n becomes the leading empty packet. */
static void drop_packets(struct image_source *src, size_t n)
{
	struct packet *empty = &src->packets[n];
	uint64_t ts = empty->header.timestamp_end, lost = empty->header.events_discarded;

	if (n + 1 < src->count)
		ts = just_before(src->packets[n + 1].header.timestamp_begin);
	for (size_t i = src->first; i < n; i++)
		src->size -= packet_size(&src->packets[i + 1]);
	src->first = n;
	packet_set_empty(empty, &src->stream, ts, src->lost_before);
	/* No packet follows: a trailing empty packet carries the counter. */
	if (n + 1 == src->count && lost > src->lost_before) {
		packet_set_empty(&src->packets[src->count++], &src->stream, ts + 1, lost);
		src->size += MD_PACKET_HEADER;
	}
}

int snapshot_limit(struct trace_image *image, uint64_t max, uint64_t *newest)
{
	struct packet_choice *all;
	uint64_t sum = 0;
	size_t n = 0, kept;

	for (size_t i = 0; i < image->source_count; i++)
		n += image->sources[i].count;
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < image->source_count; i++)
		for (size_t k = 0; k < image->sources[i].count; k++) {
			const struct packet *p = &image->sources[i].packets[k];

			if (p->len)
				all[n++] = (struct packet_choice){ p->header.timestamp_end,
								   packet_size(p), i, k };
			else
				sum += packet_size(p);
		}
	kept = snapshot_choose_newest(all, n, sum, max);
	*newest = n && !kept ? sum + all[0].size : 0;
	/*
	 * Newest first: the first packet of a source that does not fit is the last one to leave
	 * out.
	 */
	for (size_t i = kept; i < n; i++) {
		struct image_source *src = &image->sources[all[i].source];

		if (src->first < all[i].packet)
			drop_packets(src, all[i].packet);
	}
	free(all);
	return *newest ? -EFBIG : 0;
}

/* ---- copy ---- */

static int write_at(int fd, const void *data, size_t len, uint64_t at)
{
	while (len) {
		ssize_t n = pwrite(fd, data, len, (off_t)at);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data = (const char *)data + n;
		len -= (size_t)n;
		at += (uint64_t)n;
	}
	return 0;
}

/* Writes a packet with its header. 1: a writer overwrote it before it was copied. */
static int write_packet(int fd, const struct image_source *src, size_t i, uint64_t at)
{
	const struct packet *p = &src->packets[i];
	const struct stream *s = &src->stream;
	struct md_packet h;
	struct iovec v[2] = { { &h, sizeof(h) }, { (void *)packet_content(p, s), p->len } };
	ssize_t n;
	int err = 0;

	source_packet(src, i, p->len, i, &h);
	if (p->len && !ring_holds(s, p->subbuf))
		return 1;
	n = pwritev(fd, v, p->len ? 2 : 1, (off_t)at);
	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(h))
		err = write_at(fd, (const char *)&h + n, sizeof(h) - (size_t)n, at + (uint64_t)n);
	if (!err && (uint64_t)n < packet_size(p)) {
		uint64_t done = (size_t)n > sizeof(h) ? (size_t)n - sizeof(h) : 0;

		err = write_at(fd, (const char *)v[1].iov_base + done, p->len - done,
			  at + sizeof(h) + done);
	}
	if (err)
		return err;
	return p->len && !ring_holds(s, p->subbuf) ? 1 : 0;
}

/*
 * Copies the stream file into [at, at + src->size), from its last packet to its first. 0 or -errno;
 * *begin: where the file begins.
 */
static int copy_stream(struct trace_image *image, struct image_source *src, uint64_t at,
		       struct snapshot *sn, uint64_t *begin)
{
	uint64_t end = at + src->size;
	int ret = 0;

	for (size_t i = src->count - 1; i > src->first; i--) {
		uint64_t size = packet_size(&src->packets[i]);

		ret = write_packet(image->fd, src, i, end - size);
		if (ret < 0)
			return ret;
		if (ret) {
			uint64_t before = src->size;
			size_t count = src->count;

			drop_packets(src, i);
			/*
			 * A trailing empty packet was added. The space of the packet that was left
			 * out, at the end, is free for it.
			 */
			if (src->count > count)
				ret = write_packet(image->fd, src, src->count - 1,
						 end -= MD_PACKET_HEADER);
			image->frozen -= (int64_t)(before - src->size);
			session_frozen(image->s, -(int64_t)(before - src->size));
			ret = ret < 0 ? ret : 0;
			break;
		}
		end -= size;
		__atomic_fetch_add(&sn->done, size, __ATOMIC_RELAXED);
	}
	if (ret)
		return ret;
	*begin = end - MD_PACKET_HEADER;
	return write_packet(image->fd, src, src->first, *begin);
}

static int write_index(int fd, const struct image_source *src, uint64_t at)
{
	size_t size = source_index_size(src);
	struct md_index_header *index = malloc(size);
	struct md_index_entry *e;
	uint64_t offset = 0;
	int err;

	if (!index)
		return -ENOMEM;
	md_index_header_set(index);
	e = (struct md_index_entry *)(index + 1);
	for (size_t i = src->first; i < src->count; i++) {
		struct md_packet h;

		source_packet(src, i, src->packets[i].len, i, &h);
		md_index_entry_set(e++, &h, offset);
		offset += packet_size(&src->packets[i]);
	}
	err = write_at(fd, index, size, at);
	free(index);
	return err;
}

/*
 * Copies all streams; begins[i] is the offset of the file of source i. *end: the end of the
 * streams.
 */
static int copy_streams(struct trace_image *image, struct snapshot *sn, uint64_t *begins,
			uint64_t *end)
{
	uint64_t at = sizeof(struct header);
	int err = 0;

	for (size_t i = 0; i < image->source_count && !err; i++) {
		uint64_t room = image->sources[i].size;

		err = copy_stream(image, &image->sources[i], at, sn, &begins[i]);
		at += room;
	}
	*end = at;
	return err;
}

/* Writes the other files after the streams, and then entries, paths and header. */
static int write_files(struct trace_image *image, const uint64_t *begins, uint64_t at)
{
	struct entry *entries = calloc(image->file_count + 1, sizeof(*entries));
	struct md_buf paths = MD_BUF_INIT;
	struct header h = { .magic = MAGIC, .count = image->file_count };
	int err = entries ? 0 : -ENOMEM;

	for (size_t i = 0; i < image->file_count && !err; i++) {
		const struct content *c = &image->contents[i];

		entries[i] = (struct entry){ .path = paths.len,
					     .offset = at,
					     .size = image->files[i].size,
					     .mtime = image->files[i].mtime };
		md_buf_put(&paths, image->files[i].path, strlen(image->files[i].path) + 1);
		if (c->kind == STREAM) {
			entries[i].offset = begins[c->source - image->sources];
			continue;
		}
		err = c->kind == TEXT ? write_at(image->fd, c->text.data, c->text.len, at)
					  : write_index(image->fd, c->source, at);
		at += image->files[i].size;
	}
	h.entries = at = (at + 7) & ~UINT64_C(7);
	at += image->file_count * sizeof(*entries);
	for (size_t i = 0; i < image->file_count && !err; i++)
		entries[i].path += at;
	h.size = at + paths.len;
	if (!err)
		err = paths.failed ? -ENOMEM
				   : write_at(image->fd, entries,
					      image->file_count * sizeof(*entries), h.entries);
	if (!err)
		err = write_at(image->fd, paths.data, paths.len, at);
	if (!err)
		err = write_at(image->fd, &h, sizeof(h), 0);
	md_buf_deinit(&paths);
	free(entries);
	return err;
}

static const struct entry *entries_of(const struct trace_image *image)
{
	return (const struct entry *)(image->map + ((const struct header *)image->map)->entries);
}

/*
 * image_check.c writes into the map. A tracer that only reads (recover.h) maps it privately,
 * because a daemon may use the same snapshot.
 */
static int map_memory(struct trace_image *image)
{
	int flags = image->s->tracer->reading ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED;
	struct stat st;
	void *at;

	if (fstat(image->fd, &st) < 0)
		return -errno;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, flags, image->fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	image->map = at;
	image->map_size = (size_t)st.st_size;
	return 0;
}

int snapshot_account(struct trace_image *image, uint64_t bytes)
{
	int err = session_frozen(image->s, (int64_t)bytes);

	if (!err)
		image->frozen += (int64_t)bytes;
	return err;
}

int snapshot_fill(struct trace_image *image, struct snapshot *sn)
{
	uint64_t *begins = calloc(image->source_count + 1, sizeof(*begins)), end;
	int err = begins ? 0 : -ENOMEM;

	if (!err)
		err = copy_streams(image, sn, begins, &end);
	if (!err)
		err = image_add_files(image);
	if (!err)
		err = snapshot_account(image, image->file_count * sizeof(struct entry));
	if (!err)
		err = write_files(image, begins, end);
	if (!err)
		err = map_memory(image);
	for (size_t i = 0; i < image->file_count && !err; i++) {
		image->contents[i].bytes = image->map + entries_of(image)[i].offset;
		md_buf_deinit(&image->contents[i].text);
		image->contents[i].text = (struct md_buf)MD_BUF_INIT;
	}
	free(begins);
	return err;
}

/* Whether header and entries are consistent with the size. Only daemons have written the memory. */
static bool is_consistent(const struct trace_image *image)
{
	const struct header *h = (const struct header *)image->map;
	const struct entry *e;

	if (image->map_size < sizeof(*h) || h->magic != MAGIC || h->size != image->map_size ||
	    h->count > h->size / sizeof(*e) || h->entries > h->size || h->entries % 8 ||
	    h->count * sizeof(*e) > h->size - h->entries)
		return false;
	e = entries_of(image);
	for (uint64_t i = 0; i < h->count; i++)
		if (e[i].offset > h->size || e[i].size > h->size - e[i].offset ||
		    e[i].path >= h->size || !memchr(image->map + e[i].path, 0, h->size - e[i].path))
			return false;
	return true;
}

static int adopt_files(struct trace_image *image)
{
	const struct header *h = (const struct header *)image->map;
	const struct entry *e = entries_of(image);

	image->files = calloc(h->count + 1, sizeof(*image->files));
	image->contents = calloc(h->count + 1, sizeof(*image->contents));
	if (!image->files || !image->contents)
		return -ENOMEM;
	for (; image->file_count < h->count; image->file_count++, e++) {
		struct image_file *f = &image->files[image->file_count];

		*f = (struct image_file){ .path = strdup((const char *)image->map + e->path),
					  .size = e->size,
					  .mtime = e->mtime };
		if (!f->path)
			return -ENOMEM;
		image->contents[image->file_count].bytes = image->map + e->offset;
		image->contents[image->file_count].unchecked = true;
	}
	return 0;
}

int snapshot_map(struct trace_image *image)
{
	int err = map_memory(image);

	if (!err && !is_consistent(image))
		err = -EBADMSG;
	return err ? err : adopt_files(image);
}
