/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of an LTT 0.7 trace (ltt.h). The events are read twice: for the definitions and the
 * size of blocks, then for the blocks. A full block moves to m.file, so at most one block of each
 * file is apart from it.
 */
#include "tracer/format/export/ltt.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "metadata/number.h"
#include "tracer/base/array.h"
#include "tracer/session/session.h"

#define BLOCK_LEAST 8192u       /* bytes */
#define CPU_MOST 4096u
#define HEADER 106u             /* of a block */
#define EVENT 8u                /* the header of an event */
#define UNKNOWN_SIZE 0xffffu    /* of an event: its definition says it */
#define STEP (UINT64_C(1) << 31)        /* ns between heartbeats; LTT's stamps have 32 bits */
#define BEATS 16u               /* a longer silence ends a block */
#define HEARTBEAT 2             /* the id of core's time_heartbeat; facility_load is 0 */

/* The files of one CPU */
enum set { SET_FACILITIES, SET_INTERRUPTS, SET_MODULES, SET_PROCESSES, SET_CPU, SETS };

static const char *const set_names[SETS] = { "control/facilities", "control/interrupts",
					     "control/modules", "control/processes", "cpu" };

struct ltt {
	struct maker m;
	struct export_files *l;
	struct ltt_ids ids;
	struct export_file *(*cpus)[SETS];     /* by number; the files belong to l */
	uint32_t cpu_count;
	uint32_t first_cpu;     /* of the first event */
	uint64_t first;         /* its time */
	uint64_t largest;       /* bytes of an event without its header */
	uint64_t block_size;
	struct md_buf event;    /* scratch */
};

static void add_text(struct ltt *t, const char *path, const char *text, size_t n)
{
	struct export_file *f = export_file_add(&t->m, t->l, path, n);
	size_t begin = t->m.out.len;

	md_buf_put(&t->m.out, text, n);
	if (f)
		export_file_piece(&t->m, f, begin);
}

/* ---- blocks ---- */

static void put(struct md_buf *out, uint64_t value, size_t bytes)
{
	if (__BYTE_ORDER == __BIG_ENDIAN)
		value <<= 64 - 8 * bytes;
	md_buf_put(out, &value, bytes);
}

static uint32_t arch_type(void)
{
#if defined(__x86_64__)
	return 8;
#elif defined(__i386__)
	return 1;
#elif defined(__powerpc64__)
	return 7;
#elif defined(__arm__)
	return 6;
#elif defined(__s390__)
	return 4;
#else
	return 0;
#endif
}

static void put_header(struct ltt *t, const struct export_file *f, struct md_buf *out)
{
	const uint32_t second = 1000000000;
	uint64_t start = t->first - t->first % 1000;

	put(out, f->begin, 8);
	put(out, second, 8);
	put(out, f->last, 8);
	put(out, second, 8);
	put(out, t->block_size - HEADER - f->block.len, 4);
	put(out, t->block_size, 4);
	put(out, 0x00d6b7ed, 4);
	put(out, arch_type(), 4);
	put(out, 0, 4);
	put(out, __FLOAT_WORD_ORDER, 4);
	put(out, sizeof(void *), 1);
	put(out, 0, 1);
	put(out, 7, 1);
	put(out, 0, 1);         /* no flight recorder */
	put(out, 1, 1);         /* heartbeats */
	put(out, 0, 1);         /* packed */
	put(out, 1, 4);         /* scale of frequencies */
	put(out, second, 8);
	put(out, start, 8);
	put(out, 0, 8);
	put(out, start / second, 8);
	put(out, start % second / 1000, 8);
}

static void end_block(struct ltt *t, struct export_file *f)
{
	size_t begin = t->m.out.len, rest = t->block_size - HEADER - f->block.len;
	char *zero;

	put_header(t, f, &t->m.out);
	md_buf_put(&t->m.out, f->block.data, f->block.len);
	zero = md_buf_room(&t->m.out, rest);
	if (zero) {
		memset(zero, 0, rest);
		t->m.out.len += rest;
	}
	export_file_piece(&t->m, f, begin);
	t->m.err = f->block.failed ? -ENOMEM : t->m.err;
	md_buf_reset(&f->block);
}

/* Appends an event whose bytes are at p. */
static void put_event(struct ltt *t, struct export_file *f, uint64_t time, unsigned int facility,
		      unsigned int id, const void *p, size_t n)
{
	if (f->block.len && n + EVENT > t->block_size - HEADER - f->block.len)
		end_block(t, f);
	if (!f->block.len)
		f->begin = time;
	f->last = time;
	put(&f->block, time & UINT32_MAX, 4);
	put(&f->block, facility, 1);
	put(&f->block, id, 1);
	put(&f->block, n < UNKNOWN_SIZE ? n : UNKNOWN_SIZE, 2);
	md_buf_put(&f->block, p, n);
}

/* A reader counts how often 32 bits overflowed: tells it before it can miss that. */
static void put_heartbeats(struct ltt *t, struct export_file *f, uint64_t time)
{
	if (!f->block.len || (time >= f->last && time - f->last < STEP))
		return;
	if (time < f->last || time - f->last > BEATS * STEP) {
		end_block(t, f);
		return;
	}
	while (time - f->last >= STEP) {
		uint64_t beat = f->last + STEP - 1;

		put_event(t, f, beat, 0, HEARTBEAT, &beat, sizeof(beat));
	}
}

/* ---- events ---- */

/* The event's bytes as LTT has them. */
static const void *event_bytes(struct ltt *t, const struct ltt_shape *s,
			       const struct md_occurrence *o, size_t *n)
{
	const uint8_t *p = s->stream->context_count ? o->context : o->payload, *next;
	uint32_t contexts = s->stream->context_count;

	*n = (size_t)(o->end - p);
	if (!s->converted)
		return p;
	md_buf_reset(&t->event);
	for (uint32_t i = 0; p && i < contexts + s->class->field_count; i++, p = next) {
		const struct md_type *type = i < contexts ? &s->stream->context[i].type
							  : &s->class->fields[i - contexts].type;

		next = ltt_skip(type, p, o->end);
		if (!next)
			break;
		if (type->bits) {
			put(&t->event, md_load_bits(p, type->shift, type->bits, type->is_signed),
			    8);
			continue;
		}
		if (ltt_is_bytes(type))
			put(&t->event, (uint64_t)(next - p), 4);
		md_buf_put(&t->event, p, (size_t)(next - p));
	}
	*n = t->event.len;
	t->m.err = t->event.failed ? -ENOMEM : t->m.err;
	return t->event.data;
}

static enum set set_of(const char *name)
{
	static const struct {
		const char *begin;
		enum set set;
	} sets[] = {
		{ "irq_", SET_INTERRUPTS }, { "softirq_", SET_INTERRUPTS },
		{ "lttng_statedump_interrupt", SET_INTERRUPTS },
		{ "module_", SET_MODULES }, { "sched_process_", SET_PROCESSES },
	};

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (!strncmp(name, sets[i].begin, strlen(sets[i].begin)))
			return sets[i].set;
	return SET_CPU;
}

static void add_cpu(struct ltt *t, uint32_t cpu)
{
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
	for (int set = 0; set < SETS && !t->cpus[cpu][set]; set++) {
		char path[sizeof(t->l->files[0]->path)];

		snprintf(path, sizeof(path), "%s_%u", set_names[set], cpu);
		t->cpus[cpu][set] = export_file_add(&t->m, t->l, path, 0);
	}
}

/* First run: finds the classes, the CPUs and the largest event. */
static void count_row(void *arg, const struct row *r)
{
	struct ltt *t = arg;
	const struct ltt_shape *s = ltt_ids_of(&t->ids, r, &t->m.err);
	size_t n;

	if (!s)
		return;
	event_bytes(t, s, r->occurrence, &n);
	t->largest = n > t->largest ? n : t->largest;
	if (!t->first) {
		t->first = r->time;
		t->first_cpu = r->cpu;
	}
	if (r->cpu >= t->cpu_count || !t->cpus[r->cpu][SET_CPU])
		add_cpu(t, r->cpu);
}

/* Second run: writes the blocks. */
static void add_row(void *arg, const struct row *r)
{
	struct ltt *t = arg;
	const struct ltt_shape *s = ltt_ids_of(&t->ids, r, &t->m.err);
	struct export_file *f;
	const void *p;
	size_t n;

	/* Both runs have the same events. */
	if (!s || r->cpu >= t->cpu_count || !t->cpus[r->cpu][SET_CPU])
		return;
	f = t->cpus[r->cpu][set_of(r->class->name)];
	p = event_bytes(t, s, r->occurrence, &n);
	if (n > t->largest)
		return;
	put_heartbeats(t, f, r->time);
	put_event(t, f, r->time, s->facility, s->event, p, n);
}

/* ---- the other files ---- */

/* Another file has this name: FACILITY_CHECKSUM.xml. */
static bool is_taken(const struct ltt *t, const char *path)
{
	for (size_t i = 0; i < t->l->count; i++)
		if (!strcmp(t->l->files[i]->path, path))
			return true;
	return false;
}

/* Writes eventdefs/, and the events that load the facilities. */
static void add_facilities(struct ltt *t)
{
	struct export_file *loads = t->cpus[t->first_cpu][SET_FACILITIES];
	struct md_buf text = MD_BUF_INIT, load = MD_BUF_INIT;
	char path[sizeof(t->l->files[0]->path)];

	add_text(t, "eventdefs/core.xml", ltt_core, strlen(ltt_core));
	for (uint32_t i = 1; !t->m.err && i < t->ids.count; i++) {
		struct ltt_facility_text *f = t->ids.list[i];
		uint32_t values[] = { 0, i, sizeof(int), sizeof(long), sizeof(void *),
				      sizeof(size_t), 0 };

		md_buf_reset(&text);
		ltt_facility_print(f, &text);
		do
			snprintf(path, sizeof(path), "eventdefs/%s_%u.xml", f->name, f->checksum);
		while (is_taken(t, path) && ++f->checksum);
		add_text(t, path, text.data, text.len);
		values[0] = f->checksum;
		md_buf_reset(&load);
		md_buf_put(&load, f->name, strlen(f->name) + 1);
		md_buf_put(&load, values, sizeof(values));
		if (text.failed || load.failed)
			t->m.err = -ENOMEM;
		else
			put_event(t, loads, t->first, 0, 0, load.data, load.len);
		maker_write(&t->m);
	}
	md_buf_deinit(&text);
	md_buf_deinit(&load);
}

static void add_system(struct ltt *t, const struct stream_set *held)
{
	struct md_buf text = MD_BUF_INIT;
	char words[sizeof(struct utsname) + 4];
	struct utsname name;

	if (uname(&name))
		memset(&name, 0, sizeof(name));
	snprintf(words, sizeof(words), "%s %s %s %s", name.sysname, name.release, name.version,
		 name.machine);
	md_buf_puts(&text, "<?xml version=\"1.0\"?>\n<system");
	ltt_put_attribute("uname", words, &text);
	ltt_put_attribute("node", held->count ? held->streams[0].trace->hostname : name.nodename,
			  &text);
	md_buf_printf(&text, " cpus=\"%u\" arch_size=\"%zu\" endian=\"%s\"/>\n", t->cpu_count,
		      sizeof(void *), __BYTE_ORDER == __BIG_ENDIAN ? "big" : "little");
	add_text(t, "system.xml", text.data, text.len);
	t->m.err = text.failed ? -ENOMEM : t->m.err;
	md_buf_deinit(&text);
}

static void make_files(void *arg, const struct stream_set *held)
{
	struct ltt *t = arg;

	maker_run(&t->m, ROW_CLASSES, count_row, t);
	for (t->block_size = BLOCK_LEAST; t->block_size < t->largest + HEADER + EVENT;)
		t->block_size *= 2;
	if (t->block_size > UINT32_MAX)
		t->m.err = -EFBIG;
	if (t->m.err || !t->cpu_count)
		return;
	for (size_t i = 0; i < t->l->count; i++)
		t->l->files[i]->unit = t->block_size;
	add_facilities(t);
	add_system(t, held);
	if (!t->m.err)
		maker_run(&t->m, ROW_CLASSES, add_row, t);
	for (uint32_t i = 0; !t->m.err && i < t->cpu_count * SETS; i++) {
		struct export_file *f = t->cpus[i / SETS][i % SETS];

		if (f && !f->begin)
			f->begin = f->last = t->first;
		if (f && (f->block.len || !f->count))
			end_block(t, f);
		maker_write(&t->m);
	}
}

int ltt_export_open(struct session *s, struct export_files **out)
{
	struct ltt t = { 0 };
	int err = export_files_make(s, &t.m, &t.l, make_files, &t, out);

	ltt_ids_deinit(&t.ids);
	md_buf_deinit(&t.event);
	free(t.cpus);
	return err;
}
