// SPDX-License-Identifier: GPL-2.0-or-later
/* Contexts of an event of the kernel: what the thread was that recorded it. */
#include <stdio.h>
#include <string.h>

#include "tracer/abi/ring_write.h"
#include "tracer/base/context/kernel_context.h"
#include "tracer/kernel/kernel.h"

static const struct kthread *find_thread(struct event_origin *w)
{
	if (!w->asked) {
		kernel_thread(w->kernel, w->ts, w->tid, &w->is);
		if (!w->tid)
			snprintf(w->is.comm, sizeof(w->is.comm), "swapper/%u", w->cpu);
		w->asked = true;
	}
	return &w->is;
}

/* What /proc has. False: it is unknown. */
static bool find_status(struct event_origin *w, uint32_t kind, int64_t *value)
{
	uint32_t need = kstatus_need(kind);

	if (need & ~w->has) {
		w->has |= need;
		for (uint32_t i = 0; w->kc && i < w->kc->context_count; i++)
			w->has |= kstatus_need(w->kc->contexts[i]);
		kernel_status(w->kernel, w->ts, w->tid, w->has, &w->status);
	}
	return kstatus_value(&w->status, kind, value);
}

static const struct record_stack *stack_of(const struct event_origin *w, uint32_t kind)
{
	return kind == TRAIL_CONTEXT_CALLSTACK_KERNEL ? &w->stacks[RECORD_STACK_KERNEL]
	       : kind == TRAIL_CONTEXT_CALLSTACK_USER ? &w->stacks[RECORD_STACK_USER]
						      : NULL;
}

static size_t put_stack(const struct record_stack *stack, uint8_t *at)
{
	memcpy(at, &stack->count, sizeof(stack->count));
	if (stack->count)
		memcpy(at + sizeof(stack->count), stack->addresses, 8 * (size_t)stack->count);
	return sizeof(stack->count) + 8 * (size_t)stack->count;
}

static size_t put_context(struct event_origin *w, uint32_t kind, uint8_t *at)
{
	size_t size = kcontext_size(kind);
	int32_t value;
	int64_t of_proc;

	if (stack_of(w, kind))
		return put_stack(stack_of(w, kind), at);
	memset(at, 0, size);
	if (kstatus_need(kind)) {
		find_status(w, kind, &of_proc);
		value = (int32_t)of_proc;
		memcpy(at, &value, sizeof(value));
		return size;
	}
	if (kind == TRAIL_CONTEXT_PROCNAME) {
		memcpy(at, find_thread(w)->comm, KTHREAD_COMM);
		return size;
	}
	value = kind == TRAIL_CONTEXT_CPU_ID ? (int32_t)w->cpu
		: kind == TRAIL_CONTEXT_PID  ? find_thread(w)->pid
		: kind == TRAIL_CONTEXT_PPID ? find_thread(w)->ppid
					     : w->tid;
	if (kind == TRAIL_CONTEXT_CPU_ID || kind == TRAIL_CONTEXT_PID ||
	    kind == TRAIL_CONTEXT_TID || kind == TRAIL_CONTEXT_PPID)
		memcpy(at, &value, sizeof(value));
	return size;
}

size_t event_origin_size(const struct event_origin *w, const struct kchannel *kc)
{
	size_t size = kc->context_size;

	if (w->contexts)
		return w->contexts_len;
	for (uint32_t i = 0; i < kc->context_count; i++)
		if (stack_of(w, kc->contexts[i]))
			size += 8 * (size_t)stack_of(w, kc->contexts[i])->count;
	return size;
}

void event_origin_put(struct event_origin *w, const struct kchannel *kc, uint8_t *at)
{
	if (w->contexts) {
		memcpy(at, w->contexts, w->contexts_len);
		return;
	}
	for (uint32_t i = 0; i < kc->context_count; i++)
		at += put_context(w, kc->contexts[i], at);
}

/* A context that the backend has not recorded. False: it is unknown. */
static bool find_value(struct event_origin *w, uint32_t kind, struct filter_value *out)
{
	*out = (struct filter_value){ .type = FILTER_SIGNED };
	switch (kind) {
	case TRAIL_CONTEXT_CPU_ID:
		out->i = w->cpu;
		return true;
	case TRAIL_CONTEXT_TID:
		out->i = w->tid;
		return true;
	case TRAIL_CONTEXT_PID:
		out->i = find_thread(w)->pid;
		return out->i >= 0;
	case TRAIL_CONTEXT_PPID:
		out->i = find_thread(w)->ppid;
		return out->i >= 0;
	case TRAIL_CONTEXT_PROCNAME:
		*out = (struct filter_value){ .type = FILTER_STRING,
					      .s = find_thread(w)->comm,
					      .len = strnlen(find_thread(w)->comm, KTHREAD_COMM) };
		return out->len > 0;
	default:
		if (kcontext_value_type(kind) == FILTER_UNSIGNED)
			out->type = FILTER_UNSIGNED;
		return kstatus_need(kind) && find_status(w, kind, &out->i);
	}
}

bool event_origin_value(void *who, uint32_t kind, const char *name, struct filter_value *out)
{
	struct event_origin *w = who;
	const uint8_t *at = w->contexts ? kcontext_find(w->kc->contexts, w->kc->context_count, kind,
							w->contexts, w->contexts_len)
					: NULL;

	(void)name;
	if (at) {
		kcontext_value(kind, at, out);
		return out->type != FILTER_NONE;
	}
	if (find_value(w, kind, out))
		return true;
	/* (An idle thread has nothing in /proc.) */
	w->unknown |= w->tid != 0;
	return false;
}

void event_origin_lose(struct trail_ring *ring)
{
	ring_lost(ring, 1);
	__atomic_fetch_add(&ring->source_unfiltered, 1, __ATOMIC_RELAXED);
}

enum origin_in event_origin_is_in(struct event_origin *w, const struct track *only)
{
	static const struct { int attr; uint32_t kind; } by[] = {
		{ TRACK_KERNEL_VPID, TRAIL_CONTEXT_VPID },
		{ TRACK_KERNEL_UID, TRAIL_CONTEXT_UID },
		{ TRACK_KERNEL_GID, TRAIL_CONTEXT_GID },
	};
	enum origin_in in = ORIGIN_IN;
	int64_t value;

	for (size_t i = 0; i < sizeof(by) / sizeof(*by); i++) {
		if (!only[by[i].attr].some)
			continue;
		/* Idle threads have no file in /proc. */
		if (!w->tid)
			value = 0;
		else if (!find_status(w, by[i].kind, &value)) {
			in = ORIGIN_UNKNOWN;
			continue;
		}
		if (!track_has(&only[by[i].attr], (uint32_t)value))
			return ORIGIN_OUT;
	}
	return in;
}
