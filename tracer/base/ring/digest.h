/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MD5 (RFC 1321) and SHA-1 (RFC 3174), which only find damage here: of packets of other writers. */
#ifndef TRACER_RING_DIGEST_H
#define TRACER_RING_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_MAX 20u          /* bytes of the longer one */

struct digest {
	bool sha1;              /* else md5 */
	uint64_t bytes;
	uint32_t state[5];
	uint8_t block[64];
};

void digest_begin(struct digest *d, bool sha1);
void digest_add(struct digest *d, const void *data, size_t n);
/* Writes 16 bytes (md5) or 20. Returns their number. */
size_t digest_end(struct digest *d, uint8_t out[DIGEST_MAX]);

#endif
