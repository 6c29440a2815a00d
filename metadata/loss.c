/* SPDX-License-Identifier: MIT */
#include "metadata/loss.h"

#include <inttypes.h>
#include <string.h>

#include "metadata/json.h"
#include "metadata/number.h"

#define NS_PER_SEC 1000000000u

const char *md_loss_kind_name(enum md_loss_kind kind)
{
	static const char *const names[] = { "discarded", "overwritten", "packets" };

	return names[kind];
}

static const char *noun_of(const struct md_loss *l)
{
	bool one = l->count == 1;

	return l->kind == MD_LOSS_PACKETS ? one ? "packet" : "packets" : one ? "event" : "events";
}

void md_loss_title(const struct md_loss *l, struct md_buf *out)
{
	if (l->count)
		md_buf_printf(out, "%" PRIu64 " %s lost", l->count, noun_of(l));
	else
		md_buf_printf(out, "%s may be lost", noun_of(l));
}

/* `[12:44:11.814926623]` */
static void put_time(uint64_t time, struct md_buf *out)
{
	char text[32], *o;

	o = md_put_time_of_day(text, (int64_t)(time / NS_PER_SEC));
	*o++ = '.';
	o = md_put9(o, (uint32_t)(time % NS_PER_SEC));
	md_buf_putc(out, '[');
	md_buf_put(out, text, (size_t)(o - text));
	md_buf_putc(out, ']');
}

static void put_uuid(const uint8_t *uuid, struct md_buf *out)
{
	for (int i = 0; i < 16; i++)
		md_buf_printf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			      uuid[i]);
}

void md_text_loss(uint64_t clock_offset, const struct md_loss *l, const struct md_loss_stream *s,
		  struct md_buf *out)
{
	const char *verb = l->kind == MD_LOSS_OVERWRITTEN ? "overwrote" : "discarded";

	if (l->count)
		md_buf_printf(out, "WARNING: Tracer %s %" PRIu64 " %s ", verb, l->count,
			      noun_of(l));
	else
		md_buf_printf(out, "WARNING: Tracer may have %s %s ", verb, noun_of(l));
	if (l->from && l->to) {
		md_buf_puts(out, "between ");
		put_time(clock_offset + l->from, out);
		md_buf_puts(out, " and ");
		put_time(clock_offset + l->to, out);
	} else {
		md_buf_puts(out, "(unknown time range)");
	}
	md_buf_printf(out, " in trace \"%s\" (UUID: ", s->trace);
	put_uuid(s->uuid, out);
	md_buf_printf(out, ") within stream \"%s\" (stream class ID: %" PRIu64 ", stream ID: %"
		      PRIu64 ").\n", s->file, s->class_id, s->instance_id);
}

static void put_member(const char *key, const char *text, struct md_buf *out)
{
	md_buf_printf(out, ",\"%s\":\"", key);
	md_json_escape_put(text, strlen(text), out);
	md_buf_putc(out, '"');
}

static void put_json_time(const char *key, uint64_t clock_offset, uint64_t time,
			  struct md_buf *out)
{
	if (time)
		md_buf_printf(out, ",\"%s\":%" PRIu64, key, clock_offset + time);
	else
		md_buf_printf(out, ",\"%s\":null", key);
}

void md_json_loss(uint64_t clock_offset, const struct md_loss *l, const struct md_loss_stream *s,
		  struct md_buf *out)
{
	md_buf_puts(out, l->kind == MD_LOSS_PACKETS ? "{\"lost_packets\":" : "{\"lost\":");
	if (l->count)
		md_buf_printf(out, "%" PRIu64, l->count);
	else
		md_buf_puts(out, "null");
	put_member("kind", md_loss_kind_name(l->kind), out);
	put_member("channel", s->channel, out);
	put_member("stream", s->name, out);
	put_member("trace", s->trace, out);
	put_json_time("from", clock_offset, l->from, out);
	put_json_time("to", clock_offset, l->to, out);
	md_buf_puts(out, "}\n");
}
