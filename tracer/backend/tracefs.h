/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracefs backend's own: backend/tracefs.c for what is there, backend/tracefs_channel.c for one
 * channel.
 */
#ifndef TRACER_BACKEND_TRACEFS_H
#define TRACER_BACKEND_TRACEFS_H

#include <pthread.h>
#include <sys/types.h>
#include <urcu/list.h>

#include "tracer/backend/backend.h"
#include "tracer/kevent/ring_page.h"

struct backend {
	int dir;                        /* of tracefs */
	pthread_mutex_t lock;           /* guards the list */
	struct cds_list_head channels;  /* struct backend_channel */
	int device;                     /* /dev/trail, for the module backend (backend/module.h) */
	struct modcalls *calls;         /* likewise (backend/module_syscalls.h); constant */
	struct kpage_layout layout;     /* of a sub-buffer of one page */
	bool kprobes, uprobes, functions, tsc;  /* this kernel has them */
	struct tracefs_texts *texts;    /* backend/tracefs_strings.c; constant */
};

/* -ENOENT */
int tracefs_event_id(const struct backend *b, const char *system, const char *event);
int tracefs_read_format(const struct backend *b, const char *system, const char *event,
			struct md_buf *out);

/* Whole small files below a directory. read: -errno, or bytes; of at most max. */
ssize_t tracefs_read(int dir, const char *path, size_t max, struct md_buf *out);
int tracefs_write(int dir, const char *path, const char *text, bool truncate);

/* backend/tracefs_strings.c: they have a lock of their own. */
struct tracefs_texts *tracefs_texts_create(const char *owner);
void tracefs_texts_destroy(struct backend *b);
bool tracefs_texts_supported(const struct backend *b);
/*
 * Whether probes stand for a tracepoint; then there is one of its name in the group of models, with
 * the same format as all.
 */
bool tracefs_has_text(const struct backend *b, const char *system, const char *event);
const char *tracefs_text_model(const struct backend *b);
bool tracefs_is_text(const char *line);         /* a line GROUP:NAME of some daemon's such probe */
/* Those of a channel, by its name in the kernel. */
#define TRACEFS_GROUP_MAX 64
void tracefs_text_group(const struct backend *b, const char *channel,
			char group[TRACEFS_GROUP_MAX]);
/* Makes one, if it is not there yet; ids[its id] becomes that of the tracepoint. */
int tracefs_text_make(const struct backend *b, const char *group, const char *event, uint16_t *ids);
/* all that there are */
void tracefs_text_adopt(const struct backend *b, const char *group, uint16_t *ids);
/* when the channel's instance is gone */
void tracefs_text_remove(const struct backend *b, const char *group);
/* The format of a probe's records with the types and the id that the tracepoint's has. */
void tracefs_text_format(const char *tracepoint, const char *probe, struct md_buf *out);

int tracefs_probe_create(struct backend *b, const char *group, const struct dynamic_event *d,
			 struct md_buf *names, struct tr_err *err);
int tracefs_probe_remove(struct backend *b, const char *group, const char *name);
int tracefs_ids(const struct backend *b, struct md_buf *out);
int tracefs_probes(const struct backend *b, const char *group, struct md_buf *names);
int tracefs_channel_open(struct backend *b, const char *name, const struct backend_geometry *g,
			 bool adopt, struct backend_channel **out, struct tr_err *err);
void tracefs_channel_close(struct backend_channel *c, bool remove);
/*
 * Around what may empty the buffers of channels that do not record, and begin their counters anew:
 * what was lost is not forgotten.
 */
void tracefs_before_reset(struct backend *b);
void tracefs_after_reset(struct backend *b);
int tracefs_record(struct backend_channel *c, bool on);
int tracefs_recording(struct backend_channel *c);
int tracefs_enable(struct backend_channel *c, const char *system, const char *event, bool on);
int tracefs_enabled(struct backend_channel *c, struct md_buf *out);
bool tracefs_changed(struct backend_channel *c, int tracked, struct md_buf *out);
int tracefs_filter_text(struct backend_channel *c, const char *system, const char *event,
			struct md_buf *out);
int tracefs_filter(struct backend_channel *c, const char *system, const char *event,
		   const char *text, size_t len);
int tracefs_functions(struct backend_channel *c, const char *names);
int tracefs_track(struct backend_channel *c, const uint32_t *tids, size_t count);
int tracefs_drain(struct backend_channel *c, uint32_t cpu, const struct backend_sink *sink);
int tracefs_lost(struct backend_channel *c, uint32_t cpu, struct backend_losses *losses);

#endif
