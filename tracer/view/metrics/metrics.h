/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics/: the files `metrics`: what is counted, as text of OpenMetrics 1.0. Programs that read
 * Prometheus's older text format read the samples of it, too: it uses only the types that both
 * formats have. But type and help of a counter stand under another name there: OpenMetrics names
 * the family without the `_total` that its samples have, and refuses a file that names both. So
 * `metrics.prom` has the same samples in the older format.
 *
 *	family.c    the families of metrics, and how samples and labels are written (family.h)
 *	events.c    of sessions: their state, events, losses, buffers
 *	values.c    of the maps of a session: rules, keys, histograms
 *
 * No lock of its own: what is written belongs to the caller until it is complete.
 */
#ifndef TRACER_VIEW_METRICS_H
#define TRACER_VIEW_METRICS_H

#include <stdbool.h>

#include "metadata/buf.h"

struct owner;
struct session;
struct tracer;

/*
 * plain: in the older format.
 *
 * Appends the metrics of one session. Counts the events that were recorded since the last call, as
 * `counts` does. 0 or -ENOMEM. Any thread, without lock.
 */
int session_metrics(struct session *s, bool plain, struct md_buf *out);
/*
 * The same of the daemon, and of all sessions whose directory the viewer may read: root, the owner,
 * and those to whom chmod(1) gave it.
 */
int tracer_metrics(struct tracer *t, const struct owner *viewer, bool plain, struct md_buf *out);

#endif
