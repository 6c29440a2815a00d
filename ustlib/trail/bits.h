/* SPDX-License-Identifier: MIT */
/*
 * bits.h - bit fields as arguments of TRAIL(): integers of 1 to 64 bits that share bytes with
 * neighbours of their kind. Included by trail.h.
 *
 *	TRAIL(net, segment, TRAIL_BITS(ack, tcp->ack, 1), TRAIL_BITS(window, size >> 4, 12));
 *
 * records two bytes. The field has the lowest BITS bits of the value, whatever its type, as an
 * unsigned number; that of TRAIL_SIGNED_BITS is signed. expr is an integer, a bit-field or an
 * enumeration; BITS is a constant from 1 to 64. A member of TRAIL_MEMBERS cannot be one.
 */
/* Before the guard: trail.h includes this file where variant.h finds its functions. */
#include <trail/trail.h>

#ifndef TRAIL_BITS_H
#define TRAIL_BITS_H

#pragma GCC system_header

#define TRAIL_BITS(name, expr, bits) (TRAIL__MARK, BITS, #name, 0, expr, bits)
#define TRAIL_SIGNED_BITS(name, expr, bits) (TRAIL__MARK, BITS, #name, TRAIL__SIGNED, expr, bits)

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Puts a bit field after those that took the first *used bits of the byte before `at`, 0: all. As
 * trail_bits_begin in tracer/abi/app.h. Writes 8 bytes. p->count: 1 if it is the event's last
 * field, which has the rest of its byte, too.
 */
static __inline__ __attribute__((always_inline)) unsigned char *
trail__put_bits(unsigned char *at, const struct trail__piece *p, unsigned int *used)
{
	unsigned int bits = TRAIL__SIZE(p->code), begin = *used + bits > 64 ? 0 : *used;
	unsigned long long value;

	memcpy(&value, p->data, sizeof(value));
	value <<= 64 - bits;
	if (p->code & TRAIL__SIGNED << 16)
		value = (unsigned long long)((long long)value >> (64 - bits));
	else
		value >>= 64 - bits;
	if (p->count)
		bits = ((begin + bits + 7) & ~7u) - begin;
	value &= ~0ull >> (64 - bits);
	at -= begin != 0;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	value <<= 64 - begin - bits;
	if (begin)
		value |= (unsigned long long)*at << 56;
#else
	value <<= begin;
	if (begin)
		value |= *at;
#endif
	memcpy(at, &value, sizeof(value));
	*used = (begin + bits) % 8;
	return at + (begin + bits + 7) / 8;
}

#ifdef __cplusplus
}
#define TRAIL__BITS_VALUE(e) (static_cast<unsigned long long>(e))
#define TRAIL__CHECK_BITS(name, e) \
	static_assert(std::is_integral<typename std::decay<decltype((e))>::type>::value || \
		      std::is_enum<typename std::decay<decltype((e))>::type>::value, \
		      "TRAIL: the field " name " is neither an integer nor an enumeration");
#define TRAIL__ASSERT static_assert
#else
#define TRAIL__BITS_VALUE(e) ((e) | 0ull)       /* an error for what is no integer */
#define TRAIL__CHECK_BITS(name, e)
#define TRAIL__ASSERT _Static_assert
#endif

#define TRAIL__BITS_CODE(flags, bits) TRAIL__CODE_OF(TRAIL__BITS, flags, bits)
#define TRAIL__DECLARE_BITS(i, name, flags, e, bits) \
	TRAIL__CHECK_BITS(name, e) \
	TRAIL__ASSERT((bits) >= 1 && (bits) <= 64, \
		      "TRAIL: the bit field " name " needs a size of 1 to 64 bits");
#define TRAIL__DESCRIBE_BITS(i, name, flags, e, bits) { name, TRAIL__BITS_CODE(flags, bits), 0, 0 },
#define TRAIL__CAPTURE_BITS(i, name, flags, e, bits) \
	const unsigned long long trail__v##i = TRAIL__BITS_VALUE(e); \
	const struct trail__piece trail__p##i = { TRAIL__BITS_CODE(flags, bits), i == 1, \
		(const void *)&trail__v##i };

#endif
