/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images of trace/ that the next daemon can continue: the keeper has them, and the hand-over says
 * which process each is for. Any thread.
 */
#ifndef FS_TREE_KEPT_IMAGE_H
#define FS_TREE_KEPT_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/base/handover.h"

struct process;
struct session;
struct trace_image;

/* A serial that no daemon of this mount gives again. */
uint64_t kept_image_serial(void);
/*
 * Gives the image to the keeper. Its place in the hand-over, for kept_image_drop; or HANDOVER_NONE:
 * it is of a kind that ends with the daemon, or there is no room.
 */
uint32_t kept_image_put(struct session *s, const struct process *p, uint64_t serial,
			struct trace_image *image);
/* HANDOVER_NONE: does nothing. Without locks: it asks the keeper. */
void kept_image_drop(uint32_t place);
/*
 * The image that an earlier daemon had of this session for this process, with its serial and place;
 * false: none. It is not left any more.
 */
bool kept_image_take(struct session *s, const struct process *p, struct trace_image **image,
		     uint64_t *serial, uint32_t *place);
/*
 * Call it after handover_take: each image in the table is from an earlier daemon, and waits for
 * kept_image_take.
 */
void kept_images_recall(void);
bool kept_images_left(void);
/* Drops those that nothing has taken for some seconds; when to call again, or -1. */
int64_t kept_images_expire(int64_t now);

#endif
