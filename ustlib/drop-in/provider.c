// SPDX-License-Identifier: MIT
/*
 * A compiled provider: each of its events becomes a tracepoint of libtrail, and its compiled probe
 * is called with an event of the kind UST_NOTIFIER (abi.h), so that a hit is one call with all
 * fields.
 */
#include <byteswap.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/abi/app.h"
#include "ustlib/drop-in/drop_in.h"
#include "ustlib/lttng/lttng/ust-api-compat.h"
#include "ustlib/lttng/lttng/trail-fields.h"

#define MAJOR_LAST 4            /* of the interface to providers: LTTng-UST 2.16, with blobs */

#define ROOM 1024                       /* bytes of an event that is put together on the stack */

struct event {
	struct probe probe;
	struct ust_event common;
	struct ust_notifier notifier;
	struct trail__tp tp;
	struct trail__event desc;
	uint16_t *at;                   /* where each field is on the probe's stack */
	unsigned int written;           /* fields that are recorded: the first ones */
};

struct provider {
	struct memory *memory;
	struct event *events;   /* those with a probe, then the refused ones */
	size_t probed;
	struct trail__tp **list;
	size_t count;
};

/* ---- a hit ---- */

/* The first bytes of the value, in memory, are the field's. */
static uint64_t load(const char *slot, unsigned int code)
{
	uint64_t v;
	float narrow;
	double wide;

	memcpy(&v, slot, sizeof(v));
	if (TRAIL__KIND(code) == TRAIL__FLOAT && TRAIL__SIZE(code) == sizeof(narrow)) {
		memcpy(&wide, &v, sizeof(wide));
		narrow = (float)wide;
		memcpy(&v, &narrow, sizeof(narrow));
	} else if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) {
		v <<= 64 - 8 * TRAIL__SIZE(code);
	} else if (code & TRAIL__BIG_ENDIAN << 16) {
		v = bswap_64(v) >> (64 - 8 * TRAIL__SIZE(code));
	}
	return v;
}

/* A length that its field cannot hold is cut to what the field says. */
static unsigned long long count_of(const struct trail__field *f, const char *slot)
{
	unsigned int bytes = TRAIL__LENGTH(f->code);
	unsigned long n;

	if (TRAIL__KIND(f->code) == TRAIL__ARRAY_OF)
		return f->count;
	memcpy(&n, slot, sizeof(n));
	return bytes < sizeof(n) ? n & ((1ul << 8 * bytes) - 1) : n;
}

static const void *elements_of(const char *slot)
{
	const void *p;

	memcpy(&p, slot + sizeof(unsigned long), sizeof(p));
	return p;
}

static unsigned char *put(unsigned char *at, unsigned char *end, const struct trail__field *f,
			  const char *slot, int *big)
{
	const char *string;
	uint64_t v;

	switch (TRAIL__KIND(f->code)) {
	case TRAIL__INT:
	case TRAIL__FLOAT:
		if (end - at < (ptrdiff_t)sizeof(v)) {
			*big = 1;
			return at;
		}
		v = load(slot, f->code);
		memcpy(at, &v, sizeof(v));
		return at + TRAIL__SIZE(f->code);
	case TRAIL__STRING:
		memcpy(&string, slot, sizeof(string));
		return trail__tp_string(at, end, string, big);
	case TRAIL__ARRAY_OF:
		return trail__tp_elements(at, end, f->code, elements_of(slot), f->count, big);
	default:
		return trail__tp_sequence(at, end, f->code, elements_of(slot), count_of(f, slot),
					  big);
	}
}

static __attribute__((noinline)) void record_big(struct event *e, const char *stack, const void *ip)
{
	struct trail__piece pieces[TRAIL_EVENT_FIELDS_MAX];
	uint64_t values[TRAIL_EVENT_FIELDS_MAX];
	unsigned int n = e->desc.field_count;
	unsigned long long count;

	for (unsigned int i = 0; i < n; i++) {
		const struct trail__field *f = &e->desc.fields[i];
		const char *slot = stack + e->at[i];

		pieces[i] = (struct trail__piece){ f->code, 1, slot };
		if (TRAIL__KIND(f->code) == TRAIL__INT || TRAIL__KIND(f->code) == TRAIL__FLOAT) {
			values[i] = load(slot, f->code);
			pieces[i].data = &values[i];
		} else if (TRAIL__KIND(f->code) != TRAIL__STRING) {
			count = count_of(f, slot);
			pieces[i].count = count < ~0u ? (unsigned int)count : ~0u;
			pieces[i].data = elements_of(slot);
		}
	}
	trail__record_values(&e->tp, pieces, n, n - e->written, ip);
}

static void hit(const struct ust_notifier *notifier, const char *stack,
		struct ust_probe_context *context, void *capture)
{
	struct event *e =
		(struct event *)((char *)notifier - offsetof(struct event, notifier));
	unsigned char buffer[TRAIL__HEADROOM + ROOM + TRAIL__SPARE];
	unsigned char *at = buffer + TRAIL__HEADROOM, *begin = at, *end = at + ROOM;
	size_t len = 0;
	int big = 0;

	(void)capture;
	if (!TRAIL__IS_ON(e->tp))
		return;
	for (unsigned int i = 0; i < e->desc.field_count && !big; i++) {
		at = put(at, end, &e->desc.fields[i], stack + e->at[i], &big);
		if (i + 1 == e->written)
			len = (size_t)(at - begin);
	}
	if (big)
		record_big(e, stack, context->ip);
	else
		trail__record_at(&e->tp, begin, len, (size_t)(at - begin) - len, context->ip);
}

/* ---- registration ---- */

static uint16_t stack_size(const struct ust_field *f)
{
	switch (f->type->type) {
	case UST_ARRAY:
	case UST_SEQUENCE:
	case UST_FIXED_BLOB:
	case UST_VARIABLE_BLOB: return 16;
	default: return 8;
	}
}

/*
 * Those fields of the class that are only for filters, or the others. False: a type is unknown, so
 * that it is unknown where the next fields are, too.
 */
static bool describe_fields(struct event *e, const struct ust_class *class, bool nowrite,
			    struct trail__field *fields, struct memory **m)
{
	const struct ust_field *before = NULL;
	uint16_t at = 0;

	for (size_t i = 0; i < class->count; before = class->fields[i++]) {
		const struct ust_field *f = class->fields[i];
		struct trail__field field;

		/* nofilter: the length of the sequence that follows */
		if (f->nofilter)
			continue;
		if (!field_describe(f, before, &field, m))
			return false;
		if (f->nowrite == nowrite && e->desc.field_count < TRAIL_EVENT_FIELDS_MAX) {
			e->at[e->desc.field_count] = at;
			fields[e->desc.field_count++] = field;
		}
		at = (uint16_t)(at + stack_size(f));
	}
	return true;
}

/* An event that is shown, but never recorded. */
static void describe_refused(struct event *e, const char *provider, const char *name,
			     unsigned char why)
{
	*e = (struct event){ .desc = { .provider = provider, .args = name, .version = why } };
	e->tp.state = &e->tp.off;
	e->tp.event = &e->desc;
}

static bool describe_event(struct event *e, const struct ust_provider_desc *provider,
			   const struct ust_event_desc *d, probe_data *data_of, struct memory **m)
{
	const struct ust_class *class = d->class;
	/* A probe may have more: they are left out. */
	size_t count = class->count < TRAIL_EVENT_FIELDS_MAX ? class->count
							      : TRAIL_EVENT_FIELDS_MAX;
	struct trail__field *fields = memory_alloc(m, count, sizeof(*fields));

	e->at = memory_alloc(m, count, sizeof(*e->at));
	if (!fields || !e->at || class->count > UINT16_MAX / 16)
		return false;
	if (!describe_fields(e, class, false, fields, m))
		return false;
	e->written = e->desc.field_count;
	if (!describe_fields(e, class, true, fields, m))
		return false;
	e->desc.provider = provider->name;
	e->desc.args = d->name;
	e->desc.fields = fields;
	e->desc.level = TRAIL__LEVEL_DEBUG_LINE;
	if (d->level && *d->level && **d->level >= 0 && **d->level <= TRAIL__LEVEL_DEBUG)
		e->desc.level = (unsigned char)**d->level;
	e->desc.version = sites_differ(provider->name, d->name, class->signature)
				  ? TRAIL__REFUSED : 1;
	e->desc.uri = d->uri ? *d->uri : NULL;
	e->tp.state = &e->tp.off;
	e->tp.event = &e->desc;
	e->notifier = (struct ust_notifier){ sizeof(e->notifier), &e->common, NULL, 1, hit };
	e->common = (struct ust_event){ .size = sizeof(e->common),
					.type = UST_NOTIFIER,
					.child = &e->notifier,
					.enabled = 1 };
	e->probe = (struct probe){ .provider = provider->name,
				   .event = d->name,
				   .signature = class->signature,
				   .func = class->probe,
				   .data = data_of ? data_of(&e->notifier, m) : &e->common };
	return e->probe.data;
}

static void describe(struct provider *p, const struct ust_provider_desc *desc, probe_data *data_of)
{
	size_t end = desc->count;

	p->events = memory_alloc(&p->memory, desc->count, sizeof(*p->events));
	p->list = memory_alloc(&p->memory, desc->count, sizeof(*p->list));
	for (unsigned int i = 0; p->events && p->list && i < desc->count; i++) {
		struct event *e = &p->events[p->probed];

		if (describe_event(e, desc, desc->events[i], data_of, &p->memory)) {
			p->probed++;
		} else {
			memset(e, 0, sizeof(*e));
			e = &p->events[--end];
			describe_refused(e, desc->name, desc->events[i]->name, TRAIL__REFUSED_TYPE);
		}
		p->list[p->count++] = &e->tp;
	}
}

/* Of another version nothing is known but its name. */
static void describe_unknown(struct provider *p, const struct ust_provider_desc *desc)
{
	p->events = memory_alloc(&p->memory, 1, sizeof(*p->events));
	p->list = memory_alloc(&p->memory, 1, sizeof(*p->list));
	if (!p->events || !p->list)
		return;
	describe_refused(&p->events[0], desc->name, "*", TRAIL__REFUSED_VERSION);
	p->list[p->count++] = &p->events[0].tp;
}

struct provider *provider_add(const struct ust_provider_desc *desc, const void *within,
			      probe_data *data_of, void *ip)
{
	static struct provider untraced;
	struct provider *p = calloc(1, sizeof(*p));

	if (!p)
		return &untraced;
	if (desc->major >= PROVIDER_MAJOR_FIRST && desc->major <= MAJOR_LAST)
		describe(p, desc, data_of);
	else
		describe_unknown(p, desc);
	trail__register_within(p->list, p->list + p->count, within);
	for (size_t i = 0; i < p->probed; i++)
		p->events[i].probe.word = p->events[i].tp.state;
	if (p->probed)
		probes_add(&p->events[0].probe, p->probed, sizeof(*p->events));
	watcher_wake();
	objects_look(ip);
	return p;
}

void provider_remove(struct provider *p)
{
	if (!p || !p->memory)
		return;
	if (p->probed)
		probes_remove(&p->events[0].probe, p->probed, sizeof(*p->events));
	trail__unregister(p->list, p->list + p->count);
	memory_free(&p->memory);
	free(p);
}

/* A compiled provider calls abort() if this is NULL. */
TRAIL_EXPORT struct provider *lttng_ust_probe_register(const struct ust_provider_desc *desc);
TRAIL_EXPORT struct provider *lttng_ust_probe_register(const struct ust_provider_desc *desc)
{
	return provider_add(desc, desc, NULL, __builtin_return_address(0));
}

TRAIL_EXPORT void lttng_ust_probe_unregister(struct provider *p);
TRAIL_EXPORT void lttng_ust_probe_unregister(struct provider *p)
{
	provider_remove(p);
}
