/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to bpf_program.c, bpf_late.c, bpf_claim.c and bpf_record.c: the program that writes a
 * record. It writes above `head` of the ring of its level, where no reader looks, and then moves
 * head.
 *
 * Registers: 6 the program's data or arguments, 7 the CPU's control, then the ring of the level; 8
 * the address of the record less the size of the control, and more by the addresses of stacks in
 * its contexts; 9 the position of the record, then the length of its data.
 */
#ifndef TRACER_BACKEND_BPF_WRITER_H
#define TRACER_BACKEND_BPF_WRITER_H

#include <stddef.h>

#include "tracer/kernel/programs/bpf.h"
#include "tracer/kernel/kevent/ring_page.h"

/* Places on the stack. START: of the record; while a place is found, where its ring begins. */
enum {
	BPF_AT_CPU = -4, BPF_AT_THREAD = -8, BPF_AT_TIME = -16, BPF_AT_POSITION = -24,
	BPF_AT_OTHER = -28, BPF_AT_LEVEL = -32, BPF_AT_CONTROL = -40, BPF_AT_START = -48,
};

_Static_assert((int)BPF_AT_START >= (int)BPF_PLACE_CONTEXTS, "contexts have the rest");

/* Offsets from register 8 of a record, of its data. */
enum { BPF_RECORD = BPF_CONTROL, BPF_DATA = BPF_CONTROL + sizeof(struct krec) };

/* Bytes of a tracepoint's record that follow the fixed part; of a string. */
enum { BPF_DYNAMIC_BYTES = 4096, BPF_STRING_BYTES = 4096 };

struct bpf_writer {
	struct bpf_code *code;
	const struct bpf_recording *r;
	int32_t front;                  /* bytes of the contexts, without addresses of stacks */
	int data;                       /* offset of the record's data from register 8 */
	uint32_t most;                  /* bytes of a record */
	/*
	 * Labels. end: nothing was claimed. leave: the program gives its level back. lost: the
	 * same, and the event is counted as lost before.
	 */
	int end, leave, lost;
	/*
	 * Of bpf_claim: what is rare stands behind all else. The kernel checks a program along the
	 * path that jumps nowhere first, and leaves others out that come to a place where it has
	 * been, and where less may hold. nested: another program was interrupted; ready: there is a
	 * place. Of a place in the first ring, in another one: first: the sub-buffer would begin
	 * there; full: the record does not fit; fits: it does.
	 */
	int nested, ready;
	struct { int first, full, fits; } place[2];
	bool loses;                     /* some code jumps to lost */
	bool undecided;                 /* filters of text decide when the record is written */
};

/* ---- bpf_claim.c ---- */

/* Takes a level, notes time and thread, and finds a place for the record: registers 7, 8, 9. */
void bpf_claim(struct bpf_writer *w);
/* The record counts from now on. */
void bpf_commit(struct bpf_writer *w);
/* Where leave, lost and end lead to. */
void bpf_leave(struct bpf_writer *w);
/* Counts an event about which filters have not decided. control: a register with its address. */
void bpf_note_undecided(struct bpf_code *c, int control);
/* Stores the thread's id. */
void bpf_note_thread(const struct bpf_writer *w);
/* Register 0: the number at this offset of the thread's structure. */
void bpf_load_task(struct bpf_code *c, int offset);

/* ---- bpf_late.c ---- */

/* Notes in the record, and for the end of the call, that a text could not be read. */
void bpf_late_note(const struct bpf_writer *w);
/* Takes the thread's slot; the mark is at BPF_AT_OTHER then. Ends the program if it has none. */
void bpf_late_take(const struct bpf_writer *w);
/* The program at the end of the call has read the texts: jumps to the body of the exit. */
void bpf_late_end(struct bpf_code *c, const struct bpf_late *late);

/* ---- bpf_record.c ---- */

/* Writes the record's data; register 9 becomes its length. */
void bpf_record_put(struct bpf_writer *w);
/* The most bytes of a record, with its header: it is whole in one sub-buffer. */
uint32_t bpf_record_most(const struct bpf_writer *w);

#endif
