/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that are filled again. Where only so many files of a stream are kept, the oldest ends where the next one begins. On a file system
 * in memory the next one takes over its pages: to give them back and to ask for others costs nearly as much as to write them.
 *
 * Until it is full again, such a file ends with padding: an empty packet whose content goes up to the end of the file. What comes is
 * written behind the padding's header first, with a new padding behind it, and then the first header in place of the old one. So whoever
 * reads the file, at any time, or after the daemon was killed, finds whole packets up to its end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tracer/output.h"
#include "tracer/packet.h"

/* Nobody else has it open. (Who opened it while there is the lease would make the kernel send a signal: let it be one that does nothing.) */
static bool alone(int fd)
{
	if (fcntl(fd, F_SETSIG, SIGURG) < 0 || fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
		return false;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return true;
}

int outreuse_take(const struct outfile *old, const char *name)
{
	int fd = strcmp(old->name, name) ? -1 : openat(old->place->fd, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct statfs fs;
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstatfs(fd, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC) && !fstat(fd, &st) &&
	    S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_dev == old->dev && st.st_ino == old->ino &&
	    (uint64_t)st.st_size == old->size && old->size >= MD_PACKET_HEADER && alone(fd))
		return fd;
	close(fd);
	return -1;
}

struct md_packet outreuse_padding(const struct outstream *os, const struct outstate_slot *at)
{
	struct md_packet h;

	packet_init(&h, &os->st, at->ts);
	h.events_discarded = at->lost;
	h.packet_seq_num = at->seq;
	h.packet_size = 8 * (os->spare - at->size);
	return h;
}

uint64_t outreuse_put(struct outstream *os, const struct outstate_slot *after, struct iovec *iov, int count, int *err)
{
	uint64_t from = os->at.size, behind = from + iov[0].iov_len;
	struct iovec first = iov[0];
	struct md_packet pad;

	/* The end of what there was: from here on it is a file as any other. */
	if (after->size + sizeof(pad) > os->spare) {
		os->spare = 0;
		if (ftruncate(os->fd, (off_t)from) < 0)
			*err = -errno;
		return *err ? 0 : output_put(os->fd, iov, count, from, err);
	}
	pad = outreuse_padding(os, after);
	iov[count] = (struct iovec){ &pad, sizeof(pad) };
	if (output_put(os->fd, iov + 1, count, behind, err) != after->size + sizeof(pad) - behind)
		return 0;
	return output_put(os->fd, &first, 1, from, err) == behind - from ? after->size - from : 0;
}

int outreuse_begin(struct outstream *os)
{
	struct md_packet pad = outreuse_padding(os, &os->at);
	struct md_index_entry entry;

	md_index_entry_set(&entry, &pad, 0);
	if (pwrite(os->fd, &pad, sizeof(pad), 0) != (ssize_t)sizeof(pad) ||
	    pwrite(os->index_fd, &entry, sizeof(entry), (off_t)os->at.index_size) != (ssize_t)sizeof(entry))
		return -EIO;
	return 0;
}
