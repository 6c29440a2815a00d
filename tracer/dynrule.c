/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules of dynamic kernel events, and their definitions for tracefs: see dynevent.h. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/dynevent.h"
#include "tracer/elfsym.h"
#include "tracer/nearest.h"

enum { ARGS_MAX = 32, SYMBOL_MAX = 1000, PLACES_MAX = 512 };

static const struct {
	const char *word;
	size_t len;
} kinds[] = {
	[DYN_KPROBE] = { "kprobe:", 7 }, [DYN_KRETPROBE] = { "kretprobe:", 10 }, [DYN_UPROBE] = { "uprobe:", 7 },
	[DYN_URETPROBE] = { "uretprobe:", 10 }, [DYN_USDT] = { "usdt:", 5 },
};

static int kind_of(const char *text)
{
	for (int i = 0; i <= DYN_USDT; i++)
		if (!strncmp(text, kinds[i].word, kinds[i].len))
			return i;
	return -1;
}

bool dyn_is_rule(const char *text)
{
	return kind_of(text) >= 0;
}

void dyn_deinit(struct dynevent *d)
{
	free(d->path);
	free(d->symbol);
	free(d->provider);
	free(d->name);
	memset(d, 0, sizeof(*d));
	d->fd = -1;
}

/* Where the rule ends: at a blank that no `\` stands before. */
static size_t rule_length(const char *p)
{
	size_t n = 0;

	while (p[n] && !strchr(" \t\r\n", p[n]))
		n += p[n] == '\\' && p[n + 1] && p[n + 1] != '\n' ? 2 : 1;
	return n;
}

static char *unescape(const char *p, size_t n)
{
	char *s = malloc(n + 1), *to = s;

	if (!s)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\\' && i + 1 < n)
			i++;
		*to++ = p[i];
	}
	*to = '\0';
	return s;
}

struct input {
	const char *text, *begin, *end;         /* of the rule's part behind the kind */
	struct tr_err *err;
};

static int wrong(const struct input *in, const char *where, const char *why)
{
	return tr_fail_at(in->err, -EINVAL, in->text, (int)(where - in->text), "%s", why);
}

/* The colon that the last field stands behind; NULL. */
static const char *last_colon(const char *begin, const char *end)
{
	while (end > begin)
		if (*--end == ':')
			return end;
	return NULL;
}

/* Names of symbols: those of C, C++, Rust, compilers' suffixes, versions. No byte that means something to tracefs but + for the offset. */
static int take_symbol(const struct input *in, const char *p, bool is_kernel, bool is_return, struct dynevent *d)
{
	const char *more = is_kernel ? "_.$:" : "_.$@", *q;

	if (p == in->end)
		return wrong(in, p, "a symbol is missing");
	if (in->end - p > SYMBOL_MAX)
		return wrong(in, p, "the symbol's name is too long");
	for (q = p; q < in->end && *q != '+'; q++)
		if (!isalnum((unsigned char)*q) && !strchr(more, *q))
			return wrong(in, q, "a symbol has letters, digits, '_', '.' and '$' only");
	if (q == p)
		return wrong(in, p, "a symbol is missing before '+'");
	if (q < in->end && is_return)
		return wrong(in, q, "a return probe is at a function's return: it has no offset");
	if (q < in->end) {
		bool hex = in->end - q > 3 && q[1] == '0' && q[2] == 'x';
		const char *o = q + 1 + 2 * hex;

		if (o == in->end || in->end - o > 16)
			return wrong(in, q, "an offset is a number of bytes: +16 or +0x10");
		for (; o < in->end; o++)
			if (hex ? !isxdigit((unsigned char)*o) : !isdigit((unsigned char)*o))
				return wrong(in, o, "an offset is a number of bytes: +16 or +0x10");
	}
	d->symbol = strndup(p, (size_t)(in->end - p));
	return d->symbol ? 0 : -ENOMEM;
}

static int take_path(const struct input *in, const char *end, struct dynevent *d)
{
	if (in->begin == end || *in->begin != '/')
		return wrong(in, in->begin, "the path of a program or library is missing: it begins with '/'");
	d->path = unescape(in->begin, (size_t)(end - in->begin));
	return d->path ? 0 : -ENOMEM;
}

static int take_usdt(const struct input *in, struct dynevent *d)
{
	const char *name = last_colon(in->begin, in->end), *provider = name ? last_colon(in->begin, name) : NULL;
	int ret;

	if (!provider)
		return wrong(in, in->end, "a usdt rule is usdt:PATH:PROVIDER:NAME");
	ret = take_path(in, provider, d);
	if (ret)
		return ret;
	for (const char *p = provider + 1; p < in->end; p++)
		if (p != name && !isalnum((unsigned char)*p) && !strchr("_.$-", *p))
			return wrong(in, p, "names of providers and probes have letters, digits and '_' only");
	if (provider + 1 == name || name + 1 == in->end)
		return wrong(in, provider + 1 == name ? name : in->end, "a usdt rule is usdt:PATH:PROVIDER:NAME");
	d->provider = strndup(provider + 1, (size_t)(name - provider - 1));
	d->name = strndup(name + 1, (size_t)(in->end - name - 1));
	return d->provider && d->name ? 0 : -ENOMEM;
}

int dyn_parse(const char *text, size_t at, struct dynevent *out, struct tr_err *err)
{
	int kind = kind_of(text + at), ret;
	struct input in = { .text = text, .begin = text + at, .err = err };
	size_t len = rule_length(text + at);
	const char *colon;

	*out = (struct dynevent){ .fd = -1 };
	if (kind < 0)
		return wrong(&in, in.begin, "that is no rule of a dynamic event (kprobe:, kretprobe:, uprobe:, uretprobe:, usdt:)");
	if (len > 8192)
		return wrong(&in, in.begin, "the rule is too long");
	out->kind = (enum dyn_kind)kind;
	in.end = in.begin + len;
	in.begin += kinds[kind].len;
	if (kind == DYN_USDT) {
		ret = take_usdt(&in, out);
	} else if (kind == DYN_KPROBE || kind == DYN_KRETPROBE) {
		ret = take_symbol(&in, in.begin, true, kind == DYN_KRETPROBE, out);
	} else {
		colon = last_colon(in.begin, in.end);
		if (!colon)
			ret = wrong(&in, in.end, "a rule of this kind is PATH:SYMBOL");
		else
			ret = take_path(&in, colon, out);
		if (!ret)
			ret = take_symbol(&in, colon + 1, false, kind == DYN_URETPROBE, out);
	}
	if (ret) {
		dyn_deinit(out);
		return ret == -ENOMEM ? tr_fail(err, ret, "no memory for the rule") : ret;
	}
	return (int)len;
}

int dyn_event_name(const struct dynevent *d, struct md_buf *out)
{
	if (d->kind == DYN_USDT)
		md_buf_printf(out, "%s:%s", d->provider, d->name);
	else
		md_buf_printf(out, "%s%s", d->symbol, d->kind == DYN_KRETPROBE || d->kind == DYN_URETPROBE ? "_exit" : "");
	return out->failed ? -ENOMEM : 0;
}

const char *dyn_field(const char *name)
{
	static const char *const names[][2] = {
		{ "__probe_ip", "ip" }, { "__probe_func", "ip" }, { "__probe_ret_ip", "parent_ip" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i][0]))
			return names[i][1];
	return name;
}

static bool is_good(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return n && !name[n] && n < DYN_NAME_MAX && !isdigit((unsigned char)*name);
}

/*
 * The fields that all places of a probe can give, as one text each: the kernel takes further places into an event only
 * if names and types of the fields agree, while the operands may differ.
 */
static void put_args(const struct elfsym_probe *places[], size_t count, struct md_buf *out, size_t which)
{
	const char *at[PLACES_MAX];

	for (size_t i = 0; i < count; i++)
		at[i] = places[i]->args;
	for (int arg = 1; arg <= ARGS_MAX; arg++) {
		struct md_buf one = MD_BUF_INIT, first = MD_BUF_INIT, mine = MD_BUF_INIT;
		bool good = true;

		for (size_t i = 0; i < count; i++) {
			const char *p = at[i] + strspn(at[i], " ");
			size_t n = strcspn(p, " ");
			struct md_buf *to = i == which ? &mine : &one;
			const char *type;

			at[i] = p + n;
			md_buf_reset(to);
			good = good && n && dyn_operand(p, n, to);
			type = good ? strrchr(md_buf_str(to), ':') : NULL;
			if (type && !i)
				md_buf_puts(&first, type);
			good = type && !strcmp(type, md_buf_str(&first));
		}
		if (good)
			md_buf_printf(out, " arg%d=%s", arg, md_buf_str(&mine));
		out->failed |= one.failed || first.failed || mine.failed;
		md_buf_deinit(&one);
		md_buf_deinit(&first);
		md_buf_deinit(&mine);
	}
}

static int no_probe(const struct dynevent *d, const struct elfsym_probes *all, struct tr_err *err)
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
		return tr_fail(err, -ENOENT, "%s has no probe '%s:%s'; did you mean '%s'?", d->path, d->provider, d->name, best);
	return tr_fail(err, -ENOENT, "%s has no probe '%s:%s'", d->path, d->provider, d->name);
}

static int define_usdt(const struct dynevent *d, const char *group, const char *event, struct md_buf *out, struct tr_err *err)
{
	const struct elfsym_probe *places[PLACES_MAX];
	struct elfsym_probes all;
	size_t count = 0;
	int ret = elfsym_probes(d->fd, &all, err);

	if (ret)
		return ret;
	for (size_t i = 0; i < all.count && count < PLACES_MAX; i++)
		if (!strcmp(all.probes[i].provider, d->provider) && !strcmp(all.probes[i].name, d->name))
			places[count++] = &all.probes[i];
	if (!count)
		ret = no_probe(d, &all, err);
	for (size_t i = 0; i < count; i++) {
		md_buf_printf(out, "p:%s/%s /proc/self/fd/%d:0x%llx", group, event, d->fd, (unsigned long long)places[i]->offset);
		if (places[i]->semaphore)
			md_buf_printf(out, "(0x%llx)", (unsigned long long)places[i]->semaphore);
		put_args(places, count, out, i);
		md_buf_putc(out, '\n');
	}
	elfsym_probes_deinit(&all);
	return ret;
}

static int define_symbol(const struct dynevent *d, const char *group, const char *event, struct md_buf *out, struct tr_err *err)
{
	char kind = d->kind == DYN_URETPROBE ? 'r' : 'p';
	uint64_t offset;
	int ret = elfsym_resolve(d->fd, d->symbol, &offset, err);

	if (!ret)
		md_buf_printf(out, "%c:%s/%s /proc/self/fd/%d:0x%llx\n", kind, group, event, d->fd, (unsigned long long)offset);
	return ret;
}

int dyn_define(const struct dynevent *d, const char *group, const char *event, struct md_buf *out, struct tr_err *err)
{
	int ret = 0;

	if (!is_good(group) || !is_good(event))
		return tr_fail(err, -EINVAL, "names of groups and events have letters, digits and '_' only");
	if (d->kind == DYN_KPROBE || d->kind == DYN_KRETPROBE)
		md_buf_printf(out, "%c:%s/%s %s\n", d->kind == DYN_KPROBE ? 'p' : 'r', group, event, d->symbol);
	else if (d->fd < 0)
		ret = tr_fail(err, -EBADF, "%s is not open", d->path);
	else
		ret = d->kind == DYN_USDT ? define_usdt(d, group, event, out, err) : define_symbol(d, group, event, out, err);
	if (!ret && out->failed)
		ret = tr_fail(err, -ENOMEM, "no memory for the event's definition");
	return ret;
}
