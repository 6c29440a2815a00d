/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings of CTF 2 in other encodings than UTF-8 or of a length (5.3.11); numbers as doubles. */
#include "tracer/format/import/layout.h"

#include <math.h>
#include <string.h>

#define NOT_VALID 0xfffdu

static size_t unit_size(const struct step *s)
{
	return s->encoding == TSDL_UTF8 ? 1 : s->encoding <= TSDL_UTF16BE ? 2 : 4;
}

static uint32_t load_unit(const struct step *s, const uint8_t *p)
{
	size_t n = unit_size(s);
	bool big = s->encoding == TSDL_UTF16BE || s->encoding == TSDL_UTF32BE;
	uint32_t v = 0;

	for (size_t i = 0; i < n; i++)
		v |= (uint32_t)p[i] << 8 * (big ? n - 1 - i : i);
	return v;
}

/* The code point at p, of n bytes at most, which has *size bytes. */
static uint32_t load_code_point(const struct step *s, const uint8_t *p, size_t n, size_t *size)
{
	uint32_t c = load_unit(s, p), low;

	*size = unit_size(s);
	if (*size == 2 && c >= 0xd800 && c < 0xdc00 && n >= 4) {
		low = load_unit(s, p + 2);
		if (low >= 0xdc00 && low < 0xe000) {
			*size = 4;
			return 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff);
		}
	}
	return (c >= 0xd800 && c < 0xe000) || c > 0x10ffff ? NOT_VALID : c;
}

/* Returns its bytes. */
static size_t make_utf8(uint32_t c, uint8_t o[4])
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = n; i-- > 1; c >>= 6)
		o[i] = (uint8_t)(0x80 | (c & 0x3f));
	o[0] = (uint8_t)(first[n] | c);
	return n;
}

static int append(struct packet_run *r, const void *data, size_t n)
{
	r->work += n;
	if (!r->out)
		return 0;
	md_buf_put(r->out, data, n);
	return r->out->failed ? LAYOUT_NOMEM : 0;
}

int packet_text(struct packet_run *r, const struct step *s, const uint8_t *p, size_t n)
{
	size_t unit = unit_size(s), size = 0;
	uint8_t utf8[4];
	int err = 0;

	if (unit == 1) {
		size = strnlen((const char *)p, n);
		err = append(r, p, size);
		return err ? err : append(r, "", 1);
	}
	for (size_t i = 0; i < n && !err; i += size) {
		uint32_t c;

		if (n - i < unit) {
			r->why = "a string ends in the middle of a character" IN_CTF2("6.4.12");
			return LAYOUT_BAD;
		}
		c = load_code_point(s, p + i, n - i, &size);
		if (!c)
			break;
		err = append(r, utf8, make_utf8(c, utf8));
	}
	return err ? err : append(r, "", 1);
}

int packet_string(struct packet_run *r, const struct step *s, uint64_t at)
{
	struct bits *b = &r->bits;
	const uint8_t *p = b->data + (at - b->from) / 8;
	size_t unit = unit_size(s), n = (size_t)((b->end - at) / 8), i = 0;

	while (i + unit <= n && load_unit(s, p + i))
		i += unit;
	if (i + unit > n)
		return LAYOUT_SHORT;
	b->at = at + 8 * (uint64_t)(i + unit);
	return packet_text(r, s, p, i);
}

/* ---- numbers ---- */

/* The lowest `bits` of v, and v without them */
static struct wide low_bits(struct wide v, unsigned int bits)
{
	uint64_t mask = (UINT64_C(1) << bits % 64) - 1;

	return bits < 64 ? (struct wide){ 0, v.low & mask } : (struct wide){ v.high & mask, v.low };
}

static uint64_t without_low_bits(struct wide v, unsigned int bits)
{
	if (!bits)
		return v.low;
	return bits < 64 ? v.high << (64 - bits) | v.low >> bits : v.high >> (bits - 64);
}

/* Rounds once: of more than 64 bits, it suffices to know whether there are ones below those. */
static double wide_double(struct wide v)
{
	int more = v.high ? 64 - __builtin_clzll(v.high) : 0;
	uint64_t top = without_low_bits(v, (unsigned int)more);

	return ldexp((double)(top | !!low_bits(v, (unsigned int)more).low), more);
}

double packet_double(struct wide v, unsigned int size, unsigned int exp_dig)
{
	bool x87 = exp_dig > 15;
	unsigned int fraction = size - exp_dig - !x87, e_bits = x87 ? 15 : exp_dig;
	struct wide m = low_bits(v, fraction), one = { 0, 0 };
	int max = (1 << e_bits) - 1, e = (int)without_low_bits(v, fraction) & max, bias = max / 2;
	bool minus = without_low_bits(v, fraction + e_bits) & 1;
	double d;

	if (e && !x87 && fraction < 64)
		one.low = UINT64_C(1) << fraction;
	else if (e && !x87)
		one.high = UINT64_C(1) << (fraction - 64);
	if (e == max)   /* (x87: all but the integer's bit) */
		d = m.high || (x87 ? m.low << 1 : m.low) ? NAN : INFINITY;
	else
		d = ldexp(wide_double(wide_sum(m, one)),
			  (e ? e : 1) - bias - (int)(x87 ? fraction - 1 : fraction));
	return minus ? -d : d;
}
