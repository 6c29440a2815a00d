// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel domain: chooses the backend, and shows what can be traced. */
#include "tracer/base/hash.h"
#include "tracer/kernel/available.h"
#include "tracer/kernel/count/count.h"
#include "tracer/kernel/bpf/bpf.h"
#include "tracer/kernel/counting.h"
#include "tracer/kernel/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/context/kernel_context.h"
#include "tracer/base/field_look.h"
#include "tracer/base/os/thread.h"
#include "tracer/base/rows.h"
#include "tracer/base/rule/hook.h"
#include "tracer/base/rule/sample.h"
#include "tracer/kernel/statedump/statedump.h"

/* A hash of the state directory: the same for its next daemon. */
static uint32_t hash_state_dir(const struct tracer *t)
{
	struct stat st = { 0 };
	uint64_t h = HASH_START;

	fstat(t->state_fd, &st);
	h = hash_step(h, st.st_dev);
	h = hash_step(h, st.st_ino);
	h = hash_step(h, st.st_uid);
	h = hash_string(h, t->state_dir);
	return (uint32_t)(h ^ h >> 32);
}

bool kernel_is_open(const struct tracer *t)
{
	return kernel_of(t);
}

void kernel_open(struct tracer *t)
{
	static const struct backend_ops *const backends[] = { &module_backend, &bpf_backend,
							      &tracefs_backend };
	struct kernel_data *own = kernel_data(t);
	struct tr_err err = TR_ERR_INIT;
	struct kernel *k = calloc(1, sizeof(*k));
	uint64_t kinds;

	if (!k)
		return;
	snprintf(k->suffix, sizeof(k->suffix), "-%08x", hash_state_dir(t));
	/* Do not mention what those cannot do that are not there; the last one says it. */
	for (size_t i = 0; i < sizeof(backends) / sizeof(*backends) && !k->backend; i++) {
		k->ops = backends[i];
		k->ops->probe(k->suffix + 1, &k->backend, &err);
	}
	if (!k->backend) {
		snprintf(own->why, sizeof(own->why), "%s", err.sentence);
		free(k);
		return;
	}
	lock_init(&k->lock, NULL, LOCK_KERNEL);
	lock_init(&k->making, NULL, LOCK_MAKING);
	cond_init_monotonic(&k->dumped);
	if (k->ops->keep)
		k->ops->keep(k->backend, t->keeper);
	kinds = k->ops->context_kinds ? k->ops->context_kinds(k->backend)
		: k->ops->contexts    ? KCONTEXT_ALL
				      : 0;
	kcontext_have(kinds, k->ops->programs ? kinds : 0);
	CDS_INIT_LIST_HEAD(&k->dead);
	snprintf(k->group, sizeof(k->group), KERNEL_GROUP_PREFIX "%08x", hash_state_dir(t));
	k->format_of = kernel_format_of;
	own->kernel = k;
	if (kernel_follower_make(t))
		tracer_report(t, "out of memory: threads of the kernel are not followed");
}

void kernel_close(struct tracer *t)
{
	struct kernel *k = kernel_of(t);

	if (!k)
		return;
	kernel_pending_end(t);
	kernel_prompt_end(t);
	kernel_channels_gc(t);
	kernel_follower_free(k);
	kcatalog_free(k);
	kprobes_free(k);
	k->ops->destroy(k->backend);
	pthread_mutex_destroy(&k->lock);
	pthread_mutex_destroy(&k->making);
	pthread_cond_destroy(&k->dumped);
	free(k);
	kernel_data(t)->kernel = NULL;
}

void kernel_keep(struct tracer *t)
{
	if (kernel_of(t) && kernel_of(t)->ops->keep)
		kernel_of(t)->ops->keep(kernel_of(t)->backend, t->keeper);
	counts_keep();
}

void kernel_describe(struct tracer *t, struct md_buf *out)
{
	const struct kernel_data *own = kernel_data(t);
	struct md_buf missing = MD_BUF_INIT;
	const struct kernel *k = own->kernel;

	if (!k) {
		md_buf_printf(out, "kernel none (%s)\n", *own->why ? own->why : "out of memory");
		return;
	}
	k->ops->describe(k->backend, &missing);
	md_buf_printf(out, missing.len ? "kernel %s (%s)\n" : "kernel %s\n", k->ops->name,
		      md_buf_str(&missing));
	md_buf_deinit(&missing);
}

/*
 * ---- the last boot ----
 *
 * Its records have the ids of this kernel's events, as long as it is the same kernel. They were
 * recorded by the tracepoints alone, so the text of system calls is in them only from Linux 6.19.
 */

int kernel_boot_find(struct tracer *t, struct backend_boot *out)
{
	struct kernel *k = kernel_of(t);

	return k && k->ops->boot_find ? k->ops->boot_find(k->backend, out) : -ENOENT;
}

int kernel_boot_record(struct tracer *t, const struct backend_boot *boot)
{
	return kernel_of(t)->ops->boot_record(kernel_of(t)->backend, boot->name);
}

int kernel_boot_take(struct session *s, const struct backend_boot *boot, struct tr_err *err)
{
	struct channel *c = NULL, *one;
	int ret;

	session_lock(s);
	cds_list_for_each_entry(one, &s->channels, node)
		if (one->kernel)
			c = one;
	pthread_mutex_unlock(&s->tracer->lock);
	ret = c ? kchannel_take_boot(c, boot, err) : -ENOENT;
	pthread_mutex_lock(&s->tracer->lock);
	session_unlock(s);
	return ret;
}

/* ---- available/kernel ---- */

/* Whether the event has a file with its fields. */
static bool is_shown(const struct kevent *e)
{
	return kevent_is_tracepoint(e) || sample_is_rule(e->key->place) ||
	       (kevent_is_syscall(e) && !kevent_has_data(e));
}

void available_kernel_systems(struct tracer *t, struct md_buf *names)
{
	const char *last = "";

	if (!kernel_of(t) || kernel_refresh(kernel_of(t)))
		return;
	for (size_t i = 0; i < kernel_count(kernel_of(t)); i++) {
		const struct kevent *e = kernel_event(kernel_of(t), i);

		if (!e->present || !strcmp(e->system, last) ||
		    !is_shown(e))
			continue;
		last = e->system;
		for (size_t at = 0; last && at < names->len; at += strlen(names->data + at) + 1)
			if (!strcmp(names->data + at, last))
				last = NULL;
		if (last)
			md_buf_put(names, last, strlen(last) + 1);
		last = e->system;
	}
}

void available_kernel_events(struct tracer *t, const char *system, struct md_buf *names)
{
	if (!kernel_of(t) || kernel_refresh(kernel_of(t)))
		return;
	for (size_t i = 0; i < kernel_count(kernel_of(t)); i++) {
		const struct kevent *e = kernel_event(kernel_of(t), i);

		if (e->present && !strcmp(e->system, system) &&
		    is_shown(e))
			md_buf_put(names, e->name, strlen(e->name) + 1);
	}
}

bool available_kernel_has(struct tracer *t, const char *system, const char *event)
{
	const struct kevent *e;

	if (!kernel_of(t))
		return false;
	if (!kernel_count(kernel_of(t)))
		kernel_refresh(kernel_of(t));
	e = kernel_find(kernel_of(t), system, event, event ? strlen(event) : 0);
	return e && is_shown(e);
}

static void look_at_type(const struct md_type *type, struct field_look *l)
{
	switch (type->kind) {
	case MD_INT:
	case MD_ENUM:
		l->enum_name = type->kind == MD_ENUM ? "" : NULL;
		l->hex = type->base == 16;
		l->big_endian = type->big_endian;
		snprintf(l->type, sizeof(l->type), "%sint%u", type->is_signed ? "" : "u",
			 8u * type->size);
		break;
	case MD_FLOAT:
		strcpy(l->type, type->size == 4 ? "float" : "double");
		break;
	case MD_STRING:
		strcpy(l->type, "string");
		break;
	case MD_ARRAY:
	case MD_SEQUENCE:
		if (type->element->encoding == MD_ENCODING_UTF8)
			strcpy(l->type, "char");
		else
			look_at_type(type->element, l);
		break;
	default:
		strcpy(l->type, "struct");
	}
}

/* Lines, or the elements of an array of JSON. */
static int put_kernel_fields(struct kernel *k, struct kevent *e, bool json, struct md_buf *out)
{
	struct md_event *md;
	struct kformat *f = NULL;
	int ret = e->dump >= 0 ? 0 : kernel_read_format(k, e, &f);

	if (ret)
		return ret;
	md = f ? kformat_event(f) : kdump_event((enum kdump_type)e->dump);
	for (uint32_t i = 0; md && i < md->field_count; i++) {
		const struct md_field *field = &md->fields[i];
		struct field_look l = {
			.name = field->name,
			.array = field->type.kind == MD_ARRAY,
			.sequence = field->type.kind == MD_SEQUENCE,
			.length = field->type.count,
			.address = f && i < f->field_count &&
				   f->fields[i].kind == KFORMAT_ADDRESS,
		};

		look_at_type(&field->type, &l);
		if (json && i)
			md_buf_putc(out, ',');
		(json ? field_look_json : field_look_text)(&l, out);
		md_buf_putc(out, json ? '}' : '\n');
	}
	ret = md ? 0 : -ENOMEM;
	md_event_destroy(md);
	kformat_free(f);
	return ret;
}

int available_kernel_fields(struct tracer *t, const char *system, const char *event,
			    struct md_buf *out)
{
	struct kernel *k = kernel_of(t);
	struct kevent *e = k ? kernel_find(k, system, event, strlen(event)) : NULL;

	return e ? put_kernel_fields(k, e, false, out) : -ENOENT;
}

bool available_kernel_probes(struct tracer *t)
{
	return kernel_of(t) && kernel_of(t)->ops->compiled;
}

/* How the backend records each tracepoint; events of the daemon's own are no matter of it. */
static void show_probes(struct kernel *k, struct rows *r)
{
	struct md_buf compiled = MD_BUF_INIT;
	char line[400], name[400];
	const char *how;

	md_buf_putc(&compiled, '\n');
	if (!k->ops->compiled || k->ops->compiled(k->backend, &compiled))
		goto out;
	md_buf_str(&compiled);
	for (size_t i = 0; i < kernel_count(k) && !compiled.failed; i++) {
		const struct kevent *e = kernel_event(k, i);

		if (!e->present || !kevent_is_tracepoint(e))
			continue;
		snprintf(name, sizeof(name), "%s:%s", e->system, e->name);
		snprintf(line, sizeof(line), "\n%.390s\n", name);
		how = k->ops->compiled_as[strstr(compiled.data, line) != NULL];
		row_begin(r, NULL);
		cell_word(r, "name", 0, name);
		cell_word(r, "how", 0, e->dump >= 0 ? "daemon" : how);
		row_end(r);
	}
out:
	md_buf_deinit(&compiled);
}

/* NULL: an event of the call that is listed under another one. */
static const char *syscall_name(struct kernel *k, const struct kevent *e)
{
	size_t skip = strlen(KEVENT_COMPAT);
	const char *colon;

	if (!strncmp(e->name, KEVENT_COMPAT, skip) &&
	    kernel_find(k, e->system, e->name + skip, strlen(e->name + skip)))
		return NULL;
	if (strncmp(e->key->place, "syscall:entry:", 14))
		return NULL;
	colon = strrchr(e->key->place, ':');
	return colon ? colon + 1 : NULL;
}

/* In JSON, each with its fields: of a system call those of its entry. */
static void show_events(struct kernel *k, enum kernel_list what, struct rows *r)
{
	struct md_buf text = MD_BUF_INIT;
	const char *name;

	for (size_t i = 0; i < kernel_count(k); i++) {
		struct kevent *e = kernel_event(k, i);

		if (!e->present ||
		    !(what == KERNEL_SYSCALLS ? kevent_is_syscall(e) : kevent_is_tracepoint(e)))
			continue;
		md_buf_reset(&text);
		if (what == KERNEL_TRACEPOINTS)
			md_buf_printf(&text, "%s:%s", e->system, e->name);
		name = what == KERNEL_TRACEPOINTS ? md_buf_str(&text) : syscall_name(k, e);
		if (!name)
			continue;
		row_begin(r, NULL);
		cell_word(r, "name", 0, name);
		if (r->json) {
			md_buf_reset(&text);
			md_buf_putc(&text, '[');
			if (put_kernel_fields(k, e, true, &text))
				md_buf_reset(&text);
			md_buf_puts(&text, text.len ? "]" : "null");
			cell_json(r, "fields", md_buf_str(&text));
		}
		row_end(r);
	}
	r->out->failed |= text.failed;
	md_buf_deinit(&text);
}

static void show_list(struct tracer *t, enum kernel_list what, struct rows *r)
{
	if (what == KERNEL_CONTEXTS) {
		kcontext_available(r);
		return;
	}
	if (what == KERNEL_GROUPS)
		hooks_want();
	if (!kernel_of(t) || kernel_refresh(kernel_of(t)))
		return;
	if (what == KERNEL_GROUPS)
		hooks_print(r);
	else if (what == KERNEL_PROBES)
		show_probes(kernel_of(t), r);
	else
		show_events(kernel_of(t), what, r);
}

void available_kernel(struct tracer *t, enum kernel_list what, struct md_buf *out)
{
	struct rows r = { .out = out };

	show_list(t, what, &r);
}

void available_kernel_json(struct tracer *t, struct md_buf *out)
{
	static const char *const names[] = {
		[KERNEL_TRACEPOINTS] = "tracepoints", [KERNEL_SYSCALLS] = "syscalls",
		[KERNEL_CONTEXTS] = "contexts", [KERNEL_PROBES] = "probes",
		[KERNEL_GROUPS] = "groups",
	};
	struct rows r = { .out = out, .json = true };

	rows_begin(&r);
	for (int i = 0; i < (int)(sizeof(names) / sizeof(*names)); i++) {
		if (i == KERNEL_PROBES && !available_kernel_probes(t))
			continue;
		table_begin(&r, names[i], NULL);
		show_list(t, (enum kernel_list)i, &r);
		table_end(&r);
	}
	rows_end(&r);
}

/* ---- events that the kernel counts (counting.h) ---- */

/* Whether all events that the rule can ever match are there now. */
static bool is_complete(const struct rule *r)
{
	return (r->kind == RULE_EVENTS || r->kind == RULE_SYSCALLS) && !r->optional &&
	       !r->disabled && !r->keys[0].extra.count && !r->except_count &&
	       !strchr(r->pattern, '*');
}

static int add_format(struct kernel *k, struct kevent *e, struct count_spec *spec)
{
	if (spec->format_count == COUNT_EVENTS_MAX || e->dump >= 0 ||
	    (!kevent_is_tracepoint(e) && !kevent_is_syscall(e)))
		return -EOPNOTSUPP;
	spec->formats[spec->format_count] = kernel_format(k, e);
	return spec->formats[spec->format_count++] ? 0 : -EOPNOTSUPP;
}

/* Sets the formats of the events that the rule matches. */
static int find_formats(struct kernel *k, const struct rule *rule, struct count_spec *spec)
{
	struct rule_list list;
	int ret = kernel_refresh(k);

	if (!ret)
		ret = rule_list_of(rule, &list);
	if (ret)
		return ret;
	for (size_t i = 0; i < kernel_count(k) && !ret; i++) {
		struct kevent *e = kernel_event(k, i);

		if (e->present && rule_list_decide(&list, e->key, 0))
			ret = add_format(k, e, spec);
	}
	rule_list_deinit(&list);
	return ret ? ret : spec->format_count ? 0 : -EOPNOTSUPP;
}

int kernel_counts_open(struct tracer *t, const struct rule *rule, struct count_spec *spec,
		       bool adopt, struct counts **out)
{
	int ret;

	spec->format_count = 0;
	/* trail.ko has events that programs cannot be attached to. */
	if (!kernel_of(t) || kernel_of(t)->ops == &module_backend || !is_complete(rule) ||
	    bpf_supported(NULL))
		return -EOPNOTSUPP;
	spec->filter = rule->filter;
	spec->cpus = t->cpus;
	ret = find_formats(kernel_of(t), rule, spec);
	if (!ret)
		ret = counts_open(spec, t->keeper, adopt, out);
	while (spec->format_count)
		kformat_free(spec->formats[--spec->format_count]);
	return ret;
}
