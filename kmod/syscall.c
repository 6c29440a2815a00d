// SPDX-License-Identifier: GPL-2.0-only
/*
 * System calls by name: one probe for all that begin and one for all that return, and for each a table by number. Records
 * are shaped as the format files of syscalls:sys_enter_X and sys_exit_X say, but for strings: the argument's 8 bytes hold a __data_loc and zeros
 * then, and the text follows. Only calls of 64-bit programs, as in tracefs.
 */
#include <asm/syscall.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <trace/syscall.h>

#include "kmod/trail.h"

#define ARGUMENTS 6
#define STRINGS 4                       /* of one call; nobody has more */

struct one {
	struct trail_attach *enter, *exit;
	u32 strings;                    /* which arguments are */
};

struct trail_syscalls {
	struct tracepoint *on_enter, *on_exit;
	unsigned int enters, exits;     /* attached, guarded by trail_lock */
	struct one calls[NR_syscalls];  /* read by probes */
};

struct enter_record {
	struct trace_entry ent;
	int nr;
	unsigned long args[ARGUMENTS];
	char text[];
};

struct exit_record {
	struct trace_entry ent;
	int nr;
	long ret;
};

struct strings {                        /* with preemption off; nothing that interrupts makes system calls */
	u32 count, len;
	u32 at[STRINGS], argument[STRINGS];
	char text[STRINGS * MODABI_STRINGS_MAX];
};

static DEFINE_PER_CPU(struct strings, scratch);

static const struct trail_site site = { .preempts = COMPAT_SYSCALL_PREEMPTS + 1 };

static bool is_native(void)
{
#ifdef CONFIG_X86_64
	return !in_ia32_syscall();
#else
	return !in_compat_syscall();
#endif
}

/* What is not in memory now is recorded as an empty string: a probe cannot wait for it. */
static void copy_string(struct strings *s, const char __user *from, u32 argument)
{
	char *to = s->text + s->len;
	long n;

	pagefault_disable();
	n = strncpy_from_user(to, from, MODABI_STRINGS_MAX - 1);
	pagefault_enable();
	if (n < 0)
		n = 0;
	to[n] = 0;
	s->argument[s->count] = argument;
	s->at[s->count++] = s->len;
	s->len += n + 1;
}

static struct strings *copy_strings(const unsigned long *args, u32 mask)
{
	struct strings *s = this_cpu_ptr(&scratch);

	s->count = s->len = 0;
	for (u32 i = 0; i < ARGUMENTS && s->count < STRINGS; i++)
		if (mask & 1u << i)
			copy_string(s, (const char __user *)args[i], i);
	return s;
}

static void put_strings(struct enter_record *r, const struct strings *s)
{
	for (u32 i = 0; i < s->count; i++) {
		u32 end = i + 1 < s->count ? s->at[i + 1] : s->len;

		r->args[s->argument[i]] = (offsetof(struct enter_record, text) + s->at[i]) | (end - s->at[i]) << 16;
	}
	memcpy(r->text, s->text, s->len);
}

static void enter(void *data, struct pt_regs *regs, long nr)
{
	struct trail_syscalls *all = data;
	struct strings *s = NULL;
	struct trail_attach *a;
	struct trail_ring *ring;
	struct enter_record *r;
	unsigned long args[ARGUMENTS];
	u32 mask;

	if ((unsigned long)nr >= NR_syscalls || !READ_ONCE(all->calls[nr].enter) || !is_native())
		return;
	preempt_disable_notrace();
	a = READ_ONCE(all->calls[nr].enter);
	if (!a || !trail_wanted(a->channel))
		goto out;
	syscall_get_arguments(current, regs, args);
	mask = READ_ONCE(all->calls[nr].strings);
	if (mask)
		s = copy_strings(args, mask);
	r = trail_enter(a->channel, &ring, sizeof(*r) + (s ? s->len : 0), site);
	if (r) {
		trail_common(&r->ent, a->id);
		r->nr = nr;
		memcpy(r->args, args, sizeof(args));
		if (s)
			put_strings(r, s);
		kring_leave(ring->control);
	}
out:
	preempt_enable_notrace();
}

static void leave(void *data, struct pt_regs *regs, long ret)
{
	struct trail_syscalls *all = data;
	long nr = syscall_get_nr(current, regs);
	struct trail_attach *a;
	struct trail_ring *ring;
	struct exit_record *r;

	if ((unsigned long)nr >= NR_syscalls || !READ_ONCE(all->calls[nr].exit) || !is_native())
		return;
	preempt_disable_notrace();
	a = READ_ONCE(all->calls[nr].exit);
	r = a && trail_wanted(a->channel) ? trail_enter(a->channel, &ring, sizeof(*r), site) : NULL;
	if (r) {
		trail_common(&r->ent, a->id);
		r->nr = nr;
		r->ret = ret;
		kring_leave(ring->control);
	}
	preempt_enable_notrace();
}

/* ---- switching ---- */

/* The number of a call, from the kernel's own description of the event. */
static int number_of(const char *event, u32 id)
{
	struct trace_event_file *file = trace_get_event_file(NULL, "syscalls", event);
	const struct syscall_metadata *meta;
	int nr;

	if (IS_ERR(file))
		return PTR_ERR(file);
	meta = file->event_call->data;
	nr = meta && file->event_call->event.type == id ? meta->syscall_nr : -ENOENT;
	trace_put_event_file(file);
	return nr >= 0 && nr < NR_syscalls ? nr : nr < 0 ? nr : -ENOENT;
}

static struct trail_syscalls *make(void)
{
	struct trail_syscalls *all = kvzalloc(sizeof(*all), GFP_KERNEL);

	if (!all)
		return NULL;
	all->on_enter = trail_tracepoint("sys_enter");
	all->on_exit = trail_tracepoint("sys_exit");
	if (all->on_enter && all->on_exit)
		return all;
	kvfree(all);
	return NULL;
}

static int switch_on(struct trail_syscalls *all, struct trail_attach *a, u32 strings)
{
	int ret = 0;

	if (a->exit) {
		if (!all->exits)
			ret = tracepoint_probe_register(all->on_exit, leave, all);
		all->exits += !ret;
	} else {
		if (!all->enters)
			ret = tracepoint_probe_register(all->on_enter, enter, all);
		all->enters += !ret;
	}
	if (ret)
		return ret;
	if (a->exit) {
		WRITE_ONCE(all->calls[a->nr].exit, a);
	} else {
		WRITE_ONCE(all->calls[a->nr].strings, strings);
		WRITE_ONCE(all->calls[a->nr].enter, a);
	}
	return 0;
}

static void switch_off(struct trail_syscalls *all, struct trail_attach *a)
{
	if (a->exit) {
		WRITE_ONCE(all->calls[a->nr].exit, NULL);
		if (!--all->exits)
			tracepoint_probe_unregister(all->on_exit, leave, all);
	} else {
		WRITE_ONCE(all->calls[a->nr].enter, NULL);
		if (!--all->enters)
			tracepoint_probe_unregister(all->on_enter, enter, all);
	}
}

int trail_syscall_set(struct trail_channel *c, struct trail_attach *a, bool on, u32 strings)
{
	int nr;

	if (!on) {
		switch_off(c->syscalls, a);
		return 0;
	}
	if (strings >> ARGUMENTS)
		return -EINVAL;
	nr = number_of(a->name, a->id);
	if (nr < 0)
		return nr;
	a->nr = nr;
	a->exit = !strncmp(a->name, "sys_exit_", 9);
	if (!c->syscalls)
		c->syscalls = make();
	if (!c->syscalls)
		return -EOPNOTSUPP;
	/* Two names of one call: the first has it. */
	if (a->exit ? c->syscalls->calls[nr].exit : c->syscalls->calls[nr].enter)
		return -EBUSY;
	return switch_on(c->syscalls, a, strings);
}

void trail_syscalls_free(struct trail_channel *c)
{
	kvfree(c->syscalls);
	c->syscalls = NULL;
}
