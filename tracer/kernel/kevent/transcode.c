/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel records to CTF payloads: see kevent/transcode.h. Fields that are adjacent both in the
 * record and in the payload become one copy. Costs on a busy virtual machine with 2 cores, gcc -O2:
 * sched_switch 16 ns, sys_enter_open 13 ns, with a file name 24 ns (minimum of some runs of
 * test_kformat).
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/number.h"
#include "tracer/kernel/kevent/extra_pointer.h"
#include "tracer/kernel/kevent/put_value.h"
#include "tracer/kernel/kevent/syscall_struct.h"
#include "tracer/kernel/kevent/transcode.h"

enum op {
	COPY4, COPY8, COPY16, COPY,     /* n bytes */
	TEXT16,                         /* n bytes, zeros from the first NUL on */
	TEXT,
	WIDEN_SIGNED, WIDEN,            /* n bytes to m */
	RWBS,                           /* n letters */
	TEXT_LOC,                       /* n bytes, from a dynamic text */
	ADDRESS,                        /* 8 bytes, to text */
	STRING,                         /* up to n bytes, up to a NUL */
	STRING_LOC, STRING_REST,
	SEQUENCE_LOC, SEQUENCE_REST,    /* elements of n bytes */
	SYMBOL,                         /* an address of n bytes */
	LOC_COPY,                       /* n bytes, or zeros */
	ADDRESS_PART,                   /* of kind m, elements of n bytes; n 0: two bytes */
	STRUCT, STRUCTS,                /* of kind m */
	/* Only with pointers (run_extra) */
	ITEM,                           /* the next step is the item with bit n; 0: is none */
	UNREAD,                         /* names of items */
};

struct step {
	uint8_t op;             /* enum op */
	uint8_t m;
	uint16_t base;          /* of _LOC: what offsets are relative to */
	uint32_t at, n;
};

#define PROCESSES_MAX 4u
#define ADDRESS_MAX (2u + 16 + 1)       /* bytes of text */

struct kcode {
	uint32_t count;
	uint32_t need;          /* least bytes of a record */
	uint32_t fixed;         /* maximum of the payload without the dynamic fields */
	uint32_t dynamic;       /* dynamic fields; each at most as long as the record and 5 */
	bool varies;            /* while it is compiled: a field has no fixed size */
	const struct ksyms *symbols;
	struct kextra *extra;   /* NULL: without pointers; owned */
	bool has_symbols;
	uint32_t processes;
	uint32_t process[PROCESSES_MAX];        /* places in the payload */
	struct step steps[];
};

static uint8_t copy_op(uint32_t n)
{
	return n == 4 ? COPY4 : n == 8 ? COPY8 : n == 16 ? COPY16 : COPY;
}

static void add_copy(struct kcode *c, uint32_t at, uint32_t n)
{
	struct step *last = c->count ? &c->steps[c->count - 1] : NULL;

	c->fixed += n;
	if (last && last->op <= COPY && last->at + last->n == at) {
		last->n += n;
		last->op = copy_op(last->n);
		return;
	}
	c->steps[c->count++] = (struct step){ .op = copy_op(n), .at = at, .n = n };
}

static void add_int(struct kcode *c, const struct kformat_field *f)
{
	if (f->to <= f->from) {
		add_copy(c, f->offset + md_low_bytes(f->from, f->to), f->to);
		return;
	}
	c->fixed += f->to;
	c->steps[c->count++] = (struct step){ .op = f->extend ? WIDEN_SIGNED : WIDEN,
					      .at = f->offset, .n = f->from, .m = f->to };
}

/* Data that arguments of system calls point to. False: another kind of field. */
static bool add_captured(struct kcode *c, const struct kformat_field *f)
{
	struct step s = { .at = f->offset, .m = f->structure };

	switch (f->kind) {
	case KFORMAT_LOC_INT:
	case KFORMAT_LOC_ARRAY:
		s.op = LOC_COPY;
		s.n = f->to * (f->kind == KFORMAT_LOC_INT ? 1 : f->count);
		c->fixed += s.n;
		break;
	case KFORMAT_PORT:
	case KFORMAT_V4:
	case KFORMAT_V6:
		s.op = ADDRESS_PART;
		s.m = f->kind;
		s.n = f->kind == KFORMAT_PORT ? 0 : f->to;
		c->fixed += 4 + 16;
		break;
	case KFORMAT_STRUCT:
		s.op = STRUCT;
		c->fixed += (uint32_t)kstruct_payload(f->structure);
		break;
	case KFORMAT_STRUCTS:
		s.op = STRUCTS;
		c->dynamic += 2;        /* an element in the trace is less than twice as long */
		break;
	default:
		return false;
	}
	c->varies = true;
	c->steps[c->count++] = s;
	return true;
}

static void add_field(struct kcode *c, const struct kformat_field *f)
{
	struct step s = { .at = f->offset };
	bool string = f->kind == KFORMAT_STRING;

	if (c->extra)
		c->steps[c->count++] = (struct step){ .op = ITEM, .n = f->item };
	if (f->kind == KFORMAT_UNREAD) {
		c->fixed += KEXTRA_TEXT_MAX;
		c->varies = true;
		c->steps[c->count++] = (struct step){ .op = UNREAD };
		return;
	}
	if (add_captured(c, f))
		return;
	if (f->kind == KFORMAT_INT) {
		/* Fields after a dynamic one have no fixed place. */
		if (f->process && !c->varies && c->processes < PROCESSES_MAX)
			c->process[c->processes++] = c->fixed;
		add_int(c, f);
		return;
	}
	if (f->kind == KFORMAT_ARRAY) {
		add_copy(c, f->offset, f->count * f->to);
		return;
	}
	if (f->kind == KFORMAT_SYMBOL) {
		c->steps[c->count++] = (struct step){ .op = SYMBOL, .at = f->offset, .n = f->from };
		c->fixed += KSYMS_NAME_MAX + 1;
		c->varies = c->has_symbols = true;
		return;
	}
	s.n = string || f->kind == KFORMAT_TEXT || f->kind == KFORMAT_RWBS ? f->count : f->to;
	if (f->kind == KFORMAT_TEXT) {
		s.op = f->place != KFORMAT_FIXED ? TEXT_LOC : f->count == 16 ? TEXT16 : TEXT;
		s.base = f->place == KFORMAT_REL_LOC ? (uint16_t)(f->offset + 4) : 0;
		c->fixed += f->count;
	} else if (f->kind == KFORMAT_RWBS) {
		s.op = RWBS;
		c->fixed += 4;
	} else if (f->kind == KFORMAT_ADDRESS) {
		s.op = ADDRESS;
		c->fixed += ADDRESS_MAX;
		c->varies = true;
	} else if (f->place == KFORMAT_FIXED) {
		s.op = STRING;
		c->fixed += f->count + 1;
		c->varies = true;
	} else {
		if (f->place == KFORMAT_REST)
			s.op = string ? STRING_REST : SEQUENCE_REST;
		else
			s.op = string ? STRING_LOC : SEQUENCE_LOC;
		s.base = f->place == KFORMAT_REL_LOC ? (uint16_t)(f->offset + 4) : 0;
		c->dynamic++;
		c->varies = true;
	}
	c->steps[c->count++] = s;
}

struct kcode *kcode_make(const struct kformat *f)
{
	struct kcode *c = calloc(1, sizeof(*c) + 2 * f->field_count * sizeof(struct step));
	uint32_t i;

	if (!c || (f->pointer_count && !(c->extra = kextra_make(f)))) {
		free(c);
		return NULL;
	}
	c->need = f->size;
	for (i = 0; i < f->field_count; i++)
		add_field(c, &f->fields[i]);
	return c;
}

bool kcode_has_symbols(const struct kcode *c)
{
	return c->has_symbols;
}

void kcode_symbols(struct kcode *c, const struct ksyms *s)
{
	c->symbols = s;
}

void kcode_free(struct kcode *c)
{
	if (c)
		kextra_free(c->extra);
	free(c);
}

size_t kcode_bound(const struct kcode *c, size_t len)
{
	return c->fixed + (size_t)c->dynamic * (len + 5);
}

size_t kcode_process(const struct kcode *c, uint32_t n)
{
	return n < c->processes ? c->process[n] : SIZE_MAX;
}

/* Copies 16 bytes, with zeros from the first NUL on. */
static inline void put_text16(const uint8_t *from, uint8_t *to)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = UINT64_C(0x8080808080808080);
	uint64_t v[2], nul[2];

	memcpy(v, from, sizeof(v));
	v[0] = le64toh(v[0]);
	v[1] = le64toh(v[1]);
	/* The lowest set bit is the top bit of the first byte that is 0. */
	nul[0] = (v[0] - ones) & ~v[0] & tops;
	nul[1] = (v[1] - ones) & ~v[1] & tops;
	if (nul[0]) {
		v[0] &= (nul[0] & (0 - nul[0])) / 128 - 1;
		v[1] = 0;
	} else if (nul[1]) {
		v[1] &= (nul[1] & (0 - nul[1])) / 128 - 1;
	}
	v[0] = htole64(v[0]);
	v[1] = htole64(v[1]);
	memcpy(to, v, sizeof(v));
}

static void put_text(const uint8_t *from, size_t n, uint8_t *to)
{
	size_t have = strnlen((const char *)from, n);

	memcpy(to, from, have);
	memset(to + have, 0, n - have);
}

static void put_widened(const struct step *s, const uint8_t *from, uint8_t *to)
{
	uint64_t v = md_load(from, s->n, MD_HOST_IS_BIG);

	if (s->op == WIDEN_SIGNED) {
		unsigned int shift = 64 - 8 * s->n;

		v = (uint64_t)((int64_t)(v << shift) >> shift);
	}
	memcpy(to, (const uint8_t *)&v + md_low_bytes(sizeof(v), s->m), s->m);
}

/* Finds a dynamic value in the record; empty if it lies outside. */
static inline const uint8_t *find_dynamic(const struct step *s, const uint8_t *record, size_t len,
				  size_t *n)
{
	uint32_t loc, at;

	if (s->op == STRING_REST || s->op == SEQUENCE_REST) {
		*n = len - s->at;       /* s->at <= need <= len */
		return record + s->at;
	}
	memcpy(&loc, record + s->at, sizeof(loc));
	at = (loc & 0xffff) + s->base;
	*n = loc >> 16;
	if (at > len || *n > len - at) {
		*n = 0;
		return record;
	}
	return record + at;
}

static uint8_t *put_symbol(const struct ksyms *symbols, const uint8_t *from, uint32_t size,
			   uint8_t *to, const uint8_t *end)
{
	const char *name = symbols ? ksyms_find(symbols, md_load(from, size, MD_HOST_IS_BIG)) : "";

	return put_string((const uint8_t *)name, strlen(name), to, end);
}

static uint8_t *put_structs(const struct step *s, const uint8_t *from, size_t n, uint8_t *to,
			    const uint8_t *end)
{
	size_t size = kstruct_size(s->m), each = kstruct_payload(s->m);
	uint32_t count = 0;
	uint8_t *p = to + 4;

	if (end - to < 4)
		return NULL;
	for (; n >= size; n -= size, from += size) {
		if (each > (size_t)(end - p))
			return NULL;
		if (kstruct_put(s->m, from, p)) {
			p += each;
			count++;
		}
	}
	memcpy(to, &count, sizeof(count));
	return p;
}

static uint8_t *put_captured(const struct step *s, const uint8_t *from, size_t n, uint8_t *to,
			     const uint8_t *end)
{
	size_t need = s->op == LOC_COPY ? s->n : s->op == STRUCT ? kstruct_payload(s->m) : 2;

	if (s->op == STRUCTS)
		return put_structs(s, from, n, to, end);
	if (s->op == ADDRESS_PART) {
		from = kstruct_address(s->m, from, n, &n);
		if (s->n)
			return put_sequence(from, n, s->n, to, end);
	}
	if (need > (size_t)(end - to))
		return NULL;
	if (s->op == STRUCT) {
		kstruct_put(s->m, n >= kstruct_size(s->m) ? from : NULL, to);
	} else {
		memset(to, 0, need);
		if (n >= need)
			memcpy(to, from, need);
	}
	return to + need;
}

/* Steps without a fixed size. NULL: no room. */
static uint8_t *put_dynamic(const struct kcode *c, const struct step *s, const uint8_t *record,
			    size_t len, uint8_t *to, const uint8_t *end)
{
	const uint8_t *from;
	size_t n;

	if (s->op == ADDRESS)
		return put_address(record + s->at, to, end);
	if (s->op == STRING)
		return put_string(record + s->at, s->n, to, end);
	if (s->op == SYMBOL)
		return put_symbol(c->symbols, record + s->at, s->n, to, end);
	from = find_dynamic(s, record, len, &n);
	if (s->op >= LOC_COPY)
		return put_captured(s, from, n, to, end);
	if (s->op == TEXT_LOC)
		return put_cut_text(from, n, s->n, to, end);
	if (s->op == STRING_LOC || s->op == STRING_REST)
		return put_string(from, n, to, end);
	return put_sequence(from, n, s->n, to, end);
}

/* Rare steps of fixed size. NULL: no room. */
static uint8_t *put_fixed(const struct step *s, const uint8_t *from, uint8_t *to,
			  const uint8_t *end)
{
	uint32_t n = s->op == RWBS ? 4 : s->op == TEXT ? s->n : s->m, flags;

	if (n > (size_t)(end - to))
		return NULL;
	if (s->op == TEXT) {
		put_text(from, n, to);
	} else if (s->op == RWBS) {
		flags = make_flags(from, s->n);
		memcpy(to, &flags, sizeof(flags));
	} else {
		put_widened(s, from, to);
	}
	return to + n;
}

/* Runs one step. NULL: no room. */
static inline uint8_t *run_step(const struct kcode *c, const struct step *s, const uint8_t *record,
			   size_t len, uint8_t *to, const uint8_t *end)
{
	const uint8_t *from = record + s->at;

	if (s->op <= TEXT16) {
		if (s->n > (size_t)(end - to))
			return NULL;
		switch (s->op) {
		case COPY4: memcpy(to, from, 4); break;
		case COPY8: memcpy(to, from, 8); break;
		case COPY16: memcpy(to, from, 16); break;
		case TEXT16: put_text16(from, to); break;
		default: memcpy(to, from, s->n); break;
		}
		return to + s->n;
	}
	return s->op < TEXT_LOC ? put_fixed(s, from, to, end)
				: put_dynamic(c, s, record, len, to, end);
}

/* The value of an item that was not read: 0 or "". NULL: no room. */
static uint8_t *put_nothing(const struct step *s, uint8_t *to, const uint8_t *end)
{
	size_t n = s->op <= COPY ? s->n : s->op < TEXT_LOC ? s->m : 1;

	if (n > (size_t)(end - to))
		return NULL;
	memset(to, 0, n);
	return to + n;
}

static ssize_t run_extra(const struct kcode *c, const uint8_t *record, size_t len, uint8_t *to,
			 size_t room)
{
	uint32_t unread = kextra_unread(c->extra, record);
	const struct step *s = c->steps, *last = s + c->count;
	const uint8_t *end = to + room;
	uint8_t *p = to;

	for (; s < last; s++) {
		if (s->op == UNREAD)
			p = kextra_put(c->extra, unread, p, end);
		else if (s->op != ITEM)
			p = run_step(c, s, record, len, p, end);
		else if (s->n & unread)
			p = put_nothing(++s, p, end);
		if (!p)
			return -ENOSPC;
	}
	return p - to;
}

ssize_t kcode_run(const struct kcode *c, const uint8_t *record, size_t len, uint8_t *to,
		  size_t room)
{
	const struct step *s = c->steps, *last = s + c->count;
	const uint8_t *end = to + room;
	uint8_t *p = to;

	if (len < c->need)
		return -EBADMSG;
	if (c->extra)
		return run_extra(c, record, len, to, room);
	for (; s < last; s++) {
		p = run_step(c, s, record, len, p, end);
		if (!p)
			return -ENOSPC;
	}
	return p - to;
}
