// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's events. One read of one file lists them; a format is read when it is first needed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/array.h"
#include "tracer/kernel/kernel.h"
#include "tracer/base/rule/hook.h"
#include "tracer/base/rule/kernel_pattern.h"
#include "tracer/base/rule/sample.h"
#include "tracer/kernel/statedump/statedump.h"
#include "tracer/base/base.h"

static void free_key(struct kevent *e)
{
	if (e->key)
		event_key_deinit(e->key);
	free(e->key);
	e->key = NULL;
}

static void event_free(struct kevent *e)
{
	if (!e)
		return;
	free(e->system);
	free(e->name);
	free_key(e);
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
	return !strncmp(e->key->place, "syscall:", 8);
}

bool kevent_has_data(const struct kevent *e)
{
	return !strcmp(e->system, BACKEND_DATA_SYSTEM) && !strncmp(e->name, "sys_enter_", 10);
}

/* Entries with data have the names and fields of entries without. */
static const char *system_of_names(const struct kevent *e)
{
	return kevent_has_data(e) ? "syscalls" : e->system;
}

bool kevent_is_tracepoint(const struct kevent *e)
{
	return !kevent_is_syscall(e) && !event_key_is_probe(e->key) &&
	       !krule_is_function(e->key->place) && !sample_is_rule(e->key->place);
}

/*
 * Makes the event's key: `syscall:entry:NAME`, or `system:name`, with `/NAME` if LTTng has another
 * name (rule/kernel_pattern.h).
 */
static struct event_key *make_key(const struct kevent *e)
{
	/* Rules match the calls of 32-bit programs, too. */
	const char *call = e->name + (strncmp(e->name, KEVENT_COMPAT, strlen(KEVENT_COMPAT))
					      ? 0
					      : strlen(KEVENT_COMPAT));
	struct md_buf key = MD_BUF_INIT;
	struct event_key *copy;

	if (is_function(e->system, e->name))
		md_buf_puts(&key, KRULE_FUNCTION);
	else if (kevent_has_data(e))
		md_buf_printf(&key, KRULE_DATA "%s", call + 10);
	else if (!strcmp(e->system, "syscalls") && !strncmp(call, "sys_enter_", 10))
		md_buf_printf(&key, "syscall:entry:%s", call + 10);
	else if (!strcmp(e->system, "syscalls") && !strncmp(call, "sys_exit_", 9))
		md_buf_printf(&key, "syscall:exit:%s", call + 9);
	else if (strcmp(e->name, e->event) != 0 && e->dump < 0)
		md_buf_printf(&key, "%s:%s/%s", e->system, e->name, e->event);
	else
		md_buf_printf(&key, "%s:%s", e->system, e->name);
	copy = key.failed ? NULL : event_key_dup(EVENT_KEY(md_buf_str(&key)));
	md_buf_deinit(&key);
	return copy;
}

/*
 * Sets the name in the trace. prefixed: with the kernel's system, if two events have the same name.
 */
static int set_names(struct kevent *e, bool prefixed)
{
	char name[KFORMAT_NAME_MAX + 1];

	free(e->event);
	free_key(e);
	if (e->dump >= 0)
		e->event = strdup(kdump_event_name((enum kdump_type)e->dump));
	else
		e->event = kformat_event_name(system_of_names(e), e->name, prefixed, name)
				   ? NULL
				   : strdup(name);
	if (e->event)
		e->key = make_key(e);
	return e->key ? 0 : -ENOMEM;
}

/*
 * A probe's name in the trace is that which its rule gives, else its place. A probe without a rule
 * gets a key that no rule matches.
 */
static int set_probe_names(const struct kernel *k, struct kevent *e)
{
	const struct event_key *key = kprobe_key(k, e->name);
	char none[KFORMAT_NAME_MAX + 16];
	const char *name, *colon;

	snprintf(none, sizeof(none), "kprobe:/%s", e->name);
	e->key = event_key_dup(key ? key : EVENT_KEY(none));
	if (!e->key)
		return -ENOMEM;
	name = e->key->label ? e->key->label : e->key->place;
	/* With extra data a tracepoint keeps its name. */
	colon = e->key->label || dynamic_event_is_rule(name) ? NULL : strchr(name, ':');
	e->event = strdup(colon ? colon + 1 : name);
	return e->event ? 0 : -ENOMEM;
}

/* Whether the system is the group of probes of a trailfs daemon. */
static bool is_group(const char *system)
{
	size_t n = strlen(KERNEL_GROUP_PREFIX);

	return !strncmp(system, KERNEL_GROUP_PREFIX, n) && strlen(system) == n + 8 &&
	       strspn(system + n, "0123456789abcdef") == 8;
}

struct kevent *kevent_find(struct kernel *k, const char *system, const char *name, size_t len)
{
	for (size_t i = 0; i < k->event_count; i++) {
		struct kevent *e = k->events[i];

		if (!strcmp(e->system, system) &&
		    (!name || (!strncmp(e->name, name, len) && !e->name[len])))
			return e;
	}
	return NULL;
}

static int add_event(struct kernel *k, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	struct kevent *e;

	if (!colon || colon == line || (size_t)(colon - line) + 1 == len || len > 400)
		return 0;
	e = calloc(1, sizeof(*e));
	if (e) {
		e->system = strndup(line, (size_t)(colon - line));
		e->name = strndup(colon + 1, len - (size_t)(colon - line) - 1);
	}
	if (e && e->system && e->name)
		e->dump = kdump_find(e->system, e->name);
	if (!e || !e->system || !e->name || !array_room(k->events, k->event_count + 1) ||
	    (strcmp(e->system, k->group) ? set_names(e, false) : set_probe_names(k, e))) {
		event_free(e);
		return -ENOMEM;
	}
	if (is_group(e->system) && strcmp(e->system, k->group) != 0) {   /* another daemon's */
		event_free(e);
		return 0;
	}
	e->present = true;
	e->index = k->event_count;
	k->events[k->event_count++] = e;
	return 0;
}

static int compare_event_names(const void *a, const void *b)
{
	const struct kevent *const *x = a, *const *y = b;
	int c = strcmp((*x)->event, (*y)->event);

	return c ? c : ((*x)->index > (*y)->index) - ((*x)->index < (*y)->index);
}

/* If two events have the same name, the later one gets its system as a prefix. */
static int resolve_duplicates(struct kernel *k)
{
	struct kevent **sorted = malloc((k->event_count + 1) * sizeof(*sorted));
	int ret = 0;

	if (!sorted)
		return -ENOMEM;
	if (k->event_count)
		memcpy(sorted, k->events, k->event_count * sizeof(*sorted));
	qsort(sorted, k->event_count, sizeof(*sorted), compare_event_names);
	for (size_t i = k->event_count; i-- > 1 && !ret;)
		if (!strcmp(sorted[i]->event, sorted[i - 1]->event) && !sorted[i]->format &&
		    !event_key_is_probe(sorted[i]->key) && sorted[i]->dump < 0 &&
		    !event_key_is_probe(sorted[i - 1]->key) && !kevent_has_data(sorted[i]) &&
		    !kevent_has_data(sorted[i - 1]))
			ret = set_names(sorted[i], true);
	free(sorted);
	return ret;
}

/*
 * Forgets the format of an event that was removed: the kernel may give its id to another event.
 * Coders keep the format that they have.
 */
static void forget_event(struct kernel *k, struct kevent *e)
{
	if (e->format && e->format->id < k->by_id_size && k->by_id[e->format->id] == e)
		k->by_id[e->format->id] = NULL;
	kformat_free(e->format);
	e->format = NULL;
	e->unreadable = false;
	e->present = false;
}

/* Finds the event of a line; tries the index `hint` first. */
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
	return kevent_find(k, system, colon + 1, n);
}

/* A probe that exists again may belong to a rule now. Users of the old key may still have it. */
static int renew_key(struct kernel *k, struct kevent *e)
{
	const struct event_key *key = strcmp(e->system, k->group) ? NULL : kprobe_key(k, e->name);

	return key && event_key_compare(key, e->key) != 0 ? set_probe_names(k, e) : 0;
}

static int update_list(struct kernel *k, const char *text)
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
			ret = add_event(k, line, (size_t)(end - line));
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
			forget_event(k, k->events[i]);
	free(was);
	/* Pairs with the acquire in drain.c. */
	if (new && !fresh)
		__atomic_add_fetch(&k->epoch, 1, __ATOMIC_RELEASE);
	return ret ? ret : resolve_duplicates(k);
}

/*
 * An event that was removed and made again under its name has another id, although the list of
 * names is the same.
 */
static void update_ids(struct kernel *k, char *text)
{
	char *line, *save = NULL, *colon, *space;
	struct kevent *e;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		colon = strchr(line, ':');
		space = strchr(line, ' ');
		if (!colon || !space)
			continue;
		*colon = '\0';
		e = kevent_find(k, line, colon + 1, (size_t)(space - colon - 1));
		if (!e || !e->present || !e->format || e->format->id == strtoul(space, NULL, 10))
			continue;
		forget_event(k, e);
		e->present = true;
		/* Pairs with the acquire in drain.c. */
		__atomic_add_fetch(&k->epoch, 1, __ATOMIC_RELEASE);
	}
}

int kernel_refresh(struct kernel *k)
{
	struct md_buf text = MD_BUF_INIT, ids = MD_BUF_INIT;
	int ret = k->ops->list(k->backend, &text);

	/* Add the events that the daemon makes. */
	for (int i = 0; i < KDUMP_TYPES; i++)
		md_buf_printf(&text, "%s:%s\n", kdump_system((enum kdump_type)i),
			      kdump_name((enum kdump_type)i));
	md_buf_str(&text);
	if (!ret && text.failed)
		ret = -ENOMEM;
	pthread_mutex_lock(&k->lock);
	if (!ret && (!k->listed || strcmp(k->listed, text.data) != 0)) {
		ret = update_list(k, text.data);
		if (!ret) {
			free(k->listed);
			k->listed = text.data;
			text.data = NULL;
		}
	}
	if (!ret && hooks_wanted())
		kernel_choose_hooks(k);
	if (!ret && !k->ops->ids(k->backend, &ids) && *md_buf_str(&ids))
		update_ids(k, ids.data);
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
	e = kevent_find(k, system, name, len);
	pthread_mutex_unlock(&k->lock);
	return e && e->present ? e : NULL;
}

/* ---- formats ---- */

static int register_id(struct kernel *k, struct kevent *e)
{
	size_t size = k->by_id_size ? k->by_id_size : 4096;

	while (size <= e->format->id && size < 65536)
		size *= 2;
	if (e->format->id >= size)
		return -EINVAL;
	if (size != k->by_id_size) {
		if (!array_extend(k->by_id, k->by_id_size, size))
			return -ENOMEM;
		k->by_id_size = size;
	}
	k->by_id[e->format->id] = e;
	return 0;
}

static int parse_format(const struct kevent *e, int ret, struct md_buf text, struct kformat **out)
{
	*out = NULL;
	if (!ret)
		ret = kformat_parse(system_of_names(e), md_buf_str(&text), text.len, out);
	md_buf_deinit(&text);
	if (!ret && strcmp(kformat_name(*out), e->event) != 0)
		ret = kformat_rename(*out, e->event);
	return ret;
}

int kernel_read_format(struct kernel *k, const struct kevent *e, struct kformat **out)
{
	struct md_buf text = MD_BUF_INIT;
	int ret = k->ops->format(k->backend, e->system, e->name, &text);

	return parse_format(e, ret, text, out);
}

struct kformat *kernel_boot_format(struct kernel *k, const struct kevent *e)
{
	struct md_buf text = MD_BUF_INIT;
	struct kformat *f;
	int ret = k->ops->boot_format(k->backend, e->system, e->name, &text);

	if (!parse_format(e, ret, text, &f))
		return f;
	kformat_free(f);
	return NULL;
}

void kevent_load_format(struct kernel *k, struct kevent *e)
{
	int ret = kernel_read_format(k, e, &e->format);

	if (!ret)
		ret = register_id(k, e);
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
		kevent_load_format(k, e);
	f = e->format ? kformat_get(e->format) : NULL;
	pthread_mutex_unlock(&k->lock);
	return f;
}

struct kformat *kernel_format_of(struct kernel *k, const char *system, const char *event)
{
	struct kevent *e = kernel_find(k, system, event, strlen(event));

	if (!e && !kernel_refresh(k))
		e = kernel_find(k, system, event, strlen(event));
	return e ? kernel_format(k, e) : NULL;
}

void kernel_forget(struct kernel *k, const char *system, const char *name)
{
	struct kevent *e;

	pthread_mutex_lock(&k->lock);
	e = kevent_find(k, system, name, strlen(name));
	if (e)
		forget_event(k, e);
	free(k->listed);
	k->listed = NULL;
	pthread_mutex_unlock(&k->lock);
	/* Pairs with the acquire in drain.c. */
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
