/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `trace/` at one moment. Taking it costs the metadata and a plan of each stream's packets (from
 * the side tables, up to a mark), so that all sizes are known. The first read of a stream file or
 * of its index copies the whole stream out of its ring.
 *
 * A stream file is: an empty packet, whose counter of discarded events is 0; a packet per
 * sub-buffer held, the last cut at the mark; an empty packet, if events were discarded after that.
 * So a reader that adds up differences of the counter comes to what `status` says. A sub-buffer
 * that was overwritten before it was copied, or does not decode, is an empty packet of the planned
 * size, and its number leaves out one.
 *
 * In a session with an output, the moment is that of the files of the current chunk: what the rings
 * had was written to them right before. They only grow, and are held open, so that nothing is
 * copied. If it cannot be written, what the files lack is one more file of the stream, copied at
 * once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracer/snapshot/archives.h"
#include "tracer/view/cursor.h"
#include "tracer/snapshot/image.h"
#include "tracer/ring/stream_files.h"

#define TRIES 5

uint64_t source_index_size(const struct source *src)
{
	return sizeof(struct md_index_header) +
	       (src->count - src->first) * sizeof(struct md_index_entry);
}

static void plan_packet(struct source *src, const struct packet *p)
{
	src->packets[src->count++] = *p;
	src->size += packet_size(p);
}

/* Plans all packets of a stream up to the mark of p, except those that are in files. */
static int plan_packets(struct source *src, struct packetizer *p, bool in_files)
{
	uint32_t most = src->stream.region->geo.subbuf_count + 2;
	struct packet packet;

	src->packets = calloc(most, sizeof(*src->packets));
	if (!src->packets)
		return -ENOMEM;
	src->seq = p->at.seq;
	if (!in_files && packetizer_lead(p, &packet))
		plan_packet(src, &packet);
	/* A mark has at most as many sub-buffers as the ring. */
	while (src->count + 1 < most && packetizer_next(p, true, &packet))
		plan_packet(src, &packet);
	if (packetizer_trail(p, &packet))
		plan_packet(src, &packet);
	return 0;
}

/* A source for the ring of the stream, whatever was written to files. Takes references. */
static struct source *add_source(struct trace_image *m, const struct stream *st)
{
	struct source *src = &m->sources[m->source_count++];

	pthread_mutex_init(&src->lock, NULL);
	src->stream = *st;
	src->stream.log = NULL;
	trace_get(st->trace);
	region_get(st->region);
	return src;
}

/* Room for one more file, zeroed. */
static bool room(struct trace_image *m)
{
	size_t n = m->file_room ? 2 * m->file_room : 16;
	struct image_file *files;
	struct content *contents;

	if (m->file_count < m->file_room)
		return true;
	files = realloc(m->files, n * sizeof(*files));
	if (files)
		m->files = files;
	contents = realloc(m->contents, n * sizeof(*contents));
	if (contents)
		m->contents = contents;
	if (!files || !contents)
		return false;
	memset(files + m->file_room, 0, (n - m->file_room) * sizeof(*files));
	memset(contents + m->file_room, 0, (n - m->file_room) * sizeof(*contents));
	m->file_room = n;
	return true;
}

static int add_file(struct trace_image *m, enum kind kind, struct source *src, uint64_t size,
		    uint64_t ts, const char *fmt, const char *dir, const char *name)
{
	struct image_file *f = room(m) ? &m->files[m->file_count] : NULL;
	struct md_buf path = MD_BUF_INIT;

	if (!f)
		return -ENOMEM;

	md_buf_printf(&path, fmt, dir, name);
	md_buf_str(&path);
	if (path.failed) {
		md_buf_deinit(&path);
		return -ENOMEM;
	}
	f->path = path.data;
	f->size = size;
	f->mtime = (int64_t)(session_clock_offset(m->s) + ts);
	m->contents[m->file_count].kind = kind;
	m->contents[m->file_count].source = src;
	m->file_count++;
	return 0;
}

static int add_metadata(struct trace_image *m, struct trace *t, uint64_t ts)
{
	struct content *c = room(m) ? &m->contents[m->file_count] : NULL;
	int err;

	if (!c)
		return -ENOMEM;
	pthread_mutex_lock(&t->lock);
	err = md_ctf_print(t->md, &c->text);
	pthread_mutex_unlock(&t->lock);
	if (err || c->text.failed) {
		md_buf_deinit(&c->text);
		return -ENOMEM;
	}
	err = session_frozen(m->s, (int64_t)c->text.len);
	if (err) {
		md_buf_deinit(&c->text);
		return err;
	}
	m->frozen += (int64_t)c->text.len;
	err = add_file(m, METADATA, NULL, c->text.len, ts, "%s/%s", t->path, "metadata");
	if (err)
		md_buf_deinit(&c->text);
	return err;
}

struct row {
	struct image_file file;
	struct content content;
};

static int compare_rows(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->file.path, ((const struct row *)b)->file.path);
}

static int sort_files(struct trace_image *m)
{
	struct row *rows = calloc(m->file_count + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < m->file_count; i++) {
		rows[i].file = m->files[i];
		rows[i].content = m->contents[i];
	}
	qsort(rows, m->file_count, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < m->file_count; i++) {
		m->files[i] = rows[i].file;
		m->contents[i] = rows[i].content;
	}
	free(rows);
	return 0;
}

/* Files of all sources and the metadata of their traces; those of a trace stand side by side. */
int image_add_files(struct trace_image *m)
{
	uint64_t newest = 0;
	int err = 0;

	for (size_t i = 0; i < m->source_count && !err; i++) {
		struct source *src = &m->sources[i];
		struct trace *t = src->stream.trace;
		uint64_t ts = src->packets[src->count - 1].header.timestamp_end;

		err = add_file(m, STREAM, src, src->size, ts, "%s/%s", t->path, src->stream.file);
		if (!err)
			err = add_file(m, INDEX, src, source_index_size(src), ts, "%s/index/%s.idx",
				       t->path, src->stream.file);
		newest = ts > newest ? ts : newest;
		if (!err && (i + 1 == m->source_count || m->sources[i + 1].stream.trace != t)) {
			err = add_metadata(m, t, newest);
			newest = 0;
		}
	}
	return err ? err : sort_files(m);
}

/*
 * Marks first, all close together; then the plans; the metadata comes later, and so has every event
 * of the streams.
 */
static int plan_all(struct trace_image *m, const struct stream_set *set)
{
	struct packetizer *cuts = calloc(set->count + 1, sizeof(*cuts));
	int err = -ENOMEM;

	m->sources = calloc(set->count + 1, sizeof(*m->sources));
	if (!cuts || !m->sources || !room(m))
		goto out;
	for (size_t i = 0; i < set->count; i++) {
		cuts[i].stream = &set->streams[i];
		cuts[i].base = ring_cleared_lost(cuts[i].stream);
		ring_mark(cuts[i].stream, &cuts[i].mark);
	}
	m->max_ts = clock_now(session_clock(m->s)) + 1000000000;        /* as in merge_look */
	err = 0;
	for (size_t i = 0; i < set->count && !err; i++) {
		cuts[i].max_ts = m->max_ts;
		err = plan_packets(add_source(m, &set->streams[i]), &cuts[i], false);
	}
out:
	free(cuts);
	return err;
}

/* ---- of an output ---- */

static bool lacks(const struct ring_mark *mark, const struct outend *end)
{
	return mark->head > end->pos || end->lost_before + mark->lost > end->lost;
}

static int copy(struct trace_image *m, struct source *src);

/* A file of what the ring has behind the files. -ESTALE: it is not there any more. */
static int add_rest(struct trace_image *m, const struct stream *st, const struct ring_mark *mark,
		    const struct outend *end, const char *name)
{
	struct source *src = add_source(m, st);
	struct packetizer cut = {
		.stream = st,
		.mark = *mark,
		.base = ring_cleared_lost(st),
		.max_ts = m->max_ts,
		.at = { .pos = end->pos,
			.ts = end->ts,
			.seq = end->seq,
			.lost = end->lost,
			.lost_before = end->lost_before },
	};
	char file[208];
	int err = plan_packets(src, &cut, end->serial != 0);

	if (!err)
		err = copy(m, src);
	for (size_t i = 0; i < src->count && !err; i++)
		err = src->packets[i].gone ? -ESTALE : 0;
	if (!err && src->count) {
		snprintf(file, sizeof(file), "%s.idx", name);
		err = add_file(m, STREAM, src, src->size, 0, "%s/%s", st->trace->path, name);
		if (!err)
			err = add_file(m, INDEX, src, source_index_size(src), 0, "%s/index/%s",
				       st->trace->path, file);
	}
	return err;
}

/* One file of it, or its index. */
static int add_output(struct trace_image *m, const struct stream *st, const struct stream_file *of,
		      bool index)
{
	int fd = index ? outfile_open(of, true) : stream_files_open(st->log, of), err;
	const struct trace *t = st->trace;

	/* Its owner has removed it: then it is no part of the recording any more. */
	if (fd == -ENOENT || fd == -ESTALE)
		return 0;
	if (fd < 0)
		return fd;
	err = index ? add_file(m, OUTPUT, NULL, of->index_size, 0, "%s/index/%s.idx", t->path,
			       of->name)
		    : add_file(m, OUTPUT, NULL, of->size, 0, "%s/%s", t->path, of->name);
	if (err)
		close(fd);
	else
		m->contents[m->file_count - 1].fd = fd;
	return err;
}

static void set_times(struct trace_image *m, size_t from, uint64_t ts)
{
	for (; from < m->file_count; from++)
		m->files[from].mtime = (int64_t)(session_clock_offset(m->s) + ts);
}

/* The files of a stream, and with `all` what they lack. */
static int take_stream(struct trace_image *m, const struct stream *st, bool all,
		       struct ring_mark *mark)
{
	struct outend end = stream_files_end(st->log);
	struct stream_file of;
	char name[200];
	int err = 0;

	ring_mark(st, mark);
	snprintf(name, sizeof(name), end.serial ? "%s.unwritten" : "%s", st->file);
	for (uint64_t serial = stream_files_first(st->log);
	     !err && stream_files_find(st->log, serial, &of); serial = of.serial + 1) {
		if (of.serial == end.serial) {
			of.size = end.size;
			of.index_size = end.index_size;
		}
		if (of.serial <= end.serial) {
			err = add_output(m, st, &of, false);
			if (!err)
				err = add_output(m, st, &of, true);
		}
		trace_place_put(of.place);
	}
	return !err && all && lacks(mark, &end) ? add_rest(m, st, mark, &end, name) : err;
}

/* flushed: the files have all that was there when one asked. */
static int take_output(struct trace_image *m, const struct stream_set *set, bool flushed)
{
	uint64_t newest = 0;
	size_t first = 0;
	int err = 0;

	m->max_ts = clock_now(session_clock(m->s)) + 1000000000;        /* as in merge_look */
	m->sources = calloc(set->count + 1, sizeof(*m->sources));
	if (!m->sources)
		return -ENOMEM;
	for (size_t i = 0; i < set->count && !err; i++) {
		const struct stream *st = &set->streams[i];
		struct ring_mark mark;

		err = take_stream(m, st, !flushed, &mark);
		newest = mark.last_ts > newest ? mark.last_ts : newest;
		if (err || (i + 1 < set->count && set->streams[i + 1].trace == st->trace))
			continue;
		err = add_metadata(m, st->trace, newest);
		set_times(m, first, newest);
		first = m->file_count;
		newest = 0;
	}
	return err ? err : sort_files(m);
}

struct trace_image *image_new(struct session *s)
{
	struct trace_image *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->refs = 1;
	m->fd = -1;
	m->s = session_ref(s);
	return m;
}

int image_plan(struct trace_image *m)
{
	struct stream_set set = { 0 };
	uint64_t now;
	int err = session_look(m->s, NULL, &set, &now);

	if (!err)
		err = plan_all(m, &set);
	stream_set_deinit(&set);
	return err;
}

static int take(struct session *s, struct trace_image **out)
{
	struct trace_image *m = image_new(s);
	struct stream_set set = { 0 };
	uint64_t now;
	int err;

	if (!m)
		return -ENOMEM;
	err = session_look(s, NULL, &set, &now);
	if (!err && set.count && set.streams[0].log) {
		err = take_output(m, &set, session_flush(s));
	} else if (!err) {
		err = plan_all(m, &set);
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

	/* (Written after all, and overwritten, while it was copied.) */
	for (int i = 0; i < TRIES && err == -ESTALE; i++)
		err = take(s, out);
	return err;
}

static int add_archived(void *arg, const char *path, uint64_t size, int64_t mtime)
{
	struct trace_image *m = arg;
	int err = add_file(m, ARCHIVED, NULL, size, 0, "%s%s", path, "");

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
		err = sort_files(m);
	if (err) {
		image_put(m);
		return err;
	}
	*out = m;
	return 0;
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

	/* Release and acquire: as in region_put. */
	if (!m || __atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL))
		return;
	s = m->s;
	for (size_t i = 0; i < m->file_count; i++) {
		free(m->files[i].path);
		md_buf_deinit(&m->contents[i].text);
		if (m->contents[i].kind == OUTPUT)
			close(m->contents[i].fd);
	}
	for (size_t i = 0; i < m->source_count; i++) {
		struct source *src = &m->sources[i];

		trace_put(src->stream.trace);
		region_put(src->stream.region);
		free(src->packets);
		free(src->data);
		pthread_mutex_destroy(&src->lock);
	}
	archives_close(m->archives);
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

uint64_t events_sound(const struct md_stream *class, const uint8_t *bytes, uint64_t len,
		      uint64_t begin_ts, uint64_t end_ts)
{
	struct md_decoder d = { .stream = class, .p = bytes, .end = bytes + len, .ts = begin_ts };
	uint64_t before = d.ts, good = 0;
	struct md_occurrence o;

	while (md_decoder_next(&d, &o) == 1 && o.ts >= before && o.ts <= end_ts) {
		before = o.ts;
		good = (uint64_t)(d.p - bytes);
	}
	return good;
}

void source_packet(const struct source *src, size_t i, uint64_t good, uint64_t seq,
		   struct md_packet *h)
{
	*h = src->packets[i].header;
	h->content_size = 8 * (MD_PACKET_HEADER + good);
	h->packet_seq_num = seq;
}

static void source_check(const struct source *src, uint8_t *file, uint8_t *index)
{
	struct md_index_entry *entry =
		(struct md_index_entry *)(index + sizeof(struct md_index_header));
	uint64_t at = 0, seq = src->seq + src->first;

	md_index_header_set((struct md_index_header *)index);
	for (size_t i = src->first; i < src->count; i++) {
		const struct packet *p = &src->packets[i];
		uint64_t good = p->len && !p->gone ? events_sound(src->stream.class,
								  file + at + MD_PACKET_HEADER,
								  p->len, p->header.timestamp_begin,
								  p->header.timestamp_end)
						   : 0;
		struct md_packet h;

		seq += good < p->len;
		source_packet(src, i, good, seq++, &h);
		memcpy(file + at, &h, sizeof(h));
		md_index_entry_set(entry++, &h, at);
		at += packet_size(p);
	}
}

/* Copies a sub-buffer behind its packet's header, if it is still there. */
static void copy_subbuf(struct packet *p, const struct stream *s, uint8_t *to)
{
	memcpy(to, packet_content(p, s), p->len);
	p->gone = !ring_holds(s, p->subbuf);
	if (p->gone)
		memset(to, 0, p->len);
}

/* Makes the file and its index. src->lock is held. */
static int copy(struct trace_image *m, struct source *src)
{
	int64_t bytes = (int64_t)(src->size + source_index_size(src));
	uint64_t at = 0;
	int err = session_frozen(m->s, bytes);

	if (err)
		return err;
	src->data = malloc((size_t)bytes);
	if (!src->data) {
		session_frozen(m->s, -bytes);
		return -ENOMEM;
	}
	__atomic_fetch_add(&m->frozen, bytes, __ATOMIC_RELAXED);
	for (size_t i = src->first; i < src->count; i++) {
		if (src->packets[i].len)
			copy_subbuf(&src->packets[i], &src->stream,
				    src->data + at + MD_PACKET_HEADER);
		at += packet_size(&src->packets[i]);
	}
	source_check(src, src->data, src->data + src->size);
	/* Release: a reader that sees it sees the data. */
	__atomic_store_n(&src->copied, true, __ATOMIC_RELEASE);
	return 0;
}

/*
 * What was copied when the snapshot was made is looked at when it is first read. src->lock is held.
 */
static int check(struct trace_image *m, struct source *src)
{
	uint8_t *file = NULL, *index = NULL;

	for (size_t i = 0; i < m->file_count; i++)
		if (m->contents[i].source == src)
			*(m->contents[i].kind == STREAM ? &file : &index) = m->contents[i].bytes;
	if (file && index)
		source_check(src, file, index);
	__atomic_store_n(&src->copied, true, __ATOMIC_RELEASE);         /* as in copy */
	return 0;
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
	if (c->kind == OUTPUT) {
		ssize_t n = pread(c->fd, buf, size, (off_t)offset);

		return n < 0 ? -errno : n;
	}
	if (c->source && !__atomic_load_n(&c->source->copied, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&c->source->lock);
		if (!c->source->copied)
			err = c->bytes ? check(m, c->source) : copy(m, c->source);
		pthread_mutex_unlock(&c->source->lock);
		if (err)
			return err;
	}
	if (__atomic_load_n(&c->unchecked, __ATOMIC_ACQUIRE))
		snapshot_check(m, i);
	if (c->bytes)
		data = c->bytes;
	else if (c->kind == METADATA)
		data = c->text.data;
	else
		data = c->source->data + (c->kind == INDEX ? c->source->size : 0);
	memcpy(buf, (const char *)data + offset, size);
	return (ssize_t)size;
}
