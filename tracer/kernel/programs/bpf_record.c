// SPDX-License-Identifier: GPL-2.0-or-later
/* What a program writes as the data of a record: the layout is the one that tracefs has. */
#include "metadata/number.h"
#include "tracer/kernel/programs/bpf_typed.h"
#include "tracer/kernel/programs/bpf_writer.h"

/* Bytes of a fixed part that is copied without a call. */
enum { INLINE_MAX = 256 };

static const uint8_t sizes[9] = { [1] = BPF_B, [2] = BPF_H, [4] = BPF_W, [8] = BPF_DW };

/* What all records begin with. */
static void put_common(const struct bpf_writer *w, uint32_t id)
{
	struct bpf_code *c = w->code;

	/* The id has two bytes, then come two that are 0: one store, whatever the byte order. */
	bpf_store_number(c, BPF_W, BPF_REG_8, w->data, (int32_t)(id << 8 * md_low_bytes(4, 2)));
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_10, BPF_AT_THREAD);
	bpf_store(c, BPF_W, BPF_REG_8, w->data + 4, BPF_REG_1);
}

/* Copies the string at the address in register 3 to the record's end. Register 0: its bytes. */
static void copy_string(const struct bpf_writer *w, int32_t reader, int32_t most)
{
	struct bpf_code *c = w->code;

	bpf_move(c, BPF_REG_1, BPF_REG_8);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_1, BPF_REG_9);
	bpf_alu(c, BPF_ADD, BPF_REG_1, w->data);
	bpf_set(c, BPF_REG_2, most);
	bpf_call(c, reader);
}

/* Notes at this offset where the string of register 0 bytes is, which ends the record now. */
static void put_place(const struct bpf_writer *w, int offset)
{
	struct bpf_code *c = w->code;

	bpf_move(c, BPF_REG_1, BPF_REG_0);
	bpf_alu(c, BPF_LSH, BPF_REG_1, 16);
	bpf_alu_reg(c, BPF_OR, BPF_REG_1, BPF_REG_9);
	bpf_store(c, BPF_W, BPF_REG_8, w->data + offset, BPF_REG_1);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_9, BPF_REG_0);
}

struct user_string {                    /* a field */
	const struct bpf_expression *typed;     /* of the address; NULL: that is in memory: */
	int base, argument;             /* at this register and offset */
	int offset;
};

static void load_address(const struct bpf_writer *w, const struct user_string *s)
{
	if (s->typed)
		bpf_expression_put(w->code, s->typed);
	else
		bpf_load_from(w->code, BPF_DW, BPF_REG_0, s->base, s->argument);
}

/*
 * Puts a string in memory of the process. If its page is not in memory, the program cannot wait for
 * it: the string is empty, and the program at the end of the call reads it. All that is in the path
 * of a string that cannot be read.
 */
static void put_user_string(const struct bpf_writer *w, const struct user_string *s)
{
	int32_t most = (int32_t)w->r->ring->text_max;
	struct bpf_code *c = w->code;
	int some = bpf_label(c), none = bpf_label(c);

	load_address(w, s);
	bpf_move(c, BPF_REG_3, BPF_REG_0);
	copy_string(w, BPF_FUNC_probe_read_user_str, most);
	bpf_jump_if(c, BPF_JSGT, BPF_REG_0, 0, some);
	if (!w->r->late) {
		load_address(w, s);
		bpf_jump_if(c, BPF_JEQ, BPF_REG_0, 0, none);
		bpf_late_note(w);
	}
	bpf_here(c, none);
	bpf_set(c, BPF_REG_0, 0);
	bpf_here(c, some);
	bpf_at_most(c, most);
	put_place(w, s->offset);
}

/* ---- from a tracepoint's record ---- */

static void copy_number(const struct bpf_writer *w, uint8_t size, int offset)
{
	bpf_load_from(w->code, size, BPF_REG_1, BPF_REG_6, offset);
	bpf_store(w->code, size, BPF_REG_8, w->data + offset, BPF_REG_1);
}

static void put_call(const struct bpf_writer *w, const struct bpf_source *call)
{
	struct bpf_code *c = w->code;
	uint32_t numbers = call->exit ? 1 : call->count;

	bpf_store_number(c, BPF_W, BPF_REG_8, w->data + BPF_CALL_MARK, 0);
	copy_number(w, BPF_W, KRECORD_HEADER);
	for (uint32_t i = 0; i < numbers; i++)
		copy_number(w, BPF_DW, BPF_CALL_FIXED + 8 * (int)i);
	bpf_set(c, BPF_REG_9, BPF_CALL_FIXED + 8 * (int32_t)numbers + 4 * (int32_t)call->texts);
	for (uint32_t n = 0; n < call->texts; n++)
		put_user_string(w, &(struct user_string){
			.base = BPF_REG_6, .argument = BPF_CALL_FIXED + 8 * call->text[n],
			.offset = (int)(bpf_source_places(call) + 4 * n) });
}

/* Copies bytes of the tracepoint's record, as many as register 2 has. */
static void copy_bytes(const struct bpf_writer *w, int from)
{
	struct bpf_code *c = w->code;

	bpf_move(c, BPF_REG_1, BPF_REG_8);
	bpf_alu(c, BPF_ADD, BPF_REG_1, w->data + from);
	bpf_move(c, BPF_REG_3, BPF_REG_6);
	bpf_alu(c, BPF_ADD, BPF_REG_3, from);
	bpf_call(c, BPF_FUNC_probe_read_kernel);
}

static void copy_fixed(const struct bpf_writer *w, int end)
{
	int at = KRECORD_HEADER;

	for (int bytes = 8; end <= INLINE_MAX && bytes; bytes /= 2)
		for (; end - at >= bytes; at += bytes)
			copy_number(w, sizes[bytes], at);
	if (at < end) {
		bpf_set(w->code, BPF_REG_2, end - at);
		copy_bytes(w, at);
	}
}

/* The parts after the fixed one: all up to the end of the last. Register 9: the length. */
static void copy_dynamic(struct bpf_writer *w, const struct bpf_source *s)
{
	struct bpf_code *c = w->code;
	int32_t fixed = (int32_t)s->fixed;

	for (uint32_t i = 0; i < s->dynamics; i++) {
		int later = bpf_label(c);

		bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_6, s->dynamic[i]);
		bpf_move(c, BPF_REG_2, BPF_REG_1);
		bpf_alu(c, BPF_AND, BPF_REG_2, 0xffff);
		bpf_alu(c, BPF_RSH, BPF_REG_1, 16);
		bpf_alu_reg(c, BPF_ADD, BPF_REG_2, BPF_REG_1);
		bpf_jump_if_reg(c, BPF_JLE, BPF_REG_2, BPF_REG_9, later);
		bpf_move(c, BPF_REG_9, BPF_REG_2);
		bpf_here(c, later);
	}
	bpf_move(c, BPF_REG_2, BPF_REG_9);
	bpf_alu(c, BPF_SUB, BPF_REG_2, fixed);
	bpf_jump_if(c, BPF_JGT, BPF_REG_2, BPF_DYNAMIC_BYTES, w->lost);
	w->loses = true;
	bpf_move(c, BPF_REG_9, BPF_REG_2);
	copy_bytes(w, fixed);
	bpf_alu(c, BPF_ADD, BPF_REG_9, fixed);
}

/* ---- from a tracepoint's arguments ---- */

/* The fixed part of a record. */
static int32_t fixed_bytes(const struct bpf_source *s)
{
	if (s->fixed)
		return (int32_t)s->fixed;
	return BPF_CALL_FIXED + 8 * (s->exit ? 1 : (int32_t)s->count) + 4 * (int32_t)s->texts;
}

struct text {                           /* of a field */
	const struct bpf_writer *w;
	const struct bpf_field *f;
};

/* A text that ends itself, into a field of a fixed size. */
static void put_text(void *arg, const char *text, uint32_t len)
{
	const struct text *t = arg;
	struct bpf_code *c = t->w->code;
	int at = t->w->data + t->f->offset;

	/* (text has a further byte, its quotation mark.) */
	for (uint32_t i = 0; text && i <= len && i < t->f->size; i++)
		bpf_store_number(c, BPF_B, BPF_REG_8, at + (int)i,
				 i < len && i + 1 < t->f->size ? text[i] : 0);
	if (text)
		return;
	bpf_move(c, BPF_REG_3, BPF_REG_0);
	bpf_move(c, BPF_REG_1, BPF_REG_8);
	bpf_alu(c, BPF_ADD, BPF_REG_1, at);
	bpf_set(c, BPF_REG_2, t->f->size);
	bpf_call(c, BPF_FUNC_probe_read_kernel_str);
}

/* One after the fixed part. */
static void put_dynamic(void *arg, const char *text, uint32_t len)
{
	const struct text *t = arg;
	const struct bpf_writer *w = t->w;
	struct bpf_code *c = w->code;

	if (!text) {
		bpf_move(c, BPF_REG_3, BPF_REG_0);
		copy_string(w, BPF_FUNC_probe_read_kernel_str, BPF_STRING_BYTES);
		bpf_bound(c, BPF_STRING_BYTES);
		put_place(w, t->f->offset);
		return;
	}
	bpf_move(c, BPF_REG_2, BPF_REG_8);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_2, BPF_REG_9);
	for (uint32_t i = 0; i <= len; i++)
		bpf_store_number(c, BPF_B, BPF_REG_2, w->data + (int)i, i < len ? text[i] : 0);
	bpf_set(c, BPF_REG_1, (int32_t)(len + 1) << 16);
	bpf_alu_reg(c, BPF_OR, BPF_REG_1, BPF_REG_9);
	bpf_store(c, BPF_W, BPF_REG_8, w->data + t->f->offset, BPF_REG_1);
	bpf_alu(c, BPF_ADD, BPF_REG_9, (int32_t)len + 1);
}

/*
 * The text of a call. The entry's record has its address already: to get it from the process's
 * registers once more costs the kernel a check.
 */
static void put_call_text(const struct bpf_writer *w, const struct bpf_field *f)
{
	const struct bpf_source *call = w->r->source;
	uint32_t n = ((uint32_t)f->offset - bpf_source_places(call)) / 4;
	struct user_string s = { .typed = &f->value, .offset = f->offset };

	if (!w->r->late && n < call->texts) {
		s.typed = NULL;
		s.base = BPF_REG_8;
		s.argument = w->data + BPF_CALL_FIXED + 8 * call->text[n];
	}
	put_user_string(w, &s);
}

static void put_field(const struct bpf_writer *w, const struct bpf_field *f)
{
	const struct btf_type *type = &f->value.type;
	struct text text = { w, f };
	struct bpf_code *c = w->code;

	if (f->kind == BPF_FIELD_TEXT && type->class == BTF_TEXT && type->size == f->size) {
		bpf_expression_copy(c, &f->value, w->data + f->offset);
	} else if (f->kind == BPF_FIELD_TEXT && type->class != BTF_NUMBER) {
		bpf_expression_texts(c, &f->value, put_text, &text);
	} else if (f->kind == BPF_FIELD_STRING) {
		bpf_expression_texts(c, &f->value, put_dynamic, &text);
	} else if (f->kind == BPF_FIELD_USER_STRING) {
		put_call_text(w, f);
	} else {
		bpf_expression_put(c, &f->value);
		bpf_store(c, f->size < 8 ? sizes[f->size] : BPF_DW, BPF_REG_8, w->data + f->offset,
			  BPF_REG_0);
	}
}

static void put_typed(const struct bpf_writer *w, const struct bpf_tracepoint *t)
{
	bpf_set(w->code, BPF_REG_9, fixed_bytes(w->r->source));
	for (uint32_t i = 0; i < t->count; i++)
		put_field(w, &t->fields[i]);
}

void bpf_record_put(struct bpf_writer *w)
{
	const struct bpf_source *s = w->r->source;

	put_common(w, s->id);
	if (w->r->typed) {
		put_typed(w, w->r->typed->tracepoint);
	} else if (!s->fixed) {
		put_call(w, s);
	} else {
		copy_fixed(w, (int)s->fixed);
		bpf_set(w->code, BPF_REG_9, (int32_t)s->fixed);
		if (s->dynamics)
			copy_dynamic(w, s);
	}
}

uint32_t bpf_record_most(const struct bpf_writer *w)
{
	const struct bpf_source *s = w->r->source;
	uint32_t bytes = (uint32_t)fixed_bytes(s);

	if (!s->fixed)
		bytes += s->texts * w->r->ring->text_max;
	else if (w->r->typed)
		bytes += w->r->typed->tracepoint->strings * BPF_STRING_BYTES;
	else if (s->dynamics)
		bytes += BPF_DYNAMIC_BYTES;
	if (w->r->contexts)
		bytes += (uint32_t)w->front + w->r->contexts->most - w->r->contexts->fixed;
	return (uint32_t)sizeof(struct krec) + bytes + 8;
}
