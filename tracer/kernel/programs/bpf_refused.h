/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel refused of a channel's programs, for `status`. The next daemon has it from the
 * keeper: it takes events over as they are, and does not ask the kernel again. Callers hold the
 * channel's lock.
 */
#ifndef TRACER_KERNEL_PROGRAMS_BPF_REFUSED_H
#define TRACER_KERNEL_PROGRAMS_BPF_REFUSED_H

#include "tracer/kernel/programs/bpf.h"

/* What an event has none of: a program by arguments; one of late texts. */
enum bpf_lack { BPF_LACKS_ARGUMENTS, BPF_LACKS_LATE, BPF_LACKS };

#define BPF_KEPT_REFUSED "refused"

struct bpf_refused *bpf_refused_new(void);      /* NULL: no memory */
/* remove: the keeper drops it, too. */
void bpf_refused_free(struct bpf_channel *c, bool remove);

/* No program records the event; c->why says why. */
void bpf_refused_event(struct bpf_channel *c, const char *event);
/* Some event lacks this; c->why says why. */
void bpf_refused_why(struct bpf_channel *c, enum bpf_lack lack);
/* Of the event at this slot */
void bpf_refused_set(struct bpf_channel *c, uint32_t slot, enum bpf_lack lack, bool lacks);
bool bpf_refused_lacks(const struct bpf_channel *c, const struct bpf_event *e, enum bpf_lack lack);
/* Gives the keeper what has changed. */
void bpf_refused_keep(struct bpf_channel *c);
/* Takes what c->refused_file has of an earlier daemon. */
void bpf_refused_take(struct bpf_channel *c);
void bpf_refused_show(const struct bpf_channel *c, struct facts *out);

#endif
