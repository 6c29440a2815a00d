// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/session/hidden.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metadata/name.h"
#include "tracer/base/filter/filter.h"

/* Of the newest one. Guarded by tracer.lock; before there are threads, without it. */
static uint64_t last_number;

#define NAMES_MOST 4096u        /* bytes of names among which a field's name is suggested */

static const struct domain_ops *ops_of(const struct tracer *t, const struct hidden_channel *c)
{
	return t->domains[c->domain];
}

/* Caller holds tracer.lock. Adds the channel's contexts to the list. */
static int add_contexts(struct context_list *list, const struct hidden_channel *c,
			struct hidden_mistake *what, struct tr_err *err)
{
	int ret = 0;

	for (size_t i = 0; i < c->context_count && !ret; i++) {
		struct context_list more = { 0 };

		ret = context_list_apply(list, c->domain, c->contexts[i], false, true, &more, err);
		what->part = ret ? HIDDEN_CONTEXT : HIDDEN_OTHER;
		what->context = i;
		if (ret)
			break;
		context_list_deinit(list);
		*list = more;
	}
	return ret;
}

/* ---- fields that must exist ---- */

struct field_search {
	const struct hidden_channel *channel;
	uint64_t missing;               /* bits of channel.fields */
	bool found;                     /* an event */
	struct md_buf names;            /* that the events have, each with a NUL */
};

static bool has_field(const struct filter_event *e, const char *text)
{
	size_t len = strcspn(text, ".[");
	struct md_buf own = MD_BUF_INIT;
	bool found = false;

	for (uint32_t i = 0; i < e->field_count && !found; i++) {
		md_buf_reset(&own);
		md_name_field(e->strings + e->fields[i].name, &own);
		found = own.failed || (!(e->fields[i].flags & TRAIL_FIELD_NOWRITE) &&
				       own.len == len && !memcmp(own.data, text, len));
	}
	md_buf_deinit(&own);
	return found;
}

/* True: nothing more can be found out. */
static bool look_for_fields(void *arg, const struct filter_event *e)
{
	struct field_search *search = arg;

	search->found = true;
	for (size_t i = 0; i < search->channel->field_count; i++)
		if (search->missing >> i & 1 && (!e || has_field(e, search->channel->fields[i])))
			search->missing &= ~(UINT64_C(1) << i);
	if (e && search->names.len < NAMES_MOST)
		filter_event_names(e, &search->names);
	return !search->missing;
}

static int no_field(const struct field_search *search, struct hidden_mistake *what,
		    struct tr_err *err)
{
	size_t i = (size_t)__builtin_ctzll(search->missing);
	const char *text = search->channel->fields[i], *near = NULL;
	size_t len = strcspn(text, ".[");

	what->part = HIDDEN_FIELD;
	what->field = i;
	if (!search->names.failed)
		near = nearest_in(text, len, search->names.data, search->names.len);
	return tr_fail_at(err, -EINVAL, text, 0, "no field '%.*s' in the %s%s%s%s", (int)len, text,
			  search->channel->events, near ? "; did you mean '" : "",
			  near ? near : "", near ? "'?" : "");
}

/*
 * Caller holds session.lock and tracer.lock. -EINVAL: events exist that the rules match, and none
 * of them has the field.
 */
static int check_fields(struct session *s, const struct hidden_channel *c,
			const struct rule_list *rules, struct hidden_mistake *what,
			struct tr_err *err)
{
	struct field_search search = { .channel = c, .names = MD_BUF_INIT };
	int ret = 0;

	if (!c->field_count)
		return 0;
	search.missing = UINT64_MAX >> (64 - c->field_count);
	SESSION_LOCKED(s, ops_of(s->tracer, c)->each_match(s, rules, look_for_fields, &search));
	if (search.found && search.missing)
		ret = no_field(&search, what, err);
	md_buf_deinit(&search.names);
	return ret;
}

/* The names of the channel's fields, each once, with a NUL each, and one at the end. */
static char *copy_names(const struct hidden_channel *c)
{
	struct md_buf names = MD_BUF_INIT, one = MD_BUF_INIT;

	for (size_t i = 0; i < c->field_count; i++) {
		const char *at = names.data;
		size_t len = strcspn(c->fields[i], ".[");
		char *name = strndup(c->fields[i], len);

		md_buf_reset(&one);
		if (name)
			md_name_field(name, &one);
		names.failed |= !name || one.failed;
		free(name);
		while (at && at < names.data + names.len && strcmp(at, md_buf_str(&one)) != 0)
			at += strlen(at) + 1;
		if (!at || at == names.data + names.len)
			md_buf_put(&names, md_buf_str(&one), one.len + 1);
	}
	md_buf_deinit(&one);
	md_buf_putc(&names, 0);
	if (names.failed)
		md_buf_deinit(&names);
	return names.data;
}

/* Caller holds tracer.lock. Takes the rules over. */
static int add_channel(struct session *s, const struct hidden_channel *c, struct rule_list *rules,
		       struct hidden_mistake *what, struct tr_err *err)
{
	struct channel *ch;
	char number[24];

	snprintf(number, sizeof(number), "channel%zu", what->channel);
	ch = channel_new(s, c->domain, c->name ? c->name : number, (uint32_t)what->channel);
	if (!ch) {
		rule_list_deinit(rules);
		return tr_fail(err, -ENOMEM, "out of memory");
	}
	ch->counts = c->loss == TRAIL_MODE_COUNT;
	ch->loss = c->loss == TRAIL_MODE_OVERWRITE ? LOSS_OVERWRITE : LOSS_DISCARD;
	ch->subbuf_size = c->subbuf_size;
	ch->subbuf_count = c->subbuf_count;
	ch->rules = *rules;
	if (c->picks && !(ch->picks = copy_names(c)))
		return tr_fail(err, -ENOMEM, "out of memory");
	return add_contexts(&ch->contexts, c, what, err);
}

/*
 * Caller holds session.lock and tracer.lock. -EAGAIN: call prepare_rules without them, and retry.
 */
static int check_channel(struct session *s, const struct hidden_channel *c, bool add,
			 struct rule_preparation **prep, struct hidden_mistake *what,
			 struct tr_err *err)
{
	struct rule_list rules;
	struct context_list contexts = { 0 };
	int ret = rule_list_of(c->rule, &rules);

	if (ret)
		return tr_fail(err, ret, "out of memory");
	ret = SESSION_LOCKED(s, ops_of(s->tracer, c)->check_rules(s, &rules, prep, err));
	what->part = ret ? HIDDEN_RULE : HIDDEN_OTHER;
	if (!ret && add)
		return add_channel(s, c, &rules, what, err);
	if (!ret)
		ret = check_fields(s, c, &rules, what, err);
	if (!ret)
		ret = add_contexts(&contexts, c, what, err);
	context_list_deinit(&contexts);
	rule_list_deinit(&rules);
	return ret;
}

/* Without lock. */
static int take_channel(struct session *s, const struct hidden_channel *c, bool add,
			struct hidden_mistake *what, struct tr_err *err)
{
	const struct domain_ops *ops = ops_of(s->tracer, c);
	struct rule_preparation *prep = NULL;
	struct owner owner;
	int ret;

	do {
		session_lock(s);
		owner = session_owner(s);
		ret = check_channel(s, c, add, &prep, what, err);
		session_unlock(s);
	} while (ret == -EAGAIN && ops->prepare_rules &&
		 (ret = UNLOCKED(s->tracer, ops->prepare_rules(s, prep, &owner, err))) == 0);
	if (ops->end_rules)
		ret = UNLOCKED(s->tracer, ops->end_rules(s, prep, ret, err));
	return ret;
}

int hidden_check(struct session *s, const struct hidden_channel *channel,
		 struct hidden_mistake *what, struct tr_err *err)
{
	*what = (struct hidden_mistake){ 0 };
	return take_channel(s, channel, false, what, err);
}

/* Caller holds session.lock and tracer.lock. */
static int start_channels(struct session *s, bool active, struct tr_err *err)
{
	struct channel *c;
	uint64_t bytes = 0;
	int ret = 0;

	cds_list_for_each_entry(c, &s->channels, node) {
		if (c->kernel && channel_room(c, &bytes))
			return tr_fail(err, -EDQUOT,
				       "the limit of buffers of user %u is reached (user_buffers)",
				       s->uid);
		ret = ret ? ret : channel_start(c, err);
	}
	if (ret)
		return ret;
	s->starts = 1;
	s->started = wall_clock();
	s->active = active;
	session_save(s);
	session_apply(s);
	cds_list_for_each_entry(c, &s->channels, node) {
		const struct domain_ops *ops =
			s->tracer->domains[c->kernel ? DOMAIN_KERNEL : DOMAIN_USER];

		if (!ret && ops->applied)
			ret = LOCKED(s->tracer, ops->applied(c, NULL));
	}
	return ret ? tr_fail(err, ret, "the kernel refuses the rule: %s", strerror(-ret)) : 0;
}

/*
 * Caller holds tracer.lock. Sets that cannot be copied stay as they were. Returns whether one
 * changed.
 */
static bool copy_tracks(struct session *s, const struct session *from)
{
	struct track copy;
	bool changed = false;

	for (int i = 0; i < TRACK_ATTRS; i++) {
		if (track_equal(&s->track[i], &from->track[i]) ||
		    track_copy(&from->track[i], &copy))
			continue;
		track_deinit(&s->track[i]);
		s->track[i] = copy;
		changed = true;
	}
	return changed;
}

int hidden_open(struct tracer *t, const struct hidden_spec *spec, struct session **out,
		struct hidden_mistake *what, struct tr_err *err)
{
	struct session *s;
	char name[64];
	int ret = 0;

	*out = NULL;
	*what = (struct hidden_mistake){ 0 };
	pthread_mutex_lock(&t->lock);
	snprintf(name, sizeof(name), "%s%" PRIu64, spec->prefix, ++last_number);
	s = session_new_hidden(t, name, &spec->owner);
	if (s) {
		s->wakes = spec->wakes;
		s->survives = spec->survives;
	}
	if (s && spec->tracks)
		copy_tracks(s, spec->tracks);
	pthread_mutex_unlock(&t->lock);
	if (!s)
		return tr_fail(err, -ENOMEM, "out of memory");
	/* Only the caller knows the session, so no other thread can have removed it. */
	for (; what->channel < spec->channel_count && !ret; what->channel += !ret)
		ret = take_channel(s, &spec->channels[what->channel], true, what, err);
	if (!ret) {
		what->part = HIDDEN_OTHER;
		session_lock(s);
		ret = start_channels(s, spec->active, err);
		session_unlock(s);
	}
	if (ret)
		hidden_close(s);
	else
		*out = s;
	return ret;
}

void hidden_close(struct session *s)
{
	if (!s)
		return;
	session_lock(s);
	session_drop(s);
	session_unlock(s);
	domains_gc(s->tracer);
	session_put(s);
}

void hidden_enable(struct session *s, bool on)
{
	if (!s)
		return;
	session_lock(s);
	if (s->active != (on && !s->gone)) {
		s->active = on && !s->gone;
		session_save(s);
		session_apply(s);
	}
	session_unlock(s);
}

void hidden_clear(struct session *s)
{
	if (!s)
		return;
	session_clear_rings(s);
	/* Who shows it holds no lock of the session. */
	__atomic_store_n(&s->started, wall_clock(), __ATOMIC_RELAXED);
	session_save(s);
}

void hidden_track(struct session *s, struct session *from)
{
	struct channel *c;

	session_lock(s);
	if (copy_tracks(s, from)) {
		/* Applications that are excluded now must attach again to learn of it. */
		cds_list_for_each_entry(c, &s->channels, node)
			c->epoch++;
		session_save(s);
		session_apply(s);
	}
	session_unlock(s);
}

void hidden_show_problems(struct session *s, struct facts *out)
{
	if (!s)
		return;
	for_each_domain(d, s->tracer)
		if ((*d)->status)
			LOCKED(s->tracer, (*d)->status(s, out));
}

void hidden_problems(struct session *s, struct md_buf *out)
{
	struct facts lines = { .out = out };

	if (!s)
		return;
	pthread_mutex_lock(&s->tracer->lock);
	hidden_show_problems(s, &lines);
	pthread_mutex_unlock(&s->tracer->lock);
}

/* No other thread uses the list yet. */
static bool survived(const struct tracer *t, const char *name)
{
	const struct session *s;
	const char *number = strrchr(name, '-');
	uint64_t n;

	cds_list_for_each_entry(s, &t->sessions, node) {
		if (!s->hidden || strcmp(s->name, name) != 0)
			continue;
		/* No later one gets its name. */
		n = number ? strtoull(number + 1, NULL, 10) : 0;
		last_number = n > last_number ? n : last_number;
		return true;
	}
	return false;
}

void hidden_forget_old(struct tracer *t)
{
	int fd = openat(t->sessions_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	/* No session of a user has a name that begins with a dot. */
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] == '.' && strcmp(d->d_name, ".") && strcmp(d->d_name, "..") &&
		    !survived(t, d->d_name))
			state_file_remove(t->sessions_fd, d->d_name);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

struct session *hidden_claim(struct tracer *t, const char *name)
{
	struct session *s, *found = NULL;

	pthread_mutex_lock(&t->lock);
	cds_list_for_each_entry(s, &t->sessions, node)
		if (s->unclaimed && !strcmp(s->name, name))
			found = s;
	if (found)
		found->unclaimed = false;
	pthread_mutex_unlock(&t->lock);
	return found;
}

void hidden_drop_unclaimed(struct tracer *t)
{
	struct session *s, *found;

	do {
		found = NULL;
		pthread_mutex_lock(&t->lock);
		cds_list_for_each_entry(s, &t->sessions, node)
			found = s->unclaimed ? s : found;
		if (found)
			found->unclaimed = false;
		pthread_mutex_unlock(&t->lock);
		hidden_close(found);
	} while (found);
}
