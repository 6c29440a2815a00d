// SPDX-License-Identifier: GPL-2.0-or-later
/* The stacks of programs in samples, by the programs' own rules. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tracer/kernel/sample/internal.h"

/*
 * ns of CPU time that a drain has for the files of programs that it has not seen yet: the rings
 * must not be full meanwhile. Until the next drain a process has the mappings that are known of it,
 * or frame pointers only.
 */
#define BUDGET 50000000u

struct registers {              /* PERF_SAMPLE_REGS_USER: SAMPLE_REGS */
	uint64_t abi, bx, bp, sp, ip;
};

/*
 * The registers and the copy of the stack in a sample. False: it has none, as of kernel threads, or
 * they are not of a program with 64 bits.
 */
static bool find_copy(const uint8_t *rest, size_t size, struct unwind_input *out)
{
	struct registers r;
	uint64_t room, used;
	size_t at = sizeof(r) + sizeof(room);

	if (size < at)
		return false;
	memcpy(&r, rest, sizeof(r));
	memcpy(&room, rest + sizeof(r), sizeof(room));
	if (r.abi != PERF_SAMPLE_REGS_ABI_64 || room < sizeof(used) || size - at < sizeof(used) ||
	    room > size - at - sizeof(used))
		return false;
	memcpy(&used, rest + at + room, sizeof(used));
	*out = (struct unwind_input){ .ip = r.ip,
				      .sp = r.sp,
				      .bp = r.bp,
				      .bx = r.bx,
				      .stack = rest + at,
				      .size = used < room ? used : room };
	return true;
}

/* Adds what was mapped since the last sample. */
static void add_mappings(struct sampler *s, struct sampled_process *p)
{
	struct code_mapping m;
	int dir = code_map_process(p->pid);

	while (process_next_mapping(p, &p->spaced, &m))
		unwind_space_add(s->unwinder, p->space, dir, &m);
	if (dir >= 0)
		close(dir);
}

/* What a process maps that is not of a new program: as its parent, or as the system says. */
static struct unwind_space *find_space(struct sampler *s, int32_t pid, int32_t parent)
{
	struct sampled_process *maker = parent ? process_known(&s->processes, parent) : NULL;
	struct unwind_space *space;
	int dir;

	if (maker && maker->space) {
		/* What the maker's space lacks yet, the child's would lack for good. */
		if (maker->spaced < maker->maps.len)
			add_mappings(s, maker);
		return unwind_space_copy(maker->space);
	}
	dir = code_map_process(pid);
	if (dir < 0)
		dir = code_map_process(parent);
	space = unwind_space_create();
	if (space && dir >= 0)
		unwind_space_read(s->unwinder, space, dir);
	if (dir >= 0)
		close(dir);
	return space;
}

static uint64_t cpu_time(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t)
		       ? 0
		       : (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Sees to it that p->space is what the process maps now, if there is time. False: there is none. */
static bool update_space(struct sampler *s, struct sampled_process *p)
{
	uint64_t begin;

	if (p->space && p->spaced >= p->maps.len)
		return true;
	if (s->spent > BUDGET)
		return p->space != NULL;
	begin = cpu_time();
	if (!p->space)
		p->space = find_space(s, p->pid, p->parent);
	if (p->space && p->spaced < p->maps.len)
		add_mappings(s, p);
	s->spent += cpu_time() - begin;
	return p->space != NULL;
}

/*
 * The stack below what was copied, if the program has frame pointers: the callchain of the kernel
 * has it, after the last address that was found.
 */
static uint32_t add_rest(uint64_t *found, uint32_t n, const struct cpu_sample *chain)
{
	uint32_t i = 0;

	while (i < chain->user_count && chain->user[i] != found[n - 1])
		i++;
	while (++i < chain->user_count && n < UNWIND_FRAMES_MAX)
		found[n++] = chain->user[i];
	return n;
}

void sampler_unwind(struct sampler *s, struct sampled_process *p, const uint8_t *rest, size_t size,
		    struct cpu_sample *out)
{
	struct unwind_input in;
	uint32_t n;
	bool cut;

	if (!s->unwinder || !find_copy(rest, size, &in) || !update_space(s, p))
		return;
	n = unwind(p->space, &in, s->user, &cut);
	if (!n)
		return;
	if (cut)
		n = add_rest(s->user, n, out);
	out->user = s->user;
	out->user_count = n;
}
