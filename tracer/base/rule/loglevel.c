/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clause `loglevel …` of a rule. */
#include "tracer/base/rule/loglevel.h"

#include <errno.h>
#include <string.h>

#include "tracer/base/base.h"

static bool is_level_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* A level, quoted or not. Returns 0 … 14 or -EINVAL. */
static int parse_level(struct scan *s)
{
	bool quoted;
	size_t begin, len;
	const char *near;
	int level;

	scan_blanks(s);
	quoted = s->line[s->at] == '"';
	s->at += quoted;
	begin = s->at;
	while (is_level_char(s->line[s->at]))
		s->at++;
	len = s->at - begin;
	if (quoted && s->line[s->at++] != '"')
		return scan_fail(s, begin, "no such level");
	if (!len)
		return scan_fail(s, begin, "a log level is missing here: emerg (0) to debug (14)");
	level = level_parse(s->line + begin, len);
	if (level >= 0)
		return level;
	near = level_nearest(s->line + begin, len);
	if (near)
		return scan_fail(s, begin, "no such level '%.*s'; did you mean '%s'?",
				 (int)(len < 60 ? len : 60), s->line + begin, near);
	return scan_fail(s, begin, "no such level '%.*s'; levels are emerg (0) to debug (14)",
			 (int)(len < 60 ? len : 60), s->line + begin);
}

/* OP LEVEL. Smaller numbers are more severe. */
static int parse_compared(struct scan *s, struct rule *r, struct md_buf *spec)
{
	size_t begin = s->at, len = strspn(s->line + s->at, "<>=!");
	char op[4] = "";
	int level;

	if (len < sizeof(op))
		memcpy(op, s->line + begin, len);
	s->at += len;
	if (!strcmp(op, "!="))
		return scan_fail(s, begin, "'!=' is not a range of levels; write two rules, with "
				 "'<' and '>'");
	if (strcmp(op, "<") && strcmp(op, "<=") && strcmp(op, ">") && strcmp(op, ">=") &&
	    strcmp(op, "==") && strcmp(op, "="))
		return scan_fail(s, begin, "no such comparison; use < <= == >= >");
	level = parse_level(s);
	if (level < 0)
		return level;
	r->level_min = op[0] == '<' ? 0 : level + !strcmp(op, ">");
	r->level_max = op[0] == '>' ? LEVEL_COUNT - 1 : level - !strcmp(op, "<");
	if (r->level_min > r->level_max)
		return scan_fail(s, begin, "no level matches");
	md_buf_printf(spec, "%s %s", op[0] == '=' ? "==" : op, level_name(level));
	return 0;
}

/* LEVEL, LEVEL.. (that severe or more, as in LTTng), A..B in either order, or .. (any). */
static int parse_range(struct scan *s, struct rule *r, struct md_buf *spec)
{
	int from = LEVEL_COUNT - 1, to;

	if (strncmp(s->line + s->at, "..", 2)) {
		from = parse_level(s);
		if (from < 0)
			return from;
		md_buf_puts(spec, level_name(from));
		r->level_min = r->level_max = from;
		scan_blanks(s);
		if (strncmp(s->line + s->at, "..", 2))
			return 0;
	}
	s->at += 2;
	md_buf_puts(spec, "..");
	r->level_min = 0;
	r->level_max = from;
	scan_blanks(s);
	if (scan_done(s) ||
	    (!strncmp(s->line + s->at, "if", 2) && !is_level_char(s->line[s->at + 2])))
		return 0;
	if (spec->len == 2)
		return scan_fail(s, s->at,
				 "'..LEVEL' is ambiguous; write '<= LEVEL' or '>= LEVEL'");
	to = parse_level(s);
	if (to < 0)
		return to;
	md_buf_puts(spec, level_name(to));
	r->level_min = from < to ? from : to;
	r->level_max = from < to ? to : from;
	return 0;
}

int rule_parse_loglevel(struct scan *s, struct rule *r, struct md_buf *spec)
{
	int ret;

	scan_blanks(s);
	ret = strchr("<>=!", s->line[s->at]) && !scan_at_end(s) ? parse_compared(s, r, spec)
								: parse_range(s, r, spec);
	if (ret)
		return ret;
	if (!scan_at_end(s) && !strchr(" \t", s->line[s->at]) && !strchr(" \t", s->line[s->at - 1]))
		return scan_fail(s, s->at, "'loglevel' is followed by LEVEL, LEVEL.., A..B or a "
				 "comparison such as '<= warning'");
	return 0;
}
