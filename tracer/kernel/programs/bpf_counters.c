// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Performance counters of CPUs, for the context perf:cpu:NAME: a map for each of a channel's
 * counters, with the counter of each CPU. The kernel counts for as long as someone holds the
 * descriptor of the map, which the keeper does between two daemons.
 */
#include "tracer/kernel/programs/bpf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/abi/context_kind.h"
#include "tracer/base/array.h"

/* Puts the counters of all CPUs into the map. The map keeps them. 0 or -errno. */
static int fill_map(const struct bpf_counter *n, uint32_t cpus)
{
	struct perf_event_attr attr = { .type = n->type, .size = sizeof(attr),
					.config = n->config, .pinned = 1 };
	uint32_t found = 0;
	int fd, ret = 0;

	for (uint32_t cpu = 0; cpu < cpus && !ret; cpu++) {
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1,
				  PERF_FLAG_FD_CLOEXEC);
		/* Without a counter, programs on a CPU that is off now find 0. */
		if (fd < 0 && errno == ENODEV)
			continue;
		ret = fd < 0 ? -errno : bpf_map_set(n->map, &cpu, &fd);
		if (fd >= 0)
			close(fd);
		found++;
	}
	return ret ? ret : found ? 0 : -ENODEV;
}

static int open_counter(struct bpf_channel *c, uint32_t type, uint64_t config)
{
	struct bpf_counter n = { .type = type, .config = config };
	int ret;

	n.map = array_room(c->counters, c->counter_count + 1)
			? bpf_map_create(&(struct bpf_map_spec){
				  .type = BPF_MAP_TYPE_PERF_EVENT_ARRAY, .key_size = 4,
				  .value_size = 4, .entries = c->geometry.cpus,
				  .name = "trailfs_counter" })
			: -ENOMEM;
	if (n.map < 0)
		return n.map;
	ret = fill_map(&n, c->geometry.cpus);
	if (ret) {
		close(n.map);
		return ret;
	}
	c->counters[c->counter_count++] = n;
	bpf_kept_counter(c, &n);
	return n.map;
}

static int find_counter(struct bpf_channel *c, uint32_t type, uint64_t config)
{
	for (size_t i = 0; i < c->counter_count; i++)
		if (c->counters[i].type == type && c->counters[i].config == config)
			return c->counters[i].map;
	return open_counter(c, type, config);
}

int bpf_counters_open(struct bpf_channel *c, const struct context *contexts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int map = contexts[i].kind != TRAIL_CONTEXT_PERF
				  ? -1
				  : find_counter(c, contexts[i].perf_type, contexts[i].perf_config);

		if (map < 0 && contexts[i].kind == TRAIL_CONTEXT_PERF)
			return map;
		c->contexts->items[i].counter = map;
	}
	return 0;
}

void bpf_counters_close(struct bpf_channel *c, bool remove)
{
	while (c->counter_count) {
		const struct bpf_counter *n = &c->counters[--c->counter_count];

		if (remove)
			bpf_kept_drop_counter(c, n);
		close(n->map);
	}
	free(c->counters);
	c->counters = NULL;
}
