/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/base/ring/: the rings of applications as the daemon sees them. It creates them, reads
 * them, cuts them into packets, and knows the files to which the output has written them.
 *
 *   ring.h          (this file) regions: sealed memfds with the rings of one channel and one owner;
 *                   the writers' barrier
 *   region.c        creates, adopts and removes regions
 *   region_file.h   … that are files of a directory
 *   barrier.c       the writers' barrier
 *   reclaim.c       gives the memory of sub-buffers back
 *   counters.c      the counters of regions that count hits
 *   reader.h        a consistent view of a ring that writers are filling
 *   packetizer.h    cuts a ring into CTF packets
 *   losses.h        what a reader of a stream misses
 *   source.h        what is lost in buffers from which the daemon fills rings
 *   stream.h        traces and their streams
 *   stream_files.h  the files of a stream
 *   input.h         a stream of an imported trace, which has no ring
 *
 * Locks: struct trace has one for its metadata, struct stream_files one for its list; rings have
 * none. Any thread may call these functions.
 *
 * An application that maps a region may write anything into it. So the daemon works with its own
 * copy of the geometry, and checks each value from the mapping (heads, side entries, events) before
 * it uses the value as a size or a place.
 */
#ifndef TRACER_RING_RING_H
#define TRACER_RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/abi/ring.h"

struct region_geometry {
	enum trail_mode mode;
	enum trail_ring_kind kind;
	uint32_t ring_count;
	uint32_t subbuf_count;
	uint64_t subbuf_size;
	uint32_t switch_count;          /* number of event ids */
	uint64_t clock_mult, clock_base;
	bool preallocate;               /* for region_create: all memory at once, for good */
	bool file;                      /* the same: in the directory of rings, if any */
};

struct region {
	int refs;                       /* atomic */
	/*
	 * Its buffer was removed: the memory is freed, then reads as zeros. Atomic; who reads the
	 * rings looks after each copy (ring_holds). Set with tracer.lock held.
	 */
	bool retired;
	int fd;                         /* the memfd or file; -1 in tests */
	uint8_t *map;                   /* whole region, shared, writable */
	uint64_t size;
	uint64_t key;
	struct region_geometry geo;     /* the daemon's own copy; constant */
	bool populate;                  /* writers populate sub-buffers */
	bool preallocated;              /* memory is not given back */
	bool file;                      /* it has a name in a directory (region_file.h) */
	uint32_t reclaims;              /* as in the header; under the lock of reclaim.c */
	uint64_t created;               /* CLOCK_MONOTONIC, ns; 0: not known */
	uint64_t switch_offset, ring_offset, ring_stride, data_offset;
	uint32_t counters;              /* ids below have memory: region_counter_room */
};

/* Size of such a region in bytes; 0: the geometry is not valid. */
uint64_t region_size(const struct region_geometry *geo);
/* The size of the region that begins with this header; 0: the header is not valid. */
uint64_t region_header(const struct trail_region *h);
/*
 * Creates a memfd, sized, sealed against resizing, mapped. Returns 0 or -errno. The caller holds
 * one reference.
 */
int region_create(const struct region_geometry *geo, uint64_t key, struct region **out);
/*
 * Takes over a memfd that an earlier daemon created (the keeper held it): checks the seals, the
 * size, and that the header page is consistent. On success the region owns fd, on failure the
 * caller still does.
 */
int region_adopt(int fd, struct region **out);
/*
 * The same for a memfd whose header page is not valid any more. The region has no rings until
 * region_assume() has succeeded.
 */
int region_adopt_spoiled(int fd, struct region **out);
/*
 * Before another thread knows the region: gives it the geometry, time and key that the state
 * directory has. -EBADMSG: that is not the geometry of this memfd.
 */
int region_assume(struct region *r, const struct region_geometry *geo, uint64_t created,
		  uint64_t key);
/*
 * Writes the header page again where an application has written over it; true: one has. An
 * application that reads the page meanwhile finds in each word what that one stored, or what
 * belongs there.
 */
bool region_repair(struct region *r);
struct tr_err;
/*
 * Before there are other threads: regions whose geometry says `file` are made as files of this
 * directory. 0 or -errno with a sentence.
 */
int region_directory(const char *path, struct tr_err *err);
struct region *region_get(struct region *r);
/* NULL is allowed; the last one unmaps and closes */
void region_put(struct region *r);
/*
 * Instead of region_put when a buffer is removed: frees the memory although applications may still
 * map it. Switches must be off and a barrier passed. The kernel takes long for it, so a worker
 * thread does it.
 */
void region_retire(struct region *r);
bool region_retired(const struct region *r);
void region_retire_finish(void);                /* waits for that thread, before the process ends */

static inline struct trail_ring *region_ring(const struct region *r, uint32_t i)
{
	return (struct trail_ring *)(r->map + r->ring_offset + i * r->ring_stride);
}

static inline const uint8_t *region_data(const struct region *r, uint32_t i)
{
	return r->map + r->ring_offset + i * r->ring_stride + r->data_offset;
}

struct ring_writer;     /* abi/ring_write.h */
/* Lets w write to a ring of this process: sets all but the functions and their argument. */
void region_write_to(const struct region *r, uint32_t ring, struct ring_writer *w);
/* The head of a ring as a position. */
static inline uint64_t region_head(const struct region *r, uint32_t i)
{
	return __atomic_load_n(&region_ring(r, i)->head, __ATOMIC_ACQUIRE) & TRAIL_HEAD_MASK;
}

/* Populates a sub-buffer before the writer uses it for the first time. False: out of memory. */
bool region_populate(const struct region *r, uint32_t ring, uint64_t subbuf);
/* Who populated a sub-buffer does it again before it is used. Caller holds reclaim.c's lock. */
void region_reclaimed(struct region *r);
/* An earlier daemon may have been killed while it freed memory. */
void region_drop_fences(const struct region *r);
/* Sets the switch byte of an event id (0: off). Does not wait for writers; see barrier(). */
void region_switch(struct region *r, uint32_t id, uint8_t value);
uint8_t region_switched(const struct region *r, uint32_t id);

/*
 * Counters of a region with TRAIL_MODE_COUNT. Allocates the memory of the event's counters, before
 * an application learns its id: a store must not fail. Caller holds tracer.lock. 0 or -errno.
 */
int region_counter_room(struct region *r, uint32_t id);
/*
 * The hits since the last clear. What cannot be true counts as none and sets *spoiled, because an
 * application can write to its counters. Any thread.
 */
uint64_t region_count(const struct region *r, uint32_t id, bool *spoiled);
/* Adds hits that an application could not add itself. The counter has memory. Any thread. */
void region_count_add(const struct region *r, uint32_t id, uint64_t n);
/* Hits before this call do not count. A barrier() has passed. Caller holds tracer.lock. */
void region_counts_clear(const struct region *r, uint32_t ids);

/*
 * The writers' barrier: when it returns, every event whose section began before the call is either
 * below its ring's head or its section starts over, reads the clock again and tests the switch byte
 * again (guarantee G6 of abi/ring.h).
 *
 * Rings of CPUs: a thread of this process runs once on each CPU, which aborts a section that was
 * preempted there or lets it finish. For CPUs that are online but outside the cpuset of this
 * process, root's daemon uses the kernel's statistics; any other daemon uses membarrier(2) and a
 * pause, which takes 10 to 20 ms. Rings of threads: the barrier changes the generation in the head,
 * so that a pending compare-and-exchange fails.
 *
 * A caller that reads the clock before the call sees every event older than that time after it. Any
 * thread may call it, also concurrently. Takes about 30 us per CPU.
 */
void barrier(struct region *const *regions, size_t count);
/* The same for writers in the kernel, which disable preemption while they record an event. */
void barrier_cpus(void);

#endif
