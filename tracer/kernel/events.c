// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The events that the kernel has: listed by one read of one file, their formats read when they are
 * first needed. And what event rules mean of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/kernel/kernel.h"
#include "tracer/rule/kernel_pattern.h"
#include "tracer/statedump/statedump.h"
#include "tracer/base/base.h"

#define SUGGEST_EVENTS 64      /* whose fields are suggested for one that no event has */

static void event_free(struct kevent *e)
{
	if (!e)
		return;
	free(e->system);
	free(e->name);
	free(e->key);
	free(e->event);
	kformat_free(e->format);
	free(e);
}

void kcatalog_free(struct kernel *k)
{
	for (size_t i = 0; i < k->event_count; i++)
		event_free(k->events[i]);
	free(k->events);
	free(k->by_id);
	free(k->listed);
	k->events = NULL;
	k->by_id = NULL;
	k->listed = NULL;
	k->event_count = k->by_id_size = 0;
}

static bool is_function(const char *system, const char *name)
{
	return !strcmp(system, BACKEND_FUNCTION_SYSTEM) && !strcmp(name, BACKEND_FUNCTION_EVENT);
}

bool kevent_is_syscall(const struct kevent *e)
{
	return !strncmp(e->key, "syscall:", 8);
}

bool kevent_is_tracepoint(const struct kevent *e)
{
	return !kevent_is_syscall(e) && !dynamic_event_is_rule(e->key) &&
	       !krule_is_function(e->key);
}

/*
 * `syscall:entry:NAME`, or `system:name`, behind it `/NAME` if LTTng has another one; see
 * rule/kernel_pattern.h.
 */
static char *make_key(const struct kevent *e)
{
	/* Rules mean calls of 32-bit programs, too. */
	const char *call = e->name + (strncmp(e->name, KEVENT_COMPAT, strlen(KEVENT_COMPAT))
					      ? 0
					      : strlen(KEVENT_COMPAT));
	struct md_buf key = MD_BUF_INIT;

	if (is_function(e->system, e->name))
		md_buf_puts(&key, KRULE_FUNCTION);
	else if (!strcmp(e->system, "syscalls") && !strncmp(call, "sys_enter_", 10))
		md_buf_printf(&key, "syscall:entry:%s", call + 10);
	else if (!strcmp(e->system, "syscalls") && !strncmp(call, "sys_exit_", 9))
		md_buf_printf(&key, "syscall:exit:%s", call + 9);
	else if (strcmp(e->name, e->event) != 0)
		md_buf_printf(&key, "%s:%s/%s", e->system, e->name, e->event);
	else
		md_buf_printf(&key, "%s:%s", e->system, e->name);
	md_buf_str(&key);
	if (key.failed) {
		md_buf_deinit(&key);
		return NULL;
	}
	return key.data;
}

/* The name in the trace; the kernel's own system before it where two would have the same. */
static int set_names(struct kevent *e, bool prefixed)
{
	char name[KFORMAT_NAME_MAX + 1];

	free(e->event);
	free(e->key);
	e->key = NULL;
	e->event = kformat_event_name(e->system, e->name, prefixed, name) ? NULL : strdup(name);
	if (e->event)
		e->key = make_key(e);
	return e->key ? 0 : -ENOMEM;
}

/*
 * A probe's name in the trace is the rule that made it. One of no rule is nobody's: no pattern is
 * like its key.
 */
static int set_probe_names(const struct kernel *k, struct kevent *e)
{
	const char *pattern = kprobe_pattern(k, e->name);
	struct md_buf key = MD_BUF_INIT;

	if (pattern)
		md_buf_puts(&key, pattern);
	else
		md_buf_printf(&key, "kprobe:/%s", e->name);
	e->key = strdup(md_buf_str(&key));
	e->event = strdup(md_buf_str(&key));
	md_buf_deinit(&key);
	return e->key && e->event ? 0 : -ENOMEM;
}

/* Groups of probes of some trailfs daemon. */
static bool is_group(const char *system)
{
	size_t n = strlen(KERNEL_GROUP_PREFIX);

	return !strncmp(system, KERNEL_GROUP_PREFIX, n) && strlen(system) == n + 8 &&
	       strspn(system + n, "0123456789abcdef") == 8;
}

static struct kevent *find(struct kernel *k, const char *system, const char *name, size_t len)
{
	for (size_t i = 0; i < k->event_count; i++) {
		struct kevent *e = k->events[i];

		if (!strcmp(e->system, system) &&
		    (!name || (!strncmp(e->name, name, len) && !e->name[len])))
			return e;
	}
	return NULL;
}

static int add(struct kernel *k, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	struct kevent *e, **more;

	if (!colon || colon == line || (size_t)(colon - line) + 1 == len || len > 400)
		return 0;
	e = calloc(1, sizeof(*e));
	more = realloc(k->events, (k->event_count + 1) * sizeof(*more));
	if (more)
		k->events = more;
	if (e) {
		e->system = strndup(line, (size_t)(colon - line));
		e->name = strndup(colon + 1, len - (size_t)(colon - line) - 1);
	}
	if (!e || !more || !e->system || !e->name ||
	    (strcmp(e->system, k->group) ? set_names(e, false) : set_probe_names(k, e))) {
		event_free(e);
		return -ENOMEM;
	}
	if (is_group(e->system) && strcmp(e->system, k->group) != 0) {   /* another daemon's */
		event_free(e);
		return 0;
	}
	e->present = true;
	e->dump = kdump_find(e->system, e->name);
	e->index = k->event_count;
	k->events[k->event_count++] = e;
	return 0;
}

static int by_event(const void *a, const void *b)
{
	const struct kevent *const *x = a, *const *y = b;
	int c = strcmp((*x)->event, (*y)->event);

	return c ? c : ((*x)->index > (*y)->index) - ((*x)->index < (*y)->index);
}

/* Of two events with one name the later gets its system's. */
static int tell_apart(struct kernel *k)
{
	struct kevent **sorted = malloc((k->event_count + 1) * sizeof(*sorted));
	int ret = 0;

	if (!sorted)
		return -ENOMEM;
	if (k->event_count)
		memcpy(sorted, k->events, k->event_count * sizeof(*sorted));
	qsort(sorted, k->event_count, sizeof(*sorted), by_event);
	for (size_t i = k->event_count; i-- > 1 && !ret;)
		if (!strcmp(sorted[i]->event, sorted[i - 1]->event) && !sorted[i]->format &&
		    !dynamic_event_is_rule(sorted[i]->key))
			ret = set_names(sorted[i], true);
	free(sorted);
	return ret;
}

/*
 * What was known of an event that is not there any more: its id may be given to another. Coders
 * keep the format they have.
 */
static void forget(struct kernel *k, struct kevent *e)
{
	if (e->format && e->format->id < k->by_id_size && k->by_id[e->format->id] == e)
		k->by_id[e->format->id] = NULL;
	kformat_free(e->format);
	e->format = NULL;
	e->unreadable = false;
	e->present = false;
}

/* The event of a line, which is looked for where it was last time first. */
static struct kevent *find_line(struct kernel *k, const char *line, size_t len, size_t hint)
{
	const char *colon = memchr(line, ':', len);
	char system[128];
	struct kevent *e = hint < k->event_count ? k->events[hint] : NULL;
	size_t n;

	if (!colon || (size_t)(colon - line) >= sizeof(system))
		return NULL;
	memcpy(system, line, (size_t)(colon - line));
	system[colon - line] = 0;
	n = len - (size_t)(colon - line) - 1;
	if (e && !strcmp(e->system, system) && !strncmp(e->name, colon + 1, n) && !e->name[n])
		return e;
	return find(k, system, colon + 1, n);
}

/*
 * A probe that is there again may be of a rule now, when it was of none before. Whoever has the old
 * key may keep it.
 */
static int renew_key(struct kernel *k, struct kevent *e)
{
	const char *pattern = strcmp(e->system, k->group) ? NULL : kprobe_pattern(k, e->name);

	return pattern && strcmp(pattern, e->key) != 0 ? set_probe_names(k, e) : 0;
}

static int take_list(struct kernel *k, const char *text)
{
	bool fresh = !k->event_count, new = false;
	const char *line, *end;
	uint8_t *was = calloc(k->event_count + 1, 1);
	size_t before = k->event_count, hint = 0;
	struct kevent *e;
	int ret = was ? 0 : -ENOMEM;

	for (size_t i = 0; !ret && i < before; i++) {
		was[i] = k->events[i]->present;
		k->events[i]->present = false;
	}
	for (line = text; *line && !ret; line = end + (*end == '\n')) {
		end = line + strcspn(line, "\n");
		e = fresh ? NULL : find_line(k, line, (size_t)(end - line), hint);
		if (!e) {
			ret = add(k, line, (size_t)(end - line));
			new = true;
			continue;
		}
		hint = e->index + 1;
		if (e->index < before && !was[e->index]) {
			new = true;
			ret = renew_key(k, e);
		}
		e->present = true;
	}
	for (size_t i = 0; !ret && i < before; i++)
		if (was[i] && !k->events[i]->present)
			forget(k, k->events[i]);
	free(was);
	/* Pairs with the acquire in kernel/drain.c. */
	if (new && !fresh)
		__atomic_add_fetch(&k->epoch, 1, __ATOMIC_RELEASE);
	return ret ? ret : tell_apart(k);
}

/* An event that was made again under its name is another one, though the list reads as before. */
static void take_ids(struct kernel *k, char *text)
{
	char *line, *save = NULL, *colon, *space;
	struct kevent *e;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		colon = strchr(line, ':');
		space = strchr(line, ' ');
		if (!colon || !space)
			continue;
		*colon = '\0';
		e = find(k, line, colon + 1, (size_t)(space - colon - 1));
		if (!e || !e->present || !e->format || e->format->id == strtoul(space, NULL, 10))
			continue;
		forget(k, e);
		e->present = true;
		/* Pairs with the acquire in kernel/drain.c. */
		__atomic_add_fetch(&k->epoch, 1, __ATOMIC_RELEASE);
	}
}

int kernel_refresh(struct kernel *k)
{
	struct md_buf text = MD_BUF_INIT, ids = MD_BUF_INIT;
	int ret = k->ops->list(k->backend, &text);

	/* The daemon's own. */
	for (int i = 0; i < KDUMP_TYPES; i++)
		md_buf_printf(&text, "%s:%s\n", kdump_system((enum kdump_type)i),
			      kdump_name((enum kdump_type)i));
	md_buf_str(&text);
	if (!ret && text.failed)
		ret = -ENOMEM;
	pthread_mutex_lock(&k->lock);
	if (!ret && (!k->listed || strcmp(k->listed, text.data) != 0)) {
		ret = take_list(k, text.data);
		if (!ret) {
			free(k->listed);
			k->listed = text.data;
			text.data = NULL;
		}
	}
	if (!ret && !k->ops->ids(k->backend, &ids) && *md_buf_str(&ids))
		take_ids(k, ids.data);
	pthread_mutex_unlock(&k->lock);
	md_buf_deinit(&ids);
	if (text.data)
		md_buf_deinit(&text);
	return ret;
}

size_t kernel_count(struct kernel *k)
{
	size_t n;

	pthread_mutex_lock(&k->lock);
	n = k->event_count;
	pthread_mutex_unlock(&k->lock);
	return n;
}

struct kevent *kernel_event(struct kernel *k, size_t i)
{
	struct kevent *e;

	pthread_mutex_lock(&k->lock);
	e = k->events[i];
	pthread_mutex_unlock(&k->lock);
	return e;
}

struct kevent *kernel_find(struct kernel *k, const char *system, const char *name, size_t len)
{
	struct kevent *e;

	pthread_mutex_lock(&k->lock);
	e = find(k, system, name, len);
	pthread_mutex_unlock(&k->lock);
	return e && e->present ? e : NULL;
}

/* ---- formats ---- */

static int note_id(struct kernel *k, struct kevent *e)
{
	struct kevent **more;
	size_t size = k->by_id_size ? k->by_id_size : 4096;

	while (size <= e->format->id && size < 65536)
		size *= 2;
	if (e->format->id >= size)
		return -EINVAL;
	if (size != k->by_id_size) {
		more = realloc(k->by_id, size * sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + k->by_id_size, 0, (size - k->by_id_size) * sizeof(*more));
		k->by_id = more;
		k->by_id_size = size;
	}
	k->by_id[e->format->id] = e;
	return 0;
}

int kernel_read_format(struct kernel *k, const struct kevent *e, struct kformat **out)
{
	struct md_buf text = MD_BUF_INIT;
	int ret = k->ops->format(k->backend, e->system, e->name, &text);

	*out = NULL;
	if (!ret)
		ret = kformat_parse(e->system, md_buf_str(&text), text.len, out);
	md_buf_deinit(&text);
	if (!ret && strcmp(kformat_name(*out), e->event) != 0)
		ret = kformat_rename(*out, e->event);
	return ret;
}

static void load(struct kernel *k, struct kevent *e)
{
	int ret = kernel_read_format(k, e, &e->format);

	if (!ret)
		ret = note_id(k, e);
	if (ret) {
		kformat_free(e->format);
		e->format = NULL;
		e->unreadable = ret != -ENOMEM;
	}
}

struct kformat *kernel_format(struct kernel *k, struct kevent *e)
{
	struct kformat *f;

	pthread_mutex_lock(&k->lock);
	if (!e->format && !e->unreadable && e->present)
		load(k, e);
	f = e->format ? kformat_get(e->format) : NULL;
	pthread_mutex_unlock(&k->lock);
	return f;
}

void kernel_forget(struct kernel *k, const char *system, const char *name)
{
	struct kevent *e;

	pthread_mutex_lock(&k->lock);
	e = find(k, system, name, strlen(name));
	if (e)
		forget(k, e);
	free(k->listed);
	k->listed = NULL;
	pthread_mutex_unlock(&k->lock);
	/* Pairs with the acquire in kernel/drain.c. */
	__atomic_add_fetch(&k->epoch, 1, __ATOMIC_RELEASE);
}

struct kevent *kernel_event_by_id(struct kernel *k, uint32_t id)
{
	struct kevent *e;

	pthread_mutex_lock(&k->lock);
	e = id < k->by_id_size ? k->by_id[id] : NULL;
	pthread_mutex_unlock(&k->lock);
	return e;
}

/* ---- when rules are written ---- */

static const char *near_system(struct kernel *k, const char *word, size_t len)
{
	const char **names = malloc((k->event_count + 1) * sizeof(*names)), *near;
	size_t n = 0;

	if (!names)
		return NULL;
	for (size_t i = 0; i < k->event_count; i++)
		if (kevent_is_tracepoint(k->events[i]) &&
		    (!n || strcmp(names[n - 1], k->events[i]->system) != 0))
			names[n++] = k->events[i]->system;
	near = nearest(word, len, names, n);
	free(names);
	return near;
}

/* system NULL: of all. */
static const char *near_event(struct kernel *k, const char *system, const char *prefix,
			      const char *word)
{
	const char **names = malloc((k->event_count + 1) * sizeof(*names)), *near;
	size_t n = 0, skip = strlen(prefix);

	if (!names)
		return NULL;
	for (size_t i = 0; i < k->event_count; i++) {
		const struct kevent *e = k->events[i];

		if (system ? !strcmp(e->system, system) && !strncmp(e->name, prefix, skip)
			   : kevent_is_tracepoint(e))
			names[n++] = e->name + skip;
	}
	near = nearest(word, strlen(word), names, n);
	free(names);
	return near;
}

static int no_such(const struct rule *r, const char *what, const char *word, int len,
		   const char *near, struct tr_err *err)
{
	int column = (int)(word - r->pattern), ret;

	if (near)
		ret = tr_fail_at(err, -ENOENT, r->text, column,
				 "no such %s '%.*s'; did you mean '%s'?", what, len, word, near);
	else
		ret = tr_fail_at(err, -ENOENT, r->text, column, "no such %s '%.*s'", what, len,
				 word);
	if (err)
		err->line = r->line;
	return ret;
}

/* Why the pattern means nothing. */
static int explain(struct kernel *k, const struct rule *r, struct tr_err *err)
{
	const char *p = r->pattern, *colon = strchr(p, ':'), *word;
	char system[128];

	if (dynamic_event_is_rule(p) || krule_is_function(p))
		return no_such(r, "event", p, (int)strlen(p), NULL, err);
	if (!strncmp(p, "syscall:", 8)) {
		word = krule_syscall_name(p);
		return no_such(r, "system call", word, (int)strlen(word),
			       near_event(k, "syscalls", "sys_enter_", word), err);
	}
	if (!colon)
		return no_such(r, "tracepoint", p, (int)strlen(p), near_event(k, NULL, "", p), err);
	snprintf(system, sizeof(system), "%.*s", (int)(colon - p), p);
	if (!strchr(system, '*') && !find(k, system, NULL, 0))
		return no_such(r, "system", p, (int)(colon - p),
			       near_system(k, system, strlen(system)), err);
	return no_such(r, "tracepoint", colon + 1, (int)strlen(colon + 1),
		       near_event(k, system, "", colon + 1), err);
}

/* False: nothing is known of them. */
static bool fields_of(struct kernel *k, struct kevent *e, struct kdump_fields *out)
{
	if (e->dump >= 0) {
		kdump_filter_event((enum kdump_type)e->dump, out);
		return true;
	}
	if (!e->format && !e->unreadable)
		load(k, e);
	if (e->format)
		kformat_filter_event(e->format, &out->event);
	return e->format;
}

/* -EINVAL if of the events that the rule takes none has some field that its filter names. */
static int check_fields(struct kernel *k, const struct rule *r, struct tr_err *err)
{
	const struct filter_node *field;
	struct kdump_fields fields;
	int ret = 0;

	for (size_t n = 0; !ret && (field = filter_named_field(r->filter, n)); n++) {
		struct md_buf names = MD_BUF_INIT;
		const char *where = NULL;
		bool found = false;
		size_t events = 0;

		for (size_t i = 0; i < k->event_count && !found; i++) {
			struct kevent *e = k->events[i];

			if (!e->present || !rule_match(r, e->key, 0))
				continue;
			/* An event with a format that cannot be read may have any field. */
			found = !fields_of(k, e, &fields) || filter_event_has(&fields.event, field);
			where = where ? where : e->name;
			if (events++ < SUGGEST_EVENTS && !found)
				filter_event_names(&fields.event, &names);
		}
		if (!found && where)
			ret = filter_no_field(r->filter, field,
					      events > 1 ? "any of the rule's events" : where,
					      &names, err);
		md_buf_deinit(&names);
	}
	if (ret && err)
		err->line = r->line;
	return ret;
}

/*
 * -EINVAL, as in the first event that the rule takes, if the filter's types clash in all. -ENOENT:
 * it takes none.
 */
static int check_types(struct kernel *k, const struct rule *r, struct tr_err *err)
{
	struct tr_err first = TR_ERR_INIT;
	struct kdump_fields fields;
	const struct kevent *clash = NULL;
	bool any = false;

	for (size_t i = 0; i < k->event_count; i++) {
		struct kevent *e = k->events[i];

		if (!e->present || !rule_match(r, e->key, 0))
			continue;
		any = true;
		if (!r->filter)
			return 0;
		if (!fields_of(k, e, &fields))
			continue;
		if (filter_check(r->filter, &fields.event, clash ? NULL : &first) != -EINVAL)
			return 0;
		clash = clash ? clash : e;
	}
	if (!any)
		return explain(k, r, err);
	if (!clash)
		return 0;
	if (err) {
		size_t n = strlen(first.sentence);

		*err = first;
		snprintf(err->sentence + n, sizeof(err->sentence) - n, " (in %.100s)", clash->name);
		err->line = r->line;
	}
	return -EINVAL;
}

static int check_rule(struct kernel *k, const struct rule *r, struct tr_err *err)
{
	int ret = check_types(k, r, err);

	return ret || !r->filter ? ret : check_fields(k, r, err);
}

/* The events that new rules are to make; all that have to be prepared are asked for at once. */
static int make_events(struct kernel *k, const struct rule_list *l, struct kprobe_plan *plan,
		       struct tr_err *err)
{
	int ret = 0, one;

	for (size_t i = 0; i < l->count && (!ret || ret == -EAGAIN); i++) {
		if (!l->rules[i].line || !kprobe_is_rule(&l->rules[i]))
			continue;
		one = kprobe_make(k, plan, &l->rules[i], err);
		ret = one ? one : ret;
	}
	return ret;
}

int kernel_check_rules(struct kernel *k, const struct rule_list *l, struct kprobe_plan *plan,
		       struct tr_err *err)
{
	int ret = make_events(k, l, plan, err);

	if (ret)
		return ret;
	ret = kernel_refresh(k);
	if (ret)
		return tr_fail(err, ret, "the kernel's events cannot be listed: %s",
			       strerror(-ret));
	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < l->count && !ret; i++)
		if (l->rules[i].line)
			ret = check_rule(k, &l->rules[i], err);
	pthread_mutex_unlock(&k->lock);
	return ret;
}
