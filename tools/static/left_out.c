/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * left_out.c - what `make static` has in place of the rooms of tracer/format/ that make and read
 * files for other programs, of relays, of zlib and of liblzma. There are no files in export/ but
 * `json`; `input` is refused with a sentence; `compress` knows none but `none`. Who calls the rest
 * gets EOPNOTSUPP.
 */
#include <errno.h>
#include <lzma.h>
#include <stdint.h>
#include <zlib.h>

#include "tracer/format/export/export.h"
#include "tracer/format/export/files.h"
#include "tracer/format/export/lket.h"
#include "tracer/format/export/ltt.h"
#include "tracer/format/import/import.h"
#include "tracer/output/relay/relay.h"

const struct session_part export_part = { .name = "export" };

void export_close(struct export_view *v)
{
	(void)v;
}

int otlp_pipe_open(struct session *s, struct pipe_view **out)
{
	(void)s, (void)out;
	return -EOPNOTSUPP;
}

int lket_export_open(struct session *s, struct export_files **out)
{
	(void)s, (void)out;
	return -EOPNOTSUPP;
}

int ltt_export_open(struct session *s, struct export_files **out)
{
	(void)s, (void)out;
	return -EOPNOTSUPP;
}

void export_files_close(struct export_files *l)
{
	(void)l;
}

const char *export_files_path(const struct export_files *l, size_t i, uint64_t *size)
{
	(void)l, (void)i, (void)size;
	return NULL;
}

ssize_t export_files_read(const struct export_files *l, size_t i, uint64_t offset, void *buf,
			  size_t size)
{
	(void)l, (void)i, (void)offset, (void)buf, (void)size;
	return -EOPNOTSUPP;
}

/* ---- traces of others ---- */

int import_open(struct import *im, struct tr_err *err)
{
	(void)im;
	return tr_fail(err, -EOPNOTSUPP, "this build reads no traces of others");
}

void import_deinit(struct import *im)
{
	(void)im;
}

const char *import_reported(void)
{
	return "";
}

const char *import_file_name(const struct import_file *file)
{
	return file->path;
}

uint32_t import_checksum_ends(const struct import_file *file)
{
	(void)file;
	return 0;
}

/* ---- relays, without RELAY=1: no text is the address of one, so there is no sender ---- */

#ifdef WITHOUT_RELAY
bool relay_takes(const char *text)
{
	(void)text;
	return false;
}

int relay_address(const char *text, char **shown, struct tr_err *err)
{
	(void)text, (void)shown;
	return tr_fail(err, -EOPNOTSUPP, "this build sends to no relay");
}

const char *relay_explain(int err)
{
	(void)err;
	return "this build sends to no relay";
}

int relay_sender_open(const struct relay_delivery *d, struct relay_sender **out)
{
	(void)d, (void)out;
	return -EOPNOTSUPP;
}

const char *relay_sender_path(const struct relay_sender *s)
{
	(void)s;
	return "";
}

int relay_sender_add(struct relay_sender *s, const char *dir, const char *channel, size_t *number)
{
	(void)s, (void)dir, (void)channel, (void)number;
	return -EOPNOTSUPP;
}

int relay_sender_metadata(struct relay_sender *s, size_t number, const uint8_t uuid[16],
			  const char *text, size_t size)
{
	(void)s, (void)number, (void)uuid, (void)text, (void)size;
	return -EOPNOTSUPP;
}

int relay_sender_packet(struct relay_sender *s, size_t number, uint64_t size)
{
	(void)s, (void)number, (void)size;
	return -EOPNOTSUPP;
}

int relay_sender_bytes(struct relay_sender *s, const void *bytes, size_t size)
{
	(void)s, (void)bytes, (void)size;
	return -EOPNOTSUPP;
}

int relay_sender_finish(struct relay_sender *s)
{
	(void)s;
	return -EOPNOTSUPP;
}

void relay_sender_close(struct relay_sender *s)
{
	(void)s;
}
#endif

/* ---- compression; the CRC of ISO 3309 ---- */

uLong crc32_z(uLong crc, const Bytef *data, z_size_t n)
{
	uint32_t c = ~(uint32_t)crc;

	while (n--) {
		c ^= *data++;
		for (int bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? UINT32_C(0xedb88320) : 0);
	}
	return ~c;
}

int deflateInit2_(z_streamp z, int level, int method, int bits, int memory, int strategy,
		  const char *version, int size)
{
	(void)z, (void)level, (void)method, (void)bits, (void)memory, (void)strategy;
	(void)version, (void)size;
	return Z_STREAM_ERROR;
}

int deflate(z_streamp z, int flush)
{
	(void)z, (void)flush;
	return Z_STREAM_ERROR;
}

int deflateEnd(z_streamp z)
{
	(void)z;
	return Z_OK;
}

int inflateInit2_(z_streamp z, int bits, const char *version, int size)
{
	(void)z, (void)bits, (void)version, (void)size;
	return Z_STREAM_ERROR;
}

int inflate(z_streamp z, int flush)
{
	(void)z, (void)flush;
	return Z_STREAM_ERROR;
}

int inflateEnd(z_streamp z)
{
	(void)z;
	return Z_OK;
}

lzma_ret lzma_easy_buffer_encode(uint32_t preset, lzma_check check, const lzma_allocator *a,
				 const uint8_t *in, size_t in_size, uint8_t *out, size_t *out_pos,
				 size_t out_size)
{
	(void)preset, (void)check, (void)a, (void)in, (void)in_size, (void)out, (void)out_pos;
	(void)out_size;
	return LZMA_OPTIONS_ERROR;
}

lzma_ret lzma_stream_decoder(lzma_stream *z, uint64_t memory, uint32_t flags)
{
	(void)z, (void)memory, (void)flags;
	return LZMA_OPTIONS_ERROR;
}

lzma_ret lzma_code(lzma_stream *z, lzma_action action)
{
	(void)z, (void)action;
	return LZMA_OPTIONS_ERROR;
}

void lzma_end(lzma_stream *z)
{
	(void)z;
}
