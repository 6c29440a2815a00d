/* SPDX-License-Identifier: MIT */
/*
 * event.h - events that are defined while a program runs, for languages that have no C macros. An
 * event has a fixed list of fields; C and C++ programs better use TRAIL() of trail/trail.h.
 *
 *	static const struct trail_event_field fields[] = {
 *		{ "id", TRAIL_VALUE_SIGNED }, { "path", TRAIL_VALUE_STRING } };
 *	struct trail_event *event;
 *	const struct trail_value values[] = { { .i = 42 }, { .s = "/index.html" } };
 *
 *	if (trail_event_create(&event, "my_app", "request", 13, fields, 2) == 0)
 *		trail_event_record(event, values);
 */
#ifndef TRAIL_EVENT_H
#define TRAIL_EVENT_H

#pragma GCC system_header

#include <trail/trail.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRAIL_EVENTS_MAX 128    /* such events of a process at one time */

struct trail_event;

struct trail_event_field {
	const char *name;
	/*
	 * Integers and floating point numbers have 8 bytes; not TRAIL_VALUE_NONE. A text is a
	 * string in the trace.
	 */
	enum trail_value_type type;
};

/*
 * Defines the event provider:name with `count` fields, 0 to 64, and registers it; stores it in
 * *event. Names have 1 to 255 bytes, without blanks, quotes, commas and brackets; the provider
 * and the event's name have no control characters and backslashes either, the provider no colon.
 * They are copied. level is a number from 0 (emerg) to 14 (debug). Several events may have one
 * name. It may wait for the daemon's answer, as the constructor of a library (trail(3)). Without
 * a daemon it succeeds. Thread-safe; not for signal handlers. 0, -EINVAL (a name, the level, the
 * number or the type of fields), -ENOSPC (there are TRAIL_EVENTS_MAX), -ENOMEM.
 */
int trail_event_create(struct trail_event **event, const char *provider, const char *name,
		       unsigned int level, const struct trail_event_field *fields,
		       unsigned int count);
/*
 * The end of the event, and of what trail_event_state() returned: no thread may use it then. Null
 * is allowed. Thread-safe for different events; not for signal handlers.
 */
void trail_event_destroy(struct trail_event *event);
/*
 * A word of memory that is 0 while no session wants the event; for callers that then save
 * themselves the work for the values. Valid until trail_event_destroy().
 */
const unsigned int *trail_event_state(const struct trail_event *event);
/*
 * Records the event if a session wants it. values[i] is field i's; the type of the field says which
 * member of it is read, the type in the value is not used. A null string reads "(null)". values:
 * null, for an event with fields, counts it as lost, as for a value that its field cannot hold.
 * Thread-safe and async-signal-safe; keeps errno.
 */
void trail_event_record(struct trail_event *event, const struct trail_value *values);

#ifdef __cplusplus
}
#endif

#endif
