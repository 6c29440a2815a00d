/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace/, archives/ and snapshots/, as the tree shows them. */
#ifndef TRACER_IMAGES_H
#define TRACER_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"

struct session;

struct trace_image;
struct image_file {
	char *path;	/* "ust/uid/0/64-bit/channel0_0", "…/metadata", "…/index/channel0_0.idx" */
	uint64_t size;          /* bytes; constant */
	int64_t mtime;          /* time of its newest event, ns since the epoch */
};
/* Takes an image of metadata and all streams together. */
int image_take(struct session *s, struct trace_image **out);
/* The same for chunks that rotations moved to the archives: paths begin with the archive's name. */
int image_take_archives(struct session *s, struct trace_image **out);
/*
 * The same for export/ltt/: all events as an LTT trace. -EOVERFLOW: it has more event classes than
 * LTT has ids.
 */
int image_take_ltt(struct session *s, struct trace_image **out);
/* The same for export/lket/: LKET's files. -EOVERFLOW: more event classes than it has ids. */
int image_take_lket(struct session *s, struct trace_image **out);
size_t image_files(struct trace_image *image, const struct image_file **files);	/* sorted by path */
/*
 * Reads bytes of file i. The first read of a stream file copies it out of its ring (-EDQUOT beyond
 * max_frozen). Sub-buffers that were overwritten since the image was taken become empty packets of
 * the same size, so the file's size is constant. Any number of threads.
 */
ssize_t image_read(struct trace_image *image, size_t i, uint64_t offset, void *buf, size_t size);
struct trace_image *image_get(struct trace_image *image);
void image_put(struct trace_image *image);
/*
 * Describes the image in a memfd, image_held(), from which another daemon makes the same image.
 * Only for an image of trace/ of a session without an output; else -ENOTSUP. The caller calls it
 * before any thread reads the image.
 */
int image_hold(struct trace_image *image);
int image_held(const struct trace_image *image);        /* the image's own; -1: none */
/*
 * The image that an earlier daemon has described so. Owns fd if it returns 0. -ESTALE: a buffer is
 * gone. A read answers -ESTALE if an earlier daemon has read the stream, and a part of it was
 * overwritten since.
 */
int image_adopt(struct session *s, int fd, struct trace_image **out);
/*
 * Writes the image's files below a directory in LTTng's layout, with the rights of the calling
 * thread. 0 or -errno.
 */
struct image_sink {
	int dir;
	mode_t mode;                                    /* of directories; files get no x */
	/* called after each write with the number of bytes; not 0 ends the save; may be NULL */
	int (*piece)(void *arg, uint64_t bytes);
	/* called for a complete file with a descriptor to own; may be NULL */
	void (*file)(void *arg, int fd);
	/* reads bytes of file i; NULL: image_read */
	ssize_t (*read)(void *arg, size_t i, uint64_t offset, void *buf, size_t size);
	void *arg;
};
int image_save(struct trace_image *image, const struct image_sink *to);

/* ---- snapshots/: trace images that last until they are removed ---- */

#define SNAPSHOT_NAME_MAX 200

/*
 * Copies what the rings hold now; only the newest packets if snapshot_max_size is set. name NULL:
 * snapshot-DATE-TIME-N. -EDQUOT beyond max_frozen.
 */
int snapshot_create(struct session *s, const char *name, struct tr_err *err);
int snapshot_destroy(struct session *s, const char *name, struct tr_err *err);
void snapshots_list(struct session *s, struct md_buf *names);
/* Returns the snapshot's image with a reference; -ENOENT. */
int snapshot_get(struct session *s, const char *name, struct trace_image **out, int64_t *created);
/* Whether it is the image of a snapshot that was removed. */
bool image_ended(const struct trace_image *image);

#endif
