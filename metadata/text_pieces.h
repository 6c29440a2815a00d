/* SPDX-License-Identifier: MIT */
/* Constant pieces of a line of text: for text.c and text_length.c. Private to metadata/. */
#ifndef METADATA_TEXT_PIECES_H
#define METADATA_TEXT_PIECES_H

#include "metadata/program.h"
#include "metadata/text.h"

enum {
	HEAD_TEXT = 96 + MD_TEXT_HOSTNAME_MAX,  /* `[…] (+18446744073.709551615) host `, cpu */
	TAIL_TEXT = MD_TEXT_SLACK + 32,         /* for copies in pieces beyond the end; TORN */
};

/* Whether `{ cpu_id = N }` follows the name. */
static inline bool shows_cpu(const struct md_stream *s)
{
	return !s->no_cpu && !s->cpu_in_context;
}

#define NS_PER_SEC 1000000000u
#define CPU_ID_TEXT (sizeof("{ cpu_id = ") - 1)       /* the end of a title, before the number */
#define CPU_END_TEXT (sizeof(" }, ") - 1)             /* what follows it */
#define NO_FIELDS_TEXT (sizeof(", { }") - 1)  /* the end of a line, before the newline */
#define NO_PARTS_TEXT (sizeof("{ }") - 1)     /* the same without a CPU and contexts */
#define TORN " <torn> }\n"
#define NO_DELTA "(+?.???" "???" "???" ") "     /* in pieces, or it would hold a trigraph */
#define NO_TIME "[Error] " NO_DELTA     /* of an event after the year 2262 */

#endif
