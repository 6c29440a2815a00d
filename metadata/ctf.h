/* SPDX-License-Identifier: MIT */
/*
 * CTF in the form of LTTng: the metadata of CTF 1.8 (1.8.3, sections 7 and C) and of CTF 2, and the
 * packet header (sections 5 and 6).
 */
#ifndef METADATA_CTF_H
#define METADATA_CTF_H

#include "metadata/buf.h"
#include "metadata/model.h"

/*
 * Appends the whole TSDL text. As in LTTng, field names get a leading underscore, which CTF readers
 * strip; hidden lengths of sequences are named `__NAME_length`, tags of variants `_NAME_tag`.
 * sealed: its packets begin with a struct md_sealed_packet, not a struct md_packet.
 * Returns 0 or -ENOMEM. Takes no lock: the caller prevents additions meanwhile.
 */
int md_ctf_print(const struct md_trace *t, bool sealed, struct md_buf *out);

/*
 * The same as CTF 2 (CTF2-SPEC-2.0): a JSON text sequence, which describes the same packets. Names
 * of fields are as in text. Enumerations are integers with mappings; levels and the URI of the
 * model are attributes of LTTng's name space.
 */
int md_ctf2_print(const struct md_trace *t, bool sealed, struct md_buf *out);

#define MD_METADATA_MAGIC 0x75D11D57u
/* Begins a packet of metadata (CTF 1.8.3, section 7.1), in the byte order of the trace. */
struct md_metadata_header {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t checksum, content_size, packet_size;   /* sizes in bits, with this header */
	uint8_t compression, encryption, checksum_scheme, major, minor;
} __attribute__((packed));
/*
 * Appends one packet with the beginning of a text of metadata; returns how many bytes of the text
 * it has.
 */
size_t md_metadata_packet(const uint8_t uuid[16], bool is_ctf2, const char *text, size_t len,
			  struct md_buf *out);
/*
 * One of both, as text or in packets, as the trace has it; sealed: with the UUID of md_uuid_seal.
 */
int md_metadata_print(const struct md_trace *trace, bool sealed, struct md_buf *out);
/* The number of a log level by the name that CTF 2 has for it; MD_LOGLEVEL_NONE: there is none. */
int md_ctf2_level(const char *name);
/* What the metadata call the clock. */
const char *md_clock_name(const struct md_trace *t);

/* Appends the one `stream { … };` block, without its events. */
void md_ctf_print_stream(const struct md_stream *s, struct md_buf *out);
/* Appends the `event { … };` block of one event, with `stream_id`. */
void md_ctf_print_event(const struct md_event *e, uint32_t stream_id, struct md_buf *out);
/* The same as fragments of CTF 2, of a stream class of t. */
void md_ctf2_print_stream(const struct md_trace *t, const struct md_stream *s, bool sealed,
			  struct md_buf *out);
void md_ctf2_print_event(const struct md_event *e, uint32_t stream_id, struct md_buf *out);

#define MD_CTF_MAGIC 0xC1FC1FC1u

/* Packet header and packet context as in a stream file. */
struct md_packet {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t stream_instance_id;
	uint64_t timestamp_begin, timestamp_end;        /* clock values, ns */
	uint64_t content_size, packet_size;             /* bits, header included */
	uint64_t packet_seq_num;
	/* counts from the beginning of the stream */
	uint64_t events_discarded;
	uint32_t cpu_id;
} __attribute__((packed));

#define MD_PACKET_HEADER sizeof(struct md_packet)      /* 84 bytes */

/* Values of the schemes, as the CTF proposal (1.6, section 5) numbers them */
enum {
	MD_COMPRESSION_NONE, MD_COMPRESSION_BZIP2, MD_COMPRESSION_GZIP, MD_COMPRESSION_XZ
};
enum { MD_CHECKSUM_NONE, MD_CHECKSUM_MD5, MD_CHECKSUM_SHA1, MD_CHECKSUM_CRC32 };

/*
 * Makes the UUID of a trace whose packets are sealed of that of the trace, or back. Readers take
 * two directories with one UUID for one trace, and read the packets of both by one metadata: the
 * output of a session and copies of its trace/ differ.
 */
static inline void md_uuid_seal(uint8_t uuid[16])
{
	uuid[15] ^= 1;
}

/*
 * The same with the proposal's fields for the form of the content. If that is compressed,
 * packet_size has the bits in the file, and content_size the bits of the header and the content as
 * it was: a reader that does not undo it finds that the content is greater than the packet.
 */
struct md_sealed_packet {
	struct md_packet packet;
	uint32_t checksum;              /* of the content as it is in the file */
	uint8_t compression_scheme, encryption_scheme, checksum_scheme;
} __attribute__((packed));

#define MD_SEALED_HEADER sizeof(struct md_sealed_packet)        /* 91 bytes */

/* Packet index file of LTTng (index/NAME.idx, CTF index 1.1); all fields big endian. */
struct md_index_header {
	uint32_t magic;         /* 0xC1F1DCC1 */
	uint32_t major, minor;  /* 1, 1 */
	uint32_t packet_index_len;      /* sizeof(struct md_index_entry) */
} __attribute__((packed));

struct md_index_entry {
	uint64_t offset;        /* of the packet, bytes */
	uint64_t packet_size, content_size;     /* bits */
	uint64_t timestamp_begin, timestamp_end;
	uint64_t events_discarded;
	uint64_t stream_id;
	uint64_t stream_instance_id;
	uint64_t packet_seq_num;
} __attribute__((packed));

void md_index_header_set(struct md_index_header *h);
void md_index_entry_set(struct md_index_entry *e, const struct md_packet *p, uint64_t offset);

#endif
