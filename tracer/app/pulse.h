/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signs of life for applications that wait for an answer (tracer/abi/app.h). An application gives
 * up after 10 ms of silence; while the thread that answers is busy for longer, a thread of the
 * pulse's own accepts connections and sends a sign to each every few milliseconds. It starts when
 * there is the first application to answer, sleeps while the answering thread is idle, and takes
 * no lock of the tracer.
 */
#ifndef TRACER_APP_PULSE_H
#define TRACER_APP_PULSE_H

struct pulse;

/*
 * Both descriptors stay the caller's. wake: an eventfd that is written when a connection was
 * accepted. 0 or -errno.
 */
int pulse_create(int listener, int wake, struct pulse **out);
void pulse_destroy(
	struct pulse *p); /* closes what pulse_accept() did not return; NULL is allowed */
/* The thread that answers has something to do: now it may take long. Only it calls this. */
void pulse_busy(struct pulse *p);
void pulse_idle(struct pulse *p);
/*
 * A connection whose peer waits; -ENOMEM: it gets no signs. Remove before closing; what was not
 * added may be removed.
 */
int pulse_add(struct pulse *p, int fd);
void pulse_remove(struct pulse *p, int fd);
/*
 * A connection that was accepted, now the caller's; -1: none. The listeners take turns: a crowd at
 * one of them delays no connection of another.
 */
int pulse_accept(struct pulse *p);
/* One more listener, which stays the caller's; unlisten before closing it. 0 or -ENOMEM. */
int pulse_listen(struct pulse *p, int listener);
/* Closes the connections that pulse_accept() did not return. An unknown listener is ignored. */
void pulse_unlisten(struct pulse *p, int listener);

#endif
