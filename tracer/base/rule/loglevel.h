/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For rule.c alone. */
#ifndef TRACER_RULE_LOGLEVEL_H
#define TRACER_RULE_LOGLEVEL_H

#include "tracer/base/lexer.h"
#include "tracer/base/rule/rule.h"

/* Parses what follows `loglevel`; appends it in its normalized form. 0 or -EINVAL. */
int rule_parse_loglevel(struct scan *s, struct rule *r, struct md_buf *spec);

#endif
