// SPDX-License-Identifier: GPL-2.0-or-later
/* What the files of a trigger show and take. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/app/agent/server.h"
#include "tracer/base/timefmt.h"
#include "tracer/session/hidden.h"
#include "tracer/trigger/event.h"

/* ---- show ---- */

static void show_status(const struct trigger *trigger, struct md_buf *out)
{
	char last[TIME_TEXT_MAX] = "never";

	if (trigger->last_hit)
		time_print(trigger->last_hit, TIME_FORMAT_STATUS, last);
	md_buf_printf(out, "owner %u\nhits %" PRIu64 "\nlast_hit %s\nnotifications_sent %" PRIu64
		      "\nnotifications_lost %" PRIu64 "\nreaders %u\n", trigger->uid,
		      trigger->hits, last, trigger->sent, trigger->lost, trigger->reader_count);
	if (trigger->condition.kind == CONDITION_EVENT &&
	    trigger->condition.domain == DOMAIN_KERNEL)
		md_buf_printf(out, "events_lost %" PRIu64 "\n", trigger->events_lost);
	if (trigger->condition_error[0])
		md_buf_printf(out, "condition_error %s\n", trigger->condition_error);
	for (size_t i = 0; i < trigger->action_count; i++) {
		const struct action *a = &trigger->actions[i];

		md_buf_printf(out, "action %zu executed %" PRIu64 " failed %" PRIu64 " %s\n", i + 1,
			      a->executed, a->failed, a->text);
		if (a->error[0])
			md_buf_printf(out, "error %zu %s\n", i + 1, a->error);
	}
}

void trigger_show(struct trigger *trigger, enum trigger_file what, struct md_buf *out)
{
	struct triggers *all = triggers_of(trigger->tracer);
	struct session *loggers = NULL, *events = NULL;
	struct condition about = { 0 };

	pthread_mutex_lock(&all->lock);
	switch (what) {
	case TRIGGER_CONDITION:
		if (trigger->condition.text)
			md_buf_printf(out, "%s\n", trigger->condition.text);
		break;
	case TRIGGER_ACTIONS:
		for (size_t i = 0; i < trigger->action_count; i++)
			md_buf_printf(out, "%s\n", trigger->actions[i].text);
		break;
	case TRIGGER_ENABLED:
		md_buf_printf(out, "%d\n", trigger->enabled);
		break;
	case TRIGGER_STATUS:
		show_status(trigger, out);
		if (trigger->events)
			*(trigger->condition.agent ? &loggers : &events) =
				session_ref(trigger->events);
		about = trigger->condition;
		about.text = NULL;      /* may be freed meanwhile */
		break;
	}
	pthread_mutex_unlock(&all->lock);
	if (about.session[0])
		sample_show_missing(trigger->tracer, &about, out);
	if (loggers)
		agents_show_status(loggers, out);
	hidden_problems(events, out);
	session_put(loggers);
	session_put(events);
}

/* ---- store ---- */

/* Without lock. The session of the condition is private to another user. */
static int check_session(struct trigger *trigger, const struct condition *c, struct tr_err *err)
{
	struct session *s = c->session[0] ? session_get(trigger->tracer, c->session) : NULL;
	struct session_info info;
	int ret = 0;

	if (!s)
		return 0;               /* it may be made later */
	session_info(s, &info);
	if (!trigger_may_now(trigger, &info, false))
		ret = tr_fail_at(err, -EACCES, c->text, c->session_column,
				 "session '%s' is not the trigger owner's, and not shared",
				 c->session);
	session_put(s);
	return ret;
}

/*
 * All that can be wrong with a condition after it was parsed. *events: its session. Caller holds
 * trigger->setting alone, so that the owner and `enabled` do not change before the session is in
 * place.
 */
static int prepare_condition(struct trigger *trigger, const struct condition *c, bool enabled,
			     struct session **events, struct tr_err *err)
{
	struct trigger_info info;
	int ret = check_session(trigger, c, err);

	*events = NULL;
	if (ret || c->kind != CONDITION_EVENT)
		return ret;
	trigger_info(trigger, &info);
	return event_open(trigger->tracer, &(struct owner){ info.uid, info.gid, info.groups }, c,
			  enabled, events, err);
}

/* Locked. Takes c over, and exchanges *events with the one that the trigger had. */
static void set_condition(struct trigger *trigger, struct condition *c, struct session **events)
{
	struct session *old = trigger->events;

	trigger->events = *events;
	*events = old;
	condition_deinit(&trigger->condition);
	trigger->condition = *c;
	trigger->condition_error[0] = '\0';
	trigger->version++;
	trigger->sample = (struct sample){ 0 };
}

static const struct action **find_action(const struct action **list, size_t count,
					 const struct action *a)
{
	size_t i = 0;

	while (i < count && strcmp(list[i]->text, a->text) != 0)
		i++;
	return i < count ? &list[i] : NULL;
}

/*
 * out becomes what remains of the old actions and of the list, *count of them. -ENOSPC, or -ENOENT:
 * an action that is to be removed is not there.
 */
static int merge_actions(const struct action *old, size_t old_count, const struct action *list,
			 size_t list_count, const struct action **out, size_t *count,
			 struct tr_err *err)
{
	const struct action **found;
	size_t n = 0;

	for (; n < old_count; n++)
		out[n] = &old[n];
	for (size_t i = 0; i < list_count; i++) {
		found = list[i].removes ? find_action(out, n, &list[i]) : NULL;
		if (list[i].removes && !found)
			return tr_fail_at(err, -ENOENT, list[i].text, 0,
					  "the trigger has no such action");
		if (!found && n == ACTIONS_MAX)
			return tr_fail(err, -ENOSPC, "a trigger has at most %u actions",
				       ACTIONS_MAX);
		if (found)
			memmove(found, found + 1, (size_t)(out + --n - found) * sizeof(*found));
		else
			out[n++] = &list[i];
	}
	*count = n;
	return 0;
}

/* Frees the list, and what its actions own if they are not among those that remain. */
static void free_others(struct action *list, size_t list_count, const struct action **remaining,
			size_t count)
{
	for (size_t i = 0; i < list_count; i++) {
		size_t j = 0;

		while (j < count && remaining[j] != &list[i])
			j++;
		if (j == count)
			action_deinit(&list[i]);
	}
	free(list);
}

/* Locked. Takes the list over: new = (replace ? nothing : old) + list, but for what it removes. */
static int set_actions(struct trigger *trigger, struct action *list, size_t list_count,
		       bool replace, struct tr_err *err)
{
	const struct action *remaining[ACTIONS_MAX];
	struct action *new = calloc(ACTIONS_MAX, sizeof(*new));
	size_t old_count = replace ? 0 : trigger->action_count, count = 0, kept = 0;
	int ret = new ? merge_actions(trigger->actions, old_count, list, list_count, remaining,
				      &count, err)
		      : tr_fail(err, -ENOMEM, "out of memory");

	if (ret) {
		free(new);
		actions_free(list, list_count);
		return ret;
	}
	for (size_t i = 0; i < count; i++)
		new[i] = *remaining[i];
	while (kept < count && remaining[kept] == &trigger->actions[kept])
		kept++;
	/* Actions that wait know theirs by its index. */
	if (kept < trigger->action_count) {
		trigger->actions_version++;
		for (size_t i = 0; i < count; i++) {
			new[i].failed += new[i].waiting;
			new[i].waiting = 0;
		}
	}
	free_others(trigger->actions, trigger->action_count, remaining, count);
	free_others(list, list_count, remaining, count);
	trigger->actions = new;
	trigger->action_count = count;
	return 0;
}

/* Locked. Saves what was stored. */
static int finish_store(struct trigger *trigger, int ret, struct tr_err *err)
{
	if (ret)
		return ret;
	trigger_changed(trigger);
	engine_nudge(triggers_of(trigger->tracer));
	listener_nudge(triggers_of(trigger->tracer));
	ret = trigger_save(trigger);
	return ret ? tr_fail(err, ret, "the state directory cannot be written: %s", strerror(-ret))
		   : 0;
}

static int gone(struct tr_err *err)
{
	return tr_fail(err, -ENOENT, "the trigger was removed");
}

static bool is_enabled(struct trigger *trigger)
{
	bool enabled;

	pthread_mutex_lock(&triggers_of(trigger->tracer)->lock);
	enabled = trigger->enabled;
	pthread_mutex_unlock(&triggers_of(trigger->tracer)->lock);
	return enabled;
}

/* Caller holds trigger->setting alone. */
static int store_condition(struct trigger *trigger, const char *text, struct tr_err *err)
{
	struct triggers *all = triggers_of(trigger->tracer);
	struct session *events = NULL;
	struct condition c;
	int ret = condition_parse(text, &c, err);

	if (!ret)
		ret = prepare_condition(trigger, &c, is_enabled(trigger), &events, err);
	if (ret) {
		condition_deinit(&c);
		return ret;
	}
	pthread_mutex_lock(&all->lock);
	if (trigger->gone) {
		condition_deinit(&c);
		ret = gone(err);
	} else {
		set_condition(trigger, &c, &events);
	}
	ret = finish_store(trigger, ret, err);
	pthread_mutex_unlock(&all->lock);
	hidden_close(events);
	return ret;
}

static int store_actions(struct trigger *trigger, const char *text, bool replace,
			 struct tr_err *err)
{
	struct triggers *all = triggers_of(trigger->tracer);
	struct action *list = NULL;
	size_t count = 0;
	int ret;

	pthread_mutex_lock(&all->lock);
	ret = trigger->gone ? gone(err) : actions_parse(text, trigger->hits, &list, &count, err);
	if (!ret)
		ret = set_actions(trigger, list, count, replace, err);
	ret = finish_store(trigger, ret, err);
	pthread_mutex_unlock(&all->lock);
	return ret;
}

/* Caller holds trigger->setting alone. */
static int store_enabled(struct trigger *trigger, const char *text, struct tr_err *err)
{
	struct triggers *all = triggers_of(trigger->tracer);
	struct session *events;
	bool loggers;
	int ret = 0;

	if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
		return tr_fail_at(err, -EINVAL, text, 0, "not one of 0, 1");
	pthread_mutex_lock(&all->lock);
	if (trigger->gone)
		ret = gone(err);
	else
		trigger->enabled = text[0] == '1';
	trigger->sample = (struct sample){ 0 };
	events = trigger->events ? session_ref(trigger->events) : NULL;
	loggers = trigger->condition.agent != NULL;
	ret = finish_store(trigger, ret, err);
	pthread_mutex_unlock(&all->lock);
	hidden_enable(events, text[0] == '1');
	if (events && loggers)
		agents_settle(events);
	session_put(events);
	return ret;
}

int trigger_check_writer(struct trigger *trigger, const char *condition, const struct owner *writer,
			 bool elsewhere, struct tr_err *err)
{
	struct condition c;
	int ret = condition_parse(condition, &c, NULL);

	if (ret || c.kind != CONDITION_EVENT || c.domain != DOMAIN_KERNEL)
		ret = 0;
	else if (elsewhere && c.rule.file)
		ret = tr_fail(err, -EACCES,
			      "the rule has a path, and the process that opened this file has "
			      "ended, or has another root or mount namespace than trailfs");
	else
		ret = kernel_refuses(trigger->tracer, writer, err);
	condition_deinit(&c);
	return ret;
}

int trigger_store(struct trigger *trigger, enum trigger_file what, const char *text, bool replace,
		  struct tr_err *err)
{
	int ret;

	pthread_mutex_lock(&trigger->setting);
	ret = what == TRIGGER_CONDITION ? store_condition(trigger, text, err) :
	      what == TRIGGER_ACTIONS ? store_actions(trigger, text, replace, err) :
	      what == TRIGGER_ENABLED ? store_enabled(trigger, text, err) : -EACCES;
	pthread_mutex_unlock(&trigger->setting);
	if (!ret)
		tracer_changed(trigger->tracer, trigger->name);
	return ret;
}

bool trigger_write_done(struct trigger *trigger, uint64_t request)
{
	bool done;

	pthread_mutex_lock(&triggers_of(trigger->tracer)->lock);
	done = requests_have(&trigger->requests, request);
	pthread_mutex_unlock(&triggers_of(trigger->tracer)->lock);
	return done;
}

/* Puts in place what was prepared; takes c and list over. Caller holds trigger->setting alone. */
static int load_all(struct trigger *trigger, struct condition *c, struct session **events,
		    struct action *list, size_t count, bool enabled, struct tr_err *err)
{
	struct triggers *all = triggers_of(trigger->tracer);
	int ret;

	pthread_mutex_lock(&all->lock);
	if (trigger->gone) {
		actions_free(list, count);
		ret = gone(err);
	} else {
		for (size_t i = 0; i < count; i++)
			list[i].base = trigger->hits;
		ret = set_actions(trigger, list, count, true, err);
	}
	if (ret) {
		condition_deinit(c);
	} else {
		set_condition(trigger, c, events);
		trigger->enabled = enabled;
	}
	ret = finish_store(trigger, ret, err);
	pthread_mutex_unlock(&all->lock);
	return ret;
}

int trigger_load(struct trigger *trigger, const char *condition, const char *actions, bool enabled,
		 enum trigger_file *wrong, struct tr_err *err)
{
	struct session *events = NULL;
	struct action *list = NULL;
	struct condition c;
	size_t count = 0;
	int ret;

	*wrong = TRIGGER_CONDITION;
	pthread_mutex_lock(&trigger->setting);
	ret = condition_parse(condition, &c, err);
	if (!ret)
		ret = prepare_condition(trigger, &c, enabled, &events, err);
	if (!ret) {
		*wrong = TRIGGER_ACTIONS;
		ret = actions_parse(actions, 0, &list, &count, err);
	}
	if (ret)
		condition_deinit(&c);
	else
		ret = load_all(trigger, &c, &events, list, count, enabled, err);
	pthread_mutex_unlock(&trigger->setting);
	hidden_close(events);
	if (!ret)
		tracer_changed(trigger->tracer, trigger->name);
	return ret;
}

/* The condition cannot be true any more: the owner may not have it, or there is no memory. */
static void disarm(struct trigger *trigger, const char *why)
{
	struct triggers *all = triggers_of(trigger->tracer);
	struct session *events;

	pthread_mutex_lock(&all->lock);
	events = trigger->events;
	trigger->events = NULL;
	trigger->version++;
	snprintf(trigger->condition_error, sizeof(trigger->condition_error), "%s", why);
	trigger_changed(trigger);
	pthread_mutex_unlock(&all->lock);
	hidden_close(events);
	tracer_report(trigger->tracer, "trigger %s: %s", trigger->name, why);
}

void trigger_reopen(struct trigger *trigger)
{
	struct triggers *all = triggers_of(trigger->tracer);
	struct tr_err err = TR_ERR_INIT;
	struct session *events = NULL;
	struct condition c = { 0 };
	int ret;

	pthread_mutex_lock(&all->lock);
	ret = trigger->condition.kind != CONDITION_EVENT ? 1 :
	      condition_parse(trigger->condition.text, &c, &err);
	pthread_mutex_unlock(&all->lock);
	if (ret > 0)
		return;
	if (!ret)
		ret = prepare_condition(trigger, &c, is_enabled(trigger), &events, &err);
	if (ret) {
		condition_deinit(&c);
		disarm(trigger, err.sentence[0] ? err.sentence : strerror(-ret));
		return;
	}
	pthread_mutex_lock(&all->lock);
	if (trigger->gone)
		condition_deinit(&c);
	else
		set_condition(trigger, &c, &events);
	listener_nudge(all);
	pthread_mutex_unlock(&all->lock);
	hidden_close(events);
}
