// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the values of a key and the numbers are: in records, in keys, in values of the map. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/base/context/kernel_context.h"
#include "tracer/kernel/count/internal.h"

#define TEXT_MAX 64u            /* bytes of a text in a key */
#define NAME_BYTES 16u          /* of a thread's name */
#define STEPS_MAX 1002u

/* The names that readers see and the kernel's differ. NULL: there is no such field. */
static const struct kformat_field *find_field(const struct kformat *f, const char *name)
{
	const struct kformat_field *found = NULL;
	struct md_buf own = MD_BUF_INIT;

	for (uint32_t i = 0; i < f->field_count && !found; i++) {
		md_buf_reset(&own);
		md_name_field(f->fields[i].name, &own);
		if (!own.failed && !strcmp(md_buf_str(&own), name))
			found = &f->fields[i];
	}
	md_buf_deinit(&own);
	return found;
}

/*
 * A text of a fixed size, or an integer, whose bytes in the record are copied to the key. False: it
 * is something else.
 */
static bool find_bytes(const struct kformat_field *f, struct bpf_integer *out)
{
	if (f->kind == KFORMAT_INT) {
		*out = (struct bpf_integer){ f->offset, f->from, false };
		return f->place == KFORMAT_FIXED && !f->process && !f->item && f->offset >= 8 &&
		       !(f->offset % f->from);
	}
	if (f->kind != KFORMAT_TEXT || f->place != KFORMAT_FIXED || f->item)
		return false;
	*out = (struct bpf_integer){ f->offset, f->count, false };
	return f->offset >= 8 && !(f->offset % 4) && !(f->count % 8) && f->count <= TEXT_MAX;
}

/* Of system calls only those that have the registers' places: not as event probes have them. */
static bool has_known_places(const struct kformat *f)
{
	if (strcmp(f->system, "syscalls"))
		return true;
	for (uint32_t i = 0; i < f->field_count; i++)
		if (!strcmp(f->fields[i].kernel_name, "ret"))
			return f->fields[i].offset == 16 && f->fields[i].from == 8;
	for (uint32_t i = 0; i < f->field_count; i++)
		if (f->fields[i].kind == KFORMAT_INT &&
		    (f->fields[i].from != 8 || f->fields[i].offset != 16 + 8 * i))
			return false;
	return true;
}

static bool names_fields(const struct count_spec *s)
{
	bool some = s->filter || s->number_count;

	for (size_t i = 0; i < s->item_count; i++)
		some |= s->items[i].field != NULL;
	return some;
}

static bool place_event(struct counts *c, struct count_event *e)
{
	const struct count_spec *s = c->spec;
	const struct kformat_field *f;

	if ((names_fields(s) && !has_known_places(e->format)) ||
	    (s->filter && !bpf_filter_possible(s->filter, e->format, false)))
		return false;
	for (size_t i = 0; i < s->item_count; i++) {
		if (!s->items[i].field)
			continue;
		f = find_field(e->format, s->items[i].field);
		if (!f || !find_bytes(f, &e->items[i]))
			return false;
		/* A key has the same bytes for each event. */
		if (c->item_size[i] && c->item_size[i] != e->items[i].size)
			return false;
		c->item_size[i] = e->items[i].size;
	}
	for (size_t i = 0; i < s->number_count; i++) {
		f = find_field(e->format, s->numbers[i].field);
		if (!f || !bpf_find_integer(f, &e->numbers[i]))
			return false;
	}
	return true;
}

static bool place_context(struct counts *c, size_t i)
{
	switch (c->spec->items[i].context) {
	case TRAIL_CONTEXT_PID:
	case TRAIL_CONTEXT_TID:
	case TRAIL_CONTEXT_CPU_ID:
		c->item_size[i] = 4;
		break;
	case TRAIL_CONTEXT_PROCNAME:
		c->item_size[i] = NAME_BYTES;
		break;
	default:
		return false;
	}
	c->item_is_context[i] = true;
	return true;
}

static uint32_t number_size(const struct count_number *n)
{
	switch (n->kind) {
	case COUNT_SUM:
		return 16;
	case COUNT_LEAST:
	case COUNT_MOST:
		return 8;
	default:
		return 8 * n->slots + 16;
	}
}

int count_layout(struct counts *c)
{
	const struct count_spec *s = c->spec;

	for (size_t i = 0; i < s->item_count; i++)
		if (!s->items[i].field && !place_context(c, i))
			return -EOPNOTSUPP;
	for (size_t i = 0; i < c->event_count; i++)
		if (!place_event(c, &c->events[i]))
			return -EOPNOTSUPP;
	c->key_size = (uint32_t)sizeof(struct count_key);
	for (size_t i = 0; i < s->item_count; i++) {
		c->items[i] = s->items[i];
		c->item_at[i] = c->key_size;
		c->key_size += (c->item_size[i] + 7) & ~7u;
	}
	c->value_size = 8;              /* the events */
	for (size_t i = 0; i < s->number_count; i++) {
		c->numbers[i] = s->numbers[i];
		c->number_at[i] = c->value_size;
		c->value_size += number_size(&s->numbers[i]);
		if (s->numbers[i].kind == COUNT_STEPS &&
		    (s->numbers[i].slots > STEPS_MAX || s->numbers[i].step > INT32_MAX))
			return -EOPNOTSUPP;
	}
	c->item_count = s->item_count;
	c->number_count = s->number_count;
	return c->key_size > COUNT_KEY_BYTES || c->value_size > 16384 ? -EOPNOTSUPP : 0;
}

/* ---- events for readers ---- */

/* The contexts among the items, in their order, as the class has them. */
static int make_contexts(struct counts *c)
{
	struct md_buf words = MD_BUF_INIT;
	int ret = 0;

	for (size_t i = 0; i < c->item_count; i++)
		if (c->item_is_context[i])
			md_buf_printf(&words, "%s ",
				      c->items[i].context == TRAIL_CONTEXT_PID   ? "pid"
				      : c->items[i].context == TRAIL_CONTEXT_TID ? "tid"
				      : c->items[i].context == TRAIL_CONTEXT_CPU_ID
					      ? "cpu_id"
					      : "procname");
	if (words.len)
		ret = context_list_apply(NULL, DOMAIN_KERNEL, md_buf_str(&words), true, false,
					 &c->contexts, NULL);
	if (words.failed)
		ret = -ENOMEM;
	md_buf_deinit(&words);
	return ret;
}

static int add_event(struct counts *c, size_t i)
{
	struct md_event *e = kformat_event(c->events[i].format);
	int ret;

	if (!e)
		return -ENOMEM;
	e->id = (uint32_t)i;
	ret = md_stream_add(c->class, e);
	if (ret) {
		md_event_destroy(e);
		return ret;
	}
	c->events[i].event = e;
	c->events[i].code = kcode_make(c->events[i].format);
	if (!c->events[i].code)
		return -ENOMEM;
	if (kcode_has_symbols(c->events[i].code)) {
		c->events[i].symbols = ksyms_load(KSYMS_FILE);
		kcode_symbols(c->events[i].code, c->events[i].symbols);
	}
	return 0;
}

int count_make_class(struct counts *c)
{
	struct md_field *fields;
	int ret = make_contexts(c);

	c->class = ret ? NULL : md_stream_create(0, MD_HEADER_COMPACT);
	if (!c->class)
		return ret ? ret : -ENOMEM;
	ret = context_list_fields(&c->contexts, &fields);
	if (!ret && c->contexts.count)
		ret = md_stream_set_context(c->class, fields, (uint32_t)c->contexts.count);
	for (size_t i = 0; i < c->event_count && !ret; i++)
		ret = add_event(c, i);
	return ret;
}
