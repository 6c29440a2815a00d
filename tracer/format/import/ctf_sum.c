/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checksums of packets: section 5 of the CTF proposal (1.6). */
#include "tracer/format/import/ctf.h"

#include <string.h>

#include "metadata/ctf.h"
#include "tracer/base/ring/seal.h"

struct ctf_sum ctf_wanted_sum(const struct ctf_packet *p)
{
	const struct ctf_class *class = p->class;
	bool big = class->checksum_big && p->r.roles[ROLE_CHECKSUM_SCHEME] != MD_CHECKSUM_CRC32;
	struct ctf_sum s = { .n = p->r.checksum_size };

	memcpy(s.bytes, p->r.checksum, sizeof(s.bytes));
	if (s.n)
		return s;
	s.n = class->checksum_bits / 8;
	for (size_t i = 0; i < s.n; i++)
		s.bytes[i] = (uint8_t)(p->r.roles[ROLE_CHECKSUM] >> 8 * (big ? s.n - 1 - i : i));
	return s;
}

int ctf_find_sum(uint64_t scheme, const struct import_file *f, uint64_t from, uint64_t len,
		 struct ctf_sum *s)
{
	uint32_t crc = 0;
	int ret;

	if (scheme != MD_CHECKSUM_CRC32) {
		ret = seal_file_digest(f->fd, from, len, scheme == MD_CHECKSUM_SHA1, s->bytes);
		s->n = ret > 0 ? (size_t)ret : 0;
		return ret < 0 ? ret : 0;
	}
	ret = seal_file_checksum(f->fd, from, len, &crc);
	s->n = sizeof(crc);
	for (size_t i = 0; i < s->n; i++)
		s->bytes[i] = (uint8_t)(crc >> 8 * i);
	return ret;
}

bool ctf_is_same_sum(const struct ctf_sum *wanted, const struct ctf_sum *found)
{
	size_t n = wanted->n < found->n ? wanted->n : found->n;

	return n && !memcmp(wanted->bytes, found->bytes, n);
}
