// SPDX-License-Identifier: GPL-2.0-only
/*
 * Callstacks of events. The room in the ring depends on the number of addresses, so a stack is
 * first written to memory of this CPU, which has a place for each level of nesting (task,
 * interrupt, NMI, and faults in them).
 */
#include <linux/compat.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/stacktrace.h>
#include <linux/uaccess.h>

#include "kmod/callstack.h"

#define LEVELS 6                /* task, softirq, interrupt, NMI, and faults in them */

struct cpu_stacks {
	u32 level;              /* of nesting: how many places are in use */
	bool in_user;           /* the user's stack is being read */
	struct { struct trail_stack kernel, user; } at[LEVELS];
};

/* allocated by trail_stacks_init, with trail_lock, before a channel has a context that needs it */
static struct cpu_stacks __percpu *stacks;

static void end_stack(struct trail_stack *s)
{
	if (s->count == TRAIL_STACK_ADDRESSES)
		s->addresses[s->count++] = ULONG_MAX;
}

/*
 * Leaves out the functions of this module, with which the stack begins. On riscv64, the kernel's
 * own are before them: it walks the stack in one function more than stack_trace_save leaves out.
 */
#define SAVING 4                /* functions of the kernel that save a stack: more than there are */

static noinline void save_kernel_stack(struct trail_stack *s, struct trail_site site)
{
	u32 n = stack_trace_save(s->addresses, TRAIL_STACK_ADDRESSES, 0), from = 0;

	s->count = n;
	end_stack(s);
	while (from < n && from < SAVING && !within_module(s->addresses[from], THIS_MODULE))
		from++;
	if (from == SAVING)
		from = 0;
	while (from < n && within_module(s->addresses[from], THIS_MODULE))
		from++;
	from += site.frames;
	if (from >= n)
		return;
	s->count -= from;
	memmove(s->addresses, s->addresses + from, s->count * sizeof(*s->addresses));
}

#ifdef TRAIL_USER_STACKS
static bool read_user(void *to, unsigned long from, size_t size)
{
	return !copy_from_user_nofault(to, (const void __user *)from, size);
}

#ifdef CONFIG_S390
/*
 * A function that was compiled with -mbackchain has its caller's stack pointer where its own
 * points to, and has stored where it returns to in its caller's frame.
 */
#define RETURN_AT 112

static bool next_frame(unsigned long at, bool wide, unsigned long *next, unsigned long *address)
{
	return !(at & 7) && read_user(next, at, sizeof(*next)) && *next && !(*next & 7) &&
	       read_user(address, *next + RETURN_AT, sizeof(*address));
}

static unsigned long first_frame(struct pt_regs *regs, bool *wide)
{
	/* Programs of 31 bits have other frames. */
	return is_compat_task() ? 0 : user_stack_pointer(regs);
}
#else
/*
 * What a function that was compiled with frame pointers has on the stack: the caller's, and where
 * it returns to. On riscv64, the frame pointer is the end of these.
 */
static bool next_frame(unsigned long at, bool wide, unsigned long *next, unsigned long *address)
{
	unsigned long frame[2];
	u32 narrow[2];
	size_t size = wide ? sizeof(frame) : sizeof(narrow);

	if (IS_ENABLED(CONFIG_RISCV))
		at -= size;
	if (!read_user(wide ? (void *)frame : narrow, at, size))
		return false;
	if (!wide) {
		frame[0] = narrow[0];
		frame[1] = narrow[1];
	}
	*next = frame[0];
	*address = compat_return_address(frame[1]);
	return true;
}

static unsigned long first_frame(struct pt_regs *regs, bool *wide)
{
#if defined(CONFIG_X86_64)
	*wide = user_64bit_mode(regs);
#elif defined(CONFIG_RISCV)
	*wide = !is_compat_task();
#else
	/* 32-bit programs for ARM have no such frames. */
	if (compat_user_mode(regs))
		return 0;
#endif
	return frame_pointer(regs);
}
#endif

static void walk_user_stack(struct trail_stack *s)
{
	struct pt_regs *regs = task_pt_regs(current);
	bool wide = true;
	unsigned long at = first_frame(regs, &wide), next, address;

	s->addresses[s->count++] = instruction_pointer(regs);
	while (s->count < TRAIL_STACK_ADDRESSES && at && next_frame(at, wide, &next, &address) &&
	       address) {
		s->addresses[s->count++] = address;
		if (next <= at)
			break;          /* stacks grow down: no circles */
		at = next;
	}
	end_stack(s);
}
#else
static void walk_user_stack(struct trail_stack *s)
{
}
#endif

/*
 * Reads user memory, which may cause page faults, and so events: in_user keeps those from coming
 * here.
 */
static void save_user_stack(struct cpu_stacks *all, struct trail_stack *s)
{
	s->count = 0;
	if (all->in_user || current->flags & PF_KTHREAD || !compat_own_memory())
		return;
	all->in_user = true;
	barrier();
	walk_user_stack(s);
	barrier();
	all->in_user = false;
}

const struct trail_stack trail_no_stack;

struct trail_stacks trail_stacks_save(u32 wanted, struct trail_site site)
{
	struct trail_stacks found = { &trail_no_stack, &trail_no_stack };
	struct cpu_stacks *all;
	u32 level;

	/* After c->contexts was read, which was set by a release. */
	smp_rmb();
	all = this_cpu_ptr(stacks);
	level = all->level;
	/* An interrupt here leaves the level as it was. */
	WRITE_ONCE(all->level, level + 1);
	barrier();
	if (level >= LEVELS)
		return found;
	if (wanted & TRAIL_STACK_KERNEL) {
		save_kernel_stack(&all->at[level].kernel, site);
		found.kernel = &all->at[level].kernel;
	}
	if (wanted & TRAIL_STACK_USER) {
		save_user_stack(all, &all->at[level].user);
		found.user = &all->at[level].user;
	}
	return found;
}

void trail_stacks_release(void)
{
	struct cpu_stacks *all = this_cpu_ptr(stacks);

	barrier();
	WRITE_ONCE(all->level, all->level - 1);
}

int trail_stacks_init(void)
{
	if (!stacks)
		stacks = alloc_percpu(struct cpu_stacks);
	return stacks ? 0 : -ENOMEM;
}

void trail_stacks_exit(void)
{
	free_percpu(stacks);
}
