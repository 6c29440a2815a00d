// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Channels of the kernel domain: they start, are adopted from an earlier daemon, and are removed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/kernel/filter_check.h"
#include "tracer/kernel/kernel.h"
#include "tracer/base/context/kernel_context.h"

#define PREFIX "trailfs-"

void kchannel_put(struct kchannel *kc)
{
	/* Release and acquire: the last one frees what all have finished with. */
	if (!kc || __atomic_sub_fetch(&kc->refs, 1, __ATOMIC_ACQ_REL))
		return;
	coders_free(kc);
	region_put(kc->region);
	for (int i = 0; i < TRACK_ATTRS; i++)
		track_deinit(&kc->tracked[i]);
	for (int i = 0; i < TRACK_IDS; i++)
		track_deinit(&kc->only[i]);
	free(kc->members);
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

/*
 * The daemon that made the buffer may have had another clock, and a change of an instance's clock
 * empties it. If both have the TSC, the constants of this daemon are the newer ones.
 */
static struct clock clock_of_records(const struct tracer *t, const struct region_geometry *geo)
{
	struct clock c = t->clock;

	if (geo->clock_base != TRAIL_CLOCK_PLUGIN && !geo->clock_mult != !c.mult) {
		c.mult = geo->clock_mult;
		c.base = geo->clock_base;
	}
	return c;
}

/* Makes the object and its rings. The caller opens the backend's channel. */
static int create_kchannel(struct channel *c, struct kchannel **out, struct tr_err *err)
{
	struct trace *t = kernel_trace(c->session);
	struct stream_group *group = t ? group_get(c, t, true) : NULL;
	struct buffer *b;
	int ret = group ? group_buffer(group, TRAIL_RINGS_THREAD, 0, &b) : -ENOMEM;
	struct kchannel *kc = ret ? NULL : calloc(1, sizeof(*kc));

	if (!kc) {
		ret = ret ? ret : -ENOMEM;
		return tr_fail(err, ret, "no buffer of %" PRIu64 " bytes for kernel events: %s",
			       c->subbuf_size * c->subbuf_count, strerror(-ret));
	}
	kc->refs = 1;
	kc->tracer = c->session->tracer;
	kc->channel = c;
	kc->region = region_get(b->region);
	kc->clock = clock_of_records(kc->tracer, &b->region->geo);
	kc->generation = 1;
	lock_init(&kc->lock, NULL, LOCK_KCHANNEL);
	for (size_t i = 0; i < c->contexts.count; i++) {
		kc->contexts[kc->context_count++] = c->contexts.items[i].kind;
		kc->context_size += kcontext_size(c->contexts.items[i].kind);
	}
	*out = kc;
	return 0;
}

static bool has_context(const struct kchannel *kc, uint32_t kind)
{
	for (uint32_t i = 0; i < kc->context_count; i++)
		if (kc->contexts[i] == kind)
			return true;
	return false;
}

static int set_stacks(struct kchannel *kc, const struct backend_ops *ops)
{
	return ops->stacks ? ops->stacks(kc->bc, has_context(kc, TRAIL_CONTEXT_CALLSTACK_KERNEL),
					 has_context(kc, TRAIL_CONTEXT_CALLSTACK_USER))
			   : 0;
}

static int open_channel(struct kchannel *kc, bool adopt, struct tr_err *err)
{
	const struct channel *c = kc->channel;
	struct backend_geometry g = {
		.bytes = c->subbuf_size * c->subbuf_count,
		.cpus = kc->tracer->cpus,
		.overwrite = c->mode == TRAIL_MODE_OVERWRITE,
		.tsc = kc->clock.mult != 0,
		.by = (enum backend_choice)c->backend,
		.boot = kc->boot,
	};

	const struct backend_ops *ops = kernel_of(c->session->tracer)->ops;
	struct tr_err why = TR_ERR_INIT;
	int ret = ops->channel_open(kernel_of(c->session->tracer)->backend, kc->name, &g, adopt,
				    &kc->bc, err);

	if (ret || kc->boot)
		return ret;
	ret = ops->contexts ? ops->contexts(kc->bc, c->contexts.items, c->contexts.count, &why) : 1;
	kc->backend_contexts = !ret;
	if (ret == 1)
		ret = set_stacks(kc, ops);
	if (!ret)
		return 0;
	ops->channel_close(kc->bc, !adopt);
	kc->bc = NULL;
	if (*why.sentence)
		return tr_fail(err, ret, "%s", why.sentence);
	return tr_fail(err, ret, "the kernel cannot record the channel's contexts: %s",
		       strerror(-ret));
}

/* Makes the channel in the kernel. Caller holds session.lock, not tracer.lock. */
static int make_channel(struct channel *c, struct kchannel *kc, struct tr_err *err)
{
	int ret;

	/* The names of session and channel are for people; the numbers make the name unique. */
	snprintf(kc->name, sizeof(kc->name), PREFIX "%.80s-%.80s-%llx%s", c->session->name, c->name,
		 (unsigned long long)kc->region->key, kernel_of(kc->tracer)->suffix);
	ret = open_channel(kc, false, err);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < kc->region->geo.ring_count; i++)
		region_ring(kc->region, i)->source_lost =
			region_ring(kc->region, i)->source_discarded =
				region_ring(kc->region, i)->source_undecided =
					region_ring(kc->region, i)->source_read = 0;
	kc->functions = strdup("");
	kernel_follow(kc->tracer, true);
	return 0;
}

/*
 * Whether the owner may trace the kernel. Reads the owner's groups, which may block: the caller
 * holds session.lock, not tracer.lock.
 */
static int check_owner(const struct session *s, struct tr_err *err)
{
	if (!kernel_of(s->tracer))
		return tr_fail(err, -EOPNOTSUPP, "the kernel cannot be traced: %s",
			       kernel_data(s->tracer)->why);
	return session_may_trace_kernel(s)
		       ? 0
		       : tr_fail(err, -EACCES, "the owner of the session may not trace the kernel");
}

/* Caller holds tracer.lock. */
static void set_kchannel(struct channel *c, struct kchannel *kc)
{
	pthread_mutex_lock(&c->session->tracer->lists_lock);
	c->kchannel = kc;
	pthread_mutex_unlock(&c->session->tracer->lists_lock);
}

int kchannel_start(struct channel *c, struct tr_err *err)
{
	pthread_mutex_t *lock = &c->session->tracer->lock;
	struct kchannel *kc;
	int ret;

	if (c->kchannel)
		return 0;
	pthread_mutex_unlock(lock);
	ret = check_owner(c->session, err);
	/* `backend` may have been set after the rules. */
	if (!ret)
		ret = kernel_check_texts(kernel_of(c->session->tracer), &c->rules, false,
					 (enum backend_choice)c->backend, err);
	pthread_mutex_lock(lock);
	if (ret)
		return ret;
	ret = create_kchannel(c, &kc, err);
	if (ret)
		return ret;
	pthread_mutex_unlock(lock);
	ret = make_channel(c, kc, err);
	pthread_mutex_lock(lock);
	if (ret)
		kchannel_put(kc);
	else
		set_kchannel(c, kc);
	return ret;
}

void kchannel_mark_enabled(struct kchannel *kc, size_t index, bool on)
{
	if (index < kc->on_count)
		kc->on[index] = on;
}

int kchannel_reserve(struct kchannel *kc, size_t count)
{
	if (count <= kc->on_count)
		return 0;
	if (!array_extend(kc->on, kc->on_count, count) ||
	    !array_extend(kc->filters, kc->on_count, count))
		return -ENOMEM;
	kc->on_count = count;
	return 0;
}

void kchannel_forget_filter(struct kchannel_filter *f)
{
	free(f->data);
	*f = (struct kchannel_filter){ .data = strdup(FILTER_UNKNOWN) };
	f->len = f->data ? strlen(f->data) : 0;
}

void kchannel_note_enabled(struct kchannel *kc)
{
	if (kc->on_count > kc->ever_count) {
		if (!array_extend(kc->ever, kc->ever_count, kc->on_count)) {
			kc->adopted = true;     /* as if all had been enabled */
			return;
		}
		kc->ever_count = kc->on_count;
	}
	for (size_t i = 0; i < kc->on_count; i++)
		kc->ever[i] |= kc->on[i];
}

/* Finds out which events the kernel records for the channel already. */
static void read_enabled_events(struct kchannel *kc, struct kernel *k)
{
	struct md_buf text = MD_BUF_INIT;
	char *line, *save = NULL, *colon;
	struct kevent *e;

	if (kernel_refresh(k) || kchannel_reserve(kc, kernel_count(k)) ||
	    k->ops->enabled(kc->bc, &text)) {
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
			kchannel_forget_filter(&kc->filters[e->index]);
		}
	}
	md_buf_deinit(&text);
}

static void adopt_channel(struct channel *c, const char *name)
{
	struct kernel *k = kernel_of(c->session->tracer);
	struct tracer *t = c->session->tracer;
	struct tr_err err = TR_ERR_INIT;
	struct kchannel *kc;

	if (!k || !c->started || strlen(name) >= sizeof(kc->name))
		return;
	if (create_kchannel(c, &kc, NULL))
		return;
	snprintf(kc->name, sizeof(kc->name), "%s", name);
	if (open_channel(kc, true, &err)) {
		session_failed(c->session, "the kernel's buffer of channel %s is lost: %s", c->name,
			       err.sentence);
		kchannel_put(kc);
		session_lock(c->session);
		if (kchannel_start(c, &err))
			session_failed(c->session, "channel %s: %s", c->name, err.sentence);
		session_unlock(c->session);
		return;
	}
	if (*err.sentence)
		session_failed(c->session, "channel %s: %s", c->name, err.sentence);
	kc->recording = c->session->active && c->enabled;
	kc->adopted = kc->continues = kc->track_unknown = true;
	track_copy(&c->session->track[TRACK_PID], &kc->tracked[TRACK_PID]);
	track_copy(&c->session->track[TRACK_KERNEL_CGROUP], &kc->tracked[TRACK_KERNEL_CGROUP]);
	for (int i = TRACK_PID + 1; k->ops->track_by && i < TRACK_IDS; i++)
		track_copy(&c->session->track[i], &kc->tracked[i]);
	read_enabled_events(kc, k);
	set_kchannel(c, kc);
	kernel_follow(t, true);
}

int kchannel_take_boot(struct channel *c, const struct backend_boot *boot, struct tr_err *err)
{
	struct tracer *t = c->session->tracer;
	struct kchannel *kc;
	int ret;

	pthread_mutex_lock(&t->lock);
	ret = create_kchannel(c, &kc, err);
	pthread_mutex_unlock(&t->lock);
	if (ret)
		return ret;
	kc->boot = true;
	kc->clock = (struct clock){ 0 };        /* ns since that boot began */
	snprintf(kc->name, sizeof(kc->name), "%s", boot->name);
	ret = open_channel(kc, true, err);
	if (!ret) {
		read_enabled_events(kc, kernel_of(t));
		pthread_mutex_lock(&t->lock);
		kchannel_note_enabled(kc);
		pthread_mutex_unlock(&t->lock);
		kchannel_drain(kc, 0);
		kernel_of(t)->ops->channel_close(kc->bc, false);
		kc->bc = NULL;
	}
	kchannel_put(kc);
	return ret;
}

void kernel_adopt(struct tracer *t)
{
	struct session *s;
	struct channel *c;

	/* Find the probes of rules first: an adopted channel may record them. */
	kprobes_restore(t);
	cds_list_for_each_entry(s, &t->sessions, node)
		cds_list_for_each_entry(c, &s->channels, node) {
			if (c->adopt)
				adopt_channel(c, c->adopt);
			free(c->adopt);
			c->adopt = NULL;
		}
}

bool kernel_records(struct tracer *t, const char *system, const char *name)
{
	struct kevent *e = kernel_find(kernel_of(t), system, name, strlen(name));
	struct session *s;
	struct channel *c;

	cds_list_for_each_entry(s, &t->sessions, node)
		cds_list_for_each_entry(c, &s->channels, node) {
			const struct kchannel *kc = c->kchannel;

			/*
			 * An adopted channel may have recorded any event. An event that a
			 * kchannel_apply enables at this moment has a rule.
			 */
			if (kc && kc->recording &&
			    (kc->adopted || (e && e->index < kc->ever_count && kc->ever[e->index])))
				return true;
		}
	return false;
}

/* ---- remove ---- */

void kchannel_drop(struct channel *c)
{
	struct kchannel *kc = c->kchannel;

	if (!kc)
		return;
	set_kchannel(c, NULL);
	kc->channel = NULL;
	cds_list_add_tail(&kc->dead, &kernel_of(kc->tracer)->dead);
}

void kernel_channels_gc(struct tracer *t)
{
	struct kchannel *kc;

	for (;;) {
		kc = NULL;
		pthread_mutex_lock(&t->lock);
		if (kernel_of(t) && !cds_list_empty(&kernel_of(t)->dead)) {
			kc = cds_list_first_entry(&kernel_of(t)->dead, struct kchannel, dead);
			cds_list_del(&kc->dead);
		}
		pthread_mutex_unlock(&t->lock);
		if (!kc)
			return;
		ksampling_close(kc);
		pthread_mutex_lock(&kc->lock);
		kernel_of(t)->ops->channel_close(kc->bc, true);
		kc->bc = NULL;
		pthread_mutex_unlock(&kc->lock);
		kchannel_put(kc);
		kernel_follow(t, false);
	}
}

static bool is_claimed(const struct tracer *t, const char *name)
{
	struct session *s;
	struct channel *c;

	if (kernel_follows_by(kernel_of(t), name))
		return true;
	cds_list_for_each_entry(s, &t->sessions, node)
		cds_list_for_each_entry(c, &s->channels, node)
			if (c->kchannel && !strcmp(c->kchannel->name, name))
				return true;
	return false;
}

void kernel_leftovers_gc(struct tracer *t)
{
	struct kernel *k = kernel_of(t);
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
		    !strcmp(name + len - tail, k->suffix) && !is_claimed(t, name))
			k->ops->channel_remove(k->backend, name);
	}
	md_buf_deinit(&names);
}
