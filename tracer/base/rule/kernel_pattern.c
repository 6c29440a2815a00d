// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/base/rule/kernel_pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/base.h"
#include "tracer/base/filter/tree.h"
#include "tracer/base/probe/probe.h"
#include "tracer/base/rule/hook.h"
#include "tracer/base/rule/sample.h"

#define SYSCALL "syscall:"
#define NAME_MAX_BYTES 1024

const char *krule_syscall_name(const char *pattern)
{
	const char *p = pattern + strlen(SYSCALL);

	return begins_with(p, "entry:") ? p + 6 : begins_with(p, "exit:") ? p + 5 : p;
}

bool krule_is_function(const char *pattern)
{
	return begins_with(pattern, KRULE_FUNCTION);
}

enum rule_kind krule_kind(const char *pattern)
{
	return dynamic_event_is_call(pattern)	? RULE_CALL
	       : dynamic_event_is_rule(pattern) ? RULE_PROBE
	       : krule_is_function(pattern)	? RULE_FUNCTIONS
	       : hook_is_rule(pattern)		? RULE_HOOK
	       : sample_is_rule(pattern)	? RULE_SAMPLES
	       : begins_with(pattern, SYSCALL)	? RULE_SYSCALLS
						: RULE_EVENTS;
}

/* The name may have another one, LTTng's, after a slash. */
static bool match_tracepoint(const char *pattern, const char *name)
{
	char plain[NAME_MAX_BYTES];
	const char *slash = strchr(name, '/'), *colon;
	size_t n = slash ? (size_t)(slash - name) : strlen(name);

	if (n >= sizeof(plain))
		return false;
	memcpy(plain, name, n);
	plain[n] = 0;
	if (strchr(pattern, ':'))
		return glob_match(pattern, plain);
	colon = strchr(plain, ':');
	return glob_match(pattern, colon ? colon + 1 : plain) ||
	       (slash && glob_match(pattern, slash + 1));
}

bool krule_match(const struct event_key *rule, const struct event_key *key)
{
	const char *pattern = rule->place, *name = key->place;

	if (hook_is_rule(pattern))
		return hook_match(pattern, key);
	if (sample_is_rule(pattern) || sample_is_rule(name))
		return !strcmp(pattern, name);
	if (event_key_is_probe(rule) || event_key_is_probe(key))
		return dynamic_event_match(rule, key);
	if (krule_is_function(pattern) || krule_is_function(name))
		return krule_is_function(pattern) && krule_is_function(name);
	if (begins_with(name, KRULE_DATA) || begins_with(pattern, KRULE_DATA))
		return !strcmp(pattern, name);
	if (begins_with(name, SYSCALL)) {
		if (!begins_with(pattern, SYSCALL))
			return false;
		if (krule_syscall_name(pattern) == pattern + strlen(SYSCALL))
			return glob_match(pattern + strlen(SYSCALL), krule_syscall_name(name));
		return glob_match(pattern, name);
	}
	return !begins_with(pattern, SYSCALL) && match_tracepoint(pattern, name);
}

static int check_dynamic(struct scan *s, struct word *w, char **file)
{
	struct tr_err why = TR_ERR_INIT;
	struct dynamic_event d;
	int ret = dynamic_event_parse(word_text(w), &d, &why);

	if (file) {
		*file = d.path;
		d.path = NULL;
	}
	dynamic_event_deinit(&d);
	if (ret == -ENOMEM)
		return tr_fail(s->err, ret, "out of memory");
	return ret ? scan_fail(s, word_column(w, why.column > 0 ? (size_t)why.column : 0), "%s",
			       why.sentence) : 0;
}

static int check_function(struct scan *s, struct word *w)
{
	const char *text = word_text(w);
	size_t at = strlen(KRULE_FUNCTION);

	if (!text[at])
		return scan_fail(s, word_column(w, at),
				 "the name of a function is missing; '*' matches any");
	at += strspn(text + at,
		     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_*.$");
	return text[at] ? scan_fail(s, word_column(w, at),
				    "not a character of a function's name") : 0;
}

static int check_syscall(struct scan *s, struct word *w)
{
	const char *text = word_text(w);
	size_t at = (size_t)(krule_syscall_name(text) - text);

	if (!text[at])
		return scan_fail(s, word_column(w, at),
				 "the name of a system call is missing; '*' matches any");
	if (strchr(text + at, ':'))
		return scan_fail(s, word_column(w, at), "a system call is syscall:NAME, "
				 "syscall:entry:NAME or syscall:exit:NAME");
	return 0;
}

int krule_check(struct scan *s, struct word *w, char **file)
{
	const char *text = word_text(w), *colon = strchr(text, ':');
	enum rule_kind kind = krule_kind(text);
	size_t at;

	if (kind == RULE_PROBE || kind == RULE_CALL)
		return check_dynamic(s, w, file);
	if (kind == RULE_FUNCTIONS)
		return check_function(s, w);
	if (kind == RULE_HOOK)
		return hook_check(s, w);
	if (kind == RULE_SAMPLES)
		return sample_check(s, w);
	if (!*text)
		return scan_fail(s, word_column(w, 0),
				 "the pattern is empty; '*' matches any tracepoint");
	at = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_*.:-");
	if (text[at])
		return scan_fail(s, word_column(w, at), "not a character of a tracepoint's name");
	if (kind == RULE_SYSCALLS)
		return check_syscall(s, w);
	if (!colon)
		return 0;
	if (colon == text)
		return scan_fail(s, word_column(w, 0), "the system is missing; '*' matches any");
	if (!colon[1])
		return scan_fail(s, word_column(w, strlen(text)),
				 "the name is missing; '*' matches any");
	if (strchr(colon + 1, ':'))
		return scan_fail(s, word_column(w, (size_t)(colon - text)),
				 "a tracepoint of the kernel is system:name");
	return 0;
}

/* Whether the first word of a line is a rule with a path. The rest of the line may be invalid. */
static bool names_file(const char *line)
{
	struct scan *s = SCAN(line, strspn(line, "!~? \t"), NULL);
	struct word w = { 0 };
	char *file = NULL;
	bool yes = !scan_at_end(s) && !scan_word(s, false, &w) && !krule_check(s, &w, &file) &&
		   file;

	word_deinit(&w);
	free(file);
	return yes;
}

bool events_name_files(const char *text)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (*line != '!' && names_file(line))
			return true;
	return false;
}

int krule_check_except(struct scan *s, struct word *w, enum rule_kind kind)
{
	enum rule_kind other = krule_kind(word_text(w));

	if (kind == RULE_PROBE || kind == RULE_CALL || kind == RULE_SAMPLES)
		return scan_fail(s, word_column(w, 0),
				 "the rule is for one event: it has no 'except'");
	if (other == RULE_SAMPLES)
		return scan_fail(s, word_column(w, 0), "samples are taken only by a rule of their "
				 "own: they cannot be excepted from another");
	if (other == RULE_PROBE || other == RULE_CALL)
		return scan_fail(s, word_column(w, 0), "a probe is recorded only by a rule of its "
				 "own: it cannot be excepted from another");
	if ((kind == RULE_FUNCTIONS) != (other == RULE_FUNCTIONS))
		return scan_fail(s, word_column(w, 0),
				 "functions can be excepted from functions only");
	return 0;
}

int krule_check_with(struct scan *s, struct word *with, const struct rule *r)
{
	if (r->kind == RULE_HOOK)
		return scan_fail(s, word_column(with, 0), "a hook has no extra data; its "
				 "tracepoint has, which available/kernel/groups names");
	if (r->kind == RULE_SAMPLES)
		return scan_fail(s, word_column(with, 0), "samples have no extra data");
	if (r->kind == RULE_FUNCTIONS)
		return scan_fail(s, word_column(with, 0), "only tracepoints and probes have extra "
				 "data; for a function write kprobe:, which kernels with kprobes "
				 "have");
	if (r->kind == RULE_EVENTS && strchr(r->pattern, '*'))
		return scan_fail(s, word_column(with, 0), "extra data is for one tracepoint: write "
				 "its name in place of a pattern with '*'");
	if (r->except_count)
		return scan_fail(s, word_column(with, 0),
				 "extra data is for one event: leave 'except' out of this rule");
	return 0;
}

int krule_parse_data(struct scan *s, struct word *w, struct rule *r)
{
	int column = word_column(w, 0), ret;

	scan_blanks(s);
	ret = scan_done(s) ? 0 : scan_word(s, false, w);
	if (ret)
		return ret;
	if (!word_is(w, "data"))
		return scan_fail(s, column, "only tracepoints and probes have extra "
				 "data; a system call has its arguments as fields, and 'with data' "
				 "the bytes that it is given; text that it "
				 "takes is also at a program's function: uprobe:PATH:FUNCTION with "
				 "$arg1:string");
	if (strchr(r->pattern, '*') || r->except_count)
		return scan_fail(s, column, "the data are of one system call: write its name, "
				 "without '*' and 'except'");
	if (begins_with(r->pattern, SYSCALL "exit:"))
		return scan_fail(s, column, "the entry of a system call has its data: write "
				 "syscall:NAME or syscall:entry:NAME");
	r->data = true;
	return 0;
}

static char *join(const char *before, const char *name)
{
	char *text;

	return asprintf(&text, "%s%s", before, name) < 0 ? NULL : text;
}

int krule_split_data(struct rule *r)
{
	const char *name = krule_syscall_name(r->pattern);
	bool both = name == r->pattern + strlen(SYSCALL);

	free(r->keys[0].place);
	r->keys[0].place = join(KRULE_DATA, name);
	if (both) {
		r->keys[1].place = join(SYSCALL "exit:", name);
		r->key_count = RULE_KEYS;
	}
	return r->keys[0].place && (!both || r->keys[1].place) ? 0 : -ENOMEM;
}

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

int krule_parse_name(struct scan *s, struct word *w, struct rule *r)
{
	size_t n;
	int ret;

	if (r->kind != RULE_PROBE && r->kind != RULE_CALL)
		return scan_fail(s, word_column(w, 0), "only probes get a name by 'as'");
	if (dynamic_event_is_pattern(r->pattern))
		return scan_fail(s, word_column(w, 0),
				 "a rule on several functions gives them no name");
	if (r->keys[0].label || r->keys[0].extra.count)
		return scan_fail(s, word_column(w, 0), "'as' comes once, right after the pattern");
	scan_blanks(s);
	ret = scan_done(s) ? scan_fail(s, word_column(w, 2), "a name is missing")
			   : scan_word(s, false, w);
	if (ret)
		return ret;
	n = strspn(word_text(w), NAME_LETTERS);
	n += n ? strspn(word_text(w) + n, NAME_LETTERS "0123456789") : 0;
	if (!n || word_text(w)[n])
		return scan_fail(s, word_column(w, n),
				 "a name has letters, '_', and then also digits");
	if (n > DYN_LABEL_MAX)
		return scan_fail(s, word_column(w, 0), "the name is too long");
	r->keys[0].label = strdup(word_text(w));
	return r->keys[0].label ? 0 : -ENOMEM;
}

/* The key of one of a call's events. $retval belongs to the return, other data to the entry. */
static int make_half(const struct rule *r, bool is_return, struct event_key *out)
{
	const char *place = r->pattern + DYN_CALL_LEN, *label = r->keys[0].label;
	const struct extra *x = &r->keys[0].extra;
	int ret = 0;

	*out = (struct event_key){ 0 };
	/* Of a pattern the star stands for the function's name. */
	if (!label)
		label = dynamic_event_is_pattern(r->pattern) ? "*" : strrchr(r->pattern, ':') + 1;
	if (asprintf(&out->place, "%c%sprobe:%s", *r->pattern, is_return ? "ret" : "", place) < 0)
		out->place = NULL;
	if (asprintf(&out->label, "%.*s%s", DYN_LABEL_MAX, label,
		     is_return ? "_exit" : "_entry") < 0)
		out->label = NULL;
	if (x->line && !(out->extra.line = strdup(x->line)))
		ret = -ENOMEM;
	for (size_t i = 0; i < x->count && !ret; i++)
		if (begins_with(x->items[i].text + x->items[i].root, "$retval") == is_return)
			ret = extra_add(&out->extra, &x->items[i]);
	if (!out->place || !out->label)
		ret = -ENOMEM;
	if (ret)
		event_key_deinit(out);
	return ret;
}

int krule_split_call(struct rule *r)
{
	struct event_key halves[RULE_KEYS];

	for (size_t i = 0; i < RULE_KEYS; i++) {
		if (!make_half(r, i == 1, &halves[i]))
			continue;
		while (i)
			event_key_deinit(&halves[--i]);
		return -ENOMEM;
	}
	event_key_deinit(&r->keys[0]);
	memcpy(r->keys, halves, sizeof(halves));
	r->key_count = RULE_KEYS;
	return 0;
}

int krule_add_names(const struct scan *s, struct rule *r)
{
	size_t skip = strlen(KRULE_FUNCTION);
	struct filter *f, *rest = r->filter;

	if (rest && filter_enclose(s, s->at, rest))
		return -EINVAL;
	f = filter_compare_text("func", OP_EQ, r->pattern + skip);
	for (size_t i = 0; i < r->except_count; i++)
		f = filter_both(f, filter_compare_text("func", OP_NE, r->except[i] + skip));
	r->filter = f = rest ? filter_both(f, rest) : f;
	return f ? 0 : -ENOMEM;
}
