/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the backends: tracefs*.c, and module*.c, which use tracefs for names and formats. */
#ifndef TRACER_BACKEND_TRACEFS_H
#define TRACER_BACKEND_TRACEFS_H

#include <pthread.h>
#include <sys/types.h>
#include <urcu/list.h>

#include "tracer/base/keeper/keeper.h"
#include "tracer/kernel/backend/backend.h"
#include "tracer/kernel/kevent/record_stack.h"
#include "tracer/kernel/kevent/ring_page.h"

enum tracefs_answer { TRACEFS_UNKNOWN, TRACEFS_NO, TRACEFS_YES };

struct backend {
	int dir;                        /* of tracefs */
	pthread_mutex_t lock;           /* guards channels */
	struct cds_list_head channels;  /* struct backend_channel */
	int device;                     /* /dev/trail, for the module backend (backend/module.h) */
	struct modcalls *calls;         /* of the module backend (module_syscalls.h); constant */
	struct kpage_layout layout;     /* of a sub-buffer of one page */
	bool uprobes, functions, tsc;   /* this kernel supports them */
	/*
	 * enum tracefs_answer: whether it records events of more than a page (tracefs_sizes.c).
	 * Atomic, relaxed: two channels may find it at once, and find the same.
	 */
	int long_records;
	struct record_stack_layout stacks[RECORD_STACKS];
	bool bpf;                       /* programs record the text of system calls (bpf.h) */
	struct bpf_types *types;        /* of programs/bpf_typed.c; NULL: none; guarded by lock */
	struct keeper *keeper;          /* holds their descriptors; NULL: none; guarded by lock */
	struct tracefs_texts *texts;    /* tracefs_strings.c; constant */
	struct tracefs_data *data;      /* tracefs_data.c; NULL: no such events; constant */
};

/* As in struct backend_ops. */
void tracefs_destroy(struct backend *b);
void tracefs_describe(const struct backend *b, struct md_buf *out);
int tracefs_list(const struct backend *b, struct md_buf *out);
int tracefs_function_check(const struct backend *b, const char *name, struct tr_err *err);
int tracefs_channels(const struct backend *b, struct md_buf *names);

/* The event's id, or -ENOENT. */
int tracefs_event_id(const struct backend *b, const char *system, const char *event);
int tracefs_read_format(const struct backend *b, const char *system, const char *event,
			struct md_buf *out);

#define TRACEFS_FILE_MAX (4u << 20)     /* bytes of a format, or of a list of events */
/*
 * tracefs_file.c: read or write a whole small file below a directory. read: at most max bytes;
 * returns their number or -errno.
 */
ssize_t tracefs_read(int dir, const char *path, size_t max, struct md_buf *out);
int tracefs_write(int dir, const char *path, const char *text, bool truncate);

/* ---- tracefs_strings.c; struct tracefs_texts has its own lock ---- */
struct tracefs_texts *tracefs_texts_create(const char *owner);
void tracefs_texts_destroy(struct backend *b);
bool tracefs_texts_supported(const struct backend *b);
/*
 * Whether event probes of the channel record this event: a tracepoint whose model, a probe of the
 * same name in the group of models, shows the format of their records; or a model that a rule with
 * extra data made (tracefs_is_model).
 */
bool tracefs_has_text(const struct backend *b, const char *system, const char *event);
bool tracefs_is_model(const char *system, const char *event);
/* Whether rules made the events of the system. */
bool tracefs_is_rules(const char *system);
/* The system and the name of the event whose probe the line GROUP:NAME of tracefs_is_text is. */
void tracefs_text_of(const struct backend *b, const char *name, struct md_buf *out);
const char *tracefs_text_model(const struct backend *b);
bool tracefs_is_text(const char *line);	/* a line GROUP:NAME of such a probe, of any daemon */
#define TRACEFS_TRACEPOINT_MAX 256
/* The group of a channel's probes, from the channel's name in the kernel. */
#define TRACEFS_GROUP_MAX 64
void tracefs_text_group(const struct backend *b, const char *channel,
			char group[TRACEFS_GROUP_MAX]);
/*
 * Makes the channel's probe if it is missing, and sets ids[id of the probe] to the tracepoint's id.
 */
int tracefs_text_make(const struct backend *b, const char *group, const char *system,
		      const char *event, uint16_t *ids);
/* sets ids for all probes of the group */
void tracefs_text_adopt(const struct backend *b, const char *group, uint16_t *ids);
/* after the channel's instance is removed */
void tracefs_text_remove(const struct backend *b, const char *group);
/*
 * Prints the format of a probe's records with the types of its tracepoint; own_id: with its own id,
 * else with the tracepoint's.
 */
void tracefs_text_format(const char *tracepoint, const char *probe, bool own_id,
			 struct md_buf *out);
/*
 * Finds the tracepoint of a model that a rule made: its system, a NUL, its name. 0, -ENOENT,
 * -ENOMEM.
 */
int tracefs_model_of(const struct backend *b, const char *system, const char *event,
		     char tracepoint[TRACEFS_TRACEPOINT_MAX]);

/* ---- tracefs_data.c: events of BACKEND_DATA_SYSTEM; struct tracefs_data has its own lock ---- */
struct tracefs_data *tracefs_data_create(void);
void tracefs_data_destroy(struct tracefs_data *d);      /* NULL is allowed */
/* Appends their lines, if the backend can record them. events: the text of available_events */
void tracefs_data_list(const struct backend *b, const char *events, struct md_buf *out);
/* If *system is the probes' system, sets it to the tracepoints' system. */
bool tracefs_takes_data(const char **system);
/* Whether an enabled event, a line of set_event up to `end`, is such an event of the instance. */
bool tracefs_is_data(const struct backend *b, const char *line, const char *end);
/* Sets ids[id of the tracepoint] to the id of the event with data. 0 or -ENOENT. */
int tracefs_data_make(const struct backend *b, const char *event, uint16_t *ids);
/* The same for all events that the instance has enabled. */
void tracefs_data_adopt(const struct backend *b, int instance, uint16_t *ids);
int tracefs_data_format(const struct backend *b, const char *event, struct md_buf *out);

/* ---- tracefs_boot.c ---- */
int tracefs_boot_find(const struct backend *b, struct backend_boot *out);
int tracefs_boot_record(const struct backend *b, const char *name);

int tracefs_probe_create(struct backend *b, const char *group, const struct dynamic_event *d,
			 struct md_buf *names, struct tr_err *err);
bool tracefs_has_kprobes(const struct backend *b);
bool tracefs_has_uprobes(const struct backend *b);
bool tracefs_has_user_events(const struct backend *b);
int tracefs_probe_remove(struct backend *b, const char *group, const char *name);
int tracefs_ids(const struct backend *b, struct md_buf *out);
int tracefs_probes(const struct backend *b, const char *group, struct md_buf *names);
int tracefs_channel_open(struct backend *b, const char *name, const struct backend_geometry *g,
			 bool adopt, struct backend_channel **out, struct tr_err *err);
void tracefs_channel_close(struct backend_channel *c, bool remove);
/*
 * Call these before and after an operation that may empty the buffers of channels that do not
 * record and reset their counters. They keep the numbers of lost events.
 */
void tracefs_before_reset(struct backend *b);
void tracefs_after_reset(struct backend *b);
int tracefs_record(struct backend_channel *c, bool on);
int tracefs_recording(struct backend_channel *c);
int tracefs_enable(struct backend_channel *c, const char *system, const char *event, bool on);
int tracefs_enabled(struct backend_channel *c, struct md_buf *out);
bool tracefs_changed(struct backend_channel *c, int tracked, struct md_buf *out, bool *threads);
int tracefs_filter_text(struct backend_channel *c, const char *system, const char *event,
			struct md_buf *out);
int tracefs_filter(struct backend_channel *c, const char *system, const char *event,
		   const char *text, size_t len);
int tracefs_functions(struct backend_channel *c, const char *names);
void tracefs_read_stacks(struct backend *b);    /* the layouts of stacks in buffers */
uint64_t tracefs_context_kinds(const struct backend *b);
int tracefs_stacks(struct backend_channel *c, bool kernel, bool user);
int tracefs_track(struct backend_channel *c, const uint32_t *tids, size_t count);
int tracefs_track_more(struct backend_channel *c, const uint32_t *tids, size_t count);
int tracefs_drain(struct backend_channel *c, uint32_t cpu, const struct backend_sink *sink);
int tracefs_lost(struct backend_channel *c, uint32_t cpu, struct source_counts *losses);
int tracefs_watch(struct backend_channel *c, int epoll);
void tracefs_note(struct backend_channel *c, struct facts *out);

#endif
