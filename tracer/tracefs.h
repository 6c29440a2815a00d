/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracefs backend's own: tracefs.c for what is there, tracefsbuf.c for one channel. */
#ifndef TRACER_TRACEFS_H
#define TRACER_TRACEFS_H

#include <sys/types.h>

#include "tracer/backend.h"
#include "tracer/kpage.h"

struct backend {
	int dir;                        /* of tracefs */
	struct kpage_layout layout;     /* of a sub-buffer of one page */
	bool kprobes, uprobes, tsc;     /* this kernel has them */
};

/* Whole small files below a directory. read: -errno, or bytes; of at most max. */
ssize_t tracefs_read(int dir, const char *path, size_t max, struct md_buf *out);
int tracefs_write(int dir, const char *path, const char *text, bool truncate);

int tracefs_channel_open(struct backend *b, const char *name, const struct backend_geometry *g, bool adopt,
			 struct backend_channel **out, struct tr_err *err);
void tracefs_channel_close(struct backend_channel *c, bool remove);
int tracefs_record(struct backend_channel *c, bool on);
int tracefs_enable(struct backend_channel *c, const char *system, const char *event, bool on);
int tracefs_enabled(struct backend_channel *c, struct md_buf *out);
int tracefs_track(struct backend_channel *c, const uint32_t *tids, size_t count);
int tracefs_drain(struct backend_channel *c, uint32_t cpu, const struct backend_sink *sink);
int tracefs_lost(struct backend_channel *c, uint32_t cpu, uint64_t *events);

#endif
