/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings as data. An object (session, channel, map) has one table with a row for each setting. A
 * row names the member of the object and its limits; the functions below show, parse, save,
 * restore and exchange any of them.
 *
 * The rows of sessions and channels are in files *_settings.def, as lines SETTING(name, kind,
 * member of the object, members of the row); a session's have a help before the last. The object,
 * the table, the files of the tree and the list in README are made of the lines.
 *
 * Locks: the caller holds the object's locks.
 */
#ifndef TRACER_BASE_SETTING_H
#define TRACER_BASE_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/buf.h"
#include "tracer/base/err.h"

enum setting_kind {
	SETTING_FLAG,           /* bool: 0 or 1 */
	SETTING_CHOICE,         /* the member is the index of a word */
	SETTING_SIZE,           /* bytes */
	SETTING_TIME,           /* us; UINT64_MAX is `inf`; with words, these mean 0 and `inf` */
	SETTING_COUNT,
	/* Those have functions of their own in place of a member: */
	SETTING_PATH,           /* or nothing */
	SETTING_PLACE,          /* a path, the address of a relay, or nothing */
	SETTING_LIST,
};

/* What the member of a setting is in its object. */
#define SETTING_TYPE_FLAG bool
#define SETTING_TYPE_CHOICE uint32_t
#define SETTING_TYPE_SIZE uint64_t
#define SETTING_TYPE_TIME uint64_t
#define SETTING_TYPE_COUNT uint32_t

struct setting {
	const char *name;       /* NULL: the table ends */
	enum setting_kind kind;
	size_t offset, width;   /* of the member, in bytes; width 0: functions show and store it */
	/*
	 * Ends with NULL. Of a choice; "": no word has this index. Of a time: the words for 0 and
	 * UINT64_MAX; `below` is the sentence for all that is neither a word nor a time.
	 */
	const char *const *words;
	/* Other words for the same, in the same order; NULL: none. */
	const char *const *also;
	/*
	 * A number other than 0 is from least to most; most 0: there is no limit. `below` and
	 * `above` are the sentences for others; NULL: "must be from LEAST to MOST".
	 */
	uint64_t least, most;
	const char *below, *above;
	bool nonzero;           /* 0 is above the limit, too: it does not mean "off" */
	bool power;             /* rounded up to a power of two */
	bool live;              /* can change after the first start */
	/* May change *v, which was parsed from value. 0 or -errno with a sentence. May be NULL. */
	int (*check)(const void *object, const char *value, uint64_t *v, struct tr_err *err);
	void (*changed)(void *object);  /* after a store; may be NULL */
	/* In place of a member: text that store() takes. `save` is for `config`; NULL: show. */
	void (*show)(const void *object, struct md_buf *out);
	void (*save)(const void *object, struct md_buf *out);
	/* Without the object's locks. A failure changes nothing. */
	int (*store)(void *object, const char *text, bool replace, struct tr_err *err);
};

#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }
/* The member of a row, in a table of settings of this struct */
#define SETTING_MEMBER(type, member) \
	.offset = offsetof(struct type, member), .width = sizeof(((struct type *)0)->member)

/* NULL: there is none */
const struct setting *setting_find(const struct setting *table, const char *name);
/* One line, in a form that setting_parse accepts. */
void setting_show(const struct setting *row, const void *object, struct md_buf *out);
/* Checks the kind and the limits only. 0, or -EINVAL with a sentence. */
int setting_parse(const struct setting *row, const char *value, uint64_t *v, struct tr_err *err);
void setting_set(const struct setting *row, void *object, uint64_t v);

/* Lines `set NAME VALUE` of all settings of the table that are members. */
void settings_save(const struct setting *table, const void *object, struct md_buf *out);
/* What follows `set` in such a line. An invalid line changes nothing. */
void settings_restore(const struct setting *table, void *object, const char *line);
void settings_exchange(const struct setting *table, void *a, void *b);

/* A line of an earlier version: a key, and what its numbers were. */
struct former_line {
	const char *key;        /* NULL: the table ends */
	const char *settings[4];        /* ends with NULL */
};
/* False: the key is in no row. */
bool settings_restore_former(const struct former_line *lines, const struct setting *table,
			     void *object, const char *key, const char *numbers);

#endif
