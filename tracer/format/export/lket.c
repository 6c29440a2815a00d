/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as lket-b2a prints them, one per line, and the columns of its database:
 *
 *   SEC.USEC CPU:n TID:n, PID:n, PPID:n, APPNAME:x EVT_NAME:iosyscall.read.entry name:value,…,
 *
 * If a hook (rule/hook.h) stands for the event, the line has the hook's name, and LKET's fields
 * come first; else it has the event's name. Contexts give threads and processes; `-` where a
 * channel does not have the context. Strings have the escapes of JSON.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/json.h"
#include "tracer/base/array.h"
#include "tracer/base/base.h"
#include "tracer/base/hash.h"
#include "tracer/format/export/lket.h"
#include "tracer/kernel/kevent/kevent.h"
#include "tracer/session/session.h"

struct lket {
	struct maker *m;
	struct lket_kinds kinds;
	struct md_buf text;     /* scratch */
};

/* Whether events that the pattern (rule/kernel_pattern.h) records have this name. */
static bool is_name_of(const char *pattern, const char *event)
{
	const char *colon = strchr(pattern, ':');
	bool probe = !strncmp(pattern, "kprobe:", 7) || !strncmp(pattern, "kretprobe:", 10);
	char system[64], name[KFORMAT_NAME_MAX + 1];

	if (!strncmp(pattern, "syscall:entry:", 14))
		return !strncmp(event, "syscall_entry_", 14) &&
		       glob_match(pattern + 14, event + 14);
	if (!strncmp(pattern, "syscall:exit:", 13))
		return !strncmp(event, "syscall_exit_", 13) && glob_match(pattern + 13, event + 13);
	if (!colon || probe || !strcmp(pattern, event) ||
	    (size_t)(colon - pattern) >= sizeof(system))
		return !strcmp(pattern, event);
	memcpy(system, pattern, (size_t)(colon - pattern));
	system[colon - pattern] = '\0';
	/* Prefixed, if another event of the kernel has the name. */
	for (int prefixed = 0; prefixed < 2; prefixed++)
		if (!kformat_event_name(system, colon + 1, prefixed, name) && !strcmp(name, event))
			return true;
	return false;
}

/* ---- which hook an event stands for ---- */

struct lket_hook_use {
	bool named;     /* a rule @NAME of the session names the hook */
	int first;      /* else: the first alternative with an event in the trace; INT_MAX: none */
};

static bool is_except(const struct rule *r, const struct hook *h)
{
	for (size_t i = 0; i < r->except_count; i++)
		if (hook_is_rule(r->except[i]) && hook_is_named(h, r->except[i]))
			return true;
	return false;
}

static void note_rule(struct lket_hooks *u, const struct rule *r)
{
	for (size_t i = 0; r->kind == RULE_HOOK && i < hooks_count(); i++)
		u->list[i].named |= hook_is_named(hook_at(i), r->pattern) &&
				    !is_except(r, hook_at(i));
}

static void note_event(struct lket_hooks *u, const struct md_event *e)
{
	for (size_t i = 0; e->loglevel == MD_LOGLEVEL_NONE && i < hooks_count(); i++)
		for (size_t n = 0; n < hook_at(i)->count; n++) {
			const struct hook_pattern *p = &hook_at(i)->patterns[n];

			if (p->way < u->list[i].first && is_name_of(p->key.place, e->name))
				u->list[i].first = p->way;
		}
}

int lket_hooks_init(struct lket_hooks *u, struct session *s)
{
	struct stream_set set = { 0 };
	const struct md_stream *last = NULL;
	struct channel *c;
	int err;

	u->list = calloc(hooks_count() + 1, sizeof(*u->list));
	err = u->list ? session_streams(s, NULL, &set) : -ENOMEM;
	if (err)
		return err;
	for (size_t i = 0; i < hooks_count(); i++)
		u->list[i].first = INT_MAX;
	pthread_mutex_lock(&s->tracer->lock);
	cds_list_for_each_entry(c, &s->channels, node)
		for (size_t i = 0; c->kernel && i < c->rules.count; i++)
			note_rule(u, &c->rules.rules[i]);
	pthread_mutex_unlock(&s->tracer->lock);
	/* Streams of one class follow each other. */
	for (size_t i = 0; i < set.count; i++) {
		const struct md_stream *class = set.streams[i].class;
		const struct md_event *e;

		for (uint32_t id = 0; class != last && id <= MD_EVENT_ID_MAX; id++)
			if ((e = md_stream_event(class, id)))
				note_event(u, e);
		last = class;
	}
	stream_set_deinit(&set);
	return 0;
}

void lket_hooks_deinit(struct lket_hooks *u)
{
	free(u->list);
	u->list = NULL;
}

/*
 * Whether this alternative records the hook. With a rule @NAME it is the chosen one: another rule
 * may record the event of another alternative, too, which is no second record of the hook.
 */
static bool is_used(const struct lket_hook_use *use, const struct hook *h, int way)
{
	int chosen = __atomic_load_n(&h->chosen, __ATOMIC_RELAXED);

	return way == (use->named && chosen >= 0 ? chosen : use->first);
}

const struct hook *lket_find_hook(const struct lket_hooks *u, const struct md_event *class,
				  int *way)
{
	if (class->loglevel != MD_LOGLEVEL_NONE)        /* an event of an application */
		return NULL;

	/*
	 * First the hooks that rules name, and without stars: @iosyscall.read is nearer than
	 * @syscall.
	 */
	for (int pass = 0; pass < 4; pass++)
		for (size_t i = 0; i < hooks_count(); i++)
			for (size_t n = 0; n < hook_at(i)->count; n++) {
				const struct hook_pattern *p = &hook_at(i)->patterns[n];

				if (u->list[i].named == (pass < 2) &&
				    !strchr(p->key.place, '*') == !(pass & 1) &&
				    is_used(&u->list[i], hook_at(i), p->way) &&
				    is_name_of(p->key.place, class->name)) {
					*way = p->way;
					return hook_at(i);
				}
			}
	return NULL;
}

/* The value, of a string without quotes. */
static void put_value(struct lket *l, const struct md_value *value)
{
	struct md_buf *out = &l->m->out;

	md_buf_reset(&l->text);
	switch (value ? md_value_show(value, &l->text) : MD_SHOWN_NONE) {
	case MD_SHOWN_NONE:
		md_buf_putc(out, '-');
		break;
	case MD_SHOWN_TEXT:
		md_json_escape_put(l->text.data, l->text.len, out);
		break;
	default:
		md_buf_put(out, l->text.data, l->text.len);
		break;
	}
	out->failed |= l->text.failed;
}

static void put_context(struct lket *l, const struct row *r, const char *label,
			const char *kernel, const char *user)
{
	uint32_t count = r->stream->context_count;
	int i = row_find(r->stream->context, count, kernel);

	if (i < 0 && user)
		i = row_find(r->stream->context, count, user);
	md_buf_puts(&l->m->out, label);
	put_value(l, i < 0 || r->torn ? NULL : &r->context[i]);
}

static void put_cell(struct lket *l, const struct lket_column *column, const struct lket_cell *c)
{
	struct md_buf *out = &l->m->out;

	md_buf_puts(out, column->name);
	md_buf_putc(out, ':');
	if (c->value)
		put_value(l, c->value);
	else if (c->text)
		md_json_escape_put(c->text, c->len, out);
	else
		md_buf_printf(out, "%lld", (long long)c->number);
	md_buf_putc(out, ',');
}

static void add_line(void *arg, const struct row *r)
{
	struct lket *l = arg;
	struct md_buf *out = &l->m->out;
	const struct lket_shape *s = lket_shape_of(&l->kinds, r, &l->m->err);
	struct lket_cell cell;

	if (!s)
		return;
	md_buf_printf(out, "%llu.%06u CPU:%u", (unsigned long long)(r->time / 1000000000),
		      (unsigned int)(r->time / 1000 % 1000000), r->cpu);
	put_context(l, r, " TID:", "tid", "vtid");
	put_context(l, r, ", PID:", "pid", "vpid");
	put_context(l, r, ", PPID:", "ppid", "vppid");
	put_context(l, r, ", APPNAME:", "procname", NULL);
	md_buf_printf(out, " EVT_NAME:%s ", s->kind->name);
	for (uint32_t i = 0; i < s->kind->system; i++)
		if (lket_cell_of(s, r, i, &cell))
			put_cell(l, &s->kind->columns[i], &cell);
	for (uint32_t i = 0; i < r->class->field_count && !r->torn; i++) {
		const struct text *name = &r->names[r->stream->context_count + i];

		if (s->shown[i])
			continue;
		md_json_escape_put(name->p, name->n, out);
		md_buf_putc(out, ':');
		put_value(l, &r->fields[i]);
		md_buf_putc(out, ',');
	}
	md_buf_putc(out, '\n');
}

/* ---- the database ---- */

const char *const lket_columns[][2] = {
	{ "groupid", "TINYINT UNSIGNED" }, { "hookid", "TINYINT UNSIGNED" },
	{ "usec", "BIGINT" },              { "thread_id", "INT" },
	{ "process_id", "INT" },           { "parentprocess_id", "INT" },
	{ "entry_usec", "BIGINT" },
};

struct lket_entry {
	int32_t tid;
	unsigned int kind;      /* group << 8 | hook */
	uint64_t usec;          /* 0: it has returned */
};

struct lket_common lket_common_of(const struct lket_hooks *u, const struct row *r)
{
	int way;
	const struct hook *h = lket_find_hook(u, r->class, &way);
	struct lket_common c = { .tid = lket_find_context(r, "tid", "vtid"),
				 .pid = lket_find_context(r, "pid", "vpid"),
				 .ppid = lket_find_context(r, "ppid", "vppid") };

	if (h) {
		c.group = h->group;
		c.hook = h->id;
	}
	return c;
}

/* NULL: no memory. */
static struct lket_entry *find_entry(struct lket_entries *e, int32_t tid, unsigned int kind)
{
	uint64_t hash = hash_step(hash_step(HASH_START, (uint64_t)tid), kind);

	for (uint32_t at = 0, i; (i = hash_find(&e->table, hash, &at)) != HASH_NONE;)
		if (e->list[i].tid == tid && e->list[i].kind == kind)
			return &e->list[i];
	if (!array_double(e->list, e->table.count) || !hash_add(&e->table, hash))
		return NULL;
	e->list[e->table.count - 1] = (struct lket_entry){ tid, kind, 0 };
	return &e->list[e->table.count - 1];
}

void lket_entries_deinit(struct lket_entries *e)
{
	free(e->list);
	hash_deinit(&e->table);
}

/* Sets *entry to the time of the thread's entry, if the event is its return; 0: unknown. */
static bool pair_entry(const struct lket_common *c, uint64_t usec, int32_t tid,
		       struct lket_entries *e, uint64_t *entry)
{
	/* A return has the number after its entry, which is odd. */
	bool returns = !(c->hook & 1);
	struct lket_entry *at = find_entry(e, tid, c->group << 8 | (c->hook - returns));

	if (!at)
		return false;
	*entry = returns ? at->usec : 0;
	at->usec = returns ? 0 : usec;
	return true;
}

static void put_id(const struct row *r, int context, struct md_buf *out)
{
	uint64_t n;

	if (context >= 0 && !r->torn && md_value_integer(&r->context[context], &n))
		md_buf_printf(out, ",%lld", (long long)n);
	else
		md_buf_puts(out, ",NULL");
}

bool lket_common_put(const struct lket_common *c, const struct row *r, struct lket_entries *e,
		     struct md_buf *out)
{
	uint64_t usec = r->time / 1000, entry = 0, tid = 0;

	if (!c->group) {        /* another event of the same name */
		md_buf_puts(out, ",NULL,NULL,NULL,NULL,NULL,NULL,NULL");
		return true;
	}
	if (c->tid >= 0 && !r->torn && md_value_integer(&r->context[c->tid], &tid) &&
	    !pair_entry(c, usec, (int32_t)tid, e, &entry))
		return false;
	md_buf_printf(out, ",%u,%u,%llu", c->group, c->hook, (unsigned long long)usec);
	put_id(r, c->tid, out);
	put_id(r, c->pid, out);
	put_id(r, c->ppid, out);
	if (entry)
		md_buf_printf(out, ",%llu", (unsigned long long)entry);
	else
		md_buf_puts(out, ",NULL");
	return true;
}

void lket_make(struct maker *m)
{
	struct lket l = { .m = m };

	m->err = m->err ? m->err : lket_hooks_init(&l.kinds.hooks, m->s);
	if (!m->err)
		maker_run(m, ROW_VALUES, add_line, &l);
	lket_kinds_deinit(&l.kinds);
	md_buf_deinit(&l.text);
}
