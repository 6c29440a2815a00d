/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to kformat*.c: what else a format is made of. */
#ifndef TRACER_KEVENT_ENUM_LABELS_H
#define TRACER_KEVENT_ENUM_LABELS_H

#include "tracer/kevent/format.h"
#include "tracer/kevent/ring_page.h"

#define KLABELS_MAX 4096u       /* of an enumeration */

/*
 * Takes the names of f's values from __print_symbolic and __print_flags of its print format. No labels, if there are none
 * or their values are no plain numbers. 0 or -ENOMEM.
 */
int klabels_parse(const char *print, size_t len, struct kformat_field *f);

/* The same from kevent/lttng_names.def, by the name in the trace. */
int klabels_known(const char *event, const char *field, struct kformat_field *f);

/* Makes the tables of kformat_filter_event. 0 or -ENOMEM. */
int kformat_make_filter(struct kformat *k);

#endif
