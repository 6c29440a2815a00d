/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs compiled types over the bits of a packet. */
#include "tracer/format/import/layout.h"

#include <string.h>

#include "metadata/number.h"
#include "tracer/format/import/packet_bits.h"

/* Elements that may have no bits: a trace of a few bytes must not have a text of gigabytes. */
#define EMPTY_MAX 65536u

static uint64_t align_up(uint64_t at, uint32_t align)
{
	return align > 1 ? (at + align - 1) & ~((uint64_t)align - 1) : at;
}

/* The first value of the clock, not before the last one, that has these low bits. */
static void advance_clock(struct packet_run *r, const struct step *s, unsigned int size, uint64_t v)
{
	uint64_t mask = size < 64 ? (UINT64_C(1) << size) - 1 : UINT64_MAX;

	r->cycles = size < 64 ? r->cycles + ((v - r->cycles) & mask) : v;
	r->clock = s->clock;
}

/* Keeps an integer of `size` bits for what refers to it. */
static inline void keep_int(struct packet_run *r, const struct step *s, unsigned int size,
			    uint64_t v)
{
	r->slots[s->slot] = v;
	if (s->tracked)
		r->slots[r->layout->slot_count + s->slot] = true;
	for (uint32_t left = s->roles; left; left &= left - 1)
		r->roles[__builtin_ctz(left)] = v;
	r->have |= s->roles;
	if (s->clock)
		advance_clock(r, s, size, v);
}

static inline int put(struct packet_run *r, const void *data, size_t n)
{
	r->work += n;
	if (!r->out)
		return 0;
	md_buf_put(r->out, data, n);
	return r->out->failed ? LAYOUT_NOMEM : 0;
}

/* The lowest n <= 8 bytes of v. Eight are stored: a copy of constant size is no call. */
static inline int put_int(struct packet_run *r, uint64_t v, size_t n)
{
	char *o;

	r->work += n;
	if (!r->out)
		return 0;
	o = md_buf_room(r->out, sizeof(v));
	if (!o)
		return LAYOUT_NOMEM;
	v <<= 8 * md_low_bytes(sizeof(v), (uint32_t)n);
	memcpy(o, &v, sizeof(v));
	r->out->len += n;
	return 0;
}

/* Takes the bits of a number from `at` on. The numbers in one byte are of one byte order. */
static inline int take_bits(struct packet_run *r, const struct step *s, uint64_t at)
{
	enum bits_order order = s->big_endian ? BITS_BE : BITS_LE;
	struct bits *b = &r->bits;

	if (at + s->size > b->end || at + s->size < at)
		return LAYOUT_SHORT;
	if (__builtin_expect(at & 7 && b->order != order && b->order, 0)) {
		r->why = r->layout->ctf2 ? "the byte order changes inside a byte" IN_CTF2("6.4.3")
					 : "the byte order changes inside a byte";
		return LAYOUT_BAD;
	}
	b->order = order;
	b->at = at + s->size;
	return 0;
}

static int run_float(struct packet_run *r, const struct step *s)
{
	struct bits *b = &r->bits;
	uint64_t at = align_up(b->at, s->align), low, high, v;
	unsigned int n = s->size < 64 ? s->size : 64, rest = s->size - n;
	int ret = take_bits(r, s, at);
	double d;

	if (ret)
		return ret;
	/* The upper bits come first in a big-endian number. */
	low = s->big_endian ? at + rest : at;
	high = s->big_endian ? at : at + n;
	v = read_bits(b->data + (low - b->from) / 8, (unsigned int)(low & 7), n, s->big_endian);
	high = rest ? read_bits(b->data + (high - b->from) / 8, (unsigned int)(high & 7), rest,
				s->big_endian)
		    : 0;
	if (s->reversed && rest) {
		/* The last bits that were read are the upper ones of the other order, too. */
		uint64_t swapped = reverse(v, n);

		v = reverse(high, rest);
		high = swapped;
		if (rest < 64) {
			v |= high << rest;
			high >>= 64 - rest;
		}
	} else {
		v = s->reversed ? reverse(v, n) : v;
	}
	d = packet_double((struct wide){ high, v }, s->size, s->exponent);
	memcpy(&v, &d, sizeof(v));
	return put_int(r, v, sizeof(v));
}

/* Where a bit field of C begins: it does not cross a boundary of its unit. */
static uint64_t place_in_unit(const struct packet_run *r, const struct step *s, uint64_t at)
{
	uint64_t begin = r->slots[s->begin], used = (at - begin) % s->unit;

	return used + s->size > s->unit ? at + s->unit - used : at;
}

static int run_int(struct packet_run *r, const struct step *s)
{
	struct bits *b = &r->bits;
	uint64_t at = align_up(b->at, s->align), v;
	int ret;

	if (s->unit)
		at = place_in_unit(r, s, at);
	ret = take_bits(r, s, at);
	if (ret)
		return ret;
	v = read_int(s, b->data + (at - b->from) / 8, (unsigned int)(at & 7),
		     b->end - (at & ~UINT64_C(7)));
	if (__builtin_expect(s->reversed | s->boolean, 0))
		v = change_int(s, v);
	keep_int(r, s, s->size, v);
	return put_int(r, v, s->bytes);
}

static int run_copy(struct packet_run *r, const struct step *s)
{
	struct bits *b = &r->bits;
	uint64_t at = align_up(b->at, s->align), n = 8 * (uint64_t)s->count, v;
	const uint8_t *p;

	if (at + n > b->end || at + n < at)
		return LAYOUT_SHORT;
	b->at = at + n;
	p = b->data + (at - b->from) / 8;
	if (n > 64 || b->end - at < 64)
		return put(r, p, s->count);
	memcpy(&v, p, sizeof(v));
	return put_int(r, v >> 8 * md_low_bytes(sizeof(v), s->count), s->count);
}

/* 7 bits of each byte, the lowest first; the last byte's highest bit is 0. */
static int run_leb128(struct packet_run *r, const struct step *s)
{
	struct bits *b = &r->bits;
	uint64_t at = align_up(b->at, 8), v = 0;
	unsigned int size = 0;
	uint8_t byte;

	do {
		if (at + 8 > b->end)
			return LAYOUT_SHORT;
		byte = b->data[(at - b->from) / 8];
		/* Of the tenth byte only one bit is of the value; the others repeat the sign. */
		if (size > 63 || (size == 63 && (s->is_signed ? (byte & 0x7f) !=
								       (byte & 1 ? 0x7f : 0)
							      : (byte & 0x7f) > 1))) {
			r->why = "an integer has more than 64 bits" OWN_LIMIT2;
			return LAYOUT_BAD;
		}
		v |= (uint64_t)(byte & 0x7f) << size;
		size += 7;
		at += 8;
		r->work++;
	} while (byte & 0x80);
	if (s->is_signed && size < 64 && byte & 0x40)
		v |= UINT64_MAX << size;
	b->at = at;
	keep_int(r, s, size, v);
	return put_int(r, v, s->bytes);
}

static int run_string(struct packet_run *r, const struct step *s)
{
	struct bits *b = &r->bits;
	uint64_t at = align_up(b->at, 8);
	const uint8_t *p, *nul;

	if (at >= b->end)
		return LAYOUT_SHORT;
	p = b->data + (at - b->from) / 8;
	if (s->encoding != TSDL_UTF8)
		return packet_string(r, s, at);
	nul = memchr(p, 0, (size_t)(b->end - at) / 8);
	if (!nul)
		return LAYOUT_SHORT;
	b->at = at + 8 * (uint64_t)(nul + 1 - p);
	return put(r, p, (size_t)(nul + 1 - p));
}

static const char why_missing[] =
	"the field with the length of a sequence or the tag of a variant is missing"
	IN_PROPOSAL("6.1");

static bool is_missing(const struct packet_run *r, uint32_t field)
{
	return r->any_missing && r->missing[field / 8] >> field % 8 & 1;
}

/* Whether the slot that a step needs has a value; if not, r->why says that. */
static bool has_value(struct packet_run *r, const struct step *s)
{
	if (s->needs && is_missing(r, s->needs - 1))
		r->why = why_missing;
	else if (s->checked && !r->slots[r->layout->slot_count + s->slot])
		r->why = "the field with a length or a selector has no value" IN_CTF2("6.4.2");
	else
		return true;
	return false;
}

/* The number of elements; a sequence has it before its elements. */
static int begin_loop(struct packet_run *r, const struct step *s, uint64_t *count)
{
	uint32_t length;

	if (!has_value(r, s))
		return LAYOUT_BAD;
	*count = s->slot == NO_SLOT ? s->count : r->slots[s->slot];
	r->bits.at = align_up(r->bits.at, s->align);
	if (s->empty && *count > EMPTY_MAX) {
		r->why = "an array has more than 65536 elements that may have no bits" OWN_LIMIT2;
		return LAYOUT_BAD;
	}
	if (s->slot == NO_SLOT)
		return 0;
	/* Each element has a bit at least. */
	if (*count > UINT32_MAX) {
		r->why = "a length is greater than 4294967295" OWN_LIMIT;
		return LAYOUT_BAD;
	}
	if (!s->empty &&
	    *count > r->bits.end - (r->bits.at < r->bits.end ? r->bits.at : r->bits.end))
		return LAYOUT_SHORT;
	length = (uint32_t)*count;
	return put(r, &length, sizeof(length));
}

static int run_bytes(struct packet_run *r, const struct step *s)
{
	struct bits *b = &r->bits;
	const uint8_t *p;
	uint64_t n;
	int err = begin_loop(r, s, &n);

	if (err)
		return err;
	if (b->at + 8 * n > b->end)
		return LAYOUT_SHORT;
	p = b->data + (b->at - b->from) / 8;
	b->at += 8 * n;
	if (s->roles & 1u << ROLE_UUID) {
		memcpy(r->uuid, p, sizeof(r->uuid));
	} else if (s->roles & 1u << ROLE_CHECKSUM) {
		memcpy(r->checksum, p, n);
		r->checksum_size = (uint8_t)n;
	}
	r->have |= s->roles;
	return put(r, p, n);
}

static int run_text(struct packet_run *r, const struct step *s)
{
	struct bits *b = &r->bits;
	uint64_t n, at = align_up(b->at, 8);

	if (!has_value(r, s))
		return LAYOUT_BAD;
	n = s->slot == NO_SLOT ? s->count : r->slots[s->slot];
	if (at > b->end || n > (b->end - at) / 8)
		return LAYOUT_SHORT;
	b->at = at + 8 * n;
	return packet_text(r, s, b->data + (at - b->from) / 8, (size_t)n);
}

static const char why_much[] = "an event or a header has too many values" OWN_LIMIT;

static int run_loop(struct packet_run *r, const struct step *s)
{
	uint64_t n;
	int err = begin_loop(r, s, &n);

	while (!err && n--) {
		err = layout_run_steps(r, s + 1);
		/* (Elements without bits are of no step.) */
		if (s->empty && ++r->work > LAYOUT_WORK_MAX) {
			r->why = why_much;
			return LAYOUT_BAD;
		}
	}
	return err;
}

static int run_hidden(struct packet_run *r, const struct step *s)
{
	struct md_buf *out = r->out;
	int err;

	r->out = NULL;
	err = layout_run_steps(r, s + 1);
	r->out = out;
	return err;
}

static int run_missing(struct packet_run *r, const struct step *s)
{
	uint32_t n = r->count_fields ? r->count_fields(r) : 0;
	struct bits *b = &r->bits;

	memset(r->missing, 0, sizeof(r->missing));
	for (uint32_t i = 0; i < n && i < 8 * sizeof(r->missing); i++) {
		uint64_t at = align_up(b->at, s->align);
		int ret = take_bits(r, s, at);

		if (ret)
			return ret;
		if (!read_bits(b->data + (at - b->from) / 8, (unsigned int)(at & 7), s->size,
			       s->big_endian))
			continue;
		r->missing[i / 8] |= (uint8_t)(1u << i % 8);
		r->any_missing = true;
	}
	return 0;
}

/* A missing field has no bits in the event. */
static int run_optional(struct packet_run *r, const struct step *s)
{
	uint8_t tag = !is_missing(r, s->count);
	int err = put(r, &tag, 1);

	return err || !tag ? err : layout_run_steps(r, s + 1);
}

static int run_variant(struct packet_run *r, const struct step *s)
{
	const struct range *g = r->layout->ranges + s->ranges, *end = g + s->count;
	uint64_t tag = r->slots[s->slot];
	int err;

	if (!has_value(r, s))
		return LAYOUT_BAD;
	for (; g < end; g++)
		if (g->is_signed ? (int64_t)tag >= g->begin && (int64_t)tag <= g->end
				 : tag >= (uint64_t)g->begin && tag <= (uint64_t)g->end)
			break;
	r->work += (uint64_t)(g - (end - s->count));
	if (g == end && !s->other) {
		r->why = IN_EITHER(r->layout->ctf2, "a tag selects no option of its variant",
				   "4.2.2", "6.4.20");
		return LAYOUT_BAD;
	}
	if (g == end)
		return put(r, "", 1);   /* the first option, which has no bits */
	err = put(r, &g->option, 1);
	return err ? err : layout_run_steps(r, r->layout->steps + g->step);
}

/* Those that few traces have, or few fields. */
static int run_rare(struct packet_run *r, const struct step *s)
{
	switch (s->code) {
	case STEP_FLOAT:
		return run_float(r, s);
	case STEP_BYTES:
		return run_bytes(r, s);
	case STEP_LOOP:
		return run_loop(r, s);
	case STEP_LEB128:
		return run_leb128(r, s);
	case STEP_TEXT:
		return run_text(r, s);
	case STEP_HIDDEN:
		return run_hidden(r, s);
	case STEP_FORGET:
		memset(r->slots + r->layout->slot_count + s->slot, 0,
		       s->count * sizeof(*r->slots));
		return 0;
	case STEP_MISSING:
		return run_missing(r, s);
	default:
		return run_optional(r, s);
	}
}

int layout_run_steps(struct packet_run *r, const struct step *s)
{
	int err = 0;

	/* The body of a step, if it has one, was run with it. */
	for (; s->code != STEP_END; s += 1 + s->body) {
		if (s->code == STEP_INT) {
			err = run_int(r, s);
		} else if (s->code == STEP_COPY) {
			err = run_copy(r, s);
		} else if (s->code == STEP_STRING) {
			err = run_string(r, s);
		} else if (s->code == STEP_VARIANT) {
			err = run_variant(r, s);
		} else if (s->code == STEP_ALIGN) {
			r->bits.at = align_up(r->bits.at, s->align);
			if (s->begin != NO_SLOT)
				r->slots[s->begin] = r->bits.at;
		} else {
			err = run_rare(r, s);
		}
		if (err)
			return err;
		if (++r->work > LAYOUT_WORK_MAX) {
			r->why = why_much;
			return LAYOUT_BAD;
		}
	}
	return 0;
}
