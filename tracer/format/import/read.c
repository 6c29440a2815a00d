/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the files of an import, and notices those that were changed. */
#include "tracer/format/import/import.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/ring/seal.h"

#define END_BYTES 2048u         /* of each end of a file that tell whether it has only grown */

uint32_t import_checksum_ends(const struct import_file *f)
{
	uint8_t bytes[2 * END_BYTES] = { 0 };
	size_t n = f->size < END_BYTES ? (size_t)f->size : END_BYTES;

	if (pread(f->fd, bytes, n, 0) != (ssize_t)n ||
	    pread(f->fd, bytes + END_BYTES, n, (off_t)(f->size - n)) != (ssize_t)n)
		return 0;
	return seal_checksum(bytes, sizeof(bytes));
}

/* Whether the file is as it was when it was opened, or a writer has added to it. */
static bool is_same(const struct import_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st) || (uint64_t)st.st_size < f->size)
		return false;
	if (st.st_mtim.tv_sec == f->changed.tv_sec && st.st_mtim.tv_nsec == f->changed.tv_nsec)
		return (uint64_t)st.st_size == f->size;
	/* A file that was replaced, and has grown since, has other bytes there in most cases. */
	return (uint64_t)st.st_size > f->size && import_checksum_ends(f) == f->ends;
}

int import_read(const struct import *im, struct tr_err *err, const struct import_file *f,
		uint64_t offset, void *buf, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = pread(f->fd, (char *)buf + done, n - done, (off_t)(offset + done));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0) {
			r = -errno;
			import_fail(im, err, f, offset + done, "%s", strerror((int)-r));
			return (int)r;
		}
		if (!r)
			break;
		done += (size_t)r;
	}
	if (done == n && is_same(f))
		return 0;
	import_fail(im, err, f, offset,
		    "the file has changed since it was opened; write the path to `input` again");
	return -ESTALE;
}
