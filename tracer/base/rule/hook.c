// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules of hooks, and the choice of their alternatives: see hook.h. */
#include "tracer/base/rule/hook.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/probe/probe.h"
#include "tracer/base/rows.h"
#include "tracer/base/rule/hook_table.h"
#include "tracer/base/rule/kernel_pattern.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.*"

static bool wanted;     /* atomic */

bool hooks_wanted(void)
{
	return __atomic_load_n(&wanted, __ATOMIC_RELAXED);
}

void hooks_want(void)
{
	__atomic_store_n(&wanted, true, __ATOMIC_RELAXED);
}

bool hook_is_rule(const char *pattern)
{
	return *pattern == '@';
}

int hook_check(struct scan *s, struct word *w)
{
	const char *text = word_text(w);
	size_t at = 1 + strspn(text + 1, NAME_CHARACTERS);

	hooks_want();
	if (text[at] || !text[1])
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, at), "%s",
				  text[at] ? "not a character of a hook's name"
					   : "the name of a hook is missing; '*' matches any");
	return 0;
}

/* ---- choosing ---- */

static bool is_present(const struct hook_pattern *p)
{
	return __atomic_load_n(&p->present, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&p->refused, __ATOMIC_RELAXED);
}

static void choose(struct hook *h)
{
	int way = -1;

	for (int bare = 0; bare < 2; bare++)
		for (size_t i = 0; i < h->count && way < 0; i++)
			if (is_present(&h->patterns[i]) && h->patterns[i].bare == bare)
				way = h->patterns[i].way;
	__atomic_store_n(&h->chosen, way, __ATOMIC_RELAXED);
}

void hooks_choose(bool (*has)(void *arg, const char *pattern), void *arg)
{
	for (size_t i = 0, all = hooks_count(); i < all; i++) {
		struct hook *h = &hook_table.hooks[i];

		for (size_t n = 0; n < h->count; n++)
			__atomic_store_n(&h->patterns[n].present,
					 has(arg, h->patterns[n].key.place), __ATOMIC_RELAXED);
		choose(h);
	}
}

void hook_refuse(const struct event_key *key)
{
	for (size_t i = 0, all = hooks_count(); i < all; i++) {
		struct hook *h = &hook_table.hooks[i];

		for (size_t n = 0; n < h->count; n++) {
			if (event_key_compare(&h->patterns[n].key, key) != 0)
				continue;
			__atomic_store_n(&h->patterns[n].refused, true, __ATOMIC_RELAXED);
			choose(h);
		}
	}
}

/* ---- rules ---- */

/* spec: the rule without its `@`. A group's name is the beginning of its hooks' names. */
static bool is_named(const struct hook *h, const char *spec)
{
	size_t n = strlen(spec);

	return (!strncmp(h->name, spec, n) && (!h->name[n] || h->name[n] == '.')) ||
	       glob_match(spec, h->name);
}

bool hook_is_named(const struct hook *h, const char *pattern)
{
	return is_named(h, pattern + 1);
}

static bool is_chosen(const struct hook *h, const struct hook_pattern *p)
{
	return p->way == __atomic_load_n(&h->chosen, __ATOMIC_RELAXED) && is_present(p);
}

static bool pattern_match(const struct hook_pattern *p, const struct event_key *key)
{
	size_t n = strlen(p->key.place);

	if (!p->exact)
		return krule_match(EVENT_KEY(p->key.place), key);
	if (p->key.extra.count || event_key_is_probe(key))
		return !event_key_compare(&p->key, key);
	return !strncmp(p->key.place, key->place, n) && (!key->place[n] || key->place[n] == '/');
}

bool hook_match(const char *pattern, const struct event_key *key)
{
	for (size_t i = 0, all = hooks_count(); i < all; i++) {
		const struct hook *h = &hook_table.hooks[i];

		if (!is_named(h, pattern + 1))
			continue;
		for (size_t n = 0; n < h->count; n++)
			if (is_chosen(h, &h->patterns[n]) && pattern_match(&h->patterns[n], key))
				return true;
	}
	return false;
}

const struct event_key *hook_next_probe(const char *pattern, size_t *at)
{
	size_t seen = 0;

	for (size_t i = 0, all = hooks_count(); i < all; i++) {
		const struct hook *h = &hook_table.hooks[i];

		if (seen + h->count <= *at || !is_named(h, pattern + 1)) {
			seen += h->count;
			continue;
		}
		for (size_t n = 0; n < h->count; n++, seen++)
			if (seen >= *at && is_chosen(h, &h->patterns[n]) &&
			    dynamic_event_is_rule(h->patterns[n].key.place)) {
				*at = seen + 1;
				return &h->patterns[n].key;
			}
	}
	return NULL;
}

/* The length of as many parts of the name, separated by dots, as the word has. */
static size_t length_as(const char *name, const char *word)
{
	size_t n = strcspn(name, ".");

	for (; name[n] && (word = strchr(word, '.')); word++)
		n += 1 + strcspn(name + n + 1, ".");
	return n;
}

/* The nearest name of a hook or a group. The caller frees it. */
static char *suggest(const char *word)
{
	const char **names = calloc(hooks_count() + 1, sizeof(*names)), *near = NULL;
	struct md_buf text = MD_BUF_INIT;
	char *copy = NULL;

	for (size_t i = 0, all = hooks_count(); i < all; i++) {
		const char *name = hook_table.hooks[i].name;

		md_buf_put(&text, name, length_as(name, word));
		md_buf_putc(&text, '\0');
	}
	if (names && !text.failed) {
		for (size_t i = 0, at = 0; at < text.len; at += strlen(text.data + at) + 1)
			names[i++] = text.data + at;
		near = nearest(word, strlen(word), names, hook_table.count);
	}
	if (near)
		copy = strdup(near);
	free(names);
	md_buf_deinit(&text);
	return copy;
}

static void print_patterns(const struct hook *h, struct md_buf *out)
{
	for (size_t i = 0, some = 0; i < h->count; i++)
		if (!h->patterns[i].bare)
			md_buf_printf(out, "%s%s", some++ ? ", " : "",
				      h->patterns[i].key.place);
}

/* Why nothing records the hook. */
static void print_reason(const struct hook *h, struct md_buf *out)
{
	bool refused = false;

	if (h->gone || !h->count) {
		md_buf_puts(out, h->gone ? h->gone : "no event records it");
		return;
	}
	for (size_t i = 0; i < h->count; i++)
		refused |= __atomic_load_n(&h->patterns[i].refused, __ATOMIC_RELAXED);
	md_buf_puts(out, refused ? "this kernel refuses " : "this kernel does not have ");
	print_patterns(h, out);
}

int hook_explain(const char *pattern, const char *text, struct tr_err *err)
{
	const struct hook *first = NULL;
	struct md_buf why = MD_BUF_INIT;
	size_t named = 0;
	char *near;
	int ret;

	for (size_t i = 0, all = hooks_count(); i < all; i++)
		if (is_named(&hook_table.hooks[i], pattern + 1)) {
			first = first ? first : &hook_table.hooks[i];
			named++;
		}
	if (named > 1)
		return tr_fail_at(err, -ENOENT, text, 0,
				  "this kernel has no event for the %zu hooks of '%.60s'; "
				  "available/kernel/groups has the reasons", named, pattern);
	if (first) {
		print_reason(first, &why);
		ret = tr_fail_at(err, -ENOENT, text, 0, "hook '%s': %.180s", first->name,
				 md_buf_str(&why));
		md_buf_deinit(&why);
		return ret;
	}
	near = suggest(pattern + 1);
	if (near)
		ret = tr_fail_at(err, -ENOENT, text, 1, "no such hook '%.60s'; did you mean '%s'?",
				 pattern + 1, near);
	else
		ret = tr_fail_at(err, -ENOENT, text, 1,
				 "no such hook '%.60s'; available/kernel/groups has them",
				 pattern + 1);
	free(near);
	return ret;
}

static void print_with(const struct extra *with, struct md_buf *out)
{
	md_buf_puts(out, with->count ? " with " : "");
	extra_print(with, out);
}

/* Which of its patterns record the hook, with their extra data. */
static void print_how(const struct hook *h, struct md_buf *out)
{
	static const struct extra none;
	const struct extra *with = &none;               /* of the pattern before */

	for (size_t n = 0; n < h->count; n++) {
		const struct event_key *key = &h->patterns[n].key;

		if (!is_chosen(h, &h->patterns[n]))
			continue;
		if (with->count && extra_compare(with, &key->extra)) {
			print_with(with, out);
			md_buf_puts(out, " and");
		}
		md_buf_printf(out, "%s%s", out->len ? " " : "", key->place);
		with = &key->extra;
	}
	print_with(with, out);
}

void hooks_print(struct rows *r)
{
	struct md_buf words = MD_BUF_INIT;
	char number[32];

	for (size_t i = 0, all = hooks_count(); i < all; i++) {
		const struct hook *h = &hook_table.hooks[i];

		snprintf(number, sizeof(number), "%u.%u", h->group, h->id);
		row_begin(r, NULL);
		cell_word(r, "name", 0, h->name);
		cell_word(r, "number", 0, number);
		md_buf_reset(&words);
		print_how(h, &words);
		cell_known_word(r, "how", 0, h->chosen >= 0, md_buf_str(&words));
		if (h->chosen < 0) {
			md_buf_reset(&words);
			print_reason(h, &words);
			cell_word(r, "reason", 0, md_buf_str(&words));
		}
		row_end(r);
	}
	r->out->failed |= words.failed;
	md_buf_deinit(&words);
}
