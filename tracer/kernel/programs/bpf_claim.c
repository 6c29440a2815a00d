// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a program writes its record: its level and the ring of this level (struct bpf_control). */
#include "tracer/kernel/programs/bpf_typed.h"
#include "tracer/kernel/programs/bpf_writer.h"

#define CONTROL(member) ((int)offsetof(struct bpf_control, member))
/* Of register 7: the first level's ring is where the control begins. */
#define RING(member) ((int)offsetof(struct kring, member))

_Static_assert(offsetof(struct bpf_control, levels) == 0, "a level's ring is found by its size");
_Static_assert(sizeof(((struct bpf_control *)0)->levels[0]) == 128, "by a shift");
_Static_assert(sizeof(struct bpf_control) <= BPF_CONTROL, "it has room");

enum { LEVEL_SHIFT = 7 };

void bpf_load_task(struct bpf_code *c, int offset)
{
	bpf_call(c, BPF_FUNC_get_current_task_btf);
	bpf_load_from(c, BPF_W, BPF_REG_0, BPF_REG_0, offset);
}

void bpf_note_thread(const struct bpf_writer *w)
{
	struct bpf_code *c = w->code;

	if (w->r->typed && w->r->typed->task->tid)
		bpf_load_task(c, w->r->typed->task->tid);
	else
		bpf_call(c, BPF_FUNC_get_current_pid_tgid);
	bpf_store(c, BPF_W, BPF_REG_10, BPF_AT_THREAD, BPF_REG_0);
}

void bpf_note_undecided(struct bpf_code *c, int control)
{
	bpf_set(c, BPF_REG_2, 1);
	bpf_add_atomic(c, control, CONTROL(undecided), BPF_REG_2);
}

/* Calls a function of the kernel, if there is one to call. */
static void change_preemption(const struct bpf_writer *w, bool on)
{
	if (w->r->typed && w->r->typed->preempt[0])
		bpf_call_kernel(w->code, w->r->typed->preempt[on]);
}

/* ---- a place ---- */

/*
 * Register 8, from the position in register 9, which is a multiple of 8: the mask says so to the
 * kernel, which on some processors (riscv64) takes no program that might store across such places.
 */
static void find_record(const struct bpf_writer *w, bool nested)
{
	const struct kring_shape *g = nested ? &w->r->ring->nested : &w->r->ring->geo;
	struct bpf_code *c = w->code;

	if (nested)
		bpf_load_from(c, BPF_DW, BPF_REG_0, BPF_REG_10, BPF_AT_START);
	bpf_move(c, BPF_REG_8, BPF_REG_9);
	bpf_alu(c, BPF_AND, BPF_REG_8, (int32_t)(g->total - 8));
	bpf_alu_reg(c, BPF_ADD, BPF_REG_8, nested ? BPF_REG_0 : BPF_REG_7);
}

/* The header of a record at register 8, but its length. */
static void put_header(const struct bpf_writer *w, enum krec_kind kind)
{
	struct bpf_code *c = w->code;

	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_10, BPF_AT_TIME);
	bpf_store(c, BPF_DW, BPF_REG_8, BPF_RECORD + (int)offsetof(struct krec, ts), BPF_REG_1);
	bpf_store_number(c, BPF_W, BPF_REG_8, BPF_RECORD + (int)offsetof(struct krec, kind),
			 (int32_t)kind);
}

static void put_length(const struct bpf_writer *w, int reg)
{
	bpf_store(w->code, BPF_W, BPF_REG_8, BPF_RECORD + (int)offsetof(struct krec, len), reg);
}

/*
 * Register 2 has the position of a sub-buffer that follows the position in register 9. In discard
 * mode: the event is lost if the sub-buffer is not free.
 */
static void check_room(struct bpf_writer *w, const struct kring_shape *g)
{
	struct bpf_code *c = w->code;

	if (w->r->ring->overwrite)
		return;
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_7, RING(consumed));
	bpf_alu(c, BPF_ADD, BPF_REG_1, (int32_t)g->total);
	bpf_move(c, BPF_REG_3, BPF_REG_2);
	bpf_alu(c, BPF_ADD, BPF_REG_3, (int32_t)g->size);
	bpf_jump_if_reg(c, BPF_JGT, BPF_REG_3, BPF_REG_1, w->lost);
	w->loses = true;
}

/* Stores the position in register 1 and the number of events in register 2 to `reserve`. */
static void put_reserve(const struct bpf_writer *w)
{
	struct bpf_code *c = w->code;

	bpf_move(c, BPF_REG_3, BPF_REG_1);
	bpf_alu(c, BPF_RSH, BPF_REG_3, 3);
	bpf_move(c, BPF_REG_4, BPF_REG_2);
	bpf_alu(c, BPF_LSH, BPF_REG_4, KRING_EVENTS_SHIFT);
	bpf_alu_reg(c, BPF_OR, BPF_REG_3, BPF_REG_4);
	bpf_publish(c, BPF_REG_7, RING(reserve), BPF_REG_3);
}

/* Begins the sub-buffer at the position in register 2; register 9 becomes the first place in it. */
static void begin_subbuf(const struct bpf_writer *w, bool nested)
{
	struct bpf_code *c = w->code;
	int no_pad = bpf_label(c);

	bpf_store(c, BPF_DW, BPF_REG_10, BPF_AT_POSITION, BPF_REG_2);
	/* Before a byte of the sub-buffer changes, readers must see that it does. */
	bpf_move(c, BPF_REG_1, BPF_REG_2);
	bpf_alu(c, BPF_ADD, BPF_REG_1, (int32_t)sizeof(struct krec_begin));
	bpf_load_from(c, BPF_DW, BPF_REG_2, BPF_REG_7, RING(events));
	put_reserve(w);
	bpf_load_from(c, BPF_DW, BPF_REG_2, BPF_REG_10, BPF_AT_POSITION);
	bpf_alu_reg(c, BPF_SUB, BPF_REG_2, BPF_REG_9);
	bpf_jump_if(c, BPF_JLT, BPF_REG_2, (int32_t)sizeof(struct krec), no_pad);
	find_record(w, nested);
	put_header(w, KREC_PAD);
	bpf_alu(c, BPF_SUB, BPF_REG_2, (int32_t)sizeof(struct krec));
	put_length(w, BPF_REG_2);
	bpf_here(c, no_pad);
	bpf_load_from(c, BPF_DW, BPF_REG_9, BPF_REG_10, BPF_AT_POSITION);
	find_record(w, nested);
	put_header(w, KREC_BEGIN);
	bpf_set(c, BPF_REG_1, (int32_t)sizeof(uint64_t));
	put_length(w, BPF_REG_1);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_7, RING(events));
	bpf_store(c, BPF_DW, BPF_REG_8, BPF_DATA, BPF_REG_1);
	bpf_alu(c, BPF_ADD, BPF_REG_9, (int32_t)sizeof(struct krec_begin));
}

/* Registers 8 and 9: a place for the record. */
static void find_place(struct bpf_writer *w, bool nested)
{
	const struct kring_shape *g = nested ? &w->r->ring->nested : &w->r->ring->geo;
	struct bpf_code *c = w->code;
	int32_t size = (int32_t)g->size;

	bpf_note_thread(w);
	bpf_call(c, BPF_FUNC_ktime_get_ns);
	bpf_store(c, BPF_DW, BPF_REG_10, BPF_AT_TIME, BPF_REG_0);
	bpf_load_from(c, BPF_DW, BPF_REG_9, BPF_REG_7, RING(head));
	bpf_move(c, BPF_REG_1, BPF_REG_9);
	bpf_alu(c, BPF_AND, BPF_REG_1, size - 1);
	/* A position at the beginning of a sub-buffer: the one before is full, or there is none. */
	bpf_jump_if(c, BPF_JEQ, BPF_REG_1, 0, w->place[nested].first);
	bpf_jump_if(c, BPF_JGT, BPF_REG_1, size - (int32_t)w->most, w->place[nested].full);
	bpf_here(c, w->place[nested].fits);
	bpf_store(c, BPF_DW, BPF_REG_10, BPF_AT_POSITION, BPF_REG_9);
	find_record(w, nested);
}

/* Where find_place jumps to. */
static void find_next(struct bpf_writer *w, bool nested)
{
	const struct kring_shape *g = nested ? &w->r->ring->nested : &w->r->ring->geo;
	struct bpf_code *c = w->code;
	int next = bpf_label(c);

	bpf_here(c, w->place[nested].full);
	bpf_move(c, BPF_REG_2, BPF_REG_9);
	bpf_alu(c, BPF_OR, BPF_REG_2, (int32_t)g->size - 1);
	bpf_alu(c, BPF_ADD, BPF_REG_2, 1);
	bpf_jump(c, next);
	bpf_here(c, w->place[nested].first);
	bpf_move(c, BPF_REG_2, BPF_REG_9);
	bpf_here(c, next);
	check_room(w, g);
	begin_subbuf(w, nested);
	bpf_jump(c, w->place[nested].fits);
}

/* ---- a level ---- */

/* Register 1 has the number of the level, above 0. */
static void take_level(struct bpf_writer *w)
{
	const struct bpf_ring *r = w->r->ring;
	struct bpf_code *c = w->code;
	int some = bpf_label(c);

	bpf_jump_if(c, BPF_JLT, BPF_REG_1, BPF_LEVELS, some);
	if (w->undecided)
		bpf_note_undecided(c, BPF_REG_7);
	bpf_set(c, BPF_REG_1, 1);
	bpf_add_atomic(c, BPF_REG_7, CONTROL(deep), BPF_REG_1);
	change_preemption(w, true);
	bpf_jump(c, w->end);
	bpf_here(c, some);
	bpf_store(c, BPF_W, BPF_REG_10, BPF_AT_LEVEL, BPF_REG_1);
	bpf_move(c, BPF_REG_2, BPF_REG_1);
	bpf_alu(c, BPF_ADD, BPF_REG_2, 1);
	bpf_store(c, BPF_W, BPF_REG_7, RING(nest), BPF_REG_2);
	bpf_alu(c, BPF_SUB, BPF_REG_2, 2);
	bpf_alu(c, BPF_MUL, BPF_REG_2, (int32_t)r->nested_stride);
	bpf_alu(c, BPF_ADD, BPF_REG_2, (int32_t)(r->nested_at - BPF_CONTROL));
	bpf_move(c, BPF_REG_3, BPF_REG_7);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_3, BPF_REG_2);
	bpf_store(c, BPF_DW, BPF_REG_10, BPF_AT_START, BPF_REG_3);
	bpf_alu(c, BPF_LSH, BPF_REG_1, LEVEL_SHIFT);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_7, BPF_REG_1);
}

void bpf_claim(struct bpf_writer *w)
{
	struct bpf_code *c = w->code;

	w->nested = bpf_label(c);
	w->ready = bpf_label(c);
	for (int nested = 0; nested < 2; nested++) {
		w->place[nested].first = bpf_label(c);
		w->place[nested].full = bpf_label(c);
		w->place[nested].fits = bpf_label(c);
	}
	bpf_store(c, BPF_DW, BPF_REG_10, BPF_AT_CONTROL, BPF_REG_7);
	change_preemption(w, false);
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_7, RING(nest));
	bpf_jump_if(c, BPF_JGE, BPF_REG_1, 1, w->nested);
	bpf_store_number(c, BPF_W, BPF_REG_7, RING(nest), 1);
	bpf_store_number(c, BPF_W, BPF_REG_10, BPF_AT_LEVEL, 0);
	find_place(w, false);
	bpf_here(c, w->ready);
	if (w->r->contexts)
		bpf_store(c, BPF_DW, BPF_REG_10, BPF_AT_START, BPF_REG_8);
}

/* The rest of bpf_claim. */
static void put_rare(struct bpf_writer *w)
{
	struct bpf_code *c = w->code;

	find_next(w, false);
	bpf_here(c, w->nested);
	take_level(w);
	find_place(w, true);
	bpf_jump(c, w->ready);
	find_next(w, true);
}

void bpf_commit(struct bpf_writer *w)
{
	const struct bpf_contexts *contexts = w->r->contexts;
	struct bpf_code *c = w->code;

	if (contexts) {
		/* Register 1: bytes of the contexts. */
		if (contexts->stacks)
			bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_10, BPF_PLACE_STACKS);
		else
			bpf_set(c, BPF_REG_1, 0);
		bpf_alu_reg(c, BPF_ADD, BPF_REG_9, BPF_REG_1);
		bpf_alu(c, BPF_ADD, BPF_REG_9, w->front);
		bpf_alu(c, BPF_ADD, BPF_REG_1, (int32_t)contexts->fixed);
		bpf_load_from(c, BPF_DW, BPF_REG_8, BPF_REG_10, BPF_AT_START);
		bpf_store(c, BPF_W, BPF_REG_8, BPF_DATA, BPF_REG_1);
	}
	put_header(w, w->r->late ? KREC_LATE : contexts ? KREC_CONTEXTS : KREC_EVENT);
	put_length(w, BPF_REG_9);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_10, BPF_AT_POSITION);
	bpf_alu(c, BPF_ADD, BPF_REG_9, (int32_t)sizeof(struct krec) + 7);
	bpf_alu(c, BPF_AND, BPF_REG_9, -8);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_1, BPF_REG_9);
	bpf_load_from(c, BPF_DW, BPF_REG_2, BPF_REG_7, RING(events));
	if (!w->r->late) {
		bpf_alu(c, BPF_ADD, BPF_REG_2, 1);
		bpf_store(c, BPF_DW, BPF_REG_7, RING(events), BPF_REG_2);
	}
	put_reserve(w);
	bpf_publish(c, BPF_REG_7, RING(head), BPF_REG_1);
}

/* The kernel refuses code that nothing jumps to. */
void bpf_leave(struct bpf_writer *w)
{
	struct bpf_code *c = w->code;

	bpf_here(c, w->leave);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_10, BPF_AT_CONTROL);
	bpf_load_from(c, BPF_W, BPF_REG_2, BPF_REG_10, BPF_AT_LEVEL);
	bpf_store(c, BPF_W, BPF_REG_1, RING(nest), BPF_REG_2);
	change_preemption(w, true);
	bpf_here(c, w->end);
	if (w->r->late)
		bpf_late_end(c, w->r->late);
	if (w->r->typed)
		bpf_finish(c);
	else
		bpf_pass(c);
	put_rare(w);
	if (!w->loses)
		return;
	bpf_here(c, w->lost);
	if (w->r->late) {               /* no event is lost */
		bpf_jump(c, w->leave);
		return;
	}
	if (w->undecided) {
		bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_10, BPF_AT_CONTROL);
		bpf_note_undecided(c, BPF_REG_1);
	}
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_7, RING(lost));
	bpf_alu(c, BPF_ADD, BPF_REG_1, 1);
	bpf_store(c, BPF_DW, BPF_REG_7, RING(lost), BPF_REG_1);
	bpf_jump(c, w->leave);
}
