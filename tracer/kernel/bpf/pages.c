// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The address of the structure of page 0. The kernel tells it nowhere, and it may differ after each
 * start. So a program notes the structures of pages that are made, and /proc/self/pagemap has the
 * number of a page that this process makes meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracer/kernel/bpf/bpf.h"
#include "tracer/kernel/bpf/expression.h"

enum { NOTES = 32, TRIES = 8, PAGES = 4 };

struct notes {                          /* the value of the map */
	uint64_t count;
	uint64_t at[NOTES];             /* addresses of structures, the last ones */
};

/* A program that notes its first argument. */
static int load_program(uint32_t type, int map)
{
	struct bpf_code *c = calloc(1, sizeof(*c));
	int ret, none;

	if (!c)
		return -ENOMEM;
	bpf_code_begin(c);
	none = bpf_label(c);
	bpf_move(c, BPF_REG_6, BPF_REG_1);
	bpf_store_number(c, BPF_W, BPF_REG_10, -4, 0);
	bpf_set_map(c, BPF_REG_1, map);
	bpf_set_stack(c, BPF_REG_2, -4);
	bpf_call(c, BPF_FUNC_map_lookup_elem);
	bpf_jump_if(c, BPF_JEQ, BPF_REG_0, 0, none);
	bpf_load_from(c, BPF_DW, BPF_REG_1, BPF_REG_6, 0);
	bpf_load_from(c, BPF_DW, BPF_REG_2, BPF_REG_0, 0);
	bpf_move(c, BPF_REG_3, BPF_REG_2);
	bpf_alu(c, BPF_ADD, BPF_REG_3, 1);
	bpf_store(c, BPF_DW, BPF_REG_0, 0, BPF_REG_3);
	bpf_alu(c, BPF_AND, BPF_REG_2, NOTES - 1);
	bpf_alu(c, BPF_LSH, BPF_REG_2, 3);
	bpf_alu_reg(c, BPF_ADD, BPF_REG_0, BPF_REG_2);
	bpf_store(c, BPF_DW, BPF_REG_0, 8, BPF_REG_1);
	bpf_here(c, none);
	bpf_pass(c);
	ret = bpf_load_typed(&(struct bpf_hook){ type, BPF_TRACE_RAW_TP }, c, NULL);
	free(c);
	return ret;
}

/* The number of the page at this address; 0: not known, as without root's rights. */
static uint64_t find_number(const void *at)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uintptr_t page = (uintptr_t)at / (uintptr_t)sysconf(_SC_PAGESIZE);
	uint64_t entry = 0;

	if (fd < 0 || pread(fd, &entry, sizeof(entry), (off_t)(page * sizeof(entry))) !=
			      (ssize_t)sizeof(entry))
		entry = 0;
	if (fd >= 0)
		close(fd);
	/* Bit 63: it is in memory. */
	return entry >> 63 ? entry & ((UINT64_C(1) << 55) - 1) : 0;
}

/* Keeps the addresses in `found` that these notes give, too. Returns how many. */
static size_t keep_common(uint64_t *found, size_t count, const struct notes *n, uint64_t number)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < NOTES; k++)
			if (n->at[k] && n->at[k] - (number << BPF_PAGE_SHIFT) == found[i]) {
				found[kept++] = found[i];
				break;
			}
	return kept;
}

/* Lists the addresses that the notes give. Others than the beginning of a page are wrong. */
static size_t list_found(uint64_t *found, const struct notes *n, uint64_t number)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE), first;
	size_t count = 0;

	for (size_t k = 0; k < NOTES; k++) {
		first = n->at[k] - (number << BPF_PAGE_SHIFT);
		if (n->at[k] && !(first & (size - 1)))
			found[count++] = first;
	}
	return count;
}

/* One page after another; what fits to all of them is the address. */
static int try_pages(int map, uint64_t *pages)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE), count = 0;
	char *memory = mmap(NULL, PAGES * size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint32_t key = 0;
	uint64_t found[NOTES], number;
	struct notes n;

	if (memory == MAP_FAILED)
		return -errno;
	madvise(memory, PAGES * size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++) {
		memory[i * size] = 1;
		number = find_number(memory + i * size);
		memset(&n, 0, sizeof(n));
		if (!number || bpf_map_get(map, &key, &n))
			break;
		count = i ? keep_common(found, count, &n, number) : list_found(found, &n, number);
		if (!count)
			break;
	}
	munmap(memory, PAGES * size);
	for (size_t i = 1; i < count; i++)
		if (found[i] != found[0])
			return -ENOENT;
	*pages = count ? found[0] : 0;
	return count ? 0 : -ENOENT;
}

int bpf_pages_find(uint32_t type, uint64_t *pages)
{
	const struct bpf_map_spec spec = {
		.type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = sizeof(struct notes),
		.entries = 1, .name = "trailfs_pages",
	};
	int map = bpf_map_create(&spec), program = map, link = map, ret;

	if (map >= 0)
		program = link = load_program(type, map);
	if (program >= 0)
		link = bpf_attach_typed(program);
	ret = link < 0 ? link : -ENOENT;
	/* Other threads make pages, too, and may overwrite a note. */
	for (int i = 0; i < TRIES && link >= 0 && ret; i++)
		ret = try_pages(map, pages);
	if (program >= 0)
		bpf_detach(link, program);
	if (map >= 0)
		close(map);
	return ret;
}
