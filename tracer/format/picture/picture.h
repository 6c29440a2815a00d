/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pictures: the events of a session as slices on tracks, in the forms that show them.
 *
 *	track.c      the events as tracks of threads and CPUs, with slices (track.h); event_kind.c,
 *	             track_owner.c and cpu_runs.c are parts of it
 *	chrome.c     export/chrome.json
 *	perfetto.c   export/perfetto, in messages of protobuf.h; perfetto_tracks.c: clocks and
 *	             tracks (perfetto.h); perfetto_names.c: its names
 *	flame.c      export/flame.svg, with flame.js in it, and export/flame.folded; flame_tree.c:
 *	             its frames (flame.h)
 *	page.c       export/timeline.html; page.html is the page without events
 *	live.c       export/live.html: the same page of the newest events
 *	report.c     export/report.html: what it counts (report.h); report_page.c: the page, which
 *	             is report.html without numbers
 *	html.c       text in the scripts of pages (html.h)
 *
 * Locks: none here. A maker belongs to its caller.
 */
#ifndef TRACER_PICTURE_PICTURE_H
#define TRACER_PICTURE_PICTURE_H

struct maker;

/* Each writes one file. Failures: m->err, or m->out.failed. */
#define PICTURE(form, file, make, help) void make(struct maker *m);
#include "tracer/session/exports.def"
/* page.c: the page; live: after how many ms a browser loads it again. */
void page_write(struct maker *m, unsigned int live);

#endif
