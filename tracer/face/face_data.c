// SPDX-License-Identifier: GPL-2.0-or-later
/* What the face keeps in the tracer. */
#include <unistd.h>

#include "tracer/base/os/clock.h"
#include "tracer/face/face.h"

static void create_face(struct tracer *t)
{
	face_data(t)->opened = wall_clock();
	face_data(t)->lock_fd = -1;
}

static void destroy_face(struct tracer *t)
{
	if (face_data(t)->lock_fd >= 0)
		close(face_data(t)->lock_fd);
}

const struct tracer_room face_room = { sizeof(struct face_data), create_face, destroy_face };

struct face_data *face_data(const struct tracer *t)
{
	return tracer_data(t, &face_room);
}
