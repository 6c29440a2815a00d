/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions about events. A trigger has a session of its own that users do not see
 * (session.hidden), with one channel in overwrite mode and small buffers: applications, or the
 * kernel, decide and record as for any session, and the rings count every hit, also those that they
 * overwrite. A thread looks at the rings; another one copies the kernel's events into theirs, and
 * looks at them. Private to trigger/.
 */
#ifndef TRACER_TRIGGER_EVENT_H
#define TRACER_TRIGGER_EVENT_H

#include "metadata/decode.h"
#include "tracer/kernel/available.h"
#include "tracer/trigger/trigger.h"

/* Without lock. The session of the condition, referenced; its rule's mistakes are explained. */
int event_open(struct tracer *t, const struct owner *owner, const struct condition *c, bool enabled,
	       struct session **out, struct tr_err *err);

void listener_stop(struct triggers *all);       /* without lock */
/* Locked. A trigger with an event got it, lost it, or was switched. */
void listener_nudge(struct triggers *all);
/* kernel_listener.c: the same thread functions, for events of the kernel */
void kernel_listener_stop(struct triggers *all);
void kernel_listener_nudge(struct triggers *all);

/* capture.c: the values of the event, which belongs to a channel of this class. */
void captures_print(const struct condition *c, const struct md_stream *class,
		    const struct md_occurrence *o, bool json, struct md_buf *out);

#endif
