// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks whether the kernel still records what the daemon set: all users who may write to tracefs
 * can change an instance. Differences are shown in `status` and in the root's `error`; the next
 * change of rules, or the next start, repairs them. Callers hold session.lock, not
 * tracer.lock: this reads many files.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/kernel/kernel.h"
#include "tracer/base/rule/kernel_pattern.h"

#define FILTERS_AT_ONCE 128     /* files read in one check; the next one continues there */

static void append_change(struct md_buf *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Appends the name of a changed file, if the sentence has space for it. */
static void append_change(struct md_buf *out, const char *fmt, ...)
{
	char name[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	if (out->len < 100)
		md_buf_printf(out, "%s%s", out->len ? ", " : "", name);
}

/* Whether the kernel tracks threads, as backend_ops.changed wants it. */
static int tracks_threads(const struct kchannel *kc)
{
	const struct track *t = &kc->tracked[TRACK_PID];

	if (kc->tracked[TRACK_KERNEL_CGROUP].some)
		return -1;      /* they may have ended */
	for (size_t i = 0; t->some && i < t->count; i++)
		if (kill((pid_t)t->ids[i], 0) == 0 || errno == EPERM)
			return 1;
	return t->some ? -1 : 0;
}

static void check_events(struct kchannel *kc, struct kernel *k, bool repair, struct md_buf *out)
{
	uint8_t *now = calloc(kc->on_count + 1, 1);
	struct md_buf text = MD_BUF_INIT;
	char *line, *save = NULL, *colon;
	struct kevent *e;

	if (!now || k->ops->enabled(kc->bc, &text) || !md_buf_str(&text) || text.failed)
		goto out;
	for (line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = '\0';
		e = kernel_find(k, line, colon + 1, strlen(colon + 1));
		if (e && e->index < kc->on_count)
			now[e->index] = 1;
	}
	for (size_t i = 0; i < kc->on_count; i++) {
		e = kernel_event(k, i);
		if (now[i] == kc->on[i] || !e->present || krule_is_function(e->key->place))
			continue;
		append_change(out, "events/%s/%s/enable", e->system, e->name);
		if (repair)
			kc->on[i] = now[i];
	}
out:
	md_buf_deinit(&text);
	free(now);
}

/* Whether a filter differs. */
static bool check_filters(struct kchannel *kc, struct kernel *k, bool repair, struct md_buf *out)
{
	/* Once a difference is known, check all filters: there may be thousands. */
	bool all = repair && kc->filters_changed;
	struct md_buf text = MD_BUF_INIT;
	bool differs = false;
	size_t read = 0;

	for (size_t n = 0; n < kc->on_count && (all || read < FILTERS_AT_ONCE); n++) {
		size_t i = kc->next_filter++ % kc->on_count;
		struct kchannel_filter *f = &kc->filters[i];
		const struct kevent *e = kernel_event(k, i);

		if (!kc->on[i] || !e->present || krule_is_function(e->key->place))
			continue;
		/* The filter of an adopted instance is unknown until the rules are applied. */
		if (f->data && !strcmp(f->data, FILTER_UNKNOWN))
			continue;
		read++;
		md_buf_reset(&text);
		if (k->ops->filter_text(kc->bc, e->system, e->name, &text) || text.failed ||
		    !strcmp(md_buf_str(&text), f->data ? f->data : ""))
			continue;
		append_change(out, "events/%s/%s/filter", e->system, e->name);
		differs = true;
		if (!repair)
			continue;
		kchannel_forget_filter(f);
	}
	md_buf_deinit(&text);
	return differs;
}

void kchannel_check(struct kchannel *kc, bool repair)
{
	struct kernel *k = kernel_of(kc->tracer);
	struct md_buf what = MD_BUF_INIT, left = MD_BUF_INIT;
	char said[sizeof(kc->changed)];
	bool threads;

	if (!kc->recording || !kc->bc || !k->ops->changed || !kc->channel)
		return;
	/* What a daemon left is no change by another program. The next check says such a change. */
	k->ops->changed(kc->bc, tracks_threads(kc), kc->track_unknown ? &left : &what, &threads);
	kc->track_unknown = kc->track_unknown && !repair;
	kc->track_again |= threads;
	check_events(kc, k, repair, &what);
	kc->filters_changed = check_filters(kc, k, repair, &what);
	pthread_mutex_lock(&kc->tracer->lock);
	memcpy(said, kc->changed, sizeof(said));
	kc->changed[0] = '\0';
	if (what.len && !what.failed)
		snprintf(kc->changed, sizeof(kc->changed),
			 "another program changed %s of instance %.60s", md_buf_str(&what),
			 kc->name);
	if (kc->changed[0] && strcmp(said, kc->changed) != 0)
		session_report(kc->channel->session, "channel %s: %s", kc->channel->name,
			       kc->changed);
	pthread_mutex_unlock(&kc->tracer->lock);
	md_buf_deinit(&left);
	md_buf_deinit(&what);
}

void kernel_check(struct session *s)
{
	struct channel *c;

	/* The thread that has the lock changes the session, and checks as well. */
	if (pthread_mutex_trylock(&s->lock))
		return;
	cds_list_for_each_entry(c, &s->channels, node)
		if (c->kchannel)
			kchannel_check(c->kchannel, false);
	pthread_mutex_unlock(&s->lock);
}

void kernel_problems(const struct session *s, struct facts *out)
{
	struct channel *c;

	cds_list_for_each_entry(c, &s->channels, node) {
		if (!c->kchannel)
			continue;
		if (c->kchannel->error)
			fact_item(out, "problem", "%s: %s", c->name, c->kchannel->problem);
		if (c->kchannel->changed[0])
			fact_item(out, "problem", "%s: %s", c->name, c->kchannel->changed);
	}
}
