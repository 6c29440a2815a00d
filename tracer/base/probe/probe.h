/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracer/base/probe/: dynamic kernel events. A rule
 *
 *   kprobe:SYMBOL[+OFF]  kretprobe:SYMBOL
 *   uprobe:PATH:SYMBOL[+OFF]  uretprobe:PATH:SYMBOL  usdt:PATH:PROVIDER:NAME
 *   uprobe:PATH:PATTERN  uretprobe:PATH:PATTERN
 *
 * becomes definitions in kprobe_events and uprobe_events of tracefs. It may give the event a name,
 * and extra data (extra.h): event_key.h. With extra data it may also be for a tracepoint, and
 * becomes an event probe in dynamic_events, which has the fields of the tracepoint as well.
 *
 *   probe.h          (this file) rules and their events
 *   event_key.h      what identifies an event
 *   dynamic_event.c  creates, lists and removes events in tracefs
 *   definition.c     rules and definitions
 *   function_pattern.c  rules on several functions
 *   usdt_operand.c   operands of usdt probes as fetch arguments
 *   elf_symbol.h     places in ELF files: symbols, functions of a pattern, usdt probes
 *   usdt_note.c      usdt probes of an ELF file
 *   elf_file.h       sections, segments and symbols of an ELF file
 *   extra.h          extra data of an event: expressions
 *   extra_fetch.c    … as fetch arguments
 *   extra_pointer.c  … the pointers on the way to them
 *   format_line.h    lines of a format file
 *   event_field.h    fields of a tracepoint's record
 *   btf.h            the kernel's types
 *   btf_files.h      … and those of its modules
 *
 * No lock: each object belongs to its caller. Any thread may call these functions.
 *
 * The arguments of a usdt probe that tracefs can fetch become fields `argN`, counted from 0; other
 * arguments have no field. A usdt probe may have several places in its file. Each place is an event
 * of its own in the kernel, with the same fields, because kernels handle one event in several
 * places wrongly (Linux 6.18 frees it while it is in use); the user sees one event.
 */
#ifndef TRACER_PROBE_PROBE_H
#define TRACER_PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"
#include "tracer/base/probe/event_key.h"
#include "tracer/base/probe/extra.h"

enum dynamic_event_kind {
	DYN_KPROBE, DYN_KRETPROBE, DYN_UPROBE, DYN_URETPROBE, DYN_USDT,
	DYN_EVENT,              /* a tracepoint with extra data: an event probe */
	/*
	 * The same where its record lacks a pointer: a tracepoint probe (Linux 6.5), which has the
	 * arguments in place of the record. dynamic_event_resolve makes it of a DYN_EVENT.
	 */
	DYN_ARGUMENTS,
};

#define DYN_EVENT_NAME "event"  /* names of the events of DYN_EVENT begin with it and _ */
#define DYN_PLACES_MAX 256      /* places of one usdt probe */
#define DYN_NAME_MAX 64         /* of an event or a group in tracefs, with the NUL */
#define DYN_FUNCTIONS_MAX 256   /* functions of one rule */
#define DYN_SYMBOL_MAX 1000     /* bytes of a symbol's name */
#define DYN_LABEL_MAX 200       /* bytes of a name that a rule gives; `_entry` may follow */

struct dynplace {
	uint64_t offset;        /* of the instruction, in the file */
	uint64_t semaphore;     /* file offset of the counter of listeners; 0: none */
	char *args;             /* arguments of a usdt probe, or NULL; owned */
};

struct dynamic_event {
	enum dynamic_event_kind kind;
	char *path;             /* NULL for kernel symbols; owned, as are the other strings */
	char *symbol;           /* with +OFF; NULL for usdt; of DYN_EVENT: the pattern */
	char *provider, *name;  /* of a usdt probe; of DYN_EVENT: system and name, once found */
	char *label;            /* the event's name, if the rule gives one; else NULL */
	char *format;           /* of DYN_EVENT, once found: text of the format file */
	/*
	 * The file, -1 after dynamic_event_parse. The caller opens it (O_RDONLY) with the rights of
	 * the user who asks, and closes it. The kernel gets this file, not its path, so that no
	 * other file can take its place.
	 */
	int fd;
	struct dynplace *places;        /* set by dynamic_event_resolve; none for kernel symbols */
	size_t place_count;
	size_t lacking;         /* of DYN_ARGUMENTS: the item whose pointer the record lacks */
	struct extra extra;     /* its data beside the arguments of a usdt probe */
};

/* True if the text begins like one of these rules, or is a call. */
bool dynamic_event_is_rule(const char *text);
/* True also for a tracepoint with extra data. */
bool event_key_is_probe(const struct event_key *k);
/*
 * True for kcall:SYMBOL and ucall:PATH:SYMBOL: the entry and the return of a function, two events.
 * dynamic_event_parse takes it for the return.
 */
bool dynamic_event_is_call(const char *text);
#define DYN_CALL_LEN 6          /* of `kcall:` and `ucall:` */
/*
 * Parses the place of a probe. -EINVAL and a sentence with text and column; -ENOMEM. Call
 * dynamic_event_deinit afterwards.
 */
int dynamic_event_parse(const char *text, struct dynamic_event *out, struct tr_err *err);
/* The same with the name and the extra data of the key. */
int dynamic_event_make(const struct event_key *key, struct dynamic_event *out, struct tr_err *err);
void dynamic_event_deinit(struct dynamic_event *d);
bool dynamic_event_has_file(const struct dynamic_event *d);
/* Whether it is a tracepoint with extra data. */
bool dynamic_event_has_record(const struct dynamic_event *d);
/* For DYN_EVENT, before dynamic_event_resolve: the tracepoint. 0 or -ENOMEM. */
int dynamic_event_set_tracepoint(struct dynamic_event *d, const char *system, const char *name,
				 const char *format);
/*
 * Finds the places in the open file, unless they are set, and of extra data; may take seconds.
 * types: the kernel's, which other rules share; NULL: reads them for this rule. Errors of
 * probe/elf_symbol.h; -ENOENT: no such probe; -EFBIG.
 */
int dynamic_event_resolve(struct dynamic_event *d, struct btf_files *types, struct tr_err *err);

/* ---- rules on several functions of a file: function_pattern.c ---- */

/* Whether a rule names its functions with `*`. */
bool dynamic_event_is_pattern(const char *place);
/* Whether the event of this key is one of the rule's: they are equal, or its pattern matches. */
bool dynamic_event_match(const struct event_key *pattern, const struct event_key *key);

struct dynamic_event_of {
	struct event_key key;
	struct dynamic_event event;     /* its fd is the rule's */
};

struct dynamic_events {                 /* of one rule */
	struct dynamic_event_of *list;  /* owned */
	size_t count;
};

/*
 * Resolves a rule into its events: itself, or one for each function that matches its pattern. key:
 * the rule's. d becomes a part of out, or is freed; its file stays open. Errors of
 * dynamic_event_resolve; -E2BIG: more than DYN_FUNCTIONS_MAX functions.
 */
int dynamic_events_resolve(struct dynamic_event *d, const struct event_key *key,
			   struct btf_files *types, struct dynamic_events *out,
			   struct tr_err *err);
void dynamic_events_deinit(struct dynamic_events *e);

/* ---- definitions and events ---- */

/*
 * The definition of one place (0 for kernel symbols), a line for tracefs. event: its name. -EINVAL,
 * -ENOMEM.
 */
int dynamic_event_define(const struct dynamic_event *d, size_t place, const char *group,
			 const char *event, struct md_buf *out, struct tr_err *err);
/*
 * Creates the events that tracefs does not have yet, all or none. tracefs_fd: tracefs' directory.
 * Appends their names in the group to names, separated by NUL. The same rule, file and place always
 * give the same name. A group's name has letters, digits and _. -EOPNOTSUPP: this kernel has no
 * such probes; -ENOENT: no such symbol; -EINVAL: no probe is possible there; -EACCES, -EPERM.
 */
int dynamic_event_create(int tracefs_fd, const char *group, const struct dynamic_event *d,
			 struct md_buf *names, struct tr_err *err);
/*
 * Explains why the kernel refused a kernel probe with that code, in more detail than
 * dynamic_event_create and perhaps with another code; this may take long. For other codes and
 * probes it returns the code.
 */
int dynamic_event_explain(const struct dynamic_event *d, int code, struct tr_err *err);
/*
 * True if the event of that name was created for the rule, perhaps from another file of that path.
 */
bool dynamic_event_made(const struct dynamic_event *d, const char *name);
/* The names of all dynamic events of a group, separated by NUL. */
int dynamic_event_list(int tracefs_fd, const char *group, struct md_buf *names);
/* Lines `group:name id` of all dynamic events, except for groups that begin with `except`. */
int dynamic_event_ids(int tracefs_fd, const char *except, struct md_buf *out);
/*
 * -EBUSY: it is enabled in some instance; -ENOENT. Disable it first, and prevent others from
 * enabling it meanwhile: not every kernel checks whether an event is in use.
 */
int dynamic_event_remove(int tracefs_fd, const char *group, const char *name);
/*
 * Disables (at the top level) and removes all events, event probes included, of groups that begin
 * with prefix: those of a killed daemon. The caller has removed its instances before. Returns the
 * number of removed events; -EBUSY if one remains; -EINVAL: empty prefix.
 */
int dynamic_event_remove_group(int tracefs_fd, const char *prefix);

/* Writes one definition to a file of tracefs; also for event probes (backend/event_probe.c). */
int dynamic_event_write(int tracefs_fd, const char *file, const char *definition, size_t len);

/*
 * Appends the fetch argument and sets the type of argument N of a usdt probe in a place. False: it
 * cannot be fetched.
 */
bool dynamic_event_arg(const struct dynplace *place, int n, struct md_buf *out, char type[8]);
/*
 * Appends the fetch argument with its type (`-20(%bp):s32`) of a usdt operand on x86-64
 * (`-4@-20(%rbp)`). False, and nothing appended, if tracefs cannot fetch it (an index register, a
 * symbol, a float).
 */
bool dynamic_event_operand(const char *operand, size_t len, struct md_buf *out);

/* The register of a function's argument, from 1, at its entry, as tracefs names it; NULL. */
const char *dynamic_event_register(int n);

#endif
