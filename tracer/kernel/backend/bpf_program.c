// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program of an event. It writes the record above `head`, where no reader looks, and then moves
 * head. No other program of a tracepoint interrupts it (kernel/bpf/bpf.h), so it claims nothing.
 *
 * Registers: 6 the tracepoint's data, 7 the ring's control, 8 the address of the record less the
 * size of the control, and more by the addresses of stacks in its contexts, 9 the position of the
 * record, then the length of its data.
 */
#include "tracer/kernel/backend/bpf.h"

#include <stddef.h>

#include "tracer/kernel/kevent/bpf_filter.h"
#include "tracer/kernel/kevent/ring_page.h"

/* Places on the stack. */
enum { CPU = -4, THREAD = -8, TIME = -16, POSITION = -24, LENGTH = -32, OTHER = -36 };

/* Offsets from register 8 of a record, of its data. */
enum { RECORD = BPF_CONTROL, DATA = BPF_CONTROL + sizeof(struct krec) };

/*
 * Bytes of a tracepoint's record that follow the fixed part; of a fixed part that is copied without
 * a call.
 */
enum { DYNAMIC_MAX = 4096, INLINE_MAX = 256 };

#define RING(member) ((int)offsetof(struct bpf_control, ring.member))
#define CONTROL(member) ((int)offsetof(struct bpf_control, member))

struct program {
	struct bpf_code *code;
	const struct bpf_ring *ring;
	const struct bpf_contexts *contexts;
	int32_t front;                  /* bytes of the contexts, without addresses of stacks */
	int data;                       /* offset of the record's data from register 8 */
	uint32_t most;                  /* bytes of a record */
	/* Labels: the end of the program; the event is counted as lost before. */
	int end, lost;
};

_Static_assert(offsetof(struct bpf_control, on) == 128, "after the ring's own part");
_Static_assert(sizeof(struct bpf_control) <= BPF_CONTROL, "it has room");

static void put_thread(struct bpf_code *c)
{
	bpf_call(c, BPF_FUNC_get_current_pid_tgid);
	bpf_store(c, BPF_W, BPF_REG_10, THREAD, BPF_REG_0);
}

/* Registers 6 and 7; ends the program if the event is not to be recorded. */
static void begin(const struct program *p, const struct bpf_recording *r)
{
	struct bpf_code *c = p->code;
	int all = bpf_label(c), threads = r->threads;

	bpf_move(c, BPF_REG_6, BPF_REG_1);
	bpf_call(c, BPF_FUNC_get_smp_processor_id);
	bpf_store(c, BPF_W, BPF_REG_10, CPU, BPF_REG_0);
	bpf_set_map(c, BPF_REG_1, p->ring->map);
	bpf_set_stack(c, BPF_REG_2, CPU);
	bpf_call(c, BPF_FUNC_map_lookup_elem);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_0, 0, p->end);
	bpf_move(c, BPF_REG_7, BPF_REG_0);
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_7, CONTROL(on));
	bpf_jump_if(c, BPF_JEQ, BPF_REG_1, 0, p->end);
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_7, CONTROL(tokens) + 4 * (int)r->slot);
	bpf_jump_if(c, BPF_JNE, BPF_REG_1, (int32_t)r->token, p->end);
	if (threads >= 0) {
		put_thread(c);
		bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_7, CONTROL(tracked));
		bpf_jump_if(c, BPF_JEQ, BPF_REG_1, 0, all);
		bpf_set_map(c, BPF_REG_1, threads);
		bpf_set_stack(c, BPF_REG_2, THREAD);
		bpf_call(c, BPF_FUNC_map_lookup_elem);
		if (r->source->other) {
			bpf_jump_if(c, BPF_JNE, BPF_REG_0, 0, all);
			bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_6, (int)r->source->other);
			bpf_store(c, BPF_W, BPF_REG_10, OTHER, BPF_REG_1);
			bpf_set_map(c, BPF_REG_1, threads);
			bpf_set_stack(c, BPF_REG_2, OTHER);
			bpf_call(c, BPF_FUNC_map_lookup_elem);
		}
		bpf_jump_if(c, BPF_JEQ, BPF_REG_0, 0, p->end);
	}
	bpf_here(c, all);
}

/* What an event needs that is recorded, and one that is rejected does not. */
static void note_event(const struct program *p)
{
	put_thread(p->code);
	bpf_call(p->code, BPF_FUNC_ktime_get_ns);
	bpf_store(p->code, BPF_DW, BPF_REG_10, TIME, BPF_REG_0);
}

/* Register 8, from the position in register 9. */
static void find_record(const struct program *p)
{
	struct bpf_code *c = p->code;

	bpf_move(c, BPF_REG_8, BPF_REG_9);
	bpf_alu(c, BPF_AND, BPF_REG_8, (int32_t)(p->ring->geo.total - 1));
	bpf_alu_reg(c, BPF_ADD, BPF_REG_8, BPF_REG_7);
}

/* The header of a record at register 8, but its length. */
static void put_header(const struct program *p, enum krec_kind kind)
{
	struct bpf_code *c = p->code;

	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_10, TIME);
	bpf_store(c, BPF_DW, BPF_REG_8, RECORD + (int)offsetof(struct krec, ts), BPF_REG_1);
	bpf_store_number(c, BPF_W, BPF_REG_8, RECORD + (int)offsetof(struct krec, kind),
			 (int32_t)kind);
}

static void put_length(const struct program *p, int reg)
{
	bpf_store(p->code, BPF_W, BPF_REG_8, RECORD + (int)offsetof(struct krec, len), reg);
}

/*
 * Register 2 has the position of a sub-buffer that follows the position in register 9. In discard
 * mode: the event is lost if the sub-buffer is not free.
 */
static void check_room(const struct program *p)
{
	struct bpf_code *c = p->code;

	if (p->ring->overwrite)
		return;
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_7, RING(consumed));
	bpf_alu(c, BPF_ADD, BPF_REG_1, (int32_t)p->ring->geo.total);
	bpf_move(c, BPF_REG_3, BPF_REG_2);
	bpf_alu(c, BPF_ADD, BPF_REG_3, (int32_t)p->ring->geo.size);
	bpf_jump_if_reg(c, BPF_JGT, BPF_REG_3, BPF_REG_1, p->lost);
}

/*
 * The end of the program. loses: some code jumps to p->lost. The kernel refuses code that nothing
 * jumps to.
 */
static void end(const struct program *p, bool loses)
{
	struct bpf_code *c = p->code;

	bpf_here(c, p->end);
	bpf_pass(c);
	if (!loses)
		return;
	bpf_here(c, p->lost);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_7, RING(lost));
	bpf_alu(c, BPF_ADD, BPF_REG_1, 1);
	bpf_store(c, BPF_DW, BPF_REG_7, RING(lost), BPF_REG_1);
	bpf_pass(c);
}

/* Stores the position in register 1 and the number of events in register 2 to `reserve`. */
static void put_reserve(const struct program *p)
{
	struct bpf_code *c = p->code;

	bpf_move(c, BPF_REG_3, BPF_REG_1);
	bpf_alu(c, BPF_RSH, BPF_REG_3, 3);
	bpf_move(c, BPF_REG_4, BPF_REG_2);
	bpf_alu(c, BPF_LSH, BPF_REG_4, KRING_EVENTS_SHIFT);
	bpf_alu_reg(c, BPF_OR, BPF_REG_3, BPF_REG_4);
	bpf_publish(c, BPF_REG_7, RING(reserve), BPF_REG_3);
}

/* Begins the sub-buffer at the position in register 2; register 9 becomes the first place in it. */
static void begin_subbuf(const struct program *p)
{
	struct bpf_code *c = p->code;
	int no_pad = bpf_label(c);

	bpf_store(c, BPF_DW, BPF_REG_10, POSITION, BPF_REG_2);
	/* Before a byte of the sub-buffer changes, readers must see that it does. */
	bpf_move(c, BPF_REG_1, BPF_REG_2);
	bpf_alu(c, BPF_ADD, BPF_REG_1, (int32_t)sizeof(struct krec_begin));
	bpf_load_from(c, BPF_DW, BPF_REG_2, BPF_REG_7, RING(events));
	put_reserve(p);
	bpf_load_from(c, BPF_DW, BPF_REG_2, BPF_REG_10, POSITION);
	bpf_alu_reg(c, BPF_SUB, BPF_REG_2, BPF_REG_9);
	bpf_jump_if(c, BPF_JLT, BPF_REG_2, (int32_t)sizeof(struct krec), no_pad);
	find_record(p);
	put_header(p, KREC_PAD);
	bpf_alu(c, BPF_SUB, BPF_REG_2, (int32_t)sizeof(struct krec));
	put_length(p, BPF_REG_2);
	bpf_here(c, no_pad);
	bpf_load_from(c, BPF_DW, BPF_REG_9, BPF_REG_10, POSITION);
	find_record(p);
	put_header(p, KREC_BEGIN);
	bpf_set(c, BPF_REG_1, (int32_t)sizeof(uint64_t));
	put_length(p, BPF_REG_1);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_7, RING(events));
	bpf_store(c, BPF_DW, BPF_REG_8, DATA, BPF_REG_1);
	bpf_alu(c, BPF_ADD, BPF_REG_9, (int32_t)sizeof(struct krec_begin));
}

/* Registers 8 and 9: a place for the record. */
static void find_place(const struct program *p)
{
	struct bpf_code *c = p->code;
	int32_t size = (int32_t)p->ring->geo.size;
	int fits = bpf_label(c), next = bpf_label(c), room = bpf_label(c);

	bpf_load_from(c, BPF_DW, BPF_REG_9, BPF_REG_7, RING(head));
	bpf_move(c, BPF_REG_2, BPF_REG_9);
	bpf_move(c, BPF_REG_1, BPF_REG_9);
	bpf_alu(c, BPF_AND, BPF_REG_1, size - 1);
	/* A position at the beginning of a sub-buffer: the one before is full, or there is none. */
	bpf_jump_if(c, BPF_JEQ, BPF_REG_1, 0, next);
	bpf_jump_if(c, BPF_JLE, BPF_REG_1, size - (int32_t)p->most, fits);
	bpf_alu(c, BPF_OR, BPF_REG_2, size - 1);
	bpf_alu(c, BPF_ADD, BPF_REG_2, 1);
	bpf_here(c, next);
	check_room(p);
	begin_subbuf(p);
	bpf_jump(c, room);
	bpf_here(c, fits);
	bpf_here(c, room);
	bpf_store(c, BPF_DW, BPF_REG_10, POSITION, BPF_REG_9);
	find_record(p);
}

/* ---- the record's data ---- */

static void copy_number(const struct program *p, uint8_t size, int offset)
{
	bpf_load_from(p->code, size, BPF_REG_1, BPF_REG_6, offset);
	bpf_store(p->code, size, BPF_REG_8, p->data + offset, BPF_REG_1);
}

/* What all records begin with, which a program cannot read. */
static void put_common(const struct program *p, uint32_t id)
{
	struct bpf_code *c = p->code;

	bpf_store_number(c, BPF_W, BPF_REG_8, p->data, (int32_t)id);
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_10, THREAD);
	bpf_store(c, BPF_W, BPF_REG_8, p->data + 4, BPF_REG_1);
}

/* Text n of the call. A page that is not in memory cannot be read here: the text is empty then. */
static void put_text(const struct program *p, const struct bpf_source *call, uint32_t n)
{
	struct bpf_code *c = p->code;
	int32_t most = (int32_t)p->ring->text_max;

	bpf_move(c, BPF_REG_1, BPF_REG_8);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_1, BPF_REG_9);
	bpf_alu(c, BPF_ADD, BPF_REG_1, p->data);
	bpf_set(c, BPF_REG_2, most);
	bpf_load_from(c, BPF_DW, BPF_REG_3, BPF_REG_6, BPF_CALL_FIXED + 8 * call->text[n]);
	bpf_call(c, BPF_FUNC_probe_read_user_str);
	bpf_bound(c, most);
	bpf_move(c, BPF_REG_1, BPF_REG_0);
	bpf_alu(c, BPF_LSH, BPF_REG_1, 16);
	bpf_alu_reg(c, BPF_OR, BPF_REG_1, BPF_REG_9);
	bpf_store(c, BPF_W, BPF_REG_8, p->data + (int)(bpf_source_places(call) + 4 * n), BPF_REG_1);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_9, BPF_REG_0);
}

/* The data of a system call. Register 9 becomes its length. */
static void put_call(const struct program *p, const struct bpf_source *call)
{
	struct bpf_code *c = p->code;
	uint32_t numbers = call->exit ? 1 : call->count, text = 0;

	bpf_store_number(c, BPF_W, BPF_REG_8, p->data + 12, 0);
	copy_number(p, BPF_W, KRECORD_HEADER);
	for (uint32_t i = 0; i < numbers; i++)
		copy_number(p, BPF_DW, BPF_CALL_FIXED + 8 * (int)i);
	bpf_set(c, BPF_REG_9, BPF_CALL_FIXED + 8 * (int32_t)numbers + 4 * (int32_t)call->texts);
	for (; text < call->texts; text++)
		put_text(p, call, text);
}

/* Copies bytes of the tracepoint's record, as many as register 2 has. */
static void copy_bytes(const struct program *p, int from)
{
	struct bpf_code *c = p->code;

	bpf_move(c, BPF_REG_1, BPF_REG_8);
	bpf_alu(c, BPF_ADD, BPF_REG_1, p->data + from);
	bpf_move(c, BPF_REG_3, BPF_REG_6);
	bpf_alu(c, BPF_ADD, BPF_REG_3, from);
	bpf_call(c, BPF_FUNC_probe_read_kernel);
}

static void copy_fixed(const struct program *p, int end)
{
	static const struct { int bytes; uint8_t size; } steps[] = {
		{ 8, BPF_DW }, { 4, BPF_W }, { 2, BPF_H }, { 1, BPF_B },
	};
	int at = KRECORD_HEADER;

	for (size_t i = 0; end <= INLINE_MAX && i < sizeof(steps) / sizeof(*steps); i++)
		for (; end - at >= steps[i].bytes; at += steps[i].bytes)
			copy_number(p, steps[i].size, at);
	if (at < end) {
		bpf_set(p->code, BPF_REG_2, end - at);
		copy_bytes(p, at);
	}
}

/* The parts after the fixed one: all up to the end of the last. Register 9: the length. */
static void copy_dynamic(const struct program *p, const struct bpf_source *s)
{
	struct bpf_code *c = p->code;
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
	bpf_jump_if(c, BPF_JGT, BPF_REG_2, DYNAMIC_MAX, p->lost);
	bpf_move(c, BPF_REG_9, BPF_REG_2);
	copy_bytes(p, fixed);
	bpf_alu(c, BPF_ADD, BPF_REG_9, fixed);
}

static void put_data(const struct program *p, const struct bpf_source *s)
{
	put_common(p, s->id);
	if (!s->fixed) {
		put_call(p, s);
		return;
	}
	copy_fixed(p, (int)s->fixed);
	bpf_set(p->code, BPF_REG_9, (int32_t)s->fixed);
	if (s->dynamics)
		copy_dynamic(p, s);
}

/* The most bytes of a record, with its header: it is whole in one sub-buffer. */
static uint32_t find_most(const struct program *p, const struct bpf_source *s)
{
	uint32_t bytes = s->fixed + (s->dynamics ? DYNAMIC_MAX : 0);

	if (!s->fixed)
		bytes = BPF_CALL_FIXED + 8 * BPF_ARGUMENTS + s->texts * (4 + p->ring->text_max);
	if (p->contexts)
		bytes += (uint32_t)p->front + p->contexts->most - p->contexts->fixed;
	return (uint32_t)sizeof(struct krec) + bytes + 8;
}

/* The record counts from now on. */
static void commit(const struct program *p)
{
	struct bpf_code *c = p->code;

	if (p->contexts) {
		/* Register 1: bytes of the contexts. */
		if (p->contexts->stacks)
			bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_10, BPF_PLACE_STACKS);
		else
			bpf_set(c, BPF_REG_1, 0);
		bpf_alu_reg(c, BPF_ADD, BPF_REG_9, BPF_REG_1);
		bpf_alu(c, BPF_ADD, BPF_REG_9, p->front);
		bpf_alu(c, BPF_ADD, BPF_REG_1, (int32_t)p->contexts->fixed);
		bpf_store(c, BPF_DW, BPF_REG_10, LENGTH, BPF_REG_9);
		bpf_load_from(c, BPF_DW, BPF_REG_9, BPF_REG_10, POSITION);
		find_record(p);
		bpf_store(c, BPF_W, BPF_REG_8, DATA, BPF_REG_1);
		bpf_load_from(c, BPF_DW, BPF_REG_9, BPF_REG_10, LENGTH);
	}
	put_header(p, p->contexts ? KREC_CONTEXTS : KREC_EVENT);
	put_length(p, BPF_REG_9);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_10, POSITION);
	bpf_alu(c, BPF_ADD, BPF_REG_9, (int32_t)sizeof(struct krec) + 7);
	bpf_alu(c, BPF_AND, BPF_REG_9, -8);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_1, BPF_REG_9);
	bpf_load_from(c, BPF_DW, BPF_REG_2, BPF_REG_7, RING(events));
	bpf_alu(c, BPF_ADD, BPF_REG_2, 1);
	bpf_store(c, BPF_DW, BPF_REG_7, RING(events), BPF_REG_2);
	put_reserve(p);
	bpf_publish(c, BPF_REG_7, RING(head), BPF_REG_1);
}

static void put_filters(const struct program *p, const struct bpf_filters *f, int text_base)
{
	if (bpf_filter(p->code, (const struct filter *const *)f->filters, f->count, f->format,
		       text_base, p->end) < 0)
		p->code->bad = true;
}

/* Whether no text is needed to decide. */
static bool is_decided_early(const struct bpf_filters *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (!bpf_filter_possible(f->filters[i], f->format, false))
			return false;
	return true;
}

void bpf_program_stub(struct bpf_code *code, int bodies, uint32_t entry)
{
	bpf_code_begin(code);
	/* Register 1 has the tracepoint's data. The call returns only if there is no body. */
	bpf_set_map(code, BPF_REG_2, bodies);
	bpf_set(code, BPF_REG_3, (int32_t)entry);
	bpf_call(code, BPF_FUNC_tail_call);
	bpf_pass(code);
}

void bpf_program_body(struct bpf_code *code, const struct bpf_recording *r)
{
	struct program p = { .code = code, .ring = r->ring, .contexts = r->contexts, .data = DATA };

	bpf_code_begin(code);
	if (p.contexts) {
		p.front = (int32_t)((sizeof(uint32_t) + p.contexts->fixed + 7) & ~7u);
		p.data += p.front;
	}
	p.most = find_most(&p, r->source);
	p.end = bpf_label(code);
	p.lost = bpf_label(code);
	begin(&p, r);
	if (r->filters)
		put_filters(&p, r->filters, 0);
	note_event(&p);
	find_place(&p);
	if (p.contexts)
		bpf_contexts_put(code, p.contexts, DATA + (int)sizeof(uint32_t));
	put_data(&p, r->source);
	if (r->filters && !is_decided_early(r->filters))
		put_filters(&p, r->filters, p.data);
	commit(&p);
	end(&p, !r->ring->overwrite || r->source->dynamics);
}
