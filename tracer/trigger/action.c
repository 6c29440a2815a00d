// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/trigger/action.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/base/words.h"

#define NAME_MAX_BYTES 200      /* of a session, of a snapshot */

static const char *const verbs[ACTION_KINDS] = {
#define ACTION(kind, word, run) word,
#include "tracer/trigger/actions.def"
};
static const char *const options[] = { "last", "after", "max-size", "output", "every",
				       "once-after" };
enum { OPTIONS = 6, OPTION_EVERY = 4, OPTION_ONCE_AFTER = 5 };

void action_deinit(struct action *a)
{
	free(a->text);
	a->text = NULL;
	snapshot_request_deinit(&a->snapshot);
}

static int parse_number(struct scan *s, struct word *w, const char *missing, uint64_t *out)
{
	struct tr_err err = TR_ERR_INIT;
	int ret = next_word(s, w, missing);

	if (ret)
		return ret;
	ret = units_count(word_text(w), out, &err);
	if (ret)
		return tr_fail_at(s->err, ret, s->line, word_column(w, 0), "%s", err.sentence);
	return *out ? 0 : scan_fail(s, word_column(w, 0), "must be at least 1");
}

/* A word that is no option of this action. */
static int unexpected(struct scan *s, struct word *w, bool snapshot)
{
	const char *text = word_text(w);
	const char *near = snapshot ? nearest(text, strlen(text), options, OPTIONS)
				    : nearest(text, strlen(text), options + OPTION_EVERY,
					      OPTIONS - OPTION_EVERY);

	if (near && strcmp(near, text) != 0)
		return scan_fail(s, word_column(w, 0),
				 "'%.60s' is not expected here; did you mean '%s'?", text, near);
	return scan_fail(s, word_column(w, 0), "'%.60s' is not expected here", text);
}

/* `every N` or `once-after N`. 1: w is another word. */
static int parse_rate(struct scan *s, struct word *w, struct action *a, bool *seen)
{
	bool once = word_is(w, options[OPTION_ONCE_AFTER]);

	if (!once && !word_is(w, options[OPTION_EVERY]))
		return 1;
	if (*seen)
		return scan_fail(s, word_column(w, 0),
				 "an action has one rate: every or once-after");
	*seen = true;
	a->once = once;
	return parse_number(s, w, "a number of hits is missing here", &a->rate);
}

/* The part of a path before the next slash, or its end. False: it is empty or too long. */
static bool take_part(const char **at, char *out, size_t size)
{
	size_t len = strcspn(*at, "/");

	if (!len || len >= size)
		return false;
	memcpy(out, *at, len);
	out[len] = 0;
	*at += len + ((*at)[len] == '/');
	return true;
}

/* S/DOMAIN/MAP KEY */
static int parse_increment(struct scan *s, struct word *w, struct action *a)
{
	char domain[sizeof("kernel")];
	int ret = next_word(s, w, "SESSION/DOMAIN/MAP is missing here");
	const char *at;

	if (ret)
		return ret;
	at = word_text(w);
	if (!take_part(&at, a->session, sizeof(a->session)) ||
	    !take_part(&at, domain, sizeof(domain)) || !take_part(&at, a->map, sizeof(a->map)) ||
	    *at || (strcmp(domain, "user") != 0 && strcmp(domain, "kernel") != 0))
		return scan_fail(s, word_column(w, 0),
				 "a map is SESSION/user/MAP or SESSION/kernel/MAP");
	a->domain = strcmp(domain, "user") ? DOMAIN_KERNEL : DOMAIN_USER;
	ret = next_word(s, w, "the key is missing here: any text");
	if (ret)
		return ret;
	if (strlen(word_text(w)) >= sizeof(a->key))
		return scan_fail(s, word_column(w, 0), "a key has at most %zu bytes",
				 sizeof(a->key) - 1);
	strcpy(a->key, word_text(w));
	return 0;
}

/* [NAME], then options. */
static int parse_rest(struct scan *s, struct word *w, struct action *a)
{
	bool first = true, rated = false, snapshot = a->kind == ACTION_SNAPSHOT;
	int ret = 0;

	for (scan_blanks(s); !ret && !scan_at_end(s); scan_blanks(s), first = false) {
		ret = scan_word(s, false, w);
		ret = ret ? ret : parse_rate(s, w, a, &rated);
		if (ret == 1 && snapshot)
			ret = snapshot_request_option(s, w, &a->snapshot);
		if (ret == 1)
			ret = first && snapshot ? snapshot_request_name(s, w, &a->snapshot)
						: unexpected(s, w, snapshot);
	}
	return ret;
}

int action_parse(const char *line, struct action *out, struct tr_err *err)
{
	struct scan s = { .line = line, .err = err };
	struct word w = { 0 };
	size_t verb = 0, len = strcspn(line, "\n");
	int ret;

	*out = (struct action){ .rate = 1 };
	ret = next_choice(&s, &w, "action", verbs, sizeof(verbs) / sizeof(*verbs), &verb);
	out->kind = (enum action_kind)verb;
	if (!ret && out->kind == ACTION_INCREMENT)
		ret = parse_increment(&s, &w, out);
	else if (!ret && out->kind != ACTION_NOTIFY)
		ret = next_name(&s, &w, "session", NAME_MAX_BYTES, out->session);
	if (!ret)
		ret = parse_rest(&s, &w, out);
	word_deinit(&w);
	while (len && strchr(" \t\r", line[len - 1]))
		len--;
	s.at = strspn(line, " \t");
	if (!ret && !(out->text = strndup(line + s.at, len - s.at)))
		ret = -ENOMEM;
	return ret;
}

void actions_free(struct action *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		action_deinit(&list[i]);
	free(list);
}

static int add_action(const char *line, uint64_t hits, struct action **list, size_t *count,
		      struct tr_err *err)
{
	int ret;

	if (*count == ACTIONS_MAX)
		return tr_fail_at(err, -ENOSPC, line, -1, "a trigger has at most %u actions",
				  ACTIONS_MAX);
	if (!array_room(*list, *count + 1))
		return tr_fail(err, -ENOMEM, "out of memory");
	line += strspn(line, " \t\r");
	ret = action_parse(line + (*line == '!'), &(*list)[*count], err);
	if (ret) {
		action_deinit(&(*list)[*count]);
		return ret;
	}
	(*list)[*count].removes = *line == '!';
	(*list)[*count].base = hits;
	++*count;
	return 0;
}

int actions_parse(const char *text, uint64_t hits, struct action **out, size_t *count,
		  struct tr_err *err)
{
	struct action *list = NULL;
	int line = 0, ret = 0;
	size_t n = 0;

	while (*text && !ret) {
		size_t len = strcspn(text, "\n");

		line++;
		if (strspn(text, " \t\r") < len)
			ret = add_action(text, hits, &list, &n, err);
		text += len + (text[len] == '\n');
	}
	if (ret) {
		actions_free(list, n);
		if (err)
			err->line = line;
		return ret;
	}
	*out = list;
	*count = n;
	return 0;
}

/* The first hit not before `hit` that executes it; UINT64_MAX: none. */
static uint64_t next_due(const struct action *a, uint64_t hit)
{
	uint64_t n = hit > a->base ? hit - a->base : 1, due;

	if (a->once)
		return n <= a->rate ? a->base + a->rate : UINT64_MAX;
	due = (n + a->rate - 1) / a->rate;
	return due > (UINT64_MAX - a->base) / a->rate ? UINT64_MAX : a->base + due * a->rate;
}

bool action_due(const struct action *a, uint64_t hit)
{
	return next_due(a, hit) == hit;
}

uint64_t action_count_due(const struct action *a, uint64_t last)
{
	uint64_t n = last > a->base ? (last - a->base) / a->rate : 0;

	return a->once && n ? 1 : n;
}
