/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "tracer/base/ring/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracer/abi/ring_write.h"
#include "tracer/base/os/memory.h"
#include "tracer/base/os/worker.h"
#include "tracer/base/ring/region_file.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23          /* Linux 5.14 */
#endif

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define RING_COUNT_MAX 8192u
#define REGION_SIZE_MAX (UINT64_C(1) << 45)
/* beyond that, the caller frees the memory itself */
#define RETIRING_MAX (UINT64_C(256) << 20)

static uint64_t pages(uint64_t n)
{
	return (n + TRAIL_PAGE - 1) & ~(uint64_t)(TRAIL_PAGE - 1);
}

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* Fills the offsets and the size from the geometry; false: no such region. */
static bool set_layout(struct region *r)
{
	const struct region_geometry *g = &r->geo;

	if (!power_of_two(g->subbuf_size) || g->subbuf_size < TRAIL_SUBBUF_MIN ||
	    g->subbuf_size > TRAIL_SUBBUF_MAX)
		return false;
	if (!power_of_two(g->subbuf_count) || g->subbuf_count < 2 ||
	    g->subbuf_count > TRAIL_SUBBUF_COUNT_MAX)
		return false;
	if (!g->ring_count || g->ring_count > RING_COUNT_MAX || !g->switch_count ||
	    g->switch_count > 65536)
		return false;
	if (g->mode > TRAIL_MODE_COUNT)
		return false;
	if (g->mode == TRAIL_MODE_COUNT &&
	    g->subbuf_size * g->subbuf_count < g->switch_count * sizeof(struct trail_counter))
		return false;
	if (g->kind != TRAIL_RINGS_CPU && g->kind != TRAIL_RINGS_THREAD)
		return false;
	r->switch_offset = TRAIL_PAGE;
	r->ring_offset = r->switch_offset + pages(g->switch_count);
	r->data_offset = pages(sizeof(struct trail_ring) +
			       2ull * g->subbuf_count * sizeof(struct trail_subbuf));
	r->ring_stride = r->data_offset + g->subbuf_size * g->subbuf_count;
	if (r->ring_stride > REGION_SIZE_MAX / g->ring_count)
		return false;
	r->size = r->ring_offset + r->ring_stride * g->ring_count;
	return true;
}

uint64_t region_size(const struct region_geometry *geo)
{
	struct region r = { .geo = *geo };

	return set_layout(&r) ? r.size : 0;
}

static bool can_populate(void *page)
{
	static int known;       /* 0: not probed yet; every thread that probes finds the same */
	int k = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (!k) {
		k = madvise(page, TRAIL_PAGE, MADV_POPULATE_WRITE) ? -1 : 1;
		__atomic_store_n(&known, k, __ATOMIC_RELAXED);
	}
	return k > 0;
}

/*
 * Allocates what a writer stores to without a check: such a store must not fail for lack of memory.
 * More than there is would be taken as well, until the kernel ends processes.
 */
static int allocate_memory(const struct region *r, bool all)
{
	if (all)
		return r->size > memory_available() || posix_fallocate(r->fd, 0, (off_t)r->size)
			       ? -ENOSPC
			       : 0;
	if (posix_fallocate(r->fd, 0, (off_t)r->ring_offset))
		return -ENOSPC;
	for (uint32_t i = 0; i < r->geo.ring_count; i++) {
		uint64_t at = r->ring_offset + i * r->ring_stride;

		if (posix_fallocate(r->fd, (off_t)at, (off_t)r->data_offset))
			return -ENOSPC;
	}
	return 0;
}

bool region_repair(struct region *r)
{
	typedef uint32_t word __attribute__((may_alias));
	const struct trail_region header = {
		.magic = TRAIL_REGION_MAGIC,
		.version = TRAIL_REGION_VERSION,
		.mode = r->geo.mode,
		.kind = r->geo.kind,
		.ring_count = r->geo.ring_count,
		.subbuf_count = r->geo.subbuf_count,
		.subbuf_size = r->geo.subbuf_size,
		.switch_offset = r->switch_offset,
		.switch_count = r->geo.switch_count,
		.ring_offset = r->ring_offset,
		.ring_stride = r->ring_stride,
		.data_offset = r->data_offset,
		.size = r->size,
		.key = r->key,
		.clock_mult = r->geo.clock_mult,
		.clock_base = r->geo.clock_base,
		.populate = r->populate ? 1 + r->preallocated : 0,
		.reclaims = __atomic_load_n(&r->reclaims, __ATOMIC_RELAXED),
	};
	const word *from = (const word *)&header;
	word *to = (word *)(void *)r->map;
	bool spoiled = false;

	for (size_t i = 0; i < offsetof(struct trail_region, reserved) / sizeof(*to); i++) {
		if (__atomic_load_n(&to[i], __ATOMIC_RELAXED) == from[i])
			continue;
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
		spoiled = true;
	}
	return spoiled;
}

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int map_region(struct region *r)
{
	void *at;

	/* On a machine of 32 bits, a program has no addresses for it. */
	if ((size_t)r->size != r->size)
		return -ENOSPC;
	at = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, r->fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	r->map = at;
	return 0;
}

static uint64_t retiring;               /* bytes that the worker has still to free; atomic */
static struct worker retirer = WORKER_INIT;

struct retirement {                     /* or a region that is to be synced */
	struct work work;               /* first */
	struct region *region;
};

static void run_sync(struct work *work)
{
	struct retirement *r = (struct retirement *)work;

	/* Its memory is as it was if that fails; only a crash of the machine would show it. */
	(void)!fsync(r->region->fd);
	region_put(r->region);
	free(r);
}

/* What the file system needs to find the file's bytes after a crash goes to the disk. */
static void sync_later(struct region *r)
{
	struct retirement *later = calloc(1, sizeof(*later));

	if (!later)
		return;
	*later = (struct retirement){ { .run = run_sync }, region_get(r) };
	if (!worker_add(&retirer, &later->work, UINT_MAX))
		run_sync(&later->work);
}

static int open_memfd(struct region *r)
{
	r->fd = memfd_create("trail-region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return r->fd < 0 || ftruncate(r->fd, (off_t)r->size) || fcntl(r->fd, F_ADD_SEALS, SEALS)
		       ? -errno
		       : 0;
}

static int open_file(struct region *r)
{
	r->fd = region_file_create(r->key);
	return r->fd < 0 ? r->fd : ftruncate(r->fd, (off_t)r->size) ? -errno : 0;
}

/* The memory that a new region has from its beginning. */
static int allocate_all(const struct region *r)
{
	int err = allocate_memory(r, !r->populate || r->preallocated);

	if (!err && r->populate && r->preallocated &&
	    madvise(r->map, r->size, MADV_POPULATE_WRITE))
		err = -ENOMEM;
	return err;
}

int region_create(const struct region_geometry *geo, uint64_t key, struct region **out)
{
	struct region *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->refs = 1;
	r->fd = -1;
	r->key = key;
	r->geo = *geo;
	err = -EINVAL;
	if (!set_layout(r))
		goto fail;
	r->file = geo->file && region_has_directory();
	err = r->file ? open_file(r) : open_memfd(r);
	if (err)
		goto fail;
	err = map_region(r);
	if (err)
		goto fail;
	r->populate = can_populate(r->map);
	r->preallocated = geo->preallocate || r->file;
	err = r->file ? region_file_fill(r->fd, r->map, r->size) : allocate_all(r);
	if (err)
		goto fail;
	region_repair(r);
	if (r->file)
		sync_later(r);
	r->created = monotonic_ns();
	*out = r;
	return 0;
fail:
	if (r->file && r->fd >= 0)
		region_file_remove(key);
	region_put(r);
	return err;
}

/* Reads the header page, which an application may have modified: every value is checked. */
static bool read_header(struct region *r, const struct trail_region *h)
{
	if (h->magic != TRAIL_REGION_MAGIC || h->version != TRAIL_REGION_VERSION ||
	    h->switch_count > 65536)
		return false;
	r->key = h->key;
	r->geo = (struct region_geometry){
		.mode = h->mode,
		.kind = h->kind,
		.ring_count = h->ring_count,
		.subbuf_count = h->subbuf_count,
		.subbuf_size = h->subbuf_size,
		.switch_count = (uint32_t)h->switch_count,
		.clock_mult = h->clock_mult,
		.clock_base = h->clock_base,
	};
	return set_layout(r) && h->size == r->size && h->switch_offset == r->switch_offset &&
	       h->ring_offset == r->ring_offset && h->ring_stride == r->ring_stride &&
	       h->data_offset == r->data_offset;
}

static int check_header(struct region *r)
{
	struct trail_region h = *(const volatile struct trail_region *)r->map;
	uint64_t size = r->size;
	bool good = read_header(r, &h) && r->size == size;

	r->size = size;         /* the size of the mapping */
	r->populate = h.populate;
	r->preallocated = h.populate == TRAIL_POPULATE_ALL;
	r->reclaims = h.reclaims;
	return good ? 0 : -EBADMSG;
}

uint64_t region_header(const struct trail_region *h)
{
	struct region r = { 0 };

	return read_header(&r, h) ? r.size : 0;
}

void region_drop_fences(const struct region *r)
{
	for (uint32_t i = 0; i < r->geo.ring_count; i++)
		__atomic_store_n(&region_ring(r, i)->fence, 0, __ATOMIC_RELEASE);
}

static int adopt(int fd, bool spoiled, struct region **out)
{
	struct region *r = calloc(1, sizeof(*r));
	struct stat st;
	int err, seals = fcntl(fd, F_GET_SEALS);
	bool sealed;

	if (!r)
		return -ENOMEM;
	r->refs = 1;
	r->fd = fd;
	err = -EBADMSG;
	sealed = seals >= 0 && !(seals & F_SEAL_WRITE) &&
		 (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) == (F_SEAL_SHRINK | F_SEAL_GROW);
	/* (A memfd has the mode 0777, so one without seals is no such file.) */
	r->file = !sealed && region_is_file(fd);
	if (!sealed && !r->file)
		goto fail;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < (off_t)(2 * TRAIL_PAGE) ||
	    (uint64_t)st.st_size > REGION_SIZE_MAX + (1u << 20))
		goto fail;
	r->size = (size_t)st.st_size;
	err = map_region(r);
	if (err)
		goto fail;
	err = spoiled ? 0 : check_header(r);
	if (err)
		goto fail;
	*out = r;
	return 0;
fail:
	r->fd = -1;
	region_put(r);
	return err;
}

int region_adopt(int fd, struct region **out)
{
	return adopt(fd, false, out);
}

int region_adopt_spoiled(int fd, struct region **out)
{
	return adopt(fd, true, out);
}

int region_assume(struct region *r, const struct region_geometry *geo, uint64_t created,
		  uint64_t key)
{
	struct region known = { .geo = *geo };

	if (!set_layout(&known) || known.size != r->size)
		return -EBADMSG;
	r->geo = *geo;
	set_layout(r);
	r->populate = can_populate(r->map);
	r->created = created;
	r->key = key;
	return 0;
}

struct region *region_get(struct region *r)
{
	__atomic_fetch_add(&r->refs, 1, __ATOMIC_RELAXED);
	return r;
}

void region_put(struct region *r)
{
	/*
	 * Release: this holder's accesses come before the free; acquire: the last holder sees them.
	 */
	if (!r || __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (r->map)
		munmap(r->map, r->size);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

static void free_memory(struct region *r)
{
	if (r->fd < 0)
		return;
	if (r->file)
		region_file_remove(r->key);
	for (uint32_t i = 0; i < r->geo.ring_count; i++) {
		uint64_t at = r->ring_offset + i * r->ring_stride + r->data_offset;

		/* On failure the memory stays until the last mapping ends. */
		(void)!fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at,
				 (off_t)(r->geo.subbuf_size * r->geo.subbuf_count));
	}
}

static void run_retirement(struct work *work)
{
	struct retirement *r = (struct retirement *)work;
	uint64_t size = r->region->size;

	free_memory(r->region);
	region_put(r->region);
	__atomic_fetch_sub(&retiring, size, __ATOMIC_RELAXED);
	free(r);
}

void region_retire(struct region *r)
{
	struct retirement *later = calloc(1, sizeof(*later));
	bool much = __atomic_add_fetch(&retiring, r->size, __ATOMIC_RELAXED) > RETIRING_MAX;

	/*
	 * Before the memory is freed: pairs with ring_holds(). Who has copied zeros has seen what a
	 * system call did after this store.
	 */
	__atomic_store_n(&r->retired, true, __ATOMIC_SEQ_CST);
	if (later && !much) {
		*later = (struct retirement){ { .run = run_retirement }, r };
		if (worker_add(&retirer, &later->work, UINT_MAX))
			return;
	}
	free(later);
	__atomic_fetch_sub(&retiring, r->size, __ATOMIC_RELAXED);
	free_memory(r);
	region_put(r);
}

bool region_retired(const struct region *r)
{
	/* Acquire: pairs with the store in region_retire. */
	return __atomic_load_n(&r->retired, __ATOMIC_ACQUIRE);
}

void region_retire_finish(void)
{
	worker_finish(&retirer, 10);
}

void region_reclaimed(struct region *r)
{
	struct trail_region *h = (struct trail_region *)(void *)r->map;
	uint32_t n = __atomic_add_fetch(&r->reclaims, 1, __ATOMIC_RELAXED);

	__atomic_store_n(&h->reclaims, n, __ATOMIC_RELEASE);
}

bool region_populate(const struct region *r, uint32_t ring, uint64_t subbuf)
{
	const struct region_geometry *geo = &r->geo;
	uint8_t *at = (uint8_t *)region_data(r, ring) +
		      (subbuf & (geo->subbuf_count - 1)) * geo->subbuf_size;

	if (subbuf > geo->subbuf_count)
		return true;
	/* EINVAL: an old kernel, for which region_create allocates all memory. */
	return madvise(at, geo->subbuf_size, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
}

void region_switch(struct region *r, uint32_t id, uint8_t value)
{
	/*
	 * Pairs with the writers' loads of the byte. After a switch off, barrier() makes sure that
	 * they see it.
	 */
	if (id < r->geo.switch_count)
		__atomic_store_n(r->map + r->switch_offset + id, value, __ATOMIC_RELEASE);
}

uint8_t region_switched(const struct region *r, uint32_t id)
{
	return id < r->geo.switch_count
		       ? __atomic_load_n(r->map + r->switch_offset + id, __ATOMIC_RELAXED)
		       : 0;
}

void region_write_to(const struct region *r, uint32_t ring, struct ring_writer *w)
{
	w->ring = region_ring(r, ring);
	w->data = (uint8_t *)region_data(r, ring);
	w->subbuf_size = r->geo.subbuf_size;
	w->subbuf_count = r->geo.subbuf_count;
	w->mode = r->geo.mode;
}
