/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/format/picture/html.h"

#include <string.h>

#include "metadata/json.h"

void html_make_safe(struct md_buf *out, size_t at, struct md_buf *scratch)
{
	const char *p, *sign;
	size_t n;

	if (out->failed || out->len == at || !memchr(out->data + at, '<', out->len - at))
		return;
	md_buf_reset(scratch);
	md_buf_put(scratch, out->data + at, out->len - at);
	out->len = at;
	out->failed |= scratch->failed;
	p = md_buf_str(scratch);
	for (n = scratch->len; n && (sign = memchr(p, '<', n)); p = sign + 1) {
		md_buf_put(out, p, (size_t)(sign - p));
		md_buf_puts(out, "\\u003c");
		n -= (size_t)(sign + 1 - p);
	}
	md_buf_put(out, p, n);
}

void html_put_text(struct md_buf *out, const char *s, size_t n, struct md_buf *scratch)
{
	size_t at = out->len;

	md_json_escape_put(s, n, out);
	html_make_safe(out, at, scratch);
}

const char *html_begin(struct md_buf *out, const char *page, const char *mark)
{
	const char *here = strstr(page, mark);

	md_buf_put(out, page, (size_t)(here - page));
	return here + strlen(mark);
}
