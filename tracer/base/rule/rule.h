/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/base/rule/: event rules, and the list of rules that a channel has.
 *
 *   rule.h            (this file) rules and lists
 *   rule.c            parses one rule
 *   loglevel.h        (private) … and its log levels
 *   rule_list.c       matches, changes and prints lists
 *   kernel_pattern.h  patterns of the kernel domain
 *   hook.h            hooks, which rules @NAME record
 *   hook_table.h      (private) their table
 *   sample.h          rules sample:NAME, and their rates
 *
 * No lock: each list belongs to its caller. Any thread may call these functions.
 *
 * A rule of the user domain is
 *
 *   PATTERN [except PATTERN,…] [loglevel LEVEL | LEVEL.. | A..B | OP LEVEL] [if FILTER]
 *
 * and one of the kernel domain (kernel_pattern.h)
 *
 *   PATTERN [as NAME] [except PATTERN,…] [with EXPR[:TYPE] [as NAME],…] [if FILTER]
 *
 * A pattern is `provider:name`, where `*` matches any run of characters and `\*` a star; or it is
 * `*`. Filters (filter/filter.h) extend to the end of the line.
 */
#ifndef TRACER_RULE_RULE_H
#define TRACER_RULE_RULE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/base/base.h"
#include "tracer/base/err.h"
#include "tracer/base/filter/filter.h"
#include "tracer/base/probe/event_key.h"

#define RULE_KEYS 2u

/* What a rule records. Of the user domain all are RULE_EVENTS. */
enum rule_kind {
	RULE_EVENTS,
	RULE_SYSCALLS,
	RULE_PROBE,             /* probe/probe.h */
	RULE_CALL,              /* a probe of the entry and the return of a function */
	RULE_FUNCTIONS,         /* of the kernel, by function tracing */
	RULE_HOOK,              /* hook.h */
	RULE_SAMPLES,           /* sample.h */
};

/*
 * The line of a rule that waits for its event and is tried again: an error of such a rule must not
 * keep others from their events.
 */
#define RULE_AGAIN (-1)

struct rule {
	char *source;           /* as the user wrote it, without blanks around it and `~` */
	char *text;             /* normalized: single blanks, without `~`, with `?` */
	char *pattern;
	enum rule_kind kind;
	char *file;             /* in which its probes are: a path; NULL: they are in no file */
	/*
	 * What the rule records, with its name and extra data. A call has two, of its entry and its
	 * return, and so has a system call with data; key_count is 1 for others.
	 */
	struct event_key keys[RULE_KEYS];
	size_t key_count;
	uint64_t rate;          /* of samples (sample.h); 0: the usual one */
	char **except;          /* except_count patterns */
	size_t except_count;
	int level_min, level_max;       /* inclusive, 0 (emerg) … 14 (debug) */
	bool disabled;          /* the line was ~RULE */
	bool data;              /* of a system call: with the bytes that it is given */
	bool optional;          /* the line was ?RULE: its event need not exist yet */
	bool kernel;            /* of the kernel domain: rule/kernel_pattern.h */
	struct filter *filter;  /* NULL: none */
	uint64_t filter_digest; /* of its normalized text */
	int line;               /* of the write that added it; 0: an earlier write; RULE_AGAIN */
};

struct rule_list {
	struct rule *rules;
	size_t count;
};

/*
 * Whether an error (-errno) of a rule with this line is of this rule alone: of one that is tried
 * again, but for -ENOMEM, and for -EAGAIN, which is no error.
 */
static inline bool rule_fails_alone(int line, int error)
{
	return line == RULE_AGAIN && error && error != -EAGAIN && error != -ENOMEM;
}

/*
 * True if an enabled rule of the list matches the event, whatever its filter. An event of the user
 * domain is EVENT_KEY("provider:name").
 */
bool rule_list_match(const struct rule_list *l, const struct event_key *event, int level);
/*
 * The decision as a number. 0: no rule matches; RULE_ALL: a rule without a filter does; else a
 * digest of the filters.
 */
uint64_t rule_list_decide(const struct rule_list *l, const struct event_key *event, int level);
#define RULE_ALL 1u
/* True if an enabled rule of the list has a filter. */
bool rule_list_has_filter(const struct rule_list *l);
/* True if one of the rule's keys matches the event, whatever its levels and exceptions. */
bool rule_names(const struct rule *r, const struct event_key *event);
/* True if the rule, enabled or not, matches the event, whatever its filter. */
bool rule_match(const struct rule *r, const struct event_key *event, int level);
/*
 * The filters of the enabled rules that match, at most max; returns their number, which may be
 * more.
 */
size_t rule_list_filters(const struct rule_list *l, const struct event_key *event, int level,
			 const struct filter **out, size_t max);

/*
 * Applies the lines of one write: new = (replace ? empty : a copy of old) + lines. `old` may be
 * NULL.
 *
 *   RULE       adds the rule, or enables it
 *   ~RULE      adds the rule disabled, or disables it
 *   ?RULE      is a rule of the kernel domain that waits for its event
 *   !RULE      removes the rule with this text
 *   !PATTERN   removes every rule with exactly this pattern
 *
 * Blank lines and lines that begin with # are skipped. Kernel rules have the patterns of
 * kernel_pattern.h and no log levels. On an error `out` does not change, err->line is the line's
 * number, err->text and err->column are the place of the error. -EINVAL; -ENOENT: no such rule to
 * remove; -E2BIG; -ENOMEM; -ENOSPC: more than 4096 rules.
 */
int rule_list_apply(const struct rule_list *old, enum domain domain, const char *lines,
		    bool replace, struct rule_list *out, struct tr_err *err);
int rule_list_copy(const struct rule_list *from, struct rule_list *to);        /* 0 or -ENOMEM */
/* A list of a copy of this rule alone, as a write of its line makes it. 0 or -ENOMEM. */
int rule_list_of(const struct rule *r, struct rule_list *out);
/* One rule per line, in the syntax of rule_list_apply. */
void rule_list_print(const struct rule_list *l, struct md_buf *out);
void rule_list_deinit(struct rule_list *l);

/* Whether a line of the text has a rule of the kernel domain with a path (uprobe:, usdt:). */
bool events_name_files(const char *text);

/* ---- one rule (rule.c) ---- */

#define RULE_LINE_MAX 4096u     /* bytes of a line */
#define RULE_COUNT_MAX 4096u    /* rules of a list */

/*
 * Parses a rule from s->at up to the line's end, or up to a word of `stops` (as struct scan has
 * them) that stands where a clause could begin or an operator of the filter; s->at is there then.
 * 0, or -errno with text and column; then out is not set. out->text is the normalized text: rules
 * that differ only in blanks have the same. Errors that are found later have columns of
 * out->source.
 */
int rule_parse(struct scan *s, enum domain domain, const char *const *stops, struct rule *out);
/*
 * A rule of the user domain that was written in another form, from byte `begin` of the line to
 * s->at. Takes the filter over (NULL: none), also if it fails. As rule_parse.
 */
int rule_make(const struct scan *s, size_t begin, const char *pattern, struct filter *filter,
	      struct rule *out);
int rule_copy(const struct rule *from, struct rule *to);
void rule_deinit(struct rule *r);

#endif
