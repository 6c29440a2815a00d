// SPDX-License-Identifier: GPL-2.0-or-later
/* Descriptors of the tracer's user that the keeper holds for the next daemon. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tracer/face/face.h"
#include "tracer/face/keeper_guard.h"
#include "tracer/face/tracer.h"
#include "tracer/session/session.h"

/* The one of this name; name "": an unused one. NULL: there is none. Caller holds tracer.lock. */
static struct held_file *find_held(struct tracer *t, const char *name)
{
	for (size_t i = 0; i < TRACER_HELD_MAX; i++)
		if (!strcmp(face_data(t)->held[i].name, name))
			return &face_data(t)->held[i];
	return NULL;
}

int tracer_hold(struct tracer *t, const char *name, int fd)
{
	struct held_file *h;
	int copy, ret;

	if (!t->keeper)
		return -EPIPE;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return -errno;
	pthread_mutex_lock(&t->lock);
	h = find_held(t, name);
	if (h)
		close(h->fd);
	else
		h = find_held(t, "");
	if (h) {
		snprintf(h->name, sizeof(h->name), "%s", name);
		h->fd = copy;
	}
	pthread_mutex_unlock(&t->lock);
	if (!h) {
		close(copy);
		return -EMFILE;
	}
	ret = keeper_put(t->keeper, name, fd);
	/* A keeper that is late gets it before what comes later, also from another daemon. */
	if (ret == -ETIMEDOUT)
		ret = 0;
	if (ret)
		tracer_release(t, name);
	return ret;
}

void tracer_release(struct tracer *t, const char *name)
{
	struct held_file *h;

	pthread_mutex_lock(&t->lock);
	h = find_held(t, name);
	if (h) {
		close(h->fd);
		*h = (struct held_file){ .fd = -1 };
	}
	pthread_mutex_unlock(&t->lock);
	if (t->keeper)
		keeper_drop(t->keeper, name);
}

int tracer_held(struct tracer *t, const char *name)
{
	return t->keeper ? keeper_find(t->keeper, name) : -ENOENT;
}

void held_keep(struct tracer *t)
{
	struct held_file copies[TRACER_HELD_MAX];

	pthread_mutex_lock(&t->lock);
	memcpy(copies, face_data(t)->held, sizeof(copies));
	for (size_t i = 0; i < TRACER_HELD_MAX; i++)
		copies[i].fd = *copies[i].name ? fcntl(copies[i].fd, F_DUPFD_CLOEXEC, 0) : -1;
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; i < TRACER_HELD_MAX; i++) {
		if (copies[i].fd < 0)
			continue;
		if (keeper_put(t->keeper, copies[i].name, copies[i].fd))
			tracer_report(t, "the new keeper did not get %s", copies[i].name);
		close(copies[i].fd);
		/* If it was released meanwhile, take it back from the keeper here. */
		pthread_mutex_lock(&t->lock);
		if (!find_held(t, copies[i].name))
			keeper_drop(t->keeper, copies[i].name);
		pthread_mutex_unlock(&t->lock);
	}
}
