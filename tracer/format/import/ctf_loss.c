/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks the headers of packets. Lists packets, and what the trace says of events and packets that
 * it does not have: counters of discarded events, and gaps of sequence numbers, as babeltrace2
 * warns of them; and packets of another trace. Section 5 of the CTF proposal (1.6).
 */
#include "tracer/format/import/ctf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "metadata/number.h"
#include "tracer/base/ring/reader.h"

#define LOSSES_MAX (1u << 20)   /* of one stream; the last one has those that follow */
#define LINES_MAX 16u           /* of one stream; more have no line of their own */

struct ctf_losses {
	uint64_t events, packets;
	unsigned int line_count;
	uint64_t more;                  /* losses without a line */
	struct md_buf lines;
	struct input_loss *list;        /* owned */
	size_t count, room;
};

/* What is known of the packet before. */
struct before {
	bool any, ends;                 /* ends: `end` is valid */
	uint64_t end;                   /* ns */
	uint64_t discarded, sequence;
};

void ctf_free_losses(struct ctf_losses *l)
{
	if (l) {
		md_buf_deinit(&l->lines);
		free(l->list);
	}
	free(l);
}

/* Lists a loss before the packet at this place. If memory is short, it is left out. */
static void add_loss(struct ctf_losses *l, uint64_t packet, enum md_loss_kind kind, uint64_t n,
		     const bool known[2], const uint64_t times[2])
{
	struct md_loss loss = { .kind = kind, .count = n };
	struct input_loss *more = l->list;

	if (known[0] && known[1]) {
		loss.from = times[0];
		loss.to = times[1];
	}
	if (l->count == LOSSES_MAX) {
		for (size_t i = l->count; i-- > l->count / 2;)
			if (l->list[i].loss.kind == kind) {
				l->list[i].loss.count = add_saturated(l->list[i].loss.count, n);
				return;
			}
		return;
	}
	if (l->count == l->room) {
		more = realloc(l->list, (2 * l->room + 16) * sizeof(*more));
		if (!more)
			return;
		l->list = more;
		l->room = 2 * l->room + 16;
	}
	l->list[l->count++] = (struct input_loss){ packet, loss };
}

/* ` between 12:44:11.814926623 and 12:44:12.000000000` */
static void put_times(struct md_buf *out, const bool known[2], const uint64_t times[2])
{
	char text[32], *o;

	for (int i = 0; i < 2 && known[0] && known[1]; i++) {
		o = md_put_time_of_day(text, (int64_t)(times[i] / 1000000000));
		*o++ = '.';
		*md_put9(o, (uint32_t)(times[i] % 1000000000)) = 0;
		md_buf_puts(out, i ? " and " : " between ");
		md_buf_puts(out, text);
	}
	md_buf_putc(out, '\n');
}

/* Begins a line; false: there are enough. */
static bool begin_line(struct ctf_losses *l, const char *word, const struct import_file *f)
{
	if (l->line_count == LINES_MAX) {
		l->more++;
		return false;
	}
	l->line_count++;
	md_buf_printf(&l->lines, "%s %s: ", word, f->path);
	return true;
}

/*
 * How far a counter of `bits` bits has moved. A counter that wrapped is smaller than before. If
 * half of its values or more would be missing, it began again: 0.
 */
static uint64_t count_between(uint64_t from, uint64_t to, unsigned int bits)
{
	uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
	uint64_t n = (to - from) & mask;

	return n > mask / 2 ? 0 : n;
}

/* The significant bits of the sequence number: the packet may say so. */
static unsigned int sequence_bits(const struct ctf_packet *p)
{
	uint64_t bits = p->r.have & 1u << ROLE_SEQUENCE_BITS ? p->r.roles[ROLE_SEQUENCE_BITS] : 0;

	return bits && bits < p->class->sequence_bits ? (unsigned int)bits
						      : p->class->sequence_bits;
}

/* Events that were discarded before this packet. */
static void add_events(struct ctf_losses *l, const struct import_file *f,
		       const struct ctf_packet *p, const struct before *b, uint64_t place,
		       uint64_t begin, uint64_t end)
{
	const bool known[] = { b->any ? b->ends : p->r.have & 1u << ROLE_BEGIN,
			       p->r.have & 1u << ROLE_END };
	const uint64_t times[] = { b->any ? b->end : begin, end };
	uint64_t now = p->r.roles[ROLE_DISCARDED], n;

	if (!(p->r.have & 1u << ROLE_DISCARDED) || now == (b->any ? b->discarded : 0))
		return;
	n = b->any ? count_between(b->discarded, now, p->class->discarded_bits) : 0;
	l->events += n;
	add_loss(l, place, MD_LOSS_DISCARDED, n, known, times);
	if (!begin_line(l, "loss", f))
		return;
	/* The counter of the first packet, or of one that began again, may be of another time. */
	if (n)
		md_buf_printf(&l->lines, "%" PRIu64 " events discarded", n);
	else
		md_buf_puts(&l->lines, "events may have been discarded");
	put_times(&l->lines, known, times);
}

static void add_packets(struct ctf_losses *l, const struct import_file *f,
			const struct ctf_packet *p, const struct before *b, uint64_t place,
			uint64_t begin)
{
	const bool known[] = { b->ends, p->r.have & 1u << ROLE_BEGIN };
	const uint64_t times[] = { b->end, begin };
	uint64_t n;

	if (!b->any || !(p->r.have & 1u << ROLE_SEQUENCE))
		return;
	n = count_between(b->sequence + 1, p->r.roles[ROLE_SEQUENCE], sequence_bits(p));
	if (!n)
		return;
	l->packets += n;
	add_loss(l, place, MD_LOSS_PACKETS, n, known, times);
	if (!begin_line(l, "loss", f))
		return;
	md_buf_printf(&l->lines, "%" PRIu64 " packets lost", n);
	put_times(&l->lines, known, times);
}

/* A packet that says it is of another trace. */
static void check_uuid(struct ctf_losses *l, const struct ctf_stream *s,
		       const struct import_file *f, uint64_t offset, const struct ctf_packet *p)
{
	char theirs[37], ours[37];

	if (!s->trace->has_uuid || !(p->r.have & 1u << ROLE_UUID) ||
	    !memcmp(p->r.uuid, s->trace->uuid, sizeof(p->r.uuid)) || !begin_line(l, "warning", f))
		return;
	uuid_unparse_lower(p->r.uuid, theirs);
	uuid_unparse_lower(s->trace->uuid, ours);
	md_buf_printf(&l->lines,
		      "offset %" PRIu64 ": the packet is of the trace %s, the metadata of %s\n",
		      offset, theirs, ours);
}

/*
 * Adds what the header of one packet of a part of the stream says. Returns its size; 0: it cannot
 * be read.
 */
static uint64_t add_packet(struct ctf_losses *l, const struct ctf_stream *s, uint64_t part,
			   uint64_t offset, struct before *b)
{
	const struct import_file *f = s->parts[part].file;
	uint64_t place = part << CTF_OFFSET_BITS | offset;
	struct tr_err err = TR_ERR_INIT;
	struct ctf_packet p;
	uint64_t begin = 0, end = 0, size = 0;

	if (!ctf_read_header(s->trace, &err, f, offset, &p) && p.class == s->class) {
		ctf_time(&p.r, p.r.roles[ROLE_BEGIN], &begin);
		ctf_time(&p.r, p.r.roles[ROLE_END], &end);
		check_uuid(l, s, f, offset, &p);
		add_packets(l, f, &p, b, place, begin);
		add_events(l, f, &p, b, place, begin, end);
		*b = (struct before){ true, p.r.have & 1u << ROLE_END, end,
				      p.r.roles[ROLE_DISCARDED], p.r.roles[ROLE_SEQUENCE] };
		size = p.size / 8;
	}
	ctf_free_packet(&p);
	return size;
}

static struct ctf_losses *count_losses(const struct ctf_stream *s)
{
	struct ctf_losses *l = calloc(1, sizeof(*l));
	struct before b = { 0 };

	if (!l)
		return NULL;
	if (s->first && s->trace->foreign)
		md_buf_puts(&l->lines, s->trace->foreign);
	for (size_t i = 0; i < s->part_count; i++) {
		uint64_t offset = 0, size = 1;

		for (; size && offset < s->parts[i].file->size; offset += size)
			size = add_packet(l, s, i, offset, &b);
	}
	if (l->more)
		md_buf_printf(&l->lines, "loss %s: %" PRIu64 " more of these\n",
			      s->parts[0].file->path, l->more);
	return l;
}

void ctf_losses(const struct input *in, struct input_losses *out)
{
	struct ctf_stream *s = (struct ctf_stream *)in;
	/* Acquire: pairs with the release of another thread that has counted. */
	struct ctf_losses *l = __atomic_load_n(&s->losses, __ATOMIC_ACQUIRE), *none = NULL;

	if (!l && (l = count_losses(s)) &&
	    !__atomic_compare_exchange_n(&s->losses, &none, l, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		ctf_free_losses(l);
		l = none;
	}
	if (l)
		*out = (struct input_losses){ l->events, l->packets, md_buf_str(&l->lines),
					       l->list, l->count };
}

/* ---- packets ---- */

/* Describes the packet at `offset`. False: it does not say its times, or cannot be read. */
static bool describe_packet(const struct ctf_stream *s, const struct import_file *f,
			    uint64_t offset, struct input_packet *to, uint64_t *size)
{
	const unsigned int times = 1u << ROLE_BEGIN | 1u << ROLE_END;
	struct tr_err err = TR_ERR_INIT;
	struct ctf_packet p;
	bool done = !ctf_read_header(s->trace, &err, f, offset, &p) && p.class == s->class &&
		    (p.r.have & times) == times &&
		    ctf_time(&p.r, p.r.cycles, &to->begin_ts) &&
		    ctf_time(&p.r, p.r.roles[ROLE_END], &to->end_ts);

	if (done) {
		to->bytes = p.content / 8;
		*size = p.size / 8;
	}
	ctf_free_packet(&p);
	return done;
}

bool ctf_packets(const struct input *in, bool (*add)(void *arg, const struct input_packet *p),
		 void *arg)
{
	const struct ctf_stream *s = (const struct ctf_stream *)in;

	if (s->trace->early)
		return false;
	for (uint64_t part = 0; part < s->part_count; part++) {
		const struct import_file *f = s->parts[part].file;
		uint64_t offset = 0, size;

		for (; offset < f->size; offset += size) {
			struct input_packet p = {
				.at.packet = part << CTF_OFFSET_BITS | offset
			};

			if (!describe_packet(s, f, offset, &p, &size) || !add(arg, &p))
				return false;
		}
	}
	return true;
}
