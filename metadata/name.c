/* SPDX-License-Identifier: MIT */
/* Names in the form that readers see: see name.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"

size_t md_utf8_char(const unsigned char *p, size_t n)
{
	size_t len, i;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] < 0xe0)
		len = 2;
	else if (p[0] >= 0xe0 && p[0] < 0xf0)
		len = 3;
	else if (p[0] >= 0xf0 && p[0] < 0xf5)
		len = 4;
	else
		return 0;
	if (n < len)
		return 0;
	for (i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* U+0080 to U+009F: control characters that terminals obey. */
	if (p[0] == 0xc2 && p[1] < 0xa0)
		return 0;
	/* Overlong forms, surrogates, beyond U+10FFFF. */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return len;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Not isalnum(3), which depends on the locale. */
static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

static void put_word(const char *name, struct md_buf *out)
{
	for (; *name; name++)
		md_buf_putc(out, is_word(*name) ? *name : '_');
}

void md_name_field(const char *name, struct md_buf *out)
{
	if (!*name)
		md_buf_putc(out, '_');
	put_word(name, out);
	if (!strcmp(name, "Bool") || !strcmp(name, "Complex") || !strcmp(name, "Imaginary"))
		md_buf_putc(out, '_');
}

void md_name_plain(const char *name, struct md_buf *out)
{
	if (!*name || is_digit(*name))
		md_buf_putc(out, '_');
	put_word(name, out);
}

void md_name_event(const char *name, struct md_buf *out)
{
	const unsigned char *p = (const unsigned char *)name, *end = p + strlen(name);

	while (p < end) {
		size_t n = md_utf8_char(p, (size_t)(end - p));

		if (!n || *p < 0x20 || *p == 0x7f) {
			md_buf_putc(out, '_');
			p++;
		} else {
			md_buf_put(out, p, n);
			p += n;
		}
	}
}

/* U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069 */
static bool turns_text(const char *p, size_t n)
{
	const unsigned char *c = (const unsigned char *)p;

	return (n == 2 && c[0] == 0xd8 && c[1] == 0x9c) ||
	       (n == 3 && c[0] == 0xe2 &&
		((c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f ||
				   (c[2] >= 0xaa && c[2] <= 0xae))) ||
		 (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9)));
}

void md_name_shown(const char *name, struct md_buf *out)
{
	size_t at = out->len, to = at, n;

	md_name_event(name, out);
	for (; !out->failed && at < out->len; at += n) {
		/* What md_name_event has put is valid. */
		n = md_utf8_char((const unsigned char *)out->data + at, out->len - at);
		if (turns_text(out->data + at, n)) {
			out->data[to++] = '_';
			continue;
		}
		memmove(out->data + to, out->data + at, n);
		to += n;
	}
	out->len = out->failed ? out->len : to;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_name(const struct md_field *f, const char *name, struct md_buf *out)
{
	if (f->exact)
		md_name_event(name, out);
	else
		md_name_field(name, out);
}

void md_name_put(const struct md_field *f, struct md_buf *out)
{
	put_name(f, f->name, out);
}

void md_name_put_text(const struct md_field *f, struct md_buf *out)
{
	put_name(f, f->name + f->omitted, out);
}

int md_name_check(const struct md_field *fields, uint32_t count)
{
	struct md_buf text = MD_BUF_INIT;
	char **names = calloc((size_t)count * 2 + 1, sizeof(*names));
	size_t n = 0, at = 0, i;
	int ret = -ENOMEM;

	for (i = 0; names && i < count; i++) {
		md_name_put(&fields[i], &text);
		md_buf_putc(&text, '\0');
		n++;
		if (fields[i].type.quiet)
			continue;
		if (fields[i].type.kind == MD_SEQUENCE) {
			md_buf_putc(&text, '_');
			md_name_field(fields[i].name, &text);
			md_buf_put(&text, "_length", sizeof("_length"));
			n++;
		} else if (fields[i].type.kind == MD_VARIANT) {
			md_name_field(fields[i].name, &text);
			md_buf_put(&text, "_tag", sizeof("_tag"));
			n++;
		}
	}
	if (!names || text.failed)
		goto out;
	for (i = 0; i < n; i++) {
		names[i] = text.data + at;
		at += strlen(names[i]) + 1;
	}
	/* Sorted instead of compared pairwise: an application may have thousands of fields. */
	qsort(names, n, sizeof(*names), compare);
	ret = 0;
	for (i = 1; i < n; i++)
		if (!strcmp(names[i - 1], names[i]))
			ret = -EINVAL;
out:
	free(names);
	md_buf_deinit(&text);
	return ret;
}
