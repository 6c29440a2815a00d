/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code addresses of events by name: the contexts callstack-user, callstack-kernel and ip, and the
 * functions that lttng_ust_cyg_profile records. Names come from what the trace says about the
 * mappings of processes (state dumps, loaded libraries) and from the system (symbol/symbol.h).
 *
 * The process of an event is that of the context pid, else vpid, tid or vtid, else of the trace.
 *
 * One struct stacks serves one view of the events. Its lock guards all of it, and is the innermost
 * but those of symbol/.
 */
#ifndef TRACER_VIEW_STACK_H
#define TRACER_VIEW_STACK_H

#include "metadata/buf.h"
#include "tracer/session/streams.h"
#include "tracer/kernel/symbol/symbol.h"
#include "tracer/view/cursor.h"

#define STACK_DEPTH 130         /* further addresses of a stack are left out */

struct stacks;

/*
 * Reads all events that are held, and collects the mappings; returns 0, and none in *out if there
 * is no memory. -errno as merge_look_session.
 */
int stacks_create(struct session *s, struct stacks **out);
void stacks_destroy(struct stacks *k);  /* NULL is allowed */

enum stacks_form {
	/* a part of a line: `, { callstack_user = [ [0] = "inner+0x12 (prog)", [1] = … ] }` */
	STACKS_TEXT,
	/* a part of a JSON object: `,"symbols":{"callstack_user":["inner+0x12 (prog)",…]}` */
	STACKS_JSON,
	STACKS_OBJECT,          /* that object alone */
};

/*
 * Appends the addresses of the cursor's event to `out`; a line is there, and ends with a newline.
 * Without addresses it appends nothing. Collects the event if it is about a mapping.
 */
void stacks_put(struct stacks *k, uint64_t clock_offset, const struct cursor *c,
		enum stacks_form form, struct md_buf *out);

struct stack {                  /* of one event, innermost first: the kernel's, then the user's */
	struct symbol frames[STACK_DEPTH];
	uint32_t count;
};

/* Whether events of this class have callstacks. */
bool stacks_of(const struct md_stream *class, const struct md_event *e);
/* Whether the stream has such events. */
bool stacks_has(const struct stream *s);
/* The callstacks of the cursor's event. False: it has none. Collects mappings as stacks_put. */
bool stacks_read(struct stacks *k, uint64_t clock_offset, const struct cursor *c,
		 struct stack *out);
/* The name of one address of the event's process. */
void stacks_find(struct stacks *k, uint64_t clock_offset, const struct cursor *c, uint64_t address,
		 struct symbol *out);

#endif
