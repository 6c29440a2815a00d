/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads packets. A struct input_place is the number of a file of the stream and the offset of a
 * packet in it (packet), the next bit in that packet (within; 0: its first event), and the value of
 * the clock.
 */
#include "tracer/format/import/ctf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/ctf.h"
#include "tracer/base/ring/seal.h"

#define HEADER_PIECE 4096u      /* bytes that are read for a packet's header at first */
#define DECOMPRESS_PIECE (1u << 20)     /* bytes: each piece decompresses its packet up to it */
#define CONTEXT_MAX 65536u      /* bytes of a packet context that is shown */
#define EVENT_MAX (UINT64_C(64) << 20)  /* bytes of one event */

bool ctf_time(const struct packet_run *r, uint64_t cycles, uint64_t *ns)
{
	int64_t base = r->clock ? r->clock->base : 0, sum;
	uint64_t freq = r->clock ? r->clock->freq : 1000000000;
	double scaled;

	if (freq != 1000000000) {       /* rounded as babeltrace2 does it */
		scaled = 1e9 * (double)cycles / (double)freq;
		if (!(scaled < 9.2e18))
			return false;
		cycles = (uint64_t)scaled;
	}
	if (cycles > INT64_MAX || __builtin_add_overflow(base, (int64_t)cycles, &sum) || sum < 0)
		return false;
	*ns = (uint64_t)sum;
	return true;
}

/* CTF 2 has a class without an id as the number 0. */
static const struct ctf_class *find_class(const struct ctf_trace *t, const struct packet_run *r)
{
	bool known = r->have & 1u << ROLE_STREAM;
	uint64_t id = known ? r->roles[ROLE_STREAM] : 0;

	if (!known && (t->class_count == 1 || !t->ctf2))
		return t->class_count == 1 ? t->classes : NULL;
	for (uint32_t i = 0; i < t->class_count; i++)
		if (t->classes[i].id == id)
			return &t->classes[i];
	return NULL;
}

/* A size of a packet in bits; UINT64_MAX: it is too large. */
static uint64_t size_in_bits(const struct ctf_trace *t, uint64_t size)
{
	return !t->bytes ? size : size > UINT64_MAX / 8 ? UINT64_MAX : 8 * size;
}

static uint32_t count_fields(const struct packet_run *r)
{
	const struct ctf_packet *p =
		(const struct ctf_packet *)((const char *)r - offsetof(struct ctf_packet, r));
	const struct ctf_event *e = ctf_event(p->class, r->roles[ROLE_ID]);

	return e ? e->field_count : 0;
}

/* Sets what the header says of the packet, once it is read, and checks that. */
static int set_packet(const struct ctf_trace *t, struct tr_err *err, const struct import_file *f,
		      uint64_t offset, struct ctf_packet *p)
{
	const struct packet_run *r = &p->r;
	uint64_t room = 8 * (f->size - offset);

	p->start = r->bits.at;
	p->size = r->have & 1u << ROLE_PACKET ? size_in_bits(t, r->roles[ROLE_PACKET])
		  : t->ctf2 && r->have & 1u << ROLE_CONTENT ? r->roles[ROLE_CONTENT]
							    : room;
	p->content = r->have & 1u << ROLE_CONTENT ? size_in_bits(t, r->roles[ROLE_CONTENT])
						  : p->size;
	p->cpu = r->have & 1u << ROLE_CPU ? (uint32_t)r->roles[ROLE_CPU] : 0;
	if (p->size > room)
		return import_fail(t->im, err, f, offset,
				   IN_EITHER(t->ctf2,
					     "expected a packet of %llu bytes, but the file ends "
					     "after %llu", "5.2", "6.1"),
				   (unsigned long long)p->size / 8,
				   (unsigned long long)room / 8);
	p->compression = (unsigned int)r->roles[ROLE_COMPRESSION];
	if ((p->content > p->size && !p->compression) || p->content < p->start || p->size % 8 ||
	    !p->size || p->size < p->start)
		return import_fail(t->im, err, f, offset,
				   IN_EITHER(t->ctf2,
					     "expected a packet of whole bytes with its header and "
					     "content, found packet_size %llu, content_size %llu",
					     "5.2", "6.1"),
				   (unsigned long long)p->size, (unsigned long long)p->content);
	if (r->roles[ROLE_ENCRYPTION])
		return import_fail(t->im, err, f, offset,
				   "the packet is encrypted, and there is no key" IN_CTF("5"));
	if (p->compression > MD_COMPRESSION_XZ)
		return import_fail(t->im, err, f, offset,
				   "compression_scheme %u is none of 0 to 3" IN_CTF("5"),
				   p->compression);
	if (p->compression && p->start % 8)
		return import_fail(t->im, err, f, offset,
				   "a compressed content does not begin with a byte" IN_CTF("5"));
	if (p->compression && p->content - p->start > 8 * SEAL_CONTENT_MAX)
		return import_fail(t->im, err, f, offset,
				   "a compressed content has more than 64 MiB" OWN_LIMIT);
	return 0;
}

static int fail_sum(const struct ctf_stream *s, const struct import_file *f, uint64_t offset,
		    const struct ctf_sum *wanted, const struct ctf_sum *found, bool crc)
{
	char text[2][80] = { "", "" };

	for (size_t i = 0; i < found->n && i < wanted->n; i++) {
		size_t at = crc ? found->n - 1 - i : i;

		snprintf(text[0] + 2 * i, 3, "%02x", wanted->bytes[at]);
		snprintf(text[1] + 2 * i, 3, "%02x", found->bytes[at]);
	}
	return import_fail(s->trace->im, NULL, f, offset,
			   "expected a content with the checksum %s, found %s" IN_CTF("5"),
			   text[0], text[1]);
}

/*
 * The checksum of a packet, if it has one that is known. 0 or -errno. The proposal (section 5) says
 * that it is of the content; we write it of all that follows the header.
 */
static int check_sum(const struct ctf_stream *s, const struct import_file *f, uint64_t offset,
		  const struct ctf_packet *p)
{
	uint64_t start = p->start / 8, scheme = p->r.roles[ROLE_CHECKSUM_SCHEME];
	struct ctf_sum wanted, found = { .n = 0 };
	int ret;

	if (!scheme || scheme > MD_CHECKSUM_CRC32 || p->start % 8 ||
	    !(p->r.have & 1u << ROLE_CHECKSUM))
		return 0;
	wanted = ctf_wanted_sum(p);
	ret = ctf_find_sum(scheme, f, offset + start, p->size / 8 - start, &found);
	if (!ret && ctf_is_same_sum(&wanted, &found))
		return 0;
	if (!ret && !p->compression && p->content < p->size) {
		ret = ctf_find_sum(scheme, f, offset + start, (p->content + 7) / 8 - start, &found);
		if (!ret && ctf_is_same_sum(&wanted, &found))
			return 0;
	}
	/* If the file has changed, that is the error to report. */
	if (import_read(s->trace->im, NULL, f, offset, NULL, 0))
		return -ESTALE;
	if (!ret)
		return fail_sum(s, f, offset, &wanted, &found, scheme == MD_CHECKSUM_CRC32);
	return import_fail(s->trace->im, NULL, f, offset,
			   "the content of the packet cannot be read");
}

/* Runs the programs of header and context. As layout_run; LAYOUT_BAD has a reason. */
static int run_header(const struct ctf_trace *t, struct ctf_packet *p)
{
	struct packet_run *r = &p->r;
	int ret = layout_run(r, t->layout.header);

	if (ret)
		return ret;
	if (r->have & 1u << ROLE_MAGIC && r->roles[ROLE_MAGIC] != MD_CTF_MAGIC) {
		r->why = IN_EITHER(t->ctf2, "expected the magic number 0xc1fc1fc1 of a packet",
				   "5", "6.1");
		return LAYOUT_BAD;
	}
	if (t->ctf2 && r->have & 1u << ROLE_UUID &&
	    memcmp(r->uuid, t->uuid, sizeof(t->uuid)) != 0) {
		r->why = "the packet is of another trace: its UUID is not the UUID of the preamble"
			 IN_CTF2("6.1");
		return LAYOUT_BAD;
	}
	p->class = find_class(t, r);
	if (!p->class) {
		r->why = r->have & 1u << ROLE_STREAM
				 ? IN_EITHER(t->ctf2, "the packet is of a stream that the metadata "
					     "does not have", "5", "6.1")
				 : "the packet does not say of which stream it is" IN_CTF("5.1");
		return LAYOUT_BAD;
	}
	if (p->class->shows_packet) {
		md_buf_reset(&p->context);
		r->out = &p->context;
	}
	ret = layout_run(r, p->class->packet_context);
	r->out = NULL;
	if (!ret && p->context.len > CONTEXT_MAX) {
		r->why = "the packet context, which text shows with each event, has more than "
			 "65536 bytes" OWN_LIMIT;
		return LAYOUT_BAD;
	}
	if (!r->clock)
		r->clock = p->class->clock;
	return ret;
}

int ctf_read_header(const struct ctf_trace *t, struct tr_err *err, const struct import_file *f,
		    uint64_t offset, struct ctf_packet *p)
{
	uint64_t room = f->size - offset, n = room < HEADER_PIECE ? room : HEADER_PIECE;
	uint8_t *data = NULL;
	int ret;

	*p = (struct ctf_packet){ .r = { .layout = &t->layout,
					.count_fields = count_fields },
				   .context = MD_BUF_INIT };
	p->r.slots = calloc(2 * (size_t)t->layout.slot_count + 1, sizeof(*p->r.slots));
	do {
		free(data);
		data = malloc(n + 1);
		if (!data || !p->r.slots) {
			free(data);
			return -ENOMEM;
		}
		ret = import_read(t->im, err, f, offset, data, n);
		if (ret)
			break;
		p->r.bits = (struct bits){ .data = data, .end = 8 * n };
		p->r.have = 0;
		p->r.checksum_size = 0;
		p->r.cycles = p->r.work = 0;
		p->r.clock = NULL;
		ret = run_header(t, p);
		n = 16 * n < room ? 16 * n : room;
	} while (ret == LAYOUT_SHORT && p->r.bits.end < 8 * n && n <= EVENT_MAX);
	if (ret == LAYOUT_BAD)
		ret = import_fail(t->im, err, f, offset, "%s", p->r.why);
	else if (ret == LAYOUT_SHORT)
		ret = import_fail(t->im, err, f, offset,
				  IN_EITHER(t->ctf2, "the file ends in the header of a packet",
					    "5", "6.4.3"));
	else if (ret == LAYOUT_NOMEM)
		ret = -ENOMEM;
	free(data);
	return ret ? ret : set_packet(t, err, f, offset, p);
}

void ctf_free_packet(struct ctf_packet *p)
{
	free(p->r.slots);
	md_buf_deinit(&p->context);
}

/* ---- events ---- */

/* One event. As layout_run. last: the time of the event before, in ns. */
static int read_event(struct ctf_packet *p, struct md_buf *out, uint64_t *last)
{
	const struct ctf_class *class = p->class;
	const struct ctf_event *e;
	struct packet_run *r = &p->r;
	uint64_t ns, id, begin = r->bits.at;
	bool ctf2 = r->layout->ctf2;
	int ret;

	r->out = NULL;
	r->work = 0;
	r->have &= ~(1u << ROLE_ID);
	r->any_missing = false;
	ret = layout_run(r, class->event_header);
	if (!ret && class->last_id && r->have & 1u << ROLE_ID &&
	    r->roles[ROLE_ID] == class->last_id)
		ret = layout_run(r, class->header_ext);
	if (ret)
		return ret;
	id = r->have & 1u << ROLE_ID ? r->roles[ROLE_ID] : 0;
	e = ctf_event(class, id);
	r->why = !e ? IN_EITHER(ctf2, "the metadata has no event with the id of this one", "6.1",
				"6.2")
		 : !ctf_time(r, r->cycles, &ns)
			 ? "the time of an event is before 1970 or after 2262" OWN_LIMIT
		 : ns < *last ? IN_EITHER(ctf2, "an event is earlier than the event before it", "8",
					  "4.2.2")
			      : NULL;
	if (r->why)
		return LAYOUT_BAD;
	*last = ns;
	import_put_header(out, e->id, ns);
	md_buf_put(out, p->context.data, p->context.len);
	r->out = out;
	ret = layout_run(r, class->event_context);
	if (!ret)
		ret = layout_run(r, e->context);
	if (!ret)
		ret = layout_run(r, e->fields);
	/* There would be no end of such events. */
	if (!ret && r->bits.at == begin) {
		r->why = IN_EITHER(ctf2, "an event has no bits", "6", "4.2.2");
		return LAYOUT_BAD;
	}
	return ret;
}

/*
 * Whether the last bits of the packet, where no whole event is, fill its last byte. A packet whose
 * header says where its content ends has events up to there.
 */
static bool is_padding(const struct ctf_packet *p, uint64_t at)
{
	return !(p->r.have & 1u << ROLE_CONTENT) && at % 8 && p->content - at < 8;
}

/*
 * Reads events from r->bits.at on, until `out` has `want` bytes or the piece or the packet ends.
 * last: time of the event before, ns. As layout_run, for the first event that was not read.
 */
static int read_events(struct ctf_packet *p, struct md_buf *out, size_t want, uint64_t last)
{
	struct packet_run *r = &p->r;
	int ret = 0;

	while (!ret && out->len < want && r->bits.at < p->content) {
		uint64_t at = r->bits.at, cycles = r->cycles;
		enum bits_order order = r->bits.order;
		size_t len = out->len;

		ret = read_event(p, out, &last);
		if (ret) {
			r->bits.at = at;
			r->bits.order = order;
			r->cycles = cycles;
			out->len = len;
		}
		if (ret == LAYOUT_SHORT && is_padding(p, at)) {
			r->bits.at = p->content;
			ret = 0;
		}
	}
	return ret;
}

#ifdef WITHOUT_COMPRESSION
#define CANNOT_DECOMPRESS "this build was made without decompression of packets"
#else
#define CANNOT_DECOMPRESS "there is no libbz2 for this packet of bzip2"
#endif

/* n bytes of a compressed packet, from this one of the decompressed on. 0 or -errno, reported. */
static int decompress_piece(const struct ctf_stream *s, const struct import_file *f,
			    uint64_t offset, const struct ctf_packet *p, uint64_t first,
			    void *out, size_t n)
{
	uint64_t start = p->start / 8;
	int ret = seal_decompress(p->compression, f->fd, offset + start, p->size / 8 - start,
				  first - start, out, n);

	if (ret == -ENOMEM)
		return ret;
	if (import_read(s->trace->im, NULL, f, offset, NULL, 0))
		return -ESTALE;
	if (!ret)
		return 0;
	import_fail(s->trace->im, NULL, f, offset,
		    ret == -ENOTSUP
			    ? CANNOT_DECOMPRESS IN_CTF("5")
			    : "the content of the packet cannot be decompressed" IN_CTF("5"));
	return -EBADMSG;
}

/* The piece of the packet from r->bits.at on, of n bytes at most. 0 or -errno. */
static int read_piece(const struct ctf_stream *s, const struct import_file *f, uint64_t offset,
		      struct ctf_packet *p, uint64_t n, uint8_t **data)
{
	struct bits *b = &p->r.bits;
	uint64_t first = b->at / 8, end = (p->content + 7) / 8;
	int ret;

	if (n > end - first)
		n = end - first;
	free(*data);
	*data = malloc(n + 16);
	if (!*data)
		return -ENOMEM;
	if (p->compression)
		ret = decompress_piece(s, f, offset, p, first, *data, n);
	else
		ret = import_read(s->trace->im, NULL, f, offset + first, *data, n);
	b->data = *data;
	b->from = 8 * first;
	b->end = 8 * (first + n) < p->content ? 8 * (first + n) : p->content;
	return ret;
}

static int fail_event(const struct ctf_stream *s, const struct import_file *f, uint64_t offset,
		      const struct ctf_packet *p, int ret)
{
	if (ret == LAYOUT_NOMEM)
		return -ENOMEM;
	return import_fail(s->trace->im, NULL, f, offset + p->r.bits.at / 8, "%s",
			   ret == LAYOUT_SHORT
				   ? IN_EITHER(s->trace->ctf2,
					       "an event ends after the content of its packet",
					       "5.2", "6.4.3")
				   : p->r.why);
}

/*
 * Sets the clock at a place, whose packet may begin earlier than the one before it ended. Returns
 * the time before which no event may be, ns.
 */
static uint64_t set_clock(struct packet_run *r, const struct input_place *at, bool early)
{
	uint64_t before = 0, begin = 0;

	if (at->within || (r->cycles < at->clock && !(r->have & 1u << ROLE_BEGIN)))
		r->cycles = at->clock;
	ctf_time(r, at->clock, &before);
	ctf_time(r, r->cycles, &begin);
	return before > begin || (early && !at->within) ? before : begin;
}

/* Events of one packet. 1; 0: it has no more; -errno. Moves `at` in the packet, or to the next. */
static int read_packet(const struct ctf_stream *s, const struct import_file *f, uint64_t offset,
		       struct ctf_packet *p, struct input_place *at, size_t want,
		       struct md_buf *out)
{
	struct packet_run *r = &p->r;
	size_t before = out->len;
	uint64_t n = want, last;
	uint8_t *data = NULL;
	int ret;

	if (p->class != s->class)
		return import_fail(s->trace->im, NULL, f, offset,
				   "expected a packet of the stream class of the file's first one"
				   IN_CTF("3"));
	if (at->within)
		r->bits.at = at->within, r->bits.order = 0;
	else if ((ret = check_sum(s, f, offset, p)))
		return ret;
	if (p->compression && want < DECOMPRESS_PIECE)
		n = want = DECOMPRESS_PIECE;
	last = set_clock(r, at, s->trace->early);
	do {
		ret = read_piece(s, f, offset, p, n, &data);
		if (!ret)
			ret = read_events(p, out, before + want, last);
		n *= 4;
	} while (ret == LAYOUT_SHORT && out->len == before && r->bits.end < p->content &&
		 n <= EVENT_MAX);
	free(data);
	if (ret && ret != -ENOMEM && ret != -ESTALE && ret >= LAYOUT_NOMEM && out->len == before)
		return fail_event(s, f, offset, p, ret);
	if (ret < LAYOUT_NOMEM || (ret == LAYOUT_NOMEM && out->failed))
		return ret < LAYOUT_NOMEM ? ret : -ENOMEM;
	at->within = r->bits.at;
	if (out->len > before || at->clock < r->cycles)
		at->clock = r->cycles;
	if (r->bits.at >= p->content) {
		at->within = 0;
		at->packet += p->size / 8;
	}
	return out->len > before;
}

int ctf_read(const struct input *in, struct input_place *at, size_t want, struct md_buf *out,
	     uint32_t *cpu)
{
	const struct ctf_stream *s = (const struct ctf_stream *)in;
	uint64_t mask = CTF_FILE_MAX;
	struct ctf_packet p;
	int ret = 0;

	while (!ret) {
		uint64_t part = at->packet >> CTF_OFFSET_BITS, offset = at->packet & mask;
		const struct import_file *f;

		if (part >= s->part_count)
			return 0;
		f = s->parts[part].file;
		if (offset >= f->size) {
			at->packet = (part + 1) << CTF_OFFSET_BITS;
			at->within = 0;
			continue;
		}
		ret = ctf_read_header(s->trace, NULL, f, offset, &p);
		if (!ret)
			ret = read_packet(s, f, offset, &p, at, want, out);
		ctf_free_packet(&p);
		*cpu = p.cpu;
	}
	return ret;
}
