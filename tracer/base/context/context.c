// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "metadata/number.h"
#include "tracer/abi/app.h"
#include "tracer/base/context/context.h"
#include "tracer/base/array.h"
#include "tracer/base/context/kernel_context.h"
#include "tracer/base/base.h"
#include "tracer/base/context/perfcounter.h"
#include "tracer/base/lexer.h"
#include "tracer/base/rows.h"

#define APP "$app."
#define CGROUP "cgroup"
#define PERF "perf:thread:"
#define PERF_CPU "perf:cpu:"

static const struct plain {
	const char *name;
	uint8_t size;
	bool is_signed;
} plain[TRAIL_CONTEXT_KINDS] = {
#define SIGNED true
#define UNSIGNED false
#define TEXT true
#define CONTEXT(kind, name, shape, bytes) [TRAIL_CONTEXT_##kind] = { name, bytes, shape },
#include "tracer/abi/contexts.def"
#undef SIGNED
#undef UNSIGNED
#undef TEXT
};

void context_list_deinit(struct context_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i].text);
	free(l->items);
	*l = (struct context_list){ 0 };
}

static int add_context(struct context_list *l, const struct context *c)
{
	if (!array_room(l->items, l->count + 1))
		return -ENOMEM;
	l->items[l->count] = *c;
	l->items[l->count].text = strdup(c->text);
	if (!l->items[l->count].text)
		return -ENOMEM;
	l->count++;
	return 0;
}

static int copy_contexts(const struct context_list *from, struct context_list *to)
{
	int ret = 0;

	*to = (struct context_list){ 0 };
	for (size_t i = 0; i < from->count && !ret; i++)
		ret = add_context(to, &from->items[i]);
	if (ret)
		context_list_deinit(to);
	return ret;
}

void context_list_print(const struct context_list *l, struct md_buf *out)
{
	for (size_t i = 0; i < l->count; i++) {
		word_print(l->items[i].text, out);
		md_buf_putc(out, '\n');
	}
}

/* ---- one word ---- */

static int fail_unknown(struct scan *s, struct word *w, int column, const struct context *c,
			const char *prefix, const char *near)
{
	if (near)
		return tr_fail_at(s->err, -ENOENT, s->line, word_column(w, (size_t)column),
				  "no such context '%.80s'; did you mean '%s%s'?", c->text, prefix,
				  near);
	return tr_fail_at(s->err, -ENOENT, s->line, word_column(w, (size_t)column),
			  "no such context '%.80s'; available/%s/contexts lists them", c->text,
			  c->kernel ? "kernel" : "user");
}

/* at: where the counter's name begins, after perf:thread: or perf:cpu: */
static int parse_perf(struct scan *s, struct word *w, size_t at, bool probe, struct context *c)
{
	const char *names[128], *counter = word_text(w) + at;
	struct perf_counter found;
	size_t n = 0;
	int ret = perf_counter_find(counter, strlen(counter), &found);

	if (ret == -EINVAL)
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, at),
				  "a raw counter is %sraw:rN:NAME, with N in hexadecimal",
				  c->kernel ? PERF_CPU : PERF);
	if (ret) {
		while (n < 128 && perf_counter_name(n)) {
			names[n] = perf_counter_name(n);
			n++;
		}
		return fail_unknown(s, w, (int)at, c, c->kernel ? PERF_CPU : PERF,
				    nearest(counter, strlen(counter), names, n));
	}
	ret = probe ? perf_counter_probe(&found, c->kernel) : 0;
	if (ret == -EACCES || ret == -EPERM)
		return tr_fail_at(
			s->err, -EOPNOTSUPP, s->line, word_column(w, 0),
			"the kernel does not allow counters: see kernel.perf_event_paranoid");
	if (ret)
		return tr_fail_at(s->err, -EOPNOTSUPP, s->line, word_column(w, 0),
				  "this machine has no counter '%.80s': %s", counter,
				  strerror(-ret));
	c->kind = TRAIL_CONTEXT_PERF;
	c->perf_type = found.type;
	c->perf_config = found.config;
	return 0;
}

static int parse_app(struct scan *s, struct word *w, const char *name, struct context *c)
{
	const char *colon = strchr(name, ':');
	size_t at = strlen(APP);

	if (!colon || colon == name + at || !colon[1])
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, at),
				  "a context of applications is called $app.provider:name");
	if (strlen(name) - at > TRAIL_NAME_MAX)
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, at),
				  "a name has at most %u bytes", TRAIL_NAME_MAX);
	for (; name[at]; at++)
		if ((unsigned char)name[at] <= ' ' || (unsigned char)name[at] >= 0x7f ||
		    strchr("\"'\\", name[at]))
			return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, at),
					  "not a character of a name");
	c->kind = TRAIL_CONTEXT_APP;
	return 0;
}

static int parse_user(struct scan *s, struct word *w, size_t skip, bool probe, struct context *c)
{
	const char *name = word_text(w) + skip, *names[TRAIL_CONTEXT_KINDS] = { CGROUP }, *near;
	size_t n = 1;

	*c = (struct context){ .text = (char *)(uintptr_t)name };
	if (!strcmp(name, CGROUP))
		c->kind = TRAIL_CONTEXT_APP;
	for (uint32_t k = 1; k < TRAIL_CONTEXT_KINDS; k++) {
		if (!plain[k].name)
			continue;
		names[n++] = plain[k].name;
		if (!strcmp(plain[k].name, name))
			c->kind = k;
	}
	if (c->kind)
		return 0;
	if (!strncmp(name, APP, strlen(APP)))
		return parse_app(s, w, name, c);
	if (!strncmp(name, PERF, strlen(PERF)))
		return parse_perf(s, w, strlen(PERF), probe, c);
	if (!strncmp(name, PERF_CPU, strlen(PERF_CPU)))
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, skip),
				  "perf:cpu: counters are for kernel events; use perf:thread:%.60s",
				  name + strlen(PERF_CPU));
	near = nearest(name, strlen(name), names, n);
	if (!near && kcontext_kind(name, strlen(name), true) >= 0)
		return tr_fail_at(s->err, -ENOENT, s->line, word_column(w, skip),
				  "'%.80s' is a context of kernel events: see kernel/contexts",
				  name);
	return fail_unknown(s, w, (int)skip, c, "", near);
}

/* ---- the list ---- */

static struct context *find_context(const struct context_list *l, const char *text)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->items[i].text, text))
			return &l->items[i];
	return NULL;
}

static int parse_kernel(struct scan *s, struct word *w, size_t skip, bool probe, struct context *c)
{
	const char *name = word_text(w) + skip;
	bool counter = !strncmp(name, PERF_CPU, strlen(PERF_CPU));
	int kind = !counter                    ? kcontext_kind(name, strlen(name), !probe)
		   : kcontext_counters(!probe) ? TRAIL_CONTEXT_PERF
					       : -EOPNOTSUPP;

	*c = (struct context){ .text = (char *)(uintptr_t)name, .kernel = true };
	if (kind == -EOPNOTSUPP)
		return tr_fail_at(s->err, kind, s->line, word_column(w, skip),
				  "tracefs does not record '%.80s': %s", name, kcontext_refusal());
	if (kind < 0)
		return tr_fail_at(s->err, kind, s->line, word_column(w, skip),
				  "no such context '%.80s'; available/kernel/contexts lists them",
				  name);
	c->kind = (uint32_t)kind;
	return counter ? parse_perf(s, w, skip + strlen(PERF_CPU), probe, c) : 0;
}

struct change {
	struct context_list *list;
	enum domain domain;
	bool probe;
};

static int apply_word(void *arg, struct scan *s, struct word *w)
{
	const struct change *change = arg;
	struct context_list *l = change->list;
	const char *text = word_text(w);
	bool remove = text[0] == '!' && !w->quoted;
	struct context c, *same;
	int ret = (change->domain == DOMAIN_KERNEL ? parse_kernel : parse_user)(
		s, w, remove, change->probe && !remove, &c);

	if (ret)
		return ret;
	same = find_context(l, c.text);
	if (remove && !same)
		return tr_fail_at(s->err, -ENOENT, s->line, word_column(w, 0),
				  "the channel does not have this context");
	if (remove) {
		free(same->text);
		memmove(same, same + 1, (size_t)(l->items + --l->count - same) * sizeof(*same));
		return 0;
	}
	if (same)
		return 0;
	if (l->count == TRAIL_CONTEXT_MAX)
		return tr_fail_at(s->err, -ENOSPC, s->line, word_column(w, 0),
				  "a channel has at most %u contexts", TRAIL_CONTEXT_MAX);
	ret = add_context(l, &c);
	return ret ? tr_fail(s->err, ret, "out of memory") : 0;
}

/* Refuses two contexts with one name in the trace. */
static int check_names(const struct context_list *l, struct tr_err *err)
{
	struct md_field *fields;
	int ret = context_list_fields(l, &fields);

	if (ret)
		return tr_fail(err, ret, "out of memory");
	ret = fields ? md_name_check(fields, (uint32_t)l->count) : 0;
	for (size_t i = 0; fields && i < l->count; i++)
		md_field_deinit(&fields[i]);
	free(fields);
	return ret ? tr_fail(err, ret, "two contexts would have the same name in the trace") : 0;
}

int context_list_apply(const struct context_list *old, enum domain domain, const char *text,
		       bool replace, bool probe, struct context_list *out, struct tr_err *err)
{
	static const struct context_list none;
	struct context_list new;
	struct change change = { &new, domain, probe };
	int ret = copy_contexts(replace ? &none : old, &new);

	if (ret)
		return tr_fail(err, ret, "out of memory");
	ret = words_each(text, apply_word, &change, err);
	if (!ret)
		ret = check_names(&new, err);
	if (ret) {
		context_list_deinit(&new);
		return ret;
	}
	*out = new;
	return 0;
}

/* ---- fields in the trace ---- */

static int set_field(const struct context *c, struct md_field *f)
{
	f->name = strdup(c->text);
	if (!f->name)
		return -ENOMEM;
	if (c->kernel)
		return kcontext_type(c->kind, &f->type);
	if (c->kind == TRAIL_CONTEXT_APP)
		return md_type_dynamic(&f->type);
	f->type = (struct md_type){ .kind = MD_INT, .size = 8, .base = 10 };
	if (c->kind == TRAIL_CONTEXT_PROCNAME)
		return md_type_array(&f->type, plain[c->kind].size, &md_char);
	if (c->kind != TRAIL_CONTEXT_PERF) {
		f->type.size = plain[c->kind].size;
		f->type.is_signed = plain[c->kind].is_signed;
	}
	return 0;
}

int context_list_fields(const struct context_list *l, struct md_field **out)
{
	struct md_field *fields = l->count ? calloc(l->count, sizeof(*fields)) : NULL;
	int ret = l->count && !fields ? -ENOMEM : 0;

	for (size_t i = 0; i < l->count && !ret; i++)
		ret = set_field(&l->items[i], &fields[i]);
	for (size_t i = 0; i < l->count && ret && fields; i++)
		md_field_deinit(&fields[i]);
	if (ret) {
		free(fields);
		fields = NULL;
	}
	*out = fields;
	return ret;
}

bool context_is_cgroup(const struct context *c)
{
	return !strcmp(c->text, CGROUP);
}

const char *context_app_name(const struct context *c)
{
	return context_is_cgroup(c) ? "trail:" CGROUP : c->text + strlen(APP);
}

void context_available(struct rows *r)
{
	struct perf_counter c;
	char full[sizeof(PERF) + 64];
	const char *name;

	for (uint32_t k = 1; k < TRAIL_CONTEXT_KINDS; k++)
		if (plain[k].name)
			row_word(r, "name", plain[k].name);
	row_word(r, "name", CGROUP);
	for (size_t i = 0; (name = perf_counter_name(i)); i++)
		if (!perf_counter_find(name, strlen(name), &c) && !perf_counter_probe(&c, false)) {
			snprintf(full, sizeof(full), PERF "%s", name);
			row_word(r, "name", full);
		}
}

/* ---- bytes, for events that the daemon writes ---- */

int64_t context_number(uint32_t kind, const struct context_values *v)
{
	switch (kind) {
	case TRAIL_CONTEXT_VPID:
		return v->pid;
	case TRAIL_CONTEXT_VTID:
		return v->tid;
	case TRAIL_CONTEXT_VUID:
	case TRAIL_CONTEXT_VEUID:
	case TRAIL_CONTEXT_VSUID:
		return v->uid;
	case TRAIL_CONTEXT_VGID:
	case TRAIL_CONTEXT_VEGID:
	case TRAIL_CONTEXT_VSGID:
		return v->gid;
	default:
		return -1;
	}
}

void context_list_put(const struct context_list *l, const struct context_values *v,
		      struct md_buf *out)
{
	for (size_t i = 0; i < l->count; i++) {
		uint32_t kind = l->items[i].kind;
		int64_t known = context_number(kind, v);
		uint64_t n = known < 0 ? 0 : (uint64_t)known;
		uint32_t size = kind == TRAIL_CONTEXT_PERF ? 8 : plain[kind].size;

		if (kind == TRAIL_CONTEXT_PROCNAME)
			md_buf_put(out, v->comm, sizeof(v->comm));
		else if (kind == TRAIL_CONTEXT_APP)
			md_buf_putc(out, TRAIL_DYNAMIC_NONE);
		else
			md_buf_put(out, (uint8_t *)&n + md_low_bytes(sizeof(n), size), size);
	}
}
