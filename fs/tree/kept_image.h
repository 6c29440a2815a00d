/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The image of trace/, archives/ and the like that a process has, in the hand-over. Some images of
 * trace/ continue with the next daemon: the keeper has them. The others end with the daemon that
 * made them. What a process has copied of an ended image must not get parts of a new one: for some
 * seconds after the take-over, this process gets ESTALE, not a new image. Any thread.
 */
#ifndef FS_TREE_KEPT_IMAGE_H
#define FS_TREE_KEPT_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/base/handover.h"

struct session;
struct trace_image;

/* A serial that no daemon of this mount gives again. */
uint64_t kept_image_serial(void);
/*
 * Notes an image that was made for a process, and gives it to the keeper if hold is set. *place: in
 * the hand-over, for kept_image_drop and kept_image_continues. alike 0: the session is stopped,
 * and this sets it by names, sizes and times of the files. -ESTALE: the process had another image
 * that has ended.
 */
int kept_image_put(struct handover_image *what, struct trace_image *image, bool hold,
		   uint32_t *place);
/* Whether the next daemon will have the image of this place. */
bool kept_image_continues(uint32_t place);
/* HANDOVER_NONE: does nothing. Without locks: it asks the keeper. */
void kept_image_drop(uint32_t place);
/*
 * Looks for an earlier daemon's image of this session, form and process. 1: *image is one that
 * continues, in place of a new one; *what and *place are its own. 0: there is none. -ESTALE: it has
 * ended, and a new one (alike not 0) is another one.
 */
int kept_image_take(struct session *s, struct handover_image *what, struct trace_image **image,
		    uint32_t *place);
/* Call it after handover_take: each image in the table is from an earlier daemon. */
void kept_images_recall(void);
/* Whether images that continue wait for kept_image_take. */
bool kept_images_left(void);
/* Some seconds after the take-over, drops those that are left. When to call again, or -1. */
int64_t kept_images_expire(int64_t now);

#endif
