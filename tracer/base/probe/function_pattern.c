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

/* The symbol of KIND:PATH:SYMBOL. */
static const char *find_symbol(const char *place)
{
	const char *colon = strrchr(place, ':');

	return colon ? colon + 1 : place;
}

bool dynamic_event_is_pattern(const char *place)
{
	return strchr(find_symbol(place), '*') &&
	       (begins_with(place, "uprobe:") || begins_with(place, "uretprobe:") ||
		begins_with(place, "ucall:"));
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
static bool match_label(const struct event_key *pattern, const struct event_key *k)
{
	const char *p = k->label, *symbol = find_symbol(k->place),
		   *ending = pattern->label ? pattern->label + 1 : "";
	size_t left = p ? strlen(p) : 0, ending_len = strlen(ending), hex;

	if (!p)
		return !pattern->label;
	if (pattern->label ? !skip(&p, &left, symbol, strnlen(symbol, DYN_LABEL_MAX))
			   : !skip(&p, &left, k->place, strlen(k->place)))
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

bool dynamic_event_match(const struct event_key *pattern, const struct event_key *key)
{
	const char *glob = find_symbol(pattern->place), *symbol = find_symbol(key->place);
	size_t prefix = (size_t)(glob - pattern->place);

	if (!event_key_compare(pattern, key))
		return true;
	return dynamic_event_is_pattern(pattern->place) &&
	       prefix == (size_t)(symbol - key->place) &&
	       !memcmp(pattern->place, key->place, prefix) &&
	       !extra_compare(&pattern->extra, &key->extra) && glob_match(glob, symbol) &&
	       match_label(pattern, key);
}

/* The key of one function. Of a call's events the label is `*_entry` or `*_exit`. */
static int make_key(const struct event_key *pattern, const struct elfsym_function *f,
		    struct event_key *out)
{
	int prefix = (int)(find_symbol(pattern->place) - pattern->place);
	struct md_buf place = MD_BUF_INIT, label = MD_BUF_INIT;

	md_buf_printf(&place, "%.*s%s", prefix, pattern->place, f->name);
	if (pattern->label)
		md_buf_printf(&label, "%.*s", DYN_LABEL_MAX, f->name);
	else if (f->shared)
		md_buf_puts(&label, md_buf_str(&place));
	if (f->shared)
		md_buf_printf(&label, "_%llx", (unsigned long long)f->address);
	if (pattern->label)
		md_buf_puts(&label, pattern->label + 1);
	md_buf_str(&place);
	*out = (struct event_key){ .place = place.data };
	if (label.len) {
		md_buf_str(&label);
		out->label = label.data;
	}
	if (!place.failed && !label.failed && !extra_copy(&pattern->extra, &out->extra))
		return 0;
	event_key_deinit(out);
	return -ENOMEM;
}

static int add_function(const struct event_key *pattern, int fd, const struct elfsym_function *f,
			struct btf_files *types, struct dynamic_events *out, struct tr_err *err)
{
	struct dynamic_event_of *e = &out->list[out->count++];
	int ret;

	e->event.fd = -1;
	if (make_key(pattern, f, &e->key))
		return tr_fail(err, -ENOMEM, "no memory for the rule's functions");
	ret = dynamic_event_make(&e->key, &e->event, err);
	if (ret)
		return ret;
	e->event.fd = fd;
	e->event.places = calloc(1, sizeof(*e->event.places));
	if (!e->event.places)
		return tr_fail(err, -ENOMEM, "no memory for the place of the probe");
	e->event.places[e->event.place_count++].offset = f->offset;
	return dynamic_event_resolve(&e->event, types, err);
}

static int expand(const struct dynamic_event *d, const struct event_key *key,
		  struct btf_files *types, struct dynamic_events *out, struct tr_err *err)
{
	struct elfsym_functions all;
	int ret = elfsym_functions(d->fd, d->symbol, d->kind == DYN_URETPROBE, DYN_FUNCTIONS_MAX,
				   &all, err);

	if (ret)
		return ret;
	out->list = calloc(all.count, sizeof(*out->list));
	if (!out->list)
		ret = tr_fail(err, -ENOMEM, "no memory for the rule's functions");
	for (size_t i = 0; i < all.count && !ret; i++)
		ret = add_function(key, d->fd, &all.list[i], types, out, err);
	elfsym_functions_deinit(&all);
	return ret;
}

int dynamic_events_resolve(struct dynamic_event *d, const struct event_key *key,
			   struct btf_files *types, struct dynamic_events *out,
			   struct tr_err *err)
{
	int ret;

	*out = (struct dynamic_events){ 0 };
	if (dynamic_event_is_pattern(key->place)) {
		ret = expand(d, key, types, out, err);
		dynamic_event_deinit(d);
	} else {
		ret = dynamic_event_resolve(d, types, err);
		out->list = ret ? NULL : calloc(1, sizeof(*out->list));
		out->count = out->list != NULL;
		if (out->list)
			out->list[0].event = *d;
		else
			dynamic_event_deinit(d);
		if (!ret && (!out->list || event_key_copy(key, &out->list[0].key)))
			ret = tr_fail(err, -ENOMEM, "no memory for the rule");
	}
	if (ret)
		dynamic_events_deinit(out);
	return ret;
}

void dynamic_events_deinit(struct dynamic_events *e)
{
	for (size_t i = 0; i < e->count; i++) {
		event_key_deinit(&e->list[i].key);
		dynamic_event_deinit(&e->list[i].event);
	}
	free(e->list);
	*e = (struct dynamic_events){ 0 };
}
