/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LTT's ids: 255 facilities of 256 events. A facility has the events of one provider that have the
 * same contexts; equal definitions of several channels or users are one. When most ids are used,
 * providers share facilities, whose events have their whole names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/base/array.h"
#include "tracer/base/hash.h"
#include "tracer/format/export/ltt.h"

#define OWN_IDS 200u            /* facilities of one provider */
#define NAME_MOST 60

static bool is_of(const struct ltt_shape *s, const struct row *r)
{
	return s->class == r->class && s->stream == r->stream;
}

static void free_facility(struct ltt_facility_text *f)
{
	free(f->name);
	free(f->prefix);
	free(f->context);
	md_buf_deinit(&f->events);
	free(f);
}

/* A name for a file and for C: of the provider, or `kernel`. */
static char *make_name(const char *prefix)
{
	size_t n = strcspn(prefix, ":");
	char *name = n ? strndup(prefix, n > NAME_MOST ? NAME_MOST : n) : strdup("kernel");
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz_0123456789"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	for (char *p = name; p && *p; p++)
		if (!strchr(plain, *p))
			*p = '_';
	return name;
}

static struct ltt_facility_text *add_facility(struct ltt_ids *ids, const char *prefix, size_t n,
					 int *err)
{
	struct ltt_facility_text *f;

	if (ids->count >= LTT_IDS) {
		*err = -EOVERFLOW;
		return NULL;
	}
	f = calloc(1, sizeof(*f));
	*err = -ENOMEM;
	if (!f)
		return NULL;
	f->prefix = strndup(prefix, n);
	f->name = f->prefix ? make_name(f->prefix) : NULL;
	f->context = strdup(md_buf_str(&ids->context));
	if (!f->name || !f->context) {
		free_facility(f);
		return NULL;
	}
	ids->list[ids->count++] = f;
	return f;
}

/* The event of this definition; -1: there is none. */
static int find_event(const struct ltt_facility_text *f, const struct md_buf *text)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (f->begin[i + 1] - f->begin[i] == text->len &&
		    !memcmp(f->events.data + f->begin[i], text->data, text->len))
			return (int)i;
	return -1;
}

/* Sets the ids in s of the event whose name without the prefix of n bytes is in ids->text. */
static int set_ids(struct ltt_ids *ids, struct ltt_shape *s, size_t n)
{
	const char *name = md_buf_str(&ids->name);
	struct ltt_facility_text *f = NULL;
	int event = -1, err = 0;

	for (uint32_t i = 1; i < ids->count && event < 0; i++) {
		f = ids->list[i];
		if (strncmp(f->prefix, name, n) || f->prefix[n] ||
		    strcmp(f->context, md_buf_str(&ids->context)))
			continue;
		event = find_event(f, &ids->text);
		if (event < 0 && f->count < LTT_IDS)
			event = (int)f->count;
		s->facility = (uint8_t)i;
	}
	if (event < 0) {
		f = add_facility(ids, name, n, &err);
		if (!f)
			return err;
		s->facility = (uint8_t)(ids->count - 1);
		event = 0;
	}
	s->event = (uint8_t)event;
	if ((uint32_t)event == f->count) {
		md_buf_put(&f->events, ids->text.data, ids->text.len);
		f->begin[++f->count] = f->events.len;
	}
	return f->events.failed ? -ENOMEM : 0;
}

static void print_event(struct ltt_ids *ids, struct ltt_shape *s, size_t n)
{
	md_buf_reset(&ids->context);
	for (uint32_t i = 0; i < s->stream->context_count; i++) {
		ltt_put_field(&s->stream->context[i], true, &ids->context);
		s->converted |= ltt_is_bytes(&s->stream->context[i].type);
	}
	md_buf_reset(&ids->text);
	md_buf_puts(&ids->text, "  <event");
	ltt_put_attribute("name", md_buf_str(&ids->name) + n, &ids->text);
	md_buf_putc(&ids->text, '>');
	md_buf_put(&ids->text, ids->context.data, ids->context.len);
	for (uint32_t i = 0; i < s->class->field_count; i++) {
		ltt_put_field(&s->class->fields[i], false, &ids->text);
		s->converted |= ltt_is_bytes(&s->class->fields[i].type) ||
				s->class->fields[i].type.bits;
	}
	md_buf_puts(&ids->text, "</event>\n");
}

const struct ltt_shape *ltt_ids_of(struct ltt_ids *ids, const struct row *r, int *err)
{
	struct ltt_shape key = { .stream = r->stream, .class = r->class }, *s;
	const char *colon;
	uint64_t hash;
	size_t n;

	if (ids->last && is_of(ids->last, r))
		return ids->last;
	hash = hash_step(hash_step(HASH_START, (uintptr_t)r->class), (uintptr_t)r->stream);
	for (uint32_t at = 0, i; (i = hash_find(&ids->table, hash, &at)) != HASH_NONE;)
		if (is_of(ids->shapes[i], r))
			return ids->last = ids->shapes[i];
	if (!ids->count)
		ids->count = 1;
	md_buf_reset(&ids->name);
	md_name_event(r->class->name, &ids->name);
	colon = strchr(md_buf_str(&ids->name), ':');
	n = colon && ids->count < OWN_IDS ? (size_t)(colon + 1 - ids->name.data) : 0;
	print_event(ids, &key, n);
	*err = -ENOMEM;
	if (!ids->text.failed && !ids->context.failed && !ids->name.failed)
		*err = set_ids(ids, &key, n);
	if (*err)
		return NULL;
	s = array_double(ids->shapes, ids->table.count) ? malloc(sizeof(*s)) : NULL;
	if (!s || !hash_add(&ids->table, hash)) {
		free(s);
		*err = -ENOMEM;
		return NULL;
	}
	*s = key;
	return ids->last = ids->shapes[ids->table.count - 1] = s;
}

void ltt_facility_print(struct ltt_facility_text *f, struct md_buf *out)
{
	size_t begin = out->len, n = strlen(f->name);

	md_buf_printf(out, "<?xml version=\"1.0\"?>\n<facility name=%s", f->name);
	/* Names of events begin with the facility's, unless this says otherwise. */
	if (strncmp(f->prefix, f->name, n) || strcmp(f->prefix + n, ":"))
		ltt_put_attribute("trail_prefix", f->prefix, out);
	md_buf_puts(out, ">\n  <description>Recorded by trailfs</description>\n");
	md_buf_put(out, f->events.data, f->events.len);
	md_buf_puts(out, "</facility>\n");
	if (!out->failed)
		f->checksum = (uint32_t)hash_bytes(HASH_START, out->data + begin, out->len - begin);
}

void ltt_ids_deinit(struct ltt_ids *ids)
{
	for (uint32_t i = 1; i < ids->count; i++)
		free_facility(ids->list[i]);
	for (uint32_t i = 0; i < ids->table.count; i++)
		free(ids->shapes[i]);
	free(ids->shapes);
	hash_deinit(&ids->table);
	md_buf_deinit(&ids->context);
	md_buf_deinit(&ids->text);
	md_buf_deinit(&ids->name);
}
