// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/base/context/kernel_context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/abi/context_kind.h"
#include "tracer/abi/filter_interp.h"
#include "tracer/base/context/perfcounter.h"
#include "tracer/base/rows.h"

#define COUNTER "perf:cpu:"

enum shape { SIGNED, UNSIGNED, TEXT, STACK };

static const struct known {
	const char *name;
	uint32_t kind;
	enum shape shape;
	uint8_t size;
	bool always;                    /* known from tracefs, the thread table and /proc */
} known[] = {
#define KERNEL_CONTEXT(kind, name, shape, bytes, always) \
	{ name, TRAIL_CONTEXT_##kind, shape, bytes, always },
#include "tracer/abi/contexts.def"
#define COMMON_CONTEXT(kind, name, shape, bytes, kernel_bytes, always) \
	{ name, TRAIL_CONTEXT_##kind, shape, kernel_bytes, always },
#include "tracer/abi/contexts.def"
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

static uint64_t have, have_in_filters;

void kcontext_have(uint64_t kinds, uint64_t in_filters)
{
	have = kinds;
	have_in_filters = in_filters;
}

uint64_t kcontext_of_proc(void)
{
	uint64_t kinds = 0;

	for (size_t i = 0; i < KNOWN; i++)
		if (known[i].always)
			kinds |= UINT64_C(1) << known[i].kind;
	return kinds;
}

static bool can_record(const struct known *k)
{
	return k->always || have >> k->kind & 1;
}

static const struct known *by_kind(uint32_t kind)
{
	static const struct known counter = { COUNTER, TRAIL_CONTEXT_PERF, UNSIGNED, 8, false };

	for (size_t i = 0; i < KNOWN; i++)
		if (known[i].kind == kind)
			return &known[i];
	return &counter;
}

int kcontext_kind(const char *name, size_t len, bool any)
{
	for (size_t i = 0; i < KNOWN; i++)
		if (strlen(known[i].name) == len && !memcmp(known[i].name, name, len))
			return any || can_record(&known[i]) ? (int)known[i].kind : -EOPNOTSUPP;
	return -ENOENT;
}

bool kcontext_counters(bool any)
{
	return any || have >> TRAIL_CONTEXT_PERF & 1;
}

bool kcontext_in_filters(uint32_t kind)
{
	return kcontext_value_type(kind) != FILTER_NONE &&
	       (by_kind(kind)->always || have_in_filters >> kind & 1);
}

const char *kcontext_refusal(void)
{
	return "neither tracefs nor /proc says it of a thread, it needs the kernel module "
	       "trail.ko; `available/kernel/contexts` lists the others";
}

void kcontext_available(struct rows *r)
{
	struct perf_counter c;
	char full[sizeof(COUNTER) + 64];
	const char *name;

	for (size_t i = 0; i < KNOWN; i++)
		if (can_record(&known[i]))
			row_word(r, "name", known[i].name);
	for (size_t i = 0; kcontext_counters(false) && (name = perf_counter_name(i)); i++)
		if (!perf_counter_find(name, strlen(name), &c) && !perf_counter_probe(&c, true)) {
			snprintf(full, sizeof(full), COUNTER "%s", name);
			row_word(r, "name", full);
		}
}

/* ---- types ---- */

int kcontext_type(uint32_t kind, struct md_type *out)
{
	static const struct md_type address = { .kind = MD_INT, .size = 8, .base = 16 };
	const struct known *k = by_kind(kind);

	if (k->shape == TEXT)
		return md_type_array(out, k->size, &md_char);
	if (k->shape == STACK)
		return md_type_sequence(out, k->size, &address);
	*out = (struct md_type){ .kind = MD_INT, .size = k->size, .base = 10,
				 .is_signed = k->shape == SIGNED };
	return 0;
}

int kcontext_value_type(uint32_t kind)
{
	static const int types[] = { [SIGNED] = FILTER_SIGNED,
				     [UNSIGNED] = FILTER_UNSIGNED,
				     [TEXT] = FILTER_STRING,
				     [STACK] = FILTER_NONE };

	return types[by_kind(kind)->shape];
}

/* ---- bytes ---- */

size_t kcontext_size(uint32_t kind)
{
	return by_kind(kind)->size;
}

/* The bytes of one value; SIZE_MAX: `room` is too small for it. */
static size_t length(uint32_t kind, const uint8_t *at, size_t room)
{
	const struct known *k = by_kind(kind);
	uint32_t count = 0;

	if (room < k->size)
		return SIZE_MAX;
	if (k->shape == STACK)
		memcpy(&count, at, sizeof(count));
	return count <= (room - k->size) / 8 ? k->size + 8 * (size_t)count : SIZE_MAX;
}

const uint8_t *kcontext_find(const uint32_t *kinds, uint32_t count, uint32_t kind,
			     const uint8_t *bytes, size_t len)
{
	size_t n;

	for (uint32_t i = 0; i < count; i++, bytes += n, len -= n) {
		n = length(kinds[i], bytes, len);
		if (n == SIZE_MAX)
			return NULL;
		if (kinds[i] == kind)
			return bytes;
	}
	return NULL;
}

bool kcontext_fits(const uint32_t *kinds, uint32_t count, const uint8_t *bytes, size_t len)
{
	size_t n;

	for (uint32_t i = 0; i < count; i++, bytes += n, len -= n) {
		n = length(kinds[i], bytes, len);
		if (n == SIZE_MAX)
			return false;
	}
	return !len;
}

void kcontext_value(uint32_t kind, const uint8_t *at, struct filter_value *out)
{
	const struct known *k = by_kind(kind);
	const char *text = (const char *)at;

	if (k->shape == TEXT)
		*out = (struct filter_value){ .type = FILTER_STRING, .s = text,
					      .len = strnlen(text, k->size) };
	else if (k->shape == SIGNED)
		*out = (struct filter_value){ .type = FILTER_SIGNED,
					      .u = filter_load(at, k->size, false, true) };
	else if (k->shape == UNSIGNED)
		*out = (struct filter_value){ .type = FILTER_UNSIGNED,
					      .u = filter_load(at, k->size, false, false) };
	else
		*out = (struct filter_value){ .type = FILTER_NONE };
}
