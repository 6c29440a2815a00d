// SPDX-License-Identifier: GPL-2.0-or-later
/* The rules of a domain of agents: those of its channel, in another form (agent_rule.h). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tracer/app/agent/agent_rule.h"
#include "tracer/app/agent/server.h"

int agent_events_show(struct session *s, enum agent_domain domain, struct md_buf *out)
{
	const struct agent_kind *k = &agent_kinds[domain];
	struct agent_rule rule;
	struct channel *c;

	pthread_mutex_lock(&s->tracer->lock);
	c = channel_find(s, DOMAIN_USER, k->channel);
	for (size_t i = 0; c && i < c->rules.count; i++) {
		if (!agent_rule_read(k, &c->rules.rules[i], &rule))
			continue;
		md_buf_puts(out, c->rules.rules[i].disabled ? "~" : "");
		agent_rule_print(k, &rule, out);
		md_buf_putc(out, '\n');
	}
	pthread_mutex_unlock(&s->tracer->lock);
	return 0;
}

/* A write of rules: the lines of the user, as lines for the channel. */
struct translation {
	struct session *s;
	const struct agent_kind *kind;
	bool replace;
	struct md_buf lines;
	struct md_buf from;     /* const char * for each of the lines: the user's line */
};

static void begin_line(struct translation *t, const char *line)
{
	md_buf_put(&t->from, &line, sizeof(line));
}

/* !LOGGER: removes each rule on exactly that pattern. */
static int remove_logger(struct translation *t, const char *line, const char *logger,
			 struct tr_err *err)
{
	size_t before = t->lines.len;
	struct agent_rule rule;
	struct channel *c;

	pthread_mutex_lock(&t->s->tracer->lock);
	c = t->replace ? NULL : channel_find(t->s, DOMAIN_USER, t->kind->channel);
	for (size_t i = 0; c && i < c->rules.count; i++) {
		const struct rule *r = &c->rules.rules[i];

		if (!agent_rule_read(t->kind, r, &rule) || strcmp(rule.logger, logger) != 0)
			continue;
		begin_line(t, line);
		md_buf_printf(&t->lines, "!%s\n", r->text);
	}
	pthread_mutex_unlock(&t->s->tracer->lock);
	return t->lines.len > before || t->lines.failed
		       ? 0
		       : tr_fail_at(err, -ENOENT, line, -1, "no rule has this logger");
}

static int translate_line(struct translation *t, const char *line, struct tr_err *err)
{
	struct agent_rule own;
	bool remove, disable;
	struct rule rule;
	size_t at;
	int ret;

	if (strcspn(line, "\n") > RULE_LINE_MAX)
		return tr_fail_at(err, -EINVAL, line, -1, "a line has at most %u bytes",
				  RULE_LINE_MAX);
	at = strspn(line, " \t\r");
	if (line[0] == '#' || !line[at] || line[at] == '\n')
		return 0;
	remove = line[at] == '!';
	at += remove;
	disable = line[at] == '~';
	at += disable;
	ret = agent_rule_parse(SCAN(line, at, err), t->kind, NULL, &rule);
	if (ret)
		return ret;
	if (remove && agent_rule_read(t->kind, &rule, &own) && !own.op && !own.rest) {
		ret = remove_logger(t, line, own.logger, err);
	} else {
		begin_line(t, line);
		md_buf_printf(&t->lines, "%s%s%s\n", remove ? "!" : "", disable ? "~" : "",
			      rule.text);
	}
	rule_deinit(&rule);
	return ret;
}

static int line_number(const char *text, const char *line)
{
	int n = 1;

	for (; text < line; text++)
		n += *text == '\n';
	return n;
}

static int translate(struct translation *t, const char *text, struct tr_err *err)
{
	const char *line = text;
	int ret = 0;

	while (*line && !ret) {
		ret = translate_line(t, line, err);
		if (ret && err)
			err->line = line_number(text, line);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	if (!ret && (t->lines.failed || t->from.failed))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	return ret;
}

/* An error in a translated line is shown in the user's line. */
static void show_in_own_line(const struct translation *t, const char *text, struct tr_err *err)
{
	const char *const *from = (const char *const *)(const void *)t->from.data;

	if (!err || err->line < 1 || (size_t)err->line > t->from.len / sizeof(*from))
		return;
	snprintf(err->text, sizeof(err->text), "%.*s",
		 (int)strcspn(from[err->line - 1], "\n"), from[err->line - 1]);
	err->column = -1;
	err->line = line_number(text, from[err->line - 1]);
}

/* A channel of these rules or contexts, if the domain has none and `text` says something. */
static int make_channel(struct session *s, const char *channel, const char *text, bool *made,
			struct tr_err *err)
{
	int ret = 0;

	if (*text && !channel_exists(s, DOMAIN_USER, channel)) {
		ret = channel_create(s, DOMAIN_USER, channel, err);
		*made = !ret;
	}
	return ret == -EEXIST ? 0 : ret;
}

int agent_contexts_store(struct session *s, enum agent_domain domain, const char *text,
			 bool replace, struct tr_err *err)
{
	const char *channel = agent_kinds[domain].channel;
	bool made = false;
	int ret = make_channel(s, channel, text + strspn(text, " \t\r\n"), &made, err);

	if (!ret && channel_exists(s, DOMAIN_USER, channel))
		ret = contexts_store(s, DOMAIN_USER, channel, text, replace, err);
	if (ret && made)
		channel_destroy(s, DOMAIN_USER, channel, NULL);
	return ret;
}

int agent_events_store(struct session *s, enum agent_domain domain, const char *text, bool replace,
		       struct tr_err *err)
{
	struct translation t = { .s = s, .kind = &agent_kinds[domain], .replace = replace };
	const char *channel = t.kind->channel;
	bool made = false;
	int ret = translate(&t, text, err);

	if (!ret)
		ret = make_channel(s, channel, md_buf_str(&t.lines), &made, err);
	if (!ret && channel_exists(s, DOMAIN_USER, channel)) {
		ret = events_store(s, DOMAIN_USER, channel, md_buf_str(&t.lines), replace, err);
		if (ret)
			show_in_own_line(&t, text, err);
	}
	if (ret && made)
		channel_destroy(s, DOMAIN_USER, channel, NULL);
	md_buf_deinit(&t.lines);
	md_buf_deinit(&t.from);
	if (!ret)
		agents_settle(s);
	return ret;
}
