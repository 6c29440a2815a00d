// SPDX-License-Identifier: MIT
/* Strings and text at call sites, and events that do not fit the call site's buffer. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "ustlib/lib.h"
#include "tracer/abi/ring.h"

void record_lost(struct trail__tp *tp)
{
	const struct slots *slots;

	__atomic_fetch_add(&slot_users, 1, __ATOMIC_SEQ_CST);
	slots = slots_of(tp);
	for (uint32_t i = 0; slots && i < slots->count; i++)
		if (*slots->slot[i].on)
			slot_lost(&slots->slot[i], 1);
	__atomic_fetch_sub(&slot_users, 1, __ATOMIC_RELEASE);
}

static size_t piece_size(const struct trail__piece *p, size_t *string)
{
	const char *s;

	switch (TRAIL__KIND(p->code)) {
	case TRAIL__STRING:
		s = *(const char *const *)p->data;
		if (p->code & TRAIL__TEXT << 16)
			*string = s ? strnlen(s, p->count) : 0;
		else
			*string = strlen(s ? s : "(null)");
		return *string + 1;
	case TRAIL__SEQUENCE_OF:
		return TRAIL__LENGTH(p->code) + (size_t)p->count * TRAIL__SIZE(p->code);
	case TRAIL__ARRAY_OF:
		return (size_t)p->count * TRAIL__SIZE(p->code);
	case TRAIL__BITS:
		return sizeof(uint64_t);
	case TRAIL__VARIANT:
		return 1 + piece_size(&((const struct trail__option *)p->data)->value, string);
	default:
		return TRAIL__SIZE(p->code);
	}
}

static unsigned char *put_bytes(unsigned char *at, const void *data, size_t n)
{
	if (n)
		memcpy(at, data, n);
	return at + n;
}

#define SHORT_TEXT 64
#define EACH_BYTE UINT64_C(0x0101010101010101)

/* Copies a word; whether one of its bytes is NUL. */
static bool put_word(unsigned char *at, const char *s)
{
	uint64_t w;

	memcpy(&w, s, sizeof(w));
	memcpy(at, &w, sizeof(w));
	return (w - EACH_BYTE) & ~w & (EACH_BYTE << 7);
}

/*
 * As put_measured. A NUL is looked for in what was loaded: to look for it in the copy, with loads
 * wider than the stores before them, takes longer than all else, as the CPU cannot forward these.
 */
static unsigned char *put_short(unsigned char *at, const char *s, size_t n)
{
	size_t i = 0;

	while (n - i >= sizeof(uint64_t) && !put_word(at + i, s + i))
		i += sizeof(uint64_t);
	/* Fewer bytes than a word are left: they are copied with some of the word before. */
	if (i && n - i < sizeof(uint64_t)) {
		i = n - sizeof(uint64_t);
		i += put_word(at + i, s + i) ? 0 : sizeof(uint64_t);
	}
	for (; i < n; i++) {
		at[i] = *(const volatile unsigned char *)(s + i);
		if (!at[i])
			return at + i + 1;
	}
	at[n] = 0;
	return at + n + 1;
}

/*
 * Copies a string that had n bytes when it was measured. It may have become shorter; the copy ends
 * with a NUL at its end.
 */
static unsigned char *put_measured(unsigned char *at, const char *s, size_t n)
{
	unsigned char *nul;

	s = s ? s : "(null)";
	if (n <= SHORT_TEXT)
		return put_short(at, s, n);
	memcpy(at, s, n);
	at[n] = 0;
	nul = memchr(at, 0, n + 1);
	return nul + 1;
}

/* used: see trail__put_bits. */
static unsigned char *put_piece(unsigned char *at, const struct trail__piece *p, size_t string,
				unsigned int *used)
{
	size_t size = TRAIL__SIZE(p->code);

	if (TRAIL__KIND(p->code) == TRAIL__BITS)
		return trail__put_bits(at, p, used);
	*used = 0;
	if (TRAIL__KIND(p->code) == TRAIL__VARIANT) {
		const struct trail__option *o = p->data;

		*at = o->tag;
		return put_piece(at + 1, &o->value, string, used);
	}

	switch (TRAIL__KIND(p->code)) {
	case TRAIL__STRING:
		return put_measured(at, *(const char *const *)p->data, string);
	case TRAIL__SEQUENCE_OF:
		trail__put_length(at, p->count, TRAIL__LENGTH(p->code));
		at += TRAIL__LENGTH(p->code);
		return put_bytes(at, p->data, p->count * size);
	case TRAIL__ARRAY_OF:
		return put_bytes(at, p->data, p->count * size);
	default:
		return put_bytes(at, p->data, size);
	}
}

/*
 * Events too large for the call site's stack buffer are built in memory of their own. They are
 * rare, so they may cost a mapping.
 */
TRAIL_EXPORT void trail__record_pieces_at(struct trail__tp *tp, const struct trail__piece *pieces,
					  unsigned int count, unsigned int unwritten,
					  const void *ip)
{
	size_t total = TRAIL__HEADROOM + TRAIL__SPARE, strings[TRAIL_EVENT_FIELDS_MAX] = { 0 },
	       len = 0;
	unsigned char *buffer, *begin, *at;
	unsigned int used = 0;
	int saved = errno;

	if (count > TRAIL_EVENT_FIELDS_MAX || unwritten > count)
		return;
	for (unsigned int i = 0; i < count; i++)
		total += piece_size(&pieces[i], &strings[i]);
	/* Larger than any sub-buffer: it is not read. */
	buffer = library_sealed || total > TRAIL_SUBBUF_MAX
			 ? MAP_FAILED
			 : mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
	if (buffer == MAP_FAILED) {
		record_lost(tp);
		errno = saved;
		return;
	}
	begin = at = buffer + TRAIL__HEADROOM;
	for (unsigned int i = 0; i < count; i++) {
		at = put_piece(at, &pieces[i], strings[i], &used);
		if (i + 1 == count - unwritten)
			len = (size_t)(at - begin);
	}
	trail__record_at(tp, begin, len, (size_t)(at - begin) - len, ip);
	munmap(buffer, total);
	errno = saved;
}

TRAIL_EXPORT void trail__record_pieces(struct trail__tp *tp, const struct trail__piece *pieces,
				       unsigned int count)
{
	trail__record_pieces_at(tp, pieces, count, 0, __builtin_return_address(0));
}

#ifdef __x86_64__
#include <emmintrin.h>
#endif

/*
 * Copies a string up to its NUL, or if it is bounded, up to `max` bytes, and ends it with a NUL.
 * Returns what follows, or NULL: no room. bounded is a constant, so each caller has its own loop.
 */
static inline __attribute__((always_inline)) unsigned char *
copy_text(unsigned char *at, unsigned char *end, const char *s, bool bounded, size_t max)
{
	size_t n, room;

#ifdef __x86_64__
	/*
	 * Sixteen bytes at a time, tested and stored from one load each, so that a string that
	 * changes meanwhile is still recorded as one. A load does not cross into a page that may
	 * not be there; nor does one begin where the text has ended, as the next page, or the
	 * address of an empty text, may not be there either. (Without rseq, which valgrind does
	 * not have, bytes after the NUL are left alone.)
	 */
	while (likely(rseq_usable) && ((uintptr_t)s & 4095) <= 4096 - 16 && end - at >= 16 &&
	       (!bounded || max)) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)s);
		unsigned int zero =
			(unsigned int)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));

		_mm_storeu_si128((__m128i *)at, bytes);
		if (bounded && max < 16) {
			n = (size_t)__builtin_ctz(zero | 1u << max);
			at[n] = 0;
			return at + n + 1;
		}
		if (zero)
			return at + __builtin_ctz(zero) + 1;
		at += 16;
		s += 16;
		max -= 16;
	}
#endif
	if (at >= end)
		return NULL;
	room = (size_t)(end - at);
	n = strnlen(s, bounded && max < room ? max : room);
	return n < room ? put_measured(at, s, n) : NULL;
}

TRAIL_EXPORT unsigned char *trail__put_string(unsigned char *at, unsigned char *end, const char *s)
{
	return copy_text(at, end, unlikely(!s) ? "(null)" : s, false, 0);
}

TRAIL_EXPORT unsigned char *trail__put_text(unsigned char *at, unsigned char *end, const char *s,
					    size_t max)
{
	return copy_text(at, end, unlikely(!s) ? "" : s, true, max);
}
