// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filters: programs of tracer/abi/filter_bytecode.h, which the daemon has made for records as the
 * probes make them, and which are verified here.
 *
 * An event with a filter is recorded aside first, and goes into the ring if the filter holds: so
 * what does not pass takes no room there, is not lost if there is none, and overwrites nothing.
 * Records that are aside are a stack of each CPU: a probe takes a place and gives it back before
 * the probe that it interrupted continues, as with kring's nest. A record that finds no room there
 * is recorded without a decision; the daemon decides on all records once more.
 */
#include <linux/nsproxy.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/utsname.h>

#include "kmod/trail.h"
#include "kmod/quick.h"

#define STACK_SIZE 8192

struct trail_filter {
	struct rcu_head rcu;
	/* as below: a probe that sees the filter sees it */
	struct stack __percpu *stacks;
	struct quick_filter quick;
	u32 size;
	u8 program[] __aligned(8);
};

struct aside {                          /* a record */
	struct cpu_ring ring;         /* its control is NULL */
	struct trail_channel *channel;
	const struct trail_filter *filter;
	u32 len;
	struct trail_site site;
	u8 record[] __aligned(8);
};

struct stack {
	u32 used;
	u8 bytes[STACK_SIZE - 8] __aligned(8);
};

/* allocated with the first filter */
static struct stack __percpu *stacks;

/* ---- in probes ---- */

static bool is_unsigned(u32 kind)
{
	return (kind >= TRAIL_CONTEXT_VUID && kind <= TRAIL_CONTEXT_UTS_NS) ||
	       (kind >= TRAIL_CONTEXT_UID && kind <= TRAIL_CONTEXT_MIGRATABLE);
}

static bool context(void *arg, u32 kind, const char *name, struct filter_value *out)
{
	const struct trail_site *site = arg;

	if (kind == TRAIL_CONTEXT_PROCNAME || kind == TRAIL_CONTEXT_HOSTNAME) {
		bool host = kind == TRAIL_CONTEXT_HOSTNAME;

		if (host && !current->nsproxy)
			return false;   /* the task is ending */
		out->type = FILTER_STRING;
		out->s = host ? current->nsproxy->uts_ns->name.nodename : current->comm;
		out->len = strnlen(out->s, host ? __NEW_UTS_LEN : TASK_COMM_LEN);
		return true;
	}
	out->type = is_unsigned(kind) ? FILTER_UNSIGNED : FILTER_SIGNED;
	return trail_context_number(kind, *site, &out->i);
}

static noinline bool run(const struct trail_filter *f, const void *record, u32 len,
			 struct trail_site site)
{
	struct filter_input in = {
		.payload = record, .len = len, .context = context, .arg = &site
	};

	return filter_run(f->program, f->size, &in);
}

static noinline bool is_named(const struct quick_filter *q)
{
	return quick_text(q, current->comm, TASK_COMM_LEN);
}

static __always_inline bool quick_context(const struct quick_filter *q)
{
	if (q->at == TRAIL_CONTEXT_PROCNAME)
		return is_named(q);
	return quick_number(q, q->at == TRAIL_CONTEXT_TID ? current->pid : current->tgid);
}

bool trail_filter_may_hold(const struct trail_filter *f, const void *record, u32 len)
{
	const struct quick_filter *q = &f->quick;

	if (q->op == FILTER_CONTEXT)
		return quick_context(q) != q->rejects;
	/* What a text's place says is not there yet. */
	return !q->op || q->op == FILTER_LOAD_SEQUENCE || !quick_is_in(q, len) ||
	       quick_holds(q, record, len) != q->rejects;
}

bool trail_filter_holds(const struct trail_filter *f, const void *record, u32 len,
			struct trail_site site)
{
	const struct quick_filter *q = &f->quick;
	bool outcome;

	if (q->op) {
		outcome = q->op == FILTER_CONTEXT ? quick_context(q)
			  : quick_is_in(q, len)   ? quick_holds(q, record, len)
						  : q->rejects;
		if (outcome == q->rejects || q->whole)
			return outcome != q->rejects;
	}
	return run(f, record, len, site);
}

static noinline struct trail_place unasked(struct trail_channel *c, u32 len, struct trail_site site)
{
	struct trail_place p;

	p.record = trail_enter(c, &p.ring, len, site);
	return p;
}

/*
 * What is seldom done in here and in trail_filtered_end is in functions of its own, so that these
 * two need few registers.
 */
struct trail_place trail_filtered_begin(struct trail_attach *a, const struct trail_filter *f,
					u32 len, struct trail_site site)
{
	struct stack *s = this_cpu_ptr(f->stacks);
	u32 used = READ_ONCE(s->used), need = sizeof(struct aside) + ALIGN(len, 8);
	struct aside *aside = (struct aside *)(s->bytes + used);

	if (f->quick.op == FILTER_CONTEXT && quick_context(&f->quick) == f->quick.rejects)
		return (struct trail_place){ NULL };
	if (unlikely(len > sizeof(s->bytes) || need > sizeof(s->bytes) - used))
		return unasked(a->channel, len, site);
	WRITE_ONCE(s->used, used + need);
	barrier();      /* an interrupt takes the places above */
	aside->ring.control = NULL;
	aside->channel = a->channel;
	aside->filter = f;
	aside->len = len;
	aside->site = site;
	return (struct trail_place){ aside->record, &aside->ring };
}

static noinline void decide(const struct aside *aside)
{
	struct cpu_ring *ring;
	void *record;

	if (!trail_filter_holds(aside->filter, aside->record, aside->len, aside->site))
		return;
	record = trail_enter(aside->channel, &ring, aside->len, aside->site);
	if (record) {
		memcpy(record, aside->record, aside->len);
		kring_leave(ring->control);
	}
}

void trail_filtered_end(struct cpu_ring *at)
{
	struct aside *aside = container_of(at, struct aside, ring);
	struct stack *s;

	if (!quick_rejects(&aside->filter->quick, aside->record, aside->len))
		decide(aside);
	barrier();
	s = this_cpu_ptr(aside->filter->stacks);
	WRITE_ONCE(s->used, (u8 *)aside - s->bytes);
}

/* ---- setting ---- */

/* No contexts but ours, which have no names. */
static bool verify(const void *program, u32 size)
{
	if (!filter_verify(program, size))
		return false;
	for (size_t i = 1; i < filter_word(program, 0).at; i++) {
		struct filter_word w = filter_word(program, i);

		if (w.op == FILTER_CONTEXT && (w.b || !(MODABI_FILTER_CONTEXTS >> w.at & 1)))
			return false;
	}
	return true;
}

static struct trail_filter *take(const struct modabi_filter *m)
{
	struct trail_filter *f;

	if (m->size > MODABI_PROGRAM_MAX)
		return ERR_PTR(-EINVAL);
	if (!stacks)
		stacks = alloc_percpu(struct stack);
	f = stacks ? kmalloc(struct_size(f, program, m->size), GFP_KERNEL) : NULL;
	if (!f)
		return ERR_PTR(-ENOMEM);
	f->stacks = stacks;
	f->size = m->size;
	if (copy_from_user(f->program, u64_to_user_ptr(m->program), m->size)) {
		kfree(f);
		return ERR_PTR(-EFAULT);
	}
	if (!verify(f->program, f->size)) {
		kfree(f);
		return ERR_PTR(-EINVAL);
	}
	f->quick = quick_make(f->program);
	return f;
}

int trail_filter_set(struct trail_attach *a, const struct modabi_filter *m)
{
	struct trail_filter *old = rcu_dereference_protected(a->filter,
							     lockdep_is_held(&trail_lock)),
			    *f = NULL;

	if (m->size) {
		f = take(m);
		if (IS_ERR(f))
			return PTR_ERR(f);
	}
	rcu_assign_pointer(a->filter, f);
	if (old)
		kfree_rcu(old, rcu);
	return 0;
}

void trail_filter_free(struct trail_attach *a)
{
	kfree(rcu_dereference_protected(a->filter, lockdep_is_held(&trail_lock)));
}

void trail_filters_exit(void)
{
	free_percpu(stacks);
}
