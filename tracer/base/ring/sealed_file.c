/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/ring/sealed_file.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/search.h"

#define EXTRA (MD_SEALED_HEADER - MD_PACKET_HEADER)
#define ENTRIES 256             /* of the index that are read at once */

struct place { uint64_t plain, stored; };       /* where a packet begins; the first at 0 */

struct sealed_file {
	int fd, index_fd;
	struct place *places;   /* of packets, and of the end of the last one */
	size_t count, room;     /* of packets */
	size_t loaded;          /* this packet, and 1; 0: none */
	struct md_sealed_packet header; /* of the loaded packet, as it is in the file */
	uint8_t *content;       /* of the loaded packet, if it was compressed; else NULL */
};

static bool entry_read(int fd, size_t i, struct md_index_entry *e, size_t *n)
{
	ssize_t got = pread(fd, e, *n * sizeof(*e),
			    (off_t)(sizeof(struct md_index_header) + i * sizeof(*e)));

	*n = got > 0 ? (size_t)got / sizeof(*e) : 0;
	return *n != 0;
}

/* The place after a packet. False: the entry is not valid. */
static bool place_after(const struct place *at, const struct md_index_entry *e, struct place *next)
{
	uint64_t stored = be64toh(e->packet_size), plain = be64toh(e->content_size);

	if (be64toh(e->offset) != at->stored || stored % 8 || plain % 8 ||
	    stored / 8 < MD_SEALED_HEADER || plain / 8 < MD_SEALED_HEADER ||
	    (plain > stored && plain / 8 - MD_SEALED_HEADER > SEAL_CONTENT_MAX) ||
	    (plain < stored) || stored / 8 > INT64_MAX - at->stored)
		return false;
	*next = (struct place){ at->plain + plain / 8 - EXTRA, at->stored + stored / 8 };
	return true;
}

uint64_t sealed_plain_size(int index_fd, uint64_t size)
{
	uint64_t count = (size - sizeof(struct md_index_header)) / sizeof(struct md_index_entry);
	struct md_index_entry e[ENTRIES];
	struct place at = { 0 };

	for (uint64_t i = 0; size > sizeof(struct md_index_header) && i < count;) {
		size_t n = count - i < ENTRIES ? (size_t)(count - i) : ENTRIES;

		if (!entry_read(index_fd, i, e, &n))
			break;
		for (size_t k = 0; k < n; k++, i++)
			if (!place_after(&at, &e[k], &at))
				return at.plain;
	}
	return at.plain;
}

static bool grow_places(struct sealed_file *f, size_t n)
{
	struct place *more;
	size_t room = f->room ? f->room : ENTRIES;

	if (f->count + n + 1 <= f->room)
		return true;
	while (room < f->count + n + 1)
		room *= 2;
	more = realloc(f->places, room * sizeof(*more));
	if (!more)
		return false;
	if (!f->room)
		more[0] = (struct place){ 0 };
	f->places = more;
	f->room = room;
	return true;
}

/* Reads entries of the index until the plain offset is in a packet. */
static bool find_places(struct sealed_file *f, uint64_t offset)
{
	struct md_index_entry e[ENTRIES];
	size_t n = ENTRIES;

	while (!f->room || f->places[f->count].plain <= offset) {
		if (!entry_read(f->index_fd, f->count, e, &n) || !grow_places(f, n))
			return false;
		for (size_t k = 0; k < n; k++, f->count++)
			if (!place_after(&f->places[f->count], &e[k], &f->places[f->count + 1]))
				return f->places[f->count].plain > offset;
		n = ENTRIES;
	}
	return true;
}

/* The number of the packet with this byte. False: none. */
static bool find_packet(struct sealed_file *f, uint64_t offset, size_t *out)
{
	if (!find_places(f, offset))
		return false;
	*out = search_above(f->places, f->count, sizeof(*f->places), offset) - 1;
	return true;
}

struct sealed_file *sealed_file_open(int fd, int index_fd)
{
	struct sealed_file *f = calloc(1, sizeof(*f));

	if (f) {
		f->fd = fd;
		f->index_fd = index_fd;
		return f;
	}
	close(fd);
	close(index_fd);
	return NULL;
}

void sealed_file_close(struct sealed_file *f)
{
	if (!f)
		return;
	close(f->fd);
	close(f->index_fd);
	free(f->places);
	free(f->content);
	free(f);
}

/* Checks the header of packet i, and the checksum, and decompresses the content. 0 or -errno. */
static int load_packet(struct sealed_file *f, size_t i)
{
	const struct place *at = &f->places[i];
	struct md_sealed_packet *h = &f->header;
	uint64_t stored, plain = at[1].plain - at->plain - MD_PACKET_HEADER,
			 from = at->stored + MD_SEALED_HEADER;
	uint32_t sum;
	int err = 0;

	if (f->loaded == i + 1)
		return 0;
	f->loaded = 0;
	free(f->content);
	f->content = NULL;
	if (pread(f->fd, h, sizeof(*h), (off_t)at->stored) != (ssize_t)sizeof(*h))
		return -EBADMSG;
	md_uuid_seal(h->packet.uuid);
	stored = at[1].stored - from;
	if (h->packet.magic != MD_CTF_MAGIC || h->encryption_scheme ||
	    h->packet.packet_size != 8 * (at[1].stored - at->stored) ||
	    (h->compression_scheme ? !plain : plain != stored))
		return -EBADMSG;
	if (h->checksum_scheme == MD_CHECKSUM_CRC32)
		err = seal_file_checksum(f->fd, from, stored, &sum);
	if (!err && h->checksum_scheme == MD_CHECKSUM_CRC32 && sum != h->checksum)
		err = -EBADMSG;
	if (!err && h->compression_scheme) {
		f->content = malloc(plain);
		err = f->content ? seal_decompress(h->compression_scheme, f->fd, from, stored, 0,
						   f->content, plain)
				 : -ENOMEM;
	}
	if (err)
		return err == -EIO || err == -ENOTSUP ? -EBADMSG : err;
	f->loaded = i + 1;
	return 0;
}

/* Reads from one packet. */
static ssize_t read_packet(struct sealed_file *f, size_t i, uint8_t *buf, size_t n, uint64_t within)
{
	uint64_t plain = f->places[i + 1].plain - f->places[i].plain;
	struct md_packet h;
	ssize_t got;
	int err = load_packet(f, i);

	if (err)
		return err;
	if (n > plain - within)
		n = (size_t)(plain - within);
	if (within < sizeof(h)) {
		h = f->header.packet;
		h.content_size = h.packet_size = 8 * plain;
		n = n < sizeof(h) - within ? n : (size_t)(sizeof(h) - within);
		memcpy(buf, (const uint8_t *)&h + within, n);
		return (ssize_t)n;
	}
	if (f->content) {
		memcpy(buf, f->content + within - sizeof(h), n);
		return (ssize_t)n;
	}
	got = pread(f->fd, buf, n, (off_t)(f->places[i].stored + EXTRA + within));
	return got < 0 ? -errno : got ? got : -EBADMSG;
}

ssize_t sealed_file_read(struct sealed_file *f, void *buf, size_t n, uint64_t offset)
{
	size_t done = 0, i;

	while (done < n && find_packet(f, offset + done, &i)) {
		ssize_t got = read_packet(f, i, (uint8_t *)buf + done, n - done,
					  offset + done - f->places[i].plain);

		/* A short result would be the end of the file to its reader. */
		if (got < 0)
			return got;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

bool sealed_file_packet(struct sealed_file *f, uint64_t offset, uint64_t *begin, uint64_t *end)
{
	size_t i;

	if (!find_packet(f, offset, &i))
		return false;
	*begin = f->places[i].plain;
	*end = f->places[i + 1].plain;
	return true;
}

int sealed_file_index(struct sealed_file *f, uint64_t size, struct md_buf *out)
{
	struct md_index_entry e[ENTRIES];
	struct md_index_header header;
	struct place at = { 0 }, next;
	uint64_t count = (size - sizeof(header)) / sizeof(*e);

	md_index_header_set(&header);
	md_buf_put(out, &header, sizeof(header));
	for (uint64_t i = 0; size > sizeof(header) && i < count;) {
		size_t n = count - i < ENTRIES ? (size_t)(count - i) : ENTRIES;

		if (!entry_read(f->index_fd, i, e, &n))
			return -EBADMSG;
		for (size_t k = 0; k < n; k++, i++, at = next) {
			if (!place_after(&at, &e[k], &next))
				return -EBADMSG;
			e[k].offset = htobe64(at.plain);
			e[k].packet_size = e[k].content_size = htobe64(8 * (next.plain - at.plain));
			md_buf_put(out, &e[k], sizeof(e[k]));
		}
	}
	return out->failed ? -ENOMEM : 0;
}
