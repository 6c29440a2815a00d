/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a cursor gets its bytes from in a session with an output: the files of its stream, one
 * after the other, instead of the ring. Positions are offsets in a file then, and a place names the
 * file, too. Private to view/cursor.c.
 *
 * The owner may do with the files what he likes: headers are checked, what they say is clamped to
 * the file, and a file that makes no sense is given up for the next.
 */
#ifndef TRACER_VIEW_FILE_CURSOR_H
#define TRACER_VIEW_FILE_CURSOR_H

#include "tracer/view/cursor.h"

/*
 * How far the cursor may go: to the end of what is written now. If it was in the ring, and that has
 * been written since, it goes back.
 */
void filecursor_mark(struct cursor *c);
/* At the mark, if it may go on in the ring: then it does. */
bool filecursor_leave(struct cursor *c);
/* As fill in view/cursor.c: copies the next bytes. 1, 0 at the mark, or -ENOMEM. */
int filecursor_fill(struct cursor *c, size_t need);
void filecursor_close(struct cursor *c);
bool filecursor_at_mark(const struct cursor *c);

#endif
