// SPDX-License-Identifier: GPL-2.0-or-later
/* The hidden sessions of triggers. */
#include "tracer/trigger/event.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The mistake is in the part of the condition's line that begins at `column`, as err's column. */
static int place_error(const struct condition *c, int column, int ret, struct tr_err *err)
{
	if (!err)
		return ret;
	if (err->text[0]) {
		snprintf(err->text, sizeof(err->text), "%s", c->text);
		if (err->column >= 0)
			err->column += column;
	}
	err->line = 1;
	return ret;
}

static int explain_rule(const struct condition *c, int ret, struct tr_err *err)
{
	/* The user wrote it in other words than the channel has. */
	if (c->agent && err && !strncmp(err->text, c->agent->event, strlen(c->agent->event)))
		err->column = -1;
	return place_error(c, c->rule_column, ret, err);
}

/* The name of a captured context, as a channel takes it; NULL: the capture is a field. */
static const char *context_of(const struct condition_capture *capture)
{
	return capture->text[0] != '$'              ? NULL
	       : !strncmp(capture->text, "$ctx.", 5) ? capture->text + 5
						     : capture->text;
}

static int explain_context(const struct condition *c, size_t capture, int ret, struct tr_err *err)
{
	const struct condition_capture *what = &c->captures[capture];

	return place_error(c, what->column + (int)(context_of(what) - what->text), ret, err);
}

int event_open(struct tracer *t, const struct owner *owner, const struct condition *c, bool enabled,
	       struct session **out, struct tr_err *err)
{
	const char **contexts = calloc(c->capture_count + 1, sizeof(*contexts));
	size_t *captures = calloc(c->capture_count + 1, sizeof(*captures));
	struct hidden_channel channel = {
		.domain = c->domain, .name = c->agent ? c->agent->channel : NULL, .rule = &c->rule,
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
	if (!ret && (!contexts || !captures))
		ret = tr_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < c->capture_count && !ret; i++)
		if (context_of(&c->captures[i])) {
			captures[channel.context_count] = i;
			contexts[channel.context_count++] = context_of(&c->captures[i]);
		}
	if (!ret) {
		ret = hidden_open(t, &spec, out, &what, err);
		if (ret && what.part == HIDDEN_RULE)
			explain_rule(c, ret, err);
		else if (ret && what.part == HIDDEN_CONTEXT)
			explain_context(c, captures[what.context], ret, err);
	}
	if (!ret && c->agent)
		agents_settle(*out);
	free(contexts);
	free(captures);
	return ret;
}
