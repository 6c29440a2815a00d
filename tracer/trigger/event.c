// SPDX-License-Identifier: GPL-2.0-or-later
/* The hidden sessions of triggers. */
#include "tracer/trigger/event.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/app/agent/agent_rule.h"
#include "tracer/app/agent/server.h"
#include "tracer/session/hidden.h"

#define PREFIX ".trigger-"
#define SUBBUF_SIZE 16384u
#define SUBBUF_COUNT 4u
/*
 * The kernel records into buffers of this size as well, until the daemon copies the events: they
 * are larger, so that they last from one look to the next.
 */
#define KERNEL_SUBBUF_SIZE 262144u

/* The mistake is in this part of the condition's line, and err has columns of the part. */
static int place_error(const struct condition *c, const char *part, int ret, struct tr_err *err)
{
	if (ret && err && err->text[0] && part) {
		snprintf(err->text, sizeof(err->text), "%s", c->text);
		if (err->column >= 0)
			err->column += (int)(part - c->text);
	}
	if (ret && err)
		err->line = 1;
	return ret;
}

/* Whether the first bytes of the condition's rule are a rule of their own. */
static bool begins_with_rule(const struct condition *c, size_t len)
{
	char *text = strndup(c->rule, len);
	struct rule r;
	bool is_rule = text && !c->agent && !rule_parse(text, 0, c->domain, &r, NULL);

	if (is_rule)
		rule_deinit(&r);
	free(text);
	return is_rule;
}

/*
 * Rules do not know the word that follows them in a condition: if what precedes the mistake is a
 * whole rule, that word may be misspelt. err has columns of the rule.
 */
static void suggest_capture(const struct condition *c, struct tr_err *err)
{
	static const char word[] = "capture";
	size_t column = err->column > 0 ? (size_t)err->column : 0, len;

	if (!column || column >= strlen(c->rule))
		return;
	len = strcspn(c->rule + column, " \t");
	if (nearest_in(c->rule + column, len, word, sizeof(word)) && begins_with_rule(c, column))
		snprintf(err->sentence, sizeof(err->sentence),
			 "no such keyword '%.*s'; did you mean '%s'?", (int)len, c->rule + column,
			 word);
}

static int explain_rule(const struct condition *c, int ret, struct tr_err *err)
{
	if (ret == -EINVAL && err)
		suggest_capture(c, err);
	return place_error(c, strstr(c->text, c->rule), ret, err);
}

/* Where capture i begins in the line: after the rule and the word `capture`, in order. */
static const char *find_capture_text(const struct condition *c, size_t i)
{
	const char *at = strstr(c->text, c->rule);

	at = at ? strstr(at + strlen(c->rule), "capture") : NULL;
	at = at ? at + strlen("capture") : NULL;
	for (size_t n = 0; at && n <= i; n++) {
		if (n)
			at += strlen(c->captures[n - 1]);
		at = strstr(at, c->captures[n]);
	}
	return at;
}

static int explain_context(const struct condition *c, size_t capture, int ret, struct tr_err *err)
{
	const char *name = find_capture_text(c, capture);

	if (name && !strncmp(name, "$ctx.", 5))
		name += 5;
	return place_error(c, name, ret, err);
}

/* The rule of the condition as one of its channel. */
static int write_rule(const struct condition *c, struct md_buf *out, struct tr_err *err)
{
	bool plain;
	int ret = 0;

	if (c->agent)
		ret = explain_rule(c, agent_rule_write(c->agent, c->rule, 0, out, &plain, err),
				   err);
	else
		md_buf_puts(out, c->rule);
	return !ret && out->failed ? tr_fail(err, -ENOMEM, "out of memory") : ret;
}

/* A mistake that was found in the rule as write_rule() wrote it. */
static int explain_written_rule(const struct condition *c, int ret, struct tr_err *err)
{
	if (!c->agent || !err)
		return explain_rule(c, ret, err);
	/* The user wrote it in other words: there is no column. */
	snprintf(err->text, sizeof(err->text), "%s", c->text);
	err->column = -1;
	err->line = 1;
	return ret;
}

int event_open(struct tracer *t, const struct owner *owner, const struct condition *c, bool enabled,
	       struct session **out, struct tr_err *err)
{
	const char **contexts = calloc(c->capture_count + 1, sizeof(*contexts));
	size_t *captures = calloc(c->capture_count + 1, sizeof(*captures));
	struct md_buf rule = MD_BUF_INIT;
	struct hidden_channel channel = {
		.domain = c->domain, .name = c->agent ? c->agent->channel : NULL,
		.contexts = contexts, .loss = TRAIL_MODE_OVERWRITE, .subbuf_count = SUBBUF_COUNT,
		.subbuf_size = c->domain == DOMAIN_KERNEL ? KERNEL_SUBBUF_SIZE : SUBBUF_SIZE,
	};
	struct hidden_spec spec = {
		.prefix = PREFIX, .owner = *owner, .wakes = true, .active = enabled,
		.channels = &channel, .channel_count = 1,
	};
	struct hidden_mistake what;
	int ret = c->domain == DOMAIN_KERNEL ? kernel_refuses(t, owner, err) : 0;

	*out = NULL;
	if (!ret)
		ret = write_rule(c, &rule, err);
	channel.rules = md_buf_str(&rule);
	if (!ret && (!contexts || !captures))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < c->capture_count && !ret; i++)
		if (c->captures[i][0] == '$') {
			captures[channel.context_count] = i;
			contexts[channel.context_count++] =
				c->captures[i] + (strncmp(c->captures[i], "$ctx.", 5) ? 0 : 5);
		}
	if (!ret) {
		ret = hidden_open(t, &spec, out, &what, err);
		if (ret && what.part == HIDDEN_RULE)
			explain_written_rule(c, ret, err);
		else if (ret && what.part == HIDDEN_CONTEXT)
			explain_context(c, captures[what.context], ret, err);
	}
	if (!ret && c->agent)
		agents_settle(*out);
	free(contexts);
	free(captures);
	md_buf_deinit(&rule);
	return ret;
}
