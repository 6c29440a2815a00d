/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to the module backend (module*.c). Lists and formats of tracepoints come from tracefs:
 * struct backend is that of tracefs, with /dev/trail open.
 */
#ifndef TRACER_BACKEND_MODULE_H
#define TRACER_BACKEND_MODULE_H

#include "tracer/abi/module.h"
#include "tracer/kernel/backend/tracefs.h"

int module_channel_open(struct backend *b, const char *name, const struct backend_geometry *g,
			bool adopt, struct backend_channel **out, struct tr_err *err);
int module_channel_remove(struct backend *b, const char *name);
void module_channel_close(struct backend_channel *c, bool remove);
int module_contexts(struct backend_channel *c, const struct context *contexts, size_t count,
		    struct tr_err *err);
int module_record(struct backend_channel *c, bool on);
int module_enable(struct backend_channel *c, const char *system, const char *event, bool on);
int module_filter(struct backend_channel *c, const char *system, const char *event,
		  const char *filter, size_t len);
int module_enabled(struct backend_channel *c, struct md_buf *out);
int module_track(struct backend_channel *c, const uint32_t *tids, size_t count);
int module_track_more(struct backend_channel *c, const uint32_t *tids, size_t count);
int module_track_by(struct backend_channel *c, int attr, const struct track *set);
int module_drain(struct backend_channel *c, uint32_t cpu, const struct backend_sink *sink);
int module_lost(struct backend_channel *c, uint32_t cpu, struct source_counts *losses);

#endif
