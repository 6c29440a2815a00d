/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The type model and the filter tables of a kernel event: see kevent/kevent.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/buf.h"
#include "tracer/kernel/kevent/kevent.h"
#include "tracer/kernel/kevent/syscall_struct.h"

static struct md_type make_integer(const struct kformat_field *f)
{
	return (struct md_type){ .kind = MD_INT, .size = f->to, .is_signed = f->is_signed,
				 .big_endian = f->big_endian, .base = f->hex ? 16 : 10 };
}

static bool set_elements(const struct kformat_field *f, struct md_type *t)
{
	bool is_array =
		f->kind == KFORMAT_TEXT || f->kind == KFORMAT_ARRAY || f->kind == KFORMAT_LOC_ARRAY;
	struct md_type element = f->kind == KFORMAT_TEXT || f->text ? md_char : make_integer(f);

	return is_array ? !md_type_array(t, f->count, &element)
			: !md_type_sequence(t, 4, &element);
}

static bool set_structs(const struct kformat_field *f, struct md_type *t)
{
	*t = (struct md_type){ .kind = MD_SEQUENCE, .length_size = 4 };
	t->element = calloc(1, sizeof(*t->element));
	return t->element && kstruct_type(f->structure, t->element);
}

static bool set_labels(const struct kformat_field *f, struct md_type *t)
{
	*t = make_integer(f);
	t->kind = MD_ENUM;
	t->mappings = calloc(f->label_count, sizeof(*t->mappings));
	if (!t->mappings)
		return false;
	for (t->count = 0; t->count < f->label_count; t->count++) {
		struct md_mapping *m = &t->mappings[t->count];

		*m = f->labels[t->count];
		m->name = strdup(m->name);
		if (!m->name)
			return false;
	}
	return true;
}

static bool set_type(const struct kformat_field *f, struct md_type *t)
{
	switch (f->kind) {
	case KFORMAT_INT:
		if (f->label_count)
			return set_labels(f, t);
		*t = make_integer(f);
		return true;
	case KFORMAT_STRING:
	case KFORMAT_ADDRESS:
	case KFORMAT_SYMBOL:
	case KFORMAT_UNREAD:
		*t = (struct md_type){ .kind = MD_STRING, .encoding = MD_ENCODING_UTF8 };
		return true;
	case KFORMAT_LOC_INT:
	case KFORMAT_PORT:
		*t = make_integer(f);
		return true;
	case KFORMAT_STRUCT:
		return kstruct_type(f->structure, t);
	case KFORMAT_STRUCTS:
		return set_structs(f, t);
	case KFORMAT_RWBS:
		*t = (struct md_type){ .kind = MD_INT, .size = 4, .base = 10 };
		return true;
	default:
		return set_elements(f, t);
	}
}

struct md_event *kformat_event(const struct kformat *f)
{
	struct md_event *e = md_event_create(f->event, MD_LOGLEVEL_NONE, f->field_count);
	uint32_t i;

	if (!e)
		return NULL;
	for (i = 0; i < f->field_count; i++) {
		e->fields[i].name = strdup(f->fields[i].name);
		if (!e->fields[i].name || !set_type(&f->fields[i], &e->fields[i].type)) {
			md_event_destroy(e);
			return NULL;
		}
	}
	return e;
}

/*
 * The number of fields that filters can use: structures, and fields after them, have no known
 * place.
 */
static uint32_t count_filter_fields(const struct kformat *k)
{
	uint32_t n = 0;

	while (n < k->field_count && n < TRAIL_EVENT_FIELDS_MAX &&
	       k->fields[n].kind != KFORMAT_STRUCT && k->fields[n].kind != KFORMAT_STRUCTS)
		n++;
	return n;
}

int kformat_make_filter(struct kformat *k)
{
	uint32_t i, n = count_filter_fields(k);
	struct md_buf strings = MD_BUF_INIT;
	struct md_type type;

	k->filter_fields = calloc((size_t)n + 1, sizeof(*k->filter_fields));
	if (!k->filter_fields)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		type = (struct md_type){ 0 };
		strings.failed |= !set_type(&k->fields[i], &type);
		k->filter_fields[i] = filter_field_of(&type, (uint32_t)strings.len);
		md_type_deinit(&type);
		md_buf_put(&strings, k->fields[i].name, strlen(k->fields[i].name) + 1);
	}
	md_buf_putc(&strings, '\0');
	k->filter_strings = strings.data;
	return strings.failed ? -ENOMEM : 0;
}

void kformat_filter_event(const struct kformat *f, struct filter_event *e)
{
	*e = (struct filter_event){ .fields = f->filter_fields, .strings = f->filter_strings,
				    .field_count = count_filter_fields(f) };
}

const char *kformat_name(const struct kformat *f)
{
	return f->event;
}

int kformat_rename(struct kformat *f, const char *event)
{
	char *name = strdup(event);

	if (!name)
		return -ENOMEM;
	free(f->event);
	f->event = name;
	return 0;
}
