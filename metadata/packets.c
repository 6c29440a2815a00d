/* SPDX-License-Identifier: MIT */
/* Metadata as packets: see ctf.h. */
#include <errno.h>
#include <string.h>

#include "metadata/ctf.h"

#define TEXT_MOST 60000u        /* bytes of text in one packet */

_Static_assert(sizeof(struct md_metadata_header) == 37, "as the specification has it");

size_t md_metadata_packet(const uint8_t uuid[16], bool is_ctf2, const char *text, size_t len,
			  struct md_buf *out)
{
	struct md_metadata_header h = { .magic = MD_METADATA_MAGIC, .major = is_ctf2 ? 2 : 1,
					.minor = is_ctf2 ? 0 : 8 };

	if (len > TEXT_MOST)
		len = TEXT_MOST;
	memcpy(h.uuid, uuid, sizeof(h.uuid));
	h.content_size = h.packet_size = (uint32_t)(8 * (sizeof(h) + len));
	md_buf_put(out, &h, sizeof(h));
	md_buf_put(out, text, len);
	return len;
}

int md_metadata_print(const struct md_trace *trace, bool sealed, struct md_buf *out)
{
	const struct md_trace *t = trace;
	struct md_buf text = MD_BUF_INIT, *to = t->in_packets ? &text : out;
	struct md_trace other;
	int err;

	if (sealed) {
		other = *trace;
		md_uuid_seal(other.uuid);
		t = &other;
	}
	err = t->is_ctf2 ? md_ctf2_print(t, sealed, to) : md_ctf_print(t, sealed, to);
	for (size_t at = 0; at < text.len && !err;)
		at += md_metadata_packet(t->uuid, t->is_ctf2, text.data + at, text.len - at, out);
	md_buf_deinit(&text);
	return err ? err : out->failed ? -ENOMEM : 0;
}
