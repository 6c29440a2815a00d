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
	struct trace_image *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->refs = 1;
	m->fd = -1;
	m->s = session_ref(s);
	lock_init(&m->sealed_lock, NULL, LOCK_SOURCE);
	return m;
}

void image_uuid(const struct trace_image *m, const struct trace *t, uint8_t uuid[16])
{
	char name[17];

	memcpy(uuid, t->md->uuid, 16);
	if (!m->key)
		return;
	snprintf(name, sizeof(name), "%016" PRIx64, m->key);
	uuid_generate_sha1(uuid, t->md->uuid, name, strlen(name));
}

static int take_image(struct session *s, struct trace_image **out)
{
	struct trace_image *m = image_new(s);
	struct stream_set set = { 0 };
	struct foreign *im;
	uint64_t now;
	int err;

	if (!m)
		return -ENOMEM;
	im = foreign_get(s, &err);
	if (im) {
		err = image_plan_import(m, im);
		foreign_put(im);
	} else if (!err) {
		err = session_look(s, NULL, &set, &now);
	}
	if (im) {
		;
	} else if (!err && set.count && set.streams[0].log) {
		err = image_plan_output(m, &set, session_flush(s));
	} else if (!err) {
		err = image_plan_streams(m, &set);
		if (!err)
			err = image_add_files(m);
	}
	stream_set_deinit(&set);
	if (err) {
		image_put(m);
		return err;
	}
	*out = m;
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
	struct trace_image *m = arg;
	int err = image_add_file(m, ARCHIVED, NULL, size, 0, "%s%s", path, "");

	if (!err)
		m->files[m->file_count - 1].mtime = mtime;
	return err;
}

int image_take_archives(struct session *s, struct trace_image **out)
{
	struct trace_image *m = image_new(s);
	int err;

	if (!m)
		return -ENOMEM;
	err = archives_open(s, &m->archives);
	if (!err && m->archives)
		err = archives_each(m->archives, add_archived, m);
	if (!err)
		err = image_sort_files(m);
	if (err) {
		image_put(m);
		return err;
	}
	*out = m;
	return 0;
}

static int take_exported(struct session *s, struct trace_image **out,
			 int (*open_files)(struct session *s, struct export_files **out))
{
	struct trace_image *m = image_new(s);
	const char *path;
	uint64_t size;
	int err;

	if (!m)
		return -ENOMEM;
	err = open_files(s, &m->exported);
	while (!err && (path = export_files_path(m->exported, m->file_count, &size)))
		err = image_add_file(m, EXPORTED, NULL, size, 0, "%s%s", path, "");
	if (err) {
		image_put(m);
		return err;
	}
	*out = m;
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

size_t image_files(struct trace_image *m, const struct image_file **files)
{
	*files = m->files;
	return m->file_count;
}

struct trace_image *image_get(struct trace_image *m)
{
	__atomic_fetch_add(&m->refs, 1, __ATOMIC_RELAXED);
	return m;
}

void image_put(struct trace_image *m)
{
	struct session *s;

	/* Release and acquire as in region_put. */
	if (!m || __atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL))
		return;
	s = m->s;
	for (size_t i = 0; i < m->file_count; i++) {
		free(m->files[i].path);
		md_buf_deinit(&m->contents[i].text);
		if (m->contents[i].kind == OUTPUT)
			close(m->contents[i].fd);
		sealed_file_close(m->contents[i].sealed);
	}
	pthread_mutex_destroy(&m->sealed_lock);
	for (size_t i = 0; i < m->source_count; i++) {
		struct source *src = &m->sources[i];

		trace_put(src->stream.trace);
		region_put(src->stream.region);
		free(src->packets);
		free(src->data);
		pthread_mutex_destroy(&src->lock);
	}
	archives_close(m->archives);
	export_files_close(m->exported);
	if (m->frozen)
		session_frozen(s, -m->frozen);
	if (m->map)
		munmap(m->map, m->map_size);
	if (m->fd >= 0)
		close(m->fd);
	free(m->files);
	free(m->contents);
	free(m->sources);
	free(m);
	session_put(s);
}

static ssize_t read_sealed(struct trace_image *m, size_t i, uint64_t offset, void *buf, size_t size)
{
	ssize_t n;

	pthread_mutex_lock(&m->sealed_lock);
	n = sealed_file_read(m->contents[i].sealed, buf, size, offset);
	pthread_mutex_unlock(&m->sealed_lock);
	if (n != -EBADMSG)
		return n;
	session_failed(m->s,
		       "output: %s: offset %llu: the packet is not valid, or its checksum is wrong",
		       m->files[i].path, (unsigned long long)offset);
	return -EIO;
}

ssize_t image_read(struct trace_image *m, size_t i, uint64_t offset, void *buf, size_t size)
{
	struct content *c;
	const void *data;
	int err = 0;

	if (i >= m->file_count)
		return -EINVAL;
	c = &m->contents[i];
	if (offset >= m->files[i].size)
		return 0;
	if (size > m->files[i].size - offset)
		size = (size_t)(m->files[i].size - offset);
	if (c->kind == ARCHIVED)
		return archives_read(m->archives, m->files[i].path, offset, buf, size);
	if (c->kind == EXPORTED)
		return export_files_read(m->exported, i, offset, buf, size);
	if (c->kind == SEALED)
		return read_sealed(m, i, offset, buf, size);
	if (c->kind == OUTPUT) {
		ssize_t n = pread(c->fd, buf, size, (off_t)offset);

		return n < 0 ? -errno : n;
	}
	if (c->source && !__atomic_load_n(&c->source->copied, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&c->source->lock);
		if (!c->source->copied && c->bytes)
			source_check(m, c->source);
		else if (!c->source->copied)
			err = source_copy(m, c->source);
		pthread_mutex_unlock(&c->source->lock);
		if (err)
			return err;
	}
	if (__atomic_load_n(&c->unchecked, __ATOMIC_ACQUIRE))
		snapshot_check(m, i);
	if (c->bytes)
		data = c->bytes;
	else if (c->kind == TEXT)
		data = c->text.data;
	else
		data = c->source->data + (c->kind == INDEX ? c->source->size : 0);
	memcpy(buf, (const char *)data + offset, size);
	return (ssize_t)size;
}
