/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of samples: which of them are tracked, what they map, and the records of it until
 * the first sample of them is recorded. Private to sample/.
 */
#ifndef TRACER_SAMPLE_PROCESS_TABLE_H
#define TRACER_SAMPLE_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/perf_event.h>

#include "metadata/buf.h"
#include "tracer/kernel/unwind/unwind.h"

struct mapping_record {         /* PERF_RECORD_MMAP2; the path follows, with a NUL */
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, size, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t prot, flags;
};

struct sampled_process {
	struct sampled_process *next;
	int32_t pid;
	int32_t parent;         /* whose mappings it began with; 0: not known, or not any more */
	bool tracked;
	bool ended;
	bool known;             /* its mappings are recorded, but for those in `maps` */
	bool doubted;           /* the record of its birth may be lost: who made it is not known */
	struct md_buf maps;     /* records of mappings, one after the other */
	struct unwind_space *space;     /* what it maps, for its stacks; NULL: not known; owned */
	size_t spaced;          /* bytes of `maps` that are in it */
	size_t passed;          /* bytes of `maps` that are recorded */
};

#define PROCESS_BUCKETS 1024u   /* a power of two */

struct process_table {
	struct sampled_process *buckets[PROCESS_BUCKETS];
	size_t count;
	size_t bytes;           /* of all maps */
	bool gap;               /* records of births and mappings were lost */
};

struct sampled_process *process_known(const struct process_table *t, int32_t pid); /* or NULL */
/*
 * The process, a new one if it is not known; then others that have ended may be freed. NULL: no
 * memory.
 */
struct sampled_process *process_find(struct process_table *t, int32_t pid);
/* A process was made: what was known of its number belongs to an earlier one. */
void process_born(struct process_table *t, int32_t pid, int32_t parent);
void process_executes(struct process_table *t, int32_t pid);    /* its mappings are gone */
void process_ended(struct process_table *t, int32_t pid);
/*
 * Records of births and mappings were lost, so what is known of processes may be wrong. A process
 * stays tracked; about each other one the next sample of it asks process_decide.
 */
void process_doubt(struct process_table *t);
/*
 * Decides whether a doubted process is tracked, by its ancestors in /proc. 0, or -ESRCH: the
 * process has ended, and its ancestors are not known.
 */
int process_decide(const struct process_table *t, struct sampled_process *p);
/* A mapping of it is not kept: what it maps is not known any more. */
void process_missed(struct process_table *t, struct sampled_process *p);
/* Keeps the record of a mapping; beyond a limit of memory, as process_missed. */
void process_maps(struct process_table *t, struct sampled_process *p, const struct md_buf *record);
/* The mapping at *at in p->maps; moves *at. False: there are no more. */
bool process_next_mapping(const struct sampled_process *p, size_t *at, struct code_mapping *out);
/* They are recorded: frees the records, unless `space` still lacks some of them. */
void process_mapped(struct process_table *t, struct sampled_process *p);
void process_untrack(struct process_table *t);  /* no process is tracked */
void process_table_deinit(struct process_table *t);

#endif
