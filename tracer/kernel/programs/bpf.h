/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/kernel/programs/: the backend `tracefs and bpf`, a table of functions (backend/backend.h),
 * bpf_backend. This header is private to bpf*.c. BPF programs record the system calls that get
 * text from the process, with that text, which records of tracefs do not have; the channel's
 * instance of tracefs records all other events. The exits of these calls are recorded by programs,
 * too, so that both have times of one clock.
 *
 * In a channel with contexts that only programs can record, or whose `backend` is bpf, programs
 * record all events (`whole`): they copy the tracepoint's own record. The instance has only those
 * that the kernel takes no program for.
 *
 * struct backend and struct backend_channel are those of tracefs; the channel has a struct
 * bpf_channel besides. It makes its ring when the first of these events is enabled.
 *
 *	bpf.c           the table of functions
 *	bpf_drain.c     … reads the instance and the ring in order of time
 *	bpf_channel.c   … the events of a channel
 *	bpf_events.c    … their list
 *	bpf_bodies.c    … their programs
 *	bpf_kept.c      … their descriptors in the keeper
 *	bpf_typed.h     … which of them get the arguments of tracepoints or functions
 *	bpf_ring.h      … its rings, in the layout of abi/module_ring.h, and their clock
 *	bpf_plain.c     … calls that the instance records after all
 *	bpf_track.c     … its set of threads
 *	bpf_groups.c    … its set of control groups
 *	bpf_counters.c  … its performance counters
 *	bpf_misses.c    … events that its programs missed
 *	bpf_lates.c     … texts that were read at the end of a call
 *	bpf_program.c   the program of an event
 *	bpf_late.c      … which reads texts at the end of a call
 *	bpf_writer.h    … where it writes its record (bpf_claim.c), and what (bpf_record.c)
 *	bpf_source.c    which events programs record, and their formats
 *
 * The keeper holds the descriptors of maps and of attached programs, which go on recording after
 * the daemon was killed. Their names are bpf.CHANNEL.WHAT, CHANNEL being a hash of the channel's
 * name. (The instance of the same name says which channels exist.)
 */
#ifndef TRACER_BACKEND_BPF_H
#define TRACER_BACKEND_BPF_H

#include <pthread.h>

#include "tracer/base/keeper/keeper.h"
#include "tracer/kernel/backend/tracefs_channel.h"
#include "tracer/kernel/bpf/bpf.h"
#include "tracer/kernel/bpf/context.h"
#include "tracer/kernel/bpf/tracepoint.h"
#include "tracer/kernel/programs/bpf_ring.h"

enum {
	BPF_TEXTS_MAX = 3, BPF_ARGUMENTS = 6, BPF_DYNAMIC_MAX = 8, BPF_EVENT_NAME = 160,
	BPF_FIXED_MAX = 2048,           /* bytes of the fixed part of a tracepoint's record */
	BPF_CALLS_MAX = 512,            /* system calls, by number */
};

/* ---- bpf_source.c ---- */

struct bpf_source {                     /* an event that programs record */
	uint32_t id;                    /* of tracefs */
	/* Of a tracepoint: bytes that all of its records have; of a system call: 0 */
	uint32_t fixed;
	uint32_t other;                 /* place of a second thread's id; 0: none */
	uint32_t dynamics;              /* parts whose place and length the record has */
	uint16_t dynamic[BPF_DYNAMIC_MAX];      /* places of these pairs */
	bool exit;
	uint32_t count;                 /* of arguments; 0 of an exit */
	/* Of a call: the instance's records of its entry have another form (bpf_plain.c). */
	bool changed;
	uint32_t texts;                 /* how many of them are text */
	uint8_t text[BPF_TEXTS_MAX];    /* which, ascending */
};

#define BPF_CALL_FIXED 16               /* offset in the record of the arguments, of the result */
/*
 * Of a call that has texts. MARK: not 0 in the record of an entry that lacks a text, and the same
 * in the KREC_LATE with the texts, where PLACES is bpf_source_places. The trace has neither. A
 * filter needed the text: BPF_MARK_UNDECIDED.
 */
enum { BPF_CALL_PLACES = 8, BPF_CALL_MARK = 12, BPF_MARK_LATE = 1, BPF_MARK_UNDECIDED = 2 };
static inline uint32_t bpf_source_places(const struct bpf_source *c) /* offset of the __data_loc */
{
	return BPF_CALL_FIXED + 8 * c->count;
}

/*
 * Whether programs record this event of a channel, which is whole or not. Appends the format of its
 * records if `format` is not NULL. -ENOENT: they do not, because they cannot, or because tracefs
 * records it as well; or another -errno.
 */
int bpf_source_find(const struct backend *b, const char *system, const char *event, bool whole,
		    struct bpf_source *out, struct md_buf *format);

/* A guess from the name, at the beginning of a line SYSTEM:EVENT, for the list of all events. */
bool bpf_source_possible(const char *line);

struct bpf_channel;
/*
 * Finds out, once for a channel with callstack-kernel, whether its programs at system calls get
 * stacks: bpf_channel.call_stacks. Caller holds its lock.
 */
void bpf_source_try_stacks(struct bpf_channel *c);

/* ---- bpf_drain.c ---- */

/* As backend_ops.drain. */
int bpf_drain(struct backend_channel *c, uint32_t cpu, const struct backend_sink *sink);

/* ---- bpf_channel.c ---- */

/*
 * How an event gets to its program. PLAIN: a program of a tracepoint, by the record that the kernel
 * makes. TYPED: by the arguments of the tracepoint, or of the call's function. CALL: by those of
 * sys_enter or sys_exit, whose programs (#enter, #exit) jump to the body of the call.
 */
enum bpf_kind { BPF_KIND_PLAIN, BPF_KIND_TYPED, BPF_KIND_CALL };

struct bpf_event {
	char name[BPF_EVENT_NAME];      /* SYSTEM:EVENT; not of the channel: begins with @ or # */
	uint32_t slot;                  /* in bpf_control.tokens; BPF_SLOTS: none */
	enum bpf_kind kind;
	/* program: what is attached; of a CALL the body. link: -1 of a CALL. */
	int program, link;
	int own;                        /* of a TYPED event: the map with its body; -1 */
	char *filter;                   /* the filters in it, a line each; NULL: none; owned */
	uint64_t missed;                /* events that the program missed, which are counted */
};

/* Filters of an event, one of which must be true. */
struct bpf_filters {
	struct filter **filters;        /* references */
	size_t count;
	struct kformat *format;         /* of the event; a reference */
};

struct bpf_plain {                      /* see bpf_plain.c */
	char name[BPF_EVENT_NAME];
	struct bpf_source call;
	struct {                        /* each argument in the instance's record */
		uint16_t offset;
		uint8_t size;           /* 0: the record does not have it */
		bool is_signed;
		bool is_text;           /* the place of a text */
	} from[BPF_ARGUMENTS];
};

struct bpf_counter {                    /* a perf_event_attr.type and .config */
	uint32_t type;
	uint64_t config;
	int map;                        /* the counters of all CPUs, by number */
};

struct bpf_channel {
	struct backend *b;
	char name[256];
	uint64_t hash;                  /* of the name */
	struct backend_geometry geometry;
	/* Guards the rest: configuration, drains and the keeper's thread use it. */
	pthread_mutex_t lock;
	bool on, tracked, whole;
	bool few_calls;                 /* they may have programs at their functions */
	uint32_t dropped;               /* rings of an earlier daemon that were not taken over */
	struct bpf_contexts *contexts;  /* of all its records; NULL: none */
	struct bpf_counter *counters;   /* of its contexts */
	size_t counter_count;
	int call_stacks;                /* of bpf_source_try_stacks; -1: not tried */
	struct tr_err why;              /* the kernel refused the last program or map */
	/* Events since the last look that have no program because something is short */
	struct {
		uint32_t count;
		char first[BPF_EVENT_NAME];
		struct tr_err why;      /* of the first */
	} lacking;
	struct bpf_refused *refused;    /* bpf_refused.c; owned */
	int refused_file;               /* what the keeper has of it; -1: nothing */
	struct bpf_ring ring;
	int threads;                    /* map of tracked threads; -1: none yet */
	/* Map of control groups whose threads are tracked, too, without a gap; -1: none yet */
	int groups;
	int group_count;                /* in that map */
	int bodies;                     /* map of what records, by token; -1: none yet */
	/* Of entries and exits: map of what records a call, by its number; -1: none yet */
	int calls[2];
	/* The map of bpf_late_table; of what reads texts at the end of a call; -1: none yet */
	int late_table, late_bodies;
	/* Bits of the ids of entries with texts: set by holders of the lock, read by drains. */
	uint8_t with_text[(UINT16_MAX + 1) / 8];
	uint64_t unread;                /* entries without a text; written by drains */
	bool has_types;                 /* it uses b->types (bpf_typed.c) */
	struct bpf_event *events;
	size_t count;
	/* Only ever added to, by a holder of the lock; drains read the count with acquire. */
	struct bpf_plain *plain[BPF_SLOTS];
	uint32_t plain_count;
	uint8_t *record;                /* of a drain */
};

int bpf_channel_create(struct backend *b, const char *name, const struct backend_geometry *g,
		       struct bpf_channel **out);
/*
 * Takes over what the keeper has of an earlier daemon's channel; all of it is dropped if its rings
 * have another layout, as those of another version of the daemon.
 */
void bpf_channel_adopt(struct bpf_channel *c);
/* remove: the keeper drops it, too, and nothing is recorded any more. */
void bpf_channel_free(struct bpf_channel *c, bool remove);
/* Caller holds the lock, as for the next ones. */
/* Loads a program and attaches it to the tracepoint with this id. 0 or -errno. */
int bpf_channel_add(struct bpf_channel *c, const char *name, uint32_t slot, uint32_t id,
		    struct bpf_code *code);
void bpf_channel_drop(struct bpf_channel *c, struct bpf_event *e);
/*
 * Drops all system calls, by the programs and maps that they share: to take one body out of a map
 * lasts as long as a grace period of the kernel, 10 ms or more.
 */
void bpf_channel_drop_calls(struct bpf_channel *c);
/*
 * Enables an event, or replaces its program, so that each event is recorded by one of the two.
 * filters NULL: all of the event.
 */
int bpf_channel_enable(struct bpf_channel *c, const char *event, const struct bpf_source *source,
		       const struct bpf_filters *filters);
/* Replaces the program by one with these filters, a line each; "": none. As backend_ops.filter. */
int bpf_channel_filter(struct bpf_channel *c, const char *event, const char *filters);
/* Writes `on` and `tracked` to the rings. */
void bpf_channel_set(struct bpf_channel *c);

/* ---- bpf_events.c; caller holds the lock ---- */

/* NULL: no such event is enabled. */
struct bpf_event *bpf_channel_find(struct bpf_channel *c, const char *event);
/* The event, added without descriptors if it is missing; NULL: no memory. */
struct bpf_event *bpf_channel_room(struct bpf_channel *c, uint32_t slot, const char *name);
/* Whether it has its program at the function of a system call. */
bool bpf_event_by_function(const struct bpf_event *e);
/* The channel's status: which programs record which events. Caller holds c->lock. */
void bpf_channel_show(const struct bpf_channel *c, struct facts *out);

/* ---- bpf_misses.c; caller holds the lock ---- */

/* Counts what was missed so far, before an event's filter or the tracking changes. */
void bpf_misses_note(struct bpf_channel *c, struct bpf_event *e);
void bpf_misses_note_all(struct bpf_channel *c);
/* How many events were missed so far. */
uint64_t bpf_misses(struct bpf_channel *c);
/* The event is dropped, or the channel's events are an earlier daemon's. */
void bpf_misses_drop(struct bpf_channel *c, struct bpf_event *e);
void bpf_misses_adopt(struct bpf_channel *c);

/* ---- bpf_bodies.c; caller holds the lock ---- */

struct bpf_place {                      /* of a body */
	const char *event;
	uint32_t slot, token;
	uint32_t id;                    /* of tracefs */
	const struct bpf_typed *typed;  /* NULL: a PLAIN event */
};
/*
 * Makes the code the body of an event, in the place of the old one: every event is recorded by one
 * of the two. Attaches the event's program if it is missing. code is overwritten. 0 or -errno.
 */
int bpf_bodies_set(struct bpf_channel *c, const struct bpf_place *p, struct bpf_code *code);
/*
 * Makes what reads the texts of a call at its end, if it is missing: behind the call's function, or
 * by #exit. event: the entry. 0 or -errno.
 */
int bpf_bodies_set_late(struct bpf_channel *c, const char *event, const struct bpf_source *source,
			bool function);
/* NULL: there is none. */
struct bpf_event *bpf_bodies_find_late(struct bpf_channel *c, const char *event);
/* Whether the event is one of these. */
bool bpf_bodies_is_late(const struct bpf_event *e);
/* From now on the event has no body. */
void bpf_bodies_remove(struct bpf_channel *c, struct bpf_event *e);

/* ---- bpf_kept.c: what the keeper has of channels ---- */

/* Gives the keeper all descriptors again. Takes the lock. */
void bpf_channel_keep(struct bpf_channel *c);
/* Gives it one. Without a keeper, or if it does not answer, a killed daemon loses it. */
void bpf_channel_keep_one(struct bpf_channel *c, const char *what, int fd);
void bpf_kept_drop_one(struct bpf_channel *c, const char *what);
void bpf_kept_event(struct bpf_channel *c, const struct bpf_event *e);
void bpf_kept_drop_event(struct bpf_channel *c, const struct bpf_event *e);
void bpf_kept_counter(struct bpf_channel *c, const struct bpf_counter *n);
void bpf_kept_drop_counter(struct bpf_channel *c, const struct bpf_counter *n);
/* Takes the descriptors of a channel of this hash; the ring's is returned, or -1. */
int bpf_kept_take(struct bpf_channel *c);
/* Names of descriptors that belong to no event */
#define BPF_KEPT_RING "ring"
#define BPF_KEPT_THREADS "threads"
#define BPF_KEPT_GROUPS "groups"
#define BPF_KEPT_BODIES "bodies"
#define BPF_KEPT_ENTRIES "entries"
#define BPF_KEPT_EXITS "exits"
#define BPF_KEPT_LATE_TABLE "late"
#define BPF_KEPT_LATE_BODIES "late-bodies"
/* Drops what the keeper has of a channel of this name. */
void bpf_channel_forget(struct backend *b, const char *name);

/* ---- bpf_plain.c; caller holds the lock, but for the last one, which a drain calls ---- */

/* From now on the instance records the event. 0 or -errno. */
int bpf_plain_add(struct bpf_channel *c, const char *event, const struct bpf_source *call);
/* Adds the events of calls with text that an adopted instance records. */
void bpf_plain_adopt(struct bpf_channel *c, const char *enabled);
void bpf_plain_free(struct bpf_channel *c);
/* As backend_ops.lacks_text. */
bool bpf_plain_lacks(const struct backend *b, enum backend_choice by, const char *system,
		     const char *event, const char *field);
/* The record in the form that programs give it, valid until the next call. */
const uint8_t *bpf_plain_record(struct bpf_channel *c, const uint8_t *record, size_t *len);

/* ---- bpf_counters.c; caller holds the lock ---- */

/* Gives the items of c->contexts, which are those, their counters. 0 or -errno. */
int bpf_counters_open(struct bpf_channel *c, const struct context *contexts, size_t count);
/* remove: the keeper drops them, too. */
void bpf_counters_close(struct bpf_channel *c, bool remove);

/* ---- bpf_track.c ---- */

/* As backend_ops.track. Caller holds the lock. */
int bpf_track(struct bpf_channel *c, const uint32_t *tids, size_t count);
int bpf_track_more(struct bpf_channel *c, const uint32_t *tids, size_t count);
/* As backend_ops.track_groups. */
int bpf_track_groups(struct bpf_channel *c, const struct track *set);

/* ---- bpf_groups.c ---- */

/* A map for control groups, or -errno. */
int bpf_groups_make(void);
/*
 * Sets the groups; NULL: none. before: how many it had. The number of those that exist in version
 * 2, or -errno.
 */
int bpf_groups_set(int map, const struct track *set, int before);
/* Jumps if the thread that runs is in one of the groups. */
void bpf_groups_check(struct bpf_code *c, int map, int in);

/* ---- bpf_program.c ---- */

/* What is attached to an event: jumps to the program in this entry of the map, its body. */
void bpf_program_stub(struct bpf_code *code, int bodies, uint32_t entry, bool typed);
struct bpf_calls_code;
/* What is attached to sys_enter or sys_exit: jumps to the body of the call's number. */
void bpf_program_calls(struct bpf_code *code, const struct bpf_calls_code *s);

/* The threads in calls whose entries lack a text, by the lowest bits of their ids. */
enum { BPF_LATE_SLOTS = 1024, BPF_LATE_SHIFT = 4 };

struct bpf_late_slot {
	uint32_t thread;                /* 0: not used */
	uint32_t event;                 /* id of the entry */
	uint32_t mark, unused;
};

struct bpf_late_table {
	uint64_t used;                  /* number of slots; may be too high */
	uint64_t unused;
	struct bpf_late_slot slots[BPF_LATE_SLOTS];
};

struct bpf_late {                       /* of what reads the texts of a call at its end */
	uint32_t number;                /* of the call */
	int exits;                      /* map of what records exits; -1: another program does */
};

struct bpf_recording {
	const struct bpf_source *source;
	const struct bpf_typed *typed;  /* NULL: by the tracepoint's record */
	const struct bpf_ring *ring;
	const struct bpf_filters *filters;      /* NULL: none */
	const struct bpf_contexts *contexts;    /* NULL: none */
	uint32_t slot, token;
	int threads;                    /* map; -1: no thread is left out */
	int groups;                     /* map; -1: none */
	int late_table;                 /* map; -1: what cannot be read stays empty */
	const struct bpf_late *late;    /* NULL: of the event itself */
};

/*
 * The body that records an event while the slot has this token. What the filters need of the text
 * is decided when the record is written, above head, which then stays where it is; all else before.
 */
void bpf_program_body(struct bpf_code *code, const struct bpf_recording *r);

/* The body that reads the texts of a call at its end, and then jumps to the exit's. */
void bpf_program_late(struct bpf_code *code, const struct bpf_recording *r);

/* ---- bpf_late.c ---- */

/* The map of late bodies has an entry for each call. The entry after them is the next program. */
enum { BPF_LATE_LOOK = BPF_CALLS_MAX };
/* At sys_exit: jumps to that one if the table has threads. Keeps register 1. */
void bpf_late_look(struct bpf_code *code, const struct bpf_calls_code *s, int end);
/* Jumps to the late body of the call if the table has the thread; else to the call's body. */
void bpf_program_look(struct bpf_code *code, const struct bpf_calls_code *s);

#endif
