// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Channels of the kernel domain: their life in the backend, and what of their rules the kernel has
 * to know. Everything here but kernel_channels_gc has the tracer's lock held.
 */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/kernel/kernel.h"
#include "tracer/context/kernel_context.h"
#include "tracer/kevent/kernel_filter.h"
#include "tracer/rule/kernel_pattern.h"

#define PREFIX "trailfs-"
#define FILTERS_MAX 64          /* of one event, for the kernel */
/*
 * that are read for that at a time: the tracer's lock is held; of a backend's programs all, they
 * may decide alone
 */
#define FORMATS_MAX 128

static struct kernel *kernel_of(const struct channel *c)
{
	return c->session->tracer->kernel;
}

void kchannel_put(struct kchannel *kc)
{
	/* Release and acquire: the last one frees what all have finished with. */
	if (!kc || __atomic_sub_fetch(&kc->refs, 1, __ATOMIC_ACQ_REL))
		return;
	coders_free(kc);
	region_put(kc->region);
	for (int i = 0; i < TRACK_ATTRS; i++)
		track_deinit(&kc->tracked[i]);
	pthread_mutex_destroy(&kc->lock);
	for (size_t i = 0; i < kc->on_count; i++)
		free(kc->filters[i].data);
	free(kc->filters);
	free(kc->payload);
	free(kc->functions);
	free(kc->on);
	free(kc->ever);
	free(kc);
}

struct trace *kernel_trace(struct session *s)
{
	struct trace *t = trace_find(s, KERNEL_UID, 0);

	if (!t) {
		t = trace_new(s, KERNEL_UID, 0, NULL, NULL, 0);
		if (!t || session_save(s))
			return NULL;
	}
	/* Perhaps there was no descriptor for it the last time. */
	return t->log_fd >= 0 || trace_open_log(s, t) == 0 ? t : NULL;
}

/* Makes the rings and the object; what the backend has is opened by the caller. */
static int make(struct channel *c, struct kchannel **out)
{
	struct trace *t = kernel_trace(c->session);
	struct stream_group *cl = t ? group_get(c, t, true) : NULL;
	struct buffer *b;
	int ret = cl ? group_buffer(cl, TRAIL_RINGS_THREAD, 0, &b) : -ENOMEM;
	struct kchannel *kc = ret ? NULL : calloc(1, sizeof(*kc));

	if (!kc)
		return ret ? ret : -ENOMEM;
	kc->refs = 1;
	kc->tracer = c->session->tracer;
	kc->channel = c;
	kc->region = region_get(b->region);
	kc->generation = 1;
	pthread_mutex_init(&kc->lock, NULL);
	for (size_t i = 0; i < c->contexts.count; i++) {
		kc->contexts[kc->context_count++] = c->contexts.items[i].kind;
		kc->context_size += kcontext_size(c->contexts.items[i].kind);
	}
	*out = kc;
	return 0;
}

static int open_channel(struct kchannel *kc, bool adopt, struct tr_err *err)
{
	const struct channel *c = kc->channel;
	struct backend_geometry g = {
		.bytes = c->subbuf_size * c->subbuf_count,
		.cpus = kc->tracer->cpus,
		.overwrite = c->mode == TRAIL_MODE_OVERWRITE,
		.tsc = kc->tracer->clock.mult != 0,
	};

	const struct backend_ops *ops = kernel_of(c)->ops;
	int ret = ops->channel_open(kernel_of(c)->backend, kc->name, &g, adopt, &kc->bc, err);

	kc->told = ops->contexts != NULL;
	if (ret || !kc->told)
		return ret;
	ret = ops->contexts(kc->bc, c->contexts.items, c->contexts.count);
	if (!ret)
		return 0;
	ops->channel_close(kc->bc, !adopt);
	kc->bc = NULL;
	return tr_fail(err, ret, "the kernel cannot record the contexts: %s", strerror(-ret));
}

int kchannel_start(struct channel *c, struct tr_err *err)
{
	struct kernel *k = kernel_of(c);
	struct session *s = c->session;
	struct kchannel *kc;
	int ret;

	if (c->kchannel)
		return 0;
	if (!k)
		return tr_fail(err, -EOPNOTSUPP, "the kernel cannot be traced: %s",
			       s->tracer->no_kernel);
	if (!kernel_may(s->tracer, s->uid))
		return tr_fail(err, -EACCES, "the owner of the session may not trace the kernel");
	ret = make(c, &kc);
	if (ret)
		return tr_fail(err, ret, "no buffer for kernel events: %s", strerror(-ret));
	/*
	 * Names of sessions and channels are for people to recognise it; the numbers make it
	 * unique.
	 */
	snprintf(kc->name, sizeof(kc->name), PREFIX "%.80s-%.80s-%llx%s", s->name, c->name,
		 (unsigned long long)kc->region->key, k->suffix);
	ret = open_channel(kc, false, err);
	for (uint32_t i = 0; !ret && i < kc->region->geo.ring_count; i++)
		region_ring(kc->region, i)->source_lost =
			region_ring(kc->region, i)->source_discarded = 0;
	if (ret) {
		kchannel_put(kc);
		return ret;
	}
	kc->functions = strdup("");
	c->kchannel = kc;
	kernel_follow(kc->tracer, true);
	return 0;
}

static void mark_on(struct kchannel *kc, size_t index, bool on)
{
	if (index < kc->on_count) {
		kc->on[index] = on;
		kc->ever[index] |= on;
	}
}

/* More of an array, zeroed. */
static bool extend(void *array, size_t size, size_t have, size_t count)
{
	char **at = array, *more = realloc(*at, count * size);

	if (!more)
		return false;
	memset(more + have * size, 0, (count - have) * size);
	*at = more;
	return true;
}

static int room_for(struct kchannel *kc, size_t count)
{
	if (count <= kc->on_count)
		return 0;
	if (!extend(&kc->on, 1, kc->on_count, count) ||
	    !extend(&kc->ever, 1, kc->on_count, count) ||
	    !extend(&kc->filters, sizeof(*kc->filters), kc->on_count, count))
		return -ENOMEM;
	kc->on_count = count;
	return 0;
}

/* Which events the kernel is recording for it already. */
static void learn(struct kchannel *kc, struct kernel *k)
{
	struct md_buf text = MD_BUF_INIT;
	char *line, *save = NULL, *colon;
	struct kevent *e;

	if (kernel_refresh(k) || room_for(kc, kernel_count(k)) || k->ops->enabled(kc->bc, &text)) {
		md_buf_deinit(&text);
		return;
	}
	md_buf_str(&text);
	for (line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = 0;
		e = kernel_find(k, line, colon + 1, strlen(colon + 1));
		if (e && e->index < kc->on_count) {
			kc->on[e->index] = true;
			/* not known: it is written anew */
			kc->filters[e->index].data = strdup(FILTER_UNKNOWN);
		}
	}
	md_buf_deinit(&text);
}

static void adopt(struct channel *c, const char *name)
{
	struct kernel *k = kernel_of(c);
	struct tracer *t = c->session->tracer;
	struct tr_err err = TR_ERR_INIT;
	struct kchannel *kc;

	if (!k || !c->started || strlen(name) >= sizeof(kc->name))
		return;
	if (make(c, &kc))
		return;
	snprintf(kc->name, sizeof(kc->name), "%s", name);
	if (open_channel(kc, true, &err)) {
		session_failed(c->session, "the kernel's buffer of channel %s is lost: %s", c->name,
			       err.sentence);
		kchannel_put(kc);
		if (kchannel_start(c, &err))
			session_failed(c->session, "channel %s: %s", c->name, err.sentence);
		return;
	}
	kc->recording = c->session->active && c->enabled;
	kc->adopted = true;
	for (int i = TRACK_PID; i < TRACK_ATTRS; i++)
		track_copy(&c->session->track[i], &kc->tracked[i]);
	learn(kc, k);
	c->kchannel = kc;
	kernel_follow(t, true);
}

void kernel_adopt(struct tracer *t)
{
	struct session *s;
	struct channel *c;

	/*
	 * First of all the events that rules have made, so that they are known when channels are
	 * found to record them.
	 */
	kprobes_restore(t);
	cds_list_for_each_entry(s, &t->sessions, node)
		cds_list_for_each_entry(c, &s->channels, node) {
			if (c->adopt)
				adopt(c, c->adopt);
			free(c->adopt);
			c->adopt = NULL;
		}
}

/* ---- telling the kernel ---- */

void kchannel_problem(struct kchannel *kc, int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(kc->problem, sizeof(kc->problem), fmt, ap);
	va_end(ap);
	kc->error = error;
	tracer_report(kc->tracer, "session %s: channel %s: %s", kc->channel->session->name,
		      kc->channel->name, kc->problem);
}

static int wish(struct kchannel *kc, struct kernel *k, bool active, uint8_t **out)
{
	size_t n;
	int ret = active ? kernel_refresh(k) : 0;

	n = kernel_count(k);
	*out = NULL;
	if (!ret)
		ret = room_for(kc, n);
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

/* What the kernel can do of the filters that decide on an event. True: all. */
static bool make_filter(struct kchannel *kc, struct kernel *k, struct kevent *e, size_t *read,
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
	f = kernel_format(k, e);
	rule_list_filters(rules, e->key, 0, filters, n);
	if (f && k->ops->programs)
		exact = kfilter_compile(filters, n, f, out);
	else if (f)
		exact = kfilter_print(filters, n, f, out);
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
		/* The kernel does not understand it, and has none now. */
		free(next.data);
		next = (struct kchannel_filter){ NULL, 0, false };
	} else if (ret && ret != -ENOENT) {
		kc->error = ret;        /* the old one may still be there */
		return;
	}
	free(now->data);
	*now = next;
}

/* Of events that have been switched on, or off: until then, the daemon alone decides. */
static void set_filters(struct kchannel *kc, struct kernel *k, const uint8_t *wanted, bool active)
{
	struct md_buf text = MD_BUF_INIT;
	bool exact, unfiltered = false;
	size_t read = 0;

	for (size_t i = 0; i < kc->on_count; i++) {
		struct kevent *e = kernel_event(k, i);

		if (!k->ops->filter || krule_is_function(e->key)) {
			unfiltered |= wanted[i] &&
				      rule_list_decide(&kc->channel->rules, e->key, 0) != RULE_ALL;
			continue;
		}
		md_buf_reset(&text);
		exact = wanted[i] && make_filter(kc, k, e, &read, &text) && !text.failed;
		set_filter(kc, k, e, text.data, text.failed ? 0 : text.len, exact);
		unfiltered |= wanted[i] && !kc->filters[e->index].exact;
	}
	md_buf_deinit(&text);
	/* What was recorded before a stop is counted as it was then. */
	if (active)
		__atomic_store_n(&kc->unfiltered, unfiltered, __ATOMIC_RELAXED);
}

/* Functions are switched on by their names, apart from all other events. */
static int apply_functions(struct kchannel *kc, struct kernel *k, bool active)
{
	const struct rule_list *rules = &kc->channel->rules;
	struct kevent *e = kernel_find(k, BACKEND_FUNCTION_SYSTEM, BACKEND_FUNCTION_EVENT,
				       strlen(BACKEND_FUNCTION_EVENT));
	struct md_buf names = MD_BUF_INIT;
	int ret = 0;

	for (size_t i = 0; active && i < rules->count; i++)
		if (!rules->rules[i].disabled && krule_is_function(rules->rules[i].pattern))
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
		mark_on(kc, e->index, *names.data != '\0');
		names.data = NULL;
	}
out:
	if (names.data)
		md_buf_deinit(&names);
	return ret;
}

/* All events of a system with one write, where they are all to be the same and most are not. */
static int switch_system(struct kchannel *kc, struct kernel *k, const uint8_t *wanted,
			 const char *system)
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
			mark_on(kc, i, wanted[i]);
		else if (!kc->error)
			kc->error = one;
	}
	return ret;
}

static void switch_events(struct kchannel *kc, struct kernel *k, const uint8_t *wanted)
{
	for (size_t i = 0; i < kc->on_count; i++)
		if (wanted[i] != kc->on[i] && !krule_is_function(kernel_event(k, i)->key))
			switch_system(kc, k, wanted, kernel_event(k, i)->system);
}

/*
 * The threads of the processes that are tracked; what they start later is the kernel's to follow.
 */
static int threads_of(const struct track *t, uint32_t **out, size_t *count)
{
	uint32_t *tids = NULL, *more;
	size_t n = 0;
	char path[48];
	struct dirent *d;

	for (size_t i = 0; i < t->count; i++) {
		DIR *dir;

		snprintf(path, sizeof(path), "/proc/%u/task", t->ids[i]);
		dir = opendir(path);
		while (dir && (d = readdir(dir))) {
			if (d->d_name[0] == '.')
				continue;
			more = (n & (n - 1)) ? tids
					     : realloc(tids, (n ? 2 * n : 1) * sizeof(*tids));
			if (!more) {
				closedir(dir);
				free(tids);
				return -ENOMEM;
			}
			tids = more;
			tids[n++] = (uint32_t)strtoul(d->d_name, NULL, 10);
		}
		if (dir)
			closedir(dir);
	}
	*out = tids;
	*count = n;
	return 0;
}

static bool same_track(const struct track *a, const struct track *b)
{
	return a->some == b->some && a->count == b->count &&
	       (!a->count || !memcmp(a->ids, b->ids, a->count * sizeof(*a->ids)));
}

/* True: there is somebody to record. */
static bool apply_track(struct kchannel *kc, struct kernel *k)
{
	const struct track *t = &kc->channel->session->track[TRACK_PID];
	struct track copy;
	uint32_t *tids = NULL;
	size_t count = 0;
	int ret = 0;

	if (same_track(t, &kc->tracked[TRACK_PID]) && !kc->track_again)
		return !t->some || t->count;
	/*
	 * Between the old set and the new the kernel has none, which is all: nothing is recorded
	 * meanwhile.
	 */
	if (kc->recording)
		k->ops->record(kc->bc, false);
	ret = threads_of(t, &tids, &count);
	if (!ret && (!t->some || count))
		ret = k->ops->track(kc->bc, tids, count);
	free(tids);
	if (!ret && t->some && !count)
		/* none of them is there; an empty set would be all for the kernel */
		return false;
	kc->track_again = ret != 0;
	if (!ret && track_copy(t, &copy) == 0) {
		track_deinit(&kc->tracked[TRACK_PID]);
		kc->tracked[TRACK_PID] = copy;
	}
	if (ret)
		kc->error = ret;
	return !ret && (!t->some || t->count);
}

/* The same of the other attributes, of which there is nothing to be found out. */
static bool apply_attributes(struct kchannel *kc, struct kernel *k)
{
	const struct track *t = kc->channel->session->track;
	struct track copy;
	int ret = 0;

	for (int i = TRACK_PID + 1; i < TRACK_ATTRS && !ret; i++) {
		if (same_track(&t[i], &kc->tracked[i]))
			continue;
		ret = k->ops->track_by ? k->ops->track_by(kc->bc, i, &t[i]) : -EOPNOTSUPP;
		if (!ret && track_copy(&t[i], &copy) == 0) {
			track_deinit(&kc->tracked[i]);
			kc->tracked[i] = copy;
		}
	}
	if (ret)
		kc->error = ret;
	return !ret;
}

void kchannel_apply(struct channel *c)
{
	struct kchannel *kc = c->kchannel;
	struct session *s = c->session;
	struct kernel *k = kernel_of(c);
	uint8_t *wanted;
	bool active;
	int ret;

	if (!kc || !k)
		return;
	kchannel_check(kc, true);
	kc->changed[0] = '\0';
	kc->error = 0;
	/* Pairs with the acquire in kernel/drain.c: who sees it finds the rules, by the lock. */
	__atomic_add_fetch(&kc->generation, 1, __ATOMIC_RELEASE);
	active = s->active && !s->gone && c->enabled && kernel_may(s->tracer, s->uid) &&
		 apply_attributes(kc, k) && apply_track(kc, k);
	if (!active && kc->recording) {
		ret = k->ops->record(kc->bc, false);
		kc->recording = ret != 0;
		kc->error = ret ? ret : kc->error;
	}
	ret = wish(kc, k, active, &wanted);
	if (!ret) {
		switch_events(kc, k, wanted);
		set_filters(kc, k, wanted, active);
	}
	free(wanted);
	if (!ret && (ret = apply_functions(kc, k, active))) {
		kc->error = ret;
		ret = 0;        /* the others go on */
	}
	if (!ret && active) {
		__atomic_store_n(&kc->drained, false, __ATOMIC_RELEASE);
		ret = k->ops->record(kc->bc, true);
		kc->recording = !ret;
	}
	if (ret && !kc->error)
		kc->error = ret;
	if (kc->error)
		kchannel_problem(kc, kc->error, "the kernel refuses: %s", strerror(-kc->error));
}

bool kernel_records(struct tracer *t, const char *system, const char *name)
{
	struct kevent *e = kernel_find(t->kernel, system, name, strlen(name));
	struct session *s;
	struct channel *c;

	cds_list_for_each_entry(s, &t->sessions, node)
		cds_list_for_each_entry(c, &s->channels, node) {
			const struct kchannel *kc = c->kchannel;

			/* Of an adopted one nobody knows what was enabled before. */
			if (kc && kc->recording &&
			    (kc->adopted || (e && e->index < kc->on_count && kc->ever[e->index])))
				return true;
		}
	return false;
}

/* ---- the end ---- */

void kchannel_drop(struct channel *c)
{
	struct kchannel *kc = c->kchannel;

	if (!kc)
		return;
	c->kchannel = NULL;
	kc->channel = NULL;
	cds_list_add_tail(&kc->dead, &kc->tracer->kernel->dead);
}

void kernel_channels_gc(struct tracer *t)
{
	struct kchannel *kc;

	for (;;) {
		kc = NULL;
		pthread_mutex_lock(&t->lock);
		if (t->kernel && !cds_list_empty(&t->kernel->dead)) {
			kc = cds_list_first_entry(&t->kernel->dead, struct kchannel, dead);
			cds_list_del(&kc->dead);
		}
		pthread_mutex_unlock(&t->lock);
		if (!kc)
			return;
		pthread_mutex_lock(&kc->lock);
		t->kernel->ops->channel_close(kc->bc, true);
		kc->bc = NULL;
		pthread_mutex_unlock(&kc->lock);
		kchannel_put(kc);
		pthread_mutex_lock(&t->lock);
		kernel_follow(t, false);
		pthread_mutex_unlock(&t->lock);
	}
}

static bool claimed(const struct tracer *t, const char *name)
{
	struct session *s;
	struct channel *c;

	if (kernel_follows_by(t->kernel, name))
		return true;
	cds_list_for_each_entry(s, &t->sessions, node)
		cds_list_for_each_entry(c, &s->channels, node)
			if (c->kchannel && !strcmp(c->kchannel->name, name))
				return true;
	return false;
}

void kernel_leftovers_gc(struct tracer *t)
{
	struct kernel *k = t->kernel;
	struct md_buf names = MD_BUF_INIT;
	size_t at, len, tail;

	if (!k || k->ops->channels(k->backend, &names)) {
		md_buf_deinit(&names);
		return;
	}
	tail = strlen(k->suffix);
	for (at = 0; at < names.len; at += len + 1) {
		const char *name = names.data + at;

		len = strlen(name);
		if (len > tail && !strncmp(name, PREFIX, strlen(PREFIX)) &&
		    !strcmp(name + len - tail, k->suffix) && !claimed(t, name))
			k->ops->channel_remove(k->backend, name);
	}
	md_buf_deinit(&names);
}
