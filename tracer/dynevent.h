/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dynamic kernel events through tracefs: the rules
 *
 *   kprobe:SYMBOL[+OFF]  kretprobe:SYMBOL  uprobe:PATH:SYMBOL[+OFF]  uretprobe:PATH:SYMBOL  usdt:PATH:PROVIDER:NAME
 *
 * become definitions in kprobe_events and uprobe_events. In a PATH `\` takes the special meaning from a blank or another `\`. Of a
 * usdt probe the arguments that tracefs can fetch become fields `argN`, counted from 1; of others the number is left out.
 *
 * What the tracefs format of the events has, and the names that LTTng gives it (dyn_field): kprobe, uprobe and usdt `__probe_ip` (ip);
 * kretprobe and uretprobe `__probe_func` (ip) and `__probe_ret_ip` (parent_ip); then the arguments under their own names.
 */
#ifndef TRACER_DYNEVENT_H
#define TRACER_DYNEVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/err.h"

enum dyn_kind { DYN_KPROBE, DYN_KRETPROBE, DYN_UPROBE, DYN_URETPROBE, DYN_USDT };

struct dynevent {
	enum dyn_kind kind;
	char *path;             /* NULL for kernel symbols; owned, as are the other strings */
	char *symbol;           /* with +OFF; NULL for usdt */
	char *provider, *name;  /* of usdt */
	/*
	 * The file, which the caller opens (O_RDONLY) with the rights of the user who asks, and closes; -1 after dyn_parse. The
	 * kernel is given this very file, not the path again, so that nobody can put another one in its place.
	 */
	int fd;
};

#define DYN_NAME_MAX 64         /* of an event or a group in tracefs, with the NUL */

/* True if a rule that begins here is one of these. */
bool dyn_is_rule(const char *text);
/*
 * Parses the rule that begins at text + at and ends at a blank or the end. Returns its length; -EINVAL and a sentence with
 * text and column; -ENOMEM. dyn_deinit afterwards, also of a zeroed one.
 */
int dyn_parse(const char *text, size_t at, struct dynevent *out, struct tr_err *err);
void dyn_deinit(struct dynevent *d);

/* The event's name in the trace: SYMBOL[+OFF], SYMBOL_exit for return probes as LTTng, PROVIDER:NAME. */
int dyn_event_name(const struct dynevent *d, struct md_buf *out);
/* LTTng's name for a field of the tracefs format, or the same. */
const char *dyn_field(const char *tracefs_name);

/*
 * The definitions for tracefs, one per line (a usdt probe may be in several places, and is one event all the same). `event` is the name.
 * Errors as dyn_create.
 */
int dyn_define(const struct dynevent *d, const char *group, const char *event, struct md_buf *out, struct tr_err *err);
/*
 * Makes the event in tracefs (a descriptor of its directory); its name in the group, the same for the same rule, goes to name (DYN_NAME_MAX is
 * always enough). The group is made of letters, digits and _. -EEXIST: it is there already (name is set); -EOPNOTSUPP: this kernel has no such
 * probes; -ENOENT: no such symbol or probe; -EACCES, -EPERM; those of elfsym.h.
 */
int dyn_create(int tracefs_fd, const char *group, const struct dynevent *d, char *name, size_t size, struct tr_err *err);
/*
 * -EBUSY: it is enabled somewhere, in any instance; -ENOENT. Disable it first: the kernel does not notice by itself when an event has several places,
 * and frees what is in use. So nobody else may enable it meanwhile.
 */
int dyn_remove(int tracefs_fd, const char *group, const char *name);
/*
 * Disables (at the top level) and removes all events, event probes too, of groups that begin with prefix: what a killed daemon left. Its instances have to
 * be removed before. Returns how many went; -EBUSY if one stays; -EINVAL: empty prefix.
 */
int dyn_remove_group(int tracefs_fd, const char *prefix);

/* Writes one definition to a file of tracefs: for those who make others (eprobe.c). */
int dyn_write(int tracefs_fd, const char *file, const char *definition, size_t len);

/*
 * One operand of a usdt probe on x86-64 (`-4@-20(%rbp)`) as fetch argument with its type (`-20(%bp):s32`) into out; false if
 * tracefs cannot fetch it (an index register, a symbol, a float), out is unchanged then.
 */
bool dyn_operand(const char *operand, size_t len, struct md_buf *out);

#endif
