// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbered events from task, softirq, interrupt and NMI context, so that they come in the midst of
 * each other's probes: for tests/vm/module_nest.sh. `echo 1 >/sys/module/nest/parameters/run`
 * begins, 0 ends; then it reads as lines `CONTEXT NUMBER`, how many each has made. The event is
 * power:cpu_frequency: state is the number, cpu_id the context: 1000 for a task, 2000 a softirq,
 * 3000 an interrupt, 4000 an NMI, and the CPU; 5000 a task with preemption on, and its number,
 * which another task moves from CPU to CPU at any moment. There are NMIs on x86 only.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/version.h>
#ifdef CONFIG_X86_64
#include <asm/apic.h>
#include <asm/nmi.h>
#endif
#include <trace/events/power.h>

enum { TASK, SOFTIRQ, INTERRUPT, NMI, CONTEXTS = NMI + IS_ENABLED(CONFIG_X86_64) };

struct source {
	u32 made[CONTEXTS];             /* written in that context only */
	atomic_t nmis;                  /* that others have sent */
	struct hrtimer timer, soft_timer;
	struct task_struct *task;
};

#define WALKERS 3

static DEFINE_PER_CPU(struct source, sources);
static struct walker {
	u32 made;                       /* written by its task only */
	struct task_struct *task;
} walkers[WALKERS];
static struct task_struct *driver;
static bool running;                    /* with the lock of parameters */

static void make(int context)
{
	struct source *s = this_cpu_ptr(&sources);

	trace_cpu_frequency(s->made[context]++, 1000 * (context + 1) + smp_processor_id());
}

#ifdef CONFIG_X86_64
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

static int nmi(unsigned int type, struct pt_regs *regs)
{
	make(NMI);
	return atomic_dec_if_positive(&this_cpu_ptr(&sources)->nmis) >= 0 ? NMI_HANDLED : NMI_DONE;
}

static int begin_nmis(void)
{
	return register_nmi_handler(NMI_LOCAL, nmi, 0, "nest");
}

static void end_nmis(void)
{
	unregister_nmi_handler(NMI_LOCAL, "nest");
}
#else
static void send_nmi(void)
{
}

static int begin_nmis(void)
{
	return 0;
}

static void end_nmis(void)
{
}
#endif

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

static int walk(void *arg)
{
	struct walker *w = arg;

	while (!kthread_should_stop()) {
		for (int i = 0; i < 20; i++)
			trace_cpu_frequency(w->made++, 5000 + (int)(w - walkers));
		udelay(20);
		cond_resched();
	}
	return 0;
}

static int drive(void *unused)
{
	unsigned int cpu = 0;

	while (!kthread_should_stop()) {
		for (int i = 0; i < WALKERS; i++) {
			cpu = cpumask_next(cpu, cpu_online_mask);
			if (cpu >= nr_cpu_ids)
				cpu = cpumask_first(cpu_online_mask);
			set_cpus_allowed_ptr(walkers[i].task, cpumask_of(cpu));
			usleep_range(100, 200);
		}
	}
	return 0;
}

static void end(struct task_struct **task)
{
	if (*task)
		kthread_stop(*task);
	*task = NULL;
}

static void stop(void)
{
	unsigned int cpu;

	end(&driver);
	for (int i = 0; i < WALKERS; i++)
		end(&walkers[i].task);
	for_each_online_cpu(cpu) {
		struct source *s = per_cpu_ptr(&sources, cpu);

		end(&s->task);
		hrtimer_cancel(&s->timer);
		hrtimer_cancel(&s->soft_timer);
	}
	end_nmis();
}

static int make_task(struct task_struct **task, int (*what)(void *), void *arg)
{
	struct task_struct *t = kthread_create(what, arg, "nest");

	*task = IS_ERR(t) ? NULL : t;
	return PTR_ERR_OR_ZERO(t);
}

static int start_tasks(void)
{
	unsigned int cpu;
	int ret = 0;

	for_each_online_cpu(cpu) {
		struct source *s = per_cpu_ptr(&sources, cpu);

		ret = ret ? ret : make_task(&s->task, work, NULL);
		if (!ret) {
			kthread_bind(s->task, cpu);
			wake_up_process(s->task);
		}
	}
	for (int i = 0; i < WALKERS && !ret; i++) {
		walkers[i].made = 0;
		ret = make_task(&walkers[i].task, walk, &walkers[i]);
		if (!ret)
			wake_up_process(walkers[i].task);
	}
	ret = ret ? ret : make_task(&driver, drive, NULL);
	if (!ret)
		wake_up_process(driver);
	return ret;
}

static int start(void)
{
	unsigned int cpu;
	int ret;

	/* Before the first CPU's timer can send an NMI to another CPU. */
	for_each_online_cpu(cpu)
		memset(per_cpu_ptr(&sources, cpu)->made, 0, sizeof(sources.made));
	ret = begin_nmis();
	if (ret)
		return ret;
	ret = start_tasks();
	if (ret)
		stop();
	return ret;
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
	for (int i = 0; i < WALKERS; i++)
		n += sysfs_emit_at(buffer, n, "%u %u\n", 5000 + i, walkers[i].made);
	return n;
}

static const struct kernel_param_ops operations = { .set = run, .get = show };

/* 6.15: what sets up a timer takes its function. */
static void set_up(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
		   enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, mode);
	timer->function = function;
#endif
}

static int __init nest_init(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct source *s = per_cpu_ptr(&sources, cpu);

		set_up(&s->timer, expired, HRTIMER_MODE_REL_PINNED_HARD);
		set_up(&s->soft_timer, soft_expired, HRTIMER_MODE_REL_PINNED_SOFT);
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
