/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dynamic kernel events through tracefs: the rules
 *
 *   kprobe:SYMBOL[+OFF]  kretprobe:SYMBOL  uprobe:PATH:SYMBOL[+OFF]  uretprobe:PATH:SYMBOL  usdt:PATH:PROVIDER:NAME
 *
 * become definitions in kprobe_events and uprobe_events. Of a usdt probe the arguments that tracefs can fetch become fields
 * `argN`, counted from 0; of others the number is left out.
 *
 * A usdt probe may be in several places of its file. Each is an event of its own in the kernel (one event in several places is what kernels
 * get wrong: Linux 6.18 frees it while it is in use), with the same fields; that they are one event is the user's view.
 */
#ifndef TRACER_PROBE_DYNAMIC_EVENT_H
#define TRACER_PROBE_DYNAMIC_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"

enum dynamic_event_kind { DYN_KPROBE, DYN_KRETPROBE, DYN_UPROBE, DYN_URETPROBE, DYN_USDT };

#define DYN_PLACES_MAX 256      /* of one usdt probe */
#define DYN_NAME_MAX 64         /* of an event or a group in tracefs, with the NUL */

struct dynplace {
	uint64_t offset;        /* of the instruction, in the file */
	uint64_t semaphore;     /* of the counter of listeners, in the file; 0: has none */
	char *args;             /* of usdt, or NULL; owned */
};

struct dynamic_event {
	enum dynamic_event_kind kind;
	char *path;             /* NULL for kernel symbols; owned, as are the other strings */
	char *symbol;           /* with +OFF; NULL for usdt */
	char *provider, *name;  /* of usdt */
	/*
	 * The file, which the caller opens (O_RDONLY) with the rights of the user who asks, and closes; -1 after dynamic_event_parse. The
	 * kernel is given this very file, not the path again, so that nobody can put another one in its place.
	 */
	int fd;
	struct dynplace *places;        /* by dynamic_event_resolve; none for kernel symbols */
	size_t place_count;
};

/* True if a rule that begins here is one of these. */
bool dynamic_event_is_rule(const char *text);
/* Parses a rule; -EINVAL and a sentence with text and column; -ENOMEM. dynamic_event_deinit afterwards, also of a zeroed one. */
int dynamic_event_parse(const char *text, struct dynamic_event *out, struct tr_err *err);
void dynamic_event_deinit(struct dynamic_event *d);
bool dynamic_event_has_file(const struct dynamic_event *d);
/* Finds the places in the open file, which may take a while. Errors as probe/elf_symbol.h; -ENOENT: no such probe; -EFBIG. */
int dynamic_event_resolve(struct dynamic_event *d, struct tr_err *err);

/* The definition for tracefs of one place (0 for kernel symbols), a line. `event` is the name. -EINVAL, -ENOMEM. */
int dynamic_event_define(const struct dynamic_event *d, size_t place, const char *group,
			 const char *event, struct md_buf *out, struct tr_err *err);
/*
 * Makes the events in tracefs (a descriptor of its directory) that are not there yet, all or none; their names in the group go to
 * names, separated by NUL. A name is the same for the same rule, file and place, whoever makes it. The group is made of letters,
 * digits and _. -EOPNOTSUPP: this kernel has no such probes; -ENOENT: no such symbol; -EINVAL: none is possible there; -EACCES, -EPERM.
 */
int dynamic_event_create(int tracefs_fd, const char *group, const struct dynamic_event *d,
			 struct md_buf *names, struct tr_err *err);
/*
 * Why the kernel refused a probe in itself with that code, better than dynamic_event_create says it, and perhaps with another code: this may take long.
 * Anything else stays as it is.
 */
int dynamic_event_explain(const struct dynamic_event *d, int code, struct tr_err *err);
/* True if an event of that name was made for the rule, perhaps of another file that was there then. */
bool dynamic_event_made(const struct dynamic_event *d, const char *name);
/* The names of all dynamic events of a group, separated by NUL. */
int dynamic_event_list(int tracefs_fd, const char *group, struct md_buf *names);
/* Lines `group:name id` of all dynamic events but those of groups that begin with `except`. */
int dynamic_event_ids(int tracefs_fd, const char *except, struct md_buf *out);
/*
 * -EBUSY: it is enabled somewhere, in any instance; -ENOENT. Disable it first, and see to it that nobody else enables it meanwhile: not every
 * kernel notices by itself that an event is in use.
 */
int dynamic_event_remove(int tracefs_fd, const char *group, const char *name);
/*
 * Disables (at the top level) and removes all events, event probes too, of groups that begin with prefix: what a killed daemon left. Its instances have to
 * be removed before. Returns how many went; -EBUSY if one stays; -EINVAL: empty prefix.
 */
int dynamic_event_remove_group(int tracefs_fd, const char *prefix);

/* Writes one definition to a file of tracefs: for those who make others (backend/event_probe.c). */
int dynamic_event_write(int tracefs_fd, const char *file, const char *definition, size_t len);

/*
 * One operand of a usdt probe on x86-64 (`-4@-20(%rbp)`) as fetch argument with its type (`-20(%bp):s32`) into out; false if
 * tracefs cannot fetch it (an index register, a symbol, a float), out is unchanged then.
 */
bool dynamic_event_operand(const char *operand, size_t len, struct md_buf *out);

#endif
