// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of events of a channel. */
#include "tracer/kernel/programs/bpf.h"

#include <string.h>

#include "tracer/base/array.h"

struct bpf_event *bpf_channel_find(struct bpf_channel *c, const char *event)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->events[i].name, event))
			return &c->events[i];
	return NULL;
}

struct bpf_event *bpf_channel_room(struct bpf_channel *c, uint32_t slot, const char *name)
{
	struct bpf_event *e = bpf_channel_find(c, name);

	if (e || strlen(name) >= sizeof(e->name) || !array_room(c->events, c->count + 1))
		return e;
	e = &c->events[c->count++];
	*e = (struct bpf_event){ .slot = slot, .program = -1, .link = -1, .own = -1 };
	strcpy(e->name, name);
	return e;
}

bool bpf_event_by_function(const struct bpf_event *e)
{
	return e->kind == BPF_KIND_TYPED && !strncmp(e->name, "syscalls:", strlen("syscalls:"));
}

/* Of the channel; the programs at sys_enter and sys_exit belong to several of them. */
static bool is_shown(const struct bpf_event *e)
{
	return e->slot < BPF_SLOTS;
}

void bpf_channel_show(const struct bpf_channel *c, struct facts *out)
{
	bool some = c->geometry.by != BACKEND_TRACEFS;
	size_t typed = 0, plain = 0;
	uint64_t unread;

	fact_text(out, "backend", c->whole ? "bpf" : some ? "tracefs and bpf" : "tracefs");
	if (!c->call_stacks && some)
		fact_text(out, "callstack_kernel",
			  "empty at system calls: this kernel gives a program none; the backend "
			  "tracefs records them, without text");
	for (size_t i = 0; i < c->count; i++)
		if (is_shown(&c->events[i]) && c->events[i].kind == BPF_KIND_PLAIN)
			plain++;
		else if (is_shown(&c->events[i]))
			typed++;
	if (typed)
		fact_number(out, "programs_by_arguments", typed);
	/*
	 * Later ones count the events that a program of a tracepoint's record misses, because
	 * another such program runs on the CPU.
	 */
	if (plain && !bpf_kernel_since(6, 7))
		fact_text(out, "program_misses",
			  "not counted: events in interrupts of programs that record records are "
			  "missing, and Linux before 6.7 does not count them");
	unread = __atomic_load_n(&c->unread, __ATOMIC_RELAXED);
	if (unread)
		fact_number(out, "texts_unread", unread);
	if (c->dropped)
		fact_number(out, "rings_dropped", c->dropped);
	for (size_t i = 0; i < c->count; i++)
		if (is_shown(&c->events[i]))
			fact_item(out, "program", "%s %s", c->events[i].name,
				  c->events[i].kind == BPF_KIND_PLAIN        ? "record"
				  : bpf_event_by_function(&c->events[i]) ? "function"
									 : "arguments");
}
