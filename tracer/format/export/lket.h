/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LKET's forms of events. Private to the room, but for lket_export_open, whose files snapshot/
 * shows as those of a trace image.
 *
 * export/lket/stpd_cpuN, in the byte order of this machine:
 *
 *	header  u32 magic, i16 length of the rest (9), u8 major, minor, endian, timing, bits,
 *	        i32 timebase
 *	event   i16 total_size, i16 sys_size: the bytes after these two numbers, and those of them
 *	        up to the end of the system fields; i64 time; i64 tid << 32 | pid;
 *	        i64 ppid << 32 | group << 24 | hook << 16 | cpu << 8; system fields; user fields
 *
 * A time is in nanoseconds since the epoch (timing 3). Before all others are the events of group 1
 * that describe each kind of event: i8 group, i8 hook, then hook 5: its name; hook 1 and 3: types
 * and names of the system and user fields, with colons between them; each a string with a NUL.
 */
#ifndef TRACER_EXPORT_LKET_H
#define TRACER_EXPORT_LKET_H

#include "tracer/format/export/export.h"
#include "tracer/format/export/files.h"
#include "tracer/base/rule/hook.h"

/* ---- lket.c ---- */

/* How the session records each hook (rule/hook.h): what decides which hook an event stands for. */
struct lket_hooks {
	struct lket_hook_use *list;     /* by hook; owned */
};

/* Takes tracer.lock. 0 or -ENOMEM. Free it with lket_hooks_deinit in both cases. */
int lket_hooks_init(struct lket_hooks *u, struct session *s);
void lket_hooks_deinit(struct lket_hooks *u);
/* The hook that stands for the event, and which of its alternatives; NULL. */
const struct hook *lket_find_hook(const struct lket_hooks *u, const struct md_event *class,
				  int *way);

/* The columns that LKET's database has for each event of a hook, with their types of SQL. */
extern const char *const lket_columns[][2];
#define LKET_COLUMNS 7u

/* Where their values are: of events with two classes. */
struct lket_common {
	unsigned int group, hook;       /* 0: no hook stands for the event */
	int tid, pid, ppid;             /* contexts; -1: none */
};

/* When threads made the entries of their system calls and functions. All zero at first. */
struct lket_entries {
	struct lket_entry *list;        /* owned */
	struct hash_table table;        /* of `list` */
};

void lket_entries_deinit(struct lket_entries *e);

struct lket_common lket_common_of(const struct lket_hooks *u, const struct row *r);
/* Appends the values with a comma before each. False: no memory. */
bool lket_common_put(const struct lket_common *c, const struct row *r, struct lket_entries *e,
		     struct md_buf *out);

/* ---- lket_files.c ---- */

/* Makes all files. 0, -ENOMEM, -EDQUOT, -EOVERFLOW: more kinds of events than LKET has numbers. */
int lket_export_open(struct session *s, struct export_files **out);

/* ---- lket_kind.c ---- */

struct lket_column {
	char *name;             /* without colons; owned */
	const char *type;       /* LKET's: INT8 … INT64, UINT8 … UINT64, STRING */
	bool filled_signed;     /* a signed value of some event fills it */
};

/* What has one number in LKET: a hook, or the events of one name without a hook. */
struct lket_kind {
	uint8_t group, hook;
	char *name;             /* of the hook or of the event; owned */
	struct lket_column *columns;    /* owned */
	uint32_t system, count; /* the first ones are LKET's of the hook */
};

struct lket_kinds {
	struct lket_hooks hooks;
	struct lket_kind **list;        /* owned */
	size_t count;
	unsigned int next;      /* group << 8 | hook of the last kind without a number; 0: none */
};

/* What fills a column of the row's event. */
struct lket_source {
	int32_t from;           /* a context, or a field after them; -1: none */
	enum hook_value value;
	uint64_t number;
};

/* Where the values of events with two classes are: the row's state. */
struct lket_shape {
	const struct lket_kind *kind;
	int tid, pid, ppid;     /* contexts; -1: none */
	const char *event;      /* the event's name, without `syscall_entry_` and the like */
	const bool *shown;      /* by field: it fills a system column as it is */
	uint32_t count;
	struct lket_source from[];      /* by column */
};

/* A value for a column: an integer, or text. */
struct lket_cell {
	const struct md_value *value;   /* as the event has it; NULL: `text` */
	const char *text;               /* NULL: the number */
	size_t len;
	uint64_t number;
};

/* False: the row has no value for the column. */
bool lket_cell_of(const struct lket_shape *s, const struct row *r, uint32_t column,
		  struct lket_cell *out);
/* The context that has one of two names; -1: none. */
int lket_find_context(const struct row *r, const char *kernel, const char *user);
/* The shape of the row, made if need be. NULL: *err says why. */
const struct lket_shape *lket_shape_of(struct lket_kinds *k, const struct row *r, int *err);
/* Bytes of a number; 0: a string. */
unsigned int lket_type_size(const char *type);
void lket_kinds_deinit(struct lket_kinds *k);

#endif
