// SPDX-License-Identifier: GPL-2.0-or-later
/* What the room keeps in the tracer: output.h has it. */
#include "tracer/output/output.h"

const struct tracer_room output_room = { .size = sizeof(struct output_data) };
