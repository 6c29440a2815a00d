/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a map's rule, between rules.c and operators.c. Private to map/. */
#ifndef TRACER_MAP_PARSE_H
#define TRACER_MAP_PARSE_H

#include <errno.h>
#include <string.h>

#include "tracer/base/lexer.h"
#include "tracer/view/map/rules.h"

/* The words that end the event rule of a map's rule. */
extern const char *const map_stops[];
/* The operator of this name; -1: none. */
int map_find_operator(struct token t);
/* Takes a field of a rule; of a pair also first.FIELD. 0, -EINVAL, -ENOMEM; so do the next ones. */
int map_take_field(struct scan *s, const struct map_rule *r, struct map_field *f);
/* Takes an operator, or `topk(K)`. */
int map_take_operator(struct scan *s, struct map_rule *r);
/* The operators of a rule that has none. */
int map_default_operator(struct map_rule *r);

#endif
