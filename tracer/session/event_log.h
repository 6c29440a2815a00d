/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACER_SESSION_EVENT_LOG_H
#define TRACER_SESSION_EVENT_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "metadata/model.h"

/*
 * Event logs: every event class that a trace ever had, in the order they were added. A record is
 * one event class with its stream class id. Appending is one write(2); a torn tail is cut off when
 * the log is opened.
 */
int eventlog_open(int dir, const char *name, int *fd);          /* creates it if missing */
int eventlog_append(int fd, uint32_t stream_id, const struct md_event *e);
/* The same for n event classes by one write(2): all are there afterwards, or none is. */
int eventlog_append_all(int fd, uint32_t stream_id, struct md_event *const *events, size_t n);
/*
 * Calls fn for each record; fn owns e. Contents are checked: -EBADMSG ends the reading at the first
 * bad record.
 */
int eventlog_read(int fd, int (*fn)(void *arg, uint32_t stream_id, struct md_event *e), void *arg);

#endif
