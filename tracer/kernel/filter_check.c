// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/kernel/filter_check.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/filter/tree.h"
#include "tracer/base/probe/event_field.h"
#include "tracer/kernel/statedump/statedump.h"

#define SUGGEST_EVENTS 64       /* their fields are suggested for a field that no event has */

/* ---- text that the records lack ---- */

/* The function of the C library that makes the system call, by the call's name. */
static const char *find_function(const char *call)
{
	return !strcmp(call, "open") || !strcmp(call, "openat") ? "open64" : call;
}

/*
 * Names a rule that records the text, if there is one: the argument has the same place in the
 * system call and in the function, but for open64, which has no descriptor.
 */
static int explain_unread(struct kernel *k, const struct kevent *e, uint32_t index,
			  const struct rule *r, const struct filter_node *field, struct tr_err *err)
{
	static const char enter[] = "sys_enter_";
	const char *call = e->name + strlen(enter), *function;
	char sentence[sizeof(err->sentence)];
	Dl_info library = { 0 };
	int n = snprintf(sentence, sizeof(sentence), "this kernel's records have the address of "
			 "'%.40s' and not its text; ", field->text);

	function = find_function(call);
	if (function != call)
		index = 0;
	if (k->ops->has_uprobes(k->backend) && dynamic_event_register((int)index + 1) &&
	    dlsym(RTLD_DEFAULT, function) &&
	    dladdr(dlsym(RTLD_DEFAULT, function), &library) && library.dli_fname)
		snprintf(sentence + n, sizeof(sentence) - (size_t)n,
			 "a probe has the text: uprobe:%.80s:%s with $arg%u:string as %.31s",
			 library.dli_fname, function, index + 1, field->text);
	else
		snprintf(sentence + n, sizeof(sentence) - (size_t)n,
			 "kernels with event probes, and trail.ko, record the text");
	return filter_fail_field(r->filter, field, -EOPNOTSUPP, sentence, err);
}

static int explain_tracefs(const struct rule *r, const struct filter_node *field,
			   struct tr_err *err)
{
	char sentence[sizeof(err->sentence)];

	snprintf(sentence, sizeof(sentence),
		 "the channel's `backend` is tracefs, which records the address of '%.40s' and not "
		 "its text on this kernel; BPF programs record the text", field->text);
	return filter_fail_field(r->filter, field, -EOPNOTSUPP, sentence, err);
}

/* False: the fields are unknown. */
static bool get_fields(struct kernel *k, struct kevent *e, struct kdump_fields *out)
{
	if (e->dump >= 0) {
		kdump_filter_event((enum kdump_type)e->dump, out);
		return true;
	}
	if (!e->format && !e->unreadable)
		kevent_load_format(k, e);
	if (e->format)
		kformat_filter_event(e->format, &out->event);
	return e->format;
}

/* Whether records of a channel with this backend have the address of the field, not its text. */
static bool lacks_text(struct kernel *k, const struct kevent *e, uint32_t at,
		       enum backend_choice by)
{
	const struct kformat_field *f;

	if (!e->format || at >= e->format->field_count)
		return false;
	f = &e->format->fields[at];
	return f->kind == KFORMAT_ADDRESS ||
	       (f->kind == KFORMAT_STRING && by != BACKEND_AUTO && k->ops->lacks_text &&
		k->ops->lacks_text(k->backend, by, e->system, e->name, f->kernel_name));
}

/*
 * -EINVAL if the field is in none of the events that the rule matches; -EOPNOTSUPP if it is text
 * that no record of these has.
 */
static int check_field(struct kernel *k, const struct rule *r, const struct filter_node *field,
		       enum backend_choice by, struct tr_err *err)
{
	struct md_buf names = MD_BUF_INIT;
	const struct kevent *first = NULL, *unread = NULL;
	struct kdump_fields fields;
	uint32_t at, unread_at = 0;
	bool found = false;
	size_t events = 0;
	int ret = 0;

	for (size_t i = 0; i < k->event_count && !found; i++) {
		struct kevent *e = k->events[i];

		if (!e->present || !rule_match(r, e->key, 0))
			continue;
		/* An event whose format cannot be read may have any field. */
		found = !get_fields(k, e, &fields) || filter_event_has(&fields.event, field, &at);
		if (found && lacks_text(k, e, at, by)) {
			unread = e;
			unread_at = at;
			found = false;
		}
		first = first ? first : e;
		if (events++ < SUGGEST_EVENTS && !found)
			filter_event_names(&fields.event, &names);
	}
	if (!found && unread)
		ret = unread->format->fields[unread_at].kind == KFORMAT_STRING
			      ? explain_tracefs(r, field, err)
			      : explain_unread(k, unread, unread_at, r, field, err);
	else if (!found && first)
		ret = filter_no_field(r->filter, field,
				      events > 1         ? "any of the rule's events"
				      : first->dump >= 0 ? first->event
							 : first->name,
				      &names, err);
	md_buf_deinit(&names);
	return ret;
}

int kfilter_check_fields(struct kernel *k, const struct rule *r, enum backend_choice by,
			struct tr_err *err)
{
	const struct filter_node *field;
	int ret = 0;

	for (size_t n = 0; !ret && (field = filter_named_field(r->filter, n)); n++)
		ret = check_field(k, r, field, by, err);
	if (ret && err)
		err->line = r->line;
	return ret;
}

/* Whether the event has a field that the filter names, or the filter names none. */
static bool has_some_field(const struct filter *f, const struct filter_event *e)
{
	uint64_t missing = filter_missing_fields(f, e);
	size_t n = 0;

	while (filter_named_field(f, n))
		n++;
	return !n || n > 64 || missing != (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1);
}

/* The named field that is the nearest one to this column. NULL: there is none. */
static const struct filter_node *find_near(const struct filter *f, int column)
{
	const struct filter_node *field, *near = NULL;

	for (size_t n = 0; (field = filter_named_field(f, n)); n++)
		if (!near || abs((int)field->column - column) < abs((int)near->column - column))
			near = field;
	return near;
}

/*
 * Says of a filter that takes an argument of a system call for a text, where the argument is the
 * address of something else. False: this is not why the filter's types clash.
 */
static bool explain_pointer(struct kernel *k, struct kevent *e, const struct rule *r,
			    const struct tr_err *clash, struct tr_err *err)
{
	const struct filter_node *named = find_near(r->filter, clash->column);
	struct md_buf format = MD_BUF_INIT;
	const struct kformat_field *field;
	struct kdump_fields fields;
	char sentence[200];
	struct event_field f;
	bool is = named && get_fields(k, e, &fields) && e->format &&
		  !strcmp(e->system, "syscalls");
	uint32_t at;

	if (!is || !filter_event_has(&fields.event, named, &at) || at >= e->format->field_count)
		return false;
	field = &e->format->fields[at];
	is = field->kind == KFORMAT_INT && field->hex &&
	     !k->ops->format(k->backend, e->system, e->name, &format) &&
	     event_field_find(md_buf_str(&format), field->kernel_name, strlen(field->kernel_name),
			      &f) && strchr(f.type, '*');
	md_buf_deinit(&format);
	if (!is)
		return false;
	snprintf(sentence, sizeof(sentence),
		 "'%.40s' is an address (%.60s) and no text: compare it with numbers",
		 named->text, f.type);
	filter_fail_field(r->filter, named, -EINVAL, sentence, err);
	if (err)
		err->line = r->line;
	return true;
}

int kfilter_check_types(struct kernel *k, const struct rule *r, struct tr_err *err)
{
	struct tr_err first = TR_ERR_INIT;
	struct kdump_fields fields;
	struct kevent *clash = NULL;
	bool any = false;

	for (size_t i = 0; i < k->event_count; i++) {
		struct kevent *e = k->events[i];

		if (!e->present || !rule_match(r, e->key, 0))
			continue;
		any = true;
		if (!r->filter)
			return 0;
		if (!get_fields(k, e, &fields))
			continue;
		if (filter_check(r->filter, &fields.event, clash ? NULL : &first) == -EINVAL)
			clash = clash ? clash : e;
		else if (has_some_field(r->filter, &fields.event))
			return 0;
	}
	if (!any)
		return -ENOENT;
	if (!clash)
		return 0;
	if (explain_pointer(k, clash, r, &first, err))
		return -EINVAL;
	if (err) {
		size_t n = strlen(first.sentence);

		*err = first;
		snprintf(err->sentence + n, sizeof(err->sentence) - n, " (in %.100s)", clash->name);
		err->line = r->line;
	}
	return -EINVAL;
}

void kernel_each_match(struct kernel *k, const struct rule_list *rules,
		       bool (*fn)(void *arg, const struct filter_event *fields), void *arg)
{
	struct kdump_fields fields;
	bool done = false;

	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < k->event_count && !done; i++) {
		struct kevent *e = k->events[i];

		if (e->present && rule_list_decide(rules, e->key, 0))
			done = fn(arg, get_fields(k, e, &fields) ? &fields.event : NULL);
	}
	pthread_mutex_unlock(&k->lock);
}

int kernel_check_texts(struct kernel *k, const struct rule_list *l, bool added,
		       enum backend_choice by, struct tr_err *err)
{
	struct tr_err why = TR_ERR_INIT;
	int ret;

	if (by == BACKEND_AUTO || !k->ops->lacks_text)
		return 0;
	ret = kernel_refresh(k);
	if (ret)
		return ret;
	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < l->count && ret != -EOPNOTSUPP; i++)
		if (l->rules[i].filter && (l->rules[i].line || !added) && !l->rules[i].disabled)
			ret = kfilter_check_fields(k, &l->rules[i], by, &why);
	pthread_mutex_unlock(&k->lock);
	/* Other errors are said when a rule is written. */
	if (ret != -EOPNOTSUPP)
		return 0;
	if (err)
		*err = why;
	return ret;
}
