/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel domain, behind core.h: kernel.c (the backend, rights), kcatalog.c (which events there are), kchannel.c (channels as the
 * backend records them), kdrain.c (from there into rings).
 *
 * A kernel channel is a channel like any other: it has a class in a trace, and a buffer with a ring per CPU. But its events are
 * recorded by the kernel, into buffers of the backend's, and come into the rings only when somebody looks: kernel_drain. So a
 * flight recorder that nobody reads costs the daemon nothing.
 *
 * Locks: kchannel.lock, then tracer.lock, then kernel.lock.
 */
#ifndef TRACER_KERNEL_H
#define TRACER_KERNEL_H

#include "tracer/backend.h"
#include "tracer/core.h"
#include "tracer/kformat.h"

struct kevent {                         /* never freed or moved before the end */
	char *system, *name;            /* the kernel's */
	char *key;                      /* what rules are matched with: krule_match */
	char *event;                    /* LTTng's name, as in the trace */
	size_t index;                   /* in kernel.events */
	bool present;                   /* the kernel has it now */
	struct kformat *format;         /* NULL: not read yet, or not readable */
	bool unreadable;
};

struct kernel {
	const struct backend_ops *ops;
	struct backend *backend;
	char suffix[16];                /* of the names of this daemon's channels: which state directory */
	struct cds_list_head dead;      /* struct kchannel, to be closed; guarded by the tracer's lock */
	pthread_mutex_t lock;           /* guards the rest */
	struct kevent **events;         /* sorted by system and name but for those that came later */
	size_t event_count;
	struct kevent **by_id;          /* of formats that were read */
	size_t by_id_size;
	char *listed;                   /* what the events were made of */
};

struct coder;

struct kchannel {
	int refs;                       /* atomic */
	struct tracer *tracer;
	struct cds_list_head dead;
	char name[256];                 /* in the kernel */

	/* Guarded by the tracer's lock. */
	struct channel *channel;        /* NULL: was removed */
	uint8_t *on;                    /* per index of an event: enabled in the kernel */
	size_t on_count;
	bool recording;
	struct track tracked;
	int error;                      /* of the last attempt to tell the kernel */

	uint32_t generation;            /* atomic: grows when rules change */
	bool settled;                   /* atomic: nothing is recorded, and all was drained since */

	/* One drain at a time. Guards the rest, and that bc is open. */
	pthread_mutex_t lock;
	struct backend_channel *bc;     /* constant but for its end */
	struct region *region;          /* referenced, constant */
	struct coder **coders;          /* by the kernel's event id */
	size_t coder_count;
	uint8_t *payload;
	size_t room;
	uint32_t contexts[TRAIL_CONTEXT_MAX];   /* their kinds */
	uint32_t context_count;
};

/* kernel.c */
void kernel_open(struct tracer *t);
void kernel_close(struct tracer *t);
bool kernel_may(const struct tracer *t, uid_t uid);

/* kcatalog.c: they take kernel.lock */
int kernel_refresh(struct kernel *k);           /* the list of events, as it is now */
size_t kernel_count(struct kernel *k);
struct kevent *kernel_event(struct kernel *k, size_t i);
const struct kformat *kernel_format(struct kernel *k, struct kevent *e);        /* NULL: cannot be had */
/* The same, to be freed by the caller: 2300 of them are many to keep. */
int kernel_read_format(struct kernel *k, const struct kevent *e, struct kformat **out);
struct kevent *kernel_event_by_id(struct kernel *k, uint32_t id);               /* of formats that were read */
struct kevent *kernel_find(struct kernel *k, const char *system, const char *name, size_t len);
/* That each new rule means events which are there, and its filter fits one of them. -ENOENT, -EINVAL. */
int kernel_check_rules(struct kernel *k, const struct rule_list *l, struct tr_err *err);
void kcatalog_free(struct kernel *k);

/* kchannel.c: with the tracer's lock held */
int kchannel_start(struct channel *c, struct tr_err *err);
void kchannel_adopt(struct channel *c, const char *name);       /* an earlier daemon's */
void kchannel_apply(struct channel *c);         /* the rules, to the kernel */
void kchannel_drop(struct channel *c);          /* to the dead ones */
struct trace *kernel_trace(struct session *s);  /* NULL: no memory */
void kernel_sweep(struct tracer *t);            /* removes what a dead daemon left and nobody claimed */
/* and without */
void kernel_bury(struct tracer *t);             /* closes the dead ones, and removes what they had in the kernel */
void kchannel_put(struct kchannel *kc);

/* kdrain.c, without the tracer's lock */
void kernel_drain(struct session *s);
void coders_free(struct kchannel *kc);

#endif
