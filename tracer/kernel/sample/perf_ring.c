// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/sample/perf_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES_MIN 8u            /* of a user who may lock little memory */
#define RECORD_MAX 65536u       /* the size of a record has 16 bits */

static int open_event(struct perf_event_attr *attr, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int map_ring(struct perf_ring *r, size_t pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at;

	for (;; pages /= 2) {
		at = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
		if (at != MAP_FAILED)
			break;
		if (pages <= PAGES_MIN)
			return -errno;
	}
	r->page = at;
	r->data = (const uint8_t *)at + page;
	r->size = pages * page;
	r->mapped = (pages + 1) * page;
	return 0;
}

int perf_ring_open(struct perf_event_attr *attr, int cpu, size_t pages, struct perf_ring *out)
{
	int ret;

	attr->size = sizeof(*attr);
	attr->sample_type = PERF_RING_SAMPLE | (attr->sample_stack_user ? PERF_RING_STACK : 0);
	attr->sample_id_all = 1;
	attr->disabled = 1;
	attr->watermark = 1;
	*out = (struct perf_ring){ .fd = open_event(attr, cpu) };
	if (out->fd < 0) {
		ret = out->fd;
		out->fd = -1;
		return ret;
	}
	ret = map_ring(out, pages);
	if (ret)
		perf_ring_close(out);
	return ret;
}

void perf_ring_close(struct perf_ring *r)
{
	if (r->page)
		munmap(r->page, r->mapped);
	if (r->fd >= 0)
		close(r->fd);
	*r = (struct perf_ring){ .fd = -1 };
}

int perf_ring_enable(struct perf_ring *r, bool on)
{
	return ioctl(r->fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) ? -errno : 0;
}

/* Copies bytes from the ring, which end at its end and continue at its beginning. */
static void copy_bytes(const struct perf_ring *r, uint64_t at, void *to, size_t n)
{
	size_t from = (size_t)(at & (r->size - 1)), first = r->size - from;

	first = first < n ? first : n;
	memcpy(to, r->data + from, first);
	memcpy((uint8_t *)to + first, r->data, n - first);
}

void perf_ring_read(struct perf_ring *r, void (*fn)(void *arg, const struct perf_read *record),
		    void *arg)
{
	/* Pairs with the kernel's barrier: the records below the head are complete. */
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	struct perf_event_header first, *copy = malloc(RECORD_MAX);

	while (copy && head - r->read >= sizeof(first)) {
		size_t from = (size_t)(r->read & (r->size - 1));
		struct perf_read record;

		copy_bytes(r, r->read, &first, sizeof(first));
		if (first.size < sizeof(first) || first.size % 8 || first.size > head - r->read) {
			r->read = head;
			break;
		}
		/* One with a stack is 8 KiB and more: only a record in two parts is copied. */
		record.in_ring = from + first.size <= r->size;
		if (!record.in_ring)
			copy_bytes(r, r->read, copy, first.size);
		record.header = record.in_ring
					? (const struct perf_event_header *)(r->data + from)
					: copy;
		record.end = r->read + first.size;
		fn(arg, &record);
		r->read = record.end;
	}
	free(copy);
}

void perf_ring_release(struct perf_ring *r, uint64_t end)
{
	/* Pairs with the kernel's load: it writes over what was read only after this. */
	__atomic_store_n(&r->page->data_tail, end, __ATOMIC_RELEASE);
}

/* The fences pair with the kernel's updates of page->lock. */
struct perf_time perf_ring_time(const struct perf_ring *r)
{
	const volatile struct perf_event_mmap_page *page = r->page;
	struct perf_time t = { 0 };

	for (int tries = 0; tries < 1000; tries++) {
		uint32_t lock = page->lock;

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		t.zero = page->time_zero;
		t.shift = page->time_shift;
		t.mult = page->cap_user_time && page->cap_user_time_zero ? page->time_mult : 0;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (page->lock == lock && !(lock & 1) && t.shift < 64)
			return t;
	}
	return (struct perf_time){ 0 };
}
