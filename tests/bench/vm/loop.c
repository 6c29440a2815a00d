// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls tracepoints of the kernel's in a loop, for tests/bench/vm: `echo cpu_frequency
 * >/sys/module/loop/parameters/run` does so, and the same file then reads as `CASE MEDIAN`: ticks
 * of the TSC for one call, which QEMU makes instructions.
 */
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <linux/timex.h>
#include <trace/events/module.h>
#include <trace/events/power.h>

#define BATCHES 41
#define CALLS 1000

static char last[64];

static void cpu_frequency(void)
{
	for (unsigned int i = 0; i < CALLS; i++)
		trace_cpu_frequency(i, 0);
}

static void module_get(void)
{
	for (unsigned int i = 0; i < CALLS; i++)
		trace_module_get(THIS_MODULE, _THIS_IP_);
}

static const struct {
	const char *name;
	void (*calls)(void);
} cases[] = { { "cpu_frequency", cpu_frequency }, { "module_get", module_get } };

static int compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void measure(const char *name, void (*calls)(void))
{
	u64 ticks[BATCHES], begin;

	for (unsigned int i = 0; i < BATCHES; i++) {
		begin = get_cycles();
		calls();
		ticks[i] = get_cycles() - begin;
		cond_resched();         /* the recorder may have to run */
	}
	sort(ticks, BATCHES, sizeof(ticks[0]), compare, NULL);
	snprintf(last, sizeof(last), "%s %llu.%03llu\n", name, ticks[BATCHES / 2] / CALLS,
		 ticks[BATCHES / 2] % CALLS);
}

static int run(const char *value, const struct kernel_param *param)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++)
		if (sysfs_streq(value, cases[i].name)) {
			measure(cases[i].name, cases[i].calls);
			return 0;
		}
	return -EINVAL;
}

static int show(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s", last);
}

static const struct kernel_param_ops operations = { .set = run, .get = show };

module_param_cb(run, &operations, NULL, 0600);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("tracepoints in a loop");
