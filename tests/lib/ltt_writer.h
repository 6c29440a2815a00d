/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes traces of LTT 0.3 and 0.7 in all their forms, as the format's description has them. */
#ifndef TESTS_LIB_LTT_WRITER_H
#define TESTS_LIB_LTT_WRITER_H

#include <sys/mman.h>

#include "tests/lib/ltt.h"

struct ltt_form { bool big_endian, heartbeat, flight; uint8_t align, minor; };

struct ltt_writer {
	struct ltt_form form;
	struct md_buf file;
	size_t block, event, data;      /* where they begin in the file */
	uint64_t begin, last;
	uint64_t freq;          /* of the next blocks; 0: 1500000000 */
};

static const char ltt_definition[] =
	"<?xml version=\"1.0\"?>\n<!-- a comment <facility> -->\n"
	"<facility name=fac arch=\"i386\">\n"
	"  <description>What \"it\" is</description>\n"
	"  <type name=pair><struct><field name=x><int size=2/></field>\n"
	"    <field name=y><typeref name=mode/></field></struct></type>\n"
	"  <event name=plain per_trace>\n    <description>d</description>\n"
	"    <field name=\"a\"><description>d</description><int/></field>\n"
	"    <field name=b><ulong></ulong></field>\n"
	"    <field name=net><uint size=2 network/></field>\n"
	"    <field name=s><string/></field>\n    <field name=m><typeref name=mode/></field>\n"
	"  </event>\n  <event name='rich'>\n"
	"    <field name=p><array size=2><typeref name=pair/></array></field>\n"
	"    <field name=q><sequence><uint size=2/><int size=4/></sequence></field>\n"
	"    <field name=u><union><field name=w><uint size=4/></field>\n"
	"      <field name=c><uint size=1/></field></union></field>\n"
	"    <field name=f><float size=4/></field>\n    <field name=ptr><pointer/></field>\n"
	"  </event>\n"
	"  <type name=mode><enum size=1><label name=LOW value=3/>\n"
	"    <label name=HIGH><description>more</description></label></enum></type>\n"
	"</facility>\n";

static inline void ltt_raw(struct ltt_writer *w, uint64_t value, unsigned int size, bool big)
{
	for (unsigned int i = 0; i < size; i++)
		md_buf_putc(&w->file, (char)(value >> 8 * (big ? size - 1 - i : i)));
}

static inline void ltt_pad(struct ltt_writer *w, size_t from, size_t align)
{
	while (align && (w->file.len - from) % align)
		md_buf_putc(&w->file, 0x55);
}

/* A value in the data of an event. */
static inline void ltt_value(struct ltt_writer *w, uint64_t value, unsigned int size)
{
	ltt_pad(w, w->data, size < w->form.align ? size : w->form.align);
	ltt_raw(w, value, size, w->form.big_endian);
}

static inline void ltt_begin_block(struct ltt_writer *w)
{
	w->block = w->file.len;
	w->begin = 0;
	while (w->file.len < w->block + (w->form.minor == 7 ? 106 : 66))
		md_buf_putc(&w->file, 0);
}

static inline void ltt_event(struct ltt_writer *w, uint64_t cycles, unsigned int facility,
			     unsigned int id)
{
	bool big = w->form.big_endian;

	w->begin = w->begin ? w->begin : cycles;
	w->last = cycles;
	ltt_pad(w, w->block, w->form.align);
	w->event = w->file.len;
	ltt_raw(w, cycles, w->form.heartbeat ? 4 : 8, big);
	ltt_raw(w, facility, 1, big);
	ltt_raw(w, id, 1, big);
	ltt_raw(w, 0xffff, 2, big);
	ltt_pad(w, w->block, w->form.align);
	w->data = w->file.len;
}

/* Ends an event; sized: its header has its size. */
static inline void ltt_end_event(struct ltt_writer *w, bool sized)
{
	size_t n = w->file.len - w->data, at = w->event + (w->form.heartbeat ? 6 : 10);

	if (!sized)
		return;
	w->file.data[at] = (char)(w->form.big_endian ? n >> 8 : n);
	w->file.data[at + 1] = (char)(w->form.big_endian ? n : n >> 8);
}

/* Fills the header. One cycle is 2 ns; cycle 1000 is one second after 1970 in version 0.7. */
static inline void ltt_end_block(struct ltt_writer *w, size_t size)
{
	struct ltt_writer h = { .form = w->form };
	size_t used = w->file.len - w->block;
	uint64_t freq = w->freq ? w->freq : 1500000000;
	bool big = w->form.big_endian;
	const struct { uint64_t value; unsigned int size; } values[] = {
		{ w->begin, 8 }, { freq, 8 }, { w->last, 8 }, { freq, 8 },
		{ size - used, 4 }, { size, 4 }, { 0x00d6b7ed, 4 }, { 1, 4 }, { 0, 4 },
		{ big ? 4321 : 1234, 4 }, { 8, 1 }, { 0, 1 }, { w->form.minor, 1 },
		{ w->form.flight, 1 }, { w->form.heartbeat, 1 }, { w->form.align, 1 }, { 3, 4 },
		{ freq, 8 }, { 1000, 8 }, { 0, 8 }, { 1, 8 }, { 0, 8 },
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		ltt_raw(&h, values[i].value, values[i].size, big);
	memcpy(w->file.data + w->block, h.file.data, w->form.minor == 7 ? 106 : 66);
	md_buf_deinit(&h.file);
	while (w->file.len < w->block + size)
		md_buf_putc(&w->file, 0x77);
}

static inline void ltt_load(struct ltt_writer *w, uint64_t cycles, const char *name, uint32_t id)
{
	const uint32_t values[] = { 12345, id, 4, 8, 8, 8, w->form.align };

	ltt_event(w, cycles, 0, 0);
	md_buf_put(&w->file, name, strlen(name) + 1);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		ltt_value(w, values[i], 4);
	ltt_end_event(w, true);
}

static inline void ltt_beat(struct ltt_writer *w, uint64_t cycles)
{
	ltt_event(w, cycles, 0, 2);
	ltt_value(w, cycles, 8);
	ltt_end_event(w, true);
}

static inline void ltt_plain(struct ltt_writer *w, uint64_t cycles, unsigned int facility, int a,
			     bool sized)
{
	ltt_event(w, cycles, facility, 0);
	ltt_value(w, (uint32_t)a, 4);
	ltt_value(w, 7, 8);
	ltt_pad(w, w->data, w->form.align < 2 ? w->form.align : 2);
	ltt_raw(w, 258, 2, true);
	md_buf_put(&w->file, "hi", 3);
	ltt_value(w, 4, 1);
	ltt_end_event(w, sized);
}

static inline void ltt_rich(struct ltt_writer *w, uint64_t cycles, unsigned int facility,
			    bool sized)
{
	size_t two = w->form.align < 2 ? w->form.align : 2;

	ltt_event(w, cycles, facility, 1);
	for (int i = 1; i <= 2; i++) {
		ltt_value(w, (uint64_t)i, 2);
		ltt_value(w, 3, 1);
		ltt_pad(w, w->data, two);
	}
	ltt_value(w, 2, 2);
	ltt_value(w, 9, 4);
	ltt_value(w, (uint32_t)-9, 4);
	ltt_value(w, 0x01020304, 4);
	ltt_value(w, 0x3fc00000, 4);    /* 1.5 */
	ltt_value(w, 0x1234, 8);
	ltt_end_event(w, sized);
}

/* A block of `size` bytes: a plain and a rich event, and a heartbeat if the form has them. */
static inline void ltt_filled_block(struct ltt_writer *w, uint64_t number, bool plain_sized,
			     bool rich_sized, size_t size)
{
	ltt_begin_block(w);
	ltt_plain(w, 2000 + 1000 * number, 5, -5, plain_sized);
	ltt_rich(w, 2500 + 1000 * number, 5, rich_sized);
	if (w->form.heartbeat)
		ltt_beat(w, 2600 + 1000 * number);
	ltt_end_block(w, size);
}

static inline void ltt_add_bytes(struct ltt_files *f, const char *path, const void *bytes, size_t n)
{
	int fd = memfd_create("ltt", MFD_CLOEXEC);

	if (write(fd, bytes, n) != (ssize_t)n)
		abort();
	ltt_add_file(f, path, fd);
}

#endif
