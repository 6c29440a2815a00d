// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/base/facts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "metadata/json.h"
#include "tracer/base/timefmt.h"

static void put_quoted(const char *text, size_t len, struct md_buf *out)
{
	md_buf_putc(out, '"');
	md_json_escape_put(text, len, out);
	md_buf_putc(out, '"');
}

static void begin_member(struct facts *f, const char *key)
{
	if (f->some)
		md_buf_puts(f->out, ",\n");
	f->some = true;
	put_quoted(key, strlen(key), f->out);
	md_buf_putc(f->out, ':');
}

void facts_begin(struct facts *f)
{
	if (f->json)
		md_buf_putc(f->out, '{');
}

void facts_end(struct facts *f)
{
	for (size_t i = 0; i < FACT_LISTS_MAX && f->lists[i].key; i++) {
		struct md_buf *items = &f->lists[i].items;

		begin_member(f, f->lists[i].key);
		md_buf_putc(f->out, '[');
		md_buf_put(f->out, items->data, items->len);
		md_buf_putc(f->out, ']');
		f->out->failed |= items->failed;
		md_buf_deinit(items);
	}
	if (f->json)
		md_buf_puts(f->out, "}\n");
}

void fact_number(struct facts *f, const char *key, uint64_t n)
{
	if (f->json) {
		begin_member(f, key);
		md_buf_printf(f->out, "%" PRIu64, n);
	} else {
		md_buf_printf(f->out, "%s %" PRIu64 "\n", key, n);
	}
}

void fact_time(struct facts *f, const char *key, bool known, int64_t ns)
{
	char text[TIME_TEXT_MAX] = "never";

	if (!f->json && known)
		time_print(ns, TIME_FORMAT_STATUS, text);
	if (!f->json) {
		md_buf_printf(f->out, "%s %s\n", key, text);
		return;
	}
	begin_member(f, key);
	if (known)
		md_buf_printf(f->out, "%" PRId64, ns);
	else
		md_buf_puts(f->out, "null");
}

static void put_formatted(struct md_buf *out, const char *fmt, va_list args)
{
	char small[512];
	va_list again;
	int n;
	char *room;

	va_copy(again, args);
	n = vsnprintf(small, sizeof(small), fmt, args);
	if (n >= 0 && (size_t)n < sizeof(small))
		md_buf_put(out, small, (size_t)n);
	else if (n >= 0 && (room = md_buf_room(out, (size_t)n + 1))) {
		vsnprintf(room, (size_t)n + 1, fmt, again);
		out->len += (size_t)n;
	}
	va_end(again);
}

void fact_text(struct facts *f, const char *key, const char *fmt, ...)
{
	struct md_buf text = MD_BUF_INIT;
	va_list args;

	va_start(args, fmt);
	put_formatted(&text, fmt, args);
	va_end(args);
	if (f->json) {
		begin_member(f, key);
		put_quoted(text.data, text.len, f->out);
	} else {
		md_buf_printf(f->out, "%s %s\n", key, md_buf_str(&text));
	}
	f->out->failed |= text.failed;
	md_buf_deinit(&text);
}

/* The list of the key, which begins with its first item; NULL: there are too many keys. */
static struct md_buf *list_of(struct facts *f, const char *key)
{
	for (size_t i = 0; i < FACT_LISTS_MAX; i++) {
		if (!f->lists[i].key)
			f->lists[i].key = key;
		if (!strcmp(f->lists[i].key, key))
			return &f->lists[i].items;
	}
	return NULL;
}

static void add_item(struct md_buf *list, const char *json, size_t len)
{
	if (list && list->len)
		md_buf_puts(list, ",\n");
	if (list)
		md_buf_put(list, json, len);
}

/* Whether the text has the line: at its beginning, or after a newline. */
static bool has(struct md_buf *text, struct md_buf *line)
{
	const char *all = md_buf_str(text), *wanted = md_buf_str(line);

	for (const char *at = all; (at = strstr(at, wanted)); at++)
		if (at == all || at[-1] == '\n')
			return true;
	return false;
}

static void put_item(struct facts *f, const char *key, bool once, const char *fmt, va_list args)
{
	struct md_buf text = MD_BUF_INIT, item = MD_BUF_INIT;
	struct md_buf *list = f->json ? list_of(f, key) : NULL;

	put_formatted(&text, fmt, args);
	if (f->json) {
		put_quoted(text.data, text.len, &item);
		if (!once || !list || !has(list, &item))
			add_item(list, item.data, item.len);
	} else {
		md_buf_printf(&item, "%s %s\n", key, md_buf_str(&text));
		if (!once || !has(f->out, &item))
			md_buf_put(f->out, item.data, item.len);
	}
	f->out->failed |= text.failed || item.failed;
	md_buf_deinit(&text);
	md_buf_deinit(&item);
}

void fact_item(struct facts *f, const char *key, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	put_item(f, key, false, fmt, args);
	va_end(args);
}

void fact_item_once(struct facts *f, const char *key, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	put_item(f, key, true, fmt, args);
	va_end(args);
}

void fact_object(struct facts *f, const char *key, const char *words, const char *json)
{
	if (f->json)
		add_item(list_of(f, key), json, strlen(json));
	else
		md_buf_printf(f->out, "%s %s\n", key, words);
}

void fact_lines(struct facts *f, const char *key, const char *text, size_t len)
{
	if (!f->json) {
		md_buf_put(f->out, text, len);
		return;
	}
	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;
		struct md_buf item = MD_BUF_INIT;

		put_quoted(text, n, &item);
		add_item(list_of(f, key), item.data, item.len);
		f->out->failed |= item.failed;
		md_buf_deinit(&item);
		n += end != NULL;
		text += n;
		len -= n;
	}
}
