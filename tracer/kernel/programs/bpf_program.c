// SPDX-License-Identifier: GPL-2.0-or-later
/* The program of an event: what is attached, and the body that it jumps to. */
#include "tracer/kernel/programs/bpf_writer.h"

#include "tracer/kernel/kevent/bpf_filter.h"
#include "tracer/kernel/programs/bpf_typed.h"

#define CONTROL(member) ((int)offsetof(struct bpf_control, member))

/* Register 0: the address of the value of the key at this place on the stack, or 0. */
static void look_up(struct bpf_code *c, int map, int key)
{
	bpf_set_map(c, BPF_REG_1, map);
	bpf_set_stack(c, BPF_REG_2, key);
	bpf_call(c, BPF_FUNC_map_lookup_elem);
}

/* Register 7: the CPU's control; ends the program if the channel does not record. */
static void find_control(const struct bpf_writer *w)
{
	struct bpf_code *c = w->code;

	bpf_call(c, BPF_FUNC_get_smp_processor_id);
	bpf_store(c, BPF_W, BPF_REG_10, BPF_AT_CPU, BPF_REG_0);
	look_up(c, w->r->ring->map, BPF_AT_CPU);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_0, 0, w->end);
	bpf_move(c, BPF_REG_7, BPF_REG_0);
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_7, CONTROL(on));
	bpf_jump_if(c, BPF_JEQ, BPF_REG_1, 0, w->end);
}

/* ---- integers of the event, by its arguments ---- */

/* As bpf_load_integer, which has them from the record. */
static void load_typed(const void *arg, struct bpf_code *c, int to, const struct bpf_integer *p)
{
	const struct bpf_typed *typed = arg;
	const struct bpf_field *f = bpf_tracepoint_number(typed->tracepoint, p->offset);
	int32_t unused = 64 - 8 * (int32_t)p->size;

	if (!f) {
		c->bad = true;
		return;
	}
	bpf_expression_put(c, &f->value);
	if (unused == 32 && !p->is_signed) {
		bpf_low_half(c, to, BPF_REG_0);
		return;
	}
	bpf_move(c, to, BPF_REG_0);
	if (!unused)
		return;
	bpf_alu(c, BPF_LSH, to, unused);
	bpf_alu(c, p->is_signed ? BPF_ARSH : BPF_RSH, to, unused);
}

static void load_own(const void *arg, struct bpf_code *c, uint32_t context)
{
	const struct bpf_typed *typed = arg;
	int offset = context == TRAIL_CONTEXT_TID   ? typed->task->tid
		     : context == TRAIL_CONTEXT_PID ? typed->task->pid
						    : 0;

	if (offset)
		bpf_load_task(c, offset);
	else
		bpf_load_context(c, context);
}

static void put_filters(const struct bpf_writer *w, const struct bpf_filters *f, int text_base,
			int no)
{
	const struct bpf_loader loader = { load_typed, load_own, w->r->typed };

	if (bpf_filter(w->code, (const struct filter *const *)f->filters, f->count, f->format,
		       w->r->typed ? &loader : NULL, text_base, no) < 0)
		w->code->bad = true;
}

/* Whether no text is needed to decide. */
static bool is_decided_early(const struct bpf_filters *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (!bpf_filter_possible(f->filters[i], f->format, false))
			return false;
	return true;
}

/* ---- before a record is written ---- */

/* Stores the id of the second thread that the event is about. */
static void put_other(const struct bpf_writer *w)
{
	const struct bpf_integer other = { w->r->source->other, 4, false };

	if (w->r->typed)
		load_typed(w->r->typed, w->code, BPF_REG_1, &other);
	else
		bpf_load_integer(w->code, BPF_REG_1, &other);
	bpf_store(w->code, BPF_W, BPF_REG_10, BPF_AT_OTHER, BPF_REG_1);
}

/* Ends the program if threads are tracked, and the event is about none of them. */
static void check_thread(const struct bpf_writer *w)
{
	struct bpf_code *c = w->code;
	int all = bpf_label(c), threads = w->r->threads;

	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_7, CONTROL(tracked));
	bpf_jump_if(c, BPF_JEQ, BPF_REG_1, 0, all);
	if (w->r->groups >= 0)
		bpf_groups_check(c, w->r->groups, all);
	bpf_note_thread(w);
	look_up(c, threads, BPF_AT_THREAD);
	if (w->r->source->other) {
		bpf_jump_if(c, BPF_JNE, BPF_REG_0, 0, all);
		put_other(w);
		look_up(c, threads, BPF_AT_OTHER);
	}
	bpf_jump_if(c, BPF_JEQ, BPF_REG_0, 0, w->end);
	bpf_here(c, all);
}

/* Ends the program at a call of 32 bits. */
static void check_foreign(const struct bpf_writer *w)
{
	if (!w->r->typed || !w->r->typed->foreign)
		return;
	bpf_expression_put(w->code, w->r->typed->foreign);
	bpf_jump_if(w->code, BPF_JNE, BPF_REG_0, 0, w->end);
}

/* Registers 6 and 7; ends the program if the event is not to be recorded. */
static void begin(const struct bpf_writer *w)
{
	struct bpf_code *c = w->code;

	bpf_move(c, BPF_REG_6, BPF_REG_1);
	/* Most events that are left out need no more than this. */
	if (w->r->filters)
		put_filters(w, w->r->filters, 0, w->end);
	check_foreign(w);
	find_control(w);
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_7, CONTROL(tokens) + 4 * (int)w->r->slot);
	bpf_jump_if(c, BPF_JNE, BPF_REG_1, (int32_t)w->r->token, w->end);
	if (w->r->threads >= 0)
		check_thread(w);
}

/* The daemon decides about a text that is read at the end of the call. */
static void put_text_filters(const struct bpf_writer *w)
{
	struct bpf_code *c = w->code;
	int known = bpf_label(c), passed = bpf_label(c);

	if (w->r->source->texts) {
		bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_8, w->data + BPF_CALL_MARK);
		bpf_jump_if(c, BPF_JEQ, BPF_REG_1, 0, known);
		bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_10, BPF_AT_CONTROL);
		bpf_note_undecided(c, BPF_REG_1);
		bpf_jump(c, passed);
	}
	bpf_here(c, known);
	put_filters(w, w->r->filters, w->data, w->leave);
	bpf_here(c, passed);
}

void bpf_program_body(struct bpf_code *code, const struct bpf_recording *r)
{
	struct bpf_writer w = { .code = code, .r = r, .data = BPF_DATA };

	bpf_code_begin(code);
	if (r->contexts) {
		w.front = (int32_t)((sizeof(uint32_t) + r->contexts->fixed + 7) & ~7u);
		w.data += w.front;
	}
	w.undecided = r->filters && !is_decided_early(r->filters);
	w.most = bpf_record_most(&w);
	w.end = bpf_label(code);
	w.leave = bpf_label(code);
	w.lost = bpf_label(code);
	begin(&w);
	bpf_claim(&w);
	if (r->contexts)
		bpf_contexts_put(code, r->contexts, BPF_DATA + (int)sizeof(uint32_t));
	bpf_record_put(&w);
	if (w.undecided)
		put_text_filters(&w);
	bpf_commit(&w);
	bpf_leave(&w);
}

void bpf_program_late(struct bpf_code *c, const struct bpf_recording *r)
{
	struct bpf_writer w = { .code = c, .r = r, .data = BPF_DATA };

	bpf_code_begin(c);
	w.most = bpf_record_most(&w);
	w.end = bpf_label(c);
	w.leave = bpf_label(c);
	w.lost = bpf_label(c);
	bpf_move(c, BPF_REG_6, BPF_REG_1);
	check_foreign(&w);
	bpf_late_take(&w);
	find_control(&w);
	bpf_claim(&w);
	bpf_record_put(&w);
	bpf_store_number(c, BPF_W, BPF_REG_8, w.data + BPF_CALL_PLACES,
			 (int32_t)bpf_source_places(r->source));
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_10, BPF_AT_OTHER);
	bpf_store(c, BPF_W, BPF_REG_8, w.data + BPF_CALL_MARK, BPF_REG_1);
	bpf_commit(&w);
	bpf_leave(&w);
}

/* ---- what is attached ---- */

/*
 * Continues with the body at this entry of the map in register 2, if there is one. The entry is
 * constant, so the kernel makes this tail call a direct jump (Linux 5.5). An indirect one costs as
 * much as half of the record where the kernel uses retpolines.
 */
static void run_body(struct bpf_code *c, int32_t entry)
{
	bpf_set(c, BPF_REG_3, entry);
	bpf_call(c, BPF_FUNC_tail_call);
}

/*
 * Behind a tail call, where it is executed only if there was none: the program uses a whole stack.
 * A kernel without a compiler for programs runs the body on the stack of the program that was
 * attached; and Linux 6.12 gives that one no more than it uses itself, as seen on riscv64, where a
 * body with contexts wrote over its return address.
 */
static void use_stack(struct bpf_code *c)
{
	bpf_store_number(c, BPF_DW, BPF_REG_10, -BPF_STACK_MAX, 0);
}

void bpf_program_stub(struct bpf_code *code, int bodies, uint32_t entry, bool typed)
{
	bpf_code_begin(code);
	/* Register 1 has the program's data. The call returns only if there is no body. */
	bpf_set_map(code, BPF_REG_2, bodies);
	run_body(code, (int32_t)entry);
	use_stack(code);
	if (typed)
		bpf_finish(code);
	else
		bpf_pass(code);
}

/* Register 0 has the number of the call, which is one of these. */
static void put_jumps(struct bpf_code *code, int32_t first, int32_t end, int done)
{
	int32_t half = first + (end - first) / 2;
	int upper;

	if (end - first == 1) {
		run_body(code, first);
		bpf_jump(code, done);
		return;
	}
	upper = bpf_label(code);
	bpf_jump_if(code, BPF_JGE, BPF_REG_0, half, upper);
	put_jumps(code, first, half, done);
	bpf_here(code, upper);
	put_jumps(code, half, end, done);
}

void bpf_program_calls(struct bpf_code *code, const struct bpf_calls_code *s)
{
	int end, others;

	bpf_code_begin(code);
	end = bpf_label(code);
	others = bpf_label(code);
	/* (Each register that a function leaves as it is takes time to save.) */
	if (s->late_table >= 0)
		bpf_late_look(code, s, end);
	bpf_calls_load(code, s);
	bpf_set_map(code, BPF_REG_2, s->calls);
	bpf_jump_if(code, BPF_JNE, BPF_REG_0, (int32_t)s->first, others);
	run_body(code, (int32_t)s->first);
	use_stack(code);
	bpf_jump(code, end);
	bpf_here(code, others);
	bpf_jump_if(code, BPF_JGE, BPF_REG_0, BPF_CALLS_MAX, end);
	put_jumps(code, 0, BPF_CALLS_MAX, end);
	bpf_here(code, end);
	bpf_pass(code);
}
