/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace of CTF 1.8 or 2 as ctf.c has opened it and ctf_stream.c reads it. Private to import/. */
#ifndef TRACER_IMPORT_CTF_H
#define TRACER_IMPORT_CTF_H

#include "tracer/format/import/import.h"
#include "tracer/format/import/layout.h"

#define CTF_OFFSET_BITS 48      /* of input_place.packet; above them: the number of the file */
#define CTF_FILE_MAX ((UINT64_C(1) << CTF_OFFSET_BITS) - 1)

struct ctf_event {
	uint64_t number;                /* its id in the trace */
	uint32_t id;                    /* of the model's event */
	uint32_t field_count;
	uint32_t context, fields;       /* programs */
};

struct ctf_class {              /* a stream class */
	uint64_t id;
	struct md_stream *md;   /* owned by the md_trace */
	uint32_t packet_context, event_header, event_context;   /* programs */
	uint32_t header_ext;    /* program: follows a header whose id is last_id */
	uint64_t last_id;       /* 0: no header is extended */
	const struct clock_class *clock;        /* of the headers of events */
	struct ctf_event *events;       /* by number; owned */
	uint32_t event_count;
	uint32_t *by_number;    /* 1 + the place of each number below 65536; 0: none; owned */
	uint8_t empty;          /* contexts of packet and stream that text has as `{ }` */
	bool shows_packet;      /* text has members of the packet context, as contexts */
	uint8_t checksum_bits;  /* of an integer */
	bool checksum_big;
	uint8_t discarded_bits, sequence_bits;  /* of the counters of packets; 0: there is none */
};

struct ctf_trace {
	const struct import *im;
	struct trace_layout layout;
	struct ctf_class *classes;
	uint32_t class_count;
	bool has_uuid;
	bool bytes;             /* sizes of packets are in bytes */
	bool ctf2;
	uint8_t uuid[16];
	char *foreign;          /* a line `warning …` about the metadata; NULL; owned */
	bool early;             /* of barectf: the first event of a packet may be before it */
};

/* Files of one stream, in the order of their times. */
struct ctf_part { const struct import_file *file; uint64_t begin; };

struct ctf_stream {
	struct input in;
	const struct ctf_trace *trace;
	const struct ctf_class *class;
	uint64_t instance;
	bool has_instance;
	uint32_t cpu;
	bool first;             /* of its trace */
	struct ctf_part *parts;
	size_t part_count;
	struct ctf_losses *losses;      /* atomic; NULL: not counted yet; owned */
};

/* A packet whose header was read: r is after it. */
struct ctf_packet {
	const struct ctf_class *class;
	/* Bits. Of a compressed packet, content has those of its header and the rest as it was. */
	uint64_t content, size;
	unsigned int compression;       /* MD_COMPRESSION_… */
	uint64_t start;         /* of its first event, bits */
	uint32_t cpu;
	struct packet_run r;           /* slots: owned */
	struct md_buf context;  /* what each event has of it, if the class shows it; owned */
};

/*
 * Reads the header of the packet at this offset. 0 or -errno, reported as by import_fail. The
 * caller calls ctf_free_packet in both cases.
 */
int ctf_read_header(const struct ctf_trace *t, struct tr_err *err, const struct import_file *f,
		    uint64_t offset, struct ctf_packet *p);
void ctf_free_packet(struct ctf_packet *p);

/* ctf_sum.c: a checksum as its bytes; md5 and sha1 may be cut to those that a field has. */
struct ctf_sum { uint8_t bytes[32]; size_t n; };
/* The sum that the header has. */
struct ctf_sum ctf_wanted_sum(const struct ctf_packet *p);
/* The sum of `len` bytes of the file; both have the lowest byte of a crc32 first. 0 or -errno. */
int ctf_find_sum(uint64_t scheme, const struct import_file *f, uint64_t from, uint64_t len,
		 struct ctf_sum *s);
bool ctf_is_same_sum(const struct ctf_sum *wanted, const struct ctf_sum *found);

/* ns since the epoch. False: before it, or too late for 63 bits. */
bool ctf_time(const struct packet_run *r, uint64_t cycles, uint64_t *ns);
/* ctf_model.c: fills t and md from c->t. 0 or -errno with a sentence. */
int ctf_fill_model(struct compiler *c, struct ctf_trace *t, struct md_trace *md);
/* NULL: no event has this id. */
const struct ctf_event *ctf_event(const struct ctf_class *class, uint64_t number);
/* The functions of ring/input.h. */
int ctf_read(const struct input *in, struct input_place *at, size_t want, struct md_buf *out,
	     uint32_t *cpu);
/* The following are in ctf_loss.c. */
bool ctf_packets(const struct input *in, bool (*add)(void *arg, const struct input_packet *p),
		 void *arg);
void ctf_losses(const struct input *in, struct input_losses *out);
void ctf_free_losses(struct ctf_losses *l);     /* NULL is allowed */

#endif
