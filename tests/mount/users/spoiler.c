/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: trail */
/*
 * spoiler COUNT [WHAT [PATH]]: COUNT events spoil:tick { n }; then it writes over its mapped
 * buffers, as a program with an error or of a hostile user does. WHAT is
 *
 *   stray      one store to the header and one to the switch bytes, as they are mapped: prints
 *              `fault` for each one that is a SIGSEGV, `stored` for any other
 *   header     random bytes over the first 72 bytes of the header
 *   page       zeros over the header page
 *   switches   zeros over the switch bytes
 *   values     other values than 0 there
 *   tallies    tallies of the rings that cannot be true
 *   heads      heads and tallies that cannot be true
 *   losses     numbers of losses that cannot be true
 *   front      0xab over the writer's words of the rings
 *   ones       0xff there
 *   rings      0xab over all of the rings, up to their data
 *   data       bytes over all events, which make no event any more
 *   sources    losses in other buffers, which rings of programs do not have
 *   limit      nothing, but from now on the program gets no address space
 *
 * With PATH it then waits until that exists, and emits COUNT events more.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <trail/trail.h>

#include "tracer/abi/ring.h"

static sigjmp_buf fault;

static void on_fault(int signal)
{
	siglongjmp(fault, signal);
}

static void store(uint8_t *at)
{
	if (sigsetjmp(fault, 1)) {
		puts("fault");
		return;
	}
	*(volatile uint8_t *)at = *at;
	puts("stored");
}

static struct trail_ring *ring_of(uint8_t *base, const struct trail_region *h, uint32_t i)
{
	return (struct trail_ring *)(void *)(base + h->ring_offset + i * h->ring_stride);
}

static void spoil_ring(struct trail_ring *r, const char *what)
{
	if (!strcmp(what, "tallies"))
		r->tally.commits = UINT64_C(2496108978633773737);
	if (!strcmp(what, "heads")) {
		r->head = TRAIL_HEAD_MASK - 4096;
		r->tally = (struct trail_tally){ r->head, UINT64_C(1) << 60 };
	}
	if (!strcmp(what, "losses"))
		r->lost = UINT64_C(2496108978633773737);
	if (!strcmp(what, "sources"))
		r->source_overwritten = r->source_gaps = UINT64_C(1) << 61;
}

static void spoil(uint8_t *base, size_t size, const char *what)
{
	struct trail_region h = *(const struct trail_region *)(void *)base;

	if (!strcmp(what, "stray")) {
		store(base + 8);
		store(base + h.switch_offset + 1);
		return;
	}
	if (mprotect(base, size, PROT_READ | PROT_WRITE))
		exit(2);
	if (!strcmp(what, "header"))
		for (int i = 0; i < 72; i++)
			base[i] ^= (uint8_t)(0x5a + i);
	else if (!strcmp(what, "page"))
		memset(base, 0, TRAIL_PAGE);
	else if (!strcmp(what, "switches"))
		memset(base + h.switch_offset, 0, h.switch_count);
	else if (!strcmp(what, "values"))
		memset(base + h.switch_offset, 0x77, h.switch_count);
	for (uint32_t i = 0; i < h.ring_count && !strcmp(what, "data"); i++)
		memset((uint8_t *)ring_of(base, &h, i) + h.data_offset, 0xff,
		       h.subbuf_size * h.subbuf_count);
	for (uint32_t i = 0; i < h.ring_count && !strcmp(what, "front"); i++)
		memset(ring_of(base, &h, i), 0xab, 72);
	for (uint32_t i = 0; i < h.ring_count && !strcmp(what, "ones"); i++)
		memset(ring_of(base, &h, i), 0xff, 72);
	for (uint32_t i = 0; i < h.ring_count && !strcmp(what, "rings"); i++)
		memset(ring_of(base, &h, i), 0xab, h.data_offset);
	for (uint32_t i = 0; i < h.ring_count; i++)
		spoil_ring(ring_of(base, &h, i), what);
}

/* The header, the switches and the rings may be mappings of their own. */
static int spoil_all(const char *what)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long begin, end, first = 0, last = 0;
	char line[512];
	int n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "/memfd:trail-region") ||
		    sscanf(line, "%lx-%lx", &begin, &end) != 2)
			continue;
		if (strstr(line, " 00000000 ")) {
			if (first)
				spoil((uint8_t *)first, last - first, what);
			first = begin;
			n++;
		}
		last = end;
	}
	if (first)
		spoil((uint8_t *)first, last - first, what);
	if (f)
		fclose(f);
	return n ? 0 : 3;
}

static void emit(long count)
{
	for (long n = 0; n < count; n++)
		TRAIL(spoil, tick, n);
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0;
	int ret = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	emit(count);
	if (argc > 2 && !strcmp(argv[2], "limit"))
		ret = setrlimit(RLIMIT_AS, &(struct rlimit){ 0, RLIM_INFINITY });
	else if (argc > 2)
		ret = spoil_all(argv[2]);
	if (argc > 3) {
		puts("spoilt");
		while (access(argv[3], F_OK))
			usleep(1000);
		emit(count);
	}
	return ret;
}
