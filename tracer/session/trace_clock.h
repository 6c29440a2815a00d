/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock that a session's traces have. */
#ifndef TRACER_SESSION_TRACE_CLOCK_H
#define TRACER_SESSION_TRACE_CLOCK_H

#include "tracer/session/part.h"

extern const struct session_part clock_part;

/* Sets what the metadata say of the clock. Caller holds t->lock, or no other thread knows t. */
void trace_set_clock(struct trace *t, const struct session *s);
/* Measures the offset of the session's clock, and sets it in all its traces. Locked. */
void session_measure_clock(struct session *s);

#endif
