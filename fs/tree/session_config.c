/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/base/words.h"
#include "fs/config/inifile.h"
#include "fs/tree/rows.h"
#include "fs/tree/session_config.h"
#include "tracer/base/base.h"
#include "tracer/face/tracer.h"

#define PLACE_DEPTH 8
#define KEYS_MOST 64

/*
 * The sections. The rows of a channel or a map find it by the directory with its name above them.
 */
enum part { WHOLE, CHANNEL, MAP };
static const struct section {
	const char *name;
	bool of_domain, kernel;
	enum part part;
} sections[] = {
	{ "session", false, false, WHOLE },
	{ "user", true, false, WHOLE },
	{ "user channel", true, false, CHANNEL },
	{ "user map", true, false, MAP },
	{ "kernel", true, true, WHOLE },
	{ "kernel channel", true, true, CHANNEL },
	{ "kernel map", true, true, MAP },
};

#define SECTIONS (sizeof(sections) / sizeof(sections[0]))

/*
 * ---- places: nodes for rows that the kernel has not looked up ----
 */

struct place {
	struct node *nodes[PLACE_DEPTH];
	size_t depth;
};

static struct node *descend(struct place *p, struct session *s, const struct tree_row *row,
			    const char *name)
{
	struct node *n =
		p->depth < PLACE_DEPTH && row ? calloc(1, sizeof(*n) + strlen(name) + 1) : NULL;

	if (!n)
		return NULL;
	n->parent = p->depth ? p->nodes[p->depth - 1] : NULL;
	n->row = row;
	n->session = s;
	strcpy(n->name, name);
	p->nodes[p->depth++] = n;
	return n;
}

static void leave(struct place *p, size_t depth)
{
	while (p->depth > depth)
		free(p->nodes[--p->depth]);
}

static const struct tree_row *row_of(const struct section *sec)
{
	if (!sec->of_domain)
		return &session_row;
	if (sec->part == MAP)
		return &map_row;
	if (sec->part == CHANNEL)
		return sec->kernel ? &kernel_channel_row : &channel_row;
	return sec->kernel ? &kernel_row : &user_row;
}

/* The directory that a section is about. channel: of that name. -ENOMEM */
static int enter(struct place *p, const struct section *sec, struct session *s, const char *channel)
{
	leave(p, 0);
	if (!descend(p, s, &session_row, ""))
		return -ENOMEM;
	if (sec->of_domain && !descend(p, s, sec->kernel ? &kernel_row : &user_row, ""))
		return -ENOMEM;
	return !sec->part || descend(p, s, row_of(sec), channel) ? 0 : -ENOMEM;
}

/* ---- writing ---- */

/* `[overwrite] discard` means overwrite. */
static void put_chosen(const char *text, struct md_buf *out)
{
	const char *from = strchr(text, '['), *to = from ? strchr(from, ']') : NULL;

	if (to)
		md_buf_put(out, from + 1, (size_t)(to - from) - 1);
	md_buf_putc(out, '\n');
}

static int show_setting(const struct node *n, const struct who *who, const char *prefix,
			struct md_buf *out)
{
	const struct tree_row *r = n->row;
	struct md_buf text = MD_BUF_INIT;
	const char *line;
	int rc = r->save ? r->save(n, who, &text) : r->show(n, who, &text);

	line = md_buf_str(&text);
	do {
		size_t len = strcspn(line, "\n");

		md_buf_printf(out, "%s%s =%s", prefix, r->name, len ? " " : "");
		if (r->how == STORE_CHOICE) {
			put_chosen(line, out);
			break;
		}
		md_buf_put(out, line, len);
		md_buf_putc(out, '\n');
		line += len + (line[len] == '\n');
	} while (*line);
	out->failed = out->failed || text.failed;
	md_buf_deinit(&text);
	return rc;
}

/* All settings of the directory where p is. */
static int show_settings(struct place *p, const struct who *who, const char *prefix,
			 struct md_buf *out)
{
	const struct node *dir = p->nodes[p->depth - 1];
	size_t depth = p->depth;
	char below[64];
	int rc = 0;

	for (const struct tree_row *r = dir->row->rows; r && r->mode && !rc; r++) {
		const struct node *n = r->setting ? descend(p, dir->session, r, r->name) : dir;

		if (!n)
			rc = -ENOMEM;
		if (!n || !r->setting)
			continue;
		if (S_ISDIR(r->mode)) {
			snprintf(below, sizeof(below), "%s%s/", prefix, r->name);
			rc = show_settings(p, who, below, out);
		} else {
			rc = show_setting(n, who, prefix, out);
		}
		leave(p, depth);
	}
	return rc;
}

static int show_section(const struct section *sec, struct session *s, const char *channel,
			const struct who *who, struct md_buf *out)
{
	struct session_info info;
	struct place p = { 0 };
	int rc = enter(&p, sec, s, channel);

	md_buf_printf(out, "%s[%s]\n", out->len ? "\n" : "", sec->name);
	if (channel)
		md_buf_printf(out, "name = %s\n", channel);
	/* Not `start`: a copy of the session must not start by itself. */
	session_info(s, &info);
	if (!sec->of_domain && info.active)
		md_buf_puts(out, CONFIG_ACTIVE " = yes\n");
	if (!rc)
		rc = show_settings(&p, who, "", out);
	leave(&p, 0);
	return rc;
}

int config_show(const struct node *n, const struct who *who, struct md_buf *out)
{
	int rc = 0;

	for (size_t i = 0; i < SECTIONS && !rc; i++) {
		const struct section *sec = &sections[i];
		struct md_buf names = MD_BUF_INIT;

		if (sec->kernel && !session_kernel(n->session))
			continue;
		if (!sec->part)
			rc = show_section(sec, n->session, NULL, who, out);
		else
			(sec->part == MAP ? maps_list : channels_list)(
				n->session, sec->kernel ? DOMAIN_KERNEL : DOMAIN_USER, &names);
		for (const char *name = names_next(&names, NULL); name && !rc;
		     name = names_next(&names, name)) {
			size_t before = out->len;

			rc = show_section(sec, n->session, name, who, out);
			if (rc == -ENOENT) {    /* it was removed meanwhile */
				out->len = before;
				rc = 0;
			}
		}
		md_buf_deinit(&names);
	}
	return rc;
}

/* ---- reading ---- */

struct config {
	struct session *session, *draft;
	struct who who;
	bool start;
	const struct section *section;
	/* the line where it begins; 0: no section was read yet */
	int section_line;
	char channel[129];              /* of the section; "": not named yet */

	/* Items of one list that follow each other are stored together. */
	struct place place;             /* of the list; depth 0: there is none */
	struct md_buf lines, numbers;   /* its text; int each: where in the file a line stands */
	struct md_buf seen;             /* lists that were stored: what comes now is added */
};

struct config *config_begin(struct session *s, const struct who *who)
{
	struct config *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->session = s;
	c->who = *who;
	c->draft = session_draft(s);
	if (c->draft)
		return c;
	free(c);
	return NULL;
}

/*
 * A saved session has all settings of [kernel], which a user who may not trace the kernel cannot
 * write. True if the setting has the collected value already, so that there is nothing to write.
 */
static bool needs_no_right(struct config *c, const struct node *n)
{
	struct md_buf now = MD_BUF_INIT;
	bool same = c->section->kernel && !c->section->part && !n->row->show(n, &c->who, &now) &&
		    !strcmp(md_buf_str(&now), md_buf_str(&c->lines));

	md_buf_deinit(&now);
	return same;
}

/* Stores the collected list. err->line becomes that of the file. */
static int store_list(struct config *c, struct tr_err *err)
{
	struct md_buf key = MD_BUF_INIT;
	const struct node *n;
	const int *numbers = (const int *)(const void *)c->numbers.data;
	int rc;

	if (!c->place.depth)
		return 0;
	n = c->place.nodes[c->place.depth - 1];
	md_buf_printf(&key, "%s/%s/%s", c->section->name, c->channel, n->row->name);
	if (c->lines.failed || c->numbers.failed || c->seen.failed || key.failed)
		rc = tr_fail(err, -ENOMEM, "out of memory");
	else if (needs_no_right(c, n))
		rc = 0;
	else
		rc = n->row->store(n, &c->who, md_buf_str(&c->lines),
				   !names_have(&c->seen, md_buf_str(&key)), err);
	if (rc < 0 && err->line > 0 && (size_t)err->line <= c->numbers.len / sizeof(int))
		err->line = numbers[err->line - 1];
	else if (rc < 0 && c->numbers.len)
		err->line = numbers[0];
	md_buf_put(&c->seen, md_buf_str(&key), key.len + 1);
	md_buf_deinit(&key);
	leave(&c->place, 0);
	md_buf_reset(&c->lines);
	md_buf_reset(&c->numbers);
	return rc < 0 ? rc : 0;
}

static int no_setting(const struct config *c, const char *key, struct tr_err *err)
{
	const struct tree_row *rows = row_of(c->section)->rows;
	const char *names[KEYS_MOST], *near;
	size_t n = 0;

	for (; rows->mode && n < KEYS_MOST; rows++)
		if (rows->setting && S_ISREG(rows->mode))
			names[n++] = rows->name;
	if (c->section->of_domain && !c->section->part &&
	    (!strcmp(key, "events") || !strcmp(key, "contexts")))
		return tr_fail_at(err, -EINVAL, key, 0,
				  "no setting of [%s]: write it below [%s channel] and name = "
				  "channel0",
				  c->section->name, c->section->name);
	near = nearest(key, strlen(key), names, n);
	return tr_fail_at(err, -EINVAL, key, 0,
			  near ? "no setting of [%s]; did you mean '%s'?" : "no setting of [%s]",
			  c->section->name, near);
}

/* Goes to the setting `key` below where p is: "subbuf_size", "track/vpid". */
static int find_setting(const struct config *c, struct place *p, const char *key,
			struct tr_err *err)
{
	const struct tree_row *r = p->nodes[p->depth - 1]->row->rows;
	size_t n = strcspn(key, "/");

	while (r && r->mode &&
	       (!r->setting || strlen(r->name) != n || strncmp(r->name, key, n) ||
		S_ISDIR(r->mode) != (key[n] == '/')))
		r++;
	if (!r || !r->mode)
		return no_setting(c, key, err);
	if (!descend(p, c->draft, r, r->name))
		return tr_fail(err, -ENOMEM, "out of memory");
	return key[n] ? find_setting(c, p, key + n + 1, err) : 0;
}

static int begin_part(struct config *c, const char *name, struct tr_err *err)
{
	struct place p = { 0 };
	int rc = enter(&p, c->section, c->draft, "");

	if (!rc)
		rc = words_name(name, sizeof(c->channel) - 1, err);
	if (!rc)
		rc = domain_refuses(p.nodes[p.depth - 1], &c->who, err);
	if (!rc)
		rc = (c->section->part == MAP ? map_create : channel_create)(
			c->draft, c->section->kernel ? DOMAIN_KERNEL : DOMAIN_USER, name, err);
	leave(&p, 0);
	if (!rc)
		strcpy(c->channel, name);
	return rc;
}

static int store_value(const struct node *n, const struct who *who, const char *value,
		       struct tr_err *err)
{
	bool lines = n->row->how == STORE_LINES || n->row->how == STORE_PAIR;
	char *text = strdup(value), *word = text;
	int line = 0, rc = text ? 0 : tr_fail(err, -ENOMEM, "out of memory");

	if (!rc && !lines)
		rc = words_value(text, &word, &line, err);
	if (!rc)
		rc = n->row->store(n, who, word, false, err);
	if (rc < 0 && !err->text[0])
		strncpy(err->text, value, sizeof(err->text) - 1);
	free(text);
	err->line = 0;
	return rc < 0 ? rc : 0;
}

static int read_yes(const char *value, bool *yes, struct tr_err *err)
{
	*yes = !strcmp(value, "yes") || !strcmp(value, "1");
	if (!*yes && strcmp(value, "no") && strcmp(value, "0"))
		return tr_fail_at(err, -EINVAL, value, 0, "must be yes or no");
	return 0;
}

static const struct section *find_section(const char *name)
{
	for (size_t i = 0; i < SECTIONS; i++)
		if (!strcmp(sections[i].name, name))
			return &sections[i];
	return NULL;
}

static int unnamed_part(const struct config *c, struct tr_err *err)
{
	err->line = c->section_line;
	return tr_fail_at(err, -EINVAL, c->section->name, -1,
			  "a section of a channel or a map begins with its name: name = channel0");
}

/*
 * (A channel's section at the end of the text may have no name yet: a writer of several pieces has
 * not written it.)
 */
static int begin_section(struct config *c, int line, const char *name, struct tr_err *err)
{
	int rc = store_list(c, err);

	if (!rc && c->section && c->section->part && !c->channel[0])
		rc = unnamed_part(c, err);
	if (rc)
		return rc;
	c->section = find_section(name);
	c->section_line = line;
	c->channel[0] = 0;
	if (c->section)
		return 0;
	return tr_fail_at(err, -EINVAL, name, 0,
			  "%s: there are session, user, user channel, user map, kernel, kernel "
			  "channel and kernel map",
			  *name ? "no such section" : "a [SECTION] is missing before this line");
}

/* One more item of a list. */
static int add_line(struct config *c, struct place *p, int number, const char *value,
		    struct tr_err *err)
{
	const struct node *n = p->nodes[p->depth - 1];
	int rc = 0;

	if (c->place.depth && c->place.nodes[c->place.depth - 1]->row != n->row)
		rc = store_list(c, err);
	if (!c->place.depth) {
		c->place = *p;
		p->depth = 0;
	}
	/* `key =` alone is the empty list. */
	if (!*value)
		return rc;
	md_buf_puts(&c->lines, value);
	md_buf_putc(&c->lines, '\n');
	md_buf_put(&c->numbers, &number, sizeof(number));
	return rc;
}

int config_item(void *config, int line, const char *section, const char *key, const char *value,
		struct tr_err *err)
{
	struct config *c = config;
	struct place p = { 0 };
	bool was_active;        /* only presets.c cares */
	int rc = 0;

	/* A value before any section, or what presets.c read before the session had its name. */
	if (!key || !c->section)
		rc = begin_section(c, line, section, err);
	if (rc || !key)
		return rc;
	if (c->section->part && !strcmp(key, "name")) {
		rc = store_list(c, err);
		if (!rc && c->channel[0])
			rc = tr_fail_at(err, -EINVAL, value, 0,
					"this section has its name already: begin another [%s]",
					c->section->name);
		return rc ? rc : begin_part(c, value, err);
	}
	if (!c->section->of_domain && !strcmp(key, "start"))
		return read_yes(value, &c->start, err);
	if (!c->section->of_domain && !strcmp(key, CONFIG_ACTIVE))
		return read_yes(value, &was_active, err);
	if (c->section->part && !c->channel[0])
		rc = unnamed_part(c, err);
	if (!rc && enter(&p, c->section, c->draft, c->channel))
		rc = tr_fail(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = find_setting(c, &p, key, err);
	if (!rc && p.nodes[p.depth - 1]->row->how == STORE_LIST) {
		rc = add_line(c, &p, line, value, err);
	} else if (!rc) {
		rc = store_list(c, err);
		if (!rc)
			rc = store_value(p.nodes[p.depth - 1], &c->who, value, err);
	}
	leave(&p, 0);
	return rc;
}

int config_end(struct config *c, int rc, struct tr_err *err)
{
	if (!rc)
		rc = store_list(c, err);
	if (!rc)
		rc = session_become(c->session, c->draft, c->start, err);
	leave(&c->place, 0);
	md_buf_deinit(&c->lines);
	md_buf_deinit(&c->numbers);
	md_buf_deinit(&c->seen);
	session_draft_drop(c->draft);
	free(c);
	return rc;
}

int config_store(const struct node *n, const struct who *who, const char *text, bool replace,
		 struct tr_err *err)
{
	struct config *c = config_begin(n->session, who);
	int rc;

	(void)replace;
	if (!c)
		return tr_fail(err, -ENOMEM, "out of memory");
	rc = inifile_read(text, config_item, c, err);
	return config_end(c, rc, err);
}
