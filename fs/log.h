/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the administrator should know: on standard error until the daemon is in the background, in the system log then.
 */
#ifndef FS_LOG_H
#define FS_LOG_H

enum say_level { SAY_ERROR, SAY_WARNING, SAY_INFO, SAY_DEBUG };

void say(enum say_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What is less important than this is not said. */
void say_level(enum say_level level);
/* From now on through syslog(3). */
void say_to_syslog(void);

#endif
