// SPDX-License-Identifier: GPL-2.0-only
/*
 * Performance counters of each CPU.
 *
 * For contexts they count, and are read by probes.
 *
 * For events without a compiled probe they count the tracepoint, and overflow each time. Their
 * handler gets the record as perf would write it, and writes it into the ring. It costs five times
 * as much, and needs no code for the event.
 *
 * To close a counter takes a grace period, and there is one for each CPU: that is left to a work.
 * No record is written once the counter is marked as closed.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/err.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "kmod/trail.h"

struct trail_counter {
	/* that an event is for: a reference. NULL: it is for a context */
	struct trail_channel *channel;
	/* the same, until it is closed, and for the probes that run then */
	struct trail_attach *attach;
	struct perf_event_attr attr;    /* constant */
	bool closed;
	struct list_head node;          /* of `open`, guarded by counters_lock */
	struct work_struct work;
	/* per possible CPU, guarded by counters_lock; NULL: it is not there */
	struct perf_event *events[];
};

#define CLOSERS 64                      /* at once: they wait for the same grace periods */

static DEFINE_MUTEX(counters_lock);
static LIST_HEAD(open);
static int hotplug_state = -1;          /* guarded by trail_lock, as is closers */
static struct workqueue_struct *closers;
static struct cpumask came;             /* bits are set and cleared atomically */

static u32 total(const struct perf_raw_record *raw)
{
	const struct perf_raw_frag *frag = &raw->frag;
	u32 size = 0;

	for (;;) {
		size += frag->size;
		if (perf_raw_frag_last(frag))
			return size;
		frag = frag->next;
	}
}

/* By the tracepoint, and here. */
static const struct trail_site site = { .preempts = 2 };

/* A filter looks at the record where it is; of several parts it is rare, and left to the daemon. */
static bool accepted(const struct trail_counter *k, const struct perf_raw_record *raw)
{
	return !perf_raw_frag_last(&raw->frag) ||
	       trail_passes(k->attach, raw->frag.data, raw->frag.size, site);
}

static void overflow(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	struct trail_counter *k = event->overflow_handler_context;
	const struct perf_raw_record *raw = compat_raw(data);
	const struct perf_raw_frag *frag;
	struct cpu_ring *ring;
	u8 *at;

	if (!raw)
		return;
	preempt_disable_notrace();
	if (READ_ONCE(k->closed) || !trail_wanted(k->channel) || !accepted(k, raw))
		at = NULL;
	else
		at = trail_enter(k->channel, &ring, total(raw), site);
	if (at) {
		struct trace_entry *entry = (struct trace_entry *)at;

		for (frag = &raw->frag; ; frag = frag->next) {
			/* `copy` is for BPF's records, which do not come here */
			memcpy(at, frag->data, frag->size);
			at += frag->size;
			if (perf_raw_frag_last(frag))
				break;
		}
		entry->type = k->attr.config;
		kring_leave(ring->control);
	}
	preempt_enable_notrace();
}

/* With counters_lock. */
static int open_cpu(struct trail_counter *k, unsigned int cpu)
{
	struct perf_event_attr attr = k->attr;  /* the kernel may change it */
	struct perf_event *e;

	if (k->events[cpu])
		return 0;
	e = perf_event_create_kernel_counter(&attr, cpu, NULL, k->channel ? overflow : NULL, k);
	if (IS_ERR(e))
		return PTR_ERR(e);
	/* Pairs with the address dependency in trail_counter_value. */
	smp_store_release(&k->events[cpu], e);
	return 0;
}

static void close_cpu(struct trail_counter *k, unsigned int cpu)
{
	struct perf_event *e = k->events[cpu];

	/* The kernel frees it after a grace period: its readers have preemption off. */
	WRITE_ONCE(k->events[cpu], NULL);
	if (e)
		perf_event_release_kernel(e);
}

/*
 * The kernel has taken the counters of a CPU that was away. New ones are made by a work: to make
 * the first counter of a tracepoint needs the lock that is held while a CPU comes.
 */
static void reopen(struct work_struct *work)
{
	struct trail_counter *k;
	unsigned int cpu;

	mutex_lock(&counters_lock);
	for_each_cpu(cpu, &came) {
		cpumask_clear_cpu(cpu, &came);
		list_for_each_entry(k, &open, node) {
			close_cpu(k, cpu);
			open_cpu(k, cpu);       /* a failure: nothing is recorded there */
		}
	}
	mutex_unlock(&counters_lock);
}

static DECLARE_WORK(reopening, reopen);

static int cpu_comes(unsigned int cpu)
{
	cpumask_set_cpu(cpu, &came);
	queue_work(closers, &reopening);
	return 0;
}

static void close_all(struct work_struct *work)
{
	struct trail_counter *k = container_of(work, struct trail_counter, work);

	for (unsigned int cpu = 0; cpu < nr_cpu_ids; cpu++)
		close_cpu(k, cpu);
	if (k->channel)
		trail_channel_put(k->channel);
	kfree(k);
}

void trail_counter_close(struct trail_counter *k)
{
	WRITE_ONCE(k->closed, true);
	mutex_lock(&counters_lock);
	list_del(&k->node);
	mutex_unlock(&counters_lock);
	INIT_WORK(&k->work, close_all);
	queue_work(closers, &k->work);
}

void trail_counters_flush(void)
{
	if (hotplug_state >= 0)
		cpuhp_remove_state_nocalls(hotplug_state);
	if (closers)
		destroy_workqueue(closers);
}

static int prepare(void)
{
	if (!closers)
		closers = alloc_workqueue("trail", WQ_UNBOUND, CLOSERS);
	if (!closers)
		return -ENOMEM;
	if (hotplug_state < 0)
		hotplug_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "trail:online",
							  cpu_comes, NULL);
	return hotplug_state < 0 ? hotplug_state : 0;
}

static int open_all(struct trail_counter *k)
{
	unsigned int cpu;
	int ret = 0;

	mutex_lock(&counters_lock);
	for_each_online_cpu(cpu) {
		ret = open_cpu(k, cpu);
		if (ret == -ENODEV)
			ret = 0;        /* it goes, or comes: reopen follows */
		if (ret)
			break;
	}
	if (!ret)
		list_add_tail(&k->node, &open);
	else
		for_each_possible_cpu(cpu)
			close_cpu(k, cpu);
	mutex_unlock(&counters_lock);
	return ret;
}

/* attach: what an event is recorded for, or NULL */
static struct trail_counter *make(struct trail_attach *attach, const struct perf_event_attr *attr)
{
	struct trail_counter *k;
	int ret = prepare();

	if (ret)
		return ERR_PTR(ret);
	k = kzalloc(struct_size(k, events, nr_cpu_ids), GFP_KERNEL);
	if (!k)
		return ERR_PTR(-ENOMEM);
	k->channel = attach ? attach->channel : NULL;
	k->attach = attach;
	k->attr = *attr;
	ret = open_all(k);
	if (ret) {
		kfree(k);
		return ERR_PTR(ret);
	}
	if (attach)
		trail_channel_get(attach->channel);
	return k;
}

struct trail_counter *trail_counter_open(struct trail_attach *a)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = a->id,
		.sample_period = 1,
		/*
		 * With the period, the kernel calls the handler once for each event; else as often
		 * as the event's own count says: for sched_stat_runtime, once for each ns.
		 */
		.sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_PERIOD,
	};

	return make(a, &attr);
}

struct trail_counter *trail_counter_for_context(u32 type, u64 config)
{
	struct perf_event_attr attr = {
		.type = type, .size = sizeof(attr), .config = config, .pinned = 1
	};

	if (type != PERF_TYPE_HARDWARE && type != PERF_TYPE_SOFTWARE &&
	    type != PERF_TYPE_HW_CACHE && type != PERF_TYPE_RAW)
		return ERR_PTR(-EINVAL);
	return make(NULL, &attr);
}

u64 trail_counter_value(struct trail_counter *k)
{
	struct perf_event *e = READ_ONCE(k->events[smp_processor_id()]);
	unsigned long flags;
	u64 value;

	if (!e)
		return 0;       /* the CPU has just come */
	/* It is taken off the CPU by an interrupt. */
	local_irq_save(flags);
	if (e->state == PERF_EVENT_STATE_ACTIVE && e->oncpu == smp_processor_id())
		e->pmu->read(e);
	value = local64_read(&e->count);
	local_irq_restore(flags);
	return value;
}
