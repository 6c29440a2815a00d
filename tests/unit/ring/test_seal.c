/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sealed packets: random contents come back from gzip and xz, in any part; a sealed file reads as
 * the plain one; a changed file is an error, or has the same bytes as far as it is read.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/test.h"
#include "tracer/base/ring/sealed_file.h"

#define PACKETS 5

static uint64_t state = 1;

static uint32_t rnd(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return n ? (uint32_t)(state >> 33) % n : 0;
}

/* Bytes that compress well, or not at all. */
static void fill(uint8_t *p, size_t n)
{
	uint32_t kinds = rnd(3) ? 4 : 256;

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)rnd(kinds);
}

static void test_schemes(void)
{
	static uint8_t in[200000], out[200000], part[200000];

	for (unsigned int i = 0; i < 60; i++) {
		unsigned int scheme = i & 1 ? MD_COMPRESSION_GZIP : MD_COMPRESSION_XZ;
		size_t n = 1 + rnd(sizeof(in)), len, skip = rnd((uint32_t)n), want;
		int fd = memfd_create("seal", 0);

		fill(in, n);
		len = seal_compress(scheme, in, n, out);
		CHECK(len < n && pwrite(fd, out, len, 7) == (ssize_t)len);
		want = rnd((uint32_t)(n - skip)) + 1;
		if (len) {
			CHECK(!seal_decompress(scheme, fd, 7, len, skip, part, want));
			CHECK(!memcmp(part, in + skip, want));
			CHECK(seal_decompress(scheme, fd, 7, len, skip, part, n - skip + 1) ==
			      -EBADMSG);
			CHECK(seal_decompress(scheme, fd, 8, len - 1, skip, part, 1) == -EBADMSG);
		}
		CHECK(seal_decompress(200, fd, 7, 1, 0, part, 1) == -ENOTSUP);
		close(fd);
	}
}

struct made { int fd, index_fd; uint8_t plain[400000]; size_t len; uint64_t stored, index; };

static void add_packet(struct made *m, unsigned int scheme)
{
	static uint8_t content[70000], small[70000];
	size_t n = rnd(sizeof(content)), less;
	struct md_sealed_packet h = { .packet = { .magic = MD_CTF_MAGIC, .stream_id = rnd(9) } };
	struct md_packet plain;
	struct md_index_entry e;
	const uint8_t *bytes = content;
	size_t size = n;

	fill(content, n);
	less = seal_compress(scheme, content, n, small);
	if (less) {
		bytes = small;
		size = less;
		h.compression_scheme = (uint8_t)scheme;
	}
	h.packet.content_size = 8 * (sizeof(h) + n);
	h.packet.packet_size = 8 * (sizeof(h) + size);
	h.checksum_scheme = MD_CHECKSUM_CRC32;
	h.checksum = seal_checksum(bytes, size);
	md_index_entry_set(&e, &h.packet, m->stored);
	CHECK(pwrite(m->fd, &h, sizeof(h), (off_t)m->stored) == sizeof(h));
	CHECK(pwrite(m->fd, bytes, size, (off_t)(m->stored + sizeof(h))) == (ssize_t)size);
	CHECK(pwrite(m->index_fd, &e, sizeof(e), (off_t)m->index) == sizeof(e));
	m->stored += sizeof(h) + size;
	m->index += sizeof(e);
	plain = h.packet;
	md_uuid_seal(plain.uuid);
	plain.content_size = plain.packet_size = 8 * (sizeof(plain) + n);
	memcpy(m->plain + m->len, &plain, sizeof(plain));
	memcpy(m->plain + m->len + sizeof(plain), content, n);
	m->len += sizeof(plain) + n;
}

static void make(struct made *m)
{
	struct md_index_header header;

	m->fd = memfd_create("file", 0);
	m->index_fd = memfd_create("index", 0);
	m->len = m->stored = 0;
	md_index_header_set(&header);
	CHECK(pwrite(m->index_fd, &header, sizeof(header), 0) == sizeof(header));
	m->index = sizeof(header);
	for (int i = 0; i < PACKETS; i++)
		add_packet(m, rnd(2) ? MD_COMPRESSION_GZIP : MD_COMPRESSION_XZ);
}

static void test_file(void)
{
	static struct made m;
	static uint8_t got[400000];

	for (int round = 0; round < 40; round++) {
		struct sealed_file *f;
		bool damaged = round & 1;
		struct md_buf index = MD_BUF_INIT;
		uint8_t byte;

		make(&m);
		CHECK(sealed_plain_size(m.index_fd, m.index) == m.len);
		if (damaged) {
			int fd = rnd(4) ? m.fd : m.index_fd;
			off_t at = (off_t)rnd((uint32_t)(fd == m.fd ? m.stored : m.index));

			CHECK(pread(fd, &byte, 1, at) == 1);
			byte ^= (uint8_t)(1 + rnd(255));
			CHECK(pwrite(fd, &byte, 1, at) == 1);
		}
		f = sealed_file_open(m.fd, m.index_fd);
		for (int i = 0; i < 20; i++) {
			size_t from = rnd((uint32_t)m.len), n = rnd((uint32_t)(m.len - from)) + 1;
			ssize_t r = sealed_file_read(f, got, n, from);

			if (!damaged)
				CHECK(r == (ssize_t)n && !memcmp(got, m.plain + from, n));
			else
				CHECK(r == -EBADMSG || r <= (ssize_t)n);
		}
		if (!damaged)
			CHECK(!sealed_file_index(f, m.index, &index) && index.len == m.index);
		md_buf_deinit(&index);
		sealed_file_close(f);
	}
}

int main(void)
{
	CASE(test_schemes);
	CASE(test_file);
	return test_summary();
}
