/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace image: `trace/` at one moment. To take one, the daemon prints the metadata and plans each
 * stream's packets up to a mark (from the side tables), so that all sizes are known. The first read
 * of a stream file or its index copies the whole stream out of its ring.
 *
 * A stream file consists of an empty packet whose counter of discarded events is 0, a packet for
 * each sub-buffer, the last one cut at the mark, and an empty packet if events were discarded after
 * that. So a reader that adds up differences of the counter gets the number in `status`. A
 * sub-buffer that was overwritten before it was copied, or does not decode, becomes an empty packet
 * of the planned size, and a packet_seq_num is left out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "tracer/format/export/lket.h"
#include "tracer/format/export/ltt.h"
#include "tracer/format/foreign/foreign.h"
#include "tracer/view/cursor.h"
#include "tracer/session/session.h"
#include "tracer/output/snapshot/image.h"
#include "tracer/base/ring/stream_files.h"

#define TRIES 5

struct trace_image *image_new(struct session *s)
{
	struct trace_image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	image->refs = 1;
	image->fd = image->held = -1;
	image->s = session_ref(s);
	lock_init(&image->sealed_lock, NULL, LOCK_SOURCE);
	return image;
}

void image_uuid(const struct trace_image *image, const struct trace *t, uint8_t uuid[16])
{
	char name[17];

	memcpy(uuid, t->md->uuid, 16);
	if (!image->key)
		return;
	snprintf(name, sizeof(name), "%016" PRIx64, image->key);
	uuid_generate_sha1(uuid, t->md->uuid, name, strlen(name));
}

static int take_image(struct session *s, struct trace_image **out)
{
	struct trace_image *image = image_new(s);
	struct stream_set set = { 0 };
	struct foreign *im;
	uint64_t now;
	int err;

	if (!image)
		return -ENOMEM;
	im = foreign_get(s, &err);
	if (im) {
		err = image_plan_import(image, im);
		foreign_put(im);
	} else if (!err) {
		err = session_look(s, NULL, &set, &now);
	}
	if (im) {
		;
	} else if (!err && set.count && set.streams[0].log) {
		err = image_plan_output(image, &set, session_flush(s));
	} else if (!err) {
		err = image_plan_streams(image, &set);
		if (!err)
			err = image_add_files(image);
	}
	stream_set_deinit(&set);
	if (err) {
		image_put(image);
		return err;
	}
	*out = image;
	return 0;
}

int image_take(struct session *s, struct trace_image **out)
{
	int err = -ESTALE;

	/*
	 * Packets that only the ring had were overwritten while they were copied: by now they may
	 * be in files.
	 */
	for (int i = 0; i < TRIES && err == -ESTALE; i++)
		err = take_image(s, out);
	return err;
}

static int add_archived(void *arg, const char *path, uint64_t size, int64_t mtime)
{
	struct trace_image *image = arg;
	int err = image_add_file(image, ARCHIVED, NULL, size, 0, "%s%s", path, "");

	if (!err)
		image->files[image->file_count - 1].mtime = mtime;
	return err;
}

int image_take_archives(struct session *s, struct trace_image **out)
{
	struct trace_image *image = image_new(s);
	int err;

	if (!image)
		return -ENOMEM;
	err = archives_open(s, &image->archives);
	if (!err && image->archives)
		err = archives_each(image->archives, add_archived, image);
	if (!err)
		err = image_sort_files(image);
	if (err) {
		image_put(image);
		return err;
	}
	*out = image;
	return 0;
}

static int take_exported(struct session *s, struct trace_image **out,
			 int (*open_files)(struct session *s, struct export_files **out))
{
	struct trace_image *image = image_new(s);
	const char *path;
	uint64_t size;
	int err;

	if (!image)
		return -ENOMEM;
	err = open_files(s, &image->exported);
	while (!err && (path = export_files_path(image->exported, image->file_count, &size)))
		err = image_add_file(image, EXPORTED, NULL, size, 0, "%s%s", path, "");
	if (err) {
		image_put(image);
		return err;
	}
	*out = image;
	return 0;
}

int image_take_ltt(struct session *s, struct trace_image **out)
{
	return take_exported(s, out, ltt_export_open);
}

int image_take_lket(struct session *s, struct trace_image **out)
{
	return take_exported(s, out, lket_export_open);
}

size_t image_files(struct trace_image *image, const struct image_file **files)
{
	*files = image->files;
	return image->file_count;
}

struct trace_image *image_get(struct trace_image *image)
{
	__atomic_fetch_add(&image->refs, 1, __ATOMIC_RELAXED);
	return image;
}

void image_put(struct trace_image *image)
{
	struct session *s;

	/* Release and acquire as in region_put. */
	if (!image || __atomic_sub_fetch(&image->refs, 1, __ATOMIC_ACQ_REL))
		return;
	s = image->s;
	for (size_t i = 0; i < image->file_count; i++) {
		free(image->files[i].path);
		md_buf_deinit(&image->contents[i].text);
		if (image->contents[i].kind == OUTPUT)
			close(image->contents[i].fd);
		sealed_file_close(image->contents[i].sealed);
	}
	pthread_mutex_destroy(&image->sealed_lock);
	for (size_t i = 0; i < image->source_count; i++) {
		struct image_source *src = &image->sources[i];

		trace_put(src->stream.trace);
		region_put(src->stream.region);
		free(src->packets);
		free(src->data);
		pthread_mutex_destroy(&src->lock);
	}
	archives_close(image->archives);
	export_files_close(image->exported);
	if (image->frozen)
		session_frozen(s, -image->frozen);
	if (image->map)
		munmap(image->map, image->map_size);
	if (image->fd >= 0)
		close(image->fd);
	if (image->held >= 0)
		close(image->held);
	free(image->files);
	free(image->contents);
	free(image->sources);
	free(image);
	session_put(s);
}

static ssize_t read_sealed(struct trace_image *image, size_t i, uint64_t offset, void *buf,
			   size_t size)
{
	ssize_t n;

	pthread_mutex_lock(&image->sealed_lock);
	n = sealed_file_read(image->contents[i].sealed, buf, size, offset);
	pthread_mutex_unlock(&image->sealed_lock);
	if (n != -EBADMSG)
		return n;
	session_failed(image->s,
		       "output: %s: offset %llu: the packet is not valid, or its checksum is wrong",
		       image->files[i].path, (unsigned long long)offset);
	return -EIO;
}

ssize_t image_read(struct trace_image *image, size_t i, uint64_t offset, void *buf, size_t size)
{
	struct content *c;
	const void *data;
	int err = 0;

	if (i >= image->file_count)
		return -EINVAL;
	c = &image->contents[i];
	if (offset >= image->files[i].size)
		return 0;
	if (size > image->files[i].size - offset)
		size = (size_t)(image->files[i].size - offset);
	if (c->kind == ARCHIVED)
		return archives_read(image->archives, image->files[i].path, offset, buf, size);
	if (c->kind == EXPORTED)
		return export_files_read(image->exported, i, offset, buf, size);
	if (c->kind == SEALED)
		return read_sealed(image, i, offset, buf, size);
	if (c->kind == OUTPUT) {
		ssize_t n = pread(c->fd, buf, size, (off_t)offset);

		return n < 0 ? -errno : n;
	}
	if (c->source && !__atomic_load_n(&c->source->copied, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&c->source->lock);
		if (!c->source->copied && c->bytes)
			source_check(image, c->source);
		else if (!c->source->copied)
			err = source_copy(image, c->source);
		pthread_mutex_unlock(&c->source->lock);
		if (err)
			return err;
	}
	if (__atomic_load_n(&c->unchecked, __ATOMIC_ACQUIRE))
		snapshot_check(image, i);
	if (c->bytes)
		data = c->bytes;
	else if (c->kind == TEXT)
		data = c->text.data;
	else
		data = c->source->data + (c->kind == INDEX ? c->source->size : 0);
	memcpy(buf, (const char *)data + offset, size);
	return (ssize_t)size;
}
