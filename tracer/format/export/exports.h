/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export/, as the tree shows it: files that are made when they are opened. */
#ifndef TRACER_EXPORTS_H
#define TRACER_EXPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracer/session/forms.h"

struct session;

struct export_view;
/*
 * Makes the file of all events held now. It stays as it is until it is closed. -EDQUOT: it has more
 * bytes than views may hold (max_frozen).
 */
int export_open(struct session *s, enum export_form form, struct export_view **out);
/* Any number of threads. */
ssize_t export_read(struct export_view *v, uint64_t offset, void *buf, size_t size);
uint64_t export_view_size(const struct export_view *v);
void export_close(struct export_view *v);
/* The size of the file that was made last, since the last clear; 0: none. */
uint64_t export_size(struct session *s, enum export_form form);
/* The session holds so little that a file is made in no time worth mentioning. */
bool export_is_quick(struct session *s);

struct pipe_view;
/* An open of `pipe.otlp`, for the functions of pipes (view/views.h). 0 or -errno. */
int otlp_pipe_open(struct session *s, struct pipe_view **out);

#endif
