// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/trigger/condition.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/app/agent/agent_rule.h"
#include "tracer/base/array.h"
#include "tracer/base/words.h"

#define SESSION_NAME_MAX 200
#define CHANNEL_NAME_MAX 128
#define CAPTURES_MAX 16u

void condition_deinit(struct condition *c)
{
	free(c->text);
	rule_deinit(&c->rule);
	for (size_t i = 0; i < c->capture_count; i++)
		free(c->captures[i].text);
	free(c->captures);
	*c = (struct condition){ 0 };
}

/* A part of a path SESSION/DOMAIN/CHANNEL: `len` bytes from `from`. */
static int take_name(struct scan *s, const struct word *w, const char *from, size_t len, size_t max,
		     const char *what, const char *begin, char *out)
{
	struct tr_err err = TR_ERR_INIT;
	int column = word_column(w, (size_t)(from - begin)), ret;

	if (!len)
		return scan_fail(s, column, "the name of the %s is missing", what);
	if (len > max)
		return tr_fail_at(s->err, -ENAMETOOLONG, s->line, column,
				  "the name of a %s has at most %zu bytes", what, max);
	memcpy(out, from, len);
	out[len] = 0;
	ret = name_check(out, max, &err);
	return ret ? tr_fail_at(s->err, ret, s->line, column, "%s", err.sentence) : 0;
}

/* SESSION/DOMAIN/CHANNEL; short_one: or SESSION. */
static int parse_place(struct scan *s, struct word *w, bool short_one, struct condition *c)
{
	const char *text, *slash, *domain, *channel;
	int ret = next_word(s, w, short_one ? "the name of a session is missing here"
					    : "SESSION/DOMAIN/CHANNEL is missing here");

	if (ret)
		return ret;
	text = word_text(w);
	slash = strchrnul(text, '/');
	c->session_column = word_column(w, 0);
	ret = take_name(s, w, text, (size_t)(slash - text), SESSION_NAME_MAX, "session", text,
			c->session);
	if (ret || (!*slash && short_one))
		return ret;
	domain = *slash ? slash + 1 : slash;
	channel = strchr(domain, '/');
	if (!channel)
		return scan_fail(s, word_column(w, (size_t)(slash - text)), "a channel is "
				 "SESSION/DOMAIN/CHANNEL, for instance %.60s/user/channel0",
				 c->session);
	if (!strncmp(domain, "user/", 5))
		c->domain = DOMAIN_USER;
	else if (!strncmp(domain, "kernel/", 7))
		c->domain = DOMAIN_KERNEL;
	else
		return scan_fail(s, word_column(w, (size_t)(domain - text)),
				 "the domain is user or kernel");
	c->has_channel = true;
	return take_name(s, w, channel + 1, strlen(channel + 1), CHANNEL_NAME_MAX, "channel", text,
			 c->channel);
}

/* 75%, 12.5% → hundredths of a percent */
static int parse_percent(struct scan *s, struct word *w, struct condition *c)
{
	const char *text = word_text(w), *p = text;
	uint64_t v = 0, scale = 100;

	for (; isdigit((unsigned char)*p) && v <= 100; p++)
		v = 10 * v + (uint64_t)(*p - '0');
	v *= 100;
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p); p++)
			v += (scale /= 10) * (uint64_t)(*p - '0');
	if (p == text || strcmp(p, "%") != 0 || v > 10000)
		return scan_fail(s, word_column(w, 0),
				 "a share is from 0%% to 100%%, for instance 75%%");
	c->percent = true;
	c->threshold = v;
	return 0;
}

/* OP NUMBER */
static int parse_threshold(struct scan *s, struct word *w, bool both, bool percent,
			   struct condition *c)
{
	static const char *const signs[] = { ">", "<" };
	struct tr_err err = TR_ERR_INIT;
	size_t sign = 0;
	int ret = next_choice(s, w, "comparison", signs, both ? 2 : 1, &sign);

	if (ret)
		return ret;
	c->below = sign == 1;
	ret = next_word(s, w, percent ? "a size or a share is missing here: 4M, 75%"
				      : "a number is missing here");
	if (ret)
		return ret;
	if (percent && strchr(word_text(w), '%'))
		return parse_percent(s, w, c);
	ret = c->kind == CONDITION_DISCARDED ? units_count(word_text(w), &c->threshold, &err)
					     : units_size(word_text(w), &c->threshold, &err);
	return ret ? tr_fail_at(s->err, ret, s->line, word_column(w, 0), "%s", err.sentence) : 0;
}

static int parse_buffer(struct scan *s, struct word *w, struct condition *c)
{
	int ret = parse_place(s, w, false, c);

	c->kind = CONDITION_BUFFER;
	return ret ? ret : parse_threshold(s, w, true, true, c);
}

static int parse_session_name(struct scan *s, struct word *w, struct condition *c)
{
	int ret = next_name(s, w, "session", SESSION_NAME_MAX, c->session);

	c->session_column = word_column(w, 0);
	return ret;
}

static int parse_consumed(struct scan *s, struct word *w, struct condition *c)
{
	int ret = parse_session_name(s, w, c);

	c->kind = CONDITION_CONSUMED;
	return ret ? ret : parse_threshold(s, w, false, false, c);
}

static int parse_discarded(struct scan *s, struct word *w, struct condition *c)
{
	int ret = parse_place(s, w, true, c);

	c->kind = CONDITION_DISCARDED;
	return ret ? ret : parse_threshold(s, w, false, false, c);
}

/* A session's name and one of the states; those have the kinds from `first` on. */
static int parse_state(struct scan *s, struct word *w, const char *what, const char *const *states,
		       size_t count, enum condition_kind first, struct condition *c)
{
	size_t state = 0;
	int ret = parse_session_name(s, w, c);

	if (!ret)
		ret = next_choice(s, w, what, states, count, &state);
	c->kind = first + (enum condition_kind)state;
	return ret;
}

static int parse_rotation(struct scan *s, struct word *w, struct condition *c)
{
	static const char *const states[] = { "ongoing", "completed" };

	return parse_state(s, w, "state of a rotation", states, 2, CONDITION_ROTATION_ONGOING, c);
}

static int parse_session(struct scan *s, struct word *w, struct condition *c)
{
	static const char *const states[] = { "started", "stopped", "destroyed" };

	return parse_state(s, w, "state of a session", states, 3, CONDITION_SESSION_STARTED, c);
}

/* ---- events ---- */

/* Whether it is a field, with members and elements, or a context. */
static bool is_expression(const char *text, size_t len)
{
	if (*text == '$')
		return len > 5 && (!strncmp(text, "$ctx.", 5) || !strncmp(text, "$app.", 5));
	return is_field_path(text, len);
}

static int add_capture(struct scan *s, struct word *w, struct condition *c)
{
	struct condition_capture *capture;
	const char *text = word_text(w);

	if (w->quoted || !is_expression(text, strlen(text)))
		return scan_fail(s, w->column, "a capture is a field (a, a.b, a[0]), $ctx.NAME or "
				 "$app.P:NAME");
	if (c->capture_count == CAPTURES_MAX)
		return tr_fail_at(s->err, -ENOSPC, s->line, (int)w->column,
				  "a condition has at most %u captures", CAPTURES_MAX);
	if (!array_room(c->captures, c->capture_count + 1))
		return -ENOMEM;
	capture = &c->captures[c->capture_count];
	*capture = (struct condition_capture){ strdup(text), (int)w->column };
	c->capture_count += capture->text != NULL;
	return capture->text ? 0 : -ENOMEM;
}

/* EXPR, … from s->at to the line's end. */
static int parse_captures(struct scan *s, struct word *w, struct condition *c)
{
	int ret = 0;

	do {
		md_buf_reset(&w->text);
		scan_blanks(s);
		w->column = s->at;
		w->quoted = false;
		if (!scan_at_end(s) && s->line[s->at] != ',')
			ret = scan_word(s, true, w);
		if (!ret)
			ret = add_capture(s, w, c);
	} while (!ret && scan_take_if(s, ","));
	return ret;
}

/* user, kernel, or the name of a domain of agents */
static int parse_domain(struct scan *s, struct word *w, struct condition *c)
{
	const char *names[2 + AGENT_DOMAINS] = { "user", "kernel" };
	size_t domain = 0;
	int ret;

	for (size_t i = 0; i < AGENT_DOMAINS; i++)
		names[2 + i] = agent_kinds[i].name;
	ret = next_choice(s, w, "domain", names, 2 + AGENT_DOMAINS, &domain);
	c->domain = domain == 1 ? DOMAIN_KERNEL : DOMAIN_USER;
	c->agent = domain > 1 ? &agent_kinds[domain - 2] : NULL;
	return ret;
}

static int parse_event(struct scan *s, struct word *w, struct condition *c)
{
	static const char *const stops[] = { "capture", NULL };
	int ret = parse_domain(s, w, c);

	c->kind = CONDITION_EVENT;
	if (ret)
		return ret;
	scan_blanks(s);
	s->stops = stops;
	if (scan_done(s))
		return scan_fail(s, s->at, "a rule is missing here");
	if (strchr("!~#", s->line[s->at]))
		return scan_fail(s, s->at, "a rule begins with a pattern");
	c->rule_column = (int)s->at;
	ret = c->agent ? agent_rule_parse(s, c->agent, stops, &c->rule)
		       : rule_parse(s, c->domain, stops, &c->rule);
	return !ret && scan_take_if(s, stops[0]) ? parse_captures(s, w, c) : ret;
}

static const char *const kinds[] = { "event",     "buffer",   "consumed",
				     "discarded", "rotation", "session" };
static int (*const parsers[])(struct scan *s, struct word *w, struct condition *c) = {
	parse_event, parse_buffer, parse_consumed, parse_discarded, parse_rotation, parse_session,
};

static int parse_line(struct scan *s, struct word *w, struct condition *c)
{
	size_t kind = 0;
	int ret = next_choice(s, w, "condition", kinds, sizeof(kinds) / sizeof(*kinds), &kind);

	if (!ret)
		ret = parsers[kind](s, w, c);
	return ret ? ret : no_more_words(s, w);
}

static const char *skip_blank_lines(const char *text, int *line)
{
	const char *next;

	for (;; text = next + 1, ++*line) {
		next = text + strspn(text, " \t\r");
		if (*next != '\n')
			return next;
	}
}

static int parse_text(struct condition *c, struct tr_err *err)
{
	struct word w = { 0 };
	int ret = c->text ? parse_line(SCAN(c->text, 0, err), &w, c) : -ENOMEM;

	word_deinit(&w);
	return ret;
}

int condition_parse(const char *text, struct condition *out, struct tr_err *err)
{
	int line = 1, ret;
	const char *rest;
	size_t len;

	*out = (struct condition){ 0 };
	text = skip_blank_lines(text, &line);
	if (!*text)
		return 0;
	len = strcspn(text, "\n");
	rest = text + len;
	while (strchr(" \t\r", text[len - 1]))
		len--;
	out->text = strndup(text, len);
	ret = parse_text(out, err);
	if (!ret && *(rest = skip_blank_lines(rest, &line)))
		ret = tr_fail_at(err, -EINVAL, rest, 0, "a trigger has one condition");
	if (ret) {
		condition_deinit(out);
		if (err)
			err->line = line;
	}
	return ret;
}
