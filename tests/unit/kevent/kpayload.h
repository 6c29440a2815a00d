/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For tests of kernel formats: a record's payload, as text. */
#include <errno.h>

#include "metadata/decode.h"
#include "metadata/text.h"
#include "tests/lib/test.h"
#include "tracer/kernel/kevent/transcode.h"

static inline void check_payload(const struct kformat *f, const uint8_t *record, size_t len,
				 const char *want)
{
	struct md_stream *s = md_stream_create(0, MD_HEADER_LARGE);
	struct kcode *c = kcode_make(f);
	struct md_decoder d = { .stream = s };
	struct md_buf out = MD_BUF_INIT;
	struct md_occurrence o;
	struct md_text text;
	uint8_t event[1024] = { 0 };
	const char *line;
	ssize_t n, less;

	CHECK(md_stream_add(s, kformat_event(f)) == 0);
	n = kcode_run(c, record, len, event + 6, sizeof(event) - 6);
	CHECK(n > 0 && (size_t)n <= kcode_bound(c, len));
	for (less = 0; less < n; less++)
		CHECK(kcode_run(c, record, len, event + 6, (size_t)less) == -ENOSPC);
	CHECK(kcode_run(c, record, len, event + 6, (size_t)n) == n);
	d.p = event;
	d.end = event + 6 + n;
	md_text_init(&text, 0, "");
	CHECK(md_decoder_next(&d, &o) == 1 && d.p == d.end);
	md_text_event(&text, &o, s, 0, &out);
	line = strstr(md_buf_str(&out), " }, ");
	CHECK_STR(line ? line + 4 : "", want);
	md_buf_deinit(&out);
	kcode_free(c);
	md_stream_destroy(s);
}

static inline void put16(uint8_t *to, uint16_t v)
{
	memcpy(to, &v, sizeof(v));
}

static inline void put32(uint8_t *to, uint32_t v)
{
	memcpy(to, &v, sizeof(v));
}

static inline void put64(uint8_t *to, uint64_t v)
{
	memcpy(to, &v, sizeof(v));
}
