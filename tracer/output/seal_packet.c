/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes sealed packets of those that the packetizer cuts (ring/seal.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/output/output.h"
#include "tracer/base/ring/seal.h"
#include "tracer/base/ring/reader.h"

/*
 * Compresses the content of a packet. NULL: it stays as it is. p->gone: writers overwrote it
 * meanwhile.
 */
static void *compress_content(unsigned int scheme, const struct stream *st, struct packet *p,
			      uint64_t *size)
{
	void *out = scheme && p->len && p->len <= SEAL_CONTENT_MAX ? malloc(p->len) : NULL, *less;
	size_t n = out ? seal_compress(scheme, packet_content(p, st), p->len, out) : 0;

	if (!n) {
		free(out);
		return NULL;
	}
	p->gone = p->subbuf && !ring_holds(st, p->subbuf);
	*size = n;
	less = realloc(out, n);
	return less ? less : out;
}

void seal_packet(const struct session *s, const struct stream *st, struct packet *p,
		 struct md_sealed_packet *header, void **content, uint64_t *size)
{
	*size = p->len;
	*content = compress_content(s->compression, st, p, size);
	p->header.content_size = 8 * (MD_SEALED_HEADER + p->len);
	p->header.packet_size = 8 * (MD_SEALED_HEADER + *size);
	*header = (struct md_sealed_packet){ .packet = p->header };
	md_uuid_seal(header->packet.uuid);
	if (*content)
		header->compression_scheme = (uint8_t)s->compression;
	if (!s->checksum)
		return;
	header->checksum_scheme = MD_CHECKSUM_CRC32;
	header->checksum = p->len ? seal_checksum(*content ? *content : packet_content(p, st),
						  *size)
				  : 0;
}
