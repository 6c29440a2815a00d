// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/unwind/frame_info.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/kernel/unwind/instruction.h"

#define ENTRIES_MAX 4000000u

/* How a pointer is written (Linux Standard Base, table 10.5): four bits of form, three of base. */
enum {
	FORM_POINTER = 0x00, FORM_ULEB = 0x01, FORM_2 = 0x02, FORM_4 = 0x03, FORM_8 = 0x04,
	FORM_SLEB = 0x09, FORM_S2 = 0x0a, FORM_S4 = 0x0b, FORM_S8 = 0x0c,
	BASE_HERE = 0x10, BASE_MASK = 0x70, POINTER_OMITTED = 0xff,
};

struct entry {                          /* a Frame Description Entry */
	uint64_t from, size;
	uint32_t common, at, end;       /* offsets of the CIE, of the instructions, and their end */
};

struct reader {
	const uint8_t *section;
	size_t size;
	uint64_t address;
	struct entry *entries;
	size_t count;
	uint32_t common_at;             /* which `common` is; UINT32_MAX: none */
	bool common_ok;
	struct frame_common common;
	struct rule_writer writer;
};

/* A pointer in one of the forms; *c fails for a form that files for this machine do not have. */
static uint64_t read_pointer(const struct reader *r, struct dwarf_cursor *c, uint8_t form)
{
	uint64_t here = r->address + (uint64_t)(c->at - r->section), v = 0;

	switch (form & 0x0f) {
	case FORM_POINTER:
	case FORM_8:
	case FORM_S8:
		v = dwarf_number(c, 8);
		break;
	case FORM_ULEB:
		v = dwarf_uleb(c);
		break;
	case FORM_SLEB:
		v = (uint64_t)dwarf_sleb(c);
		break;
	case FORM_2:
	case FORM_4:
		v = dwarf_number(c, (form & 0x0f) == FORM_2 ? 2 : 4);
		break;
	case FORM_S2:
	case FORM_S4:
		v = (uint64_t)dwarf_signed(c, (form & 0x0f) == FORM_S2 ? 2 : 4);
		break;
	default:
		c->failed = true;
	}
	if ((form & BASE_MASK) == BASE_HERE)
		v += here;
	else if (form & BASE_MASK)
		c->failed = true;
	return v;
}

/* Begins a record at *at: the cursor is after its length; *at is moved to the next one. */
static bool next_record(const struct reader *r, uint32_t *at, struct dwarf_cursor *out)
{
	struct dwarf_cursor c = { r->section + *at, r->section + r->size, false };
	uint64_t n = dwarf_number(&c, 4);

	if (n == UINT32_MAX)
		n = dwarf_number(&c, 8);
	/* A length of 0 ends the section. */
	if (!n || !dwarf_has(&c, n))
		return false;
	*out = (struct dwarf_cursor){ c.at, c.at + n, false };
	*at = (uint32_t)(out->end - r->section);
	return true;
}

/* What the letters of an augmentation say; false: one is not known. */
static bool read_augmentation(const struct reader *r, struct dwarf_cursor *c, const char *letters,
			      struct frame_common *out)
{
	uint8_t form;

	for (; *letters; letters++)
		switch (*letters) {
		case 'R':
			out->form = (uint8_t)dwarf_number(c, 1);
			break;
		case 'P':
			form = (uint8_t)dwarf_number(c, 1);
			/* The lowest bits are the form, whatever the base is. */
			read_pointer(r, c, form & 0x0f);
			break;
		case 'L':
			dwarf_number(c, 1);
			break;
		case 'S':
			out->signal = true;
			break;
		case 'B':
			break;
		default:
			return false;
		}
	return true;
}

static bool read_common(struct reader *r, uint32_t at, struct frame_common *out)
{
	struct dwarf_cursor cursor, *c = &cursor;
	const char *letters;
	uint64_t version, size = 0;

	memset(out, 0, sizeof(*out));
	if (!next_record(r, &at, c) || dwarf_number(c, 4) != 0)
		return false;
	version = dwarf_number(c, 1);
	letters = (const char *)c->at;
	if (c->failed || (version != 1 && version != 3) ||
	    !memchr(letters, 0, (size_t)(c->end - c->at)))
		return false;
	c->at += strlen(letters) + 1;
	out->code_unit = dwarf_uleb(c);
	out->data_unit = dwarf_sleb(c);
	if ((version == 1 ? dwarf_number(c, 1) : dwarf_uleb(c)) != DWARF_RETURN)
		return false;
	if (*letters) {
		if (*letters != 'z')
			return false;
		out->augmented = true;
		size = dwarf_uleb(c);
		if (!dwarf_has(c, size))
			return false;
		c->end = c->at + size;
		if (!read_augmentation(r, c, letters + 1, out) || c->failed)
			return false;
		c->at = c->end;
		c->end = r->section + at;
	}
	return frame_run_first(&r->writer, out, *c);
}

static bool find_common(struct reader *r, uint32_t at)
{
	struct frame_common c;

	if (r->common_at != at) {
		r->common_at = at;
		r->common_ok = read_common(r, at, &c);
		r->common = c;
	}
	return r->common_ok;
}

/* The entry of a record; false: it is none, or cannot be understood. */
static bool read_entry(struct reader *r, struct dwarf_cursor *c, struct entry *out)
{
	uint64_t here = (uint64_t)(c->at - r->section), back = dwarf_number(c, 4), n;

	if (!back || back > here || !find_common(r, (uint32_t)(here - back)))
		return false;
	out->common = (uint32_t)(here - back);
	out->from = read_pointer(r, c, r->common.form);
	out->size = read_pointer(r, c, r->common.form & 0x0f);
	if (r->common.augmented) {
		n = dwarf_uleb(c);
		if (!dwarf_has(c, n))
			return false;
		c->at += n;
	}
	out->at = (uint32_t)(c->at - r->section);
	out->end = (uint32_t)(c->end - r->section);
	/* (The linker leaves entries of code that it removed, at address 0.) */
	return !c->failed && out->from && out->size && out->from + out->size > out->from;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

static void find_entries(struct reader *r)
{
	struct dwarf_cursor c;
	struct entry e;

	for (uint32_t at = 0; !r->writer.failed && next_record(r, &at, &c);) {
		if (!read_entry(r, &c, &e))
			continue;
		r->writer.failed = r->count >= ENTRIES_MAX || !array_double(r->entries, r->count);
		if (!r->writer.failed)
			r->entries[r->count++] = e;
	}
	if (r->count)
		qsort(r->entries, r->count, sizeof(*r->entries), compare_entries);
}

static void run_entry(struct reader *r, const struct entry *e)
{
	struct dwarf_cursor c = { r->section + e->at, r->section + e->end, false };

	if (find_common(r, e->common))
		frame_run(&r->writer, &r->common, c, e->from, e->from + e->size);
}

bool frame_info_read(struct unwind_table *t, const uint8_t *section, size_t size, uint64_t address)
{
	struct reader *r = calloc(1, sizeof(*r));
	bool ok;

	if (!r)
		return false;
	*r = (struct reader){ .section = section, .address = address,
			      .size = size < UINT32_MAX ? size : 0, .common_at = UINT32_MAX };
	rule_writer_init(&r->writer, t);
	find_entries(r);
	t->base = r->count ? r->entries[0].from : 0;
	for (size_t i = 0; i < r->count && !r->writer.failed; i++)
		run_entry(r, &r->entries[i]);
	ok = !r->writer.failed;
	free(r->entries);
	rule_writer_deinit(&r->writer);
	free(r);
	return ok;
}
