// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An image of trace/ for the next daemon: what was planned, in a memfd. The events stay in the
 * rings, which outlive the daemon, so that the next one copies the same bytes. Only daemons write
 * the memfd; all of it is checked nevertheless.
 *
 * What a reader got of a stream was copied at one moment. If the next daemon finds a part of that
 * overwritten, it cannot know what the reader has got: then the stream answers -ESTALE.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/os/state_file.h"
#include "tracer/output/snapshot/image.h"
#include "tracer/session/session.h"

#define MAGIC UINT64_C(0x3165676d49646c48)
#define SIZE_MOST (64u << 20)

/* The memfd: this header, the sources, the files, then packets and texts. Offsets in bytes. */
struct kept_head {
	uint64_t magic;
	uint64_t size;                  /* of the memfd */
	uint64_t packet_size;           /* of struct packet */
	uint64_t source_count, file_count;
	uint64_t max_ts;
};

struct kept_source {
	uint64_t key, ring;             /* of its region */
	uint64_t copied;                /* 1: a reader may have bytes of it */
	uint64_t size, seq, lost_before;
	uint64_t first, count, packets; /* packets: offset of them */
	uint8_t uuid[16];
};

struct kept_file {
	uint64_t path, text;            /* offsets; the path ends with a NUL */
	uint64_t size;
	int64_t mtime;
	uint64_t kind, source;
};

/* ---- the daemon that has the image ---- */

static bool can_be_held(const struct trace_image *image)
{
	for (size_t i = 0; i < image->file_count; i++) {
		const struct content *c = &image->contents[i];

		if (c->bytes || (c->kind != TEXT && (c->kind != STREAM && c->kind != INDEX)))
			return false;
	}
	return image->source_count != 0;
}

static void put_sources(const struct trace_image *image, struct md_buf *out, struct md_buf *rest,
			uint64_t base)
{
	for (size_t i = 0; i < image->source_count; i++) {
		const struct image_source *src = &image->sources[i];
		struct kept_source h = {
			.key = src->stream.region->key, .ring = src->stream.ring,
			.size = src->size, .seq = src->seq, .lost_before = src->lost_before,
			.first = src->first, .count = src->count, .packets = base + rest->len,
		};

		memcpy(h.uuid, src->uuid, sizeof(h.uuid));
		md_buf_put(out, &h, sizeof(h));
		md_buf_put(rest, src->packets, src->count * sizeof(*src->packets));
	}
}

static void put_files(const struct trace_image *image, struct md_buf *out, struct md_buf *rest,
		      uint64_t base)
{
	for (size_t i = 0; i < image->file_count; i++) {
		const struct image_file *f = &image->files[i];
		const struct content *c = &image->contents[i];
		struct kept_file h = {
			.size = f->size, .mtime = f->mtime, .kind = c->kind,
			.source = c->source ? (uint64_t)(c->source - image->sources) : 0,
		};

		h.path = base + rest->len;
		md_buf_put(rest, f->path, strlen(f->path) + 1);
		h.text = base + rest->len;
		if (c->kind == TEXT)
			md_buf_put(rest, c->text.data, c->text.len);
		md_buf_put(out, &h, sizeof(h));
	}
}

/* Where the memfd says that a stream was copied. */
static void set_notes(struct trace_image *image)
{
	for (size_t i = 0; i < image->source_count; i++)
		image->sources[i].note = sizeof(struct kept_head) + i * sizeof(struct kept_source) +
					 offsetof(struct kept_source, copied);
}

int image_hold(struct trace_image *image)
{
	struct kept_head head = {
		.magic = MAGIC, .packet_size = sizeof(struct packet), .max_ts = image->max_ts,
		.source_count = image->source_count, .file_count = image->file_count,
	};
	struct md_buf out = MD_BUF_INIT, rest = MD_BUF_INIT;
	uint64_t base = sizeof(head) + image->source_count * sizeof(struct kept_source) +
			image->file_count * sizeof(struct kept_file);
	int fd = -1, err;

	if (!can_be_held(image))
		return -ENOTSUP;
	md_buf_put(&out, &head, sizeof(head));
	put_sources(image, &out, &rest, base);
	put_files(image, &out, &rest, base);
	md_buf_put(&out, rest.data, rest.len);
	head.size = out.len;
	err = out.failed || rest.failed ? -ENOMEM : out.len > SIZE_MOST ? -EFBIG : 0;
	if (!err) {
		memcpy(out.data, &head, sizeof(head));
		fd = memfd_create("trail-image", MFD_CLOEXEC);
		err = fd < 0 ? -errno : write_all(fd, out.data, out.len);
	}
	md_buf_deinit(&out);
	md_buf_deinit(&rest);
	if (err && fd >= 0)
		close(fd);
	if (err)
		return err;
	set_notes(image);
	image->held = fd;
	return 0;
}

int image_held(const struct trace_image *image)
{
	return image->held;
}

/* ---- the next daemon ---- */

/* A part of the memfd with `count` elements, or NULL: it is not within it. */
static const void *part(const struct md_buf *all, uint64_t at, uint64_t count, size_t size)
{
	if (at > all->len || count > (all->len - at) / size)
		return NULL;
	return all->data + at;
}

/* The packet's bytes are within its sub-buffer. */
static bool is_packet(const struct packet *p, const struct region_geometry *g)
{
	return !p->len || (p->len <= g->subbuf_size && p->pos / g->subbuf_size == p->subbuf &&
			   (p->pos & (g->subbuf_size - 1)) + p->len <= g->subbuf_size);
}

static int adopt_packets(struct image_source *src, const struct kept_source *h,
			 const struct md_buf *all)
{
	const struct region_geometry *g = &src->stream.region->geo;
	const void *packets = part(all, h->packets, h->count, sizeof(struct packet));
	uint64_t sum = 0;

	if (!packets || !h->count || h->first >= h->count || h->count > g->subbuf_count + 2u)
		return -EBADMSG;
	src->packets = calloc(h->count, sizeof(*src->packets));
	if (!src->packets)
		return -ENOMEM;
	memcpy(src->packets, packets, h->count * sizeof(*src->packets));
	src->count = h->count;
	src->first = h->first;
	src->size = h->size;
	src->seq = h->seq;
	src->lost_before = h->lost_before;
	src->was_copied = h->copied != 0;
	memcpy(src->uuid, h->uuid, sizeof(src->uuid));
	for (size_t i = src->first; i < src->count; i++) {
		if (!is_packet(&src->packets[i], g))
			return -EBADMSG;
		sum += packet_size(&src->packets[i]);
	}
	return sum == src->size ? 0 : -EBADMSG;
}

static const struct stream *find_ring(const struct stream_set *set, const struct kept_source *h)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->streams[i].region->key == h->key && set->streams[i].ring == h->ring)
			return &set->streams[i];
	return NULL;
}

static int adopt_sources(struct trace_image *image, const struct kept_source *sources, size_t count,
			 const struct md_buf *all)
{
	struct stream_set set = { 0 };
	int err = session_streams(image->s, NULL, &set);

	image->sources = calloc(count + 1, sizeof(*image->sources));
	if (!err && !image->sources)
		err = -ENOMEM;
	for (size_t i = 0; i < count && !err; i++) {
		struct kept_source h;
		const struct stream *st;

		memcpy(&h, &sources[i], sizeof(h));
		st = find_ring(&set, &h);
		err = st && !st->input ? adopt_packets(image_add_source(image, st), &h, all)
				       : -ESTALE;
	}
	stream_set_deinit(&set);
	return err;
}

static int adopt_file(struct trace_image *image, const struct kept_file *h,
		      const struct md_buf *all)
{
	bool text = h->kind == TEXT;
	const char *path = part(all, h->path, 1, 1), *bytes = NULL;
	struct image_source *src = NULL;
	struct md_buf copy = MD_BUF_INIT;
	int err;

	if (text)
		bytes = part(all, h->text, h->size, 1);
	else if (h->source < image->source_count)
		src = &image->sources[h->source];
	if (!text && (!src || h->size != (h->kind == STREAM ? src->size : source_index_size(src))))
		return -EBADMSG;
	if (!path || !memchr(path, 0, all->len - h->path) || (text && !bytes) ||
	    (!text && h->kind != STREAM && h->kind != INDEX))
		return -EBADMSG;
	if (text) {
		md_buf_put(&copy, bytes, h->size);
		err = image_add_text(image, &copy, 0, "%s%s", path, "");
	} else {
		err = image_add_file(image, (enum kind)h->kind, src, h->size, 0, "%s%s", path, "");
	}
	if (!err)
		image->files[image->file_count - 1].mtime = h->mtime;
	return err;
}

static int adopt_all(struct trace_image *image, const struct md_buf *all)
{
	const struct kept_source *sources;
	const struct kept_file *files;
	struct kept_head head;
	int err;

	if (all->len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, all->data, sizeof(head));
	sources = part(all, sizeof(head), head.source_count, sizeof(*sources));
	files = sources ? part(all, sizeof(head) + head.source_count * sizeof(*sources),
			       head.file_count, sizeof(*files)) : NULL;
	if (head.magic != MAGIC || head.size != all->len ||
	    head.packet_size != sizeof(struct packet) || !files)
		return -EBADMSG;
	image->max_ts = head.max_ts;
	err = adopt_sources(image, sources, head.source_count, all);
	for (uint64_t i = 0; i < head.file_count && !err; i++) {
		struct kept_file h;

		memcpy(&h, &files[i], sizeof(h));
		err = adopt_file(image, &h, all);
	}
	return err;
}

static int read_all(int fd, struct md_buf *out)
{
	struct stat st;
	char *to;

	if (fstat(fd, &st) || st.st_size <= 0 || st.st_size > SIZE_MOST)
		return -EBADMSG;
	to = md_buf_room(out, (size_t)st.st_size);
	if (!to)
		return -ENOMEM;
	out->len = (size_t)st.st_size;
	return pread(fd, to, out->len, 0) == st.st_size ? 0 : -EIO;
}

int image_adopt(struct session *s, int fd, struct trace_image **out)
{
	struct trace_image *image = image_new(s);
	struct md_buf all = MD_BUF_INIT;
	int err = image ? read_all(fd, &all) : -ENOMEM;

	if (!err)
		err = adopt_all(image, &all);
	md_buf_deinit(&all);
	if (err) {
		image_put(image);
		return err;
	}
	set_notes(image);
	image->held = fd;
	*out = image;
	return 0;
}
