// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/kevent/extra_pointer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tracer/base/array.h"
#include "tracer/kernel/kevent/put_value.h"

#define POINTERS_MAX 128u       /* the kernel's limit for the fields of a probe */

/* Parses EXTRA_POINTER k|u NUMBER _ ITEMS. */
static bool parse_name(struct span name, struct kformat_pointer *out)
{
	uint64_t items = 0;

	if (!span_skip(&name, EXTRA_POINTER) || !span_length(name) || !strchr("ku", *name.p))
		return false;
	out->user = *name.p++ == 'u';
	while (span_length(name) && *name.p >= '0' && *name.p <= '9')
		name.p++;
	if (!span_skip(&name, "_") || !span_length(name) || span_length(name) > 8)
		return false;
	for (; span_length(name); name.p++) {
		const char *digits = "0123456789abcdef", *digit = strchr(digits, *name.p);

		if (!*name.p || !digit)
			return false;
		items = items << 4 | (uint64_t)(digit - digits);
	}
	out->items = (uint32_t)items;
	return true;
}

int kpointer_add(struct kformat *f, const struct format_line *l)
{
	struct kformat_pointer p = { .offset = (uint32_t)l->offset };

	if (!parse_name(l->name, &p) || l->size != 8)
		return f->pointer_count ? -EINVAL : 0;
	if (f->pointer_count >= POINTERS_MAX)
		return -EINVAL;
	if (!array_room(f->pointers, f->pointer_count + 1))
		return -ENOMEM;
	f->pointers[f->pointer_count++] = p;
	return 1;
}

int kpointers_finish(struct kformat *f)
{
	struct kformat_field sign = { .kind = KFORMAT_UNREAD };
	uint32_t items = 0;

	for (uint32_t i = 0; i < f->pointer_count; i++)
		items |= f->pointers[i].items;
	for (uint32_t bit = 0; bit < 32 && bit < f->field_count; bit++) {
		struct kformat_field *item = &f->fields[f->field_count - 1 - bit];

		if (items >> bit & 1 && (item->kind == KFORMAT_INT || item->kind == KFORMAT_STRING))
			item->item = 1u << bit;
	}
	if (!f->pointer_count || f->field_count >= KFORMAT_FIELDS_MAX)
		return 0;
	for (uint32_t i = 0; i < f->field_count; i++)
		if (!strcmp(f->fields[i].name, EXTRA_SIGN))
			return 0;
	sign.name = strdup(EXTRA_SIGN);
	sign.kernel_name = strdup(EXTRA_SIGN);
	f->fields[f->field_count++] = sign;
	return sign.name && sign.kernel_name ? 0 : -ENOMEM;
}

/*
 * Whether the kernel reads nothing there: NULL and what is near it, an error code, an address of
 * the other kind of memory, and one that is no address, as that of a removed element of a list.
 * Kernels for other processors read either kind by `+OFF`.
 */
static bool is_bad(uint64_t address, bool user)
{
	const uint64_t near = 4096;

	if (address < near || address >= -near)
		return true;
#ifdef __x86_64__
	return address >> 56 != (user ? 0 : 0xff);
#else
	(void)user;
	return false;
#endif
}

/* ---- records ---- */

struct kextra {
	uint32_t count;
	struct kformat_pointer *pointers;       /* owned */
	char names[EXTRA_MAX][EXTRA_NAME_MAX];  /* by bit; "": always read */
};

struct kextra *kextra_make(const struct kformat *f)
{
	struct kextra *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->pointers = malloc(f->pointer_count * sizeof(*x->pointers));
	if (!x->pointers) {
		free(x);
		return NULL;
	}
	x->count = f->pointer_count;
	memcpy(x->pointers, f->pointers, x->count * sizeof(*x->pointers));
	for (uint32_t i = 0; i < f->field_count; i++)
		if (f->fields[i].item)
			snprintf(x->names[__builtin_ctz(f->fields[i].item)], EXTRA_NAME_MAX, "%s",
				 f->fields[i].name);
	return x;
}

void kextra_free(struct kextra *x)
{
	if (x)
		free(x->pointers);
	free(x);
}

uint32_t kextra_unread(const struct kextra *x, const uint8_t *record)
{
	uint32_t items = 0;

	for (uint32_t i = 0; i < x->count; i++) {
		uint64_t address;

		memcpy(&address, record + x->pointers[i].offset, sizeof(address));
		if (is_bad(address, x->pointers[i].user))
			items |= x->pointers[i].items;
	}
	return items;
}

uint8_t *kextra_put(const struct kextra *x, uint32_t unread, uint8_t *to, const uint8_t *end)
{
	char text[KEXTRA_TEXT_MAX];
	size_t n = 0;

	for (unsigned int bit = EXTRA_MAX; unread && bit--;)
		if (unread >> bit & 1 && *x->names[bit])
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "",
					      x->names[bit]);
	return put_string((const uint8_t *)text, n, to, end);
}
