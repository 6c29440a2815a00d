/* SPDX-License-Identifier: MIT */
/* Numbers as text: long or rare forms. See number.h. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "metadata/number.h"

const char md_digit_pairs[201] =
	"00010203040506070809" "10111213141516171819" "20212223242526272829" "30313233343536373839"
	"40414243444546474849" "50515253545556575859" "60616263646566676869" "70717273747576777879"
	"80818283848586878889" "90919293949596979899";

char *md_put_time_of_day(char *o, int64_t second)
{
	time_t time = (time_t)second;
	struct tm tm;

	if (!localtime_r(&time, &tm))
		tm = (struct tm){ 0 };
	o = md_put2(o, (uint32_t)tm.tm_hour);
	*o++ = ':';
	o = md_put2(o, (uint32_t)tm.tm_min);
	*o++ = ':';
	return md_put2(o, (uint32_t)tm.tm_sec);
}

char *md_put_u64_long(char *o, uint64_t v)
{
	uint64_t high = v / 100000000;

	if (high < 100000000) {
		o = md_put_u32(o, (uint32_t)high);
	} else {
		o = md_put_u32(o, (uint32_t)(high / 100000000));
		o = md_put8(o, (uint32_t)(high % 100000000));
	}
	return md_put8(o, (uint32_t)(v % 100000000));
}

/* Digits of 1 to 4 bits each, no leading zeros. */
static char *put_bits(char *o, uint64_t v, unsigned int bits)
{
	unsigned int n = v ? (63 - (unsigned int)__builtin_clzll(v)) / bits + 1 : 1;

	while (n--)
		*o++ = "0123456789ABCDEF"[v >> n * bits & ((1u << bits) - 1)];
	return o;
}

static uint64_t low_bits(uint64_t v, unsigned int bits)
{
	return bits < 64 ? v & ((UINT64_C(1) << bits) - 1) : v;
}

char *md_put_int(char *o, uint64_t v, unsigned int bits, unsigned int base, int is_signed)
{
	unsigned int i;

	switch (base) {
	case 2:
		*o++ = '0';
		*o++ = 'b';
		for (i = bits; i-- > 0; )
			*o++ = (char)('0' + (v >> i & 1));
		return o;
	case 8:
		*o++ = '0';
		/* Whole octal digits: the sign fills the uppermost one, so -1 of 8 bits is 0777. */
		return put_bits(o, low_bits(v, (bits + 2) / 3 * 3), 3);
	case 16:
		*o++ = '0';
		*o++ = 'x';
		return put_bits(o, low_bits(v, (bits + 3) / 4 * 4), 4);
	default:
		return is_signed ? md_put_s64(o, (int64_t)v) : md_put_u64(o, v);
	}
}

static const double powers[] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
	1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,       /* the last exact power in a double */
};

/*
 * Six significant digits of v > 0: *digits in [10^5, 10^6), v ~ digits * 10^(exponent - 5). One
 * multiplication or division by an exact power of ten has an error below 10^-10 here, so the
 * rounding is right unless the fraction is next to one half; then (and for v far from 1) it returns
 * false, and printf formats the number.
 */
static bool six_digits(double v, uint32_t *digits, int *exponent)
{
	double scaled, fraction;
	uint32_t whole;
	int e;

	if (!(v >= 1e-15 && v < 1e22))
		return false;
	if (v >= 1)
		for (e = 0; e < 21 && v >= powers[e + 1]; e++)
			;
	else
		for (e = -1; v * powers[-e] < 1; e--)
			;
	scaled = e <= 5 ? v * powers[5 - e] : v / powers[e - 5];
	if (!(scaled >= 100000 && scaled < 1000000))
		return false;
	whole = (uint32_t)scaled;
	fraction = scaled - whole;
	if (fraction > 0.499999 && fraction < 0.500001)
		return false;
	whole += fraction > 0.5;
	if (whole == 1000000) {
		whole = 100000;
		e++;
	}
	*digits = whole;
	*exponent = e;
	return true;
}

char *md_put_double(char *o, double v)
{
	char text[8];
	uint32_t digits;
	int e, n = 6;

	if (signbit(v) && !isnan(v)) {
		*o++ = '-';
		v = -v;
	}
	if (v == 0 || (v < 1000000 && v == (uint32_t)v))
		return md_put_u32(o, (uint32_t)v);
	if (!six_digits(v, &digits, &e))
		return o + snprintf(o, 31, "%g", v);
	md_put8(text, digits);
	while (n > 1 && text[n + 1] == '0')
		n--;
	if (e >= -4 && e < 0) {
		memcpy(o, "0.000", 5);
		o += 1 - e;
		memcpy(o, text + 2, 6);
		return o + n;
	}
	if (e >= 0 && e < 6) {
		memcpy(o, text + 2, 6);
		if (n <= e + 1)
			return o + e + 1;
		o[e + 1] = '.';
		memcpy(o + e + 2, text + 2 + e + 1, (size_t)(n - e - 1));
		return o + n + 1;
	}
	o[0] = text[2];
	o[1] = '.';
	memcpy(o + 2, text + 3, 5);
	o += n > 1 ? n + 1 : 1;
	*o++ = 'e';
	*o++ = e < 0 ? '-' : '+';
	return md_put2(o, (uint32_t)(e < 0 ? -e : e));
}
