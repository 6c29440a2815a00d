// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/programs/bpf_typed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/kernel/kevent/ring_page.h"

#define SYSTEM "syscalls:"
#define ENTRY SYSTEM "sys_enter_"
#define EXIT SYSTEM "sys_exit_"

/* The first version that may preempt programs which get the arguments of tracepoints. */
enum { PREEMPTIBLE = 7 };

struct bpf_types {
	struct btf *btf;
	unsigned int users;             /* channels */
	uint32_t preempt[2];
	uint64_t pages;         /* of bpf_pages_find; 0: not looked for; UINT64_MAX: in vain */
	bool no_functions;      /* the kernel attaches no program to a function */
	struct bpf_expression foreign;  /* count 0: not known */
	struct bpf_task task;
};

/* ---- the kernel's types ---- */

/* The offset of a member; 0: not known. */
static uint16_t find_member(const struct btf *b, const char *structure, const char *name)
{
	uint32_t type = btf_structure(b, structure, strlen(structure));
	struct btf_member m;

	return type && btf_find_member(b, type, name, strlen(name), &m) && !m.bits &&
			       m.offset % 8 == 0 && m.offset / 8 <= INT16_MAX
		       ? (uint16_t)(m.offset / 8)
		       : 0;
}

/*
 * 0; -ENOENT: the kernel has no types, or preempts programs and lacks the functions against that.
 */
static int load_types(struct bpf_types *t)
{
	static const char *const functions[2] = { "bpf_preempt_disable", "bpf_preempt_enable" };
	int ret = btf_load(BTF_FILE, NULL, &t->btf);

	if (ret)
		return ret == -ENOMEM ? ret : -ENOENT;
	for (int i = 0; i < 2; i++) {
		t->preempt[i] = btf_function_type(t->btf, functions[i], strlen(functions[i]));
		if (!t->preempt[i] && bpf_kernel_since(PREEMPTIBLE, 0))
			return -ENOENT;
	}
	/* (Before, programs may not load from the structure.) */
	if (bpf_kernel_since(5, 11))
		t->task = (struct bpf_task){ find_member(t->btf, "task_struct", "pid"),
					     find_member(t->btf, "task_struct", "tgid") };
	/* A call of 32 bits (TS_COMPAT) has another table, and tracefs does not record it. */
	if (bpf_expression_parse("current->thread_info.status & 2", t->btf, 0, &t->foreign))
		t->foreign.count = 0;
	return 0;
}

/* NULL: there are none; *error says why. */
static const struct bpf_types *get_types(struct bpf_channel *c, int *error)
{
	struct backend *b = c->b;
	struct bpf_types *t;

	pthread_mutex_lock(&b->lock);
	if (!b->types)
		b->types = calloc(1, sizeof(*b->types));
	t = b->types;
	*error = !t ? -ENOMEM : t->btf ? 0 : load_types(t);
	if (*error && t) {
		btf_free(t->btf);
		t->btf = NULL;
		tr_fail(&c->why, *error, "this kernel does not describe its types (BTF)");
	} else if (t && !c->has_types) {
		c->has_types = true;
		t->users++;
	}
	pthread_mutex_unlock(&b->lock);
	return *error ? NULL : t;
}

void bpf_typed_done(struct bpf_channel *c)
{
	struct backend *b = c->b;

	if (!c->has_types)
		return;
	c->has_types = false;
	pthread_mutex_lock(&b->lock);
	if (!--b->types->users) {
		btf_free(b->types->btf);
		free(b->types);
		b->types = NULL;
	}
	pthread_mutex_unlock(&b->lock);
}

/* ---- system calls ---- */

bool bpf_typed_number(const char *event, bool *exit, uint32_t *number)
{
#ifdef __x86_64__
	static const struct { uint32_t number; const char *name; } calls[] = {
#define CALL(number, name) { number, #name },
#include "tracer/kernel/programs/call_numbers.def"
#undef CALL
	};
	const char *name;

	*exit = !strncmp(event, EXIT, strlen(EXIT));
	if (!*exit && strncmp(event, ENTRY, strlen(ENTRY)))
		return false;
	name = event + strlen(*exit ? EXIT : ENTRY);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(calls[i].name, name) && calls[i].number < BPF_CALLS_MAX) {
			*number = calls[i].number;
			return true;
		}
#endif
	(void)event, (void)exit, (void)number;
	return false;
}

static const char *calls_event(bool exit)
{
	return exit ? "sys_exit" : "sys_enter";
}

const char *bpf_typed_program(bool exit)
{
	return exit ? "#exit" : "#enter";
}

/* A call's arguments are in these registers. */
static const char *const registers[BPF_ARGUMENTS] = {
	"$1->di", "$1->si", "$1->dx", "$1->r10", "$1->r8", "$1->r9",
};

static int add_number(struct bpf_tracepoint *t, const struct btf *b, uint32_t proto, uint8_t size,
		      uint32_t offset, const char *expression)
{
	const struct bpf_field f = { .kind = BPF_FIELD_NUMBER, .size = size,
				     .offset = (uint16_t)offset };

	return bpf_tracepoint_add(t, b, proto, &f, expression);
}

/*
 * The function that executes the call of an entry; type 0: there is none, or it may return to the
 * process another way than it was called, or not at all.
 */
static struct bpf_hook find_function(const struct btf *b, const char *event, bool after)
{
	static const char *const others[] = { "clone", "clone3", "fork", "vfork", "exit",
					      "exit_group" };
	const char *name = event + strlen(ENTRY);
	struct bpf_hook hook = { 0, after ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY };
	char function[BPF_EVENT_NAME];

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(name, others[i]))
			return hook;
	snprintf(function, sizeof(function), "__x64_sys_%.*s", (int)sizeof(function) - 11, name);
	hook.type = btf_function_type(b, function, strlen(function));
	return hook;
}

/*
 * Sets what a program of the call is attached to. *proto: its arguments, which are the registers
 * and, after the call, the result; a function's program has them at the same places as a program of
 * sys_exit.
 */
static int find_hook(const struct btf *b, const char *event, bool after, bool function,
		     struct bpf_tracepoint *t, uint32_t *proto)
{
	uint32_t type = bpf_tracepoint_type(b, calls_event(after || function), proto);

	t->hook = function ? find_function(b, event, after)
			   : (struct bpf_hook){ type, BPF_TRACE_RAW_TP };
	return type && t->hook.type ? 0 : -ENOENT;
}

static int describe_call(const struct btf *b, const char *event, const struct bpf_source *s,
			 bool function, struct bpf_tracepoint *t)
{
	struct bpf_field text = { .kind = BPF_FIELD_USER_STRING, .size = 4 };
	uint32_t proto;
	int ret = find_hook(b, event, s->exit, function, t, &proto);

	/*
	 * The trace has neither the number nor the mark after it, which is 0 in an entry here: a
	 * program may set the upper half of the register with the number.
	 */
	if (!ret)
		ret = add_number(t, b, proto, s->exit ? 4 : 8, KRECORD_HEADER,
				 s->exit    ? "+$1->orig_ax"
				 : function ? "+($1->orig_ax & 0x7fffffff)"
					    : "+$2");
	if (!ret && s->exit)
		return add_number(t, b, proto, 8, BPF_CALL_FIXED, "+$2");
	for (uint32_t i = 0; i < s->count && !ret; i++)
		ret = add_number(t, b, proto, 8, BPF_CALL_FIXED + 8 * i, registers[i]);
	for (uint32_t i = 0; i < s->texts && !ret; i++) {
		text.offset = (uint16_t)(bpf_source_places(s) + 4 * i);
		ret = bpf_tracepoint_add(t, b, proto, &text, registers[s->text[i]]);
	}
	return ret;
}

/*
 * The arguments are still in their registers, except after a successful execve. The new program's
 * memory has a copy of its text, after the environment.
 */
static int describe_late(const struct btf *b, const char *event, const struct bpf_source *s,
			 bool function, struct bpf_tracepoint *t)
{
	struct bpf_field text = { .kind = BPF_FIELD_USER_STRING, .size = 4 };
	bool execve = !strcmp(event, ENTRY "execve");
	uint32_t proto;
	int ret = find_hook(b, event, true, function, t, &proto);

	for (uint32_t i = 0; i < s->texts && !ret; i++) {
		text.offset = (uint16_t)(bpf_source_places(s) + 4 * i);
		ret = bpf_tracepoint_add(t, b, proto, &text,
					 execve ? "+$2 == 0 ? current->mm->env_end : $1->di"
						: registers[s->text[i]]);
	}
	return ret;
}

int bpf_typed_calls(struct bpf_channel *c, bool exit, uint32_t *type, struct bpf_calls_code *code)
{
	const struct bpf_types *t;
	uint32_t proto;
	int ret;

	t = get_types(c, &ret);
	if (!t)
		return ret;
	*type = bpf_tracepoint_type(t->btf, calls_event(exit), &proto);
	code->exit = exit;
	code->number = find_member(t->btf, "pt_regs", "orig_ax");
	return *type && (!exit || code->number) ? 0 : -ENOENT;
}

void bpf_calls_load(struct bpf_code *code, const struct bpf_calls_code *s)
{
	if (s->exit) {
		bpf_load_from(code, BPF_DW, BPF_REG_0, BPF_REG_1, 0);
		bpf_load_from(code, BPF_W, BPF_REG_0, BPF_REG_0, s->number);
		return;
	}
	bpf_load_from(code, BPF_DW, BPF_REG_0, BPF_REG_1, 8);
	/* Of the register with the number, the kernel takes the lower half: later ones before. */
	if (!bpf_kernel_since(5, 14))
		bpf_low_half(code, BPF_REG_0, BPF_REG_0);
}

void bpf_typed_no_functions(struct bpf_channel *c)
{
	pthread_mutex_lock(&c->b->lock);
	if (c->has_types)
		c->b->types->no_functions = true;
	pthread_mutex_unlock(&c->b->lock);
}

/* A program that may be preempted calls the functions against that. */
static void set_types(const struct bpf_types *t, bool function, struct bpf_typed *out)
{
	out->task = &t->task;
	if (function || bpf_kernel_since(PREEMPTIBLE, 0))
		memcpy(out->preempt, t->preempt, sizeof(out->preempt));
}

/* Sets all of *out but the description of the tracepoint. NULL: *error. */
static const struct bpf_types *begin_call(struct bpf_channel *c, const char *event, bool function,
					  struct bpf_typed *out, int *error)
{
	const struct bpf_types *t = get_types(c, error);

	if (!t)
		return NULL;
	*out = (struct bpf_typed){ .kind = function ? BPF_KIND_TYPED : BPF_KIND_CALL };
	set_types(t, function, out);
	out->foreign = function ? NULL : &t->foreign;
	if (!function && !t->foreign.count)
		*error = -ENOENT;
	else if (!bpf_typed_number(event, &out->exit, &out->number))
		*error = tr_fail(&c->why, -ENOENT, "the number of the call is not known");
	else if (function && (!t->preempt[1] || (t->no_functions && !bpf_channel_find(c, event))))
		*error = -ENOENT;
	out->tracepoint = *error ? NULL : calloc(1, sizeof(*out->tracepoint));
	if (!*error && !out->tracepoint)
		*error = -ENOMEM;
	return *error ? NULL : t;
}

static int end_call(struct bpf_typed *t, int ret)
{
	if (ret) {
		free(t->tracepoint);
		t->tracepoint = NULL;
	}
	return ret;
}

int bpf_typed_late(struct bpf_channel *c, const char *event, const struct bpf_source *source,
		   bool function, struct bpf_typed *out)
{
	const struct bpf_types *t;
	int ret;

	t = begin_call(c, event, function, out, &ret);
	return t ? end_call(out, describe_late(t->btf, event, source, function, out->tracepoint))
		 : ret;
}

/* ---- events ---- */

/* Finds the pages once. Changes the types of all channels: takes their lock. */
static int set_pages(struct backend *b, struct bpf_tracepoint *t)
{
	struct bpf_types *types = b->types;
	uint32_t proto;

	if (!t->needs_pages)
		return 0;
	pthread_mutex_lock(&b->lock);
	if (!types->pages &&
	    bpf_pages_find(bpf_tracepoint_type(types->btf, "mm_page_alloc", &proto),
			   &types->pages))
		types->pages = UINT64_MAX;
	bpf_tracepoint_set_pages(t, types->pages);
	pthread_mutex_unlock(&b->lock);
	return t->fields[0].value.pages == UINT64_MAX ? -ENOENT : 0;
}

/* The format of the event in tracefs, for the table. */
static int find_in_table(struct bpf_channel *c, const struct btf *types, const char *event,
			 struct bpf_tracepoint **out)
{
	struct md_buf format = MD_BUF_INIT;
	char system[BPF_EVENT_NAME];
	size_t len = strcspn(event, ":");
	int ret;

	snprintf(system, sizeof(system), "%.*s", (int)len, event);
	/* (Few are in it; their formats are read then.) */
	if (!bpf_tracepoint_known(system, event + len + (event[len] != 0)))
		return -ENOENT;
	ret = tracefs_read_format(c->b, system, event + len + (event[len] != 0), &format);
	if (!ret)
		ret = bpf_tracepoint_find(types, system, event + len + (event[len] != 0),
					  md_buf_str(&format), out);
	md_buf_deinit(&format);
	if (!ret)
		ret = set_pages(c->b, *out);
	return ret == -ENOMEM ? ret : ret ? -ENOENT : 0;
}

int bpf_typed_find(struct bpf_channel *c, const char *event, const struct bpf_source *source,
		   bool function, struct bpf_typed *out)
{
	const struct bpf_types *t;
	int ret;

	*out = (struct bpf_typed){ .kind = BPF_KIND_TYPED };
	/* Programs of this kind would find their own frames at the top of the kernel's stack. */
	if (c->contexts && c->contexts->stacks)
		return -ENOENT;
	t = source->fixed ? get_types(c, &ret) : begin_call(c, event, function, out, &ret);
	if (!t)
		return ret;
	if (source->fixed) {
		set_types(t, false, out);
		return find_in_table(c, t->btf, event, &out->tracepoint);
	}
	return end_call(out, describe_call(t->btf, event, source, function, out->tracepoint));
}
