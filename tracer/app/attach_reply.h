/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The attach reply: what an application gets when it attaches, that is where each of its events
 * goes (struct trail_plan in tracer/abi/app.h). Made and sent with tracer.lock held; destroying it
 * needs no lock.
 */
#ifndef TRACER_APP_ATTACH_REPLY_H
#define TRACER_APP_ATTACH_REPLY_H

#include <stdbool.h>
#include <stdint.h>

struct app;
struct attach_reply;
struct tracer;

struct attach_reply *attach_reply_create(void);                 /* NULL: memory */
/*
 * Adds what is wanted of a registration, object number `object` of the hello, which has these
 * flags.
 */
void attach_reply_app(struct attach_reply *p, struct tracer *t, struct app *a, uint32_t object,
		      uint32_t flags);
/*
 * With the regions' descriptors. may_inline: a small plan goes with the message, else in a memfd.
 * 0 or -errno.
 */
int attach_reply_send(const struct attach_reply *p, int fd, bool may_inline);
void attach_reply_destroy(struct attach_reply *p);              /* NULL is allowed */

#endif
