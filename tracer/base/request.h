/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The newest writes that had effect, by their numbers. If a daemon is killed, the next one gets the
 * writes that were not answered, and executes only those that are not in the list. Few writes wait
 * for an answer at one time, so a short list is enough. The caller has a lock of the list. 0 is no
 * number: it is in no list, and nothing is done with it.
 */
#ifndef TRACER_BASE_REQUEST_H
#define TRACER_BASE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "metadata/buf.h"

#define REQUESTS_MOST 32u

struct requests {
	uint64_t all[REQUESTS_MOST];    /* 0: none */
	uint32_t next;                  /* where the next one goes */
};

bool requests_have(const struct requests *r, uint64_t request);
void requests_add(struct requests *r, uint64_t request);
void requests_drop(struct requests *r, uint64_t request);
/* Adds a line of a state file, unless the list is empty. */
void requests_print(const struct requests *r, struct md_buf *out);
/* Adds what such a line has after its key. */
void requests_read(struct requests *r, const char *value);

#endif
