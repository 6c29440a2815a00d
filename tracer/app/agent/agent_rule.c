// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/app/agent/agent_rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tracer/base/lexer.h"

#define LOGGER_IS "logger_name == \""
#define LEVEL_IS "int_loglevel "

/* ---- from the user's line ---- */

static int parse_logger(struct scan *s, struct word *w, struct md_buf *out)
{
	const char *name;
	int ret = scan_word(s, false, w);

	if (ret)
		return ret;
	name = word_text(w);
	if (!w->quoted && (word_is(w, "if") || word_is(w, "loglevel")))
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, 0),
				  "a logger's name is missing before '%s'", name);
	if (!*name)
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, 0),
				  "the name is empty; '*' matches any logger");
	if (strlen(name) > LOGGER_MAX)
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, 0),
				  "a logger's name has at most %u bytes", LOGGER_MAX);
	for (const char *p = name; *p; p++) {
		if ((*p == '\\' && p[1] != '*') || *p == '"' || (unsigned char)*p < 0x20 ||
		    *p == 0x7f)
			return tr_fail_at(s->err, -EINVAL, s->line,
					  word_column(w, (size_t)(p - name)),
					  "a rule cannot match a logger whose name has quotes, "
					  "backslashes or control characters");
	}
	if (strcmp(name, "*") != 0)
		md_buf_printf(out, LOGGER_IS "%s\"", name);
	return 0;
}

static int fail_level(const struct agent_kind *k, struct scan *s, size_t at, size_t size)
{
	struct md_buf names = MD_BUF_INIT;
	int ret;

	for (const struct agent_level *l = k->levels; l->name; l++)
		md_buf_printf(&names, "%s%s (%d)", l == k->levels ? "" : ", ", l->name, l->number);
	if (size)
		ret = tr_fail_at(s->err, -EINVAL, s->line, (int)at,
				 "no such level '%.*s'; levels are %s",
				 (int)(size < 40 ? size : 40), s->line + at, md_buf_str(&names));
	else
		ret = tr_fail_at(s->err, -EINVAL, s->line, (int)at,
				 "a level is missing here; levels are %s", md_buf_str(&names));
	md_buf_deinit(&names);
	return ret;
}

/* A level's name in any case, or its number. */
static int parse_level(const struct agent_kind *k, struct scan *s, long *out)
{
	const char *p;
	size_t size;
	char *end;

	scan_blanks(s);
	p = s->line + s->at;
	size = strcspn(p, " \t\n.<>=!");
	for (const struct agent_level *l = k->levels; l->name; l++) {
		if (strlen(l->name) == size && !strncasecmp(l->name, p, size)) {
			*out = l->number;
			s->at += size;
			return 0;
		}
	}
	errno = 0;
	*out = strtol(p, &end, 10);
	if (!size || end != p + size || errno || *out < INT32_MIN || *out > INT32_MAX)
		return fail_level(k, s, s->at, size);
	s->at += size;
	return 0;
}

static int parse_loglevel(const struct agent_kind *k, struct scan *s, struct md_buf *out)
{
	size_t begin, op;
	long from, to;
	int ret;

	scan_blanks(s);
	begin = s->at;
	op = strspn(s->line + begin, "<>=");
	if (op > 2 || (op == 2 && s->line[begin + 1] != '=') || s->line[begin] == '!')
		return tr_fail_at(s->err, -EINVAL, s->line, (int)begin,
				  "no such comparison; use < <= == >= >");
	s->at += op;
	ret = parse_level(k, s, &from);
	if (ret)
		return ret;
	if (op || strncmp(s->line + s->at, "..", 2) != 0) {
		md_buf_printf(out, LEVEL_IS "%.*s %ld", s->line[begin] == '=' || !op ? 2 : (int)op,
			      s->line[begin] == '=' || !op ? "==" : s->line + begin, from);
		return 0;
	}
	s->at += 2;
	if (scan_at_end(s) || strchr(" \t", s->line[s->at])) {
		md_buf_printf(out, LEVEL_IS "%s %ld", k->severe_is_low ? "<=" : ">=", from);
		return 0;
	}
	ret = parse_level(k, s, &to);
	if (!ret)
		md_buf_printf(out, LEVEL_IS ">= %ld && " LEVEL_IS "<= %ld", from < to ? from : to,
			      from < to ? to : from);
	return ret;
}

static int parse_filter(struct scan *s, bool alone, struct md_buf *out)
{
	struct filter *f;
	int ret = filter_parse(s->line, s->at, DOMAIN_USER, &f, s->err);

	if (ret)
		return ret;
	md_buf_puts(out, alone ? "" : "(");
	filter_print(f, out);
	md_buf_puts(out, alone ? "" : ")");
	filter_put(f);
	return 0;
}

/* The clauses after the logger's name, as conditions joined by &&. */
static int parse_clauses(const struct agent_kind *k, struct scan *s, struct word *w,
			 struct md_buf *out)
{
	bool level = false;

	for (;;) {
		int ret;

		scan_blanks(s);
		if (scan_at_end(s))
			return 0;
		ret = scan_word(s, false, w);
		if (ret)
			return ret;
		if (!(word_is(w, "loglevel") && !level) && !word_is(w, "if"))
			return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, 0),
					  "'%.60s' is not expected here; a logger's name is "
					  "followed by 'loglevel' and 'if'",
					  word_text(w));
		md_buf_puts(out, out->len ? " && " : "");
		if (word_is(w, "if"))
			return parse_filter(s, !out->len, out);
		level = true;
		ret = parse_loglevel(k, s, out);
		if (ret)
			return ret;
	}
}

int agent_rule_write(const struct agent_kind *k, const char *line, size_t at, struct md_buf *out,
		     bool *plain, struct tr_err *err)
{
	struct scan s = { line, at, err };
	struct md_buf conditions = MD_BUF_INIT;
	struct word w = { 0 };
	int ret = parse_logger(&s, &w, &conditions);

	scan_blanks(&s);
	*plain = scan_at_end(&s);
	if (!ret)
		ret = parse_clauses(k, &s, &w, &conditions);
	if (!ret) {
		md_buf_puts(out, k->event);
		md_buf_puts(out, conditions.len ? " if " : "");
		md_buf_put(out, conditions.data, conditions.len);
		out->failed |= conditions.failed;
	}
	md_buf_deinit(&conditions);
	word_deinit(&w);
	return ret;
}

/* ---- from a rule of the channel ---- */

/* Whether p is the end, or another condition follows; then *p is after the &&. */
static bool read_joint(const char **p)
{
	if (!**p)
		return true;
	if (strncmp(*p, " && ", 4) != 0)
		return false;
	*p += 4;
	return true;
}

static bool read_logger(const char **p, struct agent_rule *out)
{
	const char *at = *p;
	size_t n = 0;

	if (strncmp(at, LOGGER_IS, sizeof(LOGGER_IS) - 1) != 0)
		return false;
	for (at += sizeof(LOGGER_IS) - 1; *at && *at != '"' && n < LOGGER_MAX; at++) {
		if (*at == '\\' && at[1] != '*')
			return false;
		out->logger[n++] = *at;
	}
	out->logger[n] = 0;
	if (!n || *at++ != '"' || !read_joint(&at))
		return false;
	*p = at;
	return true;
}

static bool read_comparison(const char **p, char *op, long *level)
{
	const char *at = *p;
	size_t n;
	char *end;

	if (strncmp(at, LEVEL_IS, sizeof(LEVEL_IS) - 1) != 0)
		return false;
	at += sizeof(LEVEL_IS) - 1;
	n = strcspn(at, " ");
	if (n > 2 || strspn(at, "<>=") != n)
		return false;
	memcpy(op, at, n);
	op[n] = 0;
	*level = strtol(at + n, &end, 10);
	if (end == at + n || !read_joint((const char **)&end))
		return false;
	*p = end;
	return true;
}

static bool read_level(const char **p, struct agent_rule *out)
{
	const char *end;
	char op[3];

	if (!read_comparison(p, out->op, &out->level)) {
		out->op[0] = 0;
		return false;
	}
	end = *p;
	if (!strcmp(out->op, ">=") && read_comparison(&end, op, &out->level_end) &&
	    !strcmp(op, "<=") && out->level <= out->level_end) {
		strcpy(out->op, "..");
		*p = end;
	}
	return true;
}

/* Whether p begins with a parenthesis whose other half is the text's last byte. */
static bool is_enclosed(const char *p)
{
	bool quoted = false;
	int depth = 0;

	for (; *p; p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '"')
			quoted = !quoted;
		else if (!quoted)
			depth += (*p == '(') - (*p == ')');
		if (!depth)
			return *p == ')' && !p[1];
	}
	return false;
}

bool agent_rule_read(const struct agent_kind *k, const struct rule *r, struct agent_rule *out)
{
	const char *all = r->text + strlen(k->event), *p;
	bool any;

	*out = (struct agent_rule){ .logger = "*" };
	if (strcmp(r->pattern, k->event) != 0 || r->except_count || r->level_min ||
	    r->level_max != LEVEL_COUNT - 1 || (*all && strncmp(all, " if ", 4) != 0))
		return false;
	all += *all ? 4 : 0;
	p = all;
	any = read_logger(&p, out);
	any |= read_level(&p, out);
	if (!*p)
		return true;
	if (any && is_enclosed(p)) {
		out->filter = p + 1;
		out->filter_size = strlen(p) - 2;
		return true;
	}
	/* A filter that was not written here: it is one as a whole. */
	*out = (struct agent_rule){ .logger = "*", .filter = all, .filter_size = strlen(all) };
	return true;
}

static void print_level(const struct agent_kind *k, long level, struct md_buf *out)
{
	for (const struct agent_level *l = k->levels; l->name; l++) {
		if (l->number == level) {
			md_buf_puts(out, l->name);
			return;
		}
	}
	md_buf_printf(out, "%ld", level);
}

void agent_rule_print(const struct agent_kind *k, const struct agent_rule *r, struct md_buf *out)
{
	word_print(r->logger, out);
	if (r->op[0]) {
		bool range = !strcmp(r->op, ".."), equal = !strcmp(r->op, "==");

		md_buf_printf(out, " loglevel %s%s", range || equal ? "" : r->op,
			      range || equal ? "" : " ");
		print_level(k, r->level, out);
		if (range) {
			md_buf_puts(out, "..");
			print_level(k, r->level_end, out);
		}
	}
	if (r->filter)
		md_buf_printf(out, " if %.*s", (int)r->filter_size, r->filter);
}
