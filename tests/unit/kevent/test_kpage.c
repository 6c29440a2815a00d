/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of the kernel's ring buffer, made by hand */
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/lib/kformats.h"
#include "tests/lib/kpage_word.h"
#include "tests/lib/test.h"
#include "tracer/kernel/kevent/ring_page.h"
#include "tracer/kernel/kevent/transcode.h"

#define SIZE 4096u
#define MISSED (UINT64_C(1) << 31)
#define STORED (UINT64_C(1) << 30)

static const char header_page[] =
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

static const char header_event[] = "# compressed entry header\n\ttype_len    :    5 "
				   "bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n"
				   "\tpadding     : type == 29\n\ttime_extend : type == "
				   "30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";

struct maker {
	struct kpage_layout layout;
	uint8_t *page;          /* of SIZE bytes, so that a tool sees the first one too many */
	size_t used;
};

static void put32(uint8_t *to, uint32_t v)
{
	memcpy(to, &v, sizeof(v));
}

static void put64(uint8_t *to, uint64_t v)
{
	memcpy(to, &v, sizeof(v));
}

static void begin(struct maker *m, uint64_t ts)
{
	CHECK(kpage_layout_parse(header_page, strlen(header_page), &m->layout) == 0);
	m->page = calloc(1, SIZE);
	m->used = 0;
	put64(m->page, ts);
}

static uint8_t *word(struct maker *m, uint32_t type, uint32_t delta)
{
	uint8_t *at = m->page + 16 + m->used;

	put32(at, kpage_word(type, delta));
	m->used += 4;
	return at + 4;
}

static void small(struct maker *m, uint32_t delta, uint32_t words, uint16_t id)
{
	uint8_t *data = word(m, words, delta);

	memcpy(data, &id, sizeof(id));
	m->used += words * 4;
}

static void large(struct maker *m, uint32_t delta, uint32_t bytes, uint16_t id)
{
	uint8_t *data = word(m, 0, delta);

	put32(data, bytes + 4);
	memcpy(data + 4, &id, sizeof(id));
	m->used += 4 + ((bytes + 3) & ~3u);
}

static void two_words(struct maker *m, uint32_t type, uint64_t stamp)
{
	put32(word(m, type, (uint32_t)stamp & ((1u << 27) - 1)), (uint32_t)(stamp >> 27));
	m->used += 4;
}

static int open_page(struct maker *m, struct kpage *p, uint64_t flags)
{
	put64(m->page + 8, m->used | flags);
	return kpage_begin(p, m->page, SIZE, &m->layout);
}

static void expect(struct kpage *p, uint64_t ts, uint16_t id, size_t len)
{
	const uint8_t *record;
	uint64_t t = 0;
	size_t n = 0;

	CHECK(kpage_next(p, &t, &record, &n));
	CHECK(t == ts && n == len && krecord_id(record) == id);
}

static void expect_end(struct maker *m, struct kpage *p, int error)
{
	const uint8_t *record;
	uint64_t t;
	size_t n;

	CHECK(!kpage_next(p, &t, &record, &n) && !kpage_next(p, &t, &record, &n));
	CHECK(p->error == error);
	free(m->page);
}

static void layouts(void)
{
	struct kpage_layout l;
	char text[512], *p;

	CHECK(kpage_layout_parse(header_page, strlen(header_page), &l) == 0);
	CHECK(l.time_at == 0 && l.commit_at == 8 && l.commit_size == 8 && l.data_at == 16 &&
	      l.data_size == 4080);
	CHECK(kpage_layout_parse(header_page, strlen(header_page) - 24, &l) == -EINVAL);
	strcpy(text, header_page);
	p = strstr(text, "size:4080");
	memcpy(p, "size:65520;", 11);
	CHECK(kpage_layout_parse(text, strlen(text), &l) == 0 && l.data_size == 65520);
	strcpy(text, header_page);
	memcpy(strstr(text, "offset:8"), "offset:9", 8);
	CHECK(kpage_layout_parse(text, strlen(text), &l) == -EINVAL);
	CHECK(kpage_layout_parse("", 0, &l) == -EINVAL);
	CHECK(kpage_check_header_event(header_event, strlen(header_event)) == 0);
	strcpy(text, header_event);
	memcpy(strstr(text, "27 bits"), "28", 2);
	CHECK(kpage_check_header_event(text, strlen(text)) == -EINVAL);
}

static void every_record(void)
{
	struct maker m;
	struct kpage p;

	begin(&m, 1000);
	small(&m, 0, 2, 1);
	small(&m, 5, 28, 2);
	large(&m, 7, 400, 3);
	large(&m, 0, 121, 4);                   /* not a whole number of words */
	two_words(&m, 30, UINT64_C(1) << 30);
	small(&m, 1, 3, 5);
	put32(word(&m, 29, 9), 8);              /* discarded */
	m.used += 8;
	put32(word(&m, 29, 1), 8);              /* had no delta */
	m.used += 8;
	small(&m, 2, 2, 6);
	two_words(&m, 31, UINT64_C(5) << 40);
	small(&m, 3, 2, 7);
	small(&m, 3, 1, 8);                     /* not even its header */
	small(&m, 3, 2, 9);
	CHECK(open_page(&m, &p, 0) == 0);
	CHECK(!p.missed && p.missed_known);
	expect(&p, 1000, 1, 8);
	expect(&p, 1005, 2, 112);
	expect(&p, 1012, 3, 400);
	expect(&p, 1012, 4, 121);
	expect(&p, 1013 + (UINT64_C(1) << 30), 5, 12);
	expect(&p, 1024 + (UINT64_C(1) << 30), 6, 8);
	expect(&p, (UINT64_C(5) << 40) + 3, 7, 8);
	expect(&p, (UINT64_C(5) << 40) + 9, 9, 8);
	CHECK(p.odd == 1);
	expect_end(&m, &p, 0);
}

/* Stamps have 59 bits. */
static void far_stamps(void)
{
	const uint64_t high = UINT64_C(0xa8) << 56;
	struct maker m;
	struct kpage p;

	begin(&m, high + 100);
	two_words(&m, 31, 200);
	small(&m, 1, 2, 1);
	two_words(&m, 31, 50);                  /* went round */
	small(&m, 1, 2, 2);
	CHECK(open_page(&m, &p, 0) == 0);
	expect(&p, high + 201, 1, 8);
	expect(&p, high + (UINT64_C(1) << 59) + 51, 2, 8);
	expect_end(&m, &p, 0);
}

static void missed(void)
{
	struct maker m;
	struct kpage p;

	begin(&m, 0);
	small(&m, 1, 2, 1);
	put64(m.page + 16 + m.used, 12345);
	CHECK(open_page(&m, &p, MISSED | STORED) == 0 && p.missed == 12345 && p.missed_known);
	CHECK(open_page(&m, &p, MISSED) == 0 && p.missed == 1 && !p.missed_known);
	CHECK(open_page(&m, &p, 0) == 0 && p.missed == 0 && p.missed_known);
	expect(&p, 1, 1, 8);
	expect_end(&m, &p, 0);
	begin(&m, 0);
	/* says that it is stored, but there is no room for it */
	m.used = SIZE - 16 - 4;
	CHECK(open_page(&m, &p, MISSED | STORED) == 0 && p.missed == 1 && !p.missed_known);
	expect_end(&m, &p, -EBADMSG);
}

static void corrupt(void)
{
	struct maker m;
	struct kpage p;
	size_t n;

	begin(&m, 0);
	m.used = SIZE - 15;
	CHECK(open_page(&m, &p, 0) == -EBADMSG);
	for (n = 0; n < 16; n++)
		CHECK(kpage_begin(&p, m.page, n, &m.layout) == -EBADMSG);
	m.used = 0;
	CHECK(open_page(&m, &p, 0) == 0);
	expect_end(&m, &p, 0);
	begin(&m, 0);                           /* continues after what is committed */
	small(&m, 1, 2, 1);
	small(&m, 1, 3, 2);
	m.used -= 4;
	CHECK(open_page(&m, &p, 0) == 0);
	expect(&p, 1, 1, 8);
	expect_end(&m, &p, -EBADMSG);
	for (n = 0; n < 5; n++) {
		static const uint32_t lengths[] = { 0, 3, 4080, UINT32_MAX, UINT32_MAX - 7 };

		begin(&m, 0);
		small(&m, 1, 2, 1);
		large(&m, 1, 40, 2);
		put32(m.page + 16 + 12 + 4, lengths[n]);
		CHECK(open_page(&m, &p, 0) == 0);
		expect(&p, 1, 1, 8);
		expect_end(&m, &p, -EBADMSG);
	}
	begin(&m, 0);                           /* the end before the end */
	small(&m, 1, 2, 1);
	word(&m, 29, 0);
	small(&m, 1, 2, 2);
	CHECK(open_page(&m, &p, 0) == 0);
	expect(&p, 1, 1, 8);
	expect_end(&m, &p, 0);
	begin(&m, 0);                           /* cut off in the middle of a stamp */
	two_words(&m, 30, 1);
	m.used -= 4;
	CHECK(open_page(&m, &p, 0) == 0);
	expect_end(&m, &p, -EBADMSG);
}

int main(void)
{
	CASE(layouts);
	CASE(every_record);
	CASE(far_stamps);
	CASE(missed);
	CASE(corrupt);
	return test_summary();
}
