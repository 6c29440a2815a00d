/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program is after compilation with the headers of LTTng-UST 2.16, written by hand for
 * systems with older ones: a provider of version 4 whose event `blob` has blobs, and whose event
 * `strange` has a field of a type that is not known yet; and a provider of version 9.
 */
#include <stdint.h>
#include <stdio.h>

#include "ustlib/drop-in/abi.h"

void *lttng_ust_probe_register(const struct ust_provider_desc *desc);
void lttng_ust_probe_unregister(void *handle);
int lttng_ust_tracepoint_module_register(struct ust_tracepoint *const *start, int count);
int lttng_ust_tracepoint_module_unregister(struct ust_tracepoint *const *start);

static const char signature[] = "const void *, data, size_t, size";

/* A compiled probe for events of the kind UST_NOTIFIER. */
static void probe(void *data, const void *bytes, size_t size)
{
	const struct ust_event *e = data;
	const struct ust_notifier *n = e->child;
	struct ust_probe_context context = { sizeof(context), __builtin_return_address(0) };
	struct { uint32_t size; int has_run; } capture = { sizeof(capture), 0 };
	struct { unsigned long size; const void *bytes; } stack[] = {
		{ 2, bytes }, { size, bytes }, { 1, bytes },
	};

	if (e->enabled && e->type == UST_NOTIFIER)
		n->send(n, (const char *)stack, &context, &capture);
}

static const struct ust_integer u16 = { .common = { UST_INTEGER, sizeof(u16) }, 16, 8, 0, 0, 10 };
static const struct ust_fixed_blob begin_type = {
	.common = { UST_FIXED_BLOB, sizeof(begin_type) }, 2, "image/png",
}, first_type = { .common = { UST_FIXED_BLOB, sizeof(first_type) }, 1, NULL };
static const struct ust_variable_blob all_type = {
	.common = { UST_VARIABLE_BLOB, sizeof(all_type) }, NULL, "image/png",
};
static const struct ust_type_common strange_type = { 77, sizeof(strange_type) };

static const struct ust_field begin = { sizeof(begin), "begin", &begin_type.common, 0, 0 },
	length = { sizeof(length), "_all_length", &u16.common, 0, 1 },
	all = { sizeof(all), "all", &all_type.common, 0, 0 },
	first = { sizeof(first), "first", &first_type.common, 1, 0 },
	strange = { sizeof(strange), "strange", &strange_type, 0, 0 };
static const struct ust_field *const fields[] = { &begin, &length, &all, &first },
	*const strange_fields[] = { &strange };
static const struct ust_class class = { sizeof(class), fields, 4, (void (*)(void))probe,
					signature },
	strange_class = { sizeof(strange_class), strange_fields, 1, (void (*)(void))probe,
			  signature };
static const struct ust_event_desc blob_event = { sizeof(blob_event), "blob", NULL, &class, NULL,
						  NULL },
	strange_event = { sizeof(strange_event), "strange", NULL, &strange_class, NULL, NULL };
static const struct ust_event_desc *const events[] = { &strange_event, &blob_event };
static const struct ust_provider_desc provider = { sizeof(provider), "new", events, 2, 4, 0 },
	future = { sizeof(future), "future", events, 2, 9, 0 };

static struct ust_tracepoint sites[] = {
	{ sizeof(sites[0]), "new", "blob", 0, NULL, NULL, signature },
	{ sizeof(sites[0]), "new", "strange", 0, NULL, NULL, signature },
	{ sizeof(sites[0]), "future", "blob", 0, NULL, NULL, signature },
};
static struct ust_tracepoint *const list[] = { &sites[0], &sites[1], &sites[2] };

static void hit(const struct ust_tracepoint *site, const void *bytes, size_t size)
{
	if (!site->state)
		return;
	for (const struct ust_tracepoint_probe *p = site->probes; p && p->func; p++)
		((void (*)(void *, const void *, size_t))p->func)(p->data, bytes, size);
}

int main(void)
{
	void *one = lttng_ust_probe_register(&provider), *other = lttng_ust_probe_register(&future);

	if (!one || !other || lttng_ust_tracepoint_module_register(list, 3))
		return 1;
	for (unsigned int i = 0; i < 3; i++) {
		hit(&sites[i], "\211PNG", 4);
		hit(&sites[i], "\0\377", 0);
	}
	/* The test reads status meanwhile. */
	puts("hit");
	fflush(stdout);
	getchar();
	lttng_ust_tracepoint_module_unregister(list);
	lttng_ust_probe_unregister(other);
	lttng_ust_probe_unregister(one);
	return 0;
}
