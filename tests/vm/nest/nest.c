// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbered events from task, softirq, interrupt and NMI context, so that they come in the midst of
 * each other's probes: for tests/vm/module_nest.sh. `echo 1 >/sys/module/nest/parameters/run`
 * begins, 0 ends; then it reads as lines `CONTEXT NUMBER`, how many each has made. The event is
 * power:cpu_frequency: state is the number, cpu_id the context: 1000 for a task, 2000 a softirq,
 * 3000 an interrupt, 4000 an NMI, and the CPU.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <asm/apic.h>
#include <asm/nmi.h>
#include <trace/events/power.h>

enum { TASK, SOFTIRQ, INTERRUPT, NMI, CONTEXTS };

struct source {
	u32 made[CONTEXTS];             /* written in that context only */
	atomic_t nmis;                  /* that others have sent */
	struct hrtimer timer, soft_timer;
	struct task_struct *task;
};

static DEFINE_PER_CPU(struct source, sources);
static bool running;                    /* with the lock of parameters */

static void make(int context)
{
	struct source *s = this_cpu_ptr(&sources);

	trace_cpu_frequency(s->made[context]++, 1000 * (context + 1) + smp_processor_id());
}

/* To another CPU, wherever it is. QEMU's APICs are in memory, and numbered as CPUs are. */
static void send_nmi(void)
{
	unsigned int to = cpumask_next(smp_processor_id(), cpu_online_mask);

	if (to >= nr_cpu_ids)
		to = cpumask_first(cpu_online_mask);
	atomic_inc(&per_cpu(sources, to).nmis);
	native_apic_mem_write(APIC_ICR2, to << 24);
	native_apic_mem_write(APIC_ICR, APIC_DM_NMI | APIC_DEST_PHYSICAL);
}

static enum hrtimer_restart expired(struct hrtimer *timer)
{
	make(INTERRUPT);
	if (this_cpu_read(sources.made[INTERRUPT]) % 8 == 0)
		send_nmi();
	hrtimer_forward_now(timer, ns_to_ktime(70 * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

static enum hrtimer_restart soft_expired(struct hrtimer *timer)
{
	for (int i = 0; i < 5; i++)
		make(SOFTIRQ);
	hrtimer_forward_now(timer, ns_to_ktime(170 * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

static int nmi(unsigned int type, struct pt_regs *regs)
{
	make(NMI);
	return atomic_dec_if_positive(&this_cpu_ptr(&sources)->nmis) >= 0 ? NMI_HANDLED : NMI_DONE;
}

/* The timers are begun here, so that they are this CPU's. */
static int work(void *unused)
{
	struct source *s = this_cpu_ptr(&sources);

	hrtimer_start(&s->timer, ns_to_ktime(100 * NSEC_PER_USEC), HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&s->soft_timer, ns_to_ktime(100 * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_PINNED_SOFT);
	while (!kthread_should_stop()) {
		preempt_disable();
		for (int i = 0; i < 20; i++)
			make(TASK);
		preempt_enable();
		udelay(50);
		cond_resched();
	}
	return 0;
}

static void stop(void)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		struct source *s = per_cpu_ptr(&sources, cpu);

		if (s->task)
			kthread_stop(s->task);
		s->task = NULL;
		hrtimer_cancel(&s->timer);
		hrtimer_cancel(&s->soft_timer);
	}
	unregister_nmi_handler(NMI_LOCAL, "nest");
}

static int start(void)
{
	unsigned int cpu;
	int ret = register_nmi_handler(NMI_LOCAL, nmi, 0, "nest");

	if (ret)
		return ret;
	for_each_online_cpu(cpu) {
		struct source *s = per_cpu_ptr(&sources, cpu);

		memset(s->made, 0, sizeof(s->made));
		s->task = kthread_create(work, NULL, "nest/%u", cpu);
		if (IS_ERR(s->task)) {
			ret = PTR_ERR(s->task);
			s->task = NULL;
			stop();
			return ret;
		}
		kthread_bind(s->task, cpu);
		wake_up_process(s->task);
	}
	return 0;
}

static int run(const char *value, const struct kernel_param *param)
{
	bool on;
	int ret = kstrtobool(value, &on);

	if (ret || on == running)
		return ret;
	if (on)
		ret = start();
	else
		stop();
	running = on && !ret;
	return ret;
}

static int show(char *buffer, const struct kernel_param *param)
{
	unsigned int cpu;
	int n = 0;

	for_each_online_cpu(cpu)
		for (int i = 0; i < CONTEXTS; i++)
			n += sysfs_emit_at(buffer, n, "%u %u\n", 1000 * (i + 1) + cpu,
					   per_cpu(sources, cpu).made[i]);
	return n;
}

static const struct kernel_param_ops operations = { .set = run, .get = show };

static int __init nest_init(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct source *s = per_cpu_ptr(&sources, cpu);

		hrtimer_init(&s->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
		s->timer.function = expired;
		hrtimer_init(&s->soft_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_SOFT);
		s->soft_timer.function = soft_expired;
	}
	return 0;
}

static void __exit nest_exit(void)
{
	if (running)
		stop();
}

module_param_cb(run, &operations, NULL, 0600);
module_init(nest_init);
module_exit(nest_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("numbered events in the midst of each other");
