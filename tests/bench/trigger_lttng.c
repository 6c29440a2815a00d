/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: lttng-ust lttng-ctl dl pthread */
/*
 * See trigger_hits.h: the same with LTTng-UST and lttng-sessiond. TRIGGER_ACTION: what the trigger
 * on bench_trigger:alarm does, `notify`, `stop`, or `notify N` for each N-th hit. The session
 * `bench` records bench_trigger:beat.
 */
#include "trigger_hits.h"

#include <lttng/action/notify.h>
#include <lttng/action/rate-policy.h>
#include <lttng/action/stop-session.h>
#include <lttng/condition/event-rule-matches.h>
#include <lttng/endpoint.h>
#include <lttng/event-rule/user-tracepoint.h>
#include <lttng/lttng.h>
#include <lttng/notification/channel.h>
#include <lttng/notification/notification.h>
#include <lttng/trigger/trigger.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_alarm.h"

static struct lttng_condition *condition;
static struct lttng_notification_channel *channel;

static void hit(uint64_t number)
{
	lttng_ust_tracepoint(bench_trigger, alarm, number);
}

static bool is_recorded(void)
{
	return lttng_ust_tracepoint_enabled(bench_trigger, beat);
}

static void start_session(void)
{
	if (lttng_start_tracing("bench") < 0)
		fprintf(stderr, "cannot start the session\n");
}

static void open_listener(void)
{
	channel = lttng_notification_channel_create(lttng_session_daemon_notification_endpoint);
	if (!channel || lttng_notification_channel_subscribe(channel, condition))
		fprintf(stderr, "cannot listen\n");
}

static bool next_notification(void)
{
	struct lttng_notification *n = NULL;
	bool good = channel && !lttng_notification_channel_get_next_notification(channel, &n);

	lttng_notification_destroy(n);
	return good;
}

static struct lttng_action *make_action(const char *text)
{
	unsigned long long each = strtoull(text + strcspn(text, " "), NULL, 10);
	struct lttng_action *a;

	if (!strcmp(text, "stop")) {
		a = lttng_action_stop_session_create();
		lttng_action_stop_session_set_session_name(a, "bench");
		return a;
	}
	a = lttng_action_notify_create();
	if (each)
		lttng_action_notify_set_rate_policy(a, lttng_rate_policy_every_n_create(each));
	return a;
}

/* The program registers its trigger, which ends with the session daemon. */
static bool make_trigger(void)
{
	struct lttng_event_rule *rule = lttng_event_rule_user_tracepoint_create();
	const char *action = getenv("TRIGGER_ACTION");
	struct lttng_trigger *trigger;

	lttng_event_rule_user_tracepoint_set_name_pattern(rule, "bench_trigger:alarm");
	condition = lttng_condition_event_rule_matches_create(rule);
	trigger = lttng_trigger_create(condition, make_action(action ? action : "notify"));
	return lttng_register_trigger_with_name(trigger, "bench") == LTTNG_OK;
}

int main(int argc, char **argv)
{
	if (!make_trigger()) {
		fprintf(stderr, "cannot register a trigger\n");
		return 1;
	}
	pause_us(500000);               /* for the event notifier in this process */
	return hits_main(argc, argv);
}
