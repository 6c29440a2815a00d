/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses format files: see kevent/kevent.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/probe/format_line.h"
#include "tracer/kernel/kevent/extra_pointer.h"
#include "tracer/kernel/kevent/kevent.h"
#include "tracer/kernel/kevent/lttng_names.h"
#include "tracer/kernel/kevent/ring_page.h"

static bool has_name(const struct kformat *k, const char *name)
{
	uint32_t i;

	for (i = 0; i < k->field_count; i++) {
		if (!strcmp(k->fields[i].name, name))
			return true;
	}
	return false;
}

static void deinit_field(struct kformat_field *f)
{
	uint32_t i;

	for (i = 0; i < f->label_count; i++)
		free(f->labels[i].name);
	free(f->labels);
	free(f->kernel_name);
	free(f->name);
}

static int add_field(struct kformat *k, struct format_line *l, struct span print)
{
	struct kformat_field f = { .offset = (uint32_t)l->offset };
	const struct kname_field *row;
	bool syscall = !strcmp(k->system, "syscalls");
	int ret = -ENOMEM;

	/*
	 * The system call's number (nr before 4.20), which the event's name gives. Arguments may
	 * have that name.
	 */
	if (syscall && l->offset == 8 &&
	    (span_is(l->name, "__syscall_nr") || span_is(l->name, "nr")))
		return 0;
	/* The file gives the place of the integer that has the bits, not theirs in it. */
	if (l->is_bits)
		return 0;
	kfield_set_type(&f, l);
	f.size = (uint32_t)l->size;
	if (!f.kind || (!f.size && f.place == KFORMAT_FIXED))
		return 0;
	if (syscall)
		kfield_set_argument(&f, k->name, l);
	f.kernel_name = span_copy(l->name);
	if (!f.kernel_name)
		return -ENOMEM;
	row = kname_field(k->event, f.kernel_name);
	if (row && row->type == KNAME_DROP) {
		free(f.kernel_name);
		return 0;
	}
	if (row)
		kfield_change_type(&f, row->type);
	if (row && row->type == KNAME_ENUM && f.kind == KFORMAT_INT)
		ret = klabels_parse(print.p, span_length(print), &f);
	else
		ret = 0;
	if (!ret && row && row->type == KNAME_ENUM && f.kind == KFORMAT_INT && !f.label_count)
		ret = klabels_known(k->event, row->name, &f);
	f.name = strdup(row && !has_name(k, row->name) ? row->name : f.kernel_name);
	if (!f.name)
		ret = -ENOMEM;
	/* In Linux 5.10 regcache_sync has two of a name; the kernel's filters read the first. */
	if (f.name && has_name(k, f.name)) {
		deinit_field(&f);
		return ret;
	}
	/* Added in any case, so that kformat_free frees it. */
	k->fields[k->field_count++] = f;
	return ret;
}

/* Adds the fields that LTTng has and the record has under another name. */
static int add_lttng_fields(struct kformat *k)
{
	const struct kname_added *row;
	uint32_t i, n;

	for (n = 0; (row = kname_added(k->event, n)); n++) {
		struct kformat_field f = { .kind = KFORMAT_INT, .offset = 4, .size = 4, .from = 4,
					   .to = 4, .is_signed = true };

		if (k->field_count >= KFORMAT_FIELDS_MAX || has_name(k, row->name))
			continue;
		for (i = 0; row->field && i < k->field_count; i++) {
			if (!strcmp(k->fields[i].kernel_name, row->field))
				break;
		}
		if (row->field) {
			if (i == k->field_count || k->fields[i].kind != KFORMAT_INT ||
			    k->fields[i].size < 4)
				continue;
			f.offset = k->fields[i].offset;
			/* A thread has a signed number, and a function has an address. */
			f.process = k->fields[i].extend;
			if (!f.process) {
				f.kind = KFORMAT_SYMBOL;
				f.size = k->fields[i].size;
				f.from = (uint8_t)f.size;
			}
		}
		f.name = strdup(row->name);
		f.kernel_name = strdup(row->field ? row->field : "common_pid");
		k->fields[k->field_count++] = f;
		if (!f.name || !f.kernel_name)
			return -ENOMEM;
	}
	return 0;
}

static void drop_field(struct kformat *k, uint32_t i)
{
	memmove(&k->fields[i], &k->fields[i + 1], (k->field_count - i - 1) * sizeof(*k->fields));
	k->field_count--;
}

/*
 * Whether the argument is no text, though the kernel records one for it: Linux 7.3 has one for the
 * flags of kexec_file_load, for what flistxattr and syslog write later, and for the memory that
 * shmdt detaches.
 */
static bool is_no_text(const struct kformat *k, const struct kformat_field *argument)
{
	static const char entry[] = "sys_enter_";
	const char *call = k->name ? k->name : "";

	if (!strncmp(call, entry, strlen(entry)))
		call += strlen(entry);
	return (argument->kind == KFORMAT_INT && !argument->hex) ||
	       !syscall_takes_string(call, "char *", argument->kernel_name);
}

/*
 * A string of a system call that the kernel read: `__NAME_val` replaces the pointer NAME. Bytes,
 * such as those that write(2) is given, are left out.
 */
static void join_values(struct kformat *k, struct span print)
{
	uint32_t i, j;

	for (i = 0; i < k->field_count; i++) {
		struct kformat_field *v = &k->fields[i], *p = NULL;
		size_t n = strlen(v->kernel_name);

		if (v->place != KFORMAT_LOC || n < 7 || memcmp(v->kernel_name, "__", 2) ||
		    memcmp(v->kernel_name + n - 4, "_val", 4))
			continue;
		for (j = 0; j < i; j++) {
			p = &k->fields[j];
			if (strlen(p->kernel_name) == n - 6 &&
			    !memcmp(p->kernel_name, v->kernel_name + 2, n - 6))
				break;
		}
		if (format_prints_bytes(print, SPAN(v->kernel_name)) ||
		    (j < i && is_no_text(k, p))) {
			free(v->name);
			free(v->kernel_name);
			drop_field(k, i--);
			continue;
		}
		if (j == i || (p->kind != KFORMAT_INT && p->kind != KFORMAT_ADDRESS))
			continue;
		free(v->name);
		v->name = p->name;
		free(p->kernel_name);
		*p = *v;
		drop_field(k, i--);
	}
}

/* The common fields must have the places that krecord_id and krecord_pid use. */
static bool check_common(const struct format_line *l, unsigned int *seen)
{
	if (span_is(l->name, "common_type")) {
		*seen |= 1;
		return l->offset == 0 && l->size == 2;
	}
	if (span_is(l->name, "common_pid")) {
		*seen |= 2;
		return l->offset == 4 && l->size == 4;
	}
	return true;
}

static int parse_fields(struct kformat *k, struct span text, struct span print)
{
	unsigned int common = 0;
	struct span s, prefix;
	struct format_line l;
	int ret;

	while (span_cut(&text, '\n', &s)) {
		ret = format_line_parse(s, &l);
		if (!ret)
			continue;
		if (ret < 0 || span_length(l.name) > TRAIL_NAME_MAX ||
		    l.offset + l.size > KFORMAT_RECORD_MAX)
			return -EINVAL;
		prefix = l.name;
		if (span_skip(&prefix, "common_")) {
			if (!check_common(&l, &common))
				return -EINVAL;
			continue;
		}
		ret = kpointer_add(k, &l);
		if (!ret && k->field_count >= KFORMAT_FIELDS_MAX)
			return -EINVAL;
		if (!ret)
			ret = add_field(k, &l, print);
		if (ret < 0)
			return ret;
	}
	if (common != 3)
		return -EINVAL;
	if (!strcmp(k->system, "syscalls"))
		join_values(k, print);
	ret = kpointers_finish(k);
	return ret ? ret : add_lttng_fields(k);
}

/*
 * Finds the first line that begins with the word, and removes the word. *text: the lines after it.
 */
static bool find_line(struct span *text, const char *word, struct span *out)
{
	while (span_cut(text, '\n', out)) {
		if (span_skip(out, word)) {
			span_trim(out);
			return true;
		}
	}
	return false;
}

static int parse_format(struct kformat *k, struct span text)
{
	char event[KFORMAT_NAME_MAX + 1];
	struct span s, rest = text, print = { text.end, text.end };
	struct kformat_field *fields;
	uint64_t id;
	uint32_t i;
	int ret;

	if (!find_line(&rest, "name:", &s) || !span_length(s) || memchr(s.p, '\0', span_length(s)))
		return -EINVAL;
	k->name = span_copy(s);
	if (!k->name)
		return -ENOMEM;
	if (!find_line(&rest, "ID:", &s) || !span_number(s, &id) || id > UINT16_MAX)
		return -EINVAL;
	k->id = (uint32_t)id;
	if (kformat_event_name(k->system, k->name, false, event))
		return -EINVAL;
	k->event = strdup(event);
	if (!k->event)
		return -ENOMEM;
	text = rest;
	find_line(&rest, "print fmt:", &print);
	ret = parse_fields(k, text, print);
	if (ret)
		return ret;
	/* A session may keep thousands of formats. If realloc fails, the larger array stays. */
	fields = realloc(k->fields, (k->field_count + 1) * sizeof(*fields));
	k->fields = fields ? fields : k->fields;
	k->size = KRECORD_HEADER;
	for (i = 0; i < k->field_count; i++) {
		if (k->fields[i].offset + k->fields[i].size > k->size)
			k->size = k->fields[i].offset + k->fields[i].size;
	}
	for (i = 0; i < k->pointer_count; i++)
		if (k->pointers[i].offset + 8 > k->size)
			k->size = k->pointers[i].offset + 8;
	return kformat_make_filter(k);
}

int kformat_parse(const char *system, const char *text, size_t len, struct kformat **out)
{
	struct kformat *k;
	int ret = -ENOMEM;

	if (len > KFORMAT_TEXT_MAX || !len)
		return -EINVAL;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->refs = 1;
	k->system = strdup(system);
	k->fields = calloc(KFORMAT_FIELDS_MAX, sizeof(*k->fields));
	if (k->system && k->fields)
		ret = parse_format(k, (struct span){ text, text + len });
	if (ret) {
		kformat_free(k);
		return ret;
	}
	*out = k;
	return 0;
}

struct kformat *kformat_get(struct kformat *f)
{
	__atomic_fetch_add(&f->refs, 1, __ATOMIC_RELAXED);
	return f;
}

void kformat_free(struct kformat *f)
{
	uint32_t i;

	/*
	 * Release: this holder's accesses come before the free; acquire: the last holder sees them.
	 */
	if (!f || __atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (i = 0; i < f->field_count; i++)
		deinit_field(&f->fields[i]);
	free(f->fields);
	free(f->pointers);
	free(f->filter_fields);
	free(f->filter_strings);
	free(f->event);
	free(f->name);
	free(f->system);
	free(f);
}
