/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sealed packets: the content of a packet with a checksum, or compressed, as the CTF proposal (1.6,
 * section 5) has it. The output writes them; views (sealed_file.h) and imports undo them. The
 * schemes are those of metadata/ctf.h.
 *
 * All of this reads files that other programs may have written or may be changing.
 */
#ifndef TRACER_RING_SEAL_H
#define TRACER_RING_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/ctf.h"
#include "tracer/base/ring/digest.h"

/* A greater content is not compressed, and one that claims to be greater is not valid, bytes. */
#define SEAL_CONTENT_MAX (UINT64_C(64) << 20)

uint32_t seal_checksum(const void *data, size_t n);
/* Of `len` bytes of a file. 0; -EIO: the file ends before them; another -errno. */
int seal_file_checksum(int fd, uint64_t offset, uint64_t len, uint32_t *out);
/* The same by md5 or sha1, which trailfs does not write. The bytes of out, or -errno. */
int seal_file_digest(int fd, uint64_t offset, uint64_t len, bool sha1, uint8_t out[DIGEST_MAX]);
/*
 * Compresses n bytes into out, which has n bytes. Returns the bytes of the result; 0: it would not
 * be smaller, or there is no memory. The input may change meanwhile; then the result means nothing.
 */
size_t seal_compress(unsigned int scheme, const void *in, size_t n, void *out);
/*
 * Decompresses the `len` bytes at `offset` of a file, as far as is needed for the bytes from `skip`
 * to skip + n of the result, which go to out. 0; -EBADMSG: they are not valid, or are fewer;
 * -EIO: the file ends; -ENOTSUP: an unknown scheme, or bzip2 without its library, or a build that
 * decompresses nothing; -ENOMEM.
 */
int seal_decompress(unsigned int scheme, int fd, uint64_t offset, uint64_t len, uint64_t skip,
		    void *out, size_t n);
/* Loads the library of bzip2, if there is one; else the first use does, which opens files. */
void seal_prepare(void);

#endif
