/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces and streams of a foreign trace, as views see them. Private to foreign/. */
#ifndef TRACER_FOREIGN_STREAMS_H
#define TRACER_FOREIGN_STREAMS_H

#include "tracer/format/foreign/foreign.h"

/*
 * Has the process open the trace, and makes its traces and streams of the model. *used: about the
 * bytes of its types. 0 or -errno with a sentence.
 */
int foreign_make_streams(struct foreign *f, uint64_t *used, struct tr_err *err);
void foreign_free_streams(struct foreign *f);   /* not the traces */

#endif
