/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the keeper held for an earlier daemon: buffers and descriptors, by their keys. Used while
 * sessions are restored, by one thread.
 */
#ifndef TRACER_SESSION_KEPT_H
#define TRACER_SESSION_KEPT_H

#include "tracer/base/ring/ring.h"
#include "tracer/session/sessions.h"

/*
 * The buffer of that key, now the caller's; NULL: the keeper did not hold it. It has no rings if
 * its header page is not valid: see region_assume().
 */
struct region *kept_claim(uint64_t key);
/*
 * Adds a buffer. If the list has one with that key, the one with more written bytes stays. Takes r
 * over if it returns 0.
 */
int kept_add(uint64_t key, struct region *r);
/* Adds a descriptor of a part of a session. Takes fd over if it returns 0. */
int kept_add_descriptor(uint64_t key, int fd);
/* A descriptor by its key. The list owns it until kept_descriptor_taken; -1: none. */
int kept_descriptor(uint64_t key);
void kept_descriptor_taken(uint64_t key);
void kept_descriptor_name(uint64_t key, char out[32]);  /* its name in the keeper */
void kept_take(struct tracer *t);               /* adds everything that the keeper holds */
/* Ends what no session claimed, here and in the keeper. Returns the number of such buffers. */
size_t kept_drop(struct tracer *t);

#endif
