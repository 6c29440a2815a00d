/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/*
 * Files that are filled again: after each write, and for packets of any size, a file has the
 * packets written and one padding up to its end; its last packets end it. Also if another program
 * truncates it meanwhile: the daemon gets no SIGBUS.
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/lib/fuzz.h"
#include "tests/lib/test.h"
#include "tracer/output/output.h"
#include "tracer/base/ring/ring.h"

#define LIMIT (48 * 1024)
#define LARGEST 9000
#define FILES 3

static char directory[] = "/dev/shm/outreuse.XXXXXX";
static struct md_trace md = { .uuid = "0123456789abcde" };
static struct md_stream class;
static struct trace trace = { .md = &md };
static struct trace_place place = { .refs = 1 };
static struct stream_writer writer;
static struct stream_file files[FILES];
static char want[LIMIT + LARGEST], got[2 * (LIMIT + LARGEST)];
static unsigned int laps, refilled;

static void begin(uint64_t limit)
{
	memset(&writer, 0, sizeof(writer));
	memset(files, 0, sizeof(files));
	writer.st.class = &class;
	writer.st.trace = &trace;
	writer.fd = -1;
	writer.index_fd = open(directory, O_RDWR | O_TMPFILE, 0600);
	writer.file_size = limit;
	writer.file_count = FILES;
	laps = refilled = 0;
	for (int i = 0; i < FILES; i++) {
		snprintf(files[i].name, sizeof(files[i].name), "file%d", i);
		files[i].place = &place;
	}
}

static void leave(void)
{
	if (writer.fd >= 0)
		close(writer.fd);
	writer.fd = -1;
}

static void end(void)
{
	leave();
	close(writer.index_fd);
	for (int i = 0; i < FILES; i++)
		unlinkat(place.fd, files[i].name, 0);
}

/* A file that is not full is truncated, as output/stream_writer_files.c does. */
static void next_file(void)
{
	struct stream_file *f = &files[laps % FILES];
	struct stat st;

	if (laps) {
		struct stream_file *last = &files[(laps - 1) % FILES];

		if (writer.spare)
			CHECK(ftruncate(writer.fd, (off_t)writer.at.size) == 0);
		last->size = writer.at.size;
		CHECK(fstat(writer.fd, &st) == 0 && (uint64_t)st.st_size == writer.at.size);
	}
	leave();
	writer.fd = laps < FILES ? -1 : recycle_take(f, f->name);
	writer.spare = writer.fd < 0 ? 0 : f->size;
	refilled += writer.fd >= 0;
	if (writer.fd < 0) {
		unlinkat(place.fd, f->name, 0);
		writer.fd = openat(place.fd, f->name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	}
	CHECK(writer.fd >= 0 && fstat(writer.fd, &st) == 0);
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	writer.at.size = 0;
	CHECK(!writer.spare || recycle_begin(&writer) == 0);
	laps++;
}

/*
 * The current file has what was written from `from` on; unless it was cut, also its padding if it
 * has any.
 */
static void check_file(uint64_t from, bool cut)
{
	int fd = openat(place.fd, files[(laps - 1) % FILES].name, O_RDONLY);
	ssize_t n = read(fd, got, sizeof(got));
	struct md_packet pad;

	close(fd);
	CHECK(n >= 0 && (uint64_t)n >= writer.at.size &&
	      !memcmp(got + from, want + from, writer.at.size - from));
	if (cut)
		return;
	CHECK((uint64_t)n == (writer.spare ? writer.spare : writer.at.size));
	if (!writer.spare)
		return;
	memcpy(&pad, got + writer.at.size, sizeof(pad));
	CHECK(pad.magic == MD_CTF_MAGIC && pad.content_size == 8 * MD_PACKET_HEADER);
	CHECK(pad.packet_size == 8 * ((uint64_t)n - writer.at.size));
}

static char *random_bytes(size_t n)
{
	static char bytes[4][LARGEST];
	static unsigned int which;
	char *b = bytes[which++ % 4];

	for (size_t i = 0; i < n; i++)
		b[i] = (char)rnd(256);
	return b;
}

/* One to three packets of any size. cut: truncates the file before they are written. */
static void write_some(bool cut)
{
	struct iovec iov[7];
	struct checkpoint_slot after;
	uint64_t bytes = 0, done;
	int n = 2 * (1 + (int)rnd(3)), err = 0;

	for (int i = 0; i < n; i += 2) {
		size_t size = rnd(4) ? rnd(LARGEST) : rnd(200);

		iov[i] = (struct iovec){ random_bytes(MD_PACKET_HEADER), MD_PACKET_HEADER };
		iov[i + 1] = (struct iovec){ random_bytes(size), size };
		if (writer.at.size + bytes + MD_PACKET_HEADER + size > LIMIT) {
			n = i;
			break;
		}
		bytes += MD_PACKET_HEADER + size;
	}
	if (!n) {
		next_file();
		return;
	}
	/* Every now and then the same file to the byte, or nearly. */
	if (writer.spare > writer.at.size + bytes + 300 && !rnd(8)) {
		size_t more = writer.spare - writer.at.size - bytes - rnd(90);

		if (iov[n - 1].iov_len + more <= LARGEST) {
			iov[n - 1] = (struct iovec){ random_bytes(iov[n - 1].iov_len + more),
						     iov[n - 1].iov_len + more };
			bytes += more;
		}
	}
	after = writer.at;
	after.size += bytes;
	for (int i = 0, at = (int)writer.at.size; i < n; at += (int)iov[i++].iov_len)
		memcpy(want + at, iov[i].iov_base, iov[i].iov_len);
	if (cut)
		CHECK(ftruncate(writer.fd, (off_t)rnd(writer.at.size + 1)) == 0);
	done = writer.spare ? recycle_put(&writer, &after, iov, n, &err)
			: output_put(writer.fd, iov, n, writer.at.size, &err);
	CHECK(err == 0 && done == bytes);
	writer.at = after;
}

static void fill(bool cuts)
{
	while (laps < 200) {
		bool cut = cuts && writer.spare && !rnd(10);
		uint64_t from = writer.at.size;

		if (writer.fd < 0)
			next_file();
		write_some(cut);
		cut = cut && writer.at.size > from;
		check_file(cut ? from : 0, cut);
		if (cut) {
			/*
			 * The check of this file is over; the next one is checked from its start.
			 */
			writer.spare = writer.at.size = 0;
			CHECK(ftruncate(writer.fd, 0) == 0);
			next_file();
		}
	}
}

static void fill_until(unsigned int lap)
{
	while (laps < lap) {
		if (writer.fd < 0)
			next_file();
		write_some(false);
	}
}

static void write_one(void)
{
	do
		write_some(false);
	while (!writer.at.size);
}

static void packets_of_all_sizes(void)
{
	begin(LIMIT);
	fill(false);
	CHECK(refilled == 200 - FILES);
	end();
}

static void small_files(void)
{
	begin(LIMIT / 2);
	fill(false);
	CHECK(refilled == 200 - FILES);
	end();
}

static void cut_meanwhile(void)
{
	begin(LIMIT);
	fill(true);
	CHECK(refilled > 100);
	end();
}

/* A file that another program has open, or has replaced, is not filled again. */
static void of_others(void)
{
	struct stat st;
	int fd;

	begin(LIMIT);
	fill_until(3 * FILES);
	write_one();
	CHECK(refilled && writer.spare);
	while (laps < 4 * FILES) {
		fd = openat(place.fd, files[laps % FILES].name, O_RDONLY);
		refilled = 0;
		next_file();
		CHECK(!refilled);
		write_one();
		CHECK(fstat(fd, &st) == 0 && st.st_nlink == 0 && st.st_size > 0);
		close(fd);
	}
	end();
}

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 100; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int open_before;

static void nothing_stays_open(void)
{
	CHECK(open_files() == open_before);
}

int main(void)
{
	struct statfs fs;

	if (!mkdtemp(directory) || statfs(directory, &fs) ||
	    ((uint32_t)fs.f_type != TMPFS_MAGIC && (uint32_t)fs.f_type != RAMFS_MAGIC)) {
		printf("1..0 # SKIP /dev/shm is not a file system in memory\n");
		return 77;
	}
	place.fd = open(directory, O_RDONLY | O_DIRECTORY);
	open_before = open_files();
	CASE(packets_of_all_sizes);
	CASE(small_files);
	CASE(cut_meanwhile);
	CASE(of_others);
	CASE(nothing_stays_open);
	rmdir(directory);
	return test_summary();
}
