/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The form of a session's traces: which clock they have, and which version of CTF. */
#ifndef TRACER_SESSION_TRACE_FORM_H
#define TRACER_SESSION_TRACE_FORM_H

#include "tracer/session/part.h"

extern const struct session_part form_part;

struct trace;

/*
 * Sets the version of CTF, and what the metadata say of the clock. Caller holds t->lock, or no
 * other thread knows t.
 */
void trace_set_form(struct trace *t, const struct session *s);
/* Whether its times are of that clock; NULL: the application has no plug-in. Locked. */
bool session_has_clock(const struct session *s, const struct md_clock *clock);
/* Before its events are recorded: its clock becomes the session's, if that has none. Locked. */
void session_take_clock(struct session *s, const struct md_clock *clock);
/* The setting `clock` has changed: sets the offset in all traces of the session. Locked. */
void session_times_changed(void *session);
/* Measures the offset of the session's clock, and sets it in all its traces. Locked. */
void session_measure_clock(struct session *s);

#endif
