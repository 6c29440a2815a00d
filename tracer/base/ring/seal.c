/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/ring/seal.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <lzma.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>
#include <zlib.h>

#define PIECE 32768u
#define XZ_MEMORY_MAX (UINT64_C(80) << 20)      /* enough for xz -9 */
#define GZIP_WINDOW (15 + 16)   /* of zlib: the largest window, with a header of gzip */

/* Level 1: the writer must keep up with applications. */
#define GZIP_LEVEL 1
#define XZ_LEVEL 0

uint32_t seal_checksum(const void *data, size_t n)
{
	return (uint32_t)crc32_z(0, data, n);
}

/* Reads at most n bytes. Their number, or -errno; -EIO: none. */
static ssize_t read_some(int fd, uint64_t offset, void *buf, uint64_t n)
{
	ssize_t r;

	do
		r = pread(fd, buf, n < PIECE ? n : PIECE, (off_t)offset);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r ? r : -EIO;
}

int seal_file_checksum(int fd, uint64_t offset, uint64_t len, uint32_t *out)
{
	uint8_t buf[PIECE];
	uLong crc = 0;

	while (len) {
		ssize_t n = read_some(fd, offset, buf, len);

		if (n < 0)
			return (int)n;
		crc = crc32_z(crc, buf, (size_t)n);
		offset += (uint64_t)n;
		len -= (uint64_t)n;
	}
	*out = (uint32_t)crc;
	return 0;
}

int seal_file_digest(int fd, uint64_t offset, uint64_t len, bool sha1, uint8_t out[DIGEST_MAX])
{
	uint8_t buf[PIECE];
	struct digest d;

	digest_begin(&d, sha1);
	while (len) {
		ssize_t n = read_some(fd, offset, buf, len);

		if (n < 0)
			return (int)n;
		digest_add(&d, buf, (size_t)n);
		offset += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return (int)digest_end(&d, out);
}

static size_t compress_gzip(const void *in, size_t n, void *out)
{
	z_stream z = { .next_in = (Bytef *)in, .avail_in = (uInt)n,
		       .next_out = out, .avail_out = (uInt)n };
	bool done;

	if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return 0;
	done = deflate(&z, Z_FINISH) == Z_STREAM_END;
	deflateEnd(&z);
	return done ? (size_t)z.total_out : 0;
}

static size_t compress_xz(const void *in, size_t n, void *out)
{
	size_t len = 0;

	return lzma_easy_buffer_encode(XZ_LEVEL, LZMA_CHECK_CRC32, NULL, in, n, out, &len, n) ==
			       LZMA_OK
		       ? len
		       : 0;
}

size_t seal_compress(unsigned int scheme, const void *in, size_t n, void *out)
{
	size_t len;

	if (!n || n > SEAL_CONTENT_MAX)
		return 0;
	len = scheme == MD_COMPRESSION_GZIP ? compress_gzip(in, n, out)
	      : scheme == MD_COMPRESSION_XZ ? compress_xz(in, n, out)
					    : 0;
	return len < n ? len : 0;
}

/* ---- bzip2, which only other writers use: its library is loaded if it is needed and there ---- */

struct bz_stream {              /* of bzlib.h, whose layout its soname stands for */
	const char *next_in;
	unsigned int avail_in, total_in[2];
	char *next_out;
	unsigned int avail_out, total_out[2];
	void *state, *(*alloc)(void *, int, int);
	void (*free)(void *, void *);
	void *opaque;
};

#define BZ_STREAM_END 4
#define BZ_MEM_ERROR (-3)

static struct {
	int (*begin)(struct bz_stream *z, int verbosity, int small);
	int (*run)(struct bz_stream *z);
	int (*end)(struct bz_stream *z);
} bzip2;

static void load_bzip2(void)
{
	/* The same interface; distributions do not agree on the name. */
	void *lib = dlopen("libbz2.so.1.0", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		lib = dlopen("libbz2.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return;
	*(void **)&bzip2.run = dlsym(lib, "BZ2_bzDecompress");
	*(void **)&bzip2.end = dlsym(lib, "BZ2_bzDecompressEnd");
	if (bzip2.run && bzip2.end)
		*(void **)&bzip2.begin = dlsym(lib, "BZ2_bzDecompressInit");
}

void seal_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_bzip2);
}

static int begin_bzip2(struct bz_stream *z)
{
	seal_prepare();
	if (!bzip2.begin)
		return -ENOTSUP;
	return bzip2.begin(z, 0, 0) ? -ENOMEM : 0;
}

static int run_bzip2(struct bz_stream *z, const uint8_t **in, size_t *n, uint8_t **out,
		     size_t *room)
{
	int ret;

	z->next_in = (const char *)*in;
	z->avail_in = (unsigned int)*n;
	z->next_out = (char *)*out;
	z->avail_out = (unsigned int)(*room < INT_MAX ? *room : INT_MAX);
	ret = bzip2.run(z);
	*in = (const uint8_t *)z->next_in;
	*n = z->avail_in;
	*room -= (size_t)((uint8_t *)z->next_out - *out);
	*out = (uint8_t *)z->next_out;
	return ret == BZ_STREAM_END ? 1 : ret == BZ_MEM_ERROR ? -ENOMEM : ret ? -EBADMSG : 0;
}

/* ---- decompression ---- */

/* One of the libraries, with the same steps. */
struct codec {
	unsigned int scheme;
	z_stream z;
	lzma_stream xz;
	struct bz_stream bz;
};

static int codec_begin(struct codec *c)
{
#ifdef WITHOUT_COMPRESSION
	return -ENOTSUP;
#endif
	if (c->scheme == MD_COMPRESSION_BZIP2)
		return begin_bzip2(&c->bz);
	if (c->scheme == MD_COMPRESSION_GZIP)
		return inflateInit2(&c->z, GZIP_WINDOW) == Z_OK ? 0 : -ENOMEM;
	if (c->scheme == MD_COMPRESSION_XZ)
		return lzma_stream_decoder(&c->xz, XZ_MEMORY_MAX, 0) == LZMA_OK ? 0 : -ENOMEM;
	return -ENOTSUP;
}

static void codec_end(struct codec *c)
{
	if (c->scheme == MD_COMPRESSION_GZIP)
		inflateEnd(&c->z);
	else if (c->scheme == MD_COMPRESSION_BZIP2)
		bzip2.end(&c->bz);
	else
		lzma_end(&c->xz);
}

/*
 * Decompresses from *in to *out and moves both. 0; 1: the end of the compressed bytes; -errno.
 */
static int codec_run(struct codec *c, const uint8_t **in, size_t *n, uint8_t **out, size_t *room)
{
	int ret;

	if (c->scheme == MD_COMPRESSION_BZIP2)
		return run_bzip2(&c->bz, in, n, out, room);
	if (c->scheme == MD_COMPRESSION_GZIP) {
		c->z.next_in = (Bytef *)*in;
		c->z.avail_in = (uInt)*n;
		c->z.next_out = *out;
		c->z.avail_out = (uInt)(*room < INT_MAX ? *room : INT_MAX);
		ret = inflate(&c->z, Z_NO_FLUSH);
		*in = c->z.next_in;
		*n = c->z.avail_in;
		*room -= (size_t)(c->z.next_out - *out);
		*out = c->z.next_out;
		return ret == Z_STREAM_END  ? 1
		       : ret == Z_MEM_ERROR ? -ENOMEM
		       : ret == Z_OK || ret == Z_BUF_ERROR ? 0
							   : -EBADMSG;
	}
	c->xz.next_in = *in;
	c->xz.avail_in = *n;
	c->xz.next_out = *out;
	c->xz.avail_out = *room;
	ret = lzma_code(&c->xz, LZMA_RUN);
	*in = c->xz.next_in;
	*n = c->xz.avail_in;
	*out = c->xz.next_out;
	*room = c->xz.avail_out;
	return ret == LZMA_STREAM_END ? 1
	       : ret == LZMA_MEM_ERROR || ret == LZMA_MEMLIMIT_ERROR ? -ENOMEM
	       : ret == LZMA_OK || ret == LZMA_BUF_ERROR ? 0
							 : -EBADMSG;
}

/* Where the next bytes go: those before `skip` are thrown away. */
struct target { uint64_t skip; uint8_t *out; size_t room; };

/* All of a piece of the file. 0; 1: the target is full, or the compressed bytes end; -errno. */
static int decompress_piece(struct codec *c, const uint8_t *in, size_t n, struct target *t)
{
	uint8_t waste[PIECE], *out;
	size_t room, left, rest;
	int ret = 0;

	/* The library may hold more output than there was room for: ends when it gives none. */
	do {
		bool skips = t->skip != 0;

		out = skips ? waste : t->out;
		room = !skips ? t->room : t->skip < sizeof(waste) ? (size_t)t->skip : sizeof(waste);
		left = room;
		rest = n;
		ret = codec_run(c, &in, &n, &out, &left);
		if (skips) {
			t->skip -= room - left;
		} else {
			t->out = out;
			t->room = left;
		}
	} while (!ret && t->room && (n || !left) && (n != rest || left != room));
	return ret ? ret : !t->room;
}

int seal_decompress(unsigned int scheme, int fd, uint64_t offset, uint64_t len, uint64_t skip,
		    void *out, size_t n)
{
	struct codec c = { .scheme = scheme, .xz = LZMA_STREAM_INIT };
	struct target t = { skip, out, n };
	uint8_t buf[PIECE];
	int ret = codec_begin(&c);

	if (ret)
		return ret;
	while (!ret && len && t.room) {
		ssize_t got = read_some(fd, offset, buf, len);

		if (got < 0) {
			ret = (int)got;
			break;
		}
		ret = decompress_piece(&c, buf, (size_t)got, &t);
		offset += (uint64_t)got;
		len -= (uint64_t)got;
	}
	codec_end(&c);
	return ret < 0 ? ret : t.room ? -EBADMSG : 0;
}
