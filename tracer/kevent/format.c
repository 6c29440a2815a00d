/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses format files: see kevent/format.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/kevent/syscall_string.h"
#include "tracer/kevent/format.h"
#include "tracer/kevent/enum_labels.h"
#include "tracer/kevent/lttng_names.h"
#include "tracer/kevent/syscall_struct.h"

struct span {
	const char *p, *end;
};

struct line {                   /* of a field */
	struct span type;       /* without [N] */
	struct span name;
	struct span index;      /* what stands between the brackets behind the name */
	bool indexed;
	uint64_t offset, size;
	bool is_signed;
};

static size_t length(struct span s)
{
	return (size_t)(s.end - s.p);
}

static bool is(struct span s, const char *word)
{
	return length(s) == strlen(word) && !memcmp(s.p, word, length(s));
}

/* Steps over the word if s begins with it. */
static bool eat(struct span *s, const char *word)
{
	size_t n = strlen(word);

	if (length(*s) < n || memcmp(s->p, word, n))
		return false;
	s->p += n;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static void trim(struct span *s)
{
	while (s->p < s->end && is_blank(*s->p))
		s->p++;
	while (s->p < s->end && is_blank(s->end[-1]))
		s->end--;
}

/* Cuts off what stands before the next c, which is stepped over; false: there is none. */
static bool cut(struct span *from, char c, struct span *piece)
{
	const char *at = memchr(from->p, c, length(*from));

	if (!at)
		return false;
	*piece = (struct span){ from->p, at };
	from->p = at + 1;
	trim(piece);
	return true;
}

static bool number(struct span s, uint64_t *n)
{
	trim(&s);
	if (s.p == s.end || length(s) > 9)
		return false;
	for (*n = 0; s.p < s.end; s.p++) {
		if (*s.p < '0' || *s.p > '9')
			return false;
		*n = *n * 10 + (uint64_t)(*s.p - '0');
	}
	return true;
}

static char *copy(struct span s)
{
	return strndup(s.p, length(s));
}

/* `unsigned long caller[8]`, `__data_loc char[] name`, `const char * name` */
static bool split(struct span declaration, struct line *l)
{
	struct span s = declaration;
	const char *p;

	trim(&s);
	l->indexed = s.p < s.end && s.end[-1] == ']';
	if (l->indexed) {
		for (p = s.end - 1; p > s.p && *p != '['; p--)
			;
		l->index = (struct span){ p + 1, s.end - 1 };
		s.end = p;
		trim(&s);
	}
	for (p = s.end; p > s.p && is_name(p[-1]); p--)
		;
	l->name = (struct span){ p, s.end };
	l->type = (struct span){ s.p, p };
	trim(&l->type);
	return length(l->name) && length(l->name) <= TRAIL_NAME_MAX && length(l->type);
}

/* What stands behind `field:`. */
static bool parse_line(struct span s, struct line *l)
{
	struct span piece;
	uint64_t n;

	*l = (struct line){ 0 };
	if (!cut(&s, ';', &piece) || !split(piece, l))
		return false;
	if (!cut(&s, ';', &piece) || !eat(&piece, "offset:") || !number(piece, &l->offset))
		return false;
	if (!cut(&s, ';', &piece) || !eat(&piece, "size:") || !number(piece, &l->size))
		return false;
	if (cut(&s, ';', &piece) && eat(&piece, "signed:")) {
		if (!number(piece, &n))
			return false;
		l->is_signed = n;
	}
	return l->offset + l->size <= KFORMAT_RECORD_MAX;
}

static bool is_int_size(uint64_t n)
{
	return n == 1 || n == 2 || n == 4 || n == 8;
}

static bool is_char(struct span type)
{
	return is(type, "char") || is(type, "const char");
}

static const struct kname_integer *integer(struct span type)
{
	char text[64];

	if (length(type) >= sizeof(text))
		return NULL;
	memcpy(text, type.p, length(type));
	text[length(type)] = '\0';
	return kname_integer(text);
}

static bool is_pointer(struct span type)
{
	return memchr(type.p, '*', length(type)) != NULL;
}

/* Bytes that nobody knows more of. */
static void set_bytes(struct kformat_field *f, uint64_t count)
{
	f->kind = f->place == KFORMAT_FIXED ? KFORMAT_ARRAY : KFORMAT_SEQUENCE;
	f->from = f->to = 1;
	f->hex = true;
	f->is_signed = false;
	f->count = (uint32_t)count;
}

/* The elements of a sequence, whose size only the type tells. */
static void set_sequence(struct kformat_field *f, struct span type, bool is_signed)
{
	const struct kname_integer *i = integer(type);
	uint8_t size = is_pointer(type) ? sizeof(void *) : i ? i->size : 1;

	f->from = f->to = size;
	f->kind = KFORMAT_SEQUENCE;
	f->is_signed = size > 1 && is_signed;
	f->hex = size == 1 || is_pointer(type) || is(type, "cpumask_t");
	f->big_endian = length(type) > 4 && !memcmp(type.p, "__be", 4);
}

/* __data_loc T[] NAME: T may be a bitmap's `unsigned long`, which is shown in hexadecimal as masks are. */
static void set_dynamic(struct kformat_field *f, struct line *l)
{
	struct span type = l->type;

	trim(&type);
	if (length(type) >= 2 && type.end[-1] == ']') {
		while (type.end > type.p && *--type.end != '[')
			;
		trim(&type);
	}
	if (is_char(type)) {
		f->kind = KFORMAT_STRING;
		f->count = UINT16_MAX;
		return;
	}
	set_sequence(f, type, l->is_signed);
	if (is(type, "unsigned long"))
		f->hex = true;
}

static void set_array(struct kformat_field *f, const struct line *l)
{
	const struct kname_integer *i = integer(l->type);
	size_t name = length(l->name);
	uint64_t count, element;

	if (is_char(l->type)) {
		f->count = (uint32_t)l->size;
		f->kind = KFORMAT_STRING;
		if (l->size == 16 && name >= 4 && !memcmp(l->name.end - 4, "comm", 4))
			f->kind = KFORMAT_TEXT;
		return;
	}
	element = is_pointer(l->type) ? sizeof(void *) : i ? i->size : 0;
	/* The count may be a macro's name. */
	if (number(l->index, &count) && count && l->size % count == 0 &&
	    is_int_size(l->size / count))
		element = l->size / count;
	if (!is_int_size(element) || l->size % element) {
		set_bytes(f, l->size);
		return;
	}
	f->kind = KFORMAT_ARRAY;
	f->from = f->to = (uint8_t)element;
	f->count = (uint32_t)(l->size / element);
	f->is_signed = l->is_signed;
	/* Addresses and the like, but for those that people write with points. */
	f->hex = is_pointer(l->type) || (element == 1 && f->count != 4);
}

static void set_plain(struct kformat_field *f, const struct line *l)
{
	bool pointer = is_pointer(l->type);
	struct span type = l->type;
	bool structure = !pointer && (eat(&type, "struct ") || eat(&type, "union "));

	if (!is_int_size(l->size) || structure) {
		set_bytes(f, l->size);
		return;
	}
	f->kind = KFORMAT_INT;
	f->from = f->to = (uint8_t)l->size;
	f->is_signed = l->is_signed && !pointer;
	f->extend = l->is_signed;
	f->hex = pointer;
	f->big_endian = length(type) > 4 && !memcmp(type.p, "__be", 4);
}

/* An address where all readers of such traces know a string: they get one. */
static void set_address(struct kformat_field *f, const char *call, const struct line *l)
{
	char *type = copy(l->type), *name = copy(l->name);

	if (type && name && f->size == sizeof(uint64_t) && syscall_takes_string(call, type, name))
		f->kind = KFORMAT_ADDRESS;
	free(type);
	free(name);
}

/* A system call's argument is a whole register, of which its type is the low part. */
static void set_argument(struct kformat_field *f, const char *event, const struct line *l)
{
	const struct kname_integer *i = integer(l->type);
	static const char enter[] = "sys_enter_";

	if (f->kind == KFORMAT_INT && f->hex && !strncmp(event, enter, strlen(enter)))
		set_address(f, event + strlen(enter), l);
	if (f->kind != KFORMAT_INT || f->hex || !i)
		return;
	if (i->size < f->to)
		f->to = i->size;
	f->is_signed = i->is_signed;
}

static void set_type(struct kformat_field *f, struct line *l)
{
	struct span type = l->type;

	if (eat(&l->type, "__captured ")) {
		if (l->size != 4 || !kstruct_set(f, l->type.p, length(l->type)))
			l->size = 0;    /* no idea what that is */
	} else if (eat(&l->type, "__data_loc ") || eat(&l->type, "__rel_loc ")) {
		f->place = *type.p == '_' && type.p[2] == 'd' ? KFORMAT_LOC : KFORMAT_REL_LOC;
		if (l->size == 4)
			set_dynamic(f, l);
		else
			l->size = 0;    /* no idea what that is */
	} else if (l->indexed && !l->size) {
		f->place = KFORMAT_REST;
		set_dynamic(f, l);
	} else if (l->indexed) {
		set_array(f, l);
	} else {
		set_plain(f, l);
	}
}

/* What the table says of the type. KNAME_S8 … KNAME_N32 are for integers and their elements. */
static void retype(struct kformat_field *f, enum kname_type t)
{
	static const uint8_t sizes[] = {
		[KNAME_S8] = 1, [KNAME_S16] = 2, [KNAME_S32] = 4, [KNAME_S64] = 8,
		[KNAME_U8] = 1, [KNAME_U16] = 2, [KNAME_U32] = 4, [KNAME_U64] = 8,
		[KNAME_X8] = 1, [KNAME_X16] = 2, [KNAME_X32] = 4, [KNAME_X64] = 8,
		[KNAME_N16] = 2, [KNAME_N32] = 4,
	};
	bool fixed = f->place == KFORMAT_FIXED;

	if (t >= KNAME_S8 && t <= KNAME_N32) {
		if (f->kind != KFORMAT_INT && f->kind != KFORMAT_ARRAY &&
		    f->kind != KFORMAT_SEQUENCE)
			return;
		f->to = f->kind == KFORMAT_INT ? sizes[t] : f->to;
		f->is_signed = t <= KNAME_S64;
		f->hex = t >= KNAME_X8 && t <= KNAME_X64;
		f->big_endian = t >= KNAME_N16 && f->to == f->from;
	} else if (f->kind == KFORMAT_STRING && f->place != KFORMAT_REST && t == KNAME_TEXT) {
		f->kind = KFORMAT_TEXT;
		f->count = fixed ? f->count : 16;
	} else if (f->kind == KFORMAT_TEXT && t == KNAME_STRING) {
		f->kind = KFORMAT_STRING;
	} else if (f->kind == KFORMAT_STRING && fixed && t == KNAME_RWBS) {
		f->kind = KFORMAT_RWBS;
	} else if (f->kind == KFORMAT_ARRAY && t == KNAME_REST) {
		f->kind = KFORMAT_SEQUENCE;
		f->place = KFORMAT_REST;
		f->size = 0;
		f->hex = true;
	}
}

static bool has_name(const struct kformat *k, const char *name)
{
	uint32_t i;

	for (i = 0; i < k->field_count; i++) {
		if (!strcmp(k->fields[i].name, name))
			return true;
	}
	return false;
}

static int add_field(struct kformat *k, struct line *l, struct span print)
{
	struct kformat_field f = { .offset = (uint32_t)l->offset };
	const struct kname_field *row;
	bool syscall = !strcmp(k->system, "syscalls");
	int ret = -ENOMEM;

	/* The number, called nr before 4.20: the name says it. Arguments may have that name too. */
	if (syscall && l->offset == 8 && (is(l->name, "__syscall_nr") || is(l->name, "nr")))
		return 0;
	set_type(&f, l);
	f.size = (uint32_t)l->size;
	if (!f.kind || (!f.size && f.place == KFORMAT_FIXED))
		return 0;
	if (syscall)
		set_argument(&f, k->name, l);
	f.kernel_name = copy(l->name);
	if (!f.kernel_name)
		return -ENOMEM;
	row = kname_field(k->event, f.kernel_name);
	if (row && row->type == KNAME_DROP) {
		free(f.kernel_name);
		return 0;
	}
	if (row)
		retype(&f, row->type);
	if (row && row->type == KNAME_ENUM && f.kind == KFORMAT_INT)
		ret = klabels_parse(print.p, length(print), &f);
	else
		ret = 0;
	if (!ret && row && row->type == KNAME_ENUM && f.kind == KFORMAT_INT && !f.label_count)
		ret = klabels_known(k->event, row->name, &f);
	f.name = strdup(row && !has_name(k, row->name) ? row->name : f.kernel_name);
	if (!f.name)
		ret = -ENOMEM;
	else if (has_name(k, f.name))
		ret = -EINVAL;
	/* Counted in any case: kformat_free frees it. */
	k->fields[k->field_count++] = f;
	return ret;
}

/* The fields that LTTng has and the record only elsewhere. */
static int add_more(struct kformat *k)
{
	const struct kname_added *row;
	uint32_t i, n;

	for (n = 0; (row = kname_added(k->event, n)); n++) {
		struct kformat_field f = { .kind = KFORMAT_INT, .offset = 4, .size = 4, .from = 4, .to = 4, .is_signed = true };

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
			f.process = k->fields[i].size == 4;
			if (!f.process) {
				f.kind = KFORMAT_SYMBOL;
				f.size = f.from = 8;
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

/* A system call's string or buffer that the kernel read: `__NAME_val` takes the place of the pointer NAME. */
static void join_values(struct kformat *k)
{
	uint32_t i, j;

	for (i = 0; i < k->field_count; i++) {
		struct kformat_field *v = &k->fields[i], *p;
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
		if (j == i ||
		    (k->fields[j].kind != KFORMAT_INT && k->fields[j].kind != KFORMAT_ADDRESS))
			continue;
		free(v->name);
		v->name = p->name;
		free(p->kernel_name);
		*p = *v;
		memmove(v, v + 1, (k->field_count - i - 1) * sizeof(*v));
		k->field_count--;
		i--;
	}
}

/* The common fields must be where krecord_id and krecord_pid look for them. */
static bool check_common(const struct line *l, unsigned int *seen)
{
	if (is(l->name, "common_type")) {
		*seen |= 1;
		return l->offset == 0 && l->size == 2;
	}
	if (is(l->name, "common_pid")) {
		*seen |= 2;
		return l->offset == 4 && l->size == 4;
	}
	return true;
}

static int parse_fields(struct kformat *k, struct span text, struct span print)
{
	unsigned int common = 0;
	struct span s, prefix;
	struct line l;
	int ret;

	while (cut(&text, '\n', &s)) {
		if (!eat(&s, "field:"))
			continue;
		if (!parse_line(s, &l))
			return -EINVAL;
		prefix = l.name;
		if (eat(&prefix, "common_")) {
			if (!check_common(&l, &common))
				return -EINVAL;
			continue;
		}
		if (k->field_count >= KFORMAT_FIELDS_MAX)
			return -EINVAL;
		ret = add_field(k, &l, print);
		if (ret)
			return ret;
	}
	if (common != 3)
		return -EINVAL;
	if (!strcmp(k->system, "syscalls"))
		join_values(k);
	return add_more(k);
}

/* The first line that begins so, without the word; what stands behind it is left in *text. */
static bool find_line(struct span *text, const char *word, struct span *out)
{
	while (cut(text, '\n', out)) {
		if (eat(out, word)) {
			trim(out);
			return true;
		}
	}
	return false;
}

static int parse(struct kformat *k, struct span text)
{
	char event[KFORMAT_NAME_MAX + 1];
	struct span s, rest = text, print = { text.end, text.end };
	struct kformat_field *fields;
	uint64_t id;
	uint32_t i;
	int ret;

	if (!find_line(&rest, "name:", &s) || !length(s) || memchr(s.p, '\0', length(s)))
		return -EINVAL;
	k->name = copy(s);
	if (!k->name)
		return -ENOMEM;
	if (!find_line(&rest, "ID:", &s) || !number(s, &id) || id > UINT16_MAX)
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
	/* Somebody may keep thousands of formats; less room is never refused. */
	fields = realloc(k->fields, (k->field_count + 1) * sizeof(*fields));
	k->fields = fields ? fields : k->fields;
	k->size = KRECORD_HEADER;
	for (i = 0; i < k->field_count; i++) {
		if (k->fields[i].offset + k->fields[i].size > k->size)
			k->size = k->fields[i].offset + k->fields[i].size;
	}
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
		ret = parse(k, (struct span){ text, text + len });
	if (ret) {
		kformat_free(k);
		return ret;
	}
	*out = k;
	return 0;
}

static void field_deinit(struct kformat_field *f)
{
	uint32_t i;

	for (i = 0; i < f->label_count; i++)
		free(f->labels[i].name);
	free(f->labels);
	free(f->kernel_name);
	free(f->name);
}

struct kformat *kformat_get(struct kformat *f)
{
	__atomic_fetch_add(&f->refs, 1, __ATOMIC_RELAXED);
	return f;
}

void kformat_free(struct kformat *f)
{
	uint32_t i;

	/* Release and acquire: the last one frees what all have finished with. */
	if (!f || __atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (i = 0; i < f->field_count; i++)
		field_deinit(&f->fields[i]);
	free(f->fields);
	free(f->filter_fields);
	free(f->filter_strings);
	free(f->event);
	free(f->name);
	free(f->system);
	free(f);
}
