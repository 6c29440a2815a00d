/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LKET's files inside the room: lket.c has files, events and reading, lket_describe.c the names and
 * fields of events.
 */
#ifndef TRACER_IMPORT_LKET_H
#define TRACER_IMPORT_LKET_H

#include "tracer/format/import/import.h"

/* Events of this group describe others. */
#define LKET_DESCRIBES 1u

/* The events of one group and hook. */
struct lket_class {
	char *name;             /* NULL: not described */
	struct lket_list { struct md_field *fields; uint32_t count; } lists[2]; /* system, user */
	const struct md_event *event;   /* has the fields then; owned by the class */
	uint32_t system;        /* of its fields */
};

struct lket_trace {
	struct import *im;
	struct lket_class *groups[256];  /* 256 kinds each; NULL: none is described */
	struct md_stream *class;        /* owned by the model */
};

struct lket_file {
	struct input in;
	const struct lket_trace *t;
	const struct import_file *file;
	uint32_t cpu, timebase;
	uint8_t timing;
	bool big_endian;
	uint64_t begin;         /* of the first event */
};

struct lket_event {
	uint64_t time, thread, rest;
	const uint8_t *data, *system_end, *end;
};

static inline unsigned int lket_group(const struct lket_event *e)
{
	return (unsigned int)(e->rest >> 24) & 0xff;
}

static inline unsigned int lket_hook(const struct lket_event *e)
{
	return (unsigned int)(e->rest >> 16) & 0xff;
}

static inline struct lket_class *lket_find_kind(const struct lket_trace *t, unsigned int group,
						unsigned int hook)
{
	return t->groups[group] ? &t->groups[group][hook] : NULL;
}

/* The event at p. Returns its bytes; 0: `n` bytes are not all of it; -1: it is not valid. */
int lket_split(const struct lket_file *f, const uint8_t *p, size_t n, struct lket_event *e);

/* A string of an event; moves *p after it. NULL: the event ends before. */
const char *lket_string(const uint8_t **p, const uint8_t *end);
void lket_free_list(struct lket_list *l);

/* Reads what the first events of the file describe. 0, -EINVAL or -ENOMEM with a sentence. */
int lket_describe(struct lket_trace *t, const struct lket_file *f, struct tr_err *err);
/* Makes the trace of what is described. hash: for its UUID. NULL with a sentence. */
struct import_trace *lket_model(struct lket_trace *t, const char *dir, uint64_t hash,
				struct tr_err *err);

#endif
