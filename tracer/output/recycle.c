/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that are filled again. Where only so many files of a stream are kept, the oldest ends where
 * the next one begins. On a file system in memory the next one takes over its pages: to give them
 * back and to ask for others costs nearly as much as to write them.
 *
 * Until it is full again, such a file ends with padding: an empty packet whose content goes up to
 * the end of the file. What comes is written behind the padding's header first, with a new padding
 * behind it, and then the first header in place of the old one. So whoever reads the file, at any
 * time, or after the daemon was killed, finds whole packets up to its end.
 *
 * If they are few and small they stay open and mapped: a copy that asks for the memory of both
 * sides ahead of time costs two thirds of pwrite(2), which does not, and which goes through the
 * file page by page. Their owner can cut them: then the copy ends with SIGBUS, and pwrite takes its
 * place.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tracer/output/output.h"
#include "tracer/ring/packetizer.h"

/*
 * Nobody else has it open. (Who opened it while there is the lease would make the kernel send a
 * signal: let it be one that does nothing.)
 */
static bool alone(int fd)
{
	if (fcntl(fd, F_SETSIG, SIGURG) < 0 || fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
		return false;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return true;
}

/* ---- files that are kept ---- */

/*
 * Where a copy goes on when it meets a page that is not there (any more). Volatile: the handler
 * reads it.
 */
static _Thread_local sigjmp_buf *volatile landing;

static void bus_error(int signal_number)
{
	if (landing)
		siglongjmp(*landing, 1);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void catch_bus_errors(void)
{
	/* SA_NODEFER: the jump does not restore the mask. */
	struct sigaction act = { .sa_handler = bus_error, .sa_flags = SA_NODEFER };

	sigaction(SIGBUS, &act, NULL);
}

static struct recycled_file *kept_of(struct stream_writer *os, int fd)
{
	for (int i = 0; i < RECYCLE_FILES; i++)
		if (os->kept[i].map && os->kept[i].fd == fd)
			return &os->kept[i];
	return NULL;
}

static void let_go(struct recycled_file *k)
{
	munmap(k->map, k->size);
	close(k->fd);
	k->map = NULL;
}

/* Few enough, and small, and descriptors are left for others. */
static bool worth_keeping(const struct stream_writer *os, int fd)
{
	struct rlimit limit;

	return os->file_count <= RECYCLE_FILES && os->file_size <= RECYCLE_BYTES / os->file_count &&
	       !getrlimit(RLIMIT_NOFILE, &limit) && (rlim_t)fd < limit.rlim_cur / 2;
}

/* What cannot be mapped is written and closed as any other. */
static void keep(struct stream_writer *os, int fd, const struct stat *st)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct recycled_file *k = os->kept;
	char *map;

	while (k < os->kept + RECYCLE_FILES && k->map)
		k++;
	if (k == os->kept + RECYCLE_FILES || !worth_keeping(os, fd))
		return;
	map = mmap(NULL, os->file_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED)
		return;
	pthread_once(&once, catch_bus_errors);
	*k = (struct recycled_file){
		.dev = st->st_dev, .ino = st->st_ino, .fd = fd, .map = map, .size = os->file_size
	};
}

void recycle_close(struct stream_writer *os, int fd)
{
	if (!kept_of(os, fd))
		close(fd);
}

void recycle_forget(struct stream_writer *os)
{
	for (struct recycled_file *k = os->kept; k < os->kept + RECYCLE_FILES; k++) {
		if (!k->map)
			continue;
		munmap(k->map, k->size);
		k->map = NULL;
		if (k->fd != os->fd)
			close(k->fd);
	}
}

/* Nobody has changed it, or has it open but for us. */
static bool untouched(int fd, const struct stat *st, const struct stream_file *old)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 1 && st->st_dev == old->dev &&
	       st->st_ino == old->ino && (uint64_t)st->st_size == old->size &&
	       old->size >= MD_PACKET_HEADER && alone(fd);
}

int recycle_take(struct stream_writer *os, const struct stream_file *old, const char *name)
{
	struct recycled_file *k = os->kept;
	bool same = !strcmp(old->name, name);
	struct statfs fs;
	struct stat st;
	int fd;

	while (k < os->kept + RECYCLE_FILES &&
	       !(k->map && k->fd != os->fd && k->dev == old->dev && k->ino == old->ino))
		k++;
	if (k < os->kept + RECYCLE_FILES) {
		if (same && !fstatat(old->place->fd, name, &st, AT_SYMLINK_NOFOLLOW) &&
		    untouched(k->fd, &st, old))
			return k->fd;
		let_go(k);
		return -1;
	}
	fd = same ? openat(old->place->fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	if (fd < 0)
		return -1;
	if (!fstatfs(fd, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC) &&
	    !fstat(fd, &st) && untouched(fd, &st, old)) {
		keep(os, fd, &st);
		return fd;
	}
	close(fd);
	return -1;
}

/* ---- what comes into them ---- */

#define BLOCK 256       /* bytes */
#define AHEAD 1024

static void copy(char *to, const char *from, size_t size)
{
	for (; size >= BLOCK; size -= BLOCK, to += BLOCK, from += BLOCK) {
		for (size_t i = 0; i < BLOCK; i += 64) {
			__builtin_prefetch(from + AHEAD + i, 0);
			__builtin_prefetch(to + AHEAD + i, 1);
		}
		memcpy(to, from, BLOCK);
	}
	memcpy(to, from, size);
}

/* A function of its own: the one that a jump returns to must have no variables that change. */
static __attribute__((noinline)) void copy_all(char *to, const struct iovec *iov, uint64_t size)
{
	for (; size; iov++) {
		size_t n = iov->iov_len < size ? iov->iov_len : size;

		copy(to, iov->iov_base, n);
		to += n;
		size -= n;
	}
}

/* False: the file has lost its pages, and what has come there is unknown. */
static bool copy_guarded(char *to, const struct iovec *iov, uint64_t size)
{
	sigjmp_buf here;

	if (sigsetjmp(here, 0)) {
		landing = NULL;
		return false;
	}
	landing = &here;
	copy_all(to, iov, size);
	landing = NULL;
	return true;
}

/*
 * As output_put. What goes into the file's first `room` bytes, which it has already, is copied
 * there if it is mapped.
 */
static uint64_t put(struct stream_writer *os, uint64_t room, struct iovec *iov, int count,
		    uint64_t at, int *err)
{
	struct recycled_file *k = kept_of(os, os->fd);
	uint64_t size = 0, done;

	for (int i = 0; i < count; i++)
		size += iov[i].iov_len;
	room = k && room > k->size ? k->size : room;
	done = room < at ? 0 : size < room - at ? size : room - at;
	if (!k || !copy_guarded(k->map + at, iov, done))
		done = 0;
	output_advance(&iov, &count, done);
	return done + output_put(os->fd, iov, count, at + done, err);
}

struct md_packet recycle_padding(const struct stream_writer *os, const struct checkpoint_slot *at)
{
	struct md_packet h;

	/* (Never the same as the packet's before it: see add_empty in stream_writer.c.) */
	packet_init(&h, &os->st, at->ts > at->begin ? at->ts : at->begin + 1);
	h.events_discarded = at->lost;
	h.packet_seq_num = at->seq;
	h.packet_size = 8 * (os->spare - at->size);
	return h;
}

uint64_t recycle_put(struct stream_writer *os, const struct checkpoint_slot *after,
		     struct iovec *iov, int count, int *err)
{
	uint64_t from = os->at.size, behind = from + iov[0].iov_len, rest = after->size - behind,
		 old = os->spare, done;
	struct iovec first = iov[0];
	struct md_packet pad;

	/* What comes last ends the file; from then on it is one as any other. */
	if (after->size + sizeof(pad) > old)
		os->spare = 0;
	if (os->spare) {
		pad = recycle_padding(os, after);
		iov[count] = (struct iovec){ &pad, sizeof(pad) };
		rest += sizeof(pad);
	}
	done = put(os, old, iov + 1, count - !os->spare, behind, err);
	/*
	 * Who reads the header reads what is behind it: that may have been copied without the
	 * kernel.
	 */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if ((os->spare && done < rest) || output_put(os->fd, &first, 1, from, err) < first.iov_len)
		return 0;
	if (!os->spare && after->size < old && ftruncate(os->fd, (off_t)after->size) < 0) {
		*err = -errno;
		return 0;
	}
	return behind - from + (done < after->size - behind ? done : after->size - behind);
}

int recycle_begin(struct stream_writer *os)
{
	struct md_packet pad = recycle_padding(os, &os->at);
	struct md_index_entry entry;

	md_index_entry_set(&entry, &pad, 0);
	if (pwrite(os->fd, &pad, sizeof(pad), 0) != (ssize_t)sizeof(pad) ||
	    pwrite(os->index_fd, &entry, sizeof(entry), (off_t)os->at.index_size) !=
		    (ssize_t)sizeof(entry))
		return -EIO;
	return 0;
}
