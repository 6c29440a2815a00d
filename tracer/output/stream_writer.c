/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One stream on its way to its files. Packets are headers that are made here, and bytes straight
 * from the ring: what is below the head does not change, and in overwrite mode it is looked
 * afterwards whether it did.
 *
 * The first packet of a stream in a chunk is empty: it has the counter of discarded events as it
 * was before, so that a reader who adds up differences comes to the number lost in this chunk.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tracer/output/directory.h"
#include "tracer/output/output.h"
#include "tracer/ring/packetizer.h"
#include "tracer/session/streams.h"

#define BATCH 16                /* packets that are written at once */
#define BATCH_BYTES (1u << 20)  /* … until they have so many bytes: room is made early */
#define VARIANTS 1000

struct batch {
	struct packetizer cut;                  /* its position is after the last packet */
	struct packet packets[BATCH];
	struct iovec iov[2 * BATCH + 1];        /* one more for recycle_put */
	struct packet_position after[BATCH];    /* the position after each packet */
	uint64_t bytes;
	unsigned int count, iovs;
};

struct stream_writer *stream_writer_create(struct output *o, const struct stream *st,
					   struct trace_dir *t)
{
	struct stream_writer *os = calloc(1, sizeof(*os));
	bool kernel = st->trace->uid == KERNEL_UID;

	if (!os)
		return NULL;
	os->st = *st;
	trace_get(st->trace);
	region_get(st->region);
	stream_files_get(st->log);
	os->trace = t;
	os->fd = os->index_fd = -1;
	os->at.key = st->region->key;
	os->at.ring = st->ring;
	os->at.chunk = o->head.chunk;
	os->at.cleared = o->head.cleared;
	os->hold =
		session_periods(o->s, kernel ? OWNER_KERNEL : st->trace->owner, st->channel).hold;
	session_file_limits(o->s, kernel, st->channel, &os->file_size, &os->file_count);
	stream_files_chunk(st->log, o->head.chunk);
	return os;
}

/* Cuts off what is not whole; if that fails, the next write begins with it. */
static int cut_back(struct stream_writer *os, int err)
{
	os->needs_truncate = ftruncate(os->fd, (off_t)os->at.size) < 0 ||
			     ftruncate(os->index_fd, (off_t)os->at.index_size) < 0;
	os->spare = 0;
	return err || !os->needs_truncate ? err : -errno;
}

static struct outend end_of(const struct stream_writer *os)
{
	return (struct outend){ .pos = os->at.pos,
				.ts = os->at.ts,
				.seq = os->at.seq,
				.lost = os->at.lost,
				.lost_before = os->at.lost_before };
}

void stream_writer_tell(const struct stream_writer *os)
{
	struct outend end = end_of(os);

	stream_files_set_end(os->st.log, &end);
}

static void stream_writer_close(struct stream_writer *os)
{
	if (os->fd >= 0 && os->spare)
		cut_back(os, 0);
	if (os->fd >= 0)
		recycle_close(os, os->fd);
	if (os->index_fd >= 0)
		close(os->index_fd);
	os->fd = os->index_fd = -1;
	os->needs_truncate = false;
}

void stream_writer_leave(struct stream_writer *os)
{
	stream_writer_close(os);
	recycle_forget(os);
}

void stream_writer_destroy(struct stream_writer *os)
{
	stream_writer_leave(os);
	trace_put(os->st.trace);
	region_put(os->st.region);
	stream_files_put(os->st.log);
	free(os);
}

/* ---- files ---- */

void stream_writer_file_name(const struct stream_writer *os, uint64_t serial, char *out,
			     size_t size)
{
	uint64_t n = serial - os->at.first;
	int len = snprintf(out, size, os->at.variant ? "%s.%u" : "%s", os->st.file, os->at.variant);

	if (os->file_size && len > 0 && (size_t)len < size)
		snprintf(out + len, size - (size_t)len, "_%" PRIu64,
			 os->file_count ? n % os->file_count : n);
}

/* replace: what stands there is an older file of this stream. */
static int make_file(int dir, const char *name, mode_t mode, bool replace)
{
	struct stat st;
	int fd;

	if (replace ||
	    (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) && !st.st_size))
		unlinkat(dir, name, 0);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	return fd < 0 ? -errno : fd;
}

/*
 * Makes both files of this serial. A name that is taken, by a channel that was removed, is not
 * taken from it. old: its place is taken; *spare: what there is of it.
 */
static int make_files(struct output *o, struct stream_writer *os, struct stream_file *f,
		      const struct stream_file *old, int *fd, int *index_fd, uint64_t *spare)
{
	struct trace_place *place = f->place;
	char index[200];

	for (;; os->at.variant++) {
		stream_writer_file_name(os, f->serial, f->name, sizeof(f->name));
		*fd = old && os->st.region->geo.mode == TRAIL_MODE_DISCARD
			      ? recycle_take(os, old, f->name)
			      : -1;
		*spare = *fd >= 0 ? old->size : 0;
		if (*fd < 0)
			*fd = make_file(place->fd, f->name, o->mode & 0666, old != NULL);
		if (*fd != -EEXIST || os->at.serial || os->at.variant >= VARIANTS)
			break;
	}
	if (*fd < 0)
		return *fd;
	snprintf(index, sizeof(index), "%s.idx", f->name);
	unlinkat(place->index_fd, index, 0);
	*index_fd = make_file(place->index_fd, index, o->mode & 0666, true);
	if (*index_fd >= 0)
		return 0;
	recycle_close(os, *fd);
	return *index_fd;
}

int stream_writer_trim(struct stream_writer *os)
{
	return os->needs_truncate ? cut_back(os, 0) : 0;
}

/* The next file of the stream; the one before it is complete. */
static int next_file(struct output *o, struct stream_writer *os)
{
	struct md_index_header header;
	struct stream_file f = { .serial = os->st.log->next_serial,
				 .place = os->trace->place,
				 .index_size = sizeof(header) },
			   old;
	struct stat st = { 0 }, index_st = { 0 };
	int fd, index_fd, err = stream_writer_trim(os);
	uint64_t spare;
	bool replace;
	ssize_t n;

	if (err)
		return err;
	if (!os->at.serial)
		os->at.first = f.serial;
	replace = os->file_count && f.serial - os->at.first >= os->file_count;
	old = (struct stream_file){ 0 };
	if (replace)
		stream_files_drop(os->st.log, f.serial - os->file_count, &old);
	err = make_files(o, os, &f, replace ? &old : NULL, &fd, &index_fd, &spare);
	trace_place_put(old.place);
	/*
	 * The file is complete, or it has left the list for its successor, which could not be made:
	 * write no more to it.
	 */
	if (!err || old.serial == os->at.serial)
		stream_writer_close(os);
	if (err)
		return err;
	md_index_header_set(&header);
	if (fstat(fd, &st) < 0 || fstat(index_fd, &index_st) < 0)
		err = -errno;
	else if ((n = pwrite(index_fd, &header, sizeof(header), 0)) != (ssize_t)sizeof(header))
		err = n < 0 ? -errno : -ENOSPC;
	f.dev = st.st_dev;
	f.ino = st.st_ino;
	f.index_ino = index_st.st_ino;
	if (!err)
		err = stream_files_add(os->st.log, &f);
	if (err) {
		recycle_close(os, fd);
		close(index_fd);
		return err;
	}
	os->fd = fd;
	os->index_fd = index_fd;
	os->at.serial = f.serial;
	os->at.size = 0;
	os->at.index_size = sizeof(header);
	os->at.dev = st.st_dev;
	os->at.ino = st.st_ino;
	err = checkpoint_slot_put(o->state, os->slot, &os->at);
	/* Only now: the file is not what it was any more. */
	os->spare = spare;
	return !err && spare ? recycle_begin(os) : err;
}

/* ---- packets ---- */

static void set_position(struct checkpoint_slot *slot, const struct packet_position *at)
{
	slot->pos = at->pos;
	slot->events = at->events;
	slot->begin = at->begin;
	slot->ts = at->ts;
	slot->seq = at->seq;
	slot->lost = at->lost;
}

static void batch_init(struct output *o, const struct stream_writer *os, struct batch *b)
{
	const struct checkpoint_slot *at = &os->at;

	b->bytes = b->count = b->iovs = 0;
	b->cut = (struct packetizer){
		.stream = &os->st,
		.mark = os->mark,
		.base = ring_cleared_lost(&os->st),
		.max_ts = clock_now(session_clock(o->s)) + 1000000000,
		.at = { .pos = at->pos,
			.events = at->events,
			.begin = at->begin,
			.ts = at->ts,
			.seq = at->seq,
			.lost = at->lost,
			.lost_before = at->lost_before },
	};
}

/* Adds the packet that was made in b->packets[b->count]. */
static void add_packet(struct stream_writer *os, struct batch *b)
{
	struct packet *p = &b->packets[b->count];

	b->iov[b->iovs++] = (struct iovec){ &p->header, sizeof(p->header) };
	if (p->len)
		b->iov[b->iovs++] = (struct iovec){ (void *)packet_content(p, &os->st), p->len };
	b->bytes += packet_size(p);
	b->after[b->count++] = b->cut.at;
}

/*
 * The next packet of the ring. 1; 0: there is none (yet), but b->cut may have moved; -EFBIG: it
 * needs a new file.
 */
static int add_next(struct stream_writer *os, struct batch *b, bool all)
{
	struct packetizer before = b->cut;
	uint64_t size = os->at.size + b->bytes;

	if (!packetizer_next(&b->cut, all, &b->packets[b->count]))
		return 0;
	if (os->file_size && size && size + packet_size(&b->packets[b->count]) > os->file_size) {
		b->cut = before;
		return -EFBIG;
	}
	add_packet(os, b);
	return 1;
}

/* ---- writing ---- */

void output_advance(struct iovec **iov, int *count, uint64_t n)
{
	for (; *count && n >= (*iov)->iov_len; ++*iov, --*count)
		n -= (*iov)->iov_len;
	if (*count) {
		(*iov)->iov_base = (char *)(*iov)->iov_base + n;
		(*iov)->iov_len -= n;
	}
}

uint64_t output_put(int fd, struct iovec *iov, int count, uint64_t at, int *err)
{
	uint64_t done = 0;

	while (count) {
		ssize_t n = pwritev(fd, iov, count, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			*err = n ? -errno : -ENOSPC;
			break;
		}
		done += (uint64_t)n;
		output_advance(&iov, &count, (uint64_t)n);
	}
	return done;
}

/* After the files and the state file have it: makes room in the ring. */
static void set_consumed(struct stream_writer *os, uint64_t missed)
{
	struct trail_ring *ring = region_ring(os->st.region, os->st.ring);

	if (missed)
		__atomic_fetch_add(&ring->unwritten, missed, __ATOMIC_RELAXED);
	/*
	 * Pairs with the writers' acquire load before they use a sub-buffer again: the bytes were
	 * read before.
	 */
	if (__atomic_load_n(&ring->consumed, __ATOMIC_RELAXED) < os->at.pos)
		__atomic_store_n(&ring->consumed, os->at.pos, __ATOMIC_RELEASE);
}

/* after: the state with these packets. */
static int write_index(struct stream_writer *os, const struct batch *b, unsigned int count,
		       const struct checkpoint_slot *after)
{
	struct md_index_entry entries[BATCH + 1] = { 0 };
	struct iovec v = { entries, count * sizeof(entries[0]) };
	uint64_t offset = os->at.size;
	struct md_packet pad;
	int err = 0;

	for (unsigned int i = 0; i < count; i++) {
		md_index_entry_set(&entries[i], &b->packets[i].header, offset);
		offset += packet_size(&b->packets[i]);
	}
	if (os->spare) {
		pad = recycle_padding(os, after);
		md_index_entry_set(&entries[count], &pad, offset);
		v.iov_len += sizeof(entries[0]);
	}
	output_put(os->index_fd, &v, 1, os->at.index_size, &err);
	return err;
}

void output_written(struct output *o, uint64_t bytes, unsigned int packets)
{
	pthread_mutex_lock(&o->lock);
	o->bytes += bytes;
	o->chunk_bytes += bytes;
	o->packets += packets;
	pthread_mutex_unlock(&o->lock);
}

/*
 * How many packets of the batch are in the first `done` bytes, and were not overwritten before they
 * were written.
 */
static unsigned int count_written(const struct stream_writer *os, const struct batch *b,
				  uint64_t done, uint64_t *whole, int *err)
{
	unsigned int count = 0;

	for (*whole = 0; count < b->count && *whole + packet_size(&b->packets[count]) <= done;
	     count++) {
		const struct packet *p = &b->packets[count];

		if (p->subbuf && !ring_holds(&os->st, p->subbuf)) {
			*err = -EAGAIN;
			break;
		}
		*whole += packet_size(p);
	}
	return count;
}

/* Writes the batch, or as many packets of it as the disk has space for. */
static int write_batch(struct output *o, struct stream_writer *os, struct batch *b)
{
	struct checkpoint_slot after = os->at;
	uint64_t done, whole;
	unsigned int count;
	struct outend end;
	int err = stream_writer_trim(os), index_err;

	if (err)
		return err;
	set_position(&after, &b->after[b->count - 1]);
	after.size = os->at.size + b->bytes;
	done = os->spare ? recycle_put(os, &after, b->iov, (int)b->iovs, &err) :
	       output_put(os->fd, b->iov, (int)b->iovs, os->at.size, &err);
	count = count_written(os, b, done, &whole, &err);
	if (count)
		set_position(&after, &b->after[count - 1]);
	after.size = os->at.size + whole;
	index_err = count ? write_index(os, b, count, &after) : 0;
	if (index_err || !count)
		return cut_back(os, index_err ? index_err : err);
	after.index_size = os->at.index_size + count * sizeof(struct md_index_entry);
	os->at = after;
	if (whole < done)
		err = cut_back(os, err);
	/*
	 * If this fails, the next daemon writes these packets again, at the same place of the file.
	 */
	checkpoint_slot_put(o->state, os->slot, &os->at);
	end = end_of(os);
	stream_files_grow(os->st.log, os->at.size, os->at.index_size, &end);
	set_consumed(os, b->cut.missed);
	output_written(o, whole, count);
	return err;
}

static int stream_writer_open(struct output *o, struct stream_writer *os)
{
	struct batch b;
	int err;

	if (os->fd < 0) {
		err = next_file(o, os);
		if (err)
			return err;
	}
	if (os->at.size || os->at.serial != os->at.first)
		return 0;
	batch_init(o, os, &b);
	if (!packetizer_lead(&b.cut, &b.packets[0]))
		return 0;
	add_packet(os, &b);
	return write_batch(o, os, &b);
}

int stream_writer_write(struct output *o, struct stream_writer *os, bool all)
{
	unsigned int batch = os->st.region->geo.mode == TRAIL_MODE_OVERWRITE ? 1 : BATCH;
	uint64_t size = os->st.region->geo.subbuf_size;
	int err = stream_writer_open(o, os), more;
	struct batch b;

	/* In overwrite mode there may always be more. */
	for (uint32_t rounds = 0; !err && rounds < 2 * os->st.region->geo.subbuf_count + BATCH;
	     rounds++) {
		batch_init(o, os, &b);
		do
			more = add_next(os, &b, all);
		while (more == 1 && b.count < batch && b.bytes < BATCH_BYTES);
		if (more == 0 && all && b.count < BATCH &&
		    packetizer_trail(&b.cut, &b.packets[b.count]))
			add_packet(os, &b);
		if (b.count) {
			err = write_batch(o, os, &b);
			err = err == -EAGAIN ? 0 : err;
		} else if (more == -EFBIG) {
			err = next_file(o, os);
		} else if (!ring_holds(&os->st, os->mark.head / size)) {
			/* The writers have overwritten all that was there at the mark. */
			ring_mark(&os->st, &os->mark);
		} else {
			set_position(&os->at, &b.cut.at);
			stream_writer_tell(os);
			set_consumed(os, b.cut.missed);
			break;
		}
	}
	return err;
}

uint64_t stream_writer_pending(const struct stream_writer *os)
{
	uint64_t head = region_head(os->st.region, os->st.ring),
		 oldest = ring_oldest(&os->st, head), from = os->at.pos;

	if (from < oldest)
		from = oldest;
	return head > from ? head - from : 0;
}

/* ---- a chunk's files, all of them ---- */

int stream_writer_sync(struct output *o, struct stream_writer *os)
{
	struct stream_file f;
	int err = 0;

	if (os->fd >= 0 && os->spare)
		cut_back(os, 0);
	/* Should they be removed now, nothing keeps their memory. */
	recycle_forget(os);
	for (uint64_t serial = stream_files_first(os->st.log);
	     stream_files_find(os->st.log, serial, &f); serial = f.serial + 1) {
		for (int index = 0; index < 2; index++) {
			int one = syncgroup_add(o->sync, outfile_open(&f, index));

			err = err ? err : one;
		}
		trace_place_put(f.place);
	}
	return err;
}

void stream_writer_unlink(struct output *o, struct stream_writer *os)
{
	struct stream_file f;
	char index[200];

	(void)o;
	stream_writer_leave(os);
	for (uint64_t serial = stream_files_first(os->st.log);
	     stream_files_find(os->st.log, serial, &f); serial = f.serial + 1) {
		snprintf(index, sizeof(index), "%s.idx", f.name);
		unlinkat(f.place->index_fd, index, 0);
		unlinkat(f.place->fd, f.name, 0);
		trace_place_put(f.place);
	}
	stream_files_clear(os->st.log);
}
