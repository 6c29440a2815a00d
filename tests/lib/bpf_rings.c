/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * bpf_rings PREFIX: what the rings of BPF programs have counted, of channels whose names begin with
 * the prefix, in the words of tracefs: a line for each CPU's events, one for what it has lost.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracer/kernel/programs/bpf.h"

static void print_ring(const struct bpf_control *c, const char *prefix)
{
	uint64_t events = 0, lost = c->deep;

	for (int level = 0; level < BPF_LEVELS; level++) {
		events += c->levels[level].ring.events;
		lost += c->levels[level].ring.lost;
	}
	if (!strncmp(c->channel, prefix, strlen(prefix)))
		printf("entries: %" PRIu64 "\noverrun: %" PRIu64 "\n", events, lost);
}

static void look_at(int map, const char *prefix)
{
	struct bpf_map_info info;
	uint8_t *memory;
	union bpf_attr a;

	memset(&info, 0, sizeof(info));
	memset(&a, 0, sizeof(a));
	a.info.bpf_fd = (uint32_t)map;
	a.info.info_len = sizeof(info);
	a.info.info = (uintptr_t)&info;
	/* The layout follows: it is the one of this source. */
	if (bpf_command(BPF_OBJ_GET_INFO_BY_FD, &a) || strncmp(info.name, "trailfs_ring.", 13))
		return;
	memory = mmap(NULL, (size_t)info.value_size * info.max_entries, PROT_READ, MAP_SHARED, map,
		      0);
	for (uint32_t i = 0; memory != MAP_FAILED && i < info.max_entries; i++)
		print_ring((const void *)(memory + (size_t)i * info.value_size), prefix);
}

int main(int argc, char **argv)
{
	union bpf_attr a;
	uint32_t id = 0;
	long map;

	for (;;) {
		memset(&a, 0, sizeof(a));
		a.start_id = id;
		if (argc != 2 || bpf_command(BPF_MAP_GET_NEXT_ID, &a))
			return argc != 2;
		id = a.next_id;
		memset(&a, 0, sizeof(a));
		a.map_id = id;
		map = bpf_command(BPF_MAP_GET_FD_BY_ID, &a);
		if (map >= 0) {
			look_at((int)map, argv[1]);
			close((int)map);
		}
	}
}
