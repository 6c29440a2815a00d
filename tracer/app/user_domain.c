// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The user domain (session/domain.h): what rules mean for the tracepoints that applications have
 * registered.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/facts.h"
#include "tracer/app/app.h"
#include "tracer/app/layout.h"
#include "tracer/app/trouble.h"
#include "tracer/session/session.h"
#include "tracer/session/trace_form.h"

/* Of rules at tracepoints, in one read of `status`: the tracer's lock is held. */
#define STATUS_LOOKS 1000000u
#define FILTER_LOOKS 50u        /* what a look at the fields of a filter costs */
#define NAMES_MOST 4096u        /* bytes of names among which a field's name is suggested */

#define APP_COST 32u            /* tracepoints whose words cost what one application costs */

static bool takes_event(const struct rule *r, const struct registration_event *e)
{
	return !e->refused && rule_match(r, EVENT_KEY(e->name), e->level);
}

/* ---- when rules are written ---- */

/* -EINVAL if the filter can do nothing with any event that the rule takes now. */
static int check_rule(const struct session *s, const struct rule *r, struct tr_err *err)
{
	struct tr_err first = TR_ERR_INIT, *say = &first;
	const char *event = NULL;
	struct app *a;
	int ret;

	cds_list_for_each_entry(a, &apps_of(s->tracer)->list, node) {
		if (s->uid && s->uid != a->file->uid)
			continue;
		for (uint32_t i = 0; i < a->file->event_count; i++) {
			const struct registration_event *e = &a->file->events[i];
			struct filter_event fields = app_fields(a, i);

			if (!takes_event(r, e))
				continue;
			ret = filter_check(r->filter, &fields, say);
			if (ret != -EINVAL)
				return 0;
			if (!event)
				event = e->name;
			say = NULL;
		}
	}
	if (!event)
		return 0;
	if (err) {
		size_t n = strlen(first.sentence);

		*err = first;
		snprintf(err->sentence + n, sizeof(err->sentence) - n, " (in %.100s)", event);
		err->line = r->line;
	}
	return -EINVAL;
}

/* What the registered tracepoints say about a rule. */
struct rule_report {
	bool matched;           /* by a tracepoint, or by the daemon's own event */
	uint64_t missing;       /* fields of the filter that no matching tracepoint has, as bits */
	struct md_buf names;    /* the fields that matching tracepoints have, each with a NUL */
};

static void examine_app(const struct app *a, const struct rule *r, size_t *looks,
			struct rule_report *out)
{
	for (uint32_t i = 0; *looks && i < a->file->event_count; i++) {
		const struct registration_event *e = &a->file->events[i];
		struct filter_event fields = app_fields(a, i);

		--*looks;
		if (!takes_event(r, e))
			continue;
		out->matched = true;
		if (!out->missing)
			return;
		out->missing &= filter_missing_fields(r->filter, &fields);
		if (out->names.len < NAMES_MOST)
			filter_event_names(&fields, &out->names);
		*looks -= *looks < FILTER_LOOKS ? *looks : FILTER_LOOKS;
	}
}

/*
 * Looks for tracepoints that the rule takes, of applications that the session records. looks: how
 * many are left; at 0 the report is not complete.
 */
static void examine_rule(const struct session *s, const struct rule *r, size_t *looks,
			 struct rule_report *out)
{
	struct app *a;

	*out = (struct rule_report){ .names = MD_BUF_INIT };
	/* Filters of the daemon's own event are not examined. */
	out->matched = rule_match(r, EVENT_KEY(LOG_EVENT), LOG_EVENT_LEVEL);
	out->missing = r->filter && !out->matched ? UINT64_MAX : 0;
	cds_list_for_each_entry(a, &apps_of(s->tracer)->list, node) {
		if (out->matched && !out->missing)
			return;
		if (!s->uid || s->uid == a->file->uid)
			examine_app(a, r, looks, out);
	}
}

/* The line of a rule that can record nothing now, if it is such a rule. */
static void show_rule(const struct session *s, const struct rule *r, size_t *looks,
		      struct facts *out)
{
	const struct filter_node *field;
	struct tr_err err = TR_ERR_INIT;
	struct rule_report report;

	examine_rule(s, r, looks, &report);
	if (*looks && !report.matched)
		fact_item(out, "unmatched", "%s", r->text);
	for (size_t i = 0; *looks && report.matched && report.missing &&
			   (field = filter_named_field(r->filter, i)); i++) {
		if (!(report.missing >> i & 1))
			continue;
		filter_no_field(r->filter, field, "the tracepoints that it matches",
				&report.names, &err);
		fact_item(out, "unknown_field", "%s: %s", r->text, err.sentence);
		break;
	}
	md_buf_deinit(&report.names);
}

static void show_rules(const struct session *s, struct facts *out)
{
	size_t looks = STATUS_LOOKS;
	struct channel *c;

	cds_list_for_each_entry(c, &s->channels, node)
		for (size_t i = 0; !c->kernel && looks && i < c->rules.count; i++)
			if (!c->rules.rules[i].disabled)
				show_rule(s, &c->rules.rules[i], &looks, out);
}

/*
 * Lines `unmatched RULE`, `unknown_field RULE: SENTENCE`, `other_clock N`: registrations that the
 * clock excludes; `problem OBJECT, process PID: SENTENCE` for tracepoints that are left out.
 */
static void show_status(const struct session *s, struct facts *out)
{
	uint32_t others = 0;
	unsigned int problems = PROBLEMS_MOST;
	struct app *a;

	show_rules(s, out);
	trouble_show(s, out);
	cds_list_for_each_entry(a, &apps_of(s->tracer)->list, node) {
		if (!session_serves(s, a->file->uid))
			continue;
		others += !session_has_clock(s, a->file->clock);
		app_problems(a, &problems, out);
	}
	if (others)
		fact_number(out, "other_clock", others);
}

static int check_rules(struct session *s, const struct rule_list *l, struct rule_preparation **prep,
		       struct tr_err *err)
{
	int ret = 0;

	(void)prep;
	for (size_t i = 0; i < l->count && !ret; i++)
		if (l->rules[i].filter && l->rules[i].line)
			ret = check_rule(s, &l->rules[i], err);
	return ret;
}

/* The daemon's own event: its fields are not in a registration. */
static void each_match(struct session *s, const struct rule_list *rules,
		       bool (*fn)(void *arg, const struct filter_event *fields), void *arg)
{
	bool done = rule_list_decide(rules, EVENT_KEY(LOG_EVENT), LOG_EVENT_LEVEL) && fn(arg, NULL);
	struct app *a;

	cds_list_for_each_entry(a, &apps_of(s->tracer)->list, node)
		for (uint32_t i = 0; !done && i < a->file->event_count; i++) {
			const struct registration_event *e = &a->file->events[i];
			struct filter_event fields = app_fields(a, i);

			if ((!s->uid || s->uid == a->file->uid) &&
			    rule_list_decide(rules, EVENT_KEY(e->name), e->level))
				done = fn(arg, &fields);
		}
}

static void apply_words(struct session *s)
{
	struct app *a;

	apps_of(s->tracer)->rules_version++;
	cds_list_for_each_entry(a, &apps_of(s->tracer)->list, node)
		app_apply(s->tracer, a, false);
}

/*
 * First the state words: from then on each hit asks, and waits for the lock. Then the switch bytes,
 * so that a hit which has passed its word finds that what it knows is old. Then the barrier, for
 * those that have passed the byte.
 */
static void apply_rules(struct session *s)
{
	apply_words(s);
	session_switch(s);
}

#define HALT_MOST 4096u         /* tracepoints: a halt takes a millisecond at most */

static bool are_few(const struct session *s)
{
	const struct app *a;
	size_t n = 0;

	cds_list_for_each_entry(a, &apps_of(s->tracer)->list, node) {
		n += APP_COST + a->file->event_count;
		if (n > HALT_MOST)
			return false;
	}
	return true;
}

/* Without the barrier of apply_rules. */
static void halt_apps(struct session *s)
{
	apply_words(s);
	session_switch_bytes(s);
}

static void collect_missed(struct session *s)
{
	apps_catch_up_locked(s->tracer);
	apps_gc(s->tracer);
}

static void ask_dump(struct session *s)
{
	struct app *a;

	cds_list_for_each_entry(a, &apps_of(s->tracer)->list, node)
		if (session_wants(s, a))
			app_apply(s->tracer, a, true);
}

/* ---- the events that rules can match ---- */

static int by_table(const void *a, const void *b)
{
	const struct registration *const *x = a, *const *y = b;

	return ((*x)->events > (*y)->events) - ((*x)->events < (*y)->events);
}

static void list_event(const char *name, int level,
		       void (*fn)(void *arg, const struct known_event *e), void *arg)
{
	fn(arg, &(struct known_event){ .key = EVENT_KEY(name), .name = name, .level = level });
}

/* Many processes of one program share the table of its tracepoints: lists each table once. */
static int list_events(struct session *s, void (*fn)(void *arg, const struct known_event *e),
		       void *arg)
{
	struct tracer *t = s->tracer;
	const struct registration **files;
	size_t n = 0;
	struct app *a;

	list_event(LOG_EVENT, LOG_EVENT_LEVEL, fn, arg);
	pthread_mutex_lock(&t->lock);
	files = malloc((apps_of(t)->count + 1) * sizeof(*files));
	cds_list_for_each_entry(a, &apps_of(t)->list, node)
		if (files && (!s->uid || s->uid == a->file->uid) && n < apps_of(t)->count)
			files[n++] = a->file;
	if (n)
		qsort(files, n, sizeof(*files), by_table);
	for (size_t i = 0; i < n; i++)
		for (uint32_t e = 0; e < files[i]->event_count; e++)
			if ((!i || files[i]->events != files[i - 1]->events) &&
			    !files[i]->events[e].refused)
				list_event(files[i]->events[e].name, files[i]->events[e].level, fn,
					   arg);
	pthread_mutex_unlock(&t->lock);
	if (!files)
		return -ENOMEM;
	free(files);
	return 0;
}

static void drain_ended(struct session *s)
{
	apps_catch_up(s->tracer);
}

static int create_data(struct tracer *t)
{
	struct apps *all = apps_of(t);

	CDS_INIT_LIST_HEAD(&all->list);
	CDS_INIT_LIST_HEAD(&all->retries);
	CDS_INIT_LIST_HEAD(&all->closed);
	all->fds[0] = all->fds[1] = -1;
	all->layouts = layouts_create();
	return all->layouts ? app_table_create(t) : -ENOMEM;
}

static void destroy_data(struct tracer *t)
{
	struct apps *all = apps_of(t);

	for (int i = 0; i < 2; i++)
		if (all->fds[i] >= 0)
			close(all->fds[i]);
	app_table_destroy(t);
	if (all->layouts)
		layouts_destroy(all->layouts);
}

const struct domain_ops user_domain = {
	.size = sizeof(struct apps),
	.create = create_data,
	.destroy = destroy_data,
	.name = "user",
	.check_rules = check_rules,
	.each_match = each_match,
	.apply = apply_rules,
	.may_halt = are_few,
	.halt = halt_apps,
	.collect = collect_missed,
	.ask_dump = ask_dump,
	.drain = drain_ended,
	.list_events = list_events,
	.status = show_status,
};
