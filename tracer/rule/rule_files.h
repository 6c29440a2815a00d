/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether rules name files, which an opener in another mount namespace may not do. */
#ifndef TRACER_RULE_RULE_FILES_H
#define TRACER_RULE_RULE_FILES_H

#include <stdbool.h>

/* Some line of the text has a rule of the kernel domain with a path in it (uprobe:, usdt:). Any thread. */
bool events_name_files(const char *text);

#endif
