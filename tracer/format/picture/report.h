/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What export/report.html has, as one run through the events collects it: numbers by name and time,
 * with a bounded memory. Private to report*.c.
 *
 * Times are columns of a grid that begins at the first event. When a time is beyond the last
 * column, two columns become one each, and a column is twice as long.
 */
#ifndef TRACER_PICTURE_REPORT_H
#define TRACER_PICTURE_REPORT_H

#include "tracer/base/hash_table.h"
#include "tracer/format/picture/track.h"
#include "tracer/view/slice/times.h"

#define REPORT_COLUMNS 128u     /* of the grid */
#define REPORT_LEVELS 96u       /* of durations: two for each power of two, to 2^48 ns */
#define REPORT_KINDS 256u       /* names of slices, and of events; the last one is all others */
#define REPORT_BEST 10u         /* slowest slices of each kind, longest pauses */
#define REPORT_LOSSES 100u      /* losses that are listed */
#define REPORT_NONE UINT32_MAX

struct report_slow {            /* a slice */
	uint64_t begin, ns;
	int32_t tid;            /* of its track */
};

struct report_kind {            /* the slices of one name */
	size_t name, name_len;  /* in report.names */
	struct slice_times times;
	uint64_t no_end;
	uint64_t *histogram;    /* slice/times.h; NULL: no slice has ended; owned */
	uint32_t *heat;         /* [column * REPORT_LEVELS + level]; the same */
	struct report_slow slowest[REPORT_BEST];
	uint32_t slow_count;
};

struct report_event {           /* the events of one name */
	size_t name, name_len;  /* in report.names */
	uint64_t count;
	uint32_t columns[REPORT_COLUMNS];
};

struct report_pause {           /* between two events that follow each other */
	uint64_t from, ns;
	int32_t tid;            /* of their track; 0: of all events */
	uint32_t before, after; /* indices of report.events */
};

struct report_best {            /* the longest first */
	struct report_pause all[REPORT_BEST];
	uint32_t count;
};

struct report_party {           /* a track, or a process */
	int32_t id, pid;        /* tid or pid; pid: of a track its process */
	uint64_t events, slices, cpu;   /* slices, cpu: ns in slices, and running */
	uint64_t last;          /* time of its last event */
	uint32_t last_event;
	uint32_t threads;       /* of a process: with events or times */
	size_t name, name_len, group, group_len;        /* in report.names */
};

struct report_parties {
	struct report_party *all;       /* owned */
	struct hash_table table;        /* of `all`, by id */
};

struct report_loss {
	uint64_t begin, end;
	size_t title, title_len, stream, stream_len;    /* in report.names */
};

struct report_cpu {             /* which thread it runs */
	int32_t tid;            /* 0: none, or not known */
	uint64_t since;
};

struct report {
	struct maker *m;
	uint64_t start, last, step;     /* start: valid if `begun`; step: ns of a column */
	bool begun;
	uint64_t events;
	struct slices_dropped dropped;
	struct report_kind *kinds;      /* REPORT_KINDS; owned */
	struct report_event *by_name;   /* REPORT_KINDS; owned */
	uint32_t kind_count, name_count;
	/* By the numbers of event classes (track.h): indices of by_name and kinds, from 1; owned */
	uint32_t *event_of, *kind_of;
	uint32_t class_count;
	struct report_parties tracks, processes;
	struct report_best pauses, thread_pauses;
	struct report_loss losses[REPORT_LOSSES];
	uint32_t loss_count;
	uint64_t loss_more, lost[MD_LOSS_KINDS];        /* lost: events, or packets */
	bool loss_unknown;      /* some loss has no count */
	struct report_cpu *cpus;        /* owned */
	uint32_t cpu_count;
	uint32_t last_event;    /* of all */
	char host[65];          /* "": the trace does not say it */
	struct md_buf names;
};

/* report.c: failures are in m->err. */
void report_collect(struct report *v, struct maker *m);
void report_deinit(struct report *v);
/* A new one if there is none. NULL: no memory, in m->err. */
struct report_party *report_find(struct report *v, struct report_parties *all, int32_t id);
/* The shortest duration of a level, and of the one after it. */
static inline uint64_t report_level_begin(uint32_t level)
{
	uint64_t power = UINT64_C(1) << level / 2;

	return level < 2 ? level : level % 2 ? power + power / 2 : power;
}

#endif
