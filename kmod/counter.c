// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events without a compiled probe: a performance counter of each CPU that counts the tracepoint, and overflows each time. Its
 * handler gets the record as perf would write it, and writes it into the ring. It costs five times as much, and needs no code for the event.
 *
 * To close a counter takes a grace period, and there is one for each CPU: that is left to a work. No record is written once the counter is
 * marked as closed.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/err.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "kmod/trail.h"

struct trail_counter {
	struct trail_channel *channel;  /* a reference */
	u32 id;
	bool closed;
	struct list_head node;          /* of `open`, guarded by counters_lock */
	struct work_struct work;
	struct perf_event *events[];    /* per possible CPU, guarded by counters_lock; NULL: it is not there */
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

static void overflow(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	struct trail_counter *k = event->overflow_handler_context;
	const struct perf_raw_record *raw = compat_raw(data);
	const struct perf_raw_frag *frag;
	struct trail_ring *ring;
	u8 *at;

	if (!raw || READ_ONCE(k->closed))
		return;
	preempt_disable_notrace();
	at = trail_wanted(k->channel) ? trail_enter(k->channel, &ring, total(raw)) : NULL;
	if (at) {
		struct trace_entry *entry = (struct trace_entry *)at;

		for (frag = &raw->frag; ; frag = frag->next) {
			memcpy(at, frag->data, frag->size);     /* `copy` is for BPF's records, which do not come here */
			at += frag->size;
			if (perf_raw_frag_last(frag))
				break;
		}
		entry->type = k->id;
		kring_leave(ring->control);
	}
	preempt_enable_notrace();
}

/* With counters_lock. */
static int open_cpu(struct trail_counter *k, unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = k->id, .sample_period = 1, .sample_type = PERF_SAMPLE_RAW,
	};
	struct perf_event *e;

	if (k->events[cpu])
		return 0;
	e = perf_event_create_kernel_counter(&attr, cpu, NULL, overflow, k);
	if (IS_ERR(e))
		return PTR_ERR(e);
	k->events[cpu] = e;
	return 0;
}

static void close_cpu(struct trail_counter *k, unsigned int cpu)
{
	struct perf_event *e = k->events[cpu];

	k->events[cpu] = NULL;
	if (e)
		perf_event_release_kernel(e);
}

/*
 * The kernel has taken the counters of a CPU that was away. New ones are made by a work: to make the first counter of a tracepoint needs the lock
 * that is held while a CPU comes.
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
		hotplug_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "trail:online", cpu_comes, NULL);
	return hotplug_state < 0 ? hotplug_state : 0;
}

struct trail_counter *trail_counter_open(struct trail_attach *a)
{
	struct trail_counter *k;
	unsigned int cpu;
	int ret = prepare();

	if (ret)
		return ERR_PTR(ret);
	k = kzalloc(struct_size(k, events, nr_cpu_ids), GFP_KERNEL);
	if (!k)
		return ERR_PTR(-ENOMEM);
	k->channel = a->channel;
	k->id = a->id;
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
	if (ret) {
		kfree(k);
		return ERR_PTR(ret);
	}
	trail_channel_get(k->channel);
	return k;
}
