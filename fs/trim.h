/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What views needed goes back to the system when they are closed: the C library would keep it for the next.
 */
#ifndef FS_TRIM_H
#define FS_TRIM_H

#include <stdint.h>

/* A view was closed, a moment is over. */
void trim_later(void);
/* Gives memory back, some time after that. By the helper thread (wait.h), with its timer's meaning. */
int64_t trim(int64_t now);

#endif
