/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan that an application gets when it attaches: where each of its events goes (tracer/abi/app.h). Made and sent with
 * the tracer's lock held; destroying needs no lock.
 */
#ifndef TRACER_PLAN_H
#define TRACER_PLAN_H

#include <stdbool.h>
#include <stdint.h>

struct app;
struct plan;
struct tracer;

struct plan *plan_create(void);                 /* NULL: memory */
/* Adds what is wanted of a registration, object number `object` of the hello. threads: it needs rings for threads. */
void plan_app(struct plan *p, struct tracer *t, struct app *a, uint32_t object, bool threads);
int plan_send(const struct plan *p, int fd);    /* with the regions' descriptors; 0 or -errno */
void plan_destroy(struct plan *p);              /* NULL is allowed */

#endif
