// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Brings what the kernel records for a channel in line with the channel's rules: enabled events,
 * filters, functions. kchannel_apply releases tracer.lock; what it calls holds session.lock alone.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/kernel/kernel.h"
#include "tracer/kernel/kevent/bpf_filter.h"
#include "tracer/kernel/kevent/kernel_filter.h"
#include "tracer/base/rule/kernel_pattern.h"

#define FILTERS_MAX 64          /* filters on one event that are passed to the kernel */
/*
 * Formats that one apply reads for filters, because it holds session.lock. No limit for a backend
 * with programs, which may be the only ones to filter.
 */
#define FORMATS_MAX 128

void kchannel_problem(struct kchannel *kc, int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(kc->problem, sizeof(kc->problem), fmt, ap);
	va_end(ap);
	kc->error = error;
	session_failed(kc->channel->session, "channel %s: %s", kc->channel->name, kc->problem);
}

static int choose_events(struct kchannel *kc, struct kernel *k, bool active, uint8_t **out)
{
	size_t n;
	int ret = active ? kernel_refresh(k) : 0;

	n = kernel_count(k);
	*out = NULL;
	if (!ret)
		ret = kchannel_reserve(kc, n);
	if (!ret)
		*out = calloc(n + 1, 1);
	if (!*out)
		return ret ? ret : -ENOMEM;
	for (size_t i = 0; active && i < n; i++) {
		const struct kevent *e = kernel_event(k, i);

		(*out)[i] = e->present && e->dump < 0 &&
			    rule_list_decide(&kc->channel->rules, e->key, 0) != 0;
	}
	return 0;
}

static void print_filters(const struct filter *const *filters, size_t n, struct md_buf *out)
{
	for (size_t i = 0; i < n; i++) {
		md_buf_puts(out, i ? "\n" : "");
		filter_print(filters[i], out);
	}
}

/* Whether the event's program decides all of them. */
static bool can_decide(const struct filter *const *filters, size_t n, const struct kformat *f)
{
	size_t i = 0;

	while (i < n && bpf_filter_possible(filters[i], f, true))
		i++;
	return i == n;
}

/*
 * Makes a filter for the kernel from the rules' filters on an event. Returns whether it is exact.
 */
static bool build_filter(struct kchannel *kc, struct kernel *k, struct kevent *e, size_t *read,
			struct md_buf *out)
{
	const struct rule_list *rules = &kc->channel->rules;
	uint64_t decision = rule_list_decide(rules, e->key, 0);
	size_t n = rule_list_filters(rules, e->key, 0, NULL, 0);
	const struct filter *filters[FILTERS_MAX];
	bool exact = false;
	struct kformat *f;

	if (decision == RULE_ALL)
		return true;
	if (n > FILTERS_MAX || (!e->format && (*read)++ > FORMATS_MAX && !k->ops->programs))
		return false;
	rule_list_filters(rules, e->key, 0, filters, n);
	f = kernel_format(k, e);
	if (k->ops->filters_rules && k->ops->filters_rules(kc->bc, e->system, e->name)) {
		print_filters(filters, n, out);
		exact = f && can_decide(filters, n, f);
	} else if (f && k->ops->programs) {
		exact = kfilter_compile(filters, n, f, out);
	} else if (f) {
		exact = kfilter_print(filters, n, f, out);
	}
	kformat_free(f);
	return exact;
}

static void set_filter(struct kchannel *kc, struct kernel *k, const struct kevent *e,
		       const char *data, size_t len, bool exact)
{
	struct kchannel_filter *now = &kc->filters[e->index], next = { .len = len };
	int ret;

	if (!now->data == !len && now->len == len && !(len && memcmp(now->data, data, len))) {
		now->exact = exact;
		return;
	}
	now->exact = false;
	next.data = len ? malloc(len + 1) : NULL;
	if (next.data) {
		memcpy(next.data, data, len);
		next.data[len] = '\0';
	}
	next.len = next.data ? len : 0;
	next.exact = exact && next.len == len;
	ret = k->ops->filter(kc->bc, e->system, e->name, next.data ? next.data : "", next.len);
	if (ret && next.data) {
		/* The kernel rejected the filter, and has none now. */
		free(next.data);
		next = (struct kchannel_filter){ NULL, 0, false };
	} else if (ret && ret != -ENOENT) {
		kc->refused = ret;        /* the old filter may still be in force */
		return;
	}
	free(now->data);
	*now = next;
}

/*
 * Sets the filters of all events after they were enabled or disabled. Until then the daemon filters
 * alone.
 */
static void set_filters(struct kchannel *kc, struct kernel *k, const uint8_t *wanted, bool active)
{
	struct md_buf text = MD_BUF_INIT;
	bool exact, unfiltered = false;
	size_t read = 0;

	for (int i = TRACK_PID + 1; i < TRACK_IDS && !k->ops->track_by; i++)
		unfiltered |= kc->tracked[i].some;
	for (size_t i = 0; i < kc->on_count; i++) {
		struct kevent *e = kernel_event(k, i);

		if (!k->ops->filter || krule_is_function(e->key->place)) {
			unfiltered |= wanted[i] &&
				      rule_list_decide(&kc->channel->rules, e->key, 0) != RULE_ALL;
			continue;
		}
		md_buf_reset(&text);
		exact = wanted[i] && build_filter(kc, k, e, &read, &text) && !text.failed;
		set_filter(kc, k, e, text.data, text.failed ? 0 : text.len, exact);
		unfiltered |= wanted[i] && !kc->filters[e->index].exact;
	}
	md_buf_deinit(&text);
	/* Records from before a stop keep the old value. */
	if (active)
		__atomic_store_n(&kc->unfiltered, unfiltered, __ATOMIC_RELAXED);
}

/* Functions are enabled by a list of names, apart from all other events. */
static int apply_functions(struct kchannel *kc, struct kernel *k, bool active)
{
	const struct rule_list *rules = &kc->channel->rules;
	struct kevent *e = kernel_find(k, BACKEND_FUNCTION_SYSTEM, BACKEND_FUNCTION_EVENT,
				       strlen(BACKEND_FUNCTION_EVENT));
	struct md_buf names = MD_BUF_INIT;
	int ret = 0;

	for (size_t i = 0; active && i < rules->count; i++)
		if (!rules->rules[i].disabled && rules->rules[i].kind == RULE_FUNCTIONS)
			md_buf_printf(&names, "%s%s", names.len ? " " : "",
				      rules->rules[i].pattern + strlen(KRULE_FUNCTION));
	md_buf_str(&names);
	if (names.failed)
		ret = -ENOMEM;
	else if (e && k->ops->functions && !(kc->functions && !strcmp(kc->functions, names.data)))
		ret = k->ops->functions(kc->bc, names.data);
	else
		goto out;
	free(kc->functions);
	kc->functions = ret ? NULL : names.data;
	if (!ret) {
		kchannel_mark_enabled(kc, e->index, *names.data != '\0');
		names.data = NULL;
	}
out:
	if (names.data)
		md_buf_deinit(&names);
	return ret;
}

/* The first event that the kernel refuses is said. */
static void refuse_event(struct kchannel *kc, const struct kernel *k, const struct kevent *e,
			 int error, struct tr_err *err)
{
	struct tr_err why = TR_ERR_INIT;

	if (kc->refused)
		return;
	kc->refused = error;
	if (k->ops->why)
		k->ops->why(kc->bc, &why);
	tr_fail(err, error, "the kernel refuses %s:%s: %s", e->system, e->name,
		*why.sentence ? why.sentence : strerror(-error));
}

/* Enables or disables the events of a system; with one write if all of them change to one value. */
static int switch_system(struct kchannel *kc, struct kernel *k, const uint8_t *wanted,
			 const char *system, struct tr_err *err)
{
	size_t n = kc->on_count, on = 0, off = 0, change = 0;
	int ret = 0;

	for (size_t i = 0; i < n; i++) {
		const struct kevent *e = kernel_event(k, i);

		if (!e->present || strcmp(e->system, system) != 0)
			continue;
		on += wanted[i];
		off += !wanted[i];
		change += wanted[i] != kc->on[i];
	}
	if (k->ops->expect)
		k->ops->expect(kc->bc, system, on);
	if (change > 2 && (!on || !off))
		ret = k->ops->enable(kc->bc, system, NULL, on != 0);
	for (size_t i = 0; i < n; i++) {
		const struct kevent *e = kernel_event(k, i);
		int one;

		if (wanted[i] == kc->on[i] || strcmp(e->system, system) != 0)
			continue;
		if (!e->present) {
			kc->on[i] = 0;
			continue;
		}
		one = change > 2 && (!on || !off) && !ret
			      ? 0
			      : k->ops->enable(kc->bc, system, e->name, wanted[i]);
		if (!one)
			kchannel_mark_enabled(kc, i, wanted[i]);
		else
			refuse_event(kc, k, e, one, err);
	}
	return ret;
}

static void switch_events(struct kchannel *kc, struct kernel *k, const uint8_t *wanted,
			  struct tr_err *err)
{
	for (size_t i = 0; i < kc->on_count; i++)
		if (wanted[i] != kc->on[i] && !krule_is_function(kernel_event(k, i)->key->place))
			switch_system(kc, k, wanted, kernel_event(k, i)->system, err);
}

/*
 * Passes the rules to the kernel. Returns whether it records. Caller holds session.lock, not
 * tracer.lock: this may take a second. err: why an event is not recorded, or samples are not taken.
 */
static bool pass_rules(struct channel *c, struct kchannel *kc, struct kernel *k, struct tr_err *err)
{
	struct session *s = c->session;
	bool recording = kc->recording, active;
	uint8_t *wanted;
	int ret;

	kchannel_check(kc, true);
	kc->refused = 0;
	active = s->active && !s->gone && c->enabled && session_may_trace_kernel(s) &&
		 kchannel_apply_track_attrs(kc, k) && kchannel_apply_track(kc, k);
	if (!active && recording) {
		ret = k->ops->record(kc->bc, false);
		recording = ret != 0;
		kc->refused = ret ? ret : kc->refused;
	}
	ret = choose_events(kc, k, active, &wanted);
	if (!ret) {
		switch_events(kc, k, wanted, err);
		set_filters(kc, k, wanted, active);
	}
	free(wanted);
	if (!ret && (ret = apply_functions(kc, k, active))) {
		kc->refused = ret;
		ret = 0;        /* the other events are recorded */
	}
	if (!ret && (ret = ksampling_apply(kc, active, err))) {
		kc->refused = ret;
		ret = 0;
	}
	if (!ret && active) {
		__atomic_store_n(&kc->drained, false, __ATOMIC_RELEASE);
		ret = k->ops->record(kc->bc, true);
		recording = !ret;
	}
	if (ret && !kc->refused)
		kc->refused = ret;
	return recording;
}

void kchannel_apply(struct channel *c)
{
	struct kernel *k = kernel_of(c->session->tracer);
	struct kchannel *kc = c->kchannel;
	struct tr_err err = TR_ERR_INIT, lacks = TR_ERR_INIT;
	bool recording, prompt;

	if (!kc || !k)
		return;
	/*
	 * Pairs with the acquire in drain.c: a drain that sees the new number reads the rules under
	 * tracer.lock.
	 */
	__atomic_add_fetch(&kc->generation, 1, __ATOMIC_RELEASE);
	kc->applying = true;
	pthread_mutex_unlock(&kc->tracer->lock);
	recording = pass_rules(c, kc, k, &err);
	if (k->ops->lacking)
		k->ops->lacking(kc->bc, &lacks);
	pthread_mutex_lock(&kc->tracer->lock);
	kc->applying = false;
	kc->recording = recording;
	prompt = recording && kc->need && !k->ops->track_by;
	if (prompt != kc->prompt) {
		kc->prompt = prompt;
		kernel_prompt_update(kc->tracer);
	}
	kchannel_note_enabled(kc);
	kc->changed[0] = '\0';
	kc->filters_changed = false;
	kc->error = 0;
	if (*lacks.sentence)
		session_failed(c->session, "channel %s: %s", c->name, lacks.sentence);
	if (kc->refused && *err.sentence)
		kchannel_problem(kc, kc->refused, "%s", err.sentence);
	else if (kc->refused)
		kchannel_problem(kc, kc->refused, "the kernel refuses: %s", strerror(-kc->refused));
}
