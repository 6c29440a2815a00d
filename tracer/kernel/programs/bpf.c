// SPDX-License-Identifier: GPL-2.0-or-later
/* The backend `tracefs and bpf`: an instance of tracefs, and programs for the calls with text. */
#include "tracer/kernel/programs/bpf_typed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/context/kernel_context.h"
#include "tracer/kernel/programs/bpf_refused.h"

static int probe_bpf(const char *owner, struct backend **out, struct tr_err *err)
{
	int ret = bpf_supported(err);

	if (ret)
		return ret;
	ret = tracefs_backend.probe(owner, out, err);
	if (!ret)
		(*out)->bpf = true;
	return ret;
}

static void keep_descriptors(struct backend *b, struct keeper *k)
{
	struct backend_channel *c;

	pthread_mutex_lock(&b->lock);
	b->keeper = k;
	cds_list_for_each_entry(c, &b->channels, node)
		if (c->bpf)
			bpf_channel_keep(c->bpf);
	pthread_mutex_unlock(&b->lock);
}

static int print_format(const struct backend *b, const char *system, const char *event,
			struct md_buf *out)
{
	struct bpf_source call;
	int ret = bpf_source_find(b, system, event, false, &call, out);

	return ret == -ENOENT ? tracefs_backend.format(b, system, event, out) : ret;
}

/* ---- channels ---- */

static int open_channel(struct backend *b, const char *name, const struct backend_geometry *g,
			bool adopt, struct backend_channel **out, struct tr_err *err)
{
	struct md_buf enabled = MD_BUF_INIT;
	struct bpf_channel *bpf;
	int ret = bpf_channel_create(b, name, g, &bpf);

	if (ret)
		return tr_fail(err, ret, "out of memory");
	if (adopt)
		bpf_channel_adopt(bpf);
	ret = tracefs_channel_open(b, name, g, adopt, out, err);
	if (ret) {
		bpf_channel_free(bpf, !adopt);
		return ret;
	}
	if (adopt && !g->boot && !tracefs_enabled(*out, &enabled))
		bpf_plain_adopt(bpf, md_buf_str(&enabled));
	md_buf_deinit(&enabled);
	if (bpf->dropped)
		tr_fail(err, -EPROTO, "BPF rings of another version of the daemon were dropped, "
				      "with what was not read of them");
	pthread_mutex_lock(&b->lock);
	(*out)->bpf = bpf;
	pthread_mutex_unlock(&b->lock);
	return 0;
}

static void close_channel(struct backend_channel *c, bool remove)
{
	struct bpf_channel *bpf = c ? c->bpf : NULL;

	/* It unlists the channel first: then the keeper's thread does not find it any more. */
	tracefs_channel_close(c, remove);
	bpf_channel_free(bpf, remove);
}

static int remove_channel(struct backend *b, const char *name)
{
	int ret = tracefs_backend.channel_remove(b, name);

	if (!ret)
		bpf_channel_forget(b, name);
	return ret;
}

/* Contexts that records of tracefs lack make programs record all events. */
static int set_contexts(struct backend_channel *c, const struct context *contexts, size_t count,
			struct tr_err *err)
{
	struct bpf_channel *bpf = c->bpf;
	uint64_t others = kcontext_of_proc();
	const struct context *needed = NULL;
	bool stacks[2] = { false };
	int ret;

	if (bpf->geometry.by == BACKEND_TRACEFS)
		others |= tracefs_context_kinds(c->b);
	for (size_t i = 0; i < count; i++) {
		if (!(others >> contexts[i].kind & 1))
			needed = &contexts[i];
		stacks[0] |= contexts[i].kind == TRAIL_CONTEXT_CALLSTACK_KERNEL;
		stacks[1] |= contexts[i].kind == TRAIL_CONTEXT_CALLSTACK_USER;
	}
	if (needed && bpf->geometry.by == BACKEND_TRACEFS)
		return tr_fail(err, -EOPNOTSUPP,
			       "the channel's `backend` is tracefs, which cannot record the "
			       "context %s; BPF programs can", needed->text);
	/* Of events that no program records. */
	ret = tracefs_stacks(c, stacks[0], stacks[1]);
	if (ret && ret != -EOPNOTSUPP)
		return ret;
	pthread_mutex_lock(&bpf->lock);
	bpf->whole = needed || bpf->geometry.by == BACKEND_BPF;
	ret = bpf->whole && count ? bpf_contexts_make(contexts, count, NULL, &bpf->contexts, err)
				  : 0;
	if (!ret && bpf->contexts)
		ret = bpf_counters_open(bpf, contexts, count);
	pthread_mutex_unlock(&bpf->lock);
	return ret ? ret : bpf->whole ? 0 : 1;
}

static int record(struct backend_channel *c, bool on)
{
	pthread_mutex_lock(&c->bpf->lock);
	c->bpf->on = on;
	bpf_channel_set(c->bpf);
	bpf_typed_done(c->bpf);
	pthread_mutex_unlock(&c->bpf->lock);
	return tracefs_record(c, on);
}

static void print_key(const char *system, const char *event, char key[BPF_EVENT_NAME])
{
	/* A longer one is not recorded by programs: bpf_source_find. */
	snprintf(key, BPF_EVENT_NAME, "%s:%s", system, event);
}

static void disable_all(struct bpf_channel *c, const char *system)
{
	size_t len = strlen(system);

	pthread_mutex_lock(&c->lock);
	if (!strcmp(system, "syscalls"))
		bpf_channel_drop_calls(c);
	for (size_t i = c->count; i-- > 0;)
		if (i < c->count && !strncmp(c->events[i].name, system, len) &&
		    c->events[i].name[len] == ':')
			bpf_channel_drop(c, &c->events[i]);
	pthread_mutex_unlock(&c->lock);
}

/* An event has no program although the kernel takes such. Caller holds the lock. */
static void note_lacking(struct bpf_channel *c, const char *key, int error)
{
	if (error != -EMFILE && error != -ENFILE && error != -ENOMEM)
		return;
	if (!c->lacking.count++) {
		snprintf(c->lacking.first, sizeof(c->lacking.first), "%s", key);
		c->lacking.why = c->why;
	}
}

/* Caller holds the lock. *plain: the instance is to record it, or does. */
static int enable_program(struct bpf_channel *c, const char *key, const char *event,
			  const struct bpf_source *source, bool on, bool *plain)
{
	struct bpf_event *e = bpf_channel_find(c, key);
	bool text = !source->fixed && (source->exit || source->changed);
	int ret = 0;

	if (!on) {
		*plain = !e;
		if (e)
			bpf_channel_drop(c, e);
		return 0;
	}
	*plain = c->geometry.by == BACKEND_TRACEFS;
	if (!*plain && !e)
		ret = bpf_channel_enable(c, key, source, NULL);
	if (!*plain && !ret && !source->fixed)
		bpf_source_try_stacks(c);
	if (ret && (c->geometry.by != BACKEND_BPF || !text)) {
		*plain = true;
		note_lacking(c, key, ret);
		bpf_refused_event(c, key);
		bpf_refused_keep(c);
		ret = 0;
	}
	return *plain && text && !ret ? bpf_plain_add(c, event, source) : ret;
}

/* A program at the function of a call costs milliseconds once, and other calls nothing. */
enum { FEW_CALLS = 16 };

static void expect(struct backend_channel *c, const char *system, size_t events)
{
	if (strcmp(system, "syscalls"))
		return;
	pthread_mutex_lock(&c->bpf->lock);
	c->bpf->few_calls = events <= FEW_CALLS;
	pthread_mutex_unlock(&c->bpf->lock);
}

static int enable(struct backend_channel *c, const char *system, const char *event, bool on)
{
	struct bpf_source source;
	char key[BPF_EVENT_NAME];
	bool plain = true;
	int ret;

	if (!event) {
		if (on && (c->bpf->whole || !strcmp(system, "syscalls")))
			return -EOPNOTSUPP;     /* only one by one */
		if (!on)
			disable_all(c->bpf, system);
		return tracefs_enable(c, system, event, on);
	}
	ret = bpf_source_find(c->b, system, event, c->bpf->whole, &source, NULL);
	if (ret == -ENOENT)
		return tracefs_enable(c, system, event, on);
	if (ret)
		return ret;
	print_key(system, event, key);
	pthread_mutex_lock(&c->bpf->lock);
	c->bpf->why = (struct tr_err)TR_ERR_INIT;
	ret = enable_program(c->bpf, key, event, &source, on, &plain);
	pthread_mutex_unlock(&c->bpf->lock);
	return plain && !ret ? tracefs_enable(c, system, event, on) : ret;
}

static void say_why(struct backend_channel *c, struct tr_err *out)
{
	pthread_mutex_lock(&c->bpf->lock);
	*out = c->bpf->why;
	pthread_mutex_unlock(&c->bpf->lock);
}

static void say_lacking(struct backend_channel *c, struct tr_err *out)
{
	const char *why;

	pthread_mutex_lock(&c->bpf->lock);
	why = c->bpf->lacking.why.sentence;
	if (c->bpf->lacking.count)
		tr_fail(out, -EMFILE, "no BPF program records %s%s, so texts and contexts are "
				      "missing: %s", c->bpf->lacking.first,
			c->bpf->lacking.count > 1 ? " and others" : "", *why ? why : "unknown");
	c->bpf->lacking.count = 0;
	pthread_mutex_unlock(&c->bpf->lock);
}

static int list_enabled(struct backend_channel *c, struct md_buf *out)
{
	int ret = tracefs_enabled(c, out);

	pthread_mutex_lock(&c->bpf->lock);
	for (size_t i = 0; i < c->bpf->count && !ret; i++)
		if (!strchr("@#", c->bpf->events[i].name[0]))
			md_buf_printf(out, "%s\n", c->bpf->events[i].name);
	pthread_mutex_unlock(&c->bpf->lock);
	return ret;
}

static bool has_program(struct backend_channel *c, const char *system, const char *event)
{
	char key[BPF_EVENT_NAME];
	bool has;

	print_key(system, event, key);
	pthread_mutex_lock(&c->bpf->lock);
	has = bpf_channel_find(c->bpf, key);
	pthread_mutex_unlock(&c->bpf->lock);
	return has;
}

static int set_filter(struct backend_channel *c, const char *system, const char *event,
		      const char *text, size_t len)
{
	char key[BPF_EVENT_NAME];
	int ret;

	if (!has_program(c, system, event))
		return tracefs_filter(c, system, event, text, len);
	print_key(system, event, key);
	pthread_mutex_lock(&c->bpf->lock);
	ret = bpf_channel_filter(c->bpf, key, text);
	pthread_mutex_unlock(&c->bpf->lock);
	return ret;
}

static int print_filter(struct backend_channel *c, const char *system, const char *event,
			struct md_buf *out)
{
	const struct bpf_event *e;
	char key[BPF_EVENT_NAME];

	if (!has_program(c, system, event))
		return tracefs_filter_text(c, system, event, out);
	print_key(system, event, key);
	pthread_mutex_lock(&c->bpf->lock);
	e = bpf_channel_find(c->bpf, key);
	if (e && e->filter)
		md_buf_puts(out, e->filter);
	pthread_mutex_unlock(&c->bpf->lock);
	return 0;
}

static int track(struct backend_channel *c, const uint32_t *tids, size_t count)
{
	int ret = tracefs_track(c, tids, count);

	if (ret)
		return ret;
	pthread_mutex_lock(&c->bpf->lock);
	ret = bpf_track(c->bpf, tids, count);
	pthread_mutex_unlock(&c->bpf->lock);
	return ret;
}

static int track_groups(struct backend_channel *c, const struct track *set)
{
	int ret;

	pthread_mutex_lock(&c->bpf->lock);
	ret = bpf_track_groups(c->bpf, set);
	pthread_mutex_unlock(&c->bpf->lock);
	return ret;
}

static int track_more(struct backend_channel *c, const uint32_t *tids, size_t count)
{
	int ret = tracefs_track_more(c, tids, count);

	if (ret)
		return ret;
	pthread_mutex_lock(&c->bpf->lock);
	ret = bpf_track_more(c->bpf, tids, count);
	pthread_mutex_unlock(&c->bpf->lock);
	return ret;
}

/* ---- losses, lists ---- */

static int count_lost(struct backend_channel *c, uint32_t cpu, struct source_counts *losses)
{
	int ret = tracefs_lost(c, cpu, losses);
	struct source_counts own;
	struct bpf_ring *r = &c->bpf->ring;

	pthread_mutex_lock(&c->bpf->lock);
	/* The kernel does not say on which CPU. */
	if (!ret && !cpu)
		losses->discarded += bpf_misses(c->bpf);
	if (!ret && cpu < r->cpus) {
		bpf_ring_lost(r, cpu, &own);
		losses->overwritten += own.overwritten;
		losses->discarded += own.discarded;
		losses->undecided += own.undecided;
	}
	pthread_mutex_unlock(&c->bpf->lock);
	return ret;
}

/* Reads no format: those of all events take long. */
static int list_recordable(const struct backend *b, struct md_buf *out)
{
	struct md_buf all = MD_BUF_INIT;
	const char *line, *end;
	int ret = tracefs_list(b, &all);

	for (line = md_buf_str(&all); !ret && *line; line = end) {
		end = strchrnul(line, '\n');
		end += *end == '\n';
		if (bpf_source_possible(line))
			md_buf_put(out, line, (size_t)(end - line));
	}
	md_buf_deinit(&all);
	return ret;
}

static void show_note(struct backend_channel *c, struct facts *out)
{
	bool whole;

	pthread_mutex_lock(&c->bpf->lock);
	whole = c->bpf->whole;
	bpf_channel_show(c->bpf, out);
	bpf_refused_show(c->bpf, out);
	pthread_mutex_unlock(&c->bpf->lock);
	/* Else the instance may record events. */
	if (!whole)
		tracefs_note(c, out);
}

static int watch(struct backend_channel *c, int epoll)
{
	bool some;

	pthread_mutex_lock(&c->bpf->lock);
	some = c->bpf->ring.map >= 0;
	pthread_mutex_unlock(&c->bpf->lock);
	return some ? -EOPNOTSUPP : tracefs_watch(c, epoll);
}

static uint64_t list_contexts(const struct backend *b)
{
	return bpf_context_kinds() | tracefs_context_kinds(b);
}

const struct backend_ops bpf_backend = {
	.name = "tracefs and bpf",
	.probe = probe_bpf,
	.destroy = tracefs_destroy,
	.keep = keep_descriptors,
	.describe = tracefs_describe,
	.list = tracefs_list,
	.compiled_as = { "tracefs", "bpf" },
	.compiled = list_recordable,
	.ids = tracefs_ids,
	.format = print_format,
	.probe_create = tracefs_probe_create,
	.has_kprobes = tracefs_has_kprobes,
	.has_uprobes = tracefs_has_uprobes,
	.has_user_events = tracefs_has_user_events,
	.probe_remove = tracefs_probe_remove,
	.probes = tracefs_probes,
	.function_check = tracefs_function_check,
	.channels = tracefs_channels,
	.channel_open = open_channel,
	.lacks_text = bpf_plain_lacks,
	.channel_remove = remove_channel,
	.channel_close = close_channel,
	.contexts = set_contexts,
	.context_kinds = list_contexts,
	.stacks = tracefs_stacks,
	.record = record,
	.recording = tracefs_recording,
	.changed = tracefs_changed,
	.filter_text = print_filter,
	.expect = expect,
	.enable = enable,
	.why = say_why,
	.lacking = say_lacking,
	.enabled = list_enabled,
	.filter = set_filter,
	.filters_rules = has_program,
	.functions = tracefs_functions,
	.track = track,
	.track_groups = track_groups,
	.track_more = track_more,
	.drain = bpf_drain,
	.lost = count_lost,
	.note = show_note,
	.watch = watch,
	.boot_find = tracefs_boot_find,
	.boot_format = tracefs_read_format,
	.boot_record = tracefs_boot_record,
};
