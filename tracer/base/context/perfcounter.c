// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/base/context/perfcounter.h"

#define HW(name, id) { name, { PERF_TYPE_HARDWARE, PERF_COUNT_HW_##id } }
#define SW(name, id) { name, { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##id } }
#define CACHE(name, id, op, result) \
	{ name, { PERF_TYPE_HW_CACHE, \
		  PERF_COUNT_HW_CACHE_##id | PERF_COUNT_HW_CACHE_OP_##op << 8 | \
			  PERF_COUNT_HW_CACHE_RESULT_##result << 16 } }
#define CACHE_ALL(name, id) \
	CACHE(name "-loads", id, READ, ACCESS), \
	CACHE(name "-load-misses", id, READ, MISS), \
	CACHE(name "-stores", id, WRITE, ACCESS), \
	CACHE(name "-store-misses", id, WRITE, MISS), \
	CACHE(name "-prefetches", id, PREFETCH, ACCESS), \
	CACHE(name "-prefetch-misses", id, PREFETCH, MISS)

static const struct { const char *name; struct perf_counter counter; } counters[] = {
	HW("cpu-cycles", CPU_CYCLES), HW("cycles", CPU_CYCLES), HW("instructions", INSTRUCTIONS),
	HW("cache-references", CACHE_REFERENCES), HW("cache-misses", CACHE_MISSES),
	HW("branch-instructions", BRANCH_INSTRUCTIONS), HW("branches", BRANCH_INSTRUCTIONS),
	HW("branch-misses", BRANCH_MISSES), HW("bus-cycles", BUS_CYCLES),
	HW("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND),
	HW("idle-cycles-frontend", STALLED_CYCLES_FRONTEND),
	HW("stalled-cycles-backend", STALLED_CYCLES_BACKEND),
	HW("idle-cycles-backend", STALLED_CYCLES_BACKEND),
	CACHE_ALL("L1-dcache", L1D), CACHE_ALL("L1-icache", L1I),
	CACHE_ALL("LLC", LL), CACHE_ALL("dTLB", DTLB),
	CACHE("iTLB-loads", ITLB, READ, ACCESS), CACHE("iTLB-load-misses", ITLB, READ, MISS),
	CACHE("branch-loads", BPU, READ, ACCESS), CACHE("branch-load-misses", BPU, READ, MISS),
	SW("cpu-clock", CPU_CLOCK), SW("task-clock", TASK_CLOCK),
	SW("page-fault", PAGE_FAULTS), SW("page-faults", PAGE_FAULTS), SW("faults", PAGE_FAULTS),
	SW("major-faults", PAGE_FAULTS_MAJ), SW("minor-faults", PAGE_FAULTS_MIN),
	SW("context-switches", CONTEXT_SWITCHES), SW("cs", CONTEXT_SWITCHES),
	SW("cpu-migrations", CPU_MIGRATIONS), SW("migrations", CPU_MIGRATIONS),
	SW("alignment-faults", ALIGNMENT_FAULTS), SW("emulation-faults", EMULATION_FAULTS),
};

#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

const char *perf_counter_name(size_t i)
{
	return i < COUNTERS ? counters[i].name : NULL;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* rN:NAME */
static int find_raw(const char *name, size_t len, struct perf_counter *out)
{
	size_t i;

	*out = (struct perf_counter){ PERF_TYPE_RAW, 0 };
	if (!len || name[0] != 'r')
		return -EINVAL;
	for (i = 1; i < len && hex(name[i]) >= 0; i++)
		out->config = out->config << 4 | (uint64_t)hex(name[i]);
	if (i == 1 || i > 17 || i + 1 >= len || name[i] != ':' ||
	    memchr(name + i + 1, ':', len - i - 1))
		return -EINVAL;
	return 0;
}

int perf_counter_find(const char *name, size_t len, struct perf_counter *out)
{
	if (len >= 4 && !strncmp(name, "raw:", 4))
		return find_raw(name + 4, len - 4, out);
	for (size_t i = 0; i < COUNTERS; i++)
		if (strlen(counters[i].name) == len && !memcmp(counters[i].name, name, len)) {
			*out = counters[i].counter;
			return 0;
		}
	return -ENOENT;
}

int perf_counter_probe(const struct perf_counter *c, bool cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = c->type, .config = c->config, .disabled = 1,
		.exclude_kernel = !cpu, .exclude_hv = !cpu,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, cpu ? -1 : 0, cpu ? 0 : -1, -1,
			      PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}
