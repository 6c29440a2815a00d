/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules of dynamic kernel events, and their definitions for tracefs. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/base/probe/btf_files.h"
#include "tracer/base/probe/probe.h"
#include "tracer/base/probe/elf_symbol.h"
#include "tracer/base/probe/event_field.h"
#include "tracer/base/base.h"
#include "tracer/base/lexer.h"

enum { ARGS_MAX = 32 };

static const struct {
	const char *word;
	size_t len;
	enum dynamic_event_kind kind;
} words[] = {
	{ "kprobe:", 7, DYN_KPROBE }, { "kretprobe:", 10, DYN_KRETPROBE },
	{ "uprobe:", 7, DYN_UPROBE }, { "uretprobe:", 10, DYN_URETPROBE },
	{ "usdt:", 5, DYN_USDT },
	{ "kcall:", DYN_CALL_LEN, DYN_KRETPROBE }, { "ucall:", DYN_CALL_LEN, DYN_URETPROBE },
};

/* The index in words; -1: none. */
static int find_word(const char *text)
{
	for (int i = 0; i < (int)(sizeof(words) / sizeof(words[0])); i++)
		if (!strncmp(text, words[i].word, words[i].len))
			return i;
	return -1;
}

bool dynamic_event_is_call(const char *text)
{
	return !strncmp(text, "kcall:", DYN_CALL_LEN) || !strncmp(text, "ucall:", DYN_CALL_LEN);
}

bool dynamic_event_is_rule(const char *text)
{
	return find_word(text) >= 0;
}

bool event_key_is_probe(const struct event_key *k)
{
	return k->extra.count || dynamic_event_is_rule(k->place);
}

bool dynamic_event_has_file(const struct dynamic_event *d)
{
	return d->path != NULL;
}

bool dynamic_event_has_record(const struct dynamic_event *d)
{
	return d->kind == DYN_EVENT || d->kind == DYN_ARGUMENTS;
}

void dynamic_event_deinit(struct dynamic_event *d)
{
	for (size_t i = 0; i < d->place_count; i++)
		free(d->places[i].args);
	free(d->places);
	free(d->path);
	free(d->symbol);
	free(d->provider);
	free(d->name);
	free(d->label);
	free(d->format);
	extra_deinit(&d->extra);
	memset(d, 0, sizeof(*d));
	d->fd = -1;
}

static int fail_at(const struct scan *s, const char *where, const char *why)
{
	return scan_fail(s, (size_t)(where - s->line), "%s", why);
}

/* The last colon, or NULL. */
static const char *find_last_colon(const char *begin, const char *end)
{
	while (end > begin)
		if (*--end == ':')
			return end;
	return NULL;
}

/*
 * Symbols of C, C++ and Rust, with compilers' suffixes and versions. Rejects bytes with a meaning
 * for tracefs, except the + of an offset.
 */
static int parse_symbol(const struct scan *s, bool is_kernel, bool is_return,
			struct dynamic_event *d)
{
	const char *p = s->line + s->at, *end = p + strlen(p), *q;
	bool many = !is_kernel && strchr(p, '*');
	const char *more = is_kernel ? "_.$:" : many ? "_.$*" : "_.$@";

	if (p == end)
		return fail_at(s, p, "a symbol is missing");
	if (end - p > DYN_SYMBOL_MAX)
		return fail_at(s, p, "the symbol's name is too long");
	for (q = p; q < end && *q != '+'; q++)
		if (!isalnum((unsigned char)*q) && !strchr(more, *q))
			return fail_at(s, q,
				       is_kernel && *q == '*'
					       ? "a symbol has letters, digits, '_', '.' and '$' "
						 "only; rules function:NAME take '*'"
				       : many ? "a pattern of functions has letters, digits, '_', "
						"'.', '$' and '*' only"
					      : "a symbol has letters, digits, '_', '.' and '$' "
						"only");
	if (q == p)
		return fail_at(s, p, "a symbol is missing before '+'");
	if (q < end && many)
		return fail_at(s, q, "a pattern of functions has no offset");
	if (q < end && is_return)
		return fail_at(s, q, "the return of a function has no offset");
	if (q < end) {
		bool hex = end - q > 3 && q[1] == '0' && q[2] == 'x';
		const char *o = q + 1 + 2 * hex;

		if (o == end || end - o > 16)
			return fail_at(s, q, "an offset is a number of bytes: +16 or +0x10");
		for (; o < end; o++)
			if (hex ? !isxdigit((unsigned char)*o) : !isdigit((unsigned char)*o))
				return fail_at(s, o,
					       "an offset is a number of bytes: +16 or +0x10");
	}
	d->symbol = strndup(p, (size_t)(end - p));
	return d->symbol ? 0 : -ENOMEM;
}

static int parse_path(const struct scan *s, const char *end, struct dynamic_event *d)
{
	const char *begin = s->line + s->at;
	const unsigned char *p = (const unsigned char *)begin, *stop = (const unsigned char *)end;

	if (begin == end || *begin != '/')
		return fail_at(s, begin,
			     "the path of a program or library is missing: it begins with '/'");
	/* The path goes into sentences and listings. */
	while (p < stop) {
		size_t n = md_utf8_char(p, (size_t)(stop - p));

		if (!n || *p < 0x20 || *p == 0x7f)
			return fail_at(s, (const char *)p,
				     "a path here is UTF-8 without control characters");
		if (*p == '/' && stop - p >= 3 && p[1] == '.' && p[2] == '.' &&
		    (stop - p == 3 || p[3] == '/'))
			return fail_at(s, (const char *)p + 1, "a path here has no '..'");
		p += n;
	}
	d->path = strndup(begin, (size_t)(end - begin));
	return d->path ? 0 : -ENOMEM;
}

static int parse_usdt(const struct scan *s, struct dynamic_event *d)
{
	const char *begin = s->line + s->at, *end = begin + strlen(begin),
		   *name = find_last_colon(begin, end),
		   *provider = name ? find_last_colon(begin, name) : NULL;
	int ret;

	if (!provider)
		return fail_at(s, end, "a usdt rule is usdt:PATH:PROVIDER:NAME");
	ret = parse_path(s, provider, d);
	if (ret)
		return ret;
	for (const char *p = provider + 1; p < end; p++)
		if (p != name && !isalnum((unsigned char)*p) && !strchr("_.$-", *p))
			return fail_at(s, p, "names of providers and probes have letters, digits "
				     "and '_' only");
	if (provider + 1 == name || name + 1 == end)
		return fail_at(s, provider + 1 == name ? name : end,
			     "a usdt rule is usdt:PATH:PROVIDER:NAME");
	d->provider = strndup(provider + 1, (size_t)(name - provider - 1));
	d->name = strndup(name + 1, (size_t)(end - name - 1));
	return d->provider && d->name ? 0 : -ENOMEM;
}

int dynamic_event_parse(const char *text, struct dynamic_event *out, struct tr_err *err)
{
	struct scan *s = SCAN(text, 0, err);
	int word = find_word(text), ret;
	const char *colon;

	*out = (struct dynamic_event){ .fd = -1 };
	if (word < 0)
		return fail_at(s, text, "not a rule of a dynamic event (kprobe:, kretprobe:, "
			       "uprobe:, uretprobe:, usdt:, kcall:, ucall:)");
	out->kind = words[word].kind;
	s->at = words[word].len;
	colon = find_last_colon(text + s->at, text + strlen(text));
	if (out->kind == DYN_USDT) {
		ret = parse_usdt(s, out);
	} else if (out->kind == DYN_KPROBE || out->kind == DYN_KRETPROBE) {
		ret = parse_symbol(s, true, out->kind == DYN_KRETPROBE, out);
	} else if (!colon) {
		ret = fail_at(s, text + strlen(text), "a rule of this kind is PATH:SYMBOL");
	} else {
		ret = parse_path(s, colon, out);
		s->at = (size_t)(colon + 1 - text);
		if (!ret)
			ret = parse_symbol(s, false, out->kind == DYN_URETPROBE, out);
	}
	if (ret) {
		dynamic_event_deinit(out);
		return ret == -ENOMEM ? tr_fail(err, ret, "no memory for the rule") : ret;
	}
	return 0;
}

int dynamic_event_make(const struct event_key *key, struct dynamic_event *out, struct tr_err *err)
{
	int ret;

	if (key->extra.count && find_word(key->place) < 0) {
		*out = (struct dynamic_event){ .kind = DYN_EVENT, .fd = -1,
					       .symbol = strdup(key->place) };
	} else {
		ret = dynamic_event_parse(key->place, out, err);
		if (ret)
			return ret;
	}
	out->label = key->label ? strdup(key->label) : NULL;
	if ((out->symbol || out->kind != DYN_EVENT) && !out->label == !key->label &&
	    !extra_copy(&key->extra, &out->extra))
		return 0;
	dynamic_event_deinit(out);
	return tr_fail(err, -ENOMEM, "no memory for the rule");
}

int dynamic_event_set_tracepoint(struct dynamic_event *d, const char *system, const char *name,
				 const char *format)
{
	free(d->provider);
	free(d->name);
	free(d->format);
	d->provider = strdup(system);
	d->name = strdup(name);
	d->format = strdup(format);
	return d->provider && d->name && d->format ? 0 : -ENOMEM;
}

/* ---- places in the file ---- */

static int fail_no_probe(const struct dynamic_event *d, const struct elfsym_probes *all,
		    struct tr_err *err)
{
	const char *names[1024], *best;
	size_t n = 0;

	if (!all->count)
		return tr_fail(err, -ENOENT, "%s has no usdt probes", d->path);
	for (size_t i = 0; i < all->count && n < 1024; i++)
		if (!strcmp(all->probes[i].provider, d->provider))
			names[n++] = all->probes[i].name;
	best = nearest(d->name, strlen(d->name), names, n);
	if (best)
		return tr_fail(err, -ENOENT, "%s has no probe '%s:%s'; did you mean '%s'?", d->path,
			       d->provider, d->name, best);
	return tr_fail(err, -ENOENT, "%s has no probe '%s:%s'", d->path, d->provider, d->name);
}

static bool is_wanted(const struct dynamic_event *d, const struct elfsym_probe *p)
{
	return !strcmp(p->provider, d->provider) && !strcmp(p->name, d->name);
}

static int resolve_usdt(struct dynamic_event *d, struct tr_err *err)
{
	struct elfsym_probes all;
	size_t count = 0;
	int ret = elfsym_probes(d->fd, &all, err);

	if (ret)
		return ret;
	for (size_t i = 0; i < all.count; i++)
		count += is_wanted(d, &all.probes[i]);
	if (!count)
		ret = fail_no_probe(d, &all, err);
	else if (count > DYN_PLACES_MAX)
		ret = tr_fail(err, -EFBIG, "%s has '%s:%s' in %zu places, more than %d", d->path,
			      d->provider, d->name, count, DYN_PLACES_MAX);
	else if (!(d->places = calloc(count, sizeof(*d->places))))
		ret = tr_fail(err, -ENOMEM, "no memory for the places of the probe");
	for (size_t i = 0; i < all.count && !ret; i++) {
		struct elfsym_probe *p = &all.probes[i];

		if (!is_wanted(d, p))
			continue;
		d->places[d->place_count++] = (struct dynplace){ p->offset, p->semaphore, p->args };
		p->args = NULL;
	}
	elfsym_probes_deinit(&all);
	return ret;
}

static int resolve_symbol(struct dynamic_event *d, struct tr_err *err)
{
	uint64_t offset;
	int ret = elfsym_resolve(d->fd, d->symbol, &offset, err);

	if (ret)
		return ret;
	d->places = calloc(1, sizeof(*d->places));
	if (!d->places)
		return tr_fail(err, -ENOMEM, "no memory for the place of the probe");
	d->places[d->place_count++].offset = offset;
	return 0;
}

static int resolve_places(struct dynamic_event *d, struct tr_err *err)
{
	int ret = d->kind == DYN_USDT ? resolve_usdt(d, err) : resolve_symbol(d, err);

	for (size_t i = 0; i < d->place_count && !ret; i++)
		ret = elfsym_refuse_thumb(d->fd, d->places[i].offset, err);
	return ret;
}

int dynamic_event_resolve(struct dynamic_event *d, struct btf_files *types, struct tr_err *err)
{
	struct btf_files own = BTF_FILES_INIT(BTF_FILE);
	int ret = 0;

	if (dynamic_event_has_file(d) && d->fd < 0)
		return tr_fail(err, -EBADF, "%s is not open", d->path);
	if (dynamic_event_has_file(d) && !d->place_count)
		ret = resolve_places(d, err);
	if (!ret)
		ret = extra_resolve(d, types ? types : &own, err);
	btf_files_deinit(&own);
	return ret;
}

/* ---- definitions ---- */

static bool is_valid_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return n && !name[n] && n < DYN_NAME_MAX && !isdigit((unsigned char)*name);
}

/* The arg'th operand and its length; 0: there is none. */
static size_t find_operand(const char *args, int arg, const char **operand)
{
	const char *p = args ? args : "";
	size_t n;

	for (;;) {
		p += strspn(p, " ");
		n = strcspn(p, " ");
		*operand = p;
		if (!n || !arg--)
			return n;
		p += n;
	}
}

bool dynamic_event_arg(const struct dynplace *place, int arg, struct md_buf *out, char type[8])
{
	struct md_buf fetch = MD_BUF_INIT;
	const char *operand, *colon;
	size_t n = find_operand(place->args, arg, &operand);
	bool good = n && dynamic_event_operand(operand, n, &fetch) &&
		    (colon = strrchr(md_buf_str(&fetch), ':')) && strlen(colon) <= 7;

	if (good) {
		strcpy(type, colon + 1);
		md_buf_put(out, fetch.data, (size_t)(colon - fetch.data));
	}
	md_buf_deinit(&fetch);
	return good;
}

/*
 * Appends the fields that all places of a probe have, because the user sees one event: names and
 * types are equal, operands differ.
 */
static void put_args(const struct dynamic_event *d, size_t place, struct md_buf *out)
{
	for (int arg = 0; arg < ARGS_MAX; arg++) {
		struct md_buf fetch = MD_BUF_INIT;
		char type[8], other[8], name[8];
		bool good = dynamic_event_arg(&d->places[0], arg, &fetch, type);

		snprintf(name, sizeof(name), "arg%d", arg);
		good = good && !extra_find(&d->extra, name, strlen(name));
		for (size_t i = 1; i < d->place_count && good; i++) {
			md_buf_reset(&fetch);
			good = dynamic_event_arg(&d->places[i], arg, &fetch, other) &&
			       !strcmp(type, other);
		}
		md_buf_reset(&fetch);
		if (good && dynamic_event_arg(&d->places[place], arg, &fetch, type))
			md_buf_printf(out, " %s=%s:%s", name, md_buf_str(&fetch), type);
		md_buf_deinit(&fetch);
	}
}

/* Appends the extra data; arguments of usdt probes are elsewhere in each place. */
static void put_extra(const struct dynamic_event *d, size_t place, struct md_buf *out)
{
	struct md_buf fetch[EXTRA_MAX] = { MD_BUF_INIT };
	const char *from[EXTRA_MAX] = { NULL };

	for (size_t i = 0; i < d->extra.count; i++) {
		const struct extra_item *e = &d->extra.items[i];
		char type[8];

		if (d->kind == DYN_USDT && !strncmp(e->from, "arg", 3) &&
		    dynamic_event_arg(&d->places[place], atoi(e->from + 3), &fetch[i], type))
			from[i] = md_buf_str(&fetch[i]);
		extra_put(e, from[i], from[i] ? type : NULL, out);
	}
	extra_put_pointers(d, from, out);
	for (size_t i = 0; i < d->extra.count; i++)
		md_buf_deinit(&fetch[i]);
}

int dynamic_event_define(const struct dynamic_event *d, size_t place, const char *group,
			 const char *event, struct md_buf *out, struct tr_err *err)
{
	bool is_return = d->kind == DYN_KRETPROBE || d->kind == DYN_URETPROBE;

	if (!is_valid_name(group) || !is_valid_name(event))
		return tr_fail(err, -EINVAL,
			       "names of groups and events have letters, digits and '_' only");
	md_buf_printf(out, "%c:%s/%s ",
		      is_return			 ? 'r'
		      : d->kind == DYN_EVENT	 ? 'e'
		      : d->kind == DYN_ARGUMENTS ? 't'
						 : 'p',
		      group, event);
	if (d->kind == DYN_ARGUMENTS) {
		md_buf_puts(out, d->name);
	} else if (d->kind == DYN_EVENT) {
		if (!d->format)
			return tr_fail(err, -EINVAL, "the tracepoint is not known");
		md_buf_printf(out, "%s.%s", d->provider, d->name);
		event_field_put(d->format, &d->extra, out);
	} else if (!dynamic_event_has_file(d)) {
		md_buf_puts(out, d->symbol);
	} else {
		if (place >= d->place_count)
			return tr_fail(err, -EINVAL, "%s has no such place", d->path);
		md_buf_printf(out, "/proc/self/fd/%d:0x%llx", d->fd,
			      (unsigned long long)d->places[place].offset);
		if (d->places[place].semaphore)
			md_buf_printf(out, "(0x%llx)",
				      (unsigned long long)d->places[place].semaphore);
		if (d->kind == DYN_USDT)
			put_args(d, place, out);
	}
	put_extra(d, place, out);
	md_buf_putc(out, '\n');
	return out->failed ? tr_fail(err, -ENOMEM, "no memory for the event's definition") : 0;
}
