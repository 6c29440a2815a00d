/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules on several functions of a file, `uprobe:PATH:read_*`. Each function is an event with the
 * key that a rule on it alone has, so both mean one event. Of functions with the same name each has
 * its address in the event's name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/base.h"
#include "tracer/base/probe/elf_symbol.h"
#include "tracer/base/probe/probe.h"

/* KIND:PATH:SYMBOL, EVENT_NAME_MARK and a name, EXTRA_MARK and extra data */
struct key {
	const char *text;
	size_t prefix;                  /* KIND:PATH: */
	const char *symbol, *label, *extra;     /* label NULL: none; extra: with its mark, or "" */
	size_t symbol_len, label_len;
};

static void cut_key(const char *text, struct key *k)
{
	const char *end = text + strcspn(text, (char[]){ EVENT_NAME_MARK, EXTRA_MARK, '\0' });

	*k = (struct key){ .text = text, .symbol = text, .extra = strchrnul(end, EXTRA_MARK) };
	for (const char *p = text; p < end; p++)
		if (*p == ':')
			k->symbol = p + 1;
	k->prefix = (size_t)(k->symbol - text);
	k->symbol_len = (size_t)(end - k->symbol);
	if (*end == EVENT_NAME_MARK) {
		k->label = end + 1;
		k->label_len = (size_t)(k->extra - k->label);
	}
}

static bool has_star(const struct key *k)
{
	return memchr(k->symbol, '*', k->symbol_len) &&
	       (begins_with(k->text, "uprobe:") || begins_with(k->text, "uretprobe:") ||
		begins_with(k->text, "ucall:"));
}

bool dynamic_event_is_pattern(const char *text)
{
	struct key k;

	cut_key(text, &k);
	return has_star(&k);
}

static bool skip(const char **p, size_t *left, const char *text, size_t len)
{
	if (*left < len || memcmp(*p, text, len) != 0)
		return false;
	*p += len;
	*left -= len;
	return true;
}

/* Whether the event's name is one that make_key gives. */
static bool match_label(const struct key *pattern, const struct key *k)
{
	const char *p = k->label, *ending = pattern->label ? pattern->label + 1 : "";
	size_t left = k->label_len, ending_len = pattern->label ? pattern->label_len - 1 : 0, hex;
	size_t name_len = k->symbol_len < DYN_LABEL_MAX ? k->symbol_len : DYN_LABEL_MAX;

	if (!p)
		return !pattern->label;
	if (pattern->label ? !skip(&p, &left, k->symbol, name_len)
			   : !skip(&p, &left, k->text, k->prefix + k->symbol_len))
		return false;
	if (left > ending_len && *p == '_') {
		hex = strspn(p + 1, "0123456789abcdef");
		if (hex && hex < left && left - hex - 1 == ending_len) {
			p += hex + 1;
			left -= hex + 1;
		}
	}
	return left == ending_len && !memcmp(p, ending, ending_len);
}

bool dynamic_event_match(const char *pattern, const char *key)
{
	char symbol[DYN_SYMBOL_MAX + 1], glob[DYN_SYMBOL_MAX + 1];
	struct key p, k;

	if (!strcmp(pattern, key))
		return true;
	cut_key(pattern, &p);
	if (!has_star(&p))
		return false;
	cut_key(key, &k);
	if (p.prefix != k.prefix || memcmp(p.text, k.text, p.prefix) != 0 ||
	    strcmp(p.extra, k.extra) != 0 || k.symbol_len > DYN_SYMBOL_MAX ||
	    p.symbol_len > DYN_SYMBOL_MAX)
		return false;
	memcpy(symbol, k.symbol, k.symbol_len);
	symbol[k.symbol_len] = '\0';
	memcpy(glob, p.symbol, p.symbol_len);
	glob[p.symbol_len] = '\0';
	return glob_match(glob, symbol) && match_label(&p, &k);
}

/* The key of one function. Of a call's events the label is `*_entry` or `*_exit`. */
static char *make_key(const struct key *pattern, const struct elfsym_function *f)
{
	struct md_buf key = MD_BUF_INIT;

	md_buf_put(&key, pattern->text, pattern->prefix);
	md_buf_puts(&key, f->name);
	if (pattern->label || f->shared)
		md_buf_putc(&key, EVENT_NAME_MARK);
	if (pattern->label)
		md_buf_printf(&key, "%.*s", DYN_LABEL_MAX, f->name);
	else if (f->shared)
		md_buf_printf(&key, "%.*s%s", (int)pattern->prefix, pattern->text, f->name);
	if (f->shared)
		md_buf_printf(&key, "_%llx", (unsigned long long)f->address);
	if (pattern->label)
		md_buf_put(&key, pattern->label + 1, pattern->label_len - 1);
	md_buf_puts(&key, pattern->extra);
	md_buf_str(&key);
	if (key.failed) {
		md_buf_deinit(&key);
		return NULL;
	}
	return key.data;
}

static int add_function(const struct key *pattern, int fd, const struct elfsym_function *f,
			struct btf_files *types, struct dynamic_events *out, struct tr_err *err)
{
	struct dynamic_event_of *e = &out->list[out->count++];
	int ret;

	e->event.fd = -1;
	e->key = make_key(pattern, f);
	if (!e->key)
		return tr_fail(err, -ENOMEM, "no memory for the rule's functions");
	ret = dynamic_event_parse(e->key, &e->event, err);
	if (ret)
		return ret;
	e->event.fd = fd;
	e->event.places = calloc(1, sizeof(*e->event.places));
	if (!e->event.places)
		return tr_fail(err, -ENOMEM, "no memory for the place of the probe");
	e->event.places[e->event.place_count++].offset = f->offset;
	return dynamic_event_resolve(&e->event, types, err);
}

static int expand(const struct dynamic_event *d, const char *key, struct btf_files *types,
		  struct dynamic_events *out, struct tr_err *err)
{
	struct elfsym_functions all;
	struct key pattern;
	int ret = elfsym_functions(d->fd, d->symbol, d->kind == DYN_URETPROBE, DYN_FUNCTIONS_MAX,
				   &all, err);

	if (ret)
		return ret;
	cut_key(key, &pattern);
	out->list = calloc(all.count, sizeof(*out->list));
	if (!out->list)
		ret = tr_fail(err, -ENOMEM, "no memory for the rule's functions");
	for (size_t i = 0; i < all.count && !ret; i++)
		ret = add_function(&pattern, d->fd, &all.list[i], types, out, err);
	elfsym_functions_deinit(&all);
	return ret;
}

int dynamic_events_resolve(struct dynamic_event *d, const char *key, struct btf_files *types,
			   struct dynamic_events *out, struct tr_err *err)
{
	int ret;

	*out = (struct dynamic_events){ 0 };
	if (dynamic_event_is_pattern(key)) {
		ret = expand(d, key, types, out, err);
		dynamic_event_deinit(d);
	} else {
		ret = dynamic_event_resolve(d, types, err);
		out->list = ret ? NULL : calloc(1, sizeof(*out->list));
		out->count = out->list != NULL;
		if (out->list)
			out->list[0] = (struct dynamic_event_of){ strdup(key), *d };
		else
			dynamic_event_deinit(d);
		if (!ret && (!out->list || !out->list[0].key))
			ret = tr_fail(err, -ENOMEM, "no memory for the rule");
	}
	if (ret)
		dynamic_events_deinit(out);
	return ret;
}

void dynamic_events_deinit(struct dynamic_events *e)
{
	for (size_t i = 0; i < e->count; i++) {
		free(e->list[i].key);
		dynamic_event_deinit(&e->list[i].event);
	}
	free(e->list);
	*e = (struct dynamic_events){ 0 };
}
