// SPDX-License-Identifier: MIT
/*
 * Regions that are mapped into this process: see struct mapped_region. Slots name them; slots.c
 * says when one that no slot names may be unmapped. Caller holds the registration lock, but for
 * mapping_populate.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ustlib/lib.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static struct mapped_region *mappings, *free_mappings;

static bool populate_all(struct mapped_region *m);

bool memfd_is_sealed(int fd, uint64_t size, int seals)
{
	struct stat st;
	int have = fcntl(fd, F_GET_SEALS);

	return have >= 0 && (have & seals) == seals && fstat(fd, &st) == 0 &&
	       (uint64_t)st.st_size >= size;
}

/*
 * Files cannot be sealed, so a truncation would be a SIGBUS. Only root and this user can truncate
 * this one, who can also end the program.
 */
static bool is_private_file(int fd, uint64_t size)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !(st.st_mode & 077) &&
	       (st.st_uid == 0 || st.st_uid == geteuid()) && (uint64_t)st.st_size >= size;
}

/* Copies the geometry out of the header page, and checks it against the size of the region. */
static bool take_geometry(struct mapped_region *m, const struct trail_region *r)
{
	uint64_t control;

	m->subbuf_size = r->subbuf_size;
	m->subbuf_count = r->subbuf_count;
	m->ring_count = r->ring_count;
	m->ring_stride = r->ring_stride;
	m->ring_offset = r->ring_offset;
	m->data_offset = r->data_offset;
	m->switch_offset = r->switch_offset;
	m->switch_count = r->switch_count;
	m->mode = r->mode;
	m->kind = r->kind;
	m->populate = r->populate;
	m->pairs = r->version == TRAIL_REGION_PAIRS;
	m->reclaims = __atomic_load_n(&r->reclaims, __ATOMIC_RELAXED);
	m->clock_mult = r->clock_mult;
	m->clock_base = r->clock_base;
	control = sizeof(struct trail_ring) +
		  2 * (uint64_t)m->subbuf_count * sizeof(struct trail_subbuf);
	/*
	 * A program that an emulator runs has a daemon of another processor. It writes to rings of
	 * threads, or counts, because emulators have no rseq(2).
	 */
	return r->magic == TRAIL_REGION_MAGIC &&
	       (r->version == TRAIL_REGION_VERSION ||
		(m->pairs && (m->kind == TRAIL_RINGS_THREAD || m->mode == TRAIL_MODE_COUNT))) &&
	       r->key == m->key &&
	       m->subbuf_size >= TRAIL_SUBBUF_MIN && m->subbuf_size <= TRAIL_SUBBUF_MAX &&
	       !(m->subbuf_size & (m->subbuf_size - 1)) && m->subbuf_count >= 2 &&
	       m->subbuf_count <= TRAIL_SUBBUF_COUNT_MAX &&
	       !(m->subbuf_count & (m->subbuf_count - 1)) &&
	       m->ring_count > 0 && m->ring_count <= 65536 &&
	       m->mode <= TRAIL_MODE_COUNT && m->kind <= TRAIL_RINGS_THREAD &&
	       m->switch_count <= TRAIL_EVENT_MAX && m->switch_offset >= sizeof(*r) &&
	       m->switch_offset <= m->size && m->switch_count <= m->size - m->switch_offset &&
	       m->ring_offset % 64 == 0 && m->ring_stride % 64 == 0 &&
	       m->data_offset >= control && m->data_offset % 64 == 0 &&
	       m->data_offset <= m->size && m->ring_offset <= m->size &&
	       m->ring_stride >= m->data_offset + m->subbuf_size * m->subbuf_count &&
	       m->ring_stride <= (m->size - m->ring_offset) / m->ring_count &&
	       (m->mode != TRAIL_MODE_COUNT ||
		m->subbuf_size * m->subbuf_count >= m->switch_count * sizeof(struct trail_counter));
}

static size_t present_size(const struct mapped_region *m)
{
	return ((size_t)m->ring_count * m->subbuf_count + 7) / 8;
}

static uint8_t *present_bits(const struct mapped_region *m)
{
	uint8_t *bits = mmap(NULL, present_size(m), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return bits == MAP_FAILED ? NULL : bits;
}

static void unmap(struct mapped_region *m)
{
	if (m->base)
		munmap(m->base, m->mapped);
	if (m->present)
		munmap(m->present, present_size(m));
	m->base = m->present = NULL;
}

/*
 * The program must not write to the header page and the switch bytes: other programs of its user
 * read them. A store there by mistake is then a SIGSEGV, as it is in a program that is not traced.
 */
static void protect_header(const struct mapped_region *m)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	/* If that fails, the daemon restores what the program spoils. */
	(void)!mprotect(m->base, m->ring_offset & ~(page - 1), PROT_READ);
}

/* Maps the first `bytes` bytes of the region. False: errno says why. */
static bool map(struct mapped_region *m, int fd, uint64_t bytes)
{
	uint8_t *base;

	/* A process of 32 bits has no addresses for it. */
	if ((size_t)bytes != bytes) {
		errno = ENOMEM;
		return false;
	}
	/*
	 * Without MAP_NORESERVE: that says nothing for a shared mapping, except for one of huge
	 * pages, which would be a SIGBUS later if there are none.
	 */
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return false;
	m->base = base;
	m->mapped = bytes;
	return true;
}

/* 0 or an errno. On failure, unmap() undoes what was done. */
static int map_whole(struct mapped_region *m, int fd)
{
	if (!map(m, fd, m->size))
		return errno;
	if (!take_geometry(m, (const struct trail_region *)m->base))
		return EBADMSG;
	m->present = present_bits(m);
	if (!m->present)
		return errno;
	m->bell = &((struct trail_ring *)(m->base + m->ring_offset))->bell;
	protect_header(m);
	return 0;
}

/*
 * There is no room for the whole region: maps what is before the data of ring 0, some pages, to
 * count there what is lost.
 */
static bool map_counters(struct mapped_region *m, int fd)
{
	bool good;

	if (!map(m, fd, sizeof(struct trail_region)))
		return false;
	good = take_geometry(m, (const struct trail_region *)m->base);
	unmap(m);
	if (!good || !map(m, fd, m->ring_offset + m->data_offset))
		return false;
	m->bell = &((struct trail_ring *)(m->base + m->ring_offset))->bell;
	m->counts_only = true;
	m->ring_count = 1;
	m->populate = 0;
	protect_header(m);
	return true;
}

/* A structure for a region that is not mapped yet; NULL: no memory. */
static struct mapped_region *mapping_alloc(const struct trail_plan_region *r)
{
	struct mapped_region *m = free_mappings ? free_mappings : arena_alloc(sizeof(*m));

	if (m && m == free_mappings)
		free_mappings = m->next;
	if (m)
		*m = (struct mapped_region){ .key = r->key, .size = r->size };
	return m;
}

struct mapped_region *mapping_get(const struct trail_plan_region *r, int fd, int *error)
{
	struct mapped_region *m, *counts = NULL;

	*error = 0;
	for (m = mappings; m; m = m->next)
		if (m->key == r->key && m->size == r->size) {
			if (!m->counts_only)
				return m;
			counts = m;
		}
	if ((!memfd_is_sealed(fd, r->size, F_SEAL_SHRINK | F_SEAL_GROW) &&
	     !is_private_file(fd, r->size)) ||
	    r->size < sizeof(struct trail_region)) {
		*error = EBADMSG;
		return NULL;
	}
	m = mapping_alloc(r);
	*error = m ? map_whole(m, fd) : ENOMEM;
	if (*error && m) {
		unmap(m);
		if (counts || *error == EBADMSG || !map_counters(m, fd)) {
			unmap(m);
			m->next = free_mappings;
			free_mappings = m;
			m = NULL;
		}
	}
	if (!m)
		return counts;
	if (m->populate == TRAIL_POPULATE_ALL && !m->counts_only)
		populate_all(m);        /* what fails is tried again when it is used */
	m->next = mappings;
	mappings = m;
	return m;
}

/*
 * The daemon has given memory back: what was populated may not be any more. Two threads that do
 * this at once populate something twice.
 */
static void forget_present(struct mapped_region *m)
{
	const struct trail_region *r = (const struct trail_region *)m->base;
	uint32_t now = __atomic_load_n(&r->reclaims, __ATOMIC_ACQUIRE);

	if (now == __atomic_load_n(&m->reclaims, __ATOMIC_ACQUIRE))
		return;
	for (size_t i = 0; i < present_size(m); i++)
		__atomic_store_n(&m->present[i], 0, __ATOMIC_RELAXED);
	/* Release: who sees it finds the bits forgotten. */
	__atomic_store_n(&m->reclaims, now, __ATOMIC_RELEASE);
}

/*
 * Makes a sub-buffer's memory present before its first use by this process: a store into a page for
 * which there is no memory would be a SIGBUS, and one page fault for each page costs more than one
 * madvise(2).
 */
bool mapping_populate(struct mapped_region *m, uint32_t ring, uint64_t subbuf)
{
	uint64_t place = subbuf & (m->subbuf_count - 1),
		 bit = ring * (uint64_t)m->subbuf_count + place;
	uint8_t *at = m->base + m->ring_offset + ring * m->ring_stride + m->data_offset +
		      place * m->subbuf_size;
	int saved = errno;
	bool ok = true;

	if (m->populate)
		forget_present(m);
	if (!m->populate || __atomic_load_n(&m->present[bit / 8], __ATOMIC_RELAXED) & 1u << bit % 8)
		return true;
	if (library_sealed)
		return false;
	ok = syscall(SYS_madvise, at, m->subbuf_size, MADV_POPULATE_WRITE) == 0;
	if (ok)
		__atomic_fetch_or(&m->present[bit / 8], (uint8_t)(1u << bit % 8), __ATOMIC_RELAXED);
	errno = saved;
	return ok;
}

static bool populate_all(struct mapped_region *m)
{
	bool all = true;

	for (uint32_t r = 0; r < m->ring_count; r++)
		for (uint32_t k = 0; k < m->subbuf_count; k++)
			all = mapping_populate(m, r, k) && all;
	return all;
}

bool mappings_populate(void)
{
	bool all = true;

	for (struct mapped_region *m = mappings; m; m = m->next)
		all = populate_all(m) && all;
	return all;
}

bool mappings_unused(void)
{
	for (const struct mapped_region *m = mappings; m; m = m->next)
		if (!m->users)
			return true;
	return false;
}

void mappings_unmap_unused(void)
{
	struct mapped_region **p, *m;

	for (p = &mappings; (m = *p);) {
		if (m->users) {
			p = &m->next;
			continue;
		}
		*p = m->next;
		unmap(m);
		m->next = free_mappings;
		free_mappings = m;
	}
}
