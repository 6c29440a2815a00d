/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs compiled types over the bits of a packet. */
#include "tracer/format/import/layout.h"

#include <endian.h>
#include <math.h>
#include <string.h>

static uint64_t align_up(uint64_t at, uint32_t align)
{
	return align > 1 ? (at + align - 1) & ~((uint64_t)align - 1) : at;
}

/* `size` bits at any place: little endian from the lowest bit of a byte on, big endian reversed. */
static uint64_t read_bits(const uint8_t *p, unsigned int shift, unsigned int size, bool big)
{
	unsigned int n = (shift + size + 7) / 8;
	unsigned __int128 v = 0;

	for (unsigned int i = 0; i < n; i++)
		v |= (unsigned __int128)p[i] << 8 * (big ? n - 1 - i : i);
	v >>= big ? 8 * n - shift - size : shift;
	return (uint64_t)v & (size < 64 ? (UINT64_C(1) << size) - 1 : UINT64_MAX);
}

/* room: how many bits from p on can be read. */
static inline uint64_t read_int(const struct step *s, const uint8_t *p, unsigned int shift,
				uint64_t room)
{
	uint64_t v = 0;

	if (!s->big_endian && room >= 64 && shift + s->size <= 64) {
		/* Nearly all integers, also the packed ones of an event header: one load. */
		memcpy(&v, p, sizeof(v));
		v = le64toh(v) >> shift;
		if (s->size < 64)
			v &= (UINT64_C(1) << s->size) - 1;
	} else if (shift || (s->size & (s->size - 1)) || s->size < 8) {
		v = read_bits(p, shift, s->size, s->big_endian);
	} else {
		memcpy(&v, p, s->size / 8);
		v = s->big_endian ? be64toh(v) >> (64 - s->size) : le64toh(v);
	}
	if (s->is_signed)
		v = (uint64_t)((int64_t)(v << (64 - s->size)) >> (64 - s->size));
	return v;
}

/* The first value of the clock, not before the last one, that has these low bits. */
static void advance_clock(struct run *r, const struct step *s, uint64_t v)
{
	uint64_t mask = s->size < 64 ? (UINT64_C(1) << s->size) - 1 : UINT64_MAX;

	r->cycles = s->size < 64 ? r->cycles + ((v - r->cycles) & mask) : v;
	r->clock = s->clock;
}

static int put(struct run *r, const void *data, size_t n)
{
	r->work += n;
	if (!r->out)
		return 0;
	md_buf_put(r->out, data, n);
	return r->out->failed ? LAYOUT_NOMEM : 0;
}

/* The first n <= 8 bytes of v. Eight are stored: a copy of constant size is no call. */
static inline int put_int(struct run *r, uint64_t v, size_t n)
{
	char *o;

	r->work += n;
	if (!r->out)
		return 0;
	o = md_buf_room(r->out, sizeof(v));
	if (!o)
		return LAYOUT_NOMEM;
	v = htole64(v);
	memcpy(o, &v, sizeof(v));
	r->out->len += n;
	return 0;
}

/*
 * A number of other bits than a double has, rounded to one. exp_dig of 15 at most is of an
 * interchange format; else it is a number of the x87 in more bytes than it needs, whose leading 1
 * is stored.
 */
static double make_double(unsigned __int128 v, unsigned int size, unsigned int exp_dig)
{
	bool x87 = exp_dig > 15;
	unsigned int fraction = size - exp_dig - !x87, e_bits = x87 ? 15 : exp_dig;
	unsigned __int128 one = 1, m = v & ((one << fraction) - 1);
	int max = (1 << e_bits) - 1, e = (int)(v >> fraction) & max, bias = max / 2;
	bool minus = v >> (fraction + e_bits) & 1;
	double d;

	if (e == max)
		d = (x87 ? m << 65 : m) ? NAN : INFINITY;
	else
		d = ldexp((double)(e && !x87 ? m | one << fraction : m),
			  (e ? e : 1) - bias - (int)(x87 ? fraction - 1 : fraction));
	return minus ? -d : d;
}

static int run_float(struct run *r, const struct step *s)
{
	struct bits *b = &r->bits;
	uint64_t at = align_up(b->at, s->align), low, high, v;
	unsigned int n = s->size < 64 ? s->size : 64, rest = s->size - n;
	double d;

	if (at + s->size > b->end || at + s->size < at)
		return LAYOUT_SHORT;
	b->at = at + s->size;
	/* The upper bits come first in a big-endian number. */
	low = s->big_endian ? at + rest : at;
	high = s->big_endian ? at : at + n;
	v = read_bits(b->data + (low - b->from) / 8, (unsigned int)(low & 7), n, s->big_endian);
	high = rest ? read_bits(b->data + (high - b->from) / 8, (unsigned int)(high & 7), rest,
				s->big_endian)
		    : 0;
	d = make_double((unsigned __int128)high << 64 | v, s->size, s->exponent);
	memcpy(&v, &d, sizeof(v));
	return put_int(r, v, sizeof(v));
}

/* Where a bit field of C begins: it does not cross a boundary of its unit. */
static uint64_t place_in_unit(const struct run *r, const struct step *s, uint64_t at)
{
	uint64_t begin = r->slots[s->begin], used = (at - begin) % s->unit;

	return used + s->size > s->unit ? at + s->unit - used : at;
}

static int run_int(struct run *r, const struct step *s)
{
	struct bits *b = &r->bits;
	uint64_t at = align_up(b->at, s->align), v;

	if (s->unit)
		at = place_in_unit(r, s, at);

	if (at + s->size > b->end || at + s->size < at)
		return LAYOUT_SHORT;
	v = read_int(s, b->data + (at - b->from) / 8, (unsigned int)(at & 7),
		     b->end - (at & ~UINT64_C(7)));
	b->at = at + s->size;
	r->slots[s->slot] = v;
	if (s->role) {
		r->roles[s->role] = v;
		r->have |= 1u << s->role;
	}
	if (s->clock)
		advance_clock(r, s, v);
	return put_int(r, v, s->bytes);
}

static int run_string(struct run *r)
{
	struct bits *b = &r->bits;
	uint64_t at = align_up(b->at, 8);
	const uint8_t *p, *nul;

	if (at >= b->end)
		return LAYOUT_SHORT;
	p = b->data + (at - b->from) / 8;
	nul = memchr(p, 0, (size_t)(b->end - at) / 8);
	if (!nul)
		return LAYOUT_SHORT;
	b->at = at + 8 * (uint64_t)(nul + 1 - p);
	return put(r, p, (size_t)(nul + 1 - p));
}

static const char why_missing[] =
	"the field with the length of a sequence or the tag of a variant is missing"
	IN_PROPOSAL("6.1");

static bool is_missing(const struct run *r, uint32_t field)
{
	return r->any_missing && r->missing[field / 8] >> field % 8 & 1;
}

/* The number of elements; a sequence has it before its elements. */
static int begin_loop(struct run *r, const struct step *s, uint64_t *count)
{
	uint32_t length;

	if (s->needs && is_missing(r, s->needs - 1)) {
		r->why = why_missing;
		return LAYOUT_BAD;
	}
	*count = s->slot == NO_SLOT ? s->count : r->slots[s->slot];
	r->bits.at = align_up(r->bits.at, s->align);
	if (s->slot == NO_SLOT)
		return 0;
	/* Each element has a bit at least. */
	if (*count > UINT32_MAX) {
		r->why = "a length is greater than 4294967295" OWN_LIMIT;
		return LAYOUT_BAD;
	}
	if (*count > r->bits.end - (r->bits.at < r->bits.end ? r->bits.at : r->bits.end))
		return LAYOUT_SHORT;
	length = htole32((uint32_t)*count);
	return put(r, &length, sizeof(length));
}

static int run_bytes(struct run *r, const struct step *s)
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
	if (s->role == ROLE_UUID) {
		memcpy(r->uuid, p, sizeof(r->uuid));
		r->have |= 1u << ROLE_UUID;
	} else if (s->role == ROLE_CHECKSUM) {
		memcpy(r->checksum, p, n);
		r->checksum_size = (uint8_t)n;
		r->have |= 1u << ROLE_CHECKSUM;
	}
	return s->hidden ? 0 : put(r, p, n);
}

static int run_steps(struct run *r, const struct step *s);

static int run_loop(struct run *r, const struct step *s)
{
	uint64_t n;
	int err = begin_loop(r, s, &n);

	while (!err && n--)
		err = run_steps(r, s + 1);
	return err;
}

static int run_missing(struct run *r, const struct step *s)
{
	uint32_t n = r->count_fields ? r->count_fields(r) : 0;
	struct bits *b = &r->bits;

	memset(r->missing, 0, sizeof(r->missing));
	for (uint32_t i = 0; i < n && i < 8 * sizeof(r->missing); i++) {
		uint64_t at = align_up(b->at, s->align);

		if (at + s->size > b->end || at + s->size < at)
			return LAYOUT_SHORT;
		b->at = at + s->size;
		if (!read_bits(b->data + (at - b->from) / 8, (unsigned int)(at & 7), s->size,
			       s->big_endian))
			continue;
		r->missing[i / 8] |= (uint8_t)(1u << i % 8);
		r->any_missing = true;
	}
	return 0;
}

/* A missing field has no bits in the event. */
static int run_optional(struct run *r, const struct step *s)
{
	uint8_t tag = !is_missing(r, s->count);
	int err = put(r, &tag, 1);

	return err || !tag ? err : run_steps(r, s + 1);
}

static int run_variant(struct run *r, const struct step *s)
{
	const struct range *g = r->layout->ranges + s->ranges, *end = g + s->count;
	uint64_t tag = r->slots[s->slot];
	int err;

	if (s->needs && is_missing(r, s->needs - 1)) {
		r->why = why_missing;
		return LAYOUT_BAD;
	}
	for (; g < end; g++)
		if (g->is_signed ? (int64_t)tag >= g->begin && (int64_t)tag <= g->end
				 : tag >= (uint64_t)g->begin && tag <= (uint64_t)g->end)
			break;
	r->work += (uint64_t)(g - (end - s->count));
	if (g == end) {
		r->why = "a tag selects no option of its variant" IN_CTF("4.2.2");
		return LAYOUT_BAD;
	}
	err = put(r, &g->option, 1);
	return err ? err : run_steps(r, r->layout->steps + g->step);
}

static int run_steps(struct run *r, const struct step *s)
{
	int err = 0;

	for (;; s++) {
		switch (s->code) {
		case STEP_END:
			return 0;
		case STEP_ALIGN:
			r->bits.at = align_up(r->bits.at, s->align);
			if (s->begin != NO_SLOT)
				r->slots[s->begin] = r->bits.at;
			break;
		case STEP_INT:
			err = run_int(r, s);
			break;
		case STEP_FLOAT:
			err = run_float(r, s);
			break;
		case STEP_STRING:
			err = run_string(r);
			break;
		case STEP_BYTES:
			err = run_bytes(r, s);
			s += s->body;
			break;
		case STEP_LOOP:
			err = run_loop(r, s);
			s += s->body;
			break;
		case STEP_MISSING:
			err = run_missing(r, s);
			break;
		case STEP_OPTIONAL:
			err = run_optional(r, s);
			s += s->body;
			break;
		default:
			err = run_variant(r, s);
			s += s->body;
		}
		if (err)
			return err;
		if (++r->work > LAYOUT_WORK_MAX) {
			r->why = "an event or a header has too many values" OWN_LIMIT;
			return LAYOUT_BAD;
		}
	}
}

int layout_run(struct run *r, uint32_t program)
{
	return run_steps(r, r->layout->steps + program);
}
