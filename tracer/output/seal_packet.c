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

/* ---- the settings ---- */

static const char *const schemes[] = {
	[MD_COMPRESSION_NONE] = "none", [MD_COMPRESSION_GZIP] = "gzip", [MD_COMPRESSION_XZ] = "xz"
};

#define SCHEMES (sizeof(schemes) / sizeof(*schemes))

void show_checksum(const struct session *s, struct md_buf *out)
{
	md_buf_puts(out, s->checksum ? "none [crc32]\n" : "[none] crc32\n");
}

void show_compress(const struct session *s, struct md_buf *out)
{
	for (uint32_t i = 0; i < SCHEMES; i++)
		if (schemes[i])
			md_buf_printf(out, i == s->compression ? "%s[%s]" : "%s%s", i ? " " : "",
				      schemes[i]);
	md_buf_putc(out, '\n');
}

/* Which of both is set is fixed by the first start: the metadata say it. */
static int store(struct session *s, bool *checksum, uint32_t *compression, uint32_t value,
		 struct tr_err *err)
{
	int ret;

	session_lock(s);
	ret = session_may_set(s, err);
	if (!ret) {
		if (checksum)
			*checksum = value;
		else
			*compression = value;
		session_save(s);
		session_changed(s);
	}
	session_unlock(s);
	return ret;
}

int store_checksum(struct session *s, const char *value, struct tr_err *err)
{
	if (strcmp(value, "none") != 0 && strcmp(value, "crc32") != 0)
		return tr_fail_at(err, -EINVAL, value, 0, "not one of none, crc32");
	return store(s, &s->checksum, NULL, !strcmp(value, "crc32"), err);
}

int store_compress(struct session *s, const char *value, struct tr_err *err)
{
	uint32_t i = 0;

	while (i < SCHEMES && (!schemes[i] || strcmp(schemes[i], value) != 0))
		i++;
	if (i == SCHEMES)
		return tr_fail_at(err, -EINVAL, value, 0, "not one of none, gzip, xz");
	return store(s, NULL, &s->compression, i, err);
}
