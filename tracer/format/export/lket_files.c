// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LKET's binary files, one for each CPU: see lket.h. The events are read twice: for the formats,
 * then for the files. What is more than a piece of a file moves to m.file.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/format/export/lket.h"

#define PIECE (64u << 10)
#define CPU_MOST 4096u
#define SIZES 4u                /* bytes of total_size and sys_size */
#define COMMON 24u              /* bytes of the common data */
#define STRING_MOST 4096u       /* bytes of a string; the rest is cut */
#define EVENT_MOST 30000u       /* bytes after which strings are empty: sizes have 15 bits */

enum { REGEVT = 1, SYSTEM_FIELDS = 1, USER_FIELDS = 3, DESCRIPTION = 5 };

struct lket_files {
	struct maker m;
	struct export_files *l;
	struct lket_kinds kinds;
	struct export_file **cpus;      /* by number; the files belong to l */
	uint32_t cpu_count;
	uint32_t first_cpu;             /* of the first event */
	uint64_t first;                 /* its time */
	struct md_buf event, text;      /* scratch */
};

static void put(struct md_buf *out, uint64_t value, size_t bytes)
{
	if (__BYTE_ORDER == __BIG_ENDIAN)
		value <<= 64 - 8 * bytes;
	md_buf_put(out, &value, bytes);
}

static void put_header(struct md_buf *out)
{
	put(out, 0xAEFCDB6B, 4);
	put(out, 9, 2);
	put(out, 1, 1);
	put(out, 1, 1);
	put(out, __BYTE_ORDER == __BIG_ENDIAN ? 2 : 1, 1);
	put(out, 3, 1);
	put(out, 64, 1);
	put(out, 0, 4);
}

/* Moves what the file has to m.file: whole pieces, or all. */
static void flush(struct lket_files *t, struct export_file *f, bool all)
{
	size_t done = 0;

	t->m.err = f->block.failed ? -ENOMEM : t->m.err;
	while (!t->m.err && (f->block.len - done >= PIECE || (all && f->block.len > done))) {
		size_t n = f->block.len - done, begin = t->m.out.len;

		n = n < PIECE ? n : PIECE;
		md_buf_put(&t->m.out, f->block.data + done, n);
		export_file_piece(&t->m, f, begin);
		done += n;
	}
	if (done)
		memmove(f->block.data, f->block.data + done, f->block.len - done);
	f->block.len -= done;
}

/* Puts t->event; its first `system` bytes are the system fields. */
static void put_event(struct lket_files *t, uint32_t cpu, uint64_t time, uint64_t thread,
		      uint64_t parent, const struct lket_kind *k, size_t system)
{
	struct export_file *f = t->cpus[cpu];

	put(&f->block, COMMON + t->event.len, 2);
	put(&f->block, COMMON + system, 2);
	put(&f->block, time, 8);
	put(&f->block, thread, 8);
	put(&f->block, parent << 32 | (uint64_t)k->group << 24 | (uint64_t)k->hook << 16 |
			       (uint64_t)(cpu & 0xff) << 8, 8);
	md_buf_put(&f->block, t->event.data, t->event.len);
	f->block.failed |= t->event.failed;
	if (f->block.len >= PIECE)
		flush(t, f, false);
}

/* ---- formats ---- */

/* One description of a kind; its strings follow in t->text. */
static void put_description(struct lket_files *t, const struct lket_kind *k, uint8_t hook)
{
	const struct lket_kind event = { .group = REGEVT, .hook = hook };

	md_buf_reset(&t->event);
	put(&t->event, k->group, 1);
	put(&t->event, k->hook, 1);
	md_buf_put(&t->event, t->text.data, t->text.len);
	t->event.failed |= t->text.failed;
	if (COMMON + t->event.len > INT16_MAX)
		t->m.err = -EOVERFLOW;
	else
		put_event(t, t->first_cpu, t->first, 0, 0, &event, t->event.len);
}

static void put_fields(struct lket_files *t, const struct lket_kind *k, uint8_t hook)
{
	uint32_t begin = hook == USER_FIELDS ? k->system : 0;
	uint32_t end = hook == USER_FIELDS ? k->count : k->system;

	if (begin == end)
		return;
	md_buf_reset(&t->text);
	for (uint32_t i = begin; i < end; i++)
		md_buf_printf(&t->text, "%s%s", i > begin ? ":" : "", k->columns[i].type);
	md_buf_putc(&t->text, '\0');
	for (uint32_t i = begin; i < end; i++)
		md_buf_printf(&t->text, "%s%s", i > begin ? ":" : "", k->columns[i].name);
	md_buf_putc(&t->text, '\0');
	put_description(t, k, hook);
}

static void put_kinds(struct lket_files *t)
{
	for (size_t i = 0; i < t->kinds.count && !t->m.err; i++) {
		const struct lket_kind *k = t->kinds.list[i];

		md_buf_reset(&t->text);
		md_buf_put(&t->text, k->name, strlen(k->name) + 1);
		put_description(t, k, DESCRIPTION);
		put_fields(t, k, SYSTEM_FIELDS);
		put_fields(t, k, USER_FIELDS);
	}
}

/* ---- events ---- */

static void add_cpu(struct lket_files *t, uint32_t cpu)
{
	char path[32];

	if (cpu >= CPU_MOST) {
		t->m.err = -EOVERFLOW;
		return;
	}
	if (cpu >= t->cpu_count) {
		if (!array_extend(t->cpus, t->cpu_count, cpu + 1)) {
			t->m.err = -ENOMEM;
			return;
		}
		t->cpu_count = cpu + 1;
	}
	snprintf(path, sizeof(path), "stpd_cpu%u", cpu);
	t->cpus[cpu] = export_file_add(&t->m, t->l, path, PIECE);
	if (t->cpus[cpu])
		put_header(&t->cpus[cpu]->block);
}

/* First run: finds the kinds, their columns and the CPUs. */
static void count_row(void *arg, const struct row *r)
{
	struct lket_files *t = arg;

	if (!lket_shape_of(&t->kinds, r, &t->m.err))
		return;
	if (!t->first) {
		t->first = r->time;
		t->first_cpu = r->cpu;
	}
	if (r->cpu >= t->cpu_count || !t->cpus[r->cpu])
		add_cpu(t, r->cpu);
}

/* c NULL: it is empty. */
static void put_string(struct lket_files *t, const struct lket_cell *c)
{
	size_t room = t->event.len < EVENT_MOST ? EVENT_MOST - t->event.len : 0;
	size_t n = c && c->text ? c->len : 0;
	const char *s = c && c->text ? c->text : "";

	if (c && !c->text) {
		md_buf_reset(&t->text);
		if (c->value)
			md_value_show(c->value, &t->text);
		else
			md_buf_printf(&t->text, "%lld", (long long)c->number);
		s = md_buf_str(&t->text);
		n = strlen(s);
	}
	room = room < STRING_MOST ? room : STRING_MOST;
	md_buf_put(&t->event, s, n < room ? n : room);
	md_buf_putc(&t->event, '\0');
}

/* The number of a context; 0: it has none. */
static uint64_t get_id(const struct row *r, int context)
{
	uint64_t n = 0;

	if (context >= 0 && !r->torn)
		md_value_integer(&r->context[context], &n);
	return n & UINT32_MAX;
}

/* Second run: writes the events. */
static void add_row(void *arg, const struct row *r)
{
	struct lket_files *t = arg;
	const struct lket_shape *s = lket_shape_of(&t->kinds, r, &t->m.err);
	size_t system = 0;

	/* Both runs have the same events. */
	if (!s || r->cpu >= t->cpu_count || !t->cpus[r->cpu])
		return;
	md_buf_reset(&t->event);
	for (uint32_t i = 0; i < s->kind->count; i++) {
		unsigned int size = lket_type_size(s->kind->columns[i].type);
		struct lket_cell c = { 0 };
		bool has = lket_cell_of(s, r, i, &c);

		if (size)
			put(&t->event, c.number, size);
		else
			put_string(t, has ? &c : NULL);
		system = i + 1 == s->kind->system ? t->event.len : system;
	}
	if (t->event.len + COMMON > INT16_MAX) {
		t->m.err = -EOVERFLOW;
		return;
	}
	put_event(t, r->cpu, r->time, get_id(r, s->tid) << 32 | get_id(r, s->pid),
		  get_id(r, s->ppid), s->kind, system);
}

static void make_files(void *arg, const struct stream_set *held)
{
	struct lket_files *t = arg;

	(void)held;
	t->m.err = t->m.err ? t->m.err : lket_hooks_init(&t->kinds.hooks, t->m.s);
	if (!t->m.err)
		maker_run(&t->m, ROW_CLASSES, count_row, t);
	if (t->m.err || !t->cpu_count)
		return;
	put_kinds(t);
	if (!t->m.err)
		maker_run(&t->m, ROW_VALUES, add_row, t);
	for (uint32_t i = 0; !t->m.err && i < t->cpu_count; i++) {
		if (t->cpus[i])
			flush(t, t->cpus[i], true);
		maker_write(&t->m);
	}
}

int lket_export_open(struct session *s, struct export_files **out)
{
	struct lket_files t = { 0 };
	int err = export_files_make(s, &t.m, &t.l, make_files, &t, out);

	lket_kinds_deinit(&t.kinds);
	md_buf_deinit(&t.event);
	md_buf_deinit(&t.text);
	free(t.cpus);
	return err;
}
