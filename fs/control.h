/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing to control files: the atomic unit is one write(2). All its lines take effect, or none, before it returns.
 *
 * The last line of a write needs no newline, unless the write has 512 bytes or more: then the line may have been cut by
 * whoever writes (tee, cp, a big echo), and waits for the next write or for close. After a write that failed the open
 * takes no more: what follows was meant to come after it. STORE_WHOLE is another matter: there the unit is all that was
 * written until close(2), which reports what is wrong with it.
 */
#ifndef FS_CONTROL_H
#define FS_CONTROL_H

#include <stddef.h>
#include <sys/types.h>

struct file;

/* All of size, or -errno; the error file says why. */
ssize_t control_write(struct file *f, const char *buf, size_t size);
/* Applies a line that waited for its rest. */
int control_finish(struct file *f);

#endif
