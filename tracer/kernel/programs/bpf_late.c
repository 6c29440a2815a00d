// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Texts of a system call that its entry could not read, because their page was not in memory. A
 * program at the entry may not wait for the page. So it records the entry without the text, and
 * notes the thread in a table. The call itself brings the page into memory. The program at sys_exit
 * looks whether the table has the thread; if so, it reads the texts and writes them as a KREC_LATE,
 * with which the daemon completes the entry (bpf_lates.c). A program behind the call's function
 * does the same where the entry's program is before it (bpf_typed.h).
 *
 * While the table is empty, an exit costs three instructions more in a channel that records exits;
 * one that records entries alone has a program at sys_exit for this. A thread takes the place of
 * another one in the table if both ids have the same lowest bits, as no program may wait here: then
 * the text of the other one stays empty.
 */
#include "tracer/kernel/programs/bpf_typed.h"
#include "tracer/kernel/programs/bpf_writer.h"

#define SLOT(member) ((int)offsetof(struct bpf_late_slot, member))

_Static_assert(sizeof(struct bpf_late_slot) == 1 << BPF_LATE_SHIFT, "a slot is found by a shift");

/* Register 4: the slot of the thread in register 2. Changes register 3. */
static void find_slot(struct bpf_code *c, int table)
{
	bpf_move(c, BPF_REG_3, BPF_REG_2);
	bpf_alu(c, BPF_AND, BPF_REG_3, BPF_LATE_SLOTS - 1);
	bpf_alu(c, BPF_LSH, BPF_REG_3, BPF_LATE_SHIFT);
	bpf_set_map_value(c, BPF_REG_4, table, offsetof(struct bpf_late_table, slots));
	bpf_alu_reg(c, BPF_ADD, BPF_REG_4, BPF_REG_3);
}

/* Adds to the number of slots in use. Changes registers 3 and 5. */
static void count_slot(struct bpf_code *c, int table, int32_t more)
{
	bpf_set_map_value(c, BPF_REG_3, table, offsetof(struct bpf_late_table, used));
	bpf_set(c, BPF_REG_5, more);
	bpf_add_atomic(c, BPF_REG_3, 0, BPF_REG_5);
}

/* Jumps if no slot is in use. Changes registers 0 and 2. */
static void jump_if_unused(struct bpf_code *c, int table, int unused)
{
	bpf_set_map_value(c, BPF_REG_2, table, offsetof(struct bpf_late_table, used));
	bpf_load_from(c, BPF_DW, BPF_REG_0, BPF_REG_2, 0);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_0, 0, unused);
}

static void load_thread(struct bpf_code *c)
{
	bpf_call(c, BPF_FUNC_get_current_pid_tgid);
	bpf_low_half(c, BPF_REG_2, BPF_REG_0);
}

void bpf_late_note(const struct bpf_writer *w)
{
	struct bpf_code *c = w->code;
	int taken = bpf_label(c), table = w->r->late_table;

	/* A number that the thread's next record does not have. */
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_10, BPF_AT_TIME);
	bpf_alu(c, BPF_OR, BPF_REG_1, BPF_MARK_LATE | BPF_MARK_UNDECIDED);
	if (!w->undecided)
		bpf_alu(c, BPF_XOR, BPF_REG_1, BPF_MARK_UNDECIDED);
	bpf_store(c, BPF_W, BPF_REG_8, w->data + BPF_CALL_MARK, BPF_REG_1);
	if (table < 0) {
		bpf_here(c, taken);
		return;
	}
	bpf_load_from(c, BPF_W, BPF_REG_2, BPF_REG_10, BPF_AT_THREAD);
	find_slot(c, table);
	bpf_load_from(c, BPF_W, BPF_REG_5, BPF_REG_4, SLOT(thread));
	bpf_jump_if(c, BPF_JNE, BPF_REG_5, 0, taken);
	count_slot(c, table, 1);
	bpf_here(c, taken);
	bpf_store(c, BPF_W, BPF_REG_4, SLOT(mark), BPF_REG_1);
	bpf_store_number(c, BPF_W, BPF_REG_4, SLOT(event), (int32_t)w->r->source->id);
	bpf_store(c, BPF_W, BPF_REG_4, SLOT(thread), BPF_REG_2);
}

void bpf_late_look(struct bpf_code *c, const struct bpf_calls_code *s, int end)
{
	int none = bpf_label(c);

	jump_if_unused(c, s->late_table, none);
	bpf_set_map(c, BPF_REG_2, s->late_bodies);
	bpf_set(c, BPF_REG_3, BPF_LATE_LOOK);
	bpf_call(c, BPF_FUNC_tail_call);
	/* (It is there. The kernel takes register 1 for changed here.) */
	bpf_jump(c, end);
	bpf_here(c, none);
}

void bpf_program_look(struct bpf_code *c, const struct bpf_calls_code *s)
{
	int other, end;

	bpf_code_begin(c);
	other = bpf_label(c);
	end = bpf_label(c);
	bpf_move(c, BPF_REG_6, BPF_REG_1);
	bpf_calls_load(c, s);
	bpf_jump_if(c, BPF_JGE, BPF_REG_0, BPF_CALLS_MAX, end);
	bpf_move(c, BPF_REG_7, BPF_REG_0);
	load_thread(c);
	find_slot(c, s->late_table);
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_4, SLOT(thread));
	bpf_jump_if_reg(c, BPF_JNE, BPF_REG_1, BPF_REG_2, other);
	bpf_move(c, BPF_REG_1, BPF_REG_6);
	bpf_set_map(c, BPF_REG_2, s->late_bodies);
	bpf_move(c, BPF_REG_3, BPF_REG_7);
	bpf_call(c, BPF_FUNC_tail_call);
	bpf_here(c, other);
	bpf_move(c, BPF_REG_1, BPF_REG_6);
	bpf_set_map(c, BPF_REG_2, s->calls);
	bpf_move(c, BPF_REG_3, BPF_REG_7);
	bpf_call(c, BPF_FUNC_tail_call);
	bpf_here(c, end);
	bpf_pass(c);
}

void bpf_late_take(const struct bpf_writer *w)
{
	int table = w->r->late_table;
	struct bpf_code *c = w->code;

	/* Behind a function, no other program has looked at the table (bpf_program_look). */
	if (w->r->late->exits < 0)
		jump_if_unused(c, table, w->end);
	load_thread(c);
	find_slot(c, table);
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_4, SLOT(thread));
	bpf_jump_if_reg(c, BPF_JNE, BPF_REG_1, BPF_REG_2, w->end);
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_4, SLOT(event));
	bpf_jump_if(c, BPF_JNE, BPF_REG_1, (int32_t)w->r->source->id, w->end);
	bpf_load_from(c, BPF_W, BPF_REG_1, BPF_REG_4, SLOT(mark));
	bpf_store(c, BPF_W, BPF_REG_10, BPF_AT_OTHER, BPF_REG_1);
	bpf_store_number(c, BPF_W, BPF_REG_4, SLOT(thread), 0);
	count_slot(c, table, -1);
}

void bpf_late_end(struct bpf_code *c, const struct bpf_late *late)
{
	if (late->exits < 0)
		return;
	bpf_move(c, BPF_REG_1, BPF_REG_6);
	bpf_set_map(c, BPF_REG_2, late->exits);
	bpf_set(c, BPF_REG_3, (int32_t)late->number);
	bpf_call(c, BPF_FUNC_tail_call);
}
