// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts: what a channel's events have in front, besides their own fields. They are put into the
 * ring as they will stand in the trace.
 *
 * A probe may be anywhere, in an NMI too, so nothing here takes a lock or waits. It looks at the
 * current task only, which does not change under it. Preemption is off, so that what RCU protects
 * stays, and what the task itself gives up is given up after the interrupt that looked at it.
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/ipc_namespace.h>
#include <linux/nsproxy.h>
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/sched/prio.h>
#include <linux/slab.h>
#include <linux/time_namespace.h>
#include <linux/user_namespace.h>
#include <linux/utsname.h>
#include <net/net_namespace.h>

#include "kmod/callstack.h"

struct trail_context_item {
	u32 kind;                       /* enum trail_context */
	struct trail_counter *counter;
};

struct trail_contexts {
	u32 count;
	u32 stacks;                     /* TRAIL_STACK_KERNEL | TRAIL_STACK_USER */
	u32 size;                       /* bytes of all but the addresses */
	struct trail_context_item items[];
};

/* ---- numbers ---- */

static u32 parent(bool own)
{
	struct pid_namespace *ns = task_active_pid_ns(current);
	struct task_struct *up = rcu_dereference_sched(current->real_parent);

	if (!own)
		return task_tgid_nr(up);
	return ns ? task_tgid_nr_ns(up, ns) : 0;        /* the task is ending */
}

/* NULL: the task is ending, or the kernel has no such name spaces, as armhf has none of time. */
#define NS_NUMBER(all, name) ((all) && (all)->name ? (all)->name->ns.inum : 0)

static u32 namespace(u32 kind)
{
	const struct nsproxy *all = current->nsproxy;
	const struct compat_mnt_namespace *mounts;
	const struct pid_namespace *pids = task_active_pid_ns(current);

	switch (kind) {
	case TRAIL_CONTEXT_CGROUP_NS:
		return NS_NUMBER(all, cgroup_ns);
	case TRAIL_CONTEXT_IPC_NS:
		return NS_NUMBER(all, ipc_ns);
	case TRAIL_CONTEXT_MNT_NS:
		mounts = all ? (const struct compat_mnt_namespace *)all->mnt_ns : NULL;
		return mounts ? mounts->ns.inum : 0;
	case TRAIL_CONTEXT_NET_NS:
		return NS_NUMBER(all, net_ns);
	case TRAIL_CONTEXT_TIME_NS:
		return NS_NUMBER(all, time_ns);
	case TRAIL_CONTEXT_UTS_NS:
		return NS_NUMBER(all, uts_ns);
	case TRAIL_CONTEXT_USER_NS:
		return current_user_ns()->ns.inum;
	default:
		/* not the nsproxy's, which is for children */
		return pids ? pids->ns.inum : 0;
	}
}

/* As its own user namespace has it. */
static u32 own_user(kuid_t uid)
{
	return from_kuid_munged(current_user_ns(), uid);
}

static u32 own_group(kgid_t gid)
{
	return from_kgid_munged(current_user_ns(), gid);
}

static u32 identity(u32 kind)
{
	const struct cred *cred = current_cred();

	switch (kind) {
	case TRAIL_CONTEXT_UID:
		return __kuid_val(cred->uid);
	case TRAIL_CONTEXT_EUID:
		return __kuid_val(cred->euid);
	case TRAIL_CONTEXT_SUID:
		return __kuid_val(cred->suid);
	case TRAIL_CONTEXT_GID:
		return __kgid_val(cred->gid);
	case TRAIL_CONTEXT_EGID:
		return __kgid_val(cred->egid);
	case TRAIL_CONTEXT_SGID:
		return __kgid_val(cred->sgid);
	case TRAIL_CONTEXT_VUID:
		return own_user(cred->uid);
	case TRAIL_CONTEXT_VEUID:
		return own_user(cred->euid);
	case TRAIL_CONTEXT_VSUID:
		return own_user(cred->suid);
	case TRAIL_CONTEXT_VGID:
		return own_group(cred->gid);
	case TRAIL_CONTEXT_VEGID:
		return own_group(cred->egid);
	default:
		return own_group(cred->sgid);
	}
}

static u32 thread(u32 kind)
{
	switch (kind) {
	case TRAIL_CONTEXT_VPID:
		return task_tgid_vnr(current);
	case TRAIL_CONTEXT_VTID:
		return task_pid_vnr(current);
	case TRAIL_CONTEXT_PPID:
		return parent(false);
	case TRAIL_CONTEXT_VPPID:
		return parent(true);
	case TRAIL_CONTEXT_PRIO:
		return current->prio - MAX_RT_PRIO;
	case TRAIL_CONTEXT_NICE:
		return task_nice(current);
	case TRAIL_CONTEXT_PID:
		return current->tgid;
	case TRAIL_CONTEXT_TID:
		return current->pid;
	default:
		return raw_smp_processor_id();
	}
}

static bool is_namespace(u32 kind)
{
	return kind >= TRAIL_CONTEXT_CGROUP_NS && kind <= TRAIL_CONTEXT_UTS_NS;
}

static bool is_identity(u32 kind)
{
	return (kind >= TRAIL_CONTEXT_VUID && kind <= TRAIL_CONTEXT_VSGID) ||
	       (kind >= TRAIL_CONTEXT_UID && kind <= TRAIL_CONTEXT_SGID);
}

static bool is_state(u32 kind)
{
	return kind >= TRAIL_CONTEXT_NEED_RESCHEDULE && kind <= TRAIL_CONTEXT_INTERRUPTIBLE;
}

static u32 word(u32 kind)
{
	return is_namespace(kind)  ? namespace(kind)
	       : is_identity(kind) ? identity(kind)
				   : thread(kind);
}

static u8 state(u32 kind, struct trail_site site)
{
	switch (kind) {
	case TRAIL_CONTEXT_NEED_RESCHEDULE:
		return test_tsk_need_resched(current);
	case TRAIL_CONTEXT_PREEMPTIBLE:
		return preempt_count() == (IS_ENABLED(CONFIG_PREEMPT_COUNT) ? site.preempts : 0);
	case TRAIL_CONTEXT_MIGRATABLE:
		return compat_migratable(current);
	default:
		return !irqs_disabled();
	}
}

static u64 cgroup_number(void)
{
	u64 id = 0;

#ifdef CONFIG_CGROUPS
	rcu_read_lock();
	id = cgroup_id(task_dfl_cgroup(current));
	rcu_read_unlock();
#endif
	return id;
}

/* ---- into the ring ---- */

static u8 *put_stack(u8 *to, const struct trail_stack *s)
{
	memcpy(to, &s->count, sizeof(s->count));
	to += sizeof(s->count);
#ifdef CONFIG_64BIT
	memcpy(to, s->addresses, s->count * sizeof(u64));
#else
	for (u32 i = 0; i < s->count; i++) {
		/* All ones stay so. */
		u64 address = s->addresses[i] == ULONG_MAX ? U64_MAX : s->addresses[i];

		memcpy(to + i * sizeof(u64), &address, sizeof(address));
	}
#endif
	return to + s->count * sizeof(u64);
}

static bool is_stack(u32 kind)
{
	return kind == TRAIL_CONTEXT_CALLSTACK_KERNEL || kind == TRAIL_CONTEXT_CALLSTACK_USER;
}

static u32 size_of(u32 kind)
{
	static const u8 sizes[TRAIL_CONTEXT_ALL] = {
#define COMMON_CONTEXT(kind, name, shape, bytes, kernel_bytes, always) \
		[TRAIL_CONTEXT_##kind] = kernel_bytes,
#define KERNEL_CONTEXT(kind, name, shape, bytes, always) [TRAIL_CONTEXT_##kind] = bytes,
#include "tracer/abi/contexts.def"
		[TRAIL_CONTEXT_PERF] = sizeof(u64),
	};

	BUILD_BUG_ON(TASK_COMM_LEN != 16 || __NEW_UTS_LEN + 1 != 65);
	return kind < TRAIL_CONTEXT_ALL ? sizes[kind] : 0;
}

static u8 *put_word(u8 *to, u32 value)
{
	memcpy(to, &value, sizeof(value));
	return to + sizeof(value);
}

static u8 *put_number(u8 *to, u64 value)
{
	memcpy(to, &value, sizeof(value));
	return to + sizeof(value);
}

/* Ends with a NUL. The rest of an older name may follow the first NUL. */
static u8 *put_name(u8 *to)
{
	memcpy(to, current->comm, TASK_COMM_LEN);
	return to + TASK_COMM_LEN;
}

static u8 *put_text(u8 *to, const char *from, u32 size)
{
	u32 n = from ? strnlen(from, size - 1) : 0;

	if (n)
		memcpy(to, from, n);
	memset(to + n, 0, size - n);
	return to + size;
}

static u8 *put_rare(u8 *to, const struct trail_context_item *i, struct trail_site site,
		    const struct trail_stacks *stacks)
{
	switch (i->kind) {
	case TRAIL_CONTEXT_HOSTNAME:
		return put_text(to,
				current->nsproxy ? current->nsproxy->uts_ns->name.nodename : NULL,
				__NEW_UTS_LEN + 1);
	case TRAIL_CONTEXT_CALLSTACK_KERNEL:
		return put_stack(to, stacks->kernel);
	case TRAIL_CONTEXT_CALLSTACK_USER:
		return put_stack(to, stacks->user);
	case TRAIL_CONTEXT_PERF:
		return put_number(to, trail_counter_value(i->counter));
	case TRAIL_CONTEXT_CGROUP_ID:
		return put_number(to, cgroup_number());
	default:
		if (!is_state(i->kind))
			return put_word(to, word(i->kind));
		*to = state(i->kind, site);
		return to + 1;
	}
}

static u8 *put(u8 *to, const struct trail_contexts *x, struct trail_site site,
	       const struct trail_stacks *stacks)
{
	for (const struct trail_context_item *i = x->items; i < x->items + x->count; i++)
		if (i->kind == TRAIL_CONTEXT_TID)
			to = put_word(to, current->pid);
		else if (i->kind == TRAIL_CONTEXT_PID)
			to = put_word(to, current->tgid);
		else if (i->kind == TRAIL_CONTEXT_PROCNAME)
			to = put_name(to);
		else
			to = put_rare(to, i, site, stacks);
	return to;
}

void *trail_enter_contexts(struct trail_channel *c, struct cpu_ring *ring, u32 len,
			   struct trail_site site)
{
	const struct trail_contexts *x = c->contexts;
	struct trail_stacks stacks = { &trail_no_stack, &trail_no_stack };
	u32 size = x->size, front;
	u8 *at, *end;

	if (x->stacks) {
		stacks = trail_stacks_save(x->stacks, site);
		size += (stacks.kernel->count + stacks.user->count) * sizeof(u64);
	}
	front = ALIGN(sizeof(size) + size, 8);
	at = kring_enter(ring->control, ring->data, &c->geometry, front + len);
	if (at) {
		((struct krec *)at)[-1].kind = KREC_CONTEXTS;
		end = put(put_word(at, size), x, site, &stacks);
		at += front;
		memset(end, 0, at - end);
	}
	if (x->stacks)
		trail_stacks_release();
	return at;
}

/* ---- in filters ---- */

bool trail_context_number(u32 kind, struct trail_site site, s64 *value)
{
	if (is_state(kind))
		*value = state(kind, site);
	else if (is_identity(kind) || is_namespace(kind))
		*value = word(kind);
	else if (kind == TRAIL_CONTEXT_CGROUP_ID)
		*value = (s64)cgroup_number();
	else if (size_of(kind) == sizeof(u32) && !is_stack(kind))
		*value = (s32)word(kind);
	else
		return false;
	return true;
}

/* ---- setting ---- */

static int add(struct trail_contexts *x, const struct modabi_context *m)
{
	struct trail_context_item *i = &x->items[x->count];
	u32 size = size_of(m->kind), stack = m->kind == TRAIL_CONTEXT_CALLSTACK_KERNEL
						     ? TRAIL_STACK_KERNEL
						     : TRAIL_STACK_USER;

	if (!size || (m->kind != TRAIL_CONTEXT_PERF && (m->perf_type || m->perf_config)))
		return -EINVAL;
	if (is_stack(m->kind) && x->stacks & stack)
		return -EINVAL;         /* twice */
	if (m->kind == TRAIL_CONTEXT_CALLSTACK_USER && !__is_defined(TRAIL_USER_STACKS))
		return -EOPNOTSUPP;
	if (m->kind == TRAIL_CONTEXT_PERF) {
		i->counter = trail_counter_for_context(m->perf_type, m->perf_config);
		if (IS_ERR(i->counter))
			return PTR_ERR(i->counter);
	}
	if (is_stack(m->kind)) {
		int ret = trail_stacks_init();

		if (ret)
			return ret;
		x->stacks |= stack;
	}
	i->kind = m->kind;
	x->size += size;
	x->count++;
	return 0;
}

int trail_contexts_set(struct trail_channel *c, const struct modabi_context *items, u32 count)
{
	struct trail_contexts *x;
	int ret = 0;

	if (c->contexts)
		return -EEXIST;
	x = kzalloc(struct_size(x, items, count), GFP_KERNEL);
	if (!x)
		return -ENOMEM;
	for (u32 i = 0; i < count && !ret; i++)
		ret = add(x, &items[i]);
	if (ret) {
		trail_contexts_free(x);
		return ret;
	}
	/* Pairs with the address dependency of probes, and smp_rmb in trail_stacks_save. */
	smp_store_release(&c->contexts, x);
	return 0;
}

void trail_contexts_free(struct trail_contexts *x)
{
	for (u32 i = 0; x && i < x->count; i++)
		if (x->items[i].counter)
			trail_counter_close(x->items[i].counter);
	kfree(x);
}
