/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The views of a session: what readers of `text`, `pipe` and `streams/` get while it records.
 *
 *	cursor.c         walks the events of one ring
 *	file_cursor.c    … and of the files of an output, in place of the ring; or of a stream of
 *	                 an imported trace
 *	merge.c          the events of all rings as one sequence, ordered by time
 *	text_index.c     the text engine: how long the text is, where a reader can begin
 *	divide.c         … counted by several threads
 *	text_view.c      one open of `text`
 *	text_window.c    … what is formatted for it, by its own run and by other threads
 *	pipe.c           one open of `pipe`: text as it happens
 *	counts.c         how often each event was recorded
 *	counts_text.c    … as a table, and for each rule
 *	stats.c          rates and times of what is held (stats.h)
 *	top.c            the same of the last second, without times of pairs
 *	stats_text.c     … as tables
 *	stack.c          code addresses of events by name: pipe.symbols, text.symbols
 *	frames.c         the functions of callstacks, for stats
 *	tally.c          how many events there are, by name and process
 *	pair.c           times from one event to another: of the slices of slice/, and of wakeups
 *	function.c       the names of functions that are slices
 *	pair_open.c      the events that wait for the other one of their pair
 *	packet_stream.c  one open of streams/OWNER/cpuN: CTF packets of one ring
 *
 * tracer.h declares the functions that the file system calls; the other headers are private.
 *
 * Locks: each open belongs to its caller, who serializes its calls. text_engine.lock guards the
 * engine that all opens of a text share, counts.lock the counts; session_look and session_streams,
 * which take tracer.lock, are called under both.
 */
#ifndef TRACER_VIEW_VIEW_H
#define TRACER_VIEW_VIEW_H

#include "tracer/session/part.h"
#include "tracer/view/views.h"

/* The text of a session, as a part of it (session/part.h). */
extern const struct session_part text_part;
/* The counts of its events, and the last text of `stats`, as parts of it. */
extern const struct session_part counts_part;
extern const struct session_part stats_part;

#endif
