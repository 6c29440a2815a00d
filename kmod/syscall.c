// SPDX-License-Identifier: GPL-2.0-only
/*
 * System calls by name: one probe for all that begin and one for all that return, and for each a
 * table by number; those of 32-bit programs have tables of their own. Records are shaped as the
 * format files of syscalls:sys_enter_X and sys_exit_X say, but for what was captured
 * (abi/module.h): places first, then the bytes. The daemon knows which argument points to what;
 * here is only how to copy it.
 */
#include <asm/syscall.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <trace/syscall.h>

#include "kmod/trail.h"

#define ARGUMENTS 6

struct calls {                          /* of one kind. Read by probes */
	struct trail_attach *named[MODABI_CALLS];
	struct trail_attach *others;
};

struct trail_syscalls {
	struct tracepoint *tp[2];       /* entries, exits */
	unsigned int attached[2];       /* guarded by trail_lock */
	struct calls calls[2][2];       /* [exit][compat] */
};

struct record {
	struct trace_entry ent;
	int nr;
	u64 words[];                    /* arguments, or the result; also on a kernel of 32 bits */
};

#define FIXED_MAX \
	(sizeof(struct record) + ARGUMENTS * sizeof(u64) + MODABI_CAPTURES_MAX * sizeof(u32))

/* with preemption off; nothing that interrupts makes system calls */
struct scratch {
	u8 record[FIXED_MAX + MODABI_CAPTURED_MAX] __aligned(8);
};

static struct scratch __percpu *scratch;
static const struct trail_site site = { .preempts = COMPAT_SYSCALL_PREEMPTS + 1 };

/* ---- in the probe ---- */

static __always_inline bool is_compat(void)
{
#if defined(CONFIG_X86_64) && defined(CONFIG_IA32_EMULATION)
	return in_ia32_syscall();
#elif defined(CONFIG_COMPAT) && !defined(CONFIG_X86_64)
	return in_compat_syscall();
#else
	return false;
#endif
}

static __always_inline struct trail_attach *find(const struct calls *c, unsigned long nr)
{
	struct trail_attach *a = nr < MODABI_CALLS ? READ_ONCE(c->named[nr]) : NULL;

	if (a)
		return a;
	a = READ_ONCE(c->others);
	return a && nr < MODABI_CALLS && a->call.known[nr / 64] >> nr % 64 & 1 ? NULL : a;
}

/* What is not in memory now is recorded as an empty string: a probe cannot wait for it. */
static u32 copy_string(u8 *to, const char __user *from, u32 max)
{
	long n;

	if (max < 2)
		return 0;
	pagefault_disable();
	n = strncpy_from_user(to, from, max - 1);
	pagefault_enable();
	if (n < 0)
		n = 0;
	to[n] = 0;
	return n + 1;
}

static u32 bytes_of(const struct modabi_capture *c, const unsigned long *args, long ret)
{
	s64 n = 1;
	s32 last;

	if (c->flags & MODABI_COUNT_RETURNED) {
		n = ret;
	} else if (c->flags & MODABI_COUNT_BEHIND) {
		if (copy_from_user_nofault(&last, (const void __user *)args[c->count],
					   sizeof(last)))
			return 0;
		n = last;
	} else if (c->count != MODABI_ONE) {
		n = (s32)args[c->count];
	}
	if (c->flags & MODABI_COUNT_BITS)
		n = (n + 7) >> 3;
	return n <= 0 ? 0 : n >= U16_MAX ? U16_MAX : n * c->size;
}

/*
 * Bits that are counted in words: byte i has the bits from 8 * i on. (A processor whose bytes are
 * in the other order has the first bits of a word in its last byte.)
 */
static bool copy_bits(u8 *to, const u8 __user *from, u32 n)
{
#ifdef __BIG_ENDIAN
	u32 last = (is_compat() ? sizeof(u32) : sizeof(long)) - 1;

	for (u32 i = 0; i < n; i++)
		if (copy_from_user_nofault(to + i, from + (i ^ last), 1))
			return false;
	return true;
#else
	return !copy_from_user_nofault(to, from, n);
#endif
}

static u32 capture(const struct modabi_capture *c, const unsigned long *args, long ret, u8 *to,
		   u32 room)
{
	const void __user *from = (const void __user *)args[c->pointer];
	u32 n, max = min_t(u32, c->max, room);

	if ((c->flags & MODABI_IF_SUCCESS && ret < 0) ||
	    (c->flags & MODABI_IF_POSITIVE && ret <= 0))
		return 0;
	if (c->kind == MODABI_STRING)
		return copy_string(to, from, max);
	n = bytes_of(c, args, ret);
	if (n > max)
		n = max - max % c->size;
	if (c->flags & MODABI_COUNT_BITS)
		return n && copy_bits(to, from, n) ? n : 0;
	return n && !copy_from_user_nofault(to, from, n) ? n : 0;
}

static __always_inline void put_arguments(u64 *to, struct pt_regs *regs)
{
#ifdef CONFIG_64BIT
	syscall_get_arguments(current, regs, (unsigned long *)to);
#else
	unsigned long args[ARGUMENTS];

	syscall_get_arguments(current, regs, args);
	for (int i = 0; i < ARGUMENTS; i++)
		to[i] = args[i];
#endif
}

static __always_inline void put_fixed(struct record *r, const struct trail_attach *a,
				      struct pt_regs *regs, long nr, long ret, bool exit)
{
	trail_common(&r->ent, a->id);
	r->nr = nr;
	if (exit)
		r->words[0] = (s64)ret;
	else
		put_arguments(r->words, regs);
}

static __always_inline u32 fixed_size(bool exit)
{
	return sizeof(struct record) + sizeof(u64) * (exit ? 1 : ARGUMENTS);
}

/* The whole record, in memory of this CPU; its length. */
static noinline u32 put_captured(struct record *r, const struct trail_attach *a,
				 struct pt_regs *regs, long ret)
{
	const struct modabi_call *call = &a->call;
	unsigned long args[ARGUMENTS];
	u32 len, n, loc, at = fixed_size(call->exit);

	syscall_get_arguments(current, regs, args);
	len = at + call->captures * sizeof(loc);
	for (u32 i = 0; i < call->captures; i++, at += sizeof(loc), len += n) {
		n = capture(&call->capture[i], args, ret, (u8 *)r + len,
			    sizeof(struct scratch) - len);
		loc = n ? len | n << 16 : 0;
		memcpy((u8 *)r + at, &loc, sizeof(loc));
	}
	return len;
}

static __always_inline void call(struct trail_syscalls *all, struct pt_regs *regs, long nr,
				 long ret, bool exit)
{
	struct trail_attach *a = find(&all->calls[exit][is_compat()], nr);
	struct trail_place p = { NULL };
	struct record *whole;
	u32 len;

	if (!a)
		return;
	/* From 6.13 on, these tracepoints are called with preemption on. */
	preempt_disable_notrace();
	if (!trail_wanted(a->channel))
		goto out;
	if (!a->call.captures) {
		p = trail_open(a, fixed_size(exit), site);
		if (p.record)
			put_fixed(p.record, a, regs, nr, ret, exit);
	} else {
		whole = (struct record *)this_cpu_ptr(scratch)->record;
		put_fixed(whole, a, regs, nr, ret, exit);
		if (!trail_may_pass(a, whole, fixed_size(exit)))
			goto out;
		len = put_captured(whole, a, regs, ret);
		if (trail_passes(a, whole, len, site))
			p.record = trail_enter(a->channel, &p.ring, len, site);
		if (p.record)
			memcpy(p.record, whole, len);
	}
	if (p.record)
		trail_close(p.ring);
out:
	preempt_enable_notrace();
}

static void enter(void *data, struct pt_regs *regs, long nr)
{
	call(data, regs, nr, 0, false);
}

static void leave(void *data, struct pt_regs *regs, long ret)
{
	call(data, regs, syscall_get_nr(current, regs), ret, true);
}

/* ---- switching ---- */

int trail_syscall_number(const char *event)
{
	struct trace_event_file *file = trace_get_event_file(NULL, "syscalls", event);
	const struct syscall_metadata *meta;
	int nr;

	if (IS_ERR(file))
		return -ENOENT;
	meta = file->event_call->data;
	nr = meta ? meta->syscall_nr : -ENOENT;
	trace_put_event_file(file);
	return nr >= 0 && nr < MODABI_CALLS ? nr : -ENOENT;
}

static struct trail_syscalls *make(void)
{
	struct trail_syscalls *all = kvzalloc(sizeof(*all), GFP_KERNEL);

	if (!all)
		return NULL;
	all->tp[0] = trail_tracepoint("sys_enter");
	all->tp[1] = trail_tracepoint("sys_exit");
	if (all->tp[0] && all->tp[1])
		return all;
	kvfree(all);
	return NULL;
}

static bool is_good(const struct modabi_capture *c, bool exit)
{
	const u8 of_result = MODABI_COUNT_RETURNED | MODABI_IF_SUCCESS | MODABI_IF_POSITIVE;

	return (c->kind == MODABI_STRING || c->kind == MODABI_BYTES) && c->pointer < ARGUMENTS &&
	       (c->count < ARGUMENTS ||
		(c->count == MODABI_ONE && !(c->flags & MODABI_COUNT_BEHIND))) &&
	       !(c->flags & ~(of_result | MODABI_COUNT_BEHIND | MODABI_COUNT_BITS)) &&
	       (exit || !(c->flags & of_result)) && c->size && c->size <= 256 &&
	       c->max <= MODABI_CAPTURED_MAX;
}

static int check(const struct modabi_call *m)
{
	if (m->reserved || m->compat > 1 || m->exit > 1 || m->captures > MODABI_CAPTURES_MAX ||
	    (m->nr >= MODABI_CALLS && m->nr != MODABI_OTHERS))
		return -EINVAL;
	for (u32 i = 0; i < m->captures; i++)
		if (!is_good(&m->capture[i], m->exit))
			return -EINVAL;
	return 0;
}

static struct trail_attach **place_of(struct trail_attach *a)
{
	struct calls *c = &a->channel->syscalls->calls[a->call.exit][a->call.compat];

	return a->call.nr == MODABI_OTHERS ? &c->others : &c->named[a->call.nr];
}

static void *probe_of(const struct trail_attach *a)
{
	return a->call.exit ? (void *)leave : (void *)enter;
}

int trail_syscall_on(struct trail_attach *a)
{
	struct trail_syscalls *all;
	int exit = a->call.exit, ret = check(&a->call);

	if (ret)
		return ret;
	if (!a->channel->syscalls)
		a->channel->syscalls = make();
	all = a->channel->syscalls;
	if (!all)
		return -EOPNOTSUPP;
	/* Two names of one call: the first has it. */
	if (*place_of(a))
		return -EBUSY;
	if (!all->attached[exit])
		ret = tracepoint_probe_register(all->tp[exit], probe_of(a), all);
	if (ret)
		return ret;
	all->attached[exit]++;
	/* The probe reads what it points to. */
	smp_store_release(place_of(a), a);
	return 0;
}

void trail_syscall_off(struct trail_attach *a)
{
	struct trail_syscalls *all = a->channel->syscalls;
	int exit = a->call.exit;

	WRITE_ONCE(*place_of(a), NULL);
	if (!--all->attached[exit])
		tracepoint_probe_unregister(all->tp[exit], probe_of(a), all);
}

void trail_syscalls_free(struct trail_channel *c)
{
	kvfree(c->syscalls);
	c->syscalls = NULL;
}

int trail_syscalls_init(void)
{
	scratch = alloc_percpu(struct scratch);
	return scratch ? 0 : -ENOMEM;
}

void trail_syscalls_exit(void)
{
	free_percpu(scratch);
}
