/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/os/memory_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/base/array.h"

#define LARGE_PAGE ((size_t)2 << 20)
/* Large pages hold more than is written. A file has them only if it is as large as one. */
#define FIRST LARGE_PAGE
#define PIECE (4 * LARGE_PAGE)

static size_t size_of(size_t piece)
{
	return piece ? PIECE : FIRST;
}

/* The piece with this offset, and the place in it. */
static size_t find_piece(uint64_t offset, size_t *at)
{
	if (offset < FIRST) {
		*at = (size_t)offset;
		return 0;
	}
	*at = (size_t)((offset - FIRST) % PIECE);
	return (size_t)(1 + (offset - FIRST) / PIECE);
}

static char *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* A mapping that begins at a large page. NULL: no memory. */
static char *map_large(void)
{
	char *p = map(PIECE + LARGE_PAGE);
	size_t before;

	if (!p)
		return NULL;
	before = -(uintptr_t)p & (LARGE_PAGE - 1);
	if (before)
		munmap(p, before);
	if (before < LARGE_PAGE)
		munmap(p + before + PIECE, LARGE_PAGE - before);
	/* Where there are none, it has ordinary pages. */
	madvise(p + before, PIECE, MADV_HUGEPAGE);
	return p + before;
}

static int add_piece(struct memory_file *f)
{
	if (!array_room(f->pieces, f->count + 1))
		return -ENOMEM;
	f->pieces[f->count] = f->count ? map_large() : map(FIRST);
	if (!f->pieces[f->count])
		return -ENOMEM;
	f->count++;
	return 0;
}

int memory_file_add(struct memory_file *f, const void *data, size_t n)
{
	const char *from = data;

	while (n) {
		size_t at, piece = find_piece(f->size, &at), part = size_of(piece) - at;
		int err = piece < f->count ? 0 : add_piece(f);

		if (err)
			return err;
		part = part < n ? part : n;
		memcpy(f->pieces[piece] + at, from, part);
		f->size += part;
		from += part;
		n -= part;
	}
	return 0;
}

size_t memory_file_read(const struct memory_file *f, uint64_t offset, void *buf, size_t n)
{
	size_t done = 0;

	if (offset >= f->size)
		return 0;
	n = n < f->size - offset ? n : (size_t)(f->size - offset);
	while (done < n) {
		size_t at, piece = find_piece(offset + done, &at), part = size_of(piece) - at;

		part = part < n - done ? part : n - done;
		memcpy((char *)buf + done, f->pieces[piece] + at, part);
		done += part;
	}
	return done;
}

void memory_file_deinit(struct memory_file *f)
{
	for (size_t i = 0; i < f->count; i++)
		munmap(f->pieces[i], size_of(i));
	free(f->pieces);
	*f = (struct memory_file){ 0 };
}
