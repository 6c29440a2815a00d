/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The slices of a session: what two events make on a track, from a begin to its end. `stats` and
 * all pictures take their slices from here, and so have the same ones.
 *
 *	slice.c         what an event class has to do with slices, and the slices that are open
 *	slice_track.c   which track an event is on
 *	pair_rule.c     which events are pairs, by their names
 *	outages.c       when streams had losses
 *	pair_open.c     events that wait for the other one of a pair that is no slice
 *	times.c         how long slices lasted: sums and percentiles
 *
 * A track is a thread; or a CPU, for events whose thread is not known; or what interrupts a CPU; or
 * one of the requests that a block device has at a time. The thread of an event is its context
 * tid or vtid; else the one that the last sched_switch of its CPU switched to; else the
 * process of pid or vpid.
 *
 *  - An end ends the innermost open slice of its pair on its track. The slices in that one have no
 *    end: they are shown up to there, and their times are not known.
 *  - A thread is in one system call at a time, and in none when its program begins a slice: an open
 *    call then has no end. The calls that do not return, exit and rt_sigreturn, are no slices.
 *    A call whose thread is not known is none, either.
 *  - A begin and an end with losses in between, each of which may belong to an event that is lost
 *    (outages.h), are no slice: the begin has no end. It is shown up to the end, which is an
 *    instant.
 *  - What -finstrument-functions reports belongs together by the address of the function.
 *  - A request is known by its device and sector; the next one for these leaves it without an end.
 *    Its end is recorded by whichever thread the disk interrupts: where inclusion sets leave
 *    threads out, a request without an end is dropped.
 *  - What is open after the last event has no end. If another slice of its pair began on its track
 *    meanwhile, it was forgotten, as by an error path of a program: it is shown up to that begin,
 *    or, if a slice with an end is in it then, up to the end of that one. Nothing is nested in
 *    it after that. A second run knows which these are, so that recursion stays what it is;
 *    functions are not forgotten.
 *  - Where rings are cut, because newer events took the place of older ones, a begin without an end
 *    that is older than the first event of a cut ring is dropped: its end was in that ring.
 *  - A dropped begin is an instant; one of a request is on the track of its thread.
 *
 * Memory is bounded: SLICE_THREADS threads; SLICE_DEPTH open slices on each track: then the oldest
 * that another one of its pair follows has no end, else the new one is none; SLICE_LOST dropped or
 * forgotten begins; SLICE_REQUESTS requests: the oldest one of the device leaves its track to a new
 * one. No lock: all of it belongs to its caller.
 */
#ifndef TRACER_VIEW_SLICE_SLICE_H
#define TRACER_VIEW_SLICE_SLICE_H

#include "metadata/access.h"
#include "tracer/view/slice/outages.h"
#include "tracer/view/slice/pair_rule.h"

#define SLICE_THREADS 65536u    /* further threads are on the tracks of CPUs */
#define SLICE_REQUESTS 256u     /* block requests at a time that have tracks */
#define SLICE_DEPTH 1024u       /* slices that are open at a time on one track */
#define SLICE_LOST (1u << 20)   /* begins without an end that are known to a second run */

/* Tracks that are no threads: above each thread id of Linux. */
#define SLICE_CPUS (1 << 22)
#define SLICE_INTERRUPTS (SLICE_CPUS + (1 << 20))
#define SLICE_DISKS (SLICE_CPUS + (2 << 20))
#define SLICE_OTHERS (SLICE_CPUS + (3 << 20))   /* of the caller */

enum slice_side { SLICE_NONE, SLICE_BEGIN, SLICE_END };

/* An event class in a stream class; valid as long as these. */
struct slice_class {
	enum slice_side side;   /* SLICE_NONE: no slice, or one of another kind (pair_rule.h) */
	bool is_call;           /* a system call */
	bool leaves_calls;      /* its thread is in no earlier call any more */
	bool of_cpu;            /* of the interrupts of its CPU */
	bool is_request;        /* of a block device */
	bool is_switch;         /* says which thread the CPU runs from now on */
	uint64_t pair;          /* hash of the pair's name */
	struct pair_rule rule;  /* of the pair, if there is a side */
	struct md_route tid, pid;       /* to contexts */
	struct md_route next;   /* of a switch: to the thread that runs from now on */
	struct md_route prev;   /* of a switch: to the thread that ran before; to none: not known */
	struct md_route address;        /* to the function; to none: it is no function */
	struct md_route dev, sector;    /* of a request */
};

struct slice {                  /* that is open */
	uint64_t pair;          /* hash of the pair's name, and of what else makes it a pair */
	uint64_t begin;         /* ns, as the caller gives times */
	uint32_t mark;          /* of the caller, who sets it after SLICE_BEGIN; else 0 */
	uint64_t inner;         /* of the caller */
	struct outage_place at; /* its begin */
	bool is_call, is_request;
	bool dropped;           /* its begin was an instant: its end is lost */
	bool forgotten;         /* known from a run before: its end does not come */
	bool followed;          /* another slice of its pair began on the track */
};

struct slice_track {
	int32_t tid;            /* of the thread, or one of the numbers above */
	uint64_t dev;           /* of a block device */
	struct slice *open;     /* owned; the innermost one is the last */
	uint32_t depth, room;
	uint32_t over;          /* begins that had no room, and whose ends did not come */
};

struct lost_begin {
	uint64_t time, pair;
	int32_t tid;
	bool forgotten;         /* else dropped */
};

struct slices {
	/* Set by the caller, the rest zero. */
	size_t track_size;      /* of what begins with a struct slice_track */
	/* A begin that is older than this and has no end is dropped; 0: none is. */
	uint64_t since;
	bool tracked;           /* inclusion sets leave threads of the kernel out */
	/*
	 * The innermost slice of the track has no end. `time` is when that is known. May be NULL,
	 * and is not called for dropped ones.
	 */
	void (*unended)(void *arg, struct slice_track *t, uint64_t time);
	void *arg;

	struct slice_track **table;     /* by tid, open addressing; elements are owned */
	uint32_t count, size;   /* size: a power of two */
	struct slice_track *found;      /* by the last search; NULL: none */
	struct slice_request *requests; /* owned */
	uint32_t request_count;
	int32_t *current;       /* the thread of each CPU; 0: not known; owned */
	uint32_t cpus;
	struct slices_dropped {         /* how many begins were */
		uint64_t overwritten;   /* ends that a ring may have lost */
		uint64_t tracked;       /* ends that threads may have had that are left out */
	} dropped;
	struct outages outages; /* of the streams that the caller reads */
	uint64_t interrupted;   /* begins and ends that losses keep apart */
	uint64_t unsure;        /* slices of threads while another CPU had losses */
	struct lost_begin *lost;        /* the first SLICE_LOST of all without an end; owned */
	uint32_t lost_count, lost_at;
	bool forgot;            /* a begin was forgotten that no run before has found */
	bool replay;            /* `lost` is from a run before; lost_at: the next one */
	bool failed;            /* no memory */
};

void slice_class_init(struct slice_class *k, const struct md_stream *stream,
		      const struct md_event *event);

/* The thread of an event on this CPU; 0: not known. *pid: its process; -1: not known. */
int32_t slices_thread(struct slices *v, const struct slice_class *k, const struct md_occurrence *o,
		      uint32_t cpu, int64_t *pid);
/* From now on the CPU runs that thread; not positive: it is idle, or the thread is not known. */
void slices_switch(struct slices *v, uint32_t cpu, int64_t tid);
/*
 * The track with this number, a new one if there is none. NULL: v->failed, or there are too many
 * threads.
 */
struct slice_track *slices_find(struct slices *v, int32_t tid);
/* The track of an event of the thread at that time, as for slices_take. NULL: v->failed. */
struct slice_track *slices_track(struct slices *v, const struct slice_class *k,
				 const struct md_occurrence *o, uint32_t cpu, int32_t tid,
				 uint64_t time);
/* Whether a run before has found that this request has no end. For slices_track. */
bool slices_lost_request(struct slices *v, const struct slice_class *k,
			 const struct md_occurrence *o, uint64_t time);
/*
 * Takes an event on its track, in the order of time. SLICE_BEGIN: the innermost open slice begins.
 * SLICE_END: t->open[t->depth], which stays valid until the next call, has ended. SLICE_NONE: it is
 * an instant. outage: of the event's stream, in v->outages; or NULL.
 */
enum slice_side slices_take(struct slices *v, struct slice_track *t, const struct slice_class *k,
			    const struct md_occurrence *o, uint64_t time,
			    const struct outage *outage);
/* What is open now has no end. */
void slices_finish(struct slices *v, uint64_t time);
/*
 * Prepares a second run of the same events after slices_finish: what was found to be dropped is
 * then known from its begin on.
 */
void slices_replay(struct slices *v);
void slices_deinit(struct slices *v);

#endif
