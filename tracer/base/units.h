/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes and times as users write them. */
#ifndef TRACER_BASE_UNITS_H
#define TRACER_BASE_UNITS_H

#include <stdint.h>
#include "tracer/base/err.h"

/*
 * "4M", "512k", "1G", "4096" become bytes; "100ms", "2s", "inf", "0" become microseconds (inf is UINT64_MAX).
 * 0 or -EINVAL with a sentence.
 */
int units_size(const char *text, uint64_t *out, struct tr_err *err);
int units_time(const char *text, uint64_t *out, struct tr_err *err);

#endif
