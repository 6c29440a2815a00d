/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hooks: names for places in the kernel, which rules of the kernel domain give as
 *
 *	@NAME       one hook, or all hooks of a group: @process.execve, @nfs, @nfs.fop, @*
 *
 * What a hook stands for is data (data/groups/): alternatives in order of preference, each of
 * one or more patterns of kernel_pattern.h, perhaps with extra data (probe/extra.h) of its probes,
 * and with what fills LKET's fields:
 *
 *	PATTERN… [with EXPR…] [and PATTERN… [with EXPR…]]… [as FIELD=SOURCE, …]
 *
 * A rule @NAME records the first alternative that this kernel has, of each of its hooks. If none
 * can be recorded as it is, probes are recorded without their extra data.
 *
 * The table is filled when a hook is needed first, as most daemons need none, and never shrinks or
 * moves afterwards. What changes later are the choices, which are atomic words. Any thread may read
 * the table.
 */
#ifndef TRACER_RULE_HOOK_H
#define TRACER_RULE_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"
#include "tracer/base/lexer.h"
#include "tracer/base/probe/event_key.h"

struct hook_pattern {
	struct event_key key;   /* as of a rule with its pattern and extra data */
	int way;                /* the alternative that it belongs to, 0 … */
	bool exact;             /* it is spelled as the keys of its events */
	bool bare;              /* another alternative is the same with extra data */
	bool present;           /* atomic: this kernel has it */
	bool refused;           /* atomic: the kernel refuses such a probe */
};

/* What fills a field of LKET: a value of the event that records the hook. */
enum hook_value {
	HOOK_FIELD,             /* NAME: the field of that name */
	HOOK_NEGATIVE,          /* -NAME: the field with the other sign */
	HOOK_BITS,              /* NAME&MASK: the bits of the mask, shifted to the right */
	HOOK_MAJOR, HOOK_MINOR, /* major(NAME), minor(NAME): of a device number of the kernel */
	HOOK_IP, HOOK_PORT,     /* ip(NAME), port(NAME): of an address of IPv4 */
	HOOK_NAME,              /* $name: the event's name, or that of its system call */
	HOOK_TID, HOOK_PID, HOOK_PPID,  /* $tid, $pid, $ppid: of the thread that makes the event */
	HOOK_NUMBER,            /* a number */
};

struct hook_source {
	char *field;            /* LKET's; owned */
	char *name;             /* NAME; owned; NULL: it needs none */
	enum hook_value value;
	uint64_t number;        /* the number, or the mask */
	int first, last;        /* the alternatives that it is for */
};

struct hook {
	char *name;             /* `nfs.fop.read.entry` */
	unsigned int group, id; /* LKET's numbers; 0: none */
	char *fields;           /* LKET's: `fd:INT64 count:INT64`; NULL: none */
	char *gone;             /* why nothing records it, and what replaces it; NULL */
	struct hook_pattern *patterns;
	size_t count;
	struct hook_source *sources;
	size_t source_count;
	int chosen;             /* atomic: the alternative that is recorded; -1: none */
};

/* ---- filling the table ---- */

/* Before there are threads: what calls hook_item for all lines, in the thread of the first use. */
void hooks_fill_with(void (*fill)(void));

/* The section of a file that is being read; { 0 } before the first. */
struct hook_section {
	char name[64];
	unsigned int group, id;
	char fields[400];
	char result[8];         /* the type of what functions return; "": INT64 */
	unsigned int begun;     /* bits: the section's hooks that were made */
};

/*
 * One line `key = value`; key NULL: a section begins. Keys: group, id, fields, result, record,
 * entry, return, gone; see trailfs(8). A hook that an earlier section has is replaced. 0, -EINVAL,
 * -ENOMEM.
 */
int hook_item(struct hook_section *s, const char *section, const char *key, const char *value,
	      struct tr_err *err);
void hooks_free(void);

/* ---- the table ---- */

size_t hooks_count(void);
const struct hook *hook_at(size_t i);
/* Appends lines `NAME GROUP.ID PATTERN…`, or `NAME GROUP.ID - SENTENCE`. */
struct rows;
void hooks_print(struct rows *r);

/* ---- choosing ---- */

/* True from the first rule @NAME on, or from hooks_want: hooks_choose is needed. */
bool hooks_wanted(void);
void hooks_want(void);
/* Chooses the alternative of each hook; has: whether the kernel has the pattern. One thread. */
void hooks_choose(bool (*has)(void *arg, const char *pattern), void *arg);
/* The kernel refuses the probe with this key: chooses other alternatives. */
void hook_refuse(const struct event_key *key);

/* ---- rules ---- */

bool hook_is_rule(const char *pattern);
/* Whether the pattern @NAME names the hook, or its group. */
bool hook_is_named(const struct hook *h, const char *pattern);
/* Checks the characters of a pattern @NAME. 0 or -EINVAL. */
int hook_check(struct scan *s, struct word *w);
/* Whether an alternative that is chosen has the event. The key: kernel_pattern.h. */
bool hook_match(const char *pattern, const struct event_key *key);
/* The key of the next probe (from *at on, first 0) that the rule's hooks need; NULL: no more. */
const struct event_key *hook_next_probe(const char *pattern, size_t *at);
/* Sets a sentence that says why the rule matches nothing. text: the rule. -ENOENT. */
int hook_explain(const char *pattern, const char *text, struct tr_err *err);

#endif
