/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frames of a flame graph, of callstacks or of slices.
 *
 * If events have callstacks, a frame is a function in its callers, on the event's process, and its
 * width is the number of events with that path.
 *
 * Else a frame is a slice in the slices around it; its width is the time of all slices with that
 * path, of all threads with the same name. What the frames on a frame leave free is its self time.
 * A slice without an end has the time of the slices in it alone.
 */
#ifndef TRACER_PICTURE_FLAME_H
#define TRACER_PICTURE_FLAME_H

#include "tracer/base/hash_table.h"
#include "tracer/format/picture/track.h"
#include "tracer/view/stack.h"

/* The time of further paths counts as self time of what is around them. The last is `[others]`. */
#define FLAME_NODES 16384u
#define FLAME_NONE UINT32_MAX

struct flame_node {
	uint32_t child, next;   /* FLAME_NONE: no more; beside each other: by name */
	uint32_t parent;
	uint64_t hash;          /* of the path */
	uint64_t total, inner;  /* ns or events; inner: of the frames on it */
	uint64_t count;         /* slices */
	size_t name, name_len;  /* in flame.names */
};

/* Belongs to its caller; all zero at first. */
struct flame {
	struct maker *m;
	bool by_stack;          /* numbers are events, not ns */
	struct slices_dropped dropped;
	struct stack stack;     /* of the current event */
	struct md_buf name;     /* of the current frame */
	struct flame_node *nodes;       /* node 0: all; owned */
	struct hash_table table;        /* of `nodes`, by path */
	struct md_buf names;
};

/* Makes the frames of the events that m runs through. Failures: m->err. */
void flame_collect(struct flame *v, struct maker *m);
void flame_deinit(struct flame *v);
/* ns or events of a frame that are not of the frames on it. */
uint64_t flame_self(const struct flame *v, const struct flame_node *k);

#endif
