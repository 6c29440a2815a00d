/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * types: one event of each tracepoint below, with tables written by hand: what TRAIL() cannot say,
 * but compatibility headers can. The same enumeration for several fields, lengths of all sizes,
 * fields that are not recorded, URIs.
 */
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <trail/trail.h>

static const struct trail__label colour_labels[] = {
	{ "RED", 0, 0, 0 },
	{ "GREEN", 0, 0, 1 },
	{ "OTHER \"ones\"\\", 5, 10, 0 },
	{ "ELEVEN", 0, 0, 1 },
	{ "BELOW", (unsigned long long)-10, (unsigned long long)-1, 0 },
	{ "TEN AND LESS", 1, 10, 0 },
};
static const struct trail__enum colours = { "colours", colour_labels, 6 };
static const struct trail__label huge_labels[] = {
	{ "FIRST", 0, 0, 1 },
	{ "MOST", UINT64_MAX, UINT64_MAX, 0 },
	{ "empty", 5, 4, 0 },
	{ 0, 7, 7, 0 },
};
static const struct trail__enum huge = { "huge", huge_labels, 4 };

#define ENUM(size, flags) TRAIL__CODE_OF(TRAIL__INT, TRAIL__ENUM | (flags), size)
#define SEQUENCE(size, flags, length) \
	(TRAIL__CODE_OF(TRAIL__SEQUENCE_OF, flags, size) | (unsigned int)(length) << 24)

#define POINT(name, level, uri) \
	static const struct trail__event name##_event = { \
		"types", #name, name##_fields, sizeof(name##_fields) / sizeof(name##_fields[0]), \
			level, 1, uri, \
	}; \
	static struct trail__tp name##_tp = { &name##_tp.off, &name##_event, 0, 0, 0, 0, 0, 0, \
		0 }; \
	static struct trail__tp *name##_entry __attribute__((used, \
		section("trail_tps"))) = &name##_tp

static const struct trail__field enums_fields[] = {
	{ "colour", ENUM(4, TRAIL__SIGNED), 0, &colours },
	{ "again", ENUM(1, TRAIL__SIGNED | TRAIL__HEX), 0, &colours },
	{ "net", ENUM(2, TRAIL__BIG_ENDIAN), 0, &huge },
	{ "huge", ENUM(8, 0), 0, &huge },
	{ "none", ENUM(1, 0), 0, 0 },
	{ "f", TRAIL__CODE_OF(TRAIL__FLOAT, TRAIL__BIG_ENDIAN, 4), 0, 0 },
};
POINT(enums, TRAIL__LEVEL_WARNING, "http://example.com/doc?\"a\"");

static const struct trail__field sequences_fields[] = {
	{ "s1", SEQUENCE(2, TRAIL__HEX, 1), 0, 0 },
	{ "s2", SEQUENCE(1, TRAIL__TEXT, 2), 0, 0 },
	{ "s4", SEQUENCE(1, 0, 0), 0, 0 },
	{ "s8", SEQUENCE(4, TRAIL__SIGNED, 8), 0, 0 },
	{ "last", TRAIL__CODE_OF(TRAIL__INT, 0, 1), 0, 0 },
};
POINT(sequences, TRAIL__LEVEL_INFO, 0);

static const struct trail__field hidden_fields[] = {
	{ "seen", TRAIL__CODE_OF(TRAIL__INT, TRAIL__SIGNED, 4), 0, 0 },
	{ "unseen", TRAIL__CODE_OF(TRAIL__INT, TRAIL__SIGNED | TRAIL__NOWRITE, 4), 0, 0 },
	{ "text", TRAIL__CODE_OF(TRAIL__STRING, TRAIL__NOWRITE, 0), 0, 0 },
};
POINT(hidden, TRAIL__LEVEL_INFO, "");

static unsigned char buffer[TRAIL__HEADROOM + 512 + TRAIL__SPARE], *at;

static void begin(void)
{
	at = buffer + TRAIL__HEADROOM;
}

static void put(const void *p, size_t n)
{
	memcpy(at, p, n);
	at += n;
}

/* In the order of this machine's bytes */
static void number(uint64_t v, size_t n)
{
	bool last = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	put((const char *)&v + (last ? sizeof(v) - n : 0), n);
}

/* Of fields with TRAIL__BIG_ENDIAN */
static void number_big(uint64_t v, size_t n)
{
	v = htobe64(v);
	put((const char *)&v + sizeof(v) - n, n);
}

static void end(struct trail__tp *tp, size_t unwritten)
{
	unsigned char *payload = buffer + TRAIL__HEADROOM;

	trail__record_at(tp, payload, (size_t)(at - payload) - unwritten, unwritten, 0);
}

static void record_enum(uint64_t v)
{
	if (!TRAIL__IS_ON(enums_tp))
		return;
	begin();
	number(v, 4);
	number(v, 1);
	number_big(v, 2);
	number(v, 8);
	number(v, 1);
	number_big(0x3fc00000, 4);      /* 1.5 */
	end(&enums_tp, 0);
}

static void record_sequences(void)
{
	static const uint16_t words[] = { 1, 0xfffe };
	static const int32_t numbers[] = { -1, 0, 7 };

	if (!TRAIL__IS_ON(sequences_tp))
		return;
	begin();
	number(2, 1);
	put(words, sizeof(words));
	number(4, 2);
	put("text", 4);
	number(1, 4);
	number(9, 1);
	number(3, 8);
	put(numbers, sizeof(numbers));
	number(255, 1);
	end(&sequences_tp, 0);
}

/* The same, put together by the library. */
static void record_pieces(void)
{
	static const uint16_t words[] = { 1, 0xfffe };
	static const int32_t numbers[] = { -1, 0, 7 };
	static const unsigned char nine = 9, last = 254;
	const struct trail__piece pieces[] = {
		{ sequences_fields[0].code, 2, words }, { sequences_fields[1].code, 4, "more" },
		{ sequences_fields[2].code, 1, &nine }, { sequences_fields[3].code, 3, numbers },
		{ sequences_fields[4].code, 0, &last },
	};

	if (TRAIL__IS_ON(sequences_tp))
		trail__record_pieces_at(&sequences_tp, pieces, 5, 0, 0);
}

static void record_hidden(int seen, int unseen)
{
	static const char text[] = "not seen either";
	const char *pointer = text;
	const struct trail__piece pieces[] = {
		{ hidden_fields[0].code, 0, &seen },
		{ hidden_fields[1].code, 0, &unseen },
		{ hidden_fields[2].code, 0, &pointer },
	};

	if (!TRAIL__IS_ON(hidden_tp))
		return;
	begin();
	number((uint32_t)seen, 4);
	number((uint32_t)unseen, 4);
	put(text, sizeof(text));
	end(&hidden_tp, 4 + sizeof(text));
	trail__record_pieces_at(&hidden_tp, pieces, 3, 2, 0);
}

int main(void)
{
	static const uint64_t values[] = { 0,  1, 2, 5, 7, 10, 11, 12, (uint64_t)-1, (uint64_t)-11,
					   200 };

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		record_enum(values[i]);
	record_sequences();
	record_pieces();
	record_hidden(42, 4711);
	(void)enums_entry, (void)sequences_entry, (void)hidden_entry;
	return 0;
}
