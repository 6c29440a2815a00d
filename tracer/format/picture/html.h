/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text within a script element of a page. The page is a file that is linked into the daemon, and
 * has @NAME@ where the text goes.
 */
#ifndef TRACER_PICTURE_HTML_H
#define TRACER_PICTURE_HTML_H

#include "metadata/buf.h"

/*
 * `<` could end the script element, and browsers read a text of ASCII alone in half the time: makes
 * all other characters of the JSON from `at` on escapes. scratch: of the caller, its contents are
 * lost.
 */
void html_make_safe(struct md_buf *out, size_t at, struct md_buf *scratch);
/* Appends text as JSON has it, without quotes. */
void html_put_text(struct md_buf *out, const char *s, size_t n, struct md_buf *scratch);
/* Appends the page up to `mark`, and returns what follows the mark. */
const char *html_begin(struct md_buf *out, const char *page, const char *mark);

#endif
