/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mutated format files, records and ring buffer pages, through the parser, the transcoder and the
 * page decoder; what comes out must be what the decoder of the trace takes. Deterministic: a crash
 * at round N repeats with `fuzz_kpage SECONDS N`. Build it with -fsanitize=address,undefined.
 */
#include <errno.h>
#include <time.h>

#include "metadata/decode.h"
#include "tests/lib/classes.h"
#include "tests/lib/kformats.h"
#include "tests/lib/kpage_word.h"
#include "tracer/kernel/kevent/transcode.h"

static uint64_t round_number;

static void fail(const char *what)
{
	printf("not ok - round %llu: %s\n", (unsigned long long)round_number, what);
	exit(1);
}

/* Bytes changed, cut out, put in twice; numbers and words that matter in other places. */
static void mutate(uint64_t *seed, struct md_buf *b)
{
	static const char *const words[] = {
		"0",          "1",          "4",         "65535",
		"65536",      "4294967295", "999999999", "__data_loc char[] ",
		"__rel_loc ", "[",          "]",         ";",
		"\t",         "\n",         "char ",     "*",
		"struct ",    "__",         "_val",      "common_pid",
		"signed:1",   "{ 1, \""
	};
	uint64_t i, at, n;

	for (i = below(seed, 6); i && b->len; i--) {
		at = below(seed, b->len);
		n = below(seed, 1 + (b->len - at < 40 ? b->len - at : 40));
		switch (below(seed, 5)) {
		case 0:
			b->data[at] = (char)rnd(seed);
			break;
		case 1:
			memmove(b->data + at, b->data + at + n, b->len - at - n);
			b->len -= n;
			break;
		case 2: {
			const char *w = words[below(seed, sizeof(words) / sizeof(words[0]))];

			n = strlen(w) < b->len - at ? strlen(w) : b->len - at;
			memcpy(b->data + at, w, n);
			break;
		}
		case 3: {
			char piece[40];

			memcpy(piece, b->data + at, n);
			md_buf_put(b, piece, n);
			break;
		}
		default:
			b->data[at] = (char)('0' + below(seed, 10));
			break;
		}
	}
	if (b->len && below(seed, 10) == 0)
		b->len -= below(seed, b->len);
}

/* Of exactly this size, so that ASan sees the first byte too many. */
static void *exact(const void *data, size_t n)
{
	void *copy = malloc(n + !n);

	if (n)
		memcpy(copy, data, n);
	return copy;
}

static struct kformat *random_format(uint64_t *seed)
{
	uint64_t which = below(seed, STORED_FORMATS);
	struct md_buf b = MD_BUF_INIT;
	struct kformat *f = NULL;
	char *text;

	md_buf_puts(&b, stored_formats[which].text);
	if (below(seed, 4))
		mutate(seed, &b);
	text = exact(b.data, b.len);
	if (kformat_parse(stored_formats[which].system, text, b.len, &f))
		f = NULL;
	free(text);
	md_buf_deinit(&b);
	return f;
}

static uint8_t *random_record(uint64_t *seed, size_t n)
{
	uint8_t *b = malloc(n + !n);
	uint64_t zeros = below(seed, 3);
	size_t i;

	for (i = 0; i < n; i++)
		b[i] = zeros && below(seed, 3) ? 0 : (uint8_t)rnd(seed);
	return b;
}

/* The places of dynamic fields are mostly good ones. */
static void place_fields(uint64_t *seed, const struct kformat *f, uint8_t *record, size_t len)
{
	uint32_t i, loc;

	for (i = 0; i < f->field_count; i++) {
		const struct kformat_field *k = &f->fields[i];

		if (k->place == KFORMAT_FIXED || k->place == KFORMAT_REST || k->offset + 4 > len ||
		    below(seed, 4) == 0)
			continue;
		loc = (uint32_t)below(seed, len + 2);
		loc |= (uint32_t)below(seed, len - (loc < len ? loc : len) + 2) << 16;
		memcpy(record + k->offset, &loc, sizeof(loc));
	}
}

/* A payload is one event, to the byte. */
static void check_decodes(const struct md_stream *s, const uint8_t *payload, size_t n)
{
	uint8_t *event = malloc(6 + n);
	struct md_decoder d = { .stream = s, .p = event, .end = event + 6 + n };
	struct md_occurrence o;

	memset(event, 0, 6);
	memcpy(event + 6, payload, n);
	if (md_decoder_next(&d, &o) != 1 || d.p != d.end)
		fail("a payload is not what its class says");
	free(event);
}

static void transcode(const struct kformat *f, const struct kcode *c, const struct md_stream *s,
		      const uint8_t *record, size_t len)
{
	size_t bound = kcode_bound(c, len);
	uint8_t *to = malloc(bound + 1), *again;
	ssize_t n = kcode_run(c, record, len, to, bound), less;

	if (n == -EBADMSG ? len >= f->size : n < 0 || (size_t)n > bound)
		fail("no payload");
	if (n >= 0) {
		again = malloc((size_t)n + 1);
		if (kcode_run(c, record, len, again, (size_t)n) != n ||
		    memcmp(to, again, (size_t)n))
			fail("another payload");
		less = n ? kcode_run(c, record, len, again, (size_t)n - 1) : -ENOSPC;
		if (less != -ENOSPC)
			fail("a payload in less room than it has");
		free(again);
		if (s)
			check_decodes(s, to, (size_t)n);
	}
	free(to);
}

static void formats(uint64_t *seed)
{
	struct md_stream *s = md_stream_create(0, MD_HEADER_LARGE);
	struct kformat *f = random_format(seed);
	struct md_event *e = f ? kformat_event(f) : NULL;
	struct kcode *c = f ? kcode_make(f) : NULL;
	struct filter_event tables;
	uint8_t *record;
	size_t len;
	uint32_t i;
	int n;

	if (f) {
		kformat_filter_event(f, &tables);
		for (i = 0; i < tables.field_count; i++)
			if (strcmp(tables.strings + tables.fields[i].name, f->fields[i].name))
				fail("a filter's field has another name");
	}
	if (e && md_stream_add(s, e)) {
		md_event_destroy(e);
		md_stream_destroy(s);
		s = NULL;
	}
	for (n = 0; f && n < 20; n++) {
		len = f->size + below(seed, 100);
		if (below(seed, 8) == 0)
			len = below(seed, f->size + 1);
		record = random_record(seed, len);
		place_fields(seed, f, record, len);
		transcode(f, c, s, record, len);
		free(record);
	}
	kcode_free(c);
	kformat_free(f);
	md_stream_destroy(s);
}

static void put_record(uint64_t *seed, struct md_buf *b)
{
	uint32_t type = (uint32_t)below(seed, 32), word = kpage_word(type, (uint32_t)rnd(seed)),
		 words = type;
	uint64_t i;

	if (type == 29 && below(seed, 4) == 0)
		word = kpage_word(29, 0);
	md_buf_put(b, &word, 4);
	if (type == 0 || type == 29) {
		uint32_t len = 4 * (1 + (uint32_t)below(seed, 40));

		md_buf_put(b, &len, 4);
		words = len / 4 - 1;
	} else if (type > 29) {
		words = 1;
	}
	for (i = 0; i < words; i++) {
		word = (uint32_t)rnd(seed);
		md_buf_put(b, &word, 4);
	}
}

static void random_page(uint64_t *seed, struct md_buf *b, size_t size)
{
	static const uint64_t flags[] = {
		0, 0, 0, UINT64_C(1) << 31, UINT64_C(3) << 30, UINT64_C(1) << 20
	};
	uint64_t commit, zero = 0;

	md_buf_put(b, &zero, 8);
	md_buf_put(b, &zero, 8);
	while (b->len < size && below(seed, 60))
		put_record(seed, b);
	commit = (b->len - 16) | flags[below(seed, 6)];
	memcpy(b->data + 8, &commit, 8);
	while (b->len < size)
		md_buf_put(b, &zero, size - b->len < 8 ? size - b->len : 8);
	b->len = size;
	if (below(seed, 2))
		mutate(seed, b);
}

static void pages(uint64_t *seed)
{
	static const char text[] =
		"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t "
		"commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char "
		"data;\toffset:16;\tsize:4080;\tsigned:1;\n";
	struct md_buf header = MD_BUF_INIT, b = MD_BUF_INIT;
	struct kpage_layout l;
	const uint8_t *record;
	uint8_t *page;
	struct kpage p;
	uint64_t ts;
	size_t len, count = 0;
	char *copy;
	int ret;

	md_buf_puts(&header, text);
	if (below(seed, 3) == 0)
		mutate(seed, &header);
	copy = exact(header.data, header.len);
	ret = kpage_layout_parse(copy, header.len, &l);
	kpage_check_header_event(copy, header.len);
	free(copy);
	random_page(seed, &b, 16 + below(seed, 4081));
	page = exact(b.data, b.len);
	if (!ret && !kpage_begin(&p, page, b.len, &l)) {
		while (kpage_next(&p, &ts, &record, &len)) {
			if (len < KRECORD_HEADER || record < page + l.data_at ||
			    len > (size_t)(page + b.len - record))
				fail("a record outside of its page");
			if (++count > b.len)
				fail("more records than bytes");
			krecord_pid(record);
		}
		if (p.error && p.error != -EBADMSG)
			fail("an unknown error");
	}
	free(page);
	md_buf_deinit(&header);
	md_buf_deinit(&b);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atol(argv[1]) : 5);
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	round_number = first;
	do {
		uint64_t seed = round_number * 0x9e3779b97f4a7c15 + 1;

		formats(&seed);
		pages(&seed);
		round_number++;
	} while (time(NULL) < end);
	printf("ok - %llu rounds\n", (unsigned long long)(round_number - first));
	return 0;
}
