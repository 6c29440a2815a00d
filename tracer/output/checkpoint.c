/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/base/hash.h"
#include "tracer/output/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#define SLOTS 4096      /* offset of the first slot in the file */

int checkpoint_open(int dir, int *fd)
{
	*fd = openat(dir, "output", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return *fd < 0 ? -errno : 0;
}

static int read_at(int fd, void *to, size_t size, off_t at)
{
	ssize_t n = pread(fd, to, size, at);

	return n < 0 ? -errno : (size_t)n < size ? -ENOENT : 0;
}

static int write_at(int fd, const void *from, size_t size, off_t at)
{
	ssize_t n = pwrite(fd, from, size, at);

	return n < 0 ? -errno : (size_t)n < size ? -ENOSPC : 0;
}

int checkpoint_head_get(int fd, struct checkpoint_head *h)
{
	int err = read_at(fd, h, sizeof(*h), 0);

	h->archive[sizeof(h->archive) - 1] = 0;
	return err ? err : h->magic == CHECKPOINT_MAGIC ? 0 : -ENOENT;
}

int checkpoint_head_put(int fd, const struct checkpoint_head *h)
{
	return write_at(fd, h, sizeof(*h), 0);
}

static uint64_t checksum_slot(const struct checkpoint_slot *s)
{
	const uint64_t *p = (const uint64_t *)s;
	uint64_t h = HASH_START;

	for (size_t i = 0; i < offsetof(struct checkpoint_slot, check) / 8; i++)
		h = hash_step(h, p[i]);
	return h;
}

int checkpoint_slot_get(int fd, uint32_t i, struct checkpoint_slot *s)
{
	int err = read_at(fd, s, sizeof(*s), SLOTS + (off_t)i * (off_t)sizeof(*s));

	if (!err && s->check != checksum_slot(s))
		s->name = 0;
	return err;
}

int checkpoint_slot_put(int fd, uint32_t i, struct checkpoint_slot *s)
{
	s->check = checksum_slot(s);
	return write_at(fd, s, sizeof(*s), SLOTS + (off_t)i * (off_t)sizeof(*s));
}
