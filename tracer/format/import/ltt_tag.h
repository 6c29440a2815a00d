/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tags of LTT's definitions. Private to ltt_parse.c and ltt_tag.c. */
#ifndef TRACER_IMPORT_LTT_TAG_H
#define TRACER_IMPORT_LTT_TAG_H

#include "tracer/format/import/ltt_private.h"

#define ATTRIBUTES_MAX 12u
#define NAMED_MAX 256u
#define VALUE_MAX 200u

struct attribute { char name[24], value[VALUE_MAX]; };

struct tag {
	char name[24];
	bool close, alone;
	struct attribute attributes[ATTRIBUTES_MAX];
	unsigned int count;
};

struct parser {
	const char *path, *text, *p, *end;
	struct ltt_facility *f;
	struct tr_err *err;
	int ret;                /* -errno: the definition is not valid */
	struct named { char name[64]; const char *at; } named[NAMED_MAX];
	unsigned int named_count;
	char prefix[VALUE_MAX];
};

/* Both set x->ret, and the sentence if it is still empty, and return false. */
bool ltt_tag_fail(struct parser *x, const char *what);
bool ltt_tag_fail_memory(struct parser *x);
/* The next tag. False: the end, or a mistake. */
bool ltt_tag_read(struct parser *x, struct tag *t);
/* Its value; NULL: the tag does not have it. */
const char *ltt_tag_attribute(const struct tag *t, const char *name);
bool ltt_tag_is(const struct tag *t, const char *name);
/* Skips what is in the tag, up to its end. */
bool ltt_tag_skip(struct parser *x, const struct tag *t);
/*
 * The next tag in the tag `outer`; descriptions are skipped. False: the end of `outer` was read, or
 * a mistake.
 */
bool ltt_tag_next(struct parser *x, const char *outer, struct tag *t);

#endif
