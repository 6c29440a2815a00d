/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that are filled again. Where a stream keeps a limited number of files, the oldest file ends
 * where the next one begins. On a file system in memory the next file takes over its pages: freeing
 * pages and allocating others costs nearly as much as writing them.
 *
 * Until it is full again, such a file ends with padding: an empty packet whose size reaches to the
 * end of the file. New packets are written in two steps: first everything after the first packet's
 * header, with a new padding at its end; then that header, which replaces the old padding's header.
 * So a reader finds whole packets up to the end of the file at any time, also when the daemon was
 * killed between the two steps.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tracer/output/output.h"
#include "tracer/base/ring/packetizer.h"

/*
 * Whether no other descriptor refers to the file: the kernel grants a write lease only then. It
 * signals the holder of a lease when another process opens the file; SIGURG is ignored by default.
 */
static bool is_open_once(int fd)
{
	if (fcntl(fd, F_SETSIG, SIGURG) < 0 || fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
		return false;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return true;
}

static bool is_in_memory(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && ((uint32_t)fs.f_type == TMPFS_MAGIC ||
				     (uint32_t)fs.f_type == RAMFS_MAGIC);
}

/* Whether the file is still the one that this stream wrote, and no other program uses it. */
static bool is_unchanged(int fd, const struct stream_file *old)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	       st.st_dev == old->dev && st.st_ino == old->ino &&
	       (uint64_t)st.st_size == old->size && old->size >= MD_PACKET_HEADER &&
	       is_open_once(fd);
}

int recycle_take(const struct stream_file *old, const char *name)
{
	int fd = strcmp(old->name, name) ? -1
					 : openat(old->place->fd, name,
						  O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || (is_in_memory(fd) && is_unchanged(fd, old)))
		return fd;
	close(fd);
	return -1;
}

struct md_packet recycle_padding(const struct stream_writer *writer,
				 const struct checkpoint_slot *at)
{
	struct md_packet h;

	/* Never the time of the packet before: packets of a stream differ in timestamp_begin. */
	packet_init(&h, &writer->st, at->ts > at->begin ? at->ts : at->begin + 1);
	h.events_discarded = at->lost;
	h.packet_seq_num = at->seq;
	h.packet_size = 8 * (writer->spare - at->size);
	return h;
}

uint64_t recycle_put(struct stream_writer *writer, const struct checkpoint_slot *after,
		     struct iovec *iov, int count, int *err)
{
	uint64_t from = writer->at.size, header_end = from + iov[0].iov_len,
		 rest = after->size - header_end, old = writer->spare, done;
	struct iovec first = iov[0];
	struct md_packet pad;

	/* No space for a padding after these packets: they end the file, which then has none. */
	if (after->size + sizeof(pad) > old)
		writer->spare = 0;
	if (writer->spare) {
		pad = recycle_padding(writer, after);
		iov[count] = (struct iovec){ &pad, sizeof(pad) };
		rest += sizeof(pad);
	}
	done = output_put(writer->fd, iov + 1, count - !writer->spare, header_end, err);
	if ((writer->spare && done < rest) ||
	    output_put(writer->fd, &first, 1, from, err) < first.iov_len)
		return 0;
	if (!writer->spare && after->size < old && ftruncate(writer->fd, (off_t)after->size) < 0) {
		*err = -errno;
		return 0;
	}
	rest = after->size - header_end;
	return header_end - from + (done < rest ? done : rest);
}

int recycle_begin(struct stream_writer *writer)
{
	struct md_packet pad = recycle_padding(writer, &writer->at);
	struct md_index_entry entry;

	md_index_entry_set(&entry, &pad, 0);
	if (pwrite(writer->fd, &pad, sizeof(pad), 0) != (ssize_t)sizeof(pad) ||
	    pwrite(writer->index_fd, &entry, sizeof(entry), (off_t)writer->at.index_size) !=
		    (ssize_t)sizeof(entry))
		return -EIO;
	return 0;
}
