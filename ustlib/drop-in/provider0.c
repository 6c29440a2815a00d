// SPDX-License-Identifier: MIT
/*
 * Providers that were compiled with LTTng-UST 2.1 to 2.12 (abi0.h). Their descriptions are
 * converted to descriptions of later versions. Their probes would write to LTTng's ring themselves;
 * but before that they ask a filter, with all fields on a stack: here it records the event, and
 * says "no".
 */
#include <stdlib.h>
#include <string.h>

#include "ustlib/drop-in/abi0.h"
#include "ustlib/drop-in/drop_in.h"

/* What a probe gets as its `data`. */
struct hit0 {
	struct ust0_event event;        /* first */
	struct ust0_filter filter;
	const struct ust_notifier *notifier;
};

struct registered0 {
	struct registered0 *next;
	const struct ust0_provider_desc *desc;
	struct provider *provider;
	struct memory *memory;          /* of the description that `provider` was made of */
};

static struct registered0 *registered;  /* guarded by the drop-in lock */

/* ---- a hit ---- */

static uint64_t record(void *filter, const char *stack)
{
	struct hit0 *h = (struct hit0 *)((char *)filter - offsetof(struct hit0, filter));
	struct ust_probe_context context = { sizeof(context), __builtin_return_address(0) };

	h->notifier->send(h->notifier, stack, &context, NULL);
	return 0;
}

/* Of a probe that asks no filter, as those of 2.0: it does nothing more. */
static int refuse(void *context, uint32_t id)
{
	(void)context, (void)id;
	return -1;
}

static void *make_hit(const struct ust_notifier *notifier, struct memory **m)
{
	static const struct ust0_session session = { .active = 1 };
	static const struct ust0_channel_ops ops = { .event_reserve = refuse };
	static const struct ust0_channel channel = { .enabled = 1,
						     .session = &session,
						     .ops = &ops };
	struct hit0 *h = memory_alloc(m, 1, sizeof(*h));

	if (!h)
		return NULL;
	*h = (struct hit0){ .event = { .channel = &channel, .enabled = 1 },
			    .filter = { .decide = record },
			    .notifier = notifier };
	h->event.filters.next = h->event.filters.prev = &h->filter.node;
	h->filter.node.next = h->filter.node.prev = &h->event.filters;
	return &h->event;
}

/* ---- the description ---- */

static const struct ust_type_common *convert_integer(const struct ust0_integer *i,
						     struct memory **m)
{
	struct ust_integer *out = memory_alloc(m, 1, sizeof(*out));

	if (!out)
		return NULL;
	*out = (struct ust_integer){ .common = { UST_INTEGER, sizeof(*out) },
				     .bits = i->bits,
				     .alignment = i->alignment,
				     .is_signed = i->is_signed,
				     .swapped = i->swapped,
				     .base = i->base };
	return &out->common;
}

static const struct ust_enum_desc *convert_labels(const struct ust0_enum_desc *d,
						  struct memory **m)
{
	struct ust_enum_desc *out = memory_alloc(m, 1, sizeof(*out));
	struct ust_enum_entry *entries = memory_alloc(m, d->count, sizeof(*entries));
	const struct ust_enum_entry **list = memory_alloc(m, d->count, sizeof(*list));

	if (!out || !entries || !list)
		return NULL;
	for (unsigned int i = 0; i < d->count; i++) {
		const struct ust0_enum_entry *e = &d->entries[i];

		entries[i] = (struct ust_enum_entry){ .size = sizeof(*entries), .begin = e->begin,
						      .end = e->end, .label = e->label };
		memcpy(&entries[i].options, e->u.options, sizeof(entries[i].options));
		list[i] = &entries[i];
	}
	*out = (struct ust_enum_desc){ sizeof(*out), d->name, list, d->count };
	return out;
}

static const struct ust_type_common *convert_enum(const union ust0_basic *b, struct memory **m)
{
	struct ust_enum *out = memory_alloc(m, 1, sizeof(*out));

	if (!out)
		return NULL;
	*out = (struct ust_enum){ .common = { UST_ENUM, sizeof(*out) },
				  .desc = convert_labels(b->enumeration.desc, m),
				  .container = convert_integer(&b->enumeration.container, m) };
	return out->desc && out->container ? &out->common : NULL;
}

static const struct ust_type_common *convert_float(const struct ust0_float *f, struct memory **m)
{
	struct ust_float *out = memory_alloc(m, 1, sizeof(*out));

	if (!out)
		return NULL;
	*out = (struct ust_float){ { UST_FLOAT, sizeof(*out) },
				   f->exponent_bits,
				   f->mantissa_bits };
	return &out->common;
}

/* Of an array or a sequence: integers alone. */
static const struct ust_type_common *convert_elements(const struct ust0_basic_type *element,
						      struct memory **m)
{
	return element->kind == UST0_INTEGER ? convert_integer(&element->basic.integer, m) : NULL;
}

static const struct ust_type_common *convert_array(const struct ust0_type *t, struct memory **m)
{
	struct ust_array *out = memory_alloc(m, 1, sizeof(*out));

	if (!out)
		return NULL;
	*out = (struct ust_array){ .common = { UST_ARRAY, sizeof(*out) },
				   .element = convert_elements(&t->u.array.element, m),
				   .count = t->u.array.count,
				   .encoding = t->u.array.element.basic.integer.encoding };
	return out->element ? &out->common : NULL;
}

static const struct ust_type_common *convert_sequence(const struct ust0_type *t, struct memory **m)
{
	struct ust_sequence *out = memory_alloc(m, 1, sizeof(*out));

	if (!out)
		return NULL;
	*out = (struct ust_sequence){ .common = { UST_SEQUENCE, sizeof(*out) },
				      .element = convert_elements(&t->u.sequence.element, m),
				      .encoding = t->u.sequence.element.basic.integer.encoding };
	return out->element ? &out->common : NULL;
}

/* NULL: a type that no probe has, or no memory. */
static const struct ust_type_common *convert_type(const struct ust0_type *t, struct memory **m)
{
	static const struct ust_type_common string = { UST_STRING, sizeof(string) };

	switch (t->kind) {
	case UST0_INTEGER: return convert_integer(&t->u.basic.integer, m);
	case UST0_ENUM: return convert_enum(&t->u.basic, m);
	case UST0_FLOAT: return convert_float(&t->u.basic.real, m);
	case UST0_STRING: return &string;
	case UST0_ARRAY: return convert_array(t, m);
	case UST0_SEQUENCE: return convert_sequence(t, m);
	default: return NULL;
	}
}

static const struct ust_field *make_field(const char *name, const struct ust_type_common *type,
					  unsigned int nowrite, unsigned int nofilter,
					  struct memory **m)
{
	/* Of a type that cannot be recorded, field_describe() says so. */
	static const struct ust_type_common unknown = { UST_DYNAMIC, sizeof(unknown) };
	struct ust_field *out = memory_alloc(m, 1, sizeof(*out));

	if (out)
		*out = (struct ust_field){ sizeof(*out), name, type ? type : &unknown,
					   nowrite != 0, nofilter };
	return out;
}

/* The length of a sequence is a field before it, which is on no stack. False: no memory. */
static bool convert_fields(const struct ust0_event_desc *d, const struct ust_field **out,
			   size_t *count, struct memory **m)
{
	for (unsigned int i = 0; i < d->count; i++) {
		const struct ust0_field *f = &d->fields[i];

		if (f->type.kind == UST0_SEQUENCE) {
			out[*count] = make_field(
				"", convert_elements(&f->type.u.sequence.length, m), 0, 1, m);
			if (!out[(*count)++])
				return false;
		}
		out[*count] = make_field(f->name, convert_type(&f->type, m), f->nowrite, 0, m);
		if (!out[(*count)++])
			return false;
	}
	return true;
}

static const struct ust_event_desc *convert_event(const struct ust0_event_desc *d,
						  struct memory **m)
{
	struct ust_event_desc *out = memory_alloc(m, 1, sizeof(*out));
	struct ust_class *class = memory_alloc(m, 1, sizeof(*class));
	const struct ust_field **fields = memory_alloc(m, d->count, 2 * sizeof(*fields));
	const char *colon = strchr(d->name, ':');
	size_t count = 0;

	if (!out || !class || !fields || !convert_fields(d, fields, &count, m))
		return NULL;
	*class = (struct ust_class){ sizeof(*class), fields, count, d->probe, d->signature };
	*out = (struct ust_event_desc){ .size = sizeof(*out),
					.name = colon ? colon + 1 : d->name,
					.class = class,
					.level = d->level,
					.uri = d->uri };
	return out;
}

/* False: no memory. */
static bool convert(const struct ust0_provider_desc *d, struct ust_provider_desc *out,
		    struct memory **m)
{
	const struct ust_event_desc **events = memory_alloc(m, d->count, sizeof(*events));

	*out = (struct ust_provider_desc){ .size = sizeof(*out), .name = d->name, .events = events,
					   .major = PROVIDER_MAJOR_FIRST };
	if (!events)
		return false;
	for (; out->count < d->count; out->count++) {
		events[out->count] = convert_event(d->events[out->count], m);
		if (!events[out->count])
			return false;
	}
	return true;
}

/* ---- registration ---- */

/* A compiled provider calls abort() if this is not 0. */
TRAIL_EXPORT int lttng_probe_register(const struct ust0_provider_desc *desc);
TRAIL_EXPORT int lttng_probe_register(const struct ust0_provider_desc *desc)
{
	struct registered0 *r = calloc(1, sizeof(*r));
	struct ust_provider_desc converted;

	if (!r)
		return 0;
	r->desc = desc;
	if (!convert(desc, &converted, &r->memory)) {
		memory_free(&r->memory);
		free(r);
		return 0;
	}
	r->provider = provider_add(&converted, desc, make_hit, __builtin_return_address(0));
	drop_in_lock();
	r->next = registered;
	registered = r;
	drop_in_unlock();
	return 0;
}

TRAIL_EXPORT void lttng_probe_unregister(const struct ust0_provider_desc *desc);
TRAIL_EXPORT void lttng_probe_unregister(const struct ust0_provider_desc *desc)
{
	struct registered0 **at, *r;

	drop_in_lock();
	for (at = &registered; *at && (*at)->desc != desc; at = &(*at)->next)
		;
	r = *at;
	if (r)
		*at = r->next;
	drop_in_unlock();
	if (!r)
		return;
	provider_remove(r->provider);
	memory_free(&r->memory);
	free(r);
}
